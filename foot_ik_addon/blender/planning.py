"""Detect the legs of a rig, plan its clip, and clear both: what the operators do."""
from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace

import bpy
import numpy as np

from ..core.clip import Clip
from ..core.edits import Edit
from ..core.legs import Legs, LegsNotFound
from ..core.plan import Plan, facing, make_plan
from ..core.sole import find_sole, planted_frames
from . import detect, live
from .apply import options_of
from .fingerprint import fingerprint
from .ground import MeshGround
from .refusals import constraint_check, refuse_baked, refuse_missing_collection, refuse_unmovable, writable_or_refuse
from .rig import Refusal, read_rig, used_legs
from .sampling import Sample, leg_length, step_through, to_clip
from .snapshot import put_back, refilled, values_of
from .store import pack_plan, pack_sole

GLIMPSES = 32
"""Frames that are looked at to find soles and the floor before there is a plan."""

JOINT_HEIGHTS = (-0.01, 0.13)
"""Shares of a leg within which the last joint of a planted foot lies above its floor: balls of flat feet low, ankles of
feet without toes and of boots high."""

Steps = Generator[float, None, list[str]]
"""Yields the share done and returns sentences for the user."""


def frame_range(scene: bpy.types.Scene) -> list[int]:
    """The frames of the scene's range."""
    return list(range(scene.frame_start, scene.frame_end + 1))


def detect_legs(scene: bpy.types.Scene, ob: bpy.types.Object) -> Steps:
    """Find pelvis and legs, the soles and the floor of the clip, and write them into the settings."""
    writable_or_refuse(ob)
    with live.suspended(ob):
        try:
            found = detect.detect(ob, bpy.context.evaluated_depsgraph_get())
        except LegsNotFound as error:
            raise Refusal(str(error)) from None
        before = values_of(ob.foot_ik)
        try:
            set_legs(ob, found)
            yield from propose_floor(scene, ob)
        except BaseException:  # refused, or cancelled by the user
            put_back(ob.foot_ik, before)
            raise
    live.refresh(ob)
    return list(found.notes)


def set_legs(ob: bpy.types.Object, found: Legs) -> None:
    """Write pelvis and legs into the settings; what was planned for other legs goes."""
    settings = ob.foot_ik
    settings.pelvis = found.pelvis
    for item, leg in zip(refilled(settings, "legs", len(found.legs)), found.legs, strict=True):
        item.name, item.upper, item.lower, item.foot, item.toe = leg.name, leg.upper, leg.lower, leg.foot, leg.toe
    settings.plan = settings.fingerprint = ""
    refilled(settings, "contacts", 0)


def propose_floor(scene: bpy.types.Scene, ob: bpy.types.Object) -> Generator[float, None, None]:
    """Set the floor height that the planted feet stand on, 0 or the object's own height, and the soles on it."""
    settings, rig = ob.foot_ik, read_rig(ob)
    frames = frame_range(scene)
    few = [frames[i] for i in np.unique(np.linspace(0, len(frames) - 1, min(GLIMPSES, len(frames))).astype(int))]
    settings.floor_height = 0.0
    sample = yield from step_through(scene, ob, rig, few, [])
    clip, _ = to_clip(sample, rig, live.scene_fps(scene))
    lowest, own = lowest_joint(clip), own_height(ob)
    if off_floor(lowest - own / leg_length(sample, rig)) < off_floor(lowest):
        settings.floor_height = own
        clip, _ = to_clip(with_floor(sample, own), rig, live.scene_fps(scene))
    forward = facing(clip)
    for leg, item in zip(clip.legs, used_legs(ob), strict=True):
        item.sole = pack_sole(find_sole(clip, leg, forward))


def own_height(ob: bpy.types.Object) -> float:
    """Height of an object's origin in the space of its parent."""
    matrix = ob.matrix_parent_inverse @ ob.matrix_basis if ob.parent else ob.matrix_world
    return float(matrix.translation.z)


def with_floor(sample: Sample, height: float) -> Sample:
    lifted = sample.carrier.copy()
    lifted[:, :3, 3] += lifted[:, :3, 2] * height
    return replace(sample, carrier=lifted)


def lowest_joint(clip: Clip) -> float:
    """Height over z = 0, in clip space, of the lowest foot's last joint (ball or ankle) where it is planted."""
    heights = []
    for leg in clip.legs:
        joint = leg.bone_of(True)[:, :3, 3]
        heights.append(np.median(joint[planted_frames(clip, leg.foot[:, :3, 3], joint), 2]))
    return float(min(heights))


def off_floor(height: float) -> float:
    """How far a planted joint at this height over a floor, in legs, is from where one can be: a little above it."""
    return abs(height - float(np.clip(height, *JOINT_HEIGHTS)))


