"""A user's way through the panel in a real window: install, Detect Legs, Plan, Live, scrub, bake, undo, Esc."""
import sys
import time
from pathlib import Path

import bpy

sys.path.insert(0, str(Path(__file__).parent))
import harness
from mathutils import Vector

LONGEST = 60.0  # seconds for one operator
REPLANNED = 2.5  # seconds: the pause, and the plan
SOLE = 0.02  # metres between a planted sole and the ground; the uncorrected feet are off by ten times as much


def rig():
    return next(o for o in bpy.context.scene.objects if o.type == "ARMATURE")


def open_scene(name):
    """Open a sample scene with the window as it is, its rig made active by a click in the outliner's place."""
    bpy.ops.wm.open_mainfile(filepath=str(harness.ROOT / "sample_scenes" / f"{name}.blend"), load_ui=False)
    yield 0.5
    for ob in bpy.context.selected_objects:
        ob.select_set(False)
    bpy.context.view_layer.objects.active = rig()
    rig().select_set(True)
    look_from_camera()
    yield from harness.show_sidebar("Foot IK")


def look_from_camera():
    with harness.view3d():
        space = bpy.context.space_data
        space.region_3d.view_perspective = "CAMERA"
        space.region_3d.view_camera_zoom = 20
        space.overlay.show_overlays = False
        space.shading.light, space.shading.color_type = "STUDIO", "MATERIAL"


def press(name, **options):
    """Press a button of the panel and wait until its work has ended."""
    with harness.view3d():
        getattr(bpy.ops.foot_ik, name)("INVOKE_DEFAULT", True, **options)
    yield from until_idle()


def until_idle():
    """Wait for the operators that run between events."""
    start = time.monotonic()
    while running():
        assert time.monotonic() - start < LONGEST, "an operator does not end"
        yield 0.1
    yield 0.2


def running():
    return any(op.bl_idname.startswith("FOOT_IK_OT_") for op in bpy.context.window_manager.windows[0].modal_operators)


def gaps(frames):
    """{frame: distance (m) of the lowest sole from the ground, positive over it} of the mesh of the character."""
    scene, out = bpy.context.scene, {}
    body = next(o for o in scene.objects if o.type == "MESH" and o.find_armature() == rig())
    ground = next(o for o in scene.objects if o.type == "MESH" and o.find_armature() is None)
    feet = {g.index for g in body.vertex_groups if g.name.startswith(("foot", "toe"))}
    soles = [v.index for v in body.data.vertices if any(g.group in feet and g.weight > 0.5 for g in v.groups)]
    for frame in frames:
        scene.frame_set(frame)
        depsgraph = bpy.context.view_layer.depsgraph
        mesh, matrix = body.evaluated_get(depsgraph).data, body.evaluated_get(depsgraph).matrix_world
        into = ground.matrix_world.inverted()
        down = (into.to_3x3() @ Vector((0, 0, -1))).normalized()
        here = []
        for i in soles:
            point = matrix @ mesh.vertices[i].co
            hit, place, *_ = ground.ray_cast(into @ (point + Vector((0, 0, 1))), down)
            if hit:
                here.append(point.z - (ground.matrix_world @ place).z)
        out[frame] = min(here)
    return out


def pose():
    return {b.name: b.matrix_basis.copy() for b in rig().pose.bones}


def same(a, b):
    return all((a[n] - b[n]).to_4x4() is not None and max(abs(x) for row in a[n] - b[n] for x in row) < 1e-6 for n in a)


def undo():
    with harness.view3d():
        bpy.ops.ed.undo()


def test_three_buttons():
    harness.install()
    yield 0.5
    yield from open_scene("slope")
    scene = bpy.context.scene
    frames = range(scene.frame_start, scene.frame_end + 1, 5)
    raw = gaps(frames)
    scene.frame_set(60)
    yield from press("detect_legs")
    assert len(rig().foot_ik.legs) == 2
    yield 0.5
    yield from press("plan")
    assert rig().foot_ik.plan and rig().foot_ik.contacts and not rig().foot_ik.enabled
    assert scene.frame_current == 60
    yield 0.5
    harness.screenshot("ui-planned")
    yield from press("toggle")
    assert rig().foot_ik.enabled
    yield from press("lock_interface")
    yield 1.5
    harness.screenshot("ui-live")
    corrected = gaps(frames)
    assert max(map(abs, raw.values())) > 0.1
    assert max(map(abs, corrected.values())) < SOLE, corrected
    backwards = gaps(reversed(frames))
    assert all(abs(backwards[f] - corrected[f]) < 1e-5 for f in frames), "scrubbing back shows other poses"


