"""One-click answers to the advice in the panel."""
from __future__ import annotations

import bpy
from bpy.props import EnumProperty, StringProperty

from .. import blender
from .operators import OnArmature


class Fix(OnArmature):
    """A fix of the active armature."""

    bl_options = {"REGISTER", "UNDO"}


class FOOT_IK_OT_select_armature(bpy.types.Operator):
    """Make the armature that moves the active object the active one"""

    bl_idname = "foot_ik.select_armature"
    bl_label = "Select Armature"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return context.object is not None and context.mode == "OBJECT" and context.object.find_armature() is not None

    def execute(self, context: bpy.types.Context) -> set[str]:
        armature = context.object.find_armature()
        if armature.name not in context.view_layer.objects or not armature.visible_get():
            self.report({"ERROR"}, f"{armature.name} is hidden: show it first")
            return {"CANCELLED"}
        for ob in context.selected_objects:
            ob.select_set(False)
        armature.select_set(True)
        context.view_layer.objects.active = armature
        return {"FINISHED"}


class FOOT_IK_OT_use_pose_position(Fix, bpy.types.Operator):
    """Show the pose of the armature instead of its rest position"""

    bl_idname = "foot_ik.use_pose_position"
    bl_label = "Use Pose Position"

    def execute(self, context: bpy.types.Context) -> set[str]:
        context.object.data.pose_position = "POSE"
        blender.live.refresh(context.object)
        return {"FINISHED"}


class FOOT_IK_OT_show_armature(Fix, bpy.types.Operator):
    """Enable the armature in viewports, so that it is evaluated"""

    bl_idname = "foot_ik.show_armature"
    bl_label = "Enable in Viewports"

    def execute(self, context: bpy.types.Context) -> set[str]:
        context.object.hide_viewport = False
        blender.live.refresh(context.object)
        return {"FINISHED"}


class FOOT_IK_OT_disconnect_pelvis(Fix, bpy.types.Operator):
    """Disconnect the pelvis bone from its parent, so that it can be lowered; it stays where it is"""

    bl_idname = "foot_ik.disconnect_pelvis"
    bl_label = "Disconnect Pelvis"

    def execute(self, context: bpy.types.Context) -> set[str]:
        ob = context.object
        if ob.data.library is not None or ob.data.override_library is not None:
            self.report({"ERROR"}, f"The bones of {ob.name} belong to another file: disconnect the pelvis there")
            return {"CANCELLED"}
        mode = ob.mode
        blender.live.restore(ob)
        bpy.ops.object.mode_set(mode="EDIT")
        try:
            bone = ob.data.edit_bones.get(ob.foot_ik.pelvis)
            if bone is not None:
                bone.use_connect = False
        finally:
            bpy.ops.object.mode_set(mode=mode)
        blender.live.refresh(ob)
        return {"FINISHED"}


class FOOT_IK_OT_mute_constraint(Fix, bpy.types.Operator):
    """Mute the constraint, so that the bone follows its own keys"""

    bl_idname = "foot_ik.mute_constraint"
    bl_label = "Mute Constraint"

    bone: StringProperty(name="Bone", description="Bone that has the constraint")
    constraint: StringProperty(name="Constraint", description="Constraint to mute")

    def execute(self, context: bpy.types.Context) -> set[str]:
        bone = context.object.pose.bones.get(self.bone)
        constraint = bone.constraints.get(self.constraint) if bone else None
        if constraint is None:
            self.report({"ERROR"}, f"There is no constraint {self.constraint} on a bone called {self.bone}")
            return {"CANCELLED"}
        constraint.mute = True
        blender.live.refresh(context.object)
        return {"FINISHED"}


class FOOT_IK_OT_set_ground_source(Fix, bpy.types.Operator):
    """Let the feet stand on another ground"""

    bl_idname = "foot_ik.set_ground_source"
    bl_label = "Set Ground"

    source: EnumProperty(name="Ground", description="What the feet stand on", items=(
        ("SCENE", "Scene", "Every visible ground-like object"), ("FLOOR", "Floor", "The flat floor alone")))

    def execute(self, context: bpy.types.Context) -> set[str]:
        context.object.foot_ik.ground_source = self.source
        blender.live.refresh(context.object)
        return {"FINISHED"}


class FOOT_IK_OT_stop_auto_keying(Fix, bpy.types.Operator):
    """Turn off Auto Keying, which would store corrected poses in the animation"""

    bl_idname = "foot_ik.stop_auto_keying"
    bl_label = "Turn Off Auto Keying"

    def execute(self, context: bpy.types.Context) -> set[str]:
        context.scene.tool_settings.use_keyframe_insert_auto = False
        return {"FINISHED"}


class FOOT_IK_OT_lock_interface(Fix, bpy.types.Operator):
    """Lock the interface during renders, so that window and render do not change the pose at the same time"""

    bl_idname = "foot_ik.lock_interface"
    bl_label = "Lock Interface"

    def execute(self, context: bpy.types.Context) -> set[str]:
        context.scene.render.use_lock_interface = True
        return {"FINISHED"}


CLASSES = (FOOT_IK_OT_select_armature, FOOT_IK_OT_use_pose_position, FOOT_IK_OT_show_armature,
           FOOT_IK_OT_disconnect_pelvis, FOOT_IK_OT_mute_constraint, FOOT_IK_OT_set_ground_source,
           FOOT_IK_OT_stop_auto_keying, FOOT_IK_OT_lock_interface)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
