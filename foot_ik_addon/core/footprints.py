"""Lay the contacts of a foot on the ground."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from .clip import BALL, HEEL, LEG, Clip, Leg, Sole
from .contacts import Contact
from .ground import Ground
from .rest import TOUCH, Limits, Rest, stance_from
from .rotations import align, from_rotvec, length, rotate, transform
from .route import Place, route

HEADROOM = 0.5
"""Rays that sample the ground start this much of a leg above where the foot is expected."""
SHIFTS = np.linspace(-1, 1, 9)
"""Places along the foot at which a footprint is tried, as shares of the largest shift."""
SHIFT_PRICE = 0.04
"""A shift of a foot's length costs as much as a mean gap of this share of its length."""
CLEAR = 0.015 * LEG
"""Room that a footprint leaves around the sole."""
GLIMPSES = 8
"""In so many frames of a contact its foot, as it rolls, is looked at for what it would run into."""
RISER_PRICE = 4 * TOUCH
"""What it costs to stand nearer to a riser, as a mean gap under the sole: more than to hang over an edge."""
DRAGGED = 0.4
"""Legs: by more than this moving ground does not take along a foot that is animated to stay behind."""
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
    bend: float = 0.0
    """Angle by which the toes are bent up at the ball, radians."""
    stiff: Footprint | None = None
    """The same contact with straight toes, where they are bent."""
    sweep: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    """(K, 3): where the points of the sole come while the foot rolls: along and across from the ball, and above the
    floor."""
    gaps: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """(S,): how far the ground lies below the sole's points when it rests."""

    def sole(self, plan: np.ndarray) -> np.ndarray:
        """(S, 3): where the points of the sole, `plan` (S, 2) on paper, lie on the ground."""
        flat = np.column_stack([plan, np.maximum(plan[:, 0], 0.0) * np.tan(self.bend)])
        return self.place + rotate(self.tilt @ from_rotvec(np.array([0.0, 0.0, self.yaw])), flat)

    def carried(self, frames: np.ndarray, plan: np.ndarray, ground: Ground) -> np.ndarray:
        """(N, 4, 4): how the ground has carried the sole, `plan` (S, 2), that stands here to each of `frames` (N,)."""
        if ground.still:
            return np.broadcast_to(np.eye(4), (len(frames), 4, 4))
        return ground.carried(self.piece, self.frame, frames, self.sole(plan))


def lay_footprints(
    clip: Clip,
    soles: list[Sole],
    contacts: list[list[Contact]],
    ground: Ground,
    limits: Limits,
    rides: list[np.ndarray] | None = None,
) -> list[list[Footprint]]:
    """Footprints of every leg, in order. A contact without ground has none.

    `rides`, per leg (F, 3), is how far the feet are animated to go along with moving ground.
    """
    rides = rides or [np.zeros((len(clip), 3))] * len(clip.legs)
    prints = [
        [on_floor(tracks, c, ride) for tracks in [sole.tracks(leg)] for c in with_ends(clip, found)]
        for leg, sole, found, ride in zip(clip.legs, soles, contacts, rides, strict=True)
    ]
    bases = expected_heights(prints, ground, limits)
    out = []
    for leg, foot, heights, sole in zip(clip.legs, prints, bases, soles, strict=True):
        placed: dict[int, Footprint] = {}
        for locked in (True, False):
            rows = [n for n, p in enumerate(foot) if p.contact.locked == locked and np.isfinite(heights[n])]
            toes = sole.toes(leg) & locked
            placed |= on_ground({n: foot[n] for n in rows}, heights[rows], sole, toes, ground, limits) if rows else {}
        out.append([placed[n] for n in sorted(placed)])
    return out


def with_ends(clip: Clip, contacts: list[Contact]) -> list[Contact]:
    """The contacts, sliding ones frame by frame, and one sliding frame where the clip's first or last frame cuts a long
    swing."""
    begins, ends = (contacts[0].span[0], contacts[-1].span[1]) if contacts else (np.inf, -np.inf)
    out = []
    if begins > clip.frames(HELD):
        out.append(sliding_frame(0))
    for c in contacts:
        out.extend([c] if c.locked else [sliding_frame(f, c) for f in range(c.start, c.stop)])
    if len(clip) - 1 - ends > clip.frames(HELD) and len(clip) > 1:
        out.append(sliding_frame(len(clip) - 1))
    return out


def sliding_frame(frame: int, of: Contact | None = None) -> Contact:
    """A contact of one frame, perhaps of a longer one, that follows the ground under the ball."""
    one = np.ones(1, bool)
    lifted = None if of is None or of.lifted is None else of.lifted[frame - of.start, None]
    return Contact(frame, frame + 1, ~one, one, np.full(1, np.inf), locked=False, lifted=lifted)


