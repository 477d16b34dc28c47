"""The plan: from a clip and a ground to one correction per foot and frame, and one pelvis curve."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .clip import BALL, LEG, Clip, Leg, Sole, smoothed, velocity
from .contacts import BAND, Contact, find_contacts
from .correction import UP, Motion, carried_over, held_foot, stances, with_toes
from .edits import Edit, edited
from .flat import put_share
from .footprints import Footprint, lay_footprints, slips_away
from .ground import Ground
from .holds import held_rows
from .lean import lean_curve
from .loops import Unrolled, find_loop
from .pelvis import FARTHEST, no_straighter, pelvis_curve, reach_limits
from .reach import root_interval
from .rest import Limits
from .riding import rides_of
from .rotations import from_rotvec, normalized, rotate
from .sole import find_sole
from .swing import clear_swings, kept_from_hip

SLIDING, LOCKED = 0, 1
SUPPORT_BLUR = 0.08
"""Seconds over which a foot takes and gives up the pelvis."""
AIRBORNE = 0.05
"""Weight of a foot in the air in the pelvis' preferred height, against 1 for one that stands."""
TREADMILL = 0.3 * LEG
"""Metres a second with which the feet of an in-place cycle slide at least."""


@dataclass(frozen=True)
class FootPlan:
    """What is done to one foot. The first axis is SLIDING, LOCKED: the correction for lock weights 0 and 1."""

    ball: np.ndarray
    """(3,): the ball of the sole, about which the foot turns, in the space of its bone."""
    on_toe: bool
    """That bone is the toe."""
    move: np.ndarray
    """(2, F, 3): motion of the ball, in clip space."""
    turn: np.ndarray
    """(2, F, 3): rotation vector of the turn about the ball, in clip space."""
    bend: np.ndarray
    """(2, F, 3): rotation vector by which the toes turn after that, in clip space."""


@dataclass(frozen=True)
class Plan:
    """Everything that the corrected pose of a frame needs beside the animated pose of that frame."""

    feet: tuple[FootPlan, ...]
    pelvis: np.ndarray
    """(2, F): height by which the pelvis is moved, in clip space; the first axis as in `FootPlan`."""
    reach: np.ndarray
    """(legs, 2): how near and how far each leg is brought, as shares of its length."""
    lean: np.ndarray
    """(F, 3): rotation vector, in clip space, of the turn about the pelvis that leans the body by all of the slope."""
    sink: np.ndarray
    """(2, F): height by which the pelvis is moved too where the body leans by that; the first axis as in `FootPlan`."""
    contacts: tuple[tuple[Contact, ...], ...] = ()
    prints: tuple[tuple[Footprint, ...], ...] = ()
    soles: tuple[Sole, ...] = ()
    in_place: bool = False
    """The character walks on the spot: its feet follow the ground and are not locked."""

    def __len__(self) -> int:
        return self.pelvis.shape[1]


@dataclass(frozen=True)
class Options:
    """What the user sets of a plan."""

    limits: Limits
    lowers_pelvis: tuple[bool, ...]
    """Per leg: whether the pelvis moves so that the leg reaches."""
    edits: tuple[tuple[Edit, ...], ...] = ()
    """Per leg: contacts that the user has edited."""


def make_plan(clip: Clip, ground: Ground, options: Options) -> Plan:
    """Plan a whole clip over a ground."""
    forward = facing(clip)
    soles = [find_sole(clip, leg, forward) for leg in clip.legs]
    rides = rides_of(clip, soles, ground)
    drift = treadmill(clip, soles, rides)
    if np.any(rides) or np.any(drift):  # feet are stillest where they stand on what they go along with
        legs = [travelling(leg, -ride - way_of_belt(clip, drift)) for leg, ride in zip(clip.legs, rides, strict=True)]
        soles = [find_sole(clip, leg, forward) for leg in legs]
    contacts, prints = planted(clip, soles, rides, drift, ground, options)
    loop = find_loop(clip, soles, prints, ground)
    if loop is not None:
        clip, ground = loop.clip(clip), Unrolled(ground, loop)
        options = replace(options, edits=loop.edits(options.edits))
        contacts, prints = planted(clip, soles, rides_of(clip, soles, ground), drift, ground, options)
    plan = follow(clip, soles, prints, ground, options)
    plan = replace(
        with_holds(plan, clip, prints) if ground.still else plan,
        contacts=tuple(map(tuple, contacts)),
        prints=tuple(map(tuple, prints)),
        soles=tuple(soles),
        in_place=bool(np.any(drift)),
    )
    return plan if loop is None else loop.cut(plan)


