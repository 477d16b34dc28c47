"""Plan and pose, end to end: walks of every kind over grounds of every kind, measured as the lab measures.

The limits are the lab's targets: feet in contact slide by 0.1 mm a frame of 1/30 s at most and stray by 1 mm, soles
cut the ground by 1 mm in 99 of 100 frames and by 3 mm ever, and float by 2 mm in 5 of 100.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from core import grounds, walks
from core.figures import (
    LIMITS,
    Result,
    bone_lengths,
    cuts,
    drift,
    floats,
    knee_angle,
    knee_side,
    mean_slide,
    moved_most,
    options,
    planted,
)
from core.walks import LEFT, RIGHT, clip_of

from foot_ik_addon.core.clip import BALL, LEG, Clip
from foot_ik_addon.core.edits import Edit
from foot_ik_addon.core.plan import facing, make_plan
from foot_ik_addon.core.pose import LegJob

MM = 1e-3
SMOOTH = {
    "flat": grounds.flat(),
    "up": grounds.slope(15),
    "down": grounds.slope(-15),
    "across": grounds.slope(0, 12),
    "bumps": grounds.bumps(),
    "rocking": grounds.rocking(30.0),
    "lift": grounds.lift(0.3, 30.0),
    "turntable": grounds.turntable(0.2, 30.0),
    "train": grounds.train(30.0, acceleration=0.03),
}
BROKEN = {
    "stairs": grounds.stairs(),
    "down stairs": grounds.stairs(-0.16, start=0.1),
    "kerb": grounds.kerb(),
    "rubble": grounds.rubble(),
}
WALKS = {
    "walk": walks.stride(),
    "slow": walks.stride(length=0.4, time=0.7),
    "skating": walks.stride(length=0.5, skate=0.2),
    "run": walks.run(length=0.8),
    "backwards": walks.backwards(),
    "sideways": walks.sideways(),
    "turn": walks.turning(),
    "start and stop": walks.start_stop(),
    "no toes": walks.stride(toes=False, strike=0, roll=0, length=0.5),
}
CLIPS = {name: clip_of(walk) for name, walk in WALKS.items()}
GROUNDS = {**SMOOTH, **BROKEN}


@cache
def result(walk: str, ground: str) -> Result:
    """The usual settings, planned once."""
    return planted(CLIPS[walk], GROUNDS[ground])


def assert_sound(out) -> None:
    """What holds on every ground: numbers, bone lengths, the side of the knees."""
    for leg in out.after.legs:
        for track in (leg.joints, leg.foot, leg.toe):
            assert track is None or np.isfinite(track).all()
    assert np.isfinite(out.after.pelvis).all()
    np.testing.assert_allclose(bone_lengths(out.after), bone_lengths(out.before), atol=1e-9)
    assert ((knee_side(out.after) * knee_side(out.before)).sum(-1) > 0).all()


def assert_planted(walk: str, name: str) -> None:
    out, ground = result(walk, name), GROUNDS[name]
    # A run passes its weight from heel to ball within a frame or two at 30 fps: there is less to take a mean of.
    assert mean_slide(out, WALKS[walk], ground) < (0.15 if walk == "run" else 0.1) * MM
    assert drift(out, WALKS[walk], ground) < 1 * MM
    deep = cuts(out, ground)
    assert np.percentile(deep.max(1), 99) < 1 * MM and deep.max() < 3 * MM
    assert np.percentile(floats(out, WALKS[walk], ground), 95) < 2 * MM


EVERYWHERE = ("walk", "skating")
ON_SMOOTH = [(w, g) for w in WALKS for g in (SMOOTH if w in EVERYWHERE else ("up", "bumps") if w == "run" else ("up",))]
UNEVEN = ("slow", "turn", "start and stop")
ON_BROKEN = [(w, g) for w in UNEVEN for g in BROKEN]


@pytest.mark.parametrize("walk, name", ON_SMOOTH + ON_BROKEN + [(w, "stairs") for w in WALKS if w not in UNEVEN])
def test_poses_are_sound_on_every_ground(walk, name):
    assert_sound(result(walk, name))


@pytest.mark.parametrize("walk, name", ON_SMOOTH)
def test_planted_feet_are_still_and_on_the_ground(walk, name):
    assert_planted(walk, name)


@pytest.mark.parametrize("walk, name", ON_BROKEN)
def test_planted_feet_are_still_and_on_broken_ground(walk, name):
    assert_planted(walk, name)


@pytest.mark.parametrize("walk", WALKS)
def test_on_the_flat_floor_without_lock_the_clip_comes_back_as_it_went_in(walk):
    """The contract allows 0.5 mm; nothing but rounding is needed."""
    out = planted(CLIPS[walk], grounds.flat(), lock=0.0)
    assert moved_most(out.before, out.after) < 1e-6


@pytest.mark.parametrize("walk", ["walk", "run", "turn", "backwards", "sideways", "start and stop"])
def test_on_the_flat_floor_locking_a_clean_clip_hardly_moves_it(walk):
    """No more than taking its own slide out needs: the first and last frames of a contact move by some millimetres, and
    the bones' axes, which are 1.7 long here, by a hundredth of a radian."""
    out = result(walk, "flat")
    assert moved_most(out.before, out.after) < 0.025


