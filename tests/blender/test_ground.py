"""What counts as ground, and where it lies."""
from __future__ import annotations

import bpy
import numpy as np
import pytest
from blender import scenes
from mathutils import Matrix

EXACT = 1e-4
"""Legs: bounds of float32 meshes some metres away from their origin."""


@pytest.fixture
def ground_of(addon):
    """Function of the rig: its ground as it is in this frame, in metres over the world's floor."""
    MeshGround = addon("blender.ground").MeshGround

    def gather(ob, frames=(1,)):
        ground = MeshGround(ob)
        for frame in frames:
            bpy.context.scene.frame_set(frame)
            ground.visit(bpy.context.evaluated_depsgraph_get(), frame)
        ground.settle(np.tile(np.eye(4), (len(frames), 1, 1)), 1.0)
        return ground

    return gather


def empty_rig():
    """A rig in a scene without ground."""
    ob = scenes.walker("flat", ready=False)
    for other in list(bpy.data.collections["Ground"].objects):
        bpy.data.objects.remove(other)
    return ob


def plate(height: float, name: str = "Plate", size: float = 2.0, thick: float = 0.0) -> bpy.types.Object:
    """A square plate, or a box of a thickness below it, its top at a height over the origin."""
    s, z = size / 2, height
    corners = [(-s, -s), (s, -s), (s, s), (-s, s)]
    mesh = bpy.data.meshes.new(name)
    if thick:
        verts = [(x, y, z - d) for d in (0, thick) for x, y in corners]
        faces = [(0, 1, 2, 3), (7, 6, 5, 4), *((i, i + 4, (i + 1) % 4 + 4, (i + 1) % 4) for i in range(4))]
    else:
        verts, faces = [(x, y, z) for x, y in corners], [(0, 1, 2, 3)]
    mesh.from_pydata(verts, [], faces)
    ob = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(ob)
    return ob


def height(ground, x=0.13, y=0.29, above=5.0, frame=0) -> float:
    return float(ground.below(np.array([[x, y, above]]), np.array([frame]))[0][0])


def layers(ground, x=0.13, y=0.29) -> list[float]:
    found = ground.layers(np.array([[x, y]]), np.array([0]))[0][0]
    return found[np.isfinite(found)].tolist()


def test_the_character_and_what_hangs_on_it_are_no_ground(ground_of):
    ob = empty_rig()
    shoe = plate(1.9, "Shoe")
    shoe.parent, shoe.parent_type, shoe.parent_bone = ob, "BONE", "foot.L"
    cloak = plate(2.5, "Cloak")
    cloak.modifiers.new("Armature", "ARMATURE").object = ob
    assert not ground_of(ob).pieces
    plate(0.1, "Floor")
    assert layers(ground_of(ob)) == pytest.approx([0.1], abs=EXACT)


def test_another_character_is_no_ground(ground_of):
    ob = empty_rig()
    other = ob.copy()
    bpy.context.scene.collection.objects.link(other)
    sword = plate(1.0, "Sword")
    sword.parent = other
    cape = plate(2.0, "Cape")
    cape.modifiers.new("Cloth", "CLOTH")
    assert not ground_of(ob).pieces


def test_a_collection_is_ground_with_its_instances_alone(ground_of):
    ob = empty_rig()
    hidden = bpy.data.collections.new("Source")  # in no scene: only its instance is seen
    source = plate(0.2, "Stone")
    bpy.context.scene.collection.objects.unlink(source)
    hidden.objects.link(source)
    chosen = bpy.data.collections.new("Chosen")
    bpy.context.scene.collection.children.link(chosen)
    empty = bpy.data.objects.new("Instance", None)
    empty.instance_type, empty.instance_collection, empty.location.z = "COLLECTION", hidden, 0.5
    chosen.objects.link(empty)
    plate(3.0, "Elsewhere")
    ob.foot_ik.ground_source, ob.foot_ik.ground_collection = "COLLECTION", chosen
    assert layers(ground_of(ob)) == pytest.approx([0.7], abs=EXACT)


