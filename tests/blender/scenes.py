"""Small scenes for the tests: the mannequin on a ground, walking, set up and planned; and what is read from them.

A scene is built once per process and kept as a file, so that later tests open it in a hundredth of a second.
"""
from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from math import radians, tan
from pathlib import Path

import bpy
import numpy as np

from sample_scenes import mannequin, walk

FPS = 30
LAST = 46
GAIT = walk.Gait(steps=3)
"""A second and a half of full walk: each foot stands at least once from heel strike to toe-off."""
SKATE = 0.15
"""Metres a second by which the feet of "skate" slip while they stand."""
KEY_PLACES = ("co", "handle_left", "handle_right")
KEY_CHOICES = ("interpolation", "easing", "type", "handle_left_type", "handle_right_type")
LEG_BONES = ("thigh", "shin", "foot")
WRITTEN = ("hips", *(f"{part}.{side}" for side in "LR" for part in (*LEG_BONES, "toe")))

_folder = tempfile.TemporaryDirectory(prefix="foot_ik_scenes_")
_files: dict[tuple, Path] = {}


def walker(ground: str = "slope", ready: bool = True, prepare: Callable[[bpy.types.Object], None] | None = None
           ) -> bpy.types.Object:
    """The mannequin on a ground, active, at frame 1; with `ready` its legs are detected and its clip is planned.

    `prepare` changes it before that.
    """
    key = ground, ready, prepare
    if key not in _files:
        if ready or prepare:
            walker(ground, ready=False)
        else:
            bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
            build(ground)
        if prepare:
            prepare(rig())
        if ready:
            assert bpy.ops.foot_ik.detect_legs() == {"FINISHED"}
            assert bpy.ops.foot_ik.plan() == {"FINISHED"}
        _files[key] = Path(_folder.name) / f"{ground}_{len(_files)}.blend"
        save(_files[key])
    load(_files[key])
    return rig()


def build(ground: str) -> None:
    """Build a scene into the current file, which is empty."""
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = FPS, 1, LAST
    ob = mannequin.Maker().add(scene.collection)
    walk.key(ob, replace(GAIT, skate=SKATE if ground == "skate" else 0.0))
    bpy.context.view_layer.objects.active = ob
    grounds = bpy.data.collections.new("Ground")
    scene.collection.children.link(grounds)
    grounds.objects.link(ground_of(ground))
    scene.frame_set(1)


def ground_of(kind: str) -> bpy.types.Object:
    """A surface that passes through z = 0 where the walk begins; the character walks along -y."""
    if kind == "stairs":
        steps = [(-3.0 + 0.6 * i, 0.12 * (4 - i)) for i in range(5)]
        return strip("Stairs", [p for y, z in steps for p in ((y, z), (y + 0.6, z))] + [(1.5, 0.0)])
    rise = tan(radians({"slope": 12.0, "skate": 8.0}.get(kind, 0.0)))
    ob = strip("Ground", [(-4.0, 3.8 * rise), (-0.2, 0.0), (1.5, 0.0)])
    if kind == "deck":  # rises and tilts
        for frame, z, turn in ((1, 0.0, 0.0), (LAST, 0.15, 0.1)):
            ob.location.z, ob.rotation_euler.x = z, turn
            ob.keyframe_insert("location", index=2, frame=frame)
            ob.keyframe_insert("rotation_euler", index=0, frame=frame)
    return ob


def strip(name: str, profile: list[tuple[float, float]]) -> bpy.types.Object:
    """A surface of two metres' width over a profile of (y, z)."""
    mesh = bpy.data.meshes.new(name)
    faces = [(2 * i, 2 * i + 1, 2 * i + 3, 2 * i + 2) for i in range(len(profile) - 1)]
    mesh.from_pydata([(x, y, z) for y, z in profile for x in (1.0, -1.0)], [], faces)
    return bpy.data.objects.new(name, mesh)


def rig(name: str = mannequin.NAME) -> bpy.types.Object:
    return bpy.data.objects[name]


def save(path: Path) -> None:
    bpy.context.preferences.filepaths.save_version = 0
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True)


