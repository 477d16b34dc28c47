"""Lay the contacts of a foot on the ground."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .clip import BALL, HEEL, LEG, Clip, Leg, Sole
from .contacts import Contact
from .ground import Ground
from .rest import TOUCH, Limits, stance_from
from .rotations import align, transform

HEADROOM = 0.5
"""Rays that sample the ground start this much of a leg above where the foot is expected."""
SHIFTS = np.linspace(-1, 1, 9)
"""Places along the foot at which a footprint is tried, as shares of the largest shift."""
SHIFT_PRICE = 0.04
"""A shift of a foot's length costs as much as a mean gap of this share of its length."""
STEEPEST = np.tan(np.radians(40.0))
"""Rise over run between two footprints, beyond a single step, that is still ground and not the foot of a cliff."""
CLEAR = 0.015 * LEG
"""Room that a footprint leaves around the sole, so that a foot that rolls does not graze a riser."""
RISER_PRICE = 4 * TOUCH
"""What it costs to stand nearer to a riser, as a mean gap under the sole: more than to hang over an edge."""
START_PRICE = 0.5
"""The first footprint is looked for near the floor of the clip: a distance from it counts as so much climbing."""
HELD = 0.25
"""Seconds: a swing cut by an end of the clip that lasts longer than this gets a footprint of its own there."""


@dataclass(frozen=True)
class Footprint:
    """Where one contact lies: on the flat floor of the clip, and on the ground (in clip space at `frame`)."""

    contact: Contact
    ball: np.ndarray
    heel: np.ndarray
    """(2,): anchors on the flat floor."""
    yaw: float
    """Direction from heel to ball on the flat floor, radians."""
    frame: int
    piece: int
    place: np.ndarray
    """(3,): the ball's place on the ground."""
    tilt: np.ndarray
    """(3, 3): rotation from the flat floor to the ground."""
    hollow: tuple[float, float] = (0.0, 0.0)
    """How far the ground lies below the plane of the sole at the heel and at the ball: a foot that stands on one of
    them alone is let down by that."""


def lay_footprints(
    clip: Clip, soles: list[Sole], contacts: list[list[Contact]], ground: Ground, limits: Limits
) -> list[list[Footprint]]:
    """Footprints of every leg, in order. A contact without ground has none."""
    prints = [
        [on_floor(clip, leg, sole, c) for c in with_ends(clip, found)]
        for leg, sole, found in zip(clip.legs, soles, contacts, strict=True)
    ]
    bases = expected_heights(prints, ground, limits)
    return [
        [
            placed
            for p, base in zip(foot, heights, strict=True)
            if np.isfinite(base) and (placed := on_ground(p, base, sole, ground, limits)) is not None
        ]
        for foot, heights, sole in zip(prints, bases, soles, strict=True)
    ]


def with_ends(clip: Clip, contacts: list[Contact]) -> list[Contact]:
    """The contacts, sliding ones frame by frame, and one sliding frame where the clip's first or last frame cuts a long
    swing."""
    first = contacts[0].start if contacts else len(clip)
    last = contacts[-1].stop if contacts else 0
    out = []
    if first > clip.frames(HELD):
        out.append(sliding_frame(0))
    for c in contacts:
        out.extend([c] if c.locked else [sliding_frame(f) for f in range(c.start, c.stop)])
    if len(clip) - last > clip.frames(HELD) and len(clip) > 1:
        out.append(sliding_frame(len(clip) - 1))
    return out


def sliding_frame(frame: int) -> Contact:
    """A contact of one frame that follows the ground under the ball."""
    one = np.ones(1, bool)
    return Contact(frame, frame + 1, ~one, one, locked=False)


def on_floor(clip: Clip, leg: Leg, sole: Sole, contact: Contact) -> Footprint:
    """Fit one footprint to all frames of a contact."""
    span = slice(contact.start, contact.stop)
    tracks = sole.tracks(Leg(leg.joints[span], leg.foot[span], None if leg.toe is None else leg.toe[span]))[..., :2]
    heel, ball = tracks[:, HEEL], tracks[:, BALL]
    flat = contact.heel & contact.ball
    seen = flat if flat.any() else np.ones_like(flat)
    way = (ball - heel)[seen].mean(0)
    yaw = float(np.arctan2(way[1], way[0]))
    step = np.array([np.cos(yaw), np.sin(yaw)]) * np.linalg.norm((ball - heel)[seen], axis=1).mean()
    anchor = np.concatenate([ball[contact.ball], heel[contact.heel] + step]).mean(0)
    frame = (contact.start + contact.stop - 1) // 2
    return Footprint(contact, anchor, anchor - step, yaw, frame, -1, np.append(anchor, 0.0), np.eye(3))


def expected_heights(prints: list[list[Footprint]], ground: Ground, limits: Limits) -> list[np.ndarray]:
    """Height of the ground on which each footprint lies: one path through the layers of the ground, in order of time.

    The path that climbs least is taken (Viterbi), so that a roof, a bridge or a storey below is not mistaken for the
    ground; a lift that carries the feet is not a climb. A footprint that no step or slope leads to has NaN.
    """
    order = sorted((p.frame, i, k) for i, foot in enumerate(prints) for k, p in enumerate(foot))
    out = [np.full(len(foot), np.nan) for foot in prints]
    if not order:
        return out
    points = np.array([(prints[i][k].ball + prints[i][k].heel) / 2 for _, i, k in order])
    frames = np.array([f for f, _, _ in order])
    layers, pieces = ground.layers(points, frames)
    known = np.flatnonzero(np.isfinite(layers).any(1))
    if not len(known):
        return out
    z, pieces, at, frames = layers[known], pieces[known], points[known], frames[known]
    cost = np.where(np.isfinite(z[0]), START_PRICE * np.abs(z[0]), np.inf)
    back = []
    for n in range(1, len(z)):
        meanwhile = carried_heights(at[n - 1], z[n - 1], pieces[n - 1], frames[n - 1], frames[n], ground)
        climb = np.abs(z[n][None, :] - meanwhile[:, None])
        step = np.where(np.isfinite(climb), cost[:, None] + climb, np.inf)
        back.append(np.argmin(step, 0))
        cost = step.min(0)
    path = [int(np.argmin(cost))]
    for row in reversed(back):
        path.append(int(row[path[-1]]))
    path.reverse()
    heights = z[np.arange(len(z)), path]
    for n in connected(at, heights, pieces[np.arange(len(z)), path], frames, ground, limits):
        _, i, k = order[known[n]]
        out[i][k] = heights[n]
    return out


