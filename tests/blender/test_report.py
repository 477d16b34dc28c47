"""The report tells what plays: its figures are those of the pose that is shown, its frames the worst ones; it is kept
with the plan, in the file and in undo, goes with it, and says when it is stale.
"""
import json
from math import radians, tan

import bpy
import numpy as np
import pytest
from blender import scenes
from mathutils import Matrix

MM = 1e-3
SAME = 1e-5  # metres: a hundredth of a millimetre, as live and bake agree
RISE = tan(radians(8.0))  # of the ground of "skate"


def report(ob=None):
    return json.loads((ob or scenes.rig()).foot_ik.report)


def press(name, **options):
    assert getattr(bpy.ops.foot_ik, name)(**options) == {"FINISHED"}



@pytest.fixture
def soles(addon):
    """A function: {leg: (frames, points, 3)}, the soles in the world as the depsgraph has them in some frames."""
    unpack = addon("blender.store").unpack_sole

    def read(ob, frames):
        out = {leg.name: [] for leg in ob.foot_ik.legs}
        for frame in frames:
            scenes.visit(frame)
            bones = ob.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
            for leg in ob.foot_ik.legs:
                sole = unpack(leg.sole)
                foot, toe = (np.array(ob.matrix_world @ bones[name].matrix) for name in (leg.foot, leg.toe))
                out[leg.name].append([(m @ [*p, 1])[:3] for p, m in
                                      zip(sole.points, [toe if on else foot for on in sole.on_toe], strict=True)])
        return {name: np.array(rows) for name, rows in out.items()}

    return read


def on_slope(points):
    """Heights over the ground of "skate"."""
    return points[..., 2] - np.maximum((-0.2 - points[..., 1]) * RISE, 0.0)


def held(row, point):
    """Pairs of frames, first and last, in which heel or ball is held, without landing and leaving."""
    return [(a + 1, b - 1) for c in row["contacts"] if c["locked"] and c["grounded"] for a, b in c[point] if b - a > 2]


@pytest.mark.parametrize("made_by", ("PLAN", "BAKE"))
def test_figures_are_those_of_the_pose_that_plays(soles, made_by):
    """Measured by stepping through the scene."""
    ob = scenes.walker("skate")
    raw = soles(ob, range(1, scenes.LAST + 1))
    if made_by == "BAKE":
        press("bake")
    else:
        ob.foot_ik.enabled = True
    made, shown = report(), soles(ob, range(1, scenes.LAST + 1))
    assert made["made_by"] == made_by and (made["frame_start"], made["frame_end"]) == (1, scenes.LAST)
    for when, tracks in (("before", raw), ("after", shown)):
        steps, drifts, cuts, floats = {}, {}, {}, {}
        for row in made["legs"]:
            name, track = row["name"], tracks[row["name"]]
            own = raw[name][..., 2]
            deep = (np.maximum(-on_slope(track), 0) - np.maximum(-own, 0)).max(1)
            high = on_slope(track).min(1) - own.min(1).clip(0)
            cuts |= {(f + 1, name): v for f, v in enumerate(deep)}
            floats |= {(f, name): high[f - 1] for c in row["contacts"] for f in range(c["start"], c["end"] + 1)}
            for point, index in (("heel", 0), ("ball", 1)):
                for a, b in held(row, point):
                    level = track[a - 1:b, index, :2]
                    for f, v in enumerate(np.linalg.norm(np.diff(level, axis=0), axis=1)):
                        steps[a + 1 + f, name, point] = v
                    away = np.linalg.norm(level - level.mean(0), axis=1)
                    drifts[a + int(away.argmax()), name, point] = away.max()
        for figure, values in (("slide", steps), ("drift", drifts), ("penetration", cuts), ("float", floats)):
            told = made["overall"][figure][when]
            assert told["worst"] == pytest.approx(max(0, *values.values()), abs=SAME), (figure, when)
            assert told["mean"] == pytest.approx(np.mean(np.maximum([*values.values()], 0)), abs=SAME), (figure, when)
            if told["worst"] > SAME:
                there = [v for key, v in values.items() if key[:2] == (told["frame"], told["leg"])]
                assert max(there) == pytest.approx(told["worst"], abs=SAME), (figure, when)
    figures = made["overall"]
    assert figures["slide"]["before"]["mean"] > 3 * MM > 0.3 * MM > figures["slide"]["after"]["mean"]


