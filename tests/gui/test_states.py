"""What a window alone can do to a rig that is live: several windows, local view, playback that drops frames, a render
cancelled with Esc, a file saved and opened without the add-on."""
import sys
import time
from pathlib import Path

import addon_utils
import bpy

sys.path.insert(0, str(Path(__file__).parent))
import harness

FRAMES = (20, 40, 60)
SAME = 1e-5
LONGEST = 60.0
"""Seconds for what ends by itself."""
MODULE = "bl_ext.user_default.foot_ik"


def rig():
    return bpy.data.objects["Mannequin"]


def channels(ob):
    """{bone: its channels}; of an evaluated object those that are seen."""
    return {b.name: (*b.location, *b.rotation_quaternion, *b.scale) for b in ob.pose.bones}


def apart(a, b):
    """The largest difference between the channels of two poses."""
    return max(abs(x - y) for name in a for x, y in zip(a[name], b[name]))


def seen(layer=None):
    """The pose that a view layer shows, by default that of the first window."""
    layer = layer or bpy.context.window_manager.windows[0].view_layer
    return channels(rig().evaluated_get(layer.depsgraph))


def poses(frames=FRAMES):
    out = {}
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        out[frame] = seen()
    return out


def open_slope(prepare=lambda ob: None):
    """The sample scene, changed by `prepare`, live; returns the poses as animated and as shown."""
    bpy.ops.wm.open_mainfile(filepath=str(harness.ROOT / "sample_scenes" / "slope.blend"), load_ui=False)
    bpy.context.view_layer.objects.active = rig()
    prepare(rig())
    bpy.context.scene.frame_end = FRAMES[-1] + 10
    raw = poses()
    with harness.view3d():
        assert bpy.ops.foot_ik.detect_legs() == bpy.ops.foot_ik.plan() == {"FINISHED"}
    rig().foot_ik.enabled = True
    live = poses()
    assert all(apart(live[f], raw[f]) > 0.01 for f in FRAMES)
    return raw, live


def play(done):
    """Play in the first window until `done()`."""
    until = time.monotonic() + LONGEST
    with harness.view3d():
        bpy.ops.screen.animation_play()
    while not done():
        assert time.monotonic() < until, "playback does not get on"
        yield 0.2
    with harness.view3d():
        bpy.ops.screen.animation_cancel(restore_frame=False)
    yield 0.3


def open_window():
    with bpy.context.temp_override(window=bpy.context.window_manager.windows[0]):
        bpy.ops.wm.window_new_main()
    yield 1.0


def without_keys(ob):
    """The right leg is posed, not keyed."""
    action = ob.animation_data.action
    bag = action if bpy.app.version < (4, 4, 0) else action.layers[0].strips[0].channelbags[0]
    for curve in list(bag.fcurves):
        if any(bone in curve.data_path for bone in ("thigh.R", "shin.R", "foot.R")):
            bag.fcurves.remove(curve)


def test_two_windows_show_one_pose():
    harness.install()
    yield 0.5
    yield from two_windows_show_one_pose(lambda ob: None)


def test_two_windows_show_one_pose_of_what_has_no_keys():
    yield from two_windows_show_one_pose(without_keys)


def two_windows_show_one_pose(prepare):
    _, live = open_slope(prepare)
    scene, windows = bpy.context.scene, bpy.context.window_manager.windows
    if len(windows) < 2:
        yield from open_window()
    windows[1].view_layer = scene.view_layers.new("Second")
    yield 0.5
    assert [window.view_layer.name for window in windows] == ["ViewLayer", "Second"]
    for frame in FRAMES:
        scene.frame_set(frame)
        assert apart(seen(), live[frame]) < SAME and apart(seen(windows[1].view_layer), live[frame]) < SAME
    start = scene.frame_current
    yield from play(lambda: abs(scene.frame_current - start) > 3)
    shown, other, frame = seen(), seen(windows[1].view_layer), scene.frame_current
    scene.frame_set(frame)
    assert apart(shown, seen()) < SAME, ("first", apart(shown, seen()))
    assert apart(other, seen()) < SAME, ("second", apart(other, seen()))


def test_a_window_with_another_scene():
    _, live = open_slope()
    scene, windows = bpy.context.scene, bpy.context.window_manager.windows
    if len(windows) < 2:
        yield from open_window()
    other = bpy.data.scenes.new("Other")
    for ob in scene.objects:
        other.collection.objects.link(ob)
    other.frame_set(40)
    windows[1].scene = other
    yield 0.5
    assert [window.scene for window in windows] == [scene, other]
    start = scene.frame_current
    yield from play(lambda: abs(scene.frame_current - start) > 3)
    scene.frame_set(60)
    yield 0.5
    assert apart(seen(), live[60]) < SAME
    with bpy.context.temp_override(window=windows[1]):
        bpy.ops.wm.window_close()
    yield 0.5
    assert poses() == live


def test_local_view_changes_nothing():
    _, live = open_slope()
    plan = rig().foot_ik.plan
    for ob in bpy.context.view_layer.objects:
        ob.select_set(ob == rig())
    with harness.view3d():
        bpy.ops.view3d.localview(frame_selected=False)
        space = bpy.context.space_data
    assert space.local_view and not any(ob.local_view_get(space) for ob in bpy.context.scene.objects
                                     if ob != rig())
    yield 0.5
    assert poses() == live
    with harness.view3d():
        assert bpy.ops.foot_ik.plan() == {"FINISHED"}
        bpy.ops.view3d.localview(frame_selected=False)
    assert rig().foot_ik.plan == plan and poses() == live


