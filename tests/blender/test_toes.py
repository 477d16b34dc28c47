"""Toes that bend so that a foot lies flat on tilted ground: live, baked, taken back, and only where they may be
written."""
from math import radians

import bpy
import numpy as np
import pytest
from blender import scenes
from mathutils import Matrix

FRAMES = range(2, scenes.LAST, 3)  # 23 among them, where `swaying` leans most
TOES = ("toe.L", "toe.R")
LEFT, RIGHT = 0, 1
BENT = radians(3.0)
"""What the toes of `swaying` bend by at least."""
ANIMATED = 1e-6  # of a rotation's columns: a channel that is written as animated
SAME_PLACE, SAME_TURN = 1e-5, 1e-5  # metres, from the contract; radians
MODES = ("QUATERNION", "AXIS_ANGLE", "XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")


def swaying(ob):
    """It stands on the slope and leans forward by 4 degrees and back, over the balls of its feet: heels up, toes
    flat."""
    ob.animation_data_clear()
    for bone in ob.pose.bones:
        bone.matrix_basis = Matrix()
    ob.location.y = -1.0
    ball = Matrix.Translation(ob.data.bones["toe.L"].head_local)
    for frame, angle in ((1, 0.0), (23, 4.0), (scenes.LAST, 0.0)):
        lean = ball @ Matrix.Rotation(radians(angle), 4, "X") @ ball.inverted()
        for name, turn in (("root", lean), *((toe, Matrix()) for toe in TOES)):
            bone = ob.pose.bones[name]
            bone.matrix = turn @ bone.bone.matrix_local
            bpy.context.view_layer.update()
            bone.keyframe_insert("rotation_quaternion", frame=frame)
            if name == "root":
                bone.keyframe_insert("location", frame=frame)


def toe_channels(ob):
    """(frames, 2, 3, 3): what the channels of the toes hold over frames, as rotations."""
    out = []
    for frame in FRAMES:
        scenes.visit(frame)
        out.append([ob.pose.bones[name].matrix_basis.to_3x3() for name in TOES])
    return np.array(out)


def bent(channels, animated):
    """(2,): the most that each toe is turned in its own channels, in radians."""
    return 2 * np.arcsin(np.linalg.norm(channels - animated, axis=(2, 3)).max(0) / np.sqrt(8))


def live_toes(ob):
    """What the toes' channels hold live, and as animated."""
    animated = toe_channels(ob)
    ob.foot_ik.enabled = True
    live = toe_channels(ob)
    ob.foot_ik.enabled = False
    return live, animated


def bake(**options):
    assert bpy.ops.foot_ik.bake(**options) == {"FINISHED"}


def baked_bones(ob):
    """The bones that have keys in the action of a bake onto the NLA."""
    return {path.split('"')[1] for path, _ in scenes.curves(ob.foot_ik.baked)}


# Live

def test_toes_bend_on_a_slope_and_are_given_back_when_live_is_off():
    ob = scenes.walker("slope", prepare=swaying)
    before = {}
    for frame in (1, 23):
        scenes.visit(frame)
        before[frame] = scenes.channels(ob)
    live, animated = live_toes(ob)
    assert (bent(live, animated) > BENT).all()
    for frame in (1, 23):
        scenes.visit(frame)
        assert scenes.channels(ob) == before[frame]


def without_toe_keys(ob):
    swaying(ob)
    scenes.remove_curves(ob, lambda path, _: "toe" not in path)
    ob.pose.bones["toe.L"].rotation_quaternion = (0.998, -0.063, 0.0, 0.0)


def test_toes_without_keys_do_not_feed_on_themselves():
    ob = scenes.walker("slope", prepare=without_toe_keys)
    kept = tuple(ob.pose.bones["toe.L"].rotation_quaternion)
    ob.foot_ik.enabled = True
    first = scenes.shown(ob, 23)
    for frame in (20, 23, 23, 40, 23):
        scenes.visit(frame)
    np.testing.assert_allclose(scenes.shown(ob), first, atol=1e-6)
    assert tuple(ob.pose.bones["toe.L"].rotation_quaternion) != kept
    ob.foot_ik.enabled = False
    assert tuple(ob.pose.bones["toe.L"].rotation_quaternion) == kept


def test_heels_do_not_slide_live_while_they_rise_on_the_slope():
    """Under the heels, 60 mm behind the ankles' shadows: with the toes' help by under a millimetre. As animated they
    rise by 14 mm, which would carry them 2.7 mm along the slope."""
    ob = scenes.walker("slope", prepare=swaying)
    under = {name: ob.data.bones[name].matrix_local.inverted() @ Matrix.Translation((x, 0.06, 0.0)).translation
             for name, x in (("foot.L", 0.095), ("foot.R", -0.095))}

    def heels():
        poses = []
        for frame in FRAMES:
            scenes.visit(frame)
            bones = ob.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
            poses.append([bones[name].matrix @ point for name, point in under.items()])
        return np.array(poses)

    assert np.ptp(heels()[..., 2], axis=0).min() > 0.012
    ob.foot_ik.enabled = True
    assert np.ptp(heels()[..., 1], axis=0).max() < 0.001


# Toes that may not be written

def constrained(ob):
    swaying(ob)
    ob.pose.bones["toe.L"].constraints.new("LIMIT_ROTATION")


