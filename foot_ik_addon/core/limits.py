"""Joint limits: how far a segment may turn from its orientation in the given pose, as its parent carries it.

A joint is either a hinge (one axis, an angle range) or a ball joint (a cone for the swing of the segment and a
range for the twist about it). Rotations are split into swing and twist as in Dobrowolski (2015), "Swing-twist
decomposition in Clifford algebra". Angles are in radians.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .checks import numbers, vectors
from .rotations import (
    align,
    cross,
    from_rotvec,
    length,
    rotate,
    square_to,
    to_quaternion,
    to_rotvec,
    transposed,
    unit_and_length,
)


@dataclass(frozen=True)
class Limits:
    """Limits of the S segments of a chain, each with an optional leading axis of frames.

    axis (S, 3): hinge axes in the space of the joints, as they stand in the given pose; a ball joint has the
    zero vector. low, high (S,): the range of the hinge angle or, in a ball joint, of the twist about the segment, from
    the given pose (a limit measured from rest less what the pose already turns). cone (S,): the most that the
    segment of a ball joint may swing; pi or more leaves it free.
    """

    axis: np.ndarray
    low: np.ndarray
    high: np.ndarray
    cone: np.ndarray

    def checked(self, frames: int, segments: int) -> Limits:
        """The same for all frames, (frames, segments, ...); ValueError on wrong shapes or low above high."""
        # Infinite angles mean "free" and more than half a turn is no limit to a rotation.
        low, high, cone = (
            numbers(name, np.clip(np.asarray(value, float), -2 * np.pi, 2 * np.pi))
            for name, value in (("low", self.low), ("high", self.high), ("cone", self.cone))
        )
        if (low > high).any():
            raise ValueError("low is above high")
        if (cone < 0).any():
            raise ValueError("cone has negative values")
        try:
            return Limits(
                np.broadcast_to(vectors("axis", self.axis), (frames, segments, 3)),
                *(np.broadcast_to(value, (frames, segments)) for value in (low, high, cone)),
            )
        except ValueError as error:
            raise ValueError(f"limits do not fit {segments} segments: {error}") from error

    def take(self, frames: np.ndarray) -> Limits:
        """The limits of some frames (a mask or indices)."""
        return Limits(self.axis[frames], self.low[frames], self.high[frames], self.cone[frames])

    def clamp(self, turn: np.ndarray, segment: int, along: np.ndarray) -> np.ndarray:
        """The turns (F, 3, 3) of one segment, which points `along` (F, 3) in the given pose, within its limits."""
        axis, low, high = self.axis[:, segment], self.low[:, segment], self.high[:, segment]
        hinge = clamp_hinge(turn, axis, low, high)
        ball = clamp_cone(turn, along, self.cone[:, segment], low, high)
        return np.where(self._is_hinge(segment), hinge, ball)

    def toward(self, turn: np.ndarray, segment: int, along: np.ndarray, given: np.ndarray, goal: np.ndarray):
        """Turns (F, 3, 3) within the limits that bring a direction `given` (F, 3) of the given pose to `goal` (F, 3).

        A hinge takes the angle that brings it nearest; a ball joint goes on from its present `turn` the
        shortest way. `along` (F, 3) is the segment's direction in the given pose.
        """
        axis = unit_and_length(self.axis[:, segment])[0]
        flat = square_to(given, axis)
        angle = np.arctan2((cross(axis, flat) * goal).sum(-1), (flat * goal).sum(-1))
        hinge = from_rotvec(axis * clamp_angle(angle, self.low[:, segment], self.high[:, segment])[:, None])
        ball = self.clamp(align(rotate(turn, given), goal) @ turn, segment, along)
        return np.where(self._is_hinge(segment), hinge, ball)

    def turn_from(self, parent: np.ndarray, segment: int, along: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """World turns (F, 3, 3) of a segment from `along` as near to direction `goal`, both (F, 3), as its limits let.

        parent (F, 3, 3) are the world turns of the segment before it.
        """
        still = np.broadcast_to(np.eye(3), parent.shape)
        return parent @ self.toward(still, segment, along, along, rotate(transposed(parent), goal))

    def _is_hinge(self, segment: int) -> np.ndarray:
        return (length(self.axis[:, segment]) > 0)[:, None, None]


def twist_angle(r: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """Angle (...) in -pi..pi of the part of rotations r (..., 3, 3) that is about unit vectors `axis` (..., 3)."""
    q = to_quaternion(r)
    along = np.einsum("...i,...i->...", q[..., 1:], axis)
    return 2 * np.arctan2(along, q[..., 0])


def clamp_hinge(r: np.ndarray, axis: np.ndarray, low: np.ndarray | float, high: np.ndarray | float) -> np.ndarray:
    """The part of rotations r (F, 3, 3) about `axis` (F, 3), its angle within low..high (F,) or numbers.

    Beyond the range the nearer end is taken, around the circle: past half a turn that is the other one.
    """
    axis = unit_and_length(axis)[0]
    return from_rotvec(axis * clamp_angle(twist_angle(r, axis), low, high)[..., None])


def clamp_cone(
    r: np.ndarray, along: np.ndarray, cone: np.ndarray | float, low: np.ndarray | float, high: np.ndarray | float
) -> np.ndarray:
    """Rotations r (F, 3, 3) of a segment that points `along` (F, 3) with swing and twist clamped.

    r = swing @ twist: the swing turns the segment by at most `cone`, the twist about it is within low..high;
    each is (F,) or a number, in radians.
    """
    along = unit_and_length(along)[0]
    swing = align(along, rotate(r, along))
    twist = to_rotvec(transposed(swing) @ r)
    angle = np.einsum("...i,...i->...", twist, along)
    vector = to_rotvec(swing)
    size = length(vector)
    share = np.minimum(1.0, cone / np.where(size > 0, size, 1.0))
    return from_rotvec(vector * share[..., None]) @ from_rotvec(along * clamp_angle(angle, low, high)[..., None])


def clamp_angle(angle: np.ndarray, low: np.ndarray | float, high: np.ndarray | float) -> np.ndarray:
    """Angles (...) brought into low..high by the shorter way around the circle."""
    turn = 2 * np.pi
    # The angle itself may stand for one a whole turn further on that lies in the range.
    later = low + np.remainder(angle - low, turn)
    below, above = (np.abs(np.remainder(angle - end + np.pi, turn) - np.pi) for end in (low, high))
    nearest = np.where(below < above, low, high)
    return np.where((low <= angle) & (angle <= high), angle, np.where(later <= high, later, nearest))
