"""The sample character: a jointed mannequin, made in code.

Metres, facing -Y, its left on +X, soles flat on z = 0 in rest. Every segment hangs rigidly on one bone,
like the parts of an artist's wooden figure, so that what a bone does can be read in a picture.
"""

from math import cos, pi, sin

import bpy
from mathutils import Vector

NAME = "Mannequin"

# Rest joints of the left side; the right side mirrors them in x.
HIP, KNEE = Vector((0.095, 0.0, 0.95)), Vector((0.095, -0.048, 0.514))
ANKLE, BALL, TIP = Vector((0.095, 0.0, 0.085)), Vector((0.095, -0.13, 0.02)), Vector((0.095, -0.205, 0.02))
SHOULDER, ARM_DROP = Vector((0.175, 0.01, 1.42)), 50.0 * pi / 180.0
ARM = Vector((cos(ARM_DROP), 0.0, -sin(ARM_DROP)))

# name: (parent, head, tail)
TRUNK = {
    "root": (None, Vector((0, 0, 0)), Vector((0, -0.25, 0))),
    "hips": ("root", Vector((0, 0, 0.96)), Vector((0, 0, 1.06))),
    "spine": ("hips", Vector((0, 0, 1.06)), Vector((0, 0, 1.17))),
    "chest": ("spine", Vector((0, 0, 1.17)), Vector((0, 0, 1.31))),
    "upper_chest": ("chest", Vector((0, 0, 1.31)), Vector((0, 0, 1.45))),
    "neck": ("upper_chest", Vector((0, 0, 1.45)), Vector((0, -0.01, 1.53))),
    "head": ("neck", Vector((0, -0.01, 1.53)), Vector((0, -0.01, 1.75))),
}
LIMBS = {
    "shoulder": ("upper_chest", Vector((0.03, 0.01, 1.41)), SHOULDER),
    "upper_arm": ("shoulder", SHOULDER, SHOULDER + ARM * 0.29),
    "forearm": ("upper_arm", SHOULDER + ARM * 0.29, SHOULDER + ARM * 0.54),
    "hand": ("forearm", SHOULDER + ARM * 0.54, SHOULDER + ARM * 0.63),
    "fingers": ("hand", SHOULDER + ARM * 0.63, SHOULDER + ARM * 0.71),
    "thigh": ("hips", HIP, KNEE),
    "shin": ("thigh", KNEE, ANKLE),
    "foot": ("shin", ANKLE, BALL),
    "toe": ("foot", BALL, TIP),
}

# Points of the left sole in rest, with the bone that carries each.
SOLE = {
    "heel": ("foot", Vector((0.095, 0.06, 0.0))),
    "heel_in": ("foot", Vector((0.070, 0.045, 0.0))),
    "heel_out": ("foot", Vector((0.120, 0.045, 0.0))),
    "ball": ("toe", Vector((0.095, -0.13, 0.0))),
    "ball_in": ("toe", Vector((0.056, -0.13, 0.0))),
    "ball_out": ("toe", Vector((0.134, -0.13, 0.0))),
    "tip": ("toe", Vector((0.095, -0.19, 0.0))),
}

COLOURS = {
    "Body": (0.86, 0.66, 0.42, 1.0),
    "Joint": (0.13, 0.11, 0.10, 1.0),
    "Left": (0.86, 0.36, 0.14, 1.0),
    "Right": (0.16, 0.42, 0.70, 1.0),
}


def mirrored(point):
    """`point` on the other side of the body."""
    return Vector((-point.x, point.y, point.z))


def bones():
    """All bones as name: (parent, head, tail), parents first."""
    table = dict(TRUNK)
    for side, place in ((".L", Vector), (".R", mirrored)):
        for name, (parent, head, tail) in LIMBS.items():
            table[name + side] = (parent + side if parent in LIMBS else parent, place(head), place(tail))
    return table


def sole_points(side):
    """Rest points of one sole ("L" or "R") as name: (bone, point), in armature space."""
    place = Vector if side == "L" else mirrored
    return {name: (f"{bone}.{side}", place(point)) for name, (bone, point) in SOLE.items()}


