"""Contacts that the user has edited, laid over the contacts that were found."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .clip import runs
from .contacts import Contact


@dataclass(frozen=True)
class Edit:
    """What the user says of one foot in the frame indices [start, stop): AUTO, LOCK, SLIDE or NONE."""

    start: int
    stop: int
    mode: str


def edited(found: list[Contact], edits: list[Edit], count: int) -> list[Contact]:
    """The contacts of a foot in a clip of `count` frames: each edit replaces what was found in its frames."""
    heel, ball = np.zeros((2, count), bool)
    taken = np.zeros(count, bool)
    for c in found:
        heel[c.start : c.stop], ball[c.start : c.stop] = c.heel, c.ball
    edits = [replace(e, start=max(e.start, 0), stop=max(min(e.stop, count), 0)) for e in edits]
    for e in edits:
        taken[e.start : e.stop] = True
    out = []
    for c in found:
        for a, b in runs(~taken[c.start : c.stop]):
            out.append(Contact(c.start + a, c.start + b, c.heel[a:b], c.ball[a:b], c.locked))
    for e in edits:
        if e.mode != "NONE" and e.stop > e.start:
            h, b = heel[e.start : e.stop], ball[e.start : e.stop]
            unknown = ~h & ~b
            out.append(Contact(e.start, e.stop, h | unknown, b | unknown, locked=e.mode != "SLIDE", asked=True))
    return sorted(out, key=lambda c: c.start)
