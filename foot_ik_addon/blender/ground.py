"""The ground as meshes: which objects are ground, one BVH for each in its own space, rays straight down."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Vector
from mathutils.bvhtree import BVHTree

from ..core.rotations import nearest_rotation, transform

SURFACES = {"MESH", "CURVE", "SURFACE", "FONT", "META"}
DEFORMING = {"ARMATURE", "CLOTH", "SOFT_BODY", "MESH_DEFORM", "SURFACE_DEFORM"}
"""Modifiers of characters and their clothes: such objects are never ground."""
MOST_LAYERS = 8
"""How many grounds above each other are looked at."""


INSIDE = 1e-3
"""What lies deeper than this share of a leg inside of something solid cannot be stood on."""
MOST_SURFACES = 4096
NOWHERE = (math.nan,) * 3


@dataclass(frozen=True)
class Surface:
    """A mesh in its own space."""

    tree: BVHTree
    low: np.ndarray
    high: np.ndarray
    """(3,): its bounds."""


_surfaces: dict[tuple, Surface | None] = {}


def is_ground(ob: bpy.types.Object, character: bpy.types.Object, chosen: bool) -> bool:
    """Whether an evaluated object can be stood on: a surface of no character.

    What the user has `chosen` by a collection may hang on another armature (a lift with bones) or be drawn as wire.
    """
    if ob.type not in SURFACES or any(m.type in DEFORMING for m in ob.modifiers):
        return False
    if not chosen and ob.display_type in {"WIRE", "BOUNDS"}:
        return False
    above: bpy.types.Object | None = ob
    while above is not None:
        if above.name_full == character.name_full or (above.type == "ARMATURE" and not chosen):
            return False
        above = above.parent
    return True


def pieces_in(
    depsgraph: bpy.types.Depsgraph, character: bpy.types.Object, collection: bpy.types.Collection | None
) -> Iterator[tuple]:
    """(key, evaluated object, world matrix) of the ground in a depsgraph: of a collection, or of the whole scene.

    An object lives only until the next is asked for: some are made by Blender for this iteration alone.
    """
    allowed = None if collection is None else {ob.name_full for ob in collection.all_objects}
    for instance in depsgraph.object_instances:
        ob = instance.object
        owner = instance.parent if instance.is_instance else ob
        if not instance.show_self or (allowed is not None and owner.name_full not in allowed):
            continue
        if is_ground(ob, character, allowed is not None) and owner.name_full != character.name_full:
            number = tuple(instance.persistent_id) if instance.is_instance else ()  # pyright: ignore[reportGeneralTypeIssues]
            yield (ob.name_full, owner.name_full, *number), ob, instance.matrix_world.copy()


def built(ob: bpy.types.Object) -> Surface | None:
    """The surface of an evaluated object; None where it has no faces.

    Surfaces are kept by what they are made of, so an unchanged mesh and all instances of one mesh share one BVH.
    """
    mesh = ob.data if ob.type == "MESH" else ob.to_mesh()
    try:
        if mesh is None or not len(mesh.polygons):
            return None
        coords = np.empty(len(mesh.vertices) * 3, np.float32)
        mesh.vertices.foreach_get("co", coords)
        corners = np.empty(len(mesh.loops), np.int32)
        mesh.loops.foreach_get("vertex_index", corners)
        totals = np.empty(len(mesh.polygons), np.int32)
        mesh.polygons.foreach_get("loop_total", totals)
    finally:
        if ob.type != "MESH":
            ob.to_mesh_clear()
    key = (zlib.crc32(coords), zlib.crc32(corners), zlib.crc32(totals), len(coords), len(corners))
    if key not in _surfaces:
        if len(_surfaces) >= MOST_SURFACES:
            _surfaces.pop(next(iter(_surfaces)))
        _surfaces[key] = surface(coords.reshape(-1, 3), np.split(corners, np.cumsum(totals)[:-1]))
    return _surfaces[key]


def surface(coords: np.ndarray, polygons: list[np.ndarray]) -> Surface | None:
    """The BVH of polygons over vertices (V, 3); polygons with a vertex that is not a number are left out."""
    sound = np.isfinite(coords).all(1)
    kept = [p for p in polygons if sound[p].all()]
    if not kept:
        return None
    used = coords[np.unique(np.concatenate(kept))].astype(float)
    tree = BVHTree.FromPolygons(np.where(sound[:, None], coords, 0.0).tolist(), [p.tolist() for p in kept])
    return Surface(tree, used.min(0), used.max(0))


class MeshGround:
    """The ground of a clip, gathered while its frames are visited; answers `core.ground.Ground` in clip space."""

    def __init__(self, character: bpy.types.Object):
        settings = character.foot_ik
        self.character = character
        self.source = settings.ground_source
        self.collection = settings.ground_collection if self.source == "COLLECTION" else None
        self.pieces: list[Surface] = []
        self.index: dict[tuple, int] = {}
        self.moves: list[dict[int, np.ndarray]] = []
        self.local: np.ndarray = np.empty(0)

    def visit(self, depsgraph: bpy.types.Depsgraph, _frame: float) -> None:
        """Note where each piece is in the frame at which the depsgraph stands; build what is new."""
        here = {}
        if self.source != "FLOOR":
            for key, ob, matrix in pieces_in(depsgraph, self.character, self.collection):
                if key not in self.index:
                    piece = built(ob)
                    self.index[key] = -1 if piece is None else len(self.pieces)
                    if piece is not None:
                        self.pieces.append(piece)
                if self.index[key] >= 0 and abs(matrix.to_3x3().determinant()) > 1e-18:
                    here[self.index[key]] = np.array(matrix)
        self.moves.append(here)

    def settle(self, carrier: np.ndarray, unit: float) -> None:
        """Bring the pieces of all frames into clip space: carrier (F, 4, 4) is its frame in the world, unit its
        scale."""
        scaled = carrier.copy()
        scaled[:, :3, :3] *= unit
        back = np.linalg.inv(scaled)
        frames, count = len(self.moves), len(self.pieces)
        self.local = np.full((frames, count, 4, 4), np.nan)
        for f, here in enumerate(self.moves):
            for i, matrix in here.items():
                self.local[f, i] = back[f] @ matrix
        corners = np.array(
            [[(piece.low, piece.high)[k >> a & 1][a] for a in range(3)] for piece in self.pieces for k in range(8)]
        )
        corners = corners.reshape(count, 8, 3)
        world = np.einsum("fpij,pkj->fpki", self.local[..., :3, :3], corners) + self.local[..., None, :3, 3]
        self.low, self.high = (world.min(2), world.max(2)) if count else (np.empty((frames, 0, 3)),) * 2
        self.inverse = np.full_like(self.local, np.nan)
        seen = np.isfinite(self.local[..., 0, 0])
        self.inverse[seen] = np.linalg.inv(self.local[seen])

    def below(self, points: np.ndarray, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `core.ground.Ground`."""
        if self.source == "FLOOR":
            return np.where(points[:, 2] >= 0, 0.0, np.nan), np.zeros(len(points), int)
        heights, pieces = np.full(len(points), np.nan), np.full(len(points), -1)
        at, of = self._candidates(points, frames)
        reached = self.low[frames[at], of, 2] <= points[at, 2]
        at, of = at[reached], of[reached]
        hits = self._hits(of, frames[at], points[at])
        order = np.argsort(hits)[: int(np.isfinite(hits).sum())]  # of several grounds the highest is written last
        heights[at[order]], pieces[at[order]] = hits[order], of[order]
        return heights, pieces

    def layers(self, points: np.ndarray, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `core.ground.Ground`."""
        if self.source == "FLOOR":
            return np.zeros((len(points), 1)), np.zeros((len(points), 1), int)
        found: list[list[tuple[float, int]]] = [[] for _ in points]
        solid: list[list[tuple[float, float]]] = [[] for _ in points]
        for n, i in zip(*self._candidates(points, frames), strict=True):
            tops, solids = self._tops(int(i), int(frames[n]), points[n])
            found[n].extend((height, int(i)) for height in tops)
            solid[n].extend(solids)
        heights, pieces = np.full((len(points), MOST_LAYERS), np.nan), np.full((len(points), MOST_LAYERS), -1)
        for n, tops in enumerate(found):
            free = [top for top in tops if not any(low + INSIDE < top[0] < high - INSIDE for low, high in solid[n])]
            for k, top in enumerate(sorted(free, reverse=True)[:MOST_LAYERS]):
                heights[n, k], pieces[n, k] = top
        return heights, pieces

    def carried(self, piece: int, start: int, frames: np.ndarray) -> np.ndarray:
        """See `core.ground.Ground`; scale is taken out."""
        out = np.broadcast_to(np.eye(4), (len(frames), 4, 4)).copy()
        if piece < 0 or self.source == "FLOOR":
            return out
        now = self.local[frames, piece]
        there = np.isfinite(now[:, 0, 0])
        if np.allclose(now[there], self.local[start, piece], atol=1e-7, rtol=0):
            return out
        change = now[there] @ self.inverse[start, piece]
        turn = nearest_rotation(change[:, :3, :3])
        out[there] = change
        out[there, :3, :3] = turn
        return out

    def _candidates(self, points: np.ndarray, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Indices of points and of pieces whose bounds lie over or under them."""
        low, high, xy = self.low[frames, :, :2], self.high[frames, :, :2], points[:, None, :2]
        with np.errstate(invalid="ignore"):
            points_at, pieces_at = np.nonzero(((low <= xy) & (xy <= high)).all(2))
        return points_at, pieces_at

    def _hits(self, pieces: np.ndarray, frames: np.ndarray, points: np.ndarray) -> np.ndarray:
        """(N,): height of the first hit of each of some pieces (N,) straight below points (N, 3), NaN for none.

        What `_cast` does, many at once: of a cast by itself the ray takes a tenth of the time.
        """
        inverse, matrix = self.inverse[frames, pieces], self.local[frames, pieces]
        origins, ways = transform(inverse, points).tolist(), (-inverse[:, :3, 2]).tolist()
        trees = [self.pieces[i].tree for i in pieces]
        hits = [tree.ray_cast(*ray)[0] or NOWHERE for tree, *ray in zip(trees, origins, ways, strict=True)]
        return transform(matrix, np.array(hits).reshape(-1, 3))[:, 2]

    def _cast(self, i: int, frame: int, point: np.ndarray) -> tuple[float, float] | None:
        """Height of the first hit straight below a point, and the z of the mesh's normal there, in clip space."""
        inverse, matrix = self.inverse[frame, i], self.local[frame, i]
        origin = inverse[:3, :3] @ point[:3] + inverse[:3, 3]
        way = -inverse[:3, 2]
        co, normal, _, _ = self.pieces[i].tree.ray_cast(Vector(origin), Vector(way).normalized())
        if co is None:
            return None
        height = matrix[2, :3] @ np.array(co) + matrix[2, 3]
        # Normals turn with the transposed inverse, so that scale and mirroring do not bend them (F22).
        return float(height), float(inverse[:3, 2] @ np.array(normal))

    def _tops(self, i: int, frame: int, point: np.ndarray) -> tuple[list[float], list[tuple[float, float]]]:
        """What one piece has over and under a point: heights that can be stood on, highest first, not the undersides of
        solids; and from where to where it is solid."""
        tops, solids, inside = [], [], False
        start = self.high[frame, i, 2] + 1e-3
        for _ in range(2 * MOST_LAYERS):
            hit = self._cast(i, frame, np.array([point[0], point[1], start]))
            if hit is None:
                break
            height, up = hit
            if up < 0 and inside:
                solids.append((height, tops[-1]))
            else:
                tops.append(height)
            inside = up >= 0
            start = height - 1e-5 * max(1.0, abs(height))
        return tops, solids
