"""From plan and animated pose to the rotations of the bones."""

from dataclasses import replace

import numpy as np
import pytest
from core import grounds, walks
from core.figures import apply, bone_lengths, knee_side, moved_most, options, planted, posed, rows_of
from core.walks import clip_of
from hypothesis import given, settings
from hypothesis import strategies as st

from foot_ik_addon.core.clip import BALL, HEEL, LEG, Clip, Leg
from foot_ik_addon.core.plan import make_plan
from foot_ik_addon.core.pose import LegJob, Rows, correct, local_turns, weighted
from foot_ik_addon.core.rotations import from_rotvec, rotate, transform

TWO_BONE = LegJob("TWO_BONE", 0.0, True)
WALK = clip_of(walks.stride())
PLAN = make_plan(WALK, grounds.slope(10, 5), options())
FAR = 0.3
"""Legs by which the feet are taken down: out of reach for every leg of the walk."""


def rows(
    clip: Clip, move=(0.0, 0.0, 0.0), turn=(0.0, 0.0, 0.0), pelvis: float = 0.0, near: float = 0.3, far: float = 0.98
) -> Rows:
    """The same correction of every leg in every frame; feet turn about the head of the foot bone."""
    count, legs = len(clip), len(clip.legs)
    return Rows(
        np.zeros((legs, 3)),
        (False,) * legs,
        np.tile(move, (count, legs, 1)).astype(float),
        np.tile(turn, (count, legs, 1)).astype(float),
        np.zeros((count, legs, 3)),
        np.full(count, pelvis),
        np.tile((near, far), (legs, 1)),
    )


def solved(clip: Clip, row: Rows, job: LegJob = TWO_BONE):
    return apply(clip, PLAN, rows=row, job=job)


def test_nothing_to_do_leaves_every_bone_as_it_is():
    out = solved(WALK, rows(WALK))
    assert moved_most(out.before, out.after) < 1e-12
    assert not out.corrected.pelvis.any() and (out.corrected.stretch == 1).all()
    assert out.corrected.residual.max() < 1e-12


@pytest.mark.parametrize("move", [(0.0, 0.0, 0.1), (0.05, -0.05, 0.05), (0.0, 0.1, 0.02)])
def test_targets_in_reach_are_reached(move):
    row = rows(WALK, move, pelvis=-0.05)
    out = solved(WALK, row)
    for leg, new in zip(WALK.legs, out.after.legs):
        np.testing.assert_allclose(new.joints[:, 2], leg.joints[:, 2] + move, atol=1e-5)
        np.testing.assert_allclose(new.joints[:, 0], leg.joints[:, 0] - (0, 0, 0.05), atol=1e-12)
    assert out.corrected.residual.max() < 1e-5
    np.testing.assert_allclose(bone_lengths(out.after), bone_lengths(WALK), atol=1e-12)
    assert ((knee_side(out.after) * knee_side(WALK)).sum(-1) > 0).all()


def test_feet_are_turned_as_planned_and_do_not_hang_on_the_shins():
    turn = np.array([0.2, -0.1, 0.3])
    out = solved(WALK, rows(WALK, (0, 0, 0.1), turn))
    for leg, new in zip(WALK.legs, out.after.legs):
        np.testing.assert_allclose(new.foot[:, :3, :3], from_rotvec(turn) @ leg.foot[:, :3, :3], atol=1e-12)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.01, 0.3, 5.0, 1e6]))
def test_any_correction_gives_finite_rotations_and_says_what_is_missing(seed, size):
    rng = np.random.default_rng(seed)
    clip = walks.part(WALK, 0, 20)
    row = replace(
        rows(clip, pelvis=float(rng.normal(0, size))),
        move=rng.normal(0, size, (20, 2, 3)),
        turn=rng.normal(0, min(size, 2.0), (20, 2, 3)),
    )
    out = solved(clip, row)
    for i, (leg, new) in enumerate(zip(clip.legs, out.after.legs)):
        assert np.isfinite(out.corrected.turns[i]).all()
        r = out.corrected.turns[i]
        np.testing.assert_allclose(r @ np.swapaxes(r, -1, -2), np.broadcast_to(np.eye(3), r.shape), atol=1e-9)
        missing = np.linalg.norm(new.joints[:, 2] - leg.joints[:, 2] - row.move[:, i], axis=1)
        np.testing.assert_allclose(out.corrected.residual[:, i], missing, atol=1e-6 * max(size, 1), rtol=1e-6)


