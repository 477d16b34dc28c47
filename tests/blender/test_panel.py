"""What the panel shows: advice on each thing that would spoil the result, its fixes, and words for every setting."""
import math
from pathlib import Path

import bpy
import pytest

SLOPE = Path(__file__).resolve().parents[2] / "sample_scenes" / "slope.blend"


@pytest.fixture
def rig():
    """The mannequin on the slope, made active, nothing set up."""
    bpy.ops.wm.open_mainfile(filepath=str(SLOPE))
    ob = next(o for o in bpy.context.scene.objects if o.type == "ARMATURE")
    activate(ob)
    return ob


@pytest.fixture
def advise(addon):
    """The texts of the advice on an object; `{text: advice}`."""
    module = addon("blender.advice")
    return lambda ob: {a.text: a for a in module.advise(ob, bpy.context.scene)}


def activate(ob):
    for other in bpy.context.selected_objects:
        other.select_set(False)
    bpy.context.view_layer.objects.active = ob
    ob.select_set(True)


def set_up(ob):
    """Set up by names, faster than the operator."""
    settings = ob.foot_ik
    settings.pelvis = "hips"
    for name, side in (("Left", "L"), ("Right", "R")):
        leg = settings.legs.add()
        leg.name, leg.upper, leg.lower = name, f"thigh.{side}", f"shin.{side}"
        leg.foot, leg.toe = f"foot.{side}", f"toe.{side}"


def fix(advice):
    """Press the button of the only advice that has one; it must not be needed again."""
    (item,) = (a for a in advice.values() if a.fix)
    group, name = item.fix.split(".")
    operator = getattr(getattr(bpy.ops, group), name)
    assert operator(**dict(item.options)) == {"FINISHED"}
    return item


def add_target():
    target = bpy.data.objects.new("Target", None)
    target.location = (0.5, 0.5, 0.5)
    bpy.context.scene.collection.objects.link(target)
    return target


# Advice

def test_no_object_and_other_objects(advise, rig):
    assert list(advise(None)) == ["Select an armature to correct its legs"]
    assert list(advise(bpy.data.objects["Slope"])) == ["Select an armature to correct its legs"]


def test_body_of_a_character_leads_to_its_armature(advise, rig):
    body = next(o for o in bpy.context.scene.objects if o.find_armature() == rig)
    activate(body)
    fix(advise(body))
    assert bpy.context.object == rig


def test_no_legs(advise, rig):
    found = advise(rig)
    assert list(found) == ["No legs are set up"]
    fix(found)
    assert len(rig.foot_ik.legs) == 2 and not advise(rig)


def test_nothing_to_say_of_a_good_rig(advise, rig):
    set_up(rig)
    assert not advise(rig)


@pytest.mark.parametrize("name", ["upper", "lower", "foot", "toe"])
def test_missing_bone_is_named(advise, rig, name):
    set_up(rig)
    setattr(rig.foot_ik.legs[1], name, "Gone")
    ((text, item),) = advise(rig).items()
    assert item.is_error and "Gone" in text and "Right" in text


def test_missing_pelvis(advise, rig):
    set_up(rig)
    rig.foot_ik.pelvis = ""
    ((text, item),) = advise(rig).items()
    assert item.is_error and "pelvis" in text


def test_rest_position(advise, rig):
    set_up(rig)
    rig.data.pose_position = "REST"
    bpy.context.view_layer.update()
    assert fix(advise(rig)).is_error
    assert rig.data.pose_position == "POSE" and not advise(rig)


