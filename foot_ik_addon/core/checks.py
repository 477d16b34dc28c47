"""What the solvers refuse: arguments of the wrong shape, and numbers that are not finite."""
from __future__ import annotations

import numpy as np


def numbers(name: str, value: object) -> np.ndarray:
    """`value` as an array of floats; ValueError, naming the argument, when it holds NaN or infinity."""
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is not an array of numbers") from error
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has values that are not finite")
    return array


def vectors(name: str, value: object) -> np.ndarray:
    """`value` as finite vectors (..., 3); ValueError, naming the argument, otherwise."""
    array = numbers(name, value)
    if array.ndim == 0 or array.shape[-1] != 3:
        raise ValueError(f"{name} has shape {array.shape}; its last axis must have length 3")
    return array


def lengths(name: str, value: object) -> np.ndarray:
    """`value` as finite numbers that are not negative; ValueError, naming the argument, otherwise."""
    array = numbers(name, value)
    if (array < 0).any():
        raise ValueError(f"{name} has negative values")
    return array
