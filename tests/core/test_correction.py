"""The rigid motion of a foot: exact in contact, smooth between contacts, nothing where nothing is asked for."""

from dataclasses import replace

import numpy as np
import pytest
from core import grounds, walks
from core.figures import LIMITS, sole_of
from core.walks import LEFT, clip_of, truth

from foot_ik_addon.core.clip import BALL, HEEL, LEG, Clip, Leg, Sole, runs
from foot_ik_addon.core.contacts import Contact, find_contacts
from foot_ik_addon.core.correction import (
    HOP,
    ball_weight,
    carried_over,
    frames_in,
    held_foot,
    hinged,
    in_contact,
    with_toes,
)
from foot_ik_addon.core.edits import Edit, edited
from foot_ik_addon.core.footprints import Footprint, lay_footprints
from foot_ik_addon.core.rest import CUTS
from foot_ik_addon.core.rotations import from_rotvec, rotate, transform

HELD = 1e-4 * LEG
"""A tenth of a millimetre: a third of what an eye sees of a foot that fills the screen."""


def corrected(walk: walks.Walk, ground, lock: float = 1.0, edits: tuple[Edit, ...] = (), clip: Clip | None = None):
    """Clip, sole, prints, moves, turns and the sole's tracks after the correction, of the left foot."""
    clip = clip or clip_of(walk)
    one = Clip(clip.fps, clip.pelvis, clip.legs[:1])
    sole = sole_of(clip)
    contacts = edited(find_contacts(clip.fps, clip.legs[LEFT], sole), list(edits), len(clip))
    (prints,) = lay_footprints(one, [sole], [contacts], ground, LIMITS)
    before = sole.tracks(clip.legs[LEFT])
    motion = carried_over(
        clip, before[:, BALL], *held_foot(clip, clip.legs[LEFT], sole, prints, ground, lock), 0.0
    )
    after = motion.of_sole(before, sole, clip.legs[LEFT])
    return one, sole, prints, motion.move, motion.turn, after


def errors(
    prints: list[Footprint], before: np.ndarray, after: np.ndarray, flat: np.ndarray, ground
) -> dict[str, list[np.ndarray]]:
    """Distances from where a held point belongs, in the space of what carries it: of the ball while it alone stands, of
    the heel while it alone does, and how far each is from its mean while both do, and the foot is really `flat`
    (F,)."""
    out = {"heel": [], "ball": [], "both": []}
    for p in prints:
        c = p.contact
        frames = np.arange(c.start, c.stop)
        back = np.linalg.inv(ground.carried(p.piece, p.frame, frames))
        offset = p.tilt @ np.append(p.heel - p.ball, 0.0)
        normal = p.tilt[:, 2] / p.tilt[2, 2]
        for name, which, place, mask in (
            ("ball", BALL, p.place, c.ball & ~c.heel),
            ("heel", HEEL, p.place + offset, c.heel & ~c.ball),
        ):
            local = transform(back, after[frames, which]) - place
            # The animated point's own height above the floor is added upright: a foot that floats stays so.
            tilts = not np.allclose(back[:, :3, 2], (0, 0, 1))
            high = before[frames, which, 2:] * (p.tilt[:, 2] if tilts else (0.0, 0.0, 1.0))
            local = local - high
            if name == "heel" and p.bend:  # the foot gives way to its toes, once
                local = local - local[mask].mean(0)
            out[name].append(np.column_stack([local[:, :2], local @ normal])[mask])
        both = c.heel & c.ball & flat[frames]
        if both.any():
            for which in (HEEL, BALL):
                local = transform(back, after[frames, which])[both]
                out["both"].append((local - local.mean(0))[:, :2])
    return out


GROUNDS = {
    "flat": grounds.flat(),
    "up": grounds.slope(15),
    "down": grounds.slope(-15),
    "across": grounds.slope(5, 12),
    "stairs": grounds.stairs(),
    "bumps": grounds.bumps(),
    "rocking": grounds.rocking(60),
    "lift": grounds.lift(0.3, 60),
    "turntable": grounds.turntable(0.3, 60),
    "train": grounds.train(60),
}


