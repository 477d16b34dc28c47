"""The overlay draws the footprints of the plan where they lie, at every frame, also on ground that moves; and the
contacts over the frames of the scene. What is drawn is looked at as lines and triangles, without a window.
"""
import addon_utils
import bpy
import numpy as np
import pytest
from blender import scenes
from blender.conftest import MODULE, enable
from mathutils import Vector

LIFTED = 0.01  # metres: footprints are drawn that little above the ground
LEFT, RIGHT = 0, 1


@pytest.fixture
def drawn(addon):
    """What is drawn of the rig's footprints at a frame."""
    prints = addon("blender.prints")

    def at(frame, ob=None):
        ob = ob or scenes.rig()
        scenes.visit(frame)
        saved = prints.unpack_prints(ob.foot_ik.footprints)
        carriers = prints.carriers_now(ob, saved, bpy.context.view_layer.depsgraph)
        return prints.shapes(saved, carriers, prints.lit_at(saved, frame))
    return at


def planned(ground):
    """A walker on a ground that is made by a function, planned."""
    ob = scenes.walker("flat", ready=False)
    bpy.data.objects.remove(bpy.data.objects["Ground"])
    ground()
    assert bpy.ops.foot_ik.detect_legs() == {"FINISHED"}
    assert bpy.ops.foot_ik.plan() == {"FINISHED"}
    return ob


def heights(points, name="Ground"):
    """(N,): how far points (..., 3) lie over an object, along the vertical."""
    ground = bpy.data.objects[name].evaluated_get(bpy.context.view_layer.depsgraph)
    into, out = ground.matrix_world.inverted(), []
    for p in points.reshape(-1, 3):
        hit, place, *_ = ground.ray_cast(into @ Vector((*p[:2], p[2] + 1.0)), into.to_3x3() @ Vector((0, 0, -1)))
        assert hit
        out.append(p[2] - (ground.matrix_world @ place).z)
    return np.array(out)


def soles(leg, frame):
    """Head of the foot and of the toe bone of a leg, as shown at a frame, in the world."""
    scenes.visit(frame)
    ob = scenes.rig().evaluated_get(bpy.context.view_layer.depsgraph)
    side = "LR"[leg]
    return [np.array(ob.matrix_world @ ob.pose.bones[f"{bone}.{side}"].head) for bone in ("foot", "toe")]


@pytest.mark.parametrize("ground", ("slope", "stairs", "deck"))
def test_footprints_lie_on_the_ground(drawn, ground):
    scenes.walker(ground)
    name = "Stairs" if ground == "stairs" else "Ground"
    for frame in (1, 10, 25, 40):
        shapes = drawn(frame)
        middles = shapes.lit.mean(1)
        over = heights(middles, name)
        # a rigid sole spans the hollows of stairs
        assert over.min() > 0 and (over.max() < LIFTED if ground != "stairs" else np.median(over) < LIFTED)


def test_feet_stand_in_their_footprints(drawn):
    ob = scenes.walker("skate")
    ob.foot_ik.enabled = True
    for frame in (8, 14, 24, 38):
        shapes = drawn(frame)
        for leg in set(shapes.lit_legs):
            print_ = shapes.lit[shapes.lit_legs == leg]
            low, high = print_.min((0, 1)), print_.max((0, 1))
            for point in soles(leg, frame):
                assert (low[:2] - 0.03 < point[:2]).all() and (point[:2] < high[:2] + 0.03).all()


def test_those_of_the_frame_are_lit_and_filled_where_heel_and_ball_touch(drawn):
    ob = scenes.walker("slope")
    area = {}
    for c in ob.foot_ik.contacts:
        for frame in range(c.start, c.end + 1):
            shapes, leg = drawn(frame), ("Left", "Right").index(c.leg)
            assert leg in shapes.lit_legs
            heel, ball = c.heel_start <= frame <= c.heel_end, c.ball_start <= frame <= c.ball_end
            area.setdefault((heel, ball), set()).add(int((shapes.filled_legs == leg).sum()))
    assert set(area) == {(True, False), (True, True), (False, True)} and all(len(n) == 1 for n in area.values())
    heel, ball, both = (min(area[k]) for k in ((True, False), (False, True), (True, True)))
    assert heel and ball and heel + ball == both
    shapes = drawn(25)
    assert set(shapes.lit_legs) == {RIGHT} and LEFT in shapes.outline_legs


def test_footprints_keep_their_place_on_ground_that_moves(drawn):
    scenes.walker("deck")
    local = []
    for frame in (1, 20, scenes.LAST):
        lines = drawn(frame).outlines
        into = np.array(bpy.data.objects["Ground"].evaluated_get(bpy.context.view_layer.depsgraph).matrix_world)
        world = np.concatenate([lines, np.ones((*lines.shape[:2], 1))], -1)
        local.append((world @ np.linalg.inv(into).T)[..., :3])
        assert local[0].shape == local[-1].shape and np.allclose(local[0], local[-1], atol=1e-4)


