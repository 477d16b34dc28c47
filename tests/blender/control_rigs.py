"""The walker as a control rig: the same walk, but legs and hips are moved by controls and constraints.

Each builder is a `prepare` of `scenes.walker`: it reads the poses of the walk, adds controls, keys them so that the
rig walks as it did, and takes the keys off the leg bones.
"""
from __future__ import annotations

import importlib

import addon_utils
import bpy
from mathutils import Matrix, Vector

from sample_scenes import mannequin

from . import scenes

SIDES = "LR"
LEG = (*scenes.LEG_BONES, "toe")
FRAMES = range(1, scenes.LAST + 1)


def poses_of(ob, names) -> dict[str, list[Matrix]]:
    """{bone: its matrix in each frame}, in armature space."""
    out = {name: [] for name in names}
    for frame in FRAMES:
        scenes.visit(frame)
        evaluated = ob.evaluated_get(bpy.context.evaluated_depsgraph_get())
        for name in names:
            out[name].append(evaluated.pose.bones[name].matrix.copy())
    return out


def add_bones(ob, table) -> None:
    """Bones that deform nothing, as name: (parent, bone that it lies on) or (parent, head, tail)."""
    bpy.context.view_layer.objects.active = ob
    bpy.ops.object.mode_set(mode="EDIT")
    bones = ob.data.edit_bones
    for name, (parent, *place) in table.items():
        bone = bones.new(name)
        like = bones[place[0]] if len(place) == 1 else None
        bone.head, bone.tail = (like.head, like.tail) if like else place
        bone.roll = like.roll if like else 0.0
        bone.use_deform = False
        bone.parent = bones.get(parent)
    bpy.ops.object.mode_set(mode="OBJECT")


def ends_of(ob, name) -> tuple[Vector, Vector]:
    """Head and tail of a bone at rest."""
    return ob.data.bones[name].head_local.copy(), ob.data.bones[name].tail_local.copy()


def key(ob, name, matrices) -> None:
    """Key a bone so that its matrix in armature space is what is given for each frame; its parents are keyed before."""
    bone = ob.pose.bones[name]
    for frame, matrix in zip(FRAMES, matrices, strict=True):
        scenes.visit(frame)
        bone.matrix = matrix
        euler = len(bone.rotation_mode) == 3
        for path in ("location", "rotation_euler" if euler else "rotation_quaternion"):
            bone.keyframe_insert(path, frame=frame)


def along(ob, name, followed, matrices) -> list[Matrix]:
    """Where a bone is that goes along with another one in one piece, from the matrices of that."""
    offset = ob.data.bones[followed].matrix_local.inverted() @ ob.data.bones[name].matrix_local
    return [matrix @ offset for matrix in matrices]


def unkey(ob, names) -> None:
    starts = tuple(f'pose.bones["{name}"].' for name in names)
    scenes.remove_curves(ob, keep=lambda path, index: not path.startswith(starts))
    for name in names:
        ob.pose.bones[name].matrix_basis.identity()
        ob.pose.bones[name].rotation_quaternion = (1, 0, 0, 0)
        ob.pose.bones[name].location = (0, 0, 0)


def pole_angle(ob, upper, lower, pole) -> float:
    """The pole angle of an IK constraint on `lower` at which the rest pose stays as it is."""
    bones = ob.data.bones
    base, tip, place = bones[upper], bones[lower], bones[pole].head_local
    along_base = base.tail_local - base.head_local
    across = (tip.tail_local - base.head_local).cross(place - base.head_local)
    toward = across.cross(along_base)
    x = base.matrix_local.to_3x3().col[0]
    angle = x.angle(toward)
    return -angle if x.cross(toward).angle(along_base) < 1 else angle


def pull(ob, name, target, pole="", count=2) -> None:
    """An IK constraint on a bone."""
    bone = ob.pose.bones[name]
    ik = bone.constraints.new("IK")
    ik.target, ik.subtarget, ik.chain_count = ob, target, count
    ik.use_stretch = False
    if pole:
        ik.pole_target, ik.pole_subtarget = ob, pole
        ik.pole_angle = pole_angle(ob, bone.parent.name, name, pole)