def test_a_collection_that_is_shown_by_an_instance_alone_is_ground(ground_of, addon):
    """As a linked set is."""
    ob = empty_rig()
    shown = bpy.data.collections.new("Set")
    floor = plate(0.2, "Floor")
    bpy.context.scene.collection.objects.unlink(floor)
    shown.objects.link(floor)
    empty = bpy.data.objects.new("Instance", None)
    empty.instance_type, empty.instance_collection, empty.location.z = "COLLECTION", shown, 0.5
    bpy.context.scene.collection.objects.link(empty)
    plate(3.0, "Elsewhere")
    ob.foot_ik.ground_source, ob.foot_ik.ground_collection = "COLLECTION", shown
    assert layers(ground_of(ob)) == pytest.approx([0.7], abs=EXACT)
    bpy.ops.foot_ik.detect_legs()
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    empty.location.z = 0.4
    assert addon("blender.planning").plan_state(bpy.context.scene, ob) == "STALE"


@pytest.mark.parametrize("hide", ["viewport", "eye", "collection", "eye_of_collection", "wire"])
def test_what_is_hidden_is_no_ground(ground_of, hide):
    ob = empty_rig()
    plate(0.1, "Floor")
    ghost = plate(1.0, "Ghost")
    if hide == "viewport":
        ghost.hide_viewport = True
    elif hide == "eye":
        ghost.hide_set(True)
    elif hide == "wire":
        ghost.display_type = "WIRE"
    else:
        away = bpy.data.collections.new("Away")
        bpy.context.scene.collection.children.link(away)
        away.objects.link(ghost)
        bpy.context.scene.collection.objects.unlink(ghost)
        in_layer = bpy.context.view_layer.layer_collection.children["Away"]
        in_layer.exclude, in_layer.hide_viewport = hide == "collection", hide == "eye_of_collection"
    assert layers(ground_of(ob)) == pytest.approx([0.1], abs=EXACT)


def test_the_eye_of_a_chosen_collection_does_not_matter(ground_of, addon):
    """Stand-ins for the ground are put away while the set is looked at."""
    ob = empty_rig()
    plate(3.0, "Set")
    stand_in = plate(0.1, "Floor")
    bpy.context.scene.collection.objects.unlink(stand_in)
    grounds = bpy.data.collections["Ground"]
    grounds.objects.link(stand_in)
    ob.foot_ik.ground_source, ob.foot_ik.ground_collection = "COLLECTION", grounds
    bpy.ops.foot_ik.detect_legs()
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    bpy.context.view_layer.layer_collection.children["Ground"].hide_viewport = True
    assert layers(ground_of(ob)) == pytest.approx([0.1], abs=EXACT)
    assert addon("blender.planning").plan_state(bpy.context.scene, ob) == "CURRENT"


@pytest.mark.parametrize("scale", [(4, 4, 1), (1, 1, -1), (-2, 1, 0.5), (0.01, 0.01, 0.01)])
def test_scaled_and_mirrored_objects_lie_where_they_are_seen(ground_of, scale):
    ob = empty_rig()
    size = 2.0 / min(abs(c) for c in scale)
    box = plate(0.3, "Box", size, thick=0.2)
    box.matrix_world = Matrix.Translation((0.1, 0.2, 0.4)) @ Matrix.Rotation(0.3, 4, "Z") @ Matrix.Diagonal((*scale, 1))
    top = 0.4 + max(0.3 * scale[2], 0.1 * scale[2])
    ground = ground_of(ob)
    assert height(ground) == pytest.approx(top, abs=EXACT)
    assert layers(ground) == pytest.approx([top], abs=EXACT), "the underside of a solid cannot be stood on"


def test_a_plane_with_its_normals_down_is_ground(ground_of):
    ob = empty_rig()
    floor = plate(0.1, "Floor")
    floor.data.flip_normals()
    assert layers(ground_of(ob)) == pytest.approx([0.1], abs=EXACT)


def test_a_floor_that_goes_on_inside_of_a_box_cannot_be_stood_on(ground_of):
    ob = empty_rig()
    plate(0.0, "Floor", size=8.0)
    plate(0.5, "Box", thick=1.0)
    assert layers(ground_of(ob)) == pytest.approx([0.5], abs=EXACT)
    plate(3.0, "Roof", thick=0.1)
    assert layers(ground_of(ob)) == pytest.approx([3.0, 0.5], abs=EXACT)


def test_there_is_no_ground_in_a_hole(ground_of):
    ob = empty_rig()
    half = plate(0.4, "Half")
    half.data.clear_geometry()
    half.data.from_pydata([(-1, -1, 0.4), (1, -1, 0.4), (-1, 1, 0.4)], [], [(0, 1, 2)])
    ground = ground_of(ob)
    assert layers(ground, 0.5, 0.5) == [] and np.isnan(height(ground, 0.5, 0.5))
    assert layers(ground, -0.5, -0.5) == pytest.approx([0.4], abs=EXACT)


