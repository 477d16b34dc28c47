"""What would spoil the result on this rig, each with a way to put it right where there is one."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import bpy

from . import live
from .apply import in_range
from .compat import animated_bag
from .fingerprint import ground_objects
from .pieces import is_ground
from .refusals import constraint_moves, is_driven, why_fixed
from .rig import Refusal, Rig, read_rig, used_legs
from .store import unpack_plan
from .upstream import mover

FOLLOWERS = {"COPY_TRANSFORMS", "COPY_ROTATION", "COPY_LOCATION", "TRANSFORM", "ARMATURE", "CHILD_OF", "STRETCH_TO",
             "ACTION", "SPLINE_IK", "PIVOT", "TRANSFORM_CACHE"}
"""Constraints that bring the animation to a bone: without them it stands still, so muting them is no help."""


@dataclass(frozen=True)
class Advice:
    """One thing to know about a rig."""

    text: str
    """A sentence or two without the last full stop."""
    fix: str = ""
    """Operator that puts it right; empty where none can."""
    label: str = ""
    """Text on the button of the fix."""
    is_error: bool = False
    """Whether the work stops until this is put right."""
    options: tuple[tuple[str, str], ...] = ()
    """Properties of the operator."""


def advise(ob: bpy.types.Object | None, scene: bpy.types.Scene) -> list[Advice]:
    """All advice on an object in a scene, what stops the work first.

    Reads settings and the pose as Blender shows it now; it evaluates nothing, so it may be called while drawing.
    """
    if ob is None or ob.type != "ARMATURE":
        return list(on_selection(ob))
    if ob.library is not None:
        return [Advice("Linked from another file. Make a library override to correct it here",
                       "object.make_override_library", "Make Library Override", is_error=True)]
    if why_fixed(ob):
        return [Advice("This library override is not editable, so that what is corrected here would be lost",
                       "object.make_override_library", "Make Editable", is_error=True)]
    found = [*on_object(ob), *on_legs(ob), *on_ground(scene, ob)]
    if used_legs(ob):
        found += [*on_live(scene, ob), *on_plan(scene, ob)]
    return sorted(found, key=lambda a: not a.is_error)


def on_selection(ob: bpy.types.Object | None) -> Iterator[Advice]:
    """An active object that is no armature."""
    armature = ob.find_armature() if ob is not None else None
    if armature is None:
        yield Advice("Select an armature to correct its legs")
    else:
        yield Advice(f"{ob.name} is moved by the armature {armature.name}", "foot_ik.select_armature",
                     "Select Armature")


def on_object(ob: bpy.types.Object) -> Iterator[Advice]:
    """The state of the armature object."""
    if ob.data.pose_position == "REST":
        yield Advice("The armature is in Rest Position, so no pose shows", "foot_ik.use_pose_position",
                     "Use Pose Position", is_error=True)
    if ob.mode == "EDIT":
        yield Advice("Leave Edit Mode to see and plan the pose", "object.editmode_toggle", "Leave Edit Mode",
                     is_error=True)
    if ob.hide_viewport:
        yield Advice("The armature is disabled in viewports, so it is not evaluated", "foot_ik.show_armature",
                     "Enable in Viewports", is_error=True)
    if abs(ob.matrix_world.to_3x3().determinant()) < 1e-18:
        yield Advice("The armature object is scaled to nothing", "object.scale_clear", "Clear Scale", is_error=True)
    data = ob.animation_data
    if data and data.use_tweak_mode:
        yield Advice("An NLA strip is being tweaked. Leave tweak mode before baking")


def on_legs(ob: bpy.types.Object) -> Iterator[Advice]:
    """The bones of pelvis and legs, and what else moves them."""
    if not ob.foot_ik.legs:
        yield Advice("No legs are set up", "foot_ik.detect_legs", "Detect Legs")
        return
    try:
        rig = read_rig(ob)
    except Refusal as refusal:
        yield Advice(str(refusal), is_error=True)
        return
    pelvis = ob.data.bones[rig.body]
    if pelvis.use_connect and pelvis.parent:
        yield Advice(f"The pelvis bone {rig.body} is connected to its parent, so it cannot move",
                     "foot_ik.disconnect_pelvis", "Disconnect", is_error=True)
    if ob.data.pose_position == "POSE" and ob.mode != "EDIT":
        yield from on_movers(ob, rig)


def on_movers(ob: bpy.types.Object, rig: Rig) -> Iterator[Advice]:
    """Constraints and drivers that move a bone instead of its own channels: the first one of each leg and pelvis."""
    seen = set()
    body = () if rig.handles else (rig.body,)
    for part in (body, *(() if leg.handles else leg.chain for leg in rig.legs)):
        for name in part:
            if is_driven(ob, name):
                yield Advice(f"{name} is moved by a driver. Remove the driver, or bake it first", is_error=True)
                break
            if constraint_moves(ob.pose.bones[name]):
                owner, constraint = mover(ob, name)
                if constraint is None or constraint not in seen:
                    yield constrained(ob, name, owner, constraint)
                seen.add(constraint)
                break


def constrained(ob: bpy.types.Object, name: str, owner: bpy.types.PoseBone | None,
                constraint: bpy.types.Constraint | None) -> Advice:
    """Advice on a bone that a constraint moves; to mute it helps only where the bone has keys of its own."""
    if constraint is None or owner is None:
        return Advice(f"{name} is not moved by its own keys. Bake the rig to FK first", is_error=True)
    on = "" if owner.name == name else f" on {owner.name}"
    cause = f"{name} is moved by the constraint {constraint.name}{on}"
    if constraint.type in FOLLOWERS or (constraint.type == "IK" and not has_keys(ob, name)):
        return Advice(f"{cause}. Bake the rig to FK first: Pose > Animation > Bake Action, with Visual Keying and "
                      "Clear Constraints", is_error=True)
    return Advice(cause, "foot_ik.mute_constraint", "Mute Constraint", True,
                  (("bone", owner.name), ("constraint", constraint.name)))


def has_keys(ob: bpy.types.Object, name: str) -> bool:
    """Whether the active action turns a bone."""
    bag = animated_bag(ob.animation_data) if ob.animation_data else None
    start = f'pose.bones["{bpy.utils.escape_identifier(name)}"].rotation'
    return bag is not None and any(curve.data_path.startswith(start) for curve in bag.fcurves)


def on_ground(scene: bpy.types.Scene, ob: bpy.types.Object) -> Iterator[Advice]:
    """Whether there is ground to stand on."""
    settings = ob.foot_ik
    if settings.ground_source == "COLLECTION" and settings.ground_collection is None:
        yield Advice("Pick the collection that holds the ground", "foot_ik.set_ground_source", "Use the Scene", True,
                     (("source", "SCENE"),))
    elif settings.ground_source != "FLOOR" and settings.legs:
        chosen = settings.ground_source == "COLLECTION"
        among = ground_objects(scene, ob).values()
        if not any(o.instance_type != "NONE" or is_ground(o, ob, chosen) for o in among):
            where = f"The collection {settings.ground_collection.name}" if chosen else "The scene"
            yield Advice(f"{where} has no ground to stand on", "foot_ik.set_ground_source", "Use the Flat Floor", True,
                         (("source", "FLOOR"),))


def on_live(scene: bpy.types.Scene, ob: bpy.types.Object) -> Iterator[Advice]:
    """What gets in the way while the correction is live."""
    if not ob.foot_ik.enabled:
        return
    problem = live.problems.get(ob.session_uid)
    if problem and not is_broken(ob):
        yield Advice(problem, is_error=True)
    if scene.tool_settings.use_keyframe_insert_auto:
        yield Advice("Auto Keying would store corrected poses as keys", "foot_ik.stop_auto_keying",
                     "Turn Off Auto Keying")
    if not scene.render.use_lock_interface:
        yield Advice("Rendering while the interface is not locked can crash Blender", "foot_ik.lock_interface",
                     "Lock Interface")


def is_broken(ob: bpy.types.Object) -> bool:
    """Whether the settings do not fit the armature, which `on_legs` tells."""
    try:
        read_rig(ob)
    except Refusal:
        return True
    return False


def on_plan(scene: bpy.types.Scene, ob: bpy.types.Object) -> Iterator[Advice]:
    """What the plan does not cover, and what was noted when it was made."""
    settings = ob.foot_ik
    if not settings.plan:
        if settings.enabled:
            yield Advice("Without a plan no foot is locked to its footprint", "foot_ik.plan", "Plan")
        return
    try:
        saved = unpack_plan(settings.plan)
    except Refusal as refusal:
        yield Advice(str(refusal), "foot_ik.plan", "Plan Again")
        return
    if not set(saved.legs) >= {leg.foot for leg in used_legs(ob)}:
        yield Advice("The plan was made for other legs", "foot_ik.plan", "Plan Again")
    elif settings.enabled and not in_range(saved, scene.frame_current):
        yield Advice(f"Frame {scene.frame_current} is outside the plan, so no foot is locked here")
    for note in saved.notes:
        yield Advice(note)