@pytest.mark.parametrize("skate", [0.0, 0.4])
@pytest.mark.parametrize("name", GROUNDS)
def test_in_contact_the_held_point_stays_in_its_place(name, skate):
    """Within 0.12 mm, in the space of the ground that carries it; while the foot rolls flat on heel and ball, whose
    distance on the animated sole is not quite constant, within 1 mm. Where the ground is uneven only level: a foot that
    stands on its heel or its ball alone is let down onto the ground under that."""
    ground = GROUNDS[name]
    walk = walks.stride(fps=60, skate=skate)
    clip, sole, prints, *_, after = corrected(walk, ground)
    prints = [p for p in prints if p.contact.locked]
    found = errors(prints, sole.tracks(clip.legs[0]), after, np.logical_and(*truth(walk, LEFT)), ground)
    assert len(found["heel"]) == len(prints) >= 3
    for which in ("heel", "ball"):
        assert sum(map(len, found[which])) > 5
        axes = slice(0, 2) if name in ("stairs", "bumps") else slice(0, 3)
        # Where its heel lies is known less exactly of a foot that skates: heel and ball do not skate quite alike.
        assert max(np.abs(e[:, axes]).max(initial=0) for e in found[which]) < (4 if which == "heel" else 1.2) * HELD
    assert max(np.linalg.norm(e, axis=1).max() for e in found["both"]) < 10 * HELD


@pytest.mark.parametrize("start", [0.0, 0.07, 0.15, 0.22])
def test_a_foot_that_rolls_on_a_stair_is_not_let_down_to_the_next_step(start):
    """Onto the ground close under heel or ball, yes; a riser down is another place. 3 cm: over 2 cm a sole hangs."""
    ground = grounds.stairs(start=start)
    clip, sole, prints, *_, after = corrected(walks.stride(length=0.3, fps=60), ground)
    prints = [p for p in prints if p.contact.locked]
    found = errors(prints, sole.tracks(clip.legs[0]), after, np.ones(len(after), bool), ground)
    assert max(np.abs(e[:, 2]).max(initial=0) for which in ("heel", "ball") for e in found[which]) < 0.03 * LEG


def test_feet_that_stand_ride_on_what_carries_them():
    """A turntable turns by 1.2 rad in 4 s: the feet go and turn with it."""
    ground = grounds.turntable(0.3, 30)
    _, _, (p,), _, turn, after = corrected(walks.standing(), ground)
    t = np.arange(len(turn)) / 30
    np.testing.assert_allclose(turn[:, 2] - turn[p.frame, 2], 0.3 * (t - t[p.frame]), atol=1e-9)
    where = transform(ground.carried(0, p.frame, np.arange(len(t))), after[p.frame, BALL])
    np.testing.assert_allclose(after[:, BALL], where, atol=1e-9)


MEAN_SPEED = pytest.mark.xfail(
    strict=True,
    reason="the fill begins with the mean speed of the last 1/30 s, not with that of a foot that gathers speed",
)


@pytest.mark.parametrize("skate", [0.0, pytest.param(0.4, marks=MEAN_SPEED), pytest.param(0.8, marks=MEAN_SPEED)])
@pytest.mark.parametrize("name", ["flat", "up", "bumps"])
def test_velocity_is_continuous_over_the_edges_of_contacts(name, skate):
    """At 240 fps the speed of the foot's correction changes by less than 0.15 legs a second from one frame to the next.
    A smooth fill needs up to 36 legs/s^2, as the swing itself does; a foot that stands and then goes at the speed at
    which it skates away jumps by 0.4."""
    *_, prints, move, turn, _ = corrected(walks.stride(fps=240, skate=skate), GROUNDS[name])
    assert len(prints) >= 3
    assert np.linalg.norm(np.diff(move, n=2, axis=0), axis=1).max() * 240 < 0.15
    assert np.linalg.norm(np.diff(turn, n=2, axis=0), axis=1).max() * 240 < 0.6, (
        "radians a second: 0.15 legs at 0.25 from the ball"
    )


@pytest.mark.parametrize(
    "walk",
    [
        walks.stride(),
        walks.stride(skate=0.8),
        walks.run(),
        walks.turning(),
        walks.shuffle(),
        walks.jump(),
        walks.kick(),
        walks.stride(toes=False),
    ],
    ids=["walk", "skating", "run", "turn", "shuffle", "jump", "kick", "no toes"],
)
def test_on_the_flat_floor_without_lock_nothing_is_done(walk):
    *_, move, turn, _ = corrected(walk, grounds.flat(), lock=0.0)
    assert np.abs(move).max() < 1e-9 and np.abs(turn).max() < 1e-9


