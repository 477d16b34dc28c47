"""Random rigs, clips and grounds, each from a seed, taken through all that the add-on does.

A case ends well if the result is right by what is measured here, or if an operator refuses in one sentence. Whatever
else happens is a failure: an exception, a traceback that Blender prints, a value that is not finite, another answer in
the same frame, a bake that is not what was seen live, something of the user's that changed.
"""
from __future__ import annotations

import contextlib
import io
import random
from dataclasses import dataclass, replace
from math import pi

import bpy
import numpy as np
from blender import creatures, scenes
from blender.creatures import Body, Expression, Gait, Motion
from mathutils import Matrix
from mathutils.bvhtree import BVHTree

SAME = 1e-5
"""Legs: the same frame has the same answer."""
CUT = 2e-3
"""Legs: what a standing sole may be under the ground. On slopes feet are laid flat on the ground up to a fifth of a
millimetre of slip, and soles are known at some points only."""
CUT_AT_EDGES = 0.01
"""The same of a foot that slides over an edge, as feet of a cycle on the spot do: it tips there by up to 30 degrees,
and its sole is looked at in places 0.02 legs apart. Its ball then goes down too, faster than it slides."""
SLIP = 1e-3
"""Legs: what a standing foot may slip in a frame more than it did; on a slope the same way on the level is longer."""
EDGE = 1e-3
BAKED = 1e-3
"""Legs: a bake keys channels in single precision, in rigs that lie far from the world's origin."""
MODES = ("QUATERNION", "XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "AXIS_ANGLE")
SCALES = ("FULL", "FIX_SHEAR", "ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY")
ROWS = ((("", 0.0),), (("front_", -0.5), ("hind_", 0.5)), (("front_", -0.5), ("middle_", 0.0), ("hind_", 0.5)),
        tuple((f"leg{i + 1}_", 0.35 * i - 0.5) for i in range(4)))


def mixamo(name: str) -> str:
    words = {"hips": "Hips", "thigh": "UpLeg", "shin": "Leg", "foot": "Foot", "toe": "ToeBase"}
    base, _, side = name.partition(".")
    base = "".join(words.get(part, part.capitalize()) for part in base.split("_"))
    return "mixamorig:" + {"L": "Left", "R": "Right", "": ""}[side] + base


def japanese(name: str) -> str:
    words = {"hips": "センター", "thigh": "足", "shin": "ひざ", "foot": "足首", "toe": "つま先"}
    base, _, side = name.partition(".")
    return {"L": "左", "R": "右", "": ""}[side] + words.get(base, base)


def quoted(name: str) -> str:
    return f'"{name}" [\\x] 😀'


def meaningless(name: str) -> str:
    return f"b{sum(ord(c) * 31 ** i for i, c in enumerate(name)) % 99991}"


NAMES = (str, mixamo, japanese, quoted, meaningless)


@dataclass(frozen=True)
class Case:
    """One rig, clip and ground."""

    seed: int
    motion: Motion
    expression: Expression
    stage: Matrix
    last: int
    fps: float
    spoiled: tuple[str, ...]
    """What is done to the animation."""
    ground: str
    source: str
    settings: dict
    legs: dict

    @property
    def is_plain(self) -> bool:
        """Whether the clip is as its creature walks, on ground that can be walked on, with the usual settings."""
        return (not self.spoiled and not self.settings and self.ground in WALKABLE and self.source != "FLOOR"
                and self.expression.parent is None)


def make(seed: int) -> Case:
    """The case of a seed."""
    r = random.Random(seed)
    some = lambda share: r.random() < share
    rows = r.choices(ROWS, (12, 4, 2, 2))[0]
    body = Body(
        rows=rows, sides=r.choices(("LR", "L", "R"), (18, *[len(rows) == 1] * 2))[0],
        thigh=r.uniform(0.35, 0.65), rest=r.choice((1.0, 0.999, r.uniform(0.9, 0.998))), width=r.uniform(0.05, 0.2),
        ankle=r.choice((0.09, r.uniform(0.06, 0.2))), foot=r.uniform(0.1, 0.22),
        toe=0.0 if some(0.25) else r.uniform(0.05, 0.12), digits=r.choice((0, 0, 0, 2)), split=r.choice((1, 1, 1, 2)))
    kind = r.choices(("walk", "run", "idle", "hop", "in place", "still"), (10, 3, 2, 2, 2, 1))[0]
    gait = Gait(speed=r.uniform(0.5, 1.6), period=r.uniform(0.7, 1.3), duty=r.uniform(0.55, 0.7),
                lift=r.uniform(0.05, 0.2), turn=r.choice((0.0, r.uniform(-1.5, 1.5))), strike=r.uniform(0, 0.4),
                roll=r.uniform(0, 0.8), skate=r.choice((0.0, 0.0, r.uniform(0, 0.5))))
    gait = {"walk": gait, "run": replace(gait, speed=r.uniform(1.8, 4), period=0.7, duty=0.35),
            "idle": replace(gait, speed=0.0, duty=1.0, turn=0.0), "hop": replace(gait, hop=True, jump=0.2, duty=0.5),
            "in place": replace(gait, in_place=True, turn=0.0),
            "still": replace(gait, speed=0.0, duty=1.0, turn=0.0, bob=0.0)}[kind]
    body = replace(body, split=1) if body.toe == 0 else body
    place = Matrix.Scale(r.choice((1.0, 0.01, 100.0, r.uniform(0.1, 10))), 4)
    if some(0.4):
        place = Matrix.Rotation(r.choice((pi / 2, -pi / 2, r.uniform(-pi, pi))), 4, r.choice("XYZ")) @ place
    if some(0.3):
        place = Matrix.Translation([r.uniform(-3, 3) for _ in range(3)]) @ place
    if some(0.1):
        place = place @ Matrix.Scale(-1, 4, (1, 0, 0))
    expression = Expression(
        rolls=tuple(r.choice((0.0, r.uniform(-pi, pi))) for _ in range(5)),
        modes=tuple(r.choice(MODES) for _ in range(4)) if some(0.4) else ("QUATERNION",), place=place,
        tails=r.choice((None, None, (0.0, 0.03, 0.05))), connect=some(0.7), inherit_rotation=some(0.9),
        rename=r.choices(NAMES, (6, 2 * (len(body.rows) < 3), 1, 1, 2))[0],
        inherit_scale=r.choice(SCALES), use_local_location=some(0.8), delta=some(0.1),
        quaternion=r.choice((1.0, 1.0, r.uniform(0.1, 3))), lock=some(0.1), hide=some(0.1),
        parent=drifting if some(0.08) else None)
    stage = Matrix.Scale(r.choice((1.0, 0.9, 10 ** r.uniform(-2, 2))), 4)
    if some(0.4):
        stage = Matrix.Translation([r.uniform(-20, 20) * stage.median_scale for _ in range(2)] + [0.0]) @ \
            Matrix.Rotation(r.uniform(-pi, pi), 4, "Z") @ stage
    spoiled = tuple(r.sample(sorted(SPOILS), r.choices((0, 1, 2), (5, 4, 1))[0]))
    settings, legs = {}, {}
    if some(0.35):
        settings = {"lean": r.choice((0.0, r.random())), "max_step": r.uniform(0, 1), "max_shift": r.random(),
                    "max_pitch": r.uniform(0, 1.4), "max_roll": r.uniform(0, 1.4),
                    "influence": r.choice((1, r.random()))}
        legs = {"position_weight": r.choice((1.0, 0.0, r.random())), "rotation_weight": r.choice((1.0, r.random())),
                "lock_weight": r.choice((1.0, 0.0, r.random())), "max_stretch": r.uniform(0, 0.5),
                "solver": r.choice(("AUTO", "AUTO", "TWO_BONE", "FABRIK", "CCD")),
                "reach": r.choice(("PELVIS", "PELVIS", "ACCEPT", "STRETCH"))}
    last = 1 if some(0.03) else r.choice((20, 30, r.randint(2, 40), r.randint(2, 60)))
    fps, ground = r.choice((24, 25, 30, 30, 60)), r.choice((*WALKABLE, *WALKABLE, *ODD))
    source = r.choices(("SCENE", "COLLECTION", "FLOOR"), (7, 2, 1))[0]
    return Case(seed, Motion(body, gait), expression, stage, last, fps, spoiled, ground, source, settings, legs)


def drifting(frame: float) -> Matrix:
    """An empty that goes and turns."""
    s = frame / 40
    return Matrix.Translation((0.6 * s, -1.5 * s, 0.0)) @ Matrix.Rotation(0.8 * s, 4, "Z")


# What may be wrong with an animation: functions of the rig and a source of chance.

def all_curves(ob) -> list[bpy.types.FCurve]:
    data = ob.animation_data
    return list(scenes.curves(data.action).values()) if data and data.action else []


def holes(ob, r):
    """Keys are missing here and there."""
    for curve in all_curves(ob):
        for _ in range(len(curve.keyframe_points) // 3):
            if len(curve.keyframe_points) > 1:
                curve.keyframe_points.remove(r.choice(list(curve.keyframe_points)), fast=True)
        curve.update()


def not_a_number(ob, r):
    r.choice(r.choice(all_curves(ob)).keyframe_points).co.y = float("nan")


def infinite(ob, r):
    r.choice(r.choice(all_curves(ob)).keyframe_points).co.y = float("inf")


def wild(ob, r):
    """A key that lies far off."""
    r.choice(r.choice(all_curves(ob)).keyframe_points).co.y = r.choice((1e4, -1e8, 1e20))


def stepped(ob, r):
    for curve in all_curves(ob):
        for point in curve.keyframe_points:
            point.interpolation = "CONSTANT"


def still(ob, r):
    """Every curve keeps its first value."""
    for curve in all_curves(ob):
        for point in curve.keyframe_points:
            point.co.y = curve.keyframe_points[0].co.y


def muted(ob, r):
    for curve in all_curves(ob):
        curve.mute = r.random() < 0.3


def cyclic(ob, r):
    for curve in all_curves(ob):
        curve.modifiers.new("CYCLES")


def in_strip(ob, r):
    """The action plays in the NLA alone."""
    data = ob.animation_data
    action, data.action = data.action, None
    strip = data.nla_tracks.new().strips.new("Clip", r.choice((1, 1, 5)), action)
    if hasattr(strip, "action_slot"):
        strip.action_slot = action.slots[0]
    strip.extrapolation = r.choice(("HOLD", "HOLD_FORWARD", "NOTHING"))


def unanimated(ob, r):
    ob.animation_data_clear()


def some_unkeyed(ob, r):
    """Half of the curves are gone."""
    bag = scenes.bag(ob)
    for curve in [c for c in bag.fcurves if r.random() < 0.5]:
        bag.fcurves.remove(curve)


def other_mode(ob, r):
    """Bones whose rotation mode is not that of their keys."""
    for bone in ob.pose.bones:
        if r.random() < 0.3:
            bone.rotation_mode = r.choice(MODES)


def growing(ob, r):
    """The scale of the object, or of a bone, is animated."""
    owner = r.choice((ob, r.choice(list(ob.pose.bones))))
    for frame, factor in ((1, 1.0), (30, r.choice((1.5, 0.5, 0.0, -1.0)))):
        owner.scale = [c * factor for c in owner.scale]
        owner.keyframe_insert("scale", frame=frame)


def squashed(ob, r):
    ob.scale = [c * f for c, f in zip(ob.scale, (1.0, r.uniform(0.5, 2), r.uniform(0.5, 2)), strict=True)]


def later(ob, r):
    """The scene plays other frames than those with keys."""
    scene = bpy.context.scene
    shift = r.choice((-30, 10, 1000))
    scene.frame_start, scene.frame_end = scene.frame_start + shift, scene.frame_end + shift


SPOILS = {f.__name__: f for f in (
    holes, not_a_number, infinite, wild, stepped, still, muted, cyclic, in_strip, unanimated, some_unkeyed, other_mode,
    growing, squashed, later)}


# Grounds.

WALKABLE = ("slope", "stairs", "kerb", "uneven", "flat")
ODD = ("moving", "none", "empty", "loose", "some nan", "all nan", "huge", "tiny", "holes", "flat scale", "upside down",
       "ceiling", "cliff", "walls", "far below", "bending")


def add_ground(kind: str, stage: Matrix, r: random.Random) -> bpy.types.Object | None:
    """A ground object of a kind, linked to the collection Ground."""
    collection = bpy.data.collections.new("Ground")
    bpy.context.scene.collection.children.link(collection)
    if kind == "none":
        return None
    ob = creatures.ground(kind if kind in WALKABLE else r.choice(("slope", "uneven")), stage, around=6.0, cells=60)
    bpy.context.scene.collection.objects.unlink(ob)
    collection.objects.link(ob)
    mesh, size = ob.data, stage.median_scale
    if kind == "moving":
        for frame, z, turn in ((1, 0.0, 0.0), (40, r.uniform(-0.3, 0.3), r.uniform(-0.2, 0.2))):
            ob.location.z, ob.rotation_euler.x = z * size, turn
            ob.keyframe_insert("location", frame=frame)
            ob.keyframe_insert("rotation_euler", frame=frame)
    elif kind == "empty":
        mesh.clear_geometry()
    elif kind == "loose":
        mesh.clear_geometry()
        mesh.from_pydata([(0, 0, 0), (1, 0, 0), (1, 1, 0)], [(0, 1)], [])
    elif kind in ("some nan", "all nan"):
        for vertex in mesh.vertices:
            if kind == "all nan" or r.random() < 0.05:
                vertex.co[r.randrange(3)] = r.choice((float("nan"), float("inf")))
    elif kind == "huge":
        mesh.transform(Matrix.Scale(r.choice((1e3, 1e6)), 4))
    elif kind == "tiny":
        mesh.transform(Matrix.Scale(r.choice((1e-2, 1e-5)), 4))
    elif kind == "holes":
        kept = [tuple(p.vertices) for p in mesh.polygons if r.random() < 0.6]
        coords = [v.co.copy() for v in mesh.vertices]
        mesh.clear_geometry()
        mesh.from_pydata(coords, [], kept)
    elif kind == "flat scale":
        ob.scale = (1, 1, 0)
    elif kind == "upside down":
        ob.scale = (r.choice((-1, 2)), 1, -1)
    elif kind == "ceiling":
        mesh.transform(Matrix.Translation((0, 0, r.uniform(0.3, 3) * size)))
    elif kind == "far below":
        mesh.transform(Matrix.Translation((0, 0, -r.uniform(1, 30) * size)))
    elif kind == "cliff":
        for vertex in mesh.vertices:
            vertex.co.z += size * r.choice((0, -5)) if vertex.index % 7 == 0 else 0
    elif kind == "walls":
        for vertex in mesh.vertices:
            vertex.co.z *= 30
    elif kind == "bending":
        wave = ob.modifiers.new("Wave", "WAVE")
        wave.height, wave.width, wave.narrowness = 0.1 * size, 0.5 * size, 2.0 / size
    return ob


# Running a case.

class Refused(Exception):
    """An operator refused."""


def run(case: Case) -> str:
    """Take a case through everything in the current file; "solved" or the sentence with which it was refused."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    r = random.Random(case.seed + 1)
    ob = creatures.build(case.motion, case.expression, case.last, case.fps, case.stage)
    ground = add_ground(case.ground, case.stage, r)
    for name in case.spoiled:
        if ob.animation_data and ob.animation_data.action:
            SPOILS[name](ob, r)
    for action in bpy.data.actions:
        action.update_tag()
    scene = bpy.context.scene
    scene.frame_set(r.randint(scene.frame_start, scene.frame_end))
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        try:
            outcome = through(case, ob, ground, r)
        except Refused as refused:
            outcome = str(refused)
    assert "Traceback" not in errors.getvalue(), errors.getvalue()
    return outcome


def through(case: Case, ob: bpy.types.Object, ground: bpy.types.Object | None, r: random.Random) -> str:
    """Detect, plan, live, bake, clear, and all of it undone."""
    scene, name = bpy.context.scene, ob.name
    frames = range(scene.frame_start, scene.frame_end + 1)
    seen = [r.choice(frames) for _ in range(5)]
    bpy.ops.ed.undo_push(message="before")
    states = [scenes.everything()]
    try:
        operate("detect_legs")
    except Refused as refused:
        if "by hand" not in str(refused):
            raise
        by_hand(case, ob)
    bpy.ops.ed.undo_push(message="detected")
    choose(case, ob)
    bpy.ops.ed.undo_push(message="set up")
    states.append(scenes.everything())
    operate("plan")
    bpy.ops.ed.undo_push(message="planned")
    states.append(scenes.everything())
    raw = measured(case, ob, ground, frames) if case.is_plain else None
    unit = size_of(ob, case)
    live = look_live(ob, seen, unit)
    if raw is not None:
        ob.foot_ik.enabled = True
        judge(case, raw, measured(case, ob, ground, frames))
        ob.foot_ik.enabled = False
    ob.foot_ik.enabled = r.random() < 0.5
    bpy.ops.ed.undo_push(message="live")
    states.append(scenes.everything())
    target = "NLA" if r.random() < 0.3 else "NEW_ACTION"
    actions = {a.name: scenes.action_state(a) for a in bpy.data.actions}
    refused = None
    try:
        operate("bake", target=target)
    except Refused as sentence:
        refused = sentence
    else:
        for frame, pose in live.items():
            away = apart(scenes.shown(ob, frame), pose) / unit
            assert away < BAKED, f"the bake is {away:.6f} legs off in frame {frame}"
        after = {a.name: scenes.action_state(a) for a in bpy.data.actions if a.name in actions}
        assert scenes.differences(actions, after) == []
        bpy.ops.ed.undo_push(message="baked")
        bpy.ops.ed.undo()
    undone(states[3], "bake")
    ob = bpy.data.objects[name]
    bpy.context.scene.frame_set(seen[0])
    cleared(ob)
    bpy.ops.ed.undo_push(message="cleared")
    for state, step in ((3, "clear"), (2, "live"), (1, "plan")):
        bpy.ops.ed.undo()
        undone(states[state], step)
    if refused:
        raise refused
    return "solved"


def operate(operator: str, **options) -> None:
    """Run an operator; raises `Refused` where it refuses in one sentence and nothing has changed."""
    before = scenes.everything()
    try:
        assert getattr(bpy.ops.foot_ik, operator)(**options) == {"FINISHED"}
    except RuntimeError as error:
        text = str(error).removeprefix("Error: ").strip()
        assert "\n" not in text and "Traceback" not in text and text, f"{operator}: {text}"
        assert scenes.differences(before, scenes.everything()) == [], f"{operator} refused and changed something"
        raise Refused(f"{operator}: {text}") from None


def by_hand(case: Case, ob: bpy.types.Object) -> None:
    """Pick the bones of the legs."""
    settings, named = ob.foot_ik, case.expression.rename
    settings.pelvis = named("hips")
    bones = list(case.motion.body.bones())
    for prefix, side, _ in case.motion.body.legs:
        leg = settings.legs.add()
        leg.name = prefix + side
        for key, part in (("upper", "thigh"), ("lower", "shin"), ("foot", "foot"), ("toe", "toe")):
            own = [n for n in bones if n.startswith(prefix + part) and n.endswith("." + side)]
            setattr(leg, key, named(own[0]) if own else "")


def choose(case: Case, ob: bpy.types.Object) -> None:
    """Set what the case sets."""
    settings = ob.foot_ik
    settings.ground_source = case.source
    settings.ground_collection = bpy.data.collections["Ground"]
    for key, value in case.settings.items():
        setattr(settings, key, value)
    for leg in settings.legs:
        for key, value in case.legs.items():
            setattr(leg, key, value)


def size_of(ob: bpy.types.Object, case: Case) -> float:
    """Length of a leg in armature space, at rest."""
    return 1.0 / case.expression.place.median_scale


def look_live(ob: bpy.types.Object, seen: list[int], unit: float) -> dict[int, np.ndarray]:
    """The poses shown live in some frames, each visited twice; switched off, the animated pose comes back."""
    animated = {}
    for frame in seen:
        scenes.visit(frame)
        animated[frame] = scenes.channels(ob), scenes.shown(ob)
    ob.foot_ik.enabled = True
    live = {frame: scenes.shown(ob, frame) for frame in seen}
    for frame in reversed(seen):
        whole = np.isfinite(animated[frame][1]).all((1, 2))
        assert np.isfinite(live[frame][whole]).all(), f"frame {frame} is not finite"
        away = apart(scenes.shown(ob, frame), live[frame]) / unit
        assert away < SAME, f"frame {frame} is {away:.6f} legs off when visited again"
    scenes.visit(seen[-1])
    ob.foot_ik.enabled = False
    channels, pose = animated[seen[-1]]
    assert scenes.differences(channels, scenes.channels(ob)) == [], "switched off, channels are not as animated"
    assert np.array_equal(scenes.shown(ob), pose, equal_nan=True), "switched off, the pose is not as animated"
    return live


def apart(a: np.ndarray, b: np.ndarray) -> float:
    """The farthest that heads of two poses are apart; what is not a number in one is none in the other."""
    gaps = scenes.gaps(a, b)
    if (np.isfinite(a).all((1, 2)) != np.isfinite(b).all((1, 2))).any():
        return np.inf
    return float(np.nanmax(gaps)) if np.isfinite(gaps).any() else 0.0


def cleared(ob: bpy.types.Object) -> None:
    """Clear, and see that nothing is left."""
    ob.foot_ik.enabled = False
    channels = scenes.channels(ob)
    assert bpy.ops.foot_ik.clear() == {"FINISHED"}
    assert not ob.is_property_set("foot_ik"), "settings are left after Clear"
    assert scenes.differences(channels, scenes.channels(ob)) == [], "the pose is not as animated after Clear"


def undone(state: dict, step: str) -> None:
    """See that the file is as it was."""
    changed = scenes.differences(state, scenes.everything())
    assert changed == [], f"after undoing {step}: {changed[:3]}"


# Measures, on the creature's own soles: by its gait they stand when they stand.

@dataclass(frozen=True)
class Measures:
    """Worst values over all feet, in legs."""

    cut: float
    """How deep a standing sole is under the ground."""
    slip: float
    """How far a standing ball goes in a frame."""


def measured(case: Case, ob: bpy.types.Object, ground: bpy.types.Object, frames: range) -> Measures:
    """How the feet stand in the frames in which, by the gait, heel and ball stand."""
    motion, size, tree = case.motion, case.stage.median_scale, tree_of(ground)
    world = np.array(case.stage @ case.expression.place, float)
    cut, slip = [0.0], [0.0]
    last: dict[int, np.ndarray] = {}
    for frame in frames:
        scenes.visit(frame)
        evaluated = ob.evaluated_get(bpy.context.evaluated_depsgraph_get())
        matrix = np.array(evaluated.matrix_world, float)
        for i, (prefix, side, y) in enumerate(motion.body.legs):
            if not motion.is_flat(i, (frame - 1) / case.fps):
                last.pop(i, None)
                continue
            name = case.expression.rename(f"{prefix}foot.{side}")
            rest = np.array(ob.data.bones[name].matrix_local, float)
            moved = matrix @ np.array(evaluated.pose.bones[name].matrix, float) @ np.linalg.inv(world @ rest)
            at = motion.body.joints(side, y)
            heel = at["ankle"] + (0, creatures.HEEL_BEHIND * motion.body.foot, 0)
            sole = [p * (1, 1, 0) for p in (heel, at["ankle"], at["ball"])]
            sole = [creatures.rigid(moved, creatures.rigid(np.array(case.stage, float), p)) for p in sole]
            heights = [height_over(tree, p, size) / size for p in sole]
            cut.append(-min(heights))
            if i in last:
                slip.append(float(np.linalg.norm(sole[-1] - last[i])) / size)
            last[i] = sole[-1]
    return Measures(max(cut), max(slip))


def tree_of(ground: bpy.types.Object) -> BVHTree:
    ground.data.calc_loop_triangles()
    return BVHTree.FromPolygons([ground.matrix_world @ v.co for v in ground.data.vertices],
                                [tuple(t.vertices) for t in ground.data.loop_triangles])


def height_over(tree: BVHTree, point: np.ndarray, size: float) -> float:
    """Height of a point over the ground: over the lowest that lies within a thousandth of a leg, since a sole may rest
    right at the edge of a step."""
    around = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))
    hits = [tree.ray_cast((point[0] + EDGE * size * x, point[1] + EDGE * size * y, point[2] + 3 * size), (0, 0, -1))[0]
            for x, y in around]
    return min((point[2] - hit.z for hit in hits if hit is not None), key=abs, default=0.0)


def judge(case: Case, before: Measures, after: Measures) -> None:
    """See that feet which stand do not cut the ground, nor slide more than they did."""
    tips = case.motion.gait.in_place and case.ground in ("stairs", "kerb")
    most = CUT_AT_EDGES if tips else CUT
    assert after.cut < most, f"a standing sole is {after.cut:.4f} legs under the ground, before {before.cut:.4f}"
    if not case.motion.gait.skate and not tips:
        most = 1.05 * before.slip + SLIP
        assert after.slip < most, f"a standing foot slips {after.slip:.4f} legs in a frame, before {before.slip:.4f}"