def test_playback_keeps_the_feet_on_the_slope():
    scene = bpy.context.scene
    scene.frame_set(scene.frame_start)
    with harness.view3d():
        bpy.ops.screen.animation_play()
    yield 2.0
    with harness.view3d():
        bpy.ops.screen.animation_cancel(restore_frame=False)
    yield 0.2
    frame = scene.frame_current
    assert frame != scene.frame_start
    shown = pose()
    scene.frame_set(frame)
    assert same(shown, pose())


def is_current():
    planning = next(m for name, m in sys.modules.items() if name.endswith(".foot_ik.blender.planning"))
    return planning.plan_state(bpy.context.scene, rig()) == "CURRENT"


def ground():
    return next(o for o in bpy.context.scene.objects if o.type == "MESH" and o.find_armature() is None)


def test_bake_is_undone_in_one_step():
    ob = rig()
    action, scene = ob.animation_data.action.name, bpy.context.scene
    scene.frame_set(60)
    yield 0.3
    live = pose()
    yield from press("bake")
    assert not rig().foot_ik.enabled and rig().animation_data.action.name != action
    scene.frame_set(60)
    assert max(abs(x) for n, m in pose().items() for row in m - live[n] for x in row) < 1e-4
    yield 0.5
    undo()
    yield 0.5
    assert rig().animation_data.action.name == action and rig().foot_ik.enabled
    assert same(pose(), live), "after the undo the corrected pose shows again"


def test_edits_of_what_is_live_are_followed_after_a_pause():
    ground().location.z += 0.05
    assert not is_current()
    yield REPLANNED
    assert is_current()
    rig().foot_ik.max_step = 0.3
    yield REPLANNED
    assert is_current()
    rig().foot_ik.enabled = False
    ground().location.z += 0.01
    yield REPLANNED
    assert not is_current(), "what is not live is left alone"
    rig().foot_ik.enabled = True
    yield REPLANNED
    assert is_current()


def test_nothing_is_planned_in_the_middle_of_a_playback_or_a_drag():
    with harness.view3d():
        ground().location.z += 0.02
        bpy.ops.screen.animation_play()
    yield REPLANNED
    assert not is_current()
    with harness.view3d():
        bpy.ops.screen.animation_cancel(restore_frame=False)
    yield REPLANNED
    assert is_current()
    with harness.view3d():
        bpy.ops.transform.translate("INVOKE_DEFAULT")
    ground().location.z -= 0.02
    yield REPLANNED
    assert not is_current()
    harness.key("Escape")
    yield REPLANNED
    assert is_current()


def test_plan_is_undone_in_one_step():
    yield from open_scene("slope")
    bpy.context.scene.frame_end = 40
    yield from press("detect_legs")
    yield from press("plan")
    assert rig().foot_ik.plan
    undo()
    yield 0.5
    settings = rig().foot_ik
    assert not settings.plan and not settings.contacts and len(settings.legs) == 2


def test_esc_leaves_everything_as_it_was():
    yield from open_scene("slope")
    yield from press("detect_legs")
    bpy.context.scene.frame_end = 40
    yield from press("plan")
    ob, scene = rig(), bpy.context.scene
    yield from press("toggle")
    scene.frame_set(33)
    scene.frame_end = 60000  # long enough to be cancelled while it is read
    yield 0.5
    plan, contacts, shown = ob.foot_ik.plan, len(ob.foot_ik.contacts), pose()
    with harness.view3d():
        bpy.ops.foot_ik.plan("INVOKE_DEFAULT", True)
    yield 0.3
    assert running()
    harness.screenshot("ui-progress")
    harness.key("Escape")
    yield from until_idle()
    ob = rig()
    assert (ob.foot_ik.plan, len(ob.foot_ik.contacts), scene.frame_current) == (plan, contacts, 33)
    assert ob.foot_ik.enabled and same(pose(), shown), "the live pose shows again"


harness.run(test_three_buttons, test_playback_keeps_the_feet_on_the_slope,
            test_bake_is_undone_in_one_step, test_edits_of_what_is_live_are_followed_after_a_pause,
            test_nothing_is_planned_in_the_middle_of_a_playback_or_a_drag, test_plan_is_undone_in_one_step,
            test_esc_leaves_everything_as_it_was)
