"""Find the bones that move legs which do not answer to their own channels, such as those of control rigs.

Names tell nothing here: in one frame each bone that could move a leg is moved a little, and what goes along is looked
at. A leg is either turned bone by bone (FK, perhaps through copies), or its foot goes along with one bone (IK).
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import bpy
import numpy as np

from ..core.motions import about
from ..core.rotations import from_rotvec
from .channels import rotation_path
from .flush import animated_paths
from .handles import PIECE, PLACE, POLE, Controls, Handle, pack_controls
from .refusals import TO_FK, constraint_moves, moved_by
from .rig import LegBones, Refusal, Rig
from .sampling import layer_of
from .trials import TURNED, Trials, angle
from .upstream import active, mover, upstream

TURN = from_rotvec(np.array([0.1, 0.1, 0.1]))
"""By which bones are turned, about no axis of theirs."""
STEP, SWAY = 0.05, 0.3
"""Legs by which a foot is moved toward its hip, the body toward its feet; and a pole sideways, a target down."""

STOPS = {"FLOOR", "LIMIT_DISTANCE", "LIMIT_LOCATION", "SHRINKWRAP"}
"""Constraints that keep a control from going where it is moved."""

Test = Callable[[np.ndarray], bool]
"""Whether a pose (bones, 4, 4) shows what was looked for."""


def find_controls(scene: bpy.types.Scene, ob: bpy.types.Object, rig: Rig, frames: list[int]) -> str:
    """What moves pelvis and legs, as kept in the settings; empty where they answer to their own channels.

    Looks at the first of some frames, and at two others where a leg does not answer there since it is straight. Raises
    `Refusal` for legs that no bones move.
    """
    own = [rig.pelvis, *(n for leg in rig.legs for n in (*leg.chain, leg.toe) if n)]
    if not any(len(ob.pose.bones[name].constraints) for name in upstream(ob, own)):
        return ""
    layer, kept, held = layer_of(scene, ob), (scene.frame_current, scene.frame_subframe), ""
    try:
        for frame in dict.fromkeys(frames[len(frames) * third // 3] for third in range(3)):
            scene.frame_set(frame)
            trials = Trials(ob, layer, unit_of(ob, rig))
            pose, chains = trials.evaluated(), [n for leg in rig.legs for n in leg.chain]
            held = held or next((n for n in chains if constraint_moves(pose[n])), "")
            legs = {leg.foot: find_handles(trials, rig, leg) for leg in rig.legs}
            if None not in legs.values():
                return found_controls(trials, rig, {foot: handles for foot, handles in legs.items() if handles})
    finally:
        scene.frame_set(kept[0], subframe=kept[1])
    if held:
        raise Refusal(f"{moved_by(ob, held)}{remedy(ob, held)}")
    return ""


def remedy(ob: bpy.types.Object, name: str) -> str:
    """What to do about a bone of a leg that a constraint moves while no bone of the armature takes the foot along."""
    _, pull = mover(ob, name)
    if pull is not None and pull.type == "IK":
        if pull.target not in (None, ob):
            return f": make a bone of {ob.name} the target, or {TO_FK} first"
        control = [bone for bone in ob.pose.bones if bone.name == pull.subtarget]
        stops = [c.name for bone in control for c in bone.constraints if active(c) and c.type in STOPS]
        if stops:
            return f", whose target {pull.subtarget} is held by its constraint {stops[0]}: mute that first"
    return f", and no bone of {ob.name} takes its foot along: {TO_FK} first, or mute the constraint"


def found_controls(trials: Trials, rig: Rig, legs: dict[str, list[Handle]]) -> str:
    """The handles of some legs by foot, and what moves the body with them, as kept in the settings."""
    if not legs:
        return ""
    body = find_body(trials, rig)
    chains = {foot: carried(trials, rig, body, handles) for foot, handles in legs.items()}
    return pack_controls(Controls(body, chains, find_others(trials, rig, body, sum(chains.values(), ()))))


def unit_of(ob: bpy.types.Object, rig: Rig) -> float:
    """Length of a leg at rest, in armature space."""
    heads = [ob.data.bones[n].head_local for n in (rig.legs[0].upper, rig.legs[0].lower, rig.legs[0].foot)]
    return (heads[1] - heads[0]).length + (heads[2] - heads[1]).length


def find_handles(trials: Trials, rig: Rig, leg: LegBones) -> list[Handle] | None:
    """The handles of a leg, without what carries them: none where it answers to its own bones, None where no bone moves
    it."""
    own = all(turns_alone(trials, leg, name, name) for name in leg.chain)
    if own:
        return []
    turned = [find_turning(trials, leg, name) for name in leg.chain]
    if all(turned):
        out = [Handle(bone, name, PIECE) for bone, name in zip(turned, leg.chain, strict=True)]
        return out + find_toe(trials, leg)
    for end, placed in ((leg.foot, True), (leg.toe, True), (leg.foot, False)):
        for along in (trials.goes_along, trials.points_along) if end else ():
            target = find_target(trials, rig, leg, end, TURN, along, placed)
            if target:
                toe = find_toe(trials, leg) if end == leg.foot else []
                return [Handle(target, end, PIECE), *find_pole(trials, leg), *toe]
    target = find_target(trials, rig, leg, leg.foot, np.eye(3), trials.head_goes_along)
    if target and turned[-1]:
        out = [Handle(target, leg.foot, PLACE), *find_pole(trials, leg)]
        return [*out, Handle(turned[-1], leg.foot, PIECE, leg.lower), *find_toe(trials, leg)]
    return None


# ---------------------------------------------------------------- which bone

def groups(ob: bpy.types.Object, names: list[str]) -> list[list[str]]:
    """Bones in groups, those that an animator would take first: unlocked, keyed, with a shape of their own."""
    paths = animated_paths(ob)

    def order(name: str) -> tuple[bool, bool, bool]:
        bone = ob.pose.bones[name]
        start = f'pose.bones["{bpy.utils.escape_identifier(name)}"].'
        keyed = any(start + path in paths for path in ("location", rotation_path(bone.rotation_mode)))
        return is_locked(bone), not keyed, bone.custom_shape is None

    by_order: dict[tuple, list[str]] = {}
    for name in names:
        by_order.setdefault(order(name), []).append(name)
    return [by_order[key] for key in sorted(by_order)]


def search(trials: Trials, names: list[str], motion: np.ndarray, test: Test, innermost: bool = False) -> str:
    """The first bone that passes a test when it makes a motion; empty for none.

    Of bones that are as good it is the outermost, which moves most of the others.
    """
    for group in groups(trials.ob, names):
        poses = {name: trials.moved(motion, name) for name in group}
        hits = {name: pose for name, pose in poses.items() if trials.goes_along(pose, name, motion) and test(pose)}
        moves = {name: sum(trials.goes_along(pose, other, motion) for other in hits) for name, pose in hits.items()}
        if moves:
            return (min if innermost else max)(moves, key=lambda name: moves[name])
    return ""


def turn_about(trials: Trials, name: str) -> np.ndarray:
    """The motion (4, 4) that turns about the head of a bone."""
    head = trials.head(name)[None]
    return about(TURN[None], head, head)[0]


def step(way: np.ndarray) -> np.ndarray:
    """The motion (4, 4) that moves by a vector."""
    out = np.eye(4)
    out[:3, 3] = way
    return out


def toward(trials: Trials, start: np.ndarray, end: np.ndarray, share: float) -> np.ndarray:
    """The vector from one place to another, as long as a share of a leg."""
    way = end - start
    return way / max(float(np.linalg.norm(way)), 1e-9) * share * trials.unit


# ---------------------------------------------------------------- legs that are turned

def turns_test(trials: Trials, leg: LegBones, name: str) -> Test:
    """Whether a bone of a chain has turned about its head, and the rest of the leg with it."""
    motion, above = turn_about(trials, name), leg.chain[:leg.chain.index(name) + 1]
    return lambda pose: all(trials.stays(pose, n) for n in above) and trials.goes_along(pose, leg.foot, motion)


def turns_alone(trials: Trials, leg: LegBones, bone: str, name: str) -> bool:
    """Whether the bone `name` of a chain is turned by one bone."""
    pose = trials.moved(turn_about(trials, name), bone)
    return turns_test(trials, leg, name)(pose)


def coincident(trials: Trials, name: str) -> list[str]:
    """The bones that can move one and have their heads where it has its."""
    return [n for n in upstream(trials.ob, [name]) if trials.near(trials.base, n, trials.head(name))]


def find_turning(trials: Trials, leg: LegBones, name: str) -> str:
    """The bone that turns one of a chain; empty for none."""
    return search(trials, coincident(trials, name), turn_about(trials, name), turns_test(trials, leg, name))


def find_toe(trials: Trials, leg: LegBones) -> list[Handle]:
    """The handle of the toes, where there is one."""
    if not leg.toe:
        return []
    motion = turn_about(trials, leg.toe)
    test = lambda pose: (trials.goes_along(pose, leg.toe, motion) and trials.goes_along(pose, leg.foot, np.eye(4)))
    bone = search(trials, coincident(trials, leg.toe), motion, test)
    return [Handle(bone, leg.toe, PIECE, leg.foot if bone == leg.toe else "")] if bone else []


# ---------------------------------------------------------------- legs that are pulled

def find_target(trials: Trials, rig: Rig, leg: LegBones, end: str, turn: np.ndarray,
                goes_along: Callable[[np.ndarray, str, np.ndarray], bool], placed: bool = False) -> str:
    """The bone that takes the `end` of a leg along, its foot or its toes, when it is moved and turned; empty for none.

    `goes_along` of pose, bone and motion tells whether it does. With `placed` it must be one that an animator can move.
    """
    hip, place = trials.head(leg.upper), trials.head(end)
    new = place + toward(trials, place, hip, STEP)
    motion = about(turn[None], place[None], new[None])[0]
    others = [rig.pelvis, leg.upper, *(other.foot for other in rig.legs if other != leg)]
    shin = lambda pose: float(np.linalg.norm(pose[trials.at[leg.foot], :3, 3] - pose[trials.at[leg.lower], :3, 3]))
    long = shin(trials.base)

    def test(pose: np.ndarray) -> bool:
        along = goes_along(pose, end, motion) and abs(shin(pose) - long) < 0.02 * long
        return along and all(trials.stays(pose, n) for n in others)

    names = [n for n in upstream(trials.ob, [end]) if n not in leg.chain]
    if placed:
        names = [n for n in names if not all(trials.ob.pose.bones[n].lock_location)]
    target = search(trials, names, motion, test)
    down = step(toward(trials, hip, place, SWAY))
    if target and not trials.goes_along(trials.moved(down, target), target, down):
        _, stop = mover(trials.ob, target)
        name = f"its constraint {stop.name}" if stop else "a constraint"
        raise Refusal(f"The control {target} is held up by {name}, and could not follow the ground down: mute the "
                      "constraint first")
    return target


def find_pole(trials: Trials, leg: LegBones) -> list[Handle]:
    """The handle of the bone that turns a leg about the line from hip to ankle, where there is a pole target."""
    constraints = [c for n in upstream(trials.ob, [leg.lower]) for c in trials.ob.pose.bones[n].constraints]
    names = [c.pole_subtarget for c in constraints if c.type == "IK" and c.pole_target == trials.ob and not c.mute]
    candidates = upstream(trials.ob, [n for n in names if n in trials.at])
    hip, ankle = trials.head(leg.upper), trials.head(leg.foot)
    axis = (ankle - hip) / np.linalg.norm(ankle - hip)
    side = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])

    def test(pose: np.ndarray) -> bool:
        at = trials.at[leg.lower]  # the upper leg of some rigs hands its twist to bones below it
        turn = pose[at, :3, :3] @ np.linalg.inv(trials.base[at, :3, :3])
        swing = angle(np.eye(3), turn)
        turned = swing > TURNED and np.linalg.norm(turn @ axis - axis) < 0.5 * swing
        return bool(turned) and all(trials.stays(pose, n) for n in (leg.upper, leg.foot))

    for way in (side, np.cross(axis, side)):
        bone = search(trials, candidates, step(way * SWAY * trials.unit), test)
        if bone:
            return [Handle(bone, leg.foot, POLE)]
    return []


# ---------------------------------------------------------------- the body, and what it carries

def body_motion(trials: Trials, rig: Rig) -> np.ndarray:
    """The motion by which the body is tried: a little toward the feet, and turned."""
    head = trials.head(rig.pelvis)
    feet = np.mean([trials.head(leg.foot) for leg in rig.legs], 0)
    return about(TURN[None], head[None], (head + toward(trials, head, feet, STEP))[None])[0]


def find_body(trials: Trials, rig: Rig) -> str:
    """The bone that moves the pelvis and all hips: itself where it answers, else the innermost that does."""
    motion = body_motion(trials, rig)
    hips = [leg.upper for leg in rig.legs]

    def test(pose: np.ndarray) -> bool:
        places = [(motion @ trials.base[trials.at[n]])[:3, 3] for n in hips]
        return (trials.goes_along(pose, rig.pelvis, motion)
                and all(trials.near(pose, n, place) for n, place in zip(hips, places, strict=True)))

    if test(trials.moved(motion, rig.pelvis)):
        return rig.pelvis
    body = search(trials, upstream(trials.ob, [rig.pelvis, *hips]), motion, test, innermost=True)
    if not body:
        raise Refusal(f"No bone of {trials.ob.name} moves {rig.pelvis} together with the legs: pick the bone that "
                      "moves the whole body as the pelvis")
    return body


def carried(trials: Trials, rig: Rig, body: str, handles: list[Handle]) -> tuple[Handle, ...]:
    """Handles with what carries them: the nearest one before that does, else the body."""
    motion, out = body_motion(trials, rig), []
    tried = [(body, motion, trials.moved(motion, body))]
    for handle in handles:
        out.append(on_carrier(trials, handle, tried))
        motion = turn_about(trials, handle.bone)
        tried.insert(0, (handle.bone, motion, trials.moved(motion, handle.bone)))
    return tuple(handle for handle in out if handle)


def on_carrier(trials: Trials, handle: Handle, tried: list[tuple[str, np.ndarray, np.ndarray]]) -> Handle | None:
    """A handle with what carries it of (bone, motion, pose) that were tried; None for a pole that goes half-way."""
    if handle.carrier:
        return handle
    base = trials.base[trials.at[handle.bone]]
    for carrier, motion, pose in tried:
        if trials.goes_along(pose, handle.bone, np.eye(4)):
            continue
        turned = trials.goes_along(pose, handle.bone, motion)
        if turned or trials.goes_along(pose, handle.bone, step((motion @ base)[:3, 3] - base[:3, 3])):
            return replace(handle, carrier=carrier, turned=turned)
        if handle.way == POLE:
            return None
        raise Refusal(f"The control {handle.bone} goes only part of the way along with {carrier}: {TO_FK} first, or "
                      "have it follow one bone alone")
    return handle


def find_others(trials: Trials, rig: Rig, body: str, feet: tuple[Handle, ...]) -> tuple[Handle, ...]:
    """The handles of what the body leaves behind when it moves, such as hands that are pulled and their poles, but not
    of what the handles of the feet move, such as claws."""
    motion, ob, found, still = body_motion(trials, rig), trials.ob, [], np.eye(4)
    fixed = [rig.pelvis, *(leg.foot for leg in rig.legs)]
    test = lambda pose: all(trials.goes_along(pose, n, still) for n in fixed)
    open_ = left_behind(trials, rig, trials.moved(motion, body), motion)
    for handle in feet if open_ else ():
        pose = trials.moved(motion, handle.bone)
        open_ = [n for n in open_ if trials.goes_along(pose, n, still)]
    while open_:
        last = open_.pop()
        bone = search(trials, unlocked(ob, upstream(ob, [last])), motion,
                      lambda pose, last=last: trials.goes_along(pose, last, motion) and test(pose))
        if bone:
            found.append(bone)
            pose = trials.moved(motion, body, *found)
            open_ = [n for n in open_ if not trials.goes_along(pose, n, motion)]
    return tuple(Handle(bone, rig.pelvis, PIECE) for bone in found)


def left_behind(trials: Trials, rig: Rig, pose: np.ndarray, motion: np.ndarray) -> list[str]:
    """The deforming bones that hang on the body and stay where they are when it has made a motion, and poles that do,
    but for those of the legs; parents first."""
    ob, bones = trials.ob, trials.ob.data.bones
    legs = {n for leg in rig.legs for n in upstream(ob, [*leg.chain, leg.toe or leg.foot])}
    legs |= {b.name for leg in rig.legs for b in bones[leg.upper].children_recursive}
    along = {b.name for b in bones if trials.goes_along(pose, b.name, motion)}
    hang = [b.name for b in bones if b.use_deform and any(above.name in along for above in b.parent_recursive)]
    constraints = [c for bone in ob.pose.bones for c in bone.constraints if c.type == "IK" and not c.mute]
    poles = [c.pole_subtarget for c in constraints if c.pole_target == ob and c.pole_subtarget in trials.at]
    return [n for n in dict.fromkeys([*poles, *hang]) if n not in legs and trials.stays(pose, n)]


def unlocked(ob: bpy.types.Object, names: list[str]) -> list[str]:
    """Those of some bones that are not wholly locked."""
    return [n for n in names if not is_locked(ob.pose.bones[n])]


def is_locked(bone: bpy.types.PoseBone) -> bool:
    """Whether a bone is locked against moving and turning, as the inner bones of control rigs are."""
    return all(getattr(bone, lock)[i] for lock in ("lock_location", "lock_rotation") for i in range(3))
