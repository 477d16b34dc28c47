"""The lists of legs and contacts, and the operators beside them."""
from __future__ import annotations

import bpy
from bpy.props import BoolProperty, IntProperty

from ..blender import live
from .fixes import Fix

NEW_CONTACT = 0.3
"""Length in seconds of a contact that is added by hand."""


class FOOT_IK_UL_legs(bpy.types.UIList):
    """The legs of an armature"""

    def draw_item(self, context: bpy.types.Context, layout: bpy.types.UILayout, data: bpy.types.AnyType,
                  item: bpy.types.AnyType, icon: int, active_data: bpy.types.AnyType, active_property: str,
                  index: int = 0, flt_flag: int = 0) -> None:
        row = layout.row(align=True)
        row.active = item.enabled
        bones = item.id_data.data.bones
        broken = any(name not in bones for name in (item.upper, item.lower, item.foot))
        row.prop(item, "name", text="", emboss=False, icon="ERROR" if broken else "BONE_DATA")
        layout.prop(item, "enabled", text="")


class FOOT_IK_UL_contacts(bpy.types.UIList):
    """The contacts of all feet, in the order of time"""

    use_this_frame: BoolProperty(name="This Frame", description="Show only the contacts of the current frame")

    def draw_item(self, context: bpy.types.Context, layout: bpy.types.UILayout, data: bpy.types.AnyType,
                  item: bpy.types.AnyType, icon: int, active_data: bpy.types.AnyType, active_property: str,
                  index: int = 0, flt_flag: int = 0) -> None:
        layout.active = item.mode != "NONE"
        now = item.start <= context.scene.frame_current <= item.end
        split = layout.split(factor=0.5, align=True)
        split.label(text=item.leg, icon="KEYFRAME_HLT" if now else "KEYFRAME")
        row = split.row(align=True)
        row.label(text=f"{item.start}\u2013{item.end}")
        if item.edited:
            row.label(text="", icon="GREASEPENCIL")
        row.prop(item, "mode", text="", icon_only=True, emboss=False)

    def draw_filter(self, context: bpy.types.Context, layout: bpy.types.UILayout) -> None:
        row = layout.row(align=True)
        row.prop(self, "filter_name", text="")
        row.prop(self, "use_this_frame", text="", icon="TIME")

    def filter_items(self, context: bpy.types.Context, data: bpy.types.AnyType, property: str) -> tuple[list, list]:
        wanted, frame = self.filter_name.lower(), context.scene.frame_current
        shown = [wanted in c.leg.lower() and (not self.use_this_frame or c.start <= frame <= c.end)
                 for c in data.contacts]
        order = [0] * len(shown)
        for place, i in enumerate(sorted(range(len(shown)), key=lambda i: data.contacts[i].start)):
            order[i] = place
        return [self.bitflag_filter_item if s else 0 for s in shown], order


class FOOT_IK_OT_leg_add(Fix, bpy.types.Operator):
    """Add a leg; pick its bones below the list"""

    bl_idname = "foot_ik.leg_add"
    bl_label = "Add Leg"

    def execute(self, context: bpy.types.Context) -> set[str]:
        settings = context.object.foot_ik
        names = {leg.name for leg in settings.legs}
        leg = settings.legs.add()
        leg.name = next(name for name in map("Leg {}".format, range(1, 999)) if name not in names)
        settings.active_leg = len(settings.legs) - 1
        return {"FINISHED"}


class FOOT_IK_OT_leg_remove(Fix, bpy.types.Operator):
    """Remove the leg that is selected in the list"""

    bl_idname = "foot_ik.leg_remove"
    bl_label = "Remove Leg"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return super().poll(context) and len(context.object.foot_ik.legs) > 0

    def execute(self, context: bpy.types.Context) -> set[str]:
        ob = context.object
        settings = ob.foot_ik
        live.restore(ob)
        settings.legs.remove(settings.active_leg)
        settings.active_leg = max(0, min(settings.active_leg, len(settings.legs) - 1))
        live.refresh(ob)
        return {"FINISHED"}


class OnContact(Fix):
    """An operator on the contact that is selected in the list."""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not super().poll(context):
            return False
        settings = context.object.foot_ik
        return 0 <= settings.active_contact < len(settings.contacts)


class FOOT_IK_OT_contact_add(Fix, bpy.types.Operator):
    """Add a contact of the active leg that begins at the current frame"""

    bl_idname = "foot_ik.contact_add"
    bl_label = "Add Contact"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return super().poll(context) and len(context.object.foot_ik.legs) > 0

    def execute(self, context: bpy.types.Context) -> set[str]:
        settings, scene = context.object.foot_ik, context.scene
        leg = settings.legs[max(0, min(settings.active_leg, len(settings.legs) - 1))]
        contact = settings.contacts.add()
        contact.leg, contact.mode, contact.edited = leg.name, "LOCK", True
        contact.start = scene.frame_current
        contact.end = contact.start + round(NEW_CONTACT * live.scene_fps(scene))
        settings.active_contact = len(settings.contacts) - 1
        return {"FINISHED"}


class FOOT_IK_OT_contact_remove(OnContact, bpy.types.Operator):
    """Remove the contact. One that was found in the clip is set to None instead, so that it is not found again"""

    bl_idname = "foot_ik.contact_remove"
    bl_label = "Remove Contact"

    def execute(self, context: bpy.types.Context) -> set[str]:
        settings = context.object.foot_ik
        contact = settings.contacts[settings.active_contact]
        if contact.found_end >= contact.found_start:
            contact.mode = "NONE"
        else:
            settings.contacts.remove(settings.active_contact)
            settings.active_contact = max(0, min(settings.active_contact, len(settings.contacts) - 1))
        return {"FINISHED"}


class FOOT_IK_OT_contact_reset(OnContact, bpy.types.Operator):
    """Undo all edits of the contact: frames and mode as found in the clip"""

    bl_idname = "foot_ik.contact_reset"
    bl_label = "Reset Contact"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not super().poll(context):
            return False
        contact = context.object.foot_ik.contacts[context.object.foot_ik.active_contact]
        return contact.edited and contact.found_end >= contact.found_start

    def execute(self, context: bpy.types.Context) -> set[str]:
        contact = context.object.foot_ik.contacts[context.object.foot_ik.active_contact]
        contact.start, contact.end, contact.mode = contact.found_start, contact.found_end, "AUTO"
        contact.edited = False
        return {"FINISHED"}


class FOOT_IK_OT_contact_jump(OnContact, bpy.types.Operator):
    """Go to the first frame of the contact"""

    bl_idname = "foot_ik.contact_jump"
    bl_label = "Jump to Contact"
    bl_options = {"REGISTER", "UNDO"}

    index: IntProperty(name="Contact", description="Place in the list; the selected contact by default", default=-1)

    def execute(self, context: bpy.types.Context) -> set[str]:
        settings = context.object.foot_ik
        if 0 <= self.index < len(settings.contacts):
            settings.active_contact = self.index
        context.scene.frame_set(settings.contacts[settings.active_contact].start)
        return {"FINISHED"}


CLASSES = (FOOT_IK_UL_legs, FOOT_IK_UL_contacts, FOOT_IK_OT_leg_add, FOOT_IK_OT_leg_remove, FOOT_IK_OT_contact_add,
           FOOT_IK_OT_contact_remove, FOOT_IK_OT_contact_reset, FOOT_IK_OT_contact_jump)


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)


def unregister() -> None:
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
