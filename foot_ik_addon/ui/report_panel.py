"""The subpanel Report: figures before and after, and a button to the frame where each is worst."""
from __future__ import annotations

import bpy
from bpy.props import IntProperty, StringProperty

from .. import blender
from . import state
from .operators import OnArmature
from .panels import Subpanel
from .report_text import Row, headline, rows
from .wrapping import draw_text


class FOOT_IK_OT_jump(OnArmature, bpy.types.Operator):
    """Go to a frame, and select a leg and its contact there in the lists"""

    bl_idname = "foot_ik.jump"
    bl_label = "Jump to Frame"
    bl_options = {"REGISTER", "UNDO_GROUPED"}
    bl_undo_group = "Frame Change"  # as for the timeline's own steps: one undo takes back several jumps

    frame: IntProperty(name="Frame", description="Frame to go to", default=1)
    leg: StringProperty(name="Leg", description="Name of the leg to select; may be empty")

    @classmethod
    def description(cls, _context: bpy.types.Context, properties: bpy.types.OperatorProperties) -> str:
        of = f" for the leg {properties.leg}" if properties.leg else ""
        return f"Go to frame {properties.frame}, where this is worst{of}"

    def execute(self, context: bpy.types.Context) -> set[str]:
        settings = context.object.foot_ik
        names = [leg.name for leg in settings.legs]
        if self.leg and self.leg not in names:
            self.report({"ERROR"}, f"There is no leg called {self.leg}: plan again")
            return {"CANCELLED"}
        if self.leg:
            settings.active_leg = names.index(self.leg)
            here = (i for i, c in enumerate(settings.contacts)
                    if c.leg == self.leg and c.start <= self.frame <= c.end)
            settings.active_contact = next(here, settings.active_contact)
        context.scene.frame_set(self.frame)
        return {"FINISHED"}


class FOOT_IK_PT_report(Subpanel, bpy.types.Panel):
    bl_label = "Report"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not super().poll(context) or not context.object.foot_ik.report:
            return False
        return blender.reporting.read_report(context.object) is not None

    def draw(self, context: bpy.types.Context) -> None:
        layout, scene, ob = self.layout, context.scene, context.object
        report = blender.reporting.read_report(ob)
        if state.report_state(scene, ob) == "STALE":
            draw_text(layout, context, "Report is out of date: clip, ground or settings have changed", "ERROR")
        else:
            draw_text(layout, context, headline(report))
        column = layout.column()
        for row in rows(scene, report):
            draw_row(column, context, row)


def draw_row(layout: bpy.types.UILayout, context: bpy.types.Context, row: Row) -> None:
    """Name and button above, values below, so that nothing is cut off in a narrow sidebar."""
    box = layout.box().column(align=True)
    head = box.row()
    head.label(text=row.label)
    if row.frame is not None:
        right = head.row()
        right.alignment = "RIGHT"
        button = right.operator("foot_ik.jump", text=str(row.frame), icon="TIME")
        button.frame, button.leg = row.frame, row.leg
    draw_text(box, context, f"{row.before} \u2192 {row.after}" if row.before else row.after)


CLASSES = (FOOT_IK_OT_jump, FOOT_IK_PT_report)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
