"""Ground of every kind that a scene can hold: where it lies, and what feet make of it."""
from __future__ import annotations

from math import cos, pi, radians, sin, tan

import bpy
import numpy as np
import pytest
from blender import scenes
from blender.test_ground import EXACT, empty_rig, ground_of, height, layers, plate  # noqa: F401  (a fixture among them)
from mathutils import Euler, Matrix

SAME = 1e-4
FRAMES = (5, 14, 20, 33)


def collection(name, *objects, parent=None):
    """A collection of some objects, which leave the scene's; itself in `parent`, if that is given."""
    new = bpy.data.collections.new(name)
    for ob in objects:
        bpy.context.scene.collection.objects.unlink(ob)
        new.objects.link(ob)
    if parent:
        parent.children.link(new)
    return new


def instance(of, name="Instance", z=0.0):
    """An instance of a collection, in the scene."""
    empty = bpy.data.objects.new(name, None)
    empty.instance_type, empty.instance_collection, empty.location.z = "COLLECTION", of, z
    bpy.context.scene.collection.objects.link(empty)
    return empty


def nodes(holder, source):
    """Geometry nodes on an object that put an instance of another at its origin."""
    tree = bpy.data.node_groups.new("Put", "GeometryNodeTree")
    tree.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    info = tree.nodes.new("GeometryNodeObjectInfo")
    info.inputs["Object"].default_value, info.inputs["As Instance"].default_value = source, True
    tree.links.new(info.outputs["Geometry"], tree.nodes.new("NodeGroupOutput").inputs[0])
    holder.modifiers.new("Put", "NODES").node_group = tree


# What a character carries is no ground. Each puts something over the floor, 0.1 high.

def to_hand(ob, thing):
    thing.parent, thing.parent_type, thing.parent_bone = ob, "BONE", "hand.L"


def instance_in_the_hand(ob):
    to_hand(ob, instance(collection("Sword", plate(1.9)), z=-0.5))


def nested_instance_in_the_hand(ob):
    inner = instance(collection("Blade", plate(1.9)), "Inner")
    to_hand(ob, instance(collection("Sword", inner), "Outer"))


def constrained(kind):
    def carry(ob):
        constraint = plate(0.4, "Shoe", size=4).constraints.new(kind)
        if kind == "ARMATURE":
            target = constraint.targets.new()
            target.target, target.subtarget = ob, "foot.L"
        else:
            constraint.target, constraint.subtarget = ob, "foot.L"
    carry.__name__ = f"constrained_{kind.lower()}"
    return carry


def child_of_what_is_constrained(ob):
    empty = bpy.data.objects.new("Holder", None)
    bpy.context.scene.collection.objects.link(empty)
    constraint = empty.constraints.new("CHILD_OF")
    constraint.target, constraint.subtarget = ob, "hand.L"
    plate(0.4, "Bag", size=8).parent = empty


def child_of_the_skin(ob):
    plate(1.9, "Glasses").parent = bpy.data.objects["Mannequin Mesh"]


def in_a_lattice_on_the_character(ob):
    cage = bpy.data.objects.new("Cage", bpy.data.lattices.new("Cage"))
    bpy.context.scene.collection.objects.link(cage)
    to_hand(ob, cage)
    plate(1.9, "Belly").modifiers.new("Lattice", "LATTICE").object = cage


def hooked_to_a_bone(ob):
    hook = plate(1.9, "Strap").modifiers.new("Hook", "HOOK")
    hook.object, hook.subtarget = ob, "hand.L"


def put_on_the_skin_by_nodes(ob):
    source = plate(1.9, "Badge")
    bpy.context.scene.collection.objects.unlink(source)
    nodes(bpy.data.objects["Mannequin Mesh"], source)


def instanced_on_the_skin(ob):
    skin, badge = bpy.data.objects["Mannequin Mesh"], plate(1.9, "Badge")
    badge.parent, skin.instance_type = skin, "VERTS"


CARRIED = (instance_in_the_hand, nested_instance_in_the_hand,
           *map(constrained, ("CHILD_OF", "COPY_TRANSFORMS", "COPY_LOCATION", "ARMATURE")),
           child_of_what_is_constrained, child_of_the_skin, in_a_lattice_on_the_character, hooked_to_a_bone,
           put_on_the_skin_by_nodes, instanced_on_the_skin)


