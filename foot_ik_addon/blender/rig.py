"""The bones that a rig's settings name, and whether they can be used."""
from __future__ import annotations

from dataclasses import dataclass, replace

import bpy

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
    handles: tuple[Handle, ...] = ()
    """What is written in the place of these bones; empty where they answer to their own channels."""

    @property
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

    @property
    def handles(self) -> list[Handle]:
        """All handles, each after what carries it."""
        return [*(handle for leg in self.legs for handle in leg.handles), *self.others]

    @property
    def written(self) -> list[str]:
        """Every bone whose channels are written, each once."""
        own = [n for leg in self.legs for n in leg.written]
        return list(dict.fromkeys([self.body, *own, *(h.bone for h in self.handles)]))

    @property
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
    settings = ob.foot_ik
    if not used_legs(ob):
        raise Refusal(f"{ob.name} has no legs set up: press Detect Legs, or add a leg and pick its bones")
    bones = ob.data.bones
    if settings.pelvis not in bones:
        raise Refusal(f"Pick the pelvis bone of {ob.name} in the Legs panel: "
                      + (f"there is no bone called {settings.pelvis}" if settings.pelvis else "none is set"))
    legs = tuple(read_leg(ob, leg) for leg in used_legs(ob))
    feet = [leg.foot for leg in legs]
    if len(set(feet)) < len(feet):
        raise Refusal("Two legs use the same foot bone: pick other bones for one of them, or remove it")
    above = [{b.name for b in bones[leg.upper].parent_recursive} for leg in legs]
    rig = Rig(settings.pelvis, legs, tuple(settings.pelvis in names for names in above), settings.pelvis)
    return with_controls(ob, rig, settings.controls if controls is None else controls)


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


def read_leg(ob: bpy.types.Object, leg: bpy.types.PropertyGroup) -> LegBones:
    """The chain of one leg; raises `Refusal` where it is not one."""
    bones = ob.data.bones
    for label, name in (("upper leg", leg.upper), ("lower leg", leg.lower), ("foot", leg.foot)):
        if name not in bones:
            raise Refusal(f"Pick the {label} bone of the leg {leg.name}: "
                          + (f"there is no bone called {name}" if name else "none is set"))
    if leg.toe and leg.toe not in bones:
        raise Refusal(f"Pick the toe bone of the leg {leg.name}, or leave it empty: there is no bone called {leg.toe}")
    above = [b.name for b in bones[leg.foot].parent_recursive]
    if leg.lower not in above or leg.upper not in above[above.index(leg.lower):] or leg.upper == leg.lower:
        raise Refusal(f"The bones of the leg {leg.name} are not one chain: {leg.foot} must hang below {leg.lower}, "
                      f"and {leg.lower} below {leg.upper}")
    chain = (leg.foot, *above[:above.index(leg.upper) + 1])[::-1]
    heads = [bones[n].head_local for n in (leg.upper, leg.lower, leg.foot)]
    if min((a - b).length for a, b in zip(heads, heads[1:], strict=False)) < 1e-4 * sum(bones[n].length for n in chain):
        raise Refusal(f"The leg {leg.name} has a part of no length: pick bones whose heads lie at hip, knee and ankle")
    if solver_of(ob, leg, chain) == "TWO_BONE":
        chain = (leg.upper, leg.lower, leg.foot)
    bends = can_bend(ob, leg.foot, leg.toe)
    written = (*chain, leg.toe) if bends else chain
    refuse_stiff(ob, leg, written)
    return LegBones(chain, leg.lower, leg.toe, bends, tuple(bones[n].use_inherit_rotation for n in written))


def refuse_stiff(ob: bpy.types.Object, leg: bpy.types.PropertyGroup, written: tuple[str, ...]) -> None:
    """Refuse bones between those that are written which do not turn with them."""
    for top, name in zip(written, written[1:]):
        bone = ob.data.bones[name].parent
        while bone.name != top:
            if not bone.use_inherit_rotation:
                raise Refusal(f"The bone {bone.name} of the leg {leg.name} does not turn with its parent: turn on "
                              "Inherit Rotation in its Relations")
            bone = bone.parent


def can_bend(ob: bpy.types.Object, foot: str, toe: str) -> bool:
    """Whether a toe bone hangs on the foot and is moved by its channels alone."""
    if not toe or foot not in [b.name for b in ob.data.bones[toe].parent_recursive]:
        return False
    below = [ob.data.bones[toe]]
    for under in below:  # `children_recursive` goes through all bones of the armature
        below += under.children
    constrained = any(not c.mute for b in below for c in ob.pose.bones[b.name].constraints)
    path = f'pose.bones["{bpy.utils.escape_identifier(toe)}"].'
    drivers = ob.animation_data.drivers if ob.animation_data else ()
    return not constrained and not any(d.data_path.startswith(path) for d in drivers)


def solver_of(ob: bpy.types.Object, leg: bpy.types.PropertyGroup, chain: tuple[str, ...]) -> str:
    """The solver of a leg: what is set or, for AUTO, two bones where what lies between them is straight."""
    if leg.solver != "AUTO":
        return leg.solver
    heads = [ob.data.bones[n].head_local for n in chain]
    knee = chain.index(leg.lower)
    for part in (heads[:knee + 1], heads[knee:]):
        straight = (part[-1] - part[0]).length
        along = sum((a - b).length for a, b in zip(part, part[1:], strict=False))
        if straight < 0.97 * along:  # bent by more than about 30 degrees on the way: a joint of its own
            return "FABRIK"
    return "TWO_BONE"