def planted(
    clip: Clip, soles: list[Sole], rides: list[np.ndarray], drift: np.ndarray, ground: Ground, options: Options
) -> tuple[list[list[Contact]], list[list[Footprint]]]:
    """Contacts of every leg, found and edited, and their footprints; on a belt that drifts no foot is locked, nor where
    the ground slips away under it and the user does not ask for it."""
    contacts = []
    for i, (leg, sole, ride) in enumerate(zip(clip.legs, soles, rides, strict=True)):
        found = find_contacts(clip.fps, travelling(leg, -ride - way_of_belt(clip, drift)), sole)
        found = [replace(c, locked=False) for c in found] if np.any(drift) else found
        contacts.append(edited(found, list(options.edits[i]), len(clip)) if i < len(options.edits) else found)
    prints = lay_footprints(clip, soles, contacts, ground, options.limits, rides)
    slipping = [
        {p.contact.start for p in foot if not p.contact.asked and slips_away(leg, sole, p, ground)}
        for leg, sole, foot in zip(clip.legs, soles, prints, strict=True)
    ]
    if any(slipping):
        contacts = [
            [replace(c, locked=False, slips=True) if c.start in starts else c for c in foot]
            for foot, starts in zip(contacts, slipping, strict=True)
        ]
        prints = lay_footprints(clip, soles, contacts, ground, options.limits, rides)
    feet = zip(clip.legs, soles, prints, strict=True)
    return contacts, [with_toes(clip, leg, sole, foot, ground) for leg, sole, foot in feet]


def follow(clip: Clip, soles: list[Sole], prints: list[list[Footprint]], ground: Ground, options: Options) -> Plan:
    """Corrections that carry the feet to their footprints, and the pelvis that they need."""
    reach = np.array([reach_limits(leg.extension) for leg in clip.legs])
    lean = lean_curve(clip, soles, prints, ground)
    any_locked = any(p.contact.locked for foot in prints for p in foot)
    locks = [follow_locked(clip, soles, prints, ground, options, reach, lean, SLIDING)]
    locks += [follow_locked(clip, soles, prints, ground, options, reach, lean, LOCKED)] if any_locked else locks
    feet = tuple(
        FootPlan(
            sole.points[BALL],
            bool(sole.on_toe[BALL]),
            *(np.stack(rows) for rows in zip(*(feet[i] for feet, *_ in locks), strict=True)),
        )
        for i, sole in enumerate(soles)
    )
    _, pelvis, sink = zip(*locks, strict=True)
    return Plan(feet, np.stack(pelvis), reach, lean, np.stack(sink))


def with_holds(plan: Plan, clip: Clip, prints: list[list[Footprint]]) -> Plan:
    """A plan that does not move while the clip holds a pose, on ground that does not move."""
    body, feet = held_rows(clip, [standing(foot, len(clip)) for foot in prints])
    moved = tuple(
        replace(foot, move=foot.move[:, rows], turn=foot.turn[:, rows], bend=foot.bend[:, rows])
        for foot, rows in zip(plan.feet, feet, strict=True)
    )
    return replace(plan, feet=moved, pelvis=plan.pelvis[:, body], lean=plan.lean[body], sink=plan.sink[:, body])


