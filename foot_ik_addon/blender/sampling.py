"""Read an animated rig: armature-space poses of its bones, where it stands, and what carries it."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import bpy
import numpy as np
from mathutils import Matrix

from ..core.clip import Clip, Leg
from ..core.rotations import length, rotate, transposed
from .rig import Refusal, Rig

NOT_A_NUMBER = "The animation has a value that is not a number: look for broken keys on the legs or the object"
NOTHING = 1e-9
"""Share of its largest volume at which a bone is scaled to nothing."""


@dataclass(frozen=True)
class Sample:
    """A rig over frames, as animated."""

    frames: np.ndarray
    """(F,): frame numbers, with sub-frames."""
    world: np.ndarray
    """(F, 4, 4): armature space to world."""
    carrier: np.ndarray
    """(F, 4, 4): the floor on which the clip was animated to world: rigid, its z up and the floor at z = 0."""
    bones: list[str]
    poses: np.ndarray
    """(F, bones, 4, 4) in armature space."""
    bases: np.ndarray
    """(F, bones, 4, 4): the channels as matrices."""
    location: np.ndarray
    """(F, 3, 3): change of the head of the bone that moves the body, in armature space, per unit of its location
    channels (columns)."""
    axes: dict[str, np.ndarray] = field(default_factory=dict)
    """{handle: (F, 3, 3)}: the same of the handles."""

    def __len__(self) -> int:
        return len(self.frames)

    @cached_property
    def pose(self) -> dict[str, np.ndarray]:
        """{bone: (F, 4, 4)}: of `poses`."""
        return {name: self.poses[:, i] for i, name in enumerate(self.bones)}

    @cached_property
    def basis(self) -> dict[str, np.ndarray]:
        """{bone: (F, 4, 4)}: of `bases`."""
        return {name: self.bases[:, i] for i, name in enumerate(self.bones)}

    def take(self, rows: list[int] | np.ndarray) -> Sample:
        """Some of its frames."""
        return Sample(self.frames[rows], self.world[rows], self.carrier[rows], self.bones, self.poses[rows],
                      self.bases[rows], self.location[rows], {n: m[rows] for n, m in self.axes.items()})


def read_frame(ob: bpy.types.Object, rig: Rig, depsgraph: bpy.types.Depsgraph, frame: float) -> Sample:
    """The rig as the depsgraph has evaluated it, a sample of one frame. Nothing is read from the original object.

    In double precision, which NumPy does not make of matrices by itself from Blender 5.2 on.
    """
    evaluated = ob.evaluated_get(depsgraph)
    bones = evaluated.pose.bones
    every, names = bones.keys(), rig.bones
    at = [every.index(name) for name in names]
    matrices = np.empty((2, 16 * len(every)), np.float32)
    for row, name in zip(matrices, ("matrix", "matrix_basis")):
        bones.foreach_get(name, row)
    matrices = matrices.reshape(2, -1, 4, 4)[:, at].astype(float)
    poses, bases = transposed(matrices)[:, None]  # Blender keeps columns
    axes = {handle.bone: location_axes(bones[handle.bone])[None] for handle in rig.handles}
    world, floor = (np.array(m, float)[None] for m in (evaluated.matrix_world, carrier(ob, depsgraph)))
    return Sample(np.array([frame]), world, floor, names, poses, bases, location_axes(bones[rig.body])[None], axes)


def joined(samples: list[Sample]) -> Sample:
    """Samples of single frames of the same bones as one."""
    first = samples[0]
    if len(samples) == 1:
        return first
    stack = lambda get: np.concatenate([get(s) for s in samples])
    return Sample(stack(lambda s: s.frames), stack(lambda s: s.world), stack(lambda s: s.carrier), first.bones,
                  stack(lambda s: s.poses), stack(lambda s: s.bases), stack(lambda s: s.location),
                  {n: stack(lambda s, n=n: s.axes[n]) for n in first.axes})


def carrier(ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Matrix:
    """The rigid frame of the floor on which `ob` was animated, in world space (without scale).

    That is the space of its parent with the floor at `floor_height`, the axis nearest to the world's up being up; or
    the world, where there is no parent or `floor_space` says so.
    """
    height = ob.foot_ik.floor_height
    if ob.parent is None or ob.foot_ik.floor_space == "WORLD":
        return Matrix.Translation((0, 0, height))
    space = parent_space(ob, ob.parent.evaluated_get(depsgraph))
    return floor_frame(space, upright_axis(space), height)


def parent_space(ob: bpy.types.Object, parent: bpy.types.Object) -> Matrix:
    """The space of the parent of `ob`, in the world; where `ob` hangs on a bone of it, moved as that is from its rest,
    in which bones point anywhere."""
    space = parent.matrix_world
    if ob.parent_type == "BONE" and ob.parent_bone in parent.pose.bones:
        bone = parent.pose.bones[ob.parent_bone]
        space = space @ bone.matrix @ bone.bone.matrix_local.inverted_safe()
    return space


def upright_axis(space: Matrix) -> int:
    """The axis of a space that is nearest to the world's up."""
    axes = space.to_3x3().transposed()
    return max(range(3), key=lambda i: abs(axes[i].normalized().z))


