"""What the planner asks of the ground, in clip space; `blender/ground.py` answers from meshes."""

from __future__ import annotations

from typing import Protocol

import numpy as np


class Ground(Protocol):
    """Heights under points, in clip space, at frames given by their index in the clip."""

    @property
    def still(self) -> bool:
        """Nothing of it ever moves."""
        ...

    def below(self, points: np.ndarray, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Heights (N,) of the first ground straight below points (N, 3), NaN where there is none; and (N,) int,
        which piece of ground that is (-1: none)."""
        ...

    def layers(self, points: np.ndarray, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Heights (N, K) of every ground above or below points (N, 2) that can be stood on, so not what lies inside of
        something solid, highest first, padded with NaN; and (N, K) int, which pieces of ground those are."""
        ...

    def carried(self, piece: int, start: int, frames: np.ndarray, points: np.ndarray) -> np.ndarray:
        """(N, 4, 4): how a piece of ground has carried what stands at `points` (S, 3) in frame `start` to each of
        `frames` (N,). Where the ground deforms that is how the patch under the points has moved and turned."""
        ...
