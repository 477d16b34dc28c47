"""What other programs get: exporters step through the frames themselves, and the feet that they write are the corrected
ones, live as baked; the file that is exported stays as it is.
"""
from __future__ import annotations

import addon_utils
import bpy
import numpy as np
import pytest
from blender import scenes

FRAMES = (3, 11, 20, 26)
JOINTS = ("hips", "shin.L", "foot.L", "shin.R", "foot.R", "hand.L")
SAME = 1e-4
"""Metres: formats keep floats, some of them in degrees or other units."""


def gltf(mode):
    def write(path):
        addon_utils.enable("io_scene_gltf2")
        bpy.ops.export_scene.gltf(filepath=path, export_animation_mode=mode)

    return write, lambda path: bpy.ops.import_scene.gltf(filepath=path), "walk.glb"


def fbx(**options):
    def write(path):
        addon_utils.enable("io_scene_fbx")
        bpy.ops.export_scene.fbx(filepath=path, bake_anim_simplify_factor=0.0, **options)

    return write, lambda path: bpy.ops.import_scene.fbx(filepath=path), "walk.fbx"


SKELETONS = {"gltf": gltf("ACTIVE_ACTIONS"), "gltf_scene": gltf("SCENE"), "gltf_actions": gltf("ACTIONS"),
             "fbx": fbx(bake_anim_use_all_actions=False, bake_anim_use_nla_strips=False), "fbx_actions": fbx()}
CACHES = {
    "alembic": (lambda path: bpy.ops.wm.alembic_export(filepath=path, start=1, end=FRAMES[-1], as_background_job=False),
                lambda path: bpy.ops.wm.alembic_import(filepath=path, as_background_job=False), "walk.abc"),
    "usd": (lambda path: bpy.ops.wm.usd_export(filepath=path, export_animation=True, export_armatures=False),
            lambda path: bpy.ops.wm.usd_import(filepath=path), "walk.usd")}


def heads():
    """(joints, 3): the heads of some bones in the world."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    ob = next(o for o in bpy.data.objects if o.type == "ARMATURE").evaluated_get(depsgraph)
    return np.array([ob.matrix_world @ ob.pose.bones[name].head for name in JOINTS])


def skin():
    """(vertices, 3): the character's mesh in the world."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    ob = next(o for o in bpy.data.objects if o.type == "MESH" and "Mannequin" in o.name).evaluated_get(depsgraph)
    mesh = ob.to_mesh()
    return np.array([ob.matrix_world @ vertex.co for vertex in mesh.vertices[:500]])


def over(read, frames=FRAMES):
    out = []
    for frame in frames:
        scenes.visit(frame)
        out.append(read())
    return np.array(out)


def short(ob):
    bpy.context.scene.frame_end = FRAMES[-1]


def exported(way, measure, folder, baked=False):
    """Export the corrected walk and read the file into an empty scene; what is measured before that, in some frames."""
    write, read, name = way
    ob = scenes.walker("slope", prepare=short)
    raw = over(measure)
    ob.foot_ik.enabled = True
    shown = over(measure)
    assert np.abs(shown - raw).max() > 0.05
    if baked:
        assert bpy.ops.foot_ik.bake() == {"FINISHED"}
    scenes.visit(5)
    before, pose = scenes.everything(), scenes.shown(ob)
    write(str(folder / name))
    scenes.visit(5)  # the FBX exporter leaves the frame, and rounds what the channels of bones hold
    assert [d for d in scenes.differences(before, scenes.everything()) if "/channels/" not in d] == []
    assert scenes.gaps(scenes.shown(ob), pose).max() < 1e-6
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bpy.context.scene.render.fps = scenes.FPS
    read(str(folder / name))
    return shown


@pytest.mark.parametrize("way, baked", [*((way, False) for way in SKELETONS), ("gltf_scene", True), ("fbx", True)])
def test_exported_skeletons_are_corrected(way, baked, tmp_path):
    shown = exported(SKELETONS[way], heads, tmp_path, baked)
    ob = next(o for o in bpy.data.objects if o.type == "ARMATURE")
    first = round(ob.animation_data.action.frame_range[0])  # importers differ in where they begin
    assert np.abs(over(heads, [f - 1 + first for f in FRAMES]) - shown).max() < SAME


def unkeyed(ob):
    """A leg without keys, which no frame brings back."""
    short(ob)
    scenes.remove_curves(ob, lambda path, _: not any(f"{bone}.L" in path for bone in ("thigh", "shin", "foot")))


def test_a_pose_that_an_exporter_puts_back_is_still_known_for_a_corrected_one(tmp_path):
    """The FBX exporter does so by matrices, for each action, which turns 0.3 into 0.30000001."""
    ob = scenes.walker("slope", prepare=unkeyed)
    scenes.visit(20)
    before, raw = scenes.channels(ob), scenes.shown(ob)
    ob.foot_ik.enabled = True
    assert scenes.gaps(scenes.shown(ob), raw).max() > 0.01
    SKELETONS["fbx_actions"][0](str(tmp_path / "walk.fbx"))
    ob.foot_ik.enabled = False
    for name, values in scenes.channels(ob).items():
        assert values[1:] == pytest.approx(before[name][1:], abs=1e-6), name


@pytest.mark.parametrize("way", CACHES)
def test_exported_caches_are_corrected(way, tmp_path):
    shown = exported(CACHES[way], skin, tmp_path)
    assert np.abs(over(skin) - shown).max() < SAME
