"""Footprints on slopes, stairs, ledges, bridges, and on ground that moves."""

from dataclasses import replace

import numpy as np
import pytest
from core import grounds, walks
from core.figures import LIMITS, sole_of
from core.walks import LEFT, RIGHT, clip_of

from foot_ik_addon.core.clip import BALL, LEG, Clip, Sole
from foot_ik_addon.core.contacts import find_contacts
from foot_ik_addon.core.footprints import Footprint, lay_footprints
from foot_ik_addon.core.rest import TOUCH, Limits
from foot_ik_addon.core.rotations import rotate, transform

TOLERANCE = 1e-6
SHORT = walks.stride(length=0.3, time=0.5)  # climbs one step of stairs at a time


def laid(walk: walks.Walk, ground, limits: Limits = LIMITS) -> tuple[Clip, list[Sole], list[list[Footprint]]]:
    clip = clip_of(walk)
    soles = [sole_of(clip, i) for i in range(len(clip.legs))]
    contacts = [find_contacts(clip.fps, leg, sole) for leg, sole in zip(clip.legs, soles)]
    return clip, soles, lay_footprints(clip, soles, contacts, ground, limits)


def lies(p: Footprint, sole: Sole) -> np.ndarray:
    """(S, 3): sole points in clip space when the sole lies in its footprint, at the print's own frame."""
    forward = np.array([np.cos(p.yaw), np.sin(p.yaw), 0.0])
    across = np.array([-forward[1], forward[0], 0.0])
    flat = sole.plan[:, :1] * forward + sole.plan[:, 1:] * across
    return rotate(p.tilt, flat) + p.place


def gaps(prints: list[list[Footprint]], soles: list[Sole], ground) -> list[np.ndarray]:
    """Per locked footprint, the heights (S,) of the sole's points, toes bent, above the ground under the sole's plan on
    paper."""
    out = []
    for sole, foot in zip(soles, prints):
        for p in foot:
            if not p.contact.locked:
                continue
            forward = np.array([np.cos(p.yaw), np.sin(p.yaw)])
            xy = p.ball + sole.plan[:, :1] * forward + sole.plan[:, 1:] * np.array([-forward[1], forward[0]])
            normal = p.tilt[:, 2]
            z = p.place[2] - ((xy - p.place[:2]) @ normal[:2]) / normal[2]
            slope = -forward @ normal[:2] / normal[2]
            z += sole.plan[:, 0].clip(0) * (np.tan(np.arctan(slope) + p.bend) - slope)
            height, _ = ground.below(
                np.column_stack([xy, np.full(len(xy), p.place[2] + 0.5)]), np.full(len(xy), p.frame)
            )
            out.append(z - np.where(np.isfinite(height), height, p.place[2] - 10))
    assert out
    return out


def locked(foot: list[Footprint]) -> list[Footprint]:
    return [p for p in foot if p.contact.locked]


def test_on_the_flat_floor_prints_lie_where_the_clip_put_them():
    clip, soles, prints = laid(walks.stride(), grounds.flat())
    for leg, sole, foot in zip(clip.legs, soles, prints):
        assert len(locked(foot)) >= 3
        for p in locked(foot):
            both = np.flatnonzero(p.contact.heel & p.contact.ball) + p.contact.start
            if not len(both):
                continue
            ball = sole.tracks(leg)[both, BALL]
            np.testing.assert_allclose(p.place[:2], ball[:, :2].mean(0), atol=2e-3 * LEG)
            np.testing.assert_allclose(p.place[2], 0, atol=1e-12)
            np.testing.assert_allclose(p.tilt, np.eye(3), atol=1e-12)
            assert p.yaw == pytest.approx(np.pi / 2, abs=1e-6)


