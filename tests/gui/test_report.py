"""The report in the sidebar, wide and narrow: look at build/gui/report-*.png. Jump buttons work, and undo."""
import importlib
import json
import sys
from pathlib import Path

import bpy

sys.path.insert(0, str(Path(__file__).parent))
import harness


def addon(name):
    return importlib.import_module(f"bl_ext.user_default.foot_ik.{name}")


def rig():
    return next(o for o in bpy.context.scene.objects if o.type == "ARMATURE")


def press(name, **options):
    with harness.view3d():
        assert getattr(bpy.ops.foot_ik, name)("EXEC_DEFAULT", True, **options) == {"FINISHED"}


def sidebar():
    with harness.view3d():
        return next(r for r in bpy.context.area.regions if r.type == "UI")


def picture(name):
    for _ in range(2):
        addon("ui.state").redraw()
        yield 1.5
    harness.screenshot(f"report-{name}")


def drag_edge(way, is_done):
    """Drag the sidebar's edge, as often as a slow machine needs, where it may miss the edge."""
    for _ in range(4):
        x, y = sidebar().x + 8, bpy.context.window_manager.windows[0].height - sidebar().y - 200
        yield from harness.drag((x, y), (x + way, y))
        for _ in range(10):
            if is_done():
                return
            yield 0.5
    assert is_done()


def open_report():
    """Nothing in Python opens a panel: register it anew, open."""
    cls = addon("ui.report_panel").FOOT_IK_PT_report
    bpy.utils.unregister_class(cls)
    cls.bl_options = set()
    bpy.utils.register_class(cls)


def test_report_is_shown():
    harness.install()
    yield 0.5
    bpy.ops.wm.open_mainfile(filepath=str(harness.ROOT / "sample_scenes" / "rough.blend"), load_ui=False)
    yield 0.5
    bpy.context.view_layer.objects.active = rig()
    open_report()
    press("detect_legs")
    yield from harness.show_sidebar("Foot IK")
    press("plan")
    yield from picture("planned")
    rig().foot_ik.legs[0].lock_weight = 0.5
    yield from picture("stale")


def test_everything_that_can_be_missing_is_shown_in_a_narrow_sidebar():
    report = json.loads(rig().foot_ik.report)
    rig().foot_ik.legs[0].lock_weight = 1.0
    report["overall"]["unreached"] |= {"count": 12, "worst": 0.0234, "frame": 117, "leg": "Right"}
    report["legs"][1]["contacts"][0]["grounded"] = False
    rig().foot_ik.report = json.dumps(report)
    wide = sidebar().width
    yield from drag_edge(wide // 3, lambda: sidebar().width < 0.8 * wide)
    yield from picture("narrow")
    yield from drag_edge(-wide, lambda: sidebar().width > 1.2 * wide)
    yield from picture("wide")


def test_jump_goes_to_the_worst_frame_and_undo_back():
    scene = bpy.context.scene
    scene.frame_set(5)
    with harness.view3d():
        bpy.ops.ed.undo_push(message="at 5")
    worst = json.loads(rig().foot_ik.report)["overall"]["float"]["after"]
    press("jump", frame=worst["frame"], leg=worst["leg"])
    assert scene.frame_current == worst["frame"]
    yield 0.5
    with harness.view3d():
        bpy.ops.ed.undo()
    yield 0.5
    assert bpy.context.scene.frame_current == 5


harness.run(test_report_is_shown, test_everything_that_can_be_missing_is_shown_in_a_narrow_sidebar,
            test_jump_goes_to_the_worst_frame_and_undo_back)
