"""The motion that carries the animated foot to its footprints, frame by frame.

For each foot and frame: turn about the ball, then move, then bend the toes. In contact it is exact; between contacts it
passes over from one to the next as the animated foot gets along, and a quintic in time evens out the speeds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .clip import BALL, HEEL, LEG, Clip, Leg, Sole, cubic, runs, velocity
from .contacts import BAND, Contact
from .curves import curve_between, quintic
from .flat import UP, axis_across, laid_flat, put_down
from .footprints import HEADROOM, Footprint
from .ground import Ground
from .rest import CUTS, TOUCH
from .rotations import align, from_rotvec, length, rotate, to_rotvec, transform

SLIP = 0.0002 * LEG
"""What a point may move along tilted ground while the animation raises it by the height of the contact's band."""
SETTLE = 0.05
"""Time constant in seconds of the lift over what is in the way: how long before and behind it that begins and ends."""
HOP = 0.08
"""Seconds in which a foot passes from heel to ball that never touch at the same time."""
SPEED = 1 / 30
"""Seconds over which the speed is taken with which a foot leaves a contact or comes to one."""
LEAD = 0.3
"""Seconds in which a foot that enters or leaves the clip in the air loses the speed of its contact's correction."""


class Motion(NamedTuple):
    """What is done to one foot, in clip space."""

    move: np.ndarray
    """(F, 3): motion of the ball."""
    turn: np.ndarray
    """(F, 3): rotation vector of the foot's turn about the ball."""
    bend: np.ndarray
    """(F, 3): rotation vector by which the toes turn, about their joint, after that."""

    def of_points(self, points: np.ndarray, ball: np.ndarray) -> np.ndarray:
        """Points (F, S, 3) on the foot after its turn about the ball (F, 3) and its move."""
        return rotate(from_rotvec(self.turn)[:, None], points - ball[:, None]) + (ball + self.move)[:, None]

    def of_sole(self, tracks: np.ndarray, sole: Sole, leg: Leg) -> np.ndarray:
        """The sole's tracks (F, S, 3) after all of it."""
        ball = tracks[:, BALL]
        out = self.of_points(tracks, ball)
        if leg.toe is not None and sole.on_toe.any():
            joint = self.of_points(leg.toe[:, None, :3, 3], ball)
            out[:, sole.on_toe] = rotate(from_rotvec(self.bend)[:, None], out[:, sole.on_toe] - joint) + joint
        return out


def held_foot(
    clip: Clip, leg: Leg, sole: Sole, prints: list[Footprint], ground: Ground, lock: float
) -> tuple[np.ndarray, list[tuple[float, float]]]:
    """The columns (F, 9) of the motion of one foot in the frames of its `stances`, and these.

    `lock` 1 holds each contact at its footprint, 0 lets the foot slide as animated and only follow the ground.
    """
    out, spans = np.zeros((len(clip), 9)), stances(prints)
    if prints:
        frames = frames_of(prints)
        stands = leg.during(frames)
        motion = in_contact(stands, sole, prints, ground, lock, clip.fps)
        out[frames] = np.concatenate(motion, 1)
        least = np.zeros(len(clip))
        least[frames] = rolled_over(stands, sole, motion, frames, ground)
        for begin, end in spans:  # a foot that slides has a footprint in each frame
            of = frames_in(begin, end)
            if least[of].any():
                out[of, 2] += np.maximum(smoothly(least[of], np.zeros(len(least[of]), bool), clip.fps), least[of])
    return out, spans


def stances(prints: list[Footprint]) -> list[tuple[float, float]]:
    """When a foot stands, without a break: frame indices and parts of frames."""
    out: list[tuple[float, float]] = []
    for p in prints:
        begin, end = p.contact.span
        joined = out and np.floor(out[-1][1]) + 1 >= np.ceil(begin)
        out[-1:] = [(out[-1][0], end)] if joined else [*out[-1:], (begin, end)]
    return out


def frames_in(begin: float, end: float) -> slice:
    """The frames in a stance."""
    return slice(int(np.ceil(begin)), int(np.floor(end)) + 1)


