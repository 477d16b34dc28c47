"""The floor that Detect Legs proposes."""
from __future__ import annotations

import bpy
import pytest
from blender import scenes
from mathutils import Matrix

MILLIMETRE = 1e-3


def detected(ob) -> float:
    assert bpy.ops.foot_ik.detect_legs() == {"FINISHED"}
    return ob.foot_ik.floor_height


def without_mesh(ob) -> None:
    for child in [o for o in bpy.data.objects if o.type == "MESH" and o.find_armature() == ob]:
        bpy.data.objects.remove(child)


@pytest.mark.parametrize("height", [-0.4, -0.05, 0.03, 0.6])
def test_a_character_that_is_placed_higher_stands_on_its_own_height(height):
    ob = scenes.walker("flat", ready=False)
    ob.location.z += height
    assert detected(ob) == pytest.approx(height, abs=MILLIMETRE)


@pytest.mark.parametrize("mesh", [True, False], ids=["mesh", "bones"])
def test_a_clip_that_lifts_its_object_stands_on_zero(mesh):
    """As in files that move the armature object along with the pelvis: its origin is a metre up, the feet are on 0."""
    ob = scenes.walker("flat", ready=False)
    if not mesh:
        without_mesh(ob)
    down = Matrix.Translation((0, 0, -1))
    for skinned in [o for o in bpy.data.objects if o.type == "MESH" and o.find_armature() == ob]:
        skinned.data.transform(down)
    ob.data.transform(down)
    ob.data.update_tag()
    ob.location.z = 1.0
    assert detected(ob) == 0.0


def test_bones_alone_tell_a_floor_that_is_far_off():
    ob = scenes.walker("flat", ready=False)
    without_mesh(ob)
    ob.location.z = 0.5
    assert detected(ob) == pytest.approx(0.5, abs=MILLIMETRE)
    ob.location.z = 0.02  # within what a ball joint may be above the floor: 0 has the benefit of the doubt
    assert detected(ob) == 0.0
