"""Detect the legs of a rig, plan its clip, and clear both: what the operators do."""
from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import count

import bpy
import numpy as np

from ..core.clip import Clip
from ..core.edits import Edit
from ..core.legs import Legs, LegsNotFound
from ..core.plan import Plan, make_plan
from . import detect, live
from .apply import corrected_channels, options_of, request_of, saved_plan
from .clips import sample_clip, whole_round
from .controls import find_controls
from .fingerprint import fingerprint
from .floor import propose_floor
from .followed import refuse_held_back
from .ground import MeshGround
from .planned import marked
from .prints import Instancers, pack_prints
from .refusals import constraint_check, refuse_baked, refuse_missing_collection, refuse_unmovable, writable_or_refuse
from .reporting import keep_report, plan_report
from .rig import Refusal, read_rig, used_legs
from .sampling import frame_range, leg_length, to_clip
from .sheared import refuse_fixed_shear
from .snapshot import put_back, refilled, settings_kept, values_of
from .store import pack_plan, pack_sole

SKATE = 0.3
"""Legs per second by which standing feet slip where the speed does not fit the steps."""
STRIDE = 0.75
"""Seconds in which a foot comes down to a flat floor, jumps included."""
CLIMB = 0.1
"""Legs by which the lowest places of such times differ where the clip was not animated on a flat floor."""
Steps = Generator[float, None, list[str]]
"""Yields the share done and returns sentences for the user."""


def detect_legs(scene: bpy.types.Scene, ob: bpy.types.Object) -> Steps:
    """Find pelvis and legs, the soles and the floor of the clip, and write them into the settings."""
    writable_or_refuse(ob)
    with live.suspended(ob), settings_kept(ob):
        try:
            found = detect.detect(ob, bpy.context.evaluated_depsgraph_get())
        except LegsNotFound as error:
            raise Refusal(str(error)) from None
        set_legs(ob, found)
        yield from propose_floor(scene, ob)
        return [*found.notes, *keep_controls(scene, ob)]


def keep_controls(scene: bpy.types.Scene, ob: bpy.types.Object) -> list[str]:
    """Find what moves the legs that are set up and keep it in the settings; returns why that is not possible."""
    try:
        ob.foot_ik.controls = find_controls(scene, ob, read_rig(ob), frame_range(scene))
    except Refusal as refusal:
        return [str(refusal)]
    return []


def set_legs(ob: bpy.types.Object, found: Legs) -> None:
    """Write pelvis and legs into the settings; what was planned for other legs goes."""
    settings = ob.foot_ik
    settings.pelvis = found.pelvis
    for item, leg in zip(refilled(settings, "legs", len(found.legs)), found.legs, strict=True):
        item.name, item.upper, item.lower, item.foot, item.toe = leg.name, leg.upper, leg.lower, leg.foot, leg.toe
    settings.plan = settings.footprints = settings.fingerprint = settings.report = settings.controls = ""
    refilled(settings, "contacts", 0)


def name_legs(ob: bpy.types.Object) -> None:
    """Give legs that have no name, or that of another, one of their own: contacts are told apart by it."""
    taken: set[str] = set()
    for leg in ob.foot_ik.legs:
        if not leg.name or leg.name in taken:
            others = {other.name for other in ob.foot_ik.legs}
            leg.name = next(name for i in count(2) if (name := f"{leg.name or 'Leg'} {i}") not in others)
        taken.add(leg.name)


def plan_clip(scene: bpy.types.Scene, ob: bpy.types.Object) -> Steps:
    """Sample the clip over the scene's range, plan it and keep the plan in the settings."""
    writable_or_refuse(ob)
    rig = read_rig(ob, controls="")
    settings = ob.foot_ik
    refuse_missing_collection(ob)
    refuse_baked(ob, scene.frame_start, scene.frame_end)
    with live.suspended(ob), settings_kept(ob):
        name_legs(ob)
        frames = yield from whole_round(scene, ob, rig, frame_range(scene))
        controls = find_controls(scene, ob, rig, frames)
        rig = read_rig(ob, controls)
        refuse_unmovable(ob, rig)
        ground = MeshGround(ob)
        instancers = Instancers(ground)
        each = constraint_check(ob, rig), instancers.visit
        sample, weights, why = yield from sample_clip(scene, ob, rig, frames, each, ground)
        refuse_fixed_shear(sample, rig)
        fps = live.scene_fps(scene)
        clip, _ = to_clip(sample, rig, fps)
        unit = leg_length(sample, rig)
        ground.settle(sample.carrier, unit)
        if settings.ground_source != "FLOOR" and not ground.pieces:
            raise Refusal("There is no ground to stand on: show it, pick its collection, or set Ground to Floor")
        options = options_of(ob, edits_of(ob, frames[0]))
        plan = make_plan(clip, ground, options)
        report = plan_report(ob, rig, sample, fps, ground, plan, unit, weights)
        report["stepped_because"] = why
        notes = notes_on(plan, any(options.edits)) + notes_on_speed(report, fps)
        if settings.ground_source != "FLOOR":
            notes += notes_on_climb(clip, plan)
        settings.controls = controls
        settings.plan = pack_plan(plan, frames[0], [leg.foot for leg in rig.legs], notes, unit)
        for item, sole in zip(used_legs(ob), plan.soles, strict=True):
            item.sole = pack_sole(sole)
        list_contacts(ob, plan, frames[0])
        settings.footprints = pack_prints(plan, frames[0], ground, instancers, sample.carrier, unit)
        settings.planned = marked(ob, rig, sample, unit, live.curve_pace(scene))
        settings.fingerprint = fingerprint(scene, ob)
        keep_report(ob, report, settings.fingerprint)
        request = request_of(ob, rig, sample, fps, saved_plan(ob, rig), weights)
        yield from refuse_held_back(scene, ob, rig, sample, corrected_channels(ob, request))
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
    def span(start: int, end: int) -> tuple[int, int]:
        return start - first, end + 1 - first

    def edits(leg: bpy.types.PropertyGroup) -> Iterator[Edit]:
        for c in ob.foot_ik.contacts:
            if c.edited and c.leg == leg.name:
                before, after = min(c.start - 1, c.found_end), max(c.end + 1, c.found_start)
                for start, end in ((c.found_start, before), (after, c.found_end)):
                    if start <= end:
                        yield Edit(*span(start, end), "NONE")
                heel = span(c.heel_start, c.heel_end) if c.heel_edited else None
                ball = span(c.ball_start, c.ball_end) if c.ball_edited else None
                yield Edit(*span(c.start, c.end), c.mode, heel, ball)

    return tuple(tuple(edits(leg)) for leg in used_legs(ob))


