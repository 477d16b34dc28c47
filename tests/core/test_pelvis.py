"""One smooth curve of pelvis heights."""

import time

import numpy as np
import pytest

from foot_ik_addon.core.pelvis import no_straighter, pelvis_curve, reach_limits

FREE = np.inf
MM = 1e-3 / 0.9


def curve(preferred, lowest=-FREE, highest=FREE, fps: float = 30.0) -> np.ndarray:
    preferred = np.asarray(preferred, float)
    return pelvis_curve(
        preferred,
        np.broadcast_to(lowest, preferred.shape).astype(float),
        np.broadcast_to(highest, preferred.shape).astype(float),
        fps,
    )


def turns_of_bend(track: np.ndarray, least: float) -> int:
    """How often the second difference changes its sign, of bends over `least`."""
    bend = np.diff(track, n=2)
    sign = np.sign(bend[np.abs(bend) > least])
    return int((np.diff(sign) != 0).sum())


def climb(seconds: float, fps: float, rise: float = 0.17, step: float = 0.5) -> np.ndarray:
    """What the supporting feet ask for on stairs: it rises by one step within a fifth of each step's time."""
    t = np.arange(round(seconds * fps)) / fps
    return rise * (np.floor(t / step) + np.clip((t / step % 1) * 5 - 4, 0, 1))


def test_flat_stays_flat():
    np.testing.assert_allclose(curve(np.zeros(100)), 0, atol=1e-12)
    np.testing.assert_allclose(curve(np.full(100, 0.3), 0.0, 1.0), 0.3, atol=1e-9)


@pytest.mark.parametrize("rate", [0.5, -0.5])
@pytest.mark.parametrize("fps", [24.0, 60.0])
def test_a_constant_climb_stays_one_to_the_first_and_last_frame(rate, fps):
    """Free ends: no flattening there. 0.1 mm in 3 s."""
    slope = rate * np.arange(round(3 * fps)) / fps
    np.testing.assert_allclose(curve(slope, fps=fps), slope, atol=0.1 * MM)


def test_whole_hills_are_climbed():
    """A hill of 5 legs, far over what any leg could reach: the pelvis goes up it, within 2 cm."""
    t = np.linspace(0, 1, 300)
    hill = 5 * t**3 * (10 - 15 * t + 6 * t * t)
    assert np.abs(curve(hill) - hill).max() < 0.02 / 0.9


@pytest.mark.parametrize("fps", [24.0, 30.0, 60.0])
def test_no_yo_yo_on_stairs(fps):
    """Steps of 15 cm twice a second are climbed evenly: the height stays within a third of a step of the even climb,
    never goes down, and bends at most twice for each step."""
    steps = climb(6.0, fps)
    even = np.polyval(np.polyfit(np.arange(len(steps)), steps, 1), np.arange(len(steps)))
    inner = slice(round(fps), -round(fps))
    got = curve(steps, fps=fps)
    assert np.abs(got - even)[inner].max() < 0.17 / 3
    assert np.diff(got)[inner].min() > 0
    assert turns_of_bend(got[inner], 1e-6) <= 2 * 4 / 0.5 + 1
    rough = np.abs(np.diff(steps, n=2)).max()
    assert np.abs(np.diff(got, n=2)).max() < 0.1 * rough


@pytest.mark.parametrize("fps", [24.0, 60.0, 120.0])
def test_curve_stays_inside_the_tube(fps):
    """Legs reach to 2 mm, which the soft end of the leg's reach takes up."""
    t = np.arange(round(6 * fps)) / fps
    steps = climb(6.0, fps)
    highest = steps + 0.06 + 0.05 * np.sin(2 * np.pi * t / 0.5)
    lowest = highest - 0.25
    got = curve(steps, lowest, highest, fps)
    assert (got - highest).max() < 2 * MM and (lowest - got).max() < 2 * MM


@pytest.mark.parametrize("fps", [30.0, 60.0, 120.0])
def test_bounds_that_come_close_after_each_other_are_met_at_any_frame_rate(fps):
    """Down by 20 cm, up and down again within 0.3 s, to 0.5 mm. With a penalty that stays, ADMM is 14 mm off after all
    its rounds at 120 fps."""
    t = np.arange(round(4 * fps)) / fps
    lowest = np.where(np.abs(t - 1.15) < 0.04, 0.0, -FREE)
    highest = np.where(np.minimum(np.abs(t - 1.0), np.abs(t - 1.3)) < 0.05, -0.2 / 0.9, FREE)
    got = curve(np.zeros_like(t), lowest, highest, fps)
    assert (got - highest).max() < 0.5 * MM and (lowest - got).max() < 0.5 * MM


