"""The batched rotation helpers against each other and against what is known."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foot_ik_addon.core.rotations import (
    align,
    from_rotvec,
    length,
    nearest_rotation,
    normalized,
    perpendicular,
    quaternion_to_rotvec,
    rotate,
    square_to,
    to_quaternion,
    to_rotvec,
    transform,
    transposed,
    unit_and_length,
)

SEEDS = st.integers(0, 2**32 - 1)
X, Y, Z = np.eye(3)
I3 = np.eye(3)


def angles(rng, frames=50):
    """Rotation vectors of angles from nothing to just short of half a turn."""
    axis = unit_and_length(rng.normal(size=(frames, 3)))[0]
    small, any_size = 10.0 ** rng.uniform(-14, 0, frames), rng.uniform(0, np.pi - 1e-6, frames)
    angle = np.where(rng.random(frames) < 0.5, small, any_size)
    return axis * angle[:, None]


def test_a_quarter_about_z_takes_x_to_y():
    np.testing.assert_allclose(rotate(from_rotvec(Z * np.pi / 2), X), Y, atol=1e-15)


@given(SEEDS)
def test_rotation_vectors_and_quaternions_come_back(seed):
    v = angles(np.random.default_rng(seed))
    r = from_rotvec(v)
    np.testing.assert_allclose(transposed(r) @ r, np.broadcast_to(I3, r.shape), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(r), 1, atol=1e-12)
    np.testing.assert_allclose(to_rotvec(r), v, atol=1e-9)
    np.testing.assert_allclose(from_rotvec(quaternion_to_rotvec(to_quaternion(r))), r, atol=1e-12)
    assert (to_quaternion(r)[..., 0] >= 0).all()


@pytest.mark.parametrize("axis", [X, Y, Z, (X + Y) / np.sqrt(2), (X - Y + Z) / np.sqrt(3)])
def test_half_a_turn_comes_back(axis):
    v = to_rotvec(from_rotvec(axis * np.pi))
    assert length(v) == pytest.approx(np.pi, abs=1e-9)
    np.testing.assert_allclose(from_rotvec(v), from_rotvec(axis * np.pi), atol=1e-9)


@settings(max_examples=60)
@given(SEEDS, st.floats(-16, 0))
def test_align_is_exact_and_shortest_up_to_opposite_directions(seed, power):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(50, 3))
    near = 10.0**power * rng.normal(size=(50, 3))
    for b in (rng.normal(size=(50, 3)), a + near, -a + near, -a, a):
        r = align(a, b)
        np.testing.assert_allclose(rotate(r, normalized(a)), normalized(b), atol=1e-14)
        np.testing.assert_allclose(transposed(r) @ r, np.broadcast_to(I3, r.shape), atol=1e-14)
        wanted = np.arctan2(length(np.cross(normalized(a), normalized(b))), (normalized(a) * normalized(b)).sum(-1))
        np.testing.assert_allclose(length(to_rotvec(r)), wanted, atol=1e-7)


def test_align_leaves_directions_of_no_length():
    for a, b in ((0 * X, Y), (X, 0 * X)):
        np.testing.assert_array_equal(align(a, b), I3)


@given(st.lists(st.floats(-1e200, 1e200), min_size=3, max_size=3))
def test_unit_and_length_hold_at_any_scale(v):
    unit, size = unit_and_length(np.array(v))
    largest = max(map(abs, v))
    assert np.isfinite(unit).all() and np.isfinite(size)
    if largest > 1e-290:
        assert length(unit) == pytest.approx(1, abs=1e-12)
        np.testing.assert_allclose(unit * size, v, rtol=1e-12, atol=1e-14 * largest)
    if largest == 0:
        assert size == 0 and (unit == 0).all()


@given(SEEDS)
def test_square_to_and_perpendicular_are_square(seed):
    rng = np.random.default_rng(seed)
    axis = unit_and_length(rng.normal(size=(50, 3)))[0]
    v = rng.normal(size=(50, 3))
    np.testing.assert_allclose((square_to(v, axis) * axis).sum(-1), 0, atol=1e-14)
    np.testing.assert_allclose(np.cross(v - square_to(v, axis), axis), 0, atol=1e-14)
    np.testing.assert_allclose((perpendicular(axis) * axis).sum(-1), 0, atol=1e-14)
    np.testing.assert_allclose(length(perpendicular(axis)), 1, atol=1e-14)


@given(SEEDS)
def test_nearest_rotation_takes_scale_and_mirroring_out(seed):
    rng = np.random.default_rng(seed)
    r = from_rotvec(angles(rng))
    np.testing.assert_allclose(nearest_rotation(r * rng.uniform(0.1, 9, (50, 1, 1))), r, atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(nearest_rotation(-r)), 1, atol=1e-12)


@given(SEEDS)
def test_the_nearest_rotation_is_no_other_for_one_that_is_only_rounded(seed):
    rng = np.random.default_rng(seed)
    m = from_rotvec(angles(rng)) + rng.uniform(-1, 1, (50, 3, 3)) * 10 ** rng.uniform(-12, -5, (50, 1, 1))
    u, _, vt = np.linalg.svd(m)
    np.testing.assert_allclose(nearest_rotation(m), u @ vt, atol=1e-8)


def test_normalized_falls_back_and_transform_moves_points():
    np.testing.assert_array_equal(normalized(np.array([2 * X, 0 * X]), Y), [X, Y])
    m = np.eye(4)
    m[:3, :3], m[:3, 3] = from_rotvec(Z * np.pi / 2), (1, 2, 3)
    np.testing.assert_allclose(transform(m, np.array([X, Y])), [[1, 3, 3], [0, 2, 3]], atol=1e-15)
