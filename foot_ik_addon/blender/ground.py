"""The ground of a clip, made of the surfaces of many objects: what lies straight below points.

A surface that down always meets from the same side is looked at through its grid, all points at once; one that tilts or
bends while the clip plays, through BVHs.
"""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import numpy as np
from mathutils import Vector
from mathutils.bvhtree import BVHTree

from ..core.footprints import HEADROOM
from ..core.rotations import align, length, nearest_rotation, rotate, transform
from .pieces import pieces_in
from .sampling import layer_of
from .surfaces import APART, MOST_LAYERS, Surface, Z, barycentric, built, is_kept, read_mesh, tops_of, tree_of

INSIDE = 1e-3
"""What lies deeper than this share of a leg inside of something solid cannot be stood on."""
TILE = 1.0
"""Side in legs of the squares in which deforming ground is looked at: a foot and what is beside it."""
EDGE = 1e-3
"""By so much they overlap."""
UPRIGHT = 1e-9
"""Up in the space of a piece that changes by less is always the same."""
NARROW = 0.02
"""Legs: a patch must be this wide for its turn to be known."""
CHUNK = 2**18
"""Pairs of points and pieces that are looked for together: the points of neighbouring frames are near each other."""


def new_faces(scene: bpy.types.Scene, character: bpy.types.Object) -> int:
    """How many faces the meshes have that are ground now, and of which no surface has been built yet."""
    new, settings = {}, character.foot_ik
    if settings.ground_source != "FLOOR":
        collection = settings.ground_collection if settings.ground_source == "COLLECTION" else None
        layer = layer_of(scene, character)
        layer.update()
        for _, ob, *_ in pieces_in(layer.depsgraph, character, collection):
            if ob.type == "MESH" and len(ob.data.polygons):
                _, *key = read_mesh(ob.data)
                new[tuple(key)] = 0 if is_kept(*key) else len(ob.data.polygons)
    return sum(new.values())