def test_locking_takes_out_the_slide_and_no_lock_leaves_it():
    walk, flat = WALKS["skating"], grounds.flat()
    locked, half, free = (mean_slide(planted(CLIPS["skating"], flat, lock=w), walk, flat) for w in (1.0, 0.5, 0.0))
    assert free > 5 * MM and locked < 0.1 * MM
    assert half == pytest.approx(free / 2, rel=0.1)


@pytest.mark.parametrize("name", ["up", "bumps", "stairs", "rubble", "rocking"])
def test_scene_in_a_mirror_gives_the_pose_in_a_mirror(name):
    ground, clip = GROUNDS[name], CLIPS["walk"]
    plain, other = result("walk", name), planted(walks.mirrored(clip), grounds.Mirrored(ground))
    assert moved_most(walks.mirrored(plain.after), other.after) < 1e-6


@pytest.mark.parametrize("name", ["up", "bumps", "stairs", "rubble", "rocking"])
def test_scene_turned_about_z_gives_the_pose_turned(name, angle=0.7):
    ground = GROUNDS[name]
    # Less than a round: on stairs that have an edge just under a ball rounding decides whether the walk is a loop.
    plain, other = (
        planted(walks.part(clip, 0, 85), ground)
        for clip, ground in (
            (CLIPS["walk"], ground),
            (clip_of(walks.turned(WALKS["walk"], angle)), grounds.Turned(ground, angle)),
        )
    )
    c, s = np.cos(angle), np.sin(angle)
    spin = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    for leg, new in zip(plain.after.legs, other.after.legs):
        np.testing.assert_allclose(new.joints, leg.joints @ spin.T, atol=1e-5)
    np.testing.assert_allclose(other.after.pelvis, plain.after.pelvis @ spin.T, atol=1e-5)


def test_scene_moved_away_gives_the_pose_moved_away():
    clip, far = CLIPS["walk"], np.array([30.0, -20.0, 0.0])
    rise = np.tan(np.radians(10))
    plain = planted(clip, grounds.still(lambda x, y: rise * y))
    other = planted(walks.moved_by(clip, far), grounds.still(lambda x, y: rise * (y - far[1] / LEG)))
    assert moved_most(walks.moved_by(plain.after, far), other.after) < 1e-6


def test_the_same_clip_gives_the_same_plan():
    """Nothing is left over from one plan to the next, and nothing is drawn by lot."""
    a, b = (planted(CLIPS["walk"], grounds.rubble()) for _ in range(2))
    assert moved_most(a.after, b.after) == 0.0