def connected(
    points: np.ndarray, heights: np.ndarray, pieces: np.ndarray, frames: np.ndarray, ground: Ground, limits: Limits
) -> list[int]:
    """Indices of the places (N, 2), (N,), in order of time, that are ground for the whole walk.

    Steps and slopes join each place to the next two. Of groups that are joined in themselves but interleave in time,
    as on a ledge that only one foot misses, the largest is ground. Groups one after the other, as before and behind a
    jump down a wall, all are.
    """
    group = np.arange(len(points))
    for n in range(len(points)):
        for m in range(max(n - 2, 0), n):
            was = carried_heights(points[m], heights[m : m + 1], pieces[m : m + 1], frames[m], frames[n], ground)[0]
            if abs(heights[n] - was) <= limits.step + STEEPEST * np.linalg.norm(points[n] - points[m]):
                group[group == group[n]] = group[m]
    members = [np.flatnonzero(group == g) for g in np.unique(group)]
    members.sort(key=lambda g: (-len(g), np.abs(heights[g]).mean()))
    taken: list[np.ndarray] = []
    for g in members:
        if all(g[-1] < other[0] or g[0] > other[-1] for other in taken):
            taken.append(g)
    return sorted(int(n) for g in taken for n in g)


def carried_heights(
    point: np.ndarray, heights: np.ndarray, pieces: np.ndarray, start: int, stop: int, ground: Ground
) -> np.ndarray:
    """(K,): where ground that was at `heights` (K,) over a point (2,) at one frame has been carried to by another."""
    out = heights.copy()
    for k in np.flatnonzero(np.isfinite(heights)):
        matrix = ground.carried(int(pieces[k]), int(start), np.array([stop]))[0]
        out[k] = transform(matrix, np.append(point, heights[k]))[2]
    return out


def on_ground(p: Footprint, base: float, sole: Sole, ground: Ground, limits: Limits) -> Footprint | None:
    """Lay one footprint on the ground near the height `base`; None where nothing carries it."""
    stance = stance_from(sole.plan.tobytes())
    outline = np.concatenate([sole.plan, grown(sole.plan)])
    forward = np.array([np.cos(p.yaw), np.sin(p.yaw)])
    across = np.array([-forward[1], forward[0]])
    size = float(np.ptp(sole.plan[:, 0]))
    shifts = SHIFTS * limits.shift * size if p.contact.locked and limits.shift > 0 else np.zeros(1)
    balls = p.ball + shifts[:, None] * forward
    spots = balls[:, None] + outline[:, :1] * forward + outline[:, 1:] * across
    points = np.concatenate([spots.reshape(-1, 2), np.full((spots.shape[0] * spots.shape[1], 1), base + HEADROOM)], 1)
    heights, pieces = ground.below(points, np.full(len(points), p.frame))
    heights, pieces = heights.reshape(len(shifts), -1), pieces.reshape(len(shifts), -1)
    found = np.isfinite(heights) & (heights > base - limits.step)
    if not found[:, : len(sole.plan)].any():
        return None
    count = len(sole.plan)
    rest = stance.rest(heights[:, :count], np.full(len(shifts), base), limits)
    planes = rest.height[:, None] + rest.slope @ outline.T
    risers = np.where(found, heights - planes, 0.0)[:, count:].max(1) > TOUCH
    price = rest.price + np.abs(shifts) * SHIFT_PRICE + risers * RISER_PRICE
    best = int(np.argmin(np.where(found[:, :count].any(1), price, np.inf)))
    normal = np.array([*(-rest.slope[best, 0] * forward - rest.slope[best, 1] * across), 1.0])
    under = np.where(found[best], heights[best], -np.inf)[:count]
    gap = np.where(found[best], planes[best] - heights[best], 0.0)[:count]
    back, front = sole.plan[:, 0] <= sole.plan[HEEL, 0], sole.plan[:, 0] >= sole.plan[BALL, 0]
    return replace(
        p,
        piece=int(pieces[best, int(np.argmax(under))]),
        ball=balls[best],
        heel=p.heel + balls[best] - p.ball,
        place=np.append(balls[best], rest.height[best]),
        tilt=align(np.array([0.0, 0.0, 1.0]), normal),
        hollow=(hollow_of(gap[back]), hollow_of(gap[front])),
    )


def hollow_of(gaps: np.ndarray) -> float:
    """How far a part of the sole with these gaps (n,) may be let down: not at all where it hangs over an edge."""
    least = float(gaps.min())
    return max(least, 0.0) if least < TOUCH else 0.0


def grown(plan: np.ndarray) -> np.ndarray:
    """The outline (S, 2) of a sole, with room around it."""
    middle = (plan.max(0) + plan.min(0)) / 2
    return middle + (plan - middle) * (1 + CLEAR / (np.ptp(plan, axis=0) / 2))
