"""Move bones of an armature one at a time and look at what goes along; nothing is left of it."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import bpy
import numpy as np
from mathutils import Matrix

from ..core.motions import channels_along
from ..core.rotations import transform
from .channels import in_mode, read_rotation, write_rotation
from .sampling import location_axes

FAR, TURNED = 0.005, 0.015
"""A bone that is nearer than this to a place (in legs, and radians) is there: a tenth of what bones are moved by."""


class Trials:
    """The pose of an armature in the current frame of a view layer, and what it becomes when a bone is moved."""

    def __init__(self, ob: bpy.types.Object, layer: bpy.types.ViewLayer, unit: float):
        self.ob, self.layer = ob, layer
        self.unit = unit
        """Length of a leg in armature space."""
        self.at = {bone.name: i for i, bone in enumerate(ob.pose.bones)}
        ob.update_tag()
        self.base = self.read()
        self.channels = {b.name: (np.array(b.matrix_basis, float), location_axes(b)) for b in self.evaluated()}
        """{bone: its channels as a matrix, and what they move it by}, as in the base pose."""

    def evaluated(self) -> bpy.types.bpy_prop_collection:
        """The evaluated pose bones."""
        return self.ob.evaluated_get(self.layer.depsgraph).pose.bones

    def read(self) -> np.ndarray:
        """(bones, 4, 4): the pose as it is evaluated, in armature space."""
        self.layer.update()
        bones = self.evaluated()
        out = np.empty(len(bones) * 16, np.float32)
        bones.foreach_get("matrix", out)
        return out.reshape(-1, 4, 4).swapaxes(1, 2).astype(float)

    def head(self, name: str) -> np.ndarray:
        return self.base[self.at[name], :3, 3]

    def moved(self, motion: np.ndarray, *names: str) -> np.ndarray:
        """(bones, 4, 4): the pose when the channels of bones are changed so that each makes a motion (4, 4)."""
        with ExitStack() as stack:
            for name in names:
                bone = self.ob.pose.bones[name]
                stack.enter_context(kept_channels(bone))
                arrays = (self.base[self.at[name]], *self.channels[name], motion, np.eye(4))
                turn, location = (rows[0] for rows in channels_along(*(a[None] for a in arrays)))
                write_rotation(bone, in_mode(Matrix(turn), bone.rotation_mode, read_rotation(bone)))
                bone.location = location
            return self.read()

    def goes_along(self, pose: np.ndarray, name: str, motion: np.ndarray) -> bool:
        """Whether a bone has made a motion, in one piece."""
        way = motion @ self.base[self.at[name]]
        return self.near(pose, name, way[:3, 3]) and angle(pose[self.at[name]], way) < TURNED

    def head_goes_along(self, pose: np.ndarray, name: str, motion: np.ndarray) -> bool:
        """Whether the head of a bone has made a motion."""
        return self.near(pose, name, transform(motion, self.head(name)))

    def points_along(self, pose: np.ndarray, name: str, motion: np.ndarray) -> bool:
        """Whether head and tail of a bone have made a motion, however it has rolled."""
        way = motion @ self.base[self.at[name]]
        across = np.linalg.norm(along_bone(pose[self.at[name]]) - along_bone(way))
        return self.near(pose, name, way[:3, 3]) and float(across) < TURNED

    def near(self, pose: np.ndarray, name: str, place: np.ndarray) -> bool:
        """Whether the head of a bone is at a place."""
        return float(np.linalg.norm(pose[self.at[name], :3, 3] - place)) < FAR * self.unit

    def stays(self, pose: np.ndarray, name: str) -> bool:
        """Whether the head of a bone is where it was."""
        return self.near(pose, name, self.head(name))


@contextmanager
def kept_channels(bone: bpy.types.PoseBone) -> Iterator[None]:
    """Channels of a bone that are changed while this lasts, and are then what they were, bit for bit."""
    location, rotation = bone.location.copy(), read_rotation(bone)
    try:
        yield
    finally:
        bone.location = location
        write_rotation(bone, rotation)


def along_bone(pose: np.ndarray) -> np.ndarray:
    """The direction (3,) of a bone in a pose (4, 4)."""
    return pose[:3, 1] / np.linalg.norm(pose[:3, 1])


def angle(a: np.ndarray, b: np.ndarray) -> float:
    """Radians between the axes of two matrices (4, 4), whatever their scales."""
    unit = lambda m: m[:3, :3] / np.maximum(np.linalg.norm(m[:3, :3], axis=0), 1e-12)
    return float(2 * np.arcsin(min(np.linalg.norm(unit(a) - unit(b)) / np.sqrt(8), 1.0)))
