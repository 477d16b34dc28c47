"""When heel and ball stand, found from clips that skate, shuffle, jump, kick, and stand on floors that are not flat."""

from dataclasses import replace

import numpy as np
import pytest
from core import walks
from core.figures import sole_of
from core.walks import LEFT, RIGHT, clip_of, truth

from foot_ik_addon.core.clip import BALL, HEEL, runs
from foot_ik_addon.core.contacts import Contact, find_contacts, over_gaps, point_contact

# Both in seconds. A foot that has just left has not moved 2.5 cm yet: the motion itself has no sharper edge than this.
EDGE = 0.07
# A heel rises slowly: it is over the band of 2.5 cm about 0.07 s after it began.
HEEL_RISE = 0.1


def found(walk: walks.Walk, side: int) -> list[Contact]:
    clip = clip_of(walk)
    return find_contacts(walk.fps, clip.legs[side], sole_of(clip, side))


def masks(contacts: list[Contact], count: int) -> tuple[np.ndarray, np.ndarray]:
    heel, ball = np.zeros((2, count), bool)
    for c in contacts:
        heel[c.start : c.stop], ball[c.start : c.stop] = c.heel, c.ball
    return heel, ball


def assert_agrees(walk: walks.Walk, edge: float = EDGE, side: int = LEFT) -> None:
    """The contacts found are the true ones, each within `edge` seconds at both ends; those cut by an end of the clip
    may be missed when they are shorter than that."""
    contacts = found(walk, side)
    true = runs(np.logical_or(*truth(walk, side)))
    cut = lambda a, b: (a == 0 or b == walk.count) and (b - a) / walk.fps < edge
    true = [s for s in true if not cut(*s)]
    got = [(c.start, c.stop) for c in contacts if not cut(c.start, c.stop)]
    assert len(got) == len(true), (got, true)
    np.testing.assert_allclose(np.array(got) / walk.fps, np.array(true) / walk.fps, atol=edge + 1e-9)


WALKS = {
    "walk": walks.stride(),
    "fast walk": walks.stride(length=0.75, time=0.4),
    "run": walks.run(),
    "backwards": walks.backwards(),
    "sideways": walks.sideways(),
    "shuffle": walks.shuffle(),
    "turn": walks.turning(),
    "quick turn to the right": walks.turning(angle=-1.0, time=0.4),
    "sprint": walks.sprint(),
    "backwards, rolling": walks.backwards(length=-0.55, roll=35.0),
    "to the left": walks.sideways(way=np.pi),
    "crossing": walks.crossing(),
    "shuffle that lifts 6 mm": walks.shuffle(lift=0.006),
    "march": walks.march(),
    "jump": walks.jump(),
    "start and stop at 60 fps": walks.start_stop(fps=60.0),
    "creep": walks.stride(length=0.3, time=0.8),
    "start and stop": walks.start_stop(),
    "no toes": walks.stride(toes=False, roll=0.0, strike=0.0),
}


@pytest.mark.parametrize("name", WALKS)
@pytest.mark.parametrize("side", [LEFT, RIGHT])
def test_contacts_of_every_gait_are_found(name, side):
    assert_agrees(WALKS[name], side=side)


@pytest.mark.parametrize("skate", [0.1, 0.2, 0.4, 0.6, 0.8])
def test_contacts_that_skate_are_found(skate):
    """As much as 0.8 m/s, as in cartoon cycles; the clip's own slow frames tell what is slow."""
    assert_agrees(walks.stride(8, skate=skate))


@pytest.mark.parametrize("name", ["walk", "fast walk", "run", "start and stop"])
def test_clean_contacts_are_not_made_longer(name):
    """No frame counts as standing in which neither point is within 3 cm (the band and a little) of where it stood."""
    walk = WALKS[name]
    clip = clip_of(walk)
    sole = sole_of(clip)
    tracks = sole.tracks(clip.legs[LEFT])
    for c in find_contacts(walk.fps, clip.legs[LEFT], sole):
        for which, mask in ((0, c.heel), (1, c.ball)):
            at = tracks[c.start : c.stop, which][mask]
            assert len(at) == 0 or np.linalg.norm(at - np.median(at, 0), axis=1).max() < 0.03 / 0.9


def test_heel_comes_before_the_ball_and_the_ball_leaves_last():
    walk = walks.stride(fps=60)
    whole = [c for c in found(walk, LEFT) if c.start > 0 and c.stop < walk.count]
    assert len(whole) >= 2
    for c in whole:
        assert c.heel[0] and not c.ball[0]
        assert c.ball[-1] and not c.heel[-1]
        assert len(runs(c.heel)) == len(runs(c.ball)) == 1, "each touches once"


def test_heel_and_ball_are_told_apart():
    walk = walks.stride(fps=60)
    for got, true, late in zip(masks(found(walk, LEFT), walk.count), truth(walk, LEFT), (HEEL_RISE, EDGE)):
        inner = [s for s in runs(true) if s[0] > 0 and s[1] < walk.count]
        mine = [s for s in runs(got) if s[0] > 0 and s[1] < walk.count]
        np.testing.assert_allclose(np.array(mine) / 60, np.array(inner) / 60, atol=late)


