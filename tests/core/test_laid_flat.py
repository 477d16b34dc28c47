"""Feet that stand on tilted ground lie flat on it: a heel that rises slowly does not slide, toes bend to stay where
they were, and nothing of it reaches beyond the stance."""

from dataclasses import dataclass

import numpy as np
import pytest
from core import grounds, walks
from core.figures import LIMITS, apply, options, sole_of
from core.walks import LEFT, RIGHT, Print, clip_of, truth

from foot_ik_addon.core import correction
from foot_ik_addon.core.clip import BALL, HEEL, LEG, Clip, Leg, Sole
from foot_ik_addon.core.contacts import BAND, away_from, find_contacts, point_contact
from foot_ik_addon.core.correction import SLIP, Motion, carried_over, held_foot, kept_down
from foot_ik_addon.core.flat import ROLL, laid_flat
from foot_ik_addon.core.footprints import Footprint, lay_footprints
from foot_ik_addon.core.plan import LOCKED, make_plan
from foot_ik_addon.core.rotations import from_rotvec, rotate, transform

MM = 1e-3 * LEG
SAME = 1e-9
TILTED = {"up": grounds.slope(15), "down": grounds.slope(-15), "across": grounds.slope(0, 15)}
LEVEL = {"flat": grounds.flat(), "stairs": grounds.stairs(), "lift": grounds.lift(0.3, 30)}


@dataclass(frozen=True)
class Creeping(Print):
    """A foot whose heel takes a whole second to rise."""

    @property
    def rise(self) -> float:
        return self.leave - 1.0


def creeping(**more) -> walks.Walk:
    """Stand; the left heel rises slowly from 1 s to 2 s, then the foot steps ahead."""
    left = (
        Creeping((-0.1, 0.0, 0.0), np.pi / 2, -9.0, 2.0, 0.0, 45.0),
        Print((-0.1, 0.5, 0.0), np.pi / 2, 2.5, 99.0, 15.0, 0.0),
    )
    return walks.Walk((left, walks.standing().prints[RIGHT]), 4.0, **more)


@dataclass(frozen=True)
class Corrected:
    """The left foot of a clip; tracks of its sole (F, S, 3) in legs."""

    clip: Clip
    sole: Sole
    prints: list[Footprint]
    motion: Motion
    before: np.ndarray
    after: np.ndarray


def corrected(clip: Clip, ground, lock: float = 1.0) -> Corrected:
    leg = clip.legs[LEFT]
    sole = sole_of(clip)
    one = Clip(clip.fps, clip.pelvis, (leg,))
    (prints,) = lay_footprints(one, [sole], [find_contacts(clip.fps, leg, sole)], ground, LIMITS)
    before = sole.tracks(leg)
    motion = carried_over(clip, before[:, BALL], *held_foot(clip, leg, sole, prints, ground, lock), 0.0)
    return Corrected(clip, sole, prints, motion, before, motion.of_sole(before, sole, leg))


def as_before(clip: Clip, ground, monkeypatch, lock: float = 1.0) -> Corrected:
    """The correction without what is tested here."""
    with monkeypatch.context() as patch:
        patch.setattr(correction, "kept_down", lambda slope: 0.0 * slope)
        return corrected(clip, ground, lock)


def level_range(track: np.ndarray) -> float:
    """How far a point (n, 3) gets about, level."""
    return float(np.linalg.norm(np.ptp(track[:, :2], axis=0)))


# On tilted ground


@pytest.mark.parametrize("fps", [30.0, 120.0])
@pytest.mark.parametrize("toes", [True, False], ids=["toes", "no toes"])
@pytest.mark.parametrize("name", TILTED)
def test_a_heel_that_rises_slowly_on_a_slope_does_not_slide(name, toes, fps, monkeypatch):
    """By no more than SLIP allows for a heel that rises by the whole band; without this, by 3 mm and more."""
    clip = clip_of(creeping(toes=toes, fps=fps))
    out, old = corrected(clip, TILTED[name]), as_before(clip, TILTED[name], monkeypatch)
    contact = out.prints[0].contact
    still = np.arange(contact.start, contact.stop)[contact.unsure == 0]
    assert out.before[still, HEEL, 2].max() > 15 * MM, "the heel does rise, while it counts as standing"
    assert level_range(out.after[still, HEEL]) < 1.2 * SLIP
    assert level_range(out.after[still, BALL]) < SAME
    assert level_range(old.after[still, HEEL]) > 3 * MM


