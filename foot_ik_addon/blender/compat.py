"""Differences between Blender versions: actions had no slots before 4.4, and no `fcurves` from 5.0 on; since there are
slots a muted group does not silence its curves."""
from __future__ import annotations

import bpy

HAS_SLOTS = bpy.app.version >= (4, 4, 0)

Bag = bpy.types.Action  # or, where there are slots, an ActionChannelbag
"""What holds the `fcurves` and `groups` that animate one owner."""


def is_muted(curve: bpy.types.FCurve) -> bool:
    """Whether a curve, or a group that silences it, is muted."""
    return curve.mute or (not HAS_SLOTS and curve.group is not None and curve.group.mute)


def node_inputs(modifier: bpy.types.Modifier) -> list[tuple[str, object]]:
    """(data path, value) of what is put into geometry nodes, custom properties before they had properties of their
    own."""
    if modifier.type != "NODES" or hasattr(modifier, "properties"):
        return []
    path = modifier.path_from_id()
    return [(f'{path}["{key}"]', value) for key, value in modifier.items()]


def animated_bag(data: bpy.types.AnimData) -> Bag | None:
    """The bag with which the active action animates the owner of `data`; None if nothing."""
    return bag_of(data.action, data.action_slot if HAS_SLOTS else None)


def strip_bag(strip: bpy.types.NlaStrip) -> Bag | None:
    """The same of an NLA strip."""
    return bag_of(strip.action, strip.action_slot if HAS_SLOTS else None)


def bag_of(action: bpy.types.Action | None, slot: object) -> Bag | None:
    """The bag of an action for one of its slots; None if nothing."""
    if action is None:
        return None
    if not HAS_SLOTS:
        return action
    strips = [strip for layer in action.layers for strip in layer.strips] if slot else []
    bags = [strip.channelbag(slot) for strip in strips]
    return next(filter(None, bags), None)


def ensured_bag(data: bpy.types.AnimData, owner: bpy.types.ID) -> Bag:
    """The same, with slot, layer, strip and channelbag made where they are missing."""
    action = data.action
    assert action is not None
    if not HAS_SLOTS:
        return action
    if data.action_slot is None:
        data.action_slot = action.slots.new("OBJECT", owner.name)
    layer = action.layers[0] if len(action.layers) else action.layers.new("Layer")
    strip = layer.strips[0] if len(layer.strips) else layer.strips.new(type="KEYFRAME")
    return strip.channelbag(data.action_slot, ensure=True)


def ensured_fcurve(bag: Bag, path: str, index: int, group: str) -> bpy.types.FCurve:
    """The F-curve of one channel, made in a group of its action where it is missing."""
    curve = bag.fcurves.find(path, index=index)
    if curve is None:
        curve = bag.fcurves.new(path, index=index)
        curve.group = bag.groups.get(group) or bag.groups.new(group)
    return curve


def assign_action(data: bpy.types.AnimData, action: bpy.types.Action | None, like: str | None) -> None:
    """Make an action active, on the slot of the identifier `like`, or none."""
    data.action = action
    if action is not None:
        use_slot(data, like)


def use_slot(player: bpy.types.AnimData | bpy.types.NlaStrip, identifier: str | None) -> None:
    """Play that slot of an action; None plays nothing of it, as it does where the user has assigned no slot."""
    if HAS_SLOTS:
        player.action_slot = next((s for s in player.action.slots if s.identifier == identifier), None)


def slot_identifier(player: bpy.types.AnimData | bpy.types.NlaStrip) -> str | None:
    """Identifier of the active slot, None where there is none."""
    return player.action_slot.identifier if HAS_SLOTS and player.action_slot else None
