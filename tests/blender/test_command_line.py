"""The command line, called as Blender calls it: with what follows `--command foot_ik`. tests/gui runs it for real."""
import json
import os

import bpy
import pytest
from blender import scenes

from sample_scenes import mannequin, walk

NAMES = ("Mannequin", 'Läufer "2" [b]\\')


@pytest.fixture(scope="module")
def shot(tmp_path_factory):
    """A file with two walkers on a slope, neither set up, and an armature without legs."""
    path = tmp_path_factory.mktemp("shot") / "shot.blend"
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scenes.build("slope")
    scene = bpy.context.scene
    other = mannequin.Maker().add(scene.collection)
    other.name = NAMES[1]
    walk.key(other, scenes.GAIT)
    other.location.x = 0.7
    scene.collection.objects.link(bpy.data.objects.new("Door", bpy.data.armatures.new("Door")))
    scene.frame_end = 16
    scene.frame_set(5)
    scenes.save(path)
    return path


@pytest.fixture
def run(shot, addon, capfd):
    """Runs a command on a file, the shot if none is named: (exit code, JSON or else text, what is on stderr)."""
    def run(*arguments, file=shot):
        if file:
            scenes.load(file)
        capfd.readouterr()
        code = addon("ui.command_line").main(list(arguments))
        out, errors = capfd.readouterr()
        if "--json" in arguments and code != 2:
            (line,) = (line for line in out.splitlines() if line.startswith("{"))
            return code, json.loads(line), errors
        return code, out, errors

    return run


def rows(result):
    return {row["name"]: row for row in result["objects"]}


def test_plan_of_all_animated_rigs_is_saved_to_the_output_alone(run, shot, tmp_path):
    out, input_bytes = tmp_path / "out.blend", shot.read_bytes()
    code, result, _ = run("plan", "--json", "--output", str(out))
    assert code == 0
    assert (result["command"], result["file"], result["output"]) == ("plan", str(shot), str(out))
    assert set(rows(result)) == set(NAMES)
    for row in result["objects"]:
        assert row["done"] and row["refused"] is None
        assert row["report"]["made_by"] == "PLAN" and row["report_state"] == "CURRENT"
        assert row["report"]["overall"]["penetration"]["after"]["worst"] < 0.005
    assert shot.read_bytes() == input_bytes and bpy.data.filepath == str(shot)
    scenes.load(out)
    assert bpy.context.scene.frame_current == 5
    for name in NAMES:
        assert json.loads(scenes.rig(name).foot_ik.report) == rows(result)[name]["report"]
    assert not scenes.rig("Door").foot_ik.legs


