"""Sampling from F-curves: the same as stepping, and not where something else moves the rig or the ground."""
import json
from collections.abc import Callable

import bpy
import numpy as np
import pytest
from blender import scenes
from mathutils import Euler, Matrix, Quaternion

CLOSE = 1e-5
"""Of a leg, and of a matrix: Blender's matrices hold 7 digits."""
MODES = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "QUATERNION", "AXIS_ANGLE")
SCALES = ("FULL", "FIX_SHEAR", "ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY")
FRAMES = [1, 2, 7, 13, 20]


@pytest.fixture
def both(addon):
    """Samples of an armature by stepping and from its curves, and its weights from both; and why it must be stepped."""
    clips, curves, rigs = (addon(f"blender.{name}") for name in ("clips", "curves", "rig"))

    def sample(ob: bpy.types.Object, frames: list[int]) -> tuple:
        scene, rig = bpy.context.scene, rigs.read_rig(ob)
        steps = clips.sample_clip(scene, ob, rig, frames, why="asked for")
        while True:
            try:
                next(steps)
            except StopIteration as end:
                stepped, weights, _ = end.value
                break
        read, over = curves.read_curves(ob, rig, np.array(frames))
        return stepped, weights, read, over, curves.obstacle(scene, ob, rig)

    return sample


def assert_same(stepped, weights, read, over) -> None:
    """Both samples put every bone in the same place, to `CLOSE`."""
    for name in stepped.pose:
        a, b = (s.world @ s.pose[name] for s in (stepped, read))
        size = np.linalg.norm(stepped.world[:, :3, :3], axis=(1, 2)).max() + np.abs(stepped.world[:, :3, 3]).max()
        assert np.abs(a - b).max() < CLOSE * size, name
        assert np.abs(stepped.basis[name] - read.basis[name]).max() < CLOSE * np.abs(stepped.basis[name]).max(), name
    assert np.abs(stepped.carrier - read.carrier).max() < CLOSE
    assert np.abs(stepped.location - read.location).max() < CLOSE * max(np.abs(stepped.location).max(), 1)
    for name in ("position", "rotation", "lock", "lean"):
        assert np.abs(getattr(weights, name) - getattr(over, name)).max() < 1e-6


def keyed(ob: bpy.types.Object, path: str, size: int, random: np.random.Generator, around: float = 0.0) -> None:
    """Key a property of an object, or of its pose, at random; some elements and frames are left out."""
    owner, _, name = path.rpartition(".")
    owner = ob.path_resolve(owner) if owner else ob
    for frame in (1, 8, 20):
        for i in range(size):
            if random.random() < 0.8:
                value = getattr(owner, name)
                value[i] = around + random.uniform(-0.7, 0.7)
                owner.keyframe_insert(name, index=i, frame=frame)


def odd_rig(seed: int) -> bpy.types.Object:
    """The walker, its bones in every rotation mode and way of inheriting, with random keys, on a moving parent."""
    random = np.random.default_rng(seed)
    ob = scenes.walker("flat")
    deck, base = (bpy.data.objects.new(name, None) for name in ("Deck", "Base"))
    for empty in (deck, base):
        bpy.context.scene.collection.objects.link(empty)
    deck.parent, ob.parent = base, deck
    deck.matrix_parent_inverse = Matrix.LocRotScale((0.3, 0.1, 0), Euler((0.1, 0.2, 0.3)), (1, 1, 1.2))
    for empty, mode in ((deck, MODES[seed % 8]), (base, "XYZ"), (ob, MODES[(seed + 3) % 8])):
        empty.rotation_mode = mode
        path = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}.get(mode, "rotation_euler")
        keyed(empty, path, len(getattr(empty, path)), random, 0.3)
        keyed(empty, "location", 3, random)
        empty.delta_location, empty.delta_scale = random.uniform(-1, 1, 3), random.uniform(0.8, 1.2, 3)
        empty.delta_rotation_euler = random.uniform(-1, 1, 3)
        empty.delta_rotation_quaternion = Quaternion(random.uniform(-1, 1, 4))
    for i, bone in enumerate(ob.pose.bones):
        bone.rotation_mode = MODES[(i + seed) % 8]
        bone.bone.inherit_scale = SCALES[(i + seed) % 6]
        bone.bone.use_inherit_rotation = random.random() < 0.7
        bone.bone.use_local_location = random.random() < 0.6
        bone.rotation_quaternion = random.uniform(-1, 1, 4)  # not unit
        path = f'pose.bones["{bone.name}"].'
        for name, size, around in (("location", 3, 0.0), ("rotation_euler", 3, 0.0), ("rotation_axis_angle", 4, 0.2),
                                   ("rotation_quaternion", 4, 0.2), ("scale", 3, 1.0)):
            if random.random() < 0.7:
                keyed(ob, path + name, size, random, around)
    for name, around in (("influence", 0.5), ("lean", 0.4)):
        for frame in (1, 20):
            setattr(ob.foot_ik, name, around + random.uniform(-0.3, 0.3))
            ob.foot_ik.keyframe_insert(name, frame=frame)
    ob.foot_ik.legs[1].lock_weight = 0.4
    ob.foot_ik.legs[1].keyframe_insert("lock_weight", frame=3)
    return ob


