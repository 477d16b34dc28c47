"""Find the pelvis and the legs of a skeleton: names propose, hierarchy and lengths decide, doubt refuses.

Nothing here trusts the heights of the rest pose: motion capture rests may lie along x or stand in mid-stride. Their
lengths and their hierarchy are right, and the posed heads (world space, z up) are right where they are given.
"""
from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from . import naming
from .naming import FOOT, LOWER, TOE, UPPER, BoneName

BY_HAND = "pick the pelvis and the bones of each leg by hand in the Legs panel"
SIDE_NAMES = {"L": "Left", "R": "Right", "": ""}
LIMB_ORDER = (naming.FRONT, naming.MIDDLE, naming.HIND, "")


class LegsNotFound(Exception):
    """Says in one sentence what the animator can do."""


@dataclass(frozen=True)
class Skeleton:
    """The bones of an armature, in any order.

    `heads` and `tails` (B, 3) are the rest pose in armature space; `posed` (F, B, 3), where given, holds the heads of a
    few frames in world space (z up). `parents` (B,) are indices, -1 for none.
    """

    names: tuple[str, ...]
    parents: np.ndarray
    heads: np.ndarray
    tails: np.ndarray
    use_deform: np.ndarray
    use_connect: np.ndarray
    posed: np.ndarray | None = None

    @cached_property
    def words(self) -> tuple[BoneName, ...]:
        """What each bone's name proposes."""
        return tuple(naming.parse(n) for n in self.names)

    @cached_property
    def depth(self) -> np.ndarray:
        """(B,) number of ancestors of each bone."""
        return np.array([len(self.ancestors(b)) for b in range(len(self.names))])

    def ancestors(self, bone: int) -> list[int]:
        """Ancestors of a bone, the parent first."""
        out = []
        while self.parents[bone] >= 0:
            bone = int(self.parents[bone])
            out.append(bone)
        return out

    def lineage(self, bone: int) -> list[int]:
        """The bone and its ancestors."""
        return [bone, *self.ancestors(bone)]

    @cached_property
    def below(self) -> np.ndarray:
        """(B, B) bool: `below[a, b]` where bone b is bone a or one of its descendants."""
        out = np.eye(len(self.names), dtype=bool)
        for b in range(len(self.names)):
            out[self.ancestors(b), b] = True
        return out

    def distance(self, a: int, b: int) -> float:
        """Rest distance between two heads."""
        return float(np.linalg.norm(self.heads[a] - self.heads[b]))


@dataclass(frozen=True)
class Leg:
    """Bone names of one leg; `toe` is the bone at the ball of the foot, or empty."""

    name: str
    upper: str
    lower: str
    foot: str
    toe: str = ""


