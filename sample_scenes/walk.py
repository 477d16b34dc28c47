"""A walk for the mannequin on the flat floor z = 0, made in code.

The feet are placed first: footprints in time, a rolling foot on each, a swing between them. The pelvis
follows the footprints, the legs are solved onto the feet, the upper body counters. All of it is a function
of time, keyed as rotations of every bone plus the location of the hips.

Rotations are in armature space and measured from the rest pose ("turns"). The character walks along -Y.
"""

from dataclasses import dataclass
from math import cos, exp, inf, log, pi, radians, sin

from mathutils import Matrix, Quaternion, Vector

from . import mannequin

THIGH, SHIN = (mannequin.KNEE - mannequin.HIP).length, (mannequin.ANKLE - mannequin.KNEE).length
TOE_JOINT = mannequin.BALL - mannequin.ANKLE  # from the ankle, in rest; the same on both sides
HEEL = mannequin.SOLE["heel"][1] - mannequin.ANKLE
LEGS = ("hips", "thigh", "shin", "foot", "toe")
SIDES = {"L": 1.0, "R": -1.0}


@dataclass(frozen=True)
class Gait:
    """How to walk. Metres, seconds, degrees."""

    steps: int = 8
    step_length: float = 0.65
    step_time: float = 0.5
    from_stand: bool = False  # else the clip begins in full walk
    to_stand: bool = False  # the last step closes the feet
    hold: float = 0.0  # seconds after the last step
    phase: float = 0.0  # steps of the walk that lie before the first frame
    skate: float = 0.0  # metres per second that a foot slips forward while it stands
    swing_time: float = 0.8  # in step times
    lift: float = 0.085  # of the swinging foot
    width: float = 0.075  # of each foot from the middle line
    toe_out: float = 6.0
    strike: float = 20.0  # toe up at heel strike
    roll: float = 46.0  # heel up at toe-off
    drop: float = 0.027  # of the hips below rest, on average

    @property
    def stride_share(self):
        """Step length against a full-size step; scales what grows with the stride."""
        return min(self.step_length / 0.65, 1.15)


@dataclass(frozen=True)
class Print:
    """A footprint: where the ankle stands at rest height, from `land` to `leave` (seconds)."""

    spot: Vector
    land: float
    leave: float
    strike: float  # share of the full toe-up at landing
    roll: float  # share of the full heel-up at leaving


def smooth(x):
    """Quintic step from 0 to 1, C2 at both ends."""
    x = min(max(x, 0.0), 1.0)
    return x * x * x * (10.0 - 15.0 * x + 6.0 * x * x)


def pitch(degrees):
    """Turn that lifts what points forward, and swings forward what hangs."""
    return Quaternion((1, 0, 0), -radians(degrees))


def yaw(degrees):
    """Turn to the left."""
    return Quaternion((0, 0, 1), radians(degrees))


def roll(degrees):
    """Turn that lowers the left side."""
    return Quaternion((0, 1, 0), radians(degrees))


