"""Two-bone IK: worked examples, the cases of ozz-animation's suite in our words, and what holds for any input."""
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foot_ik_addon.core.rotations import from_rotvec, length, rotate, to_rotvec
from foot_ik_addon.core.two_bone import soften, solve, turn_leg

X, Y, Z = np.eye(3)
QUARTER = np.pi / 2
# Double precision leaves 1e-8 of a leg where a square root meets full reach; ours is the promise of 1e-5.
REACHED = 1e-7


def rows(*vectors):
    return np.array(vectors, float)


def bent_leg(target, *, count=None, **options):
    """The base pose of ozz's suite: start (0,0,0), mid (0,1,0), end (1,1,0), one leg or `count` of them."""
    target = np.atleast_2d(np.asarray(target, float))
    joints = (np.broadcast_to(v, target.shape) for v in (0 * X, Y, X + Y))
    hinge = options.pop("hinge", np.broadcast_to(Y - X, target.shape))
    return turn_leg(*joints, target, hinge=np.broadcast_to(hinge, target.shape), **options)


def start_turn(leg):
    return to_rotvec(leg.upper)[0]


def mid_turn(leg):
    """The correction of the mid joint on top of what it inherits from the start joint."""
    return to_rotvec(np.swapaxes(leg.upper, -1, -2) @ leg.lower)[0]


def close(value, wanted, tolerance=REACHED):
    np.testing.assert_allclose(value, wanted, rtol=0, atol=tolerance)


# Worked examples ------------------------------------------------------------------------------------------------


def test_right_triangle_puts_the_knee_on_the_side_of_the_pole():
    leg = solve(rows(0 * X), rows(X), 1.0, 1.0, rows(Y))
    close(leg.mid, rows((0.5, np.sqrt(3) / 2, 0)))
    close(leg.residual, 0)


def test_target_at_three_leaves_a_residual_of_one():
    leg = solve(rows(0 * X), rows(3 * X), 1.0, 1.0, rows(Y))
    close(leg.residual, 1)
    close(leg.end, rows(2 * X))


def test_the_arm_of_150_and_125():
    leg = solve(rows(0 * X), rows(200 * X), 150, 125, rows(Y))
    to_root, to_end = -leg.mid[0], leg.end[0] - leg.mid[0]
    inner = np.degrees(np.arccos(to_root @ to_end / (150 * 125)))
    offset = np.degrees(np.arctan2(leg.mid[0, 1], leg.mid[0, 0]))
    assert inner == pytest.approx(92.87, abs=0.005)
    assert offset == pytest.approx(np.degrees(np.arccos(0.78125)), abs=1e-9)
    assert offset == pytest.approx(38.624, abs=0.001)


@pytest.mark.parametrize("distance, reach, mid", [(300, 275, 150), (25, 25, 150)])
def test_the_arm_is_straight_beyond_reach_and_folded_at_the_least(distance, reach, mid):
    leg = solve(rows(0 * X), rows(distance * X), 150, 125, rows(Y))
    close(leg.end, rows(reach * X), 1e-6)
    close(leg.mid, rows(mid * X), 1e-3)  # a hair from straight: the square root of the clamp's 1e-12
    close(leg.residual, abs(distance - reach), 1e-6)


def test_target_on_the_root_keeps_the_previous_direction_without_a_jump():
    near = solve(rows(0 * X), rows(1e-9 * Y), 150, 125, rows(X))
    there = solve(rows(0 * X), rows(0 * X), 150, 125, rows(X), last_axis=rows(Y))
    close(there.end, rows(25 * Y), 1e-6)
    close(there.mid, near.mid, 1e-6)
    assert np.isfinite(solve(rows(0 * X), rows(0 * X), 150, 125, rows(X)).mid).all()


def test_pole_in_line_with_the_target_leaves_the_bend_to_the_last_one_carried_along():
    for target in (Y, -Y):
        alone = solve(rows(0 * X), rows(target), 1.0, 1.0, rows(Y))
        close(length(alone.mid), 1)
        close(alone.residual, 0)
        # The last bend Y turns as the axis does, from X to the target.
        carried = solve(rows(0 * X), rows(target), 1.0, 1.0, rows(Y), last_axis=rows(X), last_bend=rows(Y))
        close(carried.mid, rows(0.5 * target - np.sqrt(0.75) * X * (target @ Y)))
        given = solve(rows(0 * X), rows(target), 1.0, 1.0, rows(Y), last_bend=rows(Z))
        close(given.mid, rows(0.5 * target + np.sqrt(0.75) * Z))


