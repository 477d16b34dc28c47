"""How a sole rests on broken ground: the plane that touches the ground without cutting it, and how its toes bend.

On a stair edge or on rubble a least-squares plane cuts the ground. A rigid sole that is let down rests on three of
the samples with its middle between them: that is the lowest plane, in the mean, that stays above all samples, the
facet of their upper convex hull over the middle. It is found among all triples of samples at once; what comes up
between the samples then tilts and raises it. A sole whose toes bend may also rest on what lies behind these, and then
the toes are laid on the ground before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from .clip import LEG

TOUCH = 0.02 * LEG
"""A sole point higher than this over the ground hangs: it does not carry."""
CUTS = 0.001 * LEG
"""What cuts the ground by less is left as it is."""
SLIVER = 1e-3
"""Triangles of samples smaller than this share of the sole's area carry no plane."""
ROUNDS = 8
"""Most corners that are added to a plane between its samples."""
BETWEEN = 0.02 * LEG
"""How far apart the places on a sole may be at which is looked for what comes up between its samples."""
TOGETHER = 16
"""Places in which facets are tried at once: what that takes stays in the processor's cache."""
AROUND = 1e-6
"""The middle of a sole lies between three samples if their shares in it are no less than 0 by more than this."""
LEVEL = 1e-6
"""Weight of the tilt: of facets that are equally low the more level one is taken, and toes that need not bend do
not."""


@dataclass(frozen=True)
class Limits:
    """What ground a foot accepts."""

    pitch: float
    roll: float
    """Largest tilt along and across the foot, radians."""
    step: float
    """Largest height of a step, in legs."""
    shift: float
    """How far a footprint may move to a better place, as a share of the foot's length."""

    @property
    def slope(self) -> np.ndarray:
        return np.tan([self.pitch, self.roll])


@dataclass(frozen=True)
class Rest:
    """A sole at rest over N places: height of the plane at the ball, its slope along and across, and its price."""

    height: np.ndarray
    slope: np.ndarray
    bend: np.ndarray
    """(N,): how much steeper the toes are."""
    hang: np.ndarray
    """(N,): share of the sole that is higher than `TOUCH` above the ground."""
    price: np.ndarray

    def take(self, rows: np.ndarray) -> Rest:
        """The rests in some of the places."""
        return Rest(self.height[rows], self.slope[rows], self.bend[rows], self.hang[rows], self.price[rows])


@lru_cache(maxsize=64)
def stance_from(plan: bytes, toes: bytes) -> Stance:
    """The stance of a sole whose points on paper are the doubles of `plan`, and its toes the bools of `toes`; made
    once, since it takes longer than a live frame."""
    return Stance(np.frombuffer(plan).reshape(-1, 2), np.frombuffer(toes, bool))


class Stance:
    """The outline of one sole, ready to be laid on sampled heights."""

    def __init__(self, plan: np.ndarray, toes: np.ndarray):
        """`plan` (S, 2): sole points along and across the foot, from the ball, in legs. `toes` (S,) bool are those that
        can be bent."""
        self.toes, self.count = toes, len(plan)
        rows = (np.linspace(x.min(), x.max(), int(np.ceil(np.ptp(x) / BETWEEN)) + 1) for x in plan.T)
        self.between = np.stack(np.meshgrid(*rows), -1).reshape(-1, 2)
        """(B, 2): places all over the sole."""
        self.plan = np.concatenate([plan, self.between])
        self.bends = np.concatenate([toes, toes.any() & (self.between[:, 0] > 0)])
        self.whole = Facets(plan, self.between)
        self.stiff = Facets(plan[~toes], self.between[~self.bends[len(plan) :]]) if toes.any() else None

    def rest(self, heights: np.ndarray, base: np.ndarray, limits: Limits) -> Rest:
        """Let the sole down on samples (N, S + B) of the ground under its points and between them, or only under the
        points (N, S); NaN or far below `base` (N,) where there is none.

        The supporting facet, half its tilt and no tilt are tried within the limits, of the whole sole and of what is
        behind its toes; the one with the least mean gap and tilt is taken. Toes bend up where the whole sole then lies
        on the ground: they do not bridge what is broken, nor reach down over an edge, where the foot would roll over
        them.
        """
        low = base[:, None] - limits.step
        z = np.maximum(np.where(np.isfinite(heights), heights, low), low)
        shares = np.array([1.0, 0.5, 0.0])[:, None, None]
        within = lambda facets: np.clip(facets * shares, -limits.slope, limits.slope)
        plan, bends, count = self.plan[: z.shape[1]], self.bends[: z.shape[1]], self.count
        tried = within(self.whole.slopes(z[:, :count], z[:, count:]))
        height = (z - tried @ plan.T).max(-1)
        bend = np.zeros_like(height)
        if self.stiff is not None:
            toes = self.toes
            behind = within(self.stiff.slopes(z[:, :count][:, ~toes], z[:, count:][:, ~bends[count:]]))
            above = z - behind @ plan.T
            level = above[..., ~bends].max(-1)
            up = ((above - level[..., None])[..., :count][..., toes] / plan[:count][toes, 0]).max(-1).clip(0)
            level = np.maximum(level, (above - up[..., None] * plan[:, 0])[..., bends].max(-1))
            steep = behind[..., 0] + up > limits.slope[0]
            tried = np.concatenate([tried, behind])
            height = np.concatenate([height, np.where(steep, np.inf, level)])
            bend = np.concatenate([bend, np.where(steep, 0.0, up)])
        plan = plan[:count]
        planes = tried @ plan.T + bend[..., None] * plan[:, 0] * self.toes
        gap = height[..., None] + planes - z[:, :count]
        hang = (gap > TOUCH).mean(-1)
        price = (
            np.minimum(gap, TOUCH * 4).mean(-1)
            + TOUCH * (np.linalg.norm(tried, axis=-1) + bend) * 0.25
            + TOUCH * np.maximum(hang - 0.5, 0) * 8
            + TOUCH * LEVEL * (bend != 0)
        )
        lies = (hang == 0) | (bend == 0)
        best = np.argmin(np.where(np.isfinite(height) & lies, price, np.inf), 0)
        take = lambda a: np.take_along_axis(a, best.reshape(1, -1, *[1] * (a.ndim - 2)), 0)[0]
        return Rest(take(height), take(tried), take(bend), take(hang), take(price))


