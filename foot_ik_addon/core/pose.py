"""The corrected pose: animated pose and plan in, rotations of the leg bones and motion of the pelvis out.

One batch of frames at a time, a live frame being a batch of one. Legs are solved in armature space, where bones keep
their lengths whatever the scale of the object.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from . import ccd, fabrik
from .chain import turns_from_joints
from .clip import Clip
from .pelvis import FARTHEST
from .reach import stretch_factor
from .rotations import (
    IDENTITY,
    from_rotvec,
    length,
    nearest_axes,
    nearest_rotation,
    normalized,
    rotate,
    transform,
    transposed,
)
from .two_bone import turn_leg

SOFT_START = 0.985
"""Extension from which a leg that the animation does not extend more gives way softly."""


LEVEL = np.diag((1.0, 1.0, 0.0))
"""Takes the height out of vectors in clip space."""


@dataclass(frozen=True)
class LegJob:
    """How one leg is solved."""

    solver: str
    """TWO_BONE, FABRIK or CCD."""
    stretch: float
    """How much longer the leg may become; 0 for not at all."""
    carried: bool
    """The leg moves along with the pelvis."""


@dataclass(frozen=True)
class Rows:
    """The plan at F frames, weights applied; in clip space."""

    ball: np.ndarray
    """(legs, 3) or (F, legs, 3): the ball of each foot, in the space of its bone."""
    on_toe: tuple[bool, ...]
    """Per leg: whether that bone is the toe, not the foot."""
    move: np.ndarray
    """(F, legs, 3)"""
    turn: np.ndarray
    """(F, legs, 3)"""
    bend: np.ndarray
    """(F, legs, 3)"""
    pelvis: np.ndarray
    """(F,)"""
    reach: np.ndarray
    """(legs, 2) or (F, legs, 2)"""
    lean: np.ndarray | None = None
    """(F, 3): rotation vector of the body's turn about the pelvis; None for none."""


def joined_rows(rows: list[Rows]) -> Rows:
    """Rows of plans of the same build as one."""
    if len(rows) == 1:
        return rows[0]
    each = {f.name: np.concatenate([getattr(r, f.name) for r in rows]) for f in fields(Rows) if f.name != "on_toe"}
    return Rows(on_toe=rows[0].on_toe, **each)


@dataclass(frozen=True)
class Corrected:
    """What to do to the bones, in armature space."""

    pelvis: np.ndarray
    """(F, 3): motion of the pelvis."""
    body: np.ndarray
    """(F, 3, 3): rotation of the body about the head of the pelvis."""
    hips: np.ndarray
    """(F, legs, 3): motion of the first joint of each leg."""
    turns: tuple[np.ndarray, ...]
    """Per leg (F, bones of the chain and toe, 3, 3): rotation of each bone, from its animated to its corrected pose."""
    stretch: np.ndarray
    """(F, legs): factor of the leg's length."""
    residual: np.ndarray
    """(F, legs): distance by which the ankle misses its place, in legs."""

    def row(self, i: int) -> Corrected:
        """One of its frames."""
        part = slice(i, i + 1)
        turns = tuple(turn[part] for turn in self.turns)
        return Corrected(self.pelvis[part], self.body[part], self.hips[part], turns, self.stretch[part],
                         self.residual[part])

    @cached_property
    def leans(self) -> bool:
        """Whether the body is turned in any frame."""
        return bool((self.body != IDENTITY).any())


