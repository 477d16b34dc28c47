"""What lies over and under points, by a grid of triangles."""

from __future__ import annotations

import numpy as np
import pytest

from foot_ik_addon.core.grid import Grid

EXACT = 1e-9


def bumpy(cells: int, size: float = 1.0, at: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """A square of bumpy quads around the origin at a height, split into triangles that face up."""
    x, y = (side.ravel() for side in np.meshgrid(*[np.linspace(-size, size, cells + 1)] * 2))
    coords = np.column_stack([x, y, at + 0.1 * size * np.sin(3 * x / size) * np.cos(5 * y / size)])
    a = (np.arange(cells)[:, None] * (cells + 1) + np.arange(cells)).ravel()
    b, c, d = a + 1, a + cells + 2, a + cells + 1
    return coords, np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])


def joined(*meshes: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    first = np.cumsum([0, *(len(coords) for coords, _ in meshes)])
    triangles = [triangles + k for (_, triangles), k in zip(meshes, first, strict=False)]
    return np.concatenate([coords for coords, _ in meshes]), np.concatenate(triangles)


def brute(coords: np.ndarray, triangles: np.ndarray, point: np.ndarray) -> list[float]:
    """The heights at which the vertical line through a point crosses triangles, one by one."""
    out = []
    for a, b, c in coords[triangles]:
        basis = np.array([b - a, c - a])[:, :2].T
        if abs(np.linalg.det(basis)) > 1e-14:
            u, v = np.linalg.solve(basis, point - a[:2])
            if min(u, v, 1 - u - v) >= 0:
                out.append(a[2] + u * (b - a)[2] + v * (c - a)[2])
    return sorted(out)


@pytest.mark.parametrize("meshes", [(bumpy(9),), (bumpy(1, 30.0), bumpy(9, at=1.0), bumpy(6, 0.02, at=2.0))])
def test_every_triangle_over_and_under_a_point_is_found(meshes):
    coords, triangles = joined(*meshes)
    points = np.random.default_rng(3).uniform(-1.2, 1.2, (60, 2)) * np.repeat([1.0, 0.02], 30)[:, None]
    at, heights, up = Grid(coords, triangles).crossings(points)
    assert up.all()
    for n, point in enumerate(points):
        assert sorted(heights[at == n]) == pytest.approx(brute(coords, triangles, point), abs=EXACT)


def test_no_point_falls_between_two_triangles():
    coords, triangles = bumpy(10, 0.7)
    edges = coords[np.concatenate([triangles[:, [0, 1]], triangles[:, [0, 2]]])]
    shares = np.random.default_rng(5).uniform(0, 1, (len(edges), 1))
    points = edges[:, 0] + shares * (edges[:, 1] - edges[:, 0])
    at, heights, _ = Grid(coords, triangles).crossings(points[:, :2])
    assert set(at) == set(range(len(points)))
    assert heights == pytest.approx(points[at, 2], abs=EXACT)


def test_upright_faces_are_passed_by_and_undersides_told():
    x, y, z = np.array([[i & 1, i >> 1 & 1, i >> 2] for i in range(8)]).T
    quads = np.array([(4, 5, 7, 6), (0, 2, 3, 1), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)])
    box = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    grid = Grid(np.column_stack([x, y, z]).astype(float), box)
    at, heights, up = grid.crossings(np.array([(0.3, 0.4), (1.0, 0.5), (1.1, 0.5)]))
    assert sorted(zip(heights[at == 0], up[at == 0], strict=True)) == [(0.0, False), (1.0, True)]
    assert {*heights[at == 1]} == {0.0, 1.0}
    assert 2 not in at


def test_a_mesh_without_level_extent_is_crossed_nowhere():
    wall = Grid(np.array([(0.0, 0, 0), (0, 1, 0), (0, 1, 1)]), np.array([(0, 1, 2)]))
    line = Grid(np.zeros((3, 3)), np.array([(0, 1, 2)]))
    for grid in (wall, line):
        assert not len(grid.crossings(np.zeros((2, 2)))[0])
