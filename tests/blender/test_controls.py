"""Legs that controls move: their feet go where those of a rig of plain bones go, through the controls alone."""
import bpy
import numpy as np
import pytest
from blender import control_rigs, scenes
from blender.test_render import NEAR as NEAR_IN_PICTURES
from blender.test_render import dress, places, rendered

FRAMES = range(1, scenes.LAST + 1, 3)
FEET = [f"{part}.{side}" for side in "LR" for part in ("foot", "toe")]
NEAR, NEAR_IN_ANOTHER_CLIP = 0.0002, 0.003
"""Metres. Blender's IK solver iterates; and where a rig cannot show the same clip, its plan is another too: Rigify's
legs stretch a little, and feet that point at their balls do not roll."""

WRITTEN = {  # builder: (what moves the body, what moves the left leg, what goes along)
    control_rigs.ik_rig: ("hips", ["target.L", "pole.L", "toe.L"], []),
    control_rigs.carried_ik_rig: ("hips", ["target.L", "pole.L", "toe.L"], []),
    control_rigs.floppy_ik_rig: ("hips", ["target.L", "pole.L", "foot.L", "toe.L"], []),
    control_rigs.copying_rig: ("c_root_master", ["c_foot.L", "c_pole.L", "toe.L"], []),
    control_rigs.pointing_rig: ("hips", ["control-toe.L", "kneeIK.L", "toe.L"], []),
    control_rigs.paw_rig: ("hips", ["c_paw.L"], []),
    control_rigs.rigify: ("torso", ["foot_ik.L", "toe_ik.L"], ["hand_ik.L", "hand_ik.R"]),
    control_rigs.rigify_with_poles: ("torso", ["foot_ik.L", "thigh_ik_target.L", "toe_ik.L"],
                                     ["hand_ik.L", "hand_ik.R"]),
    control_rigs.rigify_fk: ("torso", ["thigh_fk.L", "shin_fk.L", "foot_fk.L", "toe_fk.L"],
                             ["hand_ik.L", "hand_ik.R"]),
}
OTHER_CLIP = (control_rigs.pointing_rig, control_rigs.rigify, control_rigs.rigify_with_poles)
BUILDERS = pytest.mark.parametrize("builder", WRITTEN, ids=lambda builder: builder.__name__)
TWO = pytest.mark.parametrize("builder", (control_rigs.ik_rig, control_rigs.rigify), ids=lambda b: b.__name__)


def walker(builder):
    """The walker as a control rig, set up and planned."""
    return scenes.walker("slope", prepare=builder)


def heads(ob, names, frames=FRAMES):
    """(frames, names, 3): where bones are shown, of which Rigify calls its own DEF-."""
    at = [ob.pose.bones.find(name if name in ob.pose.bones else f"DEF-{name}") for name in names]
    return scenes.shown_over(ob, frames)[:, at][..., :3, 3]


@BUILDERS
def test_the_controls_are_found(addon, builder):
    rig = addon("blender.rig").read_rig(walker(builder))
    body, left, others = WRITTEN[builder]
    assert rig.body == body
    assert [h.bone for h in rig.legs[0].handles] == left
    assert [h.bone for h in rig.legs[1].handles] == [name[:-1] + "R" for name in left]
    assert sorted(h.bone for h in rig.others) == others


@pytest.mark.parametrize("builder", [b for b in WRITTEN if b != control_rigs.paw_rig], ids=lambda b: b.__name__)
def test_the_feet_go_where_those_of_a_plain_rig_go(builder):
    plain = scenes.walker("slope")
    plain.foot_ik.enabled = True
    want = heads(plain, FEET)
    ob = walker(builder)
    raw = heads(ob, FEET)
    ob.foot_ik.enabled = True
    away = np.linalg.norm(heads(ob, FEET) - want, axis=-1).max()
    assert away < (NEAR_IN_ANOTHER_CLIP if builder in OTHER_CLIP else NEAR)
    assert np.linalg.norm(raw - want, axis=-1).max() > 0.2