def test_one_mesh_is_found_however_each_of_its_objects_tilts(ground_of):
    ob = empty_rig()
    first = plate(0.0, "Slab", thick=0.1)
    tilts = (0.0, 0.3, -0.5)
    for i, tilt in enumerate(tilts):
        slab = first.copy() if i else first
        slab.location, slab.rotation_euler = (3.0 * i, 0, 0.2 * i), (0, tilt, 0.7)
        if i:
            bpy.context.scene.collection.objects.link(slab)
    bpy.context.view_layer.update()
    ground = ground_of(ob)
    for i, tilt in enumerate(tilts):
        x = 0.4 * np.cos(0.7)
        expected = 0.2 * i - 0.4 * np.tan(tilt)
        assert height(ground, 3.0 * i + x, 0.4 * np.sin(0.7)) == pytest.approx(expected, abs=EXACT)
        assert layers(ground, 3.0 * i + x, 0.4 * np.sin(0.7)) == pytest.approx([expected], abs=EXACT)


def test_of_several_grounds_the_first_below_a_point_counts(ground_of):
    ob = empty_rig()
    for z in (0.3, 0.7, 0.5):
        plate(z)
    ground = ground_of(ob)
    points = np.array([[0.0, 0.0, z] for z in (1.0, 0.6, 0.4, 0.2, 1.0)]) + (0.13, 0.29, 0.0)
    points[-1, 0] = 9.0
    heights, pieces = ground.below(points, np.zeros(5, int))
    assert heights == pytest.approx([0.7, 0.5, 0.3, np.nan, np.nan], abs=EXACT, nan_ok=True)
    assert len(set(pieces[:3])) == 3 and (pieces[3:] == -1).all()


def test_vertices_that_are_no_numbers_leave_the_rest_of_the_mesh(ground_of):
    ob = empty_rig()
    broken = plate(0.1, "Broken")
    more = plate(0.1, "More")
    mesh = broken.data
    verts = [tuple(v.co) for v in more.data.vertices] + [(float("nan"), 0, 0), (9, 9, 9), (9, 8, 9)]
    mesh.clear_geometry()
    mesh.from_pydata(verts, [], [(0, 1, 2, 3), (4, 5, 6)])
    bpy.data.objects.remove(more)
    assert height(ground_of(ob)) == pytest.approx(0.1, abs=EXACT)


@pytest.mark.parametrize("kind", ["CURVE", "FONT", "SURFACE"])
def test_surfaces_that_are_no_meshes_are_ground(ground_of, kind):
    ob = empty_rig()
    if kind == "CURVE":
        bpy.ops.curve.primitive_bezier_circle_add(radius=2)
        bpy.context.object.data.dimensions, bpy.context.object.data.fill_mode = "2D", "BOTH"
    elif kind == "FONT":
        bpy.ops.object.text_add()
        bpy.context.object.data.body, bpy.context.object.data.size = "\u2588", 6.0
        bpy.context.object.location = (-1.5, -1.5, 0)
    else:
        bpy.ops.surface.primitive_nurbs_surface_surface_add(radius=2)
    bpy.context.view_layer.objects.active = ob
    assert ground_of(ob).pieces


def test_moving_ground_is_followed(ground_of):
    ob = empty_rig()
    lift = plate(0.0, "Lift")
    for frame, z, turn in ((1, 0.0, 0.0), (11, 1.0, np.pi / 2)):
        lift.location.z, lift.rotation_euler.z = z, turn
        lift.keyframe_insert("location", frame=frame)
        lift.keyframe_insert("rotation_euler", frame=frame)
    ground = ground_of(ob, (1, 11))
    assert [height(ground, frame=f) for f in (0, 1)] == pytest.approx([0.0, 1.0], abs=EXACT)
    moved = ground.carried(0, 0, np.array([1]), np.zeros((1, 3)))[0] @ [1.0, 0.0, 0.0, 1.0]
    assert moved[:3] == pytest.approx([0.0, 1.0, 1.0], abs=EXACT)


