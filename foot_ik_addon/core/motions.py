"""Where a corrected pose brings each bone, and the channels with which another bone goes along.

Motions (F, 4, 4) are rigid, in armature space, from the animated to the corrected place; frames first.
"""

from __future__ import annotations

import numpy as np

from .pose import Corrected, local_turns
from .rotations import align, length, rotate, square_to, transform, unit_and_length


def about(turn: np.ndarray, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """The motion that turns by (F, 3, 3) and takes the points old to new, both (F, 3)."""
    out = np.tile(np.eye(4), (len(old), 1, 1))
    out[:, :3, :3] = turn
    out[:, :3, 3] = new - rotate(turn, old)
    return out


def moved_joints(joints: np.ndarray, corrected: Corrected, leg: int) -> np.ndarray:
    """The corrected joints (F, J, 3) of a leg, from those of its chain as animated."""
    bones = rotate(corrected.turns[leg][:, :-2], np.diff(joints, axis=1)) * corrected.stretch[:, leg, None, None]
    hip = joints[:, :1] + corrected.hips[:, leg, None]
    return np.concatenate([hip, hip + np.cumsum(bones, 1)], 1)


def leg_motions(joints: np.ndarray, toe: np.ndarray | None, corrected: Corrected, leg: int) -> list[np.ndarray]:
    """The motions of the bones of a leg's chain, foot last, then of its toes where their joint (F, 3) is given."""
    after, turns = moved_joints(joints, corrected, leg), corrected.turns[leg]
    out = [about(turns[:, k], joints[:, k], after[:, k]) for k in range(joints.shape[1])]
    return out if toe is None else [*out, about(turns[:, -1], toe, transform(out[-1], toe))]


def foot_motions(
    chains: tuple[np.ndarray, ...], toes: tuple[np.ndarray | None, ...], corrected: Corrected
) -> np.ndarray:
    """(F, legs, 2, 4, 4): the motions of each foot and of its toes.

    `chains` as in `correct`; `toes` are the joints (F, 3) of those toes that are bent, the others go with the foot.
    """
    legs = [leg_motions(*leg, corrected, i) for i, leg in enumerate(zip(chains, toes, strict=True))]
    bent = [toe is not None for toe in toes]
    return np.stack([np.stack(leg[-2:] if toe else leg[-1:] * 2, 1) for leg, toe in zip(legs, bent, strict=True)], 1)


def pole_motion(joints: np.ndarray, corrected: Corrected, leg: int) -> np.ndarray:
    """The motion of a leg's pole: it keeps its place beside the line from hip to ankle, so that the knee keeps its side
    as the solver keeps it: by the shortest turn of that line."""
    after = moved_joints(joints, corrected, leg)
    return about(align(joints[:, -1] - joints[:, 0], after[:, -1] - after[:, 0]), joints[:, 0], after[:, 0])


def channels_along(
    pose: np.ndarray, basis: np.ndarray, axes: np.ndarray, motion: np.ndarray, carrier: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rotations (F, 3, 3) and locations (F, 3) of the channels of a bone that makes a motion, of which the bone that it
    hangs on makes the part `carrier` for it.

    `pose` and `basis` (F, 4, 4) are as animated; `axes` (F, 3, 3) is how its head moves with its location channels.
    """
    turns = local_turns(pose[:, None], basis[:, None], motion[:, None, :3, :3], carrier[:, :3, :3])[:, 0]
    head = pose[:, :3, 3]
    away = transform(motion, head) - transform(carrier, head)
    return turns, basis[:, :3, 3] + location_change(carrier[:, :3, :3] @ axes, away)


def location_change(axes: np.ndarray, away: np.ndarray) -> np.ndarray:
    """(F, 3): the change of a bone's location channels that moves its head by `away` (F, 3).

    `axes` (F, 3, 3) is how they move it. None in frames in which they do not: it is connected, or what it hangs on is
    scaled to nothing.
    """
    out, movable = np.zeros(away.shape), np.abs(np.linalg.det(axes)) > 0
    out[movable] = np.linalg.solve(axes[movable], away[movable][:, :, None])[:, :, 0]
    return out


def magnified(chains: tuple[np.ndarray, ...], corrected: Corrected) -> np.ndarray:
    """(F,): how far a corrected pose may be off, as a multiple of the rounding of a number as large as a leg; infinite
    for legs of more than two bones, whose solvers iterate. `chains` as in `correct`.

    What is far from the origin is rounded more. And what hip and ankle are off the knee magnifies, animated or
    corrected: at the height h over the line between them, p and q from its ends, it rises by p q / (p + q) / h for each
    unit by which they come nearer.
    """
    out = np.ones(len(corrected.pelvis))
    for i, chain in enumerate(chains):
        if chain.shape[1] > 3:
            return np.full(len(out), np.inf)
        full = length(np.diff(chain, axis=1)).sum(1)
        for joints in (chain, moved_joints(chain, corrected, i)):
            hip, knee, ankle = np.moveaxis(joints, 1, 0)
            way, span = unit_and_length(ankle - hip)
            p = ((knee - hip) * way).sum(1)
            with np.errstate(divide="ignore", invalid="ignore"):
                lever = np.abs(p * (span - p) / span / length(square_to(knee - hip, way)))
                far = np.abs(joints).max((1, 2)) / full
                out = np.maximum(out, np.nan_to_num(np.maximum(lever, 1) * np.maximum(far, 1), nan=np.inf))
    return out
