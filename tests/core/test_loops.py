"""Clips that loop still loop when they are corrected, wherever the seam cuts them, and clips that do not are left as
they are."""

from dataclasses import replace

import numpy as np
import pytest
from core import grounds, walks
from core.figures import cuts, floats, mean_slide, options, planted
from core.walks import LEFT, clip_of

from foot_ik_addon.core.clip import LEG, Clip, Leg
from foot_ik_addon.core.edits import Edit
from foot_ik_addon.core.loops import closes_round
from foot_ik_addon.core.plan import Plan, make_plan
from foot_ik_addon.core.rotations import from_rotvec

MM = 1e-3 * LEG
LOOPS = {
    "walk": walks.stride(2),
    "skating": walks.stride(2, skate=0.3),
    "run": walks.run(2, length=0.8, time=1 / 3),
    "in place": walks.stride(2, belt=(0.0, -1.2)),
    "in place run": walks.run(2, time=1 / 3, belt=(0.0, -3.0)),
}
RISE = np.tan(np.radians(10))
GROUNDS = {"flat": (grounds.flat(), 0.0), "up": (grounds.slope(10), RISE), "across": (grounds.slope(0, 10), 0.0)}


def from_phase(walk: walks.Walk, phase: float) -> Clip:
    """One round of a walk that begins at a share of it."""
    count = walk.count - 1
    longer = clip_of(replace(walk, seconds=2 * walk.seconds))
    start = round(phase * count)
    return walks.part(longer, start, start + count + 1)


def tracks(plan: Plan) -> list[np.ndarray]:
    """(F, 3) moves of the feet and of the pelvis, locked."""
    return [*(f.move[1] for f in plan.feet), plan.pelvis[1][:, None] * (0.0, 0.0, 1.0)]


def seams(plan: Plan, climb: float) -> tuple[float, float]:
    """Farthest jump from the last frame to the first of the next round, which lies `climb` higher; and the change of
    speed there, as a share of the largest within."""
    jump = max(np.linalg.norm(x[-1] - x[0] - (0, 0, climb)) for x in tracks(plan))
    turn = max(np.linalg.norm(f.turn[1, -1] - f.turn[1, 0]) for f in plan.feet)
    bend = [
        np.linalg.norm(x[1] - x[0] - x[-1] + x[-2]) / (np.linalg.norm(np.diff(x, 2, axis=0), axis=1).max() + 0.1 * MM)
        for x in tracks(plan)
    ]
    return max(jump, 0.2 * turn), max(bend)


@pytest.mark.parametrize("phase", [0.0, 0.23])
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_that_is_corrected_has_no_seam(name, ground, phase):
    """No jump over 0.2 mm, and no sharper bend, to a twentieth, than in the middle of the clip."""
    clip = from_phase(LOOPS[name], phase)
    plan = make_plan(clip, GROUNDS[ground][0], options())
    assert len(plan) == len(clip)
    jump, bend = seams(plan, GROUNDS[ground][1] * float(clip.pelvis[-1, 1] - clip.pelvis[0, 1]))
    assert jump < 0.2 * MM and bend <= 1.05


@pytest.mark.parametrize("phase", [0.0, 0.3])
def test_a_loop_of_several_rounds_has_no_seam(phase):
    clip = from_phase(walks.stride(6, skate=0.3), phase)
    jump, _ = seams(make_plan(clip, grounds.slope(0, 10), options()), 0.0)
    assert jump < 0.2 * MM


RAMP = grounds.still(lambda x, y: 0.1 * np.arctan2(y, x))
DISH = grounds.still(lambda x, y: 0.2 * (x * x + y * y))
TURNS = {
    "ramp": (walks.circling(2, skate=0.15), RAMP, 0.8, 0.08),
    "backward": (walks.circling(2, -0.4, skate=-0.15), RAMP, -0.8, -0.08),
    "on the spot": (walks.turning(2, 0.5), DISH, 1.0, 0.0),
    "all around": (walks.circling(8, np.pi / 4, 0.8, skate=0.15), grounds.slope(10), 2 * np.pi, 0.0),
}


@pytest.mark.parametrize("phase", [0.0, 0.3])
@pytest.mark.parametrize("name", TURNS)
def test_a_loop_that_turns_has_no_seam(name, phase):
    """Up a winding ramp, back down it, on the spot in a dish, once around on a slope."""
    walk, ground, angle, rise = TURNS[name]
    plan, spin = make_plan(from_phase(walk, phase), ground, options()), from_rotvec(np.array([0.0, 0.0, angle]))
    for x in tracks(plan):
        leaps, bends = np.diff(x, axis=0), np.diff(x, 2, axis=0)
        assert np.abs(x[-1] - spin @ x[0] - (0, 0, rise * LEG)).max() < 0.2 * MM
        assert np.linalg.norm(spin @ leaps[0] - leaps[-1]) < 1.05 * np.linalg.norm(bends, axis=1).max() + 0.1 * MM


