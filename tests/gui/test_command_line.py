"""A real Blender finds the command of the installed extension: its exit codes, what it prints, and when it is gone."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import bpy

sys.path.insert(0, str(Path(__file__).parent))
import harness

MODULE = "bl_ext.user_default.foot_ik"
FOLDER = harness.OUTPUT / "command_line"


def blender(*arguments):
    """Run another Blender with the same user folder: exit code, lines on stdout, stderr."""
    done = subprocess.run([bpy.app.binary_path, *arguments], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout.splitlines(), done.stderr


def commands(change=""):
    """The commands that `--command help` lists, after a change by Python."""
    listed = ("--python-expr", change) if change else ()
    return [line.strip() for line in blender("--background", *listed, "--command", "help")[1]]


def test_command_on_a_file():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    shot, out = FOLDER / "shot.blend", FOLDER / "out.blend"
    shutil.copy(harness.ROOT / "sample_scenes" / "slope.blend", shot)
    before = shot.read_bytes()
    harness.install()
    bpy.ops.wm.save_userpref()
    yield 0.5
    code, lines, _ = blender("--background", str(shot), "--command", "foot_ik", "bake", "--json", "--output", str(out))
    (result,) = (json.loads(line) for line in lines if line.startswith("{"))
    assert code == 0 and result["output"] == str(out) and result["objects"][0]["report"]["made_by"] == "BAKE"
    assert sorted(os.listdir(FOLDER)) == [out.name, shot.name]
    assert shot.read_bytes() == before
    code, lines, _ = blender(str(out), "--command", "foot_ik", "report")
    assert code == 0 and any("Baked frames 1-106" in line for line in lines)
    code, lines, errors = blender(str(shot), "--command", "foot_ik", "report")
    assert code == 1 and "plan or bake it first" in errors
    code, lines, errors = blender(str(shot), "--command", "foot_ik", "bake", "--step", "half")
    assert code == 2 and "usage: blender FILE.blend --command foot_ik bake" in errors


def test_command_is_listed_once_and_goes_with_the_add_on():
    addon = f"import addon_utils as a; a.disable({MODULE!r})"
    assert commands().count("foot_ik") == 1
    yield 0.0
    assert commands(addon).count("foot_ik") == 0
    assert commands(f"{addon}; a.enable({MODULE!r})").count("foot_ik") == 1


harness.run(test_command_on_a_file, test_command_is_listed_once_and_goes_with_the_add_on)
