"""Show the corrected pose live, and take it back without a trace.

Before every evaluation the animated values of the written channels are put back, after it they are read, kept and
replaced (F42): so nothing feeds on itself, whatever animates a channel or does not. What was kept lives in the object's
own settings, so that undo, copies and saved files stay consistent. What is written is kept beside it: a channel that
holds something else by then was changed by the user, and stays so.
"""
from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import bpy
import numpy as np
from mathutils import Matrix

from .apply import Channels, Request, corrected_channels, read_weights, remember, request_of
from .channels import LOCATION, ROTATION, SCALE, BoneChannels, four, in_mode
from .flush import flush, give_back, is_flushed
from .handlers import awake, corrected, is_animating
from .held import Held, given_back, keep, read_held, still_there
from .keyed import take_out
from .planned import plan_of_clip
from .refusals import baked_frames, why_fixed
from .rig import Refusal, Rig, read_rig
from .sampling import layers_of, read_frame

_suspended: set[int] = set()
problems: dict[int, str] = {}
"""{session_uid of an object: why it is not corrected}, for the panel."""


def writable(ob: bpy.types.Object) -> bool:
    """Whether an object is an armature whose pose can be written here."""
    return ob.type == "ARMATURE" and not why_fixed(ob)


def live_rigs(objects: Iterable[bpy.types.Object]) -> list[bpy.types.Object]:
    """Those of some objects that are corrected live."""
    return [ob for ob in corrected(objects) if ob.foot_ik.enabled and writable(ob)
            and ob.session_uid not in _suspended and not is_animating(ob)]


def shown_rigs(objects: Iterable[bpy.types.Object]) -> list[bpy.types.Object]:
    """Those of some objects that show a corrected pose now."""
    return [ob for ob in corrected(objects) if ob.foot_ik.shown]


@contextmanager
def suspended(ob: bpy.types.Object) -> Iterator[None]:
    """While this lasts the object shows its animated pose.

    So do all other rigs that cannot move it: to correct a crowd in every frame visited would take most of the time.
    """
    resting = [other for other in shown_rigs(bpy.data.objects) if other != ob and other not in carriers(ob)]
    uids = {other.session_uid for other in (ob, *resting)} - _suspended
    _suspended.update(uids)
    try:
        for other in (ob, *resting):
            restore(other)
        ob.update_tag()  # settings that a script has set do not do that
        yield
    finally:
        _suspended.difference_update(uids)
        for other in (ob, *resting):
            refresh(other)


def carriers(ob: bpy.types.Object) -> set[bpy.types.Object]:
    """The objects that can move this one: its parents and the targets of its constraints, and theirs."""
    out: set[bpy.types.Object] = set()
    open_ = [ob]
    while open_:
        here = open_.pop()
        owners = [here, *(here.pose.bones if here.pose else ())]
        targets = {getattr(c, "target", None) for owner in owners for c in owner.constraints}
        above = {here.parent, *targets} - {None} - out
        out |= above
        open_ += above
    return out


def restore(ob: bpy.types.Object, edited: bool = True) -> None:
    """Put the animated values back into the channels that were written, and into what was keyed of these if keys may
    have been `edited` since."""
    if not ob.foot_ik.shown:
        return
    if edited:
        with told(ob):
            take_out(ob)
    held, at = still_there(ob, read_held(ob))
    now = BoneChannels(ob, at)
    now.write(given_back(held, now.modes, now.values))
    ob.foot_ik.shown = False
    give_back(ob)


def apply(obs: list[bpy.types.Object], depsgraph: bpy.types.Depsgraph, frame: float, fps: float) -> None:
    """Write the corrected poses of the frame that the depsgraph has evaluated; the channels hold animated values.

    All rigs are read first: those that are built alike are solved together.
    """
    requests = {}
    for ob in obs:
        with told(ob):
            requests[ob] = wanted(ob, depsgraph, frame, fps)
    remember([request for request in requests.values() if request])
    for ob, request in requests.items():
        with told(ob):
            channels = corrected_channels(ob, request)
            problems.pop(ob.session_uid, None)
            if channels is not None:
                show(ob, request.rig, channels, depsgraph)


