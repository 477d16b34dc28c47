"""The plan is a function of clip, ground and settings; it is kept in the file, tells when it is stale, and making it
changes nothing but the add-on's own settings.
"""
import bpy
import pytest
from blender import scenes

FRAME = 20


def plan():
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}


@pytest.fixture
def state(addon):
    """What the plan of the walker is worth now."""
    module = addon("blender.planning")
    return lambda: module.plan_state(bpy.context.scene, scenes.rig())


@pytest.mark.parametrize("operator", ("detect_legs", "plan"))
def test_nothing_but_the_settings_changes(operator):
    scenes.walker("slope", ready=operator == "plan")
    scenes.visit(FRAME + 0.5)
    before = scenes.everything()
    assert getattr(bpy.ops.foot_ik, operator)() == {"FINISHED"}
    assert {d.split("/")[2].split(":")[0] for d in scenes.differences(before, scenes.everything())} <= {"settings"}


def test_plan_does_not_depend_on_frame_or_live():
    plans = []
    for frame, live in ((1, False), (33, False), (20, True)):
        ob = scenes.walker("slope")
        ob.foot_ik.enabled = live
        scenes.visit(frame)
        plan()
        plans.append(scenes.settings_state(ob.foot_ik)["plan"])
    assert plans[0] == plans[1] == plans[2] != ""


def test_live_shows_the_new_plan_at_once():
    ob = scenes.walker("slope")
    ob.foot_ik.enabled = True
    scenes.visit(FRAME)
    bpy.data.objects["Ground"].location.z = 0.1
    plan()
    pose = scenes.shown(ob)
    scenes.visit(FRAME)
    assert scenes.gaps(scenes.shown(ob), pose).max() < 1e-6


def test_plan_is_kept_in_the_file(tmp_path):
    ob = scenes.walker("slope")
    ob.foot_ik.enabled = True
    pose, text = scenes.shown(ob, FRAME), ob.foot_ik.plan
    scenes.save(tmp_path / "saved.blend")
    scenes.load(tmp_path / "saved.blend")
    assert scenes.rig().foot_ik.plan == text
    assert scenes.gaps(scenes.shown(scenes.rig(), FRAME), pose).max() < 1e-6


def test_edited_contacts_are_kept_when_planned_again():
    ob = scenes.walker("slope")
    contact = ob.foot_ik.contacts[1]
    contact.start += 2
    contact.mode = "SLIDE"
    said = lambda c: {k: v for k, v in scenes.settings_state(c).items() if not k.startswith(("heel_", "ball_"))}
    kept = said(contact)
    assert kept["edited"]
    others = len(ob.foot_ik.contacts)
    plan()
    plan()
    assert kept in [said(c) for c in ob.foot_ik.contacts]
    assert len(ob.foot_ik.contacts) == others


def key_moved(ob):
    scenes.curve(ob, "thigh.L", "rotation_quaternion", 1).keyframe_points[10].co.y += 0.1


def curve_muted(ob):
    scenes.curve(ob, "thigh.L", "rotation_quaternion", 1).mute = True


def ground_moved(_):
    bpy.data.objects["Ground"].location.z += 0.1


def ground_edited(_):
    bpy.data.objects["Ground"].data.vertices[0].co.z += 0.1


def ground_added(_):
    bpy.context.scene.collection.objects.link(scenes.strip("More", [(-1.0, 0.5), (1.0, 0.5)]))


def character_moved(ob):
    ob.location.x += 0.1


def range_changed(_):
    bpy.context.scene.frame_end -= 5


def source_changed(ob):
    ob.foot_ik.ground_source = "FLOOR"


def contact_edited(ob):
    ob.foot_ik.contacts[0].mode = "NONE"


def other_action(ob):
    ob.animation_data.action = bpy.data.actions.new("Other")


CHANGES = (key_moved, curve_muted, ground_moved, ground_edited, ground_added, character_moved, range_changed,
           source_changed, contact_edited, other_action)


@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__)
def test_plan_is_stale_after(change, state):
    ob = scenes.walker("slope")
    assert state() == "CURRENT"
    change(ob)
    assert state() == "STALE"
    if change is not other_action:
        plan()
        assert state() == "CURRENT"


def keys_stepped(ob):
    for curve in scenes.bag(ob).fcurves:
        for point in curve.keyframe_points:
            point.interpolation = "CONSTANT"


def curve_goes_on(ob):
    scenes.curve(ob, "hips", "location", 2).extrapolation = "LINEAR"


def noise_added(ob):
    scenes.curve(ob, "hips", "location", 0).modifiers.new("NOISE")


@pytest.mark.parametrize("change", (keys_stepped, curve_goes_on), ids=lambda f: f.__name__)
def test_plan_is_stale_after_a_curve_plays_otherwise(change, state):
    ob = scenes.walker("slope")
    change(ob)
    assert state() == "STALE"


