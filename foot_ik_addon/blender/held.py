"""What a corrected rig keeps of its animated pose: text in its settings, consistent through undo, copies and files."""
from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import bpy
import numpy as np

from .channels import ROTATION, BoneChannels, four, in_mode, to_matrix

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
    frame: float
    """Of the scene."""
    pace: float
    """Frames of its F-curves for each of the scene's."""

    def take(self, rows: list[int]) -> Held:
        """Some of the bones."""
        names, places, modes = (tuple(column[i] for i in rows) for column in (self.names, self.places, self.modes))
        return Held(names, places, modes, self.animated[rows], self.shown[rows], self.frame, self.pace)


NOTHING = Held((), (), (), *np.empty((2, 0, 10), np.float32), frame=0.0, pace=1.0)


def keep(ob: bpy.types.Object, held: Held) -> None:
    """Keep it in the settings of an object."""
    values = np.concatenate([held.animated, held.shown]).tobytes()
    text = f"{held.frame!r} {held.pace!r} {base64.b64encode(values).decode()}"
    ob.foot_ik.held = head(held.names, held.places, held.modes) + text
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
    frame, pace, text = text.split(" ")
    values = np.frombuffer(base64.b64decode(text), np.float32).reshape(2, -1, 10)
    return Held(*columns_of(line), *values, frame=float(frame), pace=float(pace))


def still_there(ob: bpy.types.Object, held: Held) -> tuple[Held, list[int]]:
    """What is kept of bones that there are, and where in the pose they are now, each once.

    Bones may have been renamed, names swapped, others deleted. Those that still hold what was shown are found first, by
    their names, where they were, or wherever they are; then the rest by their names, and where they were if the
    rotation mode is the same.
    """
    names = ob.pose.bones.keys()
    if max(held.places, default=-1) < len(names) and [names[place] for place in held.places] == list(held.names):
        return held, list(held.places)
    now = BoneChannels(ob, range(len(names)))
    same = (np.abs(now.values - held.shown[:, None]) < ROUNDED).all(2)
    by_name = [(i, names.index(name)) for i, name in enumerate(held.names) if name in names]
    anywhere = [(i, k) for i, mode in enumerate(held.modes) for k in range(len(names)) if now.modes[k] == mode]
    by_place = [(i, k) for i, k in anywhere if k == held.places[i]]
    moved = (np.abs(held.shown - held.animated) > ROUNDED).any(1)  # others are like many bones, and need nothing back
    sure = [(i, k) for i, k in chain(by_name, by_place, [pair for pair in anywhere if moved[pair[0]]]) if same[i, k]]
    at: dict[int, int] = {}
    for i, k in chain(sure, by_name, by_place):
        if i not in at and k not in at.values():
            at[i] = k
    return held.take(list(at)), list(at.values())


def given_back(held: Held, modes: tuple[str, ...], now: np.ndarray) -> np.ndarray:
    """The animated channels (n, 10) of bones that hold others `now`, in the rotation modes that they have now; what the
    user has changed meanwhile stays, of places and scales each value by itself."""
    if modes == held.modes and (now == held.shown).all():
        return held.animated
    ours = np.abs(now - held.shown) < ROUNDED
    out = np.where(ours, held.animated, now)
    for i, mode in enumerate(modes):
        here, animated, shown = (values[i, ROTATION].tolist() for values in (now, held.animated, held.shown))
        if mode != held.modes[i]:  # Blender has turned what was shown into another mode
            out[i, ROTATION] = four(in_mode(to_matrix(held.modes[i], animated), mode, here))
        else:  # as a whole: parts of two rotations are none
            same = ours[i, ROTATION].all() or same_rotation(mode, here, shown)
            out[i, ROTATION] = animated if same else here
    return out


def animated_channels(ob: bpy.types.Object, at: Sequence[int]) -> BoneChannels:
    """The channels of some bones as animated, whatever the live correction shows in their place."""
    out = BoneChannels(ob, at)
    if ob.is_property_set("foot_ik") and ob.foot_ik.shown:
        held, places = still_there(ob, read_held(ob))
        now = BoneChannels(ob, places)
        back = dict(zip(places, given_back(held, now.modes, now.values), strict=True))
        for row, place in enumerate(out.at.tolist()):
            if place in back:
                out.values[row] = back[place]
    return out


def same_rotation(mode: str, a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether channels of a rotation mode, which has several values for one rotation, turn a bone the same way."""
    return bool(np.abs(np.array(to_matrix(mode, a)) - to_matrix(mode, b)).max() < ROUNDED)
