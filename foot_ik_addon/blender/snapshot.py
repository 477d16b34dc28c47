"""Remember settings and put them back, for operators that are refused or cancelled half-way."""
from __future__ import annotations

import bpy

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


def put_back(group: bpy.types.PropertyGroup, values: Values) -> None:
    """Make a group of settings hold these values again."""
    for name, value in values.items():
        if isinstance(value, list):
            for item, one in zip(refilled(group, name, len(value)), value, strict=True):
                put_back(item, one)
        elif group.bl_rna.properties[name].type == "POINTER" or getattr(group, name) != value:
            setattr(group, name, value)
