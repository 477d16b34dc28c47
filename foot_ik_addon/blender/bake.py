"""Write the corrected animation as keys: only the corrected channels, in a new action or on an NLA track above."""
from __future__ import annotations

from collections import Counter
from collections.abc import Generator

import bpy
import numpy as np
from mathutils import Matrix

from ..core.motions import magnified
from ..core.pose import Corrected
from ..core.report import UNREACHED
from ..core.rotations import nearest_rotation, to_quaternion
from . import live
from .apply import Channels, Weights, chains_of, corrected_channels, in_range, read_weights, request_of
from .channels import in_mode, rotation_path
from .clips import sample_clip, whole_round
from .compat import animated_bag, assign_action, ensured_bag, ensured_fcurve, slot_identifier, use_slot
from .controls import find_controls
from .fingerprint import fingerprint
from .followed import refuse_held_back
from .ground import MeshGround
from .keys import BEZIER, LINEAR, Keys, audible, climb_on, goes_round, key_modifiers, merge_keys
from .planned import also_marked, plan_of_clip
from .planning import Steps
from .refusals import constraint_check, note_baked, refuse_baked, refuse_unmovable, writable_or_refuse
from .reporting import bake_report, keep_report, report_to_follow
from .rig import Refusal, Rig, read_rig
from .sampling import Sample, frame_range, joined, layer_of, read_frame, step_through
from .snapshot import animation_kept, settings_kept

SUFFIX = " Foot IK"
"""What the names of baked actions end with."""
MAGNIFIED = 50.0
"""Roundings by which a pose may be off that is read from curves. One is 1.5e-7 of a leg as measured, so that a leg of
0.9 m is off by less than a hundredth of a millimetre."""
CLOSED = 1e-3
"""Radians, or so: rotations that differ by less are the same pose."""
UNBENT = 1e-6
"""Radians: toes, or a pelvis, that never turn by more than this are as animated, and get no keys."""


def bake(scene: bpy.types.Scene, ob: bpy.types.Object, start: int, end: int, step: int, target: str) -> Steps:
    """Key the corrected pose in the frames start, start + step, ... and `end`, and turn the live correction off."""
    writable_or_refuse(ob)
    if end < start or step < 1:
        raise Refusal(f"There are no frames from {start} to {end} in steps of {step}: set the range to bake")
    rig = read_rig(ob, controls="")
    refuse_animation(ob, target)
    refuse_baked(ob, start, end)
    frames, whole = sorted({*range(start, end + 1, step), end}), list(range(start, end + 1))
    with live.suspended(ob), settings_kept(ob), animation_kept(ob):
        if whole == frame_range(scene):
            frames = sorted({*frames, *(yield from whole_round(scene, ob, rig, whole))[len(whole):]})
        rig = read_rig(ob, find_controls(scene, ob, rig, frames))
        refuse_unmovable(ob, rig)
        ground, old, planned = MeshGround(ob), report_to_follow(ob, rig), plan_of_clip(ob, rig) is not None
        channels, sample, weights = yield from corrected_clip(scene, ob, rig, frames, ground if old else None)
        yield from refuse_held_back(scene, ob, rig, sample, channels)
        report = old and bake_report(ob, rig, sample, live.scene_fps(scene), ground, channels.corrected, weights, old)
        keys = keys_of(ob, rig, channels, sample, *animated_values(scene, ob, rig, (start, start - 1, frames[-1] + 1)))
        data = ob.animation_data or ob.animation_data_create()
        pace = live.curve_pace(scene)
        played = scene.frame_start * pace, scene.frame_end * pace
        if target == "NLA":
            push_down(data, played, ob.name + SUFFIX)
        else:
            copy_action(ob, data)
        write_keys(ob, data, keys, np.array(frames) * pace, pace, LINEAR if step == 1 else BEZIER, played)
        if ob.foot_ik.baked is not None:  # an earlier bake that is no longer played is kept
            ob.foot_ik.baked.use_fake_user = True
        ob.foot_ik.baked = data.action
        note_baked(data.action, start, end)
        if planned and ob.foot_ik.planned:  # what is not baked yet can be, by the same plan
            ob.foot_ik.planned = also_marked(ob)
        if target == "NLA":
            push_up(data)
        ob.foot_ik.enabled = False
        if report:
            keep_report(ob, report, fingerprint(scene, ob))
    scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)
    missed = int((channels.corrected.residual.max(1) > UNREACHED).sum())
    return [f"{missed} frames have a foot that its leg cannot reach"] if missed else []


