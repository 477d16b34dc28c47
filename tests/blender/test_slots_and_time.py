"""Actions with slots, actions that are shared, and the many clocks of a scene."""
from __future__ import annotations

import bpy
import numpy as np
import pytest
from blender import scenes

FRAMES = (2, 9, 20, 33, 45)
SAME = 1e-5
needs_slots = pytest.mark.skipif(bpy.app.version < (4, 4, 0), reason="actions have slots from 4.4 on")


def bake(**options):
    assert bpy.ops.foot_ik.bake(**options) == {"FINISHED"}


def live_poses(ob, frames=FRAMES):
    ob.foot_ik.enabled = True
    return scenes.shown_over(ob, frames)


# Slots

def other_slot(ob):
    """Another rig, with a slot of its own in the action of the first, lifts its left arm."""
    twin = ob.copy()
    twin.name, twin.location.x = "Twin", 1.0
    bpy.context.scene.collection.objects.link(twin)
    data, action = twin.animation_data, ob.animation_data.action
    data.action_slot = action.slots.new("OBJECT", "Twin")
    for frame, turn in ((1, 0.0), (40, 0.5)):
        twin.pose.bones["upper_arm.L"].rotation_quaternion = (1 - turn * turn / 2, turn, 0, 0)
        twin.pose.bones["upper_arm.L"].keyframe_insert("rotation_quaternion", frame=frame)
    assert len(action.slots) == 2
    return twin


@needs_slots
@pytest.mark.parametrize("target", ("NEW_ACTION", "NLA"))
def test_two_slots_of_one_action_stay_apart(target):
    ob = scenes.walker("slope")
    twin = other_slot(ob)
    action = ob.animation_data.action
    before, raw = scenes.action_state(action), scenes.shown_over(twin, FRAMES)
    poses = live_poses(ob)
    assert scenes.gaps(scenes.shown_over(twin, FRAMES), raw).max() < SAME
    bake(target=target)
    assert scenes.gaps(scenes.shown_over(ob, FRAMES), poses).max() < SAME
    assert scenes.gaps(scenes.shown_over(twin, FRAMES), raw).max() < SAME
    assert twin.animation_data.action == action and scenes.action_state(action) == before


@needs_slots
def test_both_slots_are_baked_each_into_an_action_of_its_own():
    ob = scenes.walker("slope")
    twin = other_slot(ob)
    twin.location = (0.5, -1.0, 0.0)
    bpy.context.view_layer.objects.active = twin
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    expected = [live_poses(ob), live_poses(twin)]
    for one in (ob, twin):
        bpy.context.view_layer.objects.active = one
        bake()
    assert ob.animation_data.action != twin.animation_data.action
    for one, poses in zip((ob, twin), expected):
        assert scenes.gaps(scenes.shown_over(one, FRAMES), poses).max() < SAME


@needs_slots
@pytest.mark.parametrize("target", ("NEW_ACTION", "NLA"))
def test_an_action_without_a_slot_plays_nothing_and_is_kept(target):
    ob = scenes.walker("slope")
    data = ob.animation_data
    action, before = data.action, scenes.action_state(data.action)
    data.action_slot = None
    ob.location.y = -1.0
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    scenes.visit(20)
    assert scenes.gaps(scenes.shown(ob, 33), scenes.shown(ob, 5)).max() < SAME, "it stands still"
    poses = live_poses(ob)
    bake(target=target)
    assert scenes.gaps(scenes.shown_over(ob, FRAMES), poses).max() < SAME
    assert scenes.action_state(action) == before


@needs_slots
def test_an_action_holds_one_layer_of_one_strip():
    """What `compat.ensured_bag` counts on; a Blender that allows more must be looked at anew."""
    action = scenes.walker("slope").animation_data.action
    with pytest.raises(RuntimeError):
        action.layers.new("Second")
    with pytest.raises(RuntimeError):
        action.layers[0].strips.new(type="KEYFRAME")


# Time