def test_every_frame_of_a_contact_has_a_point_that_touches():
    for walk in WALKS.values():
        for c in found(walk, LEFT):
            assert (c.heel | c.ball).all() and len(c.heel) == len(c.ball) == c.stop - c.start


def test_a_frame_in_which_a_standing_foot_is_up_does_not_part_the_contact():
    """A spike of 4 cm in one frame of captured motion: the foot stands on, on heel or ball in that frame too."""
    walk = walks.standing(2.0, fps=120.0)
    clip = clip_of(walk)
    spike = np.zeros((len(clip), 3))
    spike[120, 2] = 0.04
    (contact,) = find_contacts(120, walks.moved_by(clip, spike).legs[LEFT], sole_of(clip))
    assert (contact.start, contact.stop) == (0, walk.count)
    assert (contact.heel | contact.ball).all()


def test_where_neither_touches_what_touches_before_or_after_stands_on():
    heel = np.array([1, 0, 0, 1, 0, 0, 0], bool)
    ball = np.array([0, 0, 0, 0, 0, 0, 1], bool)
    h, b = over_gaps(heel, ball)
    np.testing.assert_array_equal(h, [1, 1, 1, 1, 1, 1, 0])
    np.testing.assert_array_equal(b, [0, 0, 0, 0, 1, 1, 1])


# 10 cm over the way that is walked, as captured floors are; a clip stands on it, not on z = 0.
UNEVEN = {
    "tilted along": lambda x, y: 0.10 * y / 3.6,
    "tilted along, down": lambda x, y: -0.10 * y / 3.6,
    "tilted across": lambda x, y: 0.25 * x,
    "hollow": lambda x, y: 0.05 * np.cos(2 * np.pi * y / 3.6),
    "one low spot": lambda x, y: -0.10 * np.exp(-(((y - 1.8) / 0.5) ** 2)),
}


@pytest.mark.parametrize("name", UNEVEN)
@pytest.mark.parametrize("side", [LEFT, RIGHT])
def test_captured_floor_may_be_uneven_by_ten_centimetres(name, side):
    assert_agrees(walks.on_floor(walks.stride(), UNEVEN[name]), side=side)


def test_flight_has_no_contact():
    walk = walks.jump(fps=60)
    for side in (LEFT, RIGHT):
        (first, second) = found(walk, side)
        assert first.stop / 60 < 1.0 + EDGE and second.start / 60 > 1.5 - EDGE
    run = walks.run()
    flight = ~np.logical_or.reduce([m for side in (LEFT, RIGHT) for m in truth(run, side)])
    standing = np.logical_or.reduce([m for side in (LEFT, RIGHT) for m in masks(found(run, side), run.count)])
    # Frames in the middle of a flight, which lasts 0.136 s = 4 frames; the outer two are within the edge.
    middle = [slice(a + 1, b - 1) for a, b in runs(flight) if b - a >= 3]
    assert middle and not any(standing[m].any() for m in middle)


@pytest.mark.parametrize("height", [0.2, 0.45])
def test_a_kick_held_in_the_air_is_no_contact(height):
    """Lower than the 12 cm by which captured floors may be uneven, a foot that is still for a second stands on a
    step."""
    walk = walks.kick(height=height)
    contacts = found(walk, RIGHT)
    assert [c.start for c in contacts][0] == 0 and contacts[-1].stop == walk.count
    held = range(round(1.3 * 30) + 1, round(2.3 * 30))
    assert not any(c.start <= f < c.stop for c in contacts for f in held)
    assert len(contacts) == 2


def test_standing_for_long_is_one_contact():
    walk = walks.standing(60.0)
    for side in (LEFT, RIGHT):
        (contact,) = found(walk, side)
        assert (contact.start, contact.stop) == (0, walk.count)
        assert contact.heel.all() and contact.ball.all()


def test_standing_feet_that_tremble_are_one_contact():
    """2 mm of noise at 30 fps is 0.06 m/s and more: optical capture at its worst."""
    walk = walks.standing(10.0)
    clip = clip_of(walk)
    rng = np.random.default_rng(1)
    leg = walks.moved_by(clip, rng.normal(0, 0.001, (len(clip), 3))).legs[LEFT]
    (contact,) = find_contacts(30, leg, sole_of(clip))
    assert (contact.start, contact.stop) == (0, walk.count)


