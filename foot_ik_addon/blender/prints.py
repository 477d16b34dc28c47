"""The footprints of a plan, kept in the space of what they lie on, so that moving ground carries them; and what the
overlay draws of them, in world space.
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import bpy
import numpy as np

from ..core.clip import BALL, HEEL, Sole
from ..core.footprints import Footprint
from ..core.plan import Plan
from ..core.rotations import from_rotvec, transform, transposed
from .ground import MeshGround
from .refusals import refuse_missing_collection
from .rig import Refusal, used_legs
from .sampling import carrier
from .store import packed, unpack_plan, unpack_sole, unpacked

FLOOR = ""
"""What a footprint on the flat floor lies on: what carries the character."""
STATIONS = 13
"""Places along a sole at which its outline is drawn."""
LIFT = 0.006
"""Footprints are drawn this share of a leg over the ground, so that it does not swallow them."""
NORMAL = 0.15
"""Length of a drawn normal as a share of a leg."""
ABOVE = 0.05
"""Rays start this share of a leg above heel and ball, which may have sunk into the ground."""


@dataclass(frozen=True)
class SavedPrints:
    """Footprints as they are kept. N is their number; frames are those of the scene."""

    unit: float
    """World length of a leg."""
    carriers: tuple[str, ...]
    """Full names of the objects that they lie on, of instances that of the instancer; FLOOR for the flat floor."""
    soles: np.ndarray
    """(legs, 4): where the sole of a leg begins and ends along the foot, its width, and the place of its heel; metres
    from the ball."""
    leg: np.ndarray
    carrier: np.ndarray
    locked: np.ndarray
    """(N,)"""
    frames: np.ndarray
    """(N, 6): first and last frame, of the footprint, and in which heel and ball touch."""
    place: np.ndarray
    """(N, 4, 4): from the plane of the print (origin the ball, x along the foot, z up) to the carrier's space."""


class Instancers:
    """Where the objects whose instances are ground were, in each frame that was visited; the last holds on."""

    def __init__(self, ground: MeshGround):
        self.ground = ground
        self.world: list[dict[str, np.ndarray]] = []

    def visit(self, depsgraph: bpy.types.Depsgraph, _frame: float) -> None:
        names = {key[1] for key in self.ground.index if is_instance(key)}
        self.world.append({name: np.array(ob.evaluated_get(depsgraph).matrix_world, float)
                           for name in names if (ob := named(name)) is not None})


def is_instance(key: tuple) -> bool:
    """Whether a piece of ground with this key (see `ground.pieces_in`) is no object of its own."""
    return key[0] != key[1] or len(key) > 2


def named(full_name: str) -> bpy.types.Object | None:
    """The object of this full name, linked ones included."""
    ob = bpy.data.objects.get(full_name)
    if ob is not None and ob.name_full == full_name:
        return ob
    return next((ob for ob in bpy.data.objects if ob.name_full == full_name), None)


def pack_prints(plan: Plan, first: int, ground: MeshGround, instancers: Instancers, carriers: np.ndarray,
                unit: float) -> str:
    """The footprints of a plan that begins at frame `first` as text; carriers (F, 4, 4) as in `Sample`."""
    keys = {piece: key for key, piece in ground.index.items()}
    names, rows = [], []
    for leg, (foot, contacts) in enumerate(zip(plan.prints, plan.contacts, strict=True)):
        for p in foot:
            if not any(c.start <= p.contact.start < c.stop for c in contacts):
                continue  # the place of a foot that an end of the clip cuts in mid-air
            clip = np.eye(4)
            clip[:3, :3] = p.tilt @ from_rotvec(np.array([0.0, 0.0, p.yaw]))
            clip[:3, 3] = p.place
            name, place = carried_place(clip, p, keys.get(p.piece), ground, instancers, carriers, unit)
            if name is None:
                continue
            place = place @ np.diag([1 / unit, 1 / unit, 1 / unit, 1.0])
            if name not in names:
                names.append(name)
            rows.append((leg, names.index(name), p.contact.locked, touched(p, first), place))
    leg, on, locked, frames, place = (np.array(x, float) for x in zip(*rows)) if rows else [np.zeros(0)] * 5
    soles = np.array([sole_plan(sole, unit) for sole in plan.soles])
    return packed({"soles": soles.reshape(-1, 4), "leg": leg, "carrier": on, "locked": locked,
                   "frames": frames.reshape(-1, 6), "place": place.reshape(-1, 4, 4)}, carriers=names, unit=unit)


