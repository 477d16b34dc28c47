"""Builds the six sample scenes and saves them beside this file.

    python sample_scenes/build.py [scene ...] [--out FOLDER]

Needs Blender's Python module. The files in the repository are made with 4.2, which all later versions open.
Every walk is animated for the flat floor z = 0 (crowd: the object's own height) and left uncorrected; the
ground passes through that height where the walk begins. The marker "Picture" names the frame to look at.
"""

import argparse
import os
import sys
from math import cos, pi, radians, sin, tan
from pathlib import Path
from random import Random

import bpy
from mathutils import Vector, noise

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sample_scenes import mannequin, walk  # noqa: E402  (needs the path above)

FOLDER = Path(__file__).resolve().parent
FPS = 30
SKY = (0.72, 0.76, 0.80)
COLOURS = {
    "Ground": (0.82, 0.85, 0.86, 1.0),
    "Ground Light": (1.0, 1.0, 0.98, 1.0),
    "Edge": (0.52, 0.56, 0.60, 1.0),
    "Stone": (0.74, 0.66, 0.56, 1.0),
    "Deck": (0.58, 0.80, 0.70, 1.0),
    "Deck Light": (0.74, 0.96, 0.86, 1.0),
}


# Ground

def material(name):
    """The ground material of this name, made when first asked for."""
    found = bpy.data.materials.get(name) or bpy.data.materials.new(name)
    found.diffuse_color = COLOURS[name]
    return found


def ground_object(name, mesh, materials):
    """Link a new object with `mesh` into the collection "Ground"."""
    for colour in materials if not mesh.materials else ():
        mesh.materials.append(material(colour))
    ob = bpy.data.objects.new(name, mesh)
    bpy.data.collections["Ground"].objects.link(ob)
    return ob


