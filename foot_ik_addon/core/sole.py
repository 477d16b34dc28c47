"""Find the sole of a foot from the clip itself.

Rest poses lie (arms-out BVH rests, mid-stride FBX rests), so the sole is taken where the animation shows it: in
the frames in which the foot is flattest, lowest and slowest, the floor under it is its sole.
"""
from __future__ import annotations

import numpy as np

from .clip import LEG, Clip, Leg, Sole, velocity
from .rotations import normalized, transform

ALONG = (-0.35, 0.0, 0.35, 0.7, 1.0, 1.25, 1.5)
"""Rows of sole points in ankle-to-ball lengths from the ankle's shadow: anthropometry puts the heel about a
third of that length behind the ankle and the tip of the toes half of it beyond the ball."""
WIDTH = 0.07 * LEG
BALL_AHEAD = 0.15 * LEG
"""Where the ball lies ahead of the ankle on a rig without toe bones."""
SETTLE = 0.17
"""Seconds by which a metre a second of speed weighs against a metre of height in the search for planted frames."""
HEEL, BALL = 0, 1


def find_sole(clip: Clip, leg: Leg, forward: np.ndarray) -> Sole:
    """The sole of `leg`; `forward` (F, 3) is where the character faces, for feet without toes."""
    ankle = leg.foot[:, :3, 3]
    ball = leg.toe[:, :3, 3] if leg.toe is not None else ankle + forward * BALL_AHEAD
    best = planted_frames(clip, ankle, ball)
    way = (ball - ankle)[best] * (1, 1, 0)
    size = np.median(np.linalg.norm(way, axis=1))
    if size < 0.01 * LEG:  # a foot that points straight down has no direction of its own
        way, size = forward[best] * BALL_AHEAD, BALL_AHEAD
    way = normalized(way)
    side = np.stack([-way[:, 1], way[:, 0], 0 * way[:, 0]], 1)
    grid = [(u, v) for u in ALONG for v in (-0.5, 0.0, 0.5)]
    grid = [(ALONG[0], 0.0), (1.0, 0.0)] + [g for g in grid if g not in ((ALONG[0], 0.0), (1.0, 0.0))]
    along, across = np.array(grid).T
    plan = np.stack([(along - 1) * size, across * WIDTH], 1)
    on_toe = (along > 1) & (leg.toe is not None)
    shadow = (ankle[best] * (1, 1, 0))[:, None]
    world = shadow + way[:, None] * (along * size)[:, None] + side[:, None] * (across * WIDTH)[:, None]
    bones = np.where(on_toe[:, None, None], (leg.foot if leg.toe is None else leg.toe)[best][:, None], leg.foot[best][:, None])
    local = transform(np.linalg.inv(bones), world)
    return Sole(np.median(local, 0), on_toe, plan)


def planted_frames(clip: Clip, ankle: np.ndarray, ball: np.ndarray) -> np.ndarray:
    """Indices of the frames in which a foot stands most surely: low, flat and slow."""
    speed = sum(np.linalg.norm(velocity(p, clip.fps), axis=1) for p in (ankle, ball))
    score = ankle[:, 2] + ball[:, 2] + SETTLE * speed
    count = max(1, round(min(0.05 * len(clip), clip.frames(0.1))))
    return np.argsort(score, kind="stable")[:count]
