"""The same motion gives the same result, however a rig holds it, and a world that is moved, mirrored or scaled moves,
mirrors or scales the result: joints and soles, live and baked, to a ten-thousandth of a leg.
"""
from dataclasses import replace
from functools import lru_cache
from math import pi, sin

import bpy
import numpy as np
import pytest
from blender import creatures
from blender.creatures import Expression, Gait, Motion
from mathutils import Matrix

LAST = 32
SAME = 1e-4
"""Of a leg: Blender keeps matrices in single precision."""
SEEN = (31, 7, 24, 1, 18)
"""Frames that are looked at live, in this order; the bake is looked at in all."""
GROUNDS = ("slope", "stairs", "uneven", "kerb")
WALK = Motion(gait=Gait(turn=0.2))


def mixamo(name):
    words = {"hips": "Hips", "spine": "Spine", "head": "Head", "thigh": "UpLeg", "shin": "Leg", "foot": "Foot",
             "toe": "ToeBase"}
    base, _, side = name.partition(".")
    return "mixamorig1:" + {"L": "Left", "R": "Right", "": ""}[side] + words.get(base, base)


def unreal(name):
    base, _, side = name.partition(".")
    words = {"hips": "pelvis", "spine": "spine_01", "shin": "calf", "toe": "ball"}
    return words.get(base, base) + (side and f"_{side.lower()}")


