"""Promise 4, nothing lost: what is keyed while the corrected pose is shown comes to hold the animated one, so that
nothing is corrected twice; and what Blender has baked of the corrected pose is left at that.
"""
import bpy
import numpy as np
import pytest
from blender import scenes

FRAME = 20
SAME = 1e-4  # radians and metres: a key between others bends their curve, visual keys come from matrices of floats


@pytest.fixture
def ob():
    """The walker on the slope, live, in a frame of full correction."""
    ob = scenes.walker("slope")
    live(ob)
    return ob


def live(ob):
    ob.foot_ik.enabled = True
    scenes.visit(FRAME)


def keyed_by_script(ob):
    for bone in ob.pose.bones:
        bone.keyframe_insert("location")
        bone.keyframe_insert("rotation_quaternion")


def whole_character(ob, keying_set="WholeCharacter"):
    ob.select_set(True)
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.select_all(action="SELECT")
    window = bpy.context.window_manager.windows[0]
    area = window.screen.areas[0]
    area.type = "VIEW_3D"
    region = next(r for r in area.regions if r.type == "WINDOW")
    with bpy.context.temp_override(window=window, area=area, region=region):
        assert bpy.ops.anim.keyframe_insert_by_name(type=keying_set) == {"FINISHED"}


def as_shown(ob):
    whole_character(ob, "BUILTIN_KSI_VisualLocRot")


def update():
    bpy.context.view_layer.update()


def goes_on():
    scenes.visit(FRAME + 1)


def undone_and_redone():
    """In a window the step of an operator is kept before anything is evaluated."""
    bpy.ops.ed.undo_push(message="keys")
    update()
    bpy.context.scene.cursor.location.x = 1.0
    bpy.ops.ed.undo_push(message="cursor")
    bpy.ops.ed.undo()
    bpy.ops.ed.redo()


def switched_off():
    scenes.rig().foot_ik.enabled = False


def planned():
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}


@pytest.mark.parametrize(("key", "then"), [(keyed_by_script, update), (keyed_by_script, goes_on),
                                           (keyed_by_script, switched_off), (keyed_by_script, planned),
                                           (whole_character, update), (as_shown, update),
                                           (whole_character, undone_and_redone)])
def test_what_is_keyed_while_live_is_what_is_animated(ob, key, then):
    pose, before = scenes.shown(ob), clip(ob)
    key(ob)
    then()
    ob = scenes.rig()
    assert apart(clip(ob), before) < SAME
    assert scenes.gaps(scenes.shown(ob, FRAME), pose).max() < SAME or not ob.foot_ik.enabled


def clip(ob):
    """{(path, index): values} of the F-curves of location and rotation, over the frames."""
    return {key: np.array([c.evaluate(frame) for frame in range(1, scenes.LAST + 1)])
            for key, c in scenes.curves(ob.animation_data.action).items() if not key[0].endswith("scale")}


def apart(after, before):
    return max(np.abs(after[key] - values).max() for key, values in before.items())


def test_a_key_in_a_strip_that_is_tweaked_holds_what_is_animated(ob):
    data, action = ob.animation_data, ob.animation_data.action
    ob.foot_ik.enabled = False
    data.action = None
    track = data.nla_tracks.new()
    strip = track.strips.new("Walk", 11, action)
    if bpy.app.version >= (4, 4, 0):
        strip.action_slot = action.slots[0]
    bpy.context.scene.frame_end += 10
    planned()
    live(ob)
    scenes.nla(ob, track, "tweakmode_enter")
    before = clip(ob)
    keyed_by_script(ob)
    update()
    assert apart(clip(ob), before) < SAME


def test_an_unkeyed_bone_is_keyed_as_it_is_animated(ob):
    ob.foot_ik.enabled = False
    scenes.remove_curves(ob, lambda path, _: "thigh.L" not in path)
    before = scenes.channels(ob)
    live(ob)
    ob.pose.bones["thigh.L"].keyframe_insert("rotation_quaternion")
    update()
    ob.foot_ik.enabled = False
    assert scenes.channels(ob) == before


def test_what_the_user_has_posed_is_keyed_as_it_is(ob):
    bone = ob.pose.bones["thigh.L"]
    bone.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
    bone.keyframe_insert("rotation_quaternion")
    update()
    assert scenes.curve(ob, "thigh.L", "rotation_quaternion", 0).evaluate(FRAME) == 1.0


@pytest.mark.parametrize("options", ({"use_current_action": False}, {"use_current_action": True, "step": 2}))
def test_what_blender_bakes_while_live_is_not_corrected_again(ob, options):
    frames = range(1, scenes.LAST + 1, options.get("step", 1))
    poses = scenes.shown_over(ob, frames)
    ob.select_set(True)
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.nla.bake(frame_start=1, frame_end=scenes.LAST, only_selected=False, visual_keying=True, bake_types={"POSE"},
                     **options)
    for enabled in (True, False):
        ob.foot_ik.enabled = enabled
        assert scenes.gaps(scenes.shown_over(ob, frames), poses).max() < SAME
    with pytest.raises(RuntimeError, match="play a bake"):
        bpy.ops.foot_ik.plan()


def test_what_blender_bakes_of_other_bones_is_no_bake_of_the_correction(ob):
    poses = scenes.shown_over(ob, range(1, scenes.LAST + 1))
    ob.select_set(True)
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.select_all(action="DESELECT")
    bone = ob.pose.bones["upper_arm.L"]
    (bone if bpy.app.version >= (5, 0, 0) else bone.bone).select = True
    bpy.ops.nla.bake(frame_start=1, frame_end=scenes.LAST, only_selected=True, visual_keying=True,
                     use_current_action=True, bake_types={"POSE"})
    assert scenes.gaps(scenes.shown_over(ob, range(1, scenes.LAST + 1)), poses).max() < SAME
    planned()


def test_keys_of_a_bake_that_is_made_active_while_live_stay():
    """Its keys are what is shown, in the only frame that was, but were not made of that: an edit leaves them."""
    ob = scenes.walker("slope")
    walk = ob.animation_data.action
    bpy.ops.foot_ik.bake()
    baked = ob.animation_data.action
    scenes.play(ob, walk)
    scenes.visit(FRAME)
    ob.foot_ik.enabled = True
    scenes.play(ob, baked)
    update()
    before = scenes.action_state(baked)
    curve = scenes.curve(ob, "head", "rotation_quaternion", 1)
    curve.keyframe_points[FRAME - 1].co.y += 0.1
    curve.update()
    update()
    goes_on()
    (changed,) = scenes.differences(before, scenes.action_state(baked))
    assert "head" in changed


def test_keys_of_another_action_that_are_nearly_what_is_shown_stay(ob):
    """Values that the correction leaves alone, of another action, differ in the last digit only."""
    walk = ob.animation_data.action
    other = walk.copy()
    for curve in scenes.curves(other).values():
        for key in curve.keyframe_points:
            key.co.y += 1e-6
        curve.update()
    before = scenes.action_state(other)
    scenes.play(ob, other)
    other.name = "Other"  # an edit
    goes_on()
    assert scenes.differences(before, scenes.action_state(other)) == []
