"""Show the corrected pose live, and take it back without a trace.

Before every evaluation the animated values of the written channels are put back, after it they are read, kept and
replaced (F42): so nothing feeds on itself, whatever animates a channel or does not. What was kept lives in the object's
own settings, so that undo, copies and saved files stay consistent. Nothing is kept between calls in Python.
"""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import bpy
from mathutils import Matrix

from .apply import Channels, corrected_channels, read_weights, saved_plan
from .channels import in_mode, read_rotation, write_rotation
from .rig import Refusal, read_rig
from .sampling import layer_of, read_frame

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


def shown_rigs() -> list[bpy.types.Object]:
    """The armatures of the file that show a corrected pose now."""
    return [ob for ob in bpy.data.objects if ob.type == "ARMATURE" and ob.foot_ik.shown]


@contextmanager
def suspended(ob: bpy.types.Object) -> Iterator[None]:
    """While this lasts the object shows its animated pose."""
    _suspended.add(ob.session_uid)
    try:
        restore(ob)
        yield
    finally:
        _suspended.discard(ob.session_uid)


def restore(ob: bpy.types.Object) -> None:
    """Put the animated values back into the channels that were written."""
    settings = ob.foot_ik
    if not settings.shown:
        return
    for kept in settings.base:
        bone = ob.pose.bones.get(kept.name)
        if bone is None:
            continue
        bone.location, bone.scale = kept.location, kept.scale
        if bone.rotation_mode == kept.mode:
            write_rotation(bone, kept.rotation)
    settings.shown = False


def apply(ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph, frame: float, fps: float) -> None:
    """Write the corrected pose of the frame that the depsgraph has evaluated; the channels hold animated values."""
    evaluated = ob.evaluated_get(depsgraph)
    if not evaluated.is_evaluated or ob.mode == "EDIT":
        return
    try:
        rig = read_rig(ob)
        sample = read_frame(ob, rig, depsgraph, frame)
        channels = corrected_channels(ob, rig, sample, fps, saved_plan(ob, rig), read_weights(evaluated), depsgraph)
        problems.pop(ob.session_uid, None)
    except Refusal as refusal:
        problems[ob.session_uid] = str(refusal)
        return
    if channels is not None:
        keep(ob, rig.bones)
        write(ob, channels)


def keep(ob: bpy.types.Object, names: list[str]) -> None:
    """Note the animated values of these bones."""
    base = ob.foot_ik.base
    if [kept.name for kept in base] != names:
        base.clear()
        for name in names:
            base.add().name = name
    for kept in base:
        bone = ob.pose.bones[kept.name]
        values = read_rotation(bone)
        kept.mode = bone.rotation_mode
        kept.rotation = (*values, 0.0)[:4]
        kept.location, kept.scale = bone.location, bone.scale
    ob.foot_ik.shown = True


def write(ob: bpy.types.Object, channels: Channels) -> None:
    """Write the first frame of corrected channels into the pose."""
    bones = ob.pose.bones
    for name, rotation in channels.rotation.items():
        bone = bones[name]
        write_rotation(bone, in_mode(Matrix(rotation[0]), bone.rotation_mode, read_rotation(bone)))
    for name, location in channels.location.items():
        bones[name].location = location[0]
    for name, factor in channels.scale.items():
        bones[name].scale = [c * factor[0] for c in bones[name].scale]


def scene_fps(scene: bpy.types.Scene) -> float:
    return scene.render.fps / scene.render.fps_base


def refresh(ob: bpy.types.Object, animate: bool = False) -> None:
    """Show the pose of an object as its settings ask for now, without leaving the frame.

    With `animate` Blender reads its animation anew, which drops what was posed and not keyed.
    """
    if not writable(ob) or ob.session_uid in _suspended:
        return
    restore(ob)
    ob.update_tag(refresh={"OBJECT", "DATA", "TIME"} if animate else set())
    if not ob.foot_ik.enabled:
        return
    for scene in ob.users_scene:
        try:
            layer = layer_of(scene, ob)
        except Refusal:
            continue
        layer.update()
        apply(ob, layer.depsgraph, scene.frame_current_final, scene_fps(scene))
        return


def switch(ob: bpy.types.Object) -> None:
    """Follow the `enabled` property."""
    problems.pop(ob.session_uid, None)
    refresh(ob)