def in_centimetres(ob):
    """The same character, its bones in centimetres and turned on their side, as many files have them."""
    for child in list(ob.children_recursive):
        bpy.data.objects.remove(child)
    turn = Matrix.Rotation(radians(90), 4, "X")
    for (path, _), curve in scenes.curves(ob.animation_data.action).items():
        if path.endswith("location"):
            for point in curve.keyframe_points:
                point.co.y *= 100
    ob.data.transform(turn.inverted() @ Matrix.Scale(100, 4))
    ob.matrix_world = turn @ Matrix.Scale(0.01, 4)


def test_figures_do_not_depend_on_the_scale_of_the_armature():
    scenes.walker("skate")
    figures = report()["overall"]
    scenes.walker("skate", prepare=in_centimetres)
    scaled = report()["overall"]
    for name in ("slide", "drift", "penetration", "float"):
        for when in ("before", "after"):
            for value in ("mean", "worst", "mean_of_leg", "worst_of_leg"):
                assert scaled[name][when][value] == pytest.approx(figures[name][when][value], abs=0.2 * MM)


@pytest.mark.parametrize("height", (0.1, -0.1))
def test_a_floor_that_lies_elsewhere_is_cut_or_floated_over_by_as_much(height):
    ob = scenes.walker("flat", ready=False)
    bpy.data.objects["Ground"].location.z = height
    press("detect_legs")
    ob.foot_ik.floor_height = 0.0
    press("plan")
    figures = report()["overall"]
    figure, other = ("penetration", "float") if height > 0 else ("float", "penetration")
    assert figures[figure]["before"]["worst"] == pytest.approx(abs(height), abs=SAME)
    assert figures[other]["before"]["worst"] == pytest.approx(0.0, abs=SAME)
    assert figures[figure]["after"]["worst"] < MM
    length = report()["leg_length"]
    assert figures[figure]["before"]["worst_of_leg"] == pytest.approx(abs(height) / length, abs=SAME)


def test_a_moving_deck_is_what_the_feet_slide_on():
    scenes.walker("deck")
    figures = report()["overall"]
    assert figures["drift"]["after"]["worst"] < MM
    assert figures["penetration"]["before"]["worst"] > 50 * MM > 2 * MM > figures["penetration"]["after"]["worst"]


def test_feet_carried_by_a_train_do_not_slide():
    scenes.walker("flat", ready=False)
    train = bpy.data.objects["Ground"]
    for frame, x in ((1, 0.0), (scenes.LAST, 0.9)):
        train.location.x = x
        train.keyframe_insert("location", index=0, frame=frame)
    press("detect_legs")
    press("plan")
    slide = report()["overall"]["slide"]
    assert slide["before"]["mean"] > 15 * MM > 0.2 * MM > slide["after"]["mean"]


def test_without_contacts_only_cuts_are_told():
    ob = scenes.walker("slope")
    for contact in ob.foot_ik.contacts:
        contact.mode = "NONE"
    press("plan")
    figures = report()["overall"]
    assert figures["slide"]["after"]["mean"] is figures["float"]["after"]["worst"] is None
    assert figures["penetration"]["before"]["worst"] > 50 * MM
    press("bake")


def test_contacts_without_ground_are_counted():
    scenes.walker("slope", ready=False)
    bpy.data.objects["Ground"].data.vertices[0].co.y = bpy.data.objects["Ground"].data.vertices[1].co.y = -0.8
    press("detect_legs")
    press("plan")
    made = report()
    missing = [c for leg in made["legs"] for c in leg["contacts"] if not c["grounded"]]
    assert missing and made["overall"]["without_ground"] == len(missing)


