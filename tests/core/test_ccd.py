"""What is CCD's own; all that holds for FABRIK too is tested with it in test_fabrik.py."""
import numpy as np

from foot_ik_addon.core import ccd
from foot_ik_addon.core.chain import task
from foot_ik_addon.core.limits import Limits
from foot_ik_addon.core.rotations import length

X, Y, Z = np.eye(3)


def one_round(joints, target, limits=None):
    """Directions (S, 3) after one round from a pose that is not turned."""
    work = task(np.array([joints], float), np.array([target], float))
    segments = len(joints) - 1
    turns = np.broadcast_to(np.eye(3), (1, segments, 3, 3))
    limits = limits and limits.checked(1, segments)
    return ccd.one_round(work, turns, work.directions, limits)[1][0]


def free(segments):
    most = np.full(segments, np.inf)
    return Limits(np.zeros((segments, 3)), -most, most, most)


def test_one_joint_turns_a_quarter_and_arrives():
    np.testing.assert_allclose(one_round([0 * X, X], Y), [Y], atol=1e-12)
    done = ccd.solve(np.array([[0 * X, X]]), Y[None])
    np.testing.assert_allclose(done.joints[0, 1], Y, atol=1e-12)
    np.testing.assert_allclose(done.turns[0, 0], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-12)


def test_descendants_follow_before_the_next_joint_is_turned():
    """By hand: joint 1 turns its segment up, then the root turns by 45 degrees from the end's new place (1, 1)."""
    target = X + Y
    done = one_round([0 * X, X, 2 * X], target)
    np.testing.assert_allclose(done, [X, Y], atol=1e-12)
    # With the old end (2, 0) the root would have turned by 45 degrees.
    farther = one_round([0 * X, X, 2 * X], X + 0.5 * Y)
    end = farther.sum(0)
    np.testing.assert_allclose(end / length(end), (X + 0.5 * Y) / length(X + 0.5 * Y), atol=1e-12)


def test_without_a_limit_the_limited_path_takes_the_same_steps():
    joints = [0 * X, X, X + 0.8 * Y, 1.2 * X + Y + 0.7 * Z]
    target = np.array([0.4, -0.9, 0.6])
    np.testing.assert_allclose(one_round(joints, target), one_round(joints, target, free(3)), atol=1e-12)


def test_limits_clamp_each_step():
    """The last joint would turn by 90 degrees; its hinge lets it turn by 30."""
    limits = Limits(np.array([Z, Z]), np.array([0.0, -1.0]), np.array([0.0, np.pi / 6]), np.zeros(2))
    done = one_round([0 * X, X, 2 * X], X + Y, limits)
    np.testing.assert_allclose(done, [X, np.cos(np.pi / 6) * X + 0.5 * Y], atol=1e-12)


def test_many_rounds_on_limits_stay_rotations():
    """A product of rounds with its own inverses doubles the rounding each time, a fault that is not to come back."""
    rng = np.random.default_rng(4)
    joints = np.cumsum(rng.normal(size=(20, 5, 3)), axis=1)
    limits = Limits(np.tile(X, (4, 1)), np.full(4, -0.3), np.full(4, 0.3), np.zeros(4))
    done = ccd.solve(joints, joints[:, 0] + rng.normal(size=(20, 3)), limits=limits, rounds=100)
    product = np.swapaxes(done.turns, -1, -2) @ done.turns
    assert np.abs(product - np.eye(3)).max() < 1e-12