def test_footprints_go_along_with_ground_that_is_moved_by_hand(drawn):
    scenes.walker("slope")
    before = drawn(10).outlines
    bpy.data.objects["Ground"].location = (0.5, 0.25, -1.0)
    assert np.allclose(drawn(10).outlines - before, (0.5, 0.25, -1.0), atol=1e-5)


def test_footprints_on_instances_are_carried_by_the_instancer(drawn):
    def ground():
        hidden = bpy.data.collections.new("Source")
        hidden.objects.link(scenes.strip("Source", [(-4.0, 0.5), (-0.2, 0.0), (1.5, 0.0)]))
        empty = bpy.data.objects.new("Instance", None)
        empty.instance_type, empty.instance_collection = "COLLECTION", hidden
        for frame, z in ((1, 0.0), (scenes.LAST, 0.2)):
            empty.location.z = z
            empty.keyframe_insert("location", index=2, frame=frame)
        bpy.context.scene.collection.objects.link(empty)

    planned(ground)
    first, last = drawn(1), drawn(scenes.LAST)
    assert len(first.outlines) and np.allclose(last.outlines - first.outlines, (0, 0, 0.2), atol=1e-5)
    slope = np.maximum(-0.2 - first.outlines[..., 1], 0) * 0.5 / 3.8
    over = first.outlines[..., 2] - slope
    assert (over > -1e-3).all() and (over < LIFTED).all()


def test_footprints_on_the_flat_floor_are_carried_by_the_parent(drawn):
    ob = scenes.walker("flat", ready=False)
    ob.foot_ik.ground_source = "FLOOR"
    raft = bpy.data.objects.new("Raft", None)
    bpy.context.scene.collection.objects.link(raft)
    ob.parent = raft
    bpy.ops.foot_ik.detect_legs()
    bpy.ops.foot_ik.plan()
    before = drawn(10).outlines
    assert np.ptp(before[..., 2]) < 1e-6
    raft.location = (1.0, 2.0, 3.0)
    assert np.allclose(drawn(10).outlines - before, (1.0, 2.0, 3.0), atol=1e-5)


def test_scale_of_rig_and_ground_does_not_bend_footprints(drawn):
    scenes.walker("slope")
    usual = drawn(10).outlines
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)

    def scaled(rig):
        rig.scale = (2.0, 2.0, 2.0)
        bpy.data.objects["Ground"].scale = (3.0, 2.0, 2.0)

    ob = scenes.walker("slope", prepare=scaled)
    assert np.allclose(drawn(10, ob).outlines, 2 * usual, atol=2e-3)


def test_normals_stand_on_the_ground(drawn):
    scenes.walker("slope")
    (a, b), = drawn(25).normals
    up = (b - a) / np.linalg.norm(b - a)
    assert np.degrees(np.arccos(up[2])) == pytest.approx(12.0, abs=1.0)


def test_rays_end_on_the_ground(addon):
    ob = scenes.walker("stairs")
    ob.foot_ik.enabled = True
    for frame in (10, 25):
        scenes.visit(frame)
        lines, legs = addon("blender.prints").rays(ob, bpy.context.view_layer.depsgraph, frame)
        assert legs.tolist() == [0, 0, 1, 1]
        assert np.abs(heights(lines[:, 1], "Stairs")).max() < 1e-4
        assert np.abs(lines[:, 0, :2] - lines[:, 1, :2]).max() < 1e-5
        length = (lines[:, 0, 2] - lines[:, 1, 2]).reshape(2, 2)
        assert length.max() > 0.02 and np.abs(length).min() < 0.005, "one foot swings, one stands"


def test_rays_of_a_rig_that_has_changed_are_left_out(addon):
    """In a draw callback nothing may fail."""
    ob, prints = scenes.walker("slope"), addon("blender.prints")
    depsgraph = bpy.context.view_layer.depsgraph
    ob.foot_ik.legs[0].toe = ob.foot_ik.legs[0].foot = "Gone"
    assert set(prints.rays(ob, depsgraph, 1)[1]) == {RIGHT}
    ob.foot_ik.legs[1].sole = ""
    assert len(prints.rays(ob, depsgraph, 1)[0]) == 0
    ob.foot_ik.ground_source = "COLLECTION"
    with pytest.raises(addon("blender.rig").Refusal):
        prints.rays(ob, depsgraph, 1)


def test_ground_that_is_gone_takes_its_footprints_along(drawn):
    scenes.walker("slope")
    bpy.data.objects.remove(bpy.data.objects["Ground"])
    shapes = drawn(10)
    assert not len(shapes.outlines) and not len(shapes.lit) and not len(shapes.filled) and not len(shapes.normals)


def test_a_foot_that_slides_shows_only_where_it_is(drawn):
    ob = scenes.walker("slope")
    for c in ob.foot_ik.contacts:
        c.mode = "SLIDE"
    bpy.ops.foot_ik.plan()
    shapes = drawn(25)
    assert not len(shapes.outlines) and set(shapes.lit_legs) == {RIGHT}