class Solid:
    """Collects closed rings of vertices into one mesh, each part with its bone and material."""

    def __init__(self):
        self.vertices, self.faces, self.materials, self.groups = [], [], [], {}

    def loft(self, bone, material, rings):
        """Skin `rings` (equally long lists of points, seen anticlockwise along the way) and close both ends."""
        first, size = len(self.vertices), len(rings[0])
        self.vertices += [point for ring in rings for point in ring]
        self.groups.setdefault(bone, []).extend(range(first, len(self.vertices)))
        end = len(self.vertices)
        faces = [tuple(range(first + size - 1, first - 1, -1)), tuple(range(end - size, end))]
        for row in range(first, first + size * (len(rings) - 1), size):
            for i in range(size):
                j = (i + 1) % size
                faces.append((row + i, row + j, row + size + j, row + size + i))
        self.faces += faces
        self.materials += [list(COLOURS).index(material)] * len(faces)

    def lathe(self, bone, material, start, end, profile, flat=1.0, sides=12):
        """A turned part: `profile` lists (way from start to end, radius); `flat` squeezes it front to back."""
        axis = (end - start).normalized()
        across = Vector((1, 0, 0)) if abs(axis.x) < 0.5 else Vector((0, 1, 0)).cross(axis).normalized()
        across = (across - axis * across.dot(axis)).normalized()
        front = axis.cross(across)
        rings = []
        for way, radius in profile:
            centre = start.lerp(end, way)
            turn = [2.0 * pi * i / sides for i in range(sides)]
            rings.append([centre + radius * (across * cos(a) + front * (flat * sin(a))) for a in turn])
        self.loft(bone, material, rings)

    def capsule(self, bone, material, start, end, r_start, r_end, belly=0.0, flat=1.0):
        """A limb segment with rounded ends, fuller by `belly` a third of the way down."""
        length = (end - start).length
        profile = [(-r_start * cos(a) / length, r_start * sin(a)) for a in (0.15, 0.6, 1.1)]
        for way in (0.0, 0.15, 0.35, 0.6, 0.85, 1.0):
            swell = belly * sin(pi * way ** 0.7)
            profile.append((way, r_start + (r_end - r_start) * way + swell))
        profile += [(1.0 + r_end * cos(a) / length, r_end * sin(a)) for a in (1.1, 0.6, 0.15)]
        self.lathe(bone, material, start, end, profile, flat)

    def ball(self, bone, centre, radius, material="Joint", stretch=1.0, flat=1.0):
        """A ball joint, or an egg where `stretch` (in height) and `flat` (in depth) say so."""
        up = Vector((0, 0, radius * stretch))
        profile = [(0.5 - 0.5 * cos(a), radius * sin(a)) for a in [0.12 + (pi - 0.24) * i / 7 for i in range(8)]]
        self.lathe(bone, material, centre - up, centre + up, profile, flat, sides=10)


def shoe_ring(x, y, half_width, height, lift=0.0):
    """Cross-section of a shoe at `y`: flat underneath at `lift`, round on top."""
    outline = [(-0.9, 0.0), (0.9, 0.0), (1.0, 0.16), (0.98, 0.45), (0.80, 0.78), (0.42, 0.97)]
    outline += [(-0.42, 0.97), (-0.80, 0.78), (-0.98, 0.45), (-1.0, 0.16)]
    return [Vector((x + across * half_width, y, lift + up * (height - lift))) for across, up in outline]


def add_foot(solid, bone_side, x, colour):
    """A shoe in two parts, hinged at the ball: heel to ball on the foot bone, the rest on the toe bone."""
    # (y, half width, height, lift of the underside)
    back = [(0.075, 0.024, 0.065, 0.014), (0.066, 0.031, 0.085, 0.0), (0.03, 0.036, 0.105, 0.0)]
    back += [(-0.01, 0.036, 0.100, 0.0), (-0.05, 0.037, 0.080, 0.0), (-0.09, 0.041, 0.064, 0.0)]
    back += [(-0.127, 0.044, 0.052, 0.0)]
    front = [(-0.133, 0.044, 0.050, 0.0), (-0.16, 0.043, 0.044, 0.0), (-0.185, 0.037, 0.038, 0.0)]
    front += [(-0.20, 0.027, 0.033, 0.004), (-0.208, 0.014, 0.026, 0.010)]
    for bone, rows in (("foot", back), ("toe", front)):
        solid.loft(bone + bone_side, colour, [shoe_ring(x, *row) for row in rows])
    # The hinge, a rod across the foot, kept clear of the floor.
    rod = [(0.0, 0.008), (0.02, 0.015), (0.98, 0.015), (1.0, 0.008)]
    middle, half = Vector((x, BALL.y, 0.024)), Vector((0.046, 0, 0))
    solid.lathe("toe" + bone_side, "Joint", middle - half, middle + half, rod, sides=10)


# Turned parts of the trunk: bone, start, end, depth against width, profile of (way, radius).
TURNED = (
    ("hips", (0, 0, 0.875), (0, 0, 1.055), 0.76,
     ((0, 0.035), (0.12, 0.068), (0.4, 0.100), (0.62, 0.142), (0.8, 0.142), (0.93, 0.115), (1, 0.07))),
    ("chest", (0, 0, 1.135), (0, 0, 1.285), 0.72,
     ((0, 0.085), (0.15, 0.122), (0.6, 0.145), (0.9, 0.148), (1, 0.13))),
    ("upper_chest", (0, 0.002, 1.292), (0, 0.005, 1.475), 0.72,
     ((0, 0.135), (0.08, 0.152), (0.4, 0.168), (0.65, 0.152), (0.85, 0.10), (1, 0.052))),
    ("head", (0, -0.015, 1.525), (0, -0.012, 1.752), 1.16,
     ((0, 0.02), (0.04, 0.046), (0.2, 0.068), (0.45, 0.083), (0.65, 0.088), (0.82, 0.075), (0.94, 0.046), (1, 0.016))),
    # A ridge where the nose would be tells where the head looks.
    ("head", (0, -0.106, 1.655), (0, -0.112, 1.595), 1.4, ((0, 0.004), (0.6, 0.013), (1, 0.006))),
)


