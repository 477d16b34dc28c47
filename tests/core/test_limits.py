"""Joint limits on single rotations."""
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foot_ik_addon.core.limits import Limits, clamp_angle, clamp_cone, clamp_hinge, twist_angle
from foot_ik_addon.core.rotations import from_rotvec, length, rotate, to_rotvec

X, Y, Z = np.eye(3)
ANGLE = st.floats(-3.1, 3.1)
SEEDS = st.integers(0, 2**32 - 1)


def turns(seed, frames=30):
    return from_rotvec(np.random.default_rng(seed).normal(size=(frames, 3)))


@given(ANGLE, ANGLE, ANGLE)
def test_hinge_clamps_its_angle(angle, one, other):
    low, high = min(one, other), max(one, other)
    turned = to_rotvec(clamp_hinge(from_rotvec(X[None] * angle), X[None], low, high))[0]
    if low <= angle <= high:
        assert turned @ X == pytest.approx(angle, abs=1e-7)
    else:
        assert min(abs(turned @ X - low), abs(turned @ X - high)) < 1e-7
    assert length(np.cross(turned, X)) < 1e-9


@given(SEEDS)
def test_hinge_leaves_nothing_but_a_turn_about_its_axis(seed):
    axis = np.broadcast_to([0.0, 0.6, 0.8], (30, 3))
    clamped = clamp_hinge(turns(seed), 5 * axis, -0.5, 0.25)
    np.testing.assert_allclose(rotate(clamped, axis), axis, atol=1e-12)
    angle = twist_angle(clamped, axis)
    assert angle.min() >= -0.5 - 1e-9 and angle.max() <= 0.25 + 1e-9


@given(SEEDS, st.floats(0, 3))
def test_cone_keeps_the_way_of_the_swing_and_limits_its_angle(seed, cone):
    r, along = turns(seed), np.broadcast_to(Y, (30, 3))
    clamped = rotate(clamp_cone(r, along, cone, -4, 4), along)
    wanted = np.arccos(np.clip(rotate(r, along) @ Y, -1, 1))
    np.testing.assert_allclose(np.arccos(np.clip(clamped @ Y, -1, 1)), np.minimum(wanted, cone), atol=1e-6)
    np.testing.assert_allclose(np.cross(np.cross(Y, rotate(r, along)), np.cross(Y, clamped)), 0, atol=1e-9)


@given(SEEDS)
def test_cone_with_room_changes_nothing(seed):
    r = turns(seed)
    np.testing.assert_allclose(clamp_cone(r, np.broadcast_to(Y, (30, 3)), 4.0, -4.0, 4.0), r, atol=1e-9)


@given(ANGLE, st.floats(0, 1.5))
def test_twist_about_the_segment_is_clamped_and_leaves_its_direction(angle, swing):
    r = from_rotvec(X[None] * swing) @ from_rotvec(Y[None] * angle)
    clamped = clamp_cone(r, Y[None], 2.0, -0.4, 0.6)
    np.testing.assert_allclose(rotate(clamped, Y[None]), rotate(r, Y[None]), atol=1e-9)
    left = from_rotvec(X[None] * -swing) @ clamped
    assert -0.4 - 1e-9 <= twist_angle(left, Y[None])[0] <= 0.6 + 1e-9
    if -0.4 <= angle <= 0.6:
        np.testing.assert_allclose(clamped, r, atol=1e-9)


def test_angles_go_to_the_nearer_end_of_the_range_around_the_circle():
    angles = np.array([0.5, 1.2, -1.2, 3.0, -3.0])
    np.testing.assert_allclose(clamp_angle(angles, -1.0, 1.0), [0.5, 1.0, -1.0, 1.0, -1.0])
    np.testing.assert_allclose(clamp_angle(np.array([-3.0]), 0.0, 2.0), [2.0])
    # A hair inside an end is inside.
    np.testing.assert_allclose(clamp_angle(np.array([-1e-308, -1.0]), -1.0, -1e-311), [0.0, -1.0], atol=1e-12)
    # A range past half a turn holds angles that are read a whole turn lower.
    np.testing.assert_allclose(clamp_angle(np.array([-3.0]), 0.0, 3.5), [2 * np.pi - 3.0])


@pytest.mark.parametrize(
    "field, value", [("low", 2.0), ("cone", -1.0), ("axis", np.nan), ("high", np.nan), ("low", np.zeros(5))]
)
def test_limits_that_make_no_sense_are_refused(field, value):
    good = {"axis": np.zeros((3, 3)), "low": np.full(3, -1.0), "high": np.ones(3), "cone": np.ones(3)}
    wrong = value if isinstance(value, np.ndarray) else good[field] * 0 + value
    Limits(**good).checked(2, 3)
    with pytest.raises(ValueError):
        Limits(**(good | {field: wrong})).checked(2, 3)
