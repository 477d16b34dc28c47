"""Rigs that are not a plain biped, each through detect, plan, live, bake and clear: feet that stand hold and do not cut
the ground, or what cannot be done is refused in one sentence.
"""
from dataclasses import replace
from math import radians

import bpy
import numpy as np
import pytest
from blender import creatures, fuzzing, scenes
from blender.creatures import Body, Expression, Gait, Motion
from mathutils import Matrix, Vector

LAST = 30
SEEN = (22, 3, 14)
WALK = Gait(turn=0.2)


def case_of(body=Body(), ground="stairs", gait=WALK, expression=Expression()):  # noqa: B008  (all frozen)
    return fuzzing.Case(0, Motion(body, gait), expression, Matrix(), LAST, 30.0, (), ground, "SCENE", {}, {})


def built(case, prepare=lambda ob: None):
    ob = creatures.build(case.motion, case.expression, LAST)
    ground = creatures.ground(case.ground)
    prepare(ob)
    bpy.context.view_layer.update()
    return ob, ground


def assert_stands(case, ob, ground, feet):
    """Everything works, and the feet that stand hold: `feet` are the foot bones that are found."""
    frames = range(1, LAST + 1)
    before = scenes.everything()
    raw = fuzzing.measured(case, ob, ground, frames)
    assert raw.cut > 0.02
    scenes.visit(1)
    assert bpy.ops.foot_ik.detect_legs() == {"FINISHED"}
    assert [leg.foot for leg in ob.foot_ik.legs] == feet
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    fuzzing.look_live(ob, list(SEEN), 1.0)
    ob.foot_ik.enabled = True
    fuzzing.judge(case, raw, fuzzing.measured(case, ob, ground, frames))
    live = scenes.shown_over(ob, SEEN)
    scenes.visit(1)
    assert bpy.ops.foot_ik.bake() == {"FINISHED"}
    assert scenes.gaps(scenes.shown_over(ob, SEEN), live).max() < fuzzing.SAME
    assert bpy.ops.foot_ik.clear() == {"FINISHED"}
    data = ob.animation_data
    baked, data.action = data.action, bpy.data.actions[next(iter(before["actions"]))]
    if hasattr(data, "action_slot"):
        data.action_slot = data.action.slots[0]
    data.action.use_fake_user = False
    bpy.data.actions.remove(baked)
    scenes.visit(1)
    assert scenes.differences(before, scenes.everything()) == []


def feet(*prefixes, sides="LR"):
    return [f"{prefix}foot.{side}" for prefix in prefixes or ("",) for side in sides]