def copy(ob, name, followed, kind="COPY_ROTATION", **options) -> None:
    constraint = ob.pose.bones[name].constraints.new(kind)
    constraint.target, constraint.subtarget = ob, followed
    for option, value in options.items():
        setattr(constraint, option, value)


def knee_poles(poses, side) -> list[Matrix]:
    """Half a metre before the knee, in the plane of the leg."""
    out = []
    for hip, knee, ankle in zip(*(poses[f"{n}.{side}"] for n in ("thigh", "shin", "foot")), strict=True):
        a, b, c = hip.translation, knee.translation, ankle.translation
        axis = (c - a).normalized()
        out.append(Matrix.Translation(b + 0.5 * ((b - a) - axis * (b - a).dot(axis)).normalized()))
    return out


def ik_rig(ob, turned=True) -> None:
    """Target and pole as bones; with `turned` the foot copies the rotation of its target."""
    names = [f"{part}.{side}" for part in scenes.LEG_BONES for side in SIDES]
    poses = poses_of(ob, names)
    table = {}
    for side in SIDES:
        table[f"target.{side}"] = ("", f"foot.{side}")
        knee = ends_of(ob, f"shin.{side}")[0]
        table[f"pole.{side}"] = ("", knee + Vector((0, -0.5, 0)), knee + Vector((0, -0.6, 0)))
    add_bones(ob, table)
    for side in SIDES:
        key(ob, f"target.{side}", along(ob, f"target.{side}", f"foot.{side}", poses[f"foot.{side}"]))
        key(ob, f"pole.{side}", knee_poles(poses, side))
        pull(ob, f"shin.{side}", f"target.{side}", f"pole.{side}")
        if turned:
            copy(ob, f"foot.{side}", f"target.{side}")
    unkey(ob, [n for n in names if turned or not n.startswith("foot")])
    scenes.visit(1)


def carried_ik_rig(ob) -> None:
    """Targets in Euler angles, one of which is the child of an object that lies askew, the other of the hips."""
    ik_rig(ob)
    empty = bpy.data.objects.new("Carrier", None)
    empty.location, empty.rotation_euler = (0.1, 0.2, 0.3), (0.3, 0.2, 0.5)
    bpy.context.scene.collection.objects.link(empty)
    poses = poses_of(ob, ("target.L", "target.R"))
    unkey(ob, poses)
    bpy.ops.object.mode_set(mode="EDIT")
    ob.data.edit_bones["target.R"].parent = ob.data.edit_bones["hips"]
    bpy.ops.object.mode_set(mode="OBJECT")
    for name in poses:
        ob.pose.bones[name].rotation_mode = "ZXY"
        key(ob, name, poses[name])
    child = ob.pose.bones["target.L"].constraints.new("CHILD_OF")
    child.target, child.inverse_matrix = empty, empty.matrix_basis.inverted()
    scenes.visit(1)


def floppy_ik_rig(ob) -> None:
    """Without the constraint on the foot, which is turned by its own keys."""
    ik_rig(ob, turned=False)


def copying_rig(ob) -> None:
    """As Auto-Rig Pro does it: deforming bones copy a chain that is pulled to the end of a reverse foot, whose ball
    rolls; hips copy a control below the one that is keyed."""
    names = ["hips", *(f"{part}.{side}" for part in scenes.LEG_BONES for side in SIDES)]
    poses = poses_of(ob, names)
    table = {"c_traj": ("", "root"), "c_root_master": ("c_traj", "hips"), "c_root": ("c_root_master", "hips")}
    for side in SIDES:
        ball, tip = ends_of(ob, f"toe.{side}")
        table |= {f"thigh_ik.{side}": ("c_root", f"thigh.{side}"),
                  f"shin_ik.{side}": (f"thigh_ik.{side}", f"shin.{side}"),
                  f"c_foot.{side}": ("c_traj", f"foot.{side}"), f"c_roll.{side}": (f"c_foot.{side}", ball, tip),
                  f"foot_ik.{side}": (f"c_roll.{side}", f"foot.{side}"),
                  f"c_pole.{side}": (f"c_foot.{side}", (ball.x, -0.7, 0.5), (ball.x, -0.8, 0.5))}
    add_bones(ob, table)
    key(ob, "c_root_master", along(ob, "c_root_master", "hips", poses["hips"]))
    copy(ob, "hips", "c_root", "COPY_TRANSFORMS")
    for side in SIDES:
        roll = ob.pose.bones[f"c_roll.{side}"]
        roll.rotation_mode = "XYZ"
        for frame, turn in ((1, 0.0), (20, 0.5), (35, -0.2)):
            roll.rotation_euler.x = turn
            roll.keyframe_insert("rotation_euler", frame=frame)
        rolled = poses_of(ob, (f"c_foot.{side}", f"foot_ik.{side}"))
        inner = [a.inverted() @ b for a, b in zip(*rolled.values(), strict=True)]
        key(ob, f"c_foot.{side}", [p @ m.inverted() for p, m in zip(poses[f"foot.{side}"], inner, strict=True)])
        key(ob, f"c_pole.{side}", knee_poles(poses, side))
        pull(ob, f"shin_ik.{side}", f"foot_ik.{side}", f"c_pole.{side}")
        for part, source in (("thigh", "thigh_ik"), ("shin", "shin_ik"), ("foot", "foot_ik")):
            copy(ob, f"{part}.{side}", f"{source}.{side}", "COPY_TRANSFORMS")
    unkey(ob, names)
    scenes.visit(1)


