"""Find the pelvis and the legs of a skeleton: names propose, hierarchy and lengths decide, doubt refuses.

Nothing here trusts the heights of the rest pose: motion capture rests may lie along x or stand in mid-stride. Their
lengths and their hierarchy are right, and posed heads are right where they are given.
"""
from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from . import naming
from .legs_by_shape import legs_by_shape
from .naming import ARM, FOOT, LOWER, TOE, UPPER
from .skeleton import Chain, Skeleton, leads_down

BY_HAND = "pick the pelvis and the bones of each leg by hand in the Legs panel"
SIDE_NAMES = {"L": "Left", "R": "Right", "": ""}
LIMB_ORDER = (naming.FRONT, naming.MIDDLE, naming.HIND, "")


class LegsNotFound(Exception):  # noqa: N818  (it says what was not found, as the panel shows it)
    """Says in one sentence what the animator can do."""


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


def find_legs(skeleton: Skeleton) -> Legs:
    """The pelvis and legs of a skeleton; raises `LegsNotFound` rather than guess."""
    notes: list[str] = []
    chains = legs_by_name(skeleton)
    if not chains:
        chains = [c for c in legs_by_shape(skeleton) if not named_arm(skeleton, c)]
        notes.append("The legs were found by their shape, not by name: check them in the Legs panel")
    if not chains:
        raise LegsNotFound(f"No legs were recognised in this armature: {BY_HAND}")
    check_pairs(skeleton, chains, notes)
    pelvis = find_pelvis(skeleton, chains, notes)
    legs = [Leg(label, *(skeleton.names[b] if b >= 0 else "" for b in (c.upper, c.lower, c.foot, c.toe)))
            for label, c in labelled(skeleton, chains)]
    return Legs(skeleton.names[pelvis], tuple(legs), tuple(notes))


def named_arm(skeleton: Skeleton, chain: Chain) -> bool:
    """Whether the names of a chain say that it is an arm."""
    return any(naming.parse(skeleton.names[b]).stem in ARM for b in (chain.upper, chain.lower, chain.foot))


# ---------------------------------------------------------------- legs by name

def legs_by_name(skeleton: Skeleton) -> list[Chain]:
    """The best chains whose names fit, no two of them the same leg."""
    candidates = named_candidates(skeleton)
    real = [c for c in candidates if plausible(skeleton, c)]
    if candidates and not real:
        names = ", ".join(skeleton.names[b] for b in (candidates[0].upper, candidates[0].lower, candidates[0].foot))
        raise LegsNotFound(f"The lengths of {names} are not those of a leg: {BY_HAND}")
    kept: list[Chain] = []
    for chain in sorted(real, key=lambda c: preference(skeleton, c)):
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
    """Every upper > lower > foot (> toe) that names and hierarchy allow."""
    names = skeleton.words
    out = []
    for foot, word in enumerate(names):
        if FOOT not in word.roles or word.helper:
            continue
        above = [b for b in skeleton.ancestors(foot)
                 if not names[b].helper and (names[b].side, names[b].layer) == (word.side, word.layer)]
        for i, lower in enumerate(above):
            if LOWER in names[lower].roles:
                out += [_chain(skeleton, upper, lower, foot) for upper in above[i + 1:] if UPPER in names[upper].roles]
    return [c for c in out if c.score > 0]


