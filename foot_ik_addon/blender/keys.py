"""Keys of an F-curve as arrays: put new ones into a range and leave the curve outside as it plays."""
from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from .compat import Bag

PAIRS = ("co", "handle_left", "handle_right")
NUMBERS = ("amplitude", "back", "period")
CHOICES = ("interpolation", "handle_left_type", "handle_right_type", "easing", "type")
HANDLE_TYPES = CHOICES[1:3]
LINEAR, BEZIER = 1, 2
"""Values of `Keyframe.interpolation` in arrays."""
CLIMB = 0.05
"""Share of its range by which a curve differs from its first value where it comes to another place in each round."""
FREE, AUTO_CLAMPED = 0, 4
"""Values of `Keyframe.handle_left_type` in arrays."""


@dataclass(frozen=True, eq=False)
class Keys:
    """Values to key: one F-curve."""

    bone: str
    path: str
    index: int
    values: np.ndarray
    """(F,)"""
    before: float
    after: float
    """The animated values one frame before the first and after the last of these."""


def audible(curve: bpy.types.FCurve, bag: Bag, bone: str) -> None:
    """See to it that Blender evaluates a curve; out of a muted group it comes into one of its bone."""
    curve.mute = False
    if curve.group is not None and curve.group.mute:
        own = bag.groups.get(bone)
        curve.group = own if own is not None and not own.mute else bag.groups.new(bone)


def goes_round(curve: bpy.types.FCurve, first: float, last: float, played: tuple[float, float]) -> bool:
    """Whether a curve only repeats its keys, and `first` to `last` are whole rounds, all that there is of it and
    all that is played: then it can go on repeating the keys that are baked there."""
    if not len(curve.modifiers) or any(m.type != "CYCLES" or m.mute for m in curve.modifiers):
        return False
    times = [p.co.x for p in curve.keyframe_points]
    if not times:
        return False
    span = max(times) - min(times)
    inside = first <= min(*times, *played) and max(*times, *played) <= last
    return inside and (span == 0 or abs((last - first) / span - round((last - first) / span)) < 1e-6)


def climb_on(curve: bpy.types.FCurve, row: Keys) -> None:
    """Let a curve that goes round end each round as much higher as the keys that it is to get do: they go uphill."""
    if abs(row.values[-1] - row.values[0]) > CLIMB * np.ptp(row.values):
        for modifier in curve.modifiers:
            modifier.mode_before, modifier.mode_after = (
                "REPEAT_OFFSET" if mode == "REPEAT" else mode for mode in (modifier.mode_before, modifier.mode_after))


def key_modifiers(curve: bpy.types.FCurve, played: tuple[float, float]) -> None:
    """Replace the modifiers of a curve by a key in each frame of its keys and of the scene."""
    if not len(curve.modifiers):
        return
    times = [p.co.x for p in curve.keyframe_points]
    frames = np.arange(np.floor(min([*times, played[0]])), np.ceil(max([*times, played[1]])) + 1)
    values = np.array([curve.evaluate(frame) for frame in frames])
    while len(curve.modifiers):
        curve.modifiers.remove(curve.modifiers[0])
    write_points(curve, new_points(frames, values, LINEAR))


def merge_keys(curve: bpy.types.FCurve, row: Keys, frames: np.ndarray, sides: list[float], interpolation: int) -> None:
    """Put keys into a curve in the place of those between the first and the last of them."""
    old, fresh = read_points(curve), new_points(frames, row.values, interpolation)
    for frame in sides:
        old = with_key(old, frame, row.before if frame < frames[0] else row.after)
    before, after = old["co"][:, 0] < frames[0] - 0.001, old["co"][:, 0] > frames[-1] + 0.001
    for side in (np.flatnonzero(before)[-2:], np.flatnonzero(after)[:2]):  # handles that would follow the new keys
        for name in HANDLE_TYPES:
            old[name][side] = FREE
    write_points(curve, {name: np.concatenate([old[name][before], fresh[name], old[name][after]]) for name in old})


def with_key(rows: dict[str, np.ndarray], frame: float, value: float) -> dict[str, np.ndarray]:
    """Keys with one more at a frame, where the curve has a value; the curve stays as it is."""
    times = rows["co"][:, 0]
    if (np.abs(times - frame) < 0.01).any():
        return rows
    at = int(np.searchsorted(times, frame))
    kind = rows["interpolation"][max(at - 1, 0)] if len(times) else LINEAR
    key = new_points(np.array([frame]), np.array([value]), kind)
    if 0 < at < len(times) and kind == BEZIER:
        corners = [rows["co"][at - 1], rows["handle_right"][at - 1], rows["handle_left"][at], rows["co"][at]]
        rows = {name: row.copy() for name, row in rows.items()}
        (rows["handle_right"][at - 1], key["handle_left"][0], key["co"][0], key["handle_right"][0],
         rows["handle_left"][at]) = split_bezier(np.array(corners, float), frame)
    return {name: np.insert(row, at, key[name], axis=0) for name, row in rows.items()}


def split_bezier(corners: np.ndarray, time: float) -> np.ndarray:
    """The five inner corners of the two Bezier curves into which that of four corners (4, 2) falls at a time.

    By de Casteljau. Handles longer than the curve are shortened first, as Blender does.
    """
    start, end = corners[0].copy(), corners[3].copy()
    for i, base in ((1, start), (2, end)):
        reach = abs(corners[i, 0] - base[0])
        if reach > end[0] - start[0]:
            corners[i] = base + (corners[i] - base) * (end[0] - start[0]) / reach
    low, high = 0.0, 1.0
    for _ in range(50):
        t = (low + high) / 2
        first = corners[:-1] + (corners[1:] - corners[:-1]) * t
        second = first[:-1] + (first[1:] - first[:-1]) * t
        middle = second[0] + (second[1] - second[0]) * t
        low, high = (t, high) if middle[0] < time else (low, t)
    return np.array([first[0], second[0], middle, second[1], first[2]])


def read_points(curve: bpy.types.FCurve) -> dict[str, np.ndarray]:
    """All keys of a curve as arrays: (K, 2) for places, (K,) for numbers and choices."""
    points, out = curve.keyframe_points, {}
    for name in (*PAIRS, *NUMBERS, *CHOICES):
        out[name] = np.empty(len(points) * (2 if name in PAIRS else 1), np.int32 if name in CHOICES else np.float32)
        points.foreach_get(name, out[name])
    return {name: row.reshape(-1, 2) if name in PAIRS else row for name, row in out.items()}


def write_points(curve: bpy.types.FCurve, rows: dict[str, np.ndarray]) -> None:
    """Give a curve these keys alone."""
    points = curve.keyframe_points
    points.clear()
    points.add(len(rows["co"]))
    for name, row in rows.items():
        points.foreach_set(name, row.ravel())
    curve.update()


def new_points(frames: np.ndarray, values: np.ndarray, interpolation: int) -> dict[str, np.ndarray]:
    """Keys with automatic clamped handles, as arrays."""
    co = np.stack([frames, values], 1).astype(np.float32)
    zero, third = np.zeros(len(co), np.int32), np.array((1 / 3, 0), np.float32)
    out = {"co": co, "handle_left": co - third, "handle_right": co + third}
    out |= {"amplitude": np.full(len(co), 0.8, np.float32), "back": np.full(len(co), 1.70158, np.float32),
            "period": np.full(len(co), 4.1, np.float32)}
    return out | {"interpolation": zero + interpolation, "handle_left_type": zero + AUTO_CLAMPED,
                  "handle_right_type": zero + AUTO_CLAMPED, "easing": zero, "type": zero}
