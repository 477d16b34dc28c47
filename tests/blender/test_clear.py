"""`clear` removes every trace of the add-on from one armature, and nothing else."""
import bpy
import numpy as np
import pytest
from blender import scenes


def test_clear_changes_nothing_but_the_settings():
    ob = scenes.walker("slope")
    scenes.visit(20)
    before = scenes.everything()
    assert bpy.ops.foot_ik.clear() == {"FINISHED"}
    assert {d.split("/")[2].split(":")[0] for d in scenes.differences(before, scenes.everything())} == {"settings"}
    assert scenes.settings_state(ob.foot_ik) == scenes.settings_state(twin_of(ob).foot_ik)


def twin_of(ob):
    """An armature that the add-on has never seen."""
    return bpy.data.objects.new("Fresh", ob.data)


def test_clear_leaves_other_rigs_alone():
    ob = scenes.walker("slope")
    twin = ob.copy()
    bpy.context.scene.collection.objects.link(twin)
    ob.foot_ik.enabled = twin.foot_ik.enabled = True
    pose = scenes.shown(twin, 20)
    bpy.ops.foot_ik.clear()
    assert np.array_equal(scenes.shown(twin), pose)
    assert scenes.gaps(scenes.shown(twin, 20), pose).max() < 1e-6
    assert twin.foot_ik.enabled and twin.foot_ik.legs


def test_clear_can_be_undone():
    ob = scenes.walker("slope")
    ob.foot_ik.enabled = True
    scenes.visit(20)
    pose = scenes.shown(ob)
    bpy.ops.ed.undo_push(message="before")
    before = scenes.everything()
    bpy.ops.foot_ik.clear("EXEC_DEFAULT", True)
    bpy.ops.ed.undo()
    assert scenes.differences(before, scenes.everything()) == []
    assert np.allclose(scenes.shown(scenes.rig()), pose, atol=1e-6)


def test_clear_works_where_nothing_is_set_up_and_twice():
    scenes.walker("slope", ready=False)
    assert bpy.ops.foot_ik.clear() == {"FINISHED"}
    assert bpy.ops.foot_ik.clear() == {"FINISHED"}


def test_setting_up_anew_after_clear_gives_the_same_pose():
    ob = scenes.walker("slope")
    ob.foot_ik.enabled = True
    pose = scenes.shown(ob, 20)
    bpy.ops.foot_ik.clear()
    bpy.ops.foot_ik.detect_legs()
    bpy.ops.foot_ik.plan()
    ob.foot_ik.enabled = True
    assert scenes.gaps(scenes.shown(ob, 20), pose).max() < 1e-6


@pytest.mark.skipif(bpy.app.version < (5, 0, 0), reason="settings are that property")
def test_what_blender_5_keeps_of_the_settings_of_an_older_file_goes_too():
    """Settings were custom properties before; they are copied when such a file is opened, and the old ones stay."""
    ob = scenes.walker("slope")
    ob["foot_ik"] = {"plan": "of an older file"}
    assert bpy.ops.foot_ik.clear() == {"FINISHED"}
    assert "foot_ik" not in ob