def follow_locked(
    clip: Clip,
    soles: list[Sole],
    prints: list[list[Footprint]],
    ground: Ground,
    options: Options,
    reach: np.ndarray,
    lean: np.ndarray,
    lock: int,
) -> tuple[list[Motion], np.ndarray, np.ndarray]:
    """The motion of each foot, heights (F,) of the pelvis, and what a body that leans by `lean` (F, 3) adds to those,
    for one lock weight.

    The feet that stand tell the pelvis where to go; feet in the air then go along with it.
    """
    tracks = [sole.tracks(leg) for leg, sole in zip(clip.legs, soles, strict=True)]

    held = [
        held_foot(clip, leg, sole, foot, ground, lock) for leg, sole, foot in zip(clip.legs, soles, prints, strict=True)
    ]
    balls = [points[:, BALL] for points in tracks]
    first = [carried_over(clip, ball, *foot, 0.0) for ball, foot in zip(balls, held, strict=True)]
    body = pelvis_curve(*pelvis_tube(clip, balls, prints, first, reach, options), clip.fps)
    out = [carried_over(clip, ball, *foot, body[:, None] * UP) for ball, foot in zip(balls, held, strict=True)]
    highest = np.max([motion.move[:, 2] for motion in out], axis=0)
    for i, (leg, sole, points, foot) in enumerate(zip(clip.legs, soles, tracks, prints, strict=True)):
        out[i] = unfolded(clip, leg, points[:, BALL], foot, out[i], body, reach[i, 0])
        after = out[i].of_sole(points, sole, leg)
        clear = clear_swings(clip, points, after, stances(foot), highest, ground)
        out[i] = out[i]._replace(move=out[i].move + clear)
    body = pelvis_curve(*pelvis_tube(clip, balls, prints, out, reach, options, body), clip.fps)
    sink = np.zeros_like(body)
    if lean.any():
        sink = pelvis_curve(*pelvis_tube(clip, balls, prints, out, reach, options, body, lean), clip.fps) - body
    legs = zip(clip.legs, balls, prints, out, reach[:, 0], strict=True)
    return [unfolded(clip, leg, ball, foot, motion, body, near) for leg, ball, foot, motion, near in legs], body, sink


def unfolded(
    clip: Clip, leg: Leg, ball: np.ndarray, prints: list[Footprint], motion: Motion, body: np.ndarray, near: float
) -> Motion:
    """The motion of the foot of a leg whose hip goes along with the `body` (F,), led round that: no nearer than half of
    its share `near` of the leg's length, or half of what it is animated to be. Up to there the solver gives way."""
    hip, ankle = leg.joints[:, 0] + body[:, None] * UP, motion.of_points(leg.joints[:, 2:], ball)[:, 0]
    nearest = np.minimum(near, leg.extension) * leg.lengths / 2
    away = kept_from_hip(leg, hip, ankle, nearest, standing(prints, len(clip)), clip.fps)
    return motion._replace(move=motion.move + away)


