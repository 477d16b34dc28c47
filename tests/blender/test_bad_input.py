"""What cannot be done is refused in one sentence that tells what to do, and nothing has changed."""
import bpy
import pytest
from blender import scenes

FRAME = 20
OPERATORS = ("detect_legs", "plan", "bake")


# Faults: each spoils a walker that is set up and planned.

def no_legs(ob):
    ob.foot_ik.legs.clear()


def legs_off(ob):
    for leg in ob.foot_ik.legs:
        leg.enabled = False


def missing_bone(ob):
    ob.foot_ik.legs[0].lower = "no such bone"


def missing_toe(ob):
    ob.foot_ik.legs[0].toe = "no such bone"


def missing_pelvis(ob):
    ob.foot_ik.pelvis = "no such bone"


def no_pelvis(ob):
    ob.foot_ik.pelvis = ""


def not_a_chain(ob):
    ob.foot_ik.legs[0].lower = "shin.R"


def same_foot_twice(ob):
    for name in ("upper", "lower", "foot", "toe"):
        setattr(ob.foot_ik.legs[1], name, getattr(ob.foot_ik.legs[0], name))


def bones_without_length(ob):
    bpy.ops.object.mode_set(mode="EDIT")
    bones = ob.data.edit_bones
    bones["shin.L"].use_connect = bones["foot.L"].use_connect = False
    bones["shin.L"].head = bones["thigh.L"].head
    bpy.ops.object.mode_set(mode="OBJECT")


def constrained_leg(ob):
    target = bpy.data.objects.new("Target", None)
    target.location = (0.3, 0.0, 0.4)
    bpy.context.scene.collection.objects.link(target)
    ik = ob.pose.bones["shin.L"].constraints.new("IK")
    ik.target, ik.chain_count = target, 2


def constrained_later(ob):
    """The constraint acts in the second half of the clip only."""
    constrained_leg(ob)
    ik = ob.pose.bones["shin.L"].constraints[0]
    for frame, influence in ((30, 0.0), (40, 1.0)):
        ik.influence = influence
        ik.keyframe_insert("influence", frame=frame)


def driven_channel(ob):
    ob.pose.bones["thigh.L"].driver_add("rotation_quaternion", 1).driver.expression = "0.2"


def connected_pelvis(ob):
    bpy.ops.object.mode_set(mode="EDIT")
    bones = ob.data.edit_bones
    bones["root"].tail = bones["hips"].head
    bones["hips"].use_connect = True
    bpy.ops.object.mode_set(mode="OBJECT")


def hidden(ob):
    ob.hide_viewport = True


def excluded(ob):
    collection = bpy.data.collections.new("Character")
    bpy.context.scene.collection.children.link(collection)
    collection.objects.link(ob)
    bpy.context.scene.collection.objects.unlink(ob)
    bpy.context.view_layer.layer_collection.children["Character"].exclude = True


def edit_mode(ob):
    bpy.ops.object.mode_set(mode="EDIT")


def rest_position(ob):
    ob.data.pose_position = "REST"


def nothing_as_scale(ob):
    ob.scale = (0.0, 0.0, 0.0)


def flat_scale(ob):
    ob.scale = (1.0, 1.0, 0.0)


def key_that_is_no_number(ob):
    for point in scenes.curve(ob, "thigh.R", "rotation_quaternion", 1).keyframe_points:
        point.co.y = float("nan") if point.co.x == 30 else point.co.y


def collection_not_set(ob):
    ob.foot_ik.ground_source, ob.foot_ik.ground_collection = "COLLECTION", None


def collection_deleted(ob):
    ob.foot_ik.ground_source, ob.foot_ik.ground_collection = "COLLECTION", bpy.data.collections["Ground"]
    bpy.data.collections.remove(bpy.data.collections["Ground"])


def empty_collection(ob):
    ob.foot_ik.ground_source, ob.foot_ik.ground_collection = "COLLECTION", bpy.data.collections.new("Nothing")


def ground_deleted(ob):
    bpy.data.objects.remove(bpy.data.objects["Ground"])


def ground_without_numbers(ob):
    for vertex in bpy.data.objects["Ground"].data.vertices:
        vertex.co.z = float("nan")


def tweaked_strip(ob):
    data = ob.animation_data
    action = data.action
    data.action = None
    strip = data.nla_tracks.new().strips.new("Walk", 1, action)
    if hasattr(strip, "action_slot"):
        strip.action_slot = action.slots[0]
    data.nla_tracks[0].select = strip.select = True
    data.use_tweak_mode = True


def solo_track(ob):
    data = ob.animation_data
    data.nla_tracks.new().strips.new("Walk", 1, data.action)
    data.nla_tracks[0].is_solo = True