def test_a_contact_that_the_seam_cuts_is_one_footprint():
    """Seen twice, at the end and at the beginning, and both within the clip."""
    clip = from_phase(LOOPS["skating"], 0.15)
    plan = make_plan(clip, grounds.flat(), options())
    for foot, found in zip(plan.prints, plan.contacts):
        assert [(p.contact.start, p.contact.stop) for p in foot] == [(c.start, c.stop) for c in found]
        assert all(0 <= c.start < c.stop <= len(clip) and len(c.heel) == len(c.ball) == c.stop - c.start for c in found)
        assert all(0 <= p.frame < len(clip) for p in foot)
    first, last = plan.prints[LEFT][0], plan.prints[LEFT][-1]
    assert first.contact.start == 0 and last.contact.stop == len(clip)
    np.testing.assert_allclose(last.ball - first.ball, (clip.pelvis[-1] - clip.pelvis[0])[:2], atol=1e-6)


def test_a_loop_stands_as_well_as_any_clip():
    walk, ground = LOOPS["walk"], grounds.slope(10)
    out = planted(clip_of(walk), ground)
    assert mean_slide(out, walk, ground) < 1e-4
    assert cuts(out, ground).max() < 3e-3 and np.percentile(floats(out, walk, ground), 95) < 2e-3


def test_ground_that_does_not_go_on_is_no_loop():
    """Bumps, a stone, and a deck that has moved on: the clip is planned as far as it goes."""
    clip = clip_of(LOOPS["walk"])
    stone = grounds.box(0.02, 1.1, 1.4)
    for ground in (grounds.bumps(), stone, grounds.moving(lambda f: grounds.matrices(f, np.outer(f, (0.001, 0, 0))))):
        plan = make_plan(clip, ground, options())
        assert len(plan) == len(clip)
        longer = planned_as_no_loop(clip, ground)
        for a, b in zip(tracks(plan), tracks(longer)):
            np.testing.assert_array_equal(a, b)


def planned_as_no_loop(clip: Clip, ground) -> Plan:
    """The plan of the clip, its last pose spoiled by more than is the same pose: in the pelvis alone, which no foot
    hangs on."""
    pelvis = clip.pelvis.copy()
    pelvis[-1, 0] += 2e-3
    return make_plan(replace(clip, pelvis=pelvis), ground, options())


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_whose_range_ends_a_frame_early_is_told(name):
    """Not one that shows its first pose again already, one that stands still, nor one that stops for a frame there."""
    count = LOOPS[name].count - 1
    clip = clip_of(replace(LOOPS[name], seconds=2 * LOOPS[name].seconds))
    ends = lambda *rows: rows_of(clip, [0, 1, *rows])
    assert closes_round(ends(count - 1, count)) and closes_round(ends(2 * count - 1, 2 * count))
    assert not closes_round(ends(count, count + 1)) and not closes_round(ends(count - 2, count - 1))
    assert not closes_round(rows_of(clip, [0, 0, 0, 0]))
    stops = ends(count - 1, count)
    stops.pelvis[-1] += (0.1, 0, 0)
    for leg in stops.legs:
        leg.joints[-1] += (0.1, 0, 0)
    assert not closes_round(stops)


def rows_of(clip: Clip, rows: list[int]) -> Clip:
    """Some frames of a clip."""
    legs = (Leg(x.joints[rows], x.foot[rows], x.toe if x.toe is None else x.toe[rows], x.bends) for x in clip.legs)
    return Clip(clip.fps, clip.pelvis[rows], tuple(legs))


def test_edits_of_a_loop_rule_every_round():
    clip = clip_of(LOOPS["skating"])
    free = make_plan(clip, grounds.flat(), options(edits=((Edit(0, len(clip), "NONE"),), ())))
    assert not free.contacts[LEFT]
    held = make_plan(clip, grounds.flat(), options(edits=((Edit(10, 14, "LOCK"),), ())))
    assert (10, 14) in [(c.start, c.stop) for c in held.contacts[LEFT]]
    jump, _ = seams(held, 0.0)
    assert jump < 0.2 * MM


def test_heel_and_ball_touch_in_a_loop_when_the_user_says_so():
    clip = clip_of(LOOPS["skating"])
    edit = Edit(4, 12, "LOCK", heel=(4, 7), ball=(6, 12))
    plan = make_plan(clip, grounds.flat(), options(edits=((edit,), ())))
    (c,) = (c for c in plan.contacts[LEFT] if (c.start, c.stop) == (4, 12))
    np.testing.assert_array_equal(np.flatnonzero(c.heel), np.arange(0, 3))
    np.testing.assert_array_equal(np.flatnonzero(c.ball), np.arange(2, 8))
