"""Keep arrays and plans in string properties, so that they are saved, undone and copied with the object.

Arrays are float32 in base64: a plan takes 64 bytes per frame and leg, and 37 per frame for the pelvis. What is decoded
is cached by the text itself, so the cache cannot be out of date.
"""
from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ..core.clip import Sole
from ..core.plan import FootPlan, Plan
from .rig import Refusal, Rig


@dataclass(frozen=True, eq=False)
class SavedPlan:
    """A plan as it is kept: its correction by frame, what it was made for, and what was said about it."""

    start: int
    """Frame number of the first row."""
    legs: tuple[str, ...]
    """The foot bones of its feet."""
    plan: Plan
    notes: tuple[str, ...]
    unit: float
    """World length of a leg: what one unit of the plan is."""

    @cached_property
    def motion(self) -> np.ndarray:
        """(2, F, feet, 9): move, turn and bend of the plan's feet."""
        return np.stack([np.concatenate([foot.move, foot.turn, foot.bend], -1) for foot in self.plan.feet], 2)

    def feet(self, rig: Rig) -> list[FootPlan]:
        """What is done to the foot of each leg of a rig."""
        return [self.plan.feet[self.legs.index(leg.foot)] for leg in rig.legs]

    def on_toe(self, rig: Rig) -> tuple[bool, ...]:
        """Per leg of a rig: whether its foot turns about a point of the toe bone."""
        return tuple(foot.on_toe for foot in self.feet(rig))


def packed(arrays: dict[str, np.ndarray], **extra: object) -> str:
    """One line of text that holds arrays (as float32) and plain values."""
    head = {"arrays": {k: list(v.shape) for k, v in arrays.items()}, **extra}
    body = b"".join(np.ascontiguousarray(v, "<f4").tobytes() for v in arrays.values())
    return json.dumps(head) + "\n" + base64.b64encode(body).decode("ascii")


def unpacked(text: str) -> tuple[dict[str, np.ndarray], dict]:
    """The arrays and plain values of `packed`."""
    head, _, body = text.partition("\n")
    extra = json.loads(head)
    data = np.frombuffer(base64.b64decode(body), "<f4").astype(float)
    out, at = {}, 0
    for name, shape in extra.pop("arrays").items():
        count = int(np.prod(shape))
        out[name] = data[at:at + count].reshape(shape)
        at += count
    return out, extra


def pack_plan(plan: Plan, start: int, legs: list[str], notes: list[str], unit: float) -> str:
    arrays = {"pelvis": plan.pelvis, "reach": plan.reach, "lean": plan.lean, "sink": plan.sink}
    for i, foot in enumerate(plan.feet):
        arrays |= {f"ball{i}": foot.ball, f"move{i}": foot.move, f"turn{i}": foot.turn, f"bend{i}": foot.bend}
    return packed(arrays, start=start, legs=legs, notes=notes, unit=unit, in_place=plan.in_place,
                  on_toe=[foot.on_toe for foot in plan.feet])


_plans: list[tuple[str, SavedPlan]] = []
"""Texts that were unpacked last, and their plans. To compare a long text with those of its length is quicker than to
hash it."""


def unpack_plan(text: str) -> SavedPlan:
    """The plan of `pack_plan`; raises `Refusal` where it cannot be read."""
    for known, saved in _plans:
        if known == text:
            return saved
    try:
        saved = plan_from(*unpacked(text))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        raise Refusal("The saved plan cannot be read: press Plan to make it anew") from None
    _plans.insert(0, (text, saved))
    del _plans[256:]
    return saved


def plan_from(arrays: dict[str, np.ndarray], extra: dict) -> SavedPlan:
    feet = tuple(FootPlan(arrays[f"ball{i}"], on_toe, *(arrays[f"{name}{i}"] for name in ("move", "turn", "bend")))
                 for i, on_toe in enumerate(extra["on_toe"]))
    body = (arrays[name] for name in ("pelvis", "reach", "lean", "sink"))
    plan = Plan(feet, *body, in_place=extra["in_place"])
    return SavedPlan(extra["start"], tuple(extra["legs"]), plan, tuple(extra["notes"]), float(extra["unit"]))


def pack_sole(sole: Sole) -> str:
    return packed({"points": sole.points, "on_toe": sole.on_toe, "plan": sole.plan})


@lru_cache(maxsize=256)
def unpack_sole(text: str) -> Sole:
    arrays, _ = unpacked(text)
    return Sole(arrays["points"], arrays["on_toe"] > 0.5, arrays["plan"])
