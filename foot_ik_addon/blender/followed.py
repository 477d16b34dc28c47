"""Whether a rig lets a corrected pose be: limits that an animation keeps may still hold its correction back."""
from __future__ import annotations

from collections.abc import Generator, Iterable

import bpy
import numpy as np

from . import live
from .apply import Channels, motions_of
from .controls import unit_of
from .refusals import TO_FK
from .rig import Refusal, Rig
from .sampling import Sample, layer_of
from .trials import angle
from .upstream import chain_targets, mover, upstream

NEAR = 0.002
"""Legs, and radians, by which a bone may be elsewhere than it should."""


def refuse_held_back(scene: bpy.types.Scene, ob: bpy.types.Object, rig: Rig, sample: Sample, channels: Channels
                     ) -> Generator[float, None, None]:
    """Refuse constraints and joint limits that keep bones from going where the corrected channels of a sample put them.

    That is looked at in each frame, where there may be any. Yields the share done.
    """
    chained = chain_targets(ob)
    written = [name for name in rig.written if len(ob.pose.bones[name].constraints) or name in chained]
    ends = [leg.handles[0].follows for leg in rig.legs if leg.handles]
    limits = {name: limited_joints(ob, name, chained) for name in ends}
    pulled = [name for name, joints in limits.items() if joints]
    if not written + pulled:
        return
    layer, kept = layer_of(scene, ob), (scene.frame_current, scene.frame_subframe)
    motions, near = motions_of(sample, rig, channels.corrected), NEAR * unit_of(ob, rig)
    held: dict[str, float] = {}
    try:
        for i, frame in enumerate(sample.frames.tolist()):
            scene.frame_set(round(frame))
            live.show(ob, rig, channels.row(i), layer.depsgraph)
            layer.update()
            bones = ob.evaluated_get(layer.depsgraph).pose.bones
            for name in written + pulled:
                here, wanted = np.array(bones[name].matrix, float), motions[name][i] @ sample.pose[name][i]
                turned = name in written and angle(here, wanted) > NEAR
                if turned or np.linalg.norm(here[:3, 3] - wanted[:3, 3]) > near:
                    held.setdefault(name, frame)
            live.restore(ob)
            yield (i + 1) / len(sample)
    finally:
        live.restore(ob)
        scene.frame_set(kept[0], subframe=kept[1])
    if held:
        raise Refusal(f"The corrected pose is held back in frame {min(held.values()):g} by {holders(ob, held, limits)}")


def holders(ob: bpy.types.Object, held: Iterable[str], limits: dict[str, list[str]]) -> str:
    """What holds some bones back, and what to do about it; `limits` are the limited joints of those that are pulled."""
    movers = [mover(ob, name) for name in held if name not in limits]
    names = list(dict.fromkeys(f"{c.name} of {owner.name}" for owner, c in movers if owner and c))
    if len(names) == 1:
        return f"the constraint {names[0]}: mute it, or {TO_FK} first"
    if names:
        return f"constraints ({', '.join(names)}): mute them, or {TO_FK} first"
    joints = dict.fromkeys(joint for name in held for joint in limits[name])
    return f"the IK limits of {', '.join(joints)}: widen them, or turn them off"


def limited_joints(ob: bpy.types.Object, end: str, chained: dict[str, list[str]]) -> list[str]:
    """The bones that can move the end of a leg, are in an IK chain and have joint limits."""
    limited = lambda bone: bone.use_ik_limit_x or bone.use_ik_limit_y or bone.use_ik_limit_z
    return [name for name in upstream(ob, [end]) if name in chained and limited(ob.pose.bones[name])]
