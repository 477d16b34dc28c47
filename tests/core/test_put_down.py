"""A foot stands on the ground where the user says that it does, though it is in the air as animated."""

from functools import cache

import numpy as np
import pytest
from core import grounds, walks
from core.figures import apply, options
from core.walks import LEFT

from foot_ik_addon.core.clip import BALL, HEEL, LEG
from foot_ik_addon.core.edits import Edit
from foot_ik_addon.core.plan import make_plan

MM = 1e-3
CLIP = walks.clip_of(walks.stride(4))
"""The left foot stands in the frames 0 to 18 and 30 to 48."""
GROUNDS = {"flat": grounds.flat(), "slope": grounds.slope(10), "across": grounds.slope(0, 8)}


@cache
def planned(ground, edits):
    """The plan of both lock weights."""
    return make_plan(CLIP, GROUNDS[ground], options(edits=(edits, ())))


def left_foot(ground, lock, *edits):
    """(F, S, 3): the corrected sole of the left foot in metres, (F, S) how far it is above the ground, and (F, 3) the
    place of the pelvis."""
    out = apply(CLIP, planned(ground, edits), lock=lock)
    sole = out.soles(out.after)[LEFT]
    return sole, GROUNDS[ground].gap(sole * LEG) / LEG, out.after.pelvis / LEG


def steps(sole):
    """Longest way of a point from frame to frame."""
    return np.linalg.norm(np.diff(sole, axis=0), axis=2).max()


@pytest.mark.parametrize("mode", ["LOCK", "AUTO", "SLIDE"])
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("start, stop", [(22, 26), (25, 27)])
def test_a_contact_that_is_added_in_a_swing(start, stop, ground, mode):
    """The whole foot is on the ground and, if it is locked, held; the body hardly goes along."""
    for lock in (0.0, 1.0):
        free, _, body = left_foot(ground, lock)
        sole, gap, lowered = left_foot(ground, lock, Edit(start, stop, mode))
        held = slice(start, stop)
        assert gap[held].min(1).max() < 6 * MM and gap.min() > -4 * MM
        assert steps(sole) < 1.6 * steps(free)
        if mode != "SLIDE":
            assert gap[held][:, [HEEL, BALL]].max() < 8 * MM
        if mode != "SLIDE" and lock:
            assert np.linalg.norm(np.diff(sole[held, BALL], axis=0), axis=1).max() < 2 * MM
            assert np.abs(lowered - body).max() < 25 * MM


@pytest.mark.parametrize("ground", GROUNDS)
def test_a_contact_that_ends_later_passes_smoothly_to_the_whole_foot(ground):
    """And stays where it stands."""
    free, *_ = left_foot(ground, 1.0)
    sole, gap, _ = left_foot(ground, 1.0, Edit(0, 24, "LOCK"))
    assert gap[19:24, [HEEL, BALL]].max() < 10 * MM
    assert steps(sole[:24]) < steps(free) / 2
    np.testing.assert_allclose(sole[:12], free[:12], atol=2 * MM)


def test_the_point_that_is_said_to_touch_does():
    """Of the heel alone and of the ball alone the other stays up, as far as it is animated to be."""
    for point, other, said in ((BALL, HEEL, {"heel": (0, 0), "ball": (22, 26)}),
                               (HEEL, BALL, {"heel": (22, 26), "ball": (0, 0)})):
        _, gap, _ = left_foot("flat", 1.0, Edit(22, 26, "LOCK", **said))
        assert gap[22:26, point].max() < 8 * MM and gap[22:26, other].min() > -1 * MM
    _, gap, _ = left_foot("flat", 1.0, Edit(22, 24, "LOCK", heel=(0, 0), ball=(22, 24)))
    assert gap[22:24, HEEL].min() > 20 * MM


def test_a_mode_alone_moves_nothing():
    """What was found in a contact is on the ground already."""
    free, *_ = left_foot("slope", 1.0)
    sole, *_ = left_foot("slope", 1.0, Edit(0, 19, "LOCK"), Edit(30, 49, "LOCK"))
    np.testing.assert_allclose(sole, free, atol=1e-6)