def test_a_frame_alone_is_the_frame_of_the_batch():
    """Live is a batch of one, the bake a batch of all: the same pose."""
    row = rows_of(PLAN, 1.0)
    whole = apply(WALK, PLAN)
    for f in (0, 17, 44, 90):
        here = (rows[f : f + 1] for rows in (row.move, row.turn, row.bend, row.pelvis))
        one = Rows(row.ball, row.on_toe, *here, row.reach)
        alone = apply(walks.part(WALK, f, f + 1), PLAN, rows=one)
        assert moved_most(alone.after, walks.part(whole.after, f, f + 1)) < 1e-12


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("turn", [(0.0, 0.0, 0.0), (0.0, 0.0, 2.0), (np.pi / 2, 0.0, 0.0), (1.0, -0.7, 0.4)])
def test_scale_and_axes_of_the_armature_do_not_matter(scale, turn):
    """A scene of 100 times the size, a y-up rig at scale 0.01: the same clip, to a millionth of a leg."""
    to_rig = np.eye(4)
    to_rig[:3, :3] = scale * from_rotvec(np.array(turn))
    to_rig[:3, 3] = (30, -2, 7)
    plain, other = apply(WALK, PLAN), apply(WALK, PLAN, to_rig=to_rig)
    assert moved_most(plain.after, other.after) < 1e-6
    short = [apply(WALK, PLAN, rows=rows(WALK, (0, 0, -FAR)), to_rig=m).corrected.residual for m in (None, to_rig)]
    assert short[0].min() > 0.05
    np.testing.assert_allclose(short[1], short[0], atol=1e-6)
    np.testing.assert_allclose(
        np.linalg.norm(other.corrected.pelvis, axis=1),
        scale * np.abs(plain.corrected.pelvis[:, 2]),
        rtol=1e-9,
        atol=1e-12,
    )


@pytest.mark.parametrize("scale", [(1.0, 1.0, 1.2), (1.3, 1.0, 1.0), (1.0, 1.3, 1.0)])
def test_soles_lie_on_the_ground_whatever_the_scale_of_the_object(scale):
    """No rotation of a bone turns a foot that is scaled unevenly as a whole: balls stand, and heels are as high as they
    should be, to a millimetre."""
    to_rig = np.diag((*(1 / np.array(scale)), 1.0))
    plain, other = apply(WALK, PLAN), apply(WALK, PLAN, to_rig=to_rig)
    for even, uneven in zip(plain.soles(plain.after), other.soles(other.after), strict=True):
        away = np.abs(even - uneven)
        assert away[:, HEEL, 2].max() < 1.2e-3 and away[:, BALL].max() < 5e-5


def test_accept_ends_straight_below_and_says_what_is_missing():
    out = solved(WALK, rows(WALK, (0, 0, -FAR)))
    for i, (leg, new) in enumerate(zip(WALK.legs, out.after.legs)):
        assert (new.extension <= 1.0).all() and (new.extension > 0.98).all()
        assert ((knee_side(out.after) * knee_side(WALK)).sum(-1) >= 0).all()
        way = leg.joints[:, 2] - (0, 0, FAR) - leg.joints[:, 0]
        reached = new.joints[:, 2] - new.joints[:, 0]
        np.testing.assert_allclose(np.cross(way, reached), 0, atol=1e-6)
        np.testing.assert_allclose(out.corrected.residual[:, i], np.linalg.norm(way - reached, axis=1), atol=1e-9)
    np.testing.assert_allclose(bone_lengths(out.after), bone_lengths(WALK), atol=1e-12)


def test_stretch_reaches_as_far_as_it_may_and_no_farther():
    """By the factor that is needed, the same for both bones, up to the setting; the foot's own size stays."""
    for most, down in ((0.1, 0.05), (0.1, FAR), (0.02, FAR)):
        out = solved(WALK, rows(WALK, (0, 0, -down)), LegJob("TWO_BONE", most, True))
        k = out.corrected.stretch
        assert (k >= 1).all() and k.max() <= 1 + most + 1e-12
        np.testing.assert_allclose(bone_lengths(out.after), bone_lengths(WALK) * k.T[:, :, None], rtol=1e-9)
        for leg, new in zip(WALK.legs, out.after.legs):
            np.testing.assert_allclose(
                np.linalg.det(new.foot[:, :3, :3]), np.linalg.det(leg.foot[:, :3, :3]), rtol=1e-9
            )
    assert (solved(WALK, rows(WALK, (0, 0, 0.05)), LegJob("TWO_BONE", 0.1, True)).corrected.stretch == 1).all()


