"""Write the corrected animation as keys: only the corrected channels, in a new action or on an NLA track above."""
from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Matrix

from . import live
from .apply import Channels, Weights, corrected_channels, in_range, read_weights, saved_plan
from .channels import in_mode, read_rotation, rotation_path
from .compat import assign_action, ensured_bag, ensured_fcurve, slot_identifier
from .planning import Steps, refuse_driven, writable_or_refuse
from .rig import Refusal, Rig, read_rig
from .sampling import Sample, joined, layer_of, read_frame

KEY_ARRAYS = ("co", "handle_left", "handle_right", "interpolation", "handle_left_type", "handle_right_type", "easing", "type")
LINEAR, BEZIER = 1, 2
"""Values of `Keyframe.interpolation` in arrays."""


@dataclass(frozen=True)
class Keys:
    """Values to key: one F-curve."""

    bone: str
    path: str
    index: int
    values: np.ndarray
    """(F,)"""


def bake(scene: bpy.types.Scene, ob: bpy.types.Object, start: int, end: int, step: int, target: str) -> Steps:
    """Key the corrected pose in the frames start, start + step, ... and `end`, and turn the live correction off."""
    writable_or_refuse(ob)
    if end < start or step < 1:
        raise Refusal(f"There are no frames from {start} to {end} in steps of {step}: set the range to bake")
    rig = read_rig(ob)
    refuse_library_action(ob)
    frames = sorted({*range(start, end + 1, step), end})
    with live.suspended(ob):
        refuse_driven(scene, ob, rig)
        channels, sample = yield from corrected_clip(scene, ob, rig, frames)
        keys = keys_of(ob, channels)
        data = ob.animation_data or ob.animation_data_create()
        if target == "NLA":
            push_down(ob, data, scene, f"{ob.name} Foot IK")
        else:
            copy_action(ob, data)
        write_keys(ob, data, keys, frames, LINEAR if step == 1 else BEZIER)
        if target == "NLA":
            push_up(data)
    ob.foot_ik.enabled = False
    scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)
    missed = int((channels.residual.max(1) > 0.002).sum())
    return [f"{missed} frames have a foot that its leg cannot reach"] if missed else []


def corrected_clip(scene: bpy.types.Scene, ob: bpy.types.Object, rig: Rig, frames: list[int]
                   ) -> Generator[float, None, tuple[Channels, Sample]]:
    """The corrected channels of many frames, in one batch where the plan covers them."""
    kept = scene.frame_current, scene.frame_subframe
    layer, fps, saved = layer_of(scene, ob), live.scene_fps(scene), saved_plan(ob, rig)
    samples, weights, single = [], [], {}
    try:
        for i, frame in enumerate(frames):
            scene.frame_set(frame)
            samples.append(read_frame(ob, rig, layer.depsgraph, frame))
            weights.append(read_weights(ob.evaluated_get(layer.depsgraph)))
            if saved is None or not in_range(saved, frame):
                single[i] = corrected_channels(ob, rig, samples[-1], fps, saved, weights[-1], layer.depsgraph)
            yield (i + 1) / len(frames)
    finally:
        scene.frame_set(kept[0], subframe=kept[1])
    if any(c is None for c in single.values()):
        raise Refusal("There is no plan for these frames: press Plan first")
    planned = [i for i in range(len(frames)) if i not in single]
    parts = [single[i] for i in sorted(single)]
    if planned:
        stacked = Weights(*(np.concatenate([getattr(weights[i], n) for i in planned]) for n in ("position", "rotation", "lock")))
        parts.append(corrected_channels(ob, rig, joined([samples[i] for i in planned]), fps, saved, stacked))
    order = np.argsort(sorted(single) + planned, kind="stable")
    return join_channels(parts, order), joined(samples)


def join_channels(parts: list[Channels], order: np.ndarray) -> Channels:
    """Channels of several groups of frames as one, in the order given."""
    def each(name: str) -> dict[str, np.ndarray]:
        bones = {b for part in parts for b in getattr(part, name)}
        whole = lambda part, b: getattr(part, name).get(b, np.ones(len(part.residual)))
        return {b: np.concatenate([whole(part, b) for part in parts])[order] for b in sorted(bones)}

    return Channels(each("location"), each("rotation"), each("scale"), np.concatenate([p.residual for p in parts])[order])


def keys_of(ob: bpy.types.Object, channels: Channels) -> list[Keys]:
    """The channels as F-curves in each bone's own rotation mode; from frame to frame the rotation never flips."""
    out = []
    for name, rotations in channels.rotation.items():
        bone = ob.pose.bones[name]
        near, rows = read_rotation(bone), []
        for rotation in rotations:
            near = in_mode(Matrix(rotation), bone.rotation_mode, near)
            rows.append(near)
        out += [Keys(name, rotation_path(bone.rotation_mode), i, column) for i, column in enumerate(np.array(rows).T)]
    for name, location in channels.location.items():
        out += [Keys(name, "location", i, column) for i, column in enumerate(location.T)]
    for name, factor in channels.scale.items():
        out += [Keys(name, "scale", i, factor * own) for i, own in enumerate(ob.pose.bones[name].scale)]
    return out