def floor_frame(space: Matrix, axis: int, height: float) -> Matrix:
    """The rigid frame at `height` along one axis of a space, that axis its z and pointing up."""
    columns = space.to_3x3().transposed()
    up = columns[axis].normalized()
    sign = 1.0 if up.z >= 0 else -1.0
    x = columns[(axis + 1) % 3]
    up = up * sign
    x = (x - up * x.dot(up)).normalized()
    y = up.cross(x)
    out = Matrix((x, y, up)).transposed().to_4x4()
    out.translation = space.translation + columns[axis] * sign * height
    return out


def placed(bone: bpy.types.PoseBone, basis: Matrix) -> Matrix:
    """Where channels would put an evaluated pose bone, in armature space, if no constraint moved it (F7)."""
    rest, above, parent = bone.bone, bone.parent, {}
    if above:
        parent = {"parent_matrix": above.matrix, "parent_matrix_local": rest.parent.matrix_local}
    return rest.convert_local_to_pose(basis, rest.matrix_local, **parent)


def location_axes(bone: bpy.types.PoseBone) -> np.ndarray:
    """(3, 3): how the head of an evaluated pose bone moves in armature space with its location channels; zero if
    connected."""
    axes = axes_under(bone, np.array(bone.parent.matrix, float) if bone.parent else np.eye(4))
    if len(bone.constraints):  # such as Child Of, which carry on what the channels make
        carried = bone.matrix @ placed(bone, bone.matrix_basis).inverted_safe()
        axes = np.array(carried.to_3x3(), float) @ axes
    return axes


def axes_under(bone: bpy.types.PoseBone, above: np.ndarray) -> np.ndarray:
    """The same (..., 3, 3) without constraints, under poses `above` (..., 4, 4) of its parent, none where it has none:
    whatever a bone inherits, its location is in the space of its parent."""
    rest = bone.bone
    if rest.use_connect and rest.parent:
        return np.zeros_like(above[..., :3, :3])
    if not rest.use_local_location:
        return above[..., :3, :3]
    own = rest.matrix_local.to_3x3()
    if rest.parent:
        own = rest.parent.matrix_local.to_3x3().inverted_safe() @ own
    return above[..., :3, :3] @ np.array(own, float)