def test_leg_folded_onto_its_root_opens_toward_the_target():
    leg = turn_leg(rows(0 * X), rows(X), rows(0 * X), rows(Y + 0.1 * X), hinge=rows(X))
    close(leg.residual, 0)
    assert leg.mid[0] @ X > 0.5


def test_target_crossing_the_bone_line_keeps_the_side():
    angles = np.linspace(0.8, -0.8, 2001)
    target = 200 * np.stack([np.cos(angles), np.sin(angles), 0 * angles], -1)
    old = np.broadcast_to([[0, 0, 0], [120.0, 90, 0], [220.0, 15, 0]], (2001, 3, 3))
    leg = turn_leg(*old.swapaxes(0, 1), target, hinge=np.broadcast_to(Y, target.shape))
    side = np.cross(target, leg.mid)[:, 2]
    assert (side > 0).all()
    assert length(np.diff(leg.mid, axis=0)).max() < 1.01 * 150 * 0.0008


# The soft limit -------------------------------------------------------------------------------------------------


def test_soft_limit_formula():
    s, reach = 0.05 * 2, 2.0
    d = np.array([2.0, 2.5])
    close(soften(d, reach, 0.95), reach - s * np.exp(-(d - (reach - s)) / s), 1e-15)


@given(st.floats(0, 1), st.floats(1e-3, 1e3))
def test_soft_limit_is_smooth_monotone_and_never_past_the_target_or_the_leg(start, reach):
    d = np.linspace(0, 3 * reach, 3001)
    soft = soften(d, reach, start)
    slope = np.diff(soft) / (d[1] - d[0])
    assert (soft <= d).all() and (soft <= reach).all()
    assert (slope >= -1e-9).all() and (slope <= 1 + 1e-9).all()
    close(soft[d <= start * reach], d[d <= start * reach], 0)
    if start < 0.9:  # C1: the slope changes by no more than one step's worth of 1 / s
        assert np.abs(np.diff(slope)).max() <= (d[1] - d[0]) / (reach * (1 - start)) + 1e-9


def test_soft_limit_does_not_overshoot_at_its_onset():
    """Slope 4/3 there, a known fault, takes the end 2.8 % past the target."""
    d = np.array([1.0, 1.0 + 1e-6])
    close(np.diff(soften(d, 2.0, 0.5)) / 1e-6, 1.0, 1e-5)


@pytest.mark.parametrize("x, share", [(2, 1), (1, 0.5), (0.8, 0.5)])
def test_targets_before_the_soft_share_are_reached(x, share):
    close(bent_leg(x * X, soft_start=share).end, rows(x * X))


@pytest.mark.parametrize("x, share", [(1.2, 0.5), (1.2, 0), (2, 0.5), (3, 1)])
def test_targets_past_the_soft_share_are_missed_on_the_near_side(x, share):
    leg = bent_leg(x * X, soft_start=share)
    close(leg.residual, x - soften(np.array([x]), 2.0, share))
    assert leg.residual[0] > 1e-2 and leg.end[0, 0] < x


def test_straight_reach_turns_start_and_mid_by_a_quarter():
    leg = bent_leg(2 * X)
    close(start_turn(leg), -QUARTER * Z)
    close(mid_turn(leg), QUARTER * Z)


# Refused input --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["root", "mid", "end", "target", "hinge", "pole", "weight", "twist", "soft_start"])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused_by_name(name, wrong):
    good = {"root": 0 * X, "mid": Y, "end": X + Y, "target": X, "hinge": Y, "pole": Y}
    arguments = {key: rows(value) for key, value in good.items()}
    arguments |= dict.fromkeys(("weight", "twist", "soft_start"), 1.0)
    arguments[name] = arguments[name] * 1.0 + wrong
    with pytest.raises(ValueError, match=name):
        turn_leg(**arguments)


