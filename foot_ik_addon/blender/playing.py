"""A digest of what animates a data-block: its curves, NLA strips and drivers; and which properties say what it does."""
from __future__ import annotations

import zlib
from collections.abc import Iterable
from functools import cache

import bpy
import numpy as np

from .compat import Bag, animated_bag, is_muted, strip_bag
from .keys import BEZIER, NUMBERS

BLENDED = ("use_nla", "action_blend_type", "action_extrapolation", "action_influence")
STRIP = ("type", "mute", "frame_start", "frame_end", "action_frame_start", "action_frame_end", "scale", "repeat",
         "use_reverse", "blend_type", "extrapolation", "blend_in", "blend_out", "use_animated_time",
         "use_animated_time_cyclic", "use_animated_influence")
OURS = "foot_ik."
"""How the data paths of our settings begin. Weights alone can be animated: they change nothing of a plan."""
PLAIN, PARTS = "PLAIN", {"POINTER", "COLLECTION"}
DISPLAYED = ("active", "is_", "open_", "show_", "use_pin_", "select", "hide", "bl_", "texspace_",
             "trail_")
"""Beginnings of the names of properties that only say how something is displayed."""
PASSED = {"rna_type", "name", "label", "original", "library", "library_weak_reference", "asset_data",
          "override_library", "preview", "animation_data", "cycles", "materials", "annotation", "panels",
          "panel_states", "particles", "child_particles", "point_cache", "point_caches", "bakes", "node_warnings",
          "paired_output", "use_adaptive_subdivision", "adaptive_space", "adaptive_pixel_size",
          "adaptive_object_edge_length"}
"""Properties that shape nothing, or only renders, or are what comes of others."""
BEFORE = {"edge_weight": "bevel_weight_edge", "vertex_weight": "bevel_weight_vert", "fill_solver": "SWEEP_LINE",
          "fill_rule": "EVEN_ODD"}
"""What properties that are newer than Blender 4.2 are in files of before: a plan made there is not out of date."""
PATHS = {"FILE_PATH", "DIR_PATH"}
"""Kinds of texts that Blender rewrites when it saves."""
LAID_OUT = {"location", "location_absolute", "width", "height", "color", "use_custom_color"}
"""Those of nodes."""


def add_playing(add, data: bpy.types.AnimData | None) -> set[str]:
    """What animates something; returns the data paths that it moves."""
    if data is None:
        return set()
    for driver in data.drivers:
        if not driver.data_path.startswith(OURS):
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
    return moved


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
    """All that tells which values curves have, but those of our weights."""
    for curve in curves:
        if curve.data_path.startswith(OURS):
            continue
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
        for part in (modifier, *getattr(modifier, "control_points", ())):
            add(*(value_of(part, name) for name, kind in properties_of(type(part)) if kind == PLAIN))


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


@cache
def properties_of(kind: type) -> list[tuple[str, str]]:
    """(name, PLAIN, POINTER or COLLECTION) of the properties of a type that say what it does: numbers, choices,
    switches and names, and its parts."""
    passed = PASSED | (LAID_OUT if issubclass(kind, bpy.types.Node) else set())
    return [(p.identifier, p.type if p.type in PARTS else PLAIN) for p in kind.bl_rna.properties
            if p.identifier not in passed and not p.identifier.startswith(DISPLAYED) and (p.type in PARTS or tells(p))]


def tells(prop: bpy.types.Property) -> bool:
    """Whether a property holds a value of its own, which Blender leaves as it is."""
    if prop.type == "STRING" and prop.subtype in PATHS:
        return False
    return not prop.is_readonly and not (prop.type == "ENUM" and prop.is_enum_flag)


def is_as_before(owner: bpy.types.bpy_struct, name: str) -> bool:
    """Whether a property, which an older Blender may not have, does nothing that it did not do."""
    return name in BEFORE and getattr(owner, name) == BEFORE[name]


def value_of(owner: bpy.types.bpy_struct, name: str) -> object:
    """A property as a number, a text or tuples of these."""
    return as_plain(getattr(owner, name))


def as_plain(value: object) -> object:
    """The same of a value; Blender saves switches among custom properties as numbers."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
        return value
    return tuple(map(as_plain, value))