def pointing_rig(ob) -> None:
    """As KayKit does it: the shin is pulled to the heel, and the foot points at the ball, below rolling controls."""
    names = [f"{part}.{side}" for part in LEG for side in SIDES]
    poses = poses_of(ob, names)
    table = {}
    for side in SIDES:
        (ankle, ball), tip = ends_of(ob, f"foot.{side}"), ends_of(ob, f"toe.{side}")[1]
        up, knee = Vector((0, 0, 0.1)), ends_of(ob, f"shin.{side}")[0] + Vector((0, -0.5, 0))
        table |= {f"control-toe.{side}": ("root", tip, tip + up),
                  f"control-heel.{side}": (f"control-toe.{side}", ankle - Vector((0, 0, ankle.z)), ankle),
                  f"control-foot.{side}": (f"control-heel.{side}", ball, ball + up),
                  f"heelIK.{side}": (f"control-foot.{side}", ankle, ankle + up),
                  f"IK-foot.{side}": (f"control-foot.{side}", ball, ball + up),
                  f"kneeIK.{side}": ("root", knee, knee + up)}
    add_bones(ob, table)
    for side in SIDES:
        key(ob, f"control-toe.{side}", along(ob, f"control-toe.{side}", f"foot.{side}", poses[f"foot.{side}"]))
        key(ob, f"kneeIK.{side}", knee_poles(poses, side))
        pull(ob, f"shin.{side}", f"heelIK.{side}", f"kneeIK.{side}")
        pull(ob, f"foot.{side}", f"IK-foot.{side}", count=1)
    unkey(ob, [n for n in names if not n.startswith("toe")])
    scenes.visit(1)


def paw_rig(ob) -> None:
    """As Rigify's animals have it: a control places the paw, the heel above it turns half-way to the hip by itself, and
    the shin is pulled to it. A claw goes along with the toes although it hangs on the hips."""
    names = [f"{part}.{side}" for part in LEG for side in SIDES]
    poses = poses_of(ob, names)
    table = {}
    for side in SIDES:
        (ankle, ball), tip = ends_of(ob, f"foot.{side}"), ends_of(ob, f"toe.{side}")[1]
        table |= {f"c_paw.{side}": ("root", f"toe.{side}"), f"track.{side}": (f"c_paw.{side}", ball, ankle),
                  f"heel.{side}": (f"track.{side}", f"foot.{side}"), f"socket.{side}": ("hips", f"toe.{side}"),
                  f"claw.{side}": (f"socket.{side}", tip, tip + Vector((0, -0.03, 0)))}
    add_bones(ob, table)
    for side in SIDES:
        key(ob, f"c_paw.{side}", poses[f"toe.{side}"])
        copy(ob, f"track.{side}", "hips", "DAMPED_TRACK", influence=0.5)
        pull(ob, f"shin.{side}", f"heel.{side}")
        copy(ob, f"foot.{side}", f"heel.{side}")
        copy(ob, f"toe.{side}", f"c_paw.{side}")
        copy(ob, f"socket.{side}", f"toe.{side}", "COPY_TRANSFORMS")
        ob.pose.bones[f"heel.{side}"].lock_location = (True, True, True)
        ob.data.bones[f"claw.{side}"].use_deform = True
    unkey(ob, names)
    scenes.visit(1)


