"""Triangles seen from above: what lies over and under many points, in a few NumPy calls.

A BVH is asked for one ray at a time, most of which is Python. Rays that all go straight down need only the triangles
over and under their points, which a grid finds: of several levels, so that each triangle, small or large, lies in at
most four cells.
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


class Level(NamedTuple):
    """The cells of one size (2,): keys of those that are not empty, ascending, once for each of their triangles."""

    size: np.ndarray
    keys: np.ndarray
    triangles: np.ndarray


class Grid:
    """Some triangles, ready to be asked what lies over and under points."""

    def __init__(self, coords: np.ndarray, triangles: np.ndarray):
        """`coords` (V, 3) are vertices, z up, `triangles` (T, 3) indices of them. What stands upright is left out."""
        a, b, c = (coords[corner].T for corner in triangles.T)
        low, high = (pick(pick(a[:2], b[:2]), c[:2]) for pick in (np.minimum, np.maximum))
        (bx, by, bz), (cx, cy, cz) = b - a, c - a
        area = bx * cy - by * cx
        lies = np.abs(area) > UPRIGHT * (high - low).max(0) ** 2
        self.low, self.high = low[:, lies], high[:, lies]
        """(2, T): their bounds."""
        self.area = area[lies]
        self.corner = a[:, lies]
        """(3, T): their first corners."""
        self.ways = np.stack([cy, -cx, -by, bx, bz * cy - cz * by, cz * bx - bz * cx])[:, lies] / self.area
        """(6, T): how the shares of the second and of the third corner, and the height, grow along x and y."""
        self.levels = []
        if lies.any():
            self.origin = self.low.min(1)
            extent = (self.high - self.low).T
            unit = ROOM * np.median(extent, axis=0)
            level = np.ceil(np.log((extent / unit).max(1)) / np.log(LEVELS))
            self.levels = [self._level(level == k, unit * LEVELS**k) for k in np.unique(level)]

    def _level(self, here: np.ndarray, size: np.ndarray) -> Level:
        """The level of the triangles `here` (T,) bool, none of which is larger than its cells."""
        which = np.flatnonzero(here)
        first, last = (self._cells(bound[:, which].T, size) for bound in (self.low, self.high))
        keys, triangles = [], []
        for step in ((0, 0), (0, 1), (1, 0), (1, 1)):
            there = (first + step <= last).all(1)
            keys.append(key_of(first[there] + step))
            triangles.append(which[there])
        keys, triangles = np.concatenate(keys), np.concatenate(triangles)
        order = np.argsort(keys, kind="stable")
        return Level(size, keys[order], triangles[order])

    def _cells(self, points: np.ndarray, size: np.ndarray) -> np.ndarray:
        """(N, 2): row and column of the cells of a size (2,) in which points (N, 2) lie."""
        return np.floor((points - self.origin) / size)

    def crossings(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where the vertical lines through points (N, 2) cross triangles: (K,) int which point's, (K,) heights, and
        (K,) bool whether the triangle faces up. A triangle that stands upright is not crossed."""
        none = np.empty(0, int), np.empty(0), np.empty(0, bool)
        parts = [self._crossings(points[i : i + CHUNK], i) for i in range(0, len(points), CHUNK) if self.levels]
        at, heights, up = (np.concatenate(part) for part in zip(none, *parts, strict=True))
        return at, heights, up

    def _crossings(self, points: np.ndarray, first: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        found = [self._near(points, level) for level in self.levels]
        at, triangles = (np.concatenate(part) for part in zip(*found, strict=True))
        x, y = (points[at, i] - self.corner[i][triangles] for i in (0, 1))
        of_b, of_c, rise = (x * self.ways[i][triangles] + y * self.ways[i + 1][triangles] for i in (0, 2, 4))
        inside = (of_b >= -TIE) & (of_c >= -TIE) & (of_b + of_c <= 1 + TIE)
        at, triangles, rise = at[inside], triangles[inside], rise[inside]
        return first + at, self.corner[2][triangles] + rise, self.area[triangles] > 0

    def _near(self, points: np.ndarray, level: Level) -> tuple[np.ndarray, np.ndarray]:
        """Indices of points (N, 2) and of those triangles of one level whose bounds they lie in."""
        keys = key_of(self._cells(points, level.size))
        first = np.searchsorted(level.keys, keys)
        count = np.searchsorted(level.keys, keys, side="right") - first
        at = np.repeat(np.arange(len(points)), count)
        before = np.cumsum(count) - count
        triangles = level.triangles[np.arange(len(at)) + np.repeat(first - before, count)]
        for low, high, along in zip(self.low, self.high, points.T, strict=True):
            place = along[at]
            within = np.flatnonzero((low[triangles] <= place) & (place <= high[triangles]))
            at, triangles = at[within], triangles[within]
        return at, triangles


def key_of(cells: np.ndarray) -> np.ndarray:
    """(N,): one number for each cell, whose row and column (N, 2) are whole numbers of less than 32 bits."""
    row, column = np.clip(cells, -1, 2.0**31 - 1).astype(np.int64).T
    return (row << 32) + column