def to_clip(sample: Sample, rig: Rig, fps: float, unit: float | np.ndarray | None = None) -> tuple[Clip, np.ndarray]:
    """The sample in clip space, and (F, 4, 4) the matrices from clip space to armature space.

    One unit of clip space is as long as a leg in this sample or, where that is given, `unit` in the world; that may
    differ from frame to frame (F, 1, 1).

    Raises `Refusal` for rigs that are not finite, or whose legs or feet are scaled to nothing.
    """
    own = leg_length(sample, rig)
    unit = own if unit is None else unit
    scaled = sample.carrier.copy()
    scaled[:, :3, :3] *= unit
    with np.errstate(all="ignore"):
        try:
            to_rig = np.linalg.inv(sample.world) @ scaled
            from_rig = np.linalg.inv(to_rig)
        except np.linalg.LinAlgError:
            raise Refusal("The armature object is scaled to nothing: give it a scale other than zero") from None
    poses = from_rig[:, None] @ sample.poses
    if not np.isfinite(poses).all():
        raise Refusal(NOT_A_NUMBER)
    refuse_flat(sample, rig)
    at, heads = {name: i for i, name in enumerate(sample.bones)}, poses[..., :3, 3]
    legs = tuple(Leg(heads[:, [at[leg.upper], at[leg.lower], at[leg.foot]]], poses[:, at[leg.foot]],
                     poses[:, at[leg.toe]] if leg.toe else None, leg.bends) for leg in rig.legs)
    return Clip(fps, heads[:, at[rig.pelvis]], legs), to_rig


def refuse_flat(sample: Sample, rig: Rig) -> None:
    """Refuse feet and toes that are scaled to nothing in some frame: nothing can be fixed to them."""
    names = [n for leg in rig.legs for n in (leg.foot, leg.toe) if n]
    volumes = np.abs(np.linalg.det(sample.poses[:, [sample.bones.index(n) for n in names], :3, :3]))
    flat = volumes.min(0) <= NOTHING * volumes.max(0)
    if flat.any():
        i = int(flat.argmax())
        raise Refusal(f"The bone {names[i]} is scaled to nothing in frame {sample.frames[volumes[:, i].argmin()]:g}: "
                      "give it a scale other than zero")


def leg_length(sample: Sample, rig: Rig) -> float:
    """World length of upper + lower, the mean of all legs, the median of all frames."""
    names = [(leg.upper, leg.lower, leg.foot) for leg in rig.legs]
    at = [[sample.bones.index(n) for n in three] for three in names]
    joints = rotate(sample.world[:, None, None, :3, :3], sample.poses[..., :3, 3][:, at])
    lengths = length(np.diff(joints, axis=2)).sum(2)
    unit = float(np.median(lengths.mean(1)))
    if not np.isfinite(unit):
        raise Refusal(NOT_A_NUMBER)
    if unit < 1e-6:
        raise Refusal("The legs have no length in this animation: check the scale of the armature and of its bones")
    return unit


def frame_range(scene: bpy.types.Scene) -> list[int]:
    """The frames of the scene's range."""
    return list(range(scene.frame_start, scene.frame_end + 1))


def step_through(scene: bpy.types.Scene, ob: bpy.types.Object, rig: Rig, frames: list[int],
                 each: list) -> Iterator[float]:
    """Visit frames of the scene and read the rig in each; yields the share done, returns the `Sample`.

    `each` are functions of the depsgraph and the frame that read more on the way, such as the ground. The scene is left
    on the frame on which it was.
    """
    kept = scene.frame_current, scene.frame_subframe
    layer = layer_of(scene, ob)
    out = []
    try:
        for i, frame in enumerate(frames):
            scene.frame_set(frame)
            depsgraph = layer.depsgraph
            out.append(read_frame(ob, rig, depsgraph, frame))
            for function in each:
                function(depsgraph, frame)
            yield (i + 1) / len(frames)
    finally:
        scene.frame_set(kept[0], subframe=kept[1])
    return joined(out)


def layer_of(scene: bpy.types.Scene, ob: bpy.types.Object) -> bpy.types.ViewLayer:
    """A view layer of the scene in which the object is surely evaluated; raises `Refusal` where there is none."""
    layers = layers_of(scene, ob)
    if not layers or ob.hide_viewport:
        raise Refusal(f"{ob.name} is hidden from the scene {scene.name}: show it and its collections first")
    return layers[0]


def layers_of(scene: bpy.types.Scene, ob: bpy.types.Object) -> list[bpy.types.ViewLayer]:
    """The view layers of a scene that have an object, that of the window first."""
    window = bpy.context.window
    layers = [window.view_layer] if window and window.scene == scene else []
    return [layer for layer in (*layers, *scene.view_layers) if ob.name in layer.objects]
