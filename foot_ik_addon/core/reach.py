"""The three answers to a target out of reach: move the root, stretch the leg, or accept what is missing.

To accept is what the solvers do by themselves: they clamp, and `residual` tells by how much.
"""
from __future__ import annotations

import numpy as np

from .checks import lengths, vectors
from .rotations import square_to, unit_and_length


def root_interval(
    root: np.ndarray, target: np.ndarray, reach: np.ndarray | float, up: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The offsets low, high (F,) along `up` between which a moved root has the target within its reach.

    For low <= p <= high, |root + p up - target| <= reach. root, target (F, 3), reach (F,) or a number, up (F, 3)
    or (3,) of any length but zero (offsets are in the unit of root). Both are NaN where the target is
    too far aside for any offset. Raises ValueError on wrong shapes and numbers that are not finite.
    """
    root, target = vectors("root", root), vectors("target", target)
    reach, (up, size) = lengths("reach", reach), unit_and_length(vectors("up", up))
    if (size == 0).any():
        raise ValueError("up has no length")
    way = target - root
    height = np.einsum("...i,...i->...", way, up)
    aside = unit_and_length(square_to(way, up))[1]
    with np.errstate(invalid="ignore"):
        half = np.sqrt(np.where(aside <= reach, (reach - aside) * (reach + aside), np.nan))
    return height - half, height + half


def stretch_factor(
    distance: np.ndarray, length: np.ndarray | float, max_stretch: np.ndarray | float = 0.1
) -> np.ndarray:
    """The factor (F,), from 1 to 1 + max_stretch, on a leg of `length` that is to span `distance`.

    All are (F,) or numbers, max_stretch a share (0.1 is 10 %). A leg of no length is not stretched. Raises
    ValueError on negative values and NaN.
    """
    distance, full = lengths("distance", distance), lengths("length", length)
    most = 1.0 + lengths("max_stretch", max_stretch)
    with np.errstate(over="ignore"):
        needed = distance / np.where(full > 0, full, 1.0)
    return np.where(full > 0, np.clip(needed, 1.0, most), 1.0)
