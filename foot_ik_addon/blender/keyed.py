"""Keys that are made while a corrected pose is shown: they come to hold the animated one.

Insert Keyframe, keying sets and Auto Keying key what the channels hold, which is what was written there; played, it
would be corrected once more. Bake Action keys what is shown in frame after frame: that is a bake, and noted as one.
"""
from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor

import bpy
import numpy as np

from ..core.basis import rotation_of
from .apply import shown_before
from .channels import LOCATION, ROTATION, SCALE, SIZES, rotation_path
from .compat import Bag, animated_bag
from .curves import keys_of, path_of
from .held import ROUNDED, Held, given_back, read_held, still_there
from .refusals import baked_frames, note_baked

SAME, OTHER = 1e-4, 1e-3
"""Baked channels differ from those that were shown by less than the one; those of a pose that is not corrected by more
than the other. Shares of their largest value where that is more than 1."""
NEAREST = 8
"""Frames that tell whether an action plays what was shown."""
TIME = 0.01
"""Keys that are nearer to each other are one to Blender."""

Curves = dict[tuple[int, int], bpy.types.FCurve]
"""{(row, column) in `BoneChannels.values`: curve}"""


def take_out(ob: bpy.types.Object) -> None:
    """Give keys of the frame in which an object shows a corrected pose, and that hold it, what is animated instead."""
    data = ob.animation_data
    bag = animated_bag(data) if data else None
    if bag is None or data.action.library is not None:
        return
    held, at = still_there(ob, read_held(ob))
    if any(first <= held.frame <= last for first, last in baked_frames(ob)):
        return  # a bake was made active since, which holds the same as was shown
    curves = curves_of_bones(bag, [ob.pose.bones[place] for place in at], held.modes)
    time = data.nla_tweak_strip_time_to_scene(held.frame * held.pace, invert=True)
    keys = {cell: key for cell, curve in curves.items() if (key := key_at(curve, time)) is not None}
    now = held.shown.copy()
    for cell, key in keys.items():
        now[cell] = key.co.y
    meant = given_back(held, held.modes, now)
    wrong = [cell for cell in keys if abs(meant[cell] - now[cell]) > ROUNDED]
    if not wrong or note_bake(ob, held, curves):
        return
    for cell in wrong:
        value, key = float(meant[cell]), keys[cell]
        for handle in (key.handle_left, key.handle_right):
            handle.y += value - key.co.y
        key.co.y = value
    for cell in wrong:
        curves[cell].update()


def curves_of_bones(bag: Bag, bones: Sequence[bpy.types.PoseBone], modes: Sequence[str]) -> Curves:
    """The curves of the channels of some bones, in these rotation modes."""
    there = {(curve.data_path, curve.array_index): curve for curve in bag.fcurves}
    out = {}
    for row, (bone, mode) in enumerate(zip(bones, modes, strict=True)):
        for path, part in ((rotation_path(mode), ROTATION), ("location", LOCATION), ("scale", SCALE)):
            for i in range(SIZES[path]):
                curve = there.get((path_of(bone) + path, i))
                if curve is not None:
                    out[row, part.start + i] = curve
    return out


def key_at(curve: bpy.types.FCurve, time: float) -> bpy.types.Keyframe | None:
    """The key of a curve at a time; None where there is none."""
    near = np.flatnonzero(np.abs(keys_of(curve)[0] - time) < TIME)
    return curve.keyframe_points[int(near[0])] if len(near) else None


def note_bake(ob: bpy.types.Object, held: Held, curves: Curves) -> bool:
    """Whether the active action plays what was shown in other frames too; then it is noted for a bake."""
    seen = shown_before(ob, held.modes)
    frames = np.array([frame for frame, *_ in seen])
    if not len(frames):
        return False
    animated, shown = (np.array([row[i] for row in seen], float) for i in (1, 2))
    size = np.maximum(1.0, np.abs(shown).max((0, 1)))
    changed = np.abs(shown - animated) > OTHER * size
    there = np.flatnonzero(changed.any((1, 2)) & (frames != held.frame))
    there = there[np.argsort(np.abs(frames[there] - held.frame))]
    data = ob.animation_data

    def kept(rows: np.ndarray) -> np.ndarray:
        """(F,): whether all that was changed in some frames is keyed as it was shown."""
        times = [data.nla_tweak_strip_time_to_scene(frame * held.pace, invert=True) for frame in frames[rows]]
        out = np.ones(len(rows), bool)
        for i, mode in enumerate(held.modes):
            width = SIZES[rotation_path(mode)]
            needed = changed[rows, i]
            needed[:, :width] = needed[:, :width].any(1, keepdims=True)
            keys = np.stack([values_at(curves.get((i, column)), times) for column in range(10)], 1)
            now, was = np.where(needed, keys, shown[rows, i]), shown[rows, i]
            turned = rotation_of(mode, now[:, :width]) - rotation_of(mode, was[:, :width])
            out &= (np.abs(turned) < SAME).all((1, 2)) & (np.abs(now - was) < SAME * size)[:, 4:].all(1)
        return out

    if not kept(there[:NEAREST]).any():
        return False
    baked = [held.frame, *frames[there[kept(there)]]]
    note_baked(data.action, floor(min(baked)), ceil(max(baked)))
    return True


def values_at(curve: bpy.types.FCurve | None, times: Sequence[float]) -> np.ndarray:
    """(F,): the values of the keys of a curve at some times; not a number where there is none."""
    if curve is None or not len(curve.keyframe_points):
        return np.full(len(times), np.nan)
    at, values = keys_of(curve)
    near = np.abs(at[:, None] - times).argmin(0)
    return np.where(np.abs(at[near] - times) < TIME, values[near], np.nan)