@pytest.mark.parametrize("along, across", [(15, 0), (-15, 0), (0, 12), (-20, 8)])
@pytest.mark.parametrize("walk", [walks.stride(), walks.turning(), walks.sideways()], ids=["walk", "turn", "sideways"])
def test_on_a_slope_the_sole_lies_on_the_plane(along, across, walk):
    ground = grounds.slope(along, across)
    _, soles, prints = laid(walk, ground)
    for gap in gaps(prints, soles, ground):
        np.testing.assert_allclose(gap, 0, atol=TOLERANCE)
    for sole, foot in zip(soles, prints):
        for p in locked(foot):  # and as a rigid body, whose shadow is shorter than its plan
            assert np.abs(ground.gap(lies(p, sole)[None])).max() < TOLERANCE


STAIRS = [
    (rise, tread, start)
    for rise, tread in ((0.16, 0.30), (-0.16, 0.30), (0.10, 0.25))
    for start in (0.0, 0.07, 0.15, 0.22)
]


@pytest.mark.parametrize("rise, tread, start", STAIRS)
def test_on_stairs_no_sole_cuts_a_step_and_none_hangs_over_more_than_half(rise, tread, start):
    """The stairs do not match the stride. With half a foot of shift a tread of 25 cm always has room."""
    ground = grounds.stairs(rise, tread, start)
    _, soles, prints = laid(SHORT, ground)
    assert all(len(locked(foot)) >= 3 for foot in prints)
    for gap in gaps(prints, soles, ground):
        assert gap.min() > -TOLERANCE
        assert (gap > TOUCH).mean() <= 0.5


@pytest.mark.parametrize("seed", range(4))
def test_on_rubble_no_sole_cuts_a_stone(seed):
    """And it lies on the stones: at most the 15 mm of room that a footprint may keep around it lifts it further."""
    ground = grounds.rubble(seed)
    _, soles, prints = laid(walks.stride(), ground)
    for gap in gaps(prints, soles, ground):
        assert -TOLERANCE < gap.min() < 0.015 * LEG


@pytest.mark.parametrize("shift", [0.0, 0.1, 0.25, 0.5])
def test_shift_keeps_its_limit_and_zero_turns_it_off(shift):
    """A stride of 33 cm on treads of 30 cm meets the edge everywhere along the foot."""
    ground, walk = grounds.stairs(0.1), walks.stride(10, length=0.33)
    _, soles, plain = laid(walk, grounds.flat())
    _, _, prints = laid(walk, ground, replace(LIMITS, shift=shift))
    moves = [
        np.linalg.norm(p.ball - q.ball)
        for a, b in zip(prints, plain)
        for p, q in zip(locked(a), locked(b), strict=True)
    ]
    longest = shift * np.ptp(soles[0].plan[:, 0])
    assert max(moves) <= longest + 1e-9
    assert max(moves) >= 0.5 * min(longest, 0.05), "there is something to gain"


@pytest.mark.parametrize(
    "ground", [grounds.flat(), grounds.slope(10), grounds.slope(0, 8)], ids=["flat", "up", "across"]
)
def test_where_nothing_is_gained_no_print_is_shifted(ground):
    _, _, plain = laid(walks.stride(), grounds.flat())
    _, _, prints = laid(walks.stride(), ground)
    for a, b in zip(prints, plain):
        for p, q in zip(a, b, strict=True):
            np.testing.assert_allclose(p.ball, q.ball, atol=1e-12)


@pytest.mark.parametrize("pitch, roll", [(0.1, 0.45), (0.7, 0.05), (0.0, 0.0)])
def test_pitch_and_roll_keep_their_limits(pitch, roll):
    ground = grounds.slope(20, 15)
    _, soles, prints = laid(walks.stride(), ground, replace(LIMITS, pitch=pitch, roll=roll))
    for p in locked(prints[LEFT]) + locked(prints[RIGHT]):
        forward = np.array([np.cos(p.yaw), np.sin(p.yaw), 0])
        across = np.array([-forward[1], forward[0], 0])
        normal = p.tilt[:, 2]
        assert np.arctan(abs(normal @ forward) / normal[2]) <= pitch + 1e-9
        assert np.arctan(abs(normal @ across) / normal[2]) <= roll + 1e-9
    for gap in gaps(prints, soles, ground):
        assert gap.min() > -TOLERANCE


