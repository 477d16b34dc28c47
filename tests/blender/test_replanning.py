"""Plans that follow edits; the pause and the drag are tried in a real window, by tests/gui/test_three_buttons.py."""
import bmesh
import bpy
import pytest
from blender import scenes


@pytest.fixture
def replan(addon):
    module = addon("ui.replanning")
    module._tried.clear()
    return lambda: module.replan(bpy.context.scene, scenes.rig())


def live(ground="slope"):
    ob = scenes.walker(ground)
    ob.foot_ik.enabled = True
    return ob


def heels(ob):
    return scenes.shown_over(ob, (5, 20, 33))


def raised():
    bpy.data.objects["Ground"].location.z += 0.05


def faster():
    for curve in scenes.bag(scenes.rig()).fcurves:
        for point in curve.keyframe_points:
            point.co.x = 1 + (point.co.x - 1) * 0.8


def steep():
    scenes.rig().foot_ik.max_pitch = 0.01


@pytest.mark.parametrize("edit", (raised, faster, steep))
def test_an_edit_is_followed(replan, edit):
    """As by pressing Plan."""
    ob = live()
    edit()
    assert replan()
    followed = heels(ob)
    assert ob.foot_ik.enabled
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    assert scenes.gaps(followed, heels(ob)).max() < 1e-6


def test_what_has_not_changed_is_left_alone(replan):
    ob = live()
    before = ob.foot_ik.plan
    scenes.visit(20)
    assert not replan() and ob.foot_ik.plan == before


def test_an_edit_is_followed_again_after_undo_and_redo(replan):
    bpy.ops.ed.undo_push(message="before")
    live()
    bpy.ops.ed.undo_push(message="live")
    raised()
    bpy.ops.ed.undo_push(message="raised")
    assert replan()
    bpy.ops.ed.undo()
    replan()
    bpy.ops.ed.redo()
    assert replan()


def test_a_rig_in_two_scenes_is_not_planned_for_ever(addon):
    module, ob, here = addon("ui.replanning"), live(), bpy.context.scene
    module._tried.clear()
    other = bpy.data.scenes.new("Other")
    other.collection.children.link(bpy.data.collections["Ground"])
    other.collection.objects.link(ob)
    other.frame_start, other.frame_end = 1, 30
    raised()
    rounds = [[module.replan(scene, ob) for scene in (here, other)] for _ in range(3)]
    assert rounds[0][0] and not any(rounds[2])


def constrained(ob):
    ob.pose.bones["foot.L"].constraints.new("LIMIT_ROTATION")


def long(ob):
    bpy.context.scene.frame_end = 1000


def nothing_to_stand_on(ob):
    bpy.data.objects["Ground"].hide_viewport = True


def sculpted(ob):
    """As a stroke leaves a ground of many faces."""
    mesh, many = bpy.data.objects["Ground"].data, bmesh.new()
    bmesh.ops.create_grid(many, x_segments=320, y_segments=320, size=4.0)
    many.to_mesh(mesh)
    mesh.update()


@pytest.mark.parametrize("change", (constrained, long, nothing_to_stand_on, sculpted))
def test_what_would_take_long_or_is_refused_is_left_to_the_button(replan, addon, change):
    ob = live()
    raised()
    change(ob)
    before = ob.foot_ik.plan, ob.foot_ik.footprints, ob.foot_ik.report
    assert not replan()
    assert (ob.foot_ik.plan, ob.foot_ik.footprints, ob.foot_ik.report) == before
    assert addon("blender.planning").plan_state(bpy.context.scene, ob) == "STALE"
    assert not replan()


def test_nothing_is_planned_again_without_a_window(addon):
    module = addon("ui.replanning")
    live()
    raised()
    bpy.context.view_layer.update()
    assert not bpy.app.timers.is_registered(module.after_pause)


def test_a_pause_begins_anew_with_each_edit(addon, monkeypatch):
    module = addon("ui.replanning")
    ob = live()
    raised()
    before, now = ob.foot_ik.plan, 100.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    monkeypatch.setattr(module, "_last", now - module.PAUSE / 4)
    assert module.after_pause() == pytest.approx(module.PAUSE * 3 / 4)
    assert ob.foot_ik.plan == before
