"""The rigid motion that carries the animated foot to its footprints, frame by frame.

For each foot and frame: turn about the ball, then move. In contact it is exact; between contacts a quintic in time
leads from one to the next, while the animated foot's own motion stays underneath.
"""

from __future__ import annotations

import numpy as np

from .clip import BALL, HEEL, LEG, Clip, Leg, Sole, runs
from .footprints import Footprint
from .ground import Ground
from .rest import TOUCH
from .rotations import align, from_rotvec, rotate, to_rotvec, transform

UNSURE = 0.006 * LEG
"""What is known of the height of a sole's points among each other: they come from one moment of the clip."""
LEAD = 0.3
"""Seconds in which a foot that enters or leaves the clip in the air loses the speed of its contact's correction."""


def correct_foot(
    clip: Clip,
    leg: Leg,
    sole: Sole,
    prints: list[Footprint],
    ground: Ground,
    lock: float,
    ride: np.ndarray | float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Moves (F, 3) of the ball and turns (F, 3) about it, a rotation vector, of one foot over the whole clip.

    `lock` 1 holds each contact at its footprint, 0 lets the foot slide as animated and only follow the ground. In the
    air the foot takes part in the motion `ride` (F, 3) of the body: it climbs with it, and does not hurry ahead.
    """
    move, turn = np.zeros((2, len(clip), 3))
    known = np.zeros(len(clip), bool)
    tracks = sole.tracks(leg)
    for p in prints:
        span = slice(p.contact.start, p.contact.stop)
        move[span], turn[span] = in_contact(tracks[span], sole.plan, p, ground, lock)
        known[span] = True
    both = np.concatenate([move - ride, turn], 1)
    fill(both, known, clip.frames(LEAD), clip.fps)
    return both[:, :3] + ride, both[:, 3:]


def in_contact(
    tracks: np.ndarray, plan: np.ndarray, p: Footprint, ground: Ground, lock: float
) -> tuple[np.ndarray, np.ndarray]:
    """Moves (n, 3) and turns (n, 3) in the frames of one contact, from the animated tracks (n, S, 3) of its sole,
    which is `plan` (S, 2) on paper."""
    heel, ball = tracks[:, HEEL], tracks[:, BALL]
    frames = np.arange(p.contact.start, p.contact.stop)
    carried = ground.carried(p.piece, p.frame, frames, p.sole(plan))
    hold = lock if p.contact.locked else 0.0
    normal = rotate(carried[:, :3, :3], p.tilt[:, 2])
    gradient = -normal[:, :2] / np.maximum(normal[:, 2:], 1e-6)
    origin = transform(carried, p.place)

    lower = np.minimum(heel[:, 2], ball[:, 2]).clip(0)
    w = ball_weight(p.contact.heel, p.contact.ball)
    down = let_down(tracks[..., 2], p.gaps, w, plan)

    def standing(track: np.ndarray, from_ball: np.ndarray) -> np.ndarray:
        """Where a point of the sole belongs: at its place in the footprint or as animated, on the ground and as high
        above it. `from_ball` (3,) leads there from the ball on the flat floor. What the lower of heel and ball is above
        the floor is kept upright; what the other is higher leans with the sole, as it does on a rigid foot."""
        spread = p.tilt @ from_ball
        xy = (1 - hold) * (track + spread - from_ball)[:, :2] + hold * transform(carried, p.place + spread)[:, :2]
        lean = np.maximum(track[:, 2], 0.0) - lower
        z = origin[:, 2] + ((xy - origin[:, :2]) * gradient).sum(1) + track[:, 2] - lean - down
        return np.column_stack([xy, z]) + lean[:, None] * normal

    yaw = hold * yaw_to_print(heel, ball, p)
    turn = carried[:, :3, :3] @ p.tilt if hold else align(np.array([0.0, 0.0, 1.0]), normal)
    turn = turn @ from_rotvec(yaw[:, None] * (0.0, 0.0, 1.0))
    by_ball = standing(ball, np.zeros(3))
    by_heel = standing(heel, np.append(p.heel - p.ball, 0.0)) + rotate(turn, ball - heel)
    w = w[:, None]
    return (1 - w) * by_heel + w * by_ball - ball, to_rotvec(turn)


def yaw_to_print(heel: np.ndarray, ball: np.ndarray, p: Footprint) -> np.ndarray:
    """Angles (n,) that turn the animated foot to its footprint while heel and ball touch, held where only one does."""
    way = (ball - heel)[:, :2]
    yaw = np.unwrap(p.yaw - np.arctan2(way[:, 1], way[:, 0]))
    yaw -= 2 * np.pi * np.round(np.median(yaw) / (2 * np.pi))
    flat = np.flatnonzero(p.contact.heel & p.contact.ball)
    if not len(flat):
        return np.zeros(len(yaw))
    return np.interp(np.arange(len(yaw)), flat, yaw[flat])


def ball_weight(heel: np.ndarray, ball: np.ndarray) -> np.ndarray:
    """(n,): how much the ball, and not the heel, holds the foot; it passes over only while both touch."""
    n = len(heel)
    w = np.where(ball & ~heel, 1.0, 0.0)
    for a, b in runs(heel & ball):
        before = w[a - 1] if a > 0 else (w[b] if b < n else 1.0)
        after = w[b] if b < n else before
        x = (np.arange(a, b) - a + 1) / (b - a + 1)
        w[a:b] = before + (after - before) * quintic(x)
    return w


def let_down(heights: np.ndarray, gaps: np.ndarray, weight: np.ndarray, plan: np.ndarray) -> np.ndarray:
    """(n,): how far a foot that rolls over heel or ball is let down from the plane of its sole, until it touches.

    `heights` (n, S) are those of the animated sole, `gaps` (S,) what the ground lies below the resting sole, `weight`
    (n,) as `ball_weight` has it, `plan` (S, 2) the sole on paper. A foot whose heel or ball hangs over an edge stays
    in its plane while it stands on that.
    """
    if not gaps.any():
        return np.zeros(len(heights))
    raised = np.maximum(heights - heights.min(1, keepdims=True).clip(0) - UNSURE, 0.0)
    touch = np.minimum((raised + gaps).min(1), TOUCH)
    back, front = plan[:, 0] <= plan[HEEL, 0], plan[:, 0] >= plan[BALL, 0]
    return touch * ((1 - weight) * (gaps[back].min() < TOUCH) + weight * (gaps[front].min() < TOUCH))


def quintic(x: np.ndarray) -> np.ndarray:
    """The C2 ramp from 0 to 1 over x in [0, 1]."""
    return x**3 * (10 - 15 * x + 6 * x * x)


def fill(values: np.ndarray, known: np.ndarray, lead: float, fps: float) -> None:
    """Fill, in place, the unknown frames of values (F, C) by quintics that leave and arrive with the speed of the
    known.

    Before the first known frame and after the last, the value loses its speed within `lead` frames and stays.
    """
    spans = runs(known)
    if not spans:
        values[:] = 0.0
        return
    for (_, a), (b, _) in zip(spans, spans[1:], strict=False):
        leave, arrive = outward_speed(values, known, a - 1, 1, fps), -outward_speed(values, known, b, -1, fps)
        values[a:b] = hermite(values[a - 1], values[b], leave, arrive, np.arange(a, b) - (a - 1), b - a + 1)
    first, last = spans[0][0], spans[-1][1] - 1
    for edge, frames in ((first, np.arange(first)), (last, np.arange(last + 1, len(values)))):
        x = np.minimum(np.abs(frames - edge) / lead, 1.0)[:, None]
        away = outward_speed(values, known, edge, -1 if edge == first else 1, fps) if len(frames) else 0.0
        values[frames] = values[edge] + lead * away * (x - 2.5 * x**4 + 3 * x**5 - x**6)


def outward_speed(values: np.ndarray, known: np.ndarray, edge: int, outward: int, fps: float) -> np.ndarray:
    """Change per frame (C,) with which the known values leave at `edge`: their mean over the last thirtieth of a
    second.

    A parabola would follow a foot that gathers speed more closely, but it also follows the jitter of captured feet.
    """
    n = 0
    while n < max(1, round(fps / 30)) and 0 <= (last := edge - outward * (n + 1)) < len(values) and known[last]:
        n += 1
    return (values[edge] - values[edge - outward * n]) / n if n else np.zeros(values.shape[1])


def hermite(p0: np.ndarray, p1: np.ndarray, v0: np.ndarray, v1: np.ndarray, t: np.ndarray, length: float) -> np.ndarray:
    """The quintic (n, C) from p0 to p1 (C,) in `length` frames with speeds v0, v1 per frame and no acceleration at
    either end, at times t (n,)."""
    x = (t / length)[:, None]
    ramp = quintic(x)
    rise = x - 6 * x**3 + 8 * x**4 - 3 * x**5
    fall = -4 * x**3 + 7 * x**4 - 3 * x**5
    return p0 + (p1 - p0) * ramp + length * (v0 * rise + v1 * fall)
