"""How high the pelvis must be: one smooth curve inside the tube of heights from which the legs reach."""

from __future__ import annotations

import numpy as np

from .curves import curve_between

SETTLE = 0.3
"""Time constant in seconds with which the pelvis follows its feet: about a third of a stride."""
MARGIN = 1.0
"""Seconds added to both ends of the clip, so that the ends of the curve are free."""
FARTHEST = 0.9999
"""The farthest a leg is ever extended, as a share of its length."""
NEARLY_STRAIGHT = 0.975
"""The pelvis keeps legs below this extension, unless the clip itself extends them more: nearer to straight, a knee
turns by 20 degrees for each percent of the leg's length, and pops."""


FOLDED = 0.38
"""Legs fold to this extension where the ground asks for it, and farther only if the clip does: a knee at 45 degrees."""


def reach_limits(extension: np.ndarray) -> np.ndarray:
    """(2,): how near and how far a leg is brought, as shares of its length: as far as the clip itself goes in all but
    its most extreme frames. `extension` (F,) is what it does."""
    near, far = np.percentile(extension, [2, 95])
    return np.array([min(near, FOLDED), min(far, NEARLY_STRAIGHT)])


def no_straighter(animated: np.ndarray, extension: np.ndarray, stands: np.ndarray) -> np.ndarray:
    """(F,): how far the pelvis lets a leg be extended in the air, from its extension (F,) as animated and as corrected;
    infinite where it `stands` (F,) bool, and until halfway to its landing.

    Before it lands a leg is straighter than then by no more than it is animated: one that reaches down for lower ground
    would be stretched, and the knee would snap as it takes the weight.
    """
    out, at = np.full(len(stands), np.inf), np.flatnonzero(stands)
    if len(at):
        air = np.flatnonzero(~stands)
        k = np.searchsorted(at, air)
        since, landing = air - at[(k - 1).clip(0)], at[k.clip(None, len(at) - 1)]
        lands = (landing - air > 0) & ((landing - air <= since) | (k == 0))
        air, landing = air[lands], landing[lands]
        out[air] = extension[landing] + np.maximum(animated[air] - animated[landing], 0.0)
    return out


def pelvis_curve(preferred: np.ndarray, lowest: np.ndarray, highest: np.ndarray, fps: float) -> np.ndarray:
    """(F,): the smooth curve of pelvis heights near `preferred` (F,) between `lowest` and `highest` (F,; infinite where
    free). Whole hills are climbed by it.

    A leg that must reach comes before one that is folded: around the frames in which not both can be, `lowest` does not
    count. It would press the curve into the kinks of `highest` there.
    """
    crossed = np.flatnonzero(lowest > highest)
    if len(crossed):
        frames = np.arange(len(lowest))
        after = np.searchsorted(crossed, frames).clip(None, len(crossed) - 1)
        away = np.minimum(np.abs(frames - crossed[after]), np.abs(frames - crossed[(after - 1).clip(0)]))
        lowest = np.where(away < SETTLE * fps, -np.inf, lowest)
    return curve_between(preferred, lowest, highest, SETTLE * fps, max(2, round(MARGIN * fps)))