@pytest.mark.parametrize("lock", [0.0, 1.0])
def test_where_the_ground_is_a_plane_the_feet_stand_at_the_same_height_whatever_the_lock(lock):
    clip, sole, prints, *_, after = corrected(walks.stride(skate=0.4), grounds.slope(15), lock=lock)
    for p in prints:
        if p.contact.locked:
            frames = np.arange(p.contact.start, p.contact.stop)[p.contact.ball & ~p.contact.heel]
            own = sole.tracks(clip.legs[0])[frames, BALL, 2]
            ball = after[frames, BALL]
            np.testing.assert_allclose(ball[:, 2] - own, ball[:, 1] * np.tan(np.radians(15)), atol=10 * HELD)


def test_without_lock_a_skating_foot_keeps_its_skate():
    clip, sole, prints, *_, after = corrected(walks.stride(skate=0.4), grounds.slope(10), lock=0.0)
    own = sole.tracks(clip.legs[0])
    for p in prints:
        at = np.arange(p.contact.start, p.contact.stop)[p.contact.ball & ~p.contact.heel]
        np.testing.assert_allclose(after[at, BALL, :2], own[at, BALL, :2], atol=1e-9)


@pytest.mark.parametrize("skate", [0.0, 0.4])
@pytest.mark.parametrize("name", ["flat", "up", "stairs", "bumps"])
def test_between_contacts_the_correction_goes_no_further_than_its_ends_need(name, skate):
    """From the value at one contact to the value at the next. The speeds at its ends, those of the skate, may carry it
    beyond by a share of speed times time: 0.18 is the largest of the C2 fill."""
    fps = 60
    _, _, prints, move, _, _ = corrected(walks.stride(fps=fps, skate=skate), GROUNDS[name])
    held = np.zeros(len(move), bool)
    for p in prints:
        held[p.contact.start : p.contact.stop] = True
    gaps = [(a, b) for a, b in runs(~held) if a > 2 and b < len(move) - 3]
    assert len(gaps) >= 2
    for a, b in gaps:
        ends = np.stack([move[a - 1], move[b]])
        speed = np.maximum(np.abs(move[a - 1] - move[a - 3]), np.abs(move[b + 2] - move[b])) / 2
        room = 2 * 0.18 * speed * (b - a + 1) + 1e-9
        assert (move[a:b] >= ends.min(0) - room).all() and (move[a:b] <= ends.max(0) + room).all()


def test_the_speed_of_the_contact_dies_out_at_the_ends_of_the_clip():
    """A clip that begins and ends in the air: the correction there stays near the one of the nearest contact."""
    clip_start = 0.62  # just after the left foot has left
    walk = replace(walks.stride(skate=0.6), seconds=3.0)
    shifted = replace(
        walk,
        prints=tuple(
            tuple(replace(p, land=p.land - clip_start, leave=p.leave - clip_start) for p in foot)
            for foot in walk.prints
        ),
        seconds=0.8,
    )
    _, _, prints, move, turn, _ = corrected(shifted, grounds.slope(10))
    assert np.isfinite(move).all() and np.isfinite(turn).all()
    assert np.abs(np.diff(move, axis=0)).max() < 0.1


def test_without_footprints_the_foot_stays_as_animated():
    *_, move, turn, _ = corrected(walks.stride(), grounds.nothing())
    assert not move.any() and not turn.any()


def test_a_contact_that_the_user_takes_away_is_not_held():
    ground = grounds.flat()
    clip, sole, *_, held = corrected(walks.stride(skate=0.4), ground)
    *_, free = corrected(walks.stride(skate=0.4), ground, edits=(Edit(28, 52, "NONE"),))
    span = slice(35, 45)
    own = sole.tracks(clip.legs[0])[span, BALL, 0:2]
    far = lambda track: np.ptp(track[span, BALL, 1])
    assert far(held) < 2e-3 and far(free) > 0.5 * np.ptp(own[:, 1]) > 0.02


def test_a_sliding_contact_follows_the_ground_and_keeps_its_slide():
    """Along the slope at the speed of the animation, on the ground in every frame."""
    edits = (Edit(0, 91, "SLIDE"),)
    clip, sole, *_, after = corrected(walks.standing(3.0), grounds.slope(15), edits=edits)
    walk = walks.Walk(
        tuple(
            tuple(replace(p, skate=(0.0, 0.3), land=0.0, leave=3.0) for p in foot) for foot in walks.standing().prints
        ),
        3.0,
    )
    clip, sole, *_, after = corrected(walk, grounds.slope(15), edits=edits)
    own = sole.tracks(clip.legs[0])[:, BALL]
    np.testing.assert_allclose(after[:, BALL, :2], own[:, :2], atol=1e-9)
    np.testing.assert_allclose(after[:, BALL, 2], own[:, 1] * np.tan(np.radians(15)), atol=1e-6)


