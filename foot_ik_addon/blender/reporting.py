"""The report on a plan or a bake: measured from what was sampled and solved, kept as JSON in `Object.foot_ik.report`.

The plan's text holds what a frame needs and no contacts; so the report keeps them, and a bake measures by those of the
report before it.
"""
from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache

import bpy
import numpy as np

from ..core.clip import Clip, Sole
from ..core.motions import foot_motions
from ..core.plan import Plan, standing
from ..core.pose import Corrected, correct
from ..core.report import Plant, contact_rows, measure, number, plants_from, summary
from ..core.rotations import transform
from .apply import Weights, chains_of, jobs, read_weights, rows_at, saved_plan
from .fingerprint import fingerprint
from .ground import MeshGround
from .planned import plan_of_clip
from .refusals import refuse_unturned
from .rig import Rig, used_legs
from .sampling import Sample, to_clip
from .store import SavedPlan, unpack_sole

VERSION = 1
"""Counts up when a key changes its meaning or goes."""
WEIGHTS = ("position", "rotation", "lock")


def plan_report(ob: bpy.types.Object, rig: Rig, sample: Sample, fps: float, ground: MeshGround, plan: Plan,
                unit: float, weights: Weights) -> dict:
    """What a plan does to the clip that it was made from, with the weights of the settings."""
    first = int(sample.frames[0])
    saved = SavedPlan(first, tuple(leg.foot for leg in rig.legs), plan, (), unit)
    clip, to_rig = to_clip(sample, rig, fps, unit)
    rows = rows_at(saved, rig, sample.frames, weights)
    corrected = correct(clip, chains_of(sample, rig), to_rig, jobs(ob, rig), rows)
    if corrected.leans:
        refuse_unturned(ob, rig)
    plants = []
    for contacts, prints in zip(plan.contacts, plan.prints, strict=True):
        grounded = standing(list(prints), len(plan))
        plants.append([Plant(replace(c, start=c.start + first, stop=c.stop + first),
                             bool(grounded[c.start:c.stop].any())) for c in contacts])
    return report_on("PLAN", ob, rig, sample, clip, to_rig, plan.soles, plants, ground, corrected, weights, unit)


def report_to_follow(ob: bpy.types.Object, rig: Rig) -> dict | None:
    """The report by whose contacts a bake is measured; None where there is none, or no ground to measure on."""
    report, settings = read_report(ob), ob.foot_ik
    if settings.ground_source == "COLLECTION" and settings.ground_collection is None:
        return None
    return report if report and plan_of_clip(ob, rig) else None


def bake_report(ob: bpy.types.Object, rig: Rig, sample: Sample, fps: float, ground: MeshGround, corrected: Corrected,
                weights: Weights, old: dict) -> dict:
    """What the keys do that are baked in the frames of a sample, by the contacts of the report `old`."""
    unit = saved_plan(ob, rig).unit
    ground.settle(sample.carrier, unit)
    contacts = {leg["foot"]: leg["contacts"] for leg in old["legs"]}
    plants = [plants_from(contacts.get(leg.foot, [])) for leg in rig.legs]
    clip, to_rig = to_clip(sample, rig, fps, unit)
    soles = tuple(unpack_sole(item.sole) for item in used_legs(ob))
    return report_on("BAKE", ob, rig, sample, clip, to_rig, soles, plants, ground, corrected, weights, unit)


def report_on(made_by: str, ob: bpy.types.Object, rig: Rig, sample: Sample, clip: Clip, to_rig: np.ndarray,
              soles: tuple[Sole, ...], plants: list[list[Plant]], ground: MeshGround, corrected: Corrected,
              weights: Weights, unit: float) -> dict:
    """The report, without the fingerprint of what it was made from. `to_rig` (F, 4, 4) leads from clip space to that of
    the armature."""
    frames = np.round(sample.frames).astype(int)
    toes = tuple(sample.pose[leg.toe][:, :3, 3] if leg.bends else None for leg in rig.legs)
    motions = foot_motions(chains_of(sample, rig), toes, corrected)
    motions = np.linalg.inv(to_rig)[:, None, None] @ motions @ to_rig[:, None, None]
    legs, rows = [], []
    for i, item in enumerate(used_legs(ob)):
        tracks = soles[i].tracks(clip.legs[i])
        after = transform(motions[:, i, soles[i].on_toe.astype(int)], tracks)
        legs.append(measure(frames, clip.fps, tracks, after, corrected.residual[:, i], plants[i], ground))
        missing = sum(not plant.grounded for plant in plants[i])
        rows.append({"name": item.name, "foot": item.foot, **summary(legs[-1:], [item.name], unit),
                     "without_ground": missing, "weights": constants(weights, i), "contacts": contact_rows(plants[i])})
    overall = summary(legs, [row["name"] for row in rows], unit)
    overall["without_ground"] = sum(row["without_ground"] for row in rows)
    return {"version": VERSION, "made_by": made_by, "frame_start": int(frames[0]), "frame_end": int(frames[-1]),
            "leg_length": number(unit), "overall": overall, "legs": rows}


def constants(weights: Weights, leg: int) -> dict:
    """The weights of a leg, the influence worked in; None for those that change from frame to frame."""
    columns = {name: getattr(weights, name)[:, leg] for name in WEIGHTS}
    return {name: number(c[0]) if np.ptp(c) < 1e-6 else None for name, c in columns.items()}


def keep_report(ob: bpy.types.Object, report: dict, made_from: str) -> None:
    """Keep a report in the settings, with the fingerprint of what it was made from."""
    ob.foot_ik.report = json.dumps(report | {"fingerprint": made_from}, allow_nan=False)


def read_report(ob: bpy.types.Object) -> dict | None:
    """The report of an object; None where it has none that can be read."""
    return parsed(ob.foot_ik.report)


@lru_cache(maxsize=64)
def parsed(text: str) -> dict | None:
    try:
        report = json.loads(text)
    except ValueError:
        return None
    return report if isinstance(report, dict) and report.get("version") == VERSION else None


def report_state(scene: bpy.types.Scene, ob: bpy.types.Object) -> str:
    """NONE, STALE or CURRENT: what the report of an object is worth now."""
    report = read_report(ob)
    if report is None:
        return "NONE"
    same = report["fingerprint"] == fingerprint(scene, ob) and (report["made_by"] == "BAKE" or same_weights(ob, report))
    return "CURRENT" if same else "STALE"


def same_weights(ob: bpy.types.Object, report: dict) -> bool:
    """Whether the weights that are not animated are still those of a report."""
    now = read_weights(ob)
    then = [leg["weights"][name] for leg in report["legs"] for name in WEIGHTS]
    current = np.stack([getattr(now, name)[0] for name in WEIGHTS], 1).ravel()
    pairs = zip(then, current, strict=False)
    return len(then) == len(current) and all(a is None or abs(a - b) < 1e-5 for a, b in pairs)
