"""Lift a swinging foot over the ground that it would cut, smoothly and from before the obstacle."""
from __future__ import annotations

import numpy as np

from .clip import Clip, smoothed
from .footprints import HEADROOM
from .ground import Ground

SPREAD = 0.06
"""Seconds: the blur by which a lift begins before the obstacle and ends behind it."""
ROUNDS = 12


def swing_lift(clip: Clip, before: np.ndarray, after: np.ndarray, standing: np.ndarray, ground: Ground) -> np.ndarray:
    """(F,): height by which a foot must be lifted in the frames in which it does not stand.

    `before`, `after` (F, S, 3) are its sole points as animated and as corrected so far, `standing` (F,) bool. What the
    clip itself cuts of its flat floor is not made good.
    """
    free = np.flatnonzero(~standing)
    if not len(free):
        return np.zeros(len(clip))
    points = after[free]
    count = points.shape[1]
    heights, _ = ground.below((points + (0, 0, HEADROOM)).reshape(-1, 3), np.repeat(free, count))
    own = np.maximum(-before[free, :, 2], 0)
    cut = heights.reshape(-1, count) - points[..., 2] - own
    need = np.zeros(len(clip))
    need[free] = np.nan_to_num(cut, nan=0.0).max(1).clip(0)
    lift = need
    for _ in range(ROUNDS):
        lift = np.where(standing, 0.0, np.maximum(need, smoothed(lift, clip.frames(SPREAD))))
    return lift
