"""Triangles seen from above: what lies over and under many points, in a few NumPy calls.

A BVH is asked for one ray at a time, most of which is Python. Rays that all go straight down need only the triangles
over and under their points, which a grid finds: of several levels, so that no triangle is larger than a cell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LEVELS = 4.0
"""The cells of a level are so many times as large as those of the one below it."""
ROOM = 1.25
"""By so much the cells of the first level are larger than the median triangle."""
UPRIGHT = 1e-12
"""A triangle whose area, seen from above, is less than this share of its length squared stands upright."""
TIE = 1e-9
"""A triangle reaches this share of its size over its edges, so that no point falls between two of them."""
CHUNK = 2**12
"""Points that are looked for together: a bound on memory."""
ROW = 2**32
"""From the number of a cell to that of the one in the next row."""


class Level(NamedTuple):
    """The cells of one size (2,), which is that of the largest of their triangles (T,)."""

    size: np.ndarray
    keys: np.ndarray
    """(T,): the cells in which the low corners of the triangles' bounds lie, ascending."""
    triangles: np.ndarray


class Grid:
    """Some triangles, ready to be asked what lies over and under points."""

    def __init__(self, coords: np.ndarray, triangles: np.ndarray):
        """`coords` (V, 3) are vertices, z up, `triangles` (T, 3) indices of them. What stands upright is left out."""
        a, b, c = (np.take(coords, corner, axis=0).T for corner in triangles.T)
        self.low, self.high = (pick(pick(a[:2], b[:2]), c[:2]) for pick in (np.minimum, np.maximum))
        """(2, T): their bounds."""
        self.origin = self.low.min(1)
        (bx, by, bz), (cx, cy, cz) = b - a, c - a
        self.corner, self.area = a, bx * cy - by * cx
        """(3, T): their first corners; (T,): twice their areas as seen from above, less than 0 for undersides."""
        with np.errstate(divide="ignore", invalid="ignore"):
            self.ways = np.stack([cy, -cx, -by, bx, bz * cy - cz * by, cz * bx - bz * cx]) / self.area
        """(6, T): how the shares of the second and of the third corner, and the height, grow along x and y."""
        extent = self.high - self.low
        lies = np.flatnonzero(np.abs(self.area) > UPRIGHT * extent.max(0) ** 2)
        self.levels = []
        if len(lies):
            extent = extent[:, lies]
            unit = ROOM * np.median(extent, axis=1)
            level = np.ceil(np.log((extent / unit[:, None]).max(0)) / np.log(LEVELS))
            self.levels = [self._level(lies[level == k], unit * LEVELS**k) for k in np.unique(level)]

    def _level(self, triangles: np.ndarray, size: np.ndarray) -> Level:
        """The level of some triangles, none of which is larger than its cells."""
        keys = self._cells(self.low[:, triangles], size)
        order = np.argsort(keys, kind="stable")
        return Level(size, keys[order], triangles[order])

    def _cells(self, points: np.ndarray, size: np.ndarray) -> np.ndarray:
        """(N,): a number for each of the cells of a size (2,) in which points (2, N) lie. Those of cells that are 2^31
        from each other may be the same."""
        row, column = np.floor((points - self.origin[:, None]) / size[:, None]).astype(np.int64)
        return row * ROW + column

    def crossings(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where the vertical lines through points (N, 2) cross triangles: (K,) int which point's, (K,) heights, and
        (K,) bool whether the triangle faces up. A triangle that stands upright is not crossed."""
        none = np.empty(0, int), np.empty(0), np.empty(0, bool)
        parts = [self._crossings(points[i : i + CHUNK].T, i) for i in range(0, len(points), CHUNK) if self.levels]
        at, heights, up = (np.concatenate(part) for part in zip(none, *parts, strict=True))
        return at, heights, up

    def _crossings(self, points: np.ndarray, first: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same for points (2, N), the first of which has the number `first`."""
        found = [self._near(points, level) for level in self.levels]
        at, triangles = (np.concatenate(part) for part in zip(*found, strict=True))
        x, y = (points[i, at] - self.corner[i, triangles] for i in (0, 1))
        of_b, of_c, rise = (x * self.ways[i, triangles] + y * self.ways[i + 1, triangles] for i in (0, 2, 4))
        inside = (of_b >= -TIE) & (of_c >= -TIE) & (of_b + of_c <= 1 + TIE)
        at, triangles, rise = at[inside], triangles[inside], rise[inside]
        return first + at, self.corner[2, triangles] + rise, self.area[triangles] > 0

    def _near(self, points: np.ndarray, level: Level) -> tuple[np.ndarray, np.ndarray]:
        """Indices of points (2, N) and of those triangles of one level whose bounds they lie in."""
        here = self._cells(points, level.size)
        last = np.concatenate([here - ROW, here])  # what lies over a cell may begin in those before it, in both rows
        first = np.searchsorted(level.keys, last - 1)
        count = np.searchsorted(level.keys, last, side="right") - first
        at = np.repeat(np.tile(np.arange(points.shape[1]), 2), count)
        before = np.cumsum(count) - count
        triangles = level.triangles[np.arange(len(at)) + np.repeat(first - before, count)]
        for low, high, along in zip(self.low, self.high, points, strict=True):
            place = along[at]
            within = np.flatnonzero((low[triangles] <= place) & (place <= high[triangles]))
            at, triangles = at[within], triangles[within]
        return at, triangles
