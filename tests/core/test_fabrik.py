"""FABRIK, and what it shares with CCD: every test here that takes `solver` holds for both."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foot_ik_addon.core import ccd, fabrik
from foot_ik_addon.core.chain import turns_from_joints
from foot_ik_addon.core.limits import Limits
from foot_ik_addon.core.rotations import from_rotvec, length, rotate, unit_and_length

X, Y, Z = np.eye(3)
SEEDS = st.integers(0, 2**32 - 1)
both = pytest.mark.parametrize("solver", [fabrik, ccd], ids=["fabrik", "ccd"])
FLAT = np.array([[0 * X, X, 2 * X]])


def chains(rng, frames=20, spread=1.0, segments=None):
    """Random chains (F, J, 3) of segments that differ up to thirty-fold; spread 0 is straight."""
    segments = segments or rng.integers(2, 6)
    lengths = 10.0 ** rng.uniform(-1.5, 0, (frames, segments))
    way = rng.normal(size=(frames, 1, 3)) * (spread < 1) + spread * rng.normal(size=(frames, segments, 3))
    steps = unit_and_length(way)[0] * lengths[..., None]
    root = rng.normal(size=(frames, 1, 3))
    return np.concatenate([root, root + np.cumsum(steps, axis=1)], axis=1)


def segment_lengths(joints):
    return length(np.diff(joints, axis=1))


def reach(joints):
    """The nearest and the farthest distance (F,) from the root that a chain's end can have."""
    sizes = segment_lengths(joints)
    return np.maximum(2 * sizes.max(1) - sizes.sum(1), 0), sizes.sum(1)


# Worked examples ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [X + Y])
def test_three_joints_arrive_in_one_round(target):
    done = fabrik.solve(FLAT, target[None])
    np.testing.assert_allclose(done.joints[0], [0 * X, X, X + Y], atol=1e-12)
    assert done.rounds[0] == 1 and done.residual[0] < 1e-12


# Both solvers ---------------------------------------------------------------------------------------------------


