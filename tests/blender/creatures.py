"""Creatures made in code: any number of legs, a gait that is a function of time, and rigs that hold one motion in many
ways.

A creature faces -Y, its left is +X, its soles lie on z = 0; thigh and shin together are one unit long. Its motion is
told as poses of its bones in the world, apart from any rig. An `Expression` says how a rig holds it: rolls, scales,
parents, rotation modes and so on. What is seen in the world is the same for all expressions.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, floor, pi, sin, sqrt

import bpy
import numpy as np
from blender import scenes
from mathutils import Matrix

BALL_HEIGHT = 0.02
HEEL_BEHIND = 0.35
"""How far the heel lies behind the ankle, as a share of the way from ankle to ball."""
DOWN, UP_SINCE = 0.22, 0.6
"""Shares of a stance: until the toes are down, from when on the heel rises."""
TALLEST = 0.985
"""Extension that no leg of an animation passes."""


@dataclass(frozen=True)
class Body:
    """The proportions of a creature."""

    rows: tuple[tuple[str, float], ...] = (("", 0.0),)
    """Per pair of legs what its names begin with, and the y of its hips."""
    sides: str = "LR"
    thigh: float = 0.5
    """Share of the thigh in the leg."""
    rest: float = 0.994
    """Extension of the legs at rest; 1 is straight."""
    width: float = 0.11
    """From the middle to a hip."""
    ankle: float = 0.09
    """Height of the ankles; high for high heels."""
    foot: float = 0.145
    """From ankle to ball, level."""
    toe: float = 0.085
    """Length of the toe; 0 for none."""
    digits: int = 0
    """Small toes beside the toe."""
    split: int = 1
    """Bones in line that each thigh and shin is made of."""

    @property
    def legs(self) -> list[tuple[str, str, float]]:
        """(beginning of names, side, y of the hip) of every leg."""
        return [(prefix, side, y) for prefix, y in self.rows for side in self.sides]

    @property
    def height(self) -> float:
        """Of the hips at rest."""
        return self.ankle + self.rest

    def joints(self, side: str, y: float) -> dict[str, np.ndarray]:
        """Rest joints of one leg."""
        x = self.width * {"L": 1, "R": -1}[side]
        along = (self.rest ** 2 + self.thigh ** 2 - (1 - self.thigh) ** 2) / (2 * self.rest)
        ahead = sqrt(max(self.thigh ** 2 - along ** 2, 0.0))
        ball = np.array((x, y - self.foot, BALL_HEIGHT))
        return {"hip": np.array((x, y, self.height)), "knee": np.array((x, y - ahead, self.height - along)),
                "ankle": np.array((x, y, self.ankle)), "ball": ball, "tip": ball - (0, self.toe or 0.05, 0)}

    def bones(self) -> dict[str, tuple[str, np.ndarray, np.ndarray]]:
        """{name: (parent, head, tail)} at rest, parents first."""
        up, top = np.array((0.0, 0.0, 1.0)), np.array((0.0, 0.0, self.height + 0.01))
        out = {"root": ("", 0 * up, np.array((0, -0.25, 0))), "hips": ("root", top, top + 0.12 * up),
               "spine": ("hips", top + 0.12 * up, top + 0.4 * up), "head": ("spine", top + 0.4 * up, top + 0.6 * up)}
        for prefix, side, y in self.legs:
            at, parent = self.joints(side, y), "hips"
            for part, a, b in (("thigh", "hip", "knee"), ("shin", "knee", "ankle")):
                for i in range(self.split):
                    name = f"{prefix}{part}{f'_{i + 1}' if self.split > 1 else ''}.{side}"
                    ends = (at[a] + (at[b] - at[a]) * (i + k) / self.split for k in (0, 1))
                    out[name] = (parent, *ends)
                    parent = name
            foot = f"{prefix}foot.{side}"
            out[foot] = parent, at["ankle"], at["ball"]
            if self.toe:
                out[f"{prefix}toe.{side}"] = foot, at["ball"], at["tip"]
            for i in range(self.digits):
                aside = np.array((0.02 * (i + 1), 0.01, 0))
                out[f"{prefix}toe_small_{i + 1}.{side}"] = foot, at["ball"] + aside, at["tip"] + aside
        return out


@dataclass(frozen=True)
class Gait:
    """How a creature goes; legs, seconds, radians."""

    speed: float = 1.25
    period: float = 1.0
    """Of a stride of one foot."""
    duty: float = 0.62
    """Share of the stride in which a foot stands; 1 never lifts it."""
    lift: float = 0.1
    turn: float = 0.0
    """Of the heading in a second."""
    strike: float = 0.3
    """Toes up where a foot lands."""
    roll: float = 0.7
    """Heel up where it leaves."""
    skate: float = 0.0
    """Speed with which standing feet slip ahead."""
    hop: bool = False
    """All feet at once."""
    in_place: bool = False
    """The world goes by: a cycle on a treadmill."""
    bob: float = 0.012
    jump: float = 0.0
    """Height of the body's jumps."""


