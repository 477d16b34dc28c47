"""Other add-ons that pose the rig in the same events, enabled before and after ours, in the viewport and in renders;
renders that end early; ground that renders see otherwise.
"""
from __future__ import annotations

import os

import addon_utils
import bpy
import numpy as np
import pytest
from blender import scenes
from blender.conftest import MODULE, enable

FRAMES = (2, 9, 20, 33)
SAME = 1e-5
NOD = (0.8, 0.6, 0.0, 0.0)


@pytest.fixture
def ob():
    return scenes.walker("slope")


@pytest.fixture(params=("enabled before us", "enabled after us", "puts itself before us"))
def pose_in_each_frame(request):
    """Has another add-on call a function in each frame."""
    added = []

    def add(function):
        if request.param == "enabled before us":
            addon_utils.disable(MODULE)
        handlers = bpy.app.handlers.frame_change_post
        handlers.insert(0 if request.param == "puts itself before us" else len(handlers), function)
        enable()
        added.append(function)

    yield add
    for function in added:
        if function in bpy.app.handlers.frame_change_post:
            bpy.app.handlers.frame_change_post.remove(function)


def nod(scene, _depsgraph=None):
    """Another add-on turns the head to the same side in each frame."""
    scenes.rig().pose.bones["head"].rotation_quaternion = NOD


def bone(ob, name):
    return [b.name for b in ob.pose.bones].index(name)


@pytest.mark.parametrize("keyed", (True, False), ids=("keyed", "unkeyed"))
def test_what_another_add_on_poses_is_shown_with_our_legs(ob, pose_in_each_frame, keyed):
    if not keyed:
        scenes.remove_curves(ob, lambda path, _: "head" not in path)
    ob.foot_ik.enabled = True
    legs = [bone(ob, name) for name in scenes.WRITTEN]
    poses = scenes.shown_over(ob, FRAMES)
    pose_in_each_frame(nod)
    for order in (FRAMES, FRAMES[::-1], (20, 20, 2, 33)):
        for frame in order:
            pose, expected = scenes.shown(ob, frame), poses[FRAMES.index(frame)]
            assert scenes.gaps(pose[legs], expected[legs]).max() < SAME
            turned = ob.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones["head"].rotation_quaternion
            assert tuple(turned) == pytest.approx(NOD, abs=1e-6)


def test_a_leg_that_another_add_on_poses_never_drifts(ob, pose_in_each_frame):
    """It sets a foot, and has the last word; what is shown is the same in each visit, and off is as without us."""
    def twist(scene, _depsgraph=None):
        scenes.rig().pose.bones["foot.L"].rotation_quaternion = NOD

    pose_in_each_frame(twist)
    raw = scenes.shown_over(ob, FRAMES)
    ob.foot_ik.enabled = True
    poses = scenes.shown_over(ob, FRAMES)
    for frame in (33, 2, 20, 20, 9):
        assert scenes.gaps(scenes.shown(ob, frame), poses[FRAMES.index(frame)]).max() < SAME
    ob.foot_ik.enabled = False
    assert scenes.gaps(scenes.shown_over(ob, FRAMES), raw).max() < SAME


def evaluate(scene):
    """Another add-on reads the scene before the frame."""
    bpy.data.objects["Ground"].update_tag()
    bpy.context.view_layer.update()


def visit_another_scene(scene):
    """Another add-on keeps a second scene, which shows the same rig, at the same frame."""
    bpy.data.scenes["Second"].frame_set(scene.frame_current)


def set_influence(scene):
    scenes.rig().foot_ik.influence = 0.5 if scene.frame_current > 15 else 1.0


def switch_on(scene):
    scenes.rig().foot_ik.enabled = True


@pytest.mark.parametrize("event", ("frame_change_pre", "frame_change_post"))
@pytest.mark.parametrize("act", (evaluate, visit_another_scene, set_influence, switch_on))
def test_what_others_do_around_a_frame_leaves_no_trace(ob, tmp_path, act, event):
    """They have Blender evaluate before the frame; bones without keys would be corrected again and again."""
    scenes.remove_curves(ob, lambda path, _: "shin" in path or "thigh" in path)
    second = bpy.data.scenes.new("Second")
    for shown in (ob, bpy.data.objects["Ground"]):
        second.collection.objects.link(shown)
    raw, expected = scenes.shown_over(ob, FRAMES), {}
    ob.foot_ik.enabled = True
    for frame in FRAMES:
        ob.foot_ik.influence = 0.5 if act is set_influence and frame > 15 else 1.0
        expected[frame] = scenes.shown(ob, frame)
    assert scenes.gaps(expected[9], raw[1]).max() > 0.01
    ob.foot_ik.enabled = act is not switch_on
    busy = []

    def handler(scene, _depsgraph=None):
        if not busy:
            busy.append(True)
            act(scene)
            busy.clear()

    getattr(bpy.app.handlers, event).append(handler)
    try:
        for frame in (*FRAMES, *FRAMES[::-1], 20, 20):
            assert scenes.gaps(scenes.shown(ob, frame), expected[frame]).max() < SAME, frame
        for frame, pose in rendered(ob, tmp_path).items():
            assert scenes.gaps(pose, expected[frame]).max() < SAME, frame
    finally:
        getattr(bpy.app.handlers, event).remove(handler)
    ob.foot_ik.enabled = False
    assert scenes.gaps(scenes.shown_over(ob, FRAMES), raw).max() < SAME


def test_handlers_that_others_take_away_for_a_time_come_back_to_work(ob):
    """Some do so to step through frames quickly; frames that began then never end."""
    ob.foot_ik.enabled = True
    poses, handlers = scenes.shown_over(ob, FRAMES), bpy.app.handlers.frame_change_post
    kept = list(handlers)
    handlers.clear()
    scenes.shown_over(ob, FRAMES)
    handlers.extend(kept)
    assert scenes.gaps(scenes.shown_over(ob, FRAMES), poses).max() < SAME


