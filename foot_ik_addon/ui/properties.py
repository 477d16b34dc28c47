"""The settings: `Object.foot_ik` on armature objects, named as in docs/developing.md."""
from __future__ import annotations

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    IntVectorProperty,
    PointerProperty,
    StringProperty,
)

from .. import blender
from . import state

OVERRIDABLE: set = {"LIBRARY_OVERRIDABLE"}
FIXED: set = set()
"""Options of what cannot be animated: it is read once, not in every frame of a render."""
INSERTABLE: set = {"LIBRARY_OVERRIDABLE", "USE_INSERTION"}

FLOOR_SPACES = (
    ("PARENT", "Parent", "The parent carries the floor along, as a ship its deck"),
    ("WORLD", "World", "The floor stays where it is; the parent moves the character over it"))

BAKE_TARGETS = (
    ("NEW_ACTION", "New Action", "A copy of the action with the corrected channels replaced; the original is kept"),
    ("NLA", "NLA Track", "Only the corrected channels, on a track above the animation"))


def refresh(settings: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Show the corrected pose after a setting that acts live has changed."""
    blender.live.refresh(settings.id_data)


def switch(settings: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Show or hide the corrected pose."""
    blender.live.switch(settings.id_data)


def mark_edited(contact: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Remember that the user has changed a contact."""
    contact.edited = True
    state.changed()


def mark_heel(contact: bpy.types.PropertyGroup, context: bpy.types.Context) -> None:
    """Remember that the user has said when the heel touches."""
    contact.heel_edited = True
    mark_edited(contact, context)


def mark_ball(contact: bpy.types.PropertyGroup, context: bpy.types.Context) -> None:
    """Remember that the user has said when the ball touches."""
    contact.ball_edited = True
    mark_edited(contact, context)


def rename_leg(leg: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Let the contacts of a leg go along with its name, once it has one that no other leg has."""
    settings = leg.id_data.foot_ik
    if not leg.name or sum(other.name == leg.name for other in settings.legs) > 1:
        return
    for contact in settings.contacts if leg.named else ():
        if contact.leg == leg.named:
            contact.leg = leg.name
    leg.named = leg.name
    state.changed()


def look_again(_settings: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Look at the plan and draw the viewports again after a setting of the plan or of the overlay has changed."""
    state.changed()


class FootIKLeg(bpy.types.PropertyGroup):
    """One leg: its bones, its weights and its solver."""

    name: StringProperty(name="Name", description="What this leg is called in the lists", update=rename_leg,
                         options=FIXED, override=OVERRIDABLE)
    named: StringProperty(options={"HIDDEN"}, override=OVERRIDABLE)
    upper: StringProperty(name="Upper Leg", description="Bone from the hip to the knee",
                          options=FIXED, override=OVERRIDABLE)
    lower: StringProperty(name="Lower Leg", description="Bone from the knee to the ankle",
                          options=FIXED, override=OVERRIDABLE)
    foot: StringProperty(name="Foot", description="Bone whose head is the ankle", options=FIXED, override=OVERRIDABLE)
    toe: StringProperty(name="Toe", description="Bone whose head is the ball of the foot; may be empty",
                        options=FIXED, override=OVERRIDABLE)
    enabled: BoolProperty(name="Use Leg", description="Correct this leg", default=True, update=refresh,
                          options=FIXED, override=OVERRIDABLE)
    position_weight: FloatProperty(name="Position", description="How far the foot is moved to the ground", default=1.0,
                                   min=0.0, max=1.0, subtype="FACTOR", update=refresh, override=OVERRIDABLE)
    rotation_weight: FloatProperty(name="Rotation", description="How far the foot is turned to the ground", default=1.0,
                                   min=0.0, max=1.0, subtype="FACTOR", update=refresh, override=OVERRIDABLE)
    lock_weight: FloatProperty(name="Lock", description="How firmly a planted foot is held at its footprint",
                               default=1.0, min=0.0, max=1.0, subtype="FACTOR", update=refresh, override=OVERRIDABLE)
    solver: EnumProperty(
        name="Solver", description="How the leg bends to reach its foot", default="AUTO", update=refresh,
        options=FIXED, override=OVERRIDABLE, items=(
            ("AUTO", "Automatic", "Two bones where the leg has two, a longer chain where it has more"),
            ("TWO_BONE", "Two Bones", "Closed form for hip, knee and ankle"),
            ("FABRIK", "FABRIK", "For legs of three and more bones, even bends"),
            ("CCD", "CCD", "For legs of three and more bones, bends most near the foot")))
    reach: EnumProperty(
        name="Out of Reach", description="What happens where the leg is too short", default="PELVIS", update=refresh,
        options=FIXED, override=OVERRIDABLE, items=(
            ("PELVIS", "Lower the Pelvis", "The pelvis moves so that the leg reaches"),
            ("ACCEPT", "Accept", "The foot stays short of the ground"),
            ("STRETCH", "Stretch", "The leg grows, up to the largest stretch")))
    max_stretch: FloatProperty(name="Largest Stretch", description="How much longer the leg may become", default=0.1,
                               min=0.0, soft_max=0.1, max=0.5, subtype="FACTOR", update=refresh,
                               options=FIXED, override=OVERRIDABLE)
    sole: StringProperty(options={"HIDDEN"}, override=OVERRIDABLE)


class FootIKContact(bpy.types.PropertyGroup):
    """One planned contact of a foot with the ground."""

    leg: StringProperty(name="Leg", description="Leg whose foot touches the ground",
                        options=FIXED, override=OVERRIDABLE)
    start: IntProperty(name="Start", description="First frame of the contact", update=mark_edited,
                       options=FIXED, override=OVERRIDABLE)
    end: IntProperty(name="End", description="Last frame of the contact", update=mark_edited,
                     options=FIXED, override=OVERRIDABLE)
    mode: EnumProperty(
        name="Mode", description="What the foot does in this contact", default="AUTO",
        options=FIXED, override=OVERRIDABLE,
        update=mark_edited, items=(
            ("AUTO", "Automatic", "As found from the clip", "DOT", 0),
            ("LOCK", "Lock", "The foot is held at its footprint", "LOCKED", 1),
            ("SLIDE", "Slide", "The foot slides as animated and follows the ground", "ARROW_LEFTRIGHT", 2),
            ("NONE", "None", "No contact: the foot is in the air", "X", 3)))
    heel_start: IntProperty(name="Heel Start", description="First frame in which the heel touches", update=mark_heel,
                            options=FIXED, override=OVERRIDABLE)
    heel_end: IntProperty(name="Heel End", default=-1, update=mark_heel, options=FIXED, override=OVERRIDABLE,
                          description="Last frame in which the heel touches; before its start: it never does")
    ball_start: IntProperty(name="Ball Start", description="First frame in which the ball touches", update=mark_ball,
                            options=FIXED, override=OVERRIDABLE)
    ball_end: IntProperty(name="Ball End", default=-1, update=mark_ball, options=FIXED, override=OVERRIDABLE,
                          description="Last frame in which the ball touches; before its start: it never does")
    heel_edited: BoolProperty(name="Heel Edited by Hand", description="The heel touches when this contact says so, "
                              "not when it was found to", options=FIXED, override=OVERRIDABLE)
    ball_edited: BoolProperty(name="Ball Edited by Hand", description="The ball touches when this contact says so, "
                              "not when it was found to", options=FIXED, override=OVERRIDABLE)
    edited: BoolProperty(name="Edited by Hand", description="Kept as it is when the clip is planned again",
                         options=FIXED, override=OVERRIDABLE)
    found_start: IntProperty(name="Found Start", description="First frame of the contact as found in the clip",
                             options={"HIDDEN"}, override=OVERRIDABLE)
    found_end: IntProperty(name="Found End", description="Last frame as found; before the first one for a contact that "
                           "was added by hand", default=-1, options={"HIDDEN"}, override=OVERRIDABLE)
    found_touch: IntVectorProperty(size=4, options={"HIDDEN"}, override=OVERRIDABLE)


class FootIKSettings(bpy.types.PropertyGroup):
    """Everything that Foot IK knows about one armature."""

    enabled: BoolProperty(name="Live", description="Show the corrected legs in the viewport and in renders",
                          update=switch, options=FIXED, override=OVERRIDABLE)
    influence: FloatProperty(name="Influence", description="Weight of the whole correction", default=1.0, min=0.0,
                             max=1.0, subtype="FACTOR", update=refresh, override=OVERRIDABLE)
    lean: FloatProperty(name="Lean", description="How far the body leans into the slope that it walks on: forward "
                        "uphill, backward downhill, sideways on a cross slope", default=0.0, min=0.0, max=1.0,
                        subtype="FACTOR", update=refresh, override=OVERRIDABLE)
    pelvis: StringProperty(name="Pelvis", description="Bone that is moved to lower or raise the body",
                           options=FIXED, override=OVERRIDABLE)
    legs: CollectionProperty(type=FootIKLeg, name="Legs", description="The legs that are corrected",
                             override=INSERTABLE)
    active_leg: IntProperty(name="Active Leg", description="Leg that is shown below the list",
                            options=FIXED, override=OVERRIDABLE)
    ground_source: EnumProperty(
        name="Ground", description="What the feet stand on", default="SCENE",
        options=FIXED, update=look_again, override=OVERRIDABLE, items=(
            ("SCENE", "Scene", "Every visible ground-like object; never the character or other deforming ones"),
            ("COLLECTION", "Collection", "The objects of one collection, instances included"),
            ("FLOOR", "Floor", "The flat floor alone")))
    ground_collection: PointerProperty(type=bpy.types.Collection, name="Collection",
                                       description="Collection whose objects are the ground", update=look_again,
                                       override=OVERRIDABLE)
    floor_height: FloatProperty(name="Floor Height", subtype="DISTANCE", unit="LENGTH", soft_min=-10.0, soft_max=10.0,
                                description="Height of the flat floor that the clip was animated on",
                                options=FIXED, update=look_again, override=OVERRIDABLE)
    floor_space: EnumProperty(name="Floor Space", default="PARENT", options=FIXED, update=look_again,
                              description="What the flat floor goes along with", override=OVERRIDABLE,
                              items=FLOOR_SPACES)
    max_pitch: FloatProperty(name="Largest Pitch", description="Steepest tilt of a foot along its length",
                             default=0.7, min=0.0, max=1.4, subtype="ANGLE", options=FIXED, update=look_again,
                             override=OVERRIDABLE)
    max_roll: FloatProperty(name="Largest Roll", description="Steepest tilt of a foot across its width",
                            default=0.45, min=0.0, max=1.4, subtype="ANGLE", options=FIXED, update=look_again,
                            override=OVERRIDABLE)
    max_step: FloatProperty(name="Largest Step", default=0.4, min=0.0, soft_max=1.0, subtype="FACTOR",
                            description="Highest step that is still ground, as a share of the leg",
                            options=FIXED, update=look_again, override=OVERRIDABLE)
    max_shift: FloatProperty(name="Footprint Shift", default=0.5, min=0.0, max=1.0, subtype="FACTOR",
                             description="How far a footprint may move to a better place, as a share of the foot",
                             options=FIXED, update=look_again, override=OVERRIDABLE)
    contacts: CollectionProperty(type=FootIKContact, name="Contacts", override=INSERTABLE,
                                 description="The planned contacts of the feet with the ground")
    show_footprints: BoolProperty(
        name="Footprints", description="Draw the footprints of the plan where they lie, those of this frame filled: "
        "heel and ball when they touch", default=True, update=look_again, options=FIXED, override=OVERRIDABLE)
    show_contacts: BoolProperty(
        name="Contact Strip", description="Draw the contacts over the frames of the scene, at the bottom of the "
        "viewport: heels above, balls below", default=True, update=look_again, options=FIXED, override=OVERRIDABLE)
    show_rays: BoolProperty(
        name="Rays and Normals", description="Draw how far heels and balls are from the ground straight below, and "
        "the normals of the footprints", update=look_again, options=FIXED, override=OVERRIDABLE)
    active_contact: IntProperty(name="Active Contact", description="Contact that is shown below the list",
                                options=FIXED, override=OVERRIDABLE)
    use_bake_range: BoolProperty(name="Custom Range", description="Bake other frames than the range of the scene",
                                 options=FIXED, override=OVERRIDABLE)
    bake_start: IntProperty(name="Start", description="First frame to bake", default=1,
                            options=FIXED, override=OVERRIDABLE)
    bake_end: IntProperty(name="End", description="Last frame to bake", default=250,
                          options=FIXED, override=OVERRIDABLE)
    bake_step: IntProperty(name="Step", description="Frames from key to key", default=1, min=1, soft_max=10,
                           options=FIXED, override=OVERRIDABLE)
    bake_target: EnumProperty(name="Target", description="Where the keys go", default="NEW_ACTION", items=BAKE_TARGETS,
                              options=FIXED, override=OVERRIDABLE)
    baked: PointerProperty(type=bpy.types.Action, options={"HIDDEN"}, override=OVERRIDABLE)
    plan: StringProperty(options={"HIDDEN"}, override=OVERRIDABLE)
    planned: StringProperty(options={"HIDDEN"}, override=OVERRIDABLE)
    controls: StringProperty(options={"HIDDEN"}, override=OVERRIDABLE)
    footprints: StringProperty(options={"HIDDEN"}, override=OVERRIDABLE)
    fingerprint: StringProperty(options={"HIDDEN"}, override=OVERRIDABLE)
    report: StringProperty(name="Report", description="How well the feet stand before and after, as JSON",
                           options={"HIDDEN"}, override=OVERRIDABLE)
    shown: BoolProperty(options={"HIDDEN"}, override=OVERRIDABLE)
    held: StringProperty(options={"HIDDEN"}, override=OVERRIDABLE)


CLASSES = (FootIKLeg, FootIKContact, FootIKSettings)


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.Object.foot_ik = PointerProperty(type=FootIKSettings, name="Foot IK", override=OVERRIDABLE)


def unregister() -> None:
    del bpy.types.Object.foot_ik
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