def plan_clip(scene: bpy.types.Scene, ob: bpy.types.Object) -> Steps:
    """Sample the clip over the scene's range, plan it and keep the plan in the settings."""
    writable_or_refuse(ob)
    rig = read_rig(ob)
    settings = ob.foot_ik
    refuse_missing_collection(ob)
    refuse_baked(ob, scene.frame_start, scene.frame_end)
    with live.suspended(ob):
        refuse_unmovable(ob, rig)
        ground = MeshGround(ob)
        frames = frame_range(scene)
        sample = yield from step_through(scene, ob, rig, frames, [constraint_check(ob, rig), ground.visit])
        fps = live.scene_fps(scene)
        clip, _ = to_clip(sample, rig, fps)
        unit = leg_length(sample, rig)
        ground.settle(sample.carrier, unit)
        if settings.ground_source != "FLOOR" and not ground.pieces:
            raise Refusal("There is no ground to stand on: show it, pick its collection, or set Ground to Floor")
        options = options_of(ob, edits_of(ob, frames[0]))
        plan = make_plan(clip, ground, options)
    notes = notes_on(plan)
    settings.plan = pack_plan(plan, frames[0], [leg.foot for leg in rig.legs], notes, unit)
    for item, sole in zip(used_legs(ob), plan.soles, strict=True):
        item.sole = pack_sole(sole)
    list_contacts(ob, plan, frames[0])
    settings.fingerprint = fingerprint(scene, ob)
    live.refresh(ob)
    return notes


def toggle(scene: bpy.types.Scene, ob: bpy.types.Object) -> Steps:
    """Turn the live correction on or off; turning it on plans first where there is no plan yet."""
    notes = []
    if not ob.foot_ik.enabled and not ob.foot_ik.plan:
        notes = yield from plan_clip(scene, ob)
    if not ob.foot_ik.enabled:
        writable_or_refuse(ob)
    ob.foot_ik.enabled = not ob.foot_ik.enabled
    return notes


def edits_of(ob: bpy.types.Object, first: int) -> tuple[tuple[Edit, ...], ...]:
    """The contacts that the user has edited, per leg, as frame indices; where one was made shorter there is none."""
    def edits(leg: bpy.types.PropertyGroup) -> Iterator[Edit]:
        for c in ob.foot_ik.contacts:
            if c.edited and c.leg == leg.name:
                before, after = min(c.start - 1, c.found_end), max(c.end + 1, c.found_start)
                for start, end in ((c.found_start, before), (after, c.found_end)):
                    if start <= end:
                        yield Edit(start - first, end + 1 - first, "NONE")
                yield Edit(c.start - first, c.end + 1 - first, c.mode)

    return tuple(tuple(edits(leg)) for leg in used_legs(ob))


def list_contacts(ob: bpy.types.Object, plan: Plan, first: int) -> None:
    """Write the planned contacts into the settings; those edited by hand stay."""
    kept = [(c.leg, c.start, c.end, c.mode, c.found_start, c.found_end) for c in ob.foot_ik.contacts if c.edited]
    rows = [(leg.name, c.start + first, c.stop - 1 + first)
            for leg, foot in zip(used_legs(ob), plan.contacts, strict=True) for c in foot]
    hand = {(leg, max(start, first)) for leg, start, *_ in kept}
    found = [(leg, start, end, "AUTO", start, end) for leg, start, end in rows if (leg, start) not in hand]
    all_rows = sorted([(False, r) for r in found] + [(True, r) for r in kept], key=lambda r: r[1][1])
    for item, (edited, row) in zip(refilled(ob.foot_ik, "contacts", len(all_rows)), all_rows, strict=True):
        item.leg, item.start, item.end, item.mode, item.found_start, item.found_end = row
        item.edited = edited


def notes_on(plan: Plan) -> list[str]:
    """What the user should know about a plan."""
    out = []
    if plan.in_place:
        out.append("The character walks on the spot: its feet follow the ground but are not locked; move the object "
                   "along to lock them")
    elif not any(plan.contacts):
        out.append("No foot ever stands still and low: check the floor height")
    wanted = sum(contact.locked for foot in plan.contacts for contact in foot)
    missing = wanted - sum(p.contact.locked for foot in plan.prints for p in foot)
    if missing > 0:
        out.append("1 contact found no ground within reach and keeps its animation" if missing == 1 else
                   f"{missing} contacts found no ground within reach and keep their animation")
    return out


def plan_state(scene: bpy.types.Scene, ob: bpy.types.Object) -> str:
    """NONE, STALE or CURRENT: what the plan of an object is worth now."""
    if not ob.foot_ik.plan:
        return "NONE"
    return "CURRENT" if ob.foot_ik.fingerprint == fingerprint(scene, ob) else "STALE"


def clear(ob: bpy.types.Object) -> None:
    """Remove every trace of the settings from an object, its pose as animated."""
    ob.foot_ik.enabled = False
    live.restore(ob)
    for prop in ob.foot_ik.bl_rna.properties:
        if prop.type == "COLLECTION":
            getattr(ob.foot_ik, prop.identifier).clear()
        elif not prop.is_readonly:
            ob.foot_ik.property_unset(prop.identifier)
    ob.property_unset("foot_ik")