@pytest.mark.parametrize("name", TILTED)
@pytest.mark.parametrize("toes", [True, False], ids=["toes", "no toes"])
def test_while_it_stands_the_whole_sole_is_on_the_slope(name, toes):
    clip = clip_of(creeping(toes=toes))
    out = corrected(clip, TILTED[name])
    contact = out.prints[0].contact
    still = np.arange(contact.start, contact.stop)[contact.unsure == 0]
    gap = TILTED[name].gap(out.after)[still]
    assert np.abs(gap).max() < 2.5 * MM
    assert out.before[still, :, 2].max() > 15 * MM


def test_feet_without_toe_bones_have_no_toes_to_bend():
    out = corrected(clip_of(creeping(toes=False)), TILTED["up"])
    assert not out.motion.bend.any()
    assert np.isfinite(out.after).all()


def test_a_foot_that_only_slides_along_keeps_its_pitch(monkeypatch):
    """Lock weight 0: what is not held cannot slide."""
    clip = clip_of(creeping())
    out, old = corrected(clip, TILTED["up"], lock=0.0), as_before(clip, TILTED["up"], monkeypatch, lock=0.0)
    assert not out.motion.bend.any()
    np.testing.assert_array_equal(out.after, old.after)


# Where the ground is level


@pytest.mark.parametrize(
    "walk",
    [creeping(), creeping(toes=False), walks.stride(), walks.stride(skate=0.4), walks.shuffle(), walks.turning()],
    ids=["creeping", "no toes", "walk", "skating", "shuffle", "turning"],
)
@pytest.mark.parametrize("name", LEVEL)
def test_on_level_ground_nothing_changes(walk, name, monkeypatch):
    clip = clip_of(walk)
    out, old = corrected(clip, LEVEL[name]), as_before(clip, LEVEL[name], monkeypatch)
    assert not out.motion.bend.any()
    np.testing.assert_array_equal(out.motion.turn, old.motion.turn)
    np.testing.assert_array_equal(out.motion.move, old.motion.move)


def test_a_foot_is_laid_flatter_the_steeper_the_ground():
    assert kept_down(0.0) == 0.0
    assert kept_down(SLIP / BAND) == 0.0, "up to here the whole band of height slides by no more than SLIP"
    shares = [kept_down(np.sin(np.radians(a))) for a in (2, 5, 15, 40)]
    assert shares == sorted(shares) and shares[0] > 0.3 and shares[-1] < 1.0
    for angle in (2, 5, 15, 40):
        slope = np.sin(np.radians(angle))
        assert (1 - kept_down(slope)) * BAND * slope == pytest.approx(SLIP)


# Toes


def with_toes_up(clip: Clip, angle) -> Clip:
    """The clip with the toes of its left foot turned up by radians (F,) about their joint."""
    leg = clip.legs[LEFT]
    across = leg.toe[:, :3, 0] / np.linalg.norm(leg.toe[:, :3, 0], axis=1, keepdims=True)
    toe = leg.toe.copy()
    toe[:, :3, :3] = from_rotvec(across * np.broadcast_to(angle, len(clip))[:, None]) @ toe[:, :3, :3]
    return Clip(clip.fps, clip.pelvis, (Leg(leg.joints, leg.foot, toe), *clip.legs[1:]))


TOES = {
    "flat": lambda t: 0 * t,
    "restless": lambda t: 0.1 * np.sin(2 * np.pi * 2 * t),
    "up": lambda t: 0.15 * walks.smooth(t),
}
"""Radians by which they are up, over seconds; where that is negative they are in the floor."""


def creeping_with(toes: str) -> Clip:
    clip = clip_of(creeping())
    return with_toes_up(clip, TOES[toes](np.arange(len(clip)) / clip.fps))


@pytest.mark.parametrize("toes", TOES)
@pytest.mark.parametrize("name", TILTED)
def test_toes_never_go_under_the_ground_more_than_animated(name, toes):
    """While the foot stands."""
    out = corrected(creeping_with(toes), TILTED[name])
    assert np.abs(out.motion.bend).max() > 0.02
    ahead = out.sole.on_toe & (out.sole.plan[:, 0] > 0)
    gap = TILTED[name].gap(out.after)[:, ahead] * np.cos(np.radians(15))
    sunk = np.minimum(out.before[:, ahead, 2], 0) - gap
    for p in out.prints:
        assert sunk[p.contact.start : p.contact.stop].max() < 0.3 * MM


def test_toes_that_lay_on_the_floor_stay_on_it():
    """The heel goes down, so the ball goes up, and the toes go down to where they were."""
    clip = clip_of(creeping())
    out = corrected(clip, TILTED["up"])
    contact = out.prints[0].contact
    still = np.arange(contact.start, contact.stop)[contact.unsure == 0]
    ahead = out.sole.on_toe & (out.sole.plan[:, 0] > 0)
    assert np.degrees(np.abs(out.motion.bend[still]).max()) > 3
    assert np.abs(TILTED["up"].gap(out.after)[still][:, ahead]).max() < 0.5 * MM
    stiff = replace_bend(out, 0.0)
    assert TILTED["up"].gap(stiff)[still][:, ahead].max() > 3 * MM


