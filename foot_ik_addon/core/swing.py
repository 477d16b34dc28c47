"""Carry a swinging foot over the ground that it would cut: up smoothly, and early or late enough in its travel.

A foot that moves forward and up at once cuts the stair in front of it, however smoothly it is lifted: it must rise
first and travel then. Down a stair it must travel first. So for each swing that cuts the ground, travel is delayed or
hastened by several times, the lift that is still needed is laid over it as one smooth curve, and the gentlest path is
taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .clip import LEG, Clip, Leg, cubic, smoothed
from .correction import smoothly
from .curves import quintic
from .footprints import HEADROOM
from .ground import Ground
from .rest import CUTS
from .rotations import normalized

DELAYS = np.array([0.0, 0.04, -0.04, 0.08, -0.08, 0.12, -0.12])
"""Seconds by which the travel of a swing is tried to be late at its beginning or early at its end."""
FINE, COARSE = 120, 30
"""Times a second at which a swing that may cut the ground is looked at: for its lift, and for its delay."""
CLEARANCE = 0.004 * LEG
"""Height over the ground at which a swing passes."""
AWAY = 0.15
"""Seconds after which a foot that leaves a footprint, or before which one that comes to it, has that clearance."""
MARGIN = 0.005 * LEG
"""By so much the sole is taken to be wider there."""
CALM = 0.02
"""Seconds by which a path is blurred before it is delayed, so that the jitter of captured feet is not played twice."""


def clear_swings(
    clip: Clip,
    before: np.ndarray,
    after: np.ndarray,
    spans: list[tuple[float, float]],
    highest: np.ndarray,
    ground: Ground,
) -> np.ndarray:
    """(F, 3): motion to add to one foot so that its swings clear the ground.

    `before`, `after` (F, S, 3) are its sole points as animated and as corrected so far, `spans` its stances. What the
    clip itself cuts of its flat floor is not made good. `highest` (F,) is how high a foot is moved: from there ground
    is looked for too, since one that does not land before the clip ends may be far below it.

    Those that may cut it are looked at between the frames too, at the same times at any frame rate: a riser that is met
    by hundredths of a second earlier must be risen to earlier.
    """
    out = np.zeros((len(clip), 3))
    foot = Swinging(clip.fps, before, after, spans, highest, ground)
    swings = foot.cutting()
    delays = foot.gentlest_delays([span for _, span, _ in swings])
    ways = [path.delayed(delay) for (path, _, _), delay in zip(swings, delays, strict=True)]
    late = [k for k, delay in enumerate(delays) if delay]
    again = foot.needs([foot.path(swings[k][1], 1) for k in late], [ways[k] for k in late])
    needs = [need for _, _, need in swings]
    for k, (need, _) in zip(late, again, strict=True):
        needs[k] = need
    for (path, _, _), way, need in zip(swings, ways, needs, strict=True):
        whole = np.flatnonzero(path.frames % 1 == 0)
        out[path.frames[whole].astype(int)] += path.lifted(way, need)[0, whole]
    return out


@dataclass(frozen=True)
class Swinging:
    """A foot, and the ground under it; the fields are those of `clear_swings`."""

    fps: float
    before: np.ndarray
    after: np.ndarray
    spans: list[tuple[float, float]]
    highest: np.ndarray
    ground: Ground

    @property
    def parts(self) -> int:
        """Of a frame: times at which a swing may be looked at."""
        return max(1, round(FINE / self.fps))

    @property
    def every(self) -> int:
        """So many parts are a step of `COARSE`."""
        return max(1, round(self.fps * self.parts / COARSE))

    @property
    def swings(self) -> list[tuple[float, float]]:
        """When the foot leaves the ground and lands again, in frames and parts of frames; infinite where the clip cuts
        a swing."""
        begins, ends = zip(*self.spans, strict=True) if self.spans else ((), ())
        out = list(zip((-np.inf, *ends), (*begins, np.inf), strict=True))
        return [(leaves, lands) for leaves, lands in out if lands > 0 and leaves < len(self.before) - 1]

    def path(self, swing: tuple[float, float], step: int, near: np.ndarray | None = None) -> Path:
        """A swing and a little of the stances beside it, at every `step`-th part of a frame of the clip; looked at only
        within a frame of those `near` the ground, if they are known."""
        leaves, lands = (moment * self.parts for moment in swing)
        around, last = 2 * self.every // step * step, (len(self.before) - 1) * self.parts
        first = max(leaves, 0.0) // step * step - around
        ticks = np.arange(first, min(np.ceil(lands), last) + around + 1, step)
        at = ticks[(ticks >= 0) & (ticks <= last)] / self.parts
        looked = np.ones(len(at), bool) if near is None else (np.abs(np.subtract.outer(at, near)) <= 1).any(1)
        own = np.maximum(-cubic(self.before[..., 2], at), 0)
        standing = (at <= swing[0]) | (at >= swing[1])
        return Path(cubic(self.after, at), own, at, standing, looked, self.fps * self.parts / step, step == 1)

    def cutting(self) -> list[tuple[Path, tuple[float, float], np.ndarray]]:
        """The swings that cut the ground, with when they are and what each of their frames needs (1, n): found between
        the frames too, where in whole frames ground is near."""
        whole = [self.path(swing, self.parts) for swing in self.swings]
        first = self.needs(whole, [path.undelayed for path in whole])
        near = [
            path.frames[comes_up | (need[0] > CUTS / 2)] for path, (need, comes_up) in zip(whole, first, strict=True)
        ]
        fine = [
            (self.path(swing, 1, frames), swing) for swing, frames in zip(self.swings, near, strict=True) if len(frames)
        ]
        needs = self.needs([path for path, _ in fine], [path.undelayed for path, _ in fine])
        return [(path, swing, need) for (path, swing), (need, _) in zip(fine, needs, strict=True) if need.max() > CUTS]

    def gentlest_delays(self, swings: list[tuple[float, float]]) -> list[np.ndarray]:
        """Per swing (1,): that of `DELAYS` with which it is gentlest, lifted as it must be then."""
        steps = [self.every if np.ptp(np.floor(np.multiply(s, self.parts / self.every))) > 1 else 1 for s in swings]
        coarse = [self.path(swing, step) for swing, step in zip(swings, steps, strict=True)]
        tried = [path.delayed(DELAYS) for path in coarse]
        return [
            DELAYS[[path.roughness(path.lifted(ways, need)).argmin()]]
            for path, ways, (need, _) in zip(coarse, tried, self.needs(coarse, tried), strict=True)
        ]

    def needs(self, paths: list[Path], shifts: list[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each path and its shifts (k, n, 3) what `Path.need` tells, and (n,) bool whether the ground is so broken
        there that it may come up to the foot before or after that: the ground under all of them is asked for at once.

        Of even ground an eighth of the second difference comes up between two times, of broken ground at most all.
        """
        if not paths:
            return []
        points = [(p.points + shift[:, :, None])[:, p.looked] for p, shift in zip(paths, shifts, strict=True)]
        frames = [np.broadcast_to(p.frames[p.looked, None], x.shape[:-1]) for p, x in zip(paths, points, strict=True)]
        above, at = np.concatenate([x.reshape(-1, 3) for x in points]), np.concatenate([f.ravel() for f in frames])
        above[:, 2] = np.maximum(above[:, 2], self.highest[at.astype(int)]) + HEADROOM
        under = np.split(between_frames(self.ground, above, at), np.cumsum([f.size for f in frames])[:-1])
        out = []
        for p, x, heights in zip(paths, points, under, strict=True):
            z = heights.reshape(x.shape[:-1])
            jump = np.zeros_like(z)
            jump[:, 1:-1] = np.abs(np.diff(z, n=2, axis=1))
            comes_up = np.zeros(len(p.frames), bool)
            comes_up[p.looked] = (jump > np.maximum(8 * CUTS, x[..., 2] - z)).any((0, 2))
            out.append((p.need(x, z), comes_up))
        return out


