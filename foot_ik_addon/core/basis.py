"""Channel values of bones and objects as matrices, read as Blender reads them; frames first."""
from __future__ import annotations

import numpy as np

from .rotations import TINY, from_rotvec, normalized, quaternion_to_rotvec


def rotation_of(mode: str, values: np.ndarray) -> np.ndarray:
    """Rotation matrices (F, 3, 3) of the channels of a rotation mode: (F, 4) quaternions or angles and axes, which need
    not be unit, or (F, 3) Euler angles in radians."""
    if mode == "QUATERNION":
        n = np.sqrt((values * values).sum(-1, keepdims=True))
        unit = np.where(n == 0, (0.0, 1.0, 0.0, 0.0), values / np.maximum(n, TINY))
        return from_rotvec(quaternion_to_rotvec(unit))
    if mode == "AXIS_ANGLE":
        return from_rotvec(values[:, :1] * normalized(values[:, 1:]))
    out = np.eye(3)
    for letter in mode:  # the axis that is named first is turned about first
        axis = "XYZ".index(letter)
        out = from_rotvec(values[:, axis, None] * np.eye(3)[axis]) @ out
    return out


def matrix_of(location: np.ndarray, rotation: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """(F, 4, 4): matrices that scale by (F, 3), turn by (F, 3, 3) and move by (F, 3)."""
    out = np.zeros((len(location), 4, 4))
    out[:, :3, :3] = rotation * scale[:, None]
    out[:, :3, 3], out[:, 3, 3] = location, 1.0
    return out