def corrected_clip(scene: bpy.types.Scene, ob: bpy.types.Object, rig: Rig, frames: list[int],
                   ground: MeshGround | None) -> Generator[float, None, tuple[Channels, Sample, Weights]]:
    """The corrected channels of many frames, in one batch where the plan covers them; the `ground` is gathered on the
    way.

    It is what live shows. Curves agree with what Blender evaluates to the seventh digit, which is not enough for legs
    that are nearly straight or far away: those frames are stepped through.
    """
    fps, saved, single = live.scene_fps(scene), plan_of_clip(ob, rig), {}
    covered = [saved is not None and in_range(saved, frame) for frame in frames]
    planned, beyond = ([i for i, known in enumerate(covered) if known == wanted] for wanted in (True, False))

    def alone(depsgraph: bpy.types.Depsgraph, frame: float) -> None:
        if saved is None or not in_range(saved, frame):
            sample, weights = read_frame(ob, rig, depsgraph, frame), read_weights(ob.evaluated_get(depsgraph))
            single[frame] = corrected_channels(ob, request_of(ob, rig, sample, fps, saved, weights, depsgraph))

    each = (constraint_check(ob, rig), *([alone] if beyond else []))
    why = "not all of it is planned" if beyond else ""
    sample, weights, stepped = yield from sample_clip(scene, ob, rig, frames, each, ground, why)
    if any(c is None for c in single.values()):
        raise Refusal("There is no plan for these frames: press Plan first")
    parts = [single[frames[i]] for i in beyond]
    if planned:
        request = request_of(ob, rig, sample.take(planned), fps, saved, weights.take(planned))
        parts.append(corrected_channels(ob, request))
    channels = join_channels(parts, np.argsort(beyond + planned, kind="stable"))
    delicate = np.flatnonzero(magnified(chains_of(sample, rig), channels.corrected) > MAGNIFIED)
    if stepped or not len(delicate):
        return channels, sample, weights
    exact = yield from step_through(scene, ob, rig, [frames[i] for i in delicate], [])
    request = request_of(ob, rig, exact, fps, saved, weights.take(delicate))
    order = np.arange(len(frames))
    order[delicate] = len(frames) + np.arange(len(delicate))
    channels = join_channels([channels, corrected_channels(ob, request)], order)
    return channels, joined([sample, exact]).take(order), weights


def join_channels(parts: list[Channels], order: np.ndarray) -> Channels:
    """Channels of several groups of frames as one, in the order given."""
    def each(name: str) -> dict[str, np.ndarray]:
        bones = {b for part in parts for b in getattr(part, name)}
        whole = lambda part, b: getattr(part, name).get(b, np.ones(len(part.corrected.pelvis)))  # of scales alone
        return {b: np.concatenate([whole(part, b) for part in parts])[order] for b in sorted(bones)}

    stack = lambda get: np.concatenate([get(p.corrected) for p in parts])[order]
    turns = tuple(stack(lambda c, i=i: c.turns[i]) for i in range(len(parts[0].corrected.turns)))
    pelvis, body, hips = stack(lambda c: c.pelvis), stack(lambda c: c.body), stack(lambda c: c.hips)
    corrected = Corrected(pelvis, body, hips, turns, stack(lambda c: c.stretch), stack(lambda c: c.residual))
    return Channels(each("location"), each("rotation"), each("scale"), corrected)


def animated_values(scene: bpy.types.Scene, ob: bpy.types.Object, rig: Rig, frames: tuple[int, ...]
                    ) -> list[dict[tuple[str, str], tuple[float, ...]]]:
    """{(bone, channels): values} in each of some frames, as animated."""
    kept, layer, out = (scene.frame_current, scene.frame_subframe), layer_of(scene, ob), []
    try:
        for frame in frames:
            scene.frame_set(frame)
            bones = [ob.evaluated_get(layer.depsgraph).pose.bones[name] for name in rig.bones]
            out.append({(bone.name, path): tuple(getattr(bone, path)) for bone in bones
                        for path in (rotation_path(bone.rotation_mode), "location", "scale")})
    finally:
        scene.frame_set(kept[0], subframe=kept[1])
    return out