def test_the_strip_shows_each_contact_over_its_frames(addon):
    ob, scene = scenes.walker("slope"), bpy.context.scene
    scene.frame_set(25)
    module = addon("ui.overlay")
    left, width = 100.0, 46 * 10.0
    names = module.NAMES
    shown = module.strip(ob, scene, left, left + names + width, 50.0, 1.0)
    assert [text for *_, text in shown.texts] == ["Left", "Right"]
    x0 = left + names
    for c in ob.foot_ik.contacts:
        for a, b in ((c.start, c.end), (c.heel_start, c.heel_end), (c.ball_start, c.ball_end)):
            if a <= b:
                assert any(abs(box[0] - x0 - 10 * (a - 1)) < 1e-6 and abs(box[2] - x0 - 10 * b) < 1e-6
                           for box in shown.boxes)
    cursor = shown.boxes[-1]
    assert (cursor[0] + cursor[2]) / 2 == pytest.approx(x0 + 245.0)
    assert all(50.0 <= box[1] < box[3] and box[2] <= x0 + width for box in shown.boxes)
    for c in ob.foot_ik.contacts:
        c.mode = "NONE"
    assert len(module.strip(ob, scene, left, 600.0, 50.0, 1.0).boxes) == 2, "background and cursor"
    scene.frame_start = 20
    for c in ob.foot_ik.contacts:
        c.mode = "LOCK"
    assert all(left <= box[0] < box[2] <= 600.0 for box in module.strip(ob, scene, left, 600.0, 50.0, 1.0).boxes)
    for c in ob.foot_ik.contacts:
        c.mode = "NONE"
    scene.use_preview_range, scene.frame_preview_start, scene.frame_preview_end = True, 30, 39
    assert len(module.strip(ob, scene, left, 600.0, 50.0, 1.0).boxes) == 1, "the cursor is out of the range"


def test_a_disabled_add_on_draws_nothing(addon):
    handles = addon("ui.overlay")._handles
    assert len(handles) == 2
    addon_utils.disable(MODULE)
    assert not handles
    enable()


@pytest.mark.parametrize("operator", ("clear", "detect_legs"))
def test_footprints_go_with_their_plan(operator):
    ob = scenes.walker("slope")
    assert ob.foot_ik.footprints
    getattr(bpy.ops.foot_ik, operator)()
    assert not ob.foot_ik.plan and not ob.foot_ik.footprints


def test_footprints_that_cannot_be_read_are_refused(addon):
    refusal = addon("blender.rig").Refusal
    for text in ("", "nonsense", "{}\n", '{"arrays": {}}\n'):
        with pytest.raises(refusal, match="press Plan"):
            addon("blender.prints").unpack_prints(text)


def drawable():
    """Whether this Blender can draw without a window; up to 5.0 once it has rendered something."""
    import gpu
    scene = bpy.context.scene
    if hasattr(gpu, "init"):
        gpu.init()
    elif bpy.app.version >= (4, 5, 0):
        scene.camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
        scene.collection.objects.link(scene.camera)
        scene.render.engine, scene.render.resolution_x, scene.render.resolution_y = "BLENDER_WORKBENCH", 16, 16
        bpy.ops.render.render()
    try:
        gpu.types.GPUOffScreen(4, 4).free()
    except (SystemError, RuntimeError):
        return False
    return bpy.app.version >= (4, 5, 0)


def test_footprints_reach_the_screen(addon):
    """From above, on a picture: both legs' colours, more of the leg that stands."""
    import gpu
    from mathutils import Matrix
    ob, module, size = scenes.walker("slope"), addon("ui.overlay"), 256
    if not drawable():
        pytest.skip("this Blender draws in windows only")
    ob.foot_ik.show_rays = True
    counts = []
    for frame in (10, 25):
        scenes.visit(frame)
        picture = gpu.types.GPUOffScreen(size, size)
        with picture.bind(), gpu.matrix.push_pop(), gpu.matrix.push_pop_projection():
            screen = gpu.state.active_framebuffer_get()
            screen.clear(color=(0, 0, 0, 0), depth=1.0)
            gpu.matrix.load_matrix(Matrix.Diagonal((0.7, 0.7, 0.1, 1.0)) @ Matrix.Translation((0, 1.0, 0)))
            gpu.matrix.load_projection_matrix(Matrix.Identity(4))
            module.draw_batches(module.batches(ob, bpy.context.view_layer.depsgraph, frame), 1.0)
            pixels = np.array(screen.read_color(0, 0, size, size, 4, 0, "FLOAT").to_list())
        picture.free()
        red, _, blue, alpha = np.moveaxis(pixels, -1, 0)
        counts.append([((red > blue) & (alpha > 0)).sum(), ((blue > red) & (alpha > 0)).sum()])
    (left, right), (left_later, right_later) = counts
    assert min(left, right, left_later, right_later) > 50
    assert left > 1.1 * left_later and right_later > 1.1 * right
