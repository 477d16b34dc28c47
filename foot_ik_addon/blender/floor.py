"""The floor on which a clip was animated, proposed from where its planted feet are."""
from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

import bpy
import numpy as np
from mathutils import Vector

from ..core.clip import Clip
from ..core.plan import facing
from ..core.rotations import rotate, transform, transposed
from ..core.sole import find_sole, planted_frames
from .clips import sample_clip
from .live import scene_fps
from .rig import LegBones, Rig, read_rig, used_legs
from .sampling import Sample, frame_range, leg_length, parent_space, to_clip, upright_axis
from .store import pack_sole

GLIMPSES = 32
"""Frames that are looked at to find soles and the floor before there is a plan."""
JOINT_HEIGHTS = (-0.01, 0.13)
"""Shares of a leg within which the last joint of a planted foot lies above its floor: balls of flat feet low, ankles of
feet without toes and of boots high."""
STILLER = 0.5
"""The floor stays in the world if feet go, or differ in height, there at most this share of what they do in the space
of their parent."""
LEVEL = 0.9999
"""Cosine of the angle by which the floor of a parent may lean and still is the world's."""
HOLDS = 0.5
"""A vertex belongs to the bone that has more than this share of its weight."""


def propose_floor(scene: bpy.types.Scene, ob: bpy.types.Object) -> Generator[float, None, None]:
    """Set the floor that the planted feet stand on, its space and its height, 0 or the object's own, and the soles on
    it.

    Where a mesh is skinned to the feet its lowest vertices tell; else the joints do, and 0 has the benefit of the
    doubt.
    """
    settings, rig = ob.foot_ik, read_rig(ob)
    frames = frame_range(scene)
    few = [frames[i] for i in np.unique(np.linspace(0, len(frames) - 1, min(GLIMPSES, len(frames))).astype(int))]
    settings.floor_height, settings.floor_space = 0.0, "PARENT"
    sample, *_ = yield from sample_clip(scene, ob, rig, few)
    if np.ptp(sample.carrier, axis=0).any() or sample.carrier[0, 2, 2] < LEVEL:
        after, *_ = yield from sample_clip(scene, ob, rig, [frame + 1 for frame in few])
        if stands_in_world(sample, after, rig):
            settings.floor_space = "WORLD"
            sample = replace(sample, carrier=np.tile(np.eye(4), (len(few), 1, 1)))
    clip, _ = to_clip(sample, rig, scene_fps(scene))
    own, rise = own_height(ob)
    skins = skins_of(ob, rig)
    off = (lambda low: abs(low)) if any(map(len, skins)) else off_floor
    lowest = lowest_point(clip, skins)
    if off(lowest - rise / leg_length(sample, rig)) < off(lowest):
        settings.floor_height = own
        clip, _ = to_clip(with_floor(sample, rise), rig, scene_fps(scene))
    forward = facing(clip)
    for leg, item in zip(clip.legs, used_legs(ob), strict=True):
        item.sole = pack_sole(find_sole(clip, leg, forward))


def stands_in_world(sample: Sample, after: Sample, rig: Rig) -> bool:
    """Whether the feet that stand do so in the world, not in the space of the parent, as those of a character that the
    parent moves about, or whose parent leans. `after` is the sample one frame later.

    Feet that stand are stillest there and, below a parent that is still itself, most nearly on one level.
    """
    world = np.broadcast_to(np.eye(4), sample.world.shape)
    ways = [np.linalg.norm([ends_in(b, after, leg) - ends_in(a, sample, leg) for leg in rig.legs], axis=-1)
            for a, b in ((world, world), (sample.carrier, after.carrier))]
    """(legs, F): how far the feet go in a frame."""
    if np.ptp(sample.carrier, axis=0).any():
        own, in_parent = (np.percentile(way.min(0), 25) for way in ways)
    else:
        stands = ways[0] <= np.percentile(ways[0], 25, axis=1, keepdims=True)
        heights = [np.array([ends_in(space, sample, leg)[:, 2] for leg in rig.legs])[stands]
                   for space in (world, sample.carrier)]
        own, in_parent = (np.median(np.abs(h - np.median(h))) for h in heights)
    return bool(own < STILLER * in_parent)


def ends_in(space: np.ndarray, sample: Sample, leg: LegBones) -> np.ndarray:
    """(F, 3): the last joint of a leg in rigid spaces (F, 4, 4)."""
    end = transform(sample.world, sample.pose[leg.toe or leg.foot][:, :3, 3])
    return rotate(transposed(space[:, :3, :3]), end - space[:, :3, 3])


def own_height(ob: bpy.types.Object) -> tuple[float, float]:
    """Height of an object's origin in the space of its floor, and how far that is in the world."""
    place = ob.matrix_world.translation
    if ob.parent is None or ob.foot_ik.floor_space == "WORLD":
        return place.z, place.z
    space = parent_space(ob, ob.parent)
    axis = upright_axis(space)
    height = (space.inverted_safe() @ place)[axis] * (1 if space[2][axis] >= 0 else -1)
    return height, height * space.to_3x3().transposed()[axis].length


def with_floor(sample: Sample, height: float) -> Sample:
    """The sample, standing on a floor that lies higher in the world."""
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


def skins_of(ob: bpy.types.Object, rig: Rig) -> list[np.ndarray]:
    """(N, 3) for each leg: the vertices that its foot bone holds, in that bone's space; none where no mesh has any."""
    skins = [[np.empty((0, 3))] for _ in rig.legs]
    to_foot = [np.linalg.inv(np.array(ob.data.bones[leg.foot].matrix_local, float)) for leg in rig.legs]
    for child in bpy.data.objects:
        if child.type != "MESH" or child.find_armature() != ob:
            continue
        groups = [child.vertex_groups.get(leg.foot) for leg in rig.legs]
        held = held_by(child.data, [group.index for group in groups if group])
        to_rig = np.array(ob.matrix_world.inverted_safe() @ child.matrix_world, float)
        for skin, to_own, group in zip(skins, to_foot, groups, strict=True):
            if group:
                skin.append(transform(to_own @ to_rig, np.array(held[group.index]).reshape(-1, 3)))
    return [np.concatenate(skin) for skin in skins]


def held_by(mesh: bpy.types.Mesh, groups: list[int]) -> dict[int, list[Vector]]:
    """The places of the vertices that each of these vertex groups holds, in one walk through the mesh."""
    held = {group: [] for group in groups}
    for vertex in mesh.vertices if held else ():
        weights = [(g.group, g.weight) for g in vertex.groups]
        for group, weight in weights:
            if group in held and weight > HOLDS * sum(w for _, w in weights):
                held[group].append(vertex.co)
    return held
