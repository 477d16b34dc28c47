"""Contacts that the user has edited, laid over the contacts that were found."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .clip import runs
from .contacts import Contact, away_from

SHORTEST = 3
"""Frames: less than this of a found contact beside an edit is a remainder, not a contact."""


@dataclass(frozen=True)
class Edit:
    """What the user says of one foot in the frame indices [start, stop): AUTO, LOCK, SLIDE or NONE."""

    start: int
    stop: int
    mode: str
    heel: tuple[int, int] | None = None
    ball: tuple[int, int] | None = None
    """The frame indices [start, stop) in which that point touches, none where they are empty; None: as found."""


def edited(found: list[Contact], edits: list[Edit], count: int) -> list[Contact]:
    """The contacts of a foot in a clip of `count` frames: each edit replaces what was found in its frames.

    Where two edits meet, the one that starts later rules; NONE takes away only what was found.
    """
    heel, ball, taken = np.zeros((3, count), bool)
    early, late = np.zeros((2, count))
    unsure = np.full(count, np.inf)
    locked = np.full(count, all(c.locked for c in found))
    for c in found:
        heel[c.start : c.stop], ball[c.start : c.stop], locked[c.start : c.stop] = c.heel, c.ball, c.locked
        early[c.start], late[c.stop - 1], unsure[c.start : c.stop] = c.early, c.late, c.unsure
    edits = [replace(e, start=max(e.start, 0), stop=max(min(e.stop, count), 0)) for e in edits]
    edits.sort(key=lambda e: e.start)
    ruling = np.full(count, -1)
    for k, e in enumerate(edits):
        taken[e.start : e.stop] = True
        if e.mode != "NONE":
            ruling[e.start : e.stop] = k
    out = []
    for c in found:
        for a, b in runs(~taken[c.start : c.stop]):
            if b - a >= min(SHORTEST, c.stop - c.start):
                span, first, last = slice(a, b), c.start + a, c.start + b - 1
                touch = c.heel[span], c.ball[span], c.unsure[span]
                out.append(Contact(first, last + 1, *touch, c.locked, early=early[first], late=late[last]))
    for k, e in enumerate(edits):
        for a, b in runs(ruling == k):
            h, t = touching(heel[a:b], e.heel, a), touching(ball[a:b], e.ball, a)
            neither = ~h & ~t  # stands on what the user has not timed, else on the whole foot
            on_heel, on_ball = e.heel is None or e.ball is not None, e.ball is None or e.heel is not None
            lock = bool(locked[a:b].all()) if e.mode == "AUTO" else e.mode == "LOCK"
            h, t = h | (neither & on_heel), t | (neither & on_ball)
            in_air = (h & ~heel[a:b]) | (t & ~ball[a:b])
            put = {"asked": True, "lifted": away_from(in_air) if in_air.any() else None}
            sure = np.minimum(unsure[a:b], away_from(in_air & h & t))
            out.append(Contact(a, b, h, t, sure, lock, **put, early=early[a], late=late[b - 1]))
    return sorted(out, key=lambda c: c.start)


def touching(found: np.ndarray, said: tuple[int, int] | None, start: int) -> np.ndarray:
    """(n,) bool: when a point touches in the frames from `start` on: as `said`, or as `found` (n,)."""
    if said is None:
        return found.copy()
    frames = np.arange(start, start + len(found))
    return (said[0] <= frames) & (frames < said[1])