def test_feet_out_of_reach_are_told(addon):
    """The right foot walks a kerb's height below the left one, and the pelvis does not make up for it."""
    ob = scenes.walker("flat")
    high = bpy.data.objects["Ground"]
    low = high.copy()
    bpy.context.scene.collection.objects.link(low)
    high.location.x, low.location = 1.0, (-1.0, 0.0, -0.3)
    for leg in ob.foot_ik.legs:
        leg.reach = "ACCEPT"
    press("plan")
    made, unreached = report(), report()["overall"]["unreached"]
    assert unreached["count"] > 5 and 10 * MM < unreached["worst"] < 300 * MM
    assert any(a <= unreached["frame"] <= b for a, b in unreached["frames"])
    assert sum(b + 1 - a for a, b in unreached["frames"]) == unreached["count"]
    assert {leg["name"]: leg["unreached"]["count"] for leg in made["legs"]}[unreached["leg"]] > 0
    assert made["overall"]["float"]["after"]["worst"] > 10 * MM
    assert not addon("blender.store").unpack_plan(ob.foot_ik.plan).notes, "its speed fits"
    assert bpy.ops.foot_ik.bake() == {"FINISHED"}
    assert report()["overall"]["unreached"]["frames"] == unreached["frames"]


@pytest.mark.parametrize("speed, told", ((0.0, False), (-1.6, True)))
def test_a_speed_that_does_not_fit_the_steps_is_told(addon, speed, told):
    """The object moves along with the walk, which moves by itself: feet that stand skate by 5 cm a frame."""
    ob = scenes.walker("flat", ready=False)
    for frame in (1, scenes.LAST):
        ob.location.y = speed * (frame - 1) / scenes.FPS
        ob.keyframe_insert("location", index=1, frame=frame)
    for curve in scenes.curves(ob.animation_data.action).values():
        for key in curve.keyframe_points:
            key.interpolation = "LINEAR"
    press("detect_legs")
    press("plan")
    notes = addon("blender.store").unpack_plan(ob.foot_ik.plan).notes
    assert any("speed" in note for note in notes) == told


@pytest.mark.parametrize("rise, told", ((0.1, False), (2.0, True)))
def test_a_clip_that_climbs_by_itself_is_told(addon, rise, told):
    """As one that was captured on stairs, or is keyed to ride on a lift."""
    ob = scenes.walker("slope", ready=False)
    for frame in (1, scenes.LAST):
        ob.location.z = rise * (frame - 1) / (scenes.LAST - 1)
        ob.keyframe_insert("location", index=2, frame=frame)
    press("detect_legs")
    press("plan")
    notes = addon("blender.store").unpack_plan(ob.foot_ik.plan).notes
    assert any("climb or sink in the animation itself" in note for note in notes) == told


def test_weights_are_in_the_report():
    ob = scenes.walker("skate")
    ob.foot_ik.influence = 0.0
    press("plan")
    none = report()["overall"]
    for name in ("slide", "drift", "penetration", "float"):
        before, after = none[name]["before"], none[name]["after"]
        assert (after["mean"], after["worst"]) == pytest.approx((before["mean"], before["worst"]), abs=SAME)
    assert report()["legs"][0]["weights"] == {"position": 0.0, "rotation": 0.0, "lock": 1.0}
    ob.foot_ik.influence = 1.0
    ob.foot_ik.legs[1].lock_weight = 0.0
    ob.foot_ik.legs[1].keyframe_insert("lock_weight", frame=1)
    ob.foot_ik.legs[1].lock_weight = 1.0
    ob.foot_ik.legs[1].keyframe_insert("lock_weight", frame=20)
    press("plan")
    assert report()["legs"][1]["weights"]["lock"] is None


def test_a_disabled_leg_is_left_out():
    ob = scenes.walker("slope")
    ob.foot_ik.legs[0].enabled = False
    press("plan")
    assert [leg["name"] for leg in report()["legs"]] == [ob.foot_ik.legs[1].name]
    ob.foot_ik.legs[0].enabled = True
    ob.foot_ik.legs[1].enabled = False
    press("plan")
    ob.foot_ik.legs[1].enabled = True


@pytest.mark.parametrize("options", ({"frame_start": 10, "frame_end": 30}, {"step": 4}, {"target": "NLA"}),
                         ids=("part", "step", "nla"))
def test_bakes_of_every_kind_are_measured_in_the_frames_that_are_keyed(options):
    scenes.walker("skate")
    planned = report()
    press("bake", **options)
    baked = report()
    assert baked["frame_start"] == options.get("frame_start", 1)
    assert baked["frame_end"] == options.get("frame_end", scenes.LAST)
    assert [leg["contacts"] for leg in baked["legs"]] == [leg["contacts"] for leg in planned["legs"]]
    for when in ("before", "after"):
        ours, theirs = baked["overall"]["slide"][when], planned["overall"]["slide"][when]
        assert ours["mean"] == pytest.approx(theirs["mean"], rel=0.5, abs=0.1 * MM)
    assert baked["overall"]["penetration"]["after"]["worst"] < 2 * MM


