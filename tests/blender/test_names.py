"""What things are called does not matter: quotes, brackets, backslashes, data paths, other scripts, names as long as
Blender takes them; of bones, properties, objects, actions, tracks, collections and legs, all the way through.
"""
from itertools import cycle

import bpy
import numpy as np
import pytest
from blender import scenes

FRAMES = (4, 9, 14, 19)
END = 20
SAME = 1e-6
LONGEST = 63
"""Bytes of the name of a bone."""
STYLES = {
    "syntax": ('"{}"', "{}\"]['x", "pose.bones[\"{}\"].location", "\\{}\\n\\", "..{}..", " {}\t%s\n ", "'{}", "[0]{}"),
    "scripts": ("左の{}骨", "عظم {} ـ", "🦶🏽{}é", "кость {}", "हड्डी {}", "{}́̂", "ﬁ{}ß", "ｌｅｇ{}"),
    "longest": ("{}",),
}


@pytest.fixture(params=STYLES)
def named(request):
    """What names things anew."""
    patterns = cycle(STYLES[request.param])

    def named(name):
        new = next(patterns).replace("{}", name)
        return new + "x" * (LONGEST - len(new)) if request.param == "longest" else new

    return named


def keyed_property(ob):
    """Arms and feet have a custom property with keys."""
    for bone in ob.pose.bones:
        bone["pro"] = 0.5
        bone.keyframe_insert('["pro"]', frame=1)


def walker():
    ob = scenes.walker("deck", prepare=keyed_property)
    bpy.context.scene.frame_end = END
    return ob


def renamed(ob, named):
    """Give all that has a name another one; returns {old: new} of the bones."""
    names = {bone.name: named(bone.name) for bone in ob.data.bones}
    for bone in ob.data.bones:
        bone.name = names[bone.name]
    for things in (bpy.data.objects, bpy.data.meshes, bpy.data.armatures, bpy.data.actions, bpy.data.collections,
                   bpy.data.scenes, [bpy.context.view_layer]):
        for thing in list(things):
            thing.name = named(thing.name)
    assert [bone.name for bone in ob.data.bones] == list(names.values())
    return names


def poses(ob):
    """(frames, bones, 4, 4) as shown, and as a scene shows them that no window does."""
    seen = scenes.shown_over(ob, FRAMES)
    other = bpy.data.scenes.new("Other")
    for o in bpy.context.scene.objects:
        other.collection.objects.link(o)
    behind = []
    for frame in FRAMES:
        scenes.visit(frame, other)
        behind.append(scenes.evaluated_pose(ob, other.view_layers[0].depsgraph))
    bpy.data.scenes.remove(other)
    scenes.visit(FRAMES[0])
    return seen, np.array(behind)


@pytest.fixture(scope="module")
def expected(extension):
    """The poses of the walker with its own names: as animated, and corrected."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    ob = walker()
    raw = scenes.shown_over(ob, FRAMES)
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    ob.foot_ik.enabled = True
    corrected = scenes.shown_over(ob, FRAMES)
    assert scenes.gaps(corrected, raw).max() > 0.03
    return raw, corrected


def test_names_do_not_matter(expected, named):
    raw, corrected = expected
    ob = walker()
    legs = [(leg.name, leg.upper, leg.lower, leg.foot, leg.toe) for leg in ob.foot_ik.legs]
    pelvis, collection = ob.foot_ik.pelvis, bpy.data.collections["Ground"]
    names = renamed(ob, named)
    assert bpy.ops.foot_ik.detect_legs() == {"FINISHED"}
    found = {(leg.upper, leg.lower, leg.foot, leg.toe) for leg in ob.foot_ik.legs}
    assert found == {tuple(names[bone] for bone in leg[1:]) for leg in legs} and ob.foot_ik.pelvis == names[pelvis]
    for leg in ob.foot_ik.legs:
        leg.name = named(leg.name)
    ob.foot_ik.ground_source, ob.foot_ik.ground_collection = "COLLECTION", collection
    before = scenes.channels(ob)
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    ob.foot_ik.contacts[0].mode = "LOCK"
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    assert [c.edited for c in ob.foot_ik.contacts].count(True) == 1
    assert {c.leg for c in ob.foot_ik.contacts} == {leg.name for leg in ob.foot_ik.legs}
    ob.foot_ik.enabled = True
    for pose in poses(ob):
        assert scenes.gaps(pose, corrected).max() < SAME and scenes.angles(pose, corrected).max() < SAME
    scenes.visit(1)
    ob.foot_ik.enabled = False
    assert scenes.channels(ob) == before
    original = ob.animation_data.action
    for target in ("NEW_ACTION", "NLA"):
        ob.animation_data.action = original
        assert bpy.ops.foot_ik.bake(target=target) == {"FINISHED"}
        assert scenes.gaps(scenes.shown_over(ob, FRAMES), corrected).max() < 1e-5
    assert bpy.ops.foot_ik.clear() == {"FINISHED"}
    for track in list(ob.animation_data.nla_tracks)[1:]:
        ob.animation_data.nla_tracks.remove(track)
    assert scenes.gaps(scenes.shown_over(ob, FRAMES), raw).max() < SAME


def test_moved_bones_are_called_by_their_names(named):
    ob = walker()
    names = renamed(ob, named)
    assert bpy.ops.foot_ik.detect_legs() == {"FINISHED"}
    bone = ob.pose.bones[names["shin.R"]]
    bone.driver_add("rotation_quaternion", 1).driver.expression = "0.2"
    with pytest.raises(RuntimeError) as refusal:
        bpy.ops.foot_ik.plan()
    assert f"The bone {bone.name} is moved by a driver" in str(refusal.value)