def test_plan_is_stale_after_what_shapes_a_curve_has_changed(addon):
    ob = scenes.walker("slope")
    made = lambda: addon("blender.fingerprint").fingerprint(bpy.context.scene, ob)
    noise_added(ob)
    noise = scenes.curve(ob, "hips", "location", 0).modifiers[0]
    before = made()
    noise.show_expanded = not noise.show_expanded
    assert made() == before
    noise.strength = 0.5
    assert made() != before
    envelope = scenes.curve(ob, "hips", "location", 0).modifiers.new("ENVELOPE")
    point = envelope.control_points.add(10)
    before = made()
    point.max = 0.5
    assert made() != before
    driver = ob.driver_add("location", 0).driver
    before = made()
    driver.expression = "0.25"
    assert made() != before


def on_strips(ob):
    """The walk on a strip whose influence is keyed, and a meta strip of two strips with a transition above it."""
    walk, ob.animation_data.action = ob.animation_data.action, None
    tracks = [ob.animation_data.nla_tracks.new() for _ in range(2)]
    added = [tracks[0].strips.new("Walk", 1, walk), *(tracks[1].strips.new("Walk", at, walk) for at in (1, 60))]
    for strip in added:
        if hasattr(strip, "action_slot"):
            strip.action_slot = walk.slots[0]
    added[0].use_animated_influence = True
    for frame, value in ((1, 0.5), (46, 1.0)):
        added[0].fcurves.find("influence").keyframe_points.insert(frame, value)
    scenes.nla(ob, tracks[1], "transition_add")
    scenes.nla(ob, tracks[1], "meta_add")
    tracks[1].strips[0].influence = 0.0


def strips(ob):
    below, above = (track.strips[0] for track in ob.animation_data.nla_tracks)
    return below, above, above.strips


def key_in_a_strip(ob):
    point = scenes.curves(strips(ob)[0].action)['pose.bones["thigh.L"].rotation_quaternion', 1].keyframe_points[10]
    point.co.y += 0.1


def influence_keyed_otherwise(ob):
    strips(ob)[0].fcurves.find("influence").keyframe_points[0].co.y = 0.9


def time_keyed(ob):
    strips(ob)[0].use_animated_time = True


def strip_scaled(ob):
    strips(ob)[0].scale = 1.5


def strip_blended(ob):
    strips(ob)[0].blend_type = "ADD"


def strip_repeated(ob):
    strips(ob)[0].repeat = 1.5


def noise_on_a_strip(ob):
    scenes.nla(ob, ob.animation_data.nla_tracks[0], "fmodifier_add", type="NOISE", only_active=False)


def meta_influence(ob):
    strips(ob)[1].influence = 0.3


def strip_in_a_meta_strip(ob):
    strips(ob)[2][0].use_reverse = True


def transition_removed(ob):
    assert [strip.type for strip in strips(ob)[2]] == ["CLIP", "TRANSITION", "CLIP"]
    strips(ob)[2][1].mute = True


def track_solo(ob):
    ob.animation_data.nla_tracks[0].is_solo = True


def nla_off(ob):
    ob.animation_data.use_nla = False


@pytest.mark.parametrize("change", (key_in_a_strip, influence_keyed_otherwise, time_keyed, strip_scaled, strip_blended,
                                    strip_repeated, noise_on_a_strip, meta_influence, strip_in_a_meta_strip,
                                    transition_removed, track_solo, nla_off), ids=lambda f: f.__name__)
def test_plan_on_strips_is_stale_after(change, state):
    ob = scenes.walker("slope", prepare=on_strips)
    scenes.visit(33)
    assert state() == "CURRENT", "another frame is no change"
    change(ob)
    assert state() == "STALE"


@pytest.mark.parametrize(("above", "while_tweaked"), ((False, "CURRENT"), (True, "STALE")))
def test_plan_while_a_strip_is_tweaked(state, above, while_tweaked):
    """What is above it does not play meanwhile."""
    ob = scenes.walker("slope", prepare=below_an_action if above else below_nothing)
    track = ob.animation_data.nla_tracks[0]
    scenes.nla(ob, track, "tweakmode_enter")
    assert state() == while_tweaked
    scenes.nla(ob, track, "tweakmode_exit")
    assert state() == "CURRENT"
    scenes.nla(ob, track, "tweakmode_enter")
    scenes.bag(ob).fcurves[0].keyframe_points[3].co.y += 0.01
    assert state() == "STALE"


def below_nothing(ob):
    """The walk on a strip."""
    walk = ob.animation_data.action
    strip = ob.animation_data.nla_tracks.new().strips.new("Walk", 1, walk)
    ob.animation_data.action = None
    if hasattr(strip, "action_slot"):
        strip.action_slot = walk.slots[0]


def below_an_action(ob):
    below_nothing(ob)
    ob.pose.bones["hips"].location.x += 0.1
    ob.keyframe_insert('pose.bones["hips"].location', index=0)


def test_what_plays_on_a_muted_track_is_no_part_of_a_plan(state):
    def kept_aside(ob):
        track = ob.animation_data.nla_tracks.new()
        track.strips.new("Aside", 1, ob.animation_data.action.copy())
        track.mute = True

    ob = scenes.walker("slope", prepare=kept_aside)
    (track,) = ob.animation_data.nla_tracks
    track.strips[0].scale = 1.5
    keyed = scenes.curves(track.strips[0].action)['pose.bones["thigh.L"].rotation_quaternion', 1]
    keyed.keyframe_points[10].co.y += 0.1
    assert state() == "CURRENT"
    track.mute = False
    assert state() == "STALE"


