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
from mathutils import Matrix

from .apply import Channels, corrected_channels, read_weights, saved_plan
from .channels import in_mode, read_rotation, to_matrix, write_rotation
from .flush import flush, give_back, is_flushed
from .refusals import baked_frames
from .rig import Refusal, Rig, read_rig
from .sampling import layers_of, read_frame
from .snapshot import refilled

ROUNDED = 1e-5
"""Channels that differ by less hold the same pose."""
_suspended: set[int] = set()
problems: dict[int, str] = {}
"""{session_uid of an object: why it is not corrected}, for the panel."""


def writable(ob: bpy.types.Object) -> bool:
    """Whether an object is an armature whose pose can be written here."""
    return ob.type == "ARMATURE" and ob.library is None


def live_rigs(scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """The armatures of a scene that are corrected live."""
    return [ob for ob in scene.objects if ob.type == "ARMATURE" and ob.foot_ik.enabled and ob.library is None
            and ob.session_uid not in _suspended]


def shown_rigs(objects: Iterable[bpy.types.Object]) -> list[bpy.types.Object]:
    """Those of some objects that show a corrected pose now."""
    return [ob for ob in objects if ob.type == "ARMATURE" and ob.foot_ik.shown]


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
    for kept in settings.base:
        bone = kept_bone(ob, kept)
        if bone is None:
            continue
        if near(bone.location, kept.shown_location):
            bone.location = kept.location
        if near(bone.scale, kept.shown_scale):
            bone.scale = kept.scale
        if bone.rotation_mode != kept.mode:  # Blender has turned what was shown into another mode
            write_rotation(bone, in_mode(to_matrix(kept.mode, kept.rotation), bone.rotation_mode, read_rotation(bone)))
        elif same_rotation(kept.mode, four(read_rotation(bone)), kept.shown_rotation):
            write_rotation(bone, kept.rotation)
    settings.shown = False
    give_back(ob)


def near(a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether two vectors are the same but for what exporters lose when they put poses back by matrices."""
    return all(abs(x - y) < ROUNDED for x, y in zip(a, b, strict=True))


def same_rotation(mode: str, a: Sequence[float], b: Sequence[float]) -> bool:
    """The same for the channels of a rotation mode, which have several values for one rotation."""
    return near(a, b) or all(map(near, to_matrix(mode, a), to_matrix(mode, b)))


def is_uncovered(ob: bpy.types.Object) -> bool:
    """Whether the channels of a corrected pose hold their animated values: Blender animates a frame once more for each
    view layer that a window shows, and calls no frame handler for it."""
    differs = False
    for kept in ob.foot_ik.base:
        bone = kept_bone(ob, kept)
        if bone is None or bone.rotation_mode != kept.mode:
            return False
        now = (*bone.location, *bone.scale, *four(read_rotation(bone)))
        if not near(now, (*kept.location, *kept.scale, *kept.rotation)):
            return False
        differs |= not near(now, (*kept.shown_location, *kept.shown_scale, *kept.shown_rotation))
    return differs


def kept_bone(ob: bpy.types.Object, kept: bpy.types.PropertyGroup) -> bpy.types.PoseBone | None:
    """The bone of kept values; one that was renamed since is where it was among the bones. None if it was deleted."""
    bones = ob.pose.bones
    if kept.name in bones:
        return bones[kept.name]
    there = bones[kept.index] if kept.index < len(bones) else None
    return there if there and there.rotation_mode == kept.mode else None


def apply(ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph, frame: float, fps: float) -> None:
    """Write the corrected pose of the frame that the depsgraph has evaluated; the channels hold animated values."""
    evaluated = ob.evaluated_get(depsgraph)
    if not evaluated.is_evaluated or ob.mode == "EDIT" or ob.data.pose_position == "REST":
        return
    if any(first <= frame <= last for first, last in baked_frames(ob)):
        return
    try:
        rig, weights = read_rig(ob), read_weights(evaluated)
        if not (weights.position.any() or weights.rotation.any()):
            return
        sample = read_frame(ob, rig, depsgraph, frame)
        channels = corrected_channels(ob, rig, sample, fps, saved_plan(ob, rig), weights, depsgraph)
        problems.pop(ob.session_uid, None)
    except Refusal as refusal:
        problems[ob.session_uid] = str(refusal)
        return
    except Exception as error:  # a fault of ours must neither spoil the pose nor stop the other rigs
        text = f"Foot IK failed on {ob.name}, please report it: {type(error).__name__}: {error}"
        if problems.get(ob.session_uid) != text:
            problems[ob.session_uid] = text
            traceback.print_exc()
        return
    if channels is not None:
        if not is_flushed(depsgraph):
            flush(ob, evaluated)
        keep(ob, rig.bones)
        try:
            write(ob, rig, channels)
        finally:  # even a part of it, so that it can be taken back
            note_shown(ob)


def keep(ob: bpy.types.Object, names: list[str]) -> None:
    """Note the animated values of these bones."""
    base = ob.foot_ik.base
    if [kept.name for kept in base] != names:
        for kept, name in zip(refilled(ob.foot_ik, "base", len(names)), names, strict=True):
            kept.name, kept.index = name, ob.pose.bones.find(name)
    for kept in base:
        bone = ob.pose.bones[kept.name]
        kept.mode, kept.rotation = bone.rotation_mode, four(read_rotation(bone))
        kept.location, kept.scale = bone.location, bone.scale
    ob.foot_ik.shown = True


def note_shown(ob: bpy.types.Object) -> None:
    """Note what was written into the bones that `keep` has noted."""
    for kept in ob.foot_ik.base:
        bone = ob.pose.bones[kept.name]
        kept.shown_rotation = four(read_rotation(bone))
        kept.shown_location, kept.shown_scale = bone.location, bone.scale


def four(rotation: tuple[float, ...]) -> tuple[float, ...]:
    """Rotation channels as four values."""
    return (*rotation, 0.0)[:4]


def write(ob: bpy.types.Object, rig: Rig, channels: Channels) -> None:
    """Write the first frame of corrected channels into the pose."""
    bones = ob.pose.bones
    for name, rotation in channels.rotation.items():
        if name == rig.body and not channels.corrected.leans:
            continue
        bone = bones[name]
        write_rotation(bone, in_mode(Matrix(rotation[0]), bone.rotation_mode, read_rotation(bone)))
    for name, location in channels.location.items():
        bones[name].location = location[0]
    for name, factor in channels.scale.items():
        bones[name].scale = [c * factor[0] for c in bones[name].scale]


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
                apply(ob, layer.depsgraph, scene.frame_float, scene_fps(scene))
            return


def switch(ob: bpy.types.Object) -> None:
    """Follow the `enabled` property."""
    problems.pop(ob.session_uid, None)
    refresh(ob)