@pytest.mark.parametrize("walk", ["walk", "run"])
def test_without_ground_the_clip_stays_as_animated(walk):
    out = planted(CLIPS[walk], grounds.nothing())
    assert moved_most(out.before, out.after) < 1e-9
    assert out.plan.prints == ((), ())


def test_a_foot_without_ground_keeps_its_animation_and_the_other_is_planted():
    """The left foot walks along the edge of a ledge 20 cm over the clip's floor, the right one beside it over
    nothing."""
    out = planted(CLIPS["walk"], grounds.ledge(None, 0.0))
    right, was = out.after.legs[RIGHT], CLIPS["walk"].legs[RIGHT]
    np.testing.assert_allclose(right.joints, was.joints, atol=1e-5)
    high = planted(CLIPS["walk"], grounds.ledge(None, 0.0, high=0.2))
    assert high.plan.prints[LEFT] and not high.plan.prints[RIGHT]
    foot = high.plan.feet[RIGHT]
    np.testing.assert_allclose(foot.move[:, :, 2], high.plan.pelvis, atol=0.02)  # it goes along with the body
    assert not foot.turn.any()


@pytest.mark.parametrize("reach, most", [("ACCEPT", 0.0), ("STRETCH", 0.1)])
def test_legs_that_do_not_move_the_pelvis_accept_or_stretch(reach, most):
    """One foot beside a step down of 25 cm: with PELVIS it is reached; ACCEPT says what is missing; STRETCH takes
    part of it up by a longer leg."""
    clip = clip_of(walks.standing())
    ground = grounds.still(lambda x, y: np.where(x < 0, -0.25, 0.0))
    free = planted(clip, ground)
    assert free.corrected.residual.max() < 0.02
    out = planted(clip, ground, pelvis=False, job=LegJob("TWO_BONE", most, True))
    missing = out.corrected.residual[:, LEFT].max()
    if reach == "ACCEPT":
        assert missing > 0.05 and (out.corrected.stretch == 1).all()
    else:
        plain = planted(clip, ground, pelvis=False).corrected.residual[:, LEFT].max()
        assert missing < plain - 0.05
        assert 1.05 < out.corrected.stretch[:, LEFT].max() <= 1.1 + 1e-9


def test_a_character_that_walks_on_the_spot_is_told_and_not_locked():
    walk = walks.stride(8, belt=(0.0, -1.2))
    out = planted(clip_of(walk), grounds.flat())
    assert out.plan.in_place
    assert not any(c.locked for foot in out.plan.contacts for c in foot)
    assert moved_most(out.before, out.after) < 1e-6
    assert not any(result(name, "up").plan.in_place for name in WALKS)
    run = walks.run(8, time=0.16, swing=1.7, lift=0.4, fps=24, belt=(0.0, -6.0))
    assert make_plan(clip_of(run), grounds.flat(), options()).in_place
    for other in (walks.standing(2.0), walks.kick(), walks.stride(skate=0.4), walks.stride(skate=0.8)):
        assert not make_plan(clip_of(other), grounds.flat(), options()).in_place


def test_soles_of_a_walk_on_the_spot_are_those_of_the_walk():
    """On the spot a foot is stillest where it turns back, in the air."""
    walk = walks.stride(4)
    there, here = (clip_of(replace(walk, belt=belt)) for belt in ((0.0, 0.0), (0.0, -1.2)))
    travelling, on_the_spot = (make_plan(clip, grounds.flat(), options()) for clip in (there, here))
    assert on_the_spot.in_place
    for a, b, leg in zip(travelling.soles, on_the_spot.soles, here.legs, strict=True):
        np.testing.assert_allclose(b.tracks(leg)[..., 2], a.tracks(leg)[..., 2], atol=1 * MM)