# Renders: what is seen in the depsgraph of the render after all handlers

def rendered(ob, tmp_path, frames=(9, 20)):
    """{frame: pose} as a render shows it."""
    scene = bpy.context.scene
    scene.render.engine = "BLENDER_WORKBENCH"
    scene.render.resolution_x = scene.render.resolution_y = 8
    scene.render.resolution_percentage = 100
    scene.frame_start, scene.frame_end, scene.frame_step = frames[0], frames[-1], frames[1] - frames[0]
    scene.render.filepath = f"{tmp_path}{os.sep}"
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(camera)
    scene.camera = camera
    seen = {}

    def look(scene, depsgraph):
        seen_by["depsgraph"] = depsgraph

    def note(scene, *_):
        depsgraph = seen_by.get("depsgraph")
        if depsgraph is not None and depsgraph.mode == "RENDER":
            seen[scene.frame_current] = scenes.evaluated_pose(ob, depsgraph)

    seen_by = {}
    bpy.app.handlers.frame_change_post.append(look)
    bpy.app.handlers.render_post.append(note)
    try:
        bpy.ops.render.render(animation=True)
    finally:
        bpy.app.handlers.frame_change_post.remove(look)
        bpy.app.handlers.render_post.remove(note)
    return seen


def test_renders_show_what_another_add_on_poses(ob, pose_in_each_frame, tmp_path):
    ob.foot_ik.enabled = True
    pose_in_each_frame(nod)
    poses = {frame: scenes.shown(ob, frame) for frame in (9, 20)}
    scenes.visit(2)
    found = rendered(ob, tmp_path)
    for frame, pose in poses.items():
        assert scenes.gaps(found[frame], pose).max() < SAME
        assert scenes.angles(found[frame], pose).max() < SAME


def hidden_from_renders(ob):
    bpy.data.objects["Ground"].hide_render = True


def instance_hidden_from_renders(ob):
    """The ground as an instance, of which another part shows in renders only."""
    ghost(ob)
    grounds = bpy.data.collections["Ground"]
    bpy.context.scene.collection.children.unlink(grounds)
    empty = bpy.data.objects.new("Instance", None)
    empty.instance_type, empty.instance_collection, empty.hide_render = "COLLECTION", grounds, True
    bpy.context.scene.collection.objects.link(empty)
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}


def in_a_collection_hidden_from_renders(ob):
    bpy.data.collections["Ground"].hide_render = True


def ghost(ob):
    """Something that only renders show, half a step above the ground."""
    other = bpy.data.objects["Ground"].copy()
    other.location.z += 0.15
    other.hide_viewport = True
    bpy.data.collections["Ground"].objects.link(other)


def lift(ob):
    """The ground rises."""
    ground = bpy.data.objects["Ground"]
    for frame, z in ((1, 0.0), (40, 0.2)):
        ground.location.z = z
        ground.keyframe_insert("location", index=2, frame=frame)


def in_a_background_set(ob):
    set_scene, grounds = bpy.data.scenes.new("Set"), bpy.data.collections["Ground"]
    bpy.context.scene.collection.children.unlink(grounds)
    set_scene.collection.children.link(grounds)
    bpy.context.scene.background_set = set_scene


def hidden_by_the_eye_of_a_collection(ob):
    """Another ground, half a step above the one that is shown."""
    ghost(ob)
    away, other = bpy.data.collections.new("Away"), bpy.data.collections["Ground"].objects["Ground.001"]
    bpy.context.scene.collection.children.link(away)
    bpy.data.collections["Ground"].objects.unlink(other)
    away.objects.link(other)
    other.hide_viewport = False
    bpy.context.view_layer.layer_collection.children["Away"].hide_viewport = True


def chosen_and_hidden_by_the_eye_of_its_collection(ob):
    ob.foot_ik.ground_source, ob.foot_ik.ground_collection = "COLLECTION", bpy.data.collections["Ground"]
    bpy.context.view_layer.layer_collection.children["Ground"].hide_viewport = True


@pytest.mark.parametrize("planned", (True, False), ids=("planned", "unplanned"))
@pytest.mark.parametrize("change", (hidden_from_renders, in_a_collection_hidden_from_renders,
                                    instance_hidden_from_renders, ghost, lift, in_a_background_set,
                                    hidden_by_the_eye_of_a_collection,
                                    chosen_and_hidden_by_the_eye_of_its_collection),
                         ids=lambda f: f.__name__)
def test_renders_stand_on_the_ground_of_the_viewport(ob, change, planned, tmp_path):
    change(ob)
    if not planned:
        ob.foot_ik.plan = ""
    ob.foot_ik.enabled = True
    poses = {frame: scenes.shown(ob, frame) for frame in (9, 20)}
    scenes.visit(2)
    found = rendered(ob, tmp_path)
    for frame, pose in poses.items():
        assert scenes.gaps(found[frame], pose).max() < SAME


def test_a_render_that_fails_leaves_nothing_behind(ob):
    raw = scenes.channels(ob)
    ob.foot_ik.enabled = True
    poses = scenes.shown_over(ob, FRAMES)
    scenes.visit(9)
    shown = scenes.channels(ob)
    with pytest.raises(RuntimeError):
        rendered(ob, "/proc/no such place")
    assert scenes.channels(ob) == shown
    for order in (FRAMES, FRAMES[::-1]):
        assert scenes.gaps(scenes.shown_over(ob, order), np.array([poses[FRAMES.index(f)] for f in order])).max() < SAME
    ob.foot_ik.enabled = False
    scenes.visit(1)
    assert scenes.channels(ob) == raw