def test_playback_that_drops_frames():
    open_slope()
    scene, visits = bpy.context.scene, []

    def slow(scene, depsgraph):
        time.sleep(0.1)
        visits.append((scene.frame_current, channels(rig().evaluated_get(depsgraph))))

    scene.sync_mode = "FRAME_DROP"
    scene.frame_set(1)
    bpy.app.handlers.frame_change_post.append(slow)
    yield from play(lambda: len(visits) > 5)
    bpy.app.handlers.frame_change_post.remove(slow)
    visited = [frame for frame, _ in visits]
    assert any(b - a > 1 for a, b in zip(visited, visited[1:])), visited
    right = poses(sorted(set(visited)))
    for frame in visited[::-1]:
        scene.frame_set(frame)
        assert apart(seen(), right[frame]) < SAME


def test_a_render_cancelled_with_esc():
    raw, live = open_slope()
    scene = bpy.context.scene
    scene.render.engine = "BLENDER_WORKBENCH"
    scene.render.filepath = str(harness.OUTPUT / "cancelled" / "frame")
    bpy.context.preferences.view.render_display_type = "NONE"
    ended = []
    for name in ("render_cancel", "render_complete"):
        getattr(bpy.app.handlers, name).append(lambda *_, name=name: ended.append(name))
    scene.frame_set(60)
    before = channels(rig())
    scene.frame_start = 1
    with harness.view3d():
        bpy.ops.render.render("INVOKE_DEFAULT", animation=True)
    yield 1.5
    harness.key("Escape")
    until = time.monotonic() + LONGEST
    while bpy.app.is_job_running("RENDER"):
        assert time.monotonic() < until
        yield 0.1
    yield 0.5
    assert ended == ["render_cancel"], ended
    assert scene.frame_current == 60
    assert apart(channels(rig()), before) < SAME and apart(seen(), live[60]) < SAME
    assert poses() == live
    rig().foot_ik.enabled = False
    assert poses() == raw


def test_saved_while_live_and_opened_without_the_add_on():
    raw, _ = open_slope()
    path = str(harness.OUTPUT / "live.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
    bpy.ops.preferences.addon_disable(module=MODULE)
    bpy.ops.wm.open_mainfile(filepath=path, load_ui=False)
    yield 0.5
    assert not hasattr(bpy.types.Object, "foot_ik")
    assert apart(channels(rig()), raw[bpy.context.scene.frame_current]) == 0.0
    assert poses() == raw


def test_keys_made_while_live_hold_the_animation():
    """And are made, undone and redone by operators, between which the window evaluates and draws."""
    raw, live = open_slope()
    scene, frame = bpy.context.scene, FRAMES[1]
    scene.frame_set(frame)
    with harness.view3d():
        bpy.ops.object.mode_set(mode="POSE")
        bpy.ops.ed.undo_push(message="before")
        bpy.ops.pose.select_all(action="SELECT")
        assert bpy.ops.anim.keyframe_insert_by_name("EXEC_DEFAULT", True, type="LocRotScale") == {"FINISHED"}
    for step in (None, bpy.ops.ed.undo, bpy.ops.ed.redo):
        if step:
            with harness.view3d():
                step()
        yield 0.5
        scene = bpy.context.scene
        assert apart(seen(), live[scene.frame_current]) < SAME
    rig().foot_ik.enabled = False
    yield 0.2
    found = poses()
    assert all(apart(found[f], raw[f]) < SAME for f in FRAMES)


def test_disabled_while_it_detects():
    """What is under way ends as by Esc: Blender itself drops it half-done, without a word."""
    raw, live = open_slope(without_keys)
    scene, settings = bpy.context.scene, rig().foot_ik
    scene.frame_set(FRAMES[0])
    before = settings.plan, settings.pelvis, [leg.foot for leg in settings.legs], len(settings.contacts)

    def slow(*_):
        """As long as it is there each frame is visited."""
        time.sleep(0.05)

    bpy.app.handlers.frame_change_post.append(slow)
    with harness.view3d():
        bpy.ops.foot_ik.detect_legs("INVOKE_DEFAULT")
    yield 0.7
    assert sys.modules[f"{MODULE}.ui.operators"].share_done() is not None
    addon_utils.disable(MODULE)
    bpy.app.handlers.frame_change_post.remove(slow)
    yield 0.5
    assert scene.frame_current == FRAMES[0] and poses() == raw
    addon_utils.enable(MODULE)
    yield 0.5
    settings = rig().foot_ik
    assert before == (settings.plan, settings.pelvis, [leg.foot for leg in settings.legs], len(settings.contacts))
    assert settings.enabled and poses() == live


harness.run(test_two_windows_show_one_pose, test_two_windows_show_one_pose_of_what_has_no_keys,
            test_a_window_with_another_scene, test_local_view_changes_nothing, test_playback_that_drops_frames,
            test_keys_made_while_live_hold_the_animation, test_a_render_cancelled_with_esc,
            test_disabled_while_it_detects, test_saved_while_live_and_opened_without_the_add_on)
