"""The report's figures are those of feet whose slides, drifts, cuts and floats are known; its frames are the worst
ones; what cannot be measured has no figure. Lengths in legs."""

import json
from dataclasses import replace

import numpy as np
import pytest
from core import grounds, walks
from core.figures import apply, options

from foot_ik_addon.core.clip import LEG
from foot_ik_addon.core.contacts import Contact, away_from
from foot_ik_addon.core.motions import foot_motions
from foot_ik_addon.core.plan import make_plan, standing
from foot_ik_addon.core.pose import LegJob
from foot_ik_addon.core.report import FIGURES, Plant, contact_rows, measure, plants_from, summary
from foot_ik_addon.core.rotations import transform

COUNT, FIRST, FPS = 40, 101, 30.0
"""Frames of the hand-made tracks, numbered from 101 as in a scene."""
SOLE = np.array([(0.0, -0.2, 0.0), (0.0, 0.0, 0.0), (0.03, 0.05, 0.0), (-0.03, 0.05, 0.0)])
"""Heel, ball, and two points of the tip."""
EXACT = 1e-9
FLOAT_DIGITS = 1e-5
"""The report keeps six digits."""


def still(z=0.0, count=COUNT):
    """(F, S, 3): a sole that does not move, `z` above the floor of its clip."""
    return np.tile(SOLE, (count, 1, 1)) + (0.0, 0.0, z)


def plant(start=109, stop=121, *, heel=True, ball=True, locked=True, grounded=True):
    both = [np.full(stop - start, touches) for touches in (heel, ball)]
    return Plant(Contact(start, stop, *both, away_from(both[0] & both[1]), locked), grounded)


def measured(before, after, plants, ground, frames=None, residual=None, name="Left"):
    """The summary of one leg, whose leg is one unit long."""
    frames = np.arange(FIRST, FIRST + COUNT) if frames is None else frames
    residual = np.zeros(len(frames)) if residual is None else residual
    return summary([measure(frames, FPS, before, after, residual, plants, ground)], [name], 1.0)


def sliding(step, at=None, extra=0.0):
    """A sole that slips along x by `step` each frame, and by `extra` more into the frame number `at`."""
    steps = np.full(COUNT, step)
    if at is not None:
        steps[at - FIRST] += extra
    return still() + np.cumsum(steps)[:, None, None] * (1.0, 0.0, 0.0)


def test_slide_is_the_mean_step_in_contact_and_its_frame_the_longest():
    out = measured(sliding(0.01, at=115, extra=0.02), still(), [plant()], grounds.flat())["slide"]
    assert out["before"]["mean"] == pytest.approx((9 * 0.01 + 0.02) / 9, rel=FLOAT_DIGITS)
    assert out["before"]["worst"] == pytest.approx(0.03, rel=FLOAT_DIGITS)
    assert (out["before"]["frame"], out["before"]["leg"]) == (115, "Left")
    assert out["after"] == {"mean": 0, "worst": 0, "mean_of_leg": 0, "worst_of_leg": 0, "frame": None, "leg": None}


def test_slide_counts_only_the_point_that_touches():
    rolling = still()
    rolling[:, 0, 0] = np.linspace(0, 1, COUNT)  # the heel swings about a ball that stands
    assert measured(rolling, rolling, [plant(heel=False)], grounds.flat())["slide"]["before"]["worst"] == 0
    assert measured(rolling, rolling, [plant()], grounds.flat())["slide"]["before"]["worst"] > 0.02


def test_slide_is_counted_per_frame_where_frames_are_left_out():
    frames = np.array([101, 104, 107, 108])
    rows = sliding(0.01)[frames - FIRST]
    out = measured(rows, rows, [plant(101, 130)], grounds.flat(), frames)["slide"]["before"]
    assert out["mean"] == out["worst"] == pytest.approx(0.01, rel=FLOAT_DIGITS)


