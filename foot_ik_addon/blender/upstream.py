"""Which bones of an armature can move which: by parents and constraints."""
from __future__ import annotations

import bpy

CHAINS = {"IK", "SPLINE_IK"}
"""Constraints that move other bones than the one that has them."""


def upstream(ob: bpy.types.Object, names: list[str]) -> list[str]:
    """The bones that can move some bones of an armature object, these among them, the nearest first."""
    chains = chain_targets(ob)
    found = dict.fromkeys(names)
    open_ = list(found)
    while open_:
        bone = ob.pose.bones[open_.pop(0)]
        above = [bone.parent.name] if bone.parent else []
        above += [name for c in bone.constraints for name in targets(ob, c)] + chains.get(bone.name, [])
        fresh = [name for name in dict.fromkeys(above) if name not in found and name in ob.pose.bones]
        found |= dict.fromkeys(fresh)
        open_ += fresh
    return list(found)


def chain_targets(ob: bpy.types.Object) -> dict[str, list[str]]:
    """{bone: what moves it} for bones in the chain of a constraint that a bone below them has."""
    moved: dict[str, list[str]] = {}
    for tip in ob.pose.bones:
        for constraint in (c for c in tip.constraints if c.type in CHAINS and not c.mute):
            for bone in chain_of(tip, constraint):
                moved.setdefault(bone.name, []).extend([tip.name, *targets(ob, constraint)])
    return moved


def mover(ob: bpy.types.Object, name: str) -> tuple[bpy.types.PoseBone | None, bpy.types.Constraint | None]:
    """The bone and the constraint on it that most likely move the bone `name`: its own, or an IK chain from below."""
    bone = ob.pose.bones[name]
    own = [(bone, c) for c in bone.constraints if active(c)]
    chains = [(below, c) for below in bone.children_recursive for c in below.constraints
              if active(c) and c.type in CHAINS and bone in chain_of(below, c)]
    return next(iter(own + chains), (None, None))


def active(constraint: bpy.types.Constraint) -> bool:
    """Whether a constraint acts now."""
    return constraint.enabled and not constraint.mute and constraint.influence > 0


def chain_of(tip: bpy.types.PoseBone, constraint: bpy.types.Constraint) -> list[bpy.types.PoseBone]:
    """The bones that an IK constraint on the bone `tip` moves."""
    chain = [tip, *tip.parent_recursive]
    if not getattr(constraint, "use_tail", True):
        chain = chain[1:]
    return chain[:constraint.chain_count or None]


def targets(ob: bpy.types.Object, constraint: bpy.types.Constraint) -> list[str]:
    """The bones of the same armature that a constraint follows now; none where it does not act."""
    if constraint.mute or not constraint.influence:
        return []
    if constraint.type == "ARMATURE":
        return [t.subtarget for t in constraint.targets if t.target == ob and t.subtarget and t.weight]
    pairs = (("target", "subtarget"), ("pole_target", "pole_subtarget"))
    return [getattr(constraint, sub) for target, sub in pairs
            if getattr(constraint, target, None) == ob and getattr(constraint, sub, "")]
