"""Tests inside Blender: each starts from an empty scene, with the extension installed from its archive."""
import importlib
import os
import sys
from pathlib import Path

import pytest

bpy = pytest.importorskip("bpy", reason="needs Blender's Python module")
import addon_utils  # noqa: E402  (comes with bpy)

ROOT = Path(__file__).resolve().parent.parent.parent
MODULE = "bl_ext.user_default.foot_ik"


@pytest.fixture(scope="session", autouse=True)
def extension():
    """The archive of dist/, installed as a user would into an empty user folder."""
    if not os.environ.get("BLENDER_USER_RESOURCES"):
        pytest.exit("start these tests with tools/run_tests.py: they install the extension into a user folder", 4)
    (archive,) = (ROOT / "dist").glob("foot_ik-*.zip")
    bpy.ops.extensions.package_install_files(filepath=str(archive), repo="user_default", enable_on_install=True)
    assert hasattr(bpy.types.Object, "foot_ik"), f"{archive.name} did not register Object.foot_ik"


@pytest.fixture(autouse=True)
def empty_scene(extension):
    """An empty file. `read_factory_settings` would do too, but it disables the extension."""
    enable()
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)


def enable():
    """Enable the extension where a test, or loading the factory settings, has disabled it."""
    if not addon_utils.check(MODULE)[1]:
        addon_utils.enable(MODULE, default_set=True)


@pytest.fixture(scope="session")
def addon(extension):
    """Imports a module of the installed extension: addon("blender.bake")."""
    return lambda name: importlib.import_module(f"{MODULE}.{name}")


@pytest.fixture
def lab(shared, monkeypatch):
    """The lab's `stage` module. Its `load` reads the factory settings, so the extension is enabled after it."""
    monkeypatch.setattr(sys, "path", [str(shared / "lab"), *sys.path])
    stage = importlib.import_module("stage")
    load = stage.load

    def load_and_enable(*args, **kwargs):
        clip = load(*args, **kwargs)
        enable()
        return clip

    monkeypatch.setattr(stage, "load", load_and_enable)
    return stage


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Fail a test in which Blender printed a traceback: it swallows the exceptions of handlers and of drawing."""
    report = yield
    printed = "".join(text for name, text in report.sections if name.endswith(call.when))
    if report.passed and "Traceback (most recent call last)" in printed:
        report.outcome = "failed"
        report.longrepr = "Blender printed a traceback, see the captured output"
    return report
