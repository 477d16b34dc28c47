"""Find when heel and ball of a foot stand on the ground.

A point is in contact while it is low and slow. Retargeted and cartoon clips skate in contact, so what counts as slow
is found from the clip itself: from the speeds of the frames that are low and calm in height.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .clip import BALL, HEEL, LEG, Leg, Sole, cubic, runs

BAND = 0.025 * LEG
"""A point within this height of its own floor is low: published foot-skate measures use 2.5 cm (Zhang et al. 2018)."""
FLOOR_SHARE = 2
"""Percentile of a point's height that is its own floor."""
SWING, UNEVEN = 0.9, 0.12 * LEG
"""The captured floor may be uneven or tilted by up to `UNEVEN`: lower than that, peaks of height that last less than
`SWING` seconds are swings, and what remains under them is the floor there."""
SLOWEST = 0.13 * LEG
"""Points below this speed always count as slow: the noise of good motion capture."""
PACE = 0.1
"""And those below this share of the speed at which they get about, which is what the former is for a walk."""
PEAK_SHARE = 1 / 3
"""Nothing above this share of the point's fastest swing counts as slow; walks that skate at 0.8 m/s reach 0.31."""
SLACK = 2.5
"""A point is slow below so many times the median speed of its calm frames."""
LEAVE = 1.5
"""A contact ends at so many times the speed that begins it (hysteresis)."""
SPAN, GAP, SHORTEST = 1 / 12, 0.08, 0.055
"""Seconds: over which speeds are measured, gaps that are closed, runs that are dropped."""
FINE = 240
"""Times a second at which a foot is looked at, between its frames too: so a contact begins and ends at the same moment
at any frame rate."""
FLOORS = 30
"""Times a second at which the floor under it is found."""


@dataclass(frozen=True)
class Contact:
    """One plant of a foot: frame indices [start, stop) and, in them, where heel and ball touch."""

    start: int
    stop: int
    heel: np.ndarray
    """(stop - start,) bool."""
    ball: np.ndarray
    """(stop - start,) bool; in every frame heel or ball touches."""
    unsure: np.ndarray
    """(stop - start,): how many frames away the nearest moment is in which both are low and slow without any doubt; 0
    in it, infinite where there is none."""
    locked: bool = True
    """Whether the foot is held at one footprint; a sliding foot follows the ground under it."""
    asked: bool = False
    """The user asks for it."""
    slips: bool = False
    """It is not held because the ground moves away under it."""
    lifted: np.ndarray | None = None
    """(stop - start,): how many frames away the nearest is in which heel or ball is in the air as animated, and touches
    since the user says so; None where there is none."""
    early: float = 0.0
    late: float = 0.0
    """How long before its first frame it begins, and after its last frame it ends: parts of a frame."""

    @property
    def span(self) -> tuple[float, float]:
        """When it begins and ends: frame indices and parts of frames."""
        return self.start - self.early, self.stop - 1 + self.late

    @property
    def weights(self) -> np.ndarray:
        """(stop - start,): how much of its time lies around each of its frames, in frames."""
        out = np.ones(self.stop - self.start)
        out[0] += self.early - 0.5
        out[-1] += self.late - 0.5
        return out if out.sum() > 0 else np.ones_like(out)


def find_contacts(fps: float, leg: Leg, sole: Sole) -> list[Contact]:
    """The plants of one foot, in order."""
    parts = parts_of(fps)
    tracks, fine = between_frames(sole.tracks(leg)[:, [HEEL, BALL]], parts), fps * parts
    points = (point_contact(tracks[:, i], fine) for i in (HEEL, BALL))
    (heel, slow_heel, heel_touches), (ball, slow_ball, ball_touches) = points
    away = ~around(heel | ball, round(GAP * fine))
    heel, ball = heel | heel_touches & away, ball | ball_touches & away
    still = slow_heel & slow_ball
    return [
        at_frames(a, b, *over_gaps(heel[a:b], ball[a:b]), still[a:b], parts)
        for a, b in runs(close_gaps(heel | ball, GAP * fine))
    ]


def parts_of(fps: float) -> int:
    """How many times in a frame a foot is looked at: once where a gap between contacts may fall between two frames."""
    return max(1, round(FINE / fps)) if GAP * fps >= 1 else 1


def between_frames(tracks: np.ndarray, parts: int) -> np.ndarray:
    """Tracks ((F - 1) * parts + 1, ...) at so many parts of the frames of tracks (F, ...)."""
    return cubic(tracks, np.arange((len(tracks) - 1) * parts + 1) / parts)


