"""Promise 2, no trace: switched off, cleared, disabled, or opened without the add-on, the pose is the animated one, bit
for bit; and saving, undo and redo do not take the corrected pose from the screen.
"""
import json
import os
import subprocess
import sys

import addon_utils
import bpy
import numpy as np
import pytest
from blender import scenes
from blender.conftest import MODULE, enable

FRAME = 20
SAME = 1e-6  # radians and metres: the same floats, evaluated anew

READ = """
import bpy, json, os, sys
bpy.ops.wm.open_mainfile(filepath=sys.argv[1])
assert not hasattr(bpy.types.Object, "foot_ik")
ob = bpy.data.objects["Mannequin"]
rows = {b.name: [b.rotation_mode, *b.location, *b.rotation_quaternion, *b.rotation_euler, *b.rotation_axis_angle,
                 *b.scale] for b in ob.pose.bones}
with open(sys.argv[2], "w") as out:
    json.dump(rows, out)
os._exit(0)
"""


def half_unkeyed(ob):
    """A leg and the height of the hips have no keys."""
    bones = ("thigh.L", "shin.L", "foot.L", '"hips"].location')
    scenes.remove_curves(ob, lambda path, _: not any(b in path for b in bones))
    ob.pose.bones["thigh.L"].rotation_quaternion = (0.98, -0.2, 0.0, 0.0)
    ob.pose.bones["hips"].location = (0.0, -0.02, 0.6)


@pytest.fixture
def ob():
    """The walker on the slope at a frame of full correction, not live."""
    ob = scenes.walker("slope", prepare=half_unkeyed)
    scenes.visit(FRAME)
    return ob


def corrected(ob, raw):
    """Switch the correction on, and see that it shows."""
    ob.foot_ik.enabled = True
    pose = scenes.shown(ob)
    assert scenes.gaps(pose, raw).max() > 0.01
    return pose


def off(ob):
    ob.foot_ik.enabled = False


def no_influence(ob):
    ob.foot_ik.influence = 0.0


def no_weights(ob):
    for leg in ob.foot_ik.legs:
        leg.position_weight = leg.rotation_weight = leg.lock_weight = 0.0


def legs_off(ob):
    for leg in ob.foot_ik.legs:
        leg.enabled = False


def cleared(ob):
    assert bpy.ops.foot_ik.clear() == {"FINISHED"}


def disabled(ob):
    addon_utils.disable(MODULE)


WAYS_OUT = (off, no_influence, no_weights, legs_off, cleared, disabled)


@pytest.mark.parametrize("leave", WAYS_OUT, ids=lambda f: f.__name__)
def test_no_trace_is_left(ob, leave):
    before, raw = scenes.channels(ob), scenes.shown(ob)
    corrected(ob, raw)
    scenes.visit(7)
    scenes.visit(FRAME)
    leave(ob)
    assert scenes.channels(ob) == before
    assert np.array_equal(scenes.shown(ob), raw)
    scenes.visit(7)
    scenes.visit(FRAME)
    assert scenes.channels(ob) == before
    assert np.array_equal(scenes.shown(ob), raw)


def test_clear_leaves_no_settings(ob):
    ob.foot_ik.enabled = True
    bpy.ops.foot_ik.clear()
    assert not ob.is_property_set("foot_ik")
    assert "foot_ik" not in list(ob.keys())
    assert not ob.foot_ik.legs and not ob.foot_ik.plan and not ob.foot_ik.held and not ob.foot_ik.contacts


def test_enabling_the_add_on_again_shows_the_corrected_pose(ob, addon):
    pose = corrected(ob, scenes.shown(ob))
    addon_utils.disable(MODULE)
    enable()
    show_again = addon("blender.handlers").show_again
    assert bpy.app.timers.is_registered(show_again)  # timers run in a window only
    show_again()
    assert np.allclose(scenes.shown(ob), pose, atol=SAME)


@pytest.mark.parametrize("copy", (True, False))
def test_saved_file_holds_the_animated_pose_and_the_screen_the_corrected_one(ob, copy, tmp_path):
    before = scenes.channels(ob)
    pose = corrected(ob, scenes.shown(ob))
    path = tmp_path / "saved.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=copy)
    assert np.allclose(scenes.shown(ob), pose, atol=SAME)
    assert opened_without_the_add_on(path, tmp_path) == {name: list(row) for name, row in before.items()}