@pytest.mark.parametrize("carry", CARRIED, ids=lambda f: f.__name__)
def test_what_the_character_carries_is_no_ground(ground_of, carry):  # noqa: F811
    ob = empty_rig()
    plate(0.1, "Floor", size=6)
    carry(ob)
    ground = ground_of(ob)
    assert len(ground.pieces) == 1
    assert layers(ground) == pytest.approx([0.1], abs=EXACT)


def test_a_constraint_that_does_nothing_or_only_turns_carries_nothing(ground_of):  # noqa: F811
    ob = empty_rig()
    floor = plate(0.1, "Floor", size=6)
    for kind, mute in (("CHILD_OF", True), ("LOCKED_TRACK", False)):
        constraint = floor.constraints.new(kind)
        constraint.target, constraint.mute = ob, mute
    assert ground_of(ob).pieces


# Where it lies. Each puts ground into the scene and returns its height at (0.13, 0.29).

def nested_instances(ob):
    inner = instance(collection("Inner", plate(0.2)), "In", z=0.1)
    instance(collection("Outer", inner), "Out", z=0.05)
    return 0.35


def mirrored_instance(ob):
    empty = instance(collection("Ramp", ramp()), z=0.5)
    empty.scale = (-1, 2, -1)
    return 0.5 - 0.3 * 0.29 / 2


def ramp():
    """A slope that rises along y."""
    ob = plate(0.0, "Ramp", size=4)
    for vertex in ob.data.vertices:
        vertex.co.z = 0.3 * vertex.co.y
    return ob


def stretched_ramp(ob):
    ramp().matrix_world = Matrix.Diagonal((4, 0.5, 2, 1))
    return 0.3 * 0.29 * 4


def sheared_ramp(ob):
    """Turned under a parent that is stretched."""
    parent = bpy.data.objects.new("Parent", None)
    parent.scale = (3, 1, 1)
    bpy.context.scene.collection.objects.link(parent)
    child = ramp()
    child.parent, child.rotation_euler.z = parent, radians(30)
    # Its y axis goes along (-sin 30, cos 30), of which x is stretched.
    return 0.3 * (-sin(radians(30)) * 0.13 / 3 + cos(radians(30)) * 0.29)


def placed_by_nodes(ob):
    source, holder = plate(0.2, "Stone"), plate(-1.0, "Holder", size=0.1)
    bpy.context.scene.collection.objects.unlink(source)
    nodes(holder, source)
    holder.location.z = 0.3
    return 0.5


def on_vertices(ob):
    stone, field = plate(0.1, "Stone"), plate(0.4, "Field", size=0.5)
    stone.parent, field.instance_type = field, "VERTS"
    field.show_instancer_for_viewport = False
    return 0.5


def road(ob):
    """A curve with a bevel, along y."""
    data = bpy.data.curves.new("Road", "CURVE")
    data.dimensions, data.extrude = "3D", 1.0
    spline = data.splines.new("POLY")
    spline.points.add(1)
    for point, y in zip(spline.points, (-3, 3)):
        point.co, point.tilt = (0, y, 0.25, 1), pi / 2
    bpy.context.scene.collection.objects.link(bpy.data.objects.new("Road", data))
    return 0.25


def instance_of_a_road(ob):
    road(ob)
    instance(collection("Roads", bpy.data.objects["Road"]), z=0.1)
    return 0.35


def text(ob):
    data = bpy.data.curves.new("Text", "FONT")
    data.body, data.size, data.extrude = "\u2588", 6.0, 0.15
    new = bpy.data.objects.new("Text", data)
    new.location = (-1.5, -1.5, 0)
    bpy.context.scene.collection.objects.link(new)
    return 0.15


def metaball(ob):
    data = bpy.data.metaballs.new("Ball")
    data.resolution = 0.1
    element = data.elements.new(type="CUBE")
    element.size_x = element.size_y = 1.5
    element.size_z = 0.2
    bpy.context.scene.collection.objects.link(bpy.data.objects.new("Ball", data))
    return None


def array(ob):
    step = plate(0.05, "Step", thick=0.05)
    modifier = step.modifiers.new("Array", "ARRAY")
    modifier.count, modifier.relative_offset_displace = 4, (0, 0, 1)
    return 0.05 + 3 * 0.05


def displaced(ob):
    modifier = plate(0.0).modifiers.new("Displace", "DISPLACE")
    modifier.strength, modifier.mid_level, modifier.direction = 0.3, 0.0, "Z"
    return 0.3


def subdivided(ob):
    modifier = ramp().modifiers.new("Subdivision", "SUBSURF")
    modifier.subdivision_type, modifier.levels = "SIMPLE", 3
    return 0.3 * 0.29


