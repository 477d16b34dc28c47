"""What a user edits while the correction is live shows at once, corrected, on the frame where it is edited."""
from pathlib import Path

import bpy
import pytest
from blender import scenes

SLOPE = Path(__file__).resolve().parents[2] / "sample_scenes" / "slope.blend"


@pytest.fixture
def rig():
    """The mannequin on the slope, live, on a frame in mid-walk."""
    bpy.ops.wm.open_mainfile(filepath=str(SLOPE))
    ob = next(o for o in bpy.context.scene.objects if o.type == "ARMATURE")
    bpy.context.view_layer.objects.active = ob
    bpy.context.scene.frame_end = 40
    bpy.ops.foot_ik.detect_legs()
    bpy.ops.foot_ik.toggle()
    bpy.context.scene.frame_set(25)
    return ob


def pose(ob):
    return {b.name: b.matrix_basis.copy() for b in ob.pose.bones}


def apart(a, b):
    """Largest difference of two poses, in metres or units of a rotation matrix."""
    return max(abs(x) for name in a for row in a[name] - b[name] for x in row)


def edit(addon, ob, bone, by):
    """Move all keys of one rotation channel up, as in the Graph Editor."""
    bag = addon("blender.compat").animated_bag(ob.animation_data)
    curve = next(c for c in bag.fcurves if bone in c.data_path and "rotation" in c.data_path and c.array_index == 1)
    for key in curve.keyframe_points:
        key.co.y += by
    curve.update()
    ob.animation_data.action.update_tag()
    bpy.context.view_layer.update()


@pytest.mark.parametrize("bone", ["thigh.L", "upper_arm.L"])
def test_edited_keys_show_corrected_at_once(addon, rig, bone):
    before = pose(rig)
    edit(addon, rig, bone, 0.1)
    at_once = pose(rig)
    bpy.context.scene.frame_set(25)
    assert apart(at_once, before) > 0.01, "the edit shows"
    assert apart(at_once, pose(rig)) < 1e-6, "as it does after a visit of the frame"


def test_unkeyed_channel_is_not_corrected_twice(addon, rig):
    bag = addon("blender.compat").animated_bag(rig.animation_data)
    bpy.ops.foot_ik.toggle()
    for curve in [c for c in bag.fcurves if "shin.L" in c.data_path]:
        bag.fcurves.remove(curve)
    bpy.context.scene.frame_set(25)
    raw = pose(rig)
    bpy.ops.foot_ik.toggle()
    bpy.context.scene.frame_set(25)
    live = pose(rig)
    for _ in range(5):
        edit(addon, rig, "upper_arm.L", 0.0)
    assert apart(pose(rig), live) < 1e-6
    bpy.ops.foot_ik.toggle()
    assert apart(pose(rig), raw) < 1e-6


def test_edits_show_as_they_are_while_not_live(addon, rig):
    bpy.ops.foot_ik.toggle()
    edit(addon, rig, "thigh.L", 0.1)
    at_once = pose(rig)
    bpy.context.scene.frame_set(25)
    assert apart(at_once, pose(rig)) < 1e-6


def other_action(ob):
    scenes.play(ob, ob.animation_data.action.copy())


def other_action_with_other_keys(ob):
    other_action(ob)
    scenes.curve(ob, "thigh.L", "rotation_quaternion", 1).keyframe_points[5].co.y += 0.1


def key_on_a_channel_that_has_none(ob):
    ob.pose.bones["hand.L"].scale = (1.1, 1.1, 1.1)
    ob.pose.bones["hand.L"].keyframe_insert("scale")


def constraint(ob):
    ob.pose.bones["head"].constraints.new("DAMPED_TRACK").target = bpy.data.objects["Ground"]
    ob.animation_data.action.update_tag()


def duplicate(ob):
    ob.select_set(True)
    bpy.ops.object.duplicate()
    bpy.context.view_layer.objects.active = ob


def deleted_ground(ob):
    bpy.data.objects.remove(bpy.data.objects["Ground"])
    ob.animation_data.action.update_tag()


@pytest.mark.parametrize("change", (other_action, other_action_with_other_keys, key_on_a_channel_that_has_none,
                                    constraint, duplicate, deleted_ground), ids=lambda f: f.__name__)
def test_what_makes_blender_build_its_relations_anew_while_live(change):
    """Blender before 5.2 crashed where a handler had it evaluate the scene within that."""
    ob = scenes.walker("slope")
    scenes.visit(20)
    ob.foot_ik.enabled = True
    for _ in range(2):
        if change is not deleted_ground or "Ground" in bpy.data.objects:
            change(ob)
        bpy.context.view_layer.update()
        ob.foot_ik.influence = 1.0
        bpy.context.view_layer.update()
        at_once = scenes.shown(ob)
        scenes.visit(3)
        assert scenes.gaps(scenes.shown(ob, 20), at_once).max() < 1e-5
    ob.foot_ik.enabled = False
    assert scenes.gaps(scenes.shown(ob, 20), at_once).max() > 0.01