def test_a_foot_that_still_lands_or_leaves_does_not_slide():
    """In the first and the last frame of a touch the foot may roll; it floats or cuts all the same."""
    track = still()
    track[109 - FIRST] += (0.0, -0.02, 0.01)
    track[120 - FIRST] += (0.0, 0.03, 0.0)
    out = measured(track, track, [plant()], grounds.flat())
    assert out["slide"]["after"]["worst"] == out["drift"]["after"]["worst"] == 0
    track[119 - FIRST] += (0.0, 0.03, 0.0)
    assert measured(track, track, [plant()], grounds.flat())["slide"]["after"]["frame"] == 119


def test_drift_is_the_farthest_from_the_mean_of_one_contact():
    track = still()
    track[115 - FIRST :, :, 0] += 0.05  # stands at one place for five frames, then five at another
    track[125 - FIRST :, :, 0] += 7.0  # in the air
    track[130 - FIRST, :, 1] += 0.02
    out = measured(track, still(), [plant(), plant(127, 139)], grounds.flat())["drift"]
    assert out["before"]["worst"] == pytest.approx(0.025, rel=FLOAT_DIGITS)
    assert 110 <= out["before"]["frame"] < 120
    assert out["before"]["mean"] == pytest.approx((0.025 + 0.018) / 2, rel=FLOAT_DIGITS)
    assert out["after"]["worst"] == 0
    track = still()
    track[117 - FIRST, :, 0] += 0.05
    assert measured(track, track, [plant()], grounds.flat())["drift"]["after"]["frame"] == 117


def test_feet_are_measured_against_what_carries_them():
    deck = grounds.train(30.0, at=0.0)
    carried = transform(deck.carried(0, 0, np.arange(COUNT), SOLE)[:, None], still())
    out = measured(still(), carried, [plant()], deck)
    moved = np.linalg.norm(np.diff(carried[9:19, 0], axis=0), axis=1)
    assert out["slide"]["before"]["mean"] == pytest.approx(moved.mean(), rel=FLOAT_DIGITS)
    assert out["slide"]["before"]["frame"] == 119, "a train that gathers speed"
    assert out["slide"]["after"]["worst"] == out["drift"]["after"]["worst"] == 0


def test_a_foot_stands_on_what_is_nearest_to_its_sole():
    """Its heel hangs over a train that goes by below."""
    passing = replace(grounds.train(30.0, at=0.0).pieces[0], height=lambda x, y: np.where(y < -0.1, -0.2, np.nan))
    both = grounds.Pieces(passing, grounds.Piece(lambda x, y: np.where(y >= -0.1, 0.0, np.nan)))
    assert measured(still(), still(), [plant()], both)["slide"]["after"]["worst"] == 0


@pytest.mark.parametrize("deck", (grounds.lift(0.3, 30.0), grounds.turntable(0.5, 30.0)), ids=("lift", "turntable"))
def test_a_foot_that_goes_along_neither_slides_nor_cuts_nor_floats(deck):
    carried = transform(deck.carried(0, 0, np.arange(COUNT), SOLE)[:, None], still())
    out = measured(still(), carried, [plant()], deck)
    assert all(out[name]["after"]["worst"] == 0 for name in FIGURES)


def test_penetration_is_what_is_cut_beyond_the_clip_itself():
    before, after = still(-0.02), still(0.03)
    before[135 - FIRST, 2, 2] -= 0.01  # the clip cuts its own floor by that too
    after[112 - FIRST, 3, 2] -= 0.015
    after[130 - FIRST, 2, 2] -= 0.04
    out = measured(before, after, [plant()], grounds.flat(0.05 / LEG))
    assert out["penetration"]["before"]["worst"] == pytest.approx(0.05, rel=FLOAT_DIGITS)
    # 0.02 deep in the ground as it stands, of which the clip's own 0.02 does not count
    assert out["penetration"]["after"]["worst"] == pytest.approx(0.04, rel=FLOAT_DIGITS)
    assert out["penetration"]["after"]["frame"] == 130
    assert out["penetration"]["after"]["mean"] == pytest.approx((0.015 + 0.04) / COUNT, rel=FLOAT_DIGITS)
    assert out["penetration_in_contact"]["after"]["worst"] == pytest.approx(0.015, rel=FLOAT_DIGITS)
    assert out["penetration_in_contact"]["after"]["frame"] == 112