def test_a_character_that_walks_on_the_spot_still_follows_the_ground():
    ground = grounds.slope(10)
    out = planted(clip_of(walks.stride(8, belt=(0.0, -1.2))), ground)
    assert_sound(out)
    deep = cuts(out, ground)
    assert np.percentile(deep.max(1), 99) < 5 * MM


def test_edits_of_contacts_rule_the_plan():
    clip = CLIPS["skating"]
    free = make_plan(clip, grounds.flat(), options(edits=((Edit(0, len(clip), "NONE"),), ())))
    assert not free.contacts[LEFT] and free.contacts[RIGHT]
    slide = make_plan(clip, grounds.flat(), options(edits=((), (Edit(0, len(clip), "SLIDE"),))))
    assert not any(c.locked for c in slide.contacts[RIGHT])
    assert all(c.locked for c in slide.contacts[LEFT])
    held = planted(clip, grounds.flat(), edits=((Edit(22, 26, "LOCK"),), ()))
    ball = held.soles(held.after)[LEFT][22:26, BALL]
    assert np.ptp(ball[:, :2], axis=0).max() < 1 * MM, "even in its swing"


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_clips_of_a_few_frames_work(count):
    clip = walks.part(CLIPS["walk"], 36, 36 + count)
    for ground in (grounds.flat(), grounds.slope(10), grounds.stairs(), grounds.nothing()):
        assert_sound(planted(clip, ground))


@pytest.mark.parametrize("legs", [1, 4])
def test_any_number_of_legs(legs):
    clip = CLIPS["slow"]
    many = replace(clip, legs=(clip.legs * 2)[:legs])
    out = planted(many, grounds.slope(10))
    assert_sound(out)
    assert len(out.plan.feet) == legs and out.plan.pelvis.shape == (2, len(clip))


GAITS = {
    "quick": walks.stride(5, length=0.7, time=0.42, seconds=2.1),
    "between the frames": walks.stride(4, time=0.53, seconds=2.1),
    "run": walks.run(5, seconds=1.7),
    "backwards": walks.backwards(steps=4),
    "start and stop": walks.start_stop(),
}


@pytest.mark.parametrize("name", GAITS)
def test_frame_rates_agree(name):
    """Though a contact begins and ends between the frames of 30 fps, the corrected motion at 60 fps is the same."""
    for ground in (grounds.slope(12), grounds.kerb(), grounds.bumps()):
        slow, fast = (planted(clip_of(replace(GAITS[name], fps=fps)), ground) for fps in (30.0, 60.0))
        pairs = zip(slow.after.legs, fast.after.legs, strict=True)
        off = np.stack([np.linalg.norm(a.joints - b.joints[::2], axis=2) for a, b in pairs])
        assert off.max() < 0.012  # legs: a leg may be farthest from its hip between the frames


@pytest.mark.parametrize("skate", [-0.8, -1.2])
def test_a_stride_that_skates_back_becomes_shorter_as_a_whole(skate):
    """The foot does not hang back in the air and then shoot forward: it needs less acceleration than animated, as it
    has a shorter way to go."""
    out = planted(clip_of(walks.stride(skate=skate)), grounds.flat())
    tracks = [out.plan.soles[LEFT].tracks(clip.legs[LEFT])[:, BALL] for clip in (out.before, out.after)]
    hardest = [np.linalg.norm(np.diff(track, n=2, axis=0), axis=1).max() for track in tracks]
    assert hardest[1] < 0.92 * hardest[0]


@pytest.mark.parametrize("name", ["up", "down"])
def test_whole_hills_are_climbed_with_the_ground(name):
    """The pelvis climbs as steeply as the hill, and keeps its height above it from the first frame to the last. It
    sinks by what the lower leg needs: half a stride's rise, 8 cm, and what keeps the knee from popping, 4 cm."""
    out = result("walk", name)
    rise = np.tan(np.radians(15 if name == "up" else -15))
    above = out.after.pelvis[:, 2] - out.after.pelvis[:, 1] * rise - out.before.pelvis[:, 2]
    assert np.abs(above).max() < 0.13 * LEG
    climbed = np.polyfit(out.after.pelvis[:, 1], out.corrected.pelvis[:, 2], 1)[0]
    assert climbed == pytest.approx(rise, rel=0.1)


