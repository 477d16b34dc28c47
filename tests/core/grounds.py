"""Analytic grounds for tests: what `core.ground.Ground` asks, answered exactly. Lengths in metres of a 0.9 m leg,
answers in legs, like the clip."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from foot_ik_addon.core.clip import LEG
from foot_ik_addon.core.rotations import from_rotvec

Heights = Callable[[np.ndarray, np.ndarray], np.ndarray]
Motion = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Piece:
    """One piece of ground: its heights over x, y in its own space (NaN: a hole), and how it moves."""

    height: Heights
    motion: Motion | None = None
    """Frames (N,) -> (N, 4, 4), in metres; None stays."""
    solid: bool = False
    """Filled from its top down: nothing below its top can be stood on."""

    def at(self, frames: np.ndarray) -> np.ndarray:
        return np.tile(np.eye(4), (len(frames), 1, 1)) if self.motion is None else self.motion(np.asarray(frames))

    def under(self, xy: np.ndarray, frames: np.ndarray) -> np.ndarray:
        """(N,): heights in metres at points (N, 2) in the clip's space; exact for planes, secant steps otherwise."""
        if self.motion is None:
            return self.height(xy[:, 0], xy[:, 1])
        back = np.linalg.inv(self.at(frames))

        def above(z: np.ndarray) -> np.ndarray:
            p = np.einsum("nij,nj->ni", back, np.column_stack([xy, z, np.ones(len(z))]))
            return p[:, 2] - self.height(p[:, 0], p[:, 1])

        z0, z1 = np.zeros(len(xy)), np.ones(len(xy))
        f0, f1 = above(z0), above(z1)
        for _ in range(8):
            slope = np.where(np.abs(f1 - f0) > 1e-14, (f1 - f0) / np.where(z1 == z0, 1.0, z1 - z0), 1.0)
            z0, f0, z1 = z1, f1, z1 - f1 / slope
            f1 = above(z1)
        return z1


