"""Sample a rig from its F-curves, for all frames at once and without stepping through them.

That is possible where nothing else moves its bones and the object: what stands in the way is found and named, and the
scene is stepped through instead.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

import bpy
import numpy as np
from mathutils import Matrix

from ..core.basis import matrix_of, rotation_of
from .apply import Weights
from .channels import column, rotation_path
from .compat import animated_bag, is_muted
from .fingerprint import ground_objects
from .flush import animated_paths
from .handlers import foreign_handler
from .pieces import SURFACES, is_ground, is_worn
from .rig import Rig
from .sampling import Sample, axes_under, floor_frame, upright_axis

CHAINS = {"IK", "SPLINE_IK"}
"""Constraints that move other bones than the one that has them."""
BONE = re.compile(r'pose\.bones\["((?:[^"\\]|\\.)*)"\]\.?')
SWITCHES = ("constraints", "rotation_mode", "hide_viewport", "parent", "display_type")
"""Beginnings of paths of objects and bones that change how their channels are read."""
STILL = {"BEVEL", "DECIMATE", "EDGE_SPLIT", "MULTIRES", "REMESH", "SKIN", "SOLIDIFY", "SUBSURF", "TRIANGULATE",
         "WEIGHTED_NORMAL", "WELD", "WIREFRAME"}
"""Modifiers that make the same surface in every frame, whatever else is in the scene."""
HUGE = 1e18
"""The square of more is infinite in single precision."""
LEG_WEIGHTS = ("position_weight", "rotation_weight", "lock_weight")
WEIGHT = re.compile(rf"foot_ik\.(influence|lean|legs\[\d+\]\.({'|'.join(LEG_WEIGHTS)}))$")


class Animated:
    """One object over frames, from the F-curves of its active action."""

    def __init__(self, ob: bpy.types.Object, frames: np.ndarray):
        self.ob, self.frames = ob, frames
        self.curves = curves_of(ob)

    def values(self, path: str) -> np.ndarray:
        """(F, n): the property at a data path, n = 1 for a number. What no curve moves is as it is now."""
        now = np.atleast_1d(np.array(self.ob.path_resolve(path), float))
        out = np.tile(now, (len(self.frames), 1))
        for i in range(len(now)):
            curve = self.curves.get((path, i))
            if curve is not None:
                out[:, i] = evaluated(curve, self.frames)
        return out

    def basis(self, bone: bpy.types.PoseBone) -> np.ndarray:
        """(F, 4, 4): the channels of a bone as a matrix."""
        path = path_of(bone)
        turn = rotation_of(bone.rotation_mode, self.values(path + rotation_path(bone.rotation_mode)))
        location = self.values(path + "location") * (not (bone.bone.use_connect and bone.parent))
        return matrix_of(location, turn, self.values(path + "scale"))

    @cached_property
    def world(self) -> np.ndarray:
        """(F, 4, 4): the object's space to the world."""
        ob, mode = self.ob, self.ob.rotation_mode
        turn = rotation_of(mode, self.values(rotation_path(mode)))
        if mode != "AXIS_ANGLE":
            turn = rotation_of(mode, self.values("delta_" + rotation_path(mode))) @ turn
        location = self.values("location") + self.values("delta_location")
        local = matrix_of(location, turn, self.values("scale") * self.values("delta_scale"))
        if ob.parent is None:
            return local
        return Animated(ob.parent, self.frames).world @ np.array(ob.matrix_parent_inverse, float) @ local


def curves_of(ob: bpy.types.Object) -> dict[tuple[str, int], bpy.types.FCurve]:
    """{(data path, index): F-curve} of the active action of an object, those that Blender evaluates."""
    bag = animated_bag(ob.animation_data) if ob.animation_data else None
    return {(c.data_path, c.array_index): c for c in (bag.fcurves if bag else ()) if plays(c)}


def plays(curve: bpy.types.FCurve) -> bool:
    """Whether Blender evaluates a curve."""
    return not is_muted(curve) and curve.is_valid and not curve.is_empty


def evaluated(curve: bpy.types.FCurve, frames: np.ndarray) -> np.ndarray:
    """(F,): the values of a curve; of one that is keyed in each of the frames its keys."""
    if len(curve.keyframe_points) and not len(curve.modifiers):
        times, values = keys_of(curve)
        at = np.searchsorted(times, frames).clip(0, len(times) - 1)
        if (times[at] == frames).all() and (np.diff(times) > 0).all():
            return values[at]
    return np.array([curve.evaluate(frame) for frame in frames])


def keys_of(curve: bpy.types.FCurve) -> np.ndarray:
    """(2, K) float32: times and values of the keys of a curve."""
    return column(curve.keyframe_points, "co", 2).T