def frames_of(prints: list[Footprint]) -> np.ndarray:
    """(n,): the frames of some contacts, one after the other."""
    return np.concatenate([np.arange(p.contact.start, p.contact.stop) for p in prints])


def rolled_over(leg: Leg, sole: Sole, motion: Motion, frames: np.ndarray, ground: Ground) -> np.ndarray:
    """(n,): how far a foot that stands in these `frames` (n,), all that its leg has, must be lifted so that it does not
    cut what it rolls over or slides to. A riser is not rolled over."""
    cut = cuts(leg, sole, motion, frames, ground) - CUTS / 2
    return np.where(cut < TOUCH, cut, 0.0).max(1).clip(0)


def cuts(leg: Leg, sole: Sole, motion: Motion, frames: np.ndarray, ground: Ground) -> np.ndarray:
    """(n, S): how much deeper the points of a sole cut the ground after a motion than the floor as animated, in these
    `frames` (n,), all that its leg has; less than 0 where they do not, or there is no ground."""
    tracks = sole.tracks(leg)
    after = motion.of_sole(tracks, sole, leg)
    over = np.repeat(frames, after.shape[1])
    heights = ground.below(after.reshape(-1, 3) + (0.0, 0.0, HEADROOM), over)[0].reshape(after.shape[:2])
    return np.nan_to_num(heights - after[..., 2], nan=-np.inf) - np.maximum(-tracks[..., 2], 0.0)


def smoothly(least: np.ndarray, stands: np.ndarray, fps: float) -> np.ndarray:
    """(..., F): the smooth lift of a foot by `least` (..., F) or more, to a tenth of a millimetre, and by nothing where
    it `stands` (F,) bool."""
    most = np.broadcast_to(np.where(stands, 0.0, np.inf), least.shape)
    return np.where(stands, 0.0, curve_between(np.zeros_like(least), least, most, SETTLE * fps, 0))


def with_toes(clip: Clip, leg: Leg, sole: Sole, prints: list[Footprint], ground: Ground) -> list[Footprint]:
    """Footprints of one foot whose toes do not cut the ground by more than `CUTS` beyond what is animated: with them
    straight if they would when bent, as toes do that are not animated as the sole has them, or whose joint lies high
    above it."""
    bent = [p for p in prints if p.stiff]
    if not bent:
        return prints
    frames = frames_of(bent)
    stands = leg.during(frames)
    motion = in_contact(stands, sole, bent, ground, 1.0, clip.fps)
    cut = cuts(stands, sole, motion, frames, ground)[:, sole.toes(leg)].max(1)
    deepest = np.maximum.reduceat(cut, np.searchsorted(frames, [p.contact.start for p in bent]))
    straight = {p.contact.start for p, deep in zip(bent, deepest, strict=True) if deep > CUTS}
    return [p.stiff if p.stiff and p.contact.start in straight else p for p in prints]


def carried_over(
    clip: Clip, ball: np.ndarray, held: np.ndarray, spans: list[tuple[float, float]], ride: np.ndarray | float
) -> Motion:
    """The motion of a foot that is `held` (F, 9) in its stances, `spans`, carried over the frames between.

    `ball` (F, 3) is that of the animated foot. In the air it takes part in the motion `ride` (F, 3) of the body: it
    climbs with it, and does not hurry ahead.
    """
    out = held.copy()
    out[:, :3] -= ride
    fill(out, spans, ball[:, :2], clip.frames(LEAD), clip.fps)
    out[:, :3] += ride
    return Motion(*np.split(out, 3, 1))


