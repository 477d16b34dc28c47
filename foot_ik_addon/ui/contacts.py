"""The list of contacts, and the operators with which they are edited."""
from __future__ import annotations

import bpy
from bpy.props import BoolProperty, EnumProperty, IntProperty, StringProperty

from .. import blender
from . import state
from .fixes import Fix

NEW_CONTACT = 0.3
"""Length in seconds of a contact that is added by hand."""
EDGES = (("start", "Start", "First frame of the contact"), ("end", "End", "Last frame of the contact"),
         ("heel_start", "Heel Start", "First frame in which the heel touches"),
         ("heel_end", "Heel End", "Last frame in which the heel touches"),
         ("ball_start", "Ball Start", "First frame in which the ball touches"),
         ("ball_end", "Ball End", "Last frame in which the ball touches"))
TOUCHES = tuple(name for name, *_ in EDGES[2:])


class FOOT_IK_UL_contacts(bpy.types.UIList):
    """The contacts of all feet, in the order of time"""

    use_this_frame: BoolProperty(name="This Frame", description="Show only the contacts of the current frame")

    def draw_item(self, context: bpy.types.Context, layout: bpy.types.UILayout, data: bpy.types.AnyType,
                  item: bpy.types.AnyType, icon: int, active_data: bpy.types.AnyType, active_property: str,
                  index: int = 0, flt_flag: int = 0) -> None:
        layout.active = item.mode != "NONE"
        now = item.start <= context.scene.frame_current <= item.end
        split = layout.split(factor=0.38, align=True)
        row = split.row(align=True)
        jump = row.operator("foot_ik.contact_jump", text="", emboss=False, icon="KEYFRAME_HLT" if now else "KEYFRAME")
        jump.index = index
        row.label(text=item.leg)
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


class OnContacts(Fix):
    """An operator on the contacts of the active armature."""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not super().poll(context):
            return False
        if fixed := blender.refusals.why_fixed(context.object):
            cls.poll_message_set(fixed)
            return False
        return True


class OnContact(OnContacts):
    """An operator on the contact that is selected in the list."""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not super().poll(context):
            return False
        settings = context.object.foot_ik
        if not 0 <= settings.active_contact < len(settings.contacts):
            cls.poll_message_set("Select a contact in the list first")
            return False
        return True


def active(context: bpy.types.Context) -> bpy.types.PropertyGroup:
    """The contact that is selected in the list."""
    settings = context.object.foot_ik
    return settings.contacts[settings.active_contact]


class FOOT_IK_MT_contact_add(bpy.types.Menu):
    """Add a contact at the current frame"""

    bl_label = "Add Contact at the Current Frame"

    def draw(self, context: bpy.types.Context) -> None:
        for leg in context.object.foot_ik.legs:
            self.layout.operator("foot_ik.contact_add", text=leg.name).leg = leg.name


class FOOT_IK_OT_contact_add(OnContacts, bpy.types.Operator):
    """Add a contact that begins at the current frame"""

    bl_idname = "foot_ik.contact_add"
    bl_label = "Add Contact"

    leg: StringProperty(name="Leg", description="Leg whose foot touches the ground; by default the active one")

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not super().poll(context):
            return False
        cls.poll_message_set("Set up the legs first: press Detect Legs")
        return len(context.object.foot_ik.legs) > 0

    def execute(self, context: bpy.types.Context) -> set[str]:
        settings, scene = context.object.foot_ik, context.scene
        names = [leg.name for leg in settings.legs]
        leg, frame = self.leg or names[max(0, min(settings.active_leg, len(names) - 1))], scene.frame_current
        if leg not in names:
            self.report({"ERROR"}, f"There is no leg called {leg}: take one of {', '.join(names)}")
            return {"CANCELLED"}
        others = [c for c in settings.contacts if c.leg == leg and c.mode != "NONE"]
        if any(c.start <= frame <= c.end for c in others):
            self.report({"ERROR"}, f"{leg} is in contact at frame {frame} already: split that contact, or go to a "
                        "frame in which the foot is in the air")
            return {"CANCELLED"}
        last = frame + max(1, round(NEW_CONTACT * blender.live.scene_fps(scene)))
        contact = settings.contacts.add()
        contact.leg, contact.mode, contact.edited = leg, "LOCK", True
        contact.start, contact.end = frame, min([last, *(c.start - 1 for c in others if c.start > frame)])
        set_touches(contact, (contact.start, contact.end) * 2)
        settings.active_contact = len(settings.contacts) - 1
        return {"FINISHED"}


def set_touches(contact: bpy.types.PropertyGroup, frames: tuple[int, ...]) -> None:
    """Say when heel and ball were found to touch, which is no edit of theirs."""
    for name, frame in zip(TOUCHES, frames):
        setattr(contact, name, frame)
    contact.heel_edited = contact.ball_edited = False


def found_alike(settings: bpy.types.PropertyGroup, contact: bpy.types.PropertyGroup) -> list[int]:
    """Places of the contacts that were one when they were found, this one among them; empty if added by hand."""
    found = contact.leg, contact.found_start, contact.found_end
    return [i for i, c in enumerate(settings.contacts)
            if (c.leg, c.found_start, c.found_end) == found and c.found_end >= c.found_start]


def take_away(settings: bpy.types.PropertyGroup, index: int) -> None:
    """Remove a contact from the list. The last of those that were found as one becomes None, so that it is not found
    again; the list keeps its selection."""
    contact = settings.contacts[index]
    if found_alike(settings, contact) == [index]:
        contact.mode = "NONE"
        return
    settings.contacts.remove(index)
    active = settings.active_contact - (index < settings.active_contact)
    settings.active_contact = max(0, min(active, len(settings.contacts) - 1))
    state.changed()