def test_missing_and_misshapen_input_is_refused():
    with pytest.raises(ValueError, match="target"):
        turn_leg(*np.zeros((3, 1, 3)), np.zeros((1, 2)), hinge=rows(Y))
    with pytest.raises(ValueError, match="pole"):
        solve(rows(0 * X), rows(X), 1, 1, None)
    with pytest.raises(ValueError, match="upper"):
        solve(rows(0 * X), rows(X), -1, 1, rows(Y))


def test_directions_of_any_length_mean_the_same():
    for scale in (1e-30, 1e12):
        close(bent_leg(X + Z, pole=rows(scale * (Y + Z))).mid, bent_leg(X + Z, pole=rows(Y + Z)).mid, 1e-12)


# The parents, poles, twist and weight of ozz's suite ----------------------------------------------------------------

PARENTS = {
    "identity": np.eye(3),
    "moved": np.eye(3),
    "turned": from_rotvec(X * np.pi / 3),
    "scaled": 2 * np.eye(3),
    "squeezed": np.diag([1.0, 2, 1]),
    "mirrored": -3 * np.eye(3),
}


@pytest.mark.parametrize("name", PARENTS)
@pytest.mark.parametrize("target, turn", [((1, 1, 0), 0), ((0, 1, 1), -QUARTER), ((0, 1, -1), QUARTER)])
def test_leg_turns_about_the_pole_under_any_parent(name, target, turn):
    parent, shift = PARENTS[name], 3 * Y if name == "moved" else 0 * Y
    points = np.array([0 * X, Y, X + Y, target]) @ parent.T + shift
    pole, axis = parent @ Y, parent @ Y / np.linalg.norm(parent @ Y) * np.sign(np.linalg.det(parent))
    leg = turn_leg(*points[:, None], hinge=rows(pole), pole=rows(pole))
    close(leg.upper[0], from_rotvec(axis * turn))
    close(leg.lower, leg.upper)  # the mid joint is unchanged
    close(leg.residual, 0)


@pytest.mark.parametrize(
    "pole, target, turn",
    [
        (Y, X + Y, 0 * X),
        (Z, X + Z, QUARTER * X),
        (-Z, X - Z, -QUARTER * X),
        (X, X - Y, -QUARTER * Z),
        (-X, Y - X, QUARTER * Z),
    ],
)
def test_pole_turns_the_whole_leg_and_leaves_the_mid_joint(pole, target, turn):
    leg = bent_leg(target, pole=rows(pole))
    close(start_turn(leg), turn)
    close(leg.lower, leg.upper)
    close(leg.residual, 0)


def test_zero_scale_changes_nothing():
    leg = turn_leg(*np.zeros((3, 1, 3)), rows(X), hinge=rows(Y), pole=rows(Y))
    close(leg.upper[0], np.eye(3), 0)
    close(leg.lower[0], np.eye(3), 0)
    close(leg.residual, 1, 0)


@pytest.mark.parametrize("joints", [(0 * X, 0 * X, X), (0 * X, X, X)])
def test_leg_with_a_segment_of_no_length_stays_and_says_so(joints):
    leg = turn_leg(*(rows(v) for v in joints), rows(Y), hinge=rows(Z))
    close(leg.end, rows(X), 0)
    close(leg.residual, np.sqrt(2), 1e-12)


@pytest.mark.parametrize("twist, turn", [(0, 0), (QUARTER, QUARTER), (2 * np.pi, 0)])
def test_twist_turns_about_the_line_to_the_target(twist, turn):
    leg = bent_leg(X + Y, twist=np.array([twist]))
    close(start_turn(leg), turn * (X + Y) / np.sqrt(2))
    close(leg.residual, 0)


@pytest.mark.parametrize("weight, share", [(1, 1), (1.1, 1), (0.5, 0.5), (0, 0), (-0.1, 0)])
def test_weight_shares_out_the_turn_and_is_clamped(weight, share):
    leg = bent_leg(2 * X, weight=weight)
    close(start_turn(leg), -share * QUARTER * Z)
    close(mid_turn(leg), share * QUARTER * Z)
    assert (leg.residual[0] < REACHED) == (share == 1)