def keys_of(ob: bpy.types.Object, rig: Rig, channels: Channels, sample: Sample, first: dict, before: dict, after: dict
            ) -> list[Keys]:
    """The channels as F-curves in each bone's own rotation mode; from frame to frame the rotation never flips.

    `first`, `before` and `after` are the animated values in the first frame and around the range.
    """
    values, may_rest = {}, {rig.body, *(leg.toe for leg in rig.legs), *(h.bone for h in rig.handles)}
    for name, rotations in channels.rotation.items():
        if name in may_rest and np.abs(rotations - nearest_rotation(sample.basis[name][:, :3, :3])).max() < UNBENT:
            continue
        mode = ob.pose.bones[name].rotation_mode
        path = rotation_path(mode)
        values[name, path] = without_flips(rotations, mode, first[name, path])
    values |= {(name, "location"): location for name, location in channels.location.items()
               if (location != sample.basis[name][:, :3, 3]).any()}
    for name, factor in channels.scale.items():
        values[name, "scale"] = factor[:, None] * np.linalg.norm(sample.basis[name][:, :3, :3], axis=1)
    return [Keys(name, path, i, column, before[name, path][i], after[name, path][i])
            for (name, path), rows in values.items() for i, column in enumerate(rows.T)]


def without_flips(rotations: np.ndarray, mode: str, near: tuple[float, ...]) -> np.ndarray:
    """Rotations (F, 3, 3) as channel values (F, n) of a rotation mode, each nearest to those of the frame before, and
    the first to the values `near`."""
    if mode == "QUATERNION":  # of many at once it takes a tenth of the time
        rows = to_quaternion(rotations)
        turned = (rows * np.concatenate([[near], rows[:-1]])).sum(1) < 0
        return rows * np.cumprod(np.where(turned, -1.0, 1.0))[:, None]
    rows = [near := in_mode(Matrix(rotation), mode, near) for rotation in rotations]
    return np.array(rows)


def write_keys(ob: bpy.types.Object, data: bpy.types.AnimData, keys: list[Keys], at: np.ndarray, pace: float,
               interpolation: int, played: tuple[float, float]) -> None:
    """Replace the keys between the first and the last of the times `at` (F,), in frames of the curves, by new ones.

    Outside of them the curves play on as they did: keys stay, and where there are some on a side, the frame next to
    the range on that side, `pace` away, is keyed as animated. `played` is the scene's range, over which modifiers are
    keyed; but what goes round and round goes on to do so.
    """
    bag = ensured_bag(data, ob)
    paths = {row: f'pose.bones["{bpy.utils.escape_identifier(row.bone)}"].{row.path}' for row in keys}
    curves = {row: bag.fcurves.find(path, index=row.index) for row, path in paths.items()}
    times = [p.co.x for c in curves.values() if c for p in (*c.keyframe_points[:1], *c.keyframe_points[-1:])]
    sides = [time for time, there in ((at[0] - pace, min(times, default=np.inf) < at[0] - pace / 2),
                                      (at[-1] + pace, max(times, default=-np.inf) > at[-1] + pace / 2)) if there]
    rounds = {row for row, curve in curves.items() if curve and goes_round(curve, at[0], at[-1], played)}
    closed = all(abs(row.values[-1] - row.values[0]) < CLOSED for row in keys if row.path.startswith("rotation"))
    for row, path in paths.items():
        curve = curves[row] or ensured_fcurve(bag, path, row.index, row.bone)
        audible(curve, bag, row.bone)
        if row not in rounds:
            key_modifiers(curve, played)
        if rounds and curves[row] is None:
            curve.modifiers.new("CYCLES")
        if row in rounds and closed and row.path == "location":
            climb_on(curve, row)
        merge_keys(curve, row, at, sides, interpolation)


