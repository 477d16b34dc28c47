"""What people do with a file around the correction: undo, edits, duplicates, other files."""
from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest
from blender import control_rigs, scenes

FRAME = 20
SAME = 1e-5


@pytest.fixture
def ob():
    ob = scenes.walker("slope")
    scenes.visit(FRAME)
    return ob


def live(ob):
    ob.foot_ik.enabled = True
    return scenes.shown(ob)


# Undo and redo

OPERATORS = {"detect_legs": {}, "plan": {}, "toggle": {}, "bake": {}, "bake_nla": {"target": "NLA"}, "clear": {},
             "leg_add": {}, "leg_remove": {}}


def delete_bone(ob, name):
    bpy.ops.object.mode_set(mode="EDIT")
    ob.data.edit_bones.remove(ob.data.edit_bones[name])
    bpy.ops.object.mode_set(mode="OBJECT")


@pytest.mark.parametrize("shown", (False, True), ids=("off", "live"))
@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_is_undone_and_redone_whole(ob, operator, shown):
    ob.foot_ik.enabled = shown
    ob.foot_ik.max_step = 0.3  # so that plans differ
    bpy.ops.ed.undo_push(message="before")
    states, poses = [scenes.everything()], [scenes.shown(ob)]
    assert getattr(bpy.ops.foot_ik, operator.removesuffix("_nla"))("EXEC_DEFAULT", True, **OPERATORS[operator]) \
        == {"FINISHED"}
    states.append(scenes.everything())
    poses.append(scenes.shown(ob))
    for step, i in ((bpy.ops.ed.undo, 0), (bpy.ops.ed.redo, 1), (bpy.ops.ed.undo, 0)):
        step()
        assert scenes.differences(states[i], scenes.everything()) == []
        assert np.allclose(scenes.shown(scenes.rig()), poses[i], atol=SAME)


def test_bakes_of_two_parts_are_both_known():
    ob = scenes.walker("slope")
    frames = (9, 20, 23, 33)
    live(ob)
    poses = scenes.shown_over(ob, frames)
    for start, end in ((1, 20), (21, 46)):
        assert bpy.ops.foot_ik.bake(frame_start=start, frame_end=end) == {"FINISHED"}
    ob.foot_ik.enabled = True
    assert scenes.gaps(scenes.shown_over(ob, frames), poses).max() < SAME


def test_edits_between_are_undone_one_by_one(ob):
    """A pose without a key, a moved ground and a weight, while live: back and forth through all of it."""
    def pose():
        scenes.rig().pose.bones["head"].rotation_quaternion = (0.9, 0.0, 0.4, 0.0)

    def move():
        bpy.data.objects["Ground"].location.z -= 0.05

    def weigh():
        scenes.rig().foot_ik.influence = 0.5

    live(ob)
    bpy.ops.ed.undo_push(message="live")
    states, poses = [scenes.everything()], [scenes.shown(ob)]
    for edit in (pose, move, weigh):
        edit()
        bpy.ops.ed.undo_push(message=edit.__name__)
        states.append(scenes.everything())
        poses.append(scenes.shown(scenes.rig()))
    for step, order in ((bpy.ops.ed.undo, (2, 1, 0)), (bpy.ops.ed.redo, (1, 2, 3))):
        for i in order:
            step()
            assert scenes.differences(states[i], scenes.everything()) == []
            assert np.allclose(scenes.shown(scenes.rig()), poses[i], atol=SAME), (step, i)


# Duplicates

@pytest.mark.parametrize("linked", (True, False))
def test_a_duplicate_is_a_rig_of_its_own(ob, linked):
    raw = scenes.shown(ob)
    pose = live(ob)
    ob.select_set(True)
    bpy.ops.object.duplicate(linked=linked)
    twin = bpy.context.object
    assert twin != ob and twin.foot_ik.plan == ob.foot_ik.plan
    assert np.allclose(scenes.shown(twin, FRAME), pose, atol=SAME)
    twin.location.x += 0.3
    twin.foot_ik.legs[0].enabled = False
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    assert np.allclose(scenes.shown(ob, FRAME), pose, atol=SAME)
    assert bpy.ops.foot_ik.bake() == {"FINISHED"}
    assert np.allclose(scenes.shown(ob, FRAME), pose, atol=SAME) and ob.foot_ik.enabled
    ob.foot_ik.enabled = False
    assert np.allclose(scenes.shown(ob, FRAME), raw, atol=SAME)