def in_contact(leg: Leg, sole: Sole, prints: list[Footprint], ground: Ground, lock: float, fps: float) -> Motion:
    """The motion of a leg in the n frames of its contacts, which are all that it has, one contact after the other."""
    sizes = [p.contact.stop - p.contact.start for p in prints]
    starts = np.cumsum(sizes) - sizes
    parts = [slice(start, start + size) for start, size in zip(starts, sizes, strict=True)]
    of = np.repeat(np.arange(len(prints)), sizes)
    each = lambda values: np.array(values)[of]  # of each frame what its contact has
    place, tilt = each([p.place for p in prints]), each([p.tilt for p in prints])
    heading = each([(np.cos(p.yaw), np.sin(p.yaw), 0.0) for p in prints])
    hold = each([lock if p.contact.locked else 0.0 for p in prints])
    carried = np.concatenate([
        p.carried(np.arange(p.contact.start, p.contact.stop), sole.plan, ground) for p in prints
    ])
    normal = rotate(carried[:, :3, :3], tilt[:, :, 2])
    gradient = -normal[:, :2] / np.maximum(normal[:, 2:], 1e-6)
    tilts = each(np.logical_or.reduceat(carried[:, 2, 2] < 1 - 1e-6, starts))
    up = np.where(tilts[:, None], normal, UP)
    origin = transform(carried, place)

    tracks, toes = sole.tracks(leg), sole.toes(leg)
    animated = tracks[:, BALL]
    joint = animated if leg.toe is None else leg.toe[:, :3, 3]
    slope = np.where(tilts, 0.0, each(np.maximum.reduceat(length(normal[:, :2]), starts)))
    unsure = np.concatenate([p.contact.unsure for p in prints])
    tracks, joint, lowered, curled = put_down(tracks, joint, sole, toes, prints, fps)
    flatter, joint, pitch, bend = laid_flat(tracks, joint, sole, toes, unsure, parts, hold * kept_down(slope), fps)
    pitch, bend = pitch + lowered, bend + curled  # about the same axis
    heel, ball = flatter[:, HEEL], flatter[:, BALL]
    lower = np.minimum(heel[:, 2], ball[:, 2]).clip(0)
    down = let_down(flatter[..., 2], each([p.gaps for p in prints]))

    w, passing, yaw, hinge = np.ones(len(tracks)), np.full(len(tracks), 1e-9), *np.zeros((2, len(tracks)))
    for p, part in zip(prints, parts, strict=True):
        if not p.contact.locked:  # one frame, in which the ball touches
            continue
        of_heel, of_ball = length(velocity(tracks[part, [HEEL, BALL]], fps)).T
        w[part] = ball_weight(p.contact, of_heel, of_ball, fps)
        passing[part] = np.abs(velocity(w[part], 1.0)) + 1e-9
        yaw[part] = yaw_to_print(heel[part], ball[part], p)
        if p.bend:
            high = float(np.median(joint[part, 2] - ball[part, 2]))
            hinge[part] = hinged(p.bend, max(high, 0.0), float(sole.plan[toes, 0].min()))
    yaw *= hold
    w, hold = w[:, None], hold[:, None]

    def standing(track: np.ndarray, from_ball: np.ndarray) -> np.ndarray:
        """Where a point of the sole belongs: at its place in the footprint or as animated, on the ground and as high
        above it. `from_ball` (n, 3) leads there from the ball on the flat floor. What the lower of heel and ball is
        above the floor is kept upright, unless the ground tilts: what is upright there now is not so a moment later.
        What the other is higher leans with the sole, as it does on a rigid foot."""
        spread = rotate(tilt, from_ball)
        xy = (1 - hold) * (track + spread - from_ball)[:, :2] + hold * transform(carried, place + spread)[:, :2]
        lean = np.maximum(track[:, 2], 0.0) - lower
        z = origin[:, 2] + ((xy - origin[:, :2]) * gradient).sum(1)
        return np.column_stack([xy, z]) + (track[:, 2] - lean - down)[:, None] * up + lean[:, None] * normal

    turn = np.where(hold[..., None] > 0, carried[:, :3, :3] @ tilt, align(UP, normal))
    turn = turn @ from_rotvec(yaw[:, None] * UP)
    by_ball = standing(ball, np.zeros_like(ball))
    # The frames in which one hands the foot over to the other must agree on where it lies.
    apart = np.add.reduceat(passing * length((ball - heel)[:, :2]), starts) / np.add.reduceat(passing, starts)
    by_heel = standing(heel, -each(apart)[:, None] * heading) + rotate(turn, ball - heel)
    place = (1 - w) * by_heel + w * by_ball
    bend = rotate(turn, bend + hinge[:, None] * axis_across(ball - heel))
    if sole.on_toe[BALL]:  # the ball stays in its place; the foot gives way
        from_joint = rotate(turn, ball - joint)
        place = place + from_joint - rotate(from_rotvec(bend), from_joint)
    return Motion(place - animated, to_rotvec(turn @ from_rotvec(pitch)), bend)