def test_target_in_line_with_the_pole_is_reached():
    along = bent_leg(np.sqrt(2) * Y, pole=rows(Y))
    close(along.residual, 0)
    beside = bent_leg((0.001, np.sqrt(2), 0), pole=rows(Y))
    close(beside.residual, 0)
    close(start_turn(beside), np.pi / 4 * Z, 1e-3)
    close(mid_turn(bent_leg(3 * Y, pole=rows(Y))), QUARTER * Z)


def test_reversed_bend_is_reached_bending_the_other_way():
    for pole in (Y, -Y):
        leg = bent_leg(X, pole=rows(pole))
        close(leg.residual, 0)
        assert leg.mid[0] @ pole > 0.5
    for hinge in (Y, -Y):
        straight = turn_leg(rows(0 * X), rows(X), rows(2 * X), rows(X), hinge=rows(hinge))
        close(straight.residual, 0)
        assert straight.mid[0] @ hinge > 0.5


@pytest.mark.parametrize("x, residual", [(2, 0), (3, 1)])
def test_straight_leg_stays_straight(x, residual):
    leg = turn_leg(rows(0 * X), rows(X), rows(2 * X), rows(x * X), hinge=rows(Y))
    close(leg.upper[0], np.eye(3), 1e-12)
    close(leg.lower[0], np.eye(3), 1e-12)
    close(leg.residual, residual, 1e-12)


def test_target_on_the_start_joint_folds_the_leg_and_leaves_the_upper_segment():
    leg = bent_leg(0 * X)
    close(leg.upper[0], np.eye(3), 1e-12)
    close(mid_turn(leg), -QUARTER * Z)
    close(leg.residual, 0)


# Beyond that suite ----------------------------------------------------------------------------------------------


def test_hint_chain_and_target_in_different_planes():
    """A wrong order of rotations shows only here: in one plane all orders agree."""
    joints = rows((0.1, 0.2, 0.3), (0.3, 1.1, 0.1), (1.2, 0.8, 0.6))
    target, pole = rows((-0.4, 0.6, 1.1)), rows((0.3, -0.5, 0.8))
    leg = turn_leg(*joints[:, None], target, hinge=rows(X), pole=pole)
    close(leg.residual, 0)
    axis = (target - joints[0])[0] / length(target - joints[0])
    side = pole[0] - pole[0] @ axis * axis
    bend = leg.mid[0] - joints[0] - (leg.mid[0] - joints[0]) @ axis * axis
    close(np.cross(bend, side), 0, 1e-12)
    assert bend @ side > 0
    # The normal of the bend plane goes with the segments: their twist is kept.
    old = np.cross(joints[1] - joints[0], joints[2] - joints[1])
    new = np.cross(leg.mid[0] - joints[0], leg.end[0] - leg.mid[0])
    for turn in (leg.upper, leg.lower):
        close(np.cross(rotate(turn, old)[0], new), 0, 1e-12)
        assert rotate(turn, old)[0] @ new > 0


def test_keep_side_carries_the_knee_across_the_pole():
    """Solved frame after frame, exactly through the pole and a hair beside it."""
    for beside in (0.0, 1e-4):
        axis, bend, last = rows(X), rows(Y), None
        for angle in np.linspace(0.3, np.pi - 0.3, 500):
            target = rows(1.4 * np.array([np.cos(angle), np.sin(angle), beside]))
            leg = solve(rows(0 * X), target, 1.0, 1.0, rows(Y), last_axis=axis, last_bend=bend, keep_side=True)
            axis = target
            bend = leg.mid - 0.5 * leg.end
            assert last is None or length(leg.mid - last)[0] < 0.05
            last = leg.mid
        assert bend[0, 1] < 0  # the far side of the pole: carried over, not flipped


def test_one_frame_and_no_frame_have_the_same_form():
    assert bent_leg(np.zeros((0, 3))).upper.shape == (0, 3, 3)
    many = bent_leg(np.array([X, 1.5 * Y, X + Z]))
    close(many.mid[1], bent_leg(1.5 * Y).mid[0], 1e-15)
