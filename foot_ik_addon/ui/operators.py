"""The operators. Each does its work in steps, so that a window shows progress and Esc cancels."""
from __future__ import annotations

import time

import bpy
from bpy.props import EnumProperty, IntProperty

from .. import blender
from . import report_text, state
from .properties import BAKE_TARGETS

REPORT_PREFIX = "Foot IK: "
SLICE = 0.1
"""Seconds of work between two redraws of the window."""

_share: float | None = None
_running: list[Stepped] = []
"""The operators that run in a window."""


def share_done() -> float | None:
    """Share done of the work that runs in the window; None where none runs."""
    return _share


def show_progress(context: bpy.types.Context, label: str, share: float) -> None:
    """Show how far the work is: at the mouse, in the status bar and in the panel."""
    global _share
    _share = share
    context.window_manager.progress_update(round(100 * share))
    context.workspace.status_text_set(f"{label}: {share:.0%}   Esc: Cancel")
    state.redraw()


class OnArmature:
    """An operator on the active armature."""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        ob = context.object
        if ob is None or ob.type != "ARMATURE":
            cls.poll_message_set("Select an armature first")
            return False
        if fixed := blender.refusals.why_fixed(ob):
            cls.poll_message_set(fixed)
            return False
        return True


class Stepped(OnArmature):
    """An operator whose work is a generator of progress; in a window it runs between the events of the user."""

    bl_options = {"REGISTER", "UNDO"}
    _steps = None
    _timer = None
    _object = ""

    def steps(self, context: bpy.types.Context) -> blender.planning.Steps:
        """The work; raises `Refusal`."""
        raise NotImplementedError

    def execute(self, context: bpy.types.Context) -> set[str]:
        steps = self.steps(context)
        while True:
            ended = self.advance(steps)
            if ended:
                return ended

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        if bpy.app.background or context.window is None:
            return self.execute(context)
        self._steps = self.steps(context)
        self._object = context.object.name
        manager = context.window_manager
        manager.progress_begin(0, 100)
        show_progress(context, self.bl_label, 0.0)
        self._timer = manager.event_timer_add(0.001, window=context.window)
        manager.modal_handler_add(self)
        _running.append(self)
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        if event.type == "ESC":
            self.cancel(context)
            self.report({"INFO"}, REPORT_PREFIX + "cancelled, nothing has changed")
            return {"CANCELLED"}
        if event.type != "TIMER":
            return {"RUNNING_MODAL"}
        ended, until = None, time.monotonic() + SLICE
        try:
            while not ended and time.monotonic() < until:
                ended = self.advance(self._steps, context)
        except BaseException:
            self.finish(context)
            raise
        if ended:
            self.finish(context)
        return ended or {"RUNNING_MODAL"}

    def cancel(self, context: bpy.types.Context) -> None:
        """Leave the work, as Esc does and as Blender does when a file is loaded or the window is closed."""
        self._steps.close()
        self.finish(context)

    def advance(self, steps: blender.planning.Steps, context: bpy.types.Context | None = None) -> set[str] | None:
        """One step of the work; what the operator returns when that was the last."""
        try:
            share = next(steps)
        except StopIteration as end:
            self.tell()
            for note in end.value or ():
                self.report({"WARNING"}, REPORT_PREFIX + note)
            return {"FINISHED"}
        except blender.rig.Refusal as refusal:
            self.report({"ERROR"}, str(refusal))
            return {"CANCELLED"}
        if context is not None:
            show_progress(context, self.bl_label, share)
        return None

    def tell(self) -> None:
        """Say what came of the work."""

    def finish(self, context: bpy.types.Context) -> None:
        global _share
        _share = None
        _running.remove(self)
        context.window_manager.event_timer_remove(self._timer)
        context.window_manager.progress_end()
        context.workspace.status_text_set(None)
        ob = bpy.data.objects.get(self._object)
        if ob is not None:
            blender.live.refresh(ob)
        for area in context.screen.areas if context.screen else ():
            area.tag_redraw()


class Measured(Stepped):
    """An operator that makes a report."""

    made_by = ""
    """As in the report."""

    def tell(self) -> None:
        scene, ob = bpy.context.scene, bpy.context.object
        report = blender.reporting.read_report(ob)
        if report is not None and report["made_by"] == self.made_by:
            print(report_text.table(scene, report, ob.name))
            self.report({"INFO"}, REPORT_PREFIX + report_text.sentence(scene, report))


class FOOT_IK_OT_detect_legs(Stepped, bpy.types.Operator):
    """Find the pelvis and the legs of the active armature, and the floor that its clip stands on"""

    bl_idname = "foot_ik.detect_legs"
    bl_label = "Detect Legs"

    def steps(self, context: bpy.types.Context) -> blender.planning.Steps:
        return blender.planning.detect_legs(context.scene, context.object)


class FOOT_IK_OT_plan(Measured, bpy.types.Operator):
    """Look at the whole clip, find where the feet stand and lay their footprints on the ground"""

    bl_idname = "foot_ik.plan"
    bl_label = "Plan"
    made_by = "PLAN"

    def steps(self, context: bpy.types.Context) -> blender.planning.Steps:
        return blender.planning.plan_clip(context.scene, context.object)


class FOOT_IK_OT_toggle(Stepped, bpy.types.Operator):
    """Show the corrected legs in the viewport and in renders; plans first where there is no plan yet"""

    bl_idname = "foot_ik.toggle"
    bl_label = "Live"

    def steps(self, context: bpy.types.Context) -> blender.planning.Steps:
        return blender.planning.toggle(context.scene, context.object)

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        settings = context.object.foot_ik
        if settings.enabled or settings.plan:
            return self.execute(context)
        return super().invoke(context, event)


class FOOT_IK_OT_bake(Measured, bpy.types.Operator):
    """Write the corrected legs and pelvis as keys, and turn the live correction off"""

    bl_idname = "foot_ik.bake"
    bl_label = "Bake"
    made_by = "BAKE"

    frame_start: IntProperty(name="Start", description="First frame to bake; by default the scene's")
    frame_end: IntProperty(name="End", description="Last frame to bake; by default the scene's")
    step: IntProperty(name="Step", description="Frames from key to key", default=1, min=1)
    target: EnumProperty(name="Target", description="Where the keys go", default="NEW_ACTION", items=BAKE_TARGETS)

    def steps(self, context: bpy.types.Context) -> blender.planning.Steps:
        scene, given = context.scene, self.properties.is_property_set
        start = self.frame_start if given("frame_start") else scene.frame_start
        end = self.frame_end if given("frame_end") else scene.frame_end
        return blender.bake.bake(scene, context.object, start, end, self.step, self.target)


class FOOT_IK_OT_clear(OnArmature, bpy.types.Operator):
    """Remove every trace of Foot IK from the active armature; its animation stays as it is"""

    bl_idname = "foot_ik.clear"
    bl_label = "Clear"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context: bpy.types.Context) -> set[str]:
        blender.planning.clear(context.object)
        return {"FINISHED"}


CLASSES = (FOOT_IK_OT_detect_legs, FOOT_IK_OT_plan, FOOT_IK_OT_toggle, FOOT_IK_OT_bake, FOOT_IK_OT_clear)

register, unregister_classes = bpy.utils.register_classes_factory(CLASSES)


def unregister() -> None:
    """End what runs in a window as Esc does: Blender drops it without a word."""
    while _running:
        with bpy.context.temp_override(window=bpy.context.window_manager.windows[0]):
            _running[-1].cancel(bpy.context)
    unregister_classes()
