"""Two-bone IK in closed form: where the knee goes, and how far an animated leg must turn to reach a target.

Everything is in one space (world), any unit, frames first. The triangle is solved by the law of cosines in
the half-angle form, which keeps its digits near the straight and the folded leg (Kahan, 2014, "Miscalculating
area and angles of a needle-like triangle").
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .checks import lengths, numbers, vectors
from .rotations import (
    IDENTITY,
    align,
    cross,
    from_rotvec,
    length,
    perpendicular,
    rotate,
    square_to,
    to_rotvec,
    unit_and_length,
    where_needed,
)

# Shares of the leg's length.
EPS = 1e-12
# A bend of less than this is weighed against the hinge.
STRAIGHT = 3e-4
# Nearer to the pole than this (sine of the angle) the pole's own direction says little.
NEAR_POLE = 0.02
# Where the leg points when neither the target nor the past tells: down.
REST_AXIS = np.array([0.0, 0.0, -1.0])


@dataclass(frozen=True)
class TwoBone:
    """Solved joints: mid and end (F, 3), and residual (F,), the distance from the end to the target."""

    mid: np.ndarray
    end: np.ndarray
    residual: np.ndarray


@dataclass(frozen=True)
class LegTurn:
    """World rotations of the two segments (F, 3, 3), the joints after them (F, 3), and what is missing (F,)."""

    upper: np.ndarray
    lower: np.ndarray
    mid: np.ndarray
    end: np.ndarray
    residual: np.ndarray


def soften(distance: np.ndarray, length: np.ndarray | float, soft_start: np.ndarray | float = 1.0) -> np.ndarray:
    """The distance (F,) that a chain of `length` goes to for a target at `distance`, eased in near full reach.

    From the share `soft_start` of the length on (s = L (1 - soft_start), the last s of the reach) it is
    L - s exp(-(d - (L - s)) / s): slope 1 at the onset, monotone, never past the target, and L only at
    infinity. soft_start 1 is a hard stop at L. All arguments broadcast; raises ValueError on NaN.
    """
    d, full = lengths("distance", distance), lengths("length", length)
    s = full * (1.0 - np.clip(numbers("soft_start", soft_start), 0.0, 1.0))
    over = np.maximum(d - (full - s), 0.0)
    with np.errstate(over="ignore", under="ignore"):
        eased = full - s - s * np.expm1(-over / np.where(s > 0, s, 1.0))
    return np.where(over > 0, np.minimum(np.minimum(eased, full), d), d)


def solve(
    root: np.ndarray,
    target: np.ndarray,
    upper: np.ndarray | float,
    lower: np.ndarray | float,
    pole: np.ndarray,
    *,
    last_axis: np.ndarray | None = None,
    last_bend: np.ndarray | None = None,
    soft_start: np.ndarray | float = 1.0,
    keep_side: bool = False,
) -> TwoBone:
    """Place the mid and end joints of a leg that starts at `root` (F, 3) and is to reach `target` (F, 3).

    upper and lower are the segment lengths (F,) or a number; pole (F, 3) is the direction from the root that
    the mid joint bends toward, of any length. A target on the root leaves the leg along `last_axis` (F, 3).
    Where the target lies on the pole's line the bend is `last_bend` (F, 3), carried from last_axis to the new
    axis where both are given; without it a fixed axis. No rule of the target and the pole alone can be
    continuous there (hairy ball), so `keep_side` lets the pole choose only the plane and last_bend, then
    required, the side: a target that crosses the pole, solved frame after frame, does not flip the knee.
    The distance is clamped to what the lengths allow, less a hair, and eased by `soften`.
    Raises ValueError on wrong shapes, negative lengths and numbers that are not finite.
    """
    root, target, pole = vectors("root", root), vectors("target", target), vectors("pole", pole)
    upper, lower = lengths("upper", upper), lengths("lower", lower)
    unit = np.where(upper + lower > 0, upper + lower, 1.0)
    a, b = upper / unit, lower / unit

    toward, d = unit_and_length(target - root)
    old_axis = np.broadcast_to(REST_AXIS, toward.shape)
    if last_axis is not None:
        given = unit_and_length(vectors("last_axis", last_axis))[0]
        old_axis = np.where(length(given)[..., None] > 0.5, given, old_axis)
    axis = np.where((d > EPS * unit)[..., None], toward, old_axis)

    past = None
    if last_bend is not None:
        past = unit_and_length(vectors("last_bend", last_bend))[0]
        if last_axis is not None:
            past = rotate(align(old_axis, axis), past)
        past = unit_and_length(square_to(past, axis))[0]
    elif keep_side:
        raise ValueError("last_bend is needed to keep the side")
    side = _pole_side(unit_and_length(pole)[0], axis, past)
    if keep_side and past is not None:
        line = square_to(unit_and_length(pole)[0], axis)
        agreed = np.einsum("...i,...i->...", line, past)[..., None] * line
        side = agreed + np.maximum(NEAR_POLE - length(line), 0.0)[..., None] * past
    bend, size = unit_and_length(square_to(side, axis))
    bend = np.where((size > EPS)[..., None], bend, perpendicular(axis))

    reach = soften(d, upper + lower, soft_start) / unit
    reach = np.clip(reach, np.minimum(np.abs(a - b) + EPS, 1 - EPS), 1 - EPS)
    along = 0.5 * (reach + (a - b) / reach)
    aside = 0.5 * np.sqrt(np.maximum((1 - reach) * (1 + reach) * (reach - a + b) * (reach + a - b), 0.0)) / reach
    size = np.where(upper + lower > 0, unit, 0.0)
    mid = root + (size * along)[..., None] * axis + (size * aside)[..., None] * bend
    end = root + (size * reach)[..., None] * axis
    return TwoBone(mid, end, unit_and_length(target - end)[1])


def turn_leg(
    root: np.ndarray,
    mid: np.ndarray,
    end: np.ndarray,
    target: np.ndarray,
    *,
    hinge: np.ndarray,
    pole: np.ndarray | None = None,
    soft_start: np.ndarray | float = 1.0,
    weight: np.ndarray | float = 1.0,
    twist: np.ndarray | float = 0.0,
) -> LegTurn:
    """Turn an animated leg, joints root, mid, end (F, 3), so that its end comes to `target` (F, 3).

    new_mid = root + upper @ (mid - root) and new_end = new_mid + lower @ (end - mid), upper and lower being
    world rotations. The leg swings the shortest way from its old axis (root to end) to the new one, then both
    segments turn in the bend plane, so the knee keeps its side and each segment its twist against that plane;
    a target on the animated end leaves the leg exactly as it is. `hinge` (F, 3) is the direction in which a
    straight knee bends; it fades in as the animated bend vanishes, so that noise there cannot turn the plane.
    `pole` (F, 3), a direction, replaces the bend direction where it is not along the leg.

    soft_start as in `soften` (F,) or a number: targets nearer than that share of the leg are met exactly.
    weight (F,) or a number in 0..1 (clamped) shares out both rotations; twist (F,) in radians turns the leg about the
    axis from the root to its new end. A target on the root keeps the upper segment and folds the lower one
    back. A leg with a segment of no length stays as it is, and residual tells by how much the target is missed.
    Raises ValueError on wrong shapes and numbers that are not finite.
    """
    root, mid, end = vectors("root", root), vectors("mid", mid), vectors("end", end)
    target, hinge = vectors("target", target), vectors("hinge", hinge)
    weight, twist = numbers("weight", weight), numbers("twist", twist)

    ways = unit_and_length(np.stack([target - root, end - root, mid - root, end - mid]))
    (toward, old_axis), (far, old_reach, upper_length, lower_length) = ways[0][:2], ways[1]
    full = upper_length + lower_length
    whole = np.minimum(upper_length, lower_length) > np.maximum(EPS * full, 1e-300)
    unit = np.where(whole, full, 1.0)
    offset = (mid - root) / unit[..., None]
    met = far <= EPS * unit
    # A leg folded onto its root has no axis of its own: take the one nearest to the target's.
    old_axis = where_needed(old_reach > EPS * unit, old_axis, lambda: _across(toward, unit_and_length(offset)[0]))

    a, b = upper_length / unit, lower_length / unit
    reach = np.stack([np.minimum(old_reach, full), soften(far, full, soft_start)])
    (old_root, new_root), (old_end, new_end) = _angles(a, b, reach / unit)
    higher = np.maximum(a * (np.sin(new_root) - np.sin(old_root)), 0.0)
    was, plane, bend = _bends(square_to(offset, old_axis), unit_and_length(hinge)[0], old_axis, higher)

    # Stretch the leg along its old axis, swing it, then fold it again in the new plane.
    normal = cross(old_axis, was)
    # With the target on the root any axis will do: the one that leaves the upper segment alone.
    still = (old_root - new_root)[..., None] * cross(old_axis, bend)
    straight = normal * -old_root[..., None], normal * old_end[..., None]
    straight_upper, straight_lower, still = from_rotvec(np.stack([*straight, still]))
    swing = np.where(met[..., None, None], still, align(old_axis, toward))
    axis, plane, bend = rotate(swing, np.stack([old_axis, plane, bend]))
    if pole is not None:
        bend = _pole_side(unit_and_length(vectors("pole", pole))[0], axis, bend)
        bend = unit_and_length(square_to(bend, axis))[0]
        roll = np.arctan2((cross(axis, plane) * bend).sum(-1), (plane * bend).sum(-1))
        swing = from_rotvec(axis * roll[..., None]) @ swing
    normal, twisted = cross(axis, bend), axis * np.broadcast_to(twist, far.shape)[..., None]
    folded = normal * new_root[..., None], normal * -new_end[..., None]
    spin, fold_upper, fold_lower = from_rotvec(np.stack([twisted, *folded]))
    upper = spin @ fold_upper @ swing @ straight_upper
    lower = spin @ fold_lower @ swing @ straight_lower
    upper, lower = _weighted(np.stack([upper, lower]), weight, whole)
    new_mid = root + rotate(upper, mid - root)
    new_end = new_mid + rotate(lower, end - mid)
    return LegTurn(upper, lower, new_mid, new_end, unit_and_length(target - new_end)[1])


def _across(toward: np.ndarray, thigh: np.ndarray) -> np.ndarray:
    """Unit directions (F, 3) square to the unit directions of thighs (F, 3), nearest to `toward` (F, 3)."""
    across, size = unit_and_length(square_to(toward, thigh))
    return where_needed(size > 0, across, lambda: perpendicular(thigh))


def _angles(a: np.ndarray, b: np.ndarray, reach: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Angles at the root and at the end of triangles with sides a, b and `reach`, which is clamped to fit."""
    d = np.clip(reach, np.maximum(np.abs(a - b), EPS), np.maximum(a + b, EPS))
    near, slack, whole, rest = d - a + b, a + b - d, a + b + d, d + a - b
    near, slack, rest = np.maximum(near, 0.0), np.maximum(slack, 0.0), np.maximum(rest, 0.0)
    return (
        2 * np.arctan2(np.sqrt(near * slack), np.sqrt(whole * rest)),
        2 * np.arctan2(np.sqrt(rest * slack), np.sqrt(whole * near)),
    )