@pytest.mark.parametrize("seed", range(6))
def test_curves_tell_what_stepping_tells(both, seed):
    *samples, why = both(odd_rig(seed), FRAMES)
    assert why == ""
    assert_same(*samples)


def test_curves_that_loop_or_end(both):
    """Modifiers, extrapolation, muted curves and curves of which only some elements are keyed."""
    ob = scenes.walker("flat")
    for k, curve in enumerate(scenes.curves(ob.animation_data.action).values()):
        if k % 5 == 0:
            curve.modifiers.new("CYCLES")
        curve.extrapolation = ("LINEAR", "CONSTANT")[k % 2]
        curve.mute = k % 7 == 0
    *samples, why = both(ob, [-40, 1, 3, 46, 47, 120])
    assert why == ""
    assert_same(*samples)


def test_every_clip_of_the_lab(both, lab, shared):
    """All the motions that the lab knows, in some of their frames."""
    for name in json.loads((shared / "motions" / "manifest.json").read_text()):
        try:
            clip = lab.load(name)
        except (KeyError, RuntimeError):  # names of actions in .glb files differ before 4.5
            assert bpy.app.version < (4, 5, 0)
            continue
        assert bpy.ops.foot_ik.detect_legs() == {"FINISHED"}
        scene = bpy.context.scene
        *samples, why = both(clip.rig, list(range(scene.frame_start, scene.frame_end + 1, 25)))
        assert why == "", name
        assert_same(*samples)


# What stands in the way

def constrained(ob):
    ob.pose.bones["spine"].constraints.new("COPY_ROTATION")
    ob.pose.bones["hips"].constraints.new("LIMIT_LOCATION")


def leg_by_ik(ob):
    ob.pose.bones["toe.L"].constraints.new("IK").chain_count = 3


def driven(ob):
    ob.pose.bones["shin.R"].driver_add("rotation_quaternion", 1)


def with_strip(ob):
    ob.animation_data.nla_tracks.new().strips.new("Strip", 1, ob.animation_data.action)


def on_a_bone(ob):
    carrier = ob.copy()
    bpy.context.scene.collection.objects.link(carrier)
    ob.parent, ob.parent_type, ob.parent_bone = carrier, "BONE", "head"


def on_a_constrained_parent(ob):
    parent = bpy.data.objects.new("Parent", None)
    parent.constraints.new("COPY_LOCATION")
    bpy.context.scene.collection.objects.link(parent)
    ob.parent = parent


def remapped(ob):
    bpy.context.scene.render.frame_map_new = 200


def switched(ob):
    ob.pose.bones["hips"].keyframe_insert("rotation_mode", frame=1)


def ik_that_is_switched_on(ob):
    ik = ob.pose.bones["toe.L"].constraints.new("IK")
    ik.chain_count, ik.mute = 3, True
    ik.keyframe_insert("mute", frame=1)


def with_a_broken_key(ob):
    scenes.curve(ob, "thigh.L", "rotation_quaternion", 1).keyframe_points[3].co.y = 3e38


def weight_by_name(ob):
    bag, path = scenes.bag(ob), 'foot_ik.legs["Left"].position_weight'
    bag.fcurves.new(path, index=0).keyframe_points.insert(1, 0.5)


@pytest.mark.parametrize("change", (constrained, leg_by_ik, driven, with_strip, on_a_bone, on_a_constrained_parent,
                                    remapped, switched, ik_that_is_switched_on, weight_by_name,
                                    with_a_broken_key),
                         ids=lambda f: f.__name__)
def test_what_else_moves_a_rig_is_named(addon, change: Callable):
    ob = scenes.walker("flat")
    change(ob)
    assert addon("blender.curves").obstacle(bpy.context.scene, ob, addon("blender.rig").read_rig(ob))


@pytest.mark.parametrize("module", ("another", "bl_ext.user_default.foot_ik_tools"))
def test_a_handler_of_another_add_on_is_named(addon, module):
    def writes(*_):
        ob.pose.bones["hips"].location.x = 1.0

    writes.__module__ = module
    ob = scenes.walker("flat")
    bpy.app.handlers.frame_change_post.append(writes)
    try:
        why = addon("blender.curves").obstacle(bpy.context.scene, ob, addon("blender.rig").read_rig(ob))
    finally:
        bpy.app.handlers.frame_change_post.remove(writes)
    assert "writes" in why


def test_what_moves_other_bones_does_no_harm(both):
    ob = scenes.walker("flat")
    ob.pose.bones["hand.L"].constraints.new("IK").chain_count = 3
    ob.pose.bones["head"].constraints.new("LIMIT_ROTATION")
    ob.pose.bones["forearm.R"].driver_add("rotation_quaternion", 2)
    *samples, why = both(ob, FRAMES)
    assert why == ""
    assert_same(*samples)