def test_without_output_nothing_is_written(run, shot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    input_bytes = shot.read_bytes()
    code, result, _ = run("plan", "--json", "--object", NAMES[0])
    assert (code, result["output"]) == (0, None)
    assert not os.listdir(tmp_path) and shot.read_bytes() == input_bytes


@pytest.mark.parametrize("target", ("NEW_ACTION", "NLA"))
def test_bake_plans_first_and_is_the_bake_of_the_operator(run, shot, tmp_path, target):
    out = tmp_path / "out.blend"
    code, result, _ = run("bake", "--json", "--object", NAMES[0], "--frame-start", "3", "--frame-end", "12",
                          "--step", "2", "--target", target, "--output", str(out))
    assert code == 0 and list(rows(result)) == [NAMES[0]]
    report = rows(result)[NAMES[0]]["report"]
    assert (report["made_by"], report["frame_start"], report["frame_end"]) == ("BAKE", 3, 12)
    scenes.load(out)
    pose = scenes.shown_over(scenes.rig(), range(1, 17))
    scenes.load(shot)
    ob = scenes.rig()
    bpy.context.view_layer.objects.active = ob
    for operator in (bpy.ops.foot_ik.detect_legs, bpy.ops.foot_ik.plan):
        assert operator() == {"FINISHED"}
    assert bpy.ops.foot_ik.bake(frame_start=3, frame_end=12, step=2, target=target) == {"FINISHED"}
    assert scenes.gaps(scenes.shown_over(ob, range(1, 17)), pose).max() < 1e-6


def test_bake_makes_an_old_plan_anew_and_keeps_a_current_one(run, tmp_path):
    out = str(tmp_path / "out.blend")
    assert run("plan", "--object", NAMES[0], "--output", out)[0] == 0
    scenes.load(out)
    plan = scenes.rig().foot_ik.plan
    run("bake", file=None)
    assert scenes.rig().foot_ik.plan == plan
    scenes.load(out)
    bpy.data.objects["Ground"].location.z = 0.02
    run("bake", file=None)
    assert scenes.rig().foot_ik.plan != plan


def test_report_tells_what_the_file_holds(run, tmp_path):
    out = str(tmp_path / "out.blend")
    _, planned, _ = run("plan", "--json", "--object", NAMES[0], "--output", out)
    code, result, _ = run("report", "--json", "--object", NAMES[0], file=out)
    assert code == 0 and rows(result)[NAMES[0]]["report"] == rows(planned)[NAMES[0]]["report"]
    code, result, _ = run("report", "--json", file=out)
    assert code == 1
    assert rows(result)[NAMES[0]]["done"] and "plan or bake it first" in rows(result)[NAMES[1]]["refused"]
    bpy.data.objects["Ground"].location.z = 0.02
    assert rows(run("report", "--json", file=None)[1])[NAMES[0]]["report_state"] == "STALE"


def test_refused_objects_do_not_stop_the_others(run, tmp_path):
    out = tmp_path / "out.blend"
    code, result, _ = run("plan", "--json", "--object", "Door", "--object", NAMES[0], "--object", "Nobody",
                          "--object", "Ground", "--object", NAMES[0], "--output", str(out))
    assert code == 1 and list(rows(result)) == ["Door", NAMES[0], "Nobody", "Ground"]
    assert len(result["objects"]) == 4 and rows(result)[NAMES[0]]["done"] and out.exists()
    assert "by hand in the Legs panel" in rows(result)["Door"]["refused"]
    for name in ("Nobody", "Ground"):
        assert name in rows(result)[name]["refused"] and rows(result)[name]["report"] is None


def test_linked_rig_of_the_same_name_is_told_apart(run, shot, tmp_path):
    """One that was there first is no longer taken for the rig that can be edited."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene, out = bpy.context.scene, tmp_path / "out.blend"
    for link in (True, False):
        with bpy.data.libraries.load(str(shot), link=link) as (_, into):
            into.objects = [NAMES[0], "Ground"]
        for ob in into.objects:
            scene.collection.objects.link(ob)
    assert [ob.name for ob in scene.objects].count(NAMES[0]) == 2 and scene.objects[NAMES[0]].library
    scene.frame_end, linked = 16, f"{NAMES[0]} [shot.blend]"
    code, result, _ = run("plan", "--json", "--output", str(out), file=None)
    assert code == 1 and set(rows(result)) == {NAMES[0], linked}
    assert rows(result)[NAMES[0]]["report_state"] == "CURRENT" and "library override" in rows(result)[linked]["refused"]
    code, result, _ = run("report", "--json", "--object", NAMES[0], "--object", linked, file=out)
    assert rows(result)[NAMES[0]]["done"] and not rows(result)[linked]["done"]


def test_output_may_be_relative_to_the_open_file(run, shot, tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    copy = tmp_path / "shot.blend"
    copy.write_bytes(shot.read_bytes())
    monkeypatch.chdir(tmp_path / "work")
    code, result, _ = run("plan", "--json", "--object", NAMES[0], "--output", "//feet.blend", file=copy)
    assert code == 0 and result["output"] == str(tmp_path / "feet.blend") and os.path.exists(result["output"])


@pytest.mark.parametrize("spoil", ("ground", "driver", "fault"))
def test_refused_object_is_left_as_it_was_and_nothing_saved(run, shot, tmp_path, addon, monkeypatch, spoil):
    """Refused after its legs were detected: they go again."""
    scenes.load(shot)
    if spoil == "ground":
        bpy.data.objects.remove(bpy.data.objects["Ground"])
    elif spoil == "driver":
        scenes.rig().pose.bones["thigh.L"].driver_add("rotation_quaternion", 1).driver.expression = "0.2"
    else:
        monkeypatch.setattr(addon("blender.planning"), "make_plan", lambda *_: {}["no such key"])
        monkeypatch.setattr(addon("blender.batch").traceback, "print_exc", lambda: None)
    scenes.visit(5)
    before = scenes.everything()
    out = tmp_path / "out.blend"
    code, result, _ = run("bake", "--json", "--object", NAMES[0], "--output", str(out), file=None)
    assert code == 1 and not out.exists() and result["output"] is None
    text = rows(result)[NAMES[0]]["refused"]
    assert {"ground": "no ground", "driver": "moved by a driver", "fault": "KeyError"}[spoil] in text
    assert "\n" not in text
    assert scenes.differences(before, scenes.everything()) == []


def test_scene_without_animated_rigs_is_refused(run):
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    code, result, _ = run("plan", "--json", file=None)
    assert code == 1 and "--object" in result["problem"] and result["file"] is None


def test_file_that_cannot_be_written_is_told(run, tmp_path, monkeypatch, addon):
    out = tmp_path / "o" / "out.blend"
    out.parent.mkdir()
    attempt = addon("ui.command_line").attempt

    def attempt_and_lose_the_folder(*args):
        if out.parent.exists():
            out.parent.rmdir()
        return attempt(*args)

    monkeypatch.setattr(addon("ui.command_line"), "attempt", attempt_and_lose_the_folder)
    code, result, _ = run("plan", "--json", "--object", NAMES[0], "--output", str(out))
    assert code == 1 and str(out) in result["problem"] and rows(result)[NAMES[0]]["done"]


@pytest.mark.parametrize("arguments", (
    [], ["stand"], ["plan", "--step", "2"], ["plan", "--obj", "Mannequin"], ["bake", "--step", "half"],
    ["bake", "--target", "nowhere"], ["report", "--output", "a.blend"], ["plan", "--object"],
    ["plan", "--output", "no/such/folder/a.blend"], ["plan", "--output", "/"]), ids=" ".join)
def test_wrong_usage(run, shot, arguments):
    scenes.load(shot)
    before = scenes.everything()
    code, out, errors = run(*arguments, file=None)
    assert code == 2 and "usage: blender FILE.blend --command foot_ik" in errors and not out
    assert scenes.differences(before, scenes.everything()) == []


def test_help_and_text(run):
    for arguments in (["--help"], ["bake", "--help"]):
        code, out, _ = run(*arguments, file=None)
        assert code == 0 and "--command foot_ik" in out
    code, out, errors = run("plan", "--object", NAMES[0], "--object", "Nobody")
    assert code == 1 and "Planned frames 1-16" in out and "no armature called Nobody" in errors


def test_command_goes_with_the_add_on(addon):
    commands = addon("ui.command_line")
    (handle,) = commands._registered
    commands.unregister()
    with pytest.raises(ValueError, match="already been removed"):
        bpy.utils.unregister_cli_command(handle)
    commands.register()