def constrained_below(ob):
    """What hangs on the toe is held by a constraint, which may pull at the toe."""
    swaying(ob)
    bpy.context.view_layer.objects.active = ob
    bpy.ops.object.mode_set(mode="EDIT")
    toe, tip = ob.data.edit_bones["toe.L"], ob.data.edit_bones.new("tip.L")
    tip.parent, tip.head, tip.tail = toe, toe.tail, toe.tail + (toe.tail - toe.head)
    bpy.ops.object.mode_set(mode="OBJECT")
    ob.pose.bones["tip.L"].constraints.new("LIMIT_ROTATION")


def driven(ob):
    swaying(ob)
    scenes.remove_curves(ob, lambda path, index: not ("toe.L" in path and index == 1))
    ob.pose.bones["toe.L"].driver_add("rotation_quaternion", 1).driver.expression = "-0.02"


def off_the_foot(ob):
    """The toe hangs on the shin, beside the foot."""
    swaying(ob)
    bpy.context.view_layer.objects.active = ob
    bpy.ops.object.mode_set(mode="EDIT")
    toe = ob.data.edit_bones["toe.L"]
    toe.use_connect, toe.parent = False, ob.data.edit_bones["shin.L"]
    bpy.ops.object.mode_set(mode="OBJECT")


@pytest.mark.parametrize("prepare", (constrained, constrained_below, driven, off_the_foot), ids=lambda f: f.__name__)
def test_toes_that_something_else_moves_are_not_written_and_the_rig_is_not_refused(prepare):
    ob = scenes.walker("slope", prepare=prepare)
    ob.foot_ik.legs[LEFT].toe = "toe.L"
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    live, animated = live_toes(ob)
    turns = bent(live, animated)
    assert turns[LEFT] < ANIMATED and turns[RIGHT] > BENT
    ob.foot_ik.enabled = True
    poses = scenes.shown_over(ob, FRAMES)
    bake(target="NLA")
    assert "toe.L" not in baked_bones(ob) and "toe.R" in baked_bones(ob)
    baked = scenes.shown_over(ob, FRAMES)
    assert scenes.gaps(baked, poses).max() < SAME_PLACE
    assert scenes.angles(baked, poses).max() < SAME_TURN


def test_a_toe_whose_constraint_is_muted_bends():
    ob = scenes.walker("slope", prepare=constrained)
    ob.pose.bones["toe.L"].constraints[0].mute = True
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    live, animated = live_toes(ob)
    assert (bent(live, animated) > BENT).all()


def test_legs_without_toe_bones_are_corrected():
    ob = scenes.walker("slope", prepare=swaying)
    for leg in ob.foot_ik.legs:
        leg.toe = ""
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    raw = scenes.shown_over(ob, FRAMES)
    live, animated = live_toes(ob)
    assert (bent(live, animated) < ANIMATED).all()
    ob.foot_ik.enabled = True
    poses = scenes.shown_over(ob, FRAMES)
    assert scenes.gaps(poses, raw).max() > 0.01
    bake(target="NLA")
    assert not baked_bones(ob) & set(TOES)
    assert scenes.gaps(scenes.shown_over(ob, FRAMES), poses).max() < SAME_PLACE


# Baked

def modes(mode):
    def prepare(ob):
        for name in TOES:
            ob.pose.bones[name].rotation_mode = mode
        swaying_in_mode(ob)
    prepare.__name__ = mode
    return prepare


def swaying_in_mode(ob):
    """`swaying`, with the keys of the toes in their own mode."""
    swaying(ob)
    for frame in (1, 23, scenes.LAST):
        scenes.visit(frame)
        for name in TOES:
            bone = ob.pose.bones[name]
            bone.matrix = bone.bone.matrix_local
            bpy.context.view_layer.update()
            path = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
            bone.keyframe_insert(path.get(bone.rotation_mode, "rotation_euler"), frame=frame)


PREPARED = {mode: modes(mode) for mode in MODES}


@pytest.mark.parametrize("mode", MODES)
def test_bent_toes_play_baked_as_they_did_live(mode):
    ob = scenes.walker("slope", prepare=PREPARED[mode])
    live, animated = live_toes(ob)
    assert (bent(live, animated) > BENT).all()
    ob.foot_ik.enabled = True
    poses = scenes.shown_over(ob, FRAMES)
    bake()
    baked = scenes.shown_over(ob, FRAMES)
    assert scenes.gaps(baked, poses).max() < SAME_PLACE
    assert scenes.angles(baked, poses).max() < SAME_TURN
    assert all(ob.pose.bones[name].rotation_mode == mode for name in TOES)


def test_toes_that_never_bend_get_no_keys():
    ob = scenes.walker("flat", prepare=swaying)
    live, animated = live_toes(ob)
    assert (bent(live, animated) < ANIMATED).all()
    bake(target="NLA")
    assert "foot.L" in baked_bones(ob) and not baked_bones(ob) & set(TOES)


def test_of_two_toes_the_one_that_bends_gets_keys():
    """The left foot turns by half, the right one not at all."""
    ob = scenes.walker("slope", prepare=swaying)
    ob.foot_ik.legs[LEFT].rotation_weight, ob.foot_ik.legs[RIGHT].rotation_weight = 0.5, 0.0
    live, animated = live_toes(ob)
    turns = bent(live, animated)
    assert turns[LEFT] > BENT / 2 and turns[RIGHT] < ANIMATED
    bake(target="NLA")
    assert baked_bones(ob) & set(TOES) == {"toe.L"}
