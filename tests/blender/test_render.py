"""Promise 1 in renders: Blender calls the handlers out of order, on a depsgraph of its own, and the picture is the
viewport's and the bake's. Small glowing markers on bones show in the pixels where each bone is.
"""
import os
from pathlib import Path

import bpy
import numpy as np
import pytest
from blender import scenes
from bpy_extras.object_utils import world_to_camera_view
from mathutils import Vector

PIXELS = 128
VIEW = 3.2  # metres that the camera shows
MARKERS = {"hips": (1, 0, 0, 1), "hand.L": (0, 1, 0, 1), "foot.L": (0, 0, 1, 1), "foot.R": (1, 1, 0, 1),
           "head": (1, 0, 1, 1)}
ONE_PIXEL = VIEW / PIXELS  # metres
NEAR = 2 * ONE_PIXEL  # what the place of a marker is known to: another may hide a part of it


@pytest.fixture
def ob():
    """The walker on the slope, live, with markers on some bones before a camera."""
    return dress(scenes.walker("slope"))


def dress(ob):
    """Show a rig from the side without its skin, with markers on some bones, live."""
    scene = bpy.context.scene
    for other in scene.objects:
        other.hide_render = other != ob  # Blender evaluates only the bones that something visible needs
    for bone, colour in MARKERS.items():
        add_marker(ob, bone, colour)
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    camera.data.type, camera.data.ortho_scale = "ORTHO", VIEW
    camera.location, camera.rotation_euler = (5.0, -0.6, 1.0), (1.5707963, 0.0, 1.5707963)
    scene.collection.objects.link(camera)
    scene.camera = camera
    scene.frame_step = 12
    scene.render.resolution_x = scene.render.resolution_y = PIXELS
    scene.render.resolution_percentage = 100
    scene.render.image_settings.file_format = "PNG"
    scene.render.dither_intensity = 0.0
    scene.view_settings.view_transform = "Standard"
    scene.world = bpy.data.worlds.new("World")
    scene.world.color = (0, 0, 0)
    workbench(scene)
    ob.foot_ik.enabled = True
    return ob


def add_marker(ob, bone, colour):
    """A cube on the head of a bone."""
    mesh = bpy.data.meshes.new(bone)
    corners = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    mesh.from_pydata([tuple(0.06 * c for c in corner) for corner in corners], [], faces)
    material = bpy.data.materials.new(bone)
    material.diffuse_color = colour
    if not material.node_tree:  # Blender 5 gives every material its nodes
        material.use_nodes = True
    nodes = material.node_tree
    nodes.nodes.clear()
    glow, out = nodes.nodes.new("ShaderNodeEmission"), nodes.nodes.new("ShaderNodeOutputMaterial")
    glow.inputs["Color"].default_value = colour
    nodes.links.new(glow.outputs[0], out.inputs[0])
    mesh.materials.append(material)
    marker = bpy.data.objects.new(f"Marker {bone}", mesh)
    bpy.context.scene.collection.objects.link(marker)
    follow = marker.constraints.new("COPY_LOCATION")
    follow.target, follow.subtarget = ob, bone


def workbench(scene):
    scene.render.engine = "BLENDER_WORKBENCH"
    scene.display.shading.light, scene.display.shading.color_type = "FLAT", "MATERIAL"
    scene.display.shading.background_type = "VIEWPORT"
    scene.display.shading.background_color = (0, 0, 0)
    scene.display.render_aa = "OFF"


def cycles(scene):
    scene.render.engine = "CYCLES"
    scene.cycles.samples, scene.cycles.use_denoising, scene.cycles.seed = 1, False, 7
    scene.cycles.max_bounces = 0
    scene.render.use_motion_blur, scene.render.motion_blur_shutter = True, 0.5


def rendered(folder, **settings):
    """{frame: (rows, columns, 3) in 0..1}: the frames of the scene, rendered as an animation."""
    scene = bpy.context.scene
    scene.render.filepath = f"{folder}{os.sep}"
    bpy.ops.render.render(animation=True, **settings)
    frames = range(scene.frame_start, scene.frame_end + 1, scene.frame_step)
    return {f: pixels(Path(folder) / f"{f:04}.png") for f in frames}


def pixels(path):
    image = bpy.data.images.load(str(path))
    out = np.empty(image.size[0] * image.size[1] * 4, np.float32)
    image.pixels.foreach_get(out)
    size = image.size[:]
    bpy.data.images.remove(image)
    return out.reshape(size[1], size[0], 4)[..., :3]


def places(picture):
    """{bone: (2,) of metres in the picture}: the middle of each marker; nan where it is not seen."""
    out = {}
    for bone, colour in MARKERS.items():
        rows, columns = np.nonzero(np.abs(picture - colour[:3]).max(-1) < 0.3)
        out[bone] = np.array([columns.mean() + 0.5, rows.mean() + 0.5]) * ONE_PIXEL if len(rows) else np.full(2, np.nan)
    return out


def expected(ob, frame):
    """Where `places` should find the markers, from the pose in the viewport."""
    pose, names = scenes.shown(ob, frame), [b.name for b in ob.pose.bones]
    scene = bpy.context.scene
    seen = [world_to_camera_view(scene, scene.camera, ob.matrix_world @ Vector(pose[names.index(b), :3, 3]))
            for b in MARKERS]
    return {b: np.array(s[:2]) * VIEW for b, s in zip(MARKERS, seen)}


# What the camera sees

def assert_seen(picture, places_wanted):
    found = places(picture)
    for bone, place in places_wanted.items():
        if not np.isnan(found[bone]).any():
            assert np.linalg.norm(found[bone] - place) < NEAR, bone
    assert sum(not np.isnan(place).any() for place in found.values()) >= 3, "most markers are in sight"