def smooth(x: float) -> float:
    """Quintic step from 0 to 1."""
    x = min(max(x, 0.0), 1.0)
    return x * x * x * (10 + x * (6 * x - 15))


def turned(axis: str, angle: float) -> np.ndarray:
    return np.array(Matrix.Rotation(angle, 3, axis), float)


@dataclass(frozen=True)
class Motion:
    """A creature going somewhere."""

    body: Body = Body()
    gait: Gait = Gait()

    def path(self, t: float) -> tuple[np.ndarray, float]:
        """Where the body is, and its heading."""
        v, w = self.gait.speed, self.gait.turn
        if abs(w) < 1e-6:
            return np.array((0.0, -v * t, 0.0)), 0.0
        return np.array((v / w * (1 - cos(w * t)), -v / w * sin(w * t), 0.0)), w * t

    def shift(self, leg: int) -> float:
        """Share of a stride by which a leg comes later."""
        if self.gait.hop:
            return 0.0
        row, side = divmod(leg, len(self.body.sides))
        return 0.5 * ((row + side) % 2) + 0.07 * row

    def place(self, leg: int, t: float) -> tuple[np.ndarray, float]:
        """Where a foot's ball stands if the middle of its stance is at time t, and its heading."""
        _, side, y = self.body.legs[leg]
        at, heading = self.path(t)
        return at + turned("Z", heading) @ self.body.joints(side, y)["ball"], heading

    def standing(self, leg: int, middle: float, t: float) -> tuple[np.ndarray, float, float, float]:
        """Ball, heading, pitch of the foot and of the toe in a stance."""
        g = self.gait
        ball, heading = self.place(leg, middle)
        ball = ball + turned("Z", heading) @ np.array((0, -g.skate * (t - middle), 0))
        if g.duty >= 1:
            return ball, heading, 0.0, 0.0
        share = (t - middle) / (g.duty * g.period) + 0.5
        if share < DOWN:
            pitch = -g.strike * (1 - smooth(share / DOWN))
            heel = np.array((0, (1 + HEEL_BEHIND) * self.body.foot, -BALL_HEIGHT))
            return ball + turned("Z", heading) @ (heel - turned("X", pitch) @ heel), heading, pitch, pitch
        pitch = g.roll * smooth((share - UP_SINCE) / (1 - UP_SINCE) * 0.7)
        return ball, heading, pitch, 0.0 if self.body.toe else pitch

    def foot(self, leg: int, t: float) -> tuple[np.ndarray, float, float, float]:
        """Ball, heading, pitch of the foot and of the toe."""
        g = self.gait
        if g.duty >= 1:
            return self.standing(leg, 0.0, t)
        stride = t / g.period + self.shift(leg)
        near = floor(stride + 0.5)
        middle = (near - self.shift(leg)) * g.period
        half = g.duty * g.period / 2
        if abs(t - middle) <= half:
            return self.standing(leg, middle, t)
        before, after = (middle, middle + g.period) if t > middle else (middle - g.period, middle)
        x = (t - before - half) / (g.period - 2 * half)
        a, b = self.standing(leg, before, before + half), self.standing(leg, after, after - half)
        s = smooth(x)
        ball, heading, pitch, toe = (p + (q - p) * s for p, q in zip(a, b, strict=True))
        return ball + (0, 0, g.lift * (4 * x * (1 - x)) ** 1.5), heading, pitch, toe

    def is_flat(self, leg: int, t: float) -> bool:
        """Whether heel and ball of a foot stand."""
        g = self.gait
        if g.duty >= 1:
            return True
        stride = t / g.period + self.shift(leg)
        share = (stride - floor(stride + 0.5)) / g.duty + 0.5
        return DOWN < share < UP_SINCE

    def hips(self, t: float, drop: float) -> tuple[np.ndarray, np.ndarray]:
        """Turn and place of the pelvis."""
        g = self.gait
        at, heading = self.path(t)
        beat = 2 * pi * t / g.period
        up = g.jump * max(-cos(beat), 0.0) ** 2 - drop - g.bob * (1 + cos(2 * beat)) / 2
        turn = turned("Z", heading + 0.06 * cos(beat)) @ turned("Y", 0.04 * sin(beat))
        return turn, at + (0.015 * sin(beat), 0, self.body.height + 0.01 + up)

    def ankle(self, leg: int, t: float) -> np.ndarray:
        _, side, y = self.body.legs[leg]
        rest = self.body.joints(side, y)
        ball, heading, pitch, _ = self.foot(leg, t)
        return ball + turned("Z", heading) @ turned("X", pitch) @ (rest["ankle"] - rest["ball"])

    def drop(self) -> float:
        """How far the hips are lowered so that every leg reaches."""
        times, drop = np.linspace(0, 2 * self.gait.period, 49), 0.02
        top = np.array((0, 0, self.body.height + 0.01))
        ankles = [[self.ankle(i, t) for i in range(len(self.body.legs))] for t in times]
        while drop < 0.5:
            far = 0.0
            for t, feet in zip(times, ankles, strict=True):
                turn, at = self.hips(t, drop)
                for (_, side, y), ankle in zip(self.body.legs, feet, strict=True):
                    hip = at + turn @ (self.body.joints(side, y)["hip"] - top)
                    far = max(far, float(np.linalg.norm(ankle - hip)))
            if far < TALLEST:
                break
            drop += 0.01
        return drop

    def poses(self, times: np.ndarray) -> dict[str, np.ndarray]:
        """{bone: (T, 4, 4)}: the motion of each bone in the world from its rest."""
        drop = self.drop()
        frames = [self.pose(t, drop) for t in times]
        return {name: np.stack([frame[name] for frame in frames]) for name in frames[0]}

    def pose(self, t: float, drop: float) -> dict[str, np.ndarray]:
        bones = self.body.bones()
        turn, at = self.hips(t, drop)
        top = bones["hips"][1]
        path, heading = self.path(t)
        out = {"root": moved(turned("Z", 0.0), np.zeros(3), np.zeros(3)), "hips": moved(turn, top, at)}
        chest = turned("Z", heading)
        for name in ("spine", "head"):
            head = bones[name][1]
            out[name] = moved(chest, head, rigid(out[bones[name][0]], head))
        for leg, (prefix, side, y) in enumerate(self.body.legs):
            rest = self.body.joints(side, y)
            _, foot_heading, pitch, toe = self.foot(leg, t)
            hip, ankle = rigid(out["hips"], rest["hip"]), self.ankle(leg, t)
            knee, hinge = bent(hip, ankle, self.body.thigh, turned("Z", foot_heading)[:, 0])
            for part, head, tail, goal in (("thigh", "hip", "knee", knee - hip),
                                           ("shin", "knee", "ankle", ankle - knee)):
                turn = aim(rest[tail] - rest[head], goal, hinge)
                motion = moved(turn, rest[head], hip if part == "thigh" else knee)
                out |= {n: motion for n in bones if n.startswith(prefix + part) and n.endswith("." + side)}
            sole = turned("Z", foot_heading)
            shin = next(out[n] for n in reversed(bones) if n.startswith(f"{prefix}shin") and n.endswith("." + side))
            foot = moved(sole @ turned("X", pitch), rest["ankle"], rigid(shin, rest["ankle"]))
            out[f"{prefix}foot.{side}"] = foot
            toes = moved(sole @ turned("X", toe), rest["ball"], rigid(foot, rest["ball"]))
            out |= {n: toes for n in bones if n.startswith(f"{prefix}toe") and n.endswith("." + side)}
        if self.gait.in_place:
            back = moved(np.eye(3), path, 0 * path)
            out = {name: motion if name == "root" else back @ motion for name, motion in out.items()}
        return out


