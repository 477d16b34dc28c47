"""Which objects are ground."""

from __future__ import annotations

from collections.abc import Iterator

import bpy

from .handlers import with_sets

SURFACES = {"MESH", "CURVE", "SURFACE", "FONT", "META"}
DEFORMING = {"ARMATURE", "CLOTH", "SOFT_BODY", "MESH_DEFORM", "SURFACE_DEFORM"}
"""Modifiers of characters and their clothes: such objects are ground only where the user says so."""
CARRYING = {"CHILD_OF", "COPY_TRANSFORMS", "COPY_LOCATION", "ARMATURE"}
"""Constraints by which one object goes along with another."""
FOLLOWING = {"ARMATURE": "object", "HOOK": "object", "LATTICE": "object", "MESH_DEFORM": "object",
             "SURFACE_DEFORM": "target"}
"""{modifier by which the surface of an object goes along with another: what it calls that}"""


def is_ground(ob: bpy.types.Object, character: bpy.types.Object, chosen: bool) -> bool:
    """Whether an evaluated object can be stood on: a surface of no character.

    What the user has `chosen` by a collection may hang on another armature (a lift with bones, a skinned bridge) or be
    drawn as wire.
    """
    drawn = chosen or ob.display_type not in {"WIRE", "BOUNDS"}
    return ob.type in SURFACES and drawn and not is_worn(ob, character, chosen)


def is_worn(ob: bpy.types.Object, character: bpy.types.Object, chosen: bool) -> bool:
    """Whether an object hangs on the character or, unless it is `chosen`, on any armature or bends as characters do."""
    if not chosen and any(m.type in DEFORMING for m in ob.modifiers):
        return True
    above, seen = [ob], set()
    while above:
        here = above.pop()
        if here.name_full == character.name_full or (here.type == "ARMATURE" and not chosen):
            return True
        if here.name_full not in seen:
            seen.add(here.name_full)
            above += filter(None, holders(here))
    return False


def holders(ob: bpy.types.Object) -> Iterator[bpy.types.Object | None]:
    """What an object goes along with: its parent, and targets of constraints and modifiers."""
    yield ob.parent
    for constraint in ob.constraints:
        if constraint.type in CARRYING and not constraint.mute and constraint.influence > 0:
            yield from (t.target for t in constraint.targets) if constraint.type == "ARMATURE" else (constraint.target,)
    for modifier in ob.modifiers:
        if modifier.type in FOLLOWING:
            yield getattr(modifier, FOLLOWING[modifier.type])


def pieces_in(
    depsgraph: bpy.types.Depsgraph, character: bpy.types.Object, collection: bpy.types.Collection | None
) -> Iterator[tuple]:
    """(key, evaluated object, world matrix, may its shape change) of the ground in a depsgraph: of a collection and its
    instances, or of the whole scene.

    An object lives only until the next is asked for: some are made by Blender for this iteration alone.
    """
    allowed = None if collection is None else {ob.name_full for ob in collection.all_objects}
    chosen = allowed is not None
    for ob, owner, matrix, number in shown_instances(depsgraph, chosen):
        if chosen and not (owner.name_full in allowed or makes_instances_of(owner.original, collection)):
            continue
        if is_ground(ob, character, chosen) and (owner == ob or not is_worn(owner, character, chosen)):
            bends = may_deform(ob) or len(owner.modifiers) > 0  # instances of nodes may
            yield (ob.name_full, owner.name_full, *number), ob, matrix, bends


def makes_instances_of(ob: bpy.types.Object, collection: bpy.types.Collection | None) -> bool:
    """Whether an object shows a collection by an instance."""
    return ob.instance_type == "COLLECTION" and ob.instance_collection == collection


def shown_instances(depsgraph: bpy.types.Depsgraph, chosen: bool) -> Iterator[tuple]:
    """(evaluated object, what shows it, world matrix, number among its instances) of all that viewports show; see
    `is_shown`.

    In a render too: what only renders show is left out, and what is hidden from them is as the viewport has it, in the
    frame that it shows.
    """
    rendered, seen = depsgraph.mode == "RENDER", set()
    scene = depsgraph.scene.original
    layers = layers_shown(scene, scene.view_layers[depsgraph.view_layer.name])
    viewport, away = layers[0].depsgraph if rendered else None, put_away(layers[0])
    for graph in filter(None, (depsgraph, viewport)):
        for instance in graph.object_instances:
            ob = instance.object
            owner = instance.parent if instance.is_instance else ob
            number = tuple(instance.persistent_id) if instance.is_instance else ()  # pyright: ignore[reportGeneralTypeIssues]
            key = ob.name_full, owner.name_full, *number
            if not instance.show_self or key in seen or (not chosen and owner.name_full in away):
                continue
            if rendered:
                seen.add(key)
                if ob.original.hide_viewport or not is_shown(owner.original, layers, away, chosen):
                    continue
            yield ob, owner, instance.matrix_world.copy(), number


def layers_shown(scene: bpy.types.Scene, layer: bpy.types.ViewLayer) -> list[bpy.types.ViewLayer]:
    """A view layer of a scene, and those of the scenes in its background."""
    return [layer, *(behind.view_layers[0] for behind in with_sets(scene)[1:])]


def is_shown(ob: bpy.types.Object, layers: list[bpy.types.ViewLayer], away: set[str], chosen: bool) -> bool:
    """Whether viewports show an object in one of some view layers, of which the first has `put_away` others; what the
    user has `chosen` the eyes of its collections do not hide."""
    if ob.name_full in away:
        return chosen and not (ob.hide_viewport or ob.hide_get(view_layer=layers[0]))
    return any(ob.visible_get(view_layer=layer) for layer in layers)


def put_away(layer: bpy.types.ViewLayer) -> set[str]:
    """Full names of the objects that a view layer hides by the eyes of their collections: Blender goes on to evaluate
    them, and tells that they are shown."""
    hidden, shown, open_ = [], [], [(layer.layer_collection, False)]
    while open_:
        here, by_eye = open_.pop()
        by_eye = by_eye or here.hide_viewport
        if not here.exclude:
            (hidden if by_eye else shown).append(here.collection)
        open_ += [(below, by_eye) for below in here.children]
    if not hidden:
        return set()
    names = lambda collections: {ob.name_full for collection in collections for ob in collection.objects}
    return names(hidden) - names(shown)


def may_deform(ob: bpy.types.Object) -> bool:
    """Whether the surface of an evaluated object may differ from frame to frame."""
    return ob.type != "MESH" or len(ob.modifiers) > 0 or getattr(ob.data, "shape_keys", None) is not None
