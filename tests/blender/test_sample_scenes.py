"""The sample scenes hold what they promise: files that open, a walk that stands on its floor, builds that repeat."""
import sys
from pathlib import Path

import numpy as np
import pytest

bpy = pytest.importorskip("bpy", reason="needs Blender's Python module")

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from sample_scenes import build, figures, mannequin, walk  # noqa: E402  (needs the path above)

CUT = 0.002  # metres that a sole may go below its floor: not seen at this scale
STILL = 0.0002  # metres that a standing point may move in a frame: rounding of the keys
SKATING = ("slide", "crowd")


def open_scene(name):
    bpy.ops.wm.open_mainfile(filepath=str(ROOT / "sample_scenes" / f"{name}.blend"))


def walkers():
    return sorted((ob for ob in bpy.context.scene.objects if ob.type == "ARMATURE"), key=lambda ob: ob.name)


def sole_places(rigs):
    """World places of all sole points as rigs x frames x points x 3."""
    scene, places = bpy.context.scene, []
    for frame in range(scene.frame_start, scene.frame_end + 1):
        scene.frame_set(frame)
        places.append([figures.soles(rig) for rig in rigs])
    return np.array(places).swapaxes(0, 1)


@pytest.mark.parametrize("name", build.SCENES)
def test_file_opens_with_its_objects(name):
    open_scene(name)
    scene, rigs = bpy.context.scene, walkers()
    copies = range(1, 20 if name == "crowd" else 1)
    assert [rig.name for rig in rigs] == ["Mannequin", *(f"Mannequin.{i:03}" for i in copies)]
    assert len(bpy.data.collections["Ground"].all_objects) > 0
    assert scene.camera and scene.frame_start < scene.timeline_markers["Picture"].frame <= scene.frame_end
    assert all(rig.animation_data.action for rig in rigs)
    skins = [ob for ob in scene.objects if ob.type == "MESH" and ob.parent in rigs]
    assert len({skin.data for skin in skins}) == 1 and len(skins) == len(rigs)
    assert (ROOT / "sample_scenes" / f"{name}.blend").stat().st_size < 400_000


@pytest.mark.parametrize("name", build.SCENES)
def test_walk_stands_on_its_floor(name):
    open_scene(name)
    for rig, places in zip(walkers(), sole_places(walkers())):
        heights = places[..., 2] - rig.location.z
        assert heights.min() > -CUT
        assert (heights.min(axis=1) < figures.ON_FLOOR).all(), "no frame of a walk is without a foot on the floor"


@pytest.mark.parametrize("name", build.SCENES)
def test_standing_feet_are_still_unless_they_skate_on_purpose(name):
    open_scene(name)
    for rig, places in zip(walkers(), sole_places(walkers())):
        low = places[..., 2] - rig.location.z < 1e-4
        inside = low[:-3] & low[1:-2] & low[2:-1] & low[3:]  # a contact rarely begins or ends on a whole frame
        moved = np.linalg.norm(np.diff(places[1:-1, :, :2], axis=0), axis=-1)[inside]
        if name in SKATING:
            assert 0.0002 < np.median(moved) < 0.005
        else:
            assert moved.max() < STILL


@pytest.mark.parametrize("name", build.SCENES)
def test_build_repeats_and_is_what_the_file_holds(name):
    built = []
    for _ in range(2):
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        build.fill(name)
        built.append((sole_places(walkers()), ground_vertices()))
    open_scene(name)
    held = sole_places(walkers()), ground_vertices()
    for (first, again), kept in zip(zip(*built), held):
        assert np.array_equal(first, again)
        assert np.allclose(first, kept, atol=1e-5), "run sample_scenes/build.py with bpy 4.2 again"


def ground_vertices():
    """World vertices of the ground in the first frame, as one array."""
    bpy.context.scene.frame_set(1)
    obs = sorted(bpy.data.collections["Ground"].all_objects, key=lambda ob: ob.name)
    return np.array([ob.matrix_world @ v.co for ob in obs for v in ob.data.vertices])


def test_slip_over_a_contact_is_the_skate_asked_for():
    gait = walk.Gait(skate=0.085)
    mark = walk.Walk(gait).tracks["L"][2]
    begin, end = (walk.Walk(gait).standing("L", mark, t)[0] for t in (mark.land + 0.2, mark.leave))
    assert begin.y - end.y == pytest.approx(0.085 * (mark.leave - mark.land - 0.2), abs=1e-5)


def test_soles_are_flat_on_the_floor_in_rest():
    mesh, groups = mannequin.build_mesh()
    heights = np.array([v.co.z for v in mesh.vertices])
    assert heights.min() == 0.0
    for side in "LR":
        for bone in ("foot", "toe"):
            assert (heights[groups[f"{bone}.{side}"]] == 0.0).sum() >= 6
