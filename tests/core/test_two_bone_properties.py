"""Two-bone IK on any input: lengths kept, reach exact, no NaN, identity at rest, and no jumps along a path."""
import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from foot_ik_addon.core.rotations import length, unit_and_length
from foot_ik_addon.core.two_bone import soften, solve, turn_leg

SEEDS = st.integers(0, 2**32 - 1)
QUICK = settings(max_examples=60)
# From exactly straight, through the noise of single precision, to strongly bent; shares of the leg.
BENDS = st.one_of(st.just(0.0), st.floats(-16, 0).map(lambda power: 10.0**power))
FINITE = st.floats(-1e12, 1e12) | st.floats(-1e-12, 1e-12) | st.sampled_from([0.0, 1e-30, -1e-30, 1.0])
VECTOR = st.tuples(FINITE, FINITE, FINITE).map(lambda v: np.array([v]))


def legs(rng, bend, frames=50):
    """Random legs (3, F, 3) whose mid joint is `bend` of the leg off the line from root to end, at any scale."""
    down, _ = unit_and_length(rng.normal(size=(frames, 3)))
    root = rng.normal(size=(frames, 3))
    upper, lower = rng.uniform(0.2, 1, (2, frames, 1))
    mid = root + upper * unit_and_length(down + bend * rng.normal(size=(frames, 3)))[0]
    end = mid + lower * unit_and_length(down + bend * rng.normal(size=(frames, 3)))[0]
    return np.array([root, mid, end]) * 10.0 ** rng.uniform(-3, 3)


def sizes(joints):
    """Lengths of the upper and the lower segment (F,)."""
    return length(joints[1] - joints[0]), length(joints[2] - joints[1])


def options(rng, frames, kind):
    """Nothing, or a pole, or a twist and a pole."""
    pole = {"pole": rng.normal(size=(frames, 3))}
    return [{}, pole, pole | {"twist": rng.uniform(-7, 7, frames)}][kind]


@QUICK
@given(SEEDS, BENDS, st.integers(0, 2), st.booleans())
def test_lengths_are_kept_and_targets_met_or_missed_by_the_clamped_distance(seed, bend, kind, near_full_reach):
    rng = np.random.default_rng(seed)
    joints = legs(rng, bend)
    upper, lower = sizes(joints)
    leg = upper + lower
    toward, _ = unit_and_length(rng.normal(size=(len(leg), 3)))
    share = 1 - 10.0 ** rng.uniform(-14, -1, len(leg)) if near_full_reach else rng.uniform(0, 1.5, len(leg))
    target = joints[0] + toward * (share * leg)[:, None]
    far = length(target - joints[0])
    turned = turn_leg(*joints, target, hinge=rng.normal(size=target.shape), **options(rng, len(leg), kind))
    assert np.all(np.abs(np.array(sizes((joints[0], turned.mid, turned.end))) - (upper, lower)) <= 1e-6 * leg)
    missed = np.maximum(np.maximum(far - leg, np.abs(upper - lower) - far), 0)
    assert np.all(np.abs(turned.residual - missed) <= 1e-5 * leg)
    # In fact much nearer; a looser bound would hide a wrong formula.
    assert np.all(np.abs(turned.residual - missed) <= 2e-7 * leg)
    np.testing.assert_allclose(turned.residual, length(target - turned.end), rtol=0, atol=1e-12 * leg.max())


@QUICK
@given(SEEDS, st.floats(0, 1.5), st.floats(0.5, 1))
def test_solve_keeps_lengths_and_reaches_the_softened_distance(seed, share, soft):
    rng = np.random.default_rng(seed)
    upper, lower = rng.uniform(0.2, 1, (2, 50))
    leg = upper + lower
    root = rng.normal(size=(50, 3))
    target = root + share * leg[:, None] * unit_and_length(rng.normal(size=(50, 3)))[0]
    done = solve(root, target, upper, lower, rng.normal(size=(50, 3)), soft_start=soft)
    assert np.all(np.abs(np.array(sizes((root, done.mid, done.end))) - (upper, lower)) <= 1e-6 * leg)
    far = length(target - root)
    wanted = np.maximum(soften(far, leg, soft), np.abs(upper - lower))
    assert np.all(np.abs(done.residual - np.abs(far - wanted)) <= 1e-9 * leg)


@given(VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, st.floats(0, 1), st.floats(0, 1))
def test_no_finite_input_gives_nan(root, mid, end, target, hinge, pole, soft, weight):
    for given_pole in (None, pole):
        leg = turn_leg(root, mid, end, target, hinge=hinge, pole=given_pole, soft_start=soft, weight=weight)
        assert all(np.isfinite(value).all() for value in vars(leg).values())
    upper, lower = length(mid - root), length(end - mid)
    for past in ({}, {"last_axis": end}, {"last_bend": mid}, {"last_axis": end, "last_bend": mid, "keep_side": True}):
        done = solve(root, target, upper, lower, pole, soft_start=soft, **past)
        assert all(np.isfinite(value).all() for value in vars(done).values())


@QUICK
@given(SEEDS, BENDS)
def test_target_on_the_animated_end_changes_nothing(seed, bend):
    rng = np.random.default_rng(seed)
    joints = legs(rng, bend)
    leg = turn_leg(*joints, joints[2], hinge=rng.normal(size=joints[2].shape))
    assert np.abs(leg.upper - np.eye(3)).max() < 1e-12
    assert np.abs(leg.lower - np.eye(3)).max() < 1e-12


