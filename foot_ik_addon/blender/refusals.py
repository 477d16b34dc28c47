"""What cannot be corrected: found by measuring where it can be measured, and said in one sentence."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from math import pi

import bpy

from .channels import rotation_path
from .flush import flat
from .rig import Refusal, Rig, used_legs
from .sampling import placed
from .upstream import CHAINS, mover, upstream

BAKED = "foot_ik_baked"
"""Custom property of an action: first and last frame of each baked correction in it, one after the other."""
TO_FK = "bake the rig to FK (Object > Animation > Bake Action with Visual Keying and Clear Constraints)"
OFF = 0.01
"""A bone that is farther than this from where its channels put it (radians, or lengths of itself) is moved by something
else."""


def writable_or_refuse(ob: bpy.types.Object | None) -> None:
    """Refuse what is no armature whose pose can be written now."""
    if ob is None or ob.type != "ARMATURE":
        raise Refusal("Select an armature: Foot IK corrects the legs of a rig")
    if fixed := why_fixed(ob):
        raise Refusal(fixed)
    if ob.mode == "EDIT":
        raise Refusal(f"{ob.name} is in Edit Mode: leave it first")
    if ob.data.pose_position == "REST":
        raise Refusal(f"{ob.data.name} shows its rest position: set the armature to Pose Position first")


def why_fixed(ob: bpy.types.Object) -> str:
    """Why Blender lets nobody edit an object here; empty where it does."""
    if ob.library is not None:
        return f"{ob.name} is linked from another file: make a library override of it first"
    if ob.override_library is not None and ob.override_library.is_system_override:
        return f"The library override {ob.name} is not editable: press Object > Library Override > Make first"
    return ""


def refuse_missing_collection(ob: bpy.types.Object) -> None:
    """Refuse a ground that is to be a collection, where none is picked."""
    if ob.foot_ik.ground_source == "COLLECTION" and ob.foot_ik.ground_collection is None:
        raise Refusal("Pick the collection that holds the ground, or set Ground to Scene or Floor")


def refuse_unmovable(ob: bpy.types.Object, rig: Rig) -> None:
    """Refuse a pelvis that its parent holds fast (F8), and bones whose channels a driver writes (F4)."""
    body = ob.data.bones[rig.body]
    if body.use_connect and body.parent:
        raise Refusal(f"The pelvis bone {rig.body} is connected to its parent and cannot be moved: disconnect it in "
                      "Edit Mode, or pick its parent as the pelvis")
    stretched = [n for leg, bones in zip(used_legs(ob), rig.legs, strict=True) if leg.reach == "STRETCH"
                 for n in (bones.upper, bones.foot)]
    for name in rig.written:
        if is_driven(ob, name, name in stretched):
            raise Refusal(f"The bone {name} is moved by a driver: remove the driver, or bake it first")


def is_driven(ob: bpy.types.Object, name: str, stretched: bool = False) -> bool:
    """Whether a driver writes to channels of a bone that are corrected; its scale is only if it may be `stretched`."""
    bone = ob.pose.bones[name]
    start = f'pose.bones["{bpy.utils.escape_identifier(name)}"].'
    channels = ["location", rotation_path(bone.rotation_mode), *(["scale"] if stretched else [])]
    drivers = ob.animation_data.drivers if ob.animation_data else ()
    return any(driver.data_path == start + channel for driver in drivers for channel in channels)


def refuse_unturned(ob: bpy.types.Object, rig: Rig) -> None:
    """Refuse to turn a pelvis that the legs below it do not turn with."""
    for leg in (leg for leg, carried in zip(rig.legs, rig.carried, strict=True) if carried and not leg.handles):
        bone = ob.data.bones[leg.upper]
        while bone.name != rig.pelvis:
            if not bone.use_inherit_rotation:
                raise Refusal(f"The bone {bone.name} does not inherit the rotation of the pelvis: turn on Inherit "
                              "Rotation in its Relations, or set Lean to 0")
            bone = bone.parent


def constraint_check(ob: bpy.types.Object, rig: Rig) -> Callable[[bpy.types.Depsgraph, float], None]:
    """A function of the depsgraph and the frame that refuses bones which constraints move in that frame (F11, F34), and
    constraints that give a leg to other controls there than where these were found."""
    found = {rig.body, *(h.bone for h in rig.handles)} if rig.handles else set()  # which answer, whatever carries them
    direct = [n for n in rig.written if n not in found]
    constrained = {b.name for b in ob.pose.bones if len(b.constraints)}
    chained = any(c.type in CHAINS for b in ob.pose.bones for c in b.constraints)
    suspects = direct if chained else [n for n in direct if n in constrained]
    followers = upstream(ob, rig.bones) if rig.handles else []
    first: list[tuple[str, str, float]] = []

    def check(depsgraph: bpy.types.Depsgraph, frame: float) -> None:
        bones = ob.evaluated_get(depsgraph).pose.bones
        held = [row for name in followers for row in influences(bones[name])]
        first[:] = first or held
        for (name, constraint, was), (_, _, now) in zip(first, held, strict=True):
            if abs(was - now) > OFF:
                raise Refusal(f"The constraint {constraint} of the bone {name} changes its influence in frame "
                              f"{round(frame)}, so that other controls move the leg there: {TO_FK} first")
        for name in suspects:
            if constraint_moves(bones[name]):
                raise Refusal(f"{moved_by(ob, name)} in frame {round(frame)}: {TO_FK} first, or mute the constraint")

    return check


def influences(bone: bpy.types.PoseBone) -> Iterator[tuple[str, str, float]]:
    """How much the constraints of an evaluated bone act, and their targets: (bone, constraint, influence)."""
    for constraint in bone.constraints:
        act = constraint.enabled and not constraint.mute
        yield bone.name, constraint.name, constraint.influence * act
        for target in constraint.targets if constraint.type == "ARMATURE" else ():
            yield bone.name, constraint.name, target.weight * act


def moved_by(ob: bpy.types.Object, name: str) -> str:
    """The beginning of a sentence on a bone that a constraint moves."""
    owner, constraint = mover(ob, name)
    if owner is None or constraint is None:
        return f"The bone {name} is moved by a constraint"
    whose = "" if owner.name == name else f" of the bone {owner.name}"
    target = getattr(constraint, "target", None)
    to = f" to the object {target.name}" if target not in (None, ob) else ""
    return f"The bone {name} is moved by the constraint {constraint.name}{whose}{to}"


def constraint_moves(bone: bpy.types.PoseBone) -> bool:
    """Whether an evaluated pose bone is elsewhere than its channels and its parent put it."""
    free = placed(bone, bone.matrix_basis)
    away = (free.translation - bone.matrix.translation).length
    turned = free.to_quaternion().rotation_difference(bone.matrix.to_quaternion()).angle
    return away > OFF * bone.length or min(turned, 2 * pi - turned) > OFF


def note_baked(action: bpy.types.Action, start: int, end: int) -> None:
    """Note on an action, of which copies have the note too, that it holds a baked correction from frame to frame."""
    action[BAKED] = [*action.get(BAKED, ()), start, end]


def baked_frames(ob: bpy.types.Object) -> list[tuple[int, int]]:
    """First and last frame of each run of frames in which the animation of an object plays a baked correction."""
    data, runs = ob.animation_data, []
    if data is None:
        return runs
    strips = (strip for track in data.nla_tracks if not track.mute for strip in flat(track.strips) if not strip.mute)
    actions = [data.action, *(strip.action for strip in strips)]
    notes = [list(action[BAKED]) for action in actions if action and BAKED in action]
    for start, end in sorted(run for note in notes for run in zip(note[::2], note[1::2], strict=False)):
        if runs and start <= runs[-1][1] + 1:
            runs[-1] = runs[-1][0], max(runs[-1][1], end)
        else:
            runs.append((start, end))
    return runs


def refuse_baked(ob: bpy.types.Object, start: int, end: int) -> None:
    """Refuse frames that hold a baked correction: to correct them again would lift the feet twice."""
    for first, last in baked_frames(ob):
        if start <= last and first <= end:
            raise Refusal(f"Frames {first} to {last} of {ob.name} play a bake, where the feet are corrected already: "
                          "make the original action active again, or mute the baked track")