def read_curves(ob: bpy.types.Object, rig: Rig, frames: np.ndarray) -> tuple[Sample, Weights]:
    """The rig, and the weights of its settings, over frames (F,); what `step_through` would read."""
    animated = Animated(ob, frames)
    pose, basis = {}, {}
    for bone in needed(ob, rig):
        basis[bone.name] = animated.basis(bone)
        pose[bone.name] = composed(bone, basis[bone.name], pose)
    body = ob.pose.bones[rig.body]
    axes = axes_under(body, pose[body.parent.name] if body.parent else np.eye(4))
    poses, bases = (np.stack([of[name] for name in rig.bones], 1) for of in (pose, basis))
    sample = Sample(frames, animated.world, carriers(ob, frames), rig.bones, poses, bases,
                    np.broadcast_to(axes, (len(frames), 3, 3)))
    return sample, weights_of(animated)


def weights_of(animated: Animated) -> Weights:
    """The weights of the settings over frames; see `apply.read_weights`."""
    settings = animated.ob.foot_ik
    at = [i for i, leg in enumerate(settings.legs) if leg.enabled]
    values = lambda path: animated.values(f"foot_ik.{path}").clip(0, 1)  # as Blender keeps them, whatever a curve says
    position, rotation, lock = (np.concatenate([values(f"legs[{i}].{name}") for i in at], 1) for name in LEG_WEIGHTS)
    influence = values("influence")
    return Weights(influence * position, influence * rotation, lock, values("lean")[:, 0])


def needed(ob: bpy.types.Object, rig: Rig) -> list[bpy.types.PoseBone]:
    """The bones of a rig and all above them, parents first."""
    names = {n for name in rig.bones for n in (name, *(b.name for b in ob.data.bones[name].parent_recursive))}
    return [bone for bone in ob.pose.bones if bone.name in names]  # Blender sorts them so


def composed(bone: bpy.types.PoseBone, basis: np.ndarray, pose: dict[str, np.ndarray]) -> np.ndarray:
    """(F, 4, 4): where channels `basis` put a bone in armature space, those of its parent being in `pose`."""
    rest, parent = bone.bone, bone.parent
    if rest.use_local_location and (parent is None or (rest.use_inherit_rotation and rest.inherit_scale == "FULL")):
        own = np.array(rest.matrix_local, float)
        joint = own if parent is None else np.linalg.inv(np.array(rest.parent.matrix_local, float)) @ own
        return (joint if parent is None else pose[parent.name] @ joint) @ basis
    above = {} if parent is None else {"parent_matrix_local": rest.parent.matrix_local}
    out = np.empty_like(basis)
    for f, channels in enumerate(basis.tolist()):
        if parent is not None:
            above["parent_matrix"] = Matrix(pose[parent.name][f].tolist())
        out[f] = rest.convert_local_to_pose(Matrix(channels), rest.matrix_local, **above)
    return out


def carriers(ob: bpy.types.Object, frames: np.ndarray) -> np.ndarray:
    """(F, 4, 4): see `Sample.carrier`."""
    height = ob.foot_ik.floor_height
    if ob.parent is None or ob.foot_ik.floor_space == "WORLD":
        return np.tile(np.array(Matrix.Translation((0, 0, height)), float), (len(frames), 1, 1))
    spaces = Animated(ob.parent, frames).world
    if (spaces == spaces[0]).all():
        spaces = spaces[:1]
    floors = [floor_frame(space, upright_axis(space), height) for space in map(Matrix, spaces.tolist())]
    return np.broadcast_to(np.array(floors, float), (len(frames), 4, 4))


def obstacle(scene: bpy.types.Scene, ob: bpy.types.Object, rig: Rig) -> str:
    """Why a rig has to be stepped through, as the rest of a sentence; empty where its F-curves tell all."""
    if scene.render.frame_map_old != scene.render.frame_map_new:
        return "time is remapped"
    if handler := foreign_handler():
        return f"the handler {handler} runs in every frame"
    return obstacle_on(ob, rig)


def obstacle_on(ob: bpy.types.Object, rig: Rig) -> str:
    """The same, of what the rig itself has."""
    if rig.handles:
        return "controls move its legs"
    bones = needed(ob, rig)
    names = {bone.name for bone in bones}
    if is_animated(ob.data):
        return f"the armature {ob.data.name} is animated itself"
    paths = animated_paths(ob)
    for bone in (bone for bone in ob.pose.bones if len(bone.constraints)):
        switched = any(path.startswith(f"{path_of(bone)}constraints[") for path in paths)
        for constraint in (c for c in bone.constraints if switched or not c.mute):
            if bone.name in names or (constraint.type in CHAINS and names & chain_of(bone, constraint)):
                return f"the bone {bone.name} has a constraint"
    return next(obstacles_of(ob, names), "")


def path_of(bone: bpy.types.PoseBone) -> str:
    """The beginning of the data paths of what a bone has."""
    return f'pose.bones["{bpy.utils.escape_identifier(bone.name)}"].'


def chain_of(bone: bpy.types.PoseBone, constraint: bpy.types.Constraint) -> set[str]:
    """The bones that an IK constraint of a bone may move."""
    count = constraint.chain_count + 1 if constraint.chain_count else None
    return {b.name for b in [bone, *bone.parent_recursive][:count]}


