"""What chains of any number of joints have in common: reach, straight chains, exact ends, and rotations.

Chains are solved in their own units: the root at the origin and a total length of 1, so no scale is special.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from .checks import vectors
from .limits import Limits
from .rotations import (
    align,
    from_rotvec,
    length,
    nearest_rotation,
    perpendicular,
    rotate,
    square_to,
    to_rotvec,
    unit_and_length,
)

# Share of the chain's length: a chain whose joints lie closer to a line than this is straight.
STRAIGHT = 3e-4
# An animated chain of no length points down.
REST_AXIS = np.array([0.0, 0.0, -1.0])


@dataclass(frozen=True)
class Chain:
    """A solved chain: joints (F, J, 3), distance from the end to the target (F,), rounds used (F,).

    turns (F, J - 1, 3, 3) are the world rotations of the segments that bring the given joints there.
    """

    joints: np.ndarray
    residual: np.ndarray
    rounds: np.ndarray
    turns: np.ndarray


@dataclass(frozen=True)
class Task:
    """A chain in its own units: directions (F, S, 3), lengths (F, S), goal (F, 3), a point that can be reached.

    size (F,) is the length of the chain; straight (F,) tells that only one line reaches the goal: all segments
    along `line` (F, S, 3).
    """

    directions: np.ndarray
    lengths: np.ndarray
    goal: np.ndarray
    size: np.ndarray
    straight: np.ndarray
    line: np.ndarray

    def take(self, frames: np.ndarray) -> Task:
        """The task of some frames (a mask or indices)."""
        return Task(*(getattr(self, field.name)[frames] for field in fields(self)))


OneRound = Callable[[Task, np.ndarray, np.ndarray, "Limits | None"], tuple[np.ndarray, np.ndarray]]


def turns_from_joints(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """The shortest world rotations (F, J - 1, 3, 3) of the segments between joints old and new, both (F, J, 3).

    They add no twist about a segment; a segment of no length is not turned.
    """
    old, new = vectors("old", old), vectors("new", new)
    return align(unit_and_length(np.diff(old, axis=-2))[0], unit_and_length(np.diff(new, axis=-2))[0])


def joints_along(directions: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Joints (F, S + 1, 3) of a chain that starts at the origin."""
    joints = np.zeros((len(directions), directions.shape[1] + 1, 3))
    np.cumsum(directions * lengths[..., None], axis=1, out=joints[:, 1:])
    return joints


def task(joints: np.ndarray, target: np.ndarray) -> Task:
    """The chain and its goal in the chain's own units; ValueError on wrong shapes or values that are not finite."""
    joints, target = vectors("joints", joints), vectors("target", target)
    if joints.ndim != 3 or joints.shape[1] < 2:
        raise ValueError(f"joints has shape {joints.shape}, not (frames, two or more joints, 3)")
    if target.shape != (len(joints), 3):
        raise ValueError(f"target has shape {target.shape}, not ({len(joints)}, 3)")
    directions, segments = unit_and_length(np.diff(joints, axis=1))
    size = segments.sum(-1)
    lengths = segments / np.where(size > 0, size, 1.0)[:, None]
    # A segment of no length points where the one before it does, the first one as the chain.
    chain = unit_and_length(joints[:, -1] - joints[:, 0])[0]
    last = np.where(length(chain)[:, None] > 0.5, chain, REST_AXIS)
    for i in range(directions.shape[1]):
        last = directions[:, i] = np.where((segments[:, i] > 0)[:, None], directions[:, i], last)

    toward, far = unit_and_length(target - joints[:, 0])
    along = np.where((far > 0)[:, None], toward, np.where(length(chain)[:, None] > 0.5, chain, directions[:, 0]))
    longest = np.arange(lengths.shape[1]) == lengths.argmax(1)[:, None]
    least = np.maximum(2 * lengths.max(1) - 1.0, 0.0)
    inside, beyond = far <= least * size, far >= size
    reach = np.where(beyond, 1.0, np.maximum(far / np.where(size > 0, size, 1.0), least))
    # Short of the least reach the longest segment points at the target and all the others away from it.
    sign = np.where((beyond[:, None]) | longest, 1.0, -1.0)
    straight = (beyond | (inside & (least > 0))) & (size > 0)
    return Task(directions, lengths, along * reach[:, None], size, straight, along[:, None] * sign[..., None])