def test_a_leg_that_may_stretch_further_misses_nothing():
    out = solved(WALK, rows(WALK, (0, 0, -0.05)), LegJob("TWO_BONE", 0.1, True))
    assert out.corrected.stretch.max() < 1.1
    assert out.corrected.residual.max() < 1e-3 * LEG


def test_a_leg_that_does_not_hang_on_the_pelvis_is_not_carried_by_it():
    out = solved(WALK, rows(WALK, pelvis=-0.2), LegJob("TWO_BONE", 0.0, False))
    for leg, new in zip(WALK.legs, out.after.legs):
        np.testing.assert_allclose(new.joints, leg.joints, atol=1e-12)
    np.testing.assert_allclose(out.after.pelvis, WALK.pelvis - (0, 0, 0.2), atol=1e-12)


def test_lowering_the_pelvis_bends_the_knees_and_leaves_the_feet():
    out = solved(WALK, rows(WALK, pelvis=-0.1))
    for leg, new in zip(WALK.legs, out.after.legs):
        np.testing.assert_allclose(new.foot, leg.foot, atol=1e-6)
        assert (new.extension < leg.extension).all()


def test_corrections_that_grow_evenly_move_the_knee_evenly():
    """Through full reach and into the fold: no jump of the knee over a step of a thousandth of a leg."""
    one = walks.part(WALK, 40, 41)
    count = 800
    frames = [0] * count
    clip = Clip(
        30.0, one.pelvis[frames], tuple(Leg(leg.joints[frames], leg.foot[frames], leg.toe[frames]) for leg in one.legs)
    )
    row = rows(clip)
    row.move[:, :, 2] = np.linspace(-0.2, 0.6, count)[:, None]
    out = solved(clip, row)
    for new in out.after.legs:
        assert np.linalg.norm(np.diff(new.joints[:, 2], axis=0), axis=1).max() < 0.003
        assert np.linalg.norm(np.diff(new.joints[:, 1], axis=0), axis=1).max() < 0.03, "a knee at full reach is quick"


# Chains of more bones


def digitigrade(count: int = 40) -> tuple[Clip, tuple[np.ndarray, ...]]:
    """Legs of four bones, hip to ankle, that sway; joints (F, 5, 3) and the clip with the same hips and ankles."""
    t = np.linspace(0, 2 * np.pi, count)
    base = np.array([[0, 0, 0.95], [0, 0.12, 0.70], [0, -0.10, 0.45], [0, 0.06, 0.25], [0, 0.0, 0.1]])
    chains, legs = [], []
    for x in (-0.1, 0.1):
        joints = np.tile(base + (x, 0, 0), (count, 1, 1))
        joints[:, 1:, 1] += 0.03 * np.sin(t)[:, None] * np.arange(1, 5)
        foot = np.tile(np.eye(4), (count, 1, 1))
        foot[:, :3, 3] = joints[:, -1]
        chains.append(joints)
        legs.append(Leg(joints[:, [0, 2, 4]], foot, None))
    return Clip(30.0, np.tile((0, 0, 1.0), (count, 1)), tuple(legs)), tuple(chains)


@pytest.mark.parametrize("solver", ["FABRIK", "CCD"])
@pytest.mark.parametrize("move", [(0.0, 0.0, 0.1), (0.05, 0.1, 0.0), (0.0, -0.1, 0.15)])
def test_chains_of_four_bones_reach(solver, move):
    clip, chains = digitigrade()
    out = correct(
        clip, chains, np.tile(np.eye(4), (len(clip), 1, 1)), (LegJob(solver, 0.0, True),) * 2, rows(clip, move)
    )
    for joints, turns in zip(chains, out.turns):
        assert turns.shape == (len(clip), 6, 3, 3), "four bones, the foot and the toes"
        new = posed(joints, turns, np.ones(len(clip)), np.zeros((len(clip), 3)))
        np.testing.assert_allclose(new[:, -1], joints[:, -1] + move, atol=1.2e-5)
    assert out.residual.max() < 1.2e-5, "the tolerance of chains, a hundred-thousandth of their length"