def weighted(plan_rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Rows (2, F, ...) of SLIDING and LOCKED mixed by lock weights (F,) or (F, legs)."""
    w = weight.reshape(*weight.shape, *[1] * (plan_rows.ndim - 1 - weight.ndim))
    return (1 - w) * plan_rows[0] + w * plan_rows[1]


def correct(
    clip: Clip, chains: tuple[np.ndarray, ...], to_rig: np.ndarray, jobs: tuple[LegJob, ...], rows: Rows
) -> Corrected:
    """Solve all legs in all frames.

    `chains` are the joints of each leg (F, bones, 3) in armature space, hip first and ankle last; `to_rig` (F, 4, 4)
    leads from clip space there.
    """
    linear, inverse = to_rig[:, :3, :3], np.linalg.inv(to_rig[:, :3, :3])
    pelvis = rows.pelvis[:, None] * linear[:, :, 2]
    unit = np.cbrt(np.abs(np.linalg.det(linear)))
    body = np.broadcast_to(IDENTITY, linear.shape)
    if rows.lean is not None and rows.lean.any():
        leaning = nearest_rotation(linear @ from_rotvec(rows.lean) @ inverse)
        body = np.where(rows.lean.any(-1)[:, None, None], leaning, body)  # others in the batch stay exactly upright
    head = transform(to_rig, clip.pelvis)
    hips = np.zeros((len(linear), len(jobs), 3))
    tasks, bent = [], from_rotvec(np.stack([rows.turn, rows.bend], 2))
    feet = turned_along(linear[:, None, None], inverse[:, None, None], bent)  # of each leg foot and toes
    feet[:, :, 1] = feet[:, :, 1] @ feet[:, :, 0]
    for i, (leg, joints, job) in enumerate(zip(clip.legs, chains, jobs, strict=True)):
        ball = transform(leg.bone_of(rows.on_toe[i]), rows.ball[..., i, :])
        from_ball = joints[:, -1] - transform(to_rig, ball)  # which turns with the foot
        if job.carried:
            hips[:, i] = pelvis + rotate(body - IDENTITY, joints[:, 0] - head)
        # The leg goes along with its hip, but is not turned with the body: so its knee keeps its animated side.
        tasks.append(
            stretched(
                joints + hips[:, i, None],
                transform(to_rig, ball + rows.move[:, i]) + rotate(feet[:, i, 0], from_ball),
                job.stretch,
                rotate(linear, ball - leg.joints[:, 2]),
                rows.reach[..., i, :],
            )
        )
    turns: list[np.ndarray] = [np.empty(0)] * len(jobs)
    residual = np.empty((len(linear), len(jobs)))
    for kind in {(job.solver, joints.shape[1]) for job, joints in zip(jobs, chains, strict=True)}:
        # Legs that are solved alike go through the solver together.
        alike = [i for i, job in enumerate(jobs) if (job.solver, chains[i].shape[1]) == kind]
        solved, short = solve_chain(joined([tasks[i] for i in alike]), kind[0])
        for k, i in enumerate(alike):
            part = slice(k * len(linear), (k + 1) * len(linear))
            turns[i] = np.concatenate([solved[part], feet[:, i]], 1)
            residual[:, i] = short[part] / unit
    return Corrected(pelvis, body, hips, tuple(turns), np.stack([t.stretch for t in tasks], 1), residual)


def turned_along(linear: np.ndarray, inverse: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Rotations (..., 3, 3) in armature space that do there what `turn` does in clip space; `linear` leads there.

    Where the object's scale is uneven no rotation does: then one that lays down what is level best, as soles are.
    """
    squares = transposed(linear) @ linear
    even = np.trace(squares, axis1=-2, axis2=-1)[..., None, None] / 3 * IDENTITY
    if np.abs(squares - even).max() < 1e-4 * even.max():
        return nearest_rotation(linear @ turn @ inverse)
    return nearest_rotation(linear @ turn @ LEVEL @ transposed(linear))


@dataclass(frozen=True)
class Task:
    """One leg to solve in F frames, in armature space."""

    joints: np.ndarray
    """(F, J, 3)"""
    target: np.ndarray
    """(F, 3)"""
    hinge: np.ndarray
    """(F, 3): the direction in which a straight knee bends."""
    reach: np.ndarray
    """(F, 2): how near and how far the animation brings the ankle, as shares of the leg."""
    stretch: np.ndarray
    """(F,): factor by which the leg has grown."""


def stretched(joints: np.ndarray, target: np.ndarray, most: float, hinge: np.ndarray, reach: np.ndarray) -> Task:
    """A leg, longer by up to the share `most` where it does not reach its target."""
    root, factor = joints[:, :1], np.ones(len(joints))
    if most > 0:
        full, span = full_and_span(joints)
        factor = stretch_factor(length(target - joints[:, 0]), full * soft_start(span), most)
        joints = root + factor[:, None, None] * (joints - root)
    return Task(joints, target, hinge, np.broadcast_to(reach, (len(joints), 2)), factor)


def joined(tasks: list[Task]) -> Task:
    """Several legs as one batch."""
    return Task(*(np.concatenate([getattr(t, f.name) for t in tasks]) for f in fields(Task)))


def solve_chain(task: Task, solver: str) -> tuple[np.ndarray, np.ndarray]:
    """Rotations (F, J - 1, 3, 3) of the segments of a leg that bring its end to the target, and what is missing (F,).

    Outside its reach, or outside what the animation does in that frame, a leg of two bones gives way softly.
    """
    joints, target, hinge, reach = task.joints, task.target, task.hinge, task.reach
    if solver == "TWO_BONE":
        root, (upper, lower) = joints[:, 0], length(np.diff(joints, axis=1)).T
        full, span = full_and_span(joints)
        nearest = kept_away(joints, target, full * np.minimum(span, reach[:, 0]), np.abs(upper - lower))
        turn = turn_leg(root, joints[:, 1], joints[:, 2], nearest, hinge=hinge, soft_start=soft_start(span))
        return np.stack([turn.upper, turn.lower], 1), length(turn.end - target)
    solve = {"FABRIK": fabrik.solve, "CCD": ccd.solve}[solver]
    chain = solve(joints, target, hinge=hinge)
    return turns_from_joints(joints, chain.joints), chain.residual


def full_and_span(joints: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The length (F,) of a leg with these joints (F, J, 3), and its extension (F,) as a share of that."""
    full = np.maximum(length(np.diff(joints, axis=1)).sum(1), 1e-12)
    return full, length(joints[:, -1] - joints[:, 0]) / full


def soft_start(span: np.ndarray) -> np.ndarray:
    """(F,): the extension, as a share of the leg, up to which a leg that is animated to the extension `span` (F,)
    reaches exactly."""
    return np.clip(span, SOFT_START, FARTHEST)


def kept_away(joints: np.ndarray, target: np.ndarray, near: np.ndarray, folded: np.ndarray) -> np.ndarray:
    """Targets (F, 3) that come no nearer to the root of a leg with these joints (F, 3, 3) than half-way from `near`
    (F,) to where the leg is `folded` (F,).

    The mirror image of the soft limit at full reach: nothing changes beyond `near`, and the slope is 1 there. Nearer to
    the root the leg points more and more as animated: a target that passes the root would turn it over.
    """
    root, way = joints[:, 0], target - joints[:, 0]
    d = np.maximum(length(way), 1e-12)
    share = np.maximum(1 - d / np.maximum(near, 1e-12), 0)
    way = normalized(way + (share**2 * near)[:, None] * normalized(joints[:, 2] - root))
    soft = np.maximum((near - folded) / 2, 1e-12)
    under = np.maximum(near - d, 0)
    eased = np.where(under > 0, near - soft * -np.expm1(-under / soft), d)
    return root + way * eased[:, None]


def local_turns(pose: np.ndarray, basis: np.ndarray, turns: np.ndarray, parent: np.ndarray | None = None,
                inherits: np.ndarray | bool = True) -> np.ndarray:
    """Rotations (..., B, 3, 3) of the channels of chains of bones whose poses are turned by `turns` (..., B, 3, 3), and
    what the chains hang on by `parent` (..., 3, 3).

    `pose` and `basis` (..., B, 4, 4) are armature-space poses and channels as animated. The space X in which a bone's
    channels act, pose = X basis, turns with whatever turns its parent, for every way of inheriting scale, if the bone
    `inherits` rotation (..., B), and else not at all.
    """
    try:
        inverse = np.linalg.inv(basis[..., :3, :3])
    except np.linalg.LinAlgError:  # a bone that is scaled to nothing
        inverse = np.linalg.pinv(basis[..., :3, :3])
    space, own = nearest_axes(np.stack([pose[..., :3, :3] @ inverse, basis[..., :3, :3]]))
    before = np.empty_like(turns)
    before[..., 0, :, :] = IDENTITY if parent is None else parent
    before[..., 1:, :, :] = turns[..., :-1, :, :]
    before = np.where(np.asarray(inherits)[..., None, None], before, IDENTITY)
    return transposed(space) @ transposed(before) @ turns @ space @ own
