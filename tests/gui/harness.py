"""Runs test functions in a real Blender window, between redraws, and writes down how they ended.

A script of tests/gui is handed to Blender with --python by tools/run_gui.py:

    def test_something():
        ...                    # what a user does
        yield 0.5              # seconds in which Blender draws
        screenshot("name")     # build/gui/name.png

    harness.run(test_something)

Blender's folder is the repository's root, also inside the root folder of ../shared/tools/real-blender, where it
is called /project.
"""
import os
import subprocess
import traceback
from pathlib import Path

import bpy

ROOT = Path(__file__).resolve().parent.parent.parent
OUTPUT = ROOT / "build" / "gui"
START_SECONDS = 1.0  # until the window has been drawn once


def run(*tests):
    """Run the generator functions one after the other from a timer, then write the verdict and quit."""
    bpy.context.preferences.view.show_splash = False
    waits = steps(tests)
    bpy.app.timers.register(lambda: next(waits, None), first_interval=START_SECONDS, persistent=True)


def steps(tests):
    """Yield the seconds to wait before each next step; the first test that fails does not stop the others."""
    lines = []
    try:
        for test in tests:
            try:
                yield from test()
                lines.append(f"passed {test.__name__}")
            except Exception:
                traceback.print_exc()
                lines.append(f"failed {test.__name__}")
                screenshot(f"{test.__name__}_failed")
    finally:
        Path(os.environ["FOOT_IK_VERDICT"]).write_text("\n".join(lines) + "\n")
        bpy.ops.wm.quit_blender()


def install():
    """Install the archive of dist/ as Install from Disk in the preferences does, and enable it."""
    (archive,) = (ROOT / "dist").glob("foot_ik-*.zip")
    with bpy.context.temp_override(window=bpy.context.window_manager.windows[0]):
        bpy.ops.extensions.package_install_files(filepath=str(archive), repo="user_default", enable_on_install=True)


def view3d():
    """Context override of the first 3D viewport: `with view3d(): bpy.ops...`, `bpy.context.space_data`."""
    window = bpy.context.window_manager.windows[0]
    area = next(a for a in window.screen.areas if a.type == "VIEW_3D")
    region = next(r for r in area.regions if r.type == "WINDOW")
    return bpy.context.temp_override(window=window, area=area, region=region)


def show_sidebar(category):
    """Open the sidebar of the 3D viewport at a tab. The tab exists only after a redraw: yield in between."""
    with view3d():
        bpy.context.space_data.show_region_ui = True
    yield 0.5
    with view3d():
        region = next(r for r in bpy.context.area.regions if r.type == "UI")
        region.active_panel_category = category
        region.tag_redraw()
    yield 0.5


def screenshot(name):
    """Picture of the whole screen. (bpy.ops.screen.screenshot is black under software OpenGL.)"""
    subprocess.run(["import", "-window", "root", str(OUTPUT / f"{name}.png")], check=True)


def key(name):
    """Press and release a key, as a user does: X11's names, such as Escape."""
    subprocess.run(["xdotool", "mousemove", "500", "400", "key", name], check=True)


def drag(start, end):
    """Drag with the left mouse button, between two places in pixels from the window's top left, as a user does."""
    (x, y), (x2, y2) = start, end
    steps = [["mousemove", str(x - 5), str(y)], ["mousemove", str(x), str(y)], ["mousedown", "1"],
             ["mousemove", str((x + x2) // 2), str(y2)], ["mousemove", str(x2), str(y2)], ["mouseup", "1"]]
    hand = subprocess.Popen(["xdotool", *(word for step in steps for word in (*step, "sleep", "0.3"))])
    while hand.poll() is None:
        yield 0.1
