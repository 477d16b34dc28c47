"""The bones that a rig's settings name, and whether they can be used."""
from __future__ import annotations

from dataclasses import dataclass

import bpy


class Refusal(Exception):
    """Something cannot be done; the text is one sentence that tells the user what to do."""


@dataclass(frozen=True)
class LegBones:
    """Names of the bones of one leg: the chain from hip to ankle (upper ... lower, foot) and the toe ("": none)."""

    chain: tuple[str, ...]
    lower: str
    toe: str
    bends: bool
    """The toe hangs on the foot and nothing but its channels moves it, so that it can be bent."""

    @property
    def written(self) -> tuple[str, ...]:
        """The bones whose channels are written, in order down the leg."""
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

    @property
    def bones(self) -> list[str]:
        """Every bone that is read, each once."""
        names = [self.pelvis] + [n for leg in self.legs for n in (*leg.chain, leg.toe) if n]
        return list(dict.fromkeys(names))


def used_legs(ob: bpy.types.Object) -> list:
    """The legs of the settings that are switched on."""
    return [leg for leg in ob.foot_ik.legs if leg.enabled]


def read_rig(ob: bpy.types.Object) -> Rig:
    """The bones that the settings of `ob` name; raises `Refusal` where they do not fit the armature."""
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
    return Rig(settings.pelvis, legs, tuple(settings.pelvis in names for names in above))


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
    return LegBones(chain, leg.lower, leg.toe, bends(ob, leg.foot, leg.toe))


def bends(ob: bpy.types.Object, foot: str, toe: str) -> bool:
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
