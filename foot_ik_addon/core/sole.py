"""Find the sole of a foot from the clip itself.

Rest poses lie (arms-out BVH rests, mid-stride FBX rests), so the sole is taken where the animation shows it: in
the frames in which the foot is flattest, lowest and slowest, the floor under it is its sole.
"""

from __future__ import annotations

import numpy as np

from .clip import BALL, LEG, Clip, Leg, Sole, velocity
from .contacts import SPAN, away_from, between_frames, parts_of, point_contact
from .rotations import normalized, transform

ALONG = (-0.35, 0.0, 0.35, 0.7, 1.0, 1.25, 1.5)
"""Rows of sole points in ankle-to-ball lengths from the ankle's shadow: anthropometry puts the heel about a
third of that length behind the ankle and the tip of the toes half of it beyond the ball."""
WIDTH = 0.07 * LEG
BALL_AHEAD = 0.15 * LEG
"""Where the ball lies ahead of the ankle on a rig without toe bones."""
WAY = 5
"""The way of a foot in so many frames weighs as much as its height in the search for the moment at which it stands most
surely. Frames and not seconds: the faster the capture, the more of a foot's speed is jitter."""
MOMENT = 1 / 120
"""Seconds around that moment in which the foot is taken to be the same."""
STILLER = 0.5
"""The ball belongs to the toe bone if it rises and falls by less than this share of what it would on the foot bone:
measured are at most 0.23 of feet that bend, at least 0.88 of rigid ones."""


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
    foot, toe = (np.median(transform(np.linalg.inv(leg.bone_of(on)[best])[:, None], world), 0) for on in (False, True))
    on_toe[BALL] = leg.toe is not None and stands_on_toe(clip, leg, foot[BALL], toe[BALL])
    return Sole(np.where(on_toe[:, None], toe, foot), on_toe, plan)


def stands_on_toe(clip: Clip, leg: Leg, on_foot: np.ndarray, on_toe: np.ndarray) -> bool:
    """Whether the ball stands stiller as a point of the toe bone than as a point of the foot bone (3,).

    Where the toes stay flat while the heel rises, the sole bends at the ball, and only the toes stand. Heights tell,
    since a foot that skates moves along the floor but not up; where it lands and leaves the whole foot moves up.
    """
    parts = parts_of(clip.fps)
    tracks = [transform(leg.bone_of(on), point) for on, point in ((False, on_foot), (True, on_toe))]
    tracks = [between_frames(track, parts) for track in tracks]
    stands = np.logical_or(*(point_contact(track, clip.fps * parts)[0] for track in tracks))
    stands = away_from(~stands) > clip.frames(SPAN / 2) * parts
    restless = [np.abs(velocity(track[:, 2], clip.fps)[stands]).sum() for track in tracks]
    return bool(restless[1] < STILLER * restless[0])


def planted_frames(clip: Clip, ankle: np.ndarray, ball: np.ndarray) -> np.ndarray:
    """Indices of the frames around the moment at which a foot stands most surely: low, flat and slow.

    One moment, since toes do not lie alike in all stances, and a sole between several is that of none.
    """
    speed = sum(np.linalg.norm(velocity(p, clip.fps), axis=1) for p in (ankle, ball))
    best = int(np.argmin(ankle[:, 2] + ball[:, 2] + WAY / clip.fps * speed))
    around = round(clip.frames(MOMENT))
    return np.arange(max(best - around, 0), min(best + around + 1, len(clip)))
