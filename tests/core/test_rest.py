"""How a sole rests on samples of the ground, and how its toes bend there."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foot_ik_addon.core.clip import LEG
from foot_ik_addon.core.rest import CUTS, TOUCH, Limits, Rest, Stance

ALONG, ACROSS = (-0.19, -0.14, -0.09, -0.04, 0.0, 0.035, 0.07), (-0.035, 0.0, 0.035)
PLAN = np.array([(u, v) for u in ALONG for v in ACROSS]) * LEG
FREE = Limits(1.4, 1.4, 2.0, 0.0)
USUAL = Limits(0.7, 0.45, 0.4, 0.5)
STIFF = np.zeros(len(PLAN), bool)
TOES = PLAN[:, 0] > 0
STANCE, WITH_TOES = Stance(PLAN, STIFF), Stance(PLAN, TOES)
TOLERANCE = 1e-6
"""Legs: a micrometre, what facets of triangles as small as a toe lose to rounding."""


def laid(heights: np.ndarray, limits: Limits = FREE, base: float = 0.0) -> tuple[Rest, np.ndarray]:
    """The rest on one set of samples (S,), and the gaps (S,) between sole and samples."""
    rest = STANCE.rest(heights[None], np.full(1, base), limits)
    return rest, rest.height[0] + PLAN @ rest.slope[0] - heights


@pytest.mark.parametrize("a", [-0.6, -0.2, 0.0, 0.3])
@pytest.mark.parametrize("b", [-0.3, 0.0, 0.2])
def test_on_a_plane_the_sole_lies_on_it(a, b):
    rest, gap = laid(0.1 + PLAN @ (a, b), base=0.1)
    np.testing.assert_allclose(gap, 0, atol=TOLERANCE)
    np.testing.assert_allclose(rest.slope[0], (a, b), atol=TOLERANCE)
    assert rest.height[0] == pytest.approx(0.1) and rest.hang[0] == 0


@settings(max_examples=100)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.01, 0.05, 0.2]))
def test_on_any_ground_the_sole_cuts_nothing_and_touches(seed, size):
    """Whatever the limits are: they change the tilt, and then the sole lies higher."""
    rng = np.random.default_rng(seed)
    heights = rng.uniform(-size, size, len(PLAN)) * LEG
    for limits in (FREE, USUAL, Limits(0.1, 0.05, 0.4, 0.5), Limits(0.0, 0.0, 0.4, 0.5)):
        rest, gap = laid(heights, limits)
        assert gap.min() == pytest.approx(0, abs=TOLERANCE)
        assert (np.abs(rest.slope[0]) <= limits.slope + 1e-12).all()


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_gentle_ground_carries_the_sole_on_three_points(seed):
    """Bumps of 5 mm: tilting to them is cheaper than hanging, so the full supporting facet is taken, or half of its
    tilt."""
    rng = np.random.default_rng(seed)
    slope = rng.uniform(-0.3, 0.3, 2)
    heights = PLAN @ slope + rng.uniform(0, 0.005, len(PLAN)) * LEG
    _, gap = laid(heights)
    assert (gap < TOUCH).all()
    flat_price = laid(heights, Limits(0, 0, 2.0, 0))[0].price
    assert laid(heights)[0].price <= flat_price + 1e-12


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.005, 0.02, 0.05]))
def test_what_comes_up_between_the_samples_is_neither_cut_nor_floated_over(seed, size):
    """Some stones between the samples of gentle ground: of all planes that lie over everything, no three places carry
    one that is lower in the middle."""
    rng = np.random.default_rng(seed)
    heights = STANCE.plan @ rng.uniform(-0.2, 0.2, 2)
    heights[len(PLAN) + rng.choice(len(STANCE.between), 5, replace=False)] += rng.uniform(0, size, 5) * LEG
    rest = STANCE.rest(heights[None], np.zeros(1), FREE)
    gap = rest.height[0] + STANCE.plan @ rest.slope[0] - heights
    assert gap.min() == pytest.approx(0, abs=TOLERANCE)
    slope = STANCE.whole.slopes(heights[None, : len(PLAN)], heights[None, len(PLAN) :])[0]
    lowest = (heights - STANCE.plan @ slope).max()
    planes = np.column_stack([np.ones(len(heights)), STANCE.plan])
    for _ in range(300):
        corners = rng.choice(len(heights), 3, replace=False)
        if abs(np.linalg.det(planes[corners])) > 1e-6:
            plane = np.linalg.solve(planes[corners], heights[corners])
            plane[0] += (heights - planes @ plane).max()
            middle = np.append(1.0, PLAN.mean(0))
            assert np.append(lowest, slope) @ middle <= plane @ middle + CUTS


def test_toes_cut_nothing_between_their_samples():
    rng = np.random.default_rng(3)
    for _ in range(20):
        heights = WITH_TOES.plan[:, 0] * np.where(WITH_TOES.bends, 0.3, 0.0)
        heights += rng.uniform(0, 0.01, len(heights)) * LEG
        rest = WITH_TOES.rest(heights[None], np.zeros(1), USUAL)
        bend = rest.bend[0] * WITH_TOES.plan[:, 0] * WITH_TOES.bends
        gap = rest.height[0] + WITH_TOES.plan @ rest.slope[0] + bend - heights
        assert gap.min() == pytest.approx(0, abs=TOLERANCE)


def test_a_bridge_of_two_stones_carries_the_sole_on_three_corners():
    """Heel and tip on stones, the rest free: the sole lies on three corners of them, its middle between."""
    heights = np.full(len(PLAN), -0.05)
    heights[:3], heights[-3:] = (0.01, 0.0, 0.01), (0.0, -0.005, 0.0)
    rest, gap = laid(heights)
    assert (np.abs(gap) < 1e-6).sum() >= 3
    assert rest.slope[0, 0] < 0, "tilted down to the lower stone"


def test_on_a_stair_edge_the_sole_lies_on_the_tread_and_not_across_the_edge():
    """The rear half over the tread, the front half over a step that is 16 cm lower: a least-squares plane would tilt by
    40 degrees and cut the edge."""
    heights = np.where(PLAN[:, 0] <= -0.04 * LEG + 1e-9, 0.0, -0.16 * LEG)
    rest, gap = laid(heights, USUAL)
    assert gap.min() >= -TOLERANCE
    assert rest.hang[0] <= 0.5
    assert abs(rest.slope[0, 0]) < 0.2 and rest.height[0] == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize("pitch, roll", [(0.2, 0.1), (0.0, 0.3), (0.5, 0.0), (0.0, 0.0)])
def test_pitch_and_roll_keep_their_limits(pitch, roll):
    limits = Limits(pitch, roll, 0.4, 0.0)
    for a, b in ((0.8, 0.6), (-0.8, 0.6), (0.8, -0.6)):
        rest, gap = laid(PLAN @ (a, b), limits)
        assert (np.abs(np.arctan(rest.slope[0])) <= np.array([pitch, roll]) + 1e-12).all()
        assert gap.min() == pytest.approx(0, abs=TOLERANCE), "it rests on the highest edge instead"


def test_samples_without_ground_and_deep_ones_count_as_a_drop():
    heights = np.zeros(len(PLAN))
    heights[PLAN[:, 0] > 0.01] = np.nan
    rest, _ = laid(heights, USUAL)
    deep = np.where(np.isnan(heights), -50.0, heights)
    other, _ = laid(deep, USUAL)
    for name in ("height", "slope", "hang", "price"):
        assert np.isfinite(getattr(rest, name)).all()
        np.testing.assert_allclose(getattr(rest, name), getattr(other, name))
    assert rest.height[0] == pytest.approx(0, abs=1e-9), "the tip hangs over the void, the sole does not sink"
    assert rest.hang[0] == pytest.approx(6 / len(PLAN))


def test_less_hanging_is_cheaper():
    """The price is what the search for a better place goes by."""
    edge = lambda at: np.where(PLAN[:, 0] <= at * LEG, 0.0, -0.16 * LEG)
    prices = [laid(edge(at), USUAL)[0].price[0] for at in (-0.12, -0.06, -0.02, 0.05, 0.2)]
    assert prices == sorted(prices, reverse=True) and prices[-1] == pytest.approx(0)


def test_many_places_are_what_each_is_alone():
    rng = np.random.default_rng(5)
    heights = rng.uniform(-0.05, 0.05, (200, len(PLAN)))
    many = STANCE.rest(heights, np.zeros(200), USUAL)
    for i in (0, 63, 64, 199):
        one = STANCE.rest(heights[i : i + 1], np.zeros(1), USUAL)
        np.testing.assert_allclose(one.height[0], many.height[i])
        np.testing.assert_allclose(one.slope[0], many.slope[i])


def test_ground_in_a_mirror_gives_the_sole_in_a_mirror():
    """Without the samples on the middle line: on a ridge just under it a sole may tip to either side."""
    plan = PLAN[PLAN[:, 1] != 0]
    stance, at = Stance(plan, np.zeros(len(plan), bool)), np.zeros(1)
    rng = np.random.default_rng(11)
    mirror = [int(np.flatnonzero((np.abs(plan - p * (1, -1)) < 1e-9).all(1))[0]) for p in plan]
    for _ in range(20):
        heights = rng.uniform(-0.04, 0.04, len(plan))
        a, b = stance.rest(heights[None], at, USUAL), stance.rest(heights[None, mirror], at, USUAL)
        np.testing.assert_allclose(a.slope * (1, -1), b.slope, atol=1e-9)
        np.testing.assert_allclose(a.height, b.height, atol=1e-9)


@pytest.mark.xfail(strict=True, reason="of two facets that are equally low the first is taken")
def test_a_ridge_along_the_middle_of_the_foot_carries_it_without_roll():
    """It could tip to either side: what is left to rounding comes out another way on the next plan, or in a mirror."""
    rest, _ = laid(0.3 * PLAN[:, 0] - 0.3 * np.abs(PLAN[:, 1]))
    assert rest.slope[0] == pytest.approx((0.3, 0.0), abs=0.01)


def bent(heights: np.ndarray, limits: Limits = USUAL) -> tuple[Rest, np.ndarray]:
    """The rest of a sole with toes on one set of samples (S,), and the gaps (S,) between it and the samples."""
    rest = WITH_TOES.rest(heights[None], np.zeros(1), limits)
    return rest, rest.height[0] + PLAN @ rest.slope[0] + rest.bend[0] * PLAN[:, 0] * TOES - heights


@pytest.mark.parametrize("ahead", [0.1, 0.35])
@pytest.mark.parametrize("behind", [-0.2, 0.0, 0.2])
def test_toes_bend_where_the_ground_does(behind, ahead):
    """At the foot of a ramp the whole sole lies on the ground; a stiff one cannot."""
    heights = PLAN[:, 0] * np.where(TOES, behind + ahead, behind)
    rest, gap = bent(heights)
    np.testing.assert_allclose(gap, 0, atol=TOLERANCE)
    assert rest.bend[0] == pytest.approx(ahead, abs=TOLERANCE)
    assert STANCE.rest(heights[None], np.zeros(1), USUAL).price[0] > rest.price[0]


@pytest.mark.parametrize("slope", [(0.0, 0.0), (0.3, 0.1)])
def test_toes_stay_straight_on_a_plane(slope):
    rest, gap = bent(PLAN @ slope)
    assert rest.bend[0] == 0 and np.abs(gap).max() < TOLERANCE


@pytest.mark.parametrize("drop", [0.02, 0.16])
def test_toes_stay_straight_over_an_edge(drop):
    """They do not reach down: the foot would roll over them."""
    rest, gap = bent(np.where(PLAN[:, 0] > 0.02, -drop, 0.0))
    assert rest.bend[0] == 0 and rest.slope[0] == pytest.approx((0, 0))
    assert gap[TOES].min() > 0.9 * drop


def test_toes_do_not_bridge_a_step():
    """A foot on the tread behind that leans against the riser with its toes on the next tread would carry nothing."""
    rest, _ = bent(np.where(PLAN[:, 0] > -0.1, 0.16, 0.0))
    assert rest.bend[0] == 0


@settings(max_examples=100)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.01, 0.05, 0.2]))
def test_on_any_ground_toes_cut_nothing(seed, size):
    rng = np.random.default_rng(seed)
    for limits in (FREE, USUAL, Limits(0.1, 0.05, 0.4, 0.5), Limits(0.0, 0.0, 0.4, 0.5)):
        rest, gap = bent(rng.uniform(-size, size, len(PLAN)) * LEG, limits)
        assert gap.min() == pytest.approx(0, abs=TOLERANCE)
        assert (np.abs(rest.slope[0, 0] + [0, rest.bend[0]]) <= limits.slope[0] + 1e-12).all()