def test_a_duplicate_of_a_bake_is_not_corrected_again(ob):
    """With an action of its own, as Make Single User and the user preference give it."""
    assert bpy.ops.foot_ik.bake() == {"FINISHED"}
    pose = scenes.shown(ob, FRAME)
    twin = ob.copy()
    bpy.context.scene.collection.objects.link(twin)
    slot = getattr(twin.animation_data, "action_slot", None)
    twin.animation_data.action = twin.animation_data.action.copy()
    if slot is not None:
        twin.animation_data.action_slot = twin.animation_data.action.slots[slot.identifier]
    twin.foot_ik.enabled = True
    assert np.allclose(scenes.shown(twin, FRAME), pose, atol=SAME)


# Edits of the rig

@pytest.mark.parametrize("name", ("thigh.L", "hips", "toe.R"))
def test_a_bone_renamed_while_live_keeps_nothing_of_the_correction(name):
    ob = scenes.walker("slope", prepare=unkeyed)
    scenes.visit(FRAME)
    before = scenes.channels(ob)
    live(ob)
    ob.data.bones[name].name = "Renamed"
    ob.foot_ik.enabled = False
    after = scenes.channels(ob)
    after[name] = after.pop("Renamed")
    assert after == before


def unkeyed(ob):
    scenes.remove_curves(ob, lambda path, _: "thigh.R" in path or "shin.R" in path)
    ob.location.y = -1.0


@pytest.mark.parametrize("name", ("thigh.L", "hips", "toe.R", "hand.L"))
def test_a_bone_deleted_while_live_leaves_the_others_as_animated(name):
    ob = scenes.walker("slope", prepare=unkeyed)
    scenes.visit(FRAME)
    before = scenes.channels(ob)
    live(ob)
    delete_bone(ob, name)
    scenes.visit(FRAME + 1)
    scenes.visit(FRAME)
    ob.foot_ik.enabled = False
    before.pop(name)
    assert scenes.channels(ob) == before


def test_a_bone_renamed_after_another_was_deleted_keeps_nothing_of_the_correction():
    """Bones are then no longer where they were among the others."""
    ob = scenes.walker("slope", prepare=unkeyed)
    scenes.visit(FRAME)
    before = scenes.channels(ob)
    live(ob)
    delete_bone(ob, "upper_arm.L")
    scenes.visit(FRAME)
    ob.data.bones["thigh.R"].name = "Renamed"
    ob.foot_ik.enabled = False
    before.pop("upper_arm.L")
    after = scenes.channels(ob)
    after["thigh.R"] = after.pop("Renamed")
    assert after == before


def test_names_flipped_while_live_keep_nothing_of_the_correction():
    ob = scenes.walker("slope", prepare=thighs_unkeyed)
    scenes.visit(FRAME)
    before = list(scenes.channels(ob).values())
    live(ob)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.armature.select_all(action="SELECT")
    assert bpy.ops.armature.flip_names() == {"FINISHED"}
    bpy.ops.object.mode_set(mode="OBJECT")
    ob.foot_ik.enabled = False
    assert list(scenes.channels(ob).values()) == before


def thighs_unkeyed(ob):
    scenes.remove_curves(ob, lambda path, _: "thigh" not in path)


