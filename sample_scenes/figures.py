"""How well a mannequin's feet stand, measured on its own sole points.

Contacts come from the animation as it was made, on its flat floor: a point of the sole is in contact in the
frames in which it lies on that floor. The same frames are then looked at before and after, so that the
correction cannot choose what it is judged by. Lengths in metres.
"""

from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Vector
from mathutils.bvhtree import BVHTree

from . import mannequin

POINTS = {f"{name}.{side}": spot for side in "LR" for name, spot in mannequin.sole_points(side).items()}
SLIDERS = [i for i, name in enumerate(POINTS) if name.split(".")[0] in ("heel", "ball")]
ON_FLOOR = 0.002  # a rigid sole that stands lies on the floor; 2 mm leave room for rounding and key spacing


@dataclass(frozen=True)
class Ground:
    """The ground objects as triangles in their own space, so that moving ones need no new tree."""

    names: tuple
    trees: tuple

    @classmethod
    def of(cls, collection):
        """Read the evaluated meshes of the collection's objects."""
        depsgraph = bpy.context.evaluated_depsgraph_get()
        obs = [ob for ob in collection.all_objects if ob.type == "MESH"]
        trees = []
        for ob in obs:
            mesh = ob.evaluated_get(depsgraph).to_mesh()
            mesh.calc_loop_triangles()  # bent quads as Blender draws them: a BVH would split them its own way
            faces = [tuple(face.vertices) for face in mesh.loop_triangles]
            trees.append(BVHTree.FromPolygons([v.co for v in mesh.vertices], faces))
            ob.evaluated_get(depsgraph).to_mesh_clear()
        return cls(tuple(ob.name for ob in obs), tuple(trees))

    def matrices(self):
        """World matrices of the objects in the current frame."""
        depsgraph = bpy.context.evaluated_depsgraph_get()
        return [bpy.data.objects[name].evaluated_get(depsgraph).matrix_world.copy() for name in self.names]

    def under(self, point, inverses, matrices):
        """Height of the highest ground in the vertical line of `point`, its normal, and which object it is."""
        best = None
        for i, tree in enumerate(self.trees):
            start = inverses[i] @ Vector((point.x, point.y, 1e3))
            down = inverses[i].to_3x3() @ Vector((0.0, 0.0, -1.0))
            hit, normal, _, _ = tree.ray_cast(start, down)
            if hit is not None:
                z = (matrices[i] @ hit).z
                if best is None or z > best[0]:
                    best = z, (inverses[i].to_3x3().transposed() @ normal).normalized(), i
        return best


@dataclass(frozen=True)
class Track:
    """One mannequin over the frames: each array has frames first, then the sole points in the order of POINTS."""

    places: np.ndarray  # world, frames x points x 3
    gaps: np.ndarray  # height over the ground, negative below it; nan where there is none
    slips: np.ndarray  # distance moved along the ground that carries the point, since the frame before


def soles(rig):
    """World places of the sole points in the current frame."""
    pose = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
    bones = {bone: pose.matrix_world @ pose.pose.bones[bone].matrix @ rig.data.bones[bone].matrix_local.inverted()
             for bone in {bone for bone, _ in POINTS.values()}}
    return [bones[bone] @ spot for bone, spot in POINTS.values()]


def track(rigs, ground):
    """Step through the scene and follow the soles of all `rigs`; returns one Track per rig."""
    scene = bpy.context.scene
    frames = range(scene.frame_start, scene.frame_end + 1)
    places = np.full((len(rigs), len(frames), len(POINTS), 3), np.nan)
    gaps, slips = places[..., 0].copy(), places[..., 0].copy()
    last = {}
    for f, frame in enumerate(frames):
        scene.frame_set(frame)
        matrices = ground.matrices()
        inverses = [matrix.inverted() for matrix in matrices]
        for r, rig in enumerate(rigs):
            for p, place in enumerate(soles(rig)):
                places[r, f, p] = place
                if (r, p) in last:
                    carried, normal, i = last[r, p]
                    way = place - matrices[i] @ carried
                    slips[r, f, p] = (way - way.project(normal)).length
                    del last[r, p]
                below = ground.under(place, inverses, matrices)
                if below is not None:
                    z, normal, i = below
                    gaps[r, f, p] = place.z - z
                    last[r, p] = inverses[i] @ place, normal, i
    return [Track(places[r], gaps[r], slips[r]) for r in range(len(rigs))]


def contacts(raw, floor):
    """Which sole points stand in which frames, from the Track of the animation as made for z = `floor`."""
    return raw.places[..., 2] - floor < ON_FLOOR


def sum_up(tracks, standing):
    """Slide (mean mm per frame of heels and balls in contact), deepest cut and mean float (mm) over all rigs."""
    slips, depths, floats = [], [0.0], []
    for one, stands in zip(tracks, standing):
        both = stands[1:] & stands[:-1]
        slips.append(one.slips[1:, SLIDERS][both[:, SLIDERS]])
        depths.append(-np.nanmin(one.gaps))
        for foot in np.split(np.arange(len(POINTS)), 2):
            rests = stands[:, foot].any(axis=1)
            # A foot floats as high as the lowest point of its standing part: the rest may overhang a step.
            low = np.nanmin(np.where(stands[:, foot], one.gaps[:, foot], np.inf)[rests], axis=1)
            floats.append(np.maximum(low, 0.0))
    slips, floats = np.concatenate(slips), np.concatenate(floats)
    figures = {"slide": np.nanmean(slips), "cut": max(depths), "float": np.nanmean(floats)}
    return {name: 1e3 * float(metres) for name, metres in figures.items()}