BODIES = {
    "straight knees at rest": (Body(rest=1.0), feet()),
    "no toes": (Body(toe=0.0), feet()),
    "three more toes": (Body(digits=3), feet()),
    "high heels": (Body(ankle=0.17, foot=0.1, toe=0.06), feet()),
    "split bones": (Body(split=2), feet()),
    "long shins": (Body(thigh=0.35), feet()),
    "one leg": (Body(sides="L"), feet(sides="L")),
    "four legs": (Body(rows=fuzzing.ROWS[1]), feet("front_", "hind_")),
    "six legs": (Body(rows=fuzzing.ROWS[2]), feet("front_", "middle_", "hind_")),
    "eight legs": (Body(rows=fuzzing.ROWS[3]), feet("leg1_", "leg2_", "leg3_", "leg4_")),
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies(name):
    body, found = BODIES[name]
    case = case_of(body, "uneven" if len(body.rows) > 1 else "stairs")
    assert_stands(case, *built(case), found)


def makehuman(name):
    for part, word in (("thigh_", "upperleg0"), ("shin_", "lowerleg0")):
        name = name.replace(part, word)
    return name


def with_bones(*bones):
    """Adds bones (name, parent, share of the parent at which the head lies, way to the tail) to both sides."""
    def add(ob):
        bpy.ops.object.mode_set(mode="EDIT")
        edit = ob.data.edit_bones
        for name, parent, share, way in bones:
            for side in "LR":
                new, above = edit.new(f"{name}.{side}"), edit[f"{parent}.{side}"]
                new.parent, new.head = above, above.head.lerp(above.tail, share)
                new.tail = new.head + Vector(way)
        bpy.ops.object.mode_set(mode="OBJECT")

    return add


def hidden_collections(ob):
    collection = ob.data.collections.new("Legs")
    for bone in ob.data.bones:
        collection.assign(bone)
    collection.is_visible = False


RIGS = {
    "makehuman's split bones": (Body(split=2), Expression(rename=makehuman), None),
    "twist bones beside": (Body(), Expression(), with_bones(("thigh_twist", "thigh", 0.5, (0, 0, -0.1)),
                                                            ("shin_twist", "shin", 0.5, (0, 0, -0.1)))),
    "legs that carry more": (Body(), Expression(), with_bones(("holster", "thigh", 0.3, (0.1, 0, 0)),
                                                              ("spur", "foot", 0.0, (0, 0.1, 0)),
                                                              ("lace", "toe", 1.0, (0, 0, 0.05)))),
    "hidden bones": (Body(), Expression(hide=True), None),
    "hidden bone collections": (Body(), Expression(), hidden_collections),
}


@pytest.mark.parametrize("name", RIGS)
def test_rigs(name):
    body, expression, prepare = RIGS[name]
    case = case_of(body, expression=expression)
    assert_stands(case, *built(case, prepare or (lambda ob: None)), feet())


def test_what_hangs_on_a_leg_follows():
    case = case_of()
    ob, _ = built(case, with_bones(("spur", "foot", 0.0, (0, 0.1, 0))))
    bpy.ops.foot_ik.detect_legs()
    bpy.ops.foot_ik.plan()
    ob.foot_ik.enabled = True
    index = {b.name: i for i, b in enumerate(ob.pose.bones)}
    rest = np.array(ob.data.bones["foot.L"].matrix_local.inverted() @ ob.data.bones["spur.L"].matrix_local)
    for frame in SEEN:
        pose = scenes.shown(ob, frame)
        assert np.abs(pose[index["foot.L"]] @ rest - pose[index["spur.L"]]).max() < 1e-5


def test_a_toe_at_the_ankle_is_no_direction():
    """A foot of no length points where the character faces."""
    case = case_of()
    ob, ground = built(case, with_bones(("stub", "foot", 0.0, (0, -0.05, 0))))
    bpy.ops.foot_ik.detect_legs()
    for leg in ob.foot_ik.legs:
        leg.toe = leg.foot.replace("foot", "stub")
    bpy.ops.foot_ik.plan()
    ob.foot_ik.enabled = True
    after = fuzzing.measured(case, ob, ground, range(1, LAST + 1))
    assert after.cut < 0.01 and after.slip < 0.01


@pytest.mark.parametrize("split", ("thigh_2.L", "shin_2.R"))
def test_a_split_bone_that_does_not_turn_is_refused(split):
    ob, _ = built(case_of(Body(split=2)))
    bpy.ops.foot_ik.detect_legs()
    ob.data.bones[split].use_inherit_rotation = False
    before = scenes.everything()
    with pytest.raises(RuntimeError, match="Inherit Rotation"):
        bpy.ops.foot_ik.plan()
    assert scenes.differences(before, scenes.everything()) == []


@pytest.mark.parametrize("shared", ("armature", "action", "both"))
def test_rigs_that_share_data(shared):
    """Each is corrected by itself, and the bake of one does not touch the other."""
    case = case_of()
    one, ground = built(case)
    two = one.copy()
    if shared == "action":
        two.data = two.data.copy()
    if shared == "armature":
        two.animation_data.action = two.animation_data.action.copy()
        if hasattr(two.animation_data, "action_slot"):
            two.animation_data.action_slot = two.animation_data.action.slots[0]
    bpy.context.scene.collection.objects.link(two)
    two.location.x = 1.5
    two.scale = (1.3, 1.3, 1.3)
    second = replace(case, stage=Matrix.Translation((1.5, 0, 0)) @ Matrix.Scale(1.3, 4))
    for ob in (one, two):
        bpy.context.view_layer.objects.active = ob
        bpy.ops.foot_ik.detect_legs()
        bpy.ops.foot_ik.plan()
        ob.foot_ik.enabled = True
    frames = range(1, LAST + 1)
    for here, ob in ((case, one), (second, two)):
        assert fuzzing.measured(here, ob, ground, frames).cut < fuzzing.CUT
    live = {ob: scenes.shown_over(ob, SEEN) for ob in (one, two)}
    bpy.context.view_layer.objects.active = one
    bpy.ops.foot_ik.bake()
    assert one.animation_data.action != two.animation_data.action
    for ob in (one, two):
        assert scenes.gaps(scenes.shown_over(ob, SEEN), live[ob]).max() < fuzzing.SAME


def test_a_rig_that_grows():
    """Its soles stay on the ground, whatever the size."""
    case = case_of(gait=Gait(speed=0.0, duty=1.0), ground="uneven")
    ob, ground = built(case)
    for frame, size in ((1, 1.0), (LAST, 1.5)):
        ob.scale = (size, size, size)
        ob.keyframe_insert("scale", frame=frame)
    bpy.ops.foot_ik.detect_legs()
    bpy.ops.foot_ik.plan()
    ob.foot_ik.enabled = True
    assert fuzzing.measured(case, ob, ground, range(1, LAST + 1)).cut < 5e-3
    live = scenes.shown_over(ob, SEEN)
    bpy.ops.foot_ik.bake()
    assert scenes.gaps(scenes.shown_over(ob, SEEN), live).max() < fuzzing.SAME


@pytest.mark.parametrize("scale", ((1.0, 1.2, 1.0), (-1.0, 1.0, 1.0)), ids=("uneven", "mirrored"))
def test_legs_below_a_bone_that_is_scaled_unevenly_or_mirrored(scale):
    def prepare(ob):
        ob.pose.bones["root"].scale = scale

    case = case_of()
    assert_stands(case, *built(case, prepare), feet())


def test_drivers_on_channels_that_are_not_corrected_do_no_harm():
    """Scales, and angles that the rotation mode does not use; scales are corrected where a leg may stretch."""
    ob, _ = built(case_of())
    for path in ("scale", "rotation_euler"):
        ob.pose.bones["thigh.L"].driver_add(path, 1).driver.expression = "1.0"
    bpy.ops.foot_ik.detect_legs()
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    ob.foot_ik.legs[0].reach = "STRETCH"
    with pytest.raises(RuntimeError, match=r"thigh\.L is moved by a driver"):
        bpy.ops.foot_ik.plan()


def test_fixed_shear_below_a_bone_that_is_scaled_unevenly_is_refused():
    ob, _ = built(case_of())
    bpy.ops.foot_ik.detect_legs()
    ob.pose.bones["hips"].scale = (1.0, 1.2, 1.0)
    ob.data.bones["shin.L"].inherit_scale = "FIX_SHEAR"
    with pytest.raises(RuntimeError, match=r"shin\.L .* Full or Aligned"):
        bpy.ops.foot_ik.plan()


def test_a_foot_turned_on_its_side_at_rest():
    """Rest poses lie: the sole is found in the clip."""
    case = case_of(expression=Expression(rolls=(radians(90),), tails=(0.05, 0.0, 0.0)))
    assert_stands(case, *built(case), feet())


def shrink(ob, name, axes=(0.0, 0.0, 0.0)):
    """Scale a bone down from frame 10 to 20."""
    bone = ob.pose.bones[name]
    for frame, scale in ((10, (1.0, 1.0, 1.0)), (20, axes)):
        bone.scale = scale
        bone.keyframe_insert("scale", frame=frame)
    scenes.visit(1)


@pytest.mark.parametrize("axes", ((0.0, 0.0, 0.0), (1.0, 0.0, 1.0)), ids=("all", "flat"))
@pytest.mark.parametrize("name", ("foot.L", "toe.R"))
def test_a_foot_that_is_scaled_to_nothing_is_refused(name, axes):
    ob, _ = built(case_of())
    bpy.ops.foot_ik.detect_legs()
    shrink(ob, name, axes)
    before = scenes.everything()
    with pytest.raises(RuntimeError, match=f"{name} is scaled to nothing in frame 20"):
        bpy.ops.foot_ik.plan()
    assert scenes.differences(before, scenes.everything()) == []


def test_a_pelvis_that_is_scaled_to_nothing():
    """The body vanishes: nothing fails, and what is shown is finite."""
    ob, _ = built(case_of())
    bpy.ops.foot_ik.detect_legs()
    bpy.ops.foot_ik.plan()
    ob.foot_ik.enabled = True
    shrink(ob, "hips")
    for frame in (5, 15, 20, 25):
        assert np.isfinite(scenes.shown(ob, frame)).all()
    shrink(ob, "thigh.L", (1.0, 0.0, 1.0))
    for frame in (5, 15, 20, 25):
        assert np.isfinite(scenes.shown(ob, frame)).all()
