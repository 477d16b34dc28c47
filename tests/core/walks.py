"""A walker made in code: two legs with toes that strike with the heel, roll and push off, as a `core.clip.Clip`.

Written in the metres of a 0.9 m leg and handed out in legs. Everything is a C2 function of time, so the same walk at
another frame rate is the same motion, and what the feet do is known: `truth` tells when heel and ball really stand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from foot_ik_addon.core.clip import LEG, Clip, Leg, smoothed

FINE = 240
"""Frames a second of the motion before it is sampled; every `fps` divides it."""
THIGH, SHIN, HIPS_WIDE = 0.45, 0.45, 0.09
ANKLE = np.array([-0.14, 0.0, 0.09])
"""From the spot under the ball joint: along the foot, across, up."""
BALL = np.array([0.0, 0.0, 0.02])
HEEL = np.array([-0.19, 0.0, 0.0])
MOST_EXTENDED = 0.97
BONE_AXES = 1.7
"""Length of the axes of the bones' matrices: rigs are scaled, and nothing may rely on unit axes."""
MARGIN = 1.0
"""Seconds that are made before and after the clip and cut off."""
LEFT, RIGHT = 0, 1
UP = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Print:
    """A foot that stands at `spot` (3,) metres (under the ball; z is the floor there), from `land` to `leave`
    seconds."""

    spot: tuple[float, float, float]
    yaw: float
    land: float
    leave: float
    strike: float = 20.0
    """Degrees by which the toes are up at landing."""
    roll: float = 45.0
    """Degrees by which the heel is up at leaving."""
    skate: tuple[float, float] = (0.0, 0.0)
    """Metres a second with which the foot slips while it stands."""
    held: bool = False
    """Held in the air: this is no contact."""

    @property
    def flat(self) -> float:
        """The time at which the ball is down."""
        return self.land + (0.1 if self.strike else 0.0)

    @property
    def rise(self) -> float:
        """The time from which the heel is up."""
        return max(self.leave - 0.25, self.flat + 0.05) if self.roll else self.leave


@dataclass(frozen=True)
class Walk:
    """Who walks where. Prints of the left and the right foot in order of time."""

    prints: tuple[tuple[Print, ...], tuple[Print, ...]]
    seconds: float
    fps: float = 30.0
    lift: float = 0.07
    toes: bool = True
    belt: tuple[float, float] = (0.0, 0.0)
    """Metres a second with which everything is carried back: an in-place cycle."""
    straight: bool = False
    """Stand with knees all but straight."""

    @property
    def count(self) -> int:
        return round(self.seconds * self.fps) + 1


def smooth(x: np.ndarray) -> np.ndarray:
    """The C2 step from 0 to 1."""
    x = np.clip(x, 0, 1)
    return x**3 * (10 - 15 * x + 6 * x * x)


def heading(angle: float) -> np.ndarray:
    return np.array([np.cos(angle), np.sin(angle), 0.0])


# Walks


def stride(
    steps: int = 6,
    length: float = 0.6,
    time: float = 0.5,
    swing: float = 0.8,
    *,
    fps: float = 30.0,
    way: float = np.pi / 2,
    face: float | None = None,
    width: float = 0.1,
    skate: float = 0.0,
    strike: float = 20.0,
    roll: float = 45.0,
    lift: float = 0.07,
    seconds: float | None = None,
    **more,
) -> Walk:
    """Steps of one length toward the angle `way`, facing `face`; the clip begins and ends in full walk.

    `swing` is how long a foot is in the air, in step times: over 1 it is a run. `skate` is forward slip in m/s.
    """
    face = way if face is None else face
    across = heading(face + np.pi / 2)
    feet: list[list[Print]] = [[], []]
    for n in range(-4, steps + 5):
        side = n % 2
        spot = n * length * heading(way) + across * (width if side == LEFT else -width)
        land = n * time
        feet[side].append(
            Print(tuple(spot), face, land, land + (2 - swing) * time, strike, roll, tuple(skate * heading(way)[:2]))
        )
    return Walk((tuple(feet[0]), tuple(feet[1])), steps * time if seconds is None else seconds, fps, lift, **more)


def run(steps: int = 8, **more) -> Walk:
    """Flight between the steps: each foot stands for 0.6 of a step time."""
    return stride(**{"steps": steps, "length": 1.0, "time": 0.34, "swing": 1.4, "lift": 0.15, **more})


def backwards(**more) -> Walk:
    """Steps backward, set down flat."""
    return stride(**{"length": -0.4, "strike": 0.0, "roll": 20.0, **more})


