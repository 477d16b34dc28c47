"""A digest of everything that a plan was made from, so that a stale plan is known for one."""
from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable
from functools import cache

import bpy
import numpy as np

from .compat import Bag, animated_bag, is_muted, strip_bag
from .handlers import with_sets
from .keys import BEZIER, NUMBERS
from .pieces import SURFACES, holders, is_worn
from .upstream import upstream

PLANNED = ("pelvis", "ground_source", "floor_height", "floor_space", "max_pitch", "max_roll", "max_step", "max_shift")
TRANSFORMS = ("location", "rotation_euler", "rotation_quaternion", "rotation_axis_angle", "scale", "delta_location",
              "delta_rotation_euler", "delta_rotation_quaternion", "delta_scale")
BLENDED = ("use_nla", "action_blend_type", "action_extrapolation", "action_influence")
STRIP = ("type", "mute", "frame_start", "frame_end", "action_frame_start", "action_frame_end", "scale", "repeat",
         "use_reverse", "blend_type", "extrapolation", "blend_in", "blend_out", "use_animated_time",
         "use_animated_time_cyclic", "use_animated_influence")
DISPLAYED = ("active", "is_", "open_", "show_", "use_pin_")
"""Beginnings of the names of properties that only say how something is displayed."""
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
    chosen = settings.ground_source == "COLLECTION"
    around = {name: ground for name, ground in ground_objects(scene, ob).items() if not is_worn(ground, ob, chosen)}
    for name, ground in sorted(around.items()):
        add(name, ground.hide_viewport)
        add_shape(add, ground)
    for _, moved in sorted(carried([ob, *around.values()]).items()):
        add_animation(add, moved)
    return digest.hexdigest()


def carried(obs: list[bpy.types.Object]) -> dict[str, bpy.types.Object]:
    """{full name: object} of some objects and all that they go along with, be it by their surface alone."""
    found, open_ = {}, list(obs)
    while open_:
        here = open_.pop()
        if here.name_full not in found:
            found[here.name_full] = here
            open_ += filter(None, holders(here))
    return found


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
    for driver in data.drivers:
        add_driver(add, driver)
    moved = {driver.data_path for driver in data.drivers}
    if not data.use_tweak_mode:
        moved |= add_bag(add, animated_bag(data))
    elif data.action_tweak_storage is not None or data.nla_tracks.active != data.nla_tracks[-1]:
        add("what is above the strip that is tweaked does not play meanwhile")
    if len(data.nla_tracks):
        add(*(getattr(data, name) for name in BLENDED))
    for track in data.nla_tracks:
        add(track.mute, track.is_solo)
        if track.is_solo or not track.mute:  # importers keep dozens of actions on muted tracks
            moved |= add_strips(add, track.strips)
    return moved.__contains__


def add_strips(add, strips: Iterable[bpy.types.NlaStrip]) -> set[str]:
    """What NLA strips play and how, those inside meta strips too; returns the data paths that they move."""
    moved = set()
    for strip in strips:
        add(*(getattr(strip, name) for name in STRIP))
        if not strip.use_animated_influence:
            add(strip.influence)
        add_fcurves(add, strip.fcurves)
        add_modifiers(add, strip.modifiers)
        moved |= add_bag(add, strip_bag(strip)) | add_strips(add, strip.strips)
    return moved


def add_bag(add, bag: Bag | None) -> set[str]:
    """The curves of an action; returns their data paths."""
    if bag is None:
        return set()
    add_fcurves(add, bag.fcurves)
    return {curve.data_path for curve in bag.fcurves}


def add_fcurves(add, curves: Iterable[bpy.types.FCurve]) -> None:
    """All that tells which values curves have."""
    for curve in curves:
        add(curve.data_path, curve.array_index, is_muted(curve), curve.extrapolation)
        kinds = digested(add, curve, "interpolation", 1, np.int32)
        digested(add, curve, "co", 2)
        if (kinds == BEZIER).any():
            for name in ("handle_left", "handle_right"):
                digested(add, curve, name, 2)
        if (kinds > BEZIER).any():
            digested(add, curve, "easing", 1, np.int32)
            for name in NUMBERS:
                digested(add, curve, name, 1)
        add_modifiers(add, curve.modifiers)


def add_modifiers(add, modifiers: Iterable[bpy.types.FModifier]) -> None:
    """What changes the values of curves."""
    for modifier in modifiers:
        add_plain(add, modifier)
        for point in getattr(modifier, "control_points", ()):
            add_plain(add, point)


def digested(add, curve: bpy.types.FCurve, name: str, size: int, kind: type = np.float32) -> np.ndarray:
    """A property of all keys of a curve, which is added."""
    values = np.empty(len(curve.keyframe_points) * size, kind)
    curve.keyframe_points.foreach_get(name, values)
    add(zlib.crc32(values))
    return values


def add_driver(add, curve: bpy.types.FCurve) -> None:
    """What a driver makes of what; where that is now is not known."""
    add_fcurves(add, [curve])
    add(curve.driver.type, curve.driver.expression)
    for variable in curve.driver.variables:
        add(variable.name, variable.type)
        for target in variable.targets:
            add(target.id and target.id.name_full, target.data_path, target.bone_target, target.transform_type)


def add_plain(add, owner: bpy.types.bpy_struct, still: Callable[[str], bool] = lambda _: True) -> None:
    """The numbers, choices and switches of something, of which `still` tells that nothing moves them."""
    for name, is_array in plain_properties(type(owner)):
        if still(name):
            value = getattr(owner, name)
            add(tuple(value) if is_array else value)


@cache
def plain_properties(kind: type) -> list[tuple[str, bool]]:
    """(name, whether it is an array) of the numbers, choices and switches of a type that say what it does."""
    return [(p.identifier, getattr(p, "is_array", False)) for p in kind.bl_rna.properties
            if (p.type in {"FLOAT", "INT", "BOOLEAN"} or (p.type == "ENUM" and not p.is_enum_flag))
            and not p.is_readonly and not p.identifier.startswith(DISPLAYED)]


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
        path = f'modifiers["{bpy.utils.escape_identifier(modifier.name)}"].'
        add_plain(add, modifier, lambda name, path=path: not animated(path + name))


def ground_objects(scene: bpy.types.Scene, ob: bpy.types.Object) -> dict[str, bpy.types.Object]:
    """The objects that may be ground by the settings of `ob`; instancers are among them."""
    settings = ob.foot_ik
    if settings.ground_source == "FLOOR":
        return {}
    chosen = settings.ground_source == "COLLECTION"
    shown = (o for s in with_sets(scene) for o in s.objects)
    among = getattr(settings.ground_collection, "all_objects", ()) if chosen else shown
    made = lambda o: o.instance_type != "NONE" or (len(o.modifiers) > 0 and o.type != "ARMATURE")
    return {o.name_full: o for o in among if o.type in SURFACES or made(o)}
