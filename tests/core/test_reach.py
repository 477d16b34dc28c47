"""What to do about targets out of reach."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foot_ik_addon.core.reach import root_interval, stretch_factor
from foot_ik_addon.core.rotations import length, unit_and_length
from foot_ik_addon.core.two_bone import solve

Z = np.array([[0.0, 0, 1]])


def test_root_above_its_target_may_sink_until_the_leg_points_up():
    low, high = root_interval(2 * Z, 0 * Z, 1.5, Z)
    np.testing.assert_allclose([low, high], [[-3.5], [-0.5]])


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_ends_of_the_interval_are_just_in_reach_and_beyond_them_the_target_is_out(seed):
    rng = np.random.default_rng(seed)
    root, target = rng.normal(size=(2, 50, 3))
    reach, up = rng.uniform(0.2, 3, 50), rng.normal(size=(50, 3))
    low, high = root_interval(root, target, reach, up)
    way = unit_and_length(up)[0]
    aside = length(np.cross(target - root, way))
    np.testing.assert_array_equal(np.isnan(low), aside > reach)
    np.testing.assert_array_equal(np.isnan(high), aside > reach)
    for offset in (low, high):
        ok = np.isfinite(offset)
        far = length(root + offset[:, None] * way - target)[ok]
        np.testing.assert_allclose(far, reach[ok], atol=1e-7)
    inside = length(root + (0.5 * (low + high))[:, None] * way - target)
    assert np.all(inside[np.isfinite(low)] <= reach[np.isfinite(low)])


def test_target_at_the_very_edge_leaves_one_offset_and_one_farther_aside_none():
    target = np.array([[1.5, 0, 2.0]])
    np.testing.assert_allclose(root_interval(0 * Z, target, 1.5, Z), [[2.0], [2.0]])
    assert np.isnan(root_interval(0 * Z, target, 1.4999, Z)).all()


@pytest.mark.parametrize("up", [0 * Z, Z * np.nan])
def test_no_way_up_is_refused(up):
    with pytest.raises(ValueError, match="up"):
        root_interval(0 * Z, Z, 1.0, up)


def test_stretch_is_what_is_needed_and_ten_percent_at_most():
    distance = np.array([0.0, 0.5, 1.0, 1.05, 1.1, 2.0, 1e300])
    np.testing.assert_allclose(stretch_factor(distance, 1.0), [1, 1, 1, 1.05, 1.1, 1.1, 1.1])
    np.testing.assert_allclose(stretch_factor(distance, 2.0, 0.0), np.ones(7))
    np.testing.assert_allclose(stretch_factor(distance, np.zeros(7)), np.ones(7))


def test_a_leg_stretched_by_its_factor_reaches_and_one_that_is_not_says_what_is_missing():
    target = np.array([[0, 0, -1.08]])
    factor = stretch_factor(np.array([1.08]), 1.0)
    pole = np.array([[0.0, 1, 0]])
    assert solve(0 * Z, target, 0.5 * factor, 0.5 * factor, pole).residual[0] < 1e-9
    assert solve(0 * Z, target, 0.5, 0.5, pole).residual[0] == pytest.approx(0.08, abs=1e-9)


@pytest.mark.parametrize("name, value", [("distance", -1.0), ("length", np.nan), ("max_stretch", -0.1)])
def test_senseless_numbers_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=name):
        stretch_factor(**({"distance": 1.0, "length": 1.0} | {name: value}))