@pytest.mark.parametrize("solver", ["FABRIK", "CCD"])
def test_chains_of_four_bones_with_nothing_to_do_stay(solver):
    clip, chains = digitigrade()
    out = correct(clip, chains, np.tile(np.eye(4), (len(clip), 1, 1)), (LegJob(solver, 0.0, True),) * 2, rows(clip))
    for turns in out.turns:
        np.testing.assert_allclose(turns, np.broadcast_to(np.eye(3), turns.shape), atol=1e-9)


@pytest.mark.parametrize("solver", ["FABRIK", "CCD"])
def test_chains_of_four_bones_out_of_reach_say_so_and_stretch(solver):
    clip, chains = digitigrade()
    still = np.tile(np.eye(4), (len(clip), 1, 1))
    out = correct(clip, chains, still, (LegJob(solver, 0.0, True),) * 2, rows(clip, (0, 0, -0.3)))
    full = np.linalg.norm(np.diff(chains[0], axis=1), axis=2).sum(1)
    far = np.linalg.norm(chains[0][:, -1] - (0, 0, 0.3) - chains[0][:, 0], axis=1)
    np.testing.assert_allclose(out.residual[:, 0], far - full, atol=1e-5)
    out = correct(clip, chains, still, (LegJob(solver, 0.5, True),) * 2, rows(clip, (0, 0, -0.3)))
    assert (out.stretch > 1).all() and out.residual.max() < 1e-3


def test_legs_of_different_make_are_each_solved_in_their_way():
    clip, chains = digitigrade()
    mixed = (chains[0], chains[1][:, [0, 2, 4]])
    out = correct(
        clip,
        mixed,
        np.tile(np.eye(4), (len(clip), 1, 1)),
        (LegJob("CCD", 0.0, True), LegJob("TWO_BONE", 0.0, True)),
        rows(clip, (0, 0, 0.1)),
    )
    assert [t.shape[1] for t in out.turns] == [6, 4]
    assert out.residual.max() < 1.2e-5, "the tolerance of chains, a hundred-thousandth of their length"


# Weights and channels


def test_lock_weights_mix_the_two_plans():
    pair = np.stack([np.zeros((4, 3)), np.ones((4, 3))])
    np.testing.assert_allclose(weighted(pair, np.array([0, 0.25, 0.5, 1.0])), np.outer([0, 0.25, 0.5, 1.0], np.ones(3)))


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_channels_show_the_turned_pose_under_any_parent(seed):
    """Channels act in a space that turns with the parent; rest rotations, scale and shear of it are any."""
    rng = np.random.default_rng(seed)
    count, bones = 3, 4
    turns = from_rotvec(rng.normal(0, 1, (count, bones, 3)))
    space, basis = np.tile(np.eye(4), (2, count, bones, 1, 1))
    space[..., :3, :3] = from_rotvec(rng.normal(0, 2, (count, bones, 3))) * rng.uniform(0.5, 2)
    basis[..., :3, :3] = from_rotvec(rng.normal(0, 2, (count, bones, 3)))
    new = local_turns(space @ basis, basis, turns)
    parent = np.concatenate([np.broadcast_to(np.eye(3), (count, 1, 3, 3)), turns[:, :-1]], 1)
    np.testing.assert_allclose(parent @ space[..., :3, :3] @ new, turns @ (space @ basis)[..., :3, :3], atol=1e-9)


def test_the_clip_space_of_a_whole_plan_reaches_what_it_planned():
    """Ankles come to where the plan's motion carries them, where the residual says so."""
    out = planted(WALK, grounds.slope(10, 5))
    for i, (leg, new) in enumerate(zip(WALK.legs, out.after.legs)):
        foot = out.plan.feet[i]
        ball = transform(leg.bone_of(foot.on_toe), foot.ball)
        want = rotate(from_rotvec(foot.turn[1]), leg.joints[:, 2] - ball) + ball + foot.move[1]
        missing = np.linalg.norm(new.joints[:, 2] - want, axis=1)
        np.testing.assert_allclose(missing, out.corrected.residual[:, i], atol=1e-9)
        assert np.median(missing) < 1e-3 * LEG