@QUICK
@given(SEEDS, BENDS)
def test_scale_place_and_orientation_do_not_matter(seed, bend):
    rng = np.random.default_rng(seed)
    joints = legs(rng, bend)
    leg = sum(sizes(joints))[:, None]
    target = joints[0] + rng.uniform(-0.6, 0.6, joints[0].shape) * leg
    hinge = rng.normal(size=target.shape)
    turned = turn_leg(*joints, target, hinge=hinge)
    basis, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    basis *= np.sign(np.linalg.det(basis)) * 100.0
    moved = turn_leg(*(joints @ basis.T), target @ basis.T, hinge=hinge @ basis.T)
    # A straight leg's bend is the square root of what rounding leaves of its reach.
    assert np.all(length(moved.mid - turned.mid @ basis.T) <= 1e-5 * 100 * leg[:, 0])


def path(rng, joints, steps):
    """A straight path of targets through the reach of one leg, and a little past it."""
    leg = sum(sizes(joints))
    toward, across = (unit_and_length(rng.normal(size=3))[0] for _ in range(2))
    return joints[0] + leg * (0.7 * toward + np.linspace(-0.8, 0.8, steps)[:, None] * across)


@QUICK
@given(SEEDS, BENDS)
def test_joints_move_a_little_when_the_target_does(seed, bend):
    """Anywhere but at the two places where no rule is continuous: the root, and opposite the animated axis."""
    rng = np.random.default_rng(seed)
    joints = legs(rng, bend, 1)
    leg, steps = sum(sizes(joints))[0], 2000
    target = path(rng, joints[:, 0], steps)
    toward, far = unit_and_length(target - joints[0])
    animated = unit_and_length(joints[2] - joints[0])[0]
    least = 1.2 * abs(np.subtract(*sizes(joints)))[0] + 0.1 * leg
    assume((toward @ animated[0]).min() > -0.9 and far.min() > least)
    hinge = np.broadcast_to(rng.normal(size=3), target.shape)
    turned = turn_leg(*np.repeat(joints, steps, axis=1), target, hinge=hinge, soft_start=0.95)
    step = length(target[1] - target[0])
    assert length(np.diff(turned.mid, axis=0)).max() < 40 * step
    assert length(np.diff(turned.end, axis=0)).max() < 10 * step


@settings(max_examples=20)
@given(SEEDS)
def test_hard_stop_at_full_reach_moves_the_knee_by_the_square_root_of_the_step_at_most(seed):
    rng = np.random.default_rng(seed)
    joints = legs(rng, 0.3, 1)
    leg, steps = sum(sizes(joints))[0], 2001
    toward = unit_and_length(joints[2] - joints[0])[0]
    target = joints[0] + toward * leg * np.linspace(0.9, 1.1, steps)[:, None]
    turned = turn_leg(*np.repeat(joints, steps, axis=1), target, hinge=np.broadcast_to(toward + 1, target.shape))
    assert length(np.diff(turned.mid, axis=0)).max() < 1.01 * leg * np.sqrt(0.2 / (steps - 1))


@settings(max_examples=15)
@given(SEEDS)
def test_the_knee_turns_to_the_hinge_without_a_jump_as_its_bend_vanishes(seed):
    """The animated bend shrinks from 3 % of the leg to nothing, and beyond it the leg is straight."""
    rng = np.random.default_rng(seed)
    down, side = -np.eye(3)[2], np.append(unit_and_length(np.append(rng.normal(size=2), 0))[0][:2], 0)
    hinge = np.array([0.0, 1.0, 0.0])
    assume(side @ hinge > -0.95)  # straight against the hinge there is no continuous way
    bend = np.concatenate([np.linspace(0.03, 0, 3001), np.zeros(5)])
    mid = 0.5 * down + bend[:, None] * side
    root, end = np.zeros_like(mid), np.broadcast_to(down, mid.shape)
    for reach in (0.9, 0.9999999, 1.0):
        leg = turn_leg(root, mid, end, reach * end, hinge=np.broadcast_to(hinge, mid.shape))
        knee = leg.mid * (1, 1, 0)
        assert length(np.diff(leg.mid, axis=0)).max() < 0.05
        assert length(np.diff(leg.upper, axis=0).reshape(-1, 3)).max() < 0.2
        if reach < 0.95:
            assert (unit_and_length(knee[-5:])[0] @ hinge).min() > 1 - 1e-9


def test_noise_in_a_straight_leg_does_not_choose_the_knee_side():
    rng = np.random.default_rng(7)
    mid = np.array([0, 0, -0.5]) + 1e-6 * rng.normal(size=(500, 3))
    end = np.broadcast_to([0, 0, -1.0], mid.shape)
    for pole, side in ((None, (0, 1, 0)), (np.broadcast_to([1.0, 1, 0], mid.shape), (np.sqrt(0.5), np.sqrt(0.5), 0))):
        leg = turn_leg(0 * mid, mid, end, 0.9 * end, hinge=np.broadcast_to([0, 1.0, 0.2], mid.shape), pole=pole)
        assert (unit_and_length(leg.mid * (1, 1, 0))[0] @ side > 0.999).all()
        assert np.ptp(leg.upper, axis=0).max() < 0.05


def test_target_passing_over_the_animated_pole_direction_does_not_flip_the_knee():
    """The leg's own bend direction is the place where a fixed pole would flip it."""
    angles = np.linspace(0.2, np.pi - 0.2, 3001)
    for beside in (0.0, 1e-9, 1e-3):
        target = 1.5 * np.stack([np.cos(angles), np.sin(angles), 0 * angles + beside], -1)
        joints = np.broadcast_to(np.array([[0.0, 0, 0], [0, 1, 0], [1, 1, 0]])[:, None], (3, 3001, 3))
        leg = turn_leg(*joints, target, hinge=np.broadcast_to([0.0, 1, 0], target.shape))
        assert length(np.diff(leg.mid, axis=0)).max() < 2e-3