def sideways(**more) -> Walk:
    """Steps to the right, set down flat: one foot leads, the other is drawn in behind it."""
    return stride(**{"way": 0.0, "face": np.pi / 2, "length": 0.25, "strike": 0.0, "roll": 0.0, "width": 0.16, **more})


def shuffle(**more) -> Walk:
    """Small steps that hardly leave the floor."""
    return stride(**{"length": 0.15, "time": 0.4, "strike": 0.0, "roll": 8.0, "lift": 0.012, **more})


def standing(seconds: float = 4.0, fps: float = 30.0, **more) -> Walk:
    """Both feet stand, all the time."""
    return Walk(
        tuple((Print((x, 0.0, 0.0), np.pi / 2, -9.0, 99.0, 0.0, 0.0),) for x in (-0.1, 0.1)), seconds, fps, **more
    )


def turning(steps: int = 8, angle: float = 0.5, time: float = 0.6, fps: float = 30.0, **more) -> Walk:
    """A turn on the spot: each step turns on by `angle` radians, flat feet."""
    feet: list[list[Print]] = [[], []]
    for n in range(-4, steps + 5):
        side, face = n % 2, np.pi / 2 + n * angle
        spot = heading(face + np.pi / 2) * (0.12 if side == LEFT else -0.12)
        feet[side].append(Print(tuple(spot), face, n * time, (n + 1.2) * time, 0.0, 0.0))
    return Walk((tuple(feet[0]), tuple(feet[1])), steps * time, fps, **more)


def circling(steps: int = 4, angle: float = 0.4, radius: float = 1.5, skate: float = 0.0, **more) -> Walk:
    """A walk around the origin, each step on by `angle` radians to the left; `skate` is forward slip in m/s."""
    feet: list[list[Print]] = [[], []]
    for n in range(-4, steps + 5):
        side, at = n % 2, n * angle
        spot = heading(at) * (radius + (-0.1 if side == LEFT else 0.1))
        slip = tuple(skate * heading(at + np.pi / 2)[:2])
        feet[side].append(Print(tuple(spot), at + np.pi / 2, 0.5 * n, 0.5 * n + 0.6, skate=slip))
    return Walk((tuple(feet[0]), tuple(feet[1])), steps * 0.5, **more)


def jump(fps: float = 30.0, **more) -> Walk:
    """Stand, take off with both feet at 1 s, land 0.6 m ahead at 1.5 s, stand."""
    return Walk(
        tuple(
            (
                Print((x, 0.0, 0.0), np.pi / 2, -9.0, 1.0, 0.0, 30.0),
                Print((x, 0.6, 0.0), np.pi / 2, 1.5, 99.0, 0.0, 0.0),
            )
            for x in (-0.1, 0.1)
        ),
        3.0,
        fps,
        **{"lift": 0.3, **more},
    )


def sprint(**more) -> Walk:
    """Half of the time in flight; each foot stands for an eighth of a second."""
    return run(**{"length": 1.6, "time": 0.25, "swing": 1.5, **more})


def crossing(**more) -> Walk:
    """Steps to the right, each foot set down across the other."""
    return sideways(**{"length": 0.35, "roll": 15.0, "width": 0.05, **more})


def march(**more) -> Walk:
    """Knees lifted high, on the spot."""
    return stride(**{"length": 0.0, "lift": 0.25, "strike": 0.0, "roll": 30.0, **more})


def hop(fps: float = 30.0, **more) -> Walk:
    """Hops ahead on the left foot, the right held up."""
    left = (Print((0.0, 0.35 * n, 0.0), np.pi / 2, 0.5 * n - 0.6, 0.5 * n - 0.25, 0.0, 20.0) for n in range(9))
    right = Print((0.1, -0.2, 0.35), np.pi / 2, -9.0, 99.0, 0.0, 0.0, held=True)
    return Walk((tuple(left), (right,)), 3.0, fps, **{"lift": 0.12, **more})


def kick(fps: float = 30.0, height: float = 0.45, **more) -> Walk:
    """Stand; the right foot is kicked forward, held still in the air from 1.3 to 2.3 s, and put back."""
    home, air = (0.1, 0.0, 0.0), (0.1, 0.45, height)
    right = (
        Print(home, np.pi / 2, -9.0, 1.0, 0.0, 0.0),
        Print(air, np.pi / 2, 1.3, 2.3, 0.0, 0.0, held=True),
        Print(home, np.pi / 2, 2.7, 99.0, 0.0, 0.0),
    )
    return Walk((standing().prints[LEFT], right), 4.0, fps, **{"lift": 0.0, **more})