@pytest.mark.parametrize("name", ["walk", "run", "start and stop", "backwards"])
def test_frame_rates_agree_in_seconds(name):
    spans = []
    for fps in (24, 30, 60, 120):
        walk = replace(WALKS[name], fps=float(fps))
        spans.append(
            [
                ((c.start - 0.5) / fps, (c.stop - 0.5) / fps)
                for c in found(walk, LEFT)
                if c.start > 0 and c.stop < walk.count
            ]
        )
    assert len({len(s) for s in spans}) == 1, [len(s) for s in spans]
    for s in spans[:-1]:  # against 120 fps; each end may be off by a frame of 24 fps and the blur of the speed
        np.testing.assert_allclose(s, spans[-1], atol=1 / 24 + 0.015)


def test_where_a_clip_stands_and_which_way_it_goes_do_not_matter():
    walk = walks.stride()
    plain = [(c.start, c.stop, c.heel.tolist(), c.ball.tolist()) for c in found(walk, LEFT)]
    spun = found(walks.turned(walk, 1.1), LEFT)
    assert plain == [(c.start, c.stop, c.heel.tolist(), c.ball.tolist()) for c in spun]
    clip = clip_of(walk)
    away = walks.moved_by(clip, np.array([40.0, -7.0, 0.0]))
    far = find_contacts(30, away.legs[LEFT], sole_of(away))
    assert plain == [(c.start, c.stop, c.heel.tolist(), c.ball.tolist()) for c in far]


def test_contacts_cut_by_the_ends_of_the_clip_are_kept():
    clip = clip_of(walks.stride())  # the left foot stands in frames 30 to 49
    sole = sole_of(clip)
    for start, stop in ((34, 80), (10, 40)):
        short = walks.part(clip, start, stop)
        contacts = find_contacts(30, short.legs[LEFT], sole)
        assert contacts[0].start == 0 if start == 34 else contacts[-1].stop == stop - start


@pytest.mark.parametrize("count", [1, 2, 3])
def test_clips_of_a_few_frames_do_not_fail(count):
    clip = clip_of(walks.standing())
    contacts = find_contacts(30, walks.part(clip, 0, count).legs[LEFT], sole_of(clip))
    assert [(c.start, c.stop) for c in contacts] == [(0, count)]


def test_the_foot_that_hops_stands_between_its_hops():
    assert_agrees(walks.hop(), side=LEFT)


@pytest.mark.xfail(strict=True, reason="a foot's own floor is where the foot is lowest, however high that is")
def test_a_foot_that_is_held_up_all_the_time_never_stands():
    assert not found(walks.hop(), RIGHT)


@pytest.mark.xfail(strict=True, reason="under 0.13 m/s a foot stands: a swing of 2 s loses 0.27 s at either end")
def test_swings_that_take_their_time_are_no_contact():
    assert_agrees(walks.stride(length=0.4, time=2.5))


@pytest.mark.parametrize("before_landing", [0.1, 0.2, 0.3])
@pytest.mark.parametrize("way", [slice(None), slice(None, None, -1)])
def test_a_clip_may_end_and_begin_while_a_foot_is_in_the_air(before_landing, way):
    """The floor does not rise under the last contact because nothing comes down again after it."""
    walk = walks.stride(swing=1.2, skate=0.6, fps=60, seconds=2.5)
    clip = clip_of(walk)
    tracks = sole_of(clip).tracks(clip.legs[LEFT])
    cut = round((2.0 - before_landing) * walk.fps)
    for which in (HEEL, BALL):
        whole, *_ = point_contact(tracks[way, which], walk.fps)
        part, *_ = point_contact(tracks[:cut][way, which], walk.fps)
        assert part.any() and np.abs(part[way].astype(int) - whole[way][:cut]).sum() <= 1


@pytest.mark.parametrize("time", (0.16, 0.14))
def test_steps_too_quick_for_a_frame_that_shows_the_foot_at_rest(time):
    """Feet of cartoon runs touch the ground for a tenth of a second, which is two frames of 24 a second."""
    walk = walks.run(fps=24, time=time, swing=1.7, lift=0.4, seconds=2.0)
    touched = [(p.land + p.leave) / 2 * walk.fps for p in walk.prints[LEFT] if p.land > 0 and p.leave < 2.0]
    contacts = found(walk, LEFT)
    assert len(touched) >= 5
    for middle in touched:
        assert sum(c.start - 1.5 < middle < c.stop + 0.5 for c in contacts) == 1


def test_one_step_of_a_run_that_slips_is_a_step():
    """A tenth of the speed at which feet get about is nothing: 0.25 m/s, of a run at 3 m/s."""
    walk = walks.run(fps=60)
    third = walk.prints[LEFT][4]
    slip = 0.25 * (np.clip(np.arange(walk.count) / walk.fps, third.land, third.leave) - third.land)
    clip = walks.moved_by(clip_of(walk), slip[:, None] * (0.0, 1.0, 0.0))
    contacts = find_contacts(walk.fps, clip.legs[LEFT], sole_of(clip_of(walk)))
    got = [(c.start, c.stop) for c in contacts if c.start < (third.land + third.leave) / 2 * walk.fps < c.stop]
    np.testing.assert_allclose(np.array(got) / walk.fps, [(third.land, third.leave)], atol=EDGE)
