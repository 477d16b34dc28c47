"""The list of legs, and the operators beside it."""
from __future__ import annotations

import bpy

from .. import blender
from .fixes import Fix


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


class FOOT_IK_OT_leg_add(Fix, bpy.types.Operator):
    """Add a leg; pick its bones below the list"""

    bl_idname = "foot_ik.leg_add"
    bl_label = "Add Leg"

    def execute(self, context: bpy.types.Context) -> set[str]:
        ob = context.object
        settings = ob.foot_ik
        names = {leg.name for leg in settings.legs}
        leg = settings.legs.add()
        leg.name = next(name for name in map("Leg {}".format, range(1, 999)) if name not in names)
        settings.active_leg = len(settings.legs) - 1
        blender.live.refresh(ob)
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
        blender.live.restore(ob)
        settings.legs.remove(settings.active_leg)
        settings.active_leg = max(0, min(settings.active_leg, len(settings.legs) - 1))
        blender.live.refresh(ob)
        return {"FINISHED"}


CLASSES = (FOOT_IK_UL_legs, FOOT_IK_OT_leg_add, FOOT_IK_OT_leg_remove)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
