"""Legs are found on real rigs, as Blender's importers and Rigify make them."""
import importlib
import json
import math
from pathlib import Path

import bpy
import pytest
from mathutils import Matrix

MANIFEST = Path(__file__).resolve().parents[3] / "shared" / "motions" / "manifest.json"
CLIPS = json.loads(MANIFEST.read_text()) if MANIFEST.is_file() else {}


def find(addon, ob):
    """Pelvis and legs as plain tuples."""
    found = addon("blender.detect").detect(ob, bpy.context.evaluated_depsgraph_get())
    return found.pelvis, [(leg.name, leg.upper, leg.lower, leg.foot, leg.toe) for leg in found.legs], found.notes


def load_rig(lab, name):
    try:
        return lab.load(name).rig
    except KeyError:  # Blender 4.2 names a glTF file's actions otherwise; legs are found in any pose
        return next(ob for ob in bpy.data.objects if ob.type == "ARMATURE")


@pytest.mark.skipif(not CLIPS, reason=f"needs the motions, which {MANIFEST} lists")
@pytest.mark.parametrize("name", CLIPS)
def test_every_clip_gives_the_legs_of_the_manifest(addon, lab, name):
    spec = CLIPS[name]
    assert find(addon, load_rig(lab, name)) == (spec["hips"], [("Left", *spec["L"]), ("Right", *spec["R"])], ())


def mesh_armature(bones):
    """An armature of (name, parent, head, tail)."""
    ob = bpy.data.objects.new("rig", bpy.data.armatures.new("rig"))
    bpy.context.scene.collection.objects.link(ob)
    bpy.context.view_layer.objects.active = ob
    bpy.ops.object.mode_set(mode="EDIT")
    for name, parent, head, tail in bones:
        bone = ob.data.edit_bones.new(name)
        bone.head, bone.tail = head, tail
        bone.parent = ob.data.edit_bones.get(parent)
    bpy.ops.object.mode_set(mode="OBJECT")
    return ob


def test_skeleton_is_read_in_its_spaces(addon):
    ob = mesh_armature([("hips", "", (0, 0, 1), (0, 0, 1.2)), ("thigh.L", "hips", (0.1, 0, 1), (0.1, 0, 0.5))])
    ob.matrix_world = Matrix.Rotation(math.pi / 2, 4, "X") @ Matrix.Scale(0.01, 4)
    ob.pose.bones["hips"].location = (0, 0.5, 0)  # along the bone, which is z of the armature
    bpy.context.view_layer.update()
    skeleton = addon("blender.detect").read_skeleton(ob, bpy.context.evaluated_depsgraph_get())
    assert skeleton.names == ("hips", "thigh.L")
    assert skeleton.parents.tolist() == [-1, 0]
    assert skeleton.heads[1].tolist() == pytest.approx([0.1, 0, 1])
    assert skeleton.tails[1].tolist() == pytest.approx([0.1, 0, 0.5])
    assert skeleton.posed[0, 1].tolist() == pytest.approx([0.001, -0.015, 0], abs=1e-7)


def test_an_armature_without_bones_is_refused(addon):
    with pytest.raises(Exception, match="by hand in the Legs panel"):
        find(addon, mesh_armature([]))


def rigify_metarig(module):
    """A metarig of the Rigify that comes with Blender."""
    if "rigify" not in bpy.context.preferences.addons:
        bpy.ops.preferences.addon_enable(module="rigify")
    ob = mesh_armature([])
    bpy.ops.object.mode_set(mode="EDIT")
    importlib.import_module(f"rigify.metarigs.{module}").create(ob)
    bpy.ops.object.mode_set(mode="OBJECT")
    return ob


def legs_of(label, *bones):
    return [(f"{label} {side}".strip(), *(f"{b}.{side[0]}" for b in bones)) for side in ("Left", "Right")]


HUMAN = legs_of("", "thigh", "shin", "foot", "toe")
QUADRUPED = legs_of("Front", "front_thigh", "front_shin", "front_foot", "front_toe") + legs_of(
    "Hind", "thigh", "shin", "foot", "toe")


@pytest.mark.parametrize("module, pelvis, legs", [
    ("human", "spine", HUMAN),
    ("Basic.basic_human", "spine", HUMAN),
    ("Basic.basic_quadruped", "spine.004", QUADRUPED),
    ("Animals.wolf", "spine.004", QUADRUPED),
    ("Animals.horse", "spine.001", legs_of("Front", "upper_arm", "forearm", "forefoot", "f_toe")
     + legs_of("Hind", "thigh", "lower_leg", "hind_foot", "r_toe")),
    ("Animals.cat", "spine", legs_of("Front", "upper_arm", "forearm", "hand", "f_toe")
     + legs_of("Hind", "thigh", "shin", "foot", "r_toe")),
    ("Animals.bird", "spine.003", HUMAN),
])
def test_rigify_metarigs(addon, module, pelvis, legs):
    assert find(addon, rigify_metarig(module)) == (pelvis, legs, ())


def test_a_shark_has_no_legs(addon):
    with pytest.raises(Exception, match="by hand in the Legs panel"):
        find(addon, rigify_metarig("Animals.shark"))


def test_generated_rigify_rig(addon):
    metarig = rigify_metarig("Basic.basic_human")
    metarig.select_set(True)
    bpy.ops.pose.rigify_generate()
    rig = next(o for o in bpy.data.objects if o.type == "ARMATURE" and o is not metarig)
    assert find(addon, rig) == ("torso", legs_of("", "DEF-thigh", "DEF-shin", "DEF-foot", "DEF-toe"), ())