class Facets:
    """Supporting planes of samples at given points."""

    def __init__(self, plan: np.ndarray, between: np.ndarray):
        """`plan` (S, 2): where the samples are; `between` (B, 2): more places, at which something may come up."""
        basis = self.basis = np.column_stack([np.ones(len(plan)), plan])
        triples = np.array(list(combinations(range(len(plan)), 3)))
        corners = basis[triples]
        sound = np.abs(np.linalg.det(corners)) > SLIVER * np.ptp(plan, axis=0).prod()
        triples, through = triples[sound], np.linalg.inv(corners[sound])
        around = (basis.mean(0) @ through >= -AROUND).all(1)
        self.planes = np.moveaxis(through[around] @ np.eye(len(plan))[triples[around]], 1, 0)
        """(3, T, S): of each triple of samples around the middle the plane through them, its height at the ball and its
        slopes. Other triples are no facets over the middle."""
        self.plan, self.between = plan, between

    def slopes(self, z: np.ndarray, between: np.ndarray) -> np.ndarray:
        """Slopes (N, 2) of the lowest supporting plane of samples (N, S), and of those between them (N, B or 0)."""
        out = np.empty((len(z), 2))
        for i in range(0, len(z), TOGETHER):
            part = z[i : i + TOGETHER].T
            planes = self.planes @ part
            above = (self.basis @ planes.reshape(3, -1)).reshape(-1, *planes.shape[1:]) - part[:, None]
            price = above.mean(0) + LEVEL * np.hypot(planes[1], planes[2])
            best = np.where(above.min(0) >= -1e-7, price, np.inf).argmin(0)
            out[i : i + TOGETHER] = np.take_along_axis(planes[1:], best[None, None], 1)[:, 0].T
        if between.shape[1]:
            cut = (between - out @ self.between.T).max(1) - (z - out @ self.plan.T).max(1)
            for n in np.flatnonzero(cut > CUTS):
                out[n] = self.sharpened(out[n], z[n], between[n])
        return out

    def sharpened(self, slope: np.ndarray, z: np.ndarray, between: np.ndarray) -> np.ndarray:
        """The slopes (2,) of the lowest plane over samples (S,) and more between them (B,), from that over the former.

        One after the other what comes up highest is made a corner of the plane, until nothing more comes through:
        the cutting planes of a linear programme in three unknowns.
        """
        samples, more = np.column_stack([self.plan, z]), np.column_stack([self.between, between])
        middle = self.plan.mean(0)
        for _ in range(ROUNDS):
            height = (samples[:, 2] - samples[:, :2] @ slope).max()
            corner = more[(more[:, 2] - more[:, :2] @ slope).argmax()]
            if corner[2] - corner[:2] @ slope - height <= CUTS:
                break
            way = samples - corner
            samples = np.concatenate([samples, corner[None]])
            (xi, yi, zi), (xj, yj, zj) = way.T[:, :, None], way.T[:, None]
            area = xi * yj - xj * yi
            sound = area > SLIVER * np.ptp(self.plan, axis=0).prod()
            slopes = np.stack([zi * yj - zj * yi, xi * zj - xj * zi])[:, sound] / area[sound]
            clear = (way[:, 2:] - way[:, :2] @ slopes).max(0) <= 1e-7
            if not clear.any():
                break
            slopes = slopes[:, clear]
            slope = slopes[:, ((middle - corner[:2]) @ slopes + LEVEL * np.hypot(*slopes)).argmin()]
        return slope