def blended_action(ob):
    data = ob.animation_data
    data.nla_tracks.new().strips.new("Walk", 1, data.action)
    data.action_blend_type = "ADD"


FAULTS = {  # fault: (operators that refuse it, words of the sentence)
    no_legs: ("plan bake", "press Detect Legs"),
    legs_off: ("plan bake", "press Detect Legs"),
    missing_bone: ("plan bake", "Pick the lower leg bone of the leg Left"),
    missing_toe: ("plan bake", "Pick the toe bone"),
    missing_pelvis: ("plan bake", "Pick the pelvis bone"),
    no_pelvis: ("plan bake", "Pick the pelvis bone"),
    not_a_chain: ("plan bake", "not one chain"),
    same_foot_twice: ("plan bake", "same foot bone"),
    bones_without_length: ("plan bake", "no length"),
    constrained_leg: ("plan bake", "to the object Target: make a bone of Mannequin the target"),
    constrained_later: ("plan bake", "moved by the constraint IK"),
    driven_channel: ("plan bake", "moved by a driver"),
    connected_pelvis: ("plan bake", "disconnect it"),
    hidden: ("detect_legs plan bake", "hidden"),
    excluded: ("detect_legs plan bake", "Select an armature"),  # Blender has no active object then
    edit_mode: ("detect_legs plan bake", "leave it first"),
    rest_position: ("detect_legs plan bake", "Pose Position"),
    nothing_as_scale: ("detect_legs plan bake", "scale"),
    flat_scale: ("detect_legs plan bake", "scale"),
    key_that_is_no_number: ("detect_legs plan bake", "not a number"),
    collection_not_set: ("plan", "Pick the collection"),
    collection_deleted: ("plan", "Pick the collection"),
    empty_collection: ("plan", "no ground to stand on"),
    ground_deleted: ("plan", "no ground to stand on"),
    ground_without_numbers: ("plan", "no ground to stand on"),
    tweaked_strip: ("bake", "leave tweak mode"),
    solo_track: ("bake", "turn Solo off"),
    blended_action: ("bake", "bake to an NLA track"),
}
CASES = [(fault, operator, words) for fault, (operators, words) in FAULTS.items() for operator in operators.split()]


def assert_refused(operator, words, **options):
    """An operator that is refused in one sentence, through Python, and leaves everything as it was."""
    before = scenes.everything()
    with pytest.raises(RuntimeError) as refusal:
        getattr(bpy.ops.foot_ik, operator)(**options)
    text = str(refusal.value).removeprefix("Error: ").strip()
    assert words in text and "\n" not in text and "Traceback" not in text
    assert scenes.differences(before, scenes.everything()) == []


@pytest.mark.parametrize("live", (False, True), ids=("off", "live"))
@pytest.mark.parametrize("fault, operator, words", CASES, ids=[f"{c[0].__name__}-{c[1]}" for c in CASES])
def test_refused_with_nothing_changed(fault, operator, words, live):
    ob = scenes.walker("slope")
    ob.foot_ik.enabled = live and fault is not driven_channel  # which live would fight with its driver
    scenes.visit(FRAME)
    fault(ob)
    if ob.mode != "EDIT":
        scenes.visit(FRAME)
    assert_refused(operator, words)
    pose = scenes.channels(ob) if ob.mode != "EDIT" else None
    for frame in (FRAME + 1, FRAME):
        scenes.visit(frame)
    if pose is not None and fault is not key_that_is_no_number:
        assert scenes.channels(ob) == pose


def limited(ob):
    """The feet turn no farther than they do in the clip."""
    feet = [ob.pose.bones[f"foot.{side}"] for side in "LR"]
    turns = []
    for frame in range(1, scenes.LAST + 1):
        scenes.visit(frame)
        turns.append([foot.matrix_basis.to_euler().x for foot in feet])
    for foot, own in zip(feet, zip(*turns, strict=True), strict=True):
        limit = foot.constraints.new("LIMIT_ROTATION")
        limit.owner_space, limit.use_limit_x, limit.min_x, limit.max_x = "LOCAL", True, min(own) - 0.02, max(own) + 0.02


def keyed_as_constrained(ob):
    """The keys of the bones are what their constraints do, as after a bake to FK that has left these."""
    twin = ob.copy()
    bpy.context.scene.collection.objects.link(twin)
    for bone in ob.pose.bones:
        follow = bone.constraints.new("COPY_TRANSFORMS")
        follow.target, follow.subtarget = twin, bone.name


@pytest.mark.parametrize("fault, words", (
    (limited, "(Limit Rotation of foot.R, Limit Rotation of foot.L)"),
    (keyed_as_constrained, "Copy Transforms of hips, Copy Transforms of thigh.L")), ids=("limits", "keyed"))