def visited(_):
    scenes.visit(33)


def live(ob):
    ob.foot_ik.enabled = True


def weights(ob):
    ob.foot_ik.influence = ob.foot_ik.legs[0].lock_weight = 0.5


def saved(_):
    scenes.save(scenes.Path(bpy.app.tempdir) / "saved.blend")


@pytest.mark.parametrize("change", (visited, live, weights, saved), ids=lambda f: f.__name__)
def test_plan_stays_current_when(change, state):
    change(scenes.walker("slope"))
    assert state() == "CURRENT"


def another_character(ob):
    """With a skin and a sword, and an action of its own."""
    twin = ob.copy()
    twin.animation_data.action = ob.animation_data.action.copy()
    skin, sword = bpy.data.objects["Mannequin Mesh"].copy(), scenes.strip("Sword", [(1.0, 1.0), (1.5, 1.0)])
    skin.parent = sword.parent = twin
    skin.modifiers[0].object = twin
    for new in (twin, skin, sword):
        bpy.context.scene.collection.objects.link(new)
    twin.name = "Twin"


def test_plan_stays_current_when_another_character_is_edited(state):
    scenes.walker("slope", prepare=another_character)
    scenes.curve(bpy.data.objects["Twin"], "thigh.L", "rotation_quaternion", 1).keyframe_points[10].co.y += 0.1
    bpy.data.objects["Sword"].location.z += 0.1
    assert state() == "CURRENT"


def test_no_plan_is_told(state):
    scenes.walker("slope", ready=False)
    assert state() == "NONE"


@pytest.mark.parametrize("done", (0, 1, 10, 40))
@pytest.mark.parametrize("work", ("detect_legs", "plan_clip", "bake"))
def test_cancelled_work_leaves_everything_as_it_was(addon, work, done):
    """As Esc does in a window: the generator is closed after some steps."""
    ob = scenes.walker("slope")
    ob.foot_ik.enabled = True
    if done > 1:
        ob.constraints.new("LIMIT_LOCATION")  # so that the scene has to be stepped through
    scenes.visit(FRAME)
    before = scenes.everything()
    scene = bpy.context.scene
    module = addon("blender.bake" if work == "bake" else "blender.planning")
    arguments = (1, 46, 1, "NEW_ACTION") if work == "bake" else ()
    steps = getattr(module, work)(scene, ob, *arguments)
    for _ in range(min(done, 20 if work == "detect_legs" else done)):
        next(steps)
    steps.close()
    assert scenes.differences(before, scenes.everything()) == []


def test_undo_takes_a_plan_back():
    scenes.walker("slope")
    bpy.ops.ed.undo_push(message="before")
    before = scenes.everything()
    scenes.rig().foot_ik.legs[0].reach = "ACCEPT"
    bpy.data.objects["Ground"].location.z = 0.2
    bpy.ops.ed.undo_push(message="changed")
    bpy.ops.foot_ik.plan("EXEC_DEFAULT", True)
    assert scenes.rig().foot_ik.plan != before["Mannequin"]["settings"]["plan"]
    bpy.ops.ed.undo()
    assert scenes.rig().foot_ik.plan == before["Mannequin"]["settings"]["plan"]
    bpy.ops.ed.undo()
    assert scenes.differences(before, scenes.everything()) == []


def test_live_without_its_collection_keeps_the_animation():
    """As the plan does, live refuses to take the whole scene for a collection that is not set."""
    ob = scenes.walker("slope")
    raw = scenes.shown(ob, FRAME)
    ob.foot_ik.plan, ob.foot_ik.ground_source = "", "COLLECTION"
    ob.foot_ik.enabled = True
    assert scenes.gaps(scenes.shown(ob, FRAME), raw).max() == 0.0


def test_toggle_plans_first_where_there_is_no_plan():
    ob = scenes.walker("slope", ready=False)
    bpy.ops.foot_ik.detect_legs()
    assert bpy.ops.foot_ik.toggle() == {"FINISHED"}
    assert ob.foot_ik.enabled and ob.foot_ik.plan
    bpy.ops.foot_ik.toggle()
    assert not ob.foot_ik.enabled


def test_legs_that_a_script_has_set_up_are_planned_at_once():
    """Settings that are set from Python do not make Blender evaluate the object anew."""
    ob = scenes.walker("slope")
    expected = ob.foot_ik.plan
    legs = [{name: getattr(leg, name) for name in ("name", "upper", "lower", "foot", "toe")} for leg in ob.foot_ik.legs]
    bpy.ops.foot_ik.clear()
    scenes.shown(ob, 1)
    ob.foot_ik.pelvis = "hips"
    for leg in legs:
        item = ob.foot_ik.legs.add()
        for name, value in leg.items():
            setattr(item, name, value)
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    assert ob.foot_ik.plan == expected
