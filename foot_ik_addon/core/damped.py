"""Damped least squares: the finish of chains with limits, where turning joint after joint creeps.

Wampler (1986), "Manipulator inverse kinematic solutions based on vector formulations and damped least-squares
methods", IEEE Transactions on Systems, Man, and Cybernetics 16(1). It needs a start near the goal, which FABRIK
and CCD give.
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
    square = np.einsum("fsij,fskj->fik", jacobian, jacobian) + damping
    step = np.einsum("fsji,fj->fsi", jacobian, np.linalg.solve(square, missing[..., None])[..., 0])
    new = from_rotvec(rotate(transposed(parents), step)) @ local
    for i in range(new.shape[1]):
        new[:, i] = limits.clamp(new[:, i], i, task.directions[:, i])
        if i:
            new[:, i] = new[:, i - 1] @ new[:, i]
    return new, rotate(new, task.directions)