def _bends(
    aside: np.ndarray, hinge: np.ndarray, axis: np.ndarray, higher: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Unit bend directions (F, 3) square to the axis: as animated, of the segments' twist, and to be solved in.

    The animated bend is that of the mid joint's offset `aside`, noise in a straight leg. The twist plane
    therefore turns to the hinge as the offset vanishes. The leg to be solved does too, but only so far as the
    mid joint is to lie `higher` (F,) above the axis than it did: else it would not stay as it is.
    """
    q = length(aside)
    hinge = square_to(hinge, axis)
    most = STRAIGHT * np.exp(-((q / (8 * STRAIGHT)) ** 2))
    # Squared twice: what a nearly parallel hinge leaves is rounded.
    plane, size = unit_and_length(square_to(aside + most[..., None] * hinge, axis))
    plane = where_needed(size > EPS, plane, lambda: perpendicular(axis))
    was = np.where((q > EPS)[..., None], unit_and_length(square_to(aside, axis))[0], plane)
    bend, size = unit_and_length(square_to(aside + np.minimum(most, higher)[..., None] * hinge, axis))
    return was, plane, np.where((size > EPS)[..., None], bend, was)


def _pole_side(pole: np.ndarray, axis: np.ndarray, bend: np.ndarray | None) -> np.ndarray:
    """Directions (F, 3), not unit, of the pole square to the axis; toward `bend` where the pole is along the axis."""
    side = square_to(pole, axis)
    if bend is None:
        return side
    return side + np.maximum(NEAR_POLE - length(side), 0.0)[..., None] * bend


def _weighted(r: np.ndarray, weight: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Rotations (..., F, 3, 3) with their angle scaled by the weight, clamped to 0..1; none where not `whole`."""
    share = np.where(whole, np.clip(weight, 0.0, 1.0), 0.0)[..., None]
    if (share < 1.0).any():
        r = np.where(share[..., None] < 1.0, from_rotvec(to_rotvec(r) * share), r)
    return np.where(share[..., None] > 0.0, r, IDENTITY)
