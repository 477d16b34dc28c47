"""Legs below bones that are scaled unevenly. What such a bone carries is sheared as it turns, so that the channels of a
rigid motion miss it: how far is found by composing the bones as Blender does, and aimed off by as much.
"""
from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..core.motions import about, leg_motions
from ..core.pose import Corrected, Rows
from ..core.rotations import (
    IDENTITY,
    from_rotvec,
    nearest_axes,
    nearest_rotation,
    rotate,
    to_rotvec,
    transform,
    transposed,
)
from .rig import LegBones, Refusal, Rig
from .sampling import Sample

ROUNDS = 4
"""Each leaves about the share of the miss by which the scales differ."""
UNEVEN = 1e-3
"""Share by which the scales of a space may differ that is still even."""
SHEARING = "FULL"
"""The way of inheriting scale that shears; the others, but for FIX_SHEAR, scale a bone along its own axes."""


def is_sheared(sample: Sample, rig: Rig) -> bool:
    """Whether bones of a leg shear what they carry."""
    return len(unevenly_scaled(sample, rig, SHEARING)) > 0


def unevenly_scaled(sample: Sample, rig: Rig, way: str) -> list[str]:
    """The bones of legs that inherit scale in one way, and whose channels act in a space that is scaled unevenly."""
    names = [n for leg in rig.legs for n, own in zip(leg.written, leg.scales, strict=False) if own == way]
    at = [sample.bones.index(name) for name in names]
    pose, basis = (transposed(m) @ m for m in (sample.poses[:, at, :3, :3], sample.bases[:, at, :3, :3]))
    size = np.trace(pose, axis1=-2, axis2=-1) / np.maximum(np.trace(basis, axis1=-2, axis2=-1), 1e-30)
    even = size[..., None, None] * basis  # what an even space makes of the channels
    uneven = (np.abs(pose - even) > UNEVEN * np.abs(even).max((-2, -1), keepdims=True)).any((0, 2, 3))
    return [name for name, is_so in zip(names, uneven, strict=True) if is_so]


def refuse_fixed_shear(sample: Sample, rig: Rig) -> None:
    """Refuse bones below uneven scales whose shear Blender takes out: their sizes change as the leg turns."""
    names = unevenly_scaled(sample, rig, "FIX_SHEAR")
    if names:
        raise Refusal(f"The bone {names[0]} is scaled unevenly by its parents, and its Inherit Scale is Fix Shear: set "
                      "that to Full or Aligned in its Relations")


def aimed_off(sample: Sample, rig: Rig, linear: np.ndarray, wanted: Corrected, rows: Rows,
              rotation: dict[str, np.ndarray], scale: dict[str, np.ndarray]) -> Rows:
    """Rows whose solution comes nearer to what is `wanted` than that of `rows`, which are the channels `rotation`
    {bone: (F, 3, 3)} and `scale` {bone: (F,)}; `linear` (F, 3, 3) leads from clip to armature space."""
    inverse, move, turn, bend = np.linalg.inv(linear), rows.move.copy(), rows.turn.copy(), rows.bend.copy()
    into_clip = lambda turn: nearest_rotation(inverse @ turn @ linear)
    head = sample.pose[rig.pelvis][:, :3, 3]
    body = about(turned(sample, rig.body, rotation), head, head + wanted.pelvis)
    for i, leg in enumerate(rig.legs):
        if leg.handles:
            continue
        joints = np.stack([sample.pose[n][:, :3, 3] for n in leg.chain], 1)
        toe = sample.pose[leg.toe][:, :3, 3] if leg.bends else None
        should = dict(zip((*leg.chain, leg.toe), leg_motions(joints, toe, wanted, i), strict=False))
        above = body if rig.carried[i] else np.broadcast_to(np.eye(4), body.shape)
        does = motions_shown(sample, leg, rotation, scale, above)
        off = {n: should[n][:, :3, :3] @ transposed(nearest_rotation(does[n][:, :3, :3])) for n in does}
        old = from_rotvec(turn[:, i])
        new = into_clip(off[leg.foot]) @ old
        if leg.bends:
            bend[:, i] = to_rotvec(into_clip(off[leg.toe]) @ from_rotvec(bend[:, i]) @ old @ transposed(new))
        turn[:, i] = to_rotvec(new)
        stands = leg.toe if rows.on_toe[i] and leg.bends else leg.foot
        ball = transform(sample.pose[leg.toe if rows.on_toe[i] else leg.foot], rows.ball[..., i, :])
        move[:, i] += rotate(inverse, transform(should[stands], ball) - transform(does[stands], ball))
    return replace(rows, move=move, turn=turn, bend=bend)


def motions_shown(sample: Sample, leg: LegBones, rotation: dict[str, np.ndarray], scale: dict[str, np.ndarray],
                  above: np.ndarray) -> dict[str, np.ndarray]:
    """{bone: (F, 4, 4)}: what the written bones of a leg do in armature space when their channels are these, and what
    it hangs on makes the motion `above` (F, 4, 4)."""
    out = {}
    for name, inherits, way in zip(leg.written, leg.inherits, leg.scales, strict=True):
        head = sample.pose[name][:, :3, 3]
        carried = above[:, :3, :3] if way == SHEARING else nearest_rotation(above[:, :3, :3])
        motion = (carried if inherits else IDENTITY) @ turned(sample, name, rotation, way == SHEARING)
        motion = motion * scale[name][:, None, None] if name in scale else motion
        above = out[name] = about(motion, head, transform(above, head))
    return out


def turned(sample: Sample, name: str, rotation: dict[str, np.ndarray], shears: bool = True) -> np.ndarray:
    """(F, 3, 3): what a bone does by itself in armature space when its channels are turned."""
    pose, basis = (of[name][:, :3, :3] for of in (sample.pose, sample.basis))
    space = pose @ np.linalg.pinv(basis)
    if not shears:
        space = nearest_axes(space)
    return space @ rotation[name] @ transposed(nearest_axes(basis)) @ np.linalg.pinv(space)