def load(path: Path) -> None:
    bpy.ops.wm.open_mainfile(filepath=str(path))


def shown(ob: bpy.types.Object, frame: float | None = None) -> np.ndarray:
    """(bones, 4, 4): the pose that is shown, in armature space; now, or after a visit of a frame."""
    if frame is not None:
        visit(frame)
    return evaluated_pose(ob, bpy.context.evaluated_depsgraph_get())


def evaluated_pose(ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> np.ndarray:
    """(bones, 4, 4): the pose in a depsgraph, in armature space."""
    return np.array([bone.matrix for bone in ob.evaluated_get(depsgraph).pose.bones])


def visit(frame: float, scene: bpy.types.Scene | None = None) -> None:
    whole = int(frame // 1)
    (scene or bpy.context.scene).frame_set(whole, subframe=frame - whole)


def shown_over(ob: bpy.types.Object, frames) -> np.ndarray:
    """(frames, bones, 4, 4): the poses shown in several frames."""
    return np.array([shown(ob, frame) for frame in frames])


def angles(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(...): angles in radians between the rotations of matrices (..., 4, 4), exact for small ones."""
    def unit(m: np.ndarray) -> np.ndarray:
        return m[..., :3, :3] / np.linalg.norm(m[..., :3, :3], axis=-2, keepdims=True)

    return 2 * np.arcsin(np.clip(np.linalg.norm(unit(a) - unit(b), axis=(-2, -1)) / np.sqrt(8), 0, 1))


def gaps(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(...): distances in metres between the heads of poses (..., 4, 4)."""
    return np.linalg.norm(a[..., :3, 3] - b[..., :3, 3], axis=-1)


def channels(ob: bpy.types.Object) -> dict[str, tuple]:
    """The transform channels of all bones of the original object, bit for bit."""
    return {bone.name: (bone.rotation_mode, *bone.location, *bone.rotation_quaternion, *bone.rotation_euler,
                        *bone.rotation_axis_angle, *bone.scale) for bone in ob.pose.bones}


def nla(ob: bpy.types.Object, track: bpy.types.NlaTrack, operator: str, **options: object) -> None:
    """Run an operator of the NLA editor on all strips of a track: meta strips and transitions are made by that only."""
    for other in ob.animation_data.nla_tracks:
        other.select = other == track
        for strip in other.strips:
            strip.select = other == track
    ob.select_set(True)
    window = bpy.context.window_manager.windows[0]
    area = window.screen.areas[0]
    area.type = "NLA_EDITOR"
    region = next(r for r in area.regions if r.type == "WINDOW")
    with bpy.context.temp_override(window=window, area=area, region=region):
        assert getattr(bpy.ops.nla, operator)(**options) == {"FINISHED"}


def bag(ob: bpy.types.Object, action: bpy.types.Action | None = None):
    """What holds the F-curves of an object: its action before slots came, or the channelbag of its slot."""
    data = ob.animation_data
    return bags(action or data.action)[0]


def bags(action: bpy.types.Action) -> list:
    """All holders of F-curves of an action."""
    if bpy.app.version < (4, 4, 0):
        return [action]
    return [b for layer in action.layers for s in layer.strips for b in s.channelbags] or [action]


def curves(action: bpy.types.Action) -> dict[tuple[str, int], bpy.types.FCurve]:
    """{(path, index): F-curve} of an action."""
    return {(c.data_path, c.array_index): c for holder in bags(action) for c in getattr(holder, "fcurves", ())}


def curve(ob: bpy.types.Object, bone: str, channel: str, index: int) -> bpy.types.FCurve:
    return curves(ob.animation_data.action)[f'pose.bones["{bpy.utils.escape_identifier(bone)}"].{channel}', index]


def play(ob: bpy.types.Object, action: bpy.types.Action) -> None:
    """Make an action with one slot the active one."""
    ob.animation_data.action = action
    if bpy.app.version >= (4, 4, 0):
        ob.animation_data.action_slot = action.slots[0]


def remove_curves(ob: bpy.types.Object, keep=lambda path, index: False) -> None:
    """Remove the F-curves of the object's action that are not to be kept."""
    holder = bag(ob)
    for c in [c for c in holder.fcurves if not keep(c.data_path, c.array_index)]:
        holder.fcurves.remove(c)


def curve_state(c: bpy.types.FCurve) -> tuple:
    """Everything about an F-curve, bit for bit."""
    rows = []
    for names, size, kind in ((KEY_PLACES, 2, np.float32), (KEY_CHOICES, 1, np.int32)):
        values = np.empty(size * len(c.keyframe_points), kind)
        for name in names:
            c.keyframe_points.foreach_get(name, values)
            rows.append(values.tobytes())
    group = c.group.name if c.group else ""
    return (*rows, c.mute, c.lock, c.hide, c.extrapolation, group, tuple(m.type for m in c.modifiers))


def action_state(action: bpy.types.Action) -> dict:
    """Everything about an action."""
    out = {key: curve_state(c) for key, c in curves(action).items()}
    out["slots"] = tuple(s.identifier for s in getattr(action, "slots", ()))
    return out


def strip_state(s: bpy.types.NlaStrip) -> tuple:
    slot = getattr(s, "action_slot", None)
    return (s.name, s.action and s.action.name, slot and slot.identifier, s.frame_start, s.frame_end,
            s.action_frame_start, s.action_frame_end, s.blend_type, s.extrapolation, s.influence, s.mute, s.scale,
            s.repeat)


def animation_state(ob: bpy.types.Object) -> dict | None:
    """What animates an object: action, slot, NLA, drivers."""
    data = ob.animation_data
    if data is None:
        return None
    slot = getattr(data, "action_slot", None)
    tracks = [(t.name, t.mute, t.is_solo, t.lock, [strip_state(s) for s in t.strips]) for t in data.nla_tracks]
    return {"action": data.action and data.action.name, "slot": slot and slot.identifier, "use_nla": data.use_nla,
            "blend": (data.action_blend_type, data.action_influence, data.action_extrapolation), "tracks": tracks,
            "drivers": [(d.data_path, d.array_index, d.driver.expression) for d in data.drivers]}


def settings_state(group: bpy.types.PropertyGroup) -> dict:
    """All settings of a property group and of what it holds."""
    out = {}
    for prop in group.bl_rna.properties:
        if prop.identifier == "rna_type":
            continue
        value = getattr(group, prop.identifier)
        if prop.type == "COLLECTION":
            value = [settings_state(item) for item in value]
        elif prop.type == "POINTER":
            value = value and value.name
        elif getattr(prop, "is_array", False):
            value = tuple(value)
        out[prop.identifier] = value
    return out


def everything() -> dict:
    """The state of the file as far as the add-on could touch it."""
    scene = bpy.context.scene
    out = {"scene": (scene.frame_current, scene.frame_subframe, scene.frame_start, scene.frame_end),
           "actions": {a.name: (a.use_fake_user, a.users, action_state(a)) for a in bpy.data.actions},
           "data": [sorted(d.name for d in kind) for kind in (bpy.data.objects, bpy.data.meshes, bpy.data.armatures)]}
    for ob in bpy.data.objects:
        out[ob.name_full] = {
            "place": (tuple(map(tuple, ob.matrix_basis)), ob.mode, ob.hide_viewport, ob.hide_render),
            "animation": animation_state(ob)}
        if ob.type == "ARMATURE":
            hidden = ("held",)  # values that the live correction puts aside, worth something only while it is shown
            settings = settings_state(ob.foot_ik)
            out[ob.name_full] |= {"settings": {k: v for k, v in settings.items() if k not in hidden},
                                  "channels": channels(ob), "position": ob.data.pose_position}
    return out


def differences(before, after, at: str = "") -> list[str]:
    """Paths at which two states differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [d for key in before.keys() | after.keys()
                for d in differences(before.get(key), after.get(key), f"{at}/{key}")]
    same = before == after or (before != before and after != after) or repr(before) == repr(after)
    return [] if same else [f"{at}: {str(before)[:200]} -> {str(after)[:200]}"]
