"""Whether an object plays what was planned: a character has many actions, and exporters play one after the other."""
from __future__ import annotations

import json

import bpy
import numpy as np

from ..core.rotations import transform
from .apply import saved_plan
from .compat import slot_identifier
from .curves import obstacle_on, read_curves
from .rig import Rig
from .sampling import Sample
from .store import SavedPlan

GLIMPSES = 8
"""Frames of a plan by which it is told for which motion it was made."""
NEAR = 0.01
"""Legs by which the joints of the same motion may differ."""

_same: dict[tuple, bool] = {}
"""{session_uids of an object and its action, `FootIKSettings.planned`: whether the action has the motion planned}"""


def plan_of_clip(ob: bpy.types.Object, rig: Rig) -> SavedPlan | None:
    """The plan of an object, or None where there is none for what it plays and its legs as they are set up now."""
    saved = saved_plan(ob, rig)
    return saved if saved and plays_planned(ob, rig, saved.unit) else None


def plays_planned(ob: bpy.types.Object, rig: Rig, unit: float) -> bool:
    """Whether the action that an object plays is the one that was planned or a bake of that, by their names, or has the
    same motion; so what is edited stays the one planned. Where F-curves do not tell, it is.
    """
    planned, data = ob.foot_ik.planned, ob.animation_data
    if not planned or data is None or data.action is None:
        return True
    key = ob.session_uid, data.action.session_uid, name_of(data), planned
    if key not in _same:
        mark = json.loads(planned)
        _same[key] = list(name_of(data)) in mark["names"] or obstacle_on(ob, rig) != "" or moves_so(ob, rig, unit, mark)
    return _same[key]


def moves_so(ob: bpy.types.Object, rig: Rig, unit: float, mark: dict) -> bool:
    """Whether the F-curves of an object make the motion of `marked`."""
    with np.errstate(all="ignore"):
        sample, _ = read_curves(ob, rig, np.array(mark["times"]))
        return bool((np.abs(joints_of(sample, rig) / unit - mark["joints"]) < NEAR).all())


def name_of(data: bpy.types.AnimData) -> tuple[str, str | None]:
    """The active action and its slot."""
    return data.action.name_full, slot_identifier(data)


def marked(ob: bpy.types.Object, rig: Rig, sample: Sample, unit: float, pace: float) -> str:
    """What tells the planned motion of an object again: its action, and a few glimpses of its joints; empty where it
    plays none. `unit` is a leg in the world, `pace` as in `Held`."""
    data = ob.animation_data
    if data is None or data.action is None:
        return ""
    few = sample.take(np.unique(np.linspace(0, len(sample) - 1, GLIMPSES).astype(int)))
    joints = (joints_of(few, rig) / unit).round(4)
    return json.dumps({"names": [name_of(data)], "times": (few.frames * pace).tolist(), "joints": joints.tolist()})


def also_marked(ob: bpy.types.Object) -> str:
    """The same text, with what an object plays now: a bake of that motion."""
    mark = json.loads(ob.foot_ik.planned)
    return json.dumps({**mark, "names": [*mark["names"], name_of(ob.animation_data)]})


def joints_of(sample: Sample, rig: Rig) -> np.ndarray:
    """(F, joints, 3): pelvis and ankles in the world, from where the pelvis is in the mean."""
    heads = np.stack([sample.pose[name][:, :3, 3] for name in (rig.pelvis, *(leg.foot for leg in rig.legs))], 1)
    out = transform(sample.world[:, None], heads)
    return out - out[:, 0].mean(0)
