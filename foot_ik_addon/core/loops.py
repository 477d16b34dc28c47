"""Clips that loop: planned with what comes before and after them in the loop, so that the corrected clip loops too.

A clip whose last pose is its first again, perhaps elsewhere and turned, is planned between a copy of its end and a copy
of its beginning, both over the clip's own ground. So a contact that the seam cuts has one footprint, and what is smooth
within the clip is smooth over the seam.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from .clip import Clip, Leg, Sole
from .contacts import Contact
from .edits import Edit
from .footprints import HEADROOM, Footprint
from .ground import Ground
from .rotations import from_rotvec, rotate, transform

if TYPE_CHECKING:
    from .plan import Plan

SAME = 1e-3
"""Legs: the pose and the ground at the end are those at the beginning to within this."""
AROUND = 3.0
"""Seconds that are planned before and after the clip: the longest stride, and as long as the pelvis feels its ends (ten
of its time constants)."""
SHORTEST = 0.2
"""Seconds: what lasts less is no loop."""


@dataclass(frozen=True)
class Loop:
    """A clip of `period` + 1 frames, unrolled by some frames to either side."""

    period: int
    around: int
    """Frames that are added at either end."""
    motion: np.ndarray
    """(4, 4): where the character comes in a round, turned about the vertical and moved; its z is how much higher the
    ground is there."""

    def place(self, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Frames of the clip, and (n,) in which round, of unrolled frames (n,)."""
        at = np.asarray(frames) - self.around
        rounds = np.where(at > self.period, (at - 1) // self.period, np.minimum(at // self.period, 0))
        return at - rounds * self.period, rounds

    @cached_property
    def most(self) -> int:
        """Rounds at most, before the clip or after it."""
        return -(-self.around // self.period)

    @cached_property
    def motions(self) -> np.ndarray:
        """(2 * most + 1, 4, 4): where the character comes, from so many rounds back to so many ahead."""
        return np.array([np.linalg.matrix_power(self.motion, k) for k in range(-self.most, self.most + 1)])

    def moved(self, rounds: np.ndarray) -> np.ndarray:
        """(n, 4, 4): where the character comes in so many rounds (n,)."""
        return self.motions[rounds + self.most]

    def clip(self, clip: Clip) -> Clip:
        """The clip, unrolled; it stays on its flat floor."""
        frames, rounds = self.place(np.arange(self.period + 1 + 2 * self.around))
        moved = self.moved(rounds)
        moved[:, 2, 3] = 0
        pose = lambda m: None if m is None else moved @ m[frames]
        legs = (
            Leg(transform(moved[:, None], leg.joints[frames]), pose(leg.foot), pose(leg.toe), leg.bends)
            for leg in clip.legs
        )
        return Clip(clip.fps, transform(moved, clip.pelvis[frames]), tuple(legs))

    def edits(self, edits: tuple[tuple[Edit, ...], ...]) -> tuple[tuple[Edit, ...], ...]:
        """The user's edits, in each round. The frame in which one round ends and the next begins is the former's, if
        that is edited there."""
        def unrolled(foot: tuple[Edit, ...]) -> Iterator[Edit]:
            first, last = (any(e.start <= frame < e.stop for e in foot) for frame in (0, self.period))
            for k, e in product(range(-self.most, self.most + 1), foot):
                low, high = int(k > 0 and last), self.period + int(k >= 0 or not first)
                start, stop = max(e.start, low), min(e.stop, high)
                if start < stop:
                    by = k * self.period + self.around
                    heel, ball = (touch and (touch[0] + by, touch[1] + by) for touch in (e.heel, e.ball))
                    yield Edit(start + by, stop + by, e.mode, heel, ball)

        return tuple(tuple(unrolled(foot)) for foot in edits)

    def cut(self, plan: Plan) -> Plan:
        """The plan of the clip itself from that of the unrolled one."""
        span = slice(self.around, self.around + self.period + 1)
        feet = tuple(replace(f, move=f.move[:, span], turn=f.turn[:, span], bend=f.bend[:, span]) for f in plan.feet)
        contacts = tuple(tuple(c for c in map(self.cut_contact, foot) if c) for foot in plan.contacts)
        prints = tuple(
            tuple(
                replace(p, contact=c, frame=int(self.place(np.array([p.frame]))[0][0]))
                for p in foot
                if (c := self.cut_contact(p.contact))
            )
            for foot in plan.prints
        )
        body = {"pelvis": plan.pelvis[:, span], "lean": plan.lean[span], "sink": plan.sink[:, span]}
        return replace(plan, feet=feet, **body, contacts=contacts, prints=prints)

    def cut_contact(self, contact: Contact) -> Contact | None:
        """What lies within the clip of a contact of the unrolled one."""
        start, stop = max(contact.start, self.around), min(contact.stop, self.around + self.period + 1)
        if start >= stop:
            return None
        span = slice(start - contact.start, stop - contact.start)
        return replace(
            contact,
            start=start - self.around,
            stop=stop - self.around,
            heel=contact.heel[span],
            ball=contact.ball[span],
            unsure=contact.unsure[span],
            lifted=None if contact.lifted is None else contact.lifted[span],
            early=contact.early if start == contact.start else 0.0,
            late=contact.late if stop == contact.stop else 0.0,
        )


@dataclass(frozen=True)
class Unrolled:
    """The ground of a clip, repeated before and behind it; see `core.ground.Ground`."""

    ground: Ground
    loop: Loop

    @property
    def still(self) -> bool:
        return self.ground.still

    def below(self, points: np.ndarray, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        frames, rounds = self.loop.place(frames)
        back = self.loop.moved(-rounds)
        heights, pieces = self.ground.below(transform(back, points), frames)
        return heights - back[:, 2, 3], pieces

    def layers(self, points: np.ndarray, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        frames, rounds = self.loop.place(frames)
        back = self.loop.moved(-rounds)
        heights, pieces = self.ground.layers(rotate(back[:, :2, :2], points) + back[:, :2, 3], frames)
        return heights - back[:, 2, 3, None], pieces

    def carried(self, piece: int, start: int, frames: np.ndarray, points: np.ndarray) -> np.ndarray:
        first, rounds = self.loop.place(np.array([start]))
        moved, back = self.loop.moved(rounds), self.loop.moved(-rounds)
        points, frames = transform(back, points), self.loop.place(frames)[0]
        return moved @ self.ground.carried(piece, int(first[0]), frames, points) @ back


def moved_level(first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """(4, 4): the turn about the vertical and the level way that bring points (n, 3) nearest to others (n, 3)."""
    a, b = first - first.mean(0), last - last.mean(0)
    out, angle = np.eye(4), np.arctan2((a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum(), (a * b)[:, :2].sum())
    out[:3, :3] = from_rotvec(np.array([0.0, 0.0, angle]))
    out[:2, 3] = (last.mean(0) - out[:3, :3] @ first.mean(0))[:2]
    return out


def closes_round(clip: Clip) -> bool:
    """Whether the clip goes round in one frame more than its range has, from its first two frames, its last and the
    one after that: which is the first again, arrived at as fast as that is left."""
    marks = np.concatenate([*(leg.joints for leg in clip.legs), clip.pelvis[:, None]], 1)
    first, second, last, after = marks
    motion = moved_level(first, after)
    leave, arrive = (transform(motion, second) - transform(motion, first))[-1], (after - last)[-1]
    steady = np.abs(arrive - leave)[:2].max() < max(SAME, np.abs(leave[:2]).max() / 2)
    return steady and apart(first, after) < SAME < apart(first, last)


def apart(first: np.ndarray, last: np.ndarray) -> float:
    """How far points (n, 3) are from others (n, 3) at most, but for a level motion of all of them."""
    return float(np.abs(transform(moved_level(first, last), first) - last).max())


def find_loop(clip: Clip, soles: list[Sole], prints: list[list[Footprint]], ground: Ground) -> Loop | None:
    """How a clip loops, or None: where its last pose is not its first, or the ground under that is not."""
    period = len(clip) - 1
    if period < clip.frames(SHORTEST):
        return None
    ends = [0, period]
    tracks = [sole.tracks(leg)[ends] for leg, sole in zip(clip.legs, soles, strict=True)]
    marks = np.concatenate([*tracks, *(leg.joints[ends] for leg in clip.legs), clip.pelvis[ends, None]], 1)
    if apart(*marks) > SAME:
        return None
    under = []
    for track, foot in zip(tracks, prints, strict=True):
        if foot:
            under.append(track * (1, 1, 0))
            under[-1][..., 2] = HEADROOM + np.array([[foot[0].place[2]], [foot[-1].place[2]]])
    if not under:
        return None
    points = np.concatenate(under, 1)
    count = points.shape[1]
    heights, pieces = ground.below(points.reshape(-1, 3), np.repeat(ends, count))
    heights, points = heights.reshape(2, count), points.reshape(-1, 3)
    rise = np.diff(heights, axis=0)[0]
    found = np.isfinite(heights)
    if (found[0] != found[1]).any() or not found.any() or np.ptp(rise[found[0]]) > SAME:
        return None
    points[:, 2] = heights.ravel()
    for end in (0, 1):
        for piece in np.unique(pieces[pieces >= 0]):
            stood = points[(pieces == piece) & (np.arange(2 * count) // count == end)]
            if len(stood):
                moved = ground.carried(int(piece), ends[end], np.array([ends[1 - end]]), stood)[0]
                if np.abs(transform(moved, stood) - stood).max() > SAME:
                    return None
    motion = moved_level(*marks)
    motion[2, 3] = np.nanmedian(rise)
    return Loop(period, round(clip.frames(AROUND)), motion)
