"""The installed archive: it registers what the contract names, goes without a trace, and comes back."""
import importlib

import addon_utils
import bpy
import pytest
from blender import scenes
from blender.conftest import MODULE, enable

OPERATORS = ("detect_legs", "plan", "bake", "clear")
SETTINGS = ("enabled", "influence", "pelvis", "legs", "ground_source", "ground_collection", "floor_height", "contacts")
WEIGHTS = ("position_weight", "rotation_weight", "lock_weight")
LEG = ("name", "upper", "lower", "foot", "toe", "enabled", *WEIGHTS, "solver", "reach", "max_stretch")
HANDLERS = ("frame_change_pre", "frame_change_post", "depsgraph_update_pre", "depsgraph_update_post", "save_pre",
            "save_post", "undo_post", "redo_post", "load_post")


def ours():
    """The application handlers of the add-on, by list."""
    return {name: sum(f.__module__.startswith(MODULE) for f in getattr(bpy.app.handlers, name)) for name in HANDLERS}


def test_names_of_the_contract():
    ob = scenes.walker("slope")
    assert set(SETTINGS) <= set(ob.foot_ik.bl_rna.properties.keys())
    assert set(LEG) <= set(ob.foot_ik.legs[0].bl_rna.properties.keys())
    assert {"leg", "start", "end", "mode", "edited"} <= set(ob.foot_ik.contacts[0].bl_rna.properties.keys())
    for name in OPERATORS:
        assert getattr(bpy.ops.foot_ik, name).poll()
    bake = bpy.ops.foot_ik.bake.get_rna_type().properties
    assert {"frame_start", "frame_end", "step", "target"} <= set(bake.keys())
    assert (bake["step"].default, bake["target"].default) == (1, "NEW_ACTION")


def test_only_weights_can_be_animated():
    """What is keyed acts at its frame in renders too; the rest is read once and so must not be keyed."""
    ob = scenes.walker("slope")
    legs = ob.foot_ik.legs[0]
    animatable = {p.identifier for g in (ob.foot_ik, legs) for p in g.bl_rna.properties
                  if p.is_animatable and p.type in ("FLOAT", "BOOLEAN", "ENUM", "INT") and not p.is_hidden}
    assert animatable == {"influence", "lean", *WEIGHTS}


def test_every_setting_says_what_it_does():
    ob = scenes.walker("slope")
    for group in (ob.foot_ik, ob.foot_ik.legs[0], ob.foot_ik.contacts[0]):
        for prop in group.bl_rna.properties:
            if prop.identifier != "rna_type" and not prop.is_hidden:
                assert prop.description and not prop.description.endswith("."), prop.identifier


def test_disabled_add_on_leaves_nothing_registered_and_its_settings_in_the_file():
    ob = scenes.walker("slope")
    ob.foot_ik.enabled = True
    pose = scenes.shown(ob, 20)
    before = ours()
    assert all(before.values())
    for _ in range(3):
        addon_utils.disable(MODULE)
        assert set(ours().values()) == {0}
        assert not hasattr(bpy.types.Object, "foot_ik")
        assert not hasattr(bpy.types, "FOOT_IK_OT_bake")
        scenes.visit(7)
        enable()
        assert ours() == before
    assert ob.foot_ik.enabled and len(ob.foot_ik.legs) == 2
    assert scenes.gaps(scenes.shown(ob, 20), pose).max() < 1e-6


def test_core_does_not_need_blender():
    core = importlib.import_module(f"{MODULE}.core.plan")
    assert not hasattr(core, "bpy")


@pytest.mark.parametrize("kind", ("EMPTY", "MESH", "CAMERA"))
def test_objects_that_are_no_armatures_are_left_alone(kind):
    data = {"EMPTY": lambda: None, "MESH": lambda: bpy.data.meshes.new("M"),
            "CAMERA": lambda: bpy.data.cameras.new("C")}[kind]()
    ob = bpy.data.objects.new(kind, data)
    bpy.context.scene.collection.objects.link(ob)
    ob.foot_ik.enabled = True
    ob.foot_ik.influence = 0.5
    for frame in (1, 2):
        bpy.context.scene.frame_set(frame)
    ob.foot_ik.enabled = False
