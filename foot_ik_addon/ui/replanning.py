"""Plan again what is shown live while its keys, its ground or its settings are edited in a window.

A short pause after the last edit, never while something is dragged or played, and only what has changed: rigs that
are read from their curves, whose clips are short enough that the pause hides the work. For others the panel tells that
the plan is out of date.
"""
from __future__ import annotations

import time

import bpy
from bpy.app.handlers import persistent

from .. import blender
from ..blender.handlers import rigs_in

PAUSE = 0.5
"""Seconds without an edit."""
MOST_FRAMES = 500
"""A plan of these takes about as long as the pause."""
MOST_FACES = 100_000
"""So does building the surface of a ground of so many, as each stroke of a sculptor asks for."""
DRAGGING = {"BLOCKING", "GRAB_CURSOR"}
"""Options of operators that run while the user drags or types."""
_last = 0.0
"""When something was edited last."""
_tried: dict[tuple[int, int], str] = {}
"""{session_uids of a scene and an object: fingerprint of what was planned last}: what is refused, or planned in turns
for two scenes, is not tried again and again."""


@persistent
def after_edit(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Follow what Blender evaluates anew."""
    if depsgraph.mode != "RENDER" and rigs_in(scene):
        edited()


def edited() -> None:
    """Look after a pause whether a plan is out of date."""
    global _last
    _last = time.monotonic()
    if not bpy.app.background and not bpy.app.timers.is_registered(after_pause):
        bpy.app.timers.register(after_pause, first_interval=PAUSE)


@persistent
def after_undo(*_: object) -> None:
    """What was planned before an undo or a redo may have gone with it."""
    _tried.clear()


def after_pause() -> float | None:
    """Plan again what is out of date; returns the seconds after which to look again."""
    rest = PAUSE - (time.monotonic() - _last)
    if rest > 0 or is_busy():
        return max(rest, PAUSE / 2)
    scenes = {window.scene for window in bpy.context.window_manager.windows}
    rigs = [(scene, ob) for scene in scenes if (live := rigs_in(scene))
            for ob in blender.live.live_rigs(live)]
    if sum(replan(scene, ob) for scene, ob in rigs):
        for area in (area for window in bpy.context.window_manager.windows for area in window.screen.areas):
            area.tag_redraw()
    return None


def is_busy() -> bool:
    """Whether the user is in the middle of something: a drag, a playback, a render, an operator of ours."""
    windows = bpy.context.window_manager.windows
    running = [operator for window in windows for operator in window.modal_operators]
    return (any(operator.bl_idname.startswith("FOOT_IK_OT_") or DRAGGING & operator.bl_options for operator in running)
            or any(window.screen.is_animation_playing for window in windows) or bpy.app.is_job_running("RENDER"))


def replan(scene: bpy.types.Scene, ob: bpy.types.Object) -> bool:
    """Plan a rig again whose plan is out of date, if that is quick; returns whether it was done."""
    if not ob.foot_ik.plan or scene.frame_end - scene.frame_start >= MOST_FRAMES:
        return False
    now, key = blender.fingerprint.fingerprint(scene, ob), (scene.session_uid, ob.session_uid)
    if now in (ob.foot_ik.fingerprint, _tried.get(key)):
        return False
    _tried[key] = now
    try:
        curves = blender.curves
        if curves.obstacle(scene, ob, blender.rig.read_rig(ob)) or curves.ground_obstacle(scene, ob):
            return False
        if blender.ground.new_faces(scene, ob) > MOST_FACES:
            return False
        for _ in blender.planning.plan_clip(scene, ob):
            pass
    except blender.rig.Refusal:
        return False
    return True


HANDLERS = (("depsgraph_update_post", after_edit), ("undo_post", after_undo), ("redo_post", after_undo))


def register() -> None:
    for name, function in HANDLERS:
        getattr(bpy.app.handlers, name).append(function)


def unregister() -> None:
    for name, function in HANDLERS:
        if function in getattr(bpy.app.handlers, name):
            getattr(bpy.app.handlers, name).remove(function)
    if bpy.app.timers.is_registered(after_pause):
        bpy.app.timers.unregister(after_pause)
    _tried.clear()
