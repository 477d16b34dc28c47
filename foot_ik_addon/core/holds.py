"""Clips that hold their poses, as those keyed on twos: while nothing moves the correction does not move either."""

from __future__ import annotations

import numpy as np

from .clip import Clip, runs

SAME = 1e-6
"""Legs by which joints differ that are in the same place: Blender's matrices hold 7 digits."""


def held_rows(clip: Clip, standing: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """The frame (F,) int whose correction each frame gets, for the body and for each foot: that in which its pose was
    first held, or in which the foot, `standing` (F,) bool, first stands in it.

    Poses are held where a single jump leads from one to the next. What stops smoothly and goes on is not held, since
    the ground that comes may ask for more there than the clip moves.
    """
    bones = [leg.bone_of(on)[:, :3] for leg in clip.legs for on in (False, True)]
    parts = [clip.pelvis, *(leg.joints for leg in clip.legs), *bones]
    pose = np.column_stack([part.reshape(len(clip), -1) for part in parts])
    holds = runs(np.abs(np.diff(pose, axis=0)).max(1) < SAME)
    jumps = [after - before == 1 for (_, before), (after, _) in zip(holds, holds[1:], strict=False)]
    body = np.arange(len(clip))
    feet = [body.copy() for _ in standing]
    for (first, last), enters, leaves in zip(holds, [False, *jumps], [*jumps, False], strict=False):
        if enters or leaves:
            held = slice(first, last + 1)
            body[held] = first
            for rows, stands in zip(feet, standing, strict=True):
                rows[held] = first + stands[held].argmax()
    return body, feet
