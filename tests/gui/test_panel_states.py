"""The panel is drawn in each of its states: look at build/gui/panel-*.png. A traceback fails the run."""
import importlib
import sys
from pathlib import Path

import bpy

sys.path.insert(0, str(Path(__file__).parent))
import harness


def addon(name):
    return importlib.import_module(f"bl_ext.user_default.foot_ik.{name}")


def rig():
    return next(o for o in bpy.context.scene.objects if o.type == "ARMATURE")


def activate(ob):
    for other in bpy.context.selected_objects:
        other.select_set(False)
    bpy.context.view_layer.objects.active = ob
    if ob is not None:
        ob.select_set(True)


def press(name, **options):
    with harness.view3d():
        assert getattr(bpy.ops.foot_ik, name)(**options) == {"FINISHED"}


def picture(name):
    """Picture of the window, the sidebar drawn anew."""
    for _ in range(2):  # Blender slides panels into place, slowly under software OpenGL
        addon("ui.state").redraw()
        yield 1.5
    harness.screenshot(f"panel-{name}")


def open_only(*labels):
    """Register the subpanels anew, so that these are open: nothing in Python opens a panel."""
    for cls in addon("ui.panels").CLASSES[1:]:
        bpy.utils.unregister_class(cls)
        cls.bl_idname = f"{cls.__name__}_{len(labels)}{''.join(labels)}"
        cls.bl_options = set() if cls.bl_label in labels else {"DEFAULT_CLOSED"}
        bpy.utils.register_class(cls)


def test_before_set_up():
    harness.install()
    yield 0.5
    yield from harness.show_sidebar("Foot IK")
    activate(None)
    yield from picture("nothing")
    bpy.ops.wm.open_mainfile(filepath=str(harness.ROOT / "sample_scenes" / "slope.blend"), load_ui=False)
    yield 0.5
    activate(next(o for o in bpy.context.scene.objects if o.find_armature()))
    yield from picture("body")
    activate(rig())
    yield from picture("no-legs")


def test_set_up_planned_and_live():
    open_only("Legs")
    press("leg_add")
    yield from picture("leg-added")
    press("detect_legs")
    yield from picture("set-up")
    open_only("Contacts")
    press("plan")
    yield from picture("planned")
    settings = rig().foot_ik
    settings.contacts[0].mode = "SLIDE"
    settings.active_contact = 2
    press("contact_remove")
    bpy.context.scene.frame_set(60)
    press("contact_add")
    yield from picture("contacts-edited")
    open_only("Ground", "Bake")
    press("toggle")
    settings.use_bake_range = True
    yield from picture("stale")
    press("plan")
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    bpy.context.scene.frame_set(200)
    yield from picture("live-warnings")
    open_only()
    press("stop_auto_keying")
    press("lock_interface")
    bpy.context.scene.frame_set(60)
    yield from picture("live")


def test_errors():
    ob = rig()
    leg = ob.foot_ik.legs[0]
    leg.lower = "Bone That Is Not There"
    yield from picture("bone-missing")
    leg.lower = "shin.L"
    ob.foot_ik.ground_source = "COLLECTION"
    ob.data.pose_position = "REST"
    yield from picture("rest-and-no-ground")
    press("use_pose_position")
    press("set_ground_source", source="SCENE")
    target = bpy.data.objects.new("Target", None)
    target.location = (0.5, 0.5, 0.5)
    bpy.context.scene.collection.objects.link(target)
    constraint = ob.pose.bones["shin.L"].constraints.new("IK")
    constraint.target, constraint.chain_count = target, 2
    ob.pose.bones["thigh.R"].constraints.new("COPY_TRANSFORMS").target = target
    ob.pose.bones["hips"].driver_add("location", 1).driver.expression = "0.1"
    yield from picture("moved-bones")


def test_linked_rig():
    path = str(harness.ROOT / "sample_scenes" / "slope.blend")
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    yield 0.5
    if not hasattr(bpy.types.Object, "foot_ik"):  # factory settings disable extensions
        bpy.ops.preferences.addon_enable(module="bl_ext.user_default.foot_ik")
    with bpy.data.libraries.load(path, link=True) as (_, wanted):
        wanted.objects = ["Mannequin"]
    bpy.context.scene.collection.objects.link(wanted.objects[0])
    activate(wanted.objects[0])
    yield from harness.show_sidebar("Foot IK")
    yield from picture("linked")


harness.run(test_before_set_up, test_set_up_planned_and_live, test_errors, test_linked_rig)