def opened_without_the_add_on(path, folder):
    """The channels in a file, as a process reads them that does not have the add-on."""
    out, user = folder / "channels.json", folder / "user"
    user.mkdir()
    subprocess.run([sys.executable, "-c", READ, str(path), str(out)], check=True, timeout=60, stdout=subprocess.DEVNULL,
                   env={**os.environ, "BLENDER_USER_RESOURCES": str(user)})
    return json.loads(out.read_text())


def test_failed_save_keeps_the_corrected_pose(ob, tmp_path):
    pose = corrected(ob, scenes.shown(ob))
    with pytest.raises(RuntimeError):
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "no such folder" / "saved.blend"))
    assert np.allclose(scenes.shown(ob), pose, atol=SAME)


def test_loaded_file_shows_the_corrected_pose(ob, tmp_path):
    pose = corrected(ob, scenes.shown(ob))
    scenes.save(tmp_path / "saved.blend")
    scenes.load(tmp_path / "saved.blend")
    assert np.allclose(scenes.shown(scenes.rig()), pose, atol=SAME)


def test_animated_pose_comes_back_after_saving_and_loading(ob, tmp_path):
    before = scenes.channels(ob)
    corrected(ob, scenes.shown(ob))
    scenes.save(tmp_path / "saved.blend")
    scenes.load(tmp_path / "saved.blend")
    scenes.rig().foot_ik.enabled = False
    assert scenes.channels(scenes.rig()) == before


# Undo. Blender does not tell frame handlers of it (F13), and the bones hold the corrected pose in its steps.

def test_undo_and_redo_show_the_corrected_pose(ob):
    raw = scenes.shown(ob)
    pose = corrected(ob, raw)
    bpy.ops.ed.undo_push(message="live")
    bpy.data.objects["Ground"].location.x = 0.3
    bpy.ops.ed.undo_push(message="moved")
    for step in (bpy.ops.ed.undo, bpy.ops.ed.redo, bpy.ops.ed.undo):
        step()
        assert np.allclose(scenes.shown(scenes.rig()), pose, atol=SAME)
    scenes.rig().foot_ik.enabled = False
    assert np.allclose(scenes.shown(scenes.rig()), raw, atol=SAME)


def test_undo_over_switching_on_takes_no_trace_along(ob):
    before, raw = scenes.channels(ob), scenes.shown(ob)
    bpy.ops.ed.undo_push(message="off")
    pose = corrected(ob, raw)
    bpy.ops.ed.undo_push(message="on")
    bpy.ops.ed.undo()
    assert not scenes.rig().foot_ik.enabled
    assert scenes.channels(scenes.rig()) == before
    assert np.allclose(scenes.shown(scenes.rig()), raw, atol=SAME)
    bpy.ops.ed.redo()
    assert np.allclose(scenes.shown(scenes.rig()), pose, atol=SAME)
    scenes.rig().foot_ik.enabled = False
    assert scenes.channels(scenes.rig()) == before


def test_undo_at_another_frame_shows_that_frame(ob):
    scenes.visit(7)
    at_7 = corrected(ob, scenes.shown(ob))
    bpy.ops.ed.undo_push(message="at 7")
    scenes.visit(FRAME)
    bpy.ops.ed.undo_push(message="at 20")
    at_20 = scenes.shown(ob)
    bpy.ops.ed.undo()
    ob = scenes.rig()
    expected = at_7 if bpy.context.scene.frame_current == 7 else at_20
    assert np.allclose(scenes.shown(ob), expected, atol=SAME)


def test_copy_of_a_live_rig_is_live_and_can_be_cleared(ob):
    before, raw = scenes.channels(ob), scenes.shown(ob)
    pose = corrected(ob, raw)
    twin = ob.copy()
    bpy.context.scene.collection.objects.link(twin)
    assert np.allclose(scenes.shown(twin, FRAME), pose, atol=SAME)
    bpy.context.view_layer.objects.active = twin
    bpy.ops.foot_ik.clear()
    assert scenes.channels(twin) == before
    assert np.allclose(scenes.shown(ob), pose, atol=SAME)


def test_another_rotation_mode_while_live_leaves_no_trace(ob):
    raw = scenes.shown(ob)
    corrected(ob, raw)
    for mode in ("XYZ", "AXIS_ANGLE"):
        ob.pose.bones["thigh.L"].rotation_mode = mode
        scenes.visit(7)
        scenes.visit(FRAME)
    ob.foot_ik.enabled = False
    assert np.allclose(scenes.shown(ob), raw, atol=1e-5)  # Blender turns modes into each other in floats