def add_trunk(solid):
    """Pelvis, belly, chest, neck and head."""
    for bone, start, end, flat, profile in TURNED:
        solid.lathe(bone, "Body", Vector(start), Vector(end), profile, flat, sides=18)
    solid.ball("spine", Vector((0, 0, 1.095)), 0.098, stretch=0.75, flat=0.8)
    solid.ball("upper_chest", Vector((0, 0.002, 1.29)), 0.125, stretch=0.3, flat=0.72)
    solid.capsule("neck", "Joint", Vector((0, 0, 1.45)), Vector((0, -0.01, 1.54)), 0.046, 0.044)


def add_limbs(solid, suffix, colour, place):
    """Arm and leg of one side; `place` brings a point of the left side there."""
    at = {name: (place(head), place(tail)) for name, (_, head, tail) in LIMBS.items()}
    parts = [("upper_arm", 0.16, 0.86, 0.036, 0.031, 0.006), ("forearm", 0.16, 0.88, 0.032, 0.023, 0.006),
             ("thigh", 0.13, 0.89, 0.066, 0.046, 0.012), ("shin", 0.12, 0.88, 0.046, 0.031, 0.014)]
    for bone, start, end, r_start, r_end, belly in parts:
        head, tail = at[bone]
        solid.capsule(bone + suffix, colour, head.lerp(tail, start), head.lerp(tail, end), r_start, r_end, belly)
    for bone, radius in (("upper_arm", 0.050), ("forearm", 0.037), ("hand", 0.026), ("thigh", 0.070), ("shin", 0.051),
                         ("foot", 0.040)):
        solid.ball(bone + suffix, at[bone][0], radius)
    hand, fingers = at["hand"], at["fingers"]
    solid.capsule("hand" + suffix, "Body", hand[0].lerp(hand[1], 0.3), hand[1], 0.028, 0.034, 0.004, flat=0.55)
    solid.capsule("fingers" + suffix, "Body", fingers[0].lerp(fingers[1], 0.3), fingers[1], 0.032, 0.016, flat=0.5)
    add_foot(solid, suffix, at["foot"][0].x, colour)


def build_mesh():
    """The mannequin's mesh, its vertex groups as name: indices, and the materials it needs."""
    solid = Solid()
    add_trunk(solid)
    add_limbs(solid, ".L", "Left", Vector)
    add_limbs(solid, ".R", "Right", mirrored)
    mesh = bpy.data.meshes.new(NAME)
    grid = 2.0 ** 13  # eighths of a millimetre: short numbers make a small file
    mesh.from_pydata([[round(c * grid) / grid for c in v] for v in solid.vertices], [], solid.faces)
    mesh.polygons.foreach_set("material_index", solid.materials)
    mesh.shade_smooth()
    mesh.set_sharp_from_angle(angle=0.9)
    for name, colour in COLOURS.items():
        material = bpy.data.materials.get(name) or bpy.data.materials.new(name)
        material.diffuse_color = colour
        mesh.materials.append(material)
    return mesh, solid.groups


def build_armature():
    """The armature data in its rest pose. It passes through edit mode, so it needs a scene."""
    data = bpy.data.armatures.new(NAME)
    ob = bpy.data.objects.new(NAME, data)
    bpy.context.scene.collection.objects.link(ob)
    bpy.context.view_layer.objects.active = ob
    bpy.ops.object.mode_set(mode="EDIT")
    for name, (parent, head, tail) in bones().items():
        bone = data.edit_bones.new(name)
        bone.head, bone.tail = head, tail
        if parent:
            bone.parent = data.edit_bones[parent]
            bone.use_connect = parent != "root" and (bone.head - bone.parent.tail).length < 1e-6
        lies = name.split(".")[0] in ("root", "foot", "toe")
        bone.align_roll(Vector((0, 0, 1)) if lies else Vector((0, -1, 0)))
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.data.objects.remove(ob)
    data.display_type = "STICK"
    return data


class Maker:
    """Makes any number of mannequins that share armature and mesh data."""

    def __init__(self):
        self.armature = build_armature()
        self.mesh, self.groups = build_mesh()

    def add(self, collection, location=(0.0, 0.0, 0.0), heading=0.0):
        """A new mannequin in `collection`, turned by `heading` about z from facing -Y; returns its armature object."""
        rig = bpy.data.objects.new(NAME, self.armature)
        rig.location, rig.rotation_euler.z = location, heading
        skin = bpy.data.objects.new(NAME + " Mesh", self.mesh)
        skin.parent = rig
        if not skin.vertex_groups:  # groups live on the mesh, so the first user makes them for all
            for name, indices in self.groups.items():
                skin.vertex_groups.new(name=name).add(indices, 1.0, "REPLACE")
        skin.modifiers.new("Armature", "ARMATURE").object = rig
        for ob in (rig, skin):
            collection.objects.link(ob)
        bpy.context.view_layer.update()  # makes the pose bones
        return rig
