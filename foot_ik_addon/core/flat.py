"""The animated foot laid flat on the floor before it is carried to its footprint: on tilted ground, where what rises
also slides, and where the user says that it touches while it is animated in the air.

The foot turns about its ball, sinks or rises, and its toes bend so that they stay on the floor.
"""

from __future__ import annotations

import numpy as np

from .clip import BALL, HEEL, Sole
from .contacts import Contact, away_from
from .curves import quintic
from .footprints import Footprint
from .rotations import from_rotvec, length, normalized, rotate

UP = np.array([0.0, 0.0, 1.0])
ROLL = 0.15
"""Seconds in which a foot that lay flat on tilted ground takes on its animated pitch again."""


def laid_flat(
    tracks: np.ndarray, joint: np.ndarray, sole: Sole, toes: np.ndarray, unsure: np.ndarray, contacts: list[slice],
    share: np.ndarray, fps: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The animated foot with a `share` (n,) of its pitch taken out while heel and ball stand, at most so many frames
    `unsure` (n,) away from which they do in its `contacts`: the tracks of its sole (n, S, 3) and of the joint of its
    toes (n, 3), and the rotation vectors (n, 3) that turn it, and that bend its toes so that these, its points `toes`
    (S,) bool, stay on the floor where they were.

    Before and after that the foot takes on its animated pitch again.
    """
    heel, ball = tracks[:, HEEL], tracks[:, BALL]
    share = share * quintic(np.maximum(1 - unsure / (ROLL * fps), 0))
    if not share.any():
        return tracks, joint, np.zeros_like(ball), np.zeros_like(ball)
    way = ball - heel
    nearest, flat = np.arange(len(way)), np.zeros(len(way))
    for part in contacts:
        at = part.start + np.flatnonzero(unsure[part] <= unsure[part].min())
        nearest[part] = at[np.abs(np.subtract.outer(nearest[part], at)).argmin(1)]
        flat[part] = np.clip(0.0, way[at, 2].min(), way[at, 2].max())  # at its flattest, which may be between frames
    pitch = np.arctan2(way[:, 2] - flat, length(way[:, :2]))
    pitch = share * np.clip(pitch, np.minimum(pitch[nearest], 0), np.maximum(pitch[nearest], 0))
    across = axis_across(way)
    turn = -pitch[:, None] * across
    out = rotate(from_rotvec(turn)[:, None], tracks - ball[:, None]) + ball[:, None]
    lowest = tracks[:, ~toes, 2].min(1)
    sunk = share * np.maximum(lowest, lowest[nearest]).clip(None, 0)
    rise = UP * (lowest - sunk - out[:, ~toes, 2].min(1))[:, None]
    out += rise[:, None]
    joint = rotate(from_rotvec(turn), joint - ball) + ball + rise
    bend = toes_kept(tracks[:, toes, 2], out[:, toes, 2], sole.plan[toes, 0])
    return out, joint, turn, bend[:, None] * across


def put_share(contact: Contact, fps: float, whole: bool = False) -> np.ndarray:
    """(n,): how far a foot is put down in the frames of a contact: wholly where it is in the air as animated, and, for
    the `whole` of it, heel and ball shall touch."""
    if contact.lifted is None:
        return np.zeros(contact.stop - contact.start)
    both = contact.heel & contact.ball & (contact.lifted == 0)
    return quintic(np.maximum(1 - (away_from(both) if whole else contact.lifted) / (ROLL * fps), 0))


def put_down(
    tracks: np.ndarray, joint: np.ndarray, sole: Sole, toes: np.ndarray, prints: list[Footprint], fps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The animated foot with its heel and its ball on the floor where the user says that they touch; as `laid_flat`."""
    share, flat = (np.concatenate([put_share(p.contact, fps, whole) for p in prints]) for whole in (False, True))
    if not share.any():
        return tracks, joint, np.zeros_like(joint), np.zeros_like(joint)
    touch = np.stack([np.concatenate([getattr(p.contact, point) for p in prints]) for point in ("heel", "ball")], 1)
    ball, way = tracks[:, BALL], tracks[:, BALL] - tracks[:, HEEL]
    pitch = np.arctan2(way[:, 2], length(way[:, :2]))
    other = np.where(touch[:, 0], pitch.clip(None, 0), pitch.clip(0))  # by which what does not touch would be below
    below = np.where(touch.all(1), 0.0, other)
    pitch = flat * pitch + (1 - flat) * share * below
    across = axis_across(way)
    turn = -pitch[:, None] * across
    out = rotate(from_rotvec(turn)[:, None], tracks - ball[:, None]) + ball[:, None]
    low = np.where(touch, out[:, [HEEL, BALL], 2], np.inf).min(1).clip(0)
    sink = -UP * (share * low)[:, None]
    out += sink[:, None]
    joint = rotate(from_rotvec(turn), joint - ball) + ball + sink
    wanted = np.where(tracks[..., 2] > 0, (1 - share)[:, None] * tracks[..., 2], tracks[..., 2])
    return out, joint, turn, toes_kept(wanted[:, toes], out[:, toes, 2], sole.plan[toes, 0])[:, None] * across


def toes_kept(before: np.ndarray, after: np.ndarray, ahead: np.ndarray) -> np.ndarray:
    """Angles (n,) by which toes are bent up so that their points, `ahead` (S,) of the ball, come from the heights
    `after` (n, S) to those `before` (n, S), or to the floor that is between."""
    up = np.arctan2(np.minimum(before, 0) - after, ahead).max(1, initial=0.0)
    down = np.arctan2(after - np.maximum(before, 0), ahead).min(1, initial=np.pi).clip(0)
    return up - down * (len(ahead) > 0)


def axis_across(way: np.ndarray) -> np.ndarray:
    """(n, 3): the level axis about which toes that point along `way` (n, 3) turn up."""
    return normalized(np.column_stack([way[:, 1], -way[:, 0], 0 * way[:, 0]]))