def on_floor(tracks: np.ndarray, contact: Contact, ride: np.ndarray) -> Footprint:
    """Fit one footprint to all frames of a contact, from the `tracks` (F, S, 3) of the sole, in which the foot goes
    along by `ride` (F, 3); those in which it is in the air as animated do not count where there are others."""
    span, frame = slice(contact.start, contact.stop), (contact.start + contact.stop - 1) // 2
    if not contact.locked:  # one frame, in which the ball touches
        heel, ball = tracks[frame, [HEEL, BALL], :2]
        way = ball - heel
        yaw = float(np.arctan2(way[1], way[0]))
        return Footprint(contact, ball, heel, yaw, frame, -1, np.append(ball, 0.0), np.eye(3))
    tracks = tracks[span] - (ride[span] - ride[frame])[:, None]
    heel, ball = tracks[:, HEEL, :2], tracks[:, BALL, :2]
    down = np.ones(len(heel), bool) if contact.lifted is None else contact.lifted > 0
    down = down if down.any() else ~down
    flat = contact.heel & contact.ball & down
    seen = contact.weights * (flat if flat.any() else down)
    seen = seen if seen.any() else np.ones_like(seen)
    way = np.average(ball - heel, axis=0, weights=seen)
    yaw = float(np.arctan2(way[1], way[0]))
    step = np.array([np.cos(yaw), np.sin(yaw)]) * np.average(length(ball - heel), weights=seen)
    touches = contact.weights * down * np.stack([contact.ball, contact.heel])
    anchor = np.average(np.concatenate([ball, heel + step]), axis=0, weights=touches.ravel())
    held = np.where(contact.ball[:, None], ball, heel + step)
    return Footprint(
        contact,
        anchor,
        anchor - step,
        yaw,
        frame,
        -1,
        np.append(anchor, 0.0),
        np.eye(3),
        sweep=swept(tracks - np.append(held, 0 * held[:, :1], 1)[:, None], yaw),
    )


def swept(tracks: np.ndarray, yaw: float) -> np.ndarray:
    """The sweep of a footprint, from the tracks (n, S, 3) of its sole relative to its ball."""
    seen = tracks[np.unique(np.linspace(0, len(tracks) - 1, GLIMPSES).round().astype(int))].reshape(-1, 3)
    out = rotate(from_rotvec(np.array([0.0, 0.0, -yaw])), seen)
    return np.column_stack([grown(out[:, :2]), np.maximum(out[:, 2], 0.0)])


def expected_heights(prints: list[list[Footprint]], ground: Ground, limits: Limits) -> list[np.ndarray]:
    """Per leg, the heights of the ground near which its footprints lie; NaN where there is none."""
    order = sorted((p.frame, i, k) for i, foot in enumerate(prints) for k, p in enumerate(foot))
    ordered = [prints[i][k] for _, i, k in order]
    places = [Place((p.ball + p.heel) / 2, p.frame, p.contact.start, p.contact.stop) for p in ordered]
    out = [np.full(len(foot), np.nan) for foot in prints]
    for (_, i, k), height in zip(order, route(places, ground, limits), strict=True):
        out[i][k] = height
    return out


