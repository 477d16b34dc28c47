"""Whether constraints let a corrected pose be: limits that an animation keeps may still hold its correction back."""
from __future__ import annotations

from collections.abc import Generator

import bpy
import numpy as np

from . import live
from .apply import Channels, motions_of
from .controls import unit_of
from .refusals import TO_FK
from .rig import Refusal, Rig
from .sampling import Sample, layer_of
from .trials import angle
from .upstream import chain_targets, mover

NEAR = 0.002
"""Legs, and radians, by which a bone may be elsewhere than it should."""


def refuse_held_back(scene: bpy.types.Scene, ob: bpy.types.Object, rig: Rig, sample: Sample, channels: Channels
                     ) -> Generator[float, None, None]:
    """Refuse constraints that keep bones from going where the corrected channels of a sample put them.

    That is looked at in each frame, where any of the bones that are written may be constrained. Yields the share done.
    """
    chained = chain_targets(ob)
    suspects = [name for name in rig.written if len(ob.pose.bones[name].constraints) or name in chained]
    if not suspects:
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
            for name in suspects:
                here, wanted = np.array(bones[name].matrix, float), motions[name][i] @ sample.pose[name][i]
                if np.linalg.norm(here[:3, 3] - wanted[:3, 3]) > near or angle(here, wanted) > NEAR:
                    held.setdefault(name, frame)
            live.restore(ob)
            yield (i + 1) / len(sample)
    finally:
        live.restore(ob)
        scene.frame_set(kept[0], subframe=kept[1])
    if held:
        raise Refusal(held_back(ob, held))


def held_back(ob: bpy.types.Object, held: dict[str, float]) -> str:
    """What to do about bones that do not follow, each with the first frame in which it does not."""
    movers = [mover(ob, name) for name in held]
    names = list(dict.fromkeys(f"{c.name} of {owner.name}" for owner, c in movers if owner and c))
    by = f"the constraint {names[0]}: mute it" if len(names) == 1 else f"constraints ({', '.join(names)}): mute them"
    return f"The corrected pose is held back in frame {min(held.values()):g} by {by}, or {TO_FK} first"
