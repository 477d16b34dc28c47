"""Read and write the channels of pose bones in each bone's own rotation mode."""
from __future__ import annotations

import math
from collections.abc import Sequence

import bpy
from mathutils import Euler, Matrix, Quaternion, Vector

PATHS = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
MOST = 1e3
"""Radians: single precision keeps larger angles to worse than a ten-thousandth."""


def rotation_path(mode: str) -> str:
    """Name of the rotation channels that a rotation mode uses."""
    return PATHS.get(mode, "rotation_euler")


def read_rotation(bone: bpy.types.PoseBone) -> tuple[float, ...]:
    """The rotation channels of a bone: 4 values for quaternions and axis-angle, 3 for Euler angles."""
    return tuple(getattr(bone, rotation_path(bone.rotation_mode)))


def write_rotation(bone: bpy.types.PoseBone, values: Sequence[float]) -> None:
    """Set the rotation channels of a bone."""
    path = rotation_path(bone.rotation_mode)
    setattr(bone, path, values[:len(getattr(bone, path))])


def to_matrix(mode: str, values: Sequence[float]) -> Matrix:
    """The rotation matrix of channel values of a rotation mode."""
    if mode == "QUATERNION":
        return Quaternion(values).normalized().to_matrix()
    if mode == "AXIS_ANGLE":
        return Matrix.Rotation(values[0], 3, Vector(values[1:4]))
    return Euler(values[:3], mode).to_matrix()


def in_mode(rotation: Matrix, mode: str, near: Sequence[float]) -> tuple[float, ...]:
    """A rotation matrix as channel values of a rotation mode, the equivalent nearest to the values `near`: no flips.

    Angles so large that single precision would spoil them are brought down by whole turns.
    """
    if mode == "QUATERNION":
        q = rotation.to_quaternion()
        return tuple(-c for c in q) if q.dot(Quaternion(near)) < 0 else tuple(q)
    if mode == "AXIS_ANGLE":
        return nearest_axis_angle(rotation.to_quaternion(), (sound(near[0]), *near[1:]))
    return tuple(rotation.to_euler(mode, Euler([sound(angle) for angle in near[:3]], mode)))


def sound(angle: float) -> float:
    """An angle, less its whole turns where it is beyond `MOST`."""
    return angle if abs(angle) < MOST else math.remainder(angle, math.tau)


def nearest_axis_angle(q: Quaternion, near: Sequence[float]) -> tuple[float, ...]:
    """Angle and axis of a rotation, nearest to another angle and axis."""
    axis, angle = q.to_axis_angle()
    old = Vector(near[1:4])
    if abs(angle) < 1e-9 and old.length > 0:
        axis = old.normalized()
    if axis.dot(old) < 0:
        axis, angle = -axis, -angle
    angle += math.tau * round((near[0] - angle) / math.tau)
    return (angle, *axis)
