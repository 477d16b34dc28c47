"""What the planner reads: the legs of one animated character, in clip space.

Clip space is where the clip stands on its flat floor: z is up, the floor is z = 0, and one unit is one leg
(upper + lower), so that every length below is a share of the leg and every rig is the same size. It rides on
whatever carries the character (the armature's parent). `LEG` turns the metres of a 0.9 m leg into legs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .rotations import transform

LEG = 1 / 0.9
"""Metres of an adult's 0.9 m leg -> legs: thresholds are written in the metres people know."""
HEEL, BALL = 0, 1
"""Indices of the heel and the ball among the points of a sole."""


@dataclass(frozen=True)
class Leg:
    """One leg over all frames of a clip, in clip space."""

    joints: np.ndarray
    """(F, 3, 3): heads of upper, lower and foot, that is hip, knee and ankle."""
    foot: np.ndarray
    """(F, 4, 4): pose of the foot bone."""
    toe: np.ndarray | None
    """(F, 4, 4): pose of the toe bone, whose head is the ball joint; None where the rig has none."""
    bends: bool = True
    """The toe can be turned by itself."""

    @property
    def extension(self) -> np.ndarray:
        """(F,): distance from hip to ankle as a share of the leg's own length."""
        hip, _, ankle = np.moveaxis(self.joints, 1, 0)
        return np.linalg.norm(ankle - hip, axis=1) / np.maximum(self.lengths, 1e-9)

    @property
    def lengths(self) -> np.ndarray:
        """(F,): length of upper + lower in each frame, in clip units: control rigs stretch their legs."""
        hip, knee, ankle = np.moveaxis(self.joints, 1, 0)
        return np.linalg.norm(knee - hip, axis=1) + np.linalg.norm(ankle - knee, axis=1)

    @property
    def length(self) -> float:
        """The median of the lengths."""
        return float(np.median(self.lengths))

    def during(self, span: slice | np.ndarray) -> Leg:
        """The leg in some of the frames."""
        return Leg(self.joints[span], self.foot[span], None if self.toe is None else self.toe[span], self.bends)

    def bone_of(self, on_toe: bool) -> np.ndarray:
        """(F, 4, 4): pose of the toe bone where there is one and it is asked for, else of the foot bone."""
        return self.toe if on_toe and self.toe is not None else self.foot


@dataclass(frozen=True)
class Clip:
    """A whole clip: frames at `fps`, the pelvis and the legs that are to be planted."""

    fps: float
    pelvis: np.ndarray
    """(F, 3): head of the pelvis bone."""
    legs: tuple[Leg, ...]

    def __len__(self) -> int:
        return len(self.pelvis)

    def frames(self, seconds: float) -> float:
        """How many frames last so long."""
        return seconds * self.fps


@dataclass(frozen=True)
class Sole:
    """The underside of one foot, attached to the foot bone and, beyond the ball, to the toe bone."""

    points: np.ndarray
    """(S, 3): points of the sole, each in the space of its bone; the first is the heel, the second the ball."""
    on_toe: np.ndarray
    """(S,) bool: which of them are attached to the toe bone."""
    plan: np.ndarray
    """(S, 2): the same points on paper: along the foot from the ball, and across, in legs."""

    def toes(self, leg: Leg) -> np.ndarray:
        """(S,) bool: the points on toes that can be bent."""
        return self.on_toe & (self.plan[:, 0] > 0) & leg.bends

    def tracks(self, leg: Leg) -> np.ndarray:
        """(F, S, 3): where the points go in clip space."""
        out = transform(leg.foot[:, None], self.points[None])
        out[:, self.on_toe] = transform(leg.bone_of(True)[:, None], self.points[None, self.on_toe])
        return out


def runs(mask: np.ndarray) -> list[tuple[int, int]]:
    """(start, stop) of each run of True in a mask (F,)."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], np.asarray(mask, np.int8), [0]))))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def velocity(track: np.ndarray, fps: float) -> np.ndarray:
    """Velocities (F, ...) per second of a track (F, ...); zero for a single frame."""
    return np.gradient(track, axis=0) * fps if len(track) > 1 else np.zeros_like(track)


def smoothed(track: np.ndarray, sigma: float) -> np.ndarray:
    """A track (F, ...) blurred by a Gaussian of `sigma` frames; beyond its ends it is mirrored."""
    radius = min(int(np.ceil(3 * sigma)), len(track) - 1)
    if radius < 1:
        return track
    kernel = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    kernel /= kernel.sum()
    padded = np.concatenate([track[radius:0:-1], track, track[-2 : -radius - 2 : -1]])
    columns = padded.reshape(len(padded), -1).T
    return np.stack([np.convolve(c, kernel, "valid") for c in columns], 1).reshape(track.shape)


def cubic(values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Values (..., C) between their samples (n, C) at `at` (...), by Catmull-Rom splines."""
    i = np.floor(at).astype(int)
    if (i == at).all():
        return values[i]
    i = i.clip(0, len(values) - 2)
    t = (at - i).reshape(at.shape + (1,) * (values.ndim - 1))
    p = [values[np.clip(i + k, 0, len(values) - 1)] for k in (-1, 0, 1, 2)]
    return p[1] + 0.5 * t * (
        p[2] - p[0] + t * (2 * p[0] - 5 * p[1] + 4 * p[2] - p[3] + t * (3 * (p[1] - p[2]) + p[3] - p[0]))
    )