def test_a_bone_deleted_after_another_scene_showed_the_rig_leaves_the_others_as_animated():
    """All that is animated was written along, as it is in renders."""
    ob = scenes.walker("slope")
    scenes.visit(FRAME)
    before = scenes.channels(ob)
    live(ob)
    other = bpy.data.scenes.new("Other")
    other.collection.objects.link(ob)
    scenes.visit(FRAME + 10, other)
    delete_bone(ob, "hand.L")
    ob.foot_ik.enabled = False
    before.pop("hand.L")
    assert scenes.channels(ob) == before


def test_what_takes_the_place_of_a_deleted_bone_keeps_nothing_of_the_correction():
    """A bone that is kept itself, before that which was deleted."""
    ob = scenes.walker("slope", prepare=thighs_unkeyed)
    ob.foot_ik.legs.move(0, 1)
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    scenes.visit(FRAME)
    before = scenes.channels(ob)
    live(ob)
    delete_bone(ob, "toe.L")
    ob.foot_ik.enabled = False
    before.pop("toe.L")
    assert scenes.channels(ob) == before


@pytest.mark.parametrize("change", ("action", "no action", "no animation", "no ground"))
def test_what_is_changed_after_planning_makes_the_plan_stale_and_nothing_worse(ob, change, addon):
    live(ob)
    data = ob.animation_data
    if change == "action":
        data.action = data.action.copy()
        if hasattr(data, "action_slot"):
            data.action_slot = data.action.slots[0]
        scenes.curve(ob, "thigh.L", "rotation_quaternion", 1).keyframe_points[5].co.y += 0.2
    elif change == "no action":
        data.action = None
    elif change == "no animation":
        ob.animation_data_clear()
    else:
        bpy.data.objects.remove(bpy.data.objects["Ground"])
    for frame in (7, FRAME):
        scenes.visit(frame)
    assert np.isfinite(scenes.shown(ob)).all()
    assert addon("blender.planning").plan_state(bpy.context.scene, ob) == "STALE"
    addon("blender.advice").advise(ob, bpy.context.scene)
    ob.foot_ik.enabled = False
    raw = scenes.shown(ob, FRAME)
    scenes.visit(7)
    assert np.allclose(scenes.shown(ob, FRAME), raw, atol=SAME)


# Other files

def standing(walk):
    """An action that holds the first pose of the walk, where the slope begins."""
    action = walk.copy()
    action.name = "Stand"
    for curve in scenes.curves(action).values():
        for key in curve.keyframe_points:
            key.co.y = key.handle_left.y = key.handle_right.y = curve.keyframe_points[0].co.y
    return action


def test_another_action_is_not_corrected_by_the_plan(ob):
    """As when all actions of a character are exported one after the other."""
    walk, frames = ob.animation_data.action, (10, 30, 46)
    scenes.play(ob, standing(walk))
    raw = scenes.shown_over(ob, frames)
    live(ob)
    assert scenes.gaps(scenes.shown_over(ob, frames), raw).max() < 0.01
    walk.name = "Renamed"
    scenes.play(ob, walk)
    pose = scenes.shown(ob, 46)
    assert scenes.gaps(pose, raw[-1]).max() > 0.1
    bpy.ops.foot_ik.bake(frame_end=20)
    for action in (ob.animation_data.action, walk, walk.copy()):
        scenes.play(ob, action)
        ob.foot_ik.enabled = True
        assert scenes.gaps(scenes.shown(ob, 46), pose).max() < 1e-4, action.name


def driven(ob):
    """A driver on the object, so that curves alone do not tell where it is."""
    ob.driver_add("location", 0).driver.expression = "0"


@pytest.mark.parametrize("prepare", (control_rigs.ik_rig, driven))
def test_another_action_is_not_corrected_by_the_plan_where_curves_do_not_tell_the_motion(prepare):
    ob = scenes.walker("slope", prepare=prepare)
    walk, frames = ob.animation_data.action, (10, 30, 46)
    scenes.visit(46)
    pose = live(ob)
    scenes.play(ob, standing(walk))
    stands = scenes.shown_over(ob, frames)
    ob.foot_ik.enabled = False
    raw = scenes.shown_over(ob, frames)
    assert scenes.gaps(stands, raw).max() < 0.01 and scenes.gaps(pose, raw[-1]).max() > 0.1
    ob.foot_ik.enabled = True
    walk.name = "Renamed"
    for action in (walk, walk.copy()):
        scenes.play(ob, action)
        assert scenes.gaps(scenes.shown(ob, 46), pose).max() < SAME, action.name


