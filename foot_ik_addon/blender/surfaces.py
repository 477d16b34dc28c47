"""The surfaces of ground, each in its own space: their triangles, and what answers questions about these quickly.

A grid looks straight down at all points at once; a BVH is asked ray by ray, from any side.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cached_property

import bpy
import numpy as np
from mathutils.bvhtree import BVHTree

from ..core.grid import Grid
from ..core.rotations import align, rotate

MOST_LAYERS = 8
"""How many grounds above each other are looked at."""
APART = 1e-5
"""Surfaces of one piece that are nearer to each other than this share of their height are one."""
MOST_TRIANGLES = 8_000_000
"""How many are kept between plans: about a gigabyte. One surface is kept however large it is."""
Z = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class Surface:
    """A mesh in its own space."""

    coords: np.ndarray
    """(V, 3) float32: its vertices."""
    triangles: np.ndarray
    """(T, 3) int32: without those that have a vertex which is not a number."""
    low: np.ndarray
    high: np.ndarray
    """(3,): its bounds."""
    shape: tuple
    topology: tuple
    """Digests of what it was made of."""

    @cached_property
    def tree(self) -> BVHTree:
        return tree_of(self.coords, self.triangles)

    @cached_property
    def grids(self) -> dict[bytes, Grid]:
        """The last one that was asked for, by its direction."""
        return {}

    def grid(self, up: np.ndarray) -> Grid:
        """The grid of its triangles, turned so that the direction `up` (3,) is z."""
        key = up.tobytes()
        if key not in self.grids:
            self.grids.clear()
            with np.errstate(invalid="ignore"):
                self.grids[key] = Grid(rotate(align(up, Z), self.coords.astype(float)), self.triangles)
        return self.grids[key]


_surfaces: dict[tuple, Surface | None] = {}


def built(ob: bpy.types.Object, before: Surface | None = None) -> Surface | None:
    """The surface of an evaluated object; None where it has no faces.

    Surfaces are kept by what they are made of, so an unchanged mesh and all instances of one mesh share one BVH. Only
    that of an object which had another surface `before`, in another frame, is left to the caller to keep.
    """
    mesh = ob.data if ob.type == "MESH" else ob.to_mesh()
    try:
        if mesh is None or not len(mesh.polygons):
            return None
        coords, shape, topology = read_mesh(mesh)
        if before is not None and (before.shape, before.topology) == (shape, topology):
            return before
        if (shape, topology) in _surfaces:
            return _surfaces[shape, topology]
        triangles = before.triangles if before is not None and before.topology == topology else triangles_of(mesh)
    finally:
        if ob.type != "MESH":
            ob.to_mesh_clear()
    new = surface(coords.reshape(-1, 3), triangles, shape, topology)
    if before is None:
        _surfaces[shape, topology] = new
        while len(_surfaces) > 1 and sum(len(s.triangles) for s in _surfaces.values() if s) > MOST_TRIANGLES:
            _surfaces.pop(next(iter(_surfaces)))
    return new


def read_mesh(mesh: bpy.types.Mesh) -> tuple[np.ndarray, tuple, tuple]:
    """The coordinates (3 V,) of a mesh, and the digests by which its surface is kept."""
    coords = attribute(mesh, "position", "vector", len(mesh.vertices) * 3, np.float32)
    corners = attribute(mesh, ".corner_vert", "value", len(mesh.loops), np.int32)
    return coords, (zlib.crc32(coords), len(coords)), (zlib.crc32(corners), len(corners), len(mesh.polygons))


def is_kept(shape: tuple, topology: tuple) -> bool:
    """Whether the surface with these digests has been built and is kept."""
    return (shape, topology) in _surfaces


def attribute(mesh: bpy.types.Mesh, name: str, field: str, size: int, kind: type) -> np.ndarray:
    """Values of an attribute of a mesh, ten times faster than through its vertices and loops; empty ones have none."""
    out = np.empty(size, kind)
    if size:
        mesh.attributes[name].data.foreach_get(field, out)
    return out


def triangles_of(mesh: bpy.types.Mesh) -> np.ndarray:
    """(T, 3): the triangles that Blender draws of a mesh."""
    mesh.calc_loop_triangles()
    out = np.empty(len(mesh.loop_triangles) * 3, np.int32)
    mesh.loop_triangles.foreach_get("vertices", out)
    return out.reshape(-1, 3)


def surface(coords: np.ndarray, triangles: np.ndarray, shape: tuple, topology: tuple) -> Surface | None:
    """The surface of triangles (T, 3) over vertices (V, 3)."""
    there = coords
    if not np.isfinite(coords.sum(dtype=float)):
        sound = np.isfinite(coords).all(1)
        triangles, there = triangles[sound[triangles].all(1)], coords[sound]
    if not len(triangles):
        return None
    rows = there.T.astype(float, order="C")  # the least of a row is found ten times faster than that of a column
    return Surface(coords, triangles, rows.min(1), rows.max(1), shape, topology)


def tree_of(coords: np.ndarray, triangles: np.ndarray) -> BVHTree:
    """The BVH of some triangles (T, 3) over vertices (V, 3)."""
    used, corners = np.unique(triangles, return_inverse=True)
    return BVHTree.FromPolygons(coords[used].tolist(), corners.reshape(-1, 3).tolist(), all_triangles=True)


def barycentric(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Weights (N, 3) of the corners (N, 3, 3) of triangles at points (N, 3) in them."""
    a, b, c = np.moveaxis(corners, 1, 0)
    normal = np.cross(b - a, c - a)
    area = (normal * normal).sum(1)
    of_b = (np.cross(points - a, c - a) * normal).sum(1) / area
    of_c = (np.cross(b - a, points - a) * normal).sum(1) / area
    return np.stack([1 - of_b - of_c, of_b, of_c], 1)


def tops_of(crossed: list[list[float]]) -> tuple[list[float], list[tuple[float, float]]]:
    """What one piece has over and under a point: heights that can be stood on, highest first, not the undersides of
    solids; and from where to where it is solid.

    `crossed` are the places where a vertical line crosses it, highest first: the height, and whether the face there
    faces up.
    """
    tops, solids, inside, count, last = [], [], False, 0, np.inf
    for height, up in crossed:
        if height > last - APART * max(1.0, abs(last)):  # two triangles that meet there
            continue
        count += 1
        if count > 2 * MOST_LAYERS:
            break
        if inside and not up:
            solids.append((height, tops[-1]))
        else:
            tops.append(height)
        inside, last = up, height
    return tops, solids
