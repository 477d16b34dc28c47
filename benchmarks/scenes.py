"""The scenes that are measured, built into an empty file: walkers of thirty bones on bumpy terrain.

Metres, 30 frames a second, walking along -Y; everything is made in code.
"""
from __future__ import annotations

from math import pi, sin

import bpy
import numpy as np

from sample_scenes import mannequin, walk

FPS = 30
STEPS = 20
"""Steps of the walk that is keyed; longer clips repeat it."""
RINGS, SIDES = 20, 40
"""Vertices of the skin along and around each of the 25 bones that it follows: 20,000 in all."""
EXTRA = 5
"""Bones beside those of the mannequin, to make thirty."""


def empty() -> bpy.types.Scene:
    """An empty file."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene = bpy.context.scene
    scene.render.fps = FPS
    return scene


def walker(frames: int) -> bpy.types.Object:
    """A walker on the scene's range of so many frames: the mannequin, with a tail to have thirty bones."""
    scene = bpy.context.scene
    ob = bpy.data.objects.new("Walker", mannequin.build_armature())
    scene.collection.objects.link(ob)
    bpy.context.view_layer.update()
    scene.frame_start, scene.frame_end = 1, frames
    rounds = walk.key(ob, walk.Gait(steps=STEPS)) - 1
    for curve in curves(ob):
        repeat(curve, rounds, frames)
    bpy.context.view_layer.objects.active = ob
    bpy.ops.object.mode_set(mode="EDIT")
    parent = ob.data.edit_bones["hips"]
    for i in range(EXTRA):
        bone = ob.data.edit_bones.new(f"tail.{i}")
        bone.head, bone.tail, bone.parent = (0, 0.1 * i + 0.1, 0.95), (0, 0.1 * i + 0.2, 0.95), parent
        parent = bone
    bpy.ops.object.mode_set(mode="OBJECT")
    return ob


def curves(ob: bpy.types.Object) -> list[bpy.types.FCurve]:
    """The F-curves of an object's action."""
    action = ob.animation_data.action
    if hasattr(action, "fcurves"):
        return list(action.fcurves)
    return list(action.layers[0].strips[0].channelbag(ob.animation_data.action_slot).fcurves)


def repeat(curve: bpy.types.FCurve, period: int, frames: int) -> None:
    """Key so many frames of a curve that is keyed from frame 1 to 1 + `period`, over and over, each round going on from
    where the last has ended."""
    points = curve.keyframe_points
    co = np.empty(2 * len(points))
    points.foreach_get("co", co)
    co = co.reshape(-1, 2)
    rise = co[-1, 1] - co[0, 1] if curve.data_path.endswith("location") else 0.0
    rounds = -(-frames // period)
    tiled = np.concatenate([co[:max(len(co) - 1, 1)] + (k * period, k * rise) for k in range(rounds)])
    tiled = tiled[tiled[:, 0] <= frames]
    points.clear()
    points.add(len(tiled))
    points.foreach_set("co", tiled.ravel())
    points.foreach_set("interpolation", np.full(len(tiled), 2, np.int32))
    curve.update()


def skin(ob: bpy.types.Object, subdivision: int = 0) -> bpy.types.Object:
    """A mesh of 20,000 vertices: a tube around each bone of the mannequin, blended into that of its parent."""
    names = list(mannequin.bones())
    mesh = bpy.data.meshes.new("Skin")
    along, around = np.meshgrid(np.linspace(0, 1, RINGS), np.linspace(0, 2 * pi, SIDES, endpoint=False), indexing="ij")
    coords, faces = [], []
    for k, name in enumerate(names):
        bone = ob.data.bones[name]
        flat = np.stack([0.05 * np.cos(around), along * bone.length, 0.05 * np.sin(around)], -1).reshape(-1, 3)
        matrix = np.array(bone.matrix_local)
        coords.append(flat @ matrix[:3, :3].T + matrix[:3, 3])
        first = k * RINGS * SIDES
        for r in range(first, first + (RINGS - 1) * SIDES, SIDES):
            faces += [(r + s, r + (s + 1) % SIDES, r + SIDES + (s + 1) % SIDES, r + SIDES + s) for s in range(SIDES)]
    mesh.from_pydata(np.concatenate(coords).tolist(), [], faces)
    out = bpy.data.objects.new("Skin", mesh)
    out.parent = ob
    for name in names:
        out.vertex_groups.new(name=name)
    for k, name in enumerate(names):
        parent = ob.data.bones[name].parent
        for r in range(RINGS):
            ring = list(range((k * RINGS + r) * SIDES, (k * RINGS + r + 1) * SIDES))
            own = 0.5 + 0.5 * min(1.0, 2 * r / RINGS)
            out.vertex_groups[name].add(ring, own, "REPLACE")
            if parent is not None:
                out.vertex_groups[parent.name].add(ring, 1 - own, "REPLACE")
    out.modifiers.new("Armature", "ARMATURE").object = ob
    if subdivision:
        out.modifiers.new("Subdivision", "SUBSURF").levels = subdivision
    bpy.context.scene.collection.objects.link(out)
    return out


def terrain(cells: int = 200, width: float = 8.0, length: float = 40.0) -> bpy.types.Object:
    """A bumpy ground of `cells` x `cells` quads that passes through z = 0 where the walk begins."""
    xs, ys = np.linspace(-width / 2, width / 2, cells + 1), np.linspace(2.0 - length, 2.0, cells + 1)
    verts = [(x, y, 0.12 * sin(0.9 * y) + 0.03 * sin(2.6 * x) * sin(2.1 * y)) for y in ys for x in xs]
    row = cells + 1
    faces = [(j * row + i, j * row + i + 1, (j + 1) * row + i + 1, (j + 1) * row + i)
             for j in range(cells) for i in range(cells)]
    mesh = bpy.data.meshes.new("Terrain")
    mesh.from_pydata(verts, [], faces)
    out = bpy.data.objects.new("Terrain", mesh)
    bpy.context.scene.collection.objects.link(out)
    return out


def stones(count: int) -> bpy.types.Collection:
    """A collection of boxes of one mesh, strewn over the way of the walk."""
    random = np.random.default_rng(5)
    mesh = bpy.data.meshes.new("Stone")
    corners = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    mesh.from_pydata(corners, [], [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)])
    out = bpy.data.collections.new("Stones")
    bpy.context.scene.collection.children.link(out)
    for x, y, size, turn in zip(random.uniform(-4, 4, count), random.uniform(-38, 2, count),
                                random.uniform(0.05, 0.2, count), random.uniform(0, 3, count)):
        stone = bpy.data.objects.new("Stone", mesh)
        stone.location, stone.scale, stone.rotation_euler.z = (x, y, 0), (size, size, 0.2 * size), turn
        out.objects.link(stone)
    return out


