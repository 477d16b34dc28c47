"""The floor that Detect Legs proposes."""
from __future__ import annotations

from math import pi

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


def on_a_leaning_bone(ob, height: float) -> None:
    """The character hangs on a bone of a vehicle, which leans at rest, `height` above the vehicle's floor."""
    data = bpy.data.armatures.new("Vehicle")
    vehicle = bpy.data.objects.new("Vehicle", data)
    bpy.context.scene.collection.objects.link(vehicle)
    bpy.context.view_layer.objects.active = vehicle
    bpy.ops.object.mode_set(mode="EDIT")
    bone = data.edit_bones.new("seat")
    bone.head, bone.tail = (0.0, 0.2, -0.3), (0.4, 0.5, 0.7)
    bpy.ops.object.mode_set(mode="OBJECT")
    vehicle.rotation_euler.z = 0.7
    ob.parent, ob.parent_type, ob.parent_bone = vehicle, "BONE", "seat"
    bpy.context.view_layer.update()
    ob.matrix_world = Matrix.Translation((0.0, 0.0, height))
    bpy.context.view_layer.objects.active = ob
    bpy.context.view_layer.update()


def test_a_rig_on_a_bone_that_leans_at_rest_is_planned_as_by_itself():
    ob = scenes.walker("slope")
    alone = [(c.leg, c.start, c.end) for c in ob.foot_ik.contacts]
    ob.foot_ik.enabled = True
    poses = scenes.shown_over(ob, (5, 20, 33))
    bpy.ops.foot_ik.clear()
    on_a_leaning_bone(ob, 0.6)
    bpy.data.objects["Ground"].location.z = 0.6
    assert detected(ob) == pytest.approx(0.6, abs=MILLIMETRE)
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    assert [(c.leg, c.start, c.end) for c in ob.foot_ik.contacts] == alone
    ob.foot_ik.enabled = True
    assert scenes.gaps(scenes.shown_over(ob, (5, 20, 33)), poses).max() < MILLIMETRE / 10


def test_a_character_that_is_placed_higher_below_a_parent_whose_y_is_up():
    ob = scenes.walker("flat", ready=False)
    empty = bpy.data.objects.new("Y Up", None)
    bpy.context.scene.collection.objects.link(empty)
    empty.rotation_euler.x, empty.scale = pi / 2, (0.01,) * 3
    bpy.context.view_layer.update()
    ob.parent, ob.matrix_parent_inverse = empty, empty.matrix_world.inverted()
    ob.location.z = 0.6
    assert detected(ob) == pytest.approx(60.0, abs=100 * MILLIMETRE)
