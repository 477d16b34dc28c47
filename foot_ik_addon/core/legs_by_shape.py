"""Find legs without names: the one mirrored pair of limbs that ends lowest in the posed frames, or nothing.

Works on hierarchy, rest lengths and posed heights alone, and only for two legs: whatever leaves room for doubt (more
limbs near the floor, hands with fingers, split bones) yields no legs.
"""
from __future__ import annotations

import numpy as np

from .skeleton import Chain, Skeleton, leads_down

SAME_LENGTH = 0.12  # mirrored limbs differ by less, as a share of the limb
CLEAR = 0.25  # whatever else there is stays this far above the feet, as a share of the leg


def legs_by_shape(skeleton: Skeleton) -> list[Chain]:
    """Left and right leg, or an empty list where the shape leaves doubt or there are no posed frames."""
    posed = skeleton.posed
    if posed is None or len(skeleton.names) < 7:
        return []
    paths = main_paths(skeleton)
    pairs = [(pair, _lowest(posed, paths, pair)) for pair in mirrored(skeleton, paths)]
    if not pairs:
        return []
    pair, low = min(pairs, key=lambda x: x[1])
    a, b = (as_leg(skeleton, paths[x]) for x in pair)
    if a is None or b is None or not _alone_at_the_floor(skeleton, posed, pair, low, a.length(skeleton)):
        return []
    return sided(skeleton, posed.mean(0), a, b)


def main_paths(skeleton: Skeleton) -> list[list[int]]:
    """For each bone the longest path (rest length) from it to a leaf."""
    reach = np.zeros(len(skeleton.names))
    paths: list[list[int]] = [[b] for b in range(len(skeleton.names))]
    for b in np.argsort(-skeleton.depth):
        best = max(skeleton.children[b], key=lambda c: reach[c] + skeleton.distance(b, c), default=None)
        if best is not None:
            reach[b] = reach[best] + skeleton.distance(b, best)
            paths[b] = [b, *paths[best]]
    return paths


def mirrored(skeleton: Skeleton, paths: list[list[int]]) -> list[tuple[int, int]]:
    """Pairs of siblings with equal paths of at least three joints; more than two alike (skirts, tails) are no pair."""
    out = []
    for siblings in skeleton.children:
        for i, a in enumerate(siblings):
            alike = [b for b in siblings if b != a and _alike(skeleton, paths[a], paths[b])]
            if len(alike) == 1 and alike[0] in siblings[i:]:
                out.append((a, alike[0]))
    return out


def _alike(skeleton: Skeleton, a: list[int], b: list[int]) -> bool:
    if len(a) != len(b) or len(a) < 3:
        return False
    one, two = segments(skeleton, a), segments(skeleton, b)
    return bool(np.abs(one - two).max() < SAME_LENGTH * max(one.sum(), two.sum()) and one.sum() > 0.2 * skeleton.size)


def segments(skeleton: Skeleton, path: list[int]) -> np.ndarray:
    """Rest distances between the joints of a path."""
    return np.array([skeleton.distance(a, b) for a, b in zip(path, path[1:])])


def as_leg(skeleton: Skeleton, path: list[int]) -> Chain | None:
    """Read a path as [spacer,] hip, knee, ankle [, ball [, tip]]: thigh and shin alike, all else shorter; or None."""
    s = segments(skeleton, path)
    k = int(np.argmax(s[:-1] + s[1:]))
    thigh, shin = s[k], s[k + 1]
    short = 0.7 * min(thigh, shin)
    others = np.concatenate([s[:k], s[k + 2:]])
    if k > 1 or len(s) > k + 5 or min(thigh, shin) < 0.6 * max(thigh, shin) or others.max(initial=0.0) > short:
        return None
    upper, lower, foot = path[k:k + 3]
    if not leads_down(skeleton, upper, foot, 0.6) or len(skeleton.children[foot]) > 2:  # a hand has fingers
        return None
    toe = path[k + 3] if len(path) > k + 3 else -1
    if toe >= 0 and len(skeleton.children[toe]) > 2:
        return None
    return Chain(upper, lower, foot, toe)


def _lowest(posed: np.ndarray, paths: list[list[int]], pair: tuple[int, int]) -> float:
    """Height at which a pair of limbs ends: the mean over both of the lowest joint, over the posed frames."""
    return float(np.mean([posed[:, paths[b], 2].min(1) for b in pair]))


def _alone_at_the_floor(skeleton: Skeleton, posed: np.ndarray, pair: tuple[int, int], low: float, leg: float) -> bool:
    """Whether all bones that do not belong to the pair, or carry it, stay clearly above its feet."""
    world = leg * _world_scale(skeleton, posed)
    belongs = skeleton.below[pair[0]] | skeleton.below[pair[1]]
    belongs[skeleton.ancestors(pair[0])] = True
    others = ~belongs
    return bool(others.sum() >= 2 and posed[:, others, 2].mean(0).min() > low + CLEAR * world)


def _world_scale(skeleton: Skeleton, posed: np.ndarray) -> float:
    """World length of one unit of the rest pose, from bones and their parents."""
    child = np.flatnonzero(skeleton.parents >= 0)
    parent = skeleton.parents[child]
    rest = np.linalg.norm(skeleton.heads[child] - skeleton.heads[parent], axis=1).sum()
    world = np.linalg.norm(posed[:, child] - posed[:, parent], axis=2).mean(0).sum()
    return float(world / rest)


def sided(skeleton: Skeleton, p: np.ndarray, a: Chain, b: Chain) -> list[Chain]:
    """Give a pair its sides: from the names, else from where knees and the lower foot point; in doubt, none.

    `p` (B, 3) are heads in world space.
    """
    sides = [skeleton.words[c.upper].side for c in (a, b)]
    if sorted(sides) != ["L", "R"]:
        stance = min((a, b), key=lambda c: p[c.foot, 2])
        forward = p[stance.toe] - p[stance.foot] if stance.toe >= 0 else np.zeros(3)
        for c in (a, b):
            forward = forward + 2.0 * (p[c.lower] - (p[c.upper] + p[c.foot]) / 2.0)
        across = p[a.upper] - p[b.upper]
        left = float(np.cross([0.0, 0.0, 1.0], forward) @ across)
        leg = float(np.linalg.norm(p[a.upper] - p[a.foot]))
        if abs(left) < 0.07 * leg * float(np.linalg.norm(across)):
            return [a, b]
        sides = ["L", "R"] if left > 0 else ["R", "L"]
    return [Chain(c.upper, c.lower, c.foot, c.toe, side) for c, side in zip((a, b), sides)]