@contextmanager
def told(ob: bpy.types.Object) -> Iterator[None]:
    """Note why an object is not corrected: a fault of ours must neither spoil its pose nor stop the other rigs."""
    try:
        yield
    except Refusal as refusal:
        problems[ob.session_uid] = str(refusal)
    except Exception as error:
        text = f"Foot IK failed on {ob.name}, please report it: {type(error).__name__}: {error}"
        if problems.get(ob.session_uid) != text:
            problems[ob.session_uid] = text
            traceback.print_exc()


def wanted(ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph, frame: float, fps: float) -> Request | None:
    """What the correction of an object in a frame is made of; None where there is nothing to correct."""
    evaluated = ob.evaluated_get(depsgraph)
    if not evaluated.is_evaluated or ob.mode == "EDIT" or ob.data.pose_position == "REST":
        return None
    if any(first <= frame <= last for first, last in baked_frames(ob)):
        return None
    rig, weights = read_rig(ob), read_weights(evaluated)
    if not (weights.position.any() or weights.rotation.any()):
        return None
    return request_of(ob, rig, read_frame(ob, rig, depsgraph, frame), fps, plan_of_clip(ob, rig), weights, depsgraph)


def show(ob: bpy.types.Object, rig: Rig, channels: Channels, depsgraph: bpy.types.Depsgraph) -> None:
    """Write the first frame of corrected channels into the pose; keep what its bones held, and what they hold now."""
    if not is_flushed(ob, depsgraph):
        flush(ob, ob.evaluated_get(depsgraph))
    names = ob.pose.bones.keys()
    at = [names.index(name) for name in rig.bones]
    now = BoneChannels(ob, at)
    shown = corrected_values(rig, channels, now.modes, now.values)
    scene = depsgraph.scene
    keep(ob, Held(tuple(rig.bones), tuple(at), now.modes, now.values, shown, scene.frame_float, curve_pace(scene)))
    now.write(shown)


def corrected_values(rig: Rig, channels: Channels, modes: tuple[str, ...], animated: np.ndarray) -> np.ndarray:
    """The first frame of corrected channels of the bones of a rig, (n, 10) as `animated`; found before where it is of
    the same modes and animated channels."""
    key = modes, animated.tobytes()
    out = channels.written.get(key)
    if out is None:
        out = in_modes(rig, channels, modes, animated)
        channels.written.clear()
        channels.written[key] = out
    return out


def in_modes(rig: Rig, channels: Channels, modes: tuple[str, ...], animated: np.ndarray) -> np.ndarray:
    """The same, made anew from `animated`, which is of these rotation modes."""
    out = animated.copy()
    at = {name: i for i, name in enumerate(rig.bones)}
    for name, turn in channels.rotation.items():
        if name != rig.body or channels.corrected.leans:
            i = at[name]
            out[i, ROTATION] = four(in_mode(Matrix(turn[0].tolist()), modes[i], animated[i, ROTATION].tolist()))
    for name, place in channels.location.items():
        out[at[name], LOCATION] = place[0]
    for name, factor in channels.scale.items():
        out[at[name], SCALE] *= factor[0]
    return out


def scene_fps(scene: bpy.types.Scene) -> float:
    """Frames of a scene per second of its clip, of which Blender's time remapping makes more or fewer."""
    return scene.render.fps / scene.render.fps_base / curve_pace(scene)


def curve_pace(scene: bpy.types.Scene) -> float:
    """How far time goes on in F-curves and NLA strips from one frame of a scene to the next: 1 unless remapped."""
    return scene.render.frame_map_old / scene.render.frame_map_new


def refresh(ob: bpy.types.Object) -> None:
    """Show the pose that the settings of an object ask for, without leaving the frame."""
    if not writable(ob) or ob.session_uid in _suspended:
        return
    restore(ob)
    ob.update_tag()
    if not ob.foot_ik.enabled or is_animating(ob):
        return
    here = bpy.context.scene
    for scene in sorted(ob.users_scene, key=lambda scene: scene != here):
        for layer in layers_of(scene, ob):
            layer.update()
            if not ob.foot_ik.shown:  # by the handlers, which this update calls
                apply([ob], layer.depsgraph, scene.frame_float, scene_fps(scene))
            return


def switch(ob: bpy.types.Object) -> None:
    """Follow the `enabled` property."""
    awake()
    problems.pop(ob.session_uid, None)
    refresh(ob)
