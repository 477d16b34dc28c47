"""The add-on comes and goes cleanly: enabled, disabled, reloaded, installed over itself; and what that costs."""
import sys
import time
import zipfile
from pathlib import Path

import addon_utils
import bpy
import pytest
from blender import scenes
from blender.conftest import MODULE, ROOT, enable

FRAME = 20
STARTUP = 0.05
"""Seconds of processor time that the add-on may cost a start of Blender."""


def registered():
    """All that Blender lets one see of what the add-on has registered."""
    handlers = {name: [f.__module__ for f in of if f.__module__.startswith(MODULE)] for name in dir(bpy.app.handlers)
                if isinstance(of := getattr(bpy.app.handlers, name), list)}
    kinds = (bpy.types.Panel, bpy.types.Operator, bpy.types.UIList, bpy.types.PropertyGroup, bpy.types.Menu,
             bpy.types.Header, bpy.types.AddonPreferences, bpy.types.Gizmo, bpy.types.GizmoGroup)
    classes = {cls.__name__ for kind in kinds for cls in kind.__subclasses__()
               if cls.__module__.startswith(MODULE) and cls.is_registered}
    names = {name for name in dir(bpy.types) if "foot_ik" in name.lower() or name.startswith("FootIK")}
    properties = {(name, prop) for name in dir(bpy.types) if hasattr(kind := getattr(bpy.types, name), "bl_rna")
                  for prop in dir(kind) if "foot_ik" in prop}
    menus = {name for name in dir(bpy.types) for f in getattr(getattr(getattr(bpy.types, name), "draw", None),
             "_draw_funcs", ()) if f.__module__.startswith(MODULE)}
    keys = [item.idname for config in bpy.context.window_manager.keyconfigs for keymap in config.keymaps
            for item in keymap.keymap_items if item.idname.startswith("foot_ik.")]
    return {"handlers": {name: of for name, of in handlers.items() if of}, "classes": classes, "names": names,
            "properties": properties, "menus": menus, "keys": keys, "operators": set(dir(bpy.ops.foot_ik))}


def timers(addon):
    """The timers of the add-on that are registered."""
    return [f for f in (addon("blender.handlers").show_again, addon("ui.state").redraw, addon("ui.state").redraw_all)
            if bpy.app.timers.is_registered(f)]


def test_disabled_add_on_leaves_nothing_registered(addon):
    before, overlay, state = registered(), addon("ui.overlay"), addon("ui.state")
    assert {prop for _, prop in before["properties"]} == {"foot_ik"} and len(before["classes"]) > 20
    for _ in range(3):
        state.changed()
        assert timers(addon)
        drawn = list(overlay._handles)
        assert drawn
        addon_utils.disable(MODULE)
        assert not any(registered().values())
        assert not timers(addon) and not addon("ui.command_line")._registered
        for handle in drawn:
            with pytest.raises(ValueError, match="already removed"):
                bpy.types.SpaceView3D.draw_handler_remove(*handle)
        enable()
        assert registered() == before


def test_file_works_on_after_the_add_on_was_disabled_while_live():
    """The pose is the animated one, in every frame, and no handler is left that would fail."""
    ob = scenes.walker("slope")
    raw = scenes.shown_over(ob, (FRAME, FRAME + 9))
    ob.foot_ik.enabled = True
    assert scenes.gaps(scenes.shown(ob, FRAME), raw[0]).max() > 0.05
    addon_utils.disable(MODULE)
    assert (scenes.shown(ob) == raw[0]).all()
    assert (scenes.shown_over(ob, (FRAME, FRAME + 9)) == raw).all()
    bpy.context.view_layer.update()


def installed():
    return Path(sys.modules[MODULE].__file__).parent


@pytest.mark.parametrize("work", ("detect_legs", "plan_clip"))
def test_work_under_way_ends_when_the_add_on_is_disabled(addon, work):
    """As in a window, where Blender then drops the operator half-done; gui/test_states.py has it run in one."""
    def driven(ob):
        """Legs without keys; a driver, so that each frame is visited."""
        scenes.remove_curves(ob, lambda path, _: "shin" in path or "thigh" in path)
        ob.driver_add("location", 0).driver.expression = "0"

    ob, frames = scenes.walker("slope", prepare=driven), (3, 20)
    raw = scenes.shown_over(ob, frames)
    ob.foot_ik.enabled = True
    shown, before = scenes.shown_over(ob, frames), scenes.everything()
    operators, context = addon("ui.operators"), bpy.context
    under_way = operators.Stepped()
    under_way._steps = getattr(addon("blender.planning"), work)(context.scene, ob)
    under_way._timer = context.window_manager.event_timer_add(10.0, window=context.window_manager.windows[0])
    under_way._object = ob.name
    operators._running.append(under_way)
    for _ in range(8):
        next(under_way._steps)
    assert scenes.gaps(scenes.shown(ob), raw[1]).max() > 0.01
    addon_utils.disable(MODULE)
    assert context.scene.frame_current == frames[-1] and scenes.gaps(scenes.shown(ob), raw[1]).max() == 0
    assert scenes.gaps(scenes.shown_over(ob, frames), raw).max() == 0
    addon_utils.enable(MODULE)
    addon("blender.handlers").show_again()
    assert scenes.gaps(scenes.shown_over(ob, frames), shown).max() < 1e-6
    assert scenes.differences(before, scenes.everything()) == []


