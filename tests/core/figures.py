"""Plan and correct a clip of `walks` over a ground, and measure what came out, as the lab does. Lengths in metres of a
0.9 m leg."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from core.walks import Walk, truth

from foot_ik_addon.core.clip import BALL, HEEL, LEG, Clip, Leg, Sole, runs
from foot_ik_addon.core.plan import Options, Plan, facing, make_plan
from foot_ik_addon.core.pose import Corrected, LegJob, Rows, correct, weighted
from foot_ik_addon.core.rest import Limits
from foot_ik_addon.core.rotations import rotate, transform
from foot_ik_addon.core.sole import find_sole

LIMITS = Limits(0.7, 0.45, 0.4, 0.5)
"""The panel's defaults."""


@dataclass(frozen=True)
class Result:
    """A corrected clip."""

    before: Clip
    after: Clip
    plan: Plan
    corrected: Corrected

    def soles(self, clip: Clip) -> list[np.ndarray]:
        """Per leg (F, S, 3): sole points in metres."""
        return [sole.tracks(leg) / LEG for sole, leg in zip(self.plan.soles, clip.legs, strict=True)]


def options(legs: int = 2, *, limits: Limits = LIMITS, pelvis: bool = True, edits=()) -> Options:
    return Options(limits, (pelvis,) * legs, edits)


def rows_of(plan: Plan, lock: float) -> Rows:
    """Every frame of a plan with full weights."""
    w = np.full(len(plan), lock)
    return Rows(
        np.stack([f.ball for f in plan.feet]),
        tuple(f.on_toe for f in plan.feet),
        np.stack([weighted(f.move, w) for f in plan.feet], 1),
        np.stack([weighted(f.turn, w) for f in plan.feet], 1),
        np.stack([weighted(f.bend, w) for f in plan.feet], 1),
        weighted(plan.pelvis, w),
        plan.reach,
    )


def apply(
    clip: Clip,
    plan: Plan,
    *,
    lock: float = 1.0,
    job: LegJob | None = None,
    to_rig: np.ndarray | None = None,
    rows: Rows | None = None,
) -> Result:
    """The corrected clip: bones turned about their heads as `Corrected` says. `to_rig` (4, 4) leads to armature
    space."""
    job = job or LegJob("TWO_BONE", 0.0, True)
    to_rig = np.eye(4) if to_rig is None else to_rig
    chains = tuple(transform(to_rig, leg.joints) for leg in clip.legs)
    out = correct(
        clip, chains, np.tile(to_rig, (len(clip), 1, 1)), (job,) * len(clip.legs), rows or rows_of(plan, lock)
    )
    linear, back = to_rig[:3, :3], np.linalg.inv(to_rig[:3, :3])
    pelvis = rotate(back, out.pelvis)
    legs = []
    for i, leg in enumerate(clip.legs):
        turns = back @ out.turns[i] @ linear
        joints = posed(leg.joints, turns, out.stretch[:, i], rotate(back, out.hips[:, i]))
        legs.append(carried_foot(leg, joints, turns[:, -2:]))
    return Result(clip, Clip(clip.fps, clip.pelvis + pelvis, tuple(legs)), plan, out)


