"""The bones that a rig's settings name, and whether they can be used."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise

import bpy
from mathutils import Vector

from .handles import Controls, Handle, unpack_controls


class Refusal(Exception):
    """Something cannot be done; the text is one sentence that tells the user what to do."""


@dataclass(frozen=True)
class LegBones:
    """Names of the bones of one leg: the chain from hip to ankle (upper ... lower, foot) and the toe ("": none)."""

    chain: tuple[str, ...]
    lower: str
    toe: str
    bends: bool
    """The toe hangs on the foot and nothing but its channels moves it, or a handle does, so that it can be bent."""
    inherits: tuple[bool, ...]
    """Per bone that is written: whether it turns with its parent."""
    scales: tuple[str, ...]
    """Per bone that is written: how it inherits the scale of its parent."""
    solver: str
    """TWO_BONE, FABRIK or CCD."""
    handles: tuple[Handle, ...] = ()
    """What is written in the place of these bones; empty where they answer to their own channels."""

    @cached_property
    def written(self) -> tuple[str, ...]:
        """The bones of the leg whose own channels are written, in order down the leg."""
        if self.handles:
            return ()
        return (*self.chain, self.toe) if self.bends else self.chain

    @property
    def upper(self) -> str:
        return self.chain[0]

    @property
    def foot(self) -> str:
        return self.chain[-1]


@dataclass(frozen=True)
class Rig:
    """The bones of one armature that Foot IK reads and writes."""

    pelvis: str
    legs: tuple[LegBones, ...]
    carried: tuple[bool, ...]
    """Per leg: whether the pelvis is above it, so that the leg moves along with it."""
    body: str
    """The bone that is written to move the pelvis: itself, or one that it goes along with."""
    others: tuple[Handle, ...] = ()
    """What else is written so that it goes along with the body."""

    @cached_property
    def handles(self) -> list[Handle]:
        """All handles, each after what carries it."""
        return [*(handle for leg in self.legs for handle in leg.handles), *self.others]

    @cached_property
    def written(self) -> list[str]:
        """Every bone whose channels are written, each once."""
        own = [n for leg in self.legs for n in leg.written]
        return list(dict.fromkeys([self.body, *own, *(h.bone for h in self.handles)]))

    @cached_property
    def bones(self) -> list[str]:
        """Every bone that is read, each once."""
        names = [self.pelvis] + [n for leg in self.legs for n in (*leg.chain, leg.toe) if n]
        return list(dict.fromkeys([*names, *self.written]))


def used_legs(ob: bpy.types.Object) -> list:
    """The legs of the settings that are switched on."""
    return [leg for leg in ob.foot_ik.legs if leg.enabled]


def read_rig(ob: bpy.types.Object, controls: str | None = None) -> Rig:
    """The bones that the settings of `ob` name; raises `Refusal` where they do not fit the armature.

    `controls` are those that `controls.find_controls` has found; by default those that are kept in the settings.
    """
    settings, used = ob.foot_ik, used_legs(ob)
    if not used:
        raise Refusal(f"{ob.name} has no legs set up: press Detect Legs, or add a leg and pick its bones")
    pelvis = settings.pelvis
    if pelvis not in ob.data.bones:
        library = missing_library(ob.data)
        if library is not None:
            raise Refusal(f"The armature {ob.data.name} is missing: bring its library {library.filepath} back, or "
                          "relocate it in the Outliner, and open this file again")
        raise Refusal(f"Pick the pelvis bone of {ob.name} in the Legs panel: "
                      + (f"there is no bone called {pelvis}" if pelvis else "none is set"))
    legs, higher = zip(*[read_leg(ob, leg) for leg in used], strict=True)
    if len({leg.foot for leg in legs}) < len(legs):
        raise Refusal("Two legs use the same foot bone: pick other bones for one of them, or remove it")
    rig = Rig(pelvis, legs, tuple([pelvis in names for names in higher]), pelvis)
    return the_one(with_controls(ob, rig, settings.controls if controls is None else controls))


def missing_library(data: bpy.types.Armature) -> bpy.types.Library | None:
    """The library in which an armature, or what it overrides, was not found."""
    origin = data.override_library.reference if data.override_library else data
    return origin.library if origin.is_missing else None


@lru_cache(maxsize=256)
def the_one(rig: Rig) -> Rig:
    """The same object for all rigs that are equal: its lists are made once."""
    return rig


def with_controls(ob: bpy.types.Object, rig: Rig, text: str) -> Rig:
    """A rig that is moved by the controls of a text; by its own bones where that is empty."""
    if not text:
        return rig
    controls, legs = read_controls(text), []
    for leg in rig.legs:
        handles = controls.legs.get(leg.foot, ())
        bends = any(h.follows == leg.toe for h in handles) if handles else leg.bends
        legs.append(replace(leg, handles=handles, bends=bends))
    rig = replace(rig, legs=tuple(legs), carried=(True,) * len(legs), body=controls.body, others=controls.others)
    gone = [name for name in rig.written if name not in ob.data.bones]
    if gone:
        raise Refusal(f"The control {gone[0]} is no longer there: press Plan to find the controls of the legs anew")
    return rig


def read_controls(text: str) -> Controls:
    """The controls that are kept in the settings; raises `Refusal` where they cannot be read."""
    try:
        return unpack_controls(text)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Refusal("The saved controls cannot be read: press Plan to find them anew") from None


def read_leg(ob: bpy.types.Object, leg: bpy.types.PropertyGroup) -> tuple[LegBones, list[str]]:
    """The chain of one leg, and the names of the bones above it; raises `Refusal` where it is not one."""
    upper, lower = leg.upper, leg.lower
    foot, toe = (ob.data.bones.get(name) for name in (leg.foot, leg.toe))
    up = above(foot)
    names = [bone.name for bone in up]
    if upper not in names or lower not in names[1:names.index(upper)] or (toe is None and leg.toe):
        raise no_chain(ob, leg)
    hip, knee = names.index(upper), names.index(lower)
    heads = [bone.head_local for bone in up[hip::-1]]
    three = heads[0], heads[hip - knee], heads[-1]
    if min(distances(three)) < 1e-4 * sum([bone.length for bone in up[:hip + 1]]):
        raise Refusal(f"The leg {leg.name} has a part of no length: pick bones whose heads lie at hip, knee and ankle")
    solver = solver_of(leg, heads, hip - knee)
    at = (hip, knee, 0) if solver == "TWO_BONE" else tuple(range(hip, -1, -1))
    chain = [up[i] for i in at]
    between = [bone for i, bone in enumerate(up[:hip]) if i not in at]
    if toe is not None and (under := above(toe, foot)) and can_bend(ob, toe):
        chain.append(toe)
        between += under[1:]
    stiff = next((bone for bone in between if not bone.use_inherit_rotation), None)
    if stiff is not None:
        raise Refusal(f"The bone {stiff.name} of the leg {leg.name} does not turn with its parent: turn on Inherit "
                      "Rotation in its Relations")
    inherits = tuple([bone.use_inherit_rotation for bone in chain])
    scales = tuple([bone.inherit_scale for bone in chain])
    solver = "TWO_BONE" if len(at) == 3 else solver
    bones = LegBones(tuple([names[i] for i in at]), lower, leg.toe, len(chain) > len(at), inherits, scales, solver)
    return bones, names[hip + 1:]


def no_chain(ob: bpy.types.Object, leg: bpy.types.PropertyGroup) -> Refusal:
    """What is wrong with a leg whose bones are missing or do not hang one below the other."""
    bones = ob.data.bones
    for label, name in (("upper leg", leg.upper), ("lower leg", leg.lower), ("foot", leg.foot)):
        if name not in bones:
            return Refusal(f"Pick the {label} bone of the leg {leg.name}: "
                           + (f"there is no bone called {name}" if name else "none is set"))
    if leg.toe and leg.toe not in bones:
        return Refusal(f"Pick the toe bone of the leg {leg.name}, or leave it empty: there is no bone called {leg.toe}")
    return Refusal(f"The bones of the leg {leg.name} are not one chain: {leg.foot} must hang below {leg.lower}, "
                   f"and {leg.lower} below {leg.upper}")


def above(bone: bpy.types.Bone | None, top: bpy.types.Bone | None = None) -> list[bpy.types.Bone]:
    """A bone and all above it, in order; up to below `top` where that is given, and then empty if that is not above."""
    out = []
    while bone != top:
        if bone is None:
            return []
        out.append(bone)
        bone = bone.parent
    return out


def distances(places: Sequence[Vector]) -> list[float]:
    """From each place to the next."""
    return [(b - a).length for a, b in pairwise(places)]


def can_bend(ob: bpy.types.Object, toe: bpy.types.Bone) -> bool:
    """Whether a toe bone is moved by its channels alone."""
    below = [toe]
    for under in below:  # `children_recursive` goes through all bones of the armature
        below += under.children
    if any(not c.mute for bone in below for c in ob.pose.bones[bone.name].constraints):
        return False
    drivers = ob.animation_data.drivers if ob.animation_data else ()
    if not drivers:
        return True
    path = f'pose.bones["{bpy.utils.escape_identifier(toe.name)}"].'
    return not any(d.data_path.startswith(path) for d in drivers)


def solver_of(leg: bpy.types.PropertyGroup, heads: Sequence[Vector], knee: int) -> str:
    """The solver of a leg: what is set or, for AUTO, two bones where what lies between hip, knee and ankle is straight.

    `heads` are those of all bones from the upper leg to the foot, `knee` is the place of the lower leg among them.
    """
    if leg.solver != "AUTO":
        return leg.solver
    for part in (heads[:knee + 1], heads[knee:]):
        if len(part) > 2 and (part[-1] - part[0]).length < 0.97 * sum(distances(part)):
            return "FABRIK"  # bent by more than about 30 degrees on the way: a joint of its own
    return "TWO_BONE"