def test_float_is_the_lowest_point_above_the_ground_beyond_the_clips_own():
    before, after = still(0.01), still(0.01)
    after[..., 2] -= 0.08
    after[117 - FIRST, :, 2] += 0.004
    after[118 - FIRST, 1:, 2] += 0.5  # the heel still stands
    after[105 - FIRST, :, 2] += 1.0  # in the air
    out = measured(before, after, [plant()], grounds.flat(-0.08 / LEG))["float"]
    assert out["before"]["worst"] == pytest.approx(0.08, rel=FLOAT_DIGITS)
    assert out["after"]["worst"] == pytest.approx(0.004, rel=FLOAT_DIGITS)
    assert out["after"]["frame"] == 117
    assert out["after"]["mean"] == pytest.approx(0.004 / 12, rel=FLOAT_DIGITS)
    out = measured(still(-0.03), still(), [plant()], grounds.flat())["float"]
    assert out["after"]["worst"] == 0, "a foot that is set on the ground from below its floor does not float"


def test_before_is_measured_on_the_ground_of_the_corrected_foot():
    """The animated foot walks deep below a hill, over a cellar."""
    floors = grounds.Pieces(grounds.Piece(lambda x, y: np.full(np.shape(x), -0.5)),
                            grounds.Piece(lambda x, y: np.full(np.shape(x), 3.0)))
    out = measured(still(), still(3.0 * LEG), [plant()], floors)
    assert out["penetration"]["before"]["worst"] == pytest.approx(3.0 * LEG, rel=FLOAT_DIGITS)
    assert out["penetration"]["after"]["worst"] == out["float"]["after"]["worst"] == 0


def unmeasured(figure):
    return all(figure[when][value] is None for when in figure for value in ("mean", "worst", "frame", "leg"))


def test_without_contacts_only_cuts_are_measured():
    out = measured(still(), still(0.05), [], grounds.flat(0.05 / LEG))
    assert all(unmeasured(out[name]) for name in FIGURES if name != "penetration")
    assert out["penetration"]["before"]["worst"] == pytest.approx(0.05, rel=FLOAT_DIGITS)


def test_contacts_without_ground_are_not_measured():
    out = measured(sliding(0.01), sliding(0.01), [plant(grounded=False)], grounds.flat(-0.3))
    assert all(unmeasured(out[name]) for name in FIGURES if name != "penetration")


def test_without_any_ground_there_is_nothing_to_cut_or_to_float_over():
    out = measured(sliding(0.01), still(), [plant()], grounds.nothing())
    assert out["penetration"]["before"]["worst"] == 0 and unmeasured(out["float"])
    assert out["slide"]["before"]["mean"] == pytest.approx(0.01, rel=FLOAT_DIGITS)


def test_contacts_that_may_slide_have_no_slide_but_a_float():
    out = measured(sliding(0.01), sliding(0.01) + (0, 0, 0.02), [plant(locked=False)], grounds.flat())
    assert unmeasured(out["slide"]) and unmeasured(out["drift"])
    assert out["float"]["after"]["worst"] == pytest.approx(0.02, rel=FLOAT_DIGITS)


def test_feet_out_of_reach_are_told_with_their_frames():
    residual = np.zeros(COUNT)
    residual[[4, 5, 6, 20]] = 0.01, 0.03, 0.01, 0.02
    residual[30] = 0.0001
    out = measured(still(), still(), [], grounds.flat(), residual=residual)["unreached"]
    assert out["frames"] == [[105, 107], [121, 121]] and out["count"] == 4
    assert (out["worst"], out["frame"], out["leg"]) == (0.03, 106, "Left")