def test_a_bake_without_a_plan_has_no_report():
    ob = scenes.walker("slope", ready=False)
    press("detect_legs")
    ob.foot_ik.enabled = True
    press("bake")
    assert ob.foot_ik.report == ""


# Kept, and gone


def test_a_refused_plan_leaves_the_old_report():
    ob = scenes.walker("slope")
    before = ob.foot_ik.report
    bpy.data.objects["Ground"].hide_viewport = True
    with pytest.raises(RuntimeError, match="no ground to stand on"):
        bpy.ops.foot_ik.plan()
    assert ob.foot_ik.report == before != ""


def test_undo_and_redo_bring_the_report_back():
    scenes.walker("slope")
    bpy.ops.ed.undo_push(message="before")
    first = scenes.rig().foot_ik.report
    bpy.data.objects["Ground"].location.z = 0.2
    bpy.ops.ed.undo_push(message="moved")
    bpy.ops.foot_ik.plan("EXEC_DEFAULT", True)
    second = scenes.rig().foot_ik.report
    bpy.ops.foot_ik.bake("EXEC_DEFAULT", True)
    third = scenes.rig().foot_ik.report
    assert len({first, second, third}) == 3
    bpy.ops.ed.undo()
    assert scenes.rig().foot_ik.report == second
    bpy.ops.ed.undo()
    assert scenes.rig().foot_ik.report == first
    bpy.ops.ed.redo()
    assert scenes.rig().foot_ik.report == second


def test_the_report_is_saved_and_copied(tmp_path):
    text = scenes.walker("slope").foot_ik.report
    assert scenes.rig().copy().foot_ik.report == text
    scenes.save(tmp_path / "saved.blend")
    scenes.load(tmp_path / "saved.blend")
    assert scenes.rig().foot_ik.report == text


@pytest.mark.parametrize("operator", ("detect_legs", "clear"))
def test_the_report_goes_with_the_plan(operator):
    ob = scenes.walker("slope")
    assert ob.foot_ik.report
    press(operator)
    assert ob.foot_ik.report == ""


def test_plan_does_not_depend_on_what_was_reported():
    ob = scenes.walker("slope")
    plan, made = ob.foot_ik.plan, ob.foot_ik.report
    ob.foot_ik.report = "nonsense"
    press("bake")
    press_original(ob)
    press("plan")
    assert (ob.foot_ik.plan, ob.foot_ik.report) == (plan, made)


def press_original(ob):
    """Make the action active again that was baked from."""
    ob.animation_data.action = next(a for a in bpy.data.actions if a != ob.foot_ik.baked)


# Stale


@pytest.fixture
def state(addon):
    module = addon("blender.reporting")
    return lambda: module.report_state(bpy.context.scene, scenes.rig())


def ground_moved(_):
    bpy.data.objects["Ground"].location.z += 0.1


def key_moved(ob):
    scenes.curve(ob, "thigh.L", "rotation_quaternion", 1).keyframe_points[10].co.y += 0.1


def weight_changed(ob):
    ob.foot_ik.legs[0].lock_weight = 0.5


def influence_changed(ob):
    ob.foot_ik.influence = 0.5


@pytest.mark.parametrize("change", (ground_moved, key_moved, weight_changed, influence_changed),
                         ids=lambda f: f.__name__)
def test_a_report_on_a_plan_is_stale_after(change, state):
    ob = scenes.walker("slope")
    assert state() == "CURRENT"
    change(ob)
    assert state() == "STALE"
    press("plan")
    assert state() == "CURRENT"


@pytest.mark.parametrize("change", (ground_moved, key_moved), ids=lambda f: f.__name__)
def test_a_report_on_a_bake_is_stale_after(change, state):
    ob = scenes.walker("slope")
    press("bake")
    assert state() == "CURRENT"
    weight_changed(ob)
    scenes.visit(20)
    assert state() == "CURRENT", "weights do not change what is baked"
    change(ob)
    assert state() == "STALE"


def test_no_report_and_one_that_cannot_be_read_are_none(state):
    ob = scenes.walker("slope")
    for text in ("", "nonsense", "[]", '{"version": 0}'):
        ob.foot_ik.report = text
        assert state() == "NONE"