@pytest.mark.parametrize("name", BROKEN)
def test_the_pelvis_flows_over_broken_ground(name):
    """Acceleration of the pelvis added by the ground: under 2 m/s^2, a fifth of a fall; the walk itself has 4."""
    out = result("slow", name)
    added = np.diff(out.corrected.pelvis[:, 2], n=2) * 30**2 / LEG
    assert np.abs(added).max() < 2.0


@pytest.mark.parametrize("name", ["stairs down", "slope down"])
def test_straight_knees_do_not_snap_where_the_ground_falls(name):
    """Walked with all but straight knees, a foot that reaches down would stretch its leg just before it lands. On the
    stairs it also has to clear the edge of the tread above, by 20 mm more than in the whole frames alone."""
    ground = {"stairs down": grounds.stairs(-0.16), "slope down": grounds.slope(-15)}[name]
    out = planted(clip_of(walks.stride(straight=True)), ground)

    def jerk(clip: Clip) -> float:
        return max(float(np.percentile(np.abs(np.diff(knee_angle(leg), n=2)), 99)) for leg in clip.legs)

    assert jerk(out.after) < 1.2 * jerk(out.before)


def test_an_empty_limit_of_shift_keeps_feet_in_line():
    out = planted(CLIPS["slow"], grounds.stairs(), limits=replace(LIMITS, shift=0.0))
    flat = planted(CLIPS["slow"], grounds.flat())
    for a, b in zip(out.plan.prints, flat.plan.prints):
        for p, q in zip(a, b, strict=True):
            np.testing.assert_allclose(p.ball, q.ball, atol=1e-9)


def test_a_leg_that_stretches_in_the_clip_moves_nothing_on_its_own_floor():
    """As in control rigs: the leg is always straight, as long as it must be."""
    clip, legs = clip_of(walks.stride()), []
    for leg in clip.legs:
        hip, _, ankle = np.moveaxis(leg.joints, 1, 0)
        legs.append(replace(leg, joints=np.stack([hip, (hip + ankle) / 2 + (0, 1e-4, 0), ankle], 1)))
    assert np.ptp(legs[0].lengths) > 0.03
    plan = make_plan(replace(clip, legs=tuple(legs)), grounds.flat(), options())
    assert np.abs(plan.pelvis).max() < 0.0005 * LEG


def stripped(clip, *legs):
    return replace(clip, legs=tuple(replace(leg, toe=None) for leg in legs))


@pytest.mark.parametrize("walk", (walks.stride(), walks.sideways(), walks.backwards()), ids=("ahead", "aside", "back"))
def test_a_biped_faces_where_its_knees_bend(walk):
    clip = clip_of(walk)
    assert abs(facing(stripped(clip, *clip.legs)) - facing(clip)).max() == 0.0
    toes = clip.legs[0].toe[:, :3, 3] - clip.legs[0].foot[:, :3, 3]
    assert (toes * facing(clip)).sum(1).min() > 0.0


@pytest.mark.parametrize("angle", (0.0, 1.0, np.pi / 2, np.pi))
def test_legs_on_one_side_only_face_where_the_same_legs_on_both_sides_face(angle):
    clip = clip_of(walks.turned(walks.stride(), angle))
    right = clip.legs[RIGHT]
    hips = right.joints[:, 0] - clip.legs[LEFT].joints[:, 0]
    way = facing(clip)
    behind = replace(right, joints=right.joints - (hips + 0.9 * way)[:, None])
    for legs in ([clip.legs[LEFT], behind], [clip.legs[LEFT]], [right]):
        assert (facing(stripped(clip, *legs)) * way).sum(1).min() > 0.9
