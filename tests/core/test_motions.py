"""Bones that go along with a part of a corrected body, whatever carries them and however their channels act."""

from dataclasses import replace

import numpy as np
import pytest
from core import grounds, walks
from core.figures import apply, options

from foot_ik_addon.core.motions import about, channels_along, leg_motions, magnified, moved_joints, pole_motion
from foot_ik_addon.core.plan import make_plan
from foot_ik_addon.core.pose import LegJob, Rows, correct
from foot_ik_addon.core.rotations import (
    from_rotvec,
    length,
    nearest_rotation,
    rotate,
    square_to,
    transform,
    unit_and_length,
)

EXACT = 1e-9
RNG = np.random.default_rng(5)
COUNT = 20


def rigid(turn: float = 2.0) -> np.ndarray:
    """(F, 4, 4): any rigid motions."""
    old, new = RNG.normal(size=(2, COUNT, 3))
    return about(from_rotvec(turn * RNG.normal(size=(COUNT, 3))), old, new)


def scaled(size: float) -> np.ndarray:
    return np.diag([size, size, size, 1.0])


@pytest.mark.parametrize("size", (1.0, 0.01))
def test_a_bone_makes_the_motion_that_its_carrier_does_not_make(size):
    space, basis, motion, carrier = rigid() @ scaled(size), rigid(), rigid(), rigid()
    axes = space[:, :3, :3] @ from_rotvec(RNG.normal(size=(COUNT, 3)))  # as without Local Location
    pose = space @ basis
    turn, location = channels_along(pose, basis, axes, motion, carrier)
    head = transform(carrier, pose[:, :3, 3]) + rotate(carrier[:, :3, :3] @ axes, location - basis[:, :3, 3])
    np.testing.assert_allclose(head, (motion @ pose)[:, :3, 3], atol=EXACT)
    shown = (carrier @ space)[:, :3, :3] @ turn
    np.testing.assert_allclose(nearest_rotation(shown), nearest_rotation((motion @ pose)[:, :3, :3]), atol=EXACT)


def test_a_bone_that_is_carried_all_the_way_keeps_its_channels():
    space, basis, motion = rigid(), rigid(), rigid()
    turn, location = channels_along(space @ basis, basis, space[:, :3, :3], motion, motion)
    np.testing.assert_allclose(turn, basis[:, :3, :3], atol=EXACT)
    np.testing.assert_allclose(location, basis[:, :3, 3], atol=EXACT)


def test_a_connected_bone_keeps_its_location():
    space, basis = rigid(), rigid()
    _, location = channels_along(space @ basis, basis, np.zeros((COUNT, 3, 3)), rigid(), rigid())
    assert (location == basis[:, :3, 3]).all()


def test_a_bone_that_cannot_be_moved_in_some_frames_is_moved_in_the_others():
    space, motion = rigid(), rigid()
    axes = space[:, :3, :3].copy()
    axes[3:7] = 0.0
    still = np.broadcast_to(np.eye(4), space.shape)
    _, location = channels_along(space, still, axes, motion, still)
    head = space[:, :3, 3] + rotate(axes, location)
    movable = axes.any((1, 2))
    np.testing.assert_allclose(head[movable], (motion @ space)[movable, :3, 3], atol=EXACT)
    assert not location[~movable].any()


def test_the_bones_of_a_leg_stay_joined_and_the_pole_stays_on_the_side_of_the_knee():
    clip = walks.clip_of(walks.stride())
    corrected = apply(clip, make_plan(clip, grounds.slope(15), options())).corrected
    for i, leg in enumerate(clip.legs):
        joints = leg.joints
        motions = leg_motions(joints, leg.toe[:, :3, 3], corrected, i)
        hip, knee, ankle = (transform(motions[k], joints[:, k]) for k in range(3))
        np.testing.assert_allclose(transform(motions[0], joints[:, 1]), knee, atol=EXACT)
        np.testing.assert_allclose(transform(motions[1], joints[:, 2]), ankle, atol=EXACT)
        np.testing.assert_allclose(transform(motions[3], leg.toe[:, :3, 3]), transform(motions[2], leg.toe[:, :3, 3]))
        axis = unit_and_length(ankle - hip)[0]
        pole = transform(pole_motion(joints, corrected, i), joints[:, 0] + 3 * (joints[:, 1] - joints[:, 0]))
        side, was = (unit_and_length(square_to(point - hip, axis))[0] for point in (pole, knee))
        bent = length(square_to(knee - hip, axis)) > 0.02
        assert bent.any()
        np.testing.assert_allclose(side[bent], was[bent], atol=1e-3)


@pytest.mark.parametrize("away", (0.0, 300.0))
def test_a_corrected_pose_is_off_by_no_more_than_it_magnifies_a_rounding(away):
    """Legs from folded to straight, raised onto a step, at the origin and far from it; single precision rounds them."""
    bend = np.geomspace(1e-7, 1.2, 200)[:, None]
    hip = np.array([0.0, 0.1, 1.0]) + away
    thigh = 0.5 * np.column_stack([np.sin(bend), 0 * bend, -np.cos(bend)])
    leg = np.stack([0 * thigh, thigh, thigh * (0, 1, 2)], 1)
    leg = hip + rotate(from_rotvec(np.array([0.3, 0.4, 0.5])), leg)
    rows = Rows(np.zeros((1, 3)), (False,), *np.zeros((3, 200, 1, 3)), np.zeros(200), np.array([[0.38, 0.97]]))
    rows = replace(rows, move=rows.move + (0.05, 0.02, 0.3))

    def corrected(joints: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        foot = np.tile(np.eye(4), (200, 1, 1))
        foot[:, :3, 3] = joints[:, 2]
        clip = walks.Clip(30.0, joints[:, 0], (walks.Leg(joints, foot, None),))
        out = correct(clip, (joints,), np.tile(np.eye(4), (200, 1, 1)), (LegJob("TWO_BONE", 0.0, True),), rows)
        return moved_joints(joints, out, 0), magnified((joints,), out)

    exact, most = corrected(leg)
    rounded, _ = corrected(leg.astype(np.float32).astype(float))
    off = np.abs(rounded - exact).max((1, 2))
    assert (off < 3e-7 * most).all()
    assert most.max() > 1e3 and most.min() < 3 * max(away, 1)
