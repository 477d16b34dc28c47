"""The application handlers: thin, and undone in reverse. Where nothing is corrected they load nothing either."""
from __future__ import annotations

import threading
import time
from collections.abc import Iterable

import bpy
from bpy.app.handlers import persistent

from .. import blender

OWN = __package__.rpartition(".")[0]
REST = 1.0
"""Seconds for which a file in which nothing is corrected is not looked through again."""
_idle = 0, 0.0
"""How many objects it has, and until when."""
_frames = threading.local()
"""`open`: per frame that is evaluated now, one inside the other, the session_uids of the scenes that it shows. Renders
have a thread of their own."""


def awake() -> None:
    """Look again for what is corrected: the switch of a rig, or the whole file, has changed."""
    global _idle
    _idle = 0, 0.0


def rigs_in(scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """Those of `corrected` that a scene shows.

    To look through thousands of objects in each frame would cost milliseconds also where nobody uses Foot IK.
    """
    global _idle
    count, now = len(bpy.data.objects), time.monotonic()
    if count == _idle[0] and now < _idle[1]:
        return []
    rigs = list(dict.fromkeys(ob for shown in with_sets(scene) for ob in corrected(shown.objects)))
    if not rigs and not corrected(bpy.data.objects):
        _idle = count, now + REST
    return rigs


def with_sets(scene: bpy.types.Scene) -> list[bpy.types.Scene]:
    """A scene, and those that it shows in its background."""
    scenes = [scene]
    while scenes[-1].background_set is not None:
        scenes.append(scenes[-1].background_set)
    return scenes


def is_animating(ob: bpy.types.Object) -> bool:
    """Whether Blender is about to evaluate a frame of an object: until then its channels must hold what is animated.

    What another add-on does before that frame may have Blender evaluate an earlier one, or edit our settings.
    """
    shown = {uid for scenes in getattr(_frames, "open", ()) for uid in scenes}
    return bool(shown) and any(scene.session_uid in shown for scene in ob.users_scene)


def corrected(objects: Iterable[bpy.types.Object]) -> list[bpy.types.Object]:
    """The armatures that are corrected live, or show a corrected pose now.

    Others are not even asked for their settings: Blender would store some in them.
    """
    return [ob for ob in objects if ob.type == "ARMATURE" and ob.is_property_set("foot_ik")
            and (ob.foot_ik.enabled or ob.foot_ik.shown)]


def foreign_handler() -> str:
    """The name of what another add-on or a script runs in every frame; empty where there is nothing."""
    for event in ("frame_change_pre", "frame_change_post"):
        for function in getattr(bpy.app.handlers, event):
            module = getattr(function, "__module__", None) or ""
            if not f"{module}.".startswith(f"{OWN}."):
                return getattr(function, "__name__", str(function))
    return ""


@persistent
def before_frame(scene: bpy.types.Scene, *_: object) -> None:
    """Hand the animated pose to Blender's evaluation."""
    ends = after_frame in bpy.app.handlers.frame_change_post  # which others may clear for a time
    _frames.open = [*getattr(_frames, "open", ()), [shown.session_uid for shown in with_sets(scene)]] if ends else []
    rigs = rigs_in(scene)
    if rigs:
        edited = is_edited(scene)
        for ob in rigs:
            blender.live.restore(ob, edited)
        come_first()


def come_first() -> None:
    """Be the first to pose in this frame, also where another add-on has put itself before: what others pose then stays,
    in renders too, where `flush` writes all that is animated."""
    handlers = bpy.app.handlers.frame_change_post
    if after_frame in handlers and handlers[0] != after_frame:
        handlers.remove(after_frame)
        handlers.insert(0, after_frame)


@persistent
def after_frame(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Correct what Blender has evaluated, in the viewport and in renders."""
    _frames.open = getattr(_frames, "open", [])[:-1]
    rigs = rigs_in(scene)
    if rigs:
        live = blender.live
        live.apply(live.live_rigs(rigs), depsgraph, scene.frame_float, live.scene_fps(scene))


@persistent
def before_edit(scene: bpy.types.Scene, *_: object) -> None:
    """Hand the animated pose to Blender where it animates a frame anew and calls no frame handler: keys were edited,
    or another window shows the scene by another view layer."""
    edited = is_edited(scene)
    if edited or is_behind(scene):
        for ob in rigs_in(scene):
            blender.live.restore(ob, edited)


def is_edited(scene: bpy.types.Scene) -> bool:
    """Whether keys were edited since Blender has evaluated a scene."""
    graphs = [layer.depsgraph for layer in scene.view_layers]
    return any(graph and graph.id_type_updated("ACTION") for graph in graphs)


def is_behind(scene: bpy.types.Scene) -> bool:
    """Whether a window shows a view layer of a scene in which this frame has not been evaluated yet."""
    graphs = [window.view_layer.depsgraph for window in bpy.context.window_manager.windows if window.scene == scene]
    seen = [graph.scene_eval for graph in graphs if graph]
    return any(copy is None or copy.frame_float != scene.frame_float for copy in seen)


@persistent
def after_edit(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Correct again what was handed to Blender before; Blender evaluates once more what is written here.

    It must not be asked to from here: where it has just built its relations anew, as for another action, versions
    before 5.2 crash. It then has not told before the evaluation, so that is for later.
    """
    edited, moved = map(depsgraph.id_type_updated, ("ACTION", "OBJECT"))
    if depsgraph.mode == "RENDER" or not (edited or moved) or not (rigs := rigs_in(scene)):
        return
    rigs = blender.live.live_rigs(rigs)
    bare = [ob for ob in rigs if not ob.foot_ik.shown]
    blender.live.apply(bare, depsgraph, scene.frame_float, blender.live.scene_fps(scene))
    if edited and len(bare) < len(rigs) and not bpy.app.timers.is_registered(show_again):
        bpy.app.timers.register(show_again, first_interval=0.0)


@persistent
def before_save(*_: object) -> None:
    """Keep the corrected pose out of the file, and the settings of library overrides in it."""
    for ob in corrected(bpy.data.objects):
        if ob.foot_ik.shown:
            blender.live.restore(ob)
            ob.foot_ik.held = ""
    for ob in bpy.data.objects:
        if ob.type == "ARMATURE" and ob.override_library and ob.is_property_set("foot_ik"):
            blender.snapshot.keep_in_override(ob)


@persistent
def show_again(*_: object) -> None:
    """Show the corrected pose after a save, an undo, a redo or a load."""
    _frames.open = []
    awake()
    for ob in corrected(bpy.data.objects):
        blender.live.refresh(ob)


HANDLERS = (("frame_change_pre", before_frame), ("frame_change_post", after_frame),
            ("depsgraph_update_pre", before_edit), ("depsgraph_update_post", after_edit), ("save_pre", before_save),
            ("save_post", show_again), ("save_post_fail", show_again), ("undo_post", show_again),
            ("redo_post", show_again), ("load_post", show_again))


def register() -> None:
    for name, function in HANDLERS:
        getattr(bpy.app.handlers, name).insert(0, function)  # before other add-ons, see `come_first`
    # What was live when the add-on was disabled; while it is being enabled Blender hides the data from it.
    bpy.app.timers.register(show_again, first_interval=0.0)


def unregister() -> None:
    if bpy.app.timers.is_registered(show_again):
        bpy.app.timers.unregister(show_again)
    for name, function in reversed(HANDLERS):
        handlers = getattr(bpy.app.handlers, name)
        if function in handlers:
            handlers.remove(function)
    _frames.open = []
    for ob in corrected(bpy.data.objects):
        blender.live.restore(ob)
