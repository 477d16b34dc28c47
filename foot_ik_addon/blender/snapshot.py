"""Remember settings and animation and put them back, for work that is refused, is cancelled or fails half-way."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import bpy

from .compat import assign_action, slot_identifier

BLENDING = ("action_blend_type", "action_influence", "action_extrapolation")

Values = dict[str, object]


def values_of(group: bpy.types.PropertyGroup) -> Values:
    """All values of a group of settings, those of its collections as lists."""
    out: Values = {}
    for prop in group.bl_rna.properties:
        value = getattr(group, prop.identifier)
        if prop.type == "COLLECTION":
            out[prop.identifier] = [values_of(item) for item in value]
        elif not prop.is_readonly:
            out[prop.identifier] = tuple(value) if getattr(prop, "is_array", False) else value
    return out


def refilled(group: bpy.types.PropertyGroup, name: str, count: int) -> bpy.types.bpy_prop_collection:
    """A collection of settings, emptied and given so many items.

    The items that a library override has from its library cannot be removed: they are used again.
    """
    items = getattr(group, name)
    items.clear()
    if len(items) > count:
        group.property_unset(name)
    while len(items) < count:
        items.add()
    return items


def keep_in_override(ob: bpy.types.Object) -> None:
    """See to it that Blender saves the settings of a library override.

    It does so only where the linked object has settings too, if only the defaults that reading them makes, and it tells
    items of a collection apart by their names: those that were added by hand get one.
    """
    values_of(ob.override_library.reference.foot_ik)
    contacts, taken = ob.foot_ik.contacts, set()
    free = (name for name in map(str, count()) if name not in contacts)
    for contact in contacts:
        if not contact.name or contact.name in taken:
            contact.name = next(free)
        taken.add(contact.name)


def put_back(group: bpy.types.PropertyGroup, values: Values) -> None:
    """Make a group of settings hold these values again."""
    for name, value in values.items():
        if isinstance(value, list):
            for item, one in zip(refilled(group, name, len(value)), value, strict=True):
                put_back(item, one)
        elif group.bl_rna.properties[name].type == "POINTER" or getattr(group, name) != value:
            setattr(group, name, value)


@contextmanager
def settings_kept(ob: bpy.types.Object) -> Iterator[None]:
    """Unless what is done meanwhile ends well, the settings of an object are put back.

    While live correction is suspended only: it keeps what it shows among them. Those of a library override are then
    saved by Blender, also where it calls no handler, as when it saves by itself.
    """
    before = values_of(ob.foot_ik)
    try:
        yield
    except BaseException:  # refused, cancelled by the user, or a fault
        put_back(ob.foot_ik, before)
        raise
    if ob.override_library:
        keep_in_override(ob)


@contextmanager
def animation_kept(ob: bpy.types.Object) -> Iterator[None]:
    """Unless what is done meanwhile ends well, new actions and NLA tracks go, and an object plays what it played."""
    fakes = {action: action.use_fake_user for action in bpy.data.actions}
    data = ob.animation_data
    if data is not None:
        action, slot, tracks = data.action, slot_identifier(data), len(data.nla_tracks)
        active, blending = data.nla_tracks.active, {name: getattr(data, name) for name in BLENDING}
    try:
        yield
    except BaseException:
        if data is None:
            ob.animation_data_clear()
        else:
            while len(data.nla_tracks) > tracks:
                data.nla_tracks.remove(data.nla_tracks[-1])
            assign_action(data, action, slot)
            data.nla_tracks.active = active
            for name, value in blending.items():
                setattr(data, name, value)
        for new in set(bpy.data.actions) - fakes.keys():
            bpy.data.actions.remove(new)
        for old, fake in fakes.items():
            if old.use_fake_user != fake:
                old.use_fake_user = fake
        raise