def test_a_frame_rate_of_a_fraction():
    """29.97 frames a second: only the clip's speed is another, so the steps stay where they are."""
    ob = scenes.walker("slope")
    rows = [(c.leg, c.start, c.end) for c in ob.foot_ik.contacts]
    poses = live_poses(ob)
    bpy.context.scene.render.fps_base = 1.001
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    assert [(c.leg, c.start, c.end) for c in ob.foot_ik.contacts] == rows
    assert scenes.gaps(scenes.shown_over(ob, FRAMES), poses).max() < 1e-3


@pytest.mark.parametrize("settings", ({"frame_step": 3}, {"use_preview_range": True, "frame_preview_start": 10,
                                                          "frame_preview_end": 15}), ids=("step", "preview"))
def test_frame_step_and_preview_range_leave_plan_and_bake_whole(settings):
    ob = scenes.walker("slope")
    plan, poses = ob.foot_ik.plan, live_poses(ob)
    for name, value in settings.items():
        setattr(bpy.context.scene, name, value)
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    assert ob.foot_ik.plan == plan
    bake()
    assert scenes.gaps(scenes.shown_over(ob, FRAMES), poses).max() < SAME
    times = {round(k.co.x) for k in scenes.curve(ob, "thigh.L", "rotation_quaternion", 0).keyframe_points}
    assert times >= set(range(1, scenes.LAST + 1))
    assert all(getattr(bpy.context.scene, name) == value for name, value in settings.items())


STRETCHED = [2 * frame for frame in FRAMES]


def remapped(_ob):
    """The walk takes twice its frames."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 2, 2 * scenes.LAST
    scene.render.frame_map_old, scene.render.frame_map_new = 100, 200


def far_keys(ob):
    """The same with all keys twice as far from each other, at twice as many frames a second."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end, scene.render.fps = 2, 2 * scenes.LAST, 2 * scenes.FPS
    for curve in scenes.curves(ob.animation_data.action).values():
        for key in curve.keyframe_points:
            key.co.x, key.handle_left.x, key.handle_right.x = (
                2 * x for x in (key.co.x, key.handle_left.x, key.handle_right.x))


@pytest.mark.parametrize("target", ("NEW_ACTION", "NLA"))
def test_time_remapping_is_as_keys_farther_apart_live_and_baked(target):
    ob = scenes.walker("slope", prepare=far_keys)
    raw, twin = scenes.shown_over(ob, STRETCHED), live_poses(ob, STRETCHED)
    ob = scenes.walker("slope", prepare=remapped)
    assert scenes.gaps(scenes.shown_over(ob, STRETCHED), raw).max() < SAME
    frames = (*STRETCHED, 3, 41, 77)
    poses = live_poses(ob, frames)
    assert scenes.gaps(poses[:len(STRETCHED)], twin).max() < 1e-4
    assert scenes.gaps(twin, raw).max() > 0.05
    bake(target=target)
    assert scenes.gaps(scenes.shown_over(ob, frames), poses).max() < SAME


@pytest.mark.parametrize("target", ("NEW_ACTION", "NLA"))
def test_a_part_of_remapped_time_is_baked_alone(target):
    ob = scenes.walker("slope", prepare=remapped)
    raw, poses = scenes.shown_over(ob, STRETCHED), live_poses(ob, STRETCHED)
    bake(target=target, frame_start=35, frame_end=70)
    wanted = np.where([[[[35 <= f <= 70]]] for f in STRETCHED], poses, raw)
    assert scenes.gaps(scenes.shown_over(ob, STRETCHED), wanted).max() < SAME


def test_markers_stay_and_auto_keying_keys_nothing():
    ob = scenes.walker("slope")
    scene = bpy.context.scene
    scene.timeline_markers.new("Jump", frame=12)
    scene.tool_settings.use_keyframe_insert_auto = True
    scene.tool_settings.auto_keying_mode = "ADD_REPLACE_KEYS"
    action = ob.animation_data.action
    before = scenes.action_state(action)
    live_poses(ob)
    ob.foot_ik.influence = 0.5
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    bake()
    assert scenes.action_state(action) == before
    assert [(m.name, m.frame) for m in scene.timeline_markers] == [("Jump", 12)]
