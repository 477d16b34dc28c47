"""A plan is told to be out of date after whatever shapes its ground or poses its legs has changed, and by nothing else.

One scene has ground of every kind, and a second rig that carries a part of it; each test edits one thing.
"""
from __future__ import annotations

from contextlib import suppress

import bpy
import pytest
from blender import scenes
from blender.test_ground_kinds import collection, instance, metaball, road, text
from blender.test_moving_ground import crane, plate
from mathutils import Matrix


def new(name, data=None):
    ob = bpy.data.objects.new(name, data)
    bpy.context.scene.collection.objects.link(ob)
    return ob


def world_of_kinds(ob):
    """Ground of every kind on and beside the slope; what deforms, places or makes it stands still."""
    grounds, bpy.context.scene.frame_end = bpy.data.collections["Ground"], 6
    for make in (road, text, metaball):
        make(ob)
    caged, noisy, made, held, shaped = (plate(name, cells=(2, 2), z=-0.5) for name in
                                        ("Caged", "Noisy", "Made", "Held", "Shaped"))
    caged.modifiers.new("Cage", "LATTICE").object = new("Cage", bpy.data.lattices.new("Cage"))
    noise = noisy.modifiers.new("Noise", "DISPLACE")
    noise.texture = bpy.data.textures.new("Noise", "CLOUDS")
    noise.vertex_group = noisy.vertex_groups.new(name="Weights").name
    made.modifiers.new("Up", "NODES").node_group = lifted()
    held.constraints.new("COPY_LOCATION").target = new("Target")
    shaped.shape_key_add(name="Basis")
    shaped.shape_key_add(name="Bump")
    source, deck, ramp = collection("Source"), plate("Deck", z=-0.5), plate("Ramp", z=-0.5)
    instance(source, "Instance").location.x = 5
    source.objects.link(deck)
    grounds.objects.unlink(deck)
    ramp.parent, ramp.parent_type, ramp.parent_bone = crane(), "BONE", "Arm"
    ramp.parent.animation_data_clear()
    for name in ("Road", "Text", "Ball", "Instance"):
        grounds.objects.link(first(name))
        bpy.context.scene.collection.objects.unlink(first(name))
    scenes.remove_curves(ob, keep=lambda path, _: '"root"' not in path)


def lifted():
    """A tree of geometry nodes that moves what it is given."""
    tree = bpy.data.node_groups.new("Up", "GeometryNodeTree")
    for way in ("INPUT", "OUTPUT"):
        tree.interface.new_socket("Geometry", in_out=way, socket_type="NodeSocketGeometry")
    nodes = [tree.nodes.new(kind) for kind in ("NodeGroupInput", "GeometryNodeTransform", "NodeGroupOutput")]
    for a, b in zip(nodes, nodes[1:]):
        tree.links.new(a.outputs[0], b.inputs[0])
    return tree


def first(name):
    return bpy.data.objects[name]


def by_curve():
    first("Road").data.splines[0].points[0].co.z += 0.1


def by_text():
    first("Text").data.body = "a"


def by_metaball():
    bpy.data.metaballs[0].elements[0].size_z += 0.1


def by_lattice():
    bpy.data.lattices[0].points[0].co_deform.z += 0.1


def by_texture():
    bpy.data.textures["Noise"].noise_scale = 1


def by_weights():
    first("Noisy").vertex_groups[0].add([3], 1.0, "REPLACE")


def by_nodes():
    bpy.data.node_groups["Up"].nodes["Transform Geometry"].inputs["Scale"].default_value[2] = 2


def by_a_link_of_nodes():
    tree = bpy.data.node_groups["Up"]
    tree.links.new(tree.nodes["Group Input"].outputs[0], tree.nodes["Group Output"].inputs[0])


def by_a_constraint():
    first("Held").constraints[0].use_z = False


def by_what_it_follows():
    first("Target").location.z = 1


def by_a_shape_key():
    first("Shaped").data.shape_keys.key_blocks["Bump"].data[0].co.z += 0.1


def by_faces():
    first("Made").data.flip_normals()


def by_the_inverse_of_its_parent():
    first("Ramp").matrix_parent_inverse = Matrix.Translation((0, 0, 1))