def test_paws_stand_where_the_toes_of_a_plain_rig_stand_and_keep_their_claws():
    toes, claws = ([f"{part}.{side}" for side in "LR"] for part in ("toe", "claw"))
    plain = scenes.walker("slope")
    plain.foot_ik.enabled = True
    want = heads(plain, toes, range(1, scenes.LAST + 1))
    ob = walker(control_rigs.paw_rig)
    ob.foot_ik.enabled = True
    got, claw = (heads(ob, names, range(1, scenes.LAST + 1)) for names in (toes, claws))
    still = np.linalg.norm(np.diff(want, axis=0), axis=-1) < 1e-3
    assert still.sum() > 30 and np.linalg.norm(got - want, axis=-1)[1:][still].max() < NEAR_IN_ANOTHER_CLIP
    assert np.ptp(np.linalg.norm(claw - got, axis=-1)) < 1e-4


@TWO
def test_on_its_own_floor_nothing_moves(builder):
    ob = scenes.walker("flat", prepare=builder)
    for leg in ob.foot_ik.legs:
        leg.lock_weight = 0.0
    raw = scenes.shown_over(ob, FRAMES)
    ob.foot_ik.enabled = True
    assert scenes.gaps(scenes.shown_over(ob, FRAMES), raw).max() < 0.0005


@TWO
def test_same_frame_same_answer_in_any_order(builder):
    ob = walker(builder)
    ob.foot_ik.enabled = True
    frames = (7, 33, 12.25, 40)
    first = scenes.shown_over(ob, frames)
    again = scenes.shown_over(ob, (40, 40, 1, 12.25, 33, 33, 7))[[6, 5, 3, 1]]
    assert scenes.gaps(first, again).max() < 1e-6


@TWO
def test_finding_and_showing_leave_no_trace(builder):
    ob = scenes.walker("slope", ready=False, prepare=builder)
    scenes.visit(20)
    before, action = scenes.channels(ob), scenes.action_state(ob.animation_data.action)
    pose = scenes.shown(ob)
    assert bpy.ops.foot_ik.detect_legs() == {"FINISHED"}
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    assert scenes.channels(ob) == before
    ob.foot_ik.enabled = True
    for frame in (33, 20):
        scenes.visit(frame)
    assert scenes.channels(ob) != before
    assert bpy.ops.foot_ik.clear() == {"FINISHED"}
    assert scenes.channels(ob) == before and scenes.action_state(ob.animation_data.action) == action
    assert scenes.gaps(scenes.shown(ob), pose).max() == 0


@TWO
def test_the_bake_keys_the_controls_alone_and_plays_as_live(addon, builder):
    ob = walker(builder)
    ob.foot_ik.enabled = True
    live, old = scenes.shown_over(ob, FRAMES), ob.animation_data.action
    rig = addon("blender.rig").read_rig(ob)
    before = scenes.action_state(old)
    assert bpy.ops.foot_ik.bake() == {"FINISHED"}
    assert scenes.gaps(scenes.shown_over(ob, FRAMES), live).max() < 1e-5
    after = scenes.action_state(ob.animation_data.action)
    changed = {key[0].split('"')[1] for key in after if isinstance(key, tuple) and after[key] != before.get(key)}
    assert changed <= set(rig.written) and {rig.body, rig.legs[0].handles[0].bone} <= changed
    assert scenes.action_state(old) == before


def test_renders_show_what_the_bake_keys(tmp_path):
    ob = dress(walker(control_rigs.ik_rig))
    live = rendered(tmp_path / "live")
    assert bpy.ops.foot_ik.bake() == {"FINISHED"}
    baked = rendered(tmp_path / "baked")
    ob.animation_data.action = bpy.data.actions[ob.animation_data.action.name.removesuffix(" Foot IK")]
    raw = rendered(tmp_path / "raw")
    for frame in live:
        assert np.abs(live[frame] - baked[frame]).mean() < 1e-4
    last = max(live)
    assert np.linalg.norm(places(live[last])["foot.L"] - places(raw[last])["foot.L"]) > NEAR_IN_PICTURES


def test_a_file_saved_while_live_opens_as_animated(tmp_path):
    ob = walker(control_rigs.ik_rig)
    scenes.visit(20)
    before = scenes.channels(ob)
    ob.foot_ik.enabled = True
    scenes.visit(20)
    scenes.save(tmp_path / "saved.blend")
    with bpy.data.libraries.load(str(tmp_path / "saved.blend")) as (_, into):
        into.objects = [ob.name]
    assert scenes.channels(into.objects[0]) == before