def bent(work: Task, hinge: np.ndarray | None) -> np.ndarray:
    """Directions (F, S, 3) with a slight bend toward `hinge` (F, 3) in chains that lie on the line to their goal.

    On that line neither FABRIK nor CCD ever leaves it. Fades out as the joints lie aside by themselves.
    """
    directions, lengths = work.directions, work.lengths
    joints = joints_along(directions, lengths)
    end = joints[:, -1]
    along, reach = unit_and_length(work.goal)
    along = np.where((reach > 0)[:, None], along, unit_and_length(end)[0])
    along = np.where(length(along)[:, None] > 0.5, along, directions[:, 0])
    aside = length(square_to(joints, along[:, None])).max(1)
    side = perpendicular(along)
    if hinge is not None:
        given = square_to(unit_and_length(hinge)[0], along)
        side = np.where(length(given)[:, None] > 1e-6, given, side)
    # No more than the goal asks for: a chain that has arrived stays as it is.
    missing = np.sqrt(length(end - work.goal))
    share = np.minimum(8 * STRAIGHT * np.exp(-((aside / (8 * STRAIGHT)) ** 2)), missing)
    middles = np.cumsum(lengths, axis=1) - 0.5 * lengths
    slope = (1.0 - 2.0 * middles) * share[:, None]
    return unit_and_length(directions + slope[..., None] * side[:, None])[0]


def finished(directions: np.ndarray, lengths: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """Directions (F, S, 3) whose chain ends exactly on the goal (F, 3), from ones whose chain ends near it.

    Near full reach, and near the root, the iterations creep. Here the segments turn, all by the same share, toward
    the straight chain (goal farther than the end) or toward the chain folded as far as it goes (goal nearer).
    The distance from root to end changes continuously from the present one to one past the goal's, so
    bisection finds the share that is right; then the chain is swung onto the goal.
    """
    axis, now = unit_and_length((directions * lengths[..., None]).sum(1))
    reach = length(goal)
    folded = _folded(lengths)
    nearest = nearest_rotation(np.einsum("fs,fsi,fsj->fij", lengths, directions, folded))
    folded = rotate(nearest[:, None], folded)
    extreme = np.where((now <= reach)[:, None, None], axis[:, None], folded)
    turn = to_rotvec(align(directions, extreme))
    low, high = np.zeros_like(now), np.ones_like(now)
    sign = np.where(now <= reach, 1.0, -1.0)
    for _ in range(54):
        share = 0.5 * (low + high)
        turned = rotate(from_rotvec(turn * share[:, None, None]), directions)
        past = sign * (length((turned * lengths[..., None]).sum(1)) - reach) > 0
        low, high = np.where(past, low, share), np.where(past, share, high)
    turned = rotate(from_rotvec(turn * high[:, None, None]), directions)
    return rotate(align((turned * lengths[..., None]).sum(1), goal)[:, None], turned)


def _folded(lengths: np.ndarray) -> np.ndarray:
    """Directions (F, S, 3) of chains of length 1, folded so that they end as near to the root as they can.

    That is a triangle of which one side is the segment in the middle of the length, or, where a segment is
    longer than all others together, a line.
    """
    before = np.cumsum(lengths, axis=1) - lengths
    middle = ((before <= 0.5).sum(1) - 1)[:, None]
    b, a = (np.take_along_axis(x, middle, 1)[:, 0] for x in (lengths, before))
    c = np.maximum(1.0 - a - b, 0.0)
    # The triangle's angles outside, by its sides: those before, the middle one, those after.
    with np.errstate(invalid="ignore", divide="ignore"):
        first = np.nan_to_num((c * c - a * a - b * b) / (2 * a * b), posinf=1.0, neginf=-1.0)
        last = np.nan_to_num((a * a - b * b - c * c) / (2 * b * c), posinf=1.0, neginf=-1.0)
    index = np.arange(lengths.shape[1])
    angle = np.where(index < middle, -np.arccos(np.clip(first, -1, 1))[:, None], 0.0)
    angle = np.where(index > middle, np.arccos(np.clip(last, -1, 1))[:, None], angle)
    return np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], -1)