# ---------------------------------------------------------------- Rigify

JOINTS = {"thigh": ("HIP", "KNEE"), "shin": ("KNEE", "ANKLE"), "foot": ("ANKLE", "BALL"), "toe": ("BALL", "TIP")}


def rigify(ob) -> None:
    """A generated Rigify rig in the place of the mannequin, with legs of its measures, that walks as it does: feet,
    toes and torso are keyed, and the legs stand to IK."""
    rig, poses = in_its_place(ob)
    for side in SIDES:
        for part in ("foot", "toe"):
            key(rig, f"{part}_ik.{side}", poses[f"{part}_ik.{side}"])
    scenes.visit(1)


def rigify_with_poles(ob) -> None:
    """The same with poles, of which one is a child of the root and keyed, the other goes along with the pelvis."""
    rig, poses = in_its_place(ob)
    for side in SIDES:
        rig.pose.bones[f"thigh_parent.{side}"]["pole_vector"] = True
        key(rig, f"foot_ik.{side}", poses[f"foot_ik.{side}"])
        key(rig, f"toe_ik.{side}", poses[f"toe_ik.{side}"])
    rig.pose.bones["thigh_parent.L"]["pole_parent"] = 1
    key(rig, "thigh_ik_target.L", poses["pole.L"])
    scenes.visit(1)


def rigify_fk(ob) -> None:
    """The same with legs that stand to FK."""
    rig, poses = in_its_place(ob)
    for side in SIDES:
        rig.pose.bones[f"thigh_parent.{side}"]["IK_FK"] = 1.0
        for part in LEG:
            key(rig, f"{part}_fk.{side}", poses[f"{part}_fk.{side}"])
    scenes.visit(1)


def in_its_place(ob):
    """A generated rig, and where its controls must be in each frame for it to walk as the mannequin, which it replaces:
    its torso is keyed so."""
    legs = [f"{part}.{side}" for part in LEG for side in SIDES]
    walk = poses_of(ob, ["hips", *legs])
    rest = {name: ob.data.bones[name].matrix_local.copy() for name in walk}
    rig = generated()
    for old in (*ob.children, ob):
        bpy.data.objects.remove(old)
    rig.name = mannequin.NAME
    pairs = {"torso": "hips"}
    pairs |= {f"{part}_{kind}.{side}": f"{part}.{side}" for part in LEG for side in SIDES for kind in ("ik", "fk")
              if f"{part}_{kind}.{side}" in rig.data.bones}
    offset = {name: rest[pairs[name]].inverted() @ rig.data.bones[name].matrix_local for name in pairs}
    poses = {name: [pose @ offset[name] for pose in walk[pairs[name]]] for name in pairs}
    key(rig, "torso", poses["torso"])
    return rig, poses | {f"pole.{side}": knee_poles(walk, side) for side in SIDES}


def generated():
    """The rig that Rigify generates from its Basic Human, with the mannequin's legs."""
    bpy.context.preferences.filepaths.use_scripts_auto_execute = True
    addon_utils.enable("rigify", default_set=True)
    meta = bpy.data.objects.new("meta", bpy.data.armatures.new("meta"))
    bpy.context.scene.collection.objects.link(meta)
    bpy.context.view_layer.objects.active = meta
    bpy.ops.object.mode_set(mode="EDIT")
    importlib.import_module("rigify.metarigs.Basic.basic_human").create(meta)
    bpy.ops.object.mode_set(mode="EDIT")
    for side, sign in (("L", 1), ("R", -1)):
        bones = meta.data.edit_bones
        for part, ends in JOINTS.items():
            head, tail = (Vector((sign * p.x, p.y, p.z)) for p in (getattr(mannequin, end) for end in ends))
            bones[f"{part}.{side}"].head, bones[f"{part}.{side}"].tail = head, tail
        bones[f"heel.02.{side}"].head = Vector((sign * 0.05, 0.06, 0))
        bones[f"heel.02.{side}"].tail = Vector((sign * 0.14, 0.06, 0))
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.pose.rigify_generate()
    rig = bpy.context.object
    bpy.data.objects.remove(meta)
    return rig

