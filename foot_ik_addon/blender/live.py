"""Show the corrected pose live, and take it back without a trace.

Before every evaluation the animated values of the written channels are put back, after it they are read, kept and
replaced (F42): so nothing feeds on itself, whatever animates a channel or does not. What was kept lives in the object's
own settings, so that undo, copies and saved files stay consistent. What is written is kept beside it: a channel that
holds something else by then was changed by the user, and stays so.
"""
from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import bpy
import numpy as np
from mathutils import Matrix

from .apply import Channels, Request, corrected_channels, read_weights, remember, request_of, saved_plan
from .channels import BoneChannels, column, in_mode, read_channels, read_rotation, to_matrix, write_rotation
from .flush import flush, give_back, is_flushed
from .handlers import corrected
from .refusals import baked_frames
from .rig import Refusal, Rig, read_rig
from .sampling import layers_of, read_frame
from .snapshot import refilled

ROUNDED = 1e-5
"""Channels that differ by less hold the same pose."""
FIELDS = ("rotation", "location", "scale")
"""Of `BoneChannels`, and of what is kept of each bone."""
_suspended: set[int] = set()
problems: dict[int, str] = {}
"""{session_uid of an object: why it is not corrected}, for the panel."""


def writable(ob: bpy.types.Object) -> bool:
    """Whether an object is an armature whose pose can be written here."""
    return ob.type == "ARMATURE" and ob.library is None


def live_rigs(scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """The armatures of a scene that are corrected live."""
    return [ob for ob in corrected(scene.objects) if ob.foot_ik.enabled and ob.library is None
            and ob.session_uid not in _suspended]


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


def restore(ob: bpy.types.Object) -> None:
    """Put the animated values back into the channels that were written."""
    settings = ob.foot_ik
    if not settings.shown:
        return
    bones, now, was, put = held(ob)
    for field in FIELDS:
        here, animated, shown = (getattr(channels, field) for channels in (now, was, put))
        ours, differs = (np.abs(here - shown) < ROUNDED).all(1), (here != animated).any(1)
        for i, (bone, mode) in enumerate(zip(bones, now.modes, strict=True)):
            values = animated[i].tolist()
            if field != "rotation":
                if ours[i] and differs[i]:
                    setattr(bone, field, values)
            elif mode != was.modes[i]:  # Blender has turned what was shown into another mode
                write_rotation(bone, in_mode(to_matrix(was.modes[i], values), mode, read_rotation(bone)))
            elif differs[i] and (ours[i] or same_rotation(mode, here[i].tolist(), shown[i].tolist())):
                write_rotation(bone, values)
    settings.shown = False
    give_back(ob)


def same_rotation(mode: str, a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether channels of a rotation mode, which has several values for one rotation, turn a bone the same way."""
    return bool(np.abs(np.array(to_matrix(mode, a)) - to_matrix(mode, b)).max() < ROUNDED)


def held(ob: bpy.types.Object) -> tuple[list[bpy.types.PoseBone], BoneChannels, BoneChannels, BoneChannels]:
    """The bones of a corrected pose, what their channels hold now, their animated values and what was written."""
    base = ob.foot_ik.base
    there = [(k, bone) for k, kept in enumerate(base) if (bone := kept_bone(ob, kept)) is not None]
    rows, bones = [k for k, _ in there], [bone for _, bone in there]
    modes = [base[k].mode for k in rows]

    def kept(prefix: str) -> BoneChannels:
        fields = zip(FIELDS, (4, 3, 3), strict=True)
        return BoneChannels(modes, *(column(base, prefix + field, size)[rows] for field, size in fields))

    return bones, read_channels(ob, [bone.name for bone in bones]), kept(""), kept("shown_")


def kept_bone(ob: bpy.types.Object, kept: bpy.types.PropertyGroup) -> bpy.types.PoseBone | None:
    """The bone of kept values; one that was renamed since is where it was among the bones. None if it was deleted."""
    bones = ob.pose.bones
    if kept.name in bones:
        return bones[kept.name]
    there = bones[kept.index] if kept.index < len(bones) else None
    return there if there and there.rotation_mode == kept.mode else None


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
    return request_of(ob, rig, read_frame(ob, rig, depsgraph, frame), fps, saved_plan(ob, rig), weights, depsgraph)


def show(ob: bpy.types.Object, rig: Rig, channels: Channels, depsgraph: bpy.types.Depsgraph) -> None:
    """Write the first frame of corrected channels into the pose; note what its bones held, and what they hold now."""
    if not is_flushed(depsgraph):
        flush(ob, ob.evaluated_get(depsgraph))
    held = read_channels(ob, rig.bones)
    keep(ob, rig.bones, held)
    shown = {field: getattr(held, field).copy() for field in FIELDS}
    try:
        write(ob, rig, channels, held.modes, shown)
    finally:  # even a part of it, so that it can be taken back
        for field, values in shown.items():
            ob.foot_ik.base.foreach_set("shown_" + field, values.ravel())


def keep(ob: bpy.types.Object, names: list[str], held: BoneChannels) -> None:
    """Note the animated values of these bones."""
    base, bones = ob.foot_ik.base, ob.pose.bones
    if [kept.name for kept in base] != names:
        for kept, name in zip(refilled(ob.foot_ik, "base", len(names)), names, strict=True):
            kept.name = name
    for kept, name in zip(base, names, strict=True):
        if kept.index >= len(bones) or bones[kept.index].name != name:
            kept.index = bones.find(name)
    for kept, mode in zip(base, held.modes, strict=True):
        if kept.mode != mode:
            kept.mode = mode
    for field in FIELDS:
        base.foreach_set(field, getattr(held, field).ravel())
    ob.foot_ik.shown = True


def write(ob: bpy.types.Object, rig: Rig, channels: Channels, modes: list[str], shown: dict[str, np.ndarray]) -> None:
    """Write the first frame of corrected channels into the pose, and into `shown`, {field: (bones, n)}."""
    bones = ob.pose.bones
    at = {name: i for i, name in enumerate(rig.bones)}
    for name, turn in channels.rotation.items():
        if name == rig.body and not channels.corrected.leans:
            continue
        i, row = at[name], shown["rotation"][at[name]]
        row[:] = four(in_mode(Matrix(turn[0].tolist()), modes[i], row.tolist()))
        write_rotation(bones[name], row.tolist())
    for name, place in channels.location.items():
        shown["location"][at[name]] = place[0]
        bones[name].location = place[0].tolist()
    for name, factor in channels.scale.items():
        shown["scale"][at[name]] *= factor[0]
        bones[name].scale = shown["scale"][at[name]].tolist()


def four(rotation: tuple[float, ...]) -> tuple[float, ...]:
    """Rotation channels as four values."""
    return (*rotation, 0.0)[:4]


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
    if not ob.foot_ik.enabled:
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
    problems.pop(ob.session_uid, None)
    refresh(ob)
