"""CCD: chains of any number of joints, solved by turning one joint after the other toward the target.

Wang & Chen (1991), "A combined optimization method for solving the inverse kinematics problem of mechanical
manipulators", IEEE Transactions on Robotics and Automation 7(4). Everything is in one space (world), any unit,
frames first.
"""
from __future__ import annotations

import numpy as np

from . import damped
from .chain import Chain, Task, iterated, joints_along
from .limits import Limits
from .rotations import align, rotate, transposed


def solve(
    joints: np.ndarray,
    target: np.ndarray,
    *,
    tolerance: float = 1e-5,
    rounds: int = 40,
    limits: Limits | None = None,
    hinge: np.ndarray | None = None,
) -> Chain:
    """Bring the last of `joints` (F, J, 3) to `target` (F, 3); the same in all else as fabrik.solve.

    With limits, what is short after `rounds` of CCD goes through as many of damped least squares.
    """
    steps = (one_round,) if limits is None else (one_round, damped.one_round)
    return iterated(joints, target, hinge, limits, tolerance, rounds, steps)


def one_round(
    task: Task, turns: np.ndarray, directions: np.ndarray, limits: Limits | None
) -> tuple[np.ndarray, np.ndarray]:
    """Turn each joint, the last one first; all that hangs on it follows before the next joint is looked at."""
    segments = directions.shape[1]
    turns, directions = turns.copy(), directions.copy()
    parents = np.concatenate([np.broadcast_to(np.eye(3), turns[:, :1].shape), turns[:, :-1]], axis=1)
    local = transposed(parents) @ turns
    for i in reversed(range(segments)):
        points = joints_along(directions, task.lengths)
        present, wanted = points[:, -1] - points[:, i], task.goal - points[:, i]
        if limits is None:
            turn = align(present, wanted)
            turns[:, i:] = turn[:, None] @ turns[:, i:]
            directions[:, i:] = rotate(turn[:, None], directions[:, i:])
            continue
        given, goal = rotate(transposed(turns[:, i]), present), rotate(transposed(parents[:, i]), wanted)
        local[:, i] = limits.toward(local[:, i], i, task.directions[:, i], given, goal)
        # Composed anew from the root: multiplied up, the rounding of many rounds would grow.
        parent = parents[:, i]
        for j in range(i, segments):
            turns[:, j] = parent = parent @ local[:, j]
        directions[:, i:] = rotate(turns[:, i:], task.directions[:, i:])
    return turns, directions
