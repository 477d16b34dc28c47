"""How the body leans into the slope that it walks on: one smooth curve of turns about the pelvis.

Forward uphill, backward downhill, sideways on a cross slope: always toward where the ground rises, by its angle.
"""

from __future__ import annotations

import numpy as np

from .clip import Clip, Sole, smoothed
from .footprints import Footprint
from .ground import Ground
from .rotations import length, rotate, transform

WINDOW = 0.65
"""Seconds: the spread of the Gaussian in time by which footprints tell the slope, so a few steps before and after."""
BASE = 0.5
"""Legs between footprints at which their heights tell as much of the slope as their tilts. On a plane both say the
same; on stairs, where the tilts say level, the body leans by less than the stairs rise, and does not sway from the left
foot's step to the right one's."""
FAINT = 0.1
"""Feet on the ground, on average in that time, below which the body straightens up."""
STEADY = 0.02
"""Ground that turns by more than this (radians), or rises by more (legs), within the clip is no slope: on a deck that
rocks, or a lift, the body stays upright."""
LOOKS = 16
"""Frames in which that is looked at."""
LEVEL = 1e-3
"""Radians below which a clip's ground counts as level."""


def lean_curve(clip: Clip, soles: list[Sole], prints: list[list[Footprint]], ground: Ground) -> np.ndarray:
    """(F, 3): rotation vectors, level, that turn the body into the slope by all of its angle; zero on level ground.

    A plane is fitted to the footprints around each frame, weighted by a Gaussian in time: to their places by least
    squares, and to their tilts.
    """
    moments = np.zeros((len(clip), 12))
    for sole, foot in zip(soles, prints, strict=True):
        for p in foot:
            if is_steady(p, sole, ground, len(clip)):
                at, z, normal = p.place[:2], p.place[2], p.tilt[:, 2]
                row = [[1.0, z], at, z * at, -normal[:2] / normal[2], np.outer(at, at).ravel()]
                moments[p.contact.start : p.contact.stop] += np.concatenate(row)
    moments = smoothed(moments, clip.frames(WINDOW))
    feet = moments[:, :1]
    mean = moments / np.maximum(feet, 1e-9)
    z, at, tilt = mean[:, 1:2], mean[:, 2:4], mean[:, 6:8]
    spread = mean[:, 8:].reshape(-1, 2, 2) - at[:, :, None] * at[:, None]
    rise = mean[:, 4:6] - z * at + BASE**2 * tilt
    gradient = np.linalg.solve(spread + BASE**2 * np.eye(2), rise[..., None])[..., 0]
    gradient *= -np.expm1(-((feet / FAINT) ** 2))
    steep = length(gradient)[:, None]
    toward = np.column_stack([-gradient[:, 1], gradient[:, 0], 0 * gradient[:, 0]])
    lean = toward * (np.arctan(steep) / np.maximum(steep, 1e-9))
    return lean if np.abs(lean).max() > LEVEL else np.zeros_like(lean)


def is_steady(p: Footprint, sole: Sole, ground: Ground, count: int) -> bool:
    """Whether the ground under a footprint neither tilts nor rises in the `count` frames of the clip."""
    frames = np.unique(np.linspace(0, count - 1, LOOKS).astype(int))
    carried = p.carried(frames, sole.plan, ground)
    turned = length(rotate(carried[:, :3, :3], p.tilt[:, 2]) - p.tilt[:, 2])
    risen = np.abs(transform(carried, p.place)[:, 2] - p.place[2])
    return bool(max(turned.max(), risen.max()) < STEADY)
