"""What a plan is worth, in figures: how far the feet slide, drift, cut and float before and after, and where most.

"Before" is the animation as it is, over the same ground. Measured over the sole points of one foot at a time, in clip
space. The lower a figure the better; 0 is perfect.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .clip import BALL, HEEL, runs
from .contacts import Contact, away_from
from .footprints import HEADROOM
from .ground import Ground
from .rotations import transform

FIGURES = ("slide", "drift", "penetration", "penetration_in_contact", "float")
LANDING = 1 / 60
"""Seconds at both ends of a touch that do not count as sliding: heel or ball then still lands, or leaves."""
UNREACHED = 0.002
"""A foot that is farther from its place than this share of a leg is not reached: 2 mm of an adult's leg."""
NOISE = 1e-6
"""Shares of a leg below which nothing is told from 0: Blender's matrices hold 7 digits."""
DIGITS = 6
"""Significant digits of what is kept."""


@dataclass(frozen=True)
class Plant:
    """One contact of a plan, its start and stop in frame numbers of the scene."""

    contact: Contact
    grounded: bool
    """Whether it found ground; one that did not keeps its animation, and is not measured."""


@dataclass(frozen=True)
class Series:
    """One figure over the frames (n,) in which it can be measured: values (n,) in legs."""

    values: np.ndarray
    frames: np.ndarray


@dataclass(frozen=True)
class LegReport:
    """What was measured of one leg."""

    before: dict[str, Series]
    after: dict[str, Series]
    """{one of FIGURES: its series}"""
    unreached: Series
    """By how much the foot misses its place, in the frames in which it does."""


def measure(
    frames: np.ndarray,
    fps: float,
    before: np.ndarray,
    after: np.ndarray,
    residual: np.ndarray,
    plants: list[Plant],
    ground: Ground,
) -> LegReport:
    """Measure one leg.

    `frames` (F,) are the scene's frame numbers of the rows, ascending; `before` and `after` (F, S, 3) the tracks of the
    sole, animated and corrected; `residual` (F,) what the solver leaves. Frames of `ground` are rows.
    """
    gaps, pieces = under(after, after, ground)
    stands, places = np.zeros(len(frames), bool), []
    for plant in (p for p in plants if p.grounded):
        stands |= touches(plant.contact, frames, 0).any(1)
        held = touches(plant.contact, frames, max(1, round(LANDING * fps)))
        rows = np.flatnonzero(held.any(1))
        if plant.contact.locked and len(rows):
            places.append((rows, held[rows], under_foot(after, gaps, pieces, rows, ground)))
    missed = np.flatnonzero(residual > UNREACHED)
    return LegReport(
        figures(frames, before, before, under(before, after, ground)[0], stands, places),
        figures(frames, before, after, gaps, stands, places),
        Series(residual[missed], frames[missed]),
    )


def touches(contact: Contact, frames: np.ndarray, ends: int) -> np.ndarray:
    """(F, 2) bool: the frames (F,) in which heel and ball touch in one contact, less so many at the ends of each
    touch."""
    masks = np.zeros((contact.stop - contact.start, 2), bool)
    for column, mask in zip(masks.T, (contact.heel, contact.ball), strict=True):
        for a, b in runs(mask):
            column[a + ends : max(b - ends, a + ends)] = True
    inside = (frames >= contact.start) & (frames < contact.stop)
    out = np.zeros((len(frames), 2), bool)
    out[inside] = masks[frames[inside] - contact.start]
    return out


def under(points: np.ndarray, near: np.ndarray, ground: Ground) -> tuple[np.ndarray, np.ndarray]:
    """Heights (F, S) of points (F, S, 3) above the ground under them, NaN where there is none, and pieces (F, S).

    That is the ground on which the corrected foot `near` (F, S, 3) is: the animated one may be deep below it.
    """
    count = points.shape[1]
    start = np.dstack([points[..., :2], near[..., 2:] + HEADROOM]).reshape(-1, 3)
    heights, pieces = ground.below(start, np.repeat(np.arange(len(points)), count))
    return points[..., 2] - heights.reshape(-1, count), pieces.reshape(-1, count)