def test_one_mesh_has_one_tree_however_often_it_lies_there(ground_of, addon):
    ob = empty_rig()
    stone = plate(0.1, "Stone")
    for i in range(5):
        twin = stone.copy()
        twin.location.x = 0.1 * i
        bpy.context.scene.collection.objects.link(twin)
    assert len({id(piece) for piece in ground_of(ob).pieces}) == 1
    stone.data.vertices[0].co.z = 0.4
    stone.data.update()
    before = ground_of(ob).pieces[0].high[2]
    assert before == pytest.approx(0.4, abs=EXACT), "a changed mesh is built anew"


def swelling(cells: int = 4) -> bpy.types.Object:
    """A grid that a shape key bends from frame 1 to 11."""
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=cells, y_subdivisions=cells, size=4)
    ob = bpy.context.object
    ob.shape_key_add(name="Basis")
    key = ob.shape_key_add(name="Swell")
    for point in key.data:
        point.co.z, point.co.x = 0.25 * point.co.y, point.co.x + 0.5
    for frame, value in ((1, 0.0), (11, 1.0)):
        key.value = value
        key.keyframe_insert("value", frame=frame)
    return ob


UNDER_FOOT = np.array([(x, y, 0.0) for x in (0.1, 0.2) for y in (0.2, 0.4)])


def test_ground_that_deforms_carries_what_stands_on_it(ground_of):
    ob = empty_rig()
    swelling()
    ground = ground_of(ob, (1, 6, 11))
    assert [height(ground, y=0.4, frame=f) for f in (0, 1, 2)] == pytest.approx([0.0, 0.05, 0.1], abs=EXACT)
    moves = ground.carried(0, 0, np.array([0, 1, 2]), UNDER_FOOT)
    assert moves[0] == pytest.approx(np.eye(4), abs=EXACT)
    carried = UNDER_FOOT @ moves[2, :3, :3].T + moves[2, :3, 3]
    assert carried[:, 0] == pytest.approx(UNDER_FOOT[:, 0] + 0.5, abs=1e-3)
    assert carried[:, 2] == pytest.approx(0.25 * UNDER_FOOT[:, 1], abs=2e-3), "a slope is longer than its shadow"
    back = ground.carried(0, 2, np.array([0]), carried)[0]
    assert carried @ back[:3, :3].T + back[:3, 3] == pytest.approx(UNDER_FOOT, abs=2e-3)


def test_ground_that_is_made_anew_lifts_what_stands_on_it(ground_of):
    """Subdivided from frame 11 on: other triangles, so its points are not known again."""
    ob = empty_rig()
    field = swelling()
    modifier = field.modifiers.new("Subdivision", "SUBSURF")
    modifier.subdivision_type = "SIMPLE"
    for frame, shown in ((1, False), (10, True)):
        modifier.show_viewport = shown
        modifier.keyframe_insert("show_viewport", frame=frame)
    ground = ground_of(ob, (1, 11))
    assert len(ground.seen[0][0][1].coords) < len(ground.seen[1][0][1].coords)
    move = ground.carried(0, 0, np.array([1]), UNDER_FOOT)[0]
    lifted = UNDER_FOOT @ move[:3, :3].T + move[:3, 3]
    assert lifted[:, 2] == pytest.approx(0.25 * UNDER_FOOT[:, 1], abs=2e-3)


def test_ground_that_grows_carries_what_stands_on_it_along(ground_of):
    """An object three metres away doubles in size: what stands on it goes along, and is not scaled."""
    ob = empty_rig()
    disc = plate(0.0, "Disc", size=8.0)
    disc.location.x = 3.0
    for frame, size in ((1, 1.0), (11, 2.0)):
        disc.scale = size, size, 1
        disc.keyframe_insert("scale", frame=frame)
    move = ground_of(ob, (1, 11)).carried(0, 0, np.array([1]), UNDER_FOOT)[0]
    middle = UNDER_FOOT.mean(0)
    assert move[:3, :3] == pytest.approx(np.eye(3), abs=EXACT)
    assert middle + move[:3, 3] == pytest.approx([2 * middle[0] - 3, 2 * middle[1], 0], abs=EXACT)


def test_ground_that_could_deform_but_does_not_is_built_once(ground_of):
    ob = empty_rig()
    field = swelling()
    field.data.shape_keys.animation_data_clear()
    field.modifiers.new("Subdivision", "SUBSURF")
    ground = ground_of(ob, (1, 2, 3))
    assert not ground.deforming
    assert len({id(here[0][1]) for here in ground.seen}) == 1