def kept_down(slope: np.ndarray) -> np.ndarray:
    """Shares of its height above ground that a point may not have while it stands, on ground whose normals have the
    horizontal lengths `slope`: what rises from tilted ground also moves along it, and slides."""
    return 1 - np.minimum(1.0, SLIP / np.maximum(BAND * slope, 1e-9))


def hinged(rise: float, high: float, ahead: float) -> float:
    """The angle by which toes turn about a joint that is `high` above their sole, so that this, from `ahead` of the
    joint on, comes onto ground that rises by the angle `rise` from under the joint.

    The sole's point (ahead, -high) from the joint, turned, lies on that ground.
    """
    a, b = ahead - high * np.tan(rise), high + ahead * np.tan(rise)
    return float(np.arctan2(b, a) - np.arcsin(high / np.hypot(a, b)))


def yaw_to_print(heel: np.ndarray, ball: np.ndarray, p: Footprint) -> np.ndarray:
    """Angles (n,) that turn the animated foot to its footprint while heel and ball touch, held where only one does."""
    way = (ball - heel)[:, :2]
    yaw = np.unwrap(p.yaw - np.arctan2(way[:, 1], way[:, 0]))
    yaw -= 2 * np.pi * np.round(np.median(yaw) / (2 * np.pi))
    flat = np.flatnonzero(p.contact.heel & p.contact.ball)
    if not len(flat):
        return np.zeros(len(yaw))
    return np.interp(np.arange(len(yaw)), flat, yaw[flat])


def ball_weight(contact: Contact, heel_speed: np.ndarray, ball_speed: np.ndarray, fps: float) -> np.ndarray:
    """(n,): how much the ball, and not the heel, holds the foot.

    It passes over only while both touch, or around the moment at which one leaves and the other lands; then when that
    leaves the least way to the point that is then not held fast, from their animated speeds (n,), and takes at least
    half of that time.
    """
    n = len(heel_speed)
    w = np.where(contact.ball & ~contact.heel, 1.0, 0.0)
    passing = contact.heel & contact.ball
    for k in 1 + np.flatnonzero((np.diff(w) != 0) & ~passing[1:] & ~passing[:-1]):
        half = max(1, round(HOP * fps / 2))
        passing[max(k - half, 0) : k + half] = True
    for a, b in runs(passing):
        before = w[a - 1] if a > 0 else (w[b] if b < n else 1.0)
        after = w[b] if b < n else before
        way = np.cumsum((heel_speed - ball_speed)[a:b]) * (after - before)
        moment = int(np.append(0.0, way).argmin())
        half = max(min(moment, b - a - moment), (b - a) / 4)
        x = ((np.arange(b - a) + 0.5 - moment) / half + 1) / 2
        w[a:b] = before + (after - before) * quintic(x.clip(0, 1))
    return w