def switched_off_modifier(ob):
    displaced(ob)
    bpy.data.objects["Plate"].modifiers[0].show_viewport = False
    return 0.0


def thin(ob):
    """A sheet of a millimetre."""
    plate(0.2, "Sheet", thick=0.001)
    return 0.2


def nothing_to_stand_on_beside(ob):
    """Meshes without faces or with faces of no size, scaled to nothing, at no place, or of nothing, beside a floor."""
    plate(0.2, "Floor")
    line = [(0, 0, 1), (1, 1, 1), (2, 2, 1)]
    for name, verts, edges, faces in (("Points", line, [], []), ("Edges", line, [(0, 1)], []), ("Empty", [], [], []),
                                      ("Line", line, [], [(0, 1, 2)])):
        mesh = bpy.data.meshes.new(name)
        mesh.from_pydata(verts, edges, faces)
        bpy.context.scene.collection.objects.link(bpy.data.objects.new(name, mesh))
    plate(1.0, "Flat").scale.z = 0.0
    plate(1.0, "Nowhere").location.z = float("nan")
    plate(1.0, "Nothing").scale = (float("nan"), 1, 1)
    endless = plate(1.0, "Endless")
    endless.data.vertices[0].co.z = float("inf")
    bpy.context.scene.collection.objects.link(bpy.data.objects.new("Curve", bpy.data.curves.new("Curve", "CURVE")))
    return None


KINDS = (nested_instances, mirrored_instance, stretched_ramp, sheared_ramp, placed_by_nodes, on_vertices, road,
         instance_of_a_road, text, metaball, array, displaced, subdivided, switched_off_modifier, thin,
         nothing_to_stand_on_beside)


@pytest.mark.parametrize("kind", KINDS, ids=lambda f: f.__name__)
def test_ground_lies_where_it_is_seen(ground_of, kind):  # noqa: F811
    ob = empty_rig()
    expected = kind(ob)
    found = height(ground_of(ob))
    if kind is metaball:
        shown = bpy.data.objects["Ball"].evaluated_get(bpy.context.evaluated_depsgraph_get()).bound_box
        expected = max(corner[2] for corner in shown)
        assert expected > 0.1
    elif kind is nothing_to_stand_on_beside:
        assert np.isfinite(found)
        return
    assert found == pytest.approx(expected, abs=EXACT if kind is not metaball else 0.02)


def test_a_collection_with_nested_collections_instances_and_the_character_itself(ground_of):  # noqa: F811
    ob = empty_rig()
    inner = collection("Inner", plate(0.3, "Deep"))
    outer = collection("Outer", parent=bpy.context.scene.collection)
    outer.children.link(inner)
    stones = instance(collection("Source", plate(0.1, "Stone")), z=0.5)
    bpy.context.scene.collection.objects.unlink(stones)
    inner.objects.link(stones)
    outer.objects.link(ob)
    outer.objects.link(bpy.data.objects["Mannequin Mesh"])
    plate(2.0, "Elsewhere")
    ob.foot_ik.ground_source, ob.foot_ik.ground_collection = "COLLECTION", outer
    assert layers(ground_of(ob)) == pytest.approx([0.6, 0.3], abs=EXACT)


def test_ground_that_shows_in_some_frames_is_there_in_those(ground_of):  # noqa: F811
    ob = empty_rig()
    plate(0.0, "Floor")
    bridge = plate(0.5, "Bridge")
    for frame, hidden in ((1, True), (10, False), (20, True)):
        bridge.hide_viewport = hidden
        bridge.keyframe_insert("hide_viewport", frame=frame)
    ground = ground_of(ob, (1, 9, 10, 19, 20))
    assert [height(ground, frame=f) for f in range(5)] == pytest.approx([0, 0, 0.5, 0.5, 0], abs=EXACT)


def test_linked_ground_and_instances_of_it(ground_of, tmp_path):  # noqa: F811
    empty_rig()
    collection("Set", plate(0.2, "Floor"), parent=bpy.context.scene.collection)
    scenes.save(tmp_path / "set.blend")
    ob = empty_rig()
    with bpy.data.libraries.load(str(tmp_path / "set.blend"), link=True) as (_, into):
        into.collections = ["Set"]
    linked = into.collections[0]
    bpy.context.scene.collection.children.link(linked)
    instance(linked, z=0.4)
    assert layers(ground_of(ob)) == pytest.approx([0.6, 0.2], abs=EXACT)


