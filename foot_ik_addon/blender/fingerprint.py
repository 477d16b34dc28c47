"""A digest of everything that a plan was made from, so that a stale plan is known for one."""
from __future__ import annotations

import bpy

from .digest import Digest
from .flush import animated_paths
from .handlers import foreign_handler, with_sets
from .pieces import SURFACES, is_shown, is_worn, layers_shown, makes_instances_of, put_away
from .sampling import layers_of
from .upstream import upstream

PLANNED = ("pelvis", "ground_source", "floor_height", "floor_space", "max_pitch", "max_roll", "max_step", "max_shift")
PLANNED_LEG = ("upper", "lower", "foot", "toe", "enabled", "reach", "solver")


def fingerprint(scene: bpy.types.Scene, ob: bpy.types.Object) -> str:
    """Digest of the curves, the ground, the settings and the frame range that a plan of `ob` depends on."""
    settings = ob.foot_ik
    chosen = settings.ground_source == "COLLECTION"
    digest = Digest(lambda other: has_surface(other) and not is_worn(other, ob, chosen))
    add = digest.add
    add(scene.frame_start, scene.frame_end, scene.render.fps, round(scene.render.fps_base, 6),
        scene.render.frame_map_old, scene.render.frame_map_new)
    add(*(getattr(settings, name) for name in PLANNED))
    for leg in settings.legs:
        add(*(getattr(leg, name) for name in PLANNED_LEG))
    places = {leg.name: i for i, leg in enumerate(settings.legs)}
    for contact in settings.contacts:
        if contact.edited:
            add(places.get(contact.leg), contact.start, contact.end, contact.mode)
            add(contact.found_start, contact.found_end)
            add(contact.heel_edited and (contact.heel_start, contact.heel_end),
                contact.ball_edited and (contact.ball_start, contact.ball_end))
    used = (settings.pelvis, *(name for leg in settings.legs for name in (leg.toe, leg.foot, leg.lower)))
    bones = upstream(ob, [name for name in used if name in ob.pose.bones])
    if settings.controls:
        add_influences(add, ob, bones)
    digest.add_rig(ob, bones, posed=not foreign_handler())
    around = {name: other for name, other in ground_objects(scene, ob).items() if digest.takes(other)}
    hidden = hidden_objects(scene, ob, around)
    for name, ground in sorted(around.items()):
        add(name, name in hidden)
        digest.refer(ground)
    return digest.finish()


def add_influences(add, ob: bpy.types.Object, bones: list[str]) -> None:
    """What the constraints follow that move the legs, such as IK or FK, be it by drivers."""
    for name in bones:
        for constraint in ob.pose.bones[name].constraints:
            add(name, constraint.name, constraint.mute, round(constraint.influence, 3))


def hidden_objects(scene: bpy.types.Scene, ob: bpy.types.Object, among: dict[str, bpy.types.Object]) -> set[str]:
    """Full names of those of some objects that viewports do not show; not of those that are animated to be hidden."""
    layers = layers_shown(scene, next(iter(layers_of(scene, ob)), scene.view_layers[0]))
    away, chosen = put_away(layers[0]), ob.foot_ik.ground_source == "COLLECTION"
    unseen = {name for name, other in among.items() if not is_shown(other, layers, away, chosen)}
    return {name for name in unseen if "hide_viewport" not in animated_paths(among[name])}


def ground_objects(scene: bpy.types.Scene, ob: bpy.types.Object) -> dict[str, bpy.types.Object]:
    """The objects that may be ground by the settings of `ob`; instancers are among them."""
    settings = ob.foot_ik
    if settings.ground_source == "FLOOR":
        return {}
    shown = [other for behind in with_sets(scene) for other in behind.objects]
    if settings.ground_source == "COLLECTION":
        collection = settings.ground_collection
        instances = [other for other in shown if makes_instances_of(other, collection)]
        shown = [*collection.all_objects, *instances] if collection else []
    return {other.name_full: other for other in shown if has_surface(other)}


def has_surface(ob: bpy.types.Object) -> bool:
    """Whether an object has a surface, or may show one that it makes."""
    makes = ob.instance_type != "NONE" or (len(ob.modifiers) > 0 and ob.type != "ARMATURE")
    return ob.type in SURFACES or makes
