"""The floor on which a clip was animated, proposed from where its planted feet are."""
from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

import bpy
import numpy as np

from ..core.clip import Clip
from ..core.plan import facing
from ..core.rotations import transform
from ..core.sole import find_sole, planted_frames
from .clips import sample_clip
from .live import scene_fps
from .rig import LegBones, read_rig, used_legs
from .sampling import Sample, frame_range, leg_length, to_clip
from .store import pack_sole

GLIMPSES = 32
"""Frames that are looked at to find soles and the floor before there is a plan."""
JOINT_HEIGHTS = (-0.01, 0.13)
"""Shares of a leg within which the last joint of a planted foot lies above its floor: balls of flat feet low, ankles of
feet without toes and of boots high."""
HOLDS = 0.5
"""A vertex belongs to the bone that has more than this share of its weight."""


def propose_floor(scene: bpy.types.Scene, ob: bpy.types.Object) -> Generator[float, None, None]:
    """Set the floor height that the planted feet stand on, 0 or the object's own height, and the soles on it.

    Where a mesh is skinned to the feet its lowest vertices tell; else the joints do, and 0 has the benefit of the
    doubt.
    """
    settings, rig = ob.foot_ik, read_rig(ob)
    frames = frame_range(scene)
    few = [frames[i] for i in np.unique(np.linspace(0, len(frames) - 1, min(GLIMPSES, len(frames))).astype(int))]
    settings.floor_height = 0.0
    sample, *_ = yield from sample_clip(scene, ob, rig, few)
    clip, _ = to_clip(sample, rig, scene_fps(scene))
    own = own_height(ob)
    skins = [skin_of(ob, leg) for leg in rig.legs]
    off = (lambda low: abs(low)) if any(map(len, skins)) else off_floor
    lowest = lowest_point(clip, skins)
    if off(lowest - own / leg_length(sample, rig)) < off(lowest):
        settings.floor_height = own
        clip, _ = to_clip(with_floor(sample, own), rig, scene_fps(scene))
    forward = facing(clip)
    for leg, item in zip(clip.legs, used_legs(ob), strict=True):
        item.sole = pack_sole(find_sole(clip, leg, forward))


def own_height(ob: bpy.types.Object) -> float:
    """Height of an object's origin in the space of its parent."""
    matrix = ob.matrix_parent_inverse @ ob.matrix_basis if ob.parent else ob.matrix_world
    return float(matrix.translation.z)


def with_floor(sample: Sample, height: float) -> Sample:
    """The sample, standing on a floor that lies higher."""
    lifted = sample.carrier.copy()
    lifted[:, :3, 3] += lifted[:, :3, 2] * height
    return replace(sample, carrier=lifted)


def lowest_point(clip: Clip, skins: list[np.ndarray]) -> float:
    """Height over z = 0, in clip space, of the lowest foot where it is planted: of its skin (N, 3), in the space of its
    foot bone, where any foot has one, else of its last joint, ball or ankle."""
    heights = []
    for leg, skin in zip(clip.legs, skins, strict=True):
        joint = leg.bone_of(True)[:, :3, 3]
        planted = planted_frames(clip, leg.foot[:, :3, 3], joint)
        if len(skin):
            heights.append(np.median(transform(leg.foot[planted, None], skin[None])[..., 2].min(1)))
        elif not any(map(len, skins)):
            heights.append(np.median(joint[planted, 2]))
    return float(min(heights))


def off_floor(height: float) -> float:
    """How far a planted joint at this height over a floor, in legs, is from where one can be: a little above it."""
    return abs(height - float(np.clip(height, *JOINT_HEIGHTS)))


def skin_of(ob: bpy.types.Object, leg: LegBones) -> np.ndarray:
    """(N, 3): the vertices that the foot bone holds, in its own space; none where no mesh is skinned to it."""
    rest = np.linalg.inv(np.array(ob.data.bones[leg.foot].matrix_local))
    found = [np.empty((0, 3))]
    for child in bpy.data.objects:
        group = child.vertex_groups.get(leg.foot) if child.type == "MESH" and child.find_armature() == ob else None
        if group is None:
            continue
        held = [v.co for v in child.data.vertices if weight_share(v, group.index) > HOLDS]
        to_rest = rest @ np.array(ob.matrix_world.inverted_safe() @ child.matrix_world)
        found.append(transform(to_rest, np.array(held).reshape(-1, 3)))
    return np.concatenate(found)


def weight_share(vertex: bpy.types.MeshVertex, group: int) -> float:
    """The share of a vertex group in all the weight of a vertex."""
    total = sum(g.weight for g in vertex.groups)
    return next((g.weight for g in vertex.groups if g.group == group), 0.0) / total if total > 0 else 0.0
