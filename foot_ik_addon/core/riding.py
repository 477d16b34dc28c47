"""Ground that a character is animated to go along with, without hanging on it: a train on which it was keyed to ride.

Its feet stand where they are slow on the ground, however fast that goes.
"""

from __future__ import annotations

import numpy as np

from .clip import BALL, Clip, Sole
from .ground import Ground
from .rotations import transform


def rides_of(clip: Clip, soles: list[Sole], ground: Ground) -> list[np.ndarray]:
    """Per leg (F, 3): how far, level, the ground under a foot has gone since the first frame; in each frame only if the
    foot goes along with it rather than stays."""
    if ground.still:
        return [np.zeros((len(clip), 3)) for _ in soles]
    out = []
    for leg, sole in zip(clip.legs, soles, strict=True):
        ball = sole.tracks(leg)[:, BALL]
        steps = np.zeros((len(clip), 3))
        heights, pieces = ground.layers(ball[:, :2], np.arange(len(clip)))
        for f, k in np.argwhere(np.isfinite(heights[:-1])):
            own, point = (ball[f + 1] - ball[f])[:2], np.append(ball[f, :2], heights[f, k])
            carried = ground.carried(int(pieces[f, k]), int(f), np.array([f + 1]), point[None])[0]
            flow = transform(carried, point) - point
            if np.linalg.norm(own - flow[:2]) < np.linalg.norm(own - steps[f + 1, :2]):
                steps[f + 1, :2] = flow[:2]
        out.append(np.cumsum(steps, 0))
    return out
