"""FABRIK: chains of any number of joints, solved by reaching from both ends in turn.

Aristidou & Lasenby (2011), "FABRIK: a fast, iterative solver for the inverse kinematics problem", Graphical
Models 73(5). Everything is in one space (world), any unit, frames first.
"""
from __future__ import annotations

import numpy as np

from . import ccd, damped
from .chain import Chain, Task, iterated, joints_along
from .limits import Limits
from .rotations import rotate, unit_and_length


def solve(
    joints: np.ndarray,
    target: np.ndarray,
    *,
    tolerance: float = 1e-5,
    rounds: int = 30,
    limits: Limits | None = None,
    hinge: np.ndarray | None = None,
) -> Chain:
    """Bring the last of `joints` (F, J, 3) to `target` (F, 3); the first joint and all lengths stay.

    tolerance is a share of the chain's length, rounds the most per frame. FABRIK creeps near full reach and
    cannot leave a line that it lies on with its target: such chains are first bent a little toward
    `hinge` (F, 3), and what is still short after the last round is finished in closed form (chain.finished).
    Targets out of reach straighten the chain toward them, too near ones fold it on a line. `limits` hold in
    every result, and may leave an error that `residual` tells: reaching back ignores them, so what FABRIK leaves
    short there goes through as many rounds of CCD, then of damped least squares. A segment of
    no length keeps the direction before it. Raises ValueError on wrong shapes and numbers that are not finite.
    """
    steps = (_one_round,) if limits is None else (_one_round, ccd.one_round, damped.one_round)
    return iterated(joints, target, hinge, limits, tolerance, rounds, steps)


def _one_round(
    task: Task, turns: np.ndarray, directions: np.ndarray, limits: Limits | None
) -> tuple[np.ndarray, np.ndarray]:
    """Reach back from the goal to the root, then forward again, where the limits apply."""
    lengths, segments = task.lengths, task.lengths.shape[1]
    points = joints_along(directions, lengths)
    points[:, -1] = task.goal
    for i in reversed(range(segments)):
        back = _toward(points[:, i + 1], points[:, i], -directions[:, i], lengths[:, i])
        points[:, i] = points[:, i + 1] + back * lengths[:, i, None]
    new, turns = np.empty_like(directions), turns.copy()
    place = np.zeros_like(task.goal)
    parent = np.broadcast_to(np.eye(3), (len(place), 3, 3))
    for i in range(segments):
        new[:, i] = _toward(place, points[:, i + 1], directions[:, i], lengths[:, i])
        if limits is not None:
            parent = limits.turn_from(parent, i, task.directions[:, i], new[:, i])
            turns[:, i] = parent
            new[:, i] = rotate(parent, task.directions[:, i])
        place = place + new[:, i] * lengths[:, i, None]
    return turns, new


def _toward(start: np.ndarray, end: np.ndarray, last: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Unit directions (F, 3) from start to end; the last one where they meet or the segment has no length."""
    direction, far = unit_and_length(end - start)
    return np.where(((far > 1e-14) & (lengths > 0))[:, None], direction, last)