def test_what_a_sliding_foot_slides_over_lifts_it_smoothly():
    """It has a footprint in each frame: the lift is not one of each for itself."""
    clip = clip_of(walks.stride(skate=0.8))
    leg, sole, ground = clip.legs[LEFT], sole_of(clip), grounds.rubble(10)
    slides = [replace(c, locked=False) for c in find_contacts(clip.fps, leg, sole)]
    (prints,) = lay_footprints(Clip(clip.fps, clip.pelvis, (leg,)), [sole], [slides], ground, LIMITS)
    held, spans = held_foot(clip, leg, sole, prints, ground, 1.0)
    known = np.concatenate([np.arange(len(clip))[frames_in(*span)] for span in spans])
    each = [in_contact(leg.during([p.contact.start]), sole, [p], ground, 1.0, clip.fps) for p in prints]
    lift = held[known, 2] - np.concatenate([motion.move[:, 2] for motion in each])
    steps = np.abs(np.diff(lift))[np.diff(known) == 1]
    assert lift.max() > 0.01 * LEG and steps.max() < lift.max() / 3


def test_a_foot_that_trembles_up_and_down_keeps_its_place_on_a_deck_that_tilts():
    """A height that is upright in one moment is not so in the next."""
    walk = walks.standing()
    clip = walks.moved_by(clip_of(walk), 0.016 * (np.arange(walk.count) % 2)[:, None] * (0.0, 0.0, 1.0))
    deck = grounds.rocking(walk.fps)
    _, _, (p,), _, _, after = corrected(walk, deck, clip=clip)
    frames = np.arange(p.contact.start, p.contact.stop)
    local = transform(np.linalg.inv(deck.carried(p.piece, p.frame, frames)), after[frames, BALL])
    assert len(frames) > 100
    off = local - local.mean(0)
    assert np.linalg.norm(off - (off @ p.tilt[:, 2])[:, None] * p.tilt[:, 2], axis=1).max() < HELD


def test_weight_passes_to_the_ball_when_the_heel_begins_to_slip():
    both = np.ones(24, bool)
    contact = Contact(0, 26, np.append(both, [False, False]), np.append([False, False], both), np.full(26, np.inf))
    heel = np.where(np.arange(26) < 8, 0.1, 0.5)
    w = ball_weight(contact, heel, np.full(26, 0.3), 60.0)
    assert w[0] == 0 and w[-1] == 1 and (np.diff(w) >= 0).all()
    assert abs(np.interp(0.5, w, np.arange(26)) - 7.5) < 0.6
    assert np.abs(np.diff(w)).max() < 2 * 1.875 / 22 + 1e-9  # the steepest of a quintic over half of the shared frames


@pytest.mark.parametrize("fps", [30.0, 120.0])
def test_a_foot_does_not_jump_from_its_heel_to_its_ball(fps):
    """They never touch at the same time: the foot passes over in HOP, or in two frames where these last longer."""
    n = round(fps)
    ball = np.arange(n) >= n // 2
    speed = np.full(n, 0.2)
    w = ball_weight(Contact(0, n, ~ball, ball, np.full(n, np.inf)), speed, speed, fps)
    assert w[0] == 0 and w[-1] == 1 and (np.diff(w) >= 0).all()
    assert np.diff(w).max() < max(2 * 1.875 / (HOP * fps), 0.9)
    assert ((w > 0) & (w < 1)).sum() <= max(HOP * fps + 1, 2)


def test_a_short_stance_holds_heel_and_ball_in_one_footprint():
    """A runner's foot: the heel stands, both do for one frame, and the ball while the heel rises."""
    clip, some = clip_of(walks.standing()), slice(0, 6)
    sole, leg = sole_of(clip), clip.legs[LEFT].during(some)
    one = Clip(clip.fps, clip.pelvis[some], (leg,))
    leg = turned_about_ball(leg, sole, np.radians([0, 0, 0, 15, 40, 65])[:, None] * (-1.0, 0.0, 0.0))
    frames = np.arange(6)
    contact = Contact(0, 6, frames < 3, frames > 1, np.full(6, np.inf))
    ((p,),) = lay_footprints(one, [sole], [[contact]], grounds.flat(), LIMITS)
    motion = carried_over(one, sole.tracks(leg)[:, BALL], *held_foot(one, leg, sole, [p], grounds.flat(), 1.0), 0.0)
    ball = motion.of_sole(sole.tracks(leg), sole, leg)[:, BALL]
    assert np.abs(ball - ball[0]).max() < HELD