def _chain(skeleton: Skeleton, upper: int, lower: int, foot: int) -> Chain:
    """A chain with the sum of its roles' strengths; 0 for an arm, and for weak names on what does not hang down."""
    names = skeleton.words
    toe = find_toe(skeleton, upper, lower, foot)
    strengths = [names[b].roles[role] for b, role in ((upper, UPPER), (lower, LOWER), (foot, FOOT))]
    ball = names[toe].roles[TOE] if toe >= 0 else 0.0
    score = sum(strengths) + ball
    stems = {names[b].stem for b in (upper, lower, foot)}
    for b in skeleton.ancestors(foot):
        if b == upper:
            break
        if names[b].roles and not names[b].helper and names[b].stem not in stems:
            score -= 1.5  # a joint of the leg that this reading leaves unexplained
    if max(strengths[2], ball) < 1 or (min(strengths) < 1 and not leads_down(skeleton, upper, foot)):
        score = 0.0
    limb = next((names[b].limb for b in (upper, lower, foot, *([toe] if toe >= 0 else [])) if names[b].limb), "")
    return Chain(upper, lower, foot, toe, names[foot].side, limb, names[foot].layer, score)


def find_toe(skeleton: Skeleton, upper: int, lower: int, foot: int) -> int:
    """The ball joint below a foot, or -1: the strongest name, then the highest in the hierarchy, then the first digit.

    An end bone (nub) is taken only where it is the sole toe of the foot.
    """
    leg = skeleton.distance(upper, lower) + skeleton.distance(lower, foot)
    layer = skeleton.words[foot].layer
    found = []
    for b in np.flatnonzero(skeleton.below[foot]).tolist():
        word = skeleton.words[b]
        if b == foot or TOE not in word.roles or (word.helper and not (word.terminal and "toe" in word.stem)):
            continue
        if 1e-3 * leg < skeleton.distance(foot, b) < 0.8 * leg:
            order = (word.helper, word.layer != layer, -word.roles[TOE], skeleton.depth[b], word.digits)
            found.append((*order, skeleton.names[b], b))
    return min(found)[-1] if found else -1


def plausible(skeleton: Skeleton, chain: Chain) -> bool:
    """Whether the lengths of thigh and shin can be those of a leg."""
    thigh, shin = skeleton.distance(chain.upper, chain.lower), skeleton.distance(chain.lower, chain.foot)
    return min(thigh, shin) > 1e-3 * skeleton.size and max(thigh, shin) < 5.0 * min(thigh, shin)


def rank(skeleton: Skeleton, chain: Chain) -> tuple[int, int, float]:
    """What makes one chain the better reading of a leg: deforming bones, the rig's layer, the names."""
    deforming = sum(bool(skeleton.use_deform[b]) for b in (chain.upper, chain.lower, chain.foot))
    return (-deforming, chain.layer, -chain.score)


def preference(skeleton: Skeleton, chain: Chain) -> tuple:
    """Sort key: `rank`, then the bones highest in the hierarchy (the first of split bones), then the names."""
    bones = (chain.upper, chain.lower, chain.foot)
    return (*rank(skeleton, chain), *(skeleton.depth[b] for b in bones), *(skeleton.names[b] for b in bones))


def apart(skeleton: Skeleton, a: Chain, b: Chain) -> bool:
    """Whether neither chain hangs below the other."""
    return not (skeleton.below[a.upper, b.upper] or skeleton.below[b.upper, a.upper])


def same_leg(skeleton: Skeleton, a: Chain, b: Chain) -> bool:
    """Whether two chains are one leg: one hangs in the other, or both lie in the same place at rest."""
    if not apart(skeleton, a, b):
        return True
    gap = max(skeleton.distance(a.upper, b.upper), skeleton.distance(a.foot, b.foot))
    return a.side == b.side and gap < 0.15 * a.length(skeleton)


# ---------------------------------------------------------------- pairs and labels