def write_keys(ob: bpy.types.Object, data: bpy.types.AnimData, keys: list[Keys], frames: list[int], interpolation: int) -> None:
    """Replace the keys between the first and the last frame by new ones; keys outside stay as they are."""
    bag = ensured_bag(data, ob)
    for row in keys:
        path = f'pose.bones["{bpy.utils.escape_identifier(row.bone)}"].{row.path}'
        curve = ensured_fcurve(bag, path, row.index, row.bone)
        curve.mute = False
        for modifier in [m for m in curve.modifiers if m.type != "CYCLES"]:
            curve.modifiers.remove(modifier)
        points = curve.keyframe_points
        old = {name: read_points(points, name) for name in KEY_ARRAYS}
        outside = (old["co"][:, 0] < frames[0] - 0.001) | (old["co"][:, 0] > frames[-1] + 0.001)
        fresh = new_points(np.array(frames, float), row.values, interpolation)
        merged = {name: np.concatenate([old[name][outside], fresh[name]]) for name in KEY_ARRAYS}
        order = np.argsort(merged["co"][:, 0], kind="stable")
        points.clear()
        points.add(len(order))
        for name in KEY_ARRAYS:
            points.foreach_set(name, merged[name][order].ravel())
        curve.update()


def read_points(points: bpy.types.FCurveKeyframePoints, name: str) -> np.ndarray:
    """One attribute of all keys: (K, 2) for places, (K,) for choices."""
    pair = name in ("co", "handle_left", "handle_right")
    out = np.empty(len(points) * (2 if pair else 1), np.float32 if pair else np.int32)
    points.foreach_get(name, out)
    return out.reshape(-1, 2) if pair else out


def new_points(frames: np.ndarray, values: np.ndarray, interpolation: int) -> dict[str, np.ndarray]:
    """Keys with automatic clamped handles, as arrays."""
    co = np.stack([frames, values], 1).astype(np.float32)
    auto_clamped = np.full(len(co), 4, np.int32)
    zero = np.zeros(len(co), np.int32)
    return {"co": co, "handle_left": co - (1 / 3, 0), "handle_right": co + (1 / 3, 0), "interpolation": zero + interpolation,
            "handle_left_type": auto_clamped, "handle_right_type": auto_clamped, "easing": zero, "type": zero}


def refuse_library_action(ob: bpy.types.Object) -> None:
    data = ob.animation_data
    if data and data.use_tweak_mode:
        raise Refusal("An NLA strip is being tweaked: leave tweak mode (Tab in the NLA editor) first")


def copy_action(ob: bpy.types.Object, data: bpy.types.AnimData) -> None:
    """Make a copy of the action active, or an empty one where there is none; the original is kept."""
    old, slot = data.action, slot_identifier(data)
    if old is None:
        assign_action(data, bpy.data.actions.new(f"{ob.name} Foot IK"), None)
        return
    new = old.copy()
    new.name = f"{old.name} Foot IK"
    if old.library is None:
        old.use_fake_user = True
    assign_action(data, new, slot)


def push_down(ob: bpy.types.Object, data: bpy.types.AnimData, scene: bpy.types.Scene, name: str) -> None:
    """Move the active action into a strip of its own that plays as before, and make an empty action active."""
    old, slot = data.action, slot_identifier(data)
    if old is not None:
        blend, influence, extrapolation = data.action_blend_type, data.action_influence, data.action_extrapolation
        data.action = None
        track = data.nla_tracks.new()
        track.name = old.name
        strip = track.strips.new(old.name, int(old.frame_range[0]), old)
        if slot is not None:
            strip.action_slot = next(s for s in old.slots if s.identifier == slot)
        start, end = min(old.frame_range[0], scene.frame_start), max(old.frame_range[1], scene.frame_end)
        strip.use_auto_blend = False
        strip.action_frame_start, strip.action_frame_end = start, end
        strip.frame_start, strip.frame_end = start, end
        strip.blend_type, strip.extrapolation = blend, extrapolation
        if influence < 1:
            strip.use_animated_influence = True
            strip.influence = influence
    assign_action(data, bpy.data.actions.new(name), None)


def push_up(data: bpy.types.AnimData) -> None:
    """Move the active action, which holds the corrected channels, to a track above all others."""
    action, slot = data.action, slot_identifier(data)
    data.action = None
    track = data.nla_tracks.new()
    track.name = action.name
    strip = track.strips.new(action.name, round(action.frame_range[0]), action)
    if slot is not None:
        strip.action_slot = next(s for s in action.slots if s.identifier == slot)
    strip.blend_type, strip.extrapolation = "REPLACE", "NOTHING"