@pytest.mark.parametrize("degrees", [30, -30])
def test_a_foot_on_a_slope_cuts_it_no_deeper_than_the_clip_does_its_floor(degrees):
    """It rolls onto its edge, which then lies 25 mm under the floor; on the slope a foot that is only turned with it
    would be 4 mm deeper. To `CUTS`. (Frames that are still are laid flat, which raises the foot altogether.)"""
    clip = clip_of(walks.standing())
    one, leg, sole = Clip(clip.fps, clip.pelvis, clip.legs[:1]), clip.legs[LEFT], sole_of(clip)
    (prints,) = lay_footprints(one, [sole], [find_contacts(clip.fps, leg, sole)], grounds.slope(degrees), LIMITS)
    (p,), rolled = prints, turned_about_ball(leg, sole, np.array([0.0, np.radians(45), 0.0]))
    p = replace(p, contact=replace(p.contact, unsure=np.full_like(p.contact.unsure, np.inf)))
    before, held = sole.tracks(rolled), held_foot(one, rolled, sole, [p], grounds.slope(degrees), 1.0)
    motion = carried_over(one, before[:, BALL], *held, 0.0)
    assert before[..., 2].min() < -20e-3 * LEG
    deeper = np.minimum(before[..., 2], 0.0) - grounds.slope(degrees).gap(motion.of_sole(before, sole, rolled))
    assert deeper.max() < CUTS


def turned_about_ball(leg: Leg, sole: Sole, turns: np.ndarray) -> Leg:
    """A leg whose foot is turned about its ball by rotation vectors (F, 3) or (3,)."""
    ball, turn = sole.tracks(leg)[:, BALL], from_rotvec(turns)

    def roll(pose: np.ndarray) -> np.ndarray:
        out = pose.copy()
        out[:, :3, :3] = turn @ pose[:, :3, :3]
        out[:, :3, 3] = rotate(turn, pose[:, :3, 3] - ball) + ball
        return out

    return Leg(leg.joints, roll(leg.foot), roll(leg.toe))


def bent_onto(ground) -> tuple[Footprint, Footprint, float]:
    """The footprint of a left foot that stands with its ball at y = 0, first with the bend that the samples of the
    ground ask for; and how deep it cuts in the end."""
    clip = clip_of(walks.standing())
    one, leg, sole = Clip(clip.fps, clip.pelvis, clip.legs[:1]), clip.legs[LEFT], sole_of(clip)
    ((first,),) = lay_footprints(one, [sole], [find_contacts(clip.fps, leg, sole)], ground, replace(LIMITS, shift=0.0))
    (kept,) = with_toes(one, leg, sole, [first], ground)
    motion = carried_over(one, sole.tracks(leg)[:, BALL], *held_foot(one, leg, sole, [kept], ground, 1.0), 0.0)
    return first, kept, -float(ground.gap(motion.of_sole(sole.tracks(leg), sole, leg)).min())


def test_toes_bend_at_the_foot_of_a_ramp():
    first, kept, cut = bent_onto(grounds.still(lambda x, y: np.tan(np.radians(20)) * np.maximum(y, 0.0)))
    assert kept.bend == first.bend == pytest.approx(np.radians(20), abs=1e-3) and cut < CUTS


def test_toes_stay_straight_where_they_would_turn_into_a_stone():
    """It begins between two samples; toes turn about a joint above the sole, and so also move ahead."""
    first, kept, cut = bent_onto(grounds.still(lambda x, y: np.where(y >= 0.037, 0.02, 0.0)))
    assert first.bend > 0.2 and kept.bend == 0 and cut < CUTS


@pytest.mark.parametrize("rise", [0.1, 0.35, 0.6])
@pytest.mark.parametrize("high", [0.0, 0.02, 0.05])
def test_toes_turned_about_their_joint_lie_on_the_ramp(rise, high):
    angle, ahead = hinged(rise, high, 0.04), 0.04
    c, s = np.cos(angle), np.sin(angle)
    along, up = ahead * c + high * s, ahead * s - high * c + high
    assert up == pytest.approx(along * np.tan(rise)) and rise <= angle + 1e-12 < np.pi / 2