@both
@settings(max_examples=25)
@given(SEEDS, st.sampled_from([0.0, 1e-8, 1e-3, 0.3, 1.0]), st.integers(0, 3))
def test_lengths_kept_and_reachable_targets_reached(solver, seed, spread, where):
    """Anywhere, near full reach, near the root or the least reach, and in line with the chain."""
    rng = np.random.default_rng(seed)
    joints = chains(rng, spread=spread)
    near, far = reach(joints)
    tiny = 10.0 ** rng.uniform(-12, -1, len(far))
    share = (rng.uniform(0, 1, len(far)), 1 - tiny, tiny, rng.uniform(0, 1, len(far)))[where]
    toward = unit_and_length(rng.normal(size=(len(far), 3)) if where < 3 else joints[:, -1] - joints[:, 0])[0]
    target = joints[:, 0] + toward * (near + (far - near) * share)[:, None]
    done = solver.solve(joints, target, hinge=rng.normal(size=target.shape))
    assert np.all(np.abs(segment_lengths(done.joints) - segment_lengths(joints)) <= 1e-6 * far[:, None])
    assert np.all(done.residual <= 1.01e-5 * far)
    np.testing.assert_allclose(done.residual, length(target - done.joints[:, -1]), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(done.joints[:, 0], joints[:, 0])


@both
@settings(max_examples=25)
@given(SEEDS, st.floats(1.0, 5.0))
def test_targets_out_of_reach_straighten_the_chain(solver, seed, share):
    rng = np.random.default_rng(seed)
    joints = chains(rng)
    _, far = reach(joints)
    toward = unit_and_length(rng.normal(size=(len(far), 3)))[0]
    done = solver.solve(joints, joints[:, 0] + toward * (share * far)[:, None])
    np.testing.assert_allclose(done.residual, (share - 1) * far, rtol=0, atol=1e-12 * share * far.max())
    along = np.einsum("fji,fi->fj", done.joints - joints[:, :1], toward)
    np.testing.assert_allclose(along[:, 1:], np.cumsum(segment_lengths(joints), axis=1), rtol=0, atol=1e-12)


@both
def test_targets_nearer_than_the_longest_segment_allows_are_missed_by_the_clamped_distance(solver):
    joints = np.array([[0 * X, X, 4 * X, 5 * X]])
    done = solver.solve(joints, 0.25 * Y[None])
    np.testing.assert_allclose(done.joints[0], [0 * X, -Y, 2 * Y, Y], atol=1e-12)
    np.testing.assert_allclose(done.residual, 0.75, atol=1e-12)


@both
@pytest.mark.parametrize("target", [X, 0.1 * X, -X, 0 * X, 1.999999999 * X])
def test_straight_chain_in_line_with_its_target_bends_toward_the_hinge(solver, target):
    joints = np.array([[0 * X, X, 2 * X]])
    done = solver.solve(joints, target[None], hinge=Y[None])
    assert done.residual[0] <= 2e-5
    assert abs(done.joints[0, 1, 2]) < 1e-6
    if 0 < target @ X < 1.99:  # nearer to the end than the tolerance nothing is done
        assert done.joints[0, 1] @ Y > 0


@both
def test_noise_in_a_straight_chain_does_not_choose_the_side(solver):
    rng = np.random.default_rng(3)
    joints = np.tile([0 * X, X, 2 * X], (300, 1, 1))
    joints[:, 1, 1:] += 1e-8 * rng.normal(size=(300, 2))
    done = solver.solve(joints, np.tile(1.8 * X, (300, 1)), hinge=np.tile(Y, (300, 1)))
    assert (unit_and_length(done.joints[:, 1] * (0, 1, 1))[0] @ Y).min() > 0.999


@both
def test_segments_of_no_length_change_nothing_and_keep_the_last_direction(solver):
    with_none = np.array([[0 * X, 0 * X, X, X, 2 * X]])
    done, plain = solver.solve(with_none, (X + Y)[None]), solver.solve(FLAT, (X + Y)[None])
    np.testing.assert_allclose(done.joints[0, [0, 2, 4]], plain.joints[0], atol=1e-5)
    np.testing.assert_array_equal(done.joints[0, [0, 2]], done.joints[0, [1, 3]])
    nothing = solver.solve(np.zeros((1, 4, 3)), X[None])
    np.testing.assert_array_equal(nothing.joints, np.zeros((1, 4, 3)))
    assert nothing.residual[0] == 1 and np.isfinite(nothing.turns).all()


@both
def test_chain_at_its_target_stays(solver):
    joints = chains(np.random.default_rng(1))
    done = solver.solve(joints, joints[:, -1])
    np.testing.assert_allclose(done.joints, joints, atol=1e-12)
    assert (done.rounds == 0).all()


@both
@settings(max_examples=12)
@given(SEEDS)
def test_no_finite_input_gives_nan(solver, seed):
    rng = np.random.default_rng(seed)
    joints = chains(rng) * 10.0 ** rng.uniform(-30, 12, (20, 1, 1)) * rng.integers(0, 2, (20, 1, 3))
    target = rng.normal(size=(20, 3)) * 10.0 ** rng.uniform(-30, 12, (20, 1))
    segments = joints.shape[1] - 1
    limits = Limits(np.zeros((segments, 3)), -np.ones(segments), np.ones(segments), np.ones(segments))
    for some in (None, limits):
        done = solver.solve(joints, target, limits=some, hinge=rng.normal(size=(20, 3)), rounds=4)
        assert all(np.isfinite(value).all() for value in vars(done).values())


@both
@settings(max_examples=12)
@given(SEEDS)
def test_joints_move_by_no_more_than_the_square_root_of_the_target_step(solver, seed):
    """At full reach a hard stop can do no better; elsewhere they move much less. CCD is greedy: where the target passes
    a joint it turns that one over sooner, so twice as much is left to it."""
    rng = np.random.default_rng(seed)
    down = unit_and_length(0.4 * rng.normal(size=(4, 3)) - Z)[0] * rng.uniform(0.3, 1, (4, 1))
    joints = np.concatenate([np.zeros((1, 3)), np.cumsum(down, axis=0)])
    size = length(down).sum()
    between = np.linspace(0, 1, 300)[:, None]
    start, stop = joints[-1] + size * rng.uniform(-0.25, 0.25, (2, 3))
    done = solver.solve(
        np.tile(joints, (300, 1, 1)), start + between * (stop - start), hinge=np.tile(Y, (300, 1))
    )
    step = length(stop - start) / 300
    assert length(np.diff(done.joints, axis=0)).max() < (8 if solver is ccd else 4) * np.sqrt(step * size)


@both
def test_frames_do_not_know_of_each_other(solver):
    rng = np.random.default_rng(5)
    joints = chains(rng, frames=30)
    target = joints[:, 0] + 0.4 * rng.normal(size=(30, 3)) * reach(joints)[1][:, None]
    together = solver.solve(joints, target)
    assert len(set(together.rounds)) > 3
    for i in range(30):
        alone = solver.solve(joints[i : i + 1], target[i : i + 1])
        np.testing.assert_allclose(alone.joints[0], together.joints[i], atol=1e-12)
        assert alone.rounds[0] == together.rounds[i]
    assert solver.solve(joints[:0], target[:0]).joints.shape == (0, *joints.shape[1:])


@both
@pytest.mark.parametrize("name", ["joints", "target", "hinge"])
def test_bad_input_is_refused_by_name(solver, name):
    arguments = {"joints": FLAT, "target": X[None], "hinge": Y[None]}
    with pytest.raises(ValueError, match=name):
        solver.solve(**(arguments | {name: arguments[name] * np.nan}))
    with pytest.raises(ValueError, match=name):
        solver.solve(**(arguments | {name: arguments[name][..., :2]}))


@both
@pytest.mark.parametrize("kind", ["cone", "hinge"])
def test_limits_hold_and_what_is_left_is_told(solver, kind):
    rng = np.random.default_rng(11)
    joints = chains(rng, frames=200, spread=0.4, segments=3)
    old = unit_and_length(np.diff(joints, axis=1))[0]
    size, most = segment_lengths(joints), 0.7
    axis = X * (kind == "hinge")
    limits = Limits(np.tile(axis, (3, 1)), np.full(3, -most), np.full(3, most), np.full(3, most))
    # Targets that turns within the limits do reach.
    end, parent = joints[:, 0], np.eye(3)
    for i in range(3):
        about = X if kind == "hinge" else unit_and_length(np.cross(old[:, i], rng.normal(size=(200, 3))))[0]
        parent = parent @ from_rotvec(about * rng.uniform(-most, most, (200, 1)))
        end = end + rotate(parent, old[:, i]) * size[:, i, None]
    done = solver.solve(joints, end, limits=limits)

    parents = np.concatenate([np.broadcast_to(np.eye(3), (200, 1, 3, 3)), done.turns[:, :-1]], axis=1)
    local = np.swapaxes(parents, -1, -2) @ done.turns
    if kind == "hinge":
        np.testing.assert_allclose(rotate(local, X), np.broadcast_to(X, old.shape), atol=1e-9)
        turned = np.arccos(np.clip(local[..., 1, 1], -1, 1))
    else:
        turned = np.arccos(np.clip(np.einsum("fsi,fsi->fs", rotate(local, old), old), -1, 1))
    assert turned.max() <= most + 1e-6
    np.testing.assert_allclose(np.diff(done.joints, axis=1), rotate(done.turns, old) * size[..., None], atol=1e-12)
    np.testing.assert_allclose(done.residual, length(end - done.joints[:, -1]), atol=1e-12)
    share = done.residual / size.sum(1)
    # Some stick on a limit; CCD alone leaves most of them short.
    assert (share <= 1e-5).mean() > 0.9


@both
def test_limited_chain_never_ends_farther_than_it_was(solver):
    rng = np.random.default_rng(13)
    joints = chains(rng, frames=100, segments=4)
    near, far = reach(joints)
    toward = unit_and_length(rng.normal(size=(100, 3)))[0]
    target = joints[:, 0] + toward * (near + (far - near) * rng.uniform(0, 1, 100))[:, None]
    limits = Limits(np.tile(Z, (4, 1)), np.full(4, -0.2), np.full(4, 0.2), np.zeros(4))
    done = solver.solve(joints, target, limits=limits, rounds=3)
    assert (done.residual <= length(target - joints[:, -1]) + 1e-12).all()


def test_segment_of_no_length_keeps_its_direction_in_the_world_while_its_parent_turns():
    most = np.full(3, np.inf)
    limits = Limits(np.zeros((3, 3)), -most, most, most)
    done = fabrik.solve(np.array([[0 * X, X, X, 2 * X]]), np.array([[0.3, 0.9, 0.2]]), limits=limits, rounds=8)
    assert length(done.joints[0, 1] - X) > 0.1
    np.testing.assert_allclose(done.turns[0, 1] @ X, X, atol=1e-12)


# Rotations from joints ------------------------------------------------------------------------------------------


def test_turns_from_joints_take_the_old_segments_to_the_new_ones_without_twist():
    rng = np.random.default_rng(2)
    old, new = chains(rng, segments=4), chains(rng, segments=4)
    turns = turns_from_joints(old, new)
    was, now = (unit_and_length(np.diff(joints, axis=1))[0] for joints in (old, new))
    np.testing.assert_allclose(rotate(turns, was), now, atol=1e-12)
    axis = np.cross(was, now)  # shortest: what is square to both directions stays
    np.testing.assert_allclose(rotate(turns, axis), axis, atol=1e-12)
    np.testing.assert_allclose(turns_from_joints(old, old), np.broadcast_to(np.eye(3), turns.shape), atol=1e-12)