def slab(name, xs, ys, height, bottom, materials=("Ground", "Ground Light", "Edge"), tile=0.5, smooth=False):
    """A closed block over the grid `xs` by `ys` (ascending) with top z = height(x, y), chequered in tiles."""
    nx, ny = len(xs), len(ys)
    top = [(x, y, height(x, y)) for y in ys for x in xs]
    below = [(x, y, bottom) for x, y, _ in top]
    faces, colours = [], []
    for j in range(ny - 1):
        for i in range(nx - 1):
            a = j * nx + i
            faces.append((a, a + 1, a + 1 + nx, a + nx))
            middle = 0.5 * (xs[i] + xs[i + 1]), 0.5 * (ys[j] + ys[j + 1])
            colours.append(int(middle[0] // tile + middle[1] // tile) % 2)
    rim = [*range(nx), *range(2 * nx - 1, nx * ny, nx), *range(nx * ny - 2, nx * ny - nx - 1, -1),
           *range(nx * (ny - 2), 0, -nx)]
    under = {v: nx * ny + i for i, v in enumerate(rim)}
    for a, b in zip(rim, rim[1:] + rim[:1]):
        faces.append((a, under[a], under[b], b))
    faces.append(tuple(under[v] for v in reversed(rim)))
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(top + [below[v] for v in rim], [], faces)
    mesh.polygons.foreach_set("material_index", colours + [2] * (len(faces) - len(colours)))
    if smooth:
        mesh.shade_smooth()
        mesh.set_sharp_from_angle(angle=radians(40.0))
    return ground_object(name, mesh, materials)


def span(start, end, cell):
    """Evenly spaced numbers from start to end, at most `cell` apart."""
    count = -int(-(end - start) // cell)
    return [start + (end - start) * i / count for i in range(count + 1)]


def stone_mesh(random, index):
    """A flat-bottomed boulder of unit size."""
    import bmesh
    shape = bmesh.new()
    bmesh.ops.create_icosphere(shape, subdivisions=2, radius=1.0)
    shift = Vector((random.uniform(0, 99), 0, 0))
    for v in shape.verts:
        v.co *= 1.0 + 0.35 * noise.noise(v.co * 1.1 + shift)
        v.co.z *= 0.55
    mesh = bpy.data.meshes.new(f"Stone {index}")
    shape.to_mesh(mesh)
    shape.free()
    return mesh


# Scenes

def slope(makers):
    """Fourteen degrees uphill."""
    foot, rise = -0.25, tan(radians(14.0))
    ys = sorted({*span(-5.5, foot, 0.5), *span(foot, 1.0, 0.5)})
    slab("Slope", span(-1.5, 1.5, 0.5), ys, lambda x, y: max(foot - y, 0.0) * rise, -0.5)
    one_walker(makers, walk.Gait(steps=7))
    frame_view(50, (0.0, -1.75, 1.02), (-3.9, -0.7, 1.35), 2.45)


def stairs(makers):
    """Eight steps of 16 by 30 cm, climbed one at a time."""
    first, rise, going, count = -0.62, 0.16, 0.30, 8
    mesh = bpy.data.meshes.new("Stairs")
    outline = [(1.0, -0.5), (1.0, 0.0)]  # (y, z), from the back of the floor up to the landing
    for i in range(count):
        outline += [(first - going * i, rise * i), (first - going * i, rise * (i + 1))]
    outline += [(first - going * count - 1.5, rise * count), (first - going * count - 1.5, -0.5)]
    n, half = len(outline), 1.0
    verts = [(x, y, z) for x in (-half, half) for y, z in outline]
    faces = [(i, (i + 1) % n, n + (i + 1) % n, n + i) for i in range(n)]
    faces += [tuple(reversed(range(n))), tuple(range(n, 2 * n))]
    mesh.from_pydata(verts, [], faces)
    for face in mesh.polygons:
        face.material_index = 2 if abs(face.normal.x) > 0.5 else 1 if face.normal.z > 0.5 else 0
    ground_object("Stairs", mesh, ("Ground", "Ground Light", "Edge"))
    one_walker(makers, walk.Gait(steps=11, step_length=0.30, step_time=0.6))
    frame_view(94, (0.0, -1.55, 1.08), (-3.6, -0.1, 1.6), 2.5)


def rough(makers):
    """Uneven earth with stones scattered over it."""
    random = Random(7)

    def height(x, y):
        fade = min(max((0.6 - y) / 1.2, 0.0), 1.0)
        bumps = 0.10 * sin(2.1 * y + 0.6) * cos(1.2 * x + 0.3) + 0.035 * sin(4.7 * y + 2.1 * x)
        return fade * (bumps + 0.02 * sin(6.0 * x + 1.7) + 0.05 * noise.noise(Vector((3.0 * x, 3.0 * y, 0.5))))

    slab("Earth", span(-1.6, 1.6, 0.1), span(-6.0, 1.2, 0.1), height, -0.6, tile=0.4, smooth=True)
    meshes = [stone_mesh(random, i) for i in range(4)]
    for i in range(60):
        x, y = random.uniform(-1.4, 1.4), random.uniform(-5.6, -0.2)
        size = random.uniform(0.05, 0.17) if abs(x) > 0.3 else random.uniform(0.05, 0.10)
        stone = ground_object("Stone", meshes[i % 4], ("Stone",))
        stone.location, stone.scale = (x, y, height(x, y) - 0.1 * size), (size, size * random.uniform(0.8, 1.3), size)
        stone.rotation_euler = (random.uniform(-0.2, 0.2), random.uniform(-0.2, 0.2), random.uniform(0.0, 2.0 * pi))
    one_walker(makers, walk.Gait(steps=8, step_length=0.6))
    frame_view(61, (0.0, -2.3, 0.80), (-3.9, -1.3, 1.4), 2.3)


def platform(makers):
    """A deck that rises, tilts and turns under someone who stands, walks across it and stands again."""
    deck = slab("Deck", span(-1.2, 1.2, 0.4), span(-1.8, 1.8, 0.4), lambda x, y: 0.0, -0.14,
                ("Deck", "Deck Light", "Edge"), tile=0.4)
    slab("Floor", span(-2.5, 2.5, 0.5), span(-3.0, 3.0, 0.5), lambda x, y: -0.75, -1.0)
    ram = slab("Ram", [-0.18, 0.18], [-0.18, 0.18], lambda x, y: -0.1, -1.5)
    ram.parent = deck
    for frame, z, *turns in ((1, 0, 0, 0, 0), (45, 0.16, 4, -3, -5), (90, 0.36, -5, 4, 4), (135, 0.22, 3, 6, 10)):
        deck.location.z = z
        deck.rotation_euler = [radians(turn) for turn in turns]
        deck.keyframe_insert("location", index=2, frame=frame)
        deck.keyframe_insert("rotation_euler", frame=frame)
    one_walker(makers, walk.Gait(steps=5, step_length=0.55, step_time=0.55, from_stand=True, to_stand=True, hold=1.5),
               (0.0, 1.1, 0.0))
    frame_view(76, (0.0, -0.75, 0.88), (-3.9, 0.4, 1.6), 2.6)


def slide(makers):
    """A flat floor, and feet that slip forward five centimetres in every contact."""
    slab("Floor", span(-1.5, 1.5, 0.25), span(-5.5, 1.0, 0.25), lambda x, y: 0.0, -0.1, tile=0.25)
    one_walker(makers, walk.Gait(steps=7, skate=0.085))
    frame_view(57, (0.0, -1.72, 0.36), (-2.3, -0.7, 1.7), 1.55)


def crowd(makers):
    """Twenty walkers on rolling hills; they share one mesh and three actions."""
    random = Random(3)

    def height(x, y):
        return 0.30 * sin(1.05 * y + 0.5) * cos(0.7 * x) + 0.12 * sin(1.9 * x + 1.3 * y)

    slab("Hills", span(-5.0, 5.0, 0.4), span(-7.0, 5.0, 0.4), height, -1.6, tile=0.8, smooth=True)
    gaits = [walk.Gait(steps=4, step_length=length, phase=phase, toe_out=out, skate=0.01)
             for length, phase, out in ((0.65, 0.0, 6.0), (0.56, 0.7, 9.0), (0.62, 1.4, 4.0))]
    actions = {}
    for i in range(20):
        x, y = -2.3 + 1.55 * (i % 4) + random.uniform(-0.25, 0.25), -2.4 + 1.5 * (i // 4) + random.uniform(-0.3, 0.3)
        rig = makers.add(bpy.context.scene.collection, (x, y, height(x, y)), random.uniform(-0.25, 0.25))
        kind = (i + i // 4) % 3
        if kind in actions:
            use_action(rig, actions[kind])
        else:
            walk_over(rig, gaits[kind])
            actions[kind] = rig.animation_data.action
    frame_view(48, (0.0, -1.6, 0.2), (-4.6, -9.5, 4.6), 7.0)


SCENES = {"slope": slope, "stairs": stairs, "rough": rough, "platform": platform, "slide": slide, "crowd": crowd}


# What the scenes have in common

def walk_over(rig, gait):
    """Key the walk on `rig` and stretch the scene's frame range over it."""
    scene = bpy.context.scene
    scene.frame_end = max(scene.frame_end, walk.key(rig, gait))
    rig.animation_data.action.name = "Walk"


def one_walker(makers, gait, location=(0.0, 0.0, 0.0)):
    """The single mannequin of a scene."""
    walk_over(makers.add(bpy.context.scene.collection, location), gait)


def use_action(rig, action):
    """Play `action` on `rig`, with its slot where Blender has slots."""
    rig.animation_data_create().action = action
    if hasattr(action, "slots") and rig.animation_data.action_slot is None:
        rig.animation_data.action_slot = action.slots[0]


def frame_view(picture, target, eye, size):
    """Camera at `eye` that shows `size` metres of height around `target`; `picture` is the frame to look at."""
    scene = bpy.context.scene
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(camera)
    eye, target = Vector(eye), Vector(target)
    camera.location, camera.rotation_euler = eye, (target - eye).to_track_quat("-Z", "Y").to_euler()
    camera.data.sensor_fit, camera.data.sensor_height = "VERTICAL", 24.0
    camera.data.lens = 24.0 * (target - eye).length / size
    scene.camera = camera
    scene.timeline_markers.new("Picture", frame=picture)


def dress(scene):
    """Workbench settings, for renders and for the viewports that are saved with the file."""
    scene.render.engine = "BLENDER_WORKBENCH"
    scene.render.resolution_x, scene.render.resolution_y = 480, 540
    scene.render.dither_intensity = 0.0  # noise would swell the pictures
    scene.view_settings.view_transform = "Standard"
    scene.display.render_aa = "16"
    scene.display.light_direction = (-0.45, 0.35, 0.82)
    scene.display.shadow_shift, scene.display.shadow_focus = 0.3, 0.6
    scene.world = bpy.data.worlds.new("World")
    scene.world.color = SKY
    spaces = [area.spaces.active for screen in bpy.data.screens for area in screen.areas if area.type == "VIEW_3D"]
    for shading in [scene.display.shading, *(space.shading for space in spaces)]:
        shading.light, shading.color_type, shading.background_type = "STUDIO", "MATERIAL", "WORLD"
        shading.show_cavity, shading.cavity_type, shading.show_shadows = True, "BOTH", True
        shading.shadow_intensity = 0.4
    for space in spaces:
        space.region_3d.view_perspective = "CAMERA"
        space.overlay.show_floor = space.overlay.show_axis_x = space.overlay.show_axis_y = False


def build(name):
    """Build the scene `name` into a new, empty file."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    fill(name)


def fill(name):
    """Build the scene `name` into the current, empty file."""
    scene = bpy.context.scene
    scene.name = name.title()
    scene.render.fps, scene.frame_start, scene.frame_end = FPS, 1, 1
    scene.collection.children.link(bpy.data.collections.new("Ground"))
    dress(scene)
    SCENES[name](mannequin.Maker())
    scene.frame_set(1)


def main():
    """Build and save what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenes", nargs="*", default=list(SCENES), help="default: all")
    parser.add_argument("--out", type=Path, default=FOLDER)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.scenes:
        build(name)
        path = options.out / f"{name}.blend"
        bpy.context.preferences.filepaths.save_version = 0
        bpy.ops.wm.save_as_mainfile(filepath=str(path), compress=True)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB, {bpy.context.scene.frame_end} frames")


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # Blender's module may crash while the interpreter ends