def by_the_kind_of_its_parent():
    first("Ramp").parent_type = "OBJECT"


def by_the_bone_it_hangs_on():
    first("Crane").pose.bones["Arm"].location.y = 1


def by_a_constraint_of_that_bone():
    first("Crane").pose.bones["Arm"].constraints.new("LIMIT_LOCATION").use_min_y = True


def by_what_an_instance_shows():
    first("Deck").location.z = 0.1


def by_the_middle_of_an_instance():
    bpy.data.collections["Source"].instance_offset.z = 0.1


def by_another_instance():
    bpy.data.collections["Source"].objects.link(first("Road"))


def by_the_eye():
    first("Road").hide_set(True)


def by_an_excluded_collection():
    bpy.context.view_layer.layer_collection.children["Ground"].exclude = True


def by_wire():
    first("Road").display_type = "WIRE"


def by_a_bone_without_keys():
    scenes.rig().pose.bones["root"].rotation_quaternion.x += 0.1


def by_the_rest():
    bpy.ops.object.mode_set(mode="EDIT")
    scenes.rig().data.edit_bones["foot.L"].roll += 0.1
    bpy.ops.object.mode_set(mode="OBJECT")


def by_a_rotation_mode():
    scenes.rig().pose.bones["thigh.L"].rotation_mode = "XYZ"


EDITS = [value for name, value in list(globals().items()) if name.startswith("by_")]


@pytest.fixture
def state(addon):
    return lambda: addon("blender.planning").plan_state(bpy.context.scene, scenes.rig())


@pytest.mark.parametrize("edit", EDITS, ids=lambda f: f.__name__)
def test_a_plan_is_out_of_date_after_it_is_changed(edit, state):
    scenes.walker("slope", prepare=world_of_kinds)
    edit()
    assert state() == "STALE"


def test_a_plan_is_out_of_date_after_the_eye_of_a_collection_has_closed(state):
    scenes.walker("slope")
    bpy.context.view_layer.layer_collection.children["Ground"].hide_viewport = True
    assert state() == "STALE"


def test_nothing_changes_by_looking(state, tmp_path):
    """Other frames, live, saved, opened, undone; another rig and what is no ground."""
    ob = scenes.walker("slope", prepare=world_of_kinds)
    ob.foot_ik.enabled = True
    for frame in (1, 20, 33.5):
        scenes.visit(frame)
        assert state() == "CURRENT"
    scenes.save(tmp_path / "live.blend")
    assert state() == "CURRENT"
    scenes.load(tmp_path / "live.blend")
    assert state() == "CURRENT"
    first("Road").color[0] = 0.5
    first("Road").select_set(True)
    scenes.rig().pose.bones["hand.L"].location.x += 0.1
    bpy.context.view_layer.update()
    assert state() == "CURRENT"


def keyed_kinds(ob):
    """The same, where values of every kind are keyed, or driven by what is keyed."""
    world_of_kinds(ob)
    nodes, made = bpy.data.node_groups["Up"], first("Made").modifiers["Up"]
    socket = nodes.interface.new_socket("Number", in_out="INPUT", socket_type="NodeSocketFloat").identifier
    rows = [(first("Road").data.splines[0].points[0], "tilt"), (first("Text").data, "extrude"),
            (bpy.data.metaballs[0].elements[0], "radius"), (bpy.data.lattices[0].points[0], "co_deform"),
            (bpy.data.textures["Noise"], "noise_scale"), (first("Noisy").modifiers["Noise"], "strength"),
            (nodes.nodes["Transform Geometry"].inputs["Scale"], "default_value"), (first("Road"), "hide_viewport"),
            (first("Held").constraints[0], "influence"), (first("Target"), "location"), (first("Deck"), "display_type"),
            (first("Shaped").data.shape_keys.key_blocks["Bump"], "value"), (first("Crane").pose.bones[0], "location"),
            (getattr(made.properties.inputs, socket), "value") if hasattr(made, "properties") else (made, socket)]
    for owner, name in rows:
        path = f'["{name}"]' if name == socket else name
        owner.keyframe_insert(path, frame=1)
        animation = owner.id_data.animation_data
        for curve in [c for bag in scenes.bags(animation.action) for c in bag.fcurves]:
            curve.keyframe_points.insert(40, curve.keyframe_points[0].co.y + 0.5)
    driver = first("Deck").driver_add("location", 2).driver
    variable = driver.variables.new()
    variable.targets[0].id, variable.targets[0].data_path = first("Target"), "location.x"
    driver.expression = variable.name


