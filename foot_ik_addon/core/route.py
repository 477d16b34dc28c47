"""Which of the grounds above and below each other the feet walk on: one route through the layers, in order of time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .ground import Ground
from .rest import Limits
from .rotations import transform

STEEPEST = np.tan(np.radians(40.0))
"""Rise over run between two footprints, beyond a single step, that is still ground and not the foot of a cliff."""
START_PRICE = 0.5
"""The first footprint is looked for near the floor of the clip: a distance from it counts as so much climbing."""
ROOM, ROOM_PRICE = 2.0, 0.5
"""Legs of room that a character needs above its ground, and what it costs to have none: as much as so high a climb. A
floor that goes on under a hill is not walked on, one under the edge of a table is."""


@dataclass(frozen=True)
class Place:
    """Where and when ground is looked for."""

    point: np.ndarray
    """(2,): the middle of a footprint on the flat floor."""
    frame: int
    start: int
    stop: int
    """Frames [start, stop) of its contact; `frame` lies in them."""


def route(places: list[Place], ground: Ground, limits: Limits) -> np.ndarray:
    """(N,): height of the ground on which each of the places lies, which come in order of their frames; NaN for none.

    The route that climbs least is taken (Viterbi, 1967), so that a roof, a bridge or a storey below is not mistaken for
    the ground; a lift that carries the feet is not a climb. A place that no step or slope leads to has no ground.
    """
    out = np.full(len(places), np.nan)
    if not places:
        return out
    points, frames = np.array([p.point for p in places]), np.array([p.frame for p in places])
    layers, pieces = ground.layers(points, frames)
    known = np.flatnonzero(np.isfinite(layers).any(1))
    if not len(known):
        return out
    z, pieces = layers[known], pieces[known]
    room = np.diff(z, axis=1, prepend=np.full((len(z), 1), np.inf))
    price = ROOM_PRICE * (1 - np.minimum(np.nan_to_num(-room, nan=np.inf, posinf=np.inf, neginf=np.inf), ROOM) / ROOM)
    cost = np.where(np.isfinite(z[0]), START_PRICE * np.abs(z[0]) + price[0], np.inf)
    back = []
    for n in range(1, len(z)):
        climb = np.abs(
            z[n][None, :] - carried(places[known[n - 1]], z[n - 1], pieces[n - 1], frames[known[n]], ground)[:, None]
        )
        step = np.where(np.isfinite(climb), cost[:, None] + climb + price[n], np.inf)
        back.append(np.argmin(step, 0))
        cost = step.min(0)
    path = [int(np.argmin(cost))]
    for row in reversed(back):
        path.append(int(row[path[-1]]))
    path.reverse()
    index = np.arange(len(z))
    heights, pieces = z[index, path], pieces[index, path]
    joined = connected([places[n] for n in known], heights, pieces, ground, limits)
    out[known[joined]] = heights[joined]
    return out


def connected(
    places: list[Place], heights: np.ndarray, pieces: np.ndarray, ground: Ground, limits: Limits
) -> list[int]:
    """Indices of the places that are ground for the whole walk.

    Steps and slopes join each place to the next two. Of groups that are joined in themselves but stand at the same
    time, as on a ledge that only one foot misses, the largest is ground, or the nearest to the floor of the clip.
    Groups one after the other, as before and behind a jump down a wall, all are.
    """
    group = np.arange(len(places))
    for n, place in enumerate(places):
        for m in range(max(n - 2, 0), n):
            was = carried(places[m], heights[m : m + 1], pieces[m : m + 1], place.frame, ground)[0]
            run = np.linalg.norm(place.point - places[m].point)
            if abs(heights[n] - was) <= limits.step + STEEPEST * run:
                group[group == group[n]] = group[m]
    members = [np.flatnonzero(group == g) for g in np.unique(group)]
    members.sort(key=lambda g: (-len(g), np.abs(heights[g]).mean()))
    taken: list[tuple[int, int]] = []
    out: list[int] = []
    for g in members:
        start, stop = min(places[n].start for n in g), max(places[n].stop for n in g)
        # Walking off a wall both feet stand for a moment, one above and one below: that is still one after the other.
        if all(2 * (min(stop, b) - max(start, a)) <= min(stop - start, b - a) for a, b in taken):
            taken.append((start, stop))
            out.extend(int(n) for n in g)
    return sorted(out)


def carried(place: Place, heights: np.ndarray, pieces: np.ndarray, frame: int, ground: Ground) -> np.ndarray:
    """(K,): where ground that is at `heights` (K,) in a place has been carried to by another frame."""
    if ground.still:
        return heights
    out = heights.copy()
    for k in np.flatnonzero(np.isfinite(heights)):
        point = np.append(place.point, heights[k])
        out[k] = transform(ground.carried(int(pieces[k]), place.frame, np.array([frame]), point[None])[0], point)[2]
    return out