# What feet make of it

def shown_live(prepare=None, ground="slope"):
    ob = scenes.walker(ground, prepare=prepare)
    ob.foot_ik.enabled = True
    return scenes.shown_over(ob, FRAMES)


def house(ob):
    """Walls, a ceiling with a lamp under it, and a roof."""
    for z, name in ((2.6, "Ceiling"), (4.0, "Roof")):
        plate(z, name, size=12, thick=0.2)
    plate(2.3, "Lamp", size=0.6, thick=0.05)
    for x in (-1.0, 1.0):
        wall = plate(3.0, "Wall", size=6, thick=6)
        wall.scale.x, wall.location.x = 0.02, x


def far_away(ob):
    """All of it 10 km from the origin."""
    shift = Matrix.Translation((1e4, -1e4, 100))
    for other in bpy.context.scene.objects:
        if other.parent is None:
            other.matrix_world = shift @ other.matrix_world


def dense(ob):
    """The same surface in 40,000 quads."""
    ground = bpy.data.objects["Ground"]
    modifier = ground.modifiers.new("Subdivision", "SUBSURF")
    modifier.subdivision_type, modifier.levels = "SIMPLE", 6


def flipped(ob):
    bpy.data.objects["Ground"].data.flip_normals()


def scaled(ob):
    """The same place by an object that is scaled, mirrored and turned."""
    ground = bpy.data.objects["Ground"]
    matrix = Euler((0.2, 0.1, 0.5)).to_matrix().to_4x4() @ Matrix.Diagonal((2, -0.5, 3, 1))
    ground.data.transform(matrix.inverted())
    ground.matrix_world = matrix


def handed_over(ob):
    """One half of the clip on one object, the other on its copy, as levels of detail are."""
    ground = bpy.data.objects["Ground"]
    twin = ground.copy()
    bpy.data.collections["Ground"].objects.link(twin)
    for one, hidden in ((ground, (False, True)), (twin, (True, False))):
        for frame, value in zip((1, 23), hidden):
            one.hide_viewport = value
            one.keyframe_insert("hide_viewport", frame=frame)


@pytest.mark.parametrize("change", (house, far_away, dense, flipped, scaled, handed_over), ids=lambda f: f.__name__)
def test_the_same_ground_is_walked_alike(change):
    assert scenes.gaps(shown_live(change), shown_live()).max() < SAME


@pytest.mark.parametrize("stepped", (False, True))
def test_ground_is_not_there_while_its_place_is_no_number(stepped):
    """A broken key in mid-clip."""
    def broken(ob):
        ground = bpy.data.objects["Ground"]
        for frame in (1, 30, 31):
            ground.keyframe_insert("location", index=2, frame=frame)
        keys = scenes.curves(ground.animation_data.action)["location", 2].keyframe_points
        keys[1].co.y = float("nan")
        for key in keys:
            key.interpolation = "CONSTANT"
        if stepped:
            ground.constraints.new("LIMIT_LOCATION")

    poses = shown_live(broken)
    assert np.isfinite(poses).all()
    assert scenes.gaps(poses, shown_live()).max() < 0.01


def far_ground(ob):
    bpy.data.objects["Ground"].location.x = 100.0


def test_without_ground_below_the_clip_stays_as_it_is():
    ob = scenes.walker("slope", prepare=far_ground)
    raw = scenes.shown_over(ob, FRAMES)
    ob.foot_ik.enabled = True
    assert scenes.gaps(scenes.shown_over(ob, FRAMES), raw).max() < 5e-4


def with_a_hole(ob):
    """The ground ends before the second step of the left foot."""
    ground = bpy.data.objects["Ground"]
    rise = tan(radians(12))
    for vertex in ground.data.vertices:
        if vertex.co.y < -1:
            vertex.co.y, vertex.co.z = -0.75, 0.55 * rise


def test_a_foot_over_a_void_keeps_its_animation_and_leaves_the_pelvis_alone():
    ob = scenes.walker("slope", prepare=with_a_hole)
    raw = scenes.shown_over(ob, range(1, scenes.LAST + 1))
    ob.foot_ik.enabled = True
    pose = scenes.shown_over(ob, range(1, scenes.LAST + 1))
    hips = [b.name for b in ob.pose.bones].index("hips")
    lift = (pose - raw)[:, hips, 2, 3]
    assert lift.min() > -0.02
    assert np.abs(np.diff(lift)).max() < 0.02
    assert scenes.gaps(pose, raw)[:8].max() > 0.02