def under_foot(
    after: np.ndarray, gaps: np.ndarray, pieces: np.ndarray, rows: np.ndarray, ground: Ground
) -> np.ndarray:
    """(n, 4, 4): how what a foot stands on in `rows` (n,) has moved since the middle one of them.

    It stands on what is nearest to its sole `after` (F, S, 3) there; `gaps` and `pieces` (F, S) are those of `under`.
    """
    middle = rows[len(rows) // 2]
    near = np.where(np.isfinite(gaps[middle]), np.abs(gaps[middle]), np.inf).argmin()
    return ground.carried(int(pieces[middle, near]), int(middle), rows, after[middle])


def figures(
    frames: np.ndarray, before: np.ndarray, track: np.ndarray, gaps: np.ndarray, stands: np.ndarray, places: list
) -> dict[str, Series]:
    """The figures of one track (F, S, 3) of a sole, which was animated as `before` and is `gaps` (F, S) above its
    ground.

    `stands` (F,) tells where it stands; `places` are, for each contact that is held, its rows (n,), where heel and ball
    touch in them (n, 2), and how their ground moves (n, 4, 4).
    """
    deep = np.nan_to_num(np.maximum(-gaps, 0) - np.maximum(-before[..., 2], 0)).max(1).clip(0)
    high = np.where(np.isfinite(gaps), gaps, np.inf).min(1) - before[..., 2].min(1).clip(0)
    rests = stands & np.isfinite(high)
    steps, drifts = [], []
    for rows, touching, carried in places:
        level = transform(np.linalg.inv(carried)[:, None], track[rows][:, [HEEL, BALL]])[..., :2]
        for point in (0, 1):
            for a, b in runs(touching[:, point]):
                if b - a < 2:
                    continue
                at, place = frames[rows[a:b]], level[a:b, point]
                steps.append(Series(np.linalg.norm(np.diff(place, axis=0), axis=1) / np.diff(at), at[1:]))
                away = np.linalg.norm(place - place.mean(0), axis=1)
                drifts.append(Series(away.max(keepdims=True), at[[away.argmax()]]))
    series = (
        joined(steps),
        joined(drifts),
        Series(deep, frames),
        Series(deep[stands], frames[stands]),
        Series(high[rests].clip(0), frames[rests]),
    )
    return dict(zip(FIGURES, series, strict=True))


def joined(series: list[Series]) -> Series:
    """Several series as one."""
    return Series(
        np.concatenate([np.empty(0), *(s.values for s in series)]),
        np.concatenate([np.empty(0, int), *(s.frames for s in series)]),
    )


def summary(legs: list[LegReport], names: list[str], unit: float) -> dict:
    """The figures of some legs together, ready for JSON; lengths in the world, in which a leg is `unit` long."""
    whens = ("before", "after")
    out: dict = {
        name: {when: figure([getattr(leg, when)[name] for leg in legs], names, unit) for when in whens}
        for name in FIGURES
    }
    missed = [leg.unreached for leg in legs]
    out["unreached"] = {
        "count": len(np.unique(joined(missed).frames)),
        "frames": spans(joined(missed).frames),
        **figure(missed, names, unit),
    }
    return out


def figure(series: list[Series], names: list[str], unit: float) -> dict:
    """Mean and worst value of one series for each leg, in world lengths and in legs; frame and leg of the worst.

    None where nothing could be measured; no frame where all is perfect.
    """
    whole = joined(series)
    if not len(whole.values):
        return dict.fromkeys(("mean", "worst", "mean_of_leg", "worst_of_leg", "frame", "leg"))
    values = np.where(whole.values < NOISE, 0.0, whole.values)
    mean, k = values.mean(), int(values.argmax())
    worst = values[k]
    leg = int(np.searchsorted(np.cumsum([len(s.values) for s in series]), k, side="right"))
    return {
        "mean": number(mean * unit),
        "worst": number(worst * unit),
        "mean_of_leg": number(mean),
        "worst_of_leg": number(worst),
        "frame": int(whole.frames[k]) if worst > 0 else None,
        "leg": names[leg] if worst > 0 else None,
    }


def number(value: float) -> float:
    """A number that is not longer than it is true."""
    return float(f"{value:.{DIGITS}g}")


def spans(frames: np.ndarray) -> list[list[int]]:
    """[first, last] of each run of whole frames that follow one another."""
    if not len(frames):
        return []
    first = int(frames.min())
    mask = np.zeros(int(frames.max()) - first + 1, bool)
    mask[frames - first] = True
    return [[first + a, first + b - 1] for a, b in runs(mask)]


def contact_rows(plants: list[Plant]) -> list[dict]:
    """Contacts for JSON, frames inclusive; where heel and ball touch as runs of frames."""
    out = []
    for plant in plants:
        c = plant.contact
        touch = {name: spans(c.start + np.flatnonzero(mask)) for name, mask in (("heel", c.heel), ("ball", c.ball))}
        out.append({"start": c.start, "end": c.stop - 1, "locked": c.locked, "grounded": plant.grounded, **touch})
    return out


def plants_from(rows: list[dict]) -> list[Plant]:
    """The contacts of `contact_rows`."""
    out = []
    for row in rows:
        masks = np.zeros((2, row["end"] + 1 - row["start"]), bool)
        for mask, name in zip(masks, ("heel", "ball"), strict=True):
            for first, last in row[name]:
                mask[first - row["start"] : last + 1 - row["start"]] = True
        heel, ball = masks
        contact = Contact(row["start"], row["end"] + 1, heel, ball, away_from(heel & ball), row["locked"])
        out.append(Plant(contact, row["grounded"]))
    return out