def test_tilt_never_turns_the_foot_about_its_own_length():
    """The print's tilt is the shortest: a character does not turn its toes out on a slope."""
    _, _, prints = laid(walks.stride(), grounds.slope(12, 10))
    for p in locked(prints[LEFT]):
        axis = np.array([p.tilt[2, 1] - p.tilt[1, 2], p.tilt[0, 2] - p.tilt[2, 0], p.tilt[1, 0] - p.tilt[0, 1]])
        assert abs(axis[2]) < 1e-12


@pytest.mark.parametrize("drop", [None, 3.0])
def test_over_a_void_a_foot_has_no_print_and_the_other_keeps_its_own(drop):
    """The left foot walks along the edge of a ledge, the right one beside it, over nothing or over a canyon."""
    ground = grounds.ledge(drop, 0.0)
    _, _, prints = laid(walks.stride(), ground)
    assert len(locked(prints[LEFT])) >= 3
    assert all(abs(p.place[2]) < TOLERANCE for p in prints[LEFT])
    assert not prints[RIGHT]


def test_a_step_deeper_than_the_limit_is_no_ground_for_that_foot():
    ground = grounds.ledge(1.0, 0.0)
    _, _, prints = laid(walks.stride(), ground)
    assert len(locked(prints[LEFT])) >= 3
    assert all(abs(p.place[2]) < TOLERANCE for p in prints[LEFT])
    assert not prints[RIGHT]


def test_a_step_that_the_limit_allows_is_ground():
    ground = grounds.ledge(0.2, 0.0)
    _, _, prints = laid(walks.stride(), ground)
    assert len(locked(prints[RIGHT])) >= 3
    np.testing.assert_allclose([p.place[2] for p in prints[RIGHT]], -0.2 * LEG, atol=TOLERANCE)
    np.testing.assert_allclose([p.place[2] for p in prints[LEFT]], 0, atol=TOLERANCE)


def test_without_ground_there_are_no_prints():
    _, _, prints = laid(walks.stride(), grounds.nothing())
    assert prints == [[], []]


def test_below_and_above_a_wall_there_is_ground_for_both_feet():
    """A walk off a wall of 1.5 m, for a moment with a foot on either side of its edge."""
    ground = grounds.still(lambda x, y: np.where(y > 1.5, -1.5, 0.0))
    _, _, prints = laid(walks.stride(8), ground)
    for foot in prints:
        heights = [p.place[2] for p in locked(foot)]
        assert min(heights) == pytest.approx(-1.5 * LEG, abs=TOLERANCE)
        assert max(heights) == pytest.approx(0.0, abs=TOLERANCE)


@pytest.mark.parametrize("roof", [None, 3.2])
def test_under_a_bridge_the_ground_is_chosen_and_not_the_deck_or_a_roof(roof):
    _, _, prints = laid(walks.stride(), grounds.bridge(2.2, roof))
    for foot in prints:
        assert len(locked(foot)) >= 3
        np.testing.assert_allclose([p.place[2] for p in foot], 0, atol=TOLERANCE)


SOLID = [True, False]


@pytest.mark.parametrize("solid", SOLID, ids=["solid", "sheet"])
@pytest.mark.parametrize("top", [0.6, 1.5])
def test_a_hill_that_stands_on_a_floor_is_climbed_though_the_floor_goes_on_under_it(top, solid):
    """A ramp of 19 degrees onto a deck, over a floor plane: nobody walks through the inside of a hill, be it a solid or
    a terrain that is a mere sheet."""
    ramp = lambda x, y: np.where(y > 0.3, np.clip(0.35 * (y - 0.3), 0, top), np.nan)
    ground = grounds.Pieces(grounds.Piece(lambda x, y: np.zeros(np.shape(x))), grounds.Piece(ramp, solid=solid))
    _, _, prints = laid(walks.stride(10), ground)
    for foot in prints:
        for p in locked(foot):
            if p.place[1] > 0.6:  # the sole's middle lies up to 8 cm behind the ball, and 3 cm lower
                assert p.place[2] == pytest.approx(LEG * float(ramp(0, p.place[1] / LEG)), abs=0.04)