def moved(turn: np.ndarray, rest: np.ndarray, place: np.ndarray) -> np.ndarray:
    """(4, 4): the motion that turns about a rest point and brings it to a place."""
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = turn, place - turn @ rest
    return out


def rigid(matrix: np.ndarray, point: np.ndarray) -> np.ndarray:
    return matrix[:3, :3] @ point + matrix[:3, 3]


def bent(hip: np.ndarray, ankle: np.ndarray, thigh: float, across: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The knee of a leg of length 1, bent ahead, and the hinge that it bends about."""
    leg = ankle - hip
    far = min(max(float(np.linalg.norm(leg)), abs(1 - 2 * thigh) + 1e-3), 1 - 1e-6)
    way = leg / np.linalg.norm(leg)
    along = (far ** 2 + thigh ** 2 - (1 - thigh) ** 2) / (2 * far)
    front = np.cross(way, across)
    front /= np.linalg.norm(front)
    return hip + way * along + front * sqrt(max(thigh ** 2 - along ** 2, 0.0)), np.cross(front, way)


def aim(rest: np.ndarray, way: np.ndarray, hinge: np.ndarray) -> np.ndarray:
    """The turn that brings a rest direction, hinged about X, to a direction, hinged about another axis."""
    def frame(y: np.ndarray, x: np.ndarray) -> np.ndarray:
        y = y / np.linalg.norm(y)
        x = x - y * (x @ y)
        x /= np.linalg.norm(x)
        return np.column_stack((x, y, np.cross(x, y)))

    return frame(way, hinge) @ frame(rest, np.array((1.0, 0, 0))).T


@dataclass(frozen=True)
class Expression:
    """How a rig holds a motion."""

    rolls: tuple[float, ...] = (0.0,)
    """Of the bones, taken in turn."""
    modes: tuple[str, ...] = ("QUATERNION",)
    """Rotation modes of the bones, taken in turn."""
    place: Matrix = Matrix()
    """Armature space to world: scaled, turned, mirrored."""
    tails: tuple[float, ...] | None = None
    """Where the tails lie from the heads, in world space, instead of along the limbs."""
    rename: Callable[[str], str] = str
    connect: bool = True
    inherit_rotation: bool = True
    inherit_scale: str = "FULL"
    use_local_location: bool = True
    delta: bool = False
    """The place lies in the delta transforms."""
    quaternion: float = 1.0
    """Length of the quaternions that are keyed."""
    lock: bool = False
    parent: Callable[[float], Matrix] | None = None
    """World matrix, as a function of the frame, of an empty under which the rig moves the other way."""
    hide: bool = False
    """Leg bones are hidden."""


def build(motion: Motion, expression: Expression = Expression(), last: int = 46, fps: float = 30.0,  # noqa: B008
          stage: Matrix | None = None) -> bpy.types.Object:
    """A rig in the current scene, animated from frame 1 on; `stage` is a similarity that moves all of the world."""
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = round(fps), 1, last
    stage = Matrix() if stage is None else stage
    ob = rest_rig(motion.body, expression, stage @ expression.place)
    key(ob, motion.poses((np.arange(1, last + 1) - 1) / fps), expression, stage)
    scene.frame_set(1)
    return ob


def rest_rig(body: Body, expression: Expression, place: Matrix) -> bpy.types.Object:
    """The armature object at rest, active, without animation."""
    ob = bpy.data.objects.new("Creature", bpy.data.armatures.new("Creature"))
    bpy.context.scene.collection.objects.link(ob)
    bpy.context.view_layer.objects.active = ob
    bpy.ops.object.mode_set(mode="EDIT")
    to_rig = np.linalg.inv(np.array(expression.place, float))
    bones = body.bones()
    for i, (name, (parent, head, tail)) in enumerate(bones.items()):
        bone = ob.data.edit_bones.new(expression.rename(name))
        ends = head, tail if expression.tails is None else head + expression.tails
        bone.head, bone.tail = (rigid(to_rig, p) for p in ends)
        bone.roll = expression.rolls[i % len(expression.rolls)]
        if parent:
            bone.parent = ob.data.edit_bones[expression.rename(parent)]
            at_tail = (bone.parent.tail - bone.head).length < 1e-5 * (bone.parent.tail - bone.parent.head).length
            bone.use_connect = expression.connect and at_tail and parent != "root"
        if name not in ("root", "hips"):
            bone.use_inherit_rotation = expression.inherit_rotation
            bone.inherit_scale = expression.inherit_scale
        bone.use_local_location = expression.use_local_location
    bpy.ops.object.mode_set(mode="OBJECT")
    for i, bone in enumerate(ob.pose.bones):
        bone.rotation_mode = expression.modes[i % len(expression.modes)]
        if expression.lock:
            bone.lock_location = bone.lock_rotation = (True, True, True)
    if expression.hide:
        for bone in ob.data.bones:
            bone.hide = any(part in bone.name for part in ("thigh", "shin", "foot"))
    if expression.delta:
        ob.delta_location, turn, ob.delta_scale = place.decompose()
        ob.delta_rotation_euler = turn.to_euler()
    else:
        ob.matrix_world = place
    bpy.context.view_layer.update()
    return ob


def key(ob: bpy.types.Object, poses: dict[str, np.ndarray], expression: Expression, stage: Matrix) -> None:
    """Key a motion on a rig from frame 1 on."""
    rest = {name: ob.data.bones[expression.rename(name)] for name in poses}
    place, inverse = np.array(expression.place, float), np.linalg.inv(np.array(expression.place, float))
    before: dict[str, object] = {}
    for f in range(len(poses["hips"])):
        frame = f + 1
        world = {name: inverse @ motion[f] @ place @ np.array(rest[name].matrix_local, float)
                 for name, motion in poses.items()}
        for name, bone in rest.items():
            parent = next((n for n, b in rest.items() if bone.parent and b.name == bone.parent.name), None)
            above = {} if parent is None else {"parent_matrix": Matrix(world[parent]),
                                               "parent_matrix_local": bone.parent.matrix_local}
            basis = bone.convert_local_to_pose(Matrix(world[name]), bone.matrix_local, invert=True, **above)
            key_bone(ob.pose.bones[bone.name], basis, frame, before, expression.quaternion, name == "hips")
    if expression.parent is not None:
        reparent(ob, expression.parent, len(poses["hips"]), stage)


def key_bone(bone: bpy.types.PoseBone, basis: Matrix, frame: int, before: dict, size: float, place: bool) -> None:
    """Key the channels of one bone, without flips."""
    turn, mode = basis.to_quaternion(), bone.rotation_mode
    old = before.get(bone.name)
    if mode == "QUATERNION":
        if old is not None:
            turn.make_compatible(old)
        before[bone.name], bone.rotation_quaternion, path = turn, turn * size, "rotation_quaternion"
    elif mode == "AXIS_ANGLE":
        axis, angle = turn.to_axis_angle()
        if old is not None and axis.dot(old) < 0:
            axis, angle = -axis, -angle
        before[bone.name], bone.rotation_axis_angle, path = axis, (angle, *axis), "rotation_axis_angle"
    else:
        euler = turn.to_euler(mode, old) if old is not None else turn.to_euler(mode)
        before[bone.name], bone.rotation_euler, path = euler, euler, "rotation_euler"
    bone.keyframe_insert(path, frame=frame)
    if place or not bone.bone.use_inherit_rotation:
        bone.location = basis.translation
        bone.keyframe_insert("location", frame=frame)


def reparent(ob: bpy.types.Object, way: Callable[[float], Matrix], last: int, stage: Matrix) -> None:
    """Hang a rig that stands still under an empty that moves, and have it move the other way."""
    place = ob.matrix_world.copy()
    empty = moving_empty(way, last, stage)
    ob.parent, ob.rotation_mode = empty, "QUATERNION"
    for frame in range(1, last + 1):
        ob.matrix_basis = (stage @ way(frame) @ stage.inverted()).inverted() @ place
        for path in ("location", "rotation_quaternion", "scale"):
            ob.keyframe_insert(path, frame=frame)


def moving_empty(way: Callable[[float], Matrix], last: int, stage: Matrix) -> bpy.types.Object:
    """An empty with a rigid motion, a function of the frame."""
    empty = bpy.data.objects.new("Carrier", None)
    empty.rotation_mode = "QUATERNION"
    bpy.context.scene.collection.objects.link(empty)
    for frame in range(1, last + 1):
        empty.matrix_basis = stage @ way(frame) @ stage.inverted()
        for path in ("location", "rotation_quaternion", "scale"):
            empty.keyframe_insert(path, frame=frame)
    return empty


def ride(obs: list[bpy.types.Object], way: Callable[[float], Matrix], last: int) -> None:
    """Hang objects under an empty that moves."""
    empty = moving_empty(way, last, Matrix())
    for ob in obs:
        ob.parent = empty


# Grounds: surfaces over the way of a creature, in its units, which pass through z = 0 where it starts.

def height(kind: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Heights of a ground at level places; the creature goes along -y."""
    ahead = np.maximum(-y - 0.25, 0.0)
    if kind == "slope":
        return 0.2 * ahead + 0.05 * x
    if kind == "uneven":
        return 0.05 * np.sin(3.1 * y + 0.4) * np.cos(2.3 * x + 0.3) + 0.04 * np.sin(5.3 * x - 4.1 * y)
    if kind == "stairs":
        return 0.13 * np.ceil(ahead / 0.55)
    if kind == "kerb":
        return 0.12 * (ahead > 0.5)
    return 0.0 * x


def ground(kind: str, stage: Matrix | None = None, around: float = 3.2, cells: int = 40) -> bpy.types.Object:
    """A ground object in the current scene."""
    if kind in ("stairs", "kerb"):  # walls that stand upright
        edges = [-0.25 - 0.55 * i for i in range(6)] if kind == "stairs" else [-0.75]
        rise = 0.13 if kind == "stairs" else 0.12
        profile, level = [(around, 0.0)], 0.0
        for y in edges:
            profile += [(y, level), (y, level + rise)]
            level += rise
        profile.append((-around - 1, level))
        coords = [(x, y, z) for y, z in profile for x in (-around, around)]
        faces = [(2 * i, 2 * i + 1, 2 * i + 3, 2 * i + 2) for i in range(len(profile) - 1)]
    else:
        x, y = np.meshgrid(np.linspace(-around, around, cells + 1), np.linspace(around, -around - 1, cells + 1))
        coords = np.column_stack([x.ravel(), y.ravel(), height(kind, x, y).ravel()]).tolist()
        row = cells + 1
        faces = [(i * row + j, i * row + j + 1, (i + 1) * row + j + 1, (i + 1) * row + j)
                 for i in range(cells) for j in range(cells)]
    mesh = bpy.data.meshes.new("Ground")
    mesh.from_pydata(coords, [], faces)
    if stage is not None:
        mesh.transform(stage)
    ob = bpy.data.objects.new("Ground", mesh)
    bpy.context.scene.collection.objects.link(ob)
    return ob


# What is seen.

def points(ob: bpy.types.Object, motion: Motion, expression: Expression, frames, stage: Matrix | None = None
           ) -> np.ndarray:
    """(F, P, 3): places in the world of hips and leg joints in some frames, and of the ends of feet and toes."""
    names = [n for n in motion.body.bones() if n not in ("root", "spine", "head")]
    ends = [n for n in names if "foot" in n or "toe" in n]
    world = np.array((Matrix() if stage is None else stage) @ expression.place, float)
    bones = motion.body.bones()
    index = {b.name: i for i, b in enumerate(ob.pose.bones)}
    at = [index[expression.rename(n)] for n in names]
    tips = [(index[expression.rename(n)],
             rigid(np.linalg.inv(world @ np.array(ob.data.bones[expression.rename(n)].matrix_local, float)),
                   rigid(np.array(stage or Matrix(), float), bones[n][2]))) for n in ends]
    out = []
    for frame in frames:
        pose = scenes.shown(ob, frame).astype(float)
        matrix = np.array(ob.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world, float)
        here = [pose[i, :3, 3] for i in at] + [rigid(pose[i], p) for i, p in tips]
        out.append([rigid(matrix, p) for p in here])
    return np.array(out)
