"""The archive installs into a real Blender, and its panel shows in the sidebar."""
import sys
from pathlib import Path

import bpy

sys.path.insert(0, str(Path(__file__).parent))
import harness


def test_panel_in_sidebar():
    harness.install()
    yield 0.5
    assert hasattr(bpy.types.Object, "foot_ik")
    panels = [p for p in bpy.types.Panel.__subclasses__() if getattr(p, "bl_category", "") == "Foot IK"]
    assert panels and all(p.is_registered for p in panels)
    yield from harness.show_sidebar("Foot IK")
    harness.screenshot("install")


harness.run(test_panel_in_sidebar)