def test_the_worst_leg_is_named_and_lengths_are_of_the_world():
    frames = np.arange(FIRST, FIRST + COUNT)
    legs = [measure(frames, FPS, sliding(s), still(), np.zeros(COUNT), [plant()], grounds.flat()) for s in (0.01, 0.03)]
    out = summary(legs, ["Left", "Right"], 0.9)["slide"]["before"]
    assert out["leg"] == "Right" and out["worst_of_leg"] == pytest.approx(0.03, rel=FLOAT_DIGITS)
    assert out["worst"] == pytest.approx(0.9 * 0.03, rel=FLOAT_DIGITS)
    assert out["mean_of_leg"] == pytest.approx(0.02, rel=FLOAT_DIGITS)


def test_what_is_measured_is_json():
    for plants in ([plant()], []):
        out = measured(sliding(0.01), still(), plants, grounds.flat())
        assert json.loads(json.dumps(out, allow_nan=False)) == out


def test_contacts_come_back_from_json_as_they_were():
    heel, ball = np.zeros((2, 10), bool)
    heel[:4], ball[2:8] = True, True
    heel[6] = True
    sliding = Contact(110, 120, heel, ball, away_from(heel & ball), locked=False)
    plants = [Plant(sliding, True), plant(130, 131, heel=False, grounded=False)]
    back = plants_from(json.loads(json.dumps(contact_rows(plants))))
    for one, other in zip(plants, back, strict=True):
        unreported = {"heel": 0, "ball": 0, "unsure": 0, "early": 0.0, "late": 0.0}
        assert replace(one.contact, **unreported) == replace(other.contact, **unreported)
        assert (one.contact.heel == other.contact.heel).all() and (one.contact.ball == other.contact.ball).all()
        assert one.grounded == other.grounded


@pytest.mark.parametrize("stretch, carried", ((0.0, True), (0.1, False)))
def test_feet_go_where_the_solved_legs_bring_them(stretch, carried):
    """`foot_motions` against turning bone by bone, in an armature space that is scaled and turned."""
    job = LegJob("TWO_BONE", stretch, carried)
    to_rig = np.diag([40.0, 40.0, 40.0, 1.0]) @ grounds.matrices(np.zeros(1), turn=np.array([[0.3, 0.2, 1.0]]))[0]
    clip = walks.clip_of(walks.stride())
    result = apply(clip, make_plan(clip, grounds.slope(15), options()), job=job, to_rig=to_rig)
    chains = tuple(transform(to_rig, leg.joints) for leg in clip.legs)
    toes = tuple(transform(to_rig, leg.toe[:, :3, 3]) for leg in clip.legs)
    motions = np.linalg.inv(to_rig) @ foot_motions(chains, toes, result.corrected) @ to_rig
    for i, (leg, after) in enumerate(zip(clip.legs, result.after.legs, strict=True)):
        for k, (old, new) in enumerate(((leg.foot, after.foot), (leg.toe, after.toe))):
            np.testing.assert_allclose(motions[:, i, k] @ old, new, atol=EXACT)


def test_a_planned_walk_reports_what_the_plan_puts_right():
    """A walk that skates uphill."""
    clip, ground = walks.clip_of(walks.stride(length=0.5, skate=0.2)), grounds.slope(10)
    plan = make_plan(clip, ground, options())
    result = apply(clip, plan)
    legs = []
    for i, (sole, contacts) in enumerate(zip(plan.soles, plan.contacts, strict=True)):
        grounded = standing(list(plan.prints[i]), len(plan))
        plants = [Plant(c, bool(grounded[c.start : c.stop].any())) for c in contacts]
        tracks = [sole.tracks(c.legs[i]) for c in (clip, result.after)]
        residual = result.corrected.residual[:, i]
        legs.append(measure(np.arange(len(clip)), clip.fps, *tracks, residual, plants, ground))
    out = summary(legs, ["Left", "Right"], 1 / LEG)
    assert out["slide"]["before"]["mean"] == pytest.approx(0.2 / clip.fps, rel=0.2)
    assert out["slide"]["after"]["mean"] < 5e-4
    assert out["drift"]["before"]["worst"] > 0.03 > 2e-3 > out["drift"]["after"]["worst"]
    assert out["penetration"]["before"]["worst"] > 0.2 > 1e-3 > out["penetration"]["after"]["worst"]
    assert out["float"]["after"]["worst"] < 2e-3
