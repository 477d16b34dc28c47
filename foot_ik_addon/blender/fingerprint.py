"""A digest of everything that a plan was made from, so that a stale plan is known for one."""
from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator

import bpy
import numpy as np

from .compat import animated_bag
from .pieces import SURFACES
from .upstream import upstream

PLANNED = ("pelvis", "ground_source", "floor_height", "floor_space", "max_pitch", "max_roll", "max_step", "max_shift")
TRANSFORMS = ("location", "rotation_euler", "rotation_quaternion", "rotation_axis_angle", "scale", "delta_location",
              "delta_rotation_euler", "delta_rotation_quaternion", "delta_scale")
PLANNED_LEG = ("upper", "lower", "foot", "toe", "enabled", "reach", "solver")


def fingerprint(scene: bpy.types.Scene, ob: bpy.types.Object) -> str:
    """Digest of the curves, the ground, the settings and the frame range that a plan of `ob` depends on."""
    settings = ob.foot_ik
    digest = hashlib.sha1(usedforsecurity=False)

    def add(*values: object) -> None:
        digest.update(repr(values).encode())

    add(scene.frame_start, scene.frame_end, scene.render.fps, round(scene.render.fps_base, 6),
        scene.render.frame_map_old, scene.render.frame_map_new)
    add(*(getattr(settings, name) for name in PLANNED))
    for leg in settings.legs:
        add(*(getattr(leg, name) for name in PLANNED_LEG))
    for contact in settings.contacts:
        if contact.edited:
            add(contact.leg, contact.start, contact.end, contact.mode, contact.found_start, contact.found_end)
            add(contact.heel_edited and (contact.heel_start, contact.heel_end),
                contact.ball_edited and (contact.ball_start, contact.ball_end))
    if settings.controls:
        add_influences(add, ob)
    around = ground_objects(scene, ob)
    for name, ground in sorted(around.items()):
        add(name, ground.hide_viewport)
        add_shape(add, ground)
    chains = {o.name_full: o for start in (ob, *around.values()) for o in upward(start)}
    for _, moved in sorted(chains.items()):
        add_animation(add, moved)
    return digest.hexdigest()


def upward(ob: bpy.types.Object | None) -> Iterator[bpy.types.Object]:
    """An object and its parents."""
    while ob is not None:
        yield ob
        ob = ob.parent


def add_influences(add, ob: bpy.types.Object) -> None:
    """What the constraints follow that move the legs, such as IK or FK; what is set up for other bones adds nothing."""
    names = [name for leg in ob.foot_ik.legs for name in (leg.foot, leg.lower) if name in ob.pose.bones]
    for name in upstream(ob, names):
        for constraint in ob.pose.bones[name].constraints:
            add(name, constraint.name, constraint.mute, round(constraint.influence, 3))


def add_animation(add, ob: bpy.types.Object) -> None:
    """Where an object is and what moves it."""
    animated = add_curves(add, ob.animation_data)
    for name in TRANSFORMS:
        if not animated(name):
            add(name, *(round(v, 6) for v in getattr(ob, name)))
    for constraint in ob.constraints:
        add(constraint.type, constraint.mute)


def add_curves(add, data: bpy.types.AnimData | None) -> Callable[[str], bool]:
    """What animates something; returns whether it may move what lies at a data path."""
    if data is None:
        return lambda _: False
    for track in data.nla_tracks:
        add(track.mute, *((s.frame_start, s.frame_end, s.mute, s.influence, s.action and s.action.name)
                          for s in track.strips))
    bag, moved = animated_bag(data), {driver.data_path for driver in data.drivers}
    for curve in bag.fcurves if bag else ():
        points = curve.keyframe_points
        add(curve.data_path, curve.array_index, curve.mute, len(curve.modifiers))
        for name in ("co", "handle_left", "handle_right"):
            values = np.empty(len(points) * 2, np.float32)
            points.foreach_get(name, values)
            add(zlib.crc32(values))
        moved.add(curve.data_path)
    strips = len(data.nla_tracks) > 0  # what they move is not known
    return lambda path: strips or path in moved


def add_shape(add, ob: bpy.types.Object) -> None:
    """The surface of an object, and what bends it."""
    if ob.type == "MESH" and ob.mode != "EDIT":
        coords = np.empty(len(ob.data.vertices) * 3, np.float32)
        ob.data.vertices.foreach_get("co", coords)
        add(len(ob.data.polygons), zlib.crc32(coords))
    keys = getattr(ob.data, "shape_keys", None)
    animated = add_curves(add, keys and keys.animation_data)
    for block in keys.key_blocks if keys else ():
        add(block.name, block.mute)
        if not animated(f'key_blocks["{bpy.utils.escape_identifier(block.name)}"].value'):
            add(round(block.value, 6))
    animated = add_curves(lambda *_: None, ob.animation_data)  # which `add_animation` has added
    for modifier in ob.modifiers:
        add(modifier.type, modifier.show_viewport)
        for prop in modifier.bl_rna.properties:
            path = f'modifiers["{bpy.utils.escape_identifier(modifier.name)}"].{prop.identifier}'
            plain = prop.type in {"FLOAT", "INT"} or (prop.type == "ENUM" and not prop.is_enum_flag)
            if plain and not prop.is_readonly and not animated(path):
                value = getattr(modifier, prop.identifier)
                add(tuple(value) if getattr(prop, "is_array", False) else value)


def ground_objects(scene: bpy.types.Scene, ob: bpy.types.Object) -> dict[str, bpy.types.Object]:
    """The objects that may be ground by the settings of `ob`; instancers are among them."""
    settings = ob.foot_ik
    if settings.ground_source == "FLOOR":
        return {}
    chosen = settings.ground_source == "COLLECTION"
    scenes = [scene]
    while scenes[-1].background_set is not None:
        scenes.append(scenes[-1].background_set)
    among = getattr(settings.ground_collection, "all_objects", ()) if chosen else [o for s in scenes for o in s.objects]
    made = lambda o: o.instance_type != "NONE" or (len(o.modifiers) > 0 and o.type != "ARMATURE")
    return {o.name_full: o for o in among if o.type in SURFACES or made(o)}
