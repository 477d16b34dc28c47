"""The panel `Foot IK` in the sidebar of the 3D viewport."""
from __future__ import annotations

import bpy

from .. import blender
from . import operators, state
from .wrapping import draw_text

IN_FLOW = {"foot_ik.detect_legs", "foot_ik.plan"}
"""Operators whose buttons are always there, with a line that tells when to press them."""


NO_STRETCH = "Controls do not stretch a leg: where it is too short its foot stays short of the ground"


class Sidebar:
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Foot IK"


class Subpanel(Sidebar):
    """Below the main panel, for armatures that can be edited here."""

    bl_parent_id = "FOOT_IK_PT_main"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        ob = context.object
        return ob is not None and ob.type == "ARMATURE" and not blender.refusals.why_fixed(ob)


def draw_advice(layout: bpy.types.UILayout, context: bpy.types.Context, item: blender.advice.Advice) -> None:
    """A box that says what is wrong, with the button that puts it right."""
    column = layout.box().column()
    text = column.column()
    text.alert = item.is_error
    draw_text(text, context, item.text, "ERROR" if item.is_error or item.fix else "INFO")
    if item.fix:
        button = column.operator(item.fix, text=item.label)
        for name, value in item.options:
            setattr(button, name, value)


class FOOT_IK_PT_main(Sidebar, bpy.types.Panel):
    bl_label = "Foot IK"

    def draw(self, context: bpy.types.Context) -> None:
        layout, scene, ob = self.layout, context.scene, context.object
        layout.use_property_split = True
        layout.use_property_decorate = False
        found = blender.advice.advise(ob, scene)
        if ob is None or ob.type != "ARMATURE" or blender.refusals.why_fixed(ob):
            for item in found:
                draw_advice(layout, context, item)
            return
        settings, share = ob.foot_ik, operators.share_done()
        if share is not None:
            found = []  # while frames are visited it would come and go
        layout.enabled = share is None
        for item in found:
            if item.is_error:
                draw_advice(layout, context, item)
        column = layout.column()
        column.operator("foot_ik.detect_legs", icon="VIEWZOOM")
        flow = column.column()
        flow.enabled = len(settings.legs) > 0
        flow.operator("foot_ik.plan", text="Plan Again" if settings.plan else "Plan",
                      icon="FILE_REFRESH" if settings.plan else "TIME")
        flow.operator("foot_ik.toggle", icon="HIDE_OFF" if settings.enabled else "HIDE_ON", depress=settings.enabled)
        if share is None:
            draw_text(layout, context, *state_text(scene, ob))
        else:
            layout.progress(text=f"{share:.0%}   Esc: Cancel", factor=share)
        for item in found:
            if not item.is_error and item.fix not in IN_FLOW:
                draw_advice(layout, context, item)
        column = layout.column()
        column.enabled = len(settings.legs) > 0
        weights = column.column(align=True)
        weights.use_property_decorate = True
        weights.prop(settings, "influence", slider=True)
        weights.prop(settings, "lean", slider=True)
        row = column.row(align=True)
        draw_bake(row, context)
        row.operator("foot_ik.clear", icon="TRASH")


def state_text(scene: bpy.types.Scene, ob: bpy.types.Object) -> tuple[str, str]:
    """What to say of legs and plan, and its icon."""
    settings = ob.foot_ik
    if not settings.legs:
        return "No legs set up yet", "INFO"
    if not settings.plan:
        return "Legs are set up, not planned yet", "INFO"
    try:
        saved = blender.store.unpack_plan(settings.plan)
    except blender.rig.Refusal as refusal:
        return str(refusal), "ERROR"
    baked = blender.refusals.baked_frames(ob)
    if baked:  # the bake is another clip than that which was planned, but nothing is amiss
        return "Baked frames " + ", ".join(f"{first}\u2013{last}" for first, last in baked), "CHECKMARK"
    if state.plan_state(scene, ob) == "STALE":
        return "Plan is out of date: clip, ground, contacts or settings have changed", "ERROR"
    return f"Planned frames {saved.start}\u2013{saved.start + len(saved.plan) - 1}", "CHECKMARK"