def at_frames(a: int, b: int, heel: np.ndarray, ball: np.ndarray, still: np.ndarray, parts: int) -> Contact:
    """The contact of the times [a, b), of which a frame has so many `parts`, from what is known of them (b - a,). One
    that ends before a frame comes is in the nearest frame."""
    first, last = -(-a // parts), (b - 1) // parts
    if first > last:
        frame = (a + b - 1 + parts) // (2 * parts)
        return Contact(frame, frame + 1, heel.any(keepdims=True), ball.any(keepdims=True), np.full(1, np.inf))
    of = slice(first * parts - a, last * parts - a + 1, parts)
    early, late = first - a / parts, (b - 1) / parts - last
    return Contact(first, last + 1, heel[of], ball[of], away_from(still)[of] / parts, early=early, late=late)


def away_from(mask: np.ndarray) -> np.ndarray:
    """(F,): how far the nearest frame of a mask (F,) is; infinite where there is none."""
    frames = np.arange(float(len(mask)))
    at = np.concatenate([[-np.inf], frames[mask], [np.inf]])
    k = np.searchsorted(at, frames)
    return np.minimum(frames - at[k - 1], at[k] - frames)


def over_gaps(heel: np.ndarray, ball: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """When heel and ball touch, (n,) bool; where neither does, what touches before or after that stands on."""
    heel, ball = heel.copy(), ball.copy()
    for a, b in runs(~heel & ~ball):
        for touch in (heel, ball):
            touch[a:b] = touch[a - 1] | touch[b]
    return heel, ball


def point_contact(track: np.ndarray, fps: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(F,) bool: the frames in which a point with this track (F, 3) stands, those in which it does so without any
    doubt, and those in which it touches the ground at most, in a step so quick that no frame shows it at rest."""
    flow = flow_of(track, fps)
    speed = np.linalg.norm(flow, axis=1)
    noise = max(SLOWEST, PACE * speed.mean())
    step = max(1, round(fps / FLOORS))
    floor = own_floor(track[::step, 2], speed[::step] < noise, fps / step)
    times = np.arange(len(track))
    height = track[:, 2] - np.interp(times, times[::step], floor)
    low = height < BAND
    limit = slow_limit(speed, low & (np.abs(flow[:, 2]) < SLOWEST), noise)
    slow = low & (speed < limit)
    mask = close_gaps(hysteresis(slow, low & (speed < LEAVE * limit)), GAP * fps) & low
    mask = drop_short(mask, SHORTEST * fps)
    sure = mask & slow & (track[:, 2] < np.percentile(track[:, 2], FLOOR_SHARE) + BAND)
    return mask, sure, dips(height, low, mask) & (speed < speed.mean())


def flow_of(track: np.ndarray, fps: float) -> np.ndarray:
    """(F, 3): the velocity per second of a point with this track (F, 3), around each moment."""
    times, half = np.arange(len(track)), max(1, round(SPAN * fps / 2))
    before, after = (times - half).clip(0), (times + half).clip(None, len(track) - 1)
    return (track[after] - track[before]) * (fps / np.maximum(after - before, 1))[:, None]


def dips(height: np.ndarray, low: np.ndarray, stands: np.ndarray) -> np.ndarray:
    """(F,) bool: the lowest frame, by `height` (F,), of each run of `low` (F,) frames within the clip, if the point
    `stands` (F,) in none of it."""
    out = np.zeros_like(low)
    for a, b in runs(low):
        if a > 0 and b < len(low) and not stands[a:b].any():
            out[a + int(np.argmin(height[a:b]))] = True
    return out


def around(mask: np.ndarray, frames: int) -> np.ndarray:
    """(F,) bool: what lies within some frames of a mask (F,)."""
    padded = np.pad(mask, frames)
    return np.lib.stride_tricks.sliding_window_view(padded, 2 * frames + 1).any(1)


def own_floor(height: np.ndarray, stands: np.ndarray, fps: float) -> np.ndarray:
    """(F,): the floor under a point that was at these heights (F,): their morphological opening, which is what is left
    when all peaks shorter than a swing are cut off, within `UNEVEN` of the lowest heights. Beyond an end of
    the clip it stays as high as it is there, if it `stands` (F,) bool, and is at its lowest if not."""
    lowest = np.percentile(height, FLOOR_SHARE)
    first, last = (height[i] if stands[i] else lowest for i in (0, -1))
    beyond = 2 * round(SWING * fps / 2)
    padded = np.pad(height, beyond, constant_values=((first, last),))
    windows = np.lib.stride_tricks.sliding_window_view
    opened = windows(windows(padded, beyond + 1).min(1), beyond + 1).max(1)
    return np.clip(opened, lowest, lowest + UNEVEN)


def slow_limit(speed: np.ndarray, calm: np.ndarray, noise: float) -> float:
    """The speed below which a point stands, from speeds (F,), the frames (F,) that are low and calm, and the speed that
    a point has although it stands."""
    typical = np.median(speed[calm]) if calm.any() else 0.0
    return float(np.clip(SLACK * typical, noise, max(noise, PEAK_SHARE * speed.max())))


def hysteresis(enter: np.ndarray, stay: np.ndarray) -> np.ndarray:
    """(F,) bool: the runs of `stay` in which some frame of `enter` lies."""
    out = np.zeros_like(stay)
    for a, b in runs(stay):
        out[a:b] = enter[a:b].any()
    return out


def close_gaps(mask: np.ndarray, longest: float) -> np.ndarray:
    """Fill the gaps between two runs that last at most `longest` frames."""
    out = mask.copy()
    spans = runs(mask)
    for (_, a), (b, _) in zip(spans, spans[1:], strict=False):
        if b - a <= longest:
            out[a:b] = True
    return out


def drop_short(mask: np.ndarray, shortest: float) -> np.ndarray:
    """Clear the runs that last under `shortest` frames, but those cut by the ends of the clip."""
    out = mask.copy()
    for a, b in runs(mask):
        if b - a < shortest and a > 0 and b < len(mask):
            out[a:b] = False
    return out