def test_a_track_of_another_action_is_not_corrected_by_the_plan(ob):
    data, walk = ob.animation_data, ob.animation_data.action
    pose, data.action = live(ob), None
    for action in (walk, standing(walk)):
        strip = data.nla_tracks.new().strips.new(action.name, 1, action)
        if hasattr(strip, "action_slot"):
            strip.action_slot = action.slots[0]
    data.nla_tracks[0].is_solo = True
    assert scenes.gaps(scenes.shown(ob, FRAME), pose).max() < SAME
    data.nla_tracks[1].is_solo = True
    stands = scenes.shown(ob, FRAME)
    ob.foot_ik.enabled = False
    assert scenes.gaps(scenes.shown(ob, FRAME), stands).max() < 0.01


def test_appended_into_another_file_it_is_corrected_as_before(ob, tmp_path):
    before = scenes.channels(ob)
    pose = live(ob)
    scenes.save(tmp_path / "shot.blend")
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(tmp_path / "shot.blend")) as (_, into):
        into.objects = ["Mannequin"]
    ob = scenes.rig()
    bpy.context.scene.collection.objects.link(ob)
    assert scenes.gaps(scenes.shown(ob, FRAME), pose).max() < SAME
    ob.foot_ik.enabled = False
    assert scenes.channels(ob) == before


@pytest.fixture
def library(ob, tmp_path):
    """A new scene with a ground and, linked, the collection of a character that is live in its own file."""
    live(ob)
    return linked_in(ob, tmp_path)


def linked_in(ob, tmp_path):
    """A new scene with a ground and, linked, a collection that holds a character."""
    collection = bpy.data.collections.new("Character")
    bpy.context.scene.collection.children.link(collection)
    collection.objects.link(ob)
    scenes.save(tmp_path / "library.blend")
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene = bpy.context.scene
    scene.frame_end, scene.render.fps = scenes.LAST, scenes.FPS
    scene.collection.objects.link(scenes.ground_of("slope"))
    with bpy.data.libraries.load(str(tmp_path / "library.blend"), link=True) as (_, into):
        into.collections = ["Character"]
    return into.collections[0]


def linked(library):
    bpy.context.scene.collection.children.link(library)
    ob = scenes.rig()
    bpy.context.view_layer.objects.active = ob
    return ob


@pytest.mark.parametrize("operator", ("clear", "toggle", "leg_add", "leg_remove"))
def test_a_linked_rig_is_not_changed(library, operator):
    ob = linked(library)
    before = scenes.everything()
    call = getattr(bpy.ops.foot_ik, operator)
    with pytest.raises(RuntimeError, match="library override"):
        call()
    assert scenes.differences(before, scenes.everything()) == []
    for frame in (7, FRAME):
        scenes.visit(frame)
    assert ob.foot_ik.enabled and not ob.foot_ik.shown


def override(library):
    bpy.context.scene.collection.children.link(library)
    new = library.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer, do_fully_editable=True)
    ob = next(o for o in new.all_objects if o.type == "ARMATURE")
    bpy.context.view_layer.objects.active = ob
    return ob