def test_weights_stay_in_their_limits(both):
    """Curves may overshoot their keys."""
    ob = scenes.walker("flat")
    curve = scenes.bag(ob).fcurves.new("foot_ik.influence", index=0)
    for frame, value in ((1, 2.0), (scenes.LAST, -1.0)):
        curve.keyframe_points.insert(frame, value)
    *samples, why = both(ob, [1, 20, scenes.LAST])
    assert why == "" and np.ptp(samples[1].position) == 1
    assert_same(*samples)


# Ground

def bending(ground):
    ground.modifiers.new("Wave", "WAVE")


def keyed_modifier(ground):
    bevel = ground.modifiers.new("Bevel", "BEVEL")
    bevel.keyframe_insert("width", frame=1)


def followed(ground):
    ground.constraints.new("COPY_ROTATION").target = scenes.rig()


def growing(ground):
    ground.keyframe_insert("scale", frame=1)


def blinking(ground):
    ground.keyframe_insert("hide_viewport", frame=1)


def drawn_as_wire(ground):
    ground.display_type = "WIRE"
    ground.keyframe_insert("display_type", frame=1)


def instances_that_follow(ground):
    maker = bpy.data.objects.new("Maker", None)
    bpy.context.scene.collection.objects.link(maker)
    maker.instance_type, maker.instance_collection = "COLLECTION", ground.users_collection[0]
    followed(maker)


def grown_from_points(_):
    cloud = bpy.data.objects.new("Cloud", bpy.data.pointclouds.new("Cloud"))
    bpy.context.scene.collection.objects.link(cloud)
    cloud.modifiers.new("Nodes", "NODES")


@pytest.mark.parametrize("change", (bending, keyed_modifier, followed, growing, blinking, drawn_as_wire,
                                    instances_that_follow, grown_from_points), ids=lambda f: f.__name__)
def test_ground_that_must_be_stepped_through_is_named(addon, change):
    ob = scenes.walker("flat")
    assert addon("blender.curves").ground_obstacle(bpy.context.scene, ob) == ""
    change(bpy.data.objects["Ground"])
    assert addon("blender.curves").ground_obstacle(bpy.context.scene, ob)


def plan_by(addon, monkeypatch, ob: bpy.types.Object, why: str) -> np.ndarray:
    """The plan of an armature, `why` being what its rig has to be stepped through for."""
    monkeypatch.setattr(addon("blender.clips"), "obstacle", lambda *_: why)
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    plan = addon("blender.store").unpack_plan(ob.foot_ik.plan).plan
    return np.concatenate([plan.pelvis[..., None], *(m for foot in plan.feet for m in (foot.move, foot.turn))], 2)


@pytest.mark.parametrize("ground", ("stairs", "deck"))
def test_plans_from_curves_and_from_stepping_are_the_same(addon, monkeypatch, ground):
    """To a tenth of a millimetre: the planner compares, and Blender's matrices hold 7 digits."""
    ob = scenes.walker(ground)
    read, stepped = (plan_by(addon, monkeypatch, ob, why) for why in ("", "asked for"))
    assert np.abs(read - stepped).max() < 1e-4


def test_the_frame_that_is_shown_does_not_move_the_ground(addon, monkeypatch):
    """That stands still in the clip and rises later."""
    ob, ground = scenes.walker("flat"), bpy.data.objects["Ground"]
    for frame, height in ((1, 0.0), (scenes.LAST + 4, 0.0), (scenes.LAST + 14, 1.0)):
        ground.location.z = height
        ground.keyframe_insert("location", frame=frame)
    plans = []
    for frame in (1, scenes.LAST + 14):
        scenes.visit(frame)
        plans.append(plan_by(addon, monkeypatch, ob, ""))
    assert (plans[0] == plans[1]).all()


def test_the_report_tells_why_the_scene_was_stepped_through():
    ob = scenes.walker("deck")
    assert json.loads(ob.foot_ik.report)["stepped_because"] == ""
    followed(bpy.data.objects["Ground"])
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    assert json.loads(ob.foot_ik.report)["stepped_because"] == "Ground has a constraint"


def test_a_bake_is_what_live_shows_where_knees_are_nearly_straight(lab):
    """These make a tenth of a millimetre of the seventh digit of the pose, so a bake does not go by the curves."""
    clip = lab.load("bandai_turn")
    ob = clip.rig
    lab.ground("stairs", clip, lab.sample(clip))
    assert bpy.ops.foot_ik.detect_legs() == {"FINISHED"} == bpy.ops.foot_ik.plan()
    frames = range(bpy.context.scene.frame_start, bpy.context.scene.frame_end + 1)
    ob.foot_ik.enabled = True
    live = scenes.shown_over(ob, frames)
    assert bpy.ops.foot_ik.bake() == {"FINISHED"}
    assert scenes.gaps(scenes.shown_over(ob, frames), live).max() * ob.matrix_world.median_scale < 1e-5 * clip.u
