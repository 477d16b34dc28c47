"""Plan and bake rigs from start to end, without a window: what the command line does, and scripts may do."""
from __future__ import annotations

import traceback
from dataclasses import dataclass

import bpy

from .bake import bake
from .live import suspended
from .planning import Steps, detect_legs, plan_clip, plan_state
from .refusals import baked_frames, writable_or_refuse
from .reporting import read_report
from .rig import Refusal
from .snapshot import settings_kept


@dataclass(frozen=True)
class Outcome:
    """What came of the work on one object."""

    name: str
    """The full name of the object."""
    refused: str = ""
    """Why it was not done, one sentence; the object is then as it was. Empty when it was done."""
    notes: tuple[str, ...] = ()
    """Sentences for the user."""
    report: dict | None = None
    """The report on the plan or the bake."""


def animated_rigs(scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """The armatures of a scene that have an animation, by name."""
    return sorted((ob for ob in scene.objects if ob.type == "ARMATURE" and is_animated(ob)), key=lambda ob: ob.name)


def is_animated(ob: bpy.types.Object) -> bool:
    """Whether an object has an action or an NLA strip."""
    data = ob.animation_data
    return data is not None and (data.action is not None or any(len(track.strips) for track in data.nla_tracks))


def plan_rig(scene: bpy.types.Scene, ob: bpy.types.Object) -> Steps:
    """Plan the clip of a rig; its legs are detected first where it has none."""
    writable_or_refuse(ob)
    notes: list[str] = []
    with suspended(ob), settings_kept(ob):
        if not len(ob.foot_ik.legs):
            notes += yield from detect_legs(scene, ob)
        notes += yield from plan_clip(scene, ob)
    return notes


def bake_rig(scene: bpy.types.Scene, ob: bpy.types.Object, start: int, end: int, step: int, target: str) -> Steps:
    """Bake the corrected pose of a rig; it is planned first where it has no plan, or one that is out of date."""
    writable_or_refuse(ob)
    notes: list[str] = []
    with suspended(ob), settings_kept(ob):
        state = plan_state(scene, ob)
        if state == "NONE" or (state == "STALE" and not baked_frames(ob)):
            notes += yield from plan_rig(scene, ob)
        notes += yield from bake(scene, ob, start, end, step, target)
    return notes


def report_rig(ob: bpy.types.Object) -> Steps:
    """Refuse a rig on which there is no report."""
    if read_report(ob) is None:
        raise Refusal(f"There is no report on {ob.name}: plan or bake it first")
    yield 1.0
    return []


def outcome(ob: bpy.types.Object, steps: Steps) -> Outcome:
    """Do the work on an object to its end; refusals and faults are told, not raised."""
    try:
        while True:
            next(steps)
    except StopIteration as end:
        return Outcome(ob.name_full, notes=tuple(end.value), report=read_report(ob))
    except Refusal as refusal:
        return Outcome(ob.name_full, str(refusal))
    except Exception as error:  # one rig's fault must not stop the others
        traceback.print_exc()
        return Outcome(ob.name_full, f"Foot IK failed on {ob.name}, please report it: {type(error).__name__}: {error}")