@pytest.mark.parametrize("ready", (True, False))
def test_an_override_is_saved_with_its_plan_and_edits(ready, tmp_path):
    """Whether the character has been live in its own file, or Foot IK has never been there."""
    ob = scenes.walker("slope", ready=ready)
    ob.foot_ik.enabled = ready
    ob = override(linked_in(ob, tmp_path))
    ob.foot_ik.max_step = 0.35
    assert bpy.ops.foot_ik.detect_legs() == {"FINISHED"}
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    ob.foot_ik.contacts[1].mode = "SLIDE"
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    scenes.visit(10)
    ob.foot_ik.active_contact = next(i for i, c in enumerate(ob.foot_ik.contacts) if c.start < 8 and c.end > 12)
    assert bpy.ops.foot_ik.contact_split() == {"FINISHED"}
    ob.foot_ik.enabled = True
    frames = (7, FRAME, 33)
    poses = scenes.shown_over(ob, frames)
    count = len(ob.foot_ik.contacts)
    scenes.save(tmp_path / "shot.blend")
    settings = scenes.settings_state(ob.foot_ik)
    assert len(settings["contacts"]) == count and len(settings["legs"]) == 2
    assert scenes.gaps(scenes.shown(ob), poses[-1]).max() < SAME
    for _ in range(2):
        scenes.load(tmp_path / "shot.blend")
        ob = next(o for o in bpy.data.objects if o.type == "ARMATURE" and o.override_library)
        bpy.context.view_layer.objects.active = ob
        assert ob.foot_ik.enabled
        found = scenes.settings_state(ob.foot_ik)
        assert scenes.differences({k: v for k, v in settings.items() if k != "held"},
                                  {k: v for k, v in found.items() if k != "held"}) == []
        assert scenes.gaps(scenes.shown_over(ob, frames), poses).max() < SAME
        scenes.save(tmp_path / "shot.blend")
    ob.foot_ik.enabled = False
    raw = scenes.shown_over(ob, frames)
    assert scenes.gaps(raw, poses).max() > 0.01
    assert bpy.ops.foot_ik.clear() == {"FINISHED"}
    assert scenes.gaps(scenes.shown_over(ob, frames), raw).max() < SAME


def test_a_character_in_a_linked_collection_instance_is_left_alone(library):
    empty = bpy.data.objects.new("Instance", None)
    empty.instance_type, empty.instance_collection = "COLLECTION", library
    bpy.context.scene.collection.objects.link(empty)
    for frame in (7, FRAME):
        scenes.visit(frame)
    bpy.context.view_layer.objects.active = empty
    assert not bpy.ops.foot_ik.plan.poll()


def test_an_override_that_blender_saves_by_itself_has_its_plan(tmp_path, addon):
    """Auto Save calls no handler; in the file bones without keys hold what was shown, until the add-on opens it."""
    ob = override(linked_in(scenes.walker("slope", ready=False, prepare=unkeyed), tmp_path))
    bpy.ops.foot_ik.detect_legs()
    bpy.ops.foot_ik.plan()
    scenes.visit(FRAME)
    raw = scenes.shown(ob)
    pose = live(ob)
    before_save = addon("blender.handlers").before_save
    bpy.app.handlers.save_pre.remove(before_save)
    scenes.save(tmp_path / "auto.blend")
    bpy.app.handlers.save_pre.insert(0, before_save)
    scenes.load(tmp_path / "auto.blend")
    ob = next(o for o in bpy.data.objects if o.type == "ARMATURE" and o.override_library)
    assert scenes.gaps(scenes.shown(ob), pose).max() < SAME
    ob.foot_ik.enabled = False
    assert scenes.gaps(scenes.shown(ob), raw).max() < SAME


def test_an_override_whose_library_is_missing_is_refused_by_its_name(tmp_path):
    ob = override(linked_in(scenes.walker("slope"), tmp_path))
    ob.foot_ik.enabled = True
    scenes.save(tmp_path / "shot.blend")
    (library,) = bpy.data.libraries
    Path(bpy.path.abspath(library.filepath)).unlink()
    scenes.load(tmp_path / "shot.blend")
    ob = next(o for o in bpy.data.objects if o.override_library and not o.library)
    bpy.context.view_layer.objects.active = ob
    scenes.visit(FRAME)
    for operator in (bpy.ops.foot_ik.plan, bpy.ops.foot_ik.bake):
        with pytest.raises(RuntimeError, match="is missing: bring its library"):
            operator()
    assert ob.foot_ik.plan
