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


def put_back(group: bpy.types.PropertyGroup, values: Values) -> None:
    """Make a group of settings hold these values again."""
    for name, value in values.items():
        if isinstance(value, list):
            items = getattr(group, name)
            items.clear()
            for one in value:
                put_back(items.add(), one)
        elif group.bl_rna.properties[name].type == "POINTER" or getattr(group, name) != value:
            setattr(group, name, value)
