"""The clip of a rig over many frames, from its F-curves where those tell all, else by stepping through the scene."""
from __future__ import annotations

from collections.abc import Generator

import bpy
import numpy as np

from ..core.loops import closes_round
from .apply import Weights, joined_weights, read_weights
from .curves import ground_obstacle, moving, obstacle, read_curves
from .ground import MeshGround
from .rig import Refusal, Rig
from .sampling import Sample, layer_of, step_through, to_clip


class WeightsOver:
    """The weights of an object, gathered while its frames are visited."""

    def __init__(self, ob: bpy.types.Object):
        self.ob = ob
        self.frames: list[Weights] = []

    def visit(self, depsgraph: bpy.types.Depsgraph, _frame: float) -> None:
        self.frames.append(read_weights(self.ob.evaluated_get(depsgraph)))

    def joined(self) -> Weights:
        return joined_weights(self.frames)


def sample_clip(scene: bpy.types.Scene, ob: bpy.types.Object, rig: Rig, frames: list[int], each: tuple = (),
                ground: MeshGround | None = None, why: str = ""
                ) -> Generator[float, None, tuple[Sample, Weights, str]]:
    """The rig and its weights over frames, and why the scene was stepped through for them (empty where it was not).

    The `ground` is gathered on the way, and `each` are functions of the depsgraph and the frame that read more. With a
    reason `why` the rig is stepped through in any case. Yields the share done.
    """
    layer = layer_of(scene, ob)
    found = obstacle(scene, ob, rig) or (ground_obstacle(scene, ob) if ground else "")
    if ground and not found:
        layer.update()
        ground.visit(layer.depsgraph, scene.frame_float)
        ground.move(moving(scene, ob, np.array(frames)), len(frames))
    if why or found:
        weights = WeightsOver(ob)
        visits = [ground.visit] if ground and found else []
        sample = yield from step_through(scene, ob, rig, frames, [*visits, *each, weights.visit])
        return sample, weights.joined(), why or found
    sample, over = read_curves(ob, rig, np.array(frames))
    for function in each:
        function(layer.depsgraph, scene.frame_float)
    yield 1.0
    return sample, over, ""


def whole_round(scene: bpy.types.Scene, ob: bpy.types.Object, rig: Rig, frames: list[int]
                ) -> Generator[float, None, list[int]]:
    """Frames of a clip, and the one after them if that is the first again: a cycle that is played over and over is
    keyed one frame longer than its range, so that it shows no pose twice."""
    if len(frames) < 3:
        return frames
    ends = [*frames[:2], frames[-1], frames[-1] + 1]
    sample, _, _ = yield from sample_clip(scene, ob, rig, ends)
    try:
        clip, _ = to_clip(sample, rig, 1.0)
    except Refusal:
        return frames
    return [*frames, ends[-1]] if closes_round(clip) else frames