def carried_place(clip: np.ndarray, p: Footprint, key: tuple | None, ground: MeshGround, instancers: Instancers,
                  carriers: np.ndarray, unit: float) -> tuple[str | None, np.ndarray]:
    """What carries a footprint, and the matrix `clip` (4, 4), which leads to clip space, led to the space of that."""
    if key is not None and not is_instance(key):
        return key[1], np.linalg.inv(ground.world_of(p.piece, p.frame)) @ clip
    floor = carriers[p.frame] @ np.diag([unit, unit, unit, 1.0]) @ clip
    if key is None:
        return FLOOR, np.linalg.inv(carriers[p.frame]) @ floor
    owner = instancers.world[min(p.frame, len(instancers.world) - 1)].get(key[1])
    return (None, clip) if owner is None else (key[1], np.linalg.inv(owner) @ floor)


def touched(p: Footprint, first: int) -> tuple[int, ...]:
    """First and last frame of a footprint, of its heel and of its ball; a foot that slides touches with both."""
    out = [p.contact.start + first, p.contact.stop - 1 + first]
    for mask in (p.contact.heel, p.contact.ball):
        at = np.flatnonzero(mask | (not p.contact.locked))
        out += [at[0] + out[0], at[-1] + out[0]] if len(at) else [out[0], out[0] - 1]
    return tuple(int(f) for f in out)


def sole_plan(sole: Sole, unit: float) -> tuple[float, ...]:
    """A row of `SavedPrints.soles`."""
    along, across = sole.plan.T
    return along.min() * unit, along.max() * unit, np.ptp(across) * unit, along[HEEL] * unit


@lru_cache(maxsize=64)
def unpack_prints(text: str) -> SavedPrints:
    """The footprints of `pack_prints`; raises `Refusal` where they cannot be read."""
    try:
        arrays, extra = unpacked(text)
        whole = {name: np.rint(arrays[name]).astype(int) for name in ("leg", "carrier", "frames")}
        return SavedPrints(float(extra["unit"]), tuple(extra["carriers"]), arrays["soles"], place=arrays["place"],
                           locked=arrays["locked"] > 0.5, **whole)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        raise Refusal("The saved footprints cannot be read: press Plan to make them anew") from None


@dataclass(frozen=True)
class Shapes:
    """What is drawn of footprints: lines (N, 2, 3) and triangles (N, 3, 3) in world space, and the leg (N,) of each."""

    outlines: np.ndarray
    outline_legs: np.ndarray
    """All locked footprints."""
    lit: np.ndarray
    lit_legs: np.ndarray
    """The outlines of those that are stood on in this frame, sliding ones too."""
    filled: np.ndarray
    filled_legs: np.ndarray
    """Triangles of their heels and balls, where these touch in this frame."""
    normals: np.ndarray
    normal_legs: np.ndarray


def carriers_now(ob: bpy.types.Object, prints: SavedPrints, depsgraph: bpy.types.Depsgraph) -> np.ndarray:
    """(C, 4, 4): where what carries the footprints of `ob` is in the world; NaN for what is gone."""
    out = np.full((len(prints.carriers), 4, 4), np.nan)
    for i, name in enumerate(prints.carriers):
        if name == FLOOR:
            out[i] = carrier(ob, depsgraph)
        elif (under := named(name)) is not None:
            out[i] = under.evaluated_get(depsgraph).matrix_world
    return out


def lit_at(prints: SavedPrints, frame: float) -> np.ndarray:
    """(N, 3) bool: whether each footprint is stood on at a frame, with its heel and with its ball."""
    frame = np.floor(frame)
    out = np.stack([(prints.frames[:, k] <= frame) & (frame <= prints.frames[:, k + 1]) for k in (0, 2, 4)], 1)
    return out & out[:, :1]