def test_constraints_that_hold_the_corrected_pose_alone_back_are_refused(fault, words):
    fault(scenes.walker("slope"))
    scenes.visit(FRAME)
    for operator in ("plan", "bake"):
        assert_refused(operator, words)


@pytest.mark.parametrize("options", (
    {"frame_start": 30, "frame_end": 20}, {"frame_start": 100}, {"frame_end": -5}), ids=str)
def test_empty_range_is_refused(options):
    scenes.walker("slope")
    assert_refused("bake", "set the range", **options)


def test_bake_without_plan_and_without_soles_is_refused():
    ob = scenes.walker("slope")
    ob.foot_ik.plan = ""
    for leg in ob.foot_ik.legs:
        leg.sole = ""
    assert_refused("bake", "press Plan")


def test_unreadable_plan_is_refused_by_the_bake():
    scenes.walker("slope").foot_ik.plan = "not a plan"
    assert_refused("bake", "press Plan")


def test_skeleton_without_legs_is_refused():
    ob = scenes.walker("slope")
    bpy.ops.object.mode_set(mode="EDIT")
    bones = ob.data.edit_bones
    limbs = {"thigh", "shin", "foot", "toe", "upper_arm", "forearm", "hand"}
    for name in [b.name for b in bones if b.name.split(".")[0] in limbs]:
        bones.remove(bones[name])
    bpy.ops.object.mode_set(mode="OBJECT")
    assert_refused("detect_legs", "by hand in the Legs panel")


@pytest.mark.parametrize("operator", (*OPERATORS, "clear"))
def test_operators_are_greyed_out_without_an_armature(operator):
    scenes.walker("slope")
    for ob in (None, bpy.data.objects["Ground"]):
        bpy.context.view_layer.objects.active = ob
        assert not getattr(bpy.ops.foot_ik, operator).poll()


# Libraries

@pytest.fixture
def library(tmp_path):
    """A file with the walker, for linking."""
    ob = scenes.walker("slope")
    collection = bpy.data.collections.new("Character")
    bpy.context.scene.collection.children.link(collection)
    collection.objects.link(ob)
    path = tmp_path / "library.blend"
    scenes.save(path)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bpy.context.scene.frame_end = scenes.LAST
    bpy.context.scene.collection.objects.link(scenes.ground_of("slope"))
    with bpy.data.libraries.load(str(path), link=True) as (_, into):
        into.collections = ["Character"]
    return path


@pytest.mark.parametrize("operator", OPERATORS)
def test_linked_rig_is_refused(library, operator):
    bpy.context.scene.collection.children.link(bpy.data.collections["Character"])
    ob = scenes.rig()
    bpy.context.view_layer.objects.active = ob
    assert ob.library
    assert_refused(operator, "make a library override")


def overridden(editable=True):
    root = bpy.data.collections["Character"]
    bpy.context.scene.collection.children.link(root)
    new = root.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer, do_fully_editable=editable)
    ob = next(o for o in new.all_objects if o.type == "ARMATURE")
    bpy.context.view_layer.objects.active = ob
    return ob


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_override_that_is_not_editable_is_refused(library, operator):
    """Blender would not save what is changed in it."""
    ob = overridden(editable=False)
    ob.foot_ik.enabled = True
    raw = scenes.shown(ob, 33)
    assert not ob.foot_ik.shown
    assert_refused(operator, "is not editable")
    ob.select_set(True)
    bpy.ops.object.make_override_library()
    assert scenes.gaps(scenes.shown(ob, 33), raw).max() > 0.05


def test_library_override_is_corrected_and_leaves_no_trace(library):
    ob = overridden()
    assert ob.override_library and not ob.library
    raw = scenes.shown_over(ob, (20, 33))
    before = scenes.channels(ob)
    assert bpy.ops.foot_ik.detect_legs() == {"FINISHED"}
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    ob.foot_ik.enabled = True
    pose = scenes.shown_over(ob, (20, 33))
    assert scenes.gaps(pose, raw).max() > 0.05
    assert scenes.gaps(scenes.shown_over(ob, (33, 20))[::-1], pose).max() < 1e-6
    scenes.visit(33)
    ob.foot_ik.enabled = False
    assert scenes.channels(ob) == before


@pytest.mark.parametrize("target", ("NEW_ACTION", "NLA"))
def test_library_override_bakes_into_a_local_action(library, target):
    ob = overridden()
    linked = ob.animation_data.action
    before = scenes.action_state(linked)
    ob.foot_ik.enabled = True
    pose = scenes.shown_over(ob, (20, 33))
    assert bpy.ops.foot_ik.bake(target=target) == {"FINISHED"}
    assert scenes.gaps(scenes.shown_over(ob, (20, 33)), pose).max() < 1e-5
    assert linked.library and scenes.action_state(linked) == before