def test_reload_scripts_reads_all_files_anew():
    """As Reload Scripts does, and Blender itself where a file is newer than what it has loaded."""
    ob = scenes.walker("slope")
    ob.foot_ik.enabled = True
    pose = scenes.shown(ob, FRAME)
    old = sys.modules[f"{MODULE}.core.plan"]
    bpy.utils.load_scripts(reload_scripts=True)
    assert addon_utils.check(MODULE) == (True, True)
    ob = scenes.rig()
    assert scenes.gaps(scenes.shown(ob, FRAME + 1), pose).max() > 0
    assert sys.modules[f"{MODULE}.core.plan"] is not old
    assert scenes.gaps(scenes.shown(ob, FRAME), pose).max() < 1e-6
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}


def test_newer_version_takes_over_while_the_old_one_is_live(tmp_path):
    (archive,) = (ROOT / "dist").glob("foot_ik-*.zip")
    newer = tmp_path / archive.name
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(newer, "w") as new:
        for name in old.namelist():
            text = old.read(name)
            if name.endswith("blender_manifest.toml"):
                text = text.replace(b'version = "0.', b'version = "9.')
            elif name.endswith("blender/bake.py"):
                text = text.replace(b'SUFFIX = " Foot IK"', b'SUFFIX = " Newer"')
            new.writestr(name, text)
    ob = scenes.walker("slope")
    ob.foot_ik.enabled = True
    pose = scenes.shown(ob, FRAME)
    for path, suffix in ((newer, " Newer"), (archive, " Foot IK")):
        bpy.ops.extensions.package_install_files(filepath=str(path), repo="user_default", enable_on_install=True)
        ob = scenes.rig()
        scenes.visit(1)
        assert scenes.gaps(scenes.shown(ob, FRAME), pose).max() < 1e-6
        with bpy.context.temp_override(object=ob):
            assert bpy.ops.foot_ik.bake(frame_start=1, frame_end=2) == {"FINISHED"}
        assert ob.animation_data.action.name.endswith(suffix)
        scenes.load(bpy.data.filepath)
        scenes.rig().foot_ik.enabled = True


def test_nothing_is_written_but_what_is_asked_for(tmp_path, monkeypatch):
    """A whole session leaves no file in the working folder, the user's folder or the temporary one."""
    watched = [installed(), tmp_path, Path(bpy.app.tempdir)]
    monkeypatch.chdir(tmp_path)

    def files():
        return {p for folder in watched for p in folder.rglob("*") if "__pycache__" not in p.parts}

    ob = scenes.walker("slope")
    before = files()
    for work in (bpy.ops.foot_ik.detect_legs, bpy.ops.foot_ik.plan, bpy.ops.foot_ik.toggle):
        assert work() == {"FINISHED"}
    scenes.shown(ob, FRAME)
    assert bpy.ops.foot_ik.bake() == {"FINISHED"}
    assert bpy.ops.foot_ik.clear() == {"FINISHED"}
    assert files() == before


def loaded():
    """Names of the add-on's modules that Python has loaded, without the add-on's own."""
    return {name.removeprefix(f"{MODULE}.") for name in sys.modules if name.startswith(f"{MODULE}.")}


@pytest.fixture
def as_started(monkeypatch):
    """Enables the add-on as a start of Blender does, with no module of it loaded and its files compiled before."""
    def start():
        addon_utils.disable(MODULE)
        for name in [MODULE, *(f"{MODULE}.{name}" for name in loaded())]:
            sys.modules.pop(name, None)
        start = time.process_time()
        enable()
        return time.process_time() - start

    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    start()
    return start


def test_enabling_costs_a_start_of_blender_less_than_50_ms(as_started):
    assert min(as_started() for _ in range(3)) < STARTUP


def test_nothing_that_works_is_loaded_before_there_is_work(as_started, tmp_path):
    """A file without corrected rigs is opened, played, edited, saved and undone without NumPy and the solvers."""
    as_started()
    ob = scenes.walker(ready=False)
    scenes.shown_over(ob, (1, 2))
    ob.animation_data.action.update_tag()
    bpy.context.view_layer.update()
    for message in ("before", "after"):
        bpy.ops.ed.undo_push(message=message)
    bpy.ops.ed.undo()
    scenes.save(tmp_path / "plain.blend")
    scenes.load(tmp_path / "plain.blend")
    assert {name for name in loaded() if not name.startswith("ui")} == {"blender", "blender.handlers"}
    assert not scenes.rig().is_property_set("foot_ik")
    with bpy.context.temp_override(object=scenes.rig()):
        bpy.ops.foot_ik.detect_legs()
    assert "core.legs" in loaded()


def test_a_scene_in_which_nothing_is_corrected_is_not_looked_through_in_each_frame(addon, monkeypatch):
    """To look at twenty thousand objects takes 5 ms, and there are three handlers. Once something is, it is seen."""
    ob, looks = scenes.walker("slope"), []
    handlers, scene = addon("blender.handlers"), bpy.context.scene
    corrected = handlers.corrected
    monkeypatch.setattr(handlers, "corrected", lambda objects: looks.append(1) or corrected(objects))
    handlers.rigs_in(scene)
    looks.clear()
    assert handlers.rigs_in(scene) == [] and not looks
    ob.foot_ik.enabled = True
    assert handlers.rigs_in(scene) == [ob]