def start_stop(fps: float = 30.0, **more) -> Walk:
    """Stand, walk four steps, stand."""
    feet: list[list[Print]] = [[], []]
    for side, x in ((LEFT, -0.1), (RIGHT, 0.1)):
        lands = [(1.0 + 0.5 * n, min(0.6 * n, 2.4)) for n in range(1, 6) if n % 2 != side]
        places = [(-9.0, 0.0), *lands]
        for (land, y), after in zip(places, [*places[1:], None]):
            leave = after[0] - 0.4 if after else 99.0
            feet[side].append(
                Print((x, y, 0.0), np.pi / 2, land, leave, 15.0 if land > 0 else 0.0, 35.0 if after else 0.0)
            )
    return Walk((tuple(feet[0]), tuple(feet[1])), 5.0, fps, **more)


def on_floor(walk: Walk, height) -> Walk:
    """The same walk captured on a floor that is not flat: `height(x, y)` metres at each print."""
    raised = lambda p: replace(p, spot=(p.spot[0], p.spot[1], p.spot[2] + float(height(p.spot[0], p.spot[1]))))
    return replace(walk, prints=tuple(tuple(map(raised, foot)) for foot in walk.prints))


def turned(walk: Walk, angle: float) -> Walk:
    """The same walk with the whole scene turned about z."""

    def spun(v):
        c, s = np.cos(angle), np.sin(angle)
        return (c * v[0] - s * v[1], s * v[0] + c * v[1], *v[2:])

    foot = lambda prints: tuple(replace(p, spot=spun(p.spot), yaw=p.yaw + angle, skate=spun(p.skate)) for p in prints)
    return replace(walk, prints=tuple(map(foot, walk.prints)), belt=spun(walk.belt))


# The motion


def pitched(angle: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Offsets (3,) along, across, up after the toes were turned up by angles (T,)."""
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([c * offset[0] - s * offset[2], np.full_like(c, offset[1]), s * offset[0] + c * offset[2]], 1)


def level(yaw: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Vectors (T, 3) along, across, up brought to the world by yaws (T,)."""
    c, s = np.cos(yaw), np.sin(yaw)
    return np.stack([c * v[:, 0] - s * v[:, 1], s * v[:, 0] + c * v[:, 1], v[:, 2]], 1)


def on_print(p: Print, t: np.ndarray) -> np.ndarray:
    """(T, 6): ball joint, yaw, pitch of the foot and of the toes, all up positive, on one print."""
    strike = np.radians(p.strike) * (1 - smooth((t - p.land + 0.06) / (p.flat - p.land + 0.06)))
    roll = np.radians(p.roll) * smooth((t - p.rise) / (1.35 * max(p.leave - p.rise, 1e-6)))
    down = pitched(strike, BALL - HEEL) + HEEL  # about the heel
    spot = np.array(p.spot) + np.outer(t - np.clip(0.5 * (p.land + p.leave), -99, 99), (*p.skate, 0.0))
    yaw = np.full_like(t, p.yaw)
    return np.column_stack([spot + level(yaw, down), yaw, strike - roll, strike])


def foot_motion(prints: tuple[Print, ...], t: np.ndarray, lift: float) -> np.ndarray:
    """(T, 6) as in `on_print`, over all prints and the swings between them."""
    out = on_print(prints[0], t)
    for a, b in zip(prints, prints[1:]):
        x = np.clip((t - a.leave) / max(b.land - a.leave, 1e-6), 0, 1)
        s = smooth(x)[:, None]
        out = np.where(t[:, None] >= a.leave, (1 - s) * on_print(a, t) + s * on_print(b, t), out)
        out[:, 2] += lift * 64 * (x * (1 - x)) ** 3
    return out


@cache
def clip_of(walk: Walk) -> Clip:
    """The walk as the planner reads it. Kept: many tests read the same one, and none writes to it."""
    step = round(FINE / walk.fps)
    assert step * walk.fps == FINE, "choose a frame rate that divides 240"
    pad = round(MARGIN * FINE)
    t = (np.arange((walk.count - 1) * step + 1 + 2 * pad) - pad) / FINE
    feet = [foot_motion(prints, t, walk.lift) for prints in walk.prints]
    yaw = smoothed(np.mean([f[:, 3] for f in feet], 0), 0.2 * FINE)
    body = smoothed(np.mean([f[:, :3] for f in feet], 0), 0.15 * FINE) * (1, 1, 0)
    body = body + level(yaw, np.tile((-0.06, 0.0, 0.0), (len(t), 1)))
    ankles = [f[:, :3] + level(f[:, 3], pitched(f[:, 4], ANKLE - BALL)) for f in feet]
    hips = [body + level(yaw, np.tile((0.0, x, 0.0), (len(t), 1))) for x in (HIPS_WIDE, -HIPS_WIDE)]
    full = (THIGH + SHIN) * (0.9995 if walk.straight else MOST_EXTENDED)
    room = [a[:, 2] + np.sqrt(np.maximum(full**2 - ((h - a)[:, :2] ** 2).sum(1), 0.1)) for h, a in zip(hips, ankles)]
    highest = np.min(room, 0)
    height = highest if walk.straight else smoothed(lowered(highest, round(0.1 * FINE)), 0.07 * FINE) - 0.01
    back = np.outer(t, (*walk.belt, 0.0)) if any(walk.belt) else np.zeros((len(t), 3))
    keep = slice(pad, len(t) - pad, step)
    legs = []
    for hip, ankle, foot in zip(hips, ankles, feet):
        hip = hip + height[:, None] * UP + back
        ankle, ball = ankle + back, foot[:, :3] + back
        knee = knee_between(hip, ankle, level(yaw, np.tile((1.0, 0.0, 0.0), (len(t), 1))))
        joints = np.stack([hip, knee, ankle], 1)
        toe = pose_of(ball, foot[:, 3], foot[:, 5])[keep] if walk.toes else None
        legs.append(Leg(joints[keep] * LEG, pose_of(ankle, foot[:, 3], foot[:, 4])[keep], toe))
    pelvis = (body + height[:, None] * UP + back)[keep] * LEG
    return Clip(walk.fps, pelvis, tuple(legs))


def lowered(track: np.ndarray, reach: int) -> np.ndarray:
    """(T,): the least of a track within `reach` frames."""
    padded = np.pad(track, reach, mode="edge")
    return np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1).min(1)