def let_down(heights: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    """(n,): how far a foot that rolls over heel or ball, or over an edge, is let down from the plane of its sole, until
    it touches.

    `heights` (n, S) are those of the animated sole, `gaps` (n, S) what the ground lies below the resting sole.
    """
    raised = np.maximum(heights - heights.min(1, keepdims=True).clip(0), 0.0)
    return np.minimum((raised + gaps).min(1), TOUCH)


def fill(
    values: np.ndarray, spans: list[tuple[float, float]], way: np.ndarray, lead: float, fps: float
) -> None:
    """Fill, in place, the frames of values (F, C) between the stances, `spans`, in whose frames they are known, while
    the animated foot goes its level `way` (F, 2); they leave and arrive with the speed of the known.

    Before the first stance and after the last, the value loses its speed within `lead` frames and stays.
    """
    if not spans:
        values[:] = 0.0
        return
    landings, leavings = zip(*(ends_of(values, span, fps) for span in spans), strict=True)
    for leave, land in zip(leavings, landings[1:], strict=False):
        between = slice(leave.frame + 1, land.frame)
        values[between] = passing_over(leave, land, np.arange(len(values))[between], way, fps)
    for end, beyond in ((landings[0], slice(landings[0].frame)), (leavings[-1], slice(leavings[-1].frame + 1, None))):
        x = np.minimum(np.abs(np.arange(len(values))[beyond] - end.moment) / lead, 1.0)[:, None]
        values[beyond] = end.value + lead * end.away * (x - 2.5 * x**4 + 3 * x**5 - x**6)


def passing_over(leave: End, land: End, frames: np.ndarray, way: np.ndarray, fps: float) -> np.ndarray:
    """(n, C): from where one stance ends to where the next begins, in these frames (n,) between them.

    By what the foot is moved level, the first two columns, is spread over the way (F, 2) that it gets along as
    animated, so that a stride becomes longer or shorter as a whole: a foot that skates would else hang back in the air
    and then shoot forward. The shorter the way is, compared with how far the foot goes astray from its ends and with
    what is to be spread, the less. The rest, heights and turns too, is a quintic in time.
    """
    beside = SPEED * fps
    moments = np.array([leave.moment, land.moment, leave.moment - beside, land.moment + beside])
    begin, end, before, behind = cubic(way, moments.clip(0, len(way) - 1))
    ahead, on_way = end - begin, way[frames]
    change = (land.value - leave.value) * (np.arange(len(leave.value)) < 2)
    astray = max(np.square(on_way - point).sum(1).max(initial=ahead @ ahead) for point in (begin, end))
    spread = change[:, None] * ahead / max(astray + change @ change, 1e-12)  # (C, 2)
    off = leave._replace(value=0 * leave.value, away=leave.away - spread @ (begin - before) / beside)
    rest = land.value - leave.value - spread @ ahead
    on = land._replace(value=rest, away=land.away + spread @ (behind - end) / beside)
    return leave.value + (on_way - begin) @ spread.T + hermite(off, on, frames)


class End(NamedTuple):
    """Where a stance begins or ends."""

    frame: int
    """The first or last frame in it."""
    moment: float
    """Frames and parts of frames."""
    value: np.ndarray
    """(C,): what is known, carried on to that moment."""
    away: np.ndarray
    """(C,): its change per frame toward what lies beyond."""


def ends_of(values: np.ndarray, span: tuple[float, float], fps: float) -> tuple[End, End]:
    """The ends of a stance in values (F, C). Their speed is the mean over `SPEED` beside them.

    A parabola would follow a foot that gathers speed more closely, but it also follows the jitter of captured feet.
    """
    frames = frames_in(*span)
    known = values[frames]
    n = min(max(1, round(SPEED * fps)), len(known) - 1)
    before, behind = (known[0] - known[n]) / max(n, 1), (known[-1] - known[-1 - n]) / max(n, 1)
    first, last = frames.start, frames.stop - 1
    return (
        End(first, span[0], known[0] + (first - span[0]) * before, before),
        End(last, span[1], known[-1] + (span[1] - last) * behind, behind),
    )


def hermite(leave: End, land: End, frames: np.ndarray) -> np.ndarray:
    """The quintic (n, C) from where one stance ends to where the next begins, with their speeds and no acceleration at
    either end, in these frames (n,)."""
    length = land.moment - leave.moment
    x = ((frames - leave.moment) / length)[:, None]
    rise = x - 6 * x**3 + 8 * x**4 - 3 * x**5
    fall = -4 * x**3 + 7 * x**4 - 3 * x**5
    way = leave.value + (land.value - leave.value) * quintic(x)
    return way + length * (leave.away * rise - land.away * fall)
