"""Damped least squares: the finish of chains with limits, where turning joint after joint creeps.

Wampler (1986), "Manipulator inverse kinematic solutions based on vector formulations and damped least-squares
methods"; joints on their limits are taken out of the step as in Baerlocher & Boulic (2004). It needs a start
near the goal, which FABRIK and CCD give.
"""
from __future__ import annotations

import numpy as np

from .chain import Task, joints_along
from .limits import Limits
from .rotations import from_rotvec, length, rotate, skew, transposed, unit_and_length

# Times the distance that is left, so that far steps are careful and near ones quick.
DAMPING = 1e-3


def one_round(
    task: Task, turns: np.ndarray, directions: np.ndarray, limits: Limits | None
) -> tuple[np.ndarray, np.ndarray]:
    """Turn all joints at once by the least rotations that bring the end to the goal, as far as the limits let."""
    assert limits is not None
    points = joints_along(directions, task.lengths)
    missing = task.goal - points[:, -1]
    parents = np.concatenate([np.broadcast_to(np.eye(3), turns[:, :1].shape), turns[:, :-1]], axis=1)
    local = transposed(parents) @ turns
    axis = rotate(parents, unit_and_length(limits.axis)[0])
    hinge = (length(axis) > 0.5)[..., None, None]
    about = np.where(hinge, axis[..., :, None] * axis[..., None, :], np.eye(3))
    jacobian = -skew(points[:, -1:] - points[:, :-1]) @ about
    damping = DAMPING * (length(missing)[:, None, None] + 1e-9) * np.eye(3)
    free = np.ones_like(task.lengths)
    for _ in range(3):
        moved = jacobian * free[..., None, None]
        square = np.einsum("fsij,fskj->fik", moved, moved) + damping
        step = np.einsum("fsji,fj->fsi", moved, np.linalg.solve(square, missing[..., None])[..., 0])
        wanted = from_rotvec(rotate(transposed(parents), step)) @ local
        kept = np.stack([limits.clamp(wanted[:, i], i, task.directions[:, i]) for i in range(free.shape[1])], axis=1)
        # A joint that its limit holds back leaves its share to the others.
        free = np.where(np.abs(kept - wanted).max((-1, -2)) > 1e-9, 0.0, free)
    new = kept.copy()
    for i in range(1, free.shape[1]):
        new[:, i] = new[:, i - 1] @ kept[:, i]
    return new, rotate(new, task.directions)
