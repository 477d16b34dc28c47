"""Footprints and contacts are drawn over the viewport: look at build/gui/overlay-*.png. A traceback fails the run."""
import importlib
import sys
from math import radians
from pathlib import Path

import bpy
import numpy as np
from mathutils import Euler

sys.path.insert(0, str(Path(__file__).parent))
import harness

ORANGE = (255, 107, 31)  # of the first leg
MANY, FEW = 100, 10  # pixels


def rig():
    return next(o for o in bpy.context.scene.objects if o.type == "ARMATURE")


def settings():
    return rig().foot_ik


def coloured(name):
    """How many pixels of a new picture have nearly the colour of the first leg."""
    yield 1.0
    harness.screenshot(f"overlay-{name}")
    image = bpy.data.images.load(str(harness.OUTPUT / f"overlay-{name}.png"))
    rgb = np.array(image.pixels[:]).reshape(-1, 4)[:, :3] * 255
    bpy.data.images.remove(image)
    return int((np.abs(rgb - ORANGE).max(1) < 12).sum())


def open_stairs():
    bpy.ops.wm.open_mainfile(filepath=str(harness.ROOT / "sample_scenes" / "stairs.blend"), load_ui=False)
    yield 0.5
    for ob in bpy.context.selected_objects:
        ob.select_set(False)
    bpy.context.view_layer.objects.active = rig()
    rig().select_set(True)
    with harness.view3d():
        space = bpy.context.space_data
        view = space.region_3d
        view.view_perspective, view.view_distance = "PERSP", 4.2
        view.view_location = 0.0, -1.7, 0.75
        view.view_rotation = Euler((radians(60), 0, radians(-118))).to_quaternion()
        space.shading.light, space.shading.color_type = "STUDIO", "MATERIAL"
        space.overlay.show_floor = space.overlay.show_axis_x = space.overlay.show_axis_y = False
        space.show_object_viewport_camera = False
        space.overlay.show_cursor = space.overlay.show_object_origins = False
    bpy.context.scene.frame_set(bpy.context.scene.timeline_markers["Picture"].frame)


def open_contacts():
    """Register the subpanels anew, in their order, so that this one is open: nothing in Python opens a panel."""
    for panel in importlib.import_module("bl_ext.user_default.foot_ik.ui.panels").CLASSES[1:]:
        bpy.utils.unregister_class(panel)
        panel.bl_idname = f"{panel.__name__}_again"
        panel.bl_options = set() if panel.bl_label == "Contacts" else {"DEFAULT_CLOSED"}
        bpy.utils.register_class(panel)


def test_footprints_on_stairs():
    harness.install()
    yield 0.5
    yield from open_stairs()
    bare = yield from coloured("not-planned")
    bpy.ops.foot_ik.detect_legs()
    bpy.ops.foot_ik.plan()
    settings().enabled = True
    assert (yield from coloured("stairs")) > bare + MANY
    settings().show_contacts = False
    footprints = yield from coloured("footprints")
    assert footprints > bare + MANY
    settings().show_footprints = False
    assert (yield from coloured("off")) < bare + FEW
    settings().show_rays = True
    yield from coloured("rays")
    settings().show_rays = False
    settings().show_footprints = True
    assert abs((yield from coloured("on")) - footprints) < FEW


def test_nothing_is_drawn_where_nothing_is_to_be_seen():
    settings().show_contacts = True
    shown = yield from coloured("shown")
    with harness.view3d():
        overlay = bpy.context.space_data.overlay
    overlay.show_overlays = False
    assert (yield from coloured("overlays-off")) < shown - MANY
    overlay.show_overlays = True
    rig().hide_set(True)
    assert (yield from coloured("hidden")) < shown - MANY
    rig().hide_set(False)
    bpy.context.view_layer.objects.active = stairs = bpy.data.objects["Stairs"]
    rig().select_set(False)
    assert (yield from coloured("not-selected")) < shown - MANY
    stairs.select_set(True)
    with harness.view3d():
        bpy.ops.view3d.localview(frame_selected=False)
    rig().select_set(True)
    assert (yield from coloured("local-view")) < shown - MANY
    with harness.view3d():
        bpy.ops.view3d.localview(frame_selected=False)
    bpy.context.view_layer.objects.active = rig()
    stairs.select_set(False)
    assert abs((yield from coloured("back")) - shown) < MANY


def test_edits_show_at_once():
    scene = bpy.context.scene
    for mode in ("POSE", "OBJECT"):
        with harness.view3d():
            bpy.ops.object.mode_set(mode=mode)
        yield from coloured(mode.lower())
    settings().active_contact = next(i for i, c in enumerate(settings().contacts)
                                     if c.leg == "Left" and c.start <= scene.frame_current <= c.end)
    before = yield from coloured("before-edit")
    with harness.view3d():
        bpy.ops.foot_ik.contact_move(frames=40)
    assert abs((yield from coloured("moved")) - before) > FEW
    yield from harness.show_sidebar("Foot IK")
    open_contacts()
    yield 2.0  # Blender slides panels into place
    yield from coloured("sidebar")
    with harness.view3d():
        bpy.ops.foot_ik.plan()
    for frame in (1, 60, 100, scene.frame_end, scene.frame_end + 20):
        scene.frame_set(frame)
        yield 0.2
    yield from coloured("replanned")
    bpy.ops.foot_ik.contact_reset()
    bpy.ops.foot_ik.plan()
    scene.frame_set(scene.timeline_markers["Picture"].frame)
    scene.render.use_lock_interface = True
    yield 2.0
    yield from coloured("contacts")
    bpy.ops.preferences.addon_disable(module="bl_ext.user_default.foot_ik")
    yield from coloured("disabled")


harness.run(test_footprints_on_stairs, test_nothing_is_drawn_where_nothing_is_to_be_seen, test_edits_show_at_once)