def list_contacts(ob: bpy.types.Object, plan: Plan, first: int) -> None:
    """Write the planned contacts into the settings; what was edited by hand stays, and the selection."""
    settings = ob.foot_ik
    was = [(c.leg, c.start) for c in settings.contacts][max(settings.active_contact, 0):][:1]
    kept: list[dict] = [values_of(c) for c in ob.foot_ik.contacts if c.edited]
    rows = list(kept)
    for leg, foot in zip(used_legs(ob), plan.contacts, strict=True):
        hand = [row for row in kept if row["leg"] == leg.name and row["mode"] != "NONE"]
        for c in foot:
            start, end = c.start + first, c.stop - 1 + first
            touch = *touching(c.heel, start), *touching(c.ball, start)
            edit = next((row for row in hand if row["start"] <= start <= row["end"]), None)
            if edit is None:
                rows.append({"leg": leg.name, "start": start, "end": end, "mode": "AUTO", **timed(touch),
                             "heel_edited": False, "ball_edited": False, "edited": False,
                             "found_start": start, "found_end": end, "found_touch": touch})
            else:
                edit |= {k: v for k, v in timed(touch).items() if not edit[k[:4] + "_edited"]}
    rows.sort(key=lambda row: row["start"])
    for i, (item, row) in enumerate(zip(refilled(settings, "contacts", len(rows)), rows, strict=True)):
        put_back(item, row | {"name": str(i)})
    for leg, start in was if rows else ():
        near = [(row["leg"] != leg, abs(row["start"] - start)) for row in rows]
        settings.active_contact = near.index(min(near))


def touching(mask: np.ndarray, first: int) -> tuple[int, int]:
    """First and last frame in which a point of the foot touches, from a mask that begins at frame `first`."""
    at = np.flatnonzero(mask)
    return (int(at[0]) + first, int(at[-1]) + first) if len(at) else (first, first - 1)


def timed(touch: tuple[int, ...]) -> dict[str, int]:
    """Four frames as the properties of a contact."""
    return dict(zip(("heel_start", "heel_end", "ball_start", "ball_end"), touch, strict=True))


def notes_on(plan: Plan, edited: bool) -> list[str]:
    """What the user should know about a plan; that there are no contacts only if none is `edited`."""
    out = []
    found = [contact for foot in plan.contacts for contact in foot]
    if plan.in_place and not (found and all(contact.locked for contact in found)):
        out.append("The character walks on the spot: its feet follow the ground but are not locked; move the object "
                   "along to lock them")
    elif not found and not edited:
        out.append("No foot ever stands still and low: check the floor height")
    if any(contact.slips for contact in found):
        out.append("The ground moves away under standing feet, which are not locked there: make the character a child "
                   "of what should carry it")
    wanted = sum(contact.locked for contact in found)
    missing = wanted - sum(p.contact.locked for foot in plan.prints for p in foot)
    if missing > 0:
        out.append("1 contact found no ground within reach and keeps its animation" if missing == 1 else
                   f"{missing} contacts found no ground within reach and keep their animation")
    return out


def notes_on_climb(clip: Clip, plan: Plan) -> list[str]:
    """Whether the feet do not come down to one height in the clip itself, as where it climbs stairs or rides a lift."""
    lowest = np.min([sole.tracks(leg)[..., 2].min(1) for leg, sole in zip(clip.legs, plan.soles, strict=True)], 0)
    window = min(round(clip.frames(STRIDE)), len(lowest))
    floor = np.lib.stride_tricks.sliding_window_view(lowest, window).min(1)
    if np.ptp(floor) < CLIMB:
        return []
    return ["The feet climb or sink in the animation itself, which adds to the height of the ground: animate them on a "
            "flat floor, or make the character a child of what carries it"]


def notes_on_speed(report: dict, fps: float) -> list[str]:
    """Whether legs do not reach where feet are locked that skate along in the animation, by the report on a plan."""
    skate = (report["overall"]["slide"]["before"]["mean_of_leg"] or 0.0) * fps
    if skate < SKATE or not report["overall"]["unreached"]["count"]:
        return []
    return ["The speed of the character does not fit its steps, so that locked feet get out of reach: move it faster "
            "or slower until standing feet do not skate, or lower Lock"]


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
    ob.pop("foot_ik", None)  # which Blender 5.0 leaves behind in files of earlier ones
