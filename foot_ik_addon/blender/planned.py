"""Whether an object plays what was planned: a character has many actions, and exporters play one after the other."""
from __future__ import annotations

import json
import re

import bpy
import numpy as np

from ..core.rotations import transform
from .apply import saved_plan
from .compat import animated_bag, slot_identifier
from .curves import obstacle_on, read_curves
from .digest import Digest
from .flush import flat
from .playing import add_bag
from .rig import Rig
from .sampling import Sample
from .store import SavedPlan

GLIMPSES = 8
"""Frames of a plan by which it is told for which motion it was made."""
NEAR = 0.01
"""Legs by which the joints of the same motion may differ."""

_same: dict[tuple, bool] = {}
"""{session_uid of an object, what it plays, `FootIKSettings.planned`: whether that is what was planned}"""


def plan_of_clip(ob: bpy.types.Object, rig: Rig) -> SavedPlan | None:
    """The plan of an object, or None where there is none for what it plays and its legs as they are set up now."""
    saved = saved_plan(ob, rig)
    return saved if saved and plays_planned(ob, rig, saved.unit) else None


def plays_planned(ob: bpy.types.Object, rig: Rig, unit: float) -> bool:
    """Whether an object plays an action that was planned or a bake of that, by their names, or one of the same motion;
    so what is edited stays the one planned. Where F-curves do not tell the motion it must be these F-curves; over NLA
    strips any action is taken for that.
    """
    planned, data = ob.foot_ik.planned, ob.animation_data
    names = names_of(data) if planned and data else ()
    if not names:
        return True
    key = ob.session_uid, names, planned
    if key not in _same:
        mark = json.loads(planned)
        if data.action is None:
            known = {base(name) for name, _ in mark["names"]}
            _same[key] = any(base(name) in known for name, _ in names)
        else:
            _same[key] = any(list(name) in mark["names"] for name in names) or acts_so(ob, rig, unit, mark)
    return _same[key]


def acts_so(ob: bpy.types.Object, rig: Rig, unit: float, mark: dict) -> bool:
    """Whether the active action of an object moves it as `marked`."""
    data = ob.animation_data
    if data.use_nla and any(track.is_solo or not track.mute for track in data.nla_tracks):
        return True
    return digest_of(data) == mark.get("curves") if obstacle_on(ob, rig) else moves_so(ob, rig, unit, mark)


def digest_of(data: bpy.types.AnimData) -> str:
    """A digest of the F-curves of the active action."""
    digest = Digest(lambda _: False)
    add_bag(digest.add, animated_bag(data))
    return digest.finish()


def names_of(data: bpy.types.AnimData) -> tuple[tuple[str, str | None], ...]:
    """What plays: the active action and its slot, else those of the NLA strips."""
    if data.action is not None:
        return ((data.action.name_full, slot_identifier(data)),)
    tracks = [track for track in data.nla_tracks if not track.mute] if data.use_nla else []
    tracks = [track for track in tracks if track.is_solo] or tracks
    strips = [strip for track in tracks for strip in flat(track.strips) if strip.action and not strip.mute]
    return tuple((strip.action.name_full, slot_identifier(strip)) for strip in strips)


def base(name: str) -> str:
    """The name of an action without the number that Blender gives to its copies."""
    return re.sub(r"\.\d+$", "", name)


def moves_so(ob: bpy.types.Object, rig: Rig, unit: float, mark: dict) -> bool:
    """Whether the F-curves of an object make the motion of `marked`."""
    with np.errstate(all="ignore"):
        sample, _ = read_curves(ob, rig, np.array(mark["times"]))
        return bool((np.abs(joints_of(sample, rig) / unit - mark["joints"]) < NEAR).all())


def marked(ob: bpy.types.Object, rig: Rig, sample: Sample, unit: float, pace: float) -> str:
    """What tells the planned motion of an object again: its actions, their F-curves, and a few glimpses of its joints;
    empty where it plays none. `unit` is a leg in the world, `pace` as in `Held`."""
    names = names_of(ob.animation_data) if ob.animation_data else ()
    if not names:
        return ""
    few = sample.take(np.unique(np.linspace(0, len(sample) - 1, GLIMPSES).astype(int)))
    joints = (joints_of(few, rig) / unit).round(4)
    return json.dumps({"names": names, "curves": digest_of(ob.animation_data), "times": (few.frames * pace).tolist(),
                       "joints": joints.tolist()})


def also_marked(ob: bpy.types.Object) -> str:
    """The same text, with what an object plays now: a bake of that motion."""
    mark = json.loads(ob.foot_ik.planned)
    return json.dumps({**mark, "names": [*mark["names"], *names_of(ob.animation_data)]})


def joints_of(sample: Sample, rig: Rig) -> np.ndarray:
    """(F, joints, 3): pelvis and ankles in the world, from where the pelvis is in the mean."""
    heads = np.stack([sample.pose[name][:, :3, 3] for name in (rig.pelvis, *(leg.foot for leg in rig.legs))], 1)
    out = transform(sample.world[:, None], heads)
    return out - out[:, 0].mean(0)