def replace_bend(out: Corrected, factor: float) -> np.ndarray:
    """The sole's tracks with the toes bent by a part of what they are."""
    motion = out.motion._replace(bend=factor * out.motion.bend)
    return motion.of_sole(out.before, out.sole, out.clip.legs[LEFT])


def test_the_sole_goes_where_foot_and_toe_bones_bring_it():
    """`Motion.of_sole` is what the bones do: the foot turns about the ball and moves, the toes about their joint."""
    clip = creeping_with("restless")
    out = corrected(clip, TILTED["across"])
    leg, ball = clip.legs[LEFT], out.before[:, BALL]
    turn, bend = from_rotvec(out.motion.turn), from_rotvec(out.motion.bend)
    rigid = np.tile(np.eye(4), (len(clip), 1, 1))
    rigid[:, :3, :3] = turn
    rigid[:, :3, 3] = ball + out.motion.move - rotate(turn, ball)
    joint = transform(rigid, leg.toe[:, :3, 3])
    about = np.tile(np.eye(4), (len(clip), 1, 1))
    about[:, :3, :3] = bend
    about[:, :3, 3] = joint - rotate(bend, joint)
    moved = Leg(leg.joints, rigid @ leg.foot, about @ rigid @ leg.toe)
    assert np.abs(bend - np.eye(3)).max() > 0.02
    np.testing.assert_allclose(out.after, out.sole.tracks(moved), atol=SAME)


@pytest.mark.parametrize("name", TILTED)
def test_the_solved_legs_bring_the_toes_where_they_are_planned(name):
    """Where the ground tilts across, the toes bend about another axis than the one about which the foot turns."""
    clip = clip_of(creeping())
    plan = make_plan(clip, TILTED[name], options())
    out = apply(clip, plan)
    foot, sole = plan.feet[LEFT], plan.soles[LEFT]
    motion = Motion(foot.move[LOCKED], foot.turn[LOCKED], foot.bend[LOCKED])
    wanted = motion.of_sole(sole.tracks(clip.legs[LEFT]), sole, clip.legs[LEFT])
    reached = out.corrected.residual[:, LEFT] < SAME
    assert (np.linalg.norm(motion.bend[reached], axis=1) > 0.05).any()
    np.testing.assert_allclose(sole.tracks(out.after.legs[LEFT])[reached], wanted[reached], atol=10 * SAME)


# Before and after the stance


def rocker(pitch: np.ndarray, still: np.ndarray, toes: bool = False) -> tuple:
    """A foot on the flat floor, its heel raised about its ball by radians (n,), as `laid_flat` reads it; with `toes`
    these lie as they do on the flat foot."""
    plan = np.array([(-0.21, 0.0), (0.0, 0.0), (0.0, 0.04), (0.08, 0.0)]) * LEG
    flat = np.column_stack([-plan[:, 1], plan[:, 0], 0 * plan[:, 0]])  # it looks along y
    tracks = rotate(from_rotvec(np.outer(-pitch, (1.0, 0.0, 0.0)))[:, None], flat[None])
    on_toe = np.array([False, False, False, toes])
    tracks[:, on_toe] = flat[on_toe]
    tracks[..., 2] += np.maximum(-tracks[..., 2].min(1, keepdims=True), 0) if toes else 0.0
    sole, ones = Sole(np.zeros((4, 3)), on_toe, plan), np.ones(len(pitch))
    return tracks, tracks[:, BALL], sole, on_toe, away_from(still), [slice(0, len(pitch))], ones


def least(pitch: np.ndarray) -> float:
    """The pitch at which a foot is flattest: what it is laid flat to."""
    return pitch[np.abs(pitch).argmin()]


def test_before_and_after_the_stance_the_pitch_comes_back_smoothly():
    """The toes are up before it, the heel after it; at 240 fps the pitch that is taken out comes and goes within ROLL,
    and its speed never jumps by more than the speed at which the heel leaves."""
    fps = 240.0
    t = np.arange(240) / fps
    pitch = 0.3 * walks.smooth((t - 0.5) / 0.5) - 0.3 * walks.smooth((0.5 - t) / 0.5)
    still = (t > 0.4) & (t < 0.6)
    tracks, *foot = rocker(pitch, still)
    after, _, turn, _ = laid_flat(tracks, *foot, fps)
    away = np.abs(np.subtract.outer(t, t[still])).min(1)
    taken = np.linalg.norm(turn, axis=1)
    np.testing.assert_allclose(taken[still], np.abs(pitch[still] - least(pitch[still])), atol=SAME)
    assert taken[still].max() > 0.015
    assert not taken[away >= ROLL].any(), "out of reach of the stance the foot is as animated"
    np.testing.assert_allclose(after[away >= ROLL], tracks[away >= ROLL], atol=SAME)
    edges = np.abs(np.gradient(pitch) * fps)[still]
    jumps = np.abs(np.diff(turn[:, 0], n=2)) * fps
    assert jumps.max() < 1.05 * max(edges[0], edges[-1]) < 0.5
    assert taken.max() <= taken[still].max() + SAME, "never more is taken out than while it stood"