class FOOT_IK_OT_contact_remove(OnContact, bpy.types.Operator):
    """Remove the contact. One that was found in the clip is set to None instead, so that it is not found again"""

    bl_idname = "foot_ik.contact_remove"
    bl_label = "Remove Contact"

    def execute(self, context: bpy.types.Context) -> set[str]:
        settings = context.object.foot_ik
        take_away(settings, settings.active_contact)
        return {"FINISHED"}


class FOOT_IK_OT_contact_reset(OnContact, bpy.types.Operator):
    """Undo all edits of the contact: frames and mode as found in the clip, its parts joined again"""

    bl_idname = "foot_ik.contact_reset"
    bl_label = "Reset Contact"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not super().poll(context):
            return False
        contact = active(context)
        return contact.edited and contact.found_end >= contact.found_start

    def execute(self, context: bpy.types.Context) -> set[str]:
        settings = context.object.foot_ik
        first, *parts = found_alike(settings, active(context))
        for index in reversed(parts):
            settings.contacts.remove(index)
        contact, settings.active_contact = settings.contacts[first], first
        contact.start, contact.end, contact.mode = contact.found_start, contact.found_end, "AUTO"
        set_touches(contact, tuple(contact.found_touch))
        contact.edited = False
        state.changed()
        return {"FINISHED"}


class FOOT_IK_OT_contact_split(OnContact, bpy.types.Operator):
    """Split the contact at the current frame, around which the foot goes from one footprint to the next"""

    bl_idname = "foot_ik.contact_split"
    bl_label = "Split Contact"

    gap: IntProperty(name="Gap", description="Frames between the parts, in which the foot is free; without any it "
                     "jumps from one footprint to the next", default=3, min=0, soft_max=20)

    def execute(self, context: bpy.types.Context) -> set[str]:
        settings, contact, frame = context.object.foot_ik, active(context), context.scene.frame_current
        end, start = frame - self.gap // 2 - 1, frame - self.gap // 2 + self.gap
        if not (contact.start <= end and start <= contact.end):
            self.report({"ERROR"}, f"Frame {frame} is not well inside of this contact, which lasts from "
                        f"{contact.start} to {contact.end}: go to a frame in its middle, or make the gap smaller")
            return {"CANCELLED"}
        values = blender.snapshot.values_of(contact) | {"start": start, "edited": True}
        settings.contacts.add()
        first, second = settings.contacts[settings.active_contact], settings.contacts[-1]
        first.end = end
        blender.snapshot.put_back(second, values)
        return {"FINISHED"}


class FOOT_IK_OT_contact_merge(OnContact, bpy.types.Operator):
    """Let the contact last until the end of the next one of the same leg, which goes"""

    bl_idname = "foot_ik.contact_merge"
    bl_label = "Merge with Next"

    def execute(self, context: bpy.types.Context) -> set[str]:
        settings, contact = context.object.foot_ik, active(context)
        later = [i for i, c in enumerate(settings.contacts)
                 if c.leg == contact.leg and c.start > contact.start and c.mode != "NONE"]
        if not later or contact.mode == "NONE":
            self.report({"ERROR"}, f"{contact.leg} has no contact after this one" if not later else
                        "This contact is set to None: set its mode first")
            return {"CANCELLED"}
        index = min(later, key=lambda i: settings.contacts[i].start)
        following = settings.contacts[index]
        contact.end = max(contact.end, following.end)
        for point in ("heel", "ball"):
            if getattr(contact, f"{point}_edited"):
                setattr(contact, f"{point}_end", getattr(following, f"{point}_end"))
        take_away(settings, index)
        return {"FINISHED"}


class FOOT_IK_OT_contact_move(OnContact, bpy.types.Operator):
    """Move the contact in time, heel and ball as they are"""

    bl_idname = "foot_ik.contact_move"
    bl_label = "Move Contact"

    frames: IntProperty(name="Frames", description="How many frames later; negative: earlier", default=1, soft_min=-20,
                        soft_max=20)

    def execute(self, context: bpy.types.Context) -> set[str]:
        contact = active(context)
        for name, *_ in EDGES:
            setattr(contact, name, getattr(contact, name) + self.frames)
        return {"FINISHED"}


class FOOT_IK_OT_contact_here(OnContact, bpy.types.Operator):
    """Let the contact, its heel or its ball begin or end at the current frame"""

    bl_idname = "foot_ik.contact_here"
    bl_label = "Set to Current Frame"

    edge: EnumProperty(name="Edge", description="What is to be at the current frame", items=EDGES)

    def execute(self, context: bpy.types.Context) -> set[str]:
        contact, frame = active(context), context.scene.frame_current
        if (self.edge == "start" and frame > contact.end) or (self.edge == "end" and frame < contact.start):
            self.report({"ERROR"}, f"The contact lasts from frame {contact.start} to {contact.end} and would end "
                        "before it starts: move its other end first")
            return {"CANCELLED"}
        setattr(contact, self.edge, frame)
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


CLASSES = (FOOT_IK_UL_contacts, FOOT_IK_MT_contact_add, FOOT_IK_OT_contact_add, FOOT_IK_OT_contact_remove,
           FOOT_IK_OT_contact_reset, FOOT_IK_OT_contact_split, FOOT_IK_OT_contact_merge, FOOT_IK_OT_contact_move,
           FOOT_IK_OT_contact_here, FOOT_IK_OT_contact_jump)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