def test_rendered_frames_show_the_pose_of_the_viewport(ob, tmp_path):
    pictures = rendered(tmp_path)
    ob.foot_ik.enabled = False
    plain = {f: expected(ob, f) for f in pictures}
    ob.foot_ik.enabled = True
    for frame, picture in pictures.items():
        wanted = expected(ob, frame)
        assert_seen(picture, wanted)
    assert np.linalg.norm(wanted["foot.R"] - plain[frame]["foot.R"]) > 2 * NEAR  # in the last frame


def test_frames_rendered_one_by_one_are_those_of_the_animation(ob, tmp_path):
    """As a farm renders them: each frame by itself, in any order."""
    pictures = rendered(tmp_path)
    scene = bpy.context.scene
    for frame in sorted(pictures, reverse=True):
        scene.frame_set(frame)
        scene.render.filepath = str(tmp_path / "still.png")
        bpy.ops.render.render(write_still=True)
        assert np.array_equal(pixels(tmp_path / "still.png"), pictures[frame])


def object_moves(ob):
    """Everything about the object is animated: its place, and how strong a constraint on its arm is."""
    for frame, y, turn in ((1, 0.0, 0.0), (46, -0.5, 0.3)):
        ob.location.y, ob.rotation_euler.z = y, turn
        ob.keyframe_insert("location", index=1, frame=frame)
        ob.keyframe_insert("rotation_euler", index=2, frame=frame)
    lift = ob.pose.bones["hand.L"].constraints.new("LIMIT_LOCATION")
    lift.use_min_z, lift.min_z, lift.owner_space = True, 1.2, "WORLD"
    for frame, influence in ((1, 0.0), (40, 1.0)):
        lift.influence = influence
        lift.keyframe_insert("influence", frame=frame)
    ob["turn"] = 0.0
    for frame, turn in ((1, 0.0), (40, 0.4)):
        ob["turn"] = turn
        ob.keyframe_insert('["turn"]', frame=frame)
    bone = ob.pose.bones["head"]
    bone.rotation_mode = "XYZ"
    driver = bone.driver_add("rotation_euler", 0).driver
    variable = driver.variables.new()
    variable.targets[0].id, variable.targets[0].data_path = ob, '["turn"]'
    driver.expression = variable.name


def in_nla(ob):
    data = ob.animation_data
    action, slot = data.action, getattr(data, "action_slot", None)
    data.action = None
    strip = data.nla_tracks.new().strips.new("Walk", 1, action)
    if slot is not None:
        strip.action_slot = action.slots[0]


@pytest.mark.parametrize("animate", (object_moves, in_nla), ids=lambda f: f.__name__)
def test_all_that_is_animated_on_the_object_is_rendered_at_its_frame(ob, tmp_path, animate):
    animate(ob)
    for frame, picture in rendered(tmp_path).items():
        assert_seen(picture, expected(ob, frame))


@pytest.mark.parametrize("engine", (workbench, cycles), ids=lambda f: f.__name__)
def test_render_of_live_and_of_baked_are_one(ob, tmp_path, engine):
    """With motion blur in Cycles, for which Blender visits sub-frames out of order."""
    scene = bpy.context.scene
    engine(scene)
    if engine is cycles:
        scene.render.resolution_x = scene.render.resolution_y = 64
    live = rendered(tmp_path)
    ob.foot_ik.enabled = False
    plain = rendered(tmp_path)
    assert bpy.ops.foot_ik.bake() == {"FINISHED"}
    # Between whole frames the bake's keys are joined by lines, where live corrects each sub-frame: single pixels at the
    # edges of a marker may then differ.
    baked = rendered(tmp_path)
    for frame in live:
        off = np.abs(live[frame] - baked[frame]).max(-1) > 0.1
        if engine is workbench:
            assert off.sum() <= 2
        else:
            assert off.mean() < 0.001
    assert max((np.abs(live[f] - plain[f]).max(-1) > 0.1).mean() for f in live) > 0.01


# What a render leaves behind

def test_viewport_is_right_after_a_render(ob, tmp_path):
    scenes.visit(20)
    pose, before = scenes.shown(ob), scenes.channels(ob)
    for settings in ({"animation": True}, {"write_still": False}):
        bpy.context.scene.render.filepath = f"{tmp_path}{os.sep}"
        bpy.ops.render.render(**settings)
        assert bpy.context.scene.frame_current == 20
        assert np.allclose(scenes.shown(ob), pose, atol=1e-6)
        assert scenes.channels(ob) == before


def test_no_trace_is_left_after_a_render(ob, tmp_path):
    ob.foot_ik.enabled = False
    scenes.visit(20)
    raw, before = scenes.shown(ob), scenes.channels(ob)
    ob.foot_ik.enabled = True
    rendered(tmp_path)
    ob.foot_ik.enabled = False
    assert scenes.channels(ob) == before
    assert np.array_equal(scenes.shown(ob), raw)


def test_moving_ground_without_a_plan_is_followed_in_renders(tmp_path):
    """Without a plan each frame looks at the ground in it: of the render, not of the viewport (F15)."""
    ob = dress(scenes.walker("deck"))
    deck = bpy.data.objects["Ground"]
    deck.hide_render = False
    ob.foot_ik.plan = ""
    for frame, picture in rendered(tmp_path).items():
        assert_seen(picture, expected(ob, frame))


def test_two_view_layers_render_alike(ob, tmp_path):
    scene = bpy.context.scene
    alone = rendered(tmp_path)
    scene.view_layers.new("Second")
    for layer in scene.view_layers:
        layer.use = layer.name == "Second"
    second = rendered(tmp_path)
    for frame in alone:
        assert np.array_equal(second[frame], alone[frame])
