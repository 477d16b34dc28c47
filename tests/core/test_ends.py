"""Ranges that cut a stride anywhere: a foot that stands in the first or last frame is held as in the whole clip."""

from dataclasses import replace

import numpy as np
import pytest
from core import grounds, walks
from core.figures import cuts, drift, floats, mean_slide, planted, sole_of
from core.walks import LEFT, RIGHT, Walk, clip_of, truth

from foot_ik_addon.core.contacts import find_contacts

MM = 1e-3
FPS = 30
EDGE = 2
"""Frames within which a foot comes or goes."""


def cut(walk: Walk, start: int, count: int) -> Walk:
    """So many frames of a walk, from one on."""
    by = start / walk.fps
    feet = tuple(tuple(replace(p, land=p.land - by, leave=p.leave - by) for p in foot) for foot in walk.prints)
    return replace(walk, prints=feet, seconds=(count - 1) / walk.fps)


GAITS = {"walk": walks.stride(8), "skating": walks.stride(8, length=0.5, skate=0.2)}
GROUNDS = {"flat": grounds.flat(), "up": grounds.slope(15), "bumps": grounds.bumps(), "rocking": grounds.rocking(30.0)}


@pytest.mark.parametrize("start", range(30, 60, 5))
@pytest.mark.parametrize("gait, ground", [("walk", "up"), ("skating", "flat"), ("walk", "bumps"), ("walk", "rocking")])
def test_feet_are_held_from_the_first_frame_to_the_last(gait, ground, start):
    """The lab's targets, at phases all over a stride (30 frames), in ranges of a stride and a half."""
    walk, there = cut(GAITS[gait], start, 46), GROUNDS[ground]
    out = planted(clip_of(walk), there)
    found = {
        "slide": mean_slide(out, walk, there) / MM,
        "drift": drift(out, walk, there) / MM,
        "cut": cuts(out, there).max() / MM,
        "float": np.percentile(floats(out, walk, there), 95) / MM,
    }
    assert found["slide"] < 0.1 and found["drift"] < 1 and found["cut"] < 3 and found["float"] < 2, found


@pytest.mark.parametrize("start", range(30, 60, 3))
@pytest.mark.parametrize("side", [LEFT, RIGHT])
@pytest.mark.parametrize("gait", ["walk", "skating"])
def test_contacts_cut_by_the_ends_of_the_range_are_found(gait, side, start):
    """What is found differs from the truth only within two frames of where a foot comes or goes, be that outside of the
    range; a foot that stands in the first frame is held from it on, and one that stands in the last up to it."""
    walk, more = cut(GAITS[gait], start, 46), 5
    clip = clip_of(walk)
    found = np.zeros(walk.count, bool)
    for c in find_contacts(FPS, clip.legs[side], sole_of(clip, side)):
        found[c.start : c.stop] = True
    true = np.logical_or(*truth(cut(GAITS[gait], start - more, 46 + 2 * more), side))
    edges = np.flatnonzero(np.diff(true.astype(int))) + 0.5 - more
    wrong = np.flatnonzero(found != true[more:-more])
    assert all(np.abs(edges - f).min() < EDGE for f in wrong), (wrong, edges)
