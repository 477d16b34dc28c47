"""Read and write the channels of pose bones in each bone's own rotation mode."""
from __future__ import annotations

import math
from collections.abc import Sequence

import bpy
import numpy as np
from mathutils import Euler, Matrix, Quaternion, Vector

PATHS = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
MOST = 1e3
"""Radians: single precision keeps larger angles to worse than a ten-thousandth."""
SIZES = {"rotation_quaternion": 4, "rotation_axis_angle": 4, "rotation_euler": 3, "location": 3, "scale": 3}
"""Values of the channels of a bone."""
ROTATION, LOCATION, SCALE = slice(0, 4), slice(4, 7), slice(7, 10)
"""Where `BoneChannels.values` has them."""
ALL = slice(None)
MODES = {item.value: item.identifier for item in bpy.types.PoseBone.bl_rna.properties["rotation_mode"].enum_items}
"""Names of the rotation modes by number."""


def column(items: bpy.types.bpy_prop_collection, name: str, size: int) -> np.ndarray:
    """(n, size) float32: a property of all items of a collection."""
    out = np.empty(len(items) * size, np.float32)
    items.foreach_get(name, out)
    return out.reshape(-1, size)


class BoneChannels:
    """The channels of some bones of an armature object, in arrays: what is read or written at once takes a tenth of the
    time."""

    def __init__(self, ob: bpy.types.Object, at: Sequence[int]):
        """`at` are the places (n,) of the bones among those of the pose."""
        self.bones, self.at = ob.pose.bones, np.array(at, int)
        numbers = np.empty(len(self.bones), np.int32)
        self.bones.foreach_get("rotation_mode", numbers)
        self.modes = tuple([MODES[number] for number in numbers[self.at].tolist()])
        self.parts = [("location", ALL, LOCATION), ("scale", ALL, SCALE)]
        """Of `values`: path, rows, columns."""
        paths = [rotation_path(mode) for mode in self.modes]
        for path in dict.fromkeys(paths):
            rows = ALL if paths.count(path) == len(paths) else np.array([other == path for other in paths])
            self.parts.append((path, rows, slice(0, SIZES[path])))
        self.every = {path: column(self.bones, path, SIZES[path]) for path, *_ in self.parts}
        self.values = np.zeros((len(self.at), 10), np.float32)
        """(n, 10): rotation in each bone's own mode (the last is 0 where that has three values), location and scale."""
        for path, rows, part in self.parts:
            self.values[rows, part] = self.every[path][self.at[rows]]

    def write(self, values: np.ndarray) -> None:
        """Set the channels that are to be other `values` (n, 10)."""
        changed = values != self.values
        if not changed.any():
            return
        for path, rows, part in self.parts:
            if changed[rows, part].any():
                self.every[path][self.at[rows]] = values[rows, part]
                self.bones.foreach_set(path, self.every[path].ravel())
        bone = self.bones[int(self.at[0])]
        bone.location = bone.location  # Blender does not take notice of what is set at once


def rotation_path(mode: str) -> str:
    """Name of the rotation channels that a rotation mode uses."""
    return PATHS.get(mode, "rotation_euler")


def read_rotation(bone: bpy.types.PoseBone) -> tuple[float, ...]:
    """The rotation channels of a bone: 4 values for quaternions and axis-angle, 3 for Euler angles."""
    return tuple(getattr(bone, rotation_path(bone.rotation_mode)))


def write_rotation(bone: bpy.types.PoseBone, values: Sequence[float]) -> None:
    """Set the rotation channels of a bone."""
    path = rotation_path(bone.rotation_mode)
    setattr(bone, path, values[:SIZES[path]])


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


def four(rotation: tuple[float, ...]) -> tuple[float, ...]:
    """Rotation channels as four values."""
    return (*rotation, 0.0)[:4]


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