# Words


@pytest.fixture
def words(addon):
    return addon("ui.report_text")


def test_rows_say_before_and_after_and_where(words):
    scenes.walker("skate")
    made = report()
    rows = {row.label: row for row in words.rows(bpy.context.scene, made)}
    assert list(rows) == ["Slide", "Drift", "Penetration", "Float"]
    after = made["overall"]["drift"]["after"]
    assert rows["Drift"].after.endswith(" mm") and float(rows["Drift"].after[:-3]) == pytest.approx(
        after["worst"] / MM, abs=0.05)
    assert (rows["Drift"].frame, rows["Drift"].leg) == (after["frame"], after["leg"])


def test_rows_name_what_is_missing(words):
    scenes.walker("slope")
    made = report()
    made["overall"]["slide"]["after"] = dict.fromkeys(made["overall"]["slide"]["after"])
    made["overall"]["unreached"] |= {"count": 1, "worst": 0.02, "frame": 12, "leg": "Left"}
    made["legs"][1]["contacts"][0]["grounded"] = False
    rows = {row.label: row for row in words.rows(bpy.context.scene, made)}
    assert "Slide" not in rows
    assert (rows["Out of Reach"].after, rows["Out of Reach"].frame) == ("1 frame, by up to 20 mm", 12)
    assert rows["No Ground"].after == "1 contact"
    assert rows["No Ground"].frame == made["legs"][1]["contacts"][0]["start"]
    assert rows["No Ground"].leg == made["legs"][1]["name"]


@pytest.mark.parametrize("system, scale, length, text", (
    ("METRIC", 1.0, 0.0123, "12 mm"), ("METRIC", 1.0, 0.0012, "1.2 mm"), ("METRIC", 1.0, 0.000123, "0.12 mm"),
    ("METRIC", 0.01, 1.5, "15 mm"), ("METRIC", 1.0, 1e-7, "0 mm"), ("IMPERIAL", 1.0, 0.0254, '1.0"'),
    ("NONE", 1.0, 0.0123, "0.0123"), ("NONE", 1.0, 0.0, "0")))
def test_lengths_are_in_the_units_of_the_scene(words, system, scale, length, text):
    scene = bpy.context.scene
    scene.unit_settings.system, scene.unit_settings.scale_length = system, scale
    assert words.length_text(scene, length) == text


def test_the_table_is_printed_and_the_sentence_reported(capfd):
    scenes.walker("skate")
    press("plan")
    press("bake")
    out = capfd.readouterr().out
    for line in ("Foot IK: Mannequin", "Planned frames 1-46", "Baked frames 1-46"):
        assert line in out
    assert out.count("  Slide ") == 2
    assert "Info: Foot IK: Planned frames 1-46: slide " in out


# Jump


def test_jump_goes_to_the_frame_and_selects_leg_and_contact():
    ob = scenes.walker("slope")
    leg = ob.foot_ik.legs[1].name
    contact = next(c for c in ob.foot_ik.contacts if c.leg == leg)
    press("jump", frame=contact.end, leg=leg)
    assert bpy.context.scene.frame_current == contact.end
    assert ob.foot_ik.active_leg == 1
    assert ob.foot_ik.contacts[ob.foot_ik.active_contact] == contact
    press("jump", frame=7)
    assert bpy.context.scene.frame_current == 7 and ob.foot_ik.active_leg == 1


def test_jump_refuses_a_leg_that_is_not_there():
    ob = scenes.walker("slope")
    with pytest.raises(RuntimeError, match="There is no leg called Third"):
        bpy.ops.foot_ik.jump(frame=20, leg="Third")
    assert bpy.context.scene.frame_current == 1 and ob.foot_ik.active_leg == 0


def test_undo_takes_a_jump_back():
    scenes.walker("slope")
    bpy.ops.ed.undo_push(message="before")
    bpy.ops.foot_ik.jump("EXEC_DEFAULT", True, frame=20, leg=scenes.rig().foot_ik.legs[1].name)
    bpy.ops.foot_ik.jump("EXEC_DEFAULT", True, frame=30)
    assert bpy.context.scene.frame_current == 30
    bpy.ops.ed.undo()
    assert bpy.context.scene.frame_current == 1 and scenes.rig().foot_ik.active_leg == 0
