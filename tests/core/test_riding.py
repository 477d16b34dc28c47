"""Trains: a character that is animated to go along stands on its train though it is no child of it; one that is left
behind keeps its feet where they are animated, on the deck that slides by."""

import numpy as np
import pytest
from core import grounds, walks
from core.figures import cuts, drift, floats, mean_slide, options, planted
from core.walks import LEFT, RIGHT, clip_of

from foot_ik_addon.core.clip import LEG
from foot_ik_addon.core.edits import Edit
from foot_ik_addon.core.plan import make_plan

MM = 1e-3
TRAIN = grounds.train(30.0, at=1.0, acceleration=2.0)


@pytest.mark.parametrize("walk", [walks.standing(3.0), walks.stride(), walks.start_stop()])
def test_a_train_that_leaves_does_not_take_legs_along(walk):
    """Dragged along they would be up to seven legs too short."""
    out = planted(clip_of(walk), TRAIN)
    assert any(c.slips and not c.locked for foot in out.plan.contacts for c in foot)
    assert out.corrected.residual.max() < 1e-3
    assert cuts(out, TRAIN).max() < 1 * MM and np.percentile(floats(out, walk, TRAIN), 95) < 1 * MM


def test_what_the_character_does_before_the_train_leaves_is_locked():
    plan = make_plan(clip_of(walks.stride()), TRAIN, options())
    for foot in plan.contacts:
        assert foot[0].locked and not foot[0].slips
        assert not foot[-1].locked


def test_a_contact_that_the_user_locks_is_locked():
    clip = clip_of(walks.standing(3.0))
    plan = make_plan(clip, TRAIN, options(edits=((Edit(0, len(clip), "LOCK"),), ())))
    assert plan.contacts[LEFT][0].locked and not plan.contacts[RIGHT][0].locked


@pytest.mark.parametrize("name", ["rocking", "lift", "turntable", "slow train"])
def test_ground_that_goes_slowly_takes_the_feet_along(name):
    ground = {
        "rocking": grounds.rocking(30.0),
        "lift": grounds.lift(0.5, 30.0),
        "turntable": grounds.turntable(0.3, 30.0),
        "slow train": grounds.train(30.0, acceleration=0.05),
    }[name]
    plan = make_plan(clip_of(walks.stride()), ground, options())
    assert all(c.locked for foot in plan.contacts for c in foot)


WALKS = {"stand": walks.standing(3.0), "walk": walks.stride(), "start and stop": walks.start_stop()}
WAYS = {"steady": lambda t: 2.0 * t, "starts": lambda t: np.maximum(t - 1, 0) ** 2}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", WALKS)
def test_a_character_that_goes_along_stands_as_if_the_train_stood(name, way):
    walk = WALKS[name]
    go = lambda frames: np.outer(WAYS[way](np.asarray(frames) / 30), (1.0, 0.0, 0.0))
    train = grounds.moving(lambda f: grounds.matrices(f, go(f)))
    out = planted(walks.moved_by(clip_of(walk), go(np.arange(walk.count)) * LEG), train)
    still = make_plan(clip_of(walk), grounds.flat(), options())
    # What stands still loops, and so has a contact of one frame at its end.
    spans = lambda plan: [[(c.start, c.stop, c.locked) for c in foot if len(c.heel) > 1] for foot in plan.contacts]
    assert spans(out.plan) == spans(still)
    assert mean_slide(out, walk, train) < 0.1 * MM and drift(out, walk, train) < 1 * MM


def test_on_a_belt_that_runs_feet_are_locked():
    """On the spot on a treadmill that is there: the feet go along with the belt, and stand on it."""
    walk = walks.stride(8, belt=(0.0, -1.2))
    belt = grounds.moving(lambda f: grounds.matrices(f, np.outer(np.asarray(f) / 30, (0.0, -1.2, 0.0))))
    out = planted(clip_of(walk), belt)
    assert not out.plan.in_place and all(c.locked for foot in out.plan.contacts for c in foot)
    assert mean_slide(out, walk, belt) < 0.1 * MM and drift(out, walk, belt) < 1 * MM