class MeshGround:
    """The ground of a clip, gathered while its frames are visited; answers `core.ground.Ground` in clip space."""

    def __init__(self, character: bpy.types.Object):
        settings = character.foot_ik
        self.character = character
        self.source = settings.ground_source
        self.collection = settings.ground_collection if self.source == "COLLECTION" else None
        self.pieces: list[Surface] = []
        """The surface of each piece as it was seen last."""
        self.index: dict[tuple, int] = {}
        self.seen: list[dict[int, tuple[np.ndarray, Surface]]] = []
        """Per state {piece: its world matrix and its surface}."""
        self.rows = np.empty(0, int)
        """(F,): the state of each frame."""
        self.deforming: set[int] = set()
        self.tiles: dict[tuple[int, int, int, int], tuple[BVHTree | None, np.ndarray]] = {}
        self.local: np.ndarray = np.empty(0)

    def visit(self, depsgraph: bpy.types.Depsgraph, _frame: float) -> None:
        """Note where each piece is in the frame at which the depsgraph stands; build what is new or has changed."""
        here, read = {}, {}
        if self.source != "FLOOR":
            for key, ob, matrix, bends in pieces_in(depsgraph, self.character, self.collection):
                i = self.index.get(key)
                before = None if i is None else self.pieces[i]
                piece = before
                if piece is None or bends:
                    mesh = ob.data.as_pointer() if ob.type == "MESH" else None
                    piece = read[mesh] if mesh in read else built(ob, before)
                    if mesh:
                        read[mesh] = piece
                if piece is None or not abs(matrix.determinant()) >= 1e-18:  # NaN where the place is none
                    continue
                if i is None:
                    i = self.index[key] = len(self.pieces)
                    self.pieces.append(piece)
                elif piece is not before:
                    self.deforming.add(i)
                    self.pieces[i] = piece
                here[i] = np.array(matrix, float), piece
        self.seen.append(here)

    def move(self, moving: dict[str, np.ndarray], frames: int) -> None:
        """Note so many frames in which all is as in the one visited, but for those pieces that are `moving`: {full name
        of their object: (frames, 4, 4) world matrices}."""
        (here,) = self.seen
        movers = {i: moving[key[0]] for key, i in self.index.items() if key[0] in moving and i in here}
        still = all((world == world[0]).all() for world in movers.values())
        resting = {i: there for i, there in here.items() if i not in movers}
        sound = {i: np.isfinite(world).all((1, 2)) for i, world in movers.items()}
        self.seen = [resting | {i: (world[f], here[i][1]) for i, world in movers.items() if sound[i][f]}
                     for f in range(1 if still else frames)]

    def settle(self, carrier: np.ndarray, unit: float) -> None:
        """Bring the pieces of all frames into clip space: carrier (F, 4, 4) is its frame in the world, unit its
        scale."""
        self.rows = np.arange(len(carrier))
        if len(self.seen) == 1:  # the ground stays as it is
            if (carrier == carrier[0]).all():
                carrier, self.rows = carrier[:1], np.zeros(len(carrier), int)
            self.seen *= len(carrier)
        scaled = carrier.copy()
        scaled[:, :3, :3] *= unit
        back = np.linalg.inv(scaled)
        frames, count = len(self.seen), len(self.pieces)
        self.local = np.full((frames, count, 4, 4), np.nan)
        middle, half = np.full((2, frames, count, 3), np.nan)
        for f, here in enumerate(self.seen):
            for i, (matrix, piece) in here.items():
                self.local[f, i] = back[f] @ matrix
                middle[f, i], half[f, i] = (piece.low + piece.high) / 2, (piece.high - piece.low) / 2
        middle = transform(self.local, middle)
        half = rotate(np.abs(self.local[..., :3, :3]), half)
        self.low, self.high = middle - half, middle + half
        self.inverse = np.full_like(self.local, np.nan)
        seen = np.isfinite(self.local[..., 0, 0])
        self.inverse[seen] = np.linalg.inv(self.local[seen])
        self._find_columns()

    def _find_columns(self) -> None:
        """Find the pieces in whose own space up is always the same direction, that of their mesh's first piece."""
        self.into = self.inverse.copy()
        """(rows, pieces, 4, 4): clip space to the space of a piece's grid, or of the piece where it has none."""
        self.columns: list[tuple[Surface, np.ndarray]] = []
        """Surfaces, and the direction (3,) in their space that is up."""
        self.column = np.full(len(self.pieces), -1)
        """(pieces,): which of these; -1 for none."""
        known: dict[int, int] = {}
        with np.errstate(invalid="ignore"):
            ups = self.inverse[..., :3, 2] / length(self.inverse[..., :3, 2])[..., None]
            turns = align(ups[np.isfinite(ups[..., 0]).argmax(0), np.arange(len(self.pieces))], Z)
        leads: list[int] = []
        for i, surface in enumerate(self.pieces):
            seen = ups[np.isfinite(ups[:, i, 0]), i]
            if i in self.deforming or not len(seen) or np.ptp(seen, axis=0).max() > UPRIGHT:
                continue
            k = known.setdefault(id(surface), len(self.columns))
            if k == len(self.columns):
                self.columns.append((surface, seen[0]))
                leads.append(i)
            up = self.columns[k][1]
            if np.abs(seen[0] - up).max() <= UPRIGHT:
                self.column[i] = k
                self.into[:, i, :3] = turns[leads[k]] @ self.inverse[:, i, :3]

    @property
    def still(self) -> bool:
        """See `core.ground.Ground`."""
        return self.source == "FLOOR" or not self.rows.any()

    def below(self, points: np.ndarray, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `core.ground.Ground`."""
        if self.source == "FLOOR":
            return np.where(points[:, 2] >= 0, 0.0, np.nan), np.zeros(len(points), int)
        rows, heights, pieces = self.rows[frames], np.full(len(points), -np.inf), np.full(len(points), -1)
        at, of = self._candidates(points, rows)
        reached = self.low[rows[at], of, 2] <= points[at, 2]
        at, of = at[reached], of[reached]
        gridded = self.column[of] >= 0
        found = [(at[~gridded], of[~gridded], self._hits(of[~gridded], rows[at[~gridded]], points[at[~gridded]]))]
        for which, which_of, crossed, _ in self._crossings(at[gridded], of[gridded], rows, points):
            under = crossed <= points[which, 2]
            found.append((which[under], which_of[under], crossed[under]))
        at, of, hits = (np.concatenate(part) for part in zip(*found, strict=True))
        np.fmax.at(heights, at, hits)
        highest = hits == heights[at]
        pieces[at[highest]] = of[highest]
        return np.where(pieces < 0, np.nan, heights), pieces

    def world_of(self, piece: int, frame: int) -> np.ndarray:
        """(4, 4): the space of a piece to clip space."""
        return self.local[self.rows[frame], piece]

    def layers(self, points: np.ndarray, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `core.ground.Ground`."""
        if self.source == "FLOOR":
            return np.zeros((len(points), 1)), np.zeros((len(points), 1), int)
        rows = self.rows[frames]
        found: list[list[tuple[float, int]]] = [[] for _ in points]
        solid: list[list[tuple[float, float]]] = [[] for _ in points]
        for n, i, crossed in self._lines(points, rows):
            tops, solids = tops_of(crossed)
            found[n].extend((height, i) for height in tops)
            solid[n].extend(solids)
        heights, pieces = np.full((len(points), MOST_LAYERS), np.nan), np.full((len(points), MOST_LAYERS), -1)
        for n, tops in enumerate(found):
            free = [top for top in tops if not any(low + INSIDE < top[0] < high - INSIDE for low, high in solid[n])]
            for k, top in enumerate(sorted(free, reverse=True)[:MOST_LAYERS]):
                heights[n, k], pieces[n, k] = top
        return heights, pieces

    def carried(self, piece: int, start: int, frames: np.ndarray, points: np.ndarray) -> np.ndarray:
        """See `core.ground.Ground`; scale is taken out."""
        out = np.broadcast_to(np.eye(4), (len(frames), 4, 4)).copy()
        start, frames = int(self.rows[start]), self.rows[frames]
        if piece < 0 or self.source == "FLOOR" or (frames == start).all():
            return out
        there = np.isfinite(self.local[frames, piece, 0, 0])
        now = self.local[frames[there], piece]
        if piece not in self.deforming and np.allclose(now, self.local[start, piece], atol=1e-7, rtol=0):
            return out
        change = now @ self.inverse[start, piece]
        moved = np.broadcast_to(np.eye(4), change.shape).copy()
        moved[:, :3, :3] = nearest_rotation(change[:, :3, :3])
        before, after = points, transform(change[:, None], points)
        if piece in self.deforming:
            hit, before, after = self._patch(piece, start, frames[there], points, change)
            arms = before - before.mean(0)
            if len(arms) > 2 and np.linalg.svd(arms, compute_uv=False)[1] > NARROW:
                turned = np.einsum("nsi,sj->nij", after - after.mean(1, keepdims=True), arms)
                moved[:, :3, :3] = nearest_rotation(turned)  # the best fit of one set of points to another (Kabsch)
        moved[:, :3, 3] = after.mean(1) - rotate(moved[:, :3, :3], before.mean(0))
        if piece in self.deforming and hit.any():
            # The sole stays flat where the ground bends: it touches as it did, and does not cut.
            gaps = (transform(moved[:, None], points[hit]) - after)[..., 2].min(1)
            moved[:, 2, 3] += (points[hit] - before)[:, 2].min() - gaps
        out[there] = moved
        return out

    def _patch(
        self, i: int, start: int, frames: np.ndarray, points: np.ndarray, change: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The patch of a deforming piece under `points` (S, 3): (S,) bool, under which of them it lies, its points
        (M, 3) in frame `start`, and where those are in `frames` (n, M, 3).

        Where the mesh was made anew, with other triangles, its points move as the object does, `change` (n, 4, 4), and
        stay on the surface. Where no point has ground, `points` themselves move with the object.
        """
        hits = [self._ray(i, start, point + (0.0, 0.0, HEADROOM)) for point in points]
        hit = np.array([h is not None for h in hits])
        if not hit.any():
            return hit, points, transform(change[:, None], points)
        surface = self.seen[start][i][1]
        corners = np.array([h[2] for h in hits if h is not None])
        local = np.array([h[0] for h in hits if h is not None])
        weights = barycentric(local, surface.coords[corners].astype(float))
        before = transform(self.local[start, i], local)
        after = transform(change[:, None], before)
        for k, f in enumerate(frames):
            now = self.seen[f][i][1]
            if now.topology == surface.topology:
                after[k] = transform(self.local[f, i], np.einsum("sk,ski->si", weights, now.coords[corners]))
            else:
                for point in after[k]:
                    under = self._cast(i, int(f), point + (0.0, 0.0, HEADROOM))
                    point[2] = point[2] if under is None else under[0]
        return hit, before, after

    def _candidates(self, points: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Indices of points and of pieces whose bounds lie over or under them."""
        found = [np.empty((0, 2), int)]
        with np.errstate(invalid="ignore"):
            count = max(CHUNK // max(len(self.pieces), 1), 1)
            for first in range(0, len(points), count):
                part, xy = rows[first:first + count], points[first:first + count, :2]
                part = part[:1] if (part == part[0]).all() else part
                here = np.unique(part)
                beside = (self.low[here, :, :2] > xy.max(0)) | (self.high[here, :, :2] < xy.min(0))
                near = np.flatnonzero(~beside.any(2).all(0))
                low, high = (bounds[part[:, None], near] for bounds in (self.low, self.high))
                x, y = xy[:, :1], xy[:, 1:]
                over = (low[..., 0] <= x) & (x <= high[..., 0]) & (low[..., 1] <= y) & (y <= high[..., 1])
                at, of = np.nonzero(over)
                found.append(np.stack([at + first, near[of]], 1))
        points_at, pieces_at = np.concatenate(found).T
        return points_at, pieces_at

    def _hits(self, pieces: np.ndarray, rows: np.ndarray, points: np.ndarray) -> np.ndarray:
        """(N,): height of the first hit of each of some pieces (N,) straight below points (N, 3), NaN for none.

        What `_cast` does, many at once: of a cast by itself the ray takes a tenth of the time.
        """
        out = np.empty(len(points))
        order = np.lexsort((pieces, rows))
        ends = np.flatnonzero(np.diff(pieces[order]) | np.diff(rows[order])) + 1
        for alike in np.split(order, ends) if len(order) else ():
            i, row = int(pieces[alike[0]]), int(rows[alike[0]])
            way = -self.inverse[row, i, :3, 2]
            origins, down = transform(self.inverse[row, i], points[alike]).tolist(), way.tolist()
            if i in self.deforming:
                trees = [self._tree(i, row, point)[0] for point in points[alike]]
                depths = [tree and tree.ray_cast(p, down)[3] for tree, p in zip(trees, origins)]
            else:
                cast = self.seen[row][i][1].tree.ray_cast
                depths = [cast(p, down)[3] for p in origins]
            out[alike] = points[alike, 2] - np.array(depths, float) / np.linalg.norm(way)  # None is NaN
        return out

    def _cast(self, i: int, frame: int, point: np.ndarray) -> tuple[float, float] | None:
        """Height of the first hit straight below a point, and the z of the mesh's normal there, in clip space."""
        hit = self._ray(i, frame, point)
        if hit is None:
            return None
        height = self.local[frame, i, 2, :3] @ hit[0] + self.local[frame, i, 2, 3]
        # Normals turn with the transposed inverse, so that scale and mirroring do not bend them (F22).
        return float(height), float(self.inverse[frame, i, :3, 2] @ hit[1])

    def _ray(self, i: int, frame: int, point: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """The first hit straight below a point (3,) in clip space: the place and the normal in the piece's own space,
        and the vertices of the triangle."""
        inverse = self.inverse[frame, i]
        tree, triangles = self._tree(i, frame, point)
        if tree is None:
            return None
        origin = inverse[:3, :3] @ point[:3] + inverse[:3, 3]
        co, normal, index, _ = tree.ray_cast(Vector(origin), Vector(-inverse[:3, 2]).normalized())
        return None if co is None else (np.array(co, float), np.array(normal, float), triangles[index])

    def _tree(self, i: int, frame: int, point: np.ndarray) -> tuple[BVHTree | None, np.ndarray]:
        """The BVH of a piece under a point, and its triangles."""
        if i in self.deforming:
            return self._tile(i, frame, np.floor(point[:2] / TILE))
        surface = self.seen[frame][i][1]
        return surface.tree, surface.triangles

    def _tile(self, i: int, frame: int, at: np.ndarray) -> tuple[BVHTree | None, np.ndarray]:
        """The BVH and the triangles of one square of a piece, seen from above. To build all of a terrain anew for each
        frame would take a tenth of a second."""
        key = i, frame, int(at[0]), int(at[1])
        if key not in self.tiles:
            surface = self.seen[frame][i][1]
            across = surface.coords @ self.local[frame, i, :2, :3].T + self.local[frame, i, :2, 3] - at * TILE
            sides = np.concatenate([across < -EDGE, across > TILE + EDGE], 1) @ np.array([1, 2, 4, 8], np.uint8)
            beside = np.bitwise_and.reduce(sides[surface.triangles], 1)  # all three corners on one side of the square
            triangles = surface.triangles[beside == 0]
            self.tiles[key] = tree_of(surface.coords, triangles) if len(triangles) else None, triangles
        return self.tiles[key]

    def _crossings(self, at: np.ndarray, of: np.ndarray, rows: np.ndarray, points: np.ndarray
                   ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Where the vertical lines through some points, `at` (N,) of `points` (n, 3), cross pieces `of` (N,) that have
        grids, in their `rows` (n,): (K,) which point, which piece, the height, and whether its triangle faces up. Grid
        by grid, so that all pieces of one mesh go together."""
        for k in np.unique(self.column[of]):
            here = self.column[of] == k
            which, pieces = at[here], of[here]
            row = rows[which]
            alike = (pieces == pieces[0]).all() and (row == row[0]).all()
            into = self.into[row[:1], pieces[:1]] if alike else self.into[row, pieces]
            local = transform(into, points[which])
            surface, up = self.columns[k]
            hit, heights, faces_up = surface.grid(up).crossings(local[:, :2])
            steep = into[0, 2, 2] if alike else into[hit, 2, 2]
            yield which[hit], pieces[hit], points[which[hit], 2] + (heights - local[hit, 2]) / steep, faces_up

    def _lines(self, points: np.ndarray, rows: np.ndarray) -> Iterator[tuple[int, int, list[list[float]]]]:
        """For points (N, 2) and the pieces that they lie over or under: which point and piece, and what `tops_of`
        asks for."""
        at, of = self._candidates(points, rows)
        gridded = self.column[of] >= 0
        for n, i in zip(at[~gridded].tolist(), of[~gridded].tolist(), strict=True):
            yield n, i, self._pierced(i, int(rows[n]), points[n])
        level = np.column_stack([points, np.zeros(len(points))])
        for which, pieces, heights, up in self._crossings(at[gridded], of[gridded], rows, level):
            order = np.lexsort((-heights, pieces, which))
            which, pieces, crossed = which[order], pieces[order], np.column_stack([heights, up])[order].tolist()
            starts = np.flatnonzero(np.diff(which, prepend=-1) | np.diff(pieces, prepend=-1)).tolist()
            for a, b in zip(starts, [*starts, len(crossed)][1:], strict=True):
                yield int(which[a]), int(pieces[a]), crossed[a:b]

    def _pierced(self, i: int, row: int, point: np.ndarray) -> list[list[float]]:
        """What `tops_of` asks for of one piece that has no grid, over and under a point (2,)."""
        out, start = [], self.high[row, i, 2] + 1e-3
        while len(out) < 2 * MOST_LAYERS and (hit := self._cast(i, row, np.append(point, start))):
            out.append([hit[0], hit[1] >= 0])
            start = hit[0] - APART * max(1.0, abs(hit[0]))
        return out