@pytest.mark.parametrize("depth, seconds", [(0.1, 0.5), (0.2, 0.3), (0.3, 1.0)])
def test_a_dip_is_met_before_it_comes(depth, seconds):
    """Look-ahead: the curve is on its way down when the dip begins, in it by then, and no frame is rougher than the way
    down needs."""
    fps = 60.0
    highest = np.full(360, 0.01)
    span = slice(180, 180 + round(seconds * fps))
    highest[span] = -depth
    got = curve(np.zeros(360), -FREE, highest, fps)
    assert (got - highest).max() < 2 * MM
    assert got[170] < -0.5 * depth, "it began before"
    assert abs(got[60]) < 0.1 * depth, "and not a whole two seconds before"
    assert np.abs(np.diff(got, n=2)).max() * fps**2 < 40 * depth / 0.22**2 / 4
    assert got.min() > -1.6 * depth, "no deeper than it must"


def test_where_the_tube_is_shut_the_highest_height_wins():
    """No leg is torn: what a leg cannot reach goes before what folds one."""
    got = curve(np.zeros(120), 0.3, 0.1)
    assert got.max() < 0.1 + 2 * MM


def test_one_frame_alone_works():
    assert curve([0.2]) == pytest.approx([0.2])
    assert curve([0.2], -FREE, 0.1) == pytest.approx([0.1])
    assert curve([0.2], 0.3, FREE) == pytest.approx([0.3])


@pytest.mark.parametrize("count", [2, 3, 5, 10])
def test_short_clips_work(count):
    got = curve(np.linspace(0, 0.1, count), -1, 0.05)
    assert got.shape == (count,) and np.isfinite(got).all() and (got < 0.05 + 2 * MM).all()


def test_ten_thousand_frames_take_no_longer_than_a_blink():
    rng = np.random.default_rng(2)
    steps = climb(10000 / 30, 30.0)[:10000] + rng.normal(0, 0.01, 10000)
    start = time.perf_counter()
    got = curve(steps, steps - 0.2, steps + 0.05)
    assert time.perf_counter() - start < 3.0, "0.3 s on the machine that this was written on"
    assert np.isfinite(got).all()


def test_frame_rate_does_not_change_the_curve():
    """In seconds: the same at 30 and 120 fps, to 5 mm of steps of 15 cm."""
    slow, fast = curve(climb(6, 30.0), fps=30.0), curve(climb(6, 120.0), fps=120.0)
    assert np.abs(slow - fast[::4])[15:-15].max() < 5 * MM


def test_upside_down_and_lifted_tracks_give_upside_down_and_lifted_curves():
    steps = climb(4, 30.0)
    got = curve(steps, steps - 0.1, steps + 0.1)
    np.testing.assert_allclose(curve(-steps, -steps - 0.1, -steps + 0.1), -got, atol=1e-9)
    np.testing.assert_allclose(curve(steps + 7, steps + 6.9, steps + 7.1), got + 7, atol=0.2 * MM)
    np.testing.assert_allclose(curve(steps[::-1], (steps - 0.1)[::-1], (steps + 0.1)[::-1]), got[::-1], atol=0.2 * MM)


def test_reach_limits_are_what_the_clip_does_and_shares_of_a_leg():
    extension = np.concatenate([np.linspace(0.4, 0.97, 99), [1.0]])
    near, far = reach_limits(extension)
    assert 0 <= near < far < 1
    assert far <= 0.98, "one straight frame is no licence"
    assert near <= 0.5


def test_a_leg_is_as_straight_before_its_landing_as_it_is_animated():
    stands = np.array([1, 0, 0, 0, 0, 1, 1], bool)
    animated = np.array([0.90, 0.80, 0.50, 0.99, 1.00, 0.98, 0.97])
    got = no_straighter(animated, animated, stands)
    assert (got[~stands] >= animated[~stands]).all(), "what is animated is not held back"
    assert np.isinf(got[stands]).all()
    lower = np.array([0.90, 0.80, 0.50, 0.99, 1.00, 0.95, 0.95])
    np.testing.assert_allclose(no_straighter(animated, lower, stands)[1:5], [np.inf, np.inf, 0.96, 0.97])
    first = no_straighter(animated, lower, stands & (np.arange(7) > 4))
    np.testing.assert_allclose(first[:5], [0.95, 0.95, 0.95, 0.96, 0.97])
    assert np.isinf(no_straighter(animated, lower, ~stands & False)).all()


def test_where_not_every_leg_can_be_kept_from_folding_the_curve_stays_smooth():
    """One leg stands on a high step while the other must reach down: bounds that cross would press the curve into the
    kink of the highest."""
    fps, t = 120, np.linspace(-1, 1, 241)
    highest = 0.3 * np.abs(t) - 0.05 * np.exp(-((t / 0.03) ** 2))
    lowest = np.where(np.abs(t) < 0.2, highest.min() + 0.08 - 0.3 * np.abs(t), -np.inf)
    assert (lowest > highest).any()
    preferred = np.full_like(t, 0.2)
    bend = lambda low: np.abs(np.diff(pelvis_curve(preferred, low, highest, fps), 2)).max()
    assert bend(lowest) < 1.01 * bend(np.full_like(t, -np.inf))
