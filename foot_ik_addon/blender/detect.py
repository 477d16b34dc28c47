"""Read an armature object into a `Skeleton` and find its legs."""
from __future__ import annotations

import bpy
import numpy as np

from ..core.legs import Legs, find_legs
from ..core.skeleton import Skeleton


def detect(ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Legs:
    """Pelvis and legs of an armature object; raises `core.legs.LegsNotFound`.

    The pose of the current frame, read from the evaluated object in world space, is used as evidence.
    """
    return find_legs(read_skeleton(ob, depsgraph))


def read_skeleton(ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Skeleton:
    """The bones of an armature object: rest in armature space, one posed frame in world space."""
    bones = ob.data.bones
    index = {b.name: i for i, b in enumerate(bones)}
    evaluated = ob.evaluated_get(depsgraph)
    matrix = np.array(evaluated.matrix_world, float)
    posed = np.array([evaluated.pose.bones[b.name].head for b in bones]).reshape(-1, 3)
    return Skeleton(
        names=tuple(b.name for b in bones),
        parents=np.array([index[b.parent.name] if b.parent else -1 for b in bones], int),
        heads=np.array([b.head_local for b in bones]).reshape(-1, 3),
        tails=np.array([b.tail_local for b in bones]).reshape(-1, 3),
        use_deform=np.array([b.use_deform for b in bones], bool),
        use_connect=np.array([b.use_connect for b in bones], bool),
        posed=(posed @ matrix[:3, :3].T + matrix[:3, 3])[None],
    )