class Pieces:
    """Ground made of pieces; a piece's index is its place in the list."""

    def __init__(self, *pieces: Piece):
        self.pieces = pieces
        self.still = all(piece.motion is None for piece in pieces)

    def stack(self, xy: np.ndarray, frames: np.ndarray) -> np.ndarray:
        """(N, pieces): heights in legs of every piece under or over points (N, 2) in legs."""
        if not self.pieces:
            return np.full((len(xy), 1), np.nan)
        frames = np.asarray(frames)
        return np.stack([p.under(np.asarray(xy) / LEG, frames) for p in self.pieces], 1) * LEG

    def below(self, points: np.ndarray, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z = self.stack(points[:, :2], frames)
        z = np.where(np.isfinite(z) & (z <= points[:, 2:]), z, -np.inf)
        top = z.argmax(1)
        height = np.take_along_axis(z, top[:, None], 1)[:, 0]
        found = np.isfinite(height)
        return np.where(found, height, np.nan), np.where(found, top, -1)

    def layers(self, points: np.ndarray, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z = self.stack(points, frames)
        filled = [i for i, p in enumerate(self.pieces) if p.solid]
        if filled:
            top = np.where(np.isfinite(z[:, filled]), z[:, filled], -np.inf).max(1, keepdims=True)
            z = np.where(z < top, np.nan, z)
        order = np.argsort(np.where(np.isfinite(z), -z, np.inf), axis=1, kind="stable")
        z = np.take_along_axis(z, order, 1)
        return z, np.where(np.isfinite(z), order, -1)

    def carried(self, piece: int, start: int, frames: np.ndarray, points=None) -> np.ndarray:
        if piece < 0:
            return np.tile(np.eye(4), (len(frames), 1, 1))
        there = self.pieces[piece]
        out = there.at(frames) @ np.linalg.inv(there.at(np.array([start])))
        out[:, :3, 3] *= LEG
        return out

    def gap(self, tracks: np.ndarray, piece: int | None = None) -> np.ndarray:
        """(F, S): heights of points (F, S, 3) above the highest ground under them (or above one piece), in legs."""
        frames = np.repeat(np.arange(tracks.shape[0]), tracks.shape[1])
        z = self.stack(tracks[..., :2].reshape(-1, 2), frames)
        z = np.where(np.isfinite(z), z, -np.inf).max(1) if piece is None else z[:, piece]
        return tracks[..., 2] - z.reshape(tracks.shape[:2])


def still(height: Heights) -> Pieces:
    return Pieces(Piece(height))


def flat(z: float = 0.0) -> Pieces:
    return still(lambda x, y: np.full(np.shape(x), float(z)))


def nothing() -> Pieces:
    return Pieces()


def slope(along: float = 15.0, across: float = 0.0, way: float = np.pi / 2) -> Pieces:
    """A plane that rises by degrees along the angle `way` and to the left of it."""
    a, b = np.tan(np.radians([along, across]))
    c, s = np.cos(way), np.sin(way)
    return still(lambda x, y: a * (c * x + s * y) + b * (c * y - s * x))


def stairs(rise: float = 0.16, tread: float = 0.30, start: float = 0.0) -> Pieces:
    """Steps along y without end."""
    return still(lambda x, y: rise * np.floor((y - start) / tread))


def kerb(height: float = 0.12, at: float = 0.4) -> Pieces:
    return still(lambda x, y: np.where(y >= at, height, 0.0))


def box(height: float, low: float, high: float) -> Pieces:
    """A floor with a box across the whole way from y = low to high."""
    return still(lambda x, y: np.where((y >= low) & (y <= high), height, 0.0))


def bumps(size: float = 0.06) -> Pieces:
    return still(lambda x, y: size * np.sin(2.6 * x + 0.7) * np.cos(3.1 * y) + 0.6 * size * np.sin(5 * y + 2 * x))


def rubble(seed: int = 7, count: int = 120, length: float = 6.0) -> Pieces:
    """Flat stones that lie turned on a floor along y."""
    rng = np.random.default_rng(seed)
    at, size = rng.uniform((-1, -1), (1, length), (count, 2)), rng.uniform(0.1, 0.3, (count, 2))
    tall, angle = rng.uniform(0.02, 0.08, count), rng.uniform(0, 3, count)

    def height(x, y):
        dx, dy = np.asarray(x)[..., None] - at[:, 0], np.asarray(y)[..., None] - at[:, 1]
        u, v = np.cos(angle) * dx + np.sin(angle) * dy, np.cos(angle) * dy - np.sin(angle) * dx
        inside = (np.abs(u) < size[:, 0]) & (np.abs(v) < size[:, 1])
        return np.where(inside, tall, 0.0).max(-1)

    return still(height)


def ledge(drop: float | None = 1.0, at: float = 0.0, high: float = 0.0) -> Pieces:
    """A floor at `high` for x < at; beyond it the ground lies `drop` lower, or there is none."""
    return still(lambda x, y: np.where(x < at, high, np.nan if drop is None else high - drop))


def bridge(height: float = 1.2, roof: float | None = None) -> Pieces:
    """Ground at 0 under a bridge deck at `height`, perhaps with a roof over both."""
    pieces = [Piece(lambda x, y: np.zeros(np.shape(x))), Piece(lambda x, y: np.where(np.abs(x) < 1.0, height, np.nan))]
    if roof is not None:
        pieces.append(Piece(lambda x, y: np.full(np.shape(x), roof)))
    return Pieces(*pieces)


def moving(motion: Motion, height: Heights | None = None) -> Pieces:
    return Pieces(Piece(height or (lambda x, y: np.zeros(np.shape(x))), motion))


def matrices(frames: np.ndarray, place: np.ndarray | None = None, turn: np.ndarray | None = None) -> np.ndarray:
    """(N, 4, 4) from places (N, 3) in metres and rotation vectors (N, 3)."""
    out = np.tile(np.eye(4), (len(frames), 1, 1))
    if turn is not None:
        out[:, :3, :3] = from_rotvec(turn)
    if place is not None:
        out[:, :3, 3] = place
    return out


def lift(speed: float, fps: float) -> Pieces:
    """A level deck that rises by `speed` m/s from z = 0 at frame 0."""
    return moving(lambda f: matrices(f, np.outer(f / fps * speed, (0, 0, 1.0))))


def turntable(speed: float, fps: float) -> Pieces:
    """A level deck that turns about the origin by `speed` rad/s."""
    return moving(lambda f: matrices(f, turn=np.outer(f / fps * speed, (0, 0, 1.0))))


def rocking(fps: float) -> Pieces:
    """A deck that pitches by 5 and rolls by 3 degrees about the origin."""

    def motion(f):
        t = f / fps
        return matrices(
            f, turn=np.column_stack([np.radians(5) * np.sin(1.7 * t), np.radians(3) * np.sin(1.1 * t), 0 * t])
        )

    return moving(motion)


def train(fps: float, at: float = 1.5, acceleration: float = 1.0) -> Pieces:
    """A level deck that starts along x at a time in seconds."""
    return moving(lambda f: matrices(f, np.outer(0.5 * acceleration * np.maximum(f / fps - at, 0) ** 2, (1.0, 0, 0))))


class Mirrored:
    """Another ground in the mirror x -> -x."""

    FLIP = np.diag([-1.0, 1, 1, 1])

    def __init__(self, ground: Pieces):
        self.ground, self.still = ground, ground.still

    def below(self, points, frames):
        return self.ground.below(points * (-1, 1, 1), frames)

    def layers(self, points, frames):
        return self.ground.layers(points * (-1, 1), frames)

    def carried(self, piece, start, frames, points=None):
        return self.FLIP @ self.ground.carried(piece, start, frames) @ self.FLIP


class Turned:
    """Another ground, turned about z."""

    def __init__(self, ground: Pieces, angle: float):
        c, s = np.cos(angle), np.sin(angle)
        self.ground, self.still = ground, ground.still
        self.turn = np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])

    def below(self, points, frames):
        return self.ground.below(points @ self.turn[:3, :3], frames)

    def layers(self, points, frames):
        return self.ground.layers(points @ self.turn[:2, :2], frames)

    def carried(self, piece, start, frames, points=None):
        return self.turn @ self.ground.carried(piece, start, frames) @ self.turn.T
