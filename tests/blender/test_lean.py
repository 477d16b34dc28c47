"""The lean: the whole body turns about the pelvis and the feet stay; live as in the bake, and without a trace at 0."""
import bpy
import numpy as np
import pytest
from blender import scenes

FRAMES = range(1, scenes.LAST + 1)
MODES = ("QUATERNION", "AXIS_ANGLE", "XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
SLOPE = np.radians(12)
UNMOVED = 1e-4  # metres: 0.1 mm
BAKED = 1e-5  # metres and radians: 0.01 mm, from the contract
UNTOUCHED = 2e-6  # metres and radians: what a pose loses on its way through matrices of floats


def all_slope(_rig):
    """A slope from the first step on."""
    for vertex in bpy.data.objects["Ground"].data.vertices:
        vertex.co.z = -(vertex.co.y + 0.2) * np.tan(SLOPE)


@pytest.fixture
def ob():
    ob = scenes.walker("slope", prepare=all_slope)
    ob.foot_ik.enabled = True
    return ob


def bones(ob, *names):
    return [ob.pose.bones.find(name) for name in names]


def keyed(ob):
    """{bone: channels} that the active action has and that of the fixture has not, or not like that."""
    before, after = (scenes.action_state(a) for a in (bpy.data.actions[ob.animation_data.action.name.removesuffix(
        " Foot IK")], ob.animation_data.action))
    return {tuple(key[0].split('"')[1:]) for key in after if key != "slots" and before.get(key) != after[key]}


def test_the_body_leans_uphill_by_the_angle_and_the_feet_stay(ob):
    upright = scenes.shown_over(ob, FRAMES)
    ob.foot_ik.lean = 1.0
    leaning = scenes.shown_over(ob, FRAMES)
    hips, chest, head, hand = bones(ob, "hips", "chest", "head", "hand.L")
    for bone in (hips, chest, head, hand):
        assert np.abs(scenes.angles(leaning, upright)[:, bone] - SLOPE).max() < 0.01 * SLOPE
    assert (leaning[:, head, 1, 3] < upright[:, head, 1, 3] - 0.05).all(), "it walks along -y, and up"
    for side in "LR":
        for part in ("foot", "toe"):
            (bone,) = bones(ob, f"{part}.{side}")
            assert scenes.gaps(leaning, upright)[:, bone].max() < UNMOVED
            assert scenes.angles(leaning, upright)[:, bone].max() < 1e-3
    assert scenes.gaps(leaning, upright)[:, bones(ob, "thigh.L", "thigh.R")].max() > 0.003, "the hips go along"


def test_half_the_lean_or_half_the_influence_leans_half(ob):
    (chest,) = bones(ob, "chest")
    upright = scenes.shown(ob, 25)
    for lean, influence in ((0.5, 1.0), (1.0, 0.5)):
        ob.foot_ik.lean, ob.foot_ik.influence = lean, influence
        at_once = scenes.shown(ob)
        assert scenes.angles(at_once, upright)[chest] == pytest.approx(0.5 * SLOPE, rel=0.01)
        assert np.allclose(scenes.shown(ob, 25), at_once, atol=UNTOUCHED)


@pytest.mark.parametrize("mode", MODES)
def test_the_bake_leans_as_live_in_every_rotation_mode(mode):
    ob = scenes.walker("slope")
    ob.pose.bones["hips"].rotation_mode = mode
    ob.foot_ik.lean, ob.foot_ik.enabled = 1.0, True
    live = scenes.shown_over(ob, FRAMES)
    assert np.allclose(scenes.shown_over(ob, (30, 2, 17, 17)), live[[29, 1, 16, 16]], atol=UNTOUCHED), "by frame alone"
    assert bpy.ops.foot_ik.bake() == {"FINISHED"}
    assert ob.pose.bones["hips"].rotation_mode == mode
    baked = scenes.shown_over(ob, FRAMES)
    assert scenes.gaps(baked, live).max() < BAKED and scenes.angles(baked, live).max() < BAKED


def test_frames_beyond_the_plan_lean_by_the_tilt_under_the_feet(ob):
    """Each by itself, live as in the bake."""
    ob.foot_ik.lean = 1.0
    frames = (scenes.LAST - 1, scenes.LAST, scenes.LAST + 1, scenes.LAST + 2)
    live = scenes.shown_over(ob, frames)
    assert scenes.angles(live[2], live[1])[bones(ob, "chest")].max() < 0.1
    assert bpy.ops.foot_ik.bake(frame_start=frames[0], frame_end=frames[-1]) == {"FINISHED"}
    assert scenes.gaps(scenes.shown_over(ob, frames), live).max() < BAKED


def test_a_keyed_lean_fades_live_and_in_the_bake(ob):
    upright = scenes.shown_over(ob, FRAMES)
    for frame, value in ((10, 0.0), (40, 1.0)):
        ob.foot_ik.lean = value
        ob.foot_ik.keyframe_insert("lean", frame=frame)
    faded = scenes.shown_over(ob, FRAMES)
    (chest,) = bones(ob, "chest")
    turned = scenes.angles(faded, upright)[:, chest]
    assert turned[:10].max() < 1e-5 and turned[39:].min() > 0.99 * SLOPE and np.diff(turned[10:38]).min() > 0
    assert bpy.ops.foot_ik.bake() == {"FINISHED"}
    assert scenes.gaps(scenes.shown_over(ob, FRAMES), faded).max() < BAKED


def test_the_pelvis_is_turned_only_by_a_lean(ob):
    """Live its rotation channels hold the animated values, to the bit; the bake keys them for a lean alone."""
    animated = {}
    ob.foot_ik.enabled = False
    for frame in (5, 25):
        scenes.visit(frame)
        animated[frame] = scenes.channels(ob)["hips"]
    ob.foot_ik.enabled = True
    for frame in (5, 25):
        scenes.visit(frame)
        place = slice(1, 4)
        now, was = list(scenes.channels(ob)["hips"]), list(animated[frame])
        assert now[place] != was[place]
        now[place] = was[place] = ()
        assert now == was
    assert bpy.ops.foot_ik.bake() == {"FINISHED"}
    assert {c for bone, c in keyed(ob) if bone == "hips"} == {"].location"}


def test_a_lean_on_level_ground_keys_no_rotation_of_the_pelvis():
    ob = scenes.walker("flat")
    ob.foot_ik.lean = 1.0
    assert bpy.ops.foot_ik.bake() == {"FINISHED"}
    assert {c for bone, c in keyed(ob) if bone == "hips"} == {"].location"}


def test_turning_it_off_leaves_no_trace_of_a_lean(ob):
    ob.foot_ik.enabled = False
    before = {frame: (scenes.visit(frame), scenes.channels(ob))[1] for frame in (5, 25)}
    ob.foot_ik.lean = 1.0
    for frame in (5, 25):
        scenes.visit(frame)
        ob.foot_ik.enabled = True
        assert scenes.channels(ob)["hips"] != before[frame]["hips"]
        ob.foot_ik.enabled = False
        assert scenes.channels(ob) == before[frame]


def test_the_body_stays_upright_on_a_deck_that_tilts():
    ob = scenes.walker("deck")
    ob.foot_ik.enabled = True
    upright = scenes.shown_over(ob, FRAMES)
    ob.foot_ik.lean = 1.0
    assert np.allclose(scenes.shown_over(ob, FRAMES), upright, atol=UNTOUCHED)


def test_bones_that_do_not_turn_with_the_pelvis_are_named():
    """A leg whose thigh does not inherit rotation would not hang on a pelvis that turns."""
    ob = scenes.walker("slope")
    ob.data.bones["thigh.R"].use_inherit_rotation = False
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    ob.foot_ik.lean = 1.0
    with pytest.raises(RuntimeError, match="thigh.R does not inherit the rotation.*set Lean to 0"):
        bpy.ops.foot_ik.bake()


def test_a_copied_and_a_saved_character_leans_on(ob, tmp_path):
    ob.foot_ik.lean = 1.0
    live = scenes.shown_over(ob, FRAMES)
    scenes.save(tmp_path / "lean.blend")
    scenes.load(tmp_path / "lean.blend")
    assert scenes.gaps(scenes.shown_over(scenes.rig(), FRAMES), live).max() < UNTOUCHED
