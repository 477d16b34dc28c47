"""Footprints and contacts are drawn over the viewport: look at build/gui/overlay-*.png. A traceback fails the run."""
import importlib
import sys
from pathlib import Path

import bpy

sys.path.insert(0, str(Path(__file__).parent))
import harness


def addon(name):
    return importlib.import_module(f"bl_ext.user_default.foot_ik.{name}")


def rig():
    return next(o for o in bpy.context.scene.objects if o.type == "ARMATURE")


def test_footprints_on_stairs():
    harness.install()
    yield 0.5
    bpy.ops.wm.open_mainfile(filepath=str(harness.ROOT / "sample_scenes" / "stairs.blend"), load_ui=False)
    yield 0.5
    for ob in bpy.context.selected_objects:
        ob.select_set(False)
    bpy.context.view_layer.objects.active = rig()
    rig().select_set(True)
    with harness.view3d():
        space = bpy.context.space_data
        space.region_3d.view_perspective, space.region_3d.view_camera_zoom = "CAMERA", 20
        space.shading.light, space.shading.color_type = "STUDIO", "MATERIAL"
    bpy.ops.foot_ik.detect_legs()
    bpy.ops.foot_ik.plan()
    rig().foot_ik.enabled = True
    bpy.context.scene.frame_set(bpy.context.scene.timeline_markers["Picture"].frame)
    yield 2.0
    harness.screenshot("overlay-stairs")
    rig().foot_ik.show_rays = True
    bpy.context.scene.frame_set(bpy.context.scene.frame_current + 12)
    yield 2.0
    harness.screenshot("overlay-rays")


harness.run(test_footprints_on_stairs)