class Walk:
    """One walk as a function of time: `turns(t)` gives the pose, the rest is how it comes about."""

    def __init__(self, gait):
        self.gait = gait
        self.first = 1 if gait.from_stand else -3
        self.last = gait.steps + (0 if gait.to_stand else 3)
        self.tracks = {side: self.lay_prints(side) for side in SIDES}
        self.seconds = self.landing(gait.steps) + gait.hold

    def landing(self, step):
        """Time at which `step` lands: step 0 lands `phase` steps before the clip, or step 1 swings soon after."""
        g = self.gait
        wait = 0.3 + g.swing_time - 1.0 if g.from_stand else -g.phase
        return (step + wait) * g.step_time

    def reach(self, step):
        """Forward place of `step`; where the walk starts or ends in a stand two steps lie side by side."""
        if self.gait.from_stand:
            step = max(step, 0)
        return self.gait.step_length * (min(step, self.last - 1) if self.gait.to_stand else step)

    def lay_prints(self, side):
        """The footprints of one side in order of landing; even steps are left."""
        g, prints = self.gait, []
        for step in range(self.first - 2, self.last + 1):
            if "LR"[step % 2] != side:
                continue
            begins, stays = step < self.first, g.to_stand and step > self.last - 2
            swung, swings = self.reach(step) - self.reach(step - 2), self.reach(step + 2) - self.reach(step)
            prints.append(Print(
                spot=Vector((SIDES[side] * g.width, -self.reach(step), mannequin.ANKLE.z)),
                land=-inf if begins else self.landing(step),
                leave=inf if stays else self.landing(step + 2) - g.swing_time * g.step_time,
                strike=min(swung / 1.3, 1.15),
                roll=min(swings / 1.3 + 0.1, 1.15)))
        return prints

    # The feet

    def standing(self, side, p, t):
        """Toe joint, pitch of the foot and pitch of the toe (degrees, up positive) on print `p`."""
        g, turn = self.gait, yaw(SIDES[side] * self.gait.toe_out)
        spot = p.spot.copy()
        if -inf < p.land and p.leave < inf:
            spot.y -= g.skate * (t - 0.5 * (p.land + p.leave))
        down = 1.0 - smooth((t - p.land) / (0.22 * g.step_time))
        if down > 0.0:
            tilt = g.strike * p.strike * down
            return spot + turn @ (HEEL + pitch(tilt) @ (TOE_JOINT - HEEL)), tilt, tilt
        rise = max(1.0 - (p.leave - t) / (0.66 * g.step_time), 0.0)
        return spot + turn @ TOE_JOINT, -g.roll * p.roll * rise ** 2.4, 0.0

    def foot(self, side, t):
        """Toe joint, pitch of the foot and pitch of the toe at time `t`, on a print or swinging between two."""
        track = self.tracks[side]
        here = max((p for p in track if p.land <= t), key=lambda p: p.land)
        if t <= here.leave:
            return self.standing(side, here, t)
        there = track[track.index(here) + 1]
        span, h = there.land - here.leave, 0.01
        travel = there.spot - here.spot
        x, long = (t - here.leave) / span, travel.length / 1.3

        def ends(part, push):
            """Value, velocity and acceleration of the standing foot where the swing begins and ends."""
            for p, at, way in ((here, here.leave, -h), (there, there.land, h)):
                a, b, c = (self.standing(side, p, at + i * way)[part] for i in (0, 1, 2))
                kick = 3.0 * push if p is here else -9.0 * push
                yield a, (4.0 * b - c - 3.0 * a) * (0.5 / way) * span, (a - 2.0 * b + c) * (span * span / h / h) + kick

        joint = quintic(x, *ends(0, travel))
        joint.z += self.gait.lift * (0.4 + 0.6 * long) * bump(x)
        tilt = quintic(x, *ends(1, 0.0))
        return joint, tilt, tilt + self.gait.roll * here.roll * (1.0 - smooth(x / 0.6))

    # The body

    def going(self, t):
        """1 in full walk, 0 in a stand."""
        g = self.gait
        up = smooth((t + 0.1) / (1.2 * g.step_time)) if g.from_stand else 1.0
        down = smooth((self.landing(self.last) + 0.35 - t) / (1.6 * g.step_time)) if g.to_stand else 1.0
        return up * down

    def forward(self, t):
        """How far the pelvis has come: between the two feet of each double support, smoothed in time."""
        g, total, weights = self.gait, 0.0, 0.0
        for i in range(-12, 13):
            at, weight = t + i * 0.11 * g.step_time, exp(-0.5 * (i / 4.0) ** 2)
            k = (at - self.landing(0)) / g.step_time - 0.1
            low = int(k // 1)
            mids = [0.5 * (self.reach(n) + self.reach(n - 1)) for n in (low, low + 1)]
            total, weights = total + weight * (mids[0] + (k - low) * (mids[1] - mids[0])), weights + weight
        return total / weights

    def turns(self, t):
        """Place of the hips bone's head and the turn of every bone from rest, at time `t`."""
        g, go = self.gait, self.going(t)
        size = go * g.stride_share
        beat = pi * (t - self.landing(0)) / g.step_time  # even steps are left
        stride, sway = cos(beat), sin(beat - 0.25)
        turn = {"root": Quaternion()}
        turn["hips"] = yaw(-6.0 * size * stride) @ roll(-3.5 * go * sway) @ pitch(-3.0 * go)
        place = Vector((
            0.022 * go * sway,
            -self.forward(t) - 0.012 * go - 0.006 * size * sin(2.0 * beat),
            mannequin.TRUNK["hips"][1].z - 0.012 - (g.drop - 0.012) * go - 0.021 * size * cos(2.0 * beat - 0.55)))
        place.z = self.in_reach(place, turn["hips"], t)
        chest = yaw(6.5 * size * cos(beat - 0.2)) @ roll(1.6 * go * sway) @ pitch(-3.5 * go)
        turn["spine"] = turn["hips"].slerp(chest, 0.35)
        turn["chest"] = turn["hips"].slerp(chest, 0.75)
        turn["upper_chest"] = chest
        turn["head"] = yaw(1.5 * size * cos(beat - 0.2)) @ pitch(-1.0 * go + 0.8 * size * cos(2.0 * beat))
        turn["neck"] = chest.slerp(turn["head"], 0.5)
        for side, sign in SIDES.items():
            self.turn_arm(turn, side, sign, size, -sign * cos(beat - 0.25), -sign * cos(beat - 0.7))
            self.turn_leg(turn, side, place, t)
        return place, turn

    def hip_and_ankle(self, side, place, hips, t):
        """Hip joint and ankle of one leg, the hips bone being at `place` with turn `hips`."""
        joint, tilt, _ = self.foot(side, t)
        ankle = joint - yaw(SIDES[side] * self.gait.toe_out) @ pitch(tilt) @ TOE_JOINT
        hip = Vector((SIDES[side] * mannequin.HIP.x, 0, mannequin.HIP.z)) - mannequin.TRUNK["hips"][1]
        return place + hips @ hip, ankle

    def in_reach(self, place, hips, t):
        """Height of the pelvis, lowered softly to where both legs reach their feet with a bent knee."""
        soft, heights = 0.004, [place.z]
        for side in SIDES:
            hip, ankle = self.hip_and_ankle(side, place, hips, t)
            height = (0.994 * (THIGH + SHIN)) ** 2 - (ankle - hip).xy.length_squared
            heights.append(ankle.z + max(height, 0.0) ** 0.5 + place.z - hip.z)
        low = min(heights)
        return low - soft * log(sum(exp((low - z) / soft) for z in heights))

    @staticmethod
    def turn_arm(turn, side, sign, size, swing, late):
        """Arm hanging from the chest, swung against the leg of its side, the forearm a little behind."""
        chest = turn["upper_chest"]
        hang = roll(sign * 31.0)
        turn["shoulder." + side] = chest @ yaw(sign * -2.5 * size * swing) @ roll(sign * 2.0)
        turn["upper_arm." + side] = chest @ pitch(2.0 + size * (19.0 * swing - 1.0)) @ hang
        bend = 12.0 + size * (19.0 * swing + 5.0 + 7.0 * late)
        turn["forearm." + side] = chest @ pitch(bend) @ yaw(sign * -6.0) @ hang
        turn["hand." + side] = chest @ pitch(bend + 6.0 + 5.0 * size * late) @ yaw(sign * -10.0) @ hang
        turn["fingers." + side] = chest @ pitch(bend + 20.0 + 5.0 * size * late) @ yaw(sign * -10.0) @ hang

    def turn_leg(self, turn, side, place, t):
        """Two-bone solve from the hip onto the ankle, the knee bent forward over the foot."""
        _, tilt, toe = self.foot(side, t)
        heading = yaw(SIDES[side] * self.gait.toe_out)
        turn["foot." + side] = heading @ pitch(tilt)
        turn["toe." + side] = heading @ pitch(toe)
        hip, ankle = self.hip_and_ankle(side, place, turn["hips"], t)
        leg = ankle - hip
        reach = min(leg.length, (THIGH + SHIN) * 0.9999)
        along = (THIGH * THIGH - SHIN * SHIN + reach * reach) / (2.0 * reach)
        hinge = heading.slerp(turn["hips"], 0.5) @ Vector((1, 0, 0))
        front = leg.cross(hinge).normalized()
        knee = hip + leg.normalized() * along + front * (THIGH * THIGH - along * along) ** 0.5
        hinge = front.cross(leg)
        rest = {name: mannequin.LIMBS[name][2] - mannequin.LIMBS[name][1] for name in ("thigh", "shin")}
        turn["thigh." + side] = aim(rest["thigh"], knee - hip, hinge)
        turn["shin." + side] = aim(rest["shin"], ankle - knee, hinge)


def bump(x):
    """Height 1 a little before the middle, C1 at both ends."""
    return 12.56 * x ** 1.6 * (1.0 - x) ** 2.1 if 0.0 < x < 1.0 else 0.0


def quintic(x, begin, end):
    """Fifth-degree curve at x in 0..1 between two (value, velocity, acceleration)."""
    (p0, v0, a0), (p1, v1, a1) = begin, end
    d, e, f = p1 - p0 - v0 - 0.5 * a0, v1 - v0 - a0, a1 - a0
    return p0 + v0 * x + 0.5 * a0 * (x * x) + (10 * d - 4 * e + 0.5 * f) * x ** 3 \
        + (-15 * d + 7 * e - f) * x ** 4 + (6 * d - 3 * e + 0.5 * f) * x ** 5


def aim(rest, way, hinge):
    """Turn that brings the rest direction `rest` (hinged about X) to `way`, hinged about `hinge`."""
    def frame(y, x):
        y = y.normalized()
        x = (x - y * x.dot(y)).normalized()
        return Matrix((x, y, x.cross(y))).transposed()
    return (frame(way, hinge) @ frame(rest, Vector((1, 0, 0))).transposed()).to_quaternion()


def key(rig, gait, start=1):
    """Key the walk on `rig` from frame `start` on, legs in every frame, arms on twos; returns the last frame."""
    fps = rig.users_scene[0].render.fps
    walk, before = Walk(gait), {}
    data, pose = rig.data.bones, rig.pose.bones
    rest = {bone.name: bone.matrix_local.to_quaternion() for bone in data}
    last = start + round(walk.seconds * fps)
    for frame in range(start, last + 1):
        place, turn = walk.turns((frame - start) / fps)
        pose["hips"].location = rest["hips"].inverted() @ (place - data["hips"].head_local)
        pose["hips"].keyframe_insert("location", frame=frame)
        for bone in data:
            part = bone.name.split(".")[0]
            due = part in LEGS or (frame == start if part == "fingers" else (frame - start) % 2 == 0 or frame == last)
            if bone.parent is None or not due:
                continue
            local = rest[bone.name].inverted() @ turn[bone.parent.name].inverted() @ turn[bone.name] @ rest[bone.name]
            if bone.name in before:
                local.make_compatible(before[bone.name])
            before[bone.name] = pose[bone.name].rotation_quaternion = local
            pose[bone.name].keyframe_insert("rotation_quaternion", frame=frame)
    return last