def posed(joints: np.ndarray, turns: np.ndarray, stretch: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Joints (F, J, 3) after the rotations (F, >= J - 1, 3, 3) of their bones, and the stretch."""
    bones = np.diff(joints, axis=1) * stretch[:, None, None]
    bones = rotate(turns[:, : bones.shape[1]], bones)
    root = joints[:, :1] + shift[:, None]
    return np.concatenate([root, root + np.cumsum(bones, axis=1)], 1)


def carried_foot(leg: Leg, joints: np.ndarray, turns: np.ndarray) -> Leg:
    """The leg with its foot turned about the ankle, and its toes about their joint, by `turns` (F, 2, 3, 3)."""

    def pose(m, turn):
        if m is None:
            return None
        new = m.copy()
        new[:, :3, :3] = turn @ m[:, :3, :3]
        new[:, :3, 3] = joints[:, -1] + rotate(turns[:, 0], m[:, :3, 3] - leg.joints[:, -1])
        return new

    return Leg(joints, pose(leg.foot, turns[:, 0]), pose(leg.toe, turns[:, 1]))


def planted(
    clip: Clip, ground, *, lock: float = 1.0, job: LegJob | None = None, to_rig: np.ndarray | None = None, **more
) -> Result:
    return apply(clip, make_plan(clip, ground, options(len(clip.legs), **more)), lock=lock, job=job, to_rig=to_rig)


# Measures


def touching(walk: Walk, leg: int, which: int) -> np.ndarray:
    """(F,) bool: the frames in which the heel or the ball of a leg really stands, but the first and last of each
    touch, in which a foot may still be on its way."""
    mask = truth(walk, leg)[which]
    out = mask.copy()
    out[1:] &= mask[:-1]
    out[:-1] &= mask[1:]
    return out


def slides(result: Result, walk: Walk, ground) -> list[np.ndarray]:
    """Per touch of a heel or ball the (n, 3) places in metres in the space of the ground, less their mean."""
    out = []
    for i, tracks in enumerate(result.soles(result.after)):
        for which in (HEEL, BALL):
            for a, b in runs(touching(walk, i, which)):
                p = next((p for p in result.plan.prints[i] if p.contact.start <= a < p.contact.stop), None)
                if p is None or b - a < 2:
                    continue
                m = np.linalg.inv(ground.carried(p.piece, p.frame, np.arange(a, b)))
                track = transform(m, tracks[a:b, which] * LEG) / LEG
                out.append(track - track.mean(0))
    assert out, "nothing stands"
    return out


def mean_slide(result: Result, walk: Walk, ground) -> float:
    """Mean horizontal step in metres of heel and ball in contact, per 1/30 s."""
    steps = [np.linalg.norm(np.diff(s[:, :2], axis=0), axis=1) for s in slides(result, walk, ground)]
    return float(np.concatenate(steps).mean()) * result.before.fps / 30


def drift(result: Result, walk: Walk, ground) -> float:
    """The farthest in metres, level, that a held heel or ball is from its mean."""
    return max(float(np.linalg.norm(s[:, :2], axis=1).max()) for s in slides(result, walk, ground))


def cuts(result: Result, ground) -> np.ndarray:
    """(F, legs): how deep in metres a foot is in the ground, beyond what the clip is in its floor."""
    pairs = zip(result.soles(result.before), result.soles(result.after), strict=True)
    return np.stack(
        [(np.maximum(-ground.gap(b * LEG) / LEG, 0) - np.maximum(-a[..., 2], 0)).max(1) for a, b in pairs], 1
    )


def floats(result: Result, walk: Walk, ground) -> np.ndarray:
    """Heights in metres of the lowest sole point above the ground, in contact, beyond the clip's own."""
    out = []
    for i, (a, b) in enumerate(zip(result.soles(result.before), result.soles(result.after), strict=True)):
        held = touching(walk, i, HEEL) | touching(walk, i, BALL)
        out.append(((ground.gap(b * LEG) / LEG).min(1) - a[..., 2].min(1).clip(0))[held].clip(0))
    return np.concatenate(out)


def bone_lengths(clip: Clip) -> np.ndarray:
    return np.stack([np.linalg.norm(np.diff(leg.joints, axis=1), axis=2) for leg in clip.legs])


def knee_angle(leg: Leg) -> np.ndarray:
    """(F,): the angle of a knee, in degrees; 180 is straight."""
    thigh, shin = leg.joints[:, 0] - leg.joints[:, 1], leg.joints[:, 2] - leg.joints[:, 1]
    cosine = (thigh * shin).sum(1) / np.linalg.norm(thigh, axis=1) / np.linalg.norm(shin, axis=1)
    return np.degrees(np.arccos(cosine.clip(-1, 1)))


def knee_side(clip: Clip) -> np.ndarray:
    """(legs, F, 3): normals of the knees' planes, not unit."""
    return np.stack(
        [np.cross(leg.joints[:, 1] - leg.joints[:, 0], leg.joints[:, 2] - leg.joints[:, 1]) for leg in clip.legs]
    )


def moved_most(a: Clip, b: Clip) -> float:
    """Largest distance in legs between joints or bone matrices of two clips."""
    out = [np.abs(a.pelvis - b.pelvis).max()]
    for x, y in zip(a.legs, b.legs, strict=True):
        out += [np.abs(x.joints - y.joints).max(), np.abs(x.foot - y.foot).max()]
        out += [np.abs(x.toe - y.toe).max()] if x.toe is not None and y.toe is not None else []
    return float(max(out))


def sole_of(clip: Clip, leg: int = 0) -> Sole:
    return find_sole(clip, clip.legs[leg], facing(clip))