def test_edit_mode(advise, rig):
    set_up(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    assert fix(advise(rig)).is_error
    assert rig.mode == "OBJECT" and not advise(rig)


def test_disabled_in_viewports(advise, rig):
    set_up(rig)
    rig.hide_viewport = True
    assert fix(advise(rig)).is_error
    assert not advise(rig)


def test_scaled_to_nothing(advise, rig):
    set_up(rig)
    rig.scale = (0, 0, 0)
    bpy.context.view_layer.update()
    assert fix(advise(rig)).is_error
    bpy.context.view_layer.update()
    assert not advise(rig)


def test_connected_pelvis_is_disconnected_where_it_is(advise, rig):
    set_up(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    bones = rig.data.edit_bones
    root = bones.new("new root")
    root.head, root.tail = bones["hips"].head - bones["hips"].vector, bones["hips"].head
    bones["hips"].parent, bones["hips"].use_connect = root, True
    bpy.ops.object.mode_set(mode="OBJECT")
    head = rig.data.bones["hips"].head_local.copy()
    assert fix(advise(rig)).is_error
    assert not advise(rig)
    assert (rig.data.bones["hips"].head_local - head).length < 1e-6
    assert rig.mode == "OBJECT"


def test_ik_over_keys_is_muted(advise, rig):
    set_up(rig)
    constraint = rig.pose.bones["shin.L"].constraints.new("IK")
    constraint.target, constraint.chain_count = add_target(), 2
    bpy.context.view_layer.update()
    ((text, item),) = advise(rig).items()
    assert item.is_error and "thigh.L" in text and "IK" in text and "shin.L" in text
    fix(advise(rig))
    bpy.context.view_layer.update()
    assert constraint.mute and not advise(rig)


def test_ik_from_below_the_foot_is_found(advise, rig):
    set_up(rig)
    constraint = rig.pose.bones["toe.R"].constraints.new("IK")
    constraint.target, constraint.chain_count = add_target(), 0
    bpy.context.view_layer.update()
    assert any("toe.R" in text for text in advise(rig))


def test_copied_transforms_want_a_bake(advise, rig):
    set_up(rig)
    rig.pose.bones["thigh.R"].constraints.new("COPY_TRANSFORMS").target = add_target()
    bpy.context.view_layer.update()
    ((text, item),) = advise(rig).items()
    assert item.is_error and not item.fix and "thigh.R" in text and "Bake" in text


def test_constraint_without_effect_is_no_matter(advise, rig):
    set_up(rig)
    limit = rig.pose.bones["thigh.R"].constraints.new("LIMIT_ROTATION")
    limit.use_limit_x, limit.min_x, limit.max_x, limit.owner_space = True, -math.pi, math.pi, "LOCAL"
    bpy.context.view_layer.update()
    assert not advise(rig)


def test_driver_is_named(advise, rig):
    set_up(rig)
    rig.pose.bones["foot.L"].driver_add("rotation_quaternion", 1).driver.expression = "0.1"
    ((text, item),) = advise(rig).items()
    assert item.is_error and "foot.L" in text and "driver" in text


def test_driven_influence_is_no_driven_bone(advise, rig):
    set_up(rig)
    constraint = rig.pose.bones["thigh.R"].constraints.new("LIMIT_ROTATION")
    constraint.driver_add("influence").driver.expression = "1"
    bpy.context.view_layer.update()
    assert not advise(rig)


def test_no_collection(advise, rig):
    set_up(rig)
    rig.foot_ik.ground_source = "COLLECTION"
    assert fix(advise(rig)).is_error
    assert rig.foot_ik.ground_source == "SCENE" and not advise(rig)


def test_empty_collection(advise, rig):
    set_up(rig)
    rig.foot_ik.ground_source = "COLLECTION"
    rig.foot_ik.ground_collection = bpy.data.collections.new("Nothing In It")
    ((text, _),) = advise(rig).items()
    assert "Nothing In It" in text
    assert fix(advise(rig)).is_error
    assert rig.foot_ik.ground_source == "FLOOR" and not advise(rig)


def test_scene_without_ground(advise, rig):
    set_up(rig)
    bpy.data.objects.remove(bpy.data.objects["Slope"])
    assert fix(advise(rig)).is_error
    assert not advise(rig)


def test_live_without_plan_or_lock(advise, rig):
    set_up(rig)
    scene = bpy.context.scene
    scene.tool_settings.use_keyframe_insert_auto = True
    scene.render.use_lock_interface = False
    rig.foot_ik.enabled = True
    found = advise(rig)
    assert {a.fix for a in found.values()} == {"foot_ik.plan", "foot_ik.stop_auto_keying", "foot_ik.lock_interface"}
    assert not any(a.is_error for a in found.values())
    assert bpy.ops.foot_ik.stop_auto_keying() == {"FINISHED"} and bpy.ops.foot_ik.lock_interface() == {"FINISHED"}
    assert [a.fix for a in advise(rig).values()] == ["foot_ik.plan"]


def test_frame_outside_the_plan_and_other_legs(advise, rig):
    scene = bpy.context.scene
    scene.frame_end = 20
    scene.render.use_lock_interface = True
    bpy.ops.foot_ik.detect_legs()
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    rig.foot_ik.enabled = True
    assert not any("Frame" in text for text in advise(rig))
    scene.frame_set(21)
    assert any("Frame 21" in text for text in advise(rig))
    rig.foot_ik.legs[0].foot, rig.foot_ik.legs[0].toe = "toe.L", ""
    assert any("other legs" in text for text in advise(rig))


def test_errors_come_first(advise, rig):
    set_up(rig)
    rig.foot_ik.enabled = True
    rig.data.pose_position = "REST"
    kinds = [a.is_error for a in advise(rig).values()]
    assert kinds[0] and kinds == sorted(kinds, reverse=True)


def test_linked_rig_becomes_an_override(advise, rig):
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(SLOPE), link=True) as (_, wanted):
        wanted.objects = ["Mannequin"]
    (linked,) = wanted.objects
    bpy.context.scene.collection.objects.link(linked)
    activate(linked)
    ((text, item),) = advise(linked).items()
    assert item.is_error and "library override" in text
    fix(advise(linked))
    own = bpy.context.object
    assert own.library is None and own.override_library is not None
    assert list(advise(own))[0] != text


def test_every_fix_is_an_operator_and_every_option_its_property(addon, advise, rig):
    text = Path(addon("blender.advice").__file__).read_text()
    names = {line.split('"')[i] for line in text.splitlines() for i in range(1, line.count('"'), 2)}
    fixes = {n for n in names if n.startswith("foot_ik.")}
    assert len(fixes) > 8
    for name in fixes:
        getattr(bpy.ops.foot_ik, name.removeprefix("foot_ik.")).get_rna_type()


# Lists

def test_legs_are_added_and_removed(rig):
    assert not bpy.ops.foot_ik.leg_remove.poll()
    bpy.ops.foot_ik.leg_add()
    bpy.ops.foot_ik.leg_add()
    assert [leg.name for leg in rig.foot_ik.legs] == ["Leg 1", "Leg 2"] and rig.foot_ik.active_leg == 1
    bpy.ops.foot_ik.leg_remove()
    assert [leg.name for leg in rig.foot_ik.legs] == ["Leg 1"] and rig.foot_ik.active_leg == 0


def test_removing_a_live_leg_leaves_it_as_animated(rig):
    bpy.context.scene.frame_end = 20
    bpy.ops.foot_ik.detect_legs()
    before = {b.name: b.matrix_basis.copy() for b in rig.pose.bones}
    bpy.ops.foot_ik.toggle()
    assert rig.foot_ik.enabled and rig.foot_ik.plan
    while rig.foot_ik.legs:
        bpy.ops.foot_ik.leg_remove()
    assert all(b.matrix_basis == before[b.name] for b in rig.pose.bones)


def test_contacts_edited_by_hand_outlast_a_plan(rig):
    bpy.context.scene.frame_end = 60
    settings = rig.foot_ik
    bpy.ops.foot_ik.detect_legs()
    bpy.ops.foot_ik.plan()
    found = [(c.leg, c.start, c.end) for c in settings.contacts]
    assert len(found) >= 3 and not any(c.edited for c in settings.contacts)
    long = max(range(len(found)), key=lambda i: found[i][2] - found[i][1])
    leg, start, end = found[long]
    settings.contacts[long].start += 3  # shorter, and so for good
    gone = next(i for i in range(len(found)) if i != long)
    settings.active_contact = gone
    bpy.ops.foot_ik.contact_remove()
    assert settings.contacts[gone].mode == "NONE"
    bpy.ops.foot_ik.plan()
    now = [(c.leg, c.start, c.end, c.mode, c.edited) for c in settings.contacts]
    assert (leg, start + 3, end, "AUTO", True) in now and (*found[gone], "NONE", True) in now
    assert len(now) == len(found) and not any(row[:2] == (leg, start) for row in now)
    for i, contact in enumerate(settings.contacts):
        settings.active_contact = i
        if contact.edited:
            bpy.ops.foot_ik.contact_reset()
    bpy.ops.foot_ik.plan()
    assert sorted((c.leg, c.start, c.end) for c in settings.contacts) == sorted(found)


def test_sliding_contact_is_no_contact_without_ground(addon, rig):
    bpy.context.scene.frame_end = 40
    bpy.ops.foot_ik.detect_legs()
    bpy.ops.foot_ik.plan()
    notes = lambda: addon("blender.store").unpack_plan(rig.foot_ik.plan).notes
    assert not notes()
    rig.foot_ik.contacts[0].mode = "SLIDE"
    bpy.ops.foot_ik.plan()
    assert not notes()


def test_contact_added_jumped_to_and_removed(rig):
    set_up(rig)
    scene, settings = bpy.context.scene, rig.foot_ik
    settings.active_leg = 1
    scene.frame_set(30)
    bpy.ops.foot_ik.contact_add()
    contact = settings.contacts[0]
    assert (contact.leg, contact.start, contact.mode, contact.edited) == ("Right", 30, "LOCK", True)
    assert contact.end > 30
    scene.frame_set(1)
    bpy.ops.foot_ik.contact_jump()
    assert scene.frame_current == 30
    bpy.ops.foot_ik.contact_remove()
    assert not settings.contacts and not bpy.ops.foot_ik.contact_remove.poll()


# The switch and the state

def test_refused_detection_leaves_the_settings(addon, rig, monkeypatch):
    bpy.context.scene.frame_end = 20
    bpy.ops.foot_ik.detect_legs()
    bpy.ops.foot_ik.plan()
    values_of = addon("blender.snapshot").values_of
    rig.foot_ik.legs[0].name = "Mine"
    rig.foot_ik.contacts[0].mode = "SLIDE"
    before = values_of(rig.foot_ik)
    rig.scale = (0, 0, 0)
    bpy.context.view_layer.update()
    with pytest.raises(RuntimeError):
        bpy.ops.foot_ik.detect_legs()
    assert values_of(rig.foot_ik) == before


def test_detection_cancelled_half_way_leaves_the_settings(addon, rig):
    planning, values_of = addon("blender.planning"), addon("blender.snapshot").values_of
    set_up(rig)
    rig.foot_ik.legs[0].name, rig.foot_ik.floor_height = "Mine", 0.25
    before, frame = values_of(rig.foot_ik), bpy.context.scene.frame_current
    steps = planning.detect_legs(bpy.context.scene, rig)
    next(steps)
    assert values_of(rig.foot_ik) != before
    steps.close()
    assert values_of(rig.foot_ik) == before and bpy.context.scene.frame_current == frame


def test_switch_plans_first(rig):
    bpy.context.scene.frame_end = 20
    bpy.ops.foot_ik.detect_legs()
    assert bpy.ops.foot_ik.toggle() == {"FINISHED"}
    assert rig.foot_ik.enabled and rig.foot_ik.plan and rig.foot_ik.contacts
    plan = rig.foot_ik.plan
    assert bpy.ops.foot_ik.toggle() == {"FINISHED"} and not rig.foot_ik.enabled
    assert bpy.ops.foot_ik.toggle() == {"FINISHED"} and rig.foot_ik.enabled and rig.foot_ik.plan == plan


def test_switch_refuses_like_plan(rig):
    with pytest.raises(RuntimeError, match="no legs set up"):
        bpy.ops.foot_ik.toggle()
    assert not rig.foot_ik.enabled


def move_rig(rig):
    rig.location.x += 0.01


def move_ground(_):
    bpy.data.objects["Slope"].location.z += 0.01


def reshape_ground(_):
    bpy.data.objects["Slope"].data.vertices[0].co.z += 0.01


def change_setting(rig):
    rig.foot_ik.max_pitch = 0.6


def change_range(_):
    bpy.context.scene.frame_end += 1


def change_curve(rig):
    curve = next(c for c in curves(rig) if "thigh" in c.data_path)
    curve.keyframe_points[3].handle_left_type = "FREE"
    curve.keyframe_points[3].handle_left.y += 0.05


def curves(rig):
    from importlib import import_module

    return import_module("bl_ext.user_default.foot_ik.blender.compat").animated_bag(rig.animation_data).fcurves


@pytest.mark.parametrize("change", [move_rig, move_ground, reshape_ground, change_setting, change_range, change_curve])
def test_plan_is_stale_after(addon, rig, change):
    plan_state = addon("blender.planning").plan_state
    scene = bpy.context.scene
    scene.frame_end = 20
    bpy.ops.foot_ik.detect_legs()
    assert plan_state(scene, rig) == "NONE"
    bpy.ops.foot_ik.toggle()
    assert plan_state(scene, rig) == "CURRENT"
    scene.frame_set(7)
    assert plan_state(scene, rig) == "CURRENT", "another frame is no change"
    rig.foot_ik.influence = 0.5
    assert plan_state(scene, rig) == "CURRENT", "weights act live"
    change(rig)
    assert plan_state(scene, rig) == "STALE"


def test_panel_looks_at_the_plan_once_a_second(addon, rig, monkeypatch):
    state = addon("ui.state")
    looks = []
    monkeypatch.setattr(addon("blender.planning"), "plan_state", lambda *_: looks.append(1) or "CURRENT")
    for _ in range(10):
        assert state.plan_state(bpy.context.scene, rig) == "CURRENT"
    assert len(looks) == 1
    rig.foot_ik.fingerprint = "another plan"
    state.plan_state(bpy.context.scene, rig)
    assert len(looks) == 2
    bpy.app.timers.unregister(state.redraw)


def test_panel_looks_seldom_at_what_takes_long(addon, rig, monkeypatch):
    """A digest of 20,000 frames takes half a second, in which Blender stands still."""
    state = addon("ui.state")
    now, looks = [100.0], []

    def slow(*_):
        looks.append(now[0])
        now[0] += 0.5
        return "CURRENT"

    monkeypatch.setattr(state.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(addon("blender.planning"), "plan_state", slow)
    for _ in range(250):
        state.plan_state(bpy.context.scene, rig)
        now[0] += 0.1
    assert len(looks) == 3
    bpy.app.timers.unregister(state.redraw)


# Words

def groups():
    settings = bpy.types.Object.bl_rna.properties["foot_ik"].fixed_type
    yield settings
    for prop in settings.properties:
        if prop.type == "COLLECTION":
            yield prop.fixed_type


def operators():
    return [getattr(bpy.ops.foot_ik, name).get_rna_type() for name in dir(bpy.ops.foot_ik)]


def test_every_shown_setting_has_a_name_and_a_tooltip(rig):
    shown = [p for group in groups() for p in group.properties
             if not p.is_hidden and p.identifier != "rna_type"]
    assert len(shown) > 25
    for prop in shown:
        assert prop.description, prop.identifier
        assert not prop.description.endswith("."), prop.identifier
        assert prop.name == prop.name.strip() and prop.name[0].isupper(), prop.identifier


def test_every_operator_and_its_options_have_a_tooltip(rig):
    found = operators()
    assert len(found) > 15
    for operator in found:
        assert operator.name and operator.description and not operator.description.endswith("."), operator.identifier
        assert "\n" not in operator.description, operator.identifier
        for prop in operator.properties:
            assert prop.identifier == "rna_type" or prop.description, f"{operator.identifier}.{prop.identifier}"


@pytest.mark.parametrize("kind", ["nothing", "mesh"])
def test_operators_are_greyed_out_without_an_armature(rig, kind):
    activate(bpy.data.objects["Slope"])
    if kind == "nothing":
        bpy.context.view_layer.objects.active = None
    for name in dir(bpy.ops.foot_ik):
        assert not getattr(bpy.ops.foot_ik, name).poll(), name


def test_icons_exist_in_this_version(addon):
    known = {i.identifier for i in bpy.types.UILayout.bl_rna.functions["prop"].parameters["icon"].enum_items}
    import re

    for module in ("ui.panels", "ui.lists", "ui.wrapping"):
        text = Path(addon(module).__file__).read_text()
        used = set(re.findall(r'icon=[^,)\n]*', text))
        names = {n for part in used for n in re.findall(r'"([A-Z0-9_]+)"', part)}
        assert names <= known, names - known


def test_text_is_broken_between_words(addon):
    lines = addon("ui.wrapping").lines
    assert lines("one two three four", 9, len) == ["one two", "three", "four"]
    assert lines("averylongbonename is here", 9, len) == ["averylongbonename", "is here"]
    assert lines("", 9, len) == []


def test_the_panel_says_what_is_planned_out_of_date_and_baked(rig, addon):
    """A bake is not an outdated plan, though it plays another action than the one that was planned."""
    scene, panels = bpy.context.scene, addon("ui.panels")
    scene.frame_end = 20

    def said():
        addon("ui.state").changed()  # in a window redraws ask anew
        return panels.state_text(scene, rig)

    assert said() == ("No legs set up yet", "INFO")
    bpy.ops.foot_ik.detect_legs()
    bpy.ops.foot_ik.plan()
    assert said() == ("Planned frames 1\u201320", "CHECKMARK")
    scene.frame_end = 21
    assert said()[1] == "ERROR"
    scene.frame_end = 20
    bpy.ops.foot_ik.bake()
    assert said() == ("Baked frames 1\u201320", "CHECKMARK")