@dataclass(frozen=True)
class Legs:
    """The bone that carries the whole body, its legs, and sentences for the user."""

    pelvis: str
    legs: tuple[Leg, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chain:
    """A leg as bone indices (`toe` -1 for none), with what speaks for it."""

    upper: int
    lower: int
    foot: int
    toe: int
    side: str
    limb: str
    layer: int
    score: float


def find_legs(skeleton: Skeleton) -> Legs:
    """The pelvis and legs of a skeleton; raises `LegsNotFound` rather than guess."""
    chains = chains_by_name(skeleton)
    if not chains:
        raise LegsNotFound(f"No legs were recognised in this armature: {BY_HAND}")
    notes = check_pairs(skeleton, chains)
    pelvis = find_pelvis(skeleton, chains, notes)
    legs = [Leg(label, *(skeleton.names[b] if b >= 0 else "" for b in (c.upper, c.lower, c.foot, c.toe)))
            for label, c in labelled(skeleton, chains)]
    return Legs(skeleton.names[pelvis], tuple(legs), tuple(notes))


# ---------------------------------------------------------------- chains

def chains_by_name(skeleton: Skeleton) -> list[Chain]:
    """The best leg chains whose names fit, no two of them the same leg."""
    kept: list[Chain] = []
    for chain in sorted(named_candidates(skeleton), key=lambda c: preference(skeleton, c)):
        rival = next((k for k in kept if same_leg(skeleton, k, chain)), None)
        if rival is None:
            layers = [k.layer for k in kept if (k.side, k.limb) == (chain.side, chain.limb)]
            if not layers or chain.layer <= min(layers):
                kept.append(chain)
        elif apart(skeleton, rival, chain) and rank(skeleton, rival) == rank(skeleton, chain):
            a, b = (skeleton.names[c.upper] for c in (rival, chain))
            raise LegsNotFound(f"Two chains look like the same leg ({a} and {b}): {BY_HAND}")
    return kept


def named_candidates(skeleton: Skeleton) -> list[Chain]:
    """Every upper > lower > foot (> toe) that names, hierarchy and lengths allow."""
    names = skeleton.words
    out = []
    for foot in _with_role(skeleton, FOOT):
        word = names[foot]
        above = [b for b in skeleton.ancestors(foot)
                 if not names[b].helper and (names[b].side, names[b].layer) == (word.side, word.layer)]
        for i, lower in enumerate(above):
            if LOWER not in names[lower].roles:
                continue
            for upper in above[i + 1:]:
                if UPPER in names[upper].roles and plausible(skeleton, upper, lower, foot):
                    out.append(_named_chain(skeleton, upper, lower, foot))
    return [c for c in out if c.score > 0]


def _named_chain(skeleton: Skeleton, upper: int, lower: int, foot: int) -> Chain:
    names = skeleton.words
    toe = find_toe(skeleton, upper, lower, foot)
    roles = [(upper, UPPER), (lower, LOWER), (foot, FOOT)] + ([(toe, TOE)] if toe >= 0 else [])
    score = sum(names[b].roles.get(role, 0.0) for b, role in roles)
    if names[foot].roles[FOOT] < 1 and (toe < 0 or names[toe].roles.get(TOE, 0.0) < 1):
        score = 0.0  # an arm with a hand
    stems = {names[b].stem for b in (upper, lower, foot)}
    for b in skeleton.ancestors(foot):
        if b == upper:
            break
        if names[b].roles and not names[b].helper and names[b].stem not in stems:
            score -= 1.5  # a joint of the leg that this reading leaves unexplained
    limb = next((names[b].limb for b in (upper, lower, foot, toe) if names[b].limb), "")
    return Chain(upper, lower, foot, toe, names[foot].side, limb, names[foot].layer, score)


def _with_role(skeleton: Skeleton, role: str) -> list[int]:
    return [b for b, word in enumerate(skeleton.words) if role in word.roles and not word.helper]


def plausible(skeleton: Skeleton, upper: int, lower: int, foot: int) -> bool:
    """Whether the lengths of thigh and shin can be those of a leg."""
    thigh, shin = skeleton.distance(upper, lower), skeleton.distance(lower, foot)
    size = float(np.ptp(skeleton.heads, axis=0).max())
    return min(thigh, shin) > 1e-3 * size and max(thigh, shin) < 5.0 * min(thigh, shin)


def find_toe(skeleton: Skeleton, upper: int, lower: int, foot: int) -> int:
    """The ball joint below a foot, or -1: the strongest name, then the highest in the hierarchy, then the first digit.

    An end bone (nub) is taken only where it is the sole toe of the foot.
    """
    leg = skeleton.distance(upper, lower) + skeleton.distance(lower, foot)
    found = []
    for b in np.flatnonzero(skeleton.below[foot]):
        word = skeleton.words[b]
        if b == foot or TOE not in word.roles or (word.helper and not word.terminal):
            continue
        if word.terminal and "toe" not in word.stem:
            continue
        if 1e-3 * leg < skeleton.distance(foot, b) < 0.8 * leg:
            extra = any(d > 1 for d in word.digits[:1])
            found.append((word.helper, -word.roles[TOE] + 0.5 * extra, skeleton.depth[b], word.digits, skeleton.names[b], int(b)))
    return min(found)[-1] if found else -1


# ---------------------------------------------------------------- choice

def rank(skeleton: Skeleton, chain: Chain) -> tuple:
    """What makes one chain the better reading of a leg: deforming bones, the rig's layer, the names."""
    deforming = sum(bool(skeleton.use_deform[b]) for b in (chain.upper, chain.lower, chain.foot))
    return (-deforming, chain.layer, -chain.score)


def preference(skeleton: Skeleton, chain: Chain) -> tuple:
    """Sort key: `rank`, then the bones highest in the hierarchy (the first of split bones), then the names."""
    bones = (chain.upper, chain.lower, chain.foot)
    return (*rank(skeleton, chain), *(skeleton.depth[b] for b in bones), *(skeleton.names[b] for b in bones))


def apart(skeleton: Skeleton, a: Chain, b: Chain) -> bool:
    """Whether neither chain's bones hang below the other's."""
    return not (skeleton.below[a.upper, b.upper] or skeleton.below[b.upper, a.upper])


def same_leg(skeleton: Skeleton, a: Chain, b: Chain) -> bool:
    """Whether two chains are one leg: one hangs in the other, or both lie in the same place at rest."""
    if not apart(skeleton, a, b):
        return True
    if a.side != b.side:
        return False
    leg = skeleton.distance(a.upper, a.lower) + skeleton.distance(a.lower, a.foot)
    return max(skeleton.distance(a.upper, b.upper), skeleton.distance(a.foot, b.foot)) < 0.15 * leg


def check_pairs(skeleton: Skeleton, chains: list[Chain]) -> list[str]:
    """Compare left with right; returns notes, raises where one leg of a pair cannot be right."""
    notes = []
    pairs = defaultdict(dict)
    for c in chains:
        pairs[c.limb].setdefault(c.side, []).append(c)
    for limb, sides in pairs.items():
        left, right = (sides.get(s, []) for s in "LR")
        if len(left) != len(right):
            notes.append(f"{len(left)} left and {len(right)} right legs were found: add what is missing in the Legs panel")
        if len(left) == len(right) == 1:
            a, b = (skeleton.distance(c.upper, c.lower) + skeleton.distance(c.lower, c.foot) for c in (left[0], right[0]))
            if max(a, b) > 2.0 * min(a, b):
                raise LegsNotFound(f"The left and the right leg that were found differ too much in length: {BY_HAND}")
    return notes


def labelled(skeleton: Skeleton, chains: list[Chain]) -> list[tuple[str, Chain]]:
    """Names for the legs, in a fixed order: Left, Right; Front Left ...; Left 1 ... where nothing tells pairs apart."""
    by_side = defaultdict(list)
    for c in chains:
        by_side[c.side].append(c)
    several = max(map(len, by_side.values())) > 1
    limbs = {c.limb for c in chains}
    other = naming.HIND if naming.FRONT in limbs else naming.FRONT if naming.HIND in limbs else ""
    out = []
    for side, group in by_side.items():
        named = [(c.limb or (other if several else ""), c) for c in group]
        for limb in LIMB_ORDER:
            same = sorted((c for w, c in named if w == limb), key=lambda c: _natural(skeleton.names[c.upper]))
            for i, c in enumerate(same):
                label = [limb if several else "", SIDE_NAMES[side], str(i + 1) if len(same) > 1 else ""]
                out.append(((LIMB_ORDER.index(limb), i, side), " ".join(filter(None, label)) or "Leg", c))
    return [(label, c) for _, label, c in sorted(out, key=lambda x: x[0])]


def _natural(name: str) -> tuple:
    word = naming.parse(name)
    return (word.digits, name)


# ---------------------------------------------------------------- pelvis

def find_pelvis(skeleton: Skeleton, chains: list[Chain], notes: list[str]) -> int:
    """The lowest bone whose location moves all legs and the trunk, but not the floor under them.

    A spine bone that carries the legs (3ds Max Biped) gives way to the pelvis above it.
    """
    names = skeleton.words
    common = [b for b in skeleton.ancestors(chains[0].upper) if all(skeleton.below[b, c.upper] for c in chains)]
    if not common:
        raise LegsNotFound(f"No bone carries all of the legs that were found, so the body cannot be lowered: {BY_HAND}")
    trunk = defaultdict(list)
    for b, word in enumerate(names):
        if word.trunk:
            trunk[word.stem, word.digits].append(b)
    carried = [sum(any(skeleton.below[b, t] for t in bones) for bones in trunk.values()) for b in common]
    pelvis = next((b for b, n in zip(common, carried) if n >= 0.8 * len(trunk)), common[-1])
    for above in skeleton.ancestors(pelvis):
        if not names[pelvis].trunk or not (names[above].trunk or names[above].pelvis):
            break
        pelvis = above
    for above in skeleton.ancestors(pelvis):
        if not skeleton.use_connect[pelvis]:
            break
        pelvis = above
    return pelvis