def refuse_animation(ob: bpy.types.Object, target: str) -> None:
    """Refuse animation on which the baked keys would not play as they should."""
    data = ob.animation_data
    if data is None:
        return
    if data.use_tweak_mode:
        raise Refusal("An NLA strip is being tweaked: leave tweak mode (Tab in the NLA editor) first")
    solo = next((track.name for track in data.nla_tracks if track.is_solo), None) if data.use_nla else None
    if solo is not None:
        raise Refusal(f"The NLA track {solo} plays solo, so that baked keys would not be seen: turn Solo off first")
    if target == "NLA" and not data.use_nla:
        raise Refusal(f"The NLA of {ob.name} is turned off: turn it on, or bake to a new action")
    half = half_keyed(data) if target == "NLA" and not len(data.nla_tracks) else None
    if half is not None:
        raise Refusal(f"Only a part of {half} is keyed, which an NLA strip plays otherwise: key all of its values, or "
                      "bake to a new action")
    blended = data.action_blend_type != "REPLACE" or data.action_influence < 1
    if target != "NLA" and data.action is not None and data.use_nla and len(data.nla_tracks) and blended:
        raise Refusal(f"The action of {ob.name} is blended over the NLA, where corrected keys cannot replace it: bake "
                      "to an NLA track")


def half_keyed(data: bpy.types.AnimData) -> str | None:
    """A quaternion of which the active action animates some values only, and drivers not the others: in the NLA these
    are those of no turn."""
    bag = animated_bag(data)
    heard = [c for c in bag.fcurves if not c.mute and not (c.group and c.group.mute)] if bag else []
    keyed = {c.data_path for c in heard}
    heard += [d for d in data.drivers if d.data_path in keyed]
    count = Counter(c.data_path for c in heard if c.data_path.endswith("rotation_quaternion"))
    return next((path for path, values in count.items() if values < 4), None)


def copy_action(ob: bpy.types.Object, data: bpy.types.AnimData) -> None:
    """Make a copy of the action active, or an empty one where there is none; the original is kept."""
    old, slot = data.action, slot_identifier(data)
    if old is None:
        assign_action(data, bpy.data.actions.new(ob.name + SUFFIX), None)
        data.action_blend_type, data.action_influence = "REPLACE", 1.0
        if len(data.nla_tracks):  # which go on outside the range that is baked
            data.action_extrapolation = "NOTHING"
        return
    new = old.copy()
    new.name = old.name.removesuffix(SUFFIX) + SUFFIX
    if old.library is None:
        old.use_fake_user = True
    assign_action(data, new, slot)


def push_down(data: bpy.types.AnimData, played: tuple[float, float], name: str) -> None:
    """Move the active action into a strip of its own that plays as before, and make an empty action active."""
    old, slot = data.action, slot_identifier(data)
    if old is not None:
        blend, influence, extrapolation = data.action_blend_type, data.action_influence, data.action_extrapolation
        if not len(data.nla_tracks):  # without any Blender passes over these
            blend, influence, extrapolation = "REPLACE", 1.0, "HOLD"
        data.action = None
        track = data.nla_tracks.new()
        track.name = old.name
        keyed = old.curve_frame_range  # `frame_range` may be set by hand, and be less
        strip = track.strips.new(old.name, int(keyed[0]), old)
        use_slot(strip, slot)
        start, end = min(keyed[0], played[0]), max(keyed[1], played[1])
        strip.use_auto_blend = False
        strip.action_frame_start, strip.action_frame_end = start, end
        strip.frame_start, strip.frame_end = start, end
        strip.blend_type, strip.extrapolation = blend, extrapolation
        if influence < 1:
            strip.use_animated_influence = True
            strip.fcurves.find("influence").keyframe_points.insert(start, influence)
    assign_action(data, bpy.data.actions.new(name), None)


def push_up(data: bpy.types.AnimData) -> None:
    """Move the active action, which holds the corrected channels, to a track above all others."""
    action, slot = data.action, slot_identifier(data)
    data.action = None
    track = data.nla_tracks.new()
    track.name = action.name
    strip = track.strips.new(action.name, round(action.frame_range[0]), action)
    use_slot(strip, slot)
    strip.frame_start, strip.frame_end = action.frame_range
    strip.blend_type, strip.extrapolation = "REPLACE", "NOTHING"