def test_what_is_keyed_changes_nothing_by_playing(state):
    scenes.walker("slope", prepare=keyed_kinds)
    for frame in (33.5, 1, 46):
        scenes.visit(frame)
        bpy.context.view_layer.update()
        assert state() == "CURRENT"


def test_weights_that_are_keyed_or_driven_after_the_plan_change_nothing(state):
    ob = scenes.walker("slope")
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    for frame, value in ((1, 0.0), (20, 1.0)):
        ob.foot_ik.influence = ob.foot_ik.legs[0].lock_weight = value
        ob.foot_ik.keyframe_insert("influence", frame=frame)
        ob.foot_ik.legs[0].keyframe_insert("lock_weight", frame=frame)
    ob.foot_ik.legs[1].driver_add("position_weight").driver.expression = "0.5"
    assert state() == "CURRENT"
    scenes.visit(20)
    assert state() == "CURRENT"
    assert ob.foot_ik.influence == 1.0 and ob.foot_ik.legs[1].position_weight == pytest.approx(0.5)


def identifiers(kind):
    return [item.identifier for item in kind.bl_rna.properties["type"].enum_items]


def test_whatever_blender_has_can_be_read(state, tmp_path):
    """Nodes, modifiers, constraints and textures of all kinds: no crash, and the same after they were saved."""
    ob = scenes.walker("slope", prepare=world_of_kinds)
    ground, nodes = first("Ground"), bpy.data.node_groups["Up"].nodes
    for name in dir(bpy.types):
        if name.startswith(("GeometryNode", "FunctionNode")):
            with suppress(RuntimeError):  # base classes, and what belongs in other trees
                nodes.new(name)
    for owner in (ground, ob.pose.bones["root"]):
        for name in identifiers(bpy.types.Constraint):
            with suppress(TypeError, RuntimeError):
                owner.constraints.new(name).mute = True
    for name in identifiers(bpy.types.Modifier):
        modifier = ground.modifiers.new(name, name)
        if modifier is not None:  # those of other objects
            modifier.show_viewport = False
    for name in identifiers(bpy.types.Texture):
        modifier = ground.modifiers.new("Displace", "DISPLACE")
        modifier.texture, modifier.show_viewport = bpy.data.textures.new(name, name), False
    assert state() == "STALE"
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    scenes.visit(20)
    scenes.save(tmp_path / "all.blend")
    scenes.load(tmp_path / "all.blend")
    assert state() == "CURRENT"


def test_the_digest_of_a_rest_pose_is_that_of_other_versions(state, addon, monkeypatch):
    """Arrays of matrices are float32 from 5.2 on, which once made all plans of files of earlier versions old."""
    scenes.walker("slope")
    digest, added = addon("blender.digest").Digest, []
    add = digest.add
    monkeypatch.setattr(digest, "add", lambda self, *values: (added.append(values), add(self, *values)))
    state()
    rests = [v[0] for v in added if len(v) == 2 and isinstance(v[0], list) and len(v[0]) == 4 and len(v[0][0]) == 4]
    assert rests and all(value == round(value, 5) for rest in rests for row in rest for value in row)


def test_what_another_add_on_poses_in_each_frame_changes_nothing(state):
    def pose(scene, _depsgraph=None):
        scenes.rig().pose.bones["root"].rotation_quaternion.z = scene.frame_current * 0.01

    ob = scenes.walker("slope", prepare=world_of_kinds)
    bpy.app.handlers.frame_change_pre.append(pose)
    try:
        assert bpy.ops.foot_ik.plan() == {"FINISHED"}
        scenes.visit(20)
        assert state() == "CURRENT" and ob.foot_ik.plan
    finally:
        bpy.app.handlers.frame_change_pre.remove(pose)