def corrected(expression, kind, motion=WALK, last=LAST, fps=30.0, stage=None, prepare=lambda ob, ground: None):
    """Places (F, P, 3) of joints and soles when baked, in all frames; live they are the same in `SEEN`."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    ob = creatures.build(motion, expression, last, fps, stage)
    prepare(ob, creatures.ground(kind, stage))
    size = 1.0 if stage is None else stage.median_scale
    raw = creatures.points(ob, motion, expression, (SEEN[0],), stage)
    assert bpy.ops.foot_ik.detect_legs() == {"FINISHED"}
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    ob.foot_ik.enabled = True
    live = creatures.points(ob, motion, expression, SEEN, stage)
    assert np.abs(live[0] - raw[0]).max() > 0.02 * size
    assert bpy.ops.foot_ik.bake() == {"FINISHED"}
    baked = creatures.points(ob, motion, expression, range(1, last + 1), stage)
    assert np.abs(baked[np.array(SEEN) - 1] - live).max() < 1e-5 * size
    return baked


@lru_cache
def plain(kind, motion=WALK):
    return corrected(Expression(), kind, motion)


TURN = Matrix.Rotation


def sailing(frame):
    """A ship that goes ahead, turns, rises and rolls."""
    s = frame / LAST
    return (Matrix.Translation((0.6 * s, -1.5 * s, 0.2 * sin(5 * s))) @ TURN(0.8 * s, 4, "Z")
            @ TURN(0.1 * sin(6 * s), 4, "X"))


RIGS = {
    "rolls": Expression(rolls=(0.0, 1.1, -2.5, pi)),
    "centimetres, lying": Expression(place=TURN(pi / 2, 4, "X") @ Matrix.Scale(0.01, 4)),
    "a hundred times, turned": Expression(place=Matrix.Translation((3, 1, 0)) @ TURN(2.0, 4, "Z") @ TURN(0.4, 4, "Y")
                                          @ Matrix.Scale(100, 4)),
    "mirrored object": Expression(place=Matrix.Scale(-1, 4, (1, 0, 0)), rolls=(0.3, -0.8)),
    "turned inside out": Expression(place=Matrix.Scale(-2, 4)),
    "mixamo": Expression(rename=mixamo, rolls=(0.4,)),
    "unreal, tails elsewhere": Expression(rename=unreal, tails=(0.0, 0.05, 0.02)),
    "mixed modes": Expression(modes=("XYZ", "QUATERNION", "AXIS_ANGLE", "ZYX", "YZX", "XZY", "YXZ", "ZXY")),
    "axis and angle": Expression(modes=("AXIS_ANGLE",), rolls=(0.0, 1.5)),
    "quaternions too long": Expression(quaternion=1.7),
    "quaternions too short": Expression(quaternion=0.05),
    "delta transforms": Expression(delta=True, place=Matrix.Translation((0, 0, 0.4)) @ TURN(0.5, 4, "Z")
                                   @ Matrix.Scale(2, 4)),
    "rotation not inherited": Expression(inherit_rotation=False, rolls=(0.7, 0.0)),
    "disconnected, locked, hidden": Expression(connect=False, lock=True, hide=True),
    "location not local": Expression(use_local_location=False, rolls=(1.0, 0.2)),
    "the other way under an empty that moves": Expression(parent=sailing, rolls=(0.5,)),
    **{f"scale inherited {kind}": Expression(inherit_scale=kind) for kind in
       ("ALIGNED", "NONE", "AVERAGE", "FIX_SHEAR", "NONE_LEGACY")},
}


@pytest.mark.parametrize("name, kind", [(name, GROUNDS[i % len(GROUNDS)]) for i, name in enumerate(RIGS)])
def test_the_same_motion_in_another_rig(name, kind):
    assert np.abs(corrected(RIGS[name], kind) - plain(kind)).max() < SAME


def test_a_mirrored_scene_mirrors_the_result():
    mirror = Matrix.Scale(-1, 4, (1, 0, 0))
    result = corrected(Expression(), "slope", stage=mirror)
    assert np.abs(result * (-1, 1, 1) - plain("slope")).max() < SAME


@pytest.mark.parametrize("size, kind", ((100.0, "stairs"), (0.01, "uneven")))
def test_a_scaled_scene_scales_the_result(size, kind):
    result = corrected(Expression(), kind, stage=Matrix.Scale(size, 4))
    assert np.abs(result / size - plain(kind)).max() < SAME


@pytest.mark.parametrize("kind", ("stairs", "kerb"))
def test_a_scene_that_rides_along_stays_the_same_in_its_own_space(kind):
    def ride(ob, ground):
        creatures.ride([ob, ground], sailing, LAST)

    result = corrected(Expression(), kind, prepare=ride)
    back = np.array([sailing(f).inverted() for f in range(1, LAST + 1)])
    result = np.einsum("fij,fpj->fpi", back[:, :3, :3], result) + back[:, None, :3, 3]
    assert np.abs(result - plain(kind)).max() < SAME
    assert bpy.context.object.foot_ik.floor_space == "PARENT"


def test_a_parent_that_moves_a_cycle_on_the_spot_over_the_ground():
    walk = replace(WALK, gait=replace(WALK.gait, in_place=True))

    def move(ob, _ground):
        creatures.ride([ob], lambda f: Matrix.Translation(WALK.path((f - 1) / 30)[0]), LAST)

    expected = plain("stairs")
    assert np.abs(corrected(Expression(), "stairs", walk, prepare=move) - expected).max() < SAME
    assert bpy.context.object.foot_ik.floor_space == "WORLD"


def test_a_rig_that_was_parented_to_something_askew():
    """The floor of its clip is that of the world."""
    def hang(ob, _ground):
        empty = bpy.data.objects.new("Askew", None)
        bpy.context.scene.collection.objects.link(empty)
        empty.matrix_basis = Matrix.Translation((1, 2, 3)) @ TURN(0.05, 4, "X") @ TURN(1.0, 4, "Z")
        ob.parent, ob.matrix_parent_inverse = empty, empty.matrix_basis.inverted()

    expected = plain("kerb")
    assert np.abs(corrected(Expression(), "kerb", prepare=hang) - expected).max() < SAME
    assert bpy.context.object.foot_ik.floor_space == "WORLD"


@pytest.mark.parametrize("kind", ("slope", "uneven", "stairs"))
def test_twice_the_frames_in_the_same_time(kind):
    """What a plan keeps in seconds does not depend on the frame rate, and contacts begin and end between the frames;
    with what speed a foot leaves the ground is only known from these."""
    double = corrected(Expression(), kind, last=2 * LAST - 1, fps=60.0)
    assert np.linalg.norm(double[::2] - plain(kind), axis=-1).max() < 7e-3