def shapes(prints: SavedPrints, carriers: np.ndarray, lit: np.ndarray) -> Shapes:
    """The footprints on their carriers (C, 4, 4), those lit (N, 3) as `lit_at` has it."""
    world = carriers[prints.carrier] @ prints.place if len(prints.leg) else np.empty((0, 4, 4))
    world = world.copy()
    up = world[:, :3, 2] / np.maximum(np.linalg.norm(world[:, :3, 2], axis=1, keepdims=True), 1e-9)
    world[:, :3, 3] += LIFT * prints.unit * up
    there = np.isfinite(world).all((1, 2))

    def laid(which: np.ndarray, figures: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """A figure (K, corners, 2) of each leg, laid where its footprints are; and the leg of each piece."""
        at = np.flatnonzero(which & there)
        corners = figures[0].shape[1] if figures else 2
        if not len(at):
            return np.empty((0, corners, 3)), np.empty(0, int)
        flat = np.array(figures)[prints.leg[at]]
        points = flat.reshape(len(at), -1, 2) @ transposed(world[at, :3, :2]) + world[at, None, :3, 3]
        return points.reshape(-1, corners, 3), np.repeat(prints.leg[at], flat.shape[1])

    soles = [half_soles(sole) for sole in prints.soles]
    lines = [outline(heel, ball) for heel, ball in soles]
    parts = [laid(lit[:, 1 + k], [triangles(sole[k]) for sole in soles]) for k in (0, 1)]
    filled, filled_legs = (np.concatenate(x) for x in zip(*parts))
    stood = lit[:, 0] & there
    stem = world[stood, :3, 3]
    normals = np.stack([stem, stem + NORMAL * prints.unit * up[stood]], 1)
    return Shapes(*laid(prints.locked, lines), *laid(lit[:, 0], lines), filled, filled_legs, normals, prints.leg[stood])


def half_soles(sole: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Stations (n, 2) of the heel's and of the ball's half of a sole: along from the ball, and half the width there."""
    back, front, width, heel = sole
    split = 2 * (heel / 2 - back) / max(front - back, 1e-9) - 1
    x = np.unique(np.append(-np.cos(np.linspace(0, np.pi, STATIONS)), np.clip(split, -0.9, 0.9)))
    along, half = back + (x + 1) / 2 * (front - back), width / 2 * (0.9 + 0.1 * x) * (1 - x**4).clip(0) ** 0.25
    stations = np.stack([along, half], 1)
    k = int(np.argmin(np.abs(x - np.clip(split, -0.9, 0.9))))
    return stations[:k + 1], stations[k:]


def outline(heel: np.ndarray, ball: np.ndarray) -> np.ndarray:
    """(K, 2, 2): the line round a sole, and the one that parts heel from ball."""
    stations = np.concatenate([heel, ball[1:]])
    ring = np.concatenate([stations, stations[::-1] * (1, -1)])
    return np.concatenate([np.stack([ring, np.roll(ring, -1, 0)], 1), [[ball[0], ball[0] * (1, -1)]]])


def triangles(stations: np.ndarray) -> np.ndarray:
    """(K, 3, 2): the surface between both sides of a half sole."""
    left, right = stations, stations * (1, -1)
    halves = (left[:-1], right[:-1], left[1:]), (left[1:], right[:-1], right[1:])
    return np.concatenate([np.stack(half, 1) for half in halves])


def rays(ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph, frame: float) -> tuple[np.ndarray, np.ndarray]:
    """Lines (N, 2, 3) in world space from heel and ball of each foot, as shown, straight down to the ground where there
    is any; and the leg (N,) of each."""
    refuse_missing_collection(ob)
    unit = unpack_plan(ob.foot_ik.plan).unit
    evaluated = ob.evaluated_get(depsgraph)
    points, legs = [], []
    for i, leg in enumerate(used_legs(ob)):
        sole = unpack_sole(leg.sole) if leg.sole else None
        for k in (HEEL, BALL) if sole else ():
            bone = evaluated.pose.bones.get(leg.toe if sole.on_toe[k] and leg.toe else leg.foot)
            if bone is not None:
                points.append(np.array(evaluated.matrix_world @ bone.matrix, float) @ (*sole.points[k], 1.0))
                legs.append(i)
    ground, floor = MeshGround(ob), np.array(carrier(ob, depsgraph), float)
    ground.visit(depsgraph, frame)
    ground.settle(floor[None], unit)
    to_world = floor @ np.diag([unit, unit, unit, 1.0])
    clip = transform(np.linalg.inv(to_world), np.array(points).reshape(-1, 4)[:, :3])
    heights, _ = ground.below(clip + (0, 0, ABOVE), np.zeros(len(clip), int))
    hit = np.column_stack([clip[:, :2], heights])
    found = np.isfinite(heights)
    return transform(to_world, np.stack([clip, hit], 1))[found], np.array(legs, int)[found]