def on_ground(
    prints: dict[int, Footprint], bases: np.ndarray, sole: Sole, toes: np.ndarray, ground: Ground, limits: Limits
) -> dict[int, Footprint]:
    """Lay footprints of one foot, all of them locked or none, on the ground near the heights `bases` (N,); those that
    nothing carries are left out. Those of the sole's points that are `toes` (S,) bool may bend."""
    feet, plan = list(prints.values()), sole.plan
    places, size = stance_from(plan.tobytes(), toes.tobytes()).plan, len(plan)
    shift = limits.shift * float(np.ptp(plan[:, 0])) if feet[0].contact.locked else 0.0
    shifts = SHIFTS * shift if shift > 0 else np.zeros(1)
    yaw = np.array([p.yaw for p in feet])
    ways = np.stack([np.cos(yaw), np.sin(yaw), -np.sin(yaw), np.cos(yaw)], 1).reshape(-1, 2, 2)
    balls = np.array([p.ball for p in feet])[:, None] + shifts[:, None] * ways[:, :1]
    count = len(shifts)

    def sampled(of: np.ndarray, spots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Heights (M,) of the ground for footprints `of` (M,) under `spots` (M, 2), NaN where it carries nothing, and
        pieces (M,)."""
        frames = np.array([p.frame for p in feet])[of]
        heights, pieces = ground.below(np.column_stack([spots, bases[of] + HEADROOM]), frames)
        return np.where(heights > bases[of] - limits.step, heights, np.nan), pieces

    spots = balls[:, :, None] + (places @ ways)[:, None]
    heights, pieces = sampled(np.repeat(np.arange(len(feet)), count * len(places)), spots.reshape(-1, 2))
    heights, pieces = heights.reshape(-1, count, len(places)), pieces.reshape(-1, count, len(places))
    found = np.isfinite(heights[..., :size])

    def laid(rows: np.ndarray, toes: np.ndarray) -> list[Footprint]:
        """The footprints `rows` (n,) at their best places. What they would run into is looked at in the places that
        are best without it, until one is best with it."""
        stance = stance_from(plan.tobytes(), toes.tobytes())
        rest = stance.rest(heights[rows].reshape(-1, len(places)), np.repeat(bases[rows], count), limits)
        price = rest.price.reshape(-1, count) + np.abs(shifts) * SHIFT_PRICE
        price[~found[rows].any(2)] = np.inf
        looked, each = np.full(price.shape, count == 1), np.arange(len(rows))  # there is no choice of a single place
        while not looked[each, best := price.argmin(1)].all():
            new = np.flatnonzero(~looked[each, best])
            k = best[new]
            looked[new, k] = True
            price[new, k] += RISER_PRICE * risers(rows[new], k, rest.take(new * count + k), toes)
        rest = rest.take(each * count + best)
        under = heights[rows, best][:, :size]
        gap = rest.height[:, None] + rest.slope @ plan.T + rest.bend[:, None] * plan[:, 0] * toes - under
        highest = np.nan_to_num(under, nan=-np.inf).argmax(1)
        normal = np.column_stack([-(rest.slope[:, None] @ ways[rows])[:, 0], np.ones(len(rows))])
        tilt = align(np.array([0.0, 0.0, 1.0]), normal)
        bend = np.arctan(rest.slope[:, 0] + rest.bend) - np.arctan(rest.slope[:, 0])
        bent = np.flatnonzero(rest.bend)
        stiff = dict(zip(bent, laid(rows[bent], np.zeros_like(toes)), strict=True)) if len(bent) else {}
        return [
            replace(
                p := feet[row],
                piece=int(pieces[row, best[n], highest[n]]),
                ball=(ball := balls[row, best[n]]),
                heel=p.heel + ball - p.ball,
                place=np.append(ball, rest.height[n]),
                tilt=tilt[n],
                bend=float(bend[n]),
                stiff=stiff.get(n),
                gaps=np.nan_to_num(gap[n]).clip(0),
            )
            for n, row in enumerate(rows)
        ]

    def risers(rows: np.ndarray, places: np.ndarray, rest: Rest, toes: np.ndarray) -> np.ndarray:
        """(n,) bool: whether footprints at some of their `places` (n,) would run into the ground around the sole, or
        where that comes as the foot rolls."""
        around = np.column_stack([grown(plan), np.zeros(len(plan))])
        paths = [np.concatenate([around, feet[row].sweep]) for row in rows]
        sizes = [len(path) for path in paths]
        of, path = np.repeat(np.arange(len(rows)), sizes), np.concatenate(paths)
        spots = balls[rows, places][of] + (path[:, None, :2] @ ways[rows][of])[:, 0]
        planes = rest.height[of] + (rest.slope[of] * path[:, :2]).sum(1)
        planes += rest.bend[of] * path[:, 0] * np.resize(toes, len(path))  # each path goes round the sole several times
        over = np.nan_to_num(sampled(rows[of], spots)[0] - planes - path[:, 2])
        return np.maximum.reduceat(over, np.cumsum(sizes) - sizes) > TOUCH

    carried = np.flatnonzero(found.any((1, 2)))
    numbers = list(prints)
    return dict(zip([numbers[n] for n in carried], laid(carried, toes), strict=True)) if len(carried) else {}


def slips_away(leg: Leg, sole: Sole, p: Footprint, ground: Ground) -> bool:
    """Whether the ground would drag a locked foot away from where it is animated: a train leaves, and the character
    stays behind."""
    if not p.contact.locked:
        return False
    frames = np.arange(p.contact.start, p.contact.stop)
    held = transform(p.carried(frames, sole.plan, ground), p.place)
    ball = sole.tracks(leg.during(frames))[:, BALL]
    ways = held[:, :2], (held - ball)[:, :2]  # a foot that skates on firm ground is held
    return all(length(way - way[p.frame - p.contact.start]).max() > DRAGGED for way in ways)


def grown(plan: np.ndarray) -> np.ndarray:
    """The outline (S, 2) of a sole, with room around it."""
    middle = (plan.max(0) + plan.min(0)) / 2
    return middle + (plan - middle) * (1 + CLEAR / (np.ptp(plan, axis=0) / 2))
