"""One smooth curve of pelvis heights inside what the legs can reach.

Filtering heights and then clipping them to the reach kinks; clipping and then filtering breaks the reach. So the curve
is the answer to one small quadratic programme: least squared second differences and least distance from the height that
the supporting feet ask for, under the highest height from which every leg reaches. It is solved by ADMM (Boyd et al.
2011); the normal equations are the same in each round and diagonal under the cosine transform, so a round costs one FFT.
"""
from __future__ import annotations

import numpy as np

SETTLE = 0.22
"""Time constant in seconds with which the pelvis follows its feet: about a third of a stride."""
ROUNDS = 300
MARGIN = 1.0
"""Seconds added to both ends of the clip, so that the ends of the curve are free."""
FARTHEST = 0.9999
"""The farthest a leg is ever extended, as a share of its length."""


def reach_limits(extension: np.ndarray) -> np.ndarray:
    """(2,): how near and how far a leg is brought, as shares of its length: as far as the clip itself goes in all but
    its most extreme frames. `extension` (F,) is what it does."""
    near, far = np.percentile(extension, [2, 95])
    return np.array([near, min(far, FARTHEST)])


def pelvis_curve(preferred: np.ndarray, lowest: np.ndarray, highest: np.ndarray, fps: float) -> np.ndarray:
    """(F,): the smooth curve near `preferred` (F,) between `lowest` and `highest` (F,; infinite where free)."""
    lowest = np.minimum(lowest, highest)
    if len(preferred) == 1:
        return np.clip(preferred, lowest, highest)
    pad = max(2, round(MARGIN * fps))
    x = extrapolated(preferred, pad)
    low, high = np.pad(lowest, pad, constant_values=-np.inf), np.pad(highest, pad, constant_values=np.inf)
    wave = 2 - 2 * np.cos(np.pi * np.arange(len(x)) / len(x))
    bend = (SETTLE * fps) ** 4 * wave**2
    y, z, u = x, np.clip(x, low, high), np.zeros_like(x)
    for _ in range(ROUNDS):
        y = cosine(cosine(x + z - u) / (2 + bend), inverse=True)
        z = np.clip(y + u, low, high)
        u += y - z
    return y[pad:-pad]


def extrapolated(track: np.ndarray, pad: int) -> np.ndarray:
    """A track (F,) continued at both ends by `pad` frames, mirrored through its end points."""
    index = np.arange(1, pad + 1)
    head = 2 * track[0] - track[np.minimum(index, len(track) - 1)]
    tail = 2 * track[-1] - track[np.maximum(len(track) - 1 - index, 0)]
    return np.concatenate([head[::-1], track, tail])


def cosine(x: np.ndarray, inverse: bool = False) -> np.ndarray:
    """The orthogonal cosine transform (DCT-II) of x (N,), or its inverse, by an FFT of the even extension."""
    n = len(x)
    turn = np.exp(-0.5j * np.pi * np.arange(n) / n)
    if not inverse:
        return np.fft.rfft(np.concatenate([x, x[::-1]]))[:n].__mul__(turn).real * 0.5
    half = np.zeros(n + 1, complex)
    half[:n] = x * np.conj(turn)
    return np.fft.irfft(half, 2 * n)[:n] * 2
