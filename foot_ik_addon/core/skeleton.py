"""A skeleton as plain arrays: what leg detection reads of an armature."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from . import naming


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
    def words(self) -> tuple[naming.BoneName, ...]:
        """What each bone's name proposes; of legs whose bones are all called leg, their order tells."""
        out = [naming.parse(n) for n in self.names]
        for top, parent in enumerate(self.parents):
            if parent < 0 or naming.UPPER not in out[parent].roles:
                series = self._series(out, top)
                for number, bone in enumerate(series if len(series) > 2 else (), 1):
                    out[bone] = naming.in_series(out[bone], number)
        return tuple(out)

    def _series(self, words: list[naming.BoneName], top: int) -> list[int]:
        """The bones called leg that hang one below the other from `top` on."""
        def alike(bone: int) -> bool:
            word, other = words[bone], words[top]
            used = not word.helper or (word.terminal and len(self.children[bone]) > 0)
            same = (word.side, word.limb, word.layer) == (other.side, other.limb, other.layer)
            return word.stem == "leg" and same and used

        out = [top] if alike(top) else []
        while out and len(below := [c for c in self.children[out[-1]] if alike(c)]) == 1:
            out += below
        return out

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

    @cached_property
    def children(self) -> list[list[int]]:
        """Children of each bone."""
        out = [[] for _ in self.names]
        for b, parent in enumerate(self.parents):
            if parent >= 0:
                out[parent].append(b)
        return out

    @cached_property
    def below(self) -> np.ndarray:
        """(B, B) bool: `below[a, b]` where bone b is bone a or one of its descendants."""
        out = np.eye(len(self.names), dtype=bool)
        for b in range(len(self.names)):
            out[self.ancestors(b), b] = True
        return out

    @cached_property
    def size(self) -> float:
        """Largest extent of the rest pose."""
        return float(np.ptp(self.heads, axis=0).max()) if self.names else 0.0

    def distance(self, a: int, b: int) -> float:
        """Rest distance between two heads."""
        return float(np.linalg.norm(self.heads[a] - self.heads[b]))


@dataclass(frozen=True)
class Chain:
    """A leg as bone indices (`toe` is -1 for none), with what its names say."""

    upper: int
    lower: int
    foot: int
    toe: int = -1
    side: str = ""  # "L", "R" or ""
    limb: str = ""  # "Front", "Middle", "Hind" or ""
    layer: int = naming.PLAIN
    score: float = 0.0

    def length(self, skeleton: Skeleton) -> float:
        """Rest length of thigh and shin."""
        return skeleton.distance(self.upper, self.lower) + skeleton.distance(self.lower, self.foot)


def leads_down(skeleton: Skeleton, upper: int, foot: int, reach: float = 0.3) -> bool:
    """Whether the foot hangs below the hip by a share of their distance, on average over the posed frames.

    True where there are no posed frames: rest heights tell nothing.
    """
    if skeleton.posed is None:
        return True
    leg = skeleton.posed[:, upper] - skeleton.posed[:, foot]
    return float(leg[:, 2].mean()) > reach * float(np.linalg.norm(leg, axis=1).mean())