def draw_bake(layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
    """The Bake button, with what the Bake subpanel says."""
    settings = context.object.foot_ik
    button = layout.operator("foot_ik.bake", icon="REC")
    button.step, button.target = settings.bake_step, settings.bake_target
    if settings.use_bake_range:
        button.frame_start, button.frame_end = settings.bake_start, settings.bake_end


class FOOT_IK_PT_legs(Subpanel, bpy.types.Panel):
    bl_label = "Legs"

    def draw(self, context: bpy.types.Context) -> None:
        layout, ob = self.layout, context.object
        layout.use_property_split = True
        layout.use_property_decorate = False
        settings = ob.foot_ik
        draw_bone(layout, ob, settings, "pelvis")
        row = layout.row()
        row.template_list("FOOT_IK_UL_legs", "", settings, "legs", settings, "active_leg", rows=3)
        side = row.column(align=True)
        side.operator("foot_ik.leg_add", text="", icon="ADD")
        side.operator("foot_ik.leg_remove", text="", icon="REMOVE")
        if 0 <= settings.active_leg < len(settings.legs):
            draw_leg(layout, context, settings.legs[settings.active_leg])


def draw_bone(layout: bpy.types.UILayout, ob: bpy.types.Object, owner: bpy.types.PropertyGroup, name: str) -> None:
    """A bone picker, red where it names a bone that is not there."""
    row = layout.row()
    value = getattr(owner, name)
    row.alert = bool(value) and value not in ob.data.bones
    row.prop_search(owner, name, ob.data, "bones")


def draw_leg(layout: bpy.types.UILayout, context: bpy.types.Context, leg: bpy.types.PropertyGroup) -> None:
    """Bones, weights and solver of one leg."""
    ob, column = context.object, layout.column()
    for name in ("upper", "lower", "foot", "toe"):
        draw_bone(column, ob, leg, name)
    handles = controls_of(ob, leg)
    if handles:
        draw_text(column, context, "Moved by " + ", ".join(handles), "CONSTRAINT_BONE")
    column = layout.column(align=True)
    column.use_property_decorate = True
    column.prop(leg, "position_weight", slider=True)
    column.prop(leg, "rotation_weight", slider=True)
    column.prop(leg, "lock_weight", slider=True)
    column = layout.column()
    column.prop(leg, "solver")
    column.prop(leg, "reach")
    if leg.reach == "STRETCH" and handles:
        draw_text(column, context, NO_STRETCH, "INFO")
    elif leg.reach == "STRETCH":
        column.prop(leg, "max_stretch", slider=True)


def controls_of(ob: bpy.types.Object, leg: bpy.types.PropertyGroup) -> list[str]:
    """The bones that are written in the place of those of a leg; of controls that cannot be read the advice tells."""
    text = ob.foot_ik.controls
    try:
        return [handle.bone for handle in blender.rig.read_controls(text).legs.get(leg.foot, ())] if text else []
    except blender.rig.Refusal:
        return []


class FOOT_IK_PT_ground(Subpanel, bpy.types.Panel):
    bl_label = "Ground"

    def draw(self, context: bpy.types.Context) -> None:
        layout, settings = self.layout, context.object.foot_ik
        layout.use_property_split = True
        layout.use_property_decorate = False
        column = layout.column()
        column.prop(settings, "ground_source")
        if settings.ground_source == "COLLECTION":
            row = column.row()
            row.alert = settings.ground_collection is None
            row.prop(settings, "ground_collection")
        column.prop(settings, "floor_height")
        if context.object.parent is not None:
            column.prop(settings, "floor_space")
        column = layout.column(align=True)
        column.prop(settings, "max_pitch")
        column.prop(settings, "max_roll")
        column = layout.column(align=True)
        column.prop(settings, "max_step")
        column.prop(settings, "max_shift")


class FOOT_IK_PT_contacts(Subpanel, bpy.types.Panel):
    bl_label = "Contacts"

    def draw(self, context: bpy.types.Context) -> None:
        layout, ob = self.layout, context.object
        layout.use_property_split = True
        layout.use_property_decorate = False
        settings = ob.foot_ik
        row = layout.row()
        row.template_list("FOOT_IK_UL_contacts", "", settings, "contacts", settings, "active_contact", rows=6)
        side = row.column(align=True)
        side.menu("FOOT_IK_MT_contact_add", text="", icon="ADD")
        side.operator("foot_ik.contact_remove", text="", icon="REMOVE")
        side.separator()
        side.operator("foot_ik.contact_split", text="", icon="MOD_EDGESPLIT")
        side.operator("foot_ik.contact_merge", text="", icon="AUTOMERGE_ON")
        side.separator()
        side.operator("foot_ik.contact_reset", text="", icon="LOOP_BACK")
        if 0 <= settings.active_contact < len(settings.contacts):
            draw_contact(layout, settings, settings.contacts[settings.active_contact])
        if settings.plan and state.plan_state(context.scene, ob) == "STALE":
            layout.operator("foot_ik.plan", text="Plan Again", icon="FILE_REFRESH")


def draw_contact(layout: bpy.types.UILayout, settings: bpy.types.PropertyGroup, contact: bpy.types.PropertyGroup
                 ) -> None:
    """Leg, mode and frames of one contact; each frame has a button that sets it to the current one."""
    column = layout.column()
    row = column.row()
    row.enabled = contact.found_end < contact.found_start  # one that was found belongs to its leg
    row.prop_search(contact, "leg", settings, "legs", icon="BONE_DATA")
    column.prop(contact, "mode")
    row = column.row(align=True)
    for frames, icon in ((-1, "TRIA_LEFT"), (1, "TRIA_RIGHT")):
        row.operator("foot_ik.contact_move", text="Earlier" if frames < 0 else "Later", icon=icon).frames = frames
    for what in ("", "heel_", "ball_"):
        frames = column.column(align=True)
        for end, icon in (("start", "TRIA_LEFT_BAR"), ("end", "TRIA_RIGHT_BAR")):
            row = frames.row(align=True)
            row.prop(contact, what + end, **({} if what or end == "end" else {"text": "Frame Start"}))
            row.operator("foot_ik.contact_here", text="", icon=icon).edge = what + end


class FOOT_IK_PT_overlay(Subpanel, bpy.types.Panel):
    bl_label = "Viewport Overlay"

    def draw(self, context: bpy.types.Context) -> None:
        layout, settings = self.layout, context.object.foot_ik
        layout.use_property_split = True
        layout.use_property_decorate = False
        column = layout.column(heading="Show")
        column.active = context.space_data.overlay.show_overlays
        column.prop(settings, "show_footprints")
        column.prop(settings, "show_contacts")
        column.prop(settings, "show_rays")


class FOOT_IK_PT_bake(Subpanel, bpy.types.Panel):
    bl_label = "Bake"

    def draw(self, context: bpy.types.Context) -> None:
        layout, settings, scene = self.layout, context.object.foot_ik, context.scene
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(settings, "bake_target")
        layout.prop(settings, "use_bake_range")
        column = layout.column(align=True)
        if settings.use_bake_range:
            column.prop(settings, "bake_start", text="Frame Start")
            column.prop(settings, "bake_end")
        else:
            shown = column.column(align=True)
            shown.enabled = False
            shown.prop(scene, "frame_start", text="Frame Start")
            shown.prop(scene, "frame_end", text="End")
        column.prop(settings, "bake_step")


CLASSES = (FOOT_IK_PT_main, FOOT_IK_PT_legs, FOOT_IK_PT_ground, FOOT_IK_PT_contacts, FOOT_IK_PT_overlay,
           FOOT_IK_PT_bake)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
