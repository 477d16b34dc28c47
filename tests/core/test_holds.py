"""Clips keyed on twos, and poses that are held for a moment."""

from dataclasses import replace

import numpy as np
import pytest
from core import grounds, walks
from core.figures import planted
from core.walks import clip_of

from foot_ik_addon.core.clip import BALL, Clip

MM = 1e-3


@pytest.mark.parametrize("hold", [2, 3])
@pytest.mark.parametrize("ground", [grounds.stairs(), grounds.slope(15)])
def test_a_clip_on_twos_stays_on_twos(hold, ground):
    """While a pose is held nothing moves, and the balls of the feet stand where they are held."""
    walk, clip = walks.stride(), clip_of(walks.stride())
    frames = np.arange(walk.count) // hold * hold
    clip = Clip(clip.fps, clip.pelvis[frames], tuple(leg.during(frames) for leg in clip.legs))
    out = planted(clip, ground)
    held = np.flatnonzero(np.diff(frames) == 0)
    for leg in out.after.legs:
        assert np.abs(np.diff(leg.joints, axis=0)[held]).max() < 0.1 * MM
    for contacts, sole in zip(out.plan.contacts, out.soles(out.after), strict=True):
        for c in contacts:
            stands = sole[c.start : c.stop][c.ball & ~c.heel, BALL, :2]
            assert len(stands) == 0 or np.ptp(stands, axis=0).max() < MM


def test_a_pose_that_is_held_for_a_moment_goes_along_with_the_ground_that_comes():
    """A walk up a slope that comes to a stop of four frames and goes on: the pelvis flows on."""
    clip = clip_of(walks.stride())
    slower = 40 + np.cumsum(np.linspace(1, 0, 15))
    frames = np.concatenate([np.arange(40), slower, np.full(3, slower[-1]), 2 * slower[-1] - slower[-2::-1]])
    low, share = np.floor(frames).astype(int), frames % 1

    def at(track: np.ndarray) -> np.ndarray:
        return track[low] + share.reshape(-1, *[1] * (track.ndim - 1)) * (track[low + 1] - track[low])

    legs = (replace(leg, joints=at(leg.joints), foot=at(leg.foot), toe=at(leg.toe)) for leg in clip.legs)
    out = planted(Clip(clip.fps, at(clip.pelvis), tuple(legs)), grounds.slope(15))
    added = np.diff(out.corrected.pelvis[:, 2], n=2) * clip.fps**2
    assert np.abs(added).max() < 3, "a fall has 11 legs a second squared"
