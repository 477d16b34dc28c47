"""Rotations are written in each bone's own mode, near to what was there, and read back as the same rotation."""
import math
import random

import pytest
from mathutils import Euler, Quaternion

EULER = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
MODES = (*EULER, "QUATERNION", "AXIS_ANGLE")
SAME = 0.002  # radians: near a gimbal lock Blender's float angles are only good to the root of their precision
ROTATIONS = 200


@pytest.fixture
def channels(addon):
    return addon("blender.channels")


def some_rotations(seed, step=None):
    """Rotations at random, or each of them `step` radians from the last."""
    rng = random.Random(seed)
    q = Quaternion([rng.gauss(0, 1) for _ in range(4)]).normalized()
    for _ in range(ROTATIONS):
        axis = [rng.gauss(0, 1) for _ in range(3)]
        q = (q @ Quaternion(axis, rng.uniform(0, math.pi) if step is None else step)).normalized()
        yield q


def rest_of(mode):
    return {"QUATERNION": (1.0, 0.0, 0.0, 0.0), "AXIS_ANGLE": (0.0, 0.0, 1.0, 0.0)}.get(mode, (0.0, 0.0, 0.0))


def between(a, b):
    """Angle of the rotation from one matrix to another."""
    return (a.inverted() @ b).to_quaternion().to_axis_angle()[1]


@pytest.mark.parametrize("mode", MODES)
def test_values_are_the_same_rotation(channels, mode):
    for q in some_rotations(1):
        values = channels.in_mode(q.to_matrix(), mode, rest_of(mode))
        off = between(channels.to_matrix(mode, values), q.to_matrix())
        assert min(off, 2 * math.pi - off) < SAME
        assert len(values) == len(rest_of(mode))


@pytest.mark.parametrize("mode", MODES)
def test_values_follow_a_rotation_without_flips(channels, mode):
    rotations = list(some_rotations(2, step=0.02))
    near = channels.in_mode(rotations[0].to_matrix(), mode, rest_of(mode))
    for q in rotations:
        values = channels.in_mode(q.to_matrix(), mode, near)
        if mode == "QUATERNION":
            assert sum(a * b for a, b in zip(values, near)) > 0.99
        elif mode == "AXIS_ANGLE":
            assert sum(a * b for a, b in zip(values[1:], near[1:])) >= 0
            assert abs(values[0] - near[0]) <= math.pi
        else:
            assert max(abs(a - b) for a, b in zip(values, near)) <= math.pi + SAME
        near = values


@pytest.mark.parametrize("mode", EULER)
def test_euler_angles_keep_whole_turns(channels, mode):
    for turns in (-2, 1, 3):
        near = (0.3 + turns * 2 * math.pi, 0.2, -0.4)
        values = channels.in_mode(Euler((0.31, 0.21, -0.41), mode).to_matrix(), mode, near)
        assert values == pytest.approx((0.31 + turns * 2 * math.pi, 0.21, -0.41), abs=1e-4)


def test_axis_and_angle_keep_whole_turns_and_the_side_of_the_axis(channels):
    near = (0.5 + 4 * math.pi, 0.0, 0.0, 1.0)
    values = channels.in_mode(Quaternion((0, 0, 1), 0.52).to_matrix(), "AXIS_ANGLE", near)
    assert values == pytest.approx((0.52 + 4 * math.pi, 0, 0, 1), abs=1e-5)
    values = channels.in_mode(Quaternion((0, 0, 1), 0.52).to_matrix(), "AXIS_ANGLE", (-0.5, 0.0, 0.0, -1.0))
    assert values == pytest.approx((-0.52, 0, 0, -1), abs=1e-5)


def test_no_rotation_keeps_its_axis(channels):
    values = channels.in_mode(Quaternion().to_matrix(), "AXIS_ANGLE", (0.01, 0.6, 0.8, 0.0))
    assert values == pytest.approx((0, 0.6, 0.8, 0), abs=1e-6)


@pytest.mark.parametrize("mode", (*EULER, "AXIS_ANGLE"))
@pytest.mark.parametrize("far", (1e4, 1e8, -3.4e38))
def test_angles_beyond_single_precision_do_not_spoil_what_follows(channels, mode, far):
    q = Quaternion((0.0, 0.6, 0.8), 0.7)
    near = (far, 0.0, 1.0, 0.0) if mode == "AXIS_ANGLE" else (0.1, far, far)
    values = channels.in_mode(q.to_matrix(), mode, near)
    assert between(channels.to_matrix(mode, values), q.to_matrix()) < SAME