def knee_between(hip: np.ndarray, ankle: np.ndarray, forward: np.ndarray) -> np.ndarray:
    """Knees (T, 3) that bend forward."""
    way = ankle - hip
    d = np.linalg.norm(way, axis=1, keepdims=True)
    axis = way / d
    bend = forward - (forward * axis).sum(1, keepdims=True) * axis
    bend /= np.linalg.norm(bend, axis=1, keepdims=True)
    along = (THIGH**2 - SHIN**2 + d**2) / (2 * d)
    return hip + along * axis + np.sqrt(np.maximum(THIGH**2 - along**2, 0)) * bend


def pose_of(head: np.ndarray, yaw: np.ndarray, pitch: np.ndarray) -> np.ndarray:
    """(T, 4, 4): matrices of bones with these heads in metres, y along the foot; in legs."""
    ahead = level(yaw, pitched(pitch, np.array([1.0, 0, 0])))
    above = level(yaw, pitched(pitch, np.array([0, 0, 1.0])))
    out = np.tile(np.eye(4), (len(head), 1, 1))
    out[:, :3, :3] = np.stack([np.cross(ahead, above), ahead, above], 2) * BONE_AXES
    out[:, :3, 3] = head * LEG
    return out


def truth(walk: Walk, side: int) -> tuple[np.ndarray, np.ndarray]:
    """(F,) bool each: when the heel and the ball of a foot really stand."""
    t = np.arange(walk.count) / walk.fps
    heel, ball = np.zeros((2, walk.count), bool)
    for p in walk.prints[side]:
        if not p.held:
            heel |= (t >= p.land) & (t <= p.rise)
            ball |= (t >= p.flat) & (t <= p.leave)
    return heel, ball


# Clips from clips


def mirrored(clip: Clip) -> Clip:
    """The clip in a mirror x -> -x; the legs keep their places in the list."""

    def pose(m):
        return m if m is None else np.diag([-1.0, 1, 1, 1]) @ m @ np.diag([-1.0, 1, 1, 1])

    flip = np.array([-1.0, 1, 1])
    return Clip(
        clip.fps, clip.pelvis * flip, tuple(Leg(leg.joints * flip, pose(leg.foot), pose(leg.toe)) for leg in clip.legs)
    )


def part(clip: Clip, start: int, stop: int) -> Clip:
    """Some frames of a clip."""
    span = slice(start, stop)
    return Clip(
        clip.fps,
        clip.pelvis[span],
        tuple(Leg(leg.joints[span], leg.foot[span], None if leg.toe is None else leg.toe[span]) for leg in clip.legs),
    )


def moved_by(clip: Clip, track: np.ndarray) -> Clip:
    """The clip carried along by a track (F, 3), or one vector, in legs."""
    track = np.broadcast_to(track, (len(clip), 3))

    def pose(m):
        if m is None:
            return None
        out = m.copy()
        out[:, :3, 3] += track
        return out

    return Clip(
        clip.fps,
        clip.pelvis + track,
        tuple(Leg(leg.joints + track[:, None], pose(leg.foot), pose(leg.toe)) for leg in clip.legs),
    )
