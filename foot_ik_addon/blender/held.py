"""What a corrected rig keeps of its animated pose: text in its settings, consistent through undo, copies and files."""
from __future__ import annotations

import base64
import json
from functools import lru_cache
from typing import NamedTuple

import bpy
import numpy as np

from .channels import BoneChannels

ROUNDED = 1e-5
"""Channels that differ by less hold the same pose."""


class Held(NamedTuple):
    """Some bones of a corrected rig: the channels that they had as animated, and those written in their place."""

    names: tuple[str, ...]
    places: tuple[int, ...]
    """Where the bones are among those of the pose."""
    modes: tuple[str, ...]
    animated: np.ndarray
    shown: np.ndarray
    """(n, 10) float32: as `BoneChannels.values` has them."""

    def take(self, rows: list[int]) -> Held:
        """Some of the bones."""
        names, places, modes = (tuple(column[i] for i in rows) for column in (self.names, self.places, self.modes))
        return Held(names, places, modes, self.animated[rows], self.shown[rows])


NOTHING = Held((), (), (), *np.empty((2, 0, 10), np.float32))


def keep(ob: bpy.types.Object, held: Held) -> None:
    """Keep it in the settings of an object."""
    values = np.concatenate([held.animated, held.shown]).tobytes()
    ob.foot_ik.held = head(held.names, held.places, held.modes) + base64.b64encode(values).decode()
    ob.foot_ik.shown = True


@lru_cache(maxsize=256)
def head(*columns: tuple) -> str:
    """A line of text that holds what does not change from frame to frame."""
    return json.dumps(columns) + "\n"


@lru_cache(maxsize=256)
def columns_of(line: str) -> list[tuple]:
    """What `head` holds."""
    return [tuple(column) for column in json.loads(line)]


def read_held(ob: bpy.types.Object) -> Held:
    """What is kept in the settings of an object that shows a corrected pose."""
    line, _, text = ob.foot_ik.held.partition("\n")
    if not text:
        return NOTHING
    values = np.frombuffer(base64.b64decode(text), np.float32).reshape(2, -1, 10)
    return Held(*columns_of(line), *values)


def still_there(ob: bpy.types.Object, held: Held) -> tuple[Held, list[int]]:
    """What is kept of bones that there are, and where in the pose they are now, each once.

    Bones may have been renamed, names swapped, others deleted. Those that still hold what was shown are found first, by
    their names or where they were; then the rest by their names, and where they were if the rotation mode is the same.
    """
    names = ob.pose.bones.keys()
    if max(held.places, default=-1) < len(names) and [names[place] for place in held.places] == list(held.names):
        return held, list(held.places)
    now = BoneChannels(ob, range(len(names)))
    by_name = {i: names.index(name) for i, name in enumerate(held.names) if name in names}
    by_place = {i: place for i, place in enumerate(held.places)
                if place < len(names) and now.modes[place] == held.modes[i]}
    sure = [{i: k for i, k in found.items() if (np.abs(now.values[k] - held.shown[i]) < ROUNDED).all()}
            for found in (by_name, by_place)]
    at: dict[int, int] = {}
    for found in (*sure, by_name, by_place):
        at |= {i: k for i, k in found.items() if i not in at and k not in at.values()}
    return held.take(list(at)), list(at.values())