@pytest.mark.parametrize("solid", SOLID, ids=["solid", "sheet"])
def test_stairs_that_stand_on_a_floor_are_climbed_though_the_floor_goes_on_under_them(solid):
    steps = lambda x, y: np.where(y > 0.3, 0.16 * np.clip(np.floor((y - 0.3) / 0.3) + 1, 0, 12), np.nan)
    ground = grounds.Pieces(grounds.Piece(lambda x, y: np.zeros(np.shape(x))), grounds.Piece(steps, solid=solid))
    _, _, prints = laid(walks.stride(12, length=0.3), ground)
    highest = max(p.place[2] for foot in prints for p in locked(foot))
    assert highest > 9 * 0.16 * LEG


def test_a_whole_hill_is_climbed():
    """Far over the limit of a single step, in the end."""
    ground = grounds.slope(20)
    _, _, prints = laid(walks.stride(12, seconds=6.0), ground)
    heights = [p.place[2] for p in locked(prints[LEFT])]
    assert heights[-1] - heights[0] > 1.5 and len(heights) >= 5


def test_a_lift_that_carries_the_feet_is_followed():
    """A deck rises 2.4 legs in 8 s under feet that stand: the one footprint rides on it, and is no climb."""
    ground = grounds.lift(0.27, 30)
    for walk in (walks.standing(8.0), walks.stride(16)):
        _, _, prints = laid(walk, ground)
        for foot in prints:
            assert locked(foot)
            for p in locked(foot):
                frames = np.arange(p.contact.start, p.contact.stop)
                z = transform(ground.carried(p.piece, p.frame, frames), p.place)[:, 2]
                np.testing.assert_allclose(z, frames / 30 * 0.27 * LEG, atol=TOLERANCE)


@pytest.mark.parametrize("make", [grounds.turntable, grounds.train], ids=["turntable", "train"])
def test_a_print_lies_in_the_space_of_the_piece_that_carries_it(make):
    ground = grounds.turntable(0.3, 30) if make is grounds.turntable else grounds.train(30)
    _, _, prints = laid(walks.standing(), ground)
    for foot in prints:
        (p,) = locked(foot)
        assert p.piece == 0 and p.place[2] == pytest.approx(0, abs=TOLERANCE)


def test_the_piece_that_carries_is_the_one_under_the_sole():
    """A plate on a floor: the feet on it belong to it, the others to the floor."""
    plate = grounds.Piece(lambda x, y: np.where(np.asarray(y) > 1.0, 0.05, np.nan))
    ground = grounds.Pieces(grounds.Piece(lambda x, y: np.zeros(np.shape(x))), plate)
    _, _, prints = laid(walks.stride(), ground)
    seen = {p.piece for foot in prints for p in locked(foot)}
    assert seen == {0, 1}
    for foot in prints:
        for p in locked(foot):
            assert p.piece == (1 if p.place[2] > 0.02 else 0)


def test_sliding_contacts_follow_the_ground_in_every_frame():
    clip = clip_of(walks.stride())
    sole = sole_of(clip)
    contacts = [replace(c, locked=False) for c in find_contacts(clip.fps, clip.legs[LEFT], sole)]
    one = Clip(clip.fps, clip.pelvis, clip.legs[:1])
    (prints,) = lay_footprints(one, [sole], [contacts], grounds.slope(10), LIMITS)
    have = {p.frame for p in prints}
    assert have >= {f for c in contacts for f in range(c.start, c.stop)}
    track = sole.tracks(clip.legs[LEFT])[:, BALL]
    for p in prints:
        np.testing.assert_allclose(p.ball, track[p.frame, :2], atol=1e-12)
        assert p.place[2] == pytest.approx(p.place[1] * np.tan(np.radians(10)), abs=TOLERANCE)