def between_frames(ground: Ground, points: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Heights (N,) of the first ground below points (N, 3), NaN where there is none, at frames `at` (N,) and parts of
    frames."""
    frames = np.floor(at).astype(int)
    heights = ground.below(points, frames)[0]
    later = np.flatnonzero(at > frames)
    if not ground.still and len(later):
        share = (at - frames)[later]
        heights[later] += share * (ground.below(points[later], frames[later] + 1)[0] - heights[later])
    return heights


def kept_from_hip(
    leg: Leg, hip: np.ndarray, ankle: np.ndarray, near: np.ndarray, stands: np.ndarray, fps: float
) -> np.ndarray:
    """(F, 3): motion to add to a foot so that its swings do not fold the leg more than it can.

    `hip`, `ankle` (F, 3) are as corrected so far, `near` (F,) is how close they may come. The foot is pushed away along
    the animated leg, smoothly: a target that passes the hip would turn the leg over.
    """
    way = normalized(leg.joints[:, 2] - leg.joints[:, 0])
    apart = ankle - hip
    along = (apart * way).sum(1)
    inside = np.maximum(near**2 - (apart**2).sum(1), 0.0)
    least = np.where(inside > 0, np.sqrt(along**2 + inside) - along, 0.0) * ~stands
    if not least.any():
        return np.zeros_like(ankle)
    return np.maximum(smoothly(least, stands, fps), least)[:, None] * way


class Path:
    """One swing with a little of the stance before and behind it, at evenly spaced times."""

    def __init__(
        self,
        points: np.ndarray,
        own: np.ndarray,
        frames: np.ndarray,
        standing: np.ndarray,
        looked: np.ndarray,
        fps: float,
        exact: bool,
    ):
        """`points` (n, S, 3) of the sole, how deep they are animated to be in the floor, `own` (n, S), in these
        `frames` (n,) and parts of frames, `fps` of them in a second; `standing` (n,) bool. Ground is only looked for in
        those that are `looked` (n,) at.
        If `exact` the sole itself has to clear the ground too, and not only the wider one."""
        self.frames, self.standing, self.looked, self.fps = frames, standing, looked, fps
        self.track = points.mean(1)
        free = np.flatnonzero(~standing)
        since, until = np.arange(len(frames)) - (free[0] - 1), free[-1] + 1 - np.arange(len(frames))
        since = since if free[0] > 0 else np.full(len(frames), np.inf)
        until = until if free[-1] < len(frames) - 1 else np.full(len(frames), np.inf)
        self.off = quintic(np.minimum(since, until).clip(0, AWAY * fps) / (AWAY * fps))
        outward = normalized((points - points.mean(1, keepdims=True)) * (1, 1, 0))
        wider = points + MARGIN * self.off[:, None, None] * outward
        self.points = np.concatenate([points, wider], 1) if exact else wider
        self.own = np.concatenate([own, own], 1) if exact else own

    @property
    def undelayed(self) -> np.ndarray:
        """(1, n, 3): no shift."""
        return np.zeros((1, len(self.frames), 3))

    @cached_property
    def middle(self) -> np.ndarray:
        """(n, 3): the middle of the sole."""
        return smoothed(self.track, CALM * self.fps)

    def need(self, points: np.ndarray, heights: np.ndarray) -> np.ndarray:
        """(k, n): how far the foot must be lifted in each frame of the swing if its sole's points are moved, in the
        frames that are looked at, to `points` (k, m, S, 3), under which the ground has `heights` (k, m, S)."""
        out = np.zeros((len(points), len(self.frames)))
        cut = np.nan_to_num(heights - points[..., 2] - self.own[self.looked], nan=0.0).max(-1).clip(0)
        out[:, self.looked] = np.where(self.standing[self.looked], 0.0, cut)
        return out

    def delayed(self, seconds: np.ndarray) -> np.ndarray:
        """(k, n, 3): what makes the horizontal travel late at its beginning (`seconds` (k,) > 0) or early at its
        end."""
        free = np.flatnonzero(~self.standing)
        count = len(free) + 1
        x = (np.arange(len(self.frames)) - free[0] + 1) / count
        inside = (x > 0) & (x < 1)
        late = seconds[:, None]
        at = np.arange(len(x)) - np.where(inside, late * self.fps * np.where(late > 0, (1 - x) ** 2, x**2), 0.0)
        at = np.clip(at, max(free[0] - 1, 0), min(free[-1] + 1, len(x) - 1))
        return np.where(inside[:, None], cubic(self.middle, at) - self.middle, 0.0) * (1, 1, 0)

    def lifted(self, shifts: np.ndarray, need: np.ndarray) -> np.ndarray:
        """`shifts` (k, n, 3) with the smooth lift over each that `need` (k, n) asks for."""
        least = np.where(need > 0, need + CLEARANCE * self.off, 0.0)
        return shifts + np.maximum(smoothly(least, self.standing, self.fps), need)[..., None] * (0.0, 0.0, 1.0)

    def roughness(self, motions: np.ndarray) -> np.ndarray:
        """(k,): the squares of the foot's acceleration on each of these paths (k, n, 3), summed: the largest would
        often be that of the landing, which no delay makes gentler."""
        return (np.diff(self.middle + motions, n=2, axis=1) ** 2).sum((1, 2))