def hand_rig(ob: bpy.types.Object, ground: bpy.types.Object) -> bpy.types.Object:
    """What an animator would build instead, as another rig of the same walk: IK legs whose targets are keyed where the
    feet are, and pushed onto the ground by Shrinkwrap constraints."""
    scene = bpy.context.scene
    rig = bpy.data.objects.new("Hand Rig", ob.data.copy())
    scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    for side in "LR":
        foot, target = rig.data.edit_bones[f"foot.{side}"], rig.data.edit_bones.new(f"target.{side}")
        target.head, target.tail, target.roll = foot.head, foot.tail, foot.roll
    bpy.ops.object.mode_set(mode="OBJECT")
    rig.animation_data_create().action = ob.animation_data.action.copy()
    if hasattr(rig.animation_data.action, "slots"):
        rig.animation_data.action_slot = rig.animation_data.action.slots[0]
    for frame in range(scene.frame_start, scene.frame_end + 1):
        scene.frame_set(frame)
        for side in "LR":
            target = rig.pose.bones[f"target.{side}"]
            target.matrix = ob.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones[f"foot.{side}"].matrix
            target.keyframe_insert("location", frame=frame)
            target.keyframe_insert("rotation_quaternion", frame=frame)
    for side in "LR":
        target = rig.pose.bones[f"target.{side}"]
        wrap = target.constraints.new("SHRINKWRAP")
        wrap.target, wrap.shrinkwrap_type, wrap.wrap_mode = ground, "PROJECT", "OUTSIDE_SURFACE"
        wrap.project_axis, wrap.project_axis_space, wrap.distance = "NEG_Z", "WORLD", 0.085
        ik = rig.pose.bones[f"shin.{side}"].constraints.new("IK")
        ik.target, ik.subtarget, ik.chain_count = rig, target.name, 2
        copy = rig.pose.bones[f"foot.{side}"].constraints.new("COPY_ROTATION")
        copy.target, copy.subtarget = rig, target.name
    return rig


def only(*shown: bpy.types.Object) -> None:
    """Have the view layer evaluate these rigs and what hangs on them, and the ground; no other rig."""
    for ob in bpy.context.scene.objects:
        above = ob.parent or ob
        ob.hide_viewport = above.type == "ARMATURE" and above not in shown