def limited(start: np.ndarray, wanted: np.ndarray, limits: Limits) -> np.ndarray:
    """World turns (F, S, 3, 3) within the limits that bring directions `start` (F, S, 3) nearest to `wanted`."""
    turns = np.empty((*start.shape, 3))
    parent = np.broadcast_to(np.eye(3), turns[:, 0].shape)
    for i in range(start.shape[1]):
        turns[:, i] = parent = limits.turn_from(parent, i, start[:, i], wanted[:, i])
    return turns


def iterated(
    joints: np.ndarray,
    target: np.ndarray,
    hinge: np.ndarray | None,
    limits: Limits | None,
    tolerance: float,
    rounds: int,
    steps: tuple[OneRound, ...],
) -> Chain:
    """Run a step on each frame until its chain ends within `tolerance` of the goal, `rounds` times at most.

    step(task, turns (F, S, 3, 3), directions (F, S, 3), limits) -> turns, directions. Of several steps each has
    its `rounds`, and begins at the best so far. The best of all rounds counts. Without limits a goal that only
    one line reaches is met at once, and a chain that is left short of its goal is `finished`.
    """
    if rounds < 0 or not tolerance > 0:
        raise ValueError("rounds must not be negative and tolerance must be positive")
    work = task(joints, target)
    joints, target = np.asarray(joints, float), np.asarray(target, float)
    if hinge is not None:
        hinge = np.broadcast_to(vectors("hinge", hinge), target.shape)
    frames, segments = work.directions.shape[:2]
    best = work.directions.copy()
    turns = np.broadcast_to(np.eye(3), (frames, segments, 3, 3)).copy()
    if limits is not None:
        limits = limits.checked(frames, segments)
        turns = limited(work.directions, best, limits)
        best = rotate(turns, work.directions)
    missing = length((best * work.lengths[..., None]).sum(1) - work.goal)
    used = np.zeros(frames, int)
    if limits is None:
        best[work.straight] = work.line[work.straight]
        missing[work.straight] = 0.0

    active = np.flatnonzero((missing > tolerance) & (work.size > 0))
    part = work.take(active)
    now = bent(part, None if hinge is None else hinge[active])
    some = None if limits is None else limits.take(active)
    turned = align(part.directions, now) if some is None else limited(part.directions, now, some)
    now = rotate(turned, part.directions)
    for k in range(rounds * len(steps)):
        if not len(active):
            break
        if k and k % rounds == 0:
            turned, now = turns[active], best[active]
        turned, now = steps[k // rounds](part, turned, now, some)
        error = length((now * part.lengths[..., None]).sum(1) - part.goal)
        better = error < missing[active]
        missing[active] = np.where(better, error, missing[active])
        best[active[better]], turns[active[better]] = now[better], turned[better]
        used[active] += 1
        on = error > tolerance
        active, part, turned, now = active[on], part.take(on), turned[on], now[on]
        some = None if some is None else some.take(on)

    if limits is None:
        best[active] = finished(best[active], part.lengths, part.goal)
    return _result(joints, target, work, best, used, None if limits is None else turns)


def _result(
    joints: np.ndarray, target: np.ndarray, work: Task, directions: np.ndarray, rounds: np.ndarray,
    turns: np.ndarray | None,
) -> Chain:
    """The solved chain back in the space of the given joints."""
    new = joints[:, :1] + joints_along(directions, work.lengths) * work.size[:, None, None]
    if turns is None:
        turns = turns_from_joints(joints, new)
    return Chain(new, unit_and_length(target - new[:, -1])[1], rounds, turns)
