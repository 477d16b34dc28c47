"""A file that was set up, planned and baked in the oldest Blender goes on in each newer one as if nothing had happened.

`python -m blender.test_versions FOLDER` writes that file and what was shown there.
"""
import os
import subprocess
import sys
from pathlib import Path

import bpy
import numpy as np
import pytest
from blender import scenes

ROOT = Path(__file__).resolve().parent.parent.parent
OLDEST = "4.2.23"
FRAMES = (1, 9, 20.5, 33, 46)
SAME = 1e-4


def kinds_of_ground(ob):
    """Ground whose properties became more since."""
    ground = bpy.data.objects["Ground"]
    for kind in ("BEVEL", "SUBSURF", "SOLIDIFY"):
        ground.modifiers.new(kind, kind)
    for name, data in (("Road", bpy.data.curves.new("Road", "CURVE")), ("Text", bpy.data.curves.new("Text", "FONT"))):
        beside = bpy.data.objects.new(name, data)
        beside.location.x = 5
        bpy.context.scene.collection.objects.link(beside)
    road = bpy.data.curves["Road"]
    road.extrude = 0.1
    road.splines.new("POLY").points.add(1)
    road.splines[0].points[1].co.x = 1


def make(folder):
    """The walker live on such ground, and an action baked from it; saved with the poses that were shown."""
    (archive,) = (ROOT / "dist").glob("foot_ik-*.zip")
    bpy.ops.extensions.package_install_files(filepath=str(archive), repo="user_default", enable_on_install=True)
    ob = scenes.walker("slope", prepare=kinds_of_ground)
    ob.foot_ik.enabled = True
    np.save(folder / "live.npy", scenes.shown_over(ob, FRAMES))
    animated = ob.animation_data.action
    assert bpy.ops.foot_ik.bake() == {"FINISHED"}
    np.save(folder / "baked.npy", scenes.shown_over(ob, FRAMES))
    animated.use_fake_user = ob.animation_data.action.use_fake_user = True
    ob.animation_data.action, ob.foot_ik.enabled = animated, True
    scenes.save(folder / "shot.blend")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    oldest = ROOT / ".venv" / OLDEST
    if bpy.app.version[:2] == tuple(map(int, OLDEST.split(".")[:2])):
        pytest.skip("this is the oldest Blender itself")
    if not (oldest / "requirements.sha256").exists():  # written last
        pytest.skip(f"needs the environment of {OLDEST}: tools/environment.py {OLDEST}")
    folder = tmp_path_factory.mktemp("oldest")
    env = {**os.environ, "BLENDER_USER_RESOURCES": str(folder / "user"), "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"}
    subprocess.run([oldest / "bin" / "python", "-m", "blender.test_versions", folder], env=env, check=True, timeout=300)
    return folder


def test_a_plan_goes_on_in_a_newer_blender(folder, addon):
    scenes.load(folder / "shot.blend")
    ob = scenes.rig()
    assert addon("blender.planning").plan_state(bpy.context.scene, ob) == "CURRENT"
    assert ob.foot_ik.enabled
    assert np.abs(scenes.shown_over(ob, FRAMES) - np.load(folder / "live.npy")).max() < SAME


def test_a_bake_goes_on_in_a_newer_blender(folder):
    scenes.load(folder / "shot.blend")
    ob = scenes.rig()
    baked = next(a for a in bpy.data.actions if a != ob.animation_data.action)
    ob.foot_ik.enabled = False
    ob.animation_data.action = baked
    assert np.abs(scenes.shown_over(ob, FRAMES) - np.load(folder / "baked.npy")).max() < SAME


if __name__ == "__main__":
    make(Path(sys.argv[1]))
    sys.stdout.flush()
    os._exit(0)
