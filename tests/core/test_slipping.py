"""A train that leaves without the character: its feet stay where they are animated, on the deck that slides by."""

import numpy as np
import pytest
from core import grounds, walks
from core.figures import cuts, floats, options, planted
from core.walks import LEFT, RIGHT, clip_of

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