def test_the_plan_does_not_depend_on_the_frame_that_is_shown():
    ob = walker(control_rigs.ik_rig)
    found = ob.foot_ik.controls
    scenes.visit(37)
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    assert ob.foot_ik.controls == found and bpy.context.scene.frame_current == 37


def test_the_switch_to_fk_is_respected_by_the_next_plan(addon):
    ob = walker(control_rigs.rigify)
    for side in "LR":
        ob.pose.bones[f"thigh_parent.{side}"]["IK_FK"] = 1.0
    ob.update_tag()
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    rig = addon("blender.rig").read_rig(ob)
    assert [h.bone for h in rig.legs[0].handles] == WRITTEN[control_rigs.rigify_fk][1]


def test_the_body_leans_and_the_feet_stay():
    ob = walker(control_rigs.rigify)
    ob.foot_ik.enabled = True
    feet, hand = heads(ob, FEET), heads(ob, ["hand.L"])
    ob.foot_ik.lean = 1.0
    assert np.linalg.norm(heads(ob, FEET) - feet, axis=-1).max() < 0.0005
    assert np.linalg.norm(heads(ob, ["hand.L"]) - hand, axis=-1).min() > 0.01


def test_the_panel_finds_no_fault_with_controls(addon):
    ob = walker(control_rigs.rigify)
    assert not [a.text for a in addon("blender.advice").advise(ob, bpy.context.scene) if a.is_error]


def test_the_panel_names_the_controls_of_a_leg(addon):
    ob, controls_of = walker(control_rigs.rigify), addon("ui.panels").controls_of
    leg = ob.foot_ik.legs[0]
    assert controls_of(ob, leg) == WRITTEN[control_rigs.rigify][1]
    ob.foot_ik.controls = "no JSON"
    assert controls_of(ob, leg) == []


# Refusals

def switched_half_way(ob):
    """IK gives way to FK in the middle of the clip."""
    for side in "LR":
        ik = ob.pose.bones[f"shin.{side}"].constraints[0]
        for frame, influence in ((20, 1.0), (25, 0.0)):
            ik.influence = influence
            ik.keyframe_insert("influence", frame=frame)


def pulled_half(ob):
    """The foot goes half-way along with its target."""
    for bone in ob.pose.bones:
        for constraint in bone.constraints:
            constraint.influence = 0.5


def on_a_floor(ob, height=0.0):
    """The targets cannot go below the floor that the clip was animated on."""
    for side in "LR":
        limit = ob.pose.bones[f"target.{side}"].constraints.new("LIMIT_LOCATION")
        limit.use_min_z, limit.min_z, limit.owner_space = True, height, "POSE"


def on_a_shelf(ob):
    """The targets are held higher than they are keyed."""
    on_a_floor(ob, 0.4)


def stiff_knees(ob):
    """The knees bend no farther than they do in the clip."""
    for side in "LR":
        knee = ob.pose.bones[f"shin.{side}"]
        knee.use_ik_limit_x, knee.ik_min_x, knee.ik_max_x = True, -1.03, 0.0


def held_fast(ob):
    """Controls that are driven."""
    for side in "LR":
        ob.pose.bones[f"target.{side}"].driver_add("location", 2).driver.expression = "0.1"


@pytest.mark.parametrize("operator", ("plan", "bake"))
@pytest.mark.parametrize("fault, words", (
    (switched_half_way, "changes its influence"), (pulled_half, "bake the rig to FK"),
    (on_a_floor, "is held up by its constraint Limit Location"),
    (stiff_knees, "by the IK limits of shin.R"),
    (on_a_shelf, "is held by its constraint Limit Location"), (held_fast, "bake the rig to FK"),
), ids=lambda value: getattr(value, "__name__", ""))
def test_what_cannot_be_moved_is_refused_by_name_with_nothing_changed(fault, words, operator):
    ob = walker(control_rigs.ik_rig)
    fault(ob)
    scenes.visit(10)
    before = scenes.everything()
    with pytest.raises(RuntimeError) as refusal:
        getattr(bpy.ops.foot_ik, operator)()
    text = str(refusal.value)
    assert words in text and any(f" {bone.name}" in text for bone in ob.pose.bones)
    assert scenes.differences(before, scenes.everything()) == []
