"""Bring the animated values of an evaluated object to the original one, where Blender does not.

Only the depsgraph of a window does that by itself. Whoever writes to an object has every depsgraph copy it anew, and
its animation is not evaluated again: in a render all that is animated on it, arms and root included, would fall back to
the frame that the window shows. So it is written along, and given back before the next frame.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress

import bpy

from .channels import SIZES, column
from .compat import animated_bag, strip_bag

AT_ONCE = bpy.app.version >= (5, 0, 0)
"""Before, what a script has made the scene of the window is not that to Blender until its loop of events has run."""

CUSTOM = re.compile(r'\["((?:[^"\\]|\\.)*)"\]$')
"""The custom property at the end of a data path."""

_given: dict[int, dict[str, object]] = {}
"""{session_uid of an object: {data path: value of the original}}: what `give_back` puts back."""


def is_flushed(ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> bool:
    """Whether Blender itself has brought the values of this depsgraph to an original object."""
    context = bpy.context
    of_window = (depsgraph.mode == "VIEWPORT" and depsgraph.scene.name_full == context.scene.name_full
                 and depsgraph.view_layer.name == context.view_layer.name)
    return of_window and (AT_ONCE or holds_values(ob, ob.evaluated_get(depsgraph)))


def holds_values(ob: bpy.types.Object, evaluated: bpy.types.Object) -> bool:
    """Whether an original armature stands as its evaluated copy does."""
    bones, there = ob.pose.bones, evaluated.pose.bones
    same = all((column(bones, path, size) == column(there, path, size)).all() for path, size in SIZES.items())
    return same and ob.matrix_basis == evaluated.matrix_basis


def flush(ob: bpy.types.Object, evaluated: bpy.types.Object) -> None:
    """Write the animated values of an evaluated object into the original one."""
    given = _given.setdefault(ob.session_uid, {})
    for path in animated_paths(ob):
        try:
            there, here = plain(evaluated.path_resolve(path)), plain(ob.path_resolve(path))
        except ValueError:
            continue  # a curve without a property
        if there != here:
            assign(ob, path, there)
            given.setdefault(path, here)


def give_back(ob: bpy.types.Object) -> None:
    """Put back what `flush` has replaced, unless it is no longer there."""
    for path, value in _given.pop(ob.session_uid, {}).items():
        with suppress(ValueError):  # a bone was deleted or renamed
            assign(ob, path, value)


def animated_paths(ob: bpy.types.Object) -> set[str]:
    """Data paths of the curves and drivers of an object, those of its NLA strips among them."""
    data = ob.animation_data
    if data is None:
        return set()
    bags = [animated_bag(data), *(strip_bag(s) for track in data.nla_tracks for s in flat(track.strips))]
    return {curve.data_path for bag in bags if bag for curve in bag.fcurves} | {d.data_path for d in data.drivers}


def flat(strips: Iterable[bpy.types.NlaStrip]) -> Iterator[bpy.types.NlaStrip]:
    """Strips, and those inside meta strips."""
    for strip in strips:
        yield strip
        yield from flat(strip.strips)


def plain(value: object) -> object:
    """A value that stays as it is when its owner changes."""
    return tuple(value) if hasattr(value, "__len__") and not isinstance(value, str) else value


def assign(ob: bpy.types.Object, path: str, value: object) -> None:
    """Set the property at a data path of an object."""
    owner, custom = ob.path_resolve(path, False).data, CUSTOM.search(path)
    if custom:
        owner[bpy.utils.unescape_identifier(custom[1])] = value
    else:
        setattr(owner, path.rpartition(".")[2], value)