def pelvis_tube(
    clip: Clip,
    balls: list[np.ndarray],
    prints: list[list[Footprint]],
    motions: list[Motion],
    reach: np.ndarray,
    options: Options,
    body: np.ndarray | None = None,
    lean: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(F,) preferred heights of the pelvis, the lowest at which no standing leg is folded, and the highest from which
    every leg reaches its foot; both as far as the clip itself goes. `balls` (F, 3) are those of the animated feet; the
    body leans by `lean` (F, 3)."""
    weight, lift = np.zeros((2, len(clip.legs), len(clip)))
    lowest, highest = np.full(len(clip), -np.inf), np.full(len(clip), np.inf)
    for i, (leg, ball, foot, motion) in enumerate(zip(clip.legs, balls, prints, motions, strict=True)):
        stands = standing(foot, len(clip))
        weight[i] = smoothed(support(foot, len(clip)), clip.frames(SUPPORT_BLUR)) + AIRBORNE if foot else 0.0
        ankle = motion.of_points(leg.joints[:, 2:], ball)[:, 0]
        put = np.zeros(len(clip))  # a foot that the user puts down does not take the body along
        for p in foot:
            put[p.contact.start : p.contact.stop] = put_share(p.contact, clip.fps)
        lift[i] = (1 - put) * (ankle[:, 2] - leg.joints[:, 2, 2]) + put * (motion.move + ball)[:, 2]
        near, far = np.minimum(reach[i, 0], leg.extension), leg.extension
        if body is not None:
            apart = np.linalg.norm(ankle - leg.joints[:, 0] - body[:, None] * UP, axis=1) / leg.lengths
            far = np.minimum(far, no_straighter(far, apart, stands))
        far = np.clip(far, reach[i, 1], FARTHEST)
        if options.lowers_pelvis[i] and foot:
            hip = leg.joints[:, 0]
            hip = hip if lean is None else clip.pelvis + rotate(from_rotvec(lean), hip - clip.pelvis)
            high = root_interval(hip, ankle, far * leg.lengths, UP)[1]
            low = root_interval(hip, ankle, near * leg.lengths, UP)[1]
            highest = np.fmin(highest, high)
            lowest = np.fmax(lowest, np.where(stands, low, -np.inf))
    return (weight * lift).sum(0) / np.maximum(weight.sum(0), 1e-9), lowest, highest


def standing(prints: list[Footprint], count: int) -> np.ndarray:
    """(F,) bool: the frames in which a foot has a footprint."""
    out = np.zeros(count, bool)
    for p in prints:
        out[p.contact.start : p.contact.stop] = True
    return out


def support(prints: list[Footprint], count: int) -> np.ndarray:
    """(F,): the share of the time around each frame in which a foot stands."""
    out, frames = np.zeros(count), np.arange(count)
    for begin, end in stances(prints):
        begin, end = begin if begin > 0 else -np.inf, end if end < count - 1 else np.inf
        out += (np.minimum(frames + 0.5, end) - np.maximum(frames - 0.5, begin)).clip(0, 1)
    return out


def facing(clip: Clip) -> np.ndarray:
    """(F, 3): where the character faces, level: as its knees bend, square to the line between two hips.

    That line leads ahead itself where knees bend and feet swing along it: all legs are on one side. A single leg goes
    by its foot.
    """
    bends = [leg.joints[:, 1] - (leg.joints[:, 0] + leg.joints[:, 2]) / 2 for leg in clip.legs]
    level, fallback = np.array([1.0, 1.0, 0.0]), (0.0, -1.0, 0.0)
    if len(bends) == 1:
        foot = clip.legs[0].foot[:, :3, :3]
        own = np.linalg.solve(foot, bends[0][:, :, None])[:, :, 0].mean(0)
        return normalized(rotate(foot, own) * level, fallback)
    line = normalized((clip.legs[0].joints[:, 0] - clip.legs[1].joints[:, 0]) * level, (1.0, 0.0, 0.0))
    ahead = np.stack([line[:, 1], -line[:, 0], line[:, 2]], 1)
    within = lambda v: np.stack([(v * line).sum(1), (v * ahead).sum(1)])
    swings = [within(leg.joints[:, 2] - leg.joints[:, 0]) for leg in clip.legs]
    moves = list(map(within, bends)), [swing - swing.mean(1, keepdims=True) for swing in swings]
    if all(np.subtract(*np.abs(of).sum((0, 2))) > 0 for of in moves):
        ahead = line
    return ahead if sum((bend * ahead).sum() for bend in bends) >= 0 else -ahead


def treadmill(clip: Clip, soles: list[Sole], rides: list[np.ndarray]) -> np.ndarray:
    """(3,): the velocity of the belt that an in-place cycle walks on; zero where the character travels or stands, or
    there is a belt: then its feet go along with that, by `rides` (F, 3)."""
    flow, speeds = [], []
    for leg, sole, ride in zip(clip.legs, soles, rides, strict=True):
        ball = sole.tracks(leg)[:, BALL] - ride
        v = velocity(ball, clip.fps)
        flow.append(v[ball[:, 2] < np.percentile(ball[:, 2], 2) + BAND])
        speeds.append(np.linalg.norm(v, axis=1))
    flow = np.concatenate(flow) * (1, 1, 0)
    if len(flow) < 3:  # a single cycle of a cartoon walk has no more
        return np.zeros(3)
    belt = np.median(flow, 0)
    speed = np.linalg.norm(belt)
    steady = np.median(np.linalg.norm(flow - belt, axis=1)) < 0.4 * speed
    restless = np.median(speeds) > 0.25 * speed  # feet on a belt go all the time
    travel = np.linalg.norm((clip.pelvis[-1] - clip.pelvis[0])[:2]) * clip.fps / max(len(clip) - 1, 1)
    return belt if speed > TREADMILL and steady and restless and travel < 0.25 * speed else np.zeros(3)


def way_of_belt(clip: Clip, drift: np.ndarray) -> np.ndarray:
    """(F, 3): the way of a belt with the velocity `drift` (3,)."""
    return np.arange(len(clip))[:, None] / clip.fps * drift


def travelling(leg: Leg, way: np.ndarray) -> Leg:
    """One leg, moved along a way (F, 3)."""
    if not np.any(way):
        return leg

    def along(pose: np.ndarray) -> np.ndarray:
        out = pose.copy()
        out[:, :3, 3] += way
        return out

    return Leg(leg.joints + way[:, None], along(leg.foot), None if leg.toe is None else along(leg.toe))