def obstacles_of(ob: bpy.types.Object, bones: Iterable[str] = ()) -> Iterator[str]:
    """What but F-curves may move an object, what it hangs on, and some of its bones."""
    data = ob.animation_data
    if any(not c.mute for c in ob.constraints):
        yield f"{ob.name} has a constraint"
    if ob.rigid_body is not None:
        yield f"{ob.name} is a rigid body"
    if ob.parent is not None:
        if ob.parent_type != "OBJECT":
            yield f"{ob.name} hangs on a part of {ob.parent.name}"
        if ob.parent.type == "CURVE" and ob.parent.data.use_path:
            yield f"{ob.name} may follow the path {ob.parent.name}"
        yield from obstacles_of(ob.parent)
    if data is None:
        return
    if data.use_nla and any(track.is_solo or not track.mute for track in data.nla_tracks):
        yield f"{ob.name} plays NLA strips"
    if data.use_tweak_mode or len(getattr(data.action, "layers", ())) > 1:
        yield f"the action of {ob.name} is one of several layers"
    for driver in data.drivers:
        if concerns(driver.data_path, bones):
            yield f"{ob.name} has drivers"
    bag = animated_bag(data)
    for curve in (c for c in (bag.fcurves if bag else ()) if concerns(c.data_path, bones)):
        own = BONE.sub("", curve.data_path, count=1)
        if own.startswith((*SWITCHES, "pose")) or (own.startswith("foot_ik") and not WEIGHT.match(own)):
            yield f"{curve.data_path} is animated"
        if np.abs(keys_of(curve)[1]).max(initial=0.0) > HUGE:
            yield f"{curve.data_path} has a value that is too large"


def concerns(path: str, bones: Iterable[str]) -> bool:
    """Whether a data path of an object is that of one of some bones, or of the object itself."""
    bone = BONE.match(path)
    return bone is None or bpy.utils.unescape_identifier(bone[1]) in bones


def ground_obstacle(scene: bpy.types.Scene, ob: bpy.types.Object) -> str:
    """Why the ground of a rig has to be stepped through; empty where no piece of it changes and F-curves alone move
    those that move."""
    chosen = ob.foot_ik.ground_source == "COLLECTION"
    for ground in ground_objects(scene, ob).values():
        makes = ground.type not in SURFACES and len(ground.modifiers) > 0 and not is_worn(ground, ob, chosen)
        pieces = [ground] if makes or is_ground(ground, ob, chosen) or shows_later(ground) else []
        if ground.instance_type != "NONE":
            among = getattr(ground.instance_collection, "all_objects", ())
            made = [o for o in among if o.type in SURFACES or o.instance_type != "NONE"]
            if ground.instance_type != "COLLECTION" or any(o.instance_type != "NONE" for o in made):
                return f"{ground.name} makes instances"
            if any(o.animation_data is not None for o in chain(ground, *made)):
                return f"{ground.name} makes instances that are animated"
            pieces = [ground, *made]
        for piece in pieces:
            why = next(obstacles_of(piece), "")
            if why or (piece.type != "EMPTY" and changes_shape(piece)):
                return why or f"the shape of {piece.name} may change"
            if any(path.endswith("scale") for o in chain(piece) for path, _ in curves_of(o)):
                return f"the scale of {piece.name} is animated"
    return ""


def shows_later(ob: bpy.types.Object) -> bool:
    """Whether an object may become ground in another frame."""
    return any(path == "display_type" for path in animated_paths(ob))


def chain(*obs: bpy.types.Object) -> set[bpy.types.Object]:
    """Some objects and all that they hang on."""
    out = set(obs)
    while above := {ob.parent for ob in out if ob.parent is not None} - out:
        out |= above
    return out


def changes_shape(ob: bpy.types.Object) -> bool:
    """Whether the surface of an object may differ from frame to frame."""
    keys = getattr(ob.data, "shape_keys", None)
    modified = any(m.type not in STILL for m in ob.modifiers)
    return (ob.type != "MESH" or ob.mode == "EDIT" or is_animated(ob.data) or (keys is not None and is_animated(keys))
            or modified or any(path.startswith("modifiers") for path, _ in curves_of(ob)))


def moving(scene: bpy.types.Scene, ob: bpy.types.Object, frames: np.ndarray) -> dict[str, np.ndarray]:
    """{full name of a piece of ground that is animated: (F, 4, 4) its world matrices}, which need not be that of the
    frame that is shown; there is no `ground_obstacle`."""
    out = {}
    for name, ground in ground_objects(scene, ob).items():
        if any(o.animation_data is not None for o in chain(ground)):
            out[name] = Animated(ground, frames).world
    return out


def is_animated(data: bpy.types.ID) -> bool:
    """Whether anything animates a data-block."""
    animation = data.animation_data
    return animation is not None and (animation.action is not None or len(animation.drivers) > 0
                                      or len(animation.nla_tracks) > 0)
