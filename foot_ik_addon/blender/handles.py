"""The bones that are written where legs or pelvis do not answer to their own channels, and how they are kept.

`controls` finds them; this is what is known of them afterwards.
"""
from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import lru_cache

PIECE, PLACE, POLE = "PIECE", "PLACE", "POLE"
"""How a handle goes along with a bone: in one piece; with its head only, not turning; or beside the line from hip to
ankle of the leg whose foot the bone is."""


@dataclass(frozen=True)
class Handle:
    """A bone that is written so that another one moves as it should."""

    bone: str
    follows: str
    """The bone with which it goes along: the pelvis, or one of a leg."""
    way: str
    """PIECE, PLACE or POLE."""
    carrier: str = ""
    """What takes it along before anything is written to it: a bone that is written, or one of a leg; empty for none."""
    turned: bool = True
    """The carrier turns it, and does not only move its head."""


@dataclass(frozen=True)
class Controls:
    """What is written to move one rig."""

    body: str
    """Bone that moves the pelvis."""
    legs: dict[str, tuple[Handle, ...]]
    """By foot bone; a leg that is not there answers to its own bones."""
    others: tuple[Handle, ...] = ()
    """What goes along with the body, such as the controls of hands that are pulled."""


def pack_controls(controls: Controls) -> str:
    return json.dumps(asdict(controls))


@lru_cache(maxsize=64)
def unpack_controls(text: str) -> Controls:
    """The controls of `pack_controls`; raises ValueError, KeyError or TypeError where they cannot be read."""
    raw = json.loads(text)
    handles = lambda rows: tuple(Handle(**row) for row in rows)
    return Controls(raw["body"], {foot: handles(rows) for foot, rows in raw["legs"].items()}, handles(raw["others"]))