def check_pairs(skeleton: Skeleton, chains: list[Chain], notes: list[str]) -> None:
    """Compare left with right: a missing leg is noted, a pair of which one cannot be right is refused."""
    pairs = defaultdict(lambda: {"L": [], "R": [], "": []})
    for c in chains:
        pairs[c.limb][c.side].append(c)
    for sides in pairs.values():
        left, right = sides["L"], sides["R"]
        if len(left) != len(right):
            notes.append(f"{len(left)} left and {len(right)} right legs were found: "
                         "add one that is missing in the Legs panel")
        elif len(left) == 1:
            short, long = sorted(c.length(skeleton) for c in left + right)
            if long > 2.0 * short:
                raise LegsNotFound(f"The left and the right leg that were found differ too much in length: {BY_HAND}")


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
        limb_of = {c: (c.limb or other) if several else "" for c in group}
        for limb in LIMB_ORDER:
            same = sorted((c for c in group if limb_of[c] == limb), key=lambda c: _natural(skeleton.names[c.upper]))
            for i, c in enumerate(same):
                label = [limb, SIDE_NAMES[side] or "Leg", str(i + 1) if len(same) > 1 else ""]
                out.append(((LIMB_ORDER.index(limb), i, side), " ".join(filter(None, label)), c))
    return [(label, c) for _, label, c in sorted(out, key=lambda x: x[0])]


def _natural(name: str) -> tuple:
    return (naming.parse(name).digits, name)


# ---------------------------------------------------------------- pelvis

def find_pelvis(skeleton: Skeleton, chains: list[Chain], notes: list[str]) -> int:
    """The lowest bone whose location moves all legs and the trunk.

    A spine bone that carries the legs (3ds Max Biped) gives way to the pelvis above it, and a bone that is connected to
    its parent, whose location Blender ignores, to the parent.
    """
    common = [b for b in skeleton.ancestors(chains[0].upper) if all(skeleton.below[b, c.upper] for c in chains)]
    if not common:
        raise LegsNotFound(f"No bone carries all of the legs that were found: parent them to one, or {BY_HAND}")
    parts = body_parts(skeleton, chains)
    carried = [sum(any(skeleton.below[b, x] for x in part) for part in parts) for b in common]
    enough = 0.8 * max(carried)
    pelvis = next(b for b, n in zip(common, carried) if n >= enough)
    pelvis = above_the_spine(skeleton, chains, pelvis)
    moved = pelvis
    while skeleton.use_connect[moved] and skeleton.parents[moved] >= 0:
        moved = int(skeleton.parents[moved])
    if moved != pelvis:
        notes.append(f"{skeleton.names[pelvis]} is connected to its parent and cannot be moved, "
                     f"so {skeleton.names[moved]} moves the body")
    return moved


def body_parts(skeleton: Skeleton, chains: list[Chain]) -> list[list[int]]:
    """What the pelvis has to carry besides legs: the bones of each trunk part by name (DEF and ORG of a part count
    once), or, where names tell nothing, every bone that is neither of a leg nor an ancestor of one."""
    trunk = defaultdict(list)
    for b, word in enumerate(skeleton.words):
        if word.trunk:
            trunk[word.stem, word.digits].append(b)
    if trunk:
        return list(trunk.values())
    legs = np.zeros(len(skeleton.names), bool)
    for c in chains:
        legs |= skeleton.below[c.upper]
        legs[skeleton.ancestors(c.upper)] = True
    return [[int(b)] for b in np.flatnonzero(~legs) if not skeleton.words[b].helper] or [[c.upper] for c in chains]


def above_the_spine(skeleton: Skeleton, chains: list[Chain], pelvis: int) -> int:
    """Climb from a spine bone to the pelvis above it: by names, else to a parent that is nearer to the hip joints."""
    names = skeleton.words
    if names[pelvis].trunk:
        for above in skeleton.ancestors(pelvis):
            if not (names[pelvis].trunk and (names[above].trunk or names[above].pelvis)):
                break
            pelvis = above
    elif not names[pelvis].pelvis:
        hips = skeleton.heads[[c.upper for c in chains]].mean(0)
        parent = int(skeleton.parents[pelvis])
        near, far = (np.linalg.norm(skeleton.heads[b] - hips) for b in (parent, pelvis))
        if parent >= 0 and near < min(far - 1e-6 * skeleton.size, 0.3 * chains[0].length(skeleton)):
            pelvis = parent
    return pelvis
