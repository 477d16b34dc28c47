"""Smooth curves between bounds: the heights of the pelvis, the lift of a swinging foot.

Filtering and then clipping to the bounds kinks a curve; clipping and then filtering breaks the bounds. So the curve
is the answer to one small quadratic programme: least squared second differences and least distance from what is
preferred, between the bounds. It is solved by ADMM (Boyd et al. 2011); the normal equations are diagonal under the
cosine transform, so a round costs two FFTs.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

ROUNDS, LOOK, CLOSE = 500, 5, 1e-4
"""Most rounds, how often it is looked whether they may end, and the distance to the bounds (a tenth of a millimetre for
a leg of 0.9 m) at which they do."""
PENALTY, RELAXATION = 30.0, 1.7
"""ADMM's penalty to begin with, and its over-relaxation."""
BALANCE, TURN, OFTEN = 5.0, 2.0, 4 * LOOK
"""Every so many rounds the penalty is turned up or down by `TURN` if the curve is farther from the bounds than they
moved, or the other way round, by more than `BALANCE` (Boyd et al. 2011, 3.4.1): the more frames a second, the higher it
must be, and unbalanced a curve at 120 fps is 4 mm off after all rounds."""
SHORT = 256
"""Samples up to which a product with a matrix is quicker than two FFTs."""


def curve_between(
    preferred: np.ndarray, lowest: np.ndarray, highest: np.ndarray, settle: float, margin: int
) -> np.ndarray:
    """(..., F): the smooth curves near `preferred` (..., F) between `lowest` and `highest` (..., F; infinite where
    free).

    `settle` is the time constant, in frames, with which a curve follows what is preferred. `margin` frames or more are
    added at both ends, so that the ends of the curve are free. Where the bounds cross, the highest counts.
    """
    lowest = np.minimum(lowest, highest)
    if preferred.shape[-1] == 1:
        return np.clip(preferred, lowest, highest)
    count = preferred.shape[-1] + 2 * margin
    if margin and count > SHORT:
        count = quick_length(count)
    frames, after = slice(margin, margin + preferred.shape[-1]), count - preferred.shape[-1] - margin
    x = extrapolated(preferred, margin, after)
    # The cosine transform levels the ends of a curve; a straight line costs nothing, so it is taken out first.
    line = np.linspace(x[..., 0], x[..., -1], count, axis=-1)
    x = x - line
    ends = [(0, 0)] * (x.ndim - 1) + [(margin, after)]
    low = np.pad(lowest, ends, constant_values=-np.inf) - line
    high = np.pad(highest, ends, constant_values=np.inf) - line
    y, z, u, penalty = x, np.clip(x, low, high), np.zeros_like(x), PENALTY
    for done in range(1, ROUNDS + 1):
        y = smoother(x + penalty * (z - u), settle, penalty)
        relaxed, before = RELAXATION * y + (1 - RELAXATION) * z, z
        z = np.clip(relaxed + u, low, high)
        u += relaxed - z
        if done > 1 and done % LOOK:
            continue
        off, moved = np.abs(y - z).max(), np.abs(z - before).max()
        if max(off, 10 * moved) < CLOSE:
            break
        if done % OFTEN == 0 and not moved / BALANCE <= off <= moved * BALANCE:
            turn = TURN if off > moved else 1 / TURN
            penalty, u = penalty * turn, u / turn
    return (y + line)[..., frames]


def smoother(x: np.ndarray, settle: float, penalty: float) -> np.ndarray:
    """(..., N): the answer to the normal equations of one round; of short curves, such as the swings of a foot, these
    are solved once and for all."""
    count = x.shape[-1]
    return x @ solved(count, settle, penalty) if count <= SHORT else spread(x, settle, penalty)


@lru_cache(maxsize=64)
def solved(count: int, settle: float, penalty: float) -> np.ndarray:
    """(count, count): the inverse of the normal equations."""
    return spread(np.eye(count), settle, penalty)


def spread(x: np.ndarray, settle: float, penalty: float) -> np.ndarray:
    """(..., N): the answer to the normal equations, by cosine transforms."""
    return cosine(cosine(x) * shares(x.shape[-1], settle, penalty), inverse=True)


@lru_cache(maxsize=64)
def shares(count: int, settle: float, penalty: float) -> np.ndarray:
    """(count,): what is left of each wave."""
    wave = 2 - 2 * np.cos(np.pi * np.arange(count) / count)
    return 1 / (1 + penalty + settle**4 * wave**2)


def extrapolated(track: np.ndarray, before: int, after: int) -> np.ndarray:
    """A track (..., F) continued at its ends by so many frames, mirrored through its end points."""
    last = track.shape[-1] - 1
    head = 2 * track[..., :1] - track[..., np.arange(before, 0, -1).clip(None, last)]
    tail = 2 * track[..., -1:] - track[..., (last - np.arange(1, after + 1)).clip(0)]
    return np.concatenate([head, track, tail], -1)


def quick_length(count: int) -> int:
    """The least length, so many samples or more, whose FFTs are quick: a product of small primes. Those of a length
    with large ones take up to fourteen times as long."""
    while np.gcd(count, 2**16 * 3**8 * 5**6) < count:
        count += 1
    return count


def cosine(x: np.ndarray, inverse: bool = False) -> np.ndarray:
    """The orthogonal cosine transforms (DCT-II) of x (..., N), or their inverse, by FFTs of the even extension."""
    n = x.shape[-1]
    turn, back = half_steps(n)
    if not inverse:
        return (np.fft.rfft(np.concatenate([x, x[..., ::-1]], -1))[..., :n] * turn).real * 0.5
    half = np.zeros((*x.shape[:-1], n + 1), complex)
    half[..., :n] = x * back
    return np.fft.irfft(half, 2 * n)[..., :n] * 2


@lru_cache(maxsize=32)
def half_steps(n: int) -> tuple[np.ndarray, np.ndarray]:
    """(n,): the phases by which the even extension is half a sample off, and their conjugates."""
    turn = np.exp(-0.5j * np.pi * np.arange(n) / n)
    return turn, np.conj(turn)


def quintic(x: np.ndarray) -> np.ndarray:
    """The C2 ramp from 0 to 1 over x in [0, 1]."""
    return x**3 * (10 - 15 * x + 6 * x * x)