def test_a_stance_without_any_still_frame_is_left_alone():
    tracks, joint, *foot = rocker(np.linspace(0, 0.2, 20), np.zeros(20, bool))
    after, there, turn, bend = laid_flat(tracks, joint, *foot, 30.0)
    np.testing.assert_array_equal(after, tracks)
    np.testing.assert_array_equal(there, joint)
    assert not turn.any() and not bend.any()


def test_in_a_walk_the_correction_goes_on_smoothly_into_strike_and_push_off():
    """At 240 fps, within the contacts: the speed at which the foot is turned changes from one frame to the next by no
    more than that of a heel that leaves at 0.13 m/s, the slowest that counts as moving, 0.19 m from the ball."""
    clip = clip_of(walks.stride(fps=240.0))
    out = corrected(clip, TILTED["up"])
    for rows in (out.motion.turn, out.motion.bend):
        for p in out.prints:
            jumps = np.diff(rows[p.contact.start : p.contact.stop], n=2, axis=0) * 240
            assert np.linalg.norm(jumps, axis=1).max(initial=0) < 0.13 / 0.19


def test_toes_that_a_flatter_foot_would_press_into_the_floor_are_bent_up():
    """The ball is a little up, the toes are level: laid flat about its heel, the foot takes them down."""
    pitch = np.linspace(0.0, -0.08, 9)
    tracks, joint, *foot = rocker(pitch, np.ones(9, bool), toes=True)
    after, joint, _, bend = laid_flat(tracks, joint, *foot, 30.0)
    assert np.ptp(after[:, BALL, 2]) < 0.1 * MM and after[-1, -1, 2] < -5 * MM
    tip = rotate(from_rotvec(bend), after[:, -1] - joint) + joint
    assert tip[:, 2].min() > -0.1 * MM


def test_toes_that_cannot_be_bent_are_not_pressed_into_the_floor_either():
    tracks, joint, sole, toes, *foot = rocker(np.linspace(0.0, -0.08, 9), np.ones(9, bool), toes=True)
    after, *_, bend = laid_flat(tracks, joint, sole, ~toes & toes, *foot, 30.0)
    assert not bend.any() and after[..., 2].min() > -0.1 * MM


# Which frames stand without any doubt


@pytest.mark.parametrize(
    "walk", [walks.stride(), walks.stride(toes=False), walks.start_stop(), walks.jump(), walks.turning()]
)
def test_only_where_heel_and_ball_both_touch_a_foot_is_still(walk):
    clip = clip_of(walk)
    sole = sole_of(clip)
    contacts = find_contacts(clip.fps, clip.legs[LEFT], sole)
    assert sum((c.unsure == 0).sum() for c in contacts) > 3
    for c in contacts:
        assert not ((c.unsure == 0) & ~(c.heel & c.ball)).any()
    stands = np.logical_and(*truth(walk, LEFT))
    near = np.convolve(stands, np.ones(round(0.14 * clip.fps)), "same") > 0
    found = np.zeros(len(clip), bool)
    for c in contacts:
        found[c.start : c.stop] = c.unsure == 0
    assert not (found & ~near).any()


def test_a_foot_that_stands_on_a_block_of_the_clip_is_not_surely_still():
    """Higher than its own lowest floor it touches, but whether it lies flat there is not known."""
    raised = walks.on_floor(walks.start_stop(), lambda x, y: 0.08 if y > 1.0 else 0.0)
    clip = clip_of(raised)
    sole = sole_of(clip)
    for c in find_contacts(clip.fps, clip.legs[LEFT], sole):
        high = sole.tracks(clip.legs[LEFT])[c.start : c.stop, BALL, 2] > 0.05 * LEG
        assert not ((c.unsure == 0) & high).any()
    track = sole.tracks(clip.legs[LEFT])[:, BALL]
    touches, surely, _ = point_contact(track, clip.fps)
    assert (touches & (track[:, 2] > 0.05 * LEG)).any()
    assert not (surely & ~touches).any()
