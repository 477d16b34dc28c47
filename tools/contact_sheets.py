#!/usr/bin/env python
"""Contact sheets: the worst moments of captured clips on stairs, rubble, a kerb and bumps, before beside after.

    python tools/contact_sheets.py [ground ...] [--clips NAME,NAME] [--out FOLDER]

One sheet for each ground, a row for each clip of ../shared/motions. What is worst the lab's own gaps and contacts tell
(../shared/lab): the deepest cut, the largest float of a standing foot, the longest step of a point that should stay,
the largest share of a flat sole that hangs over its ground.
Lengths are those of a 0.9 m leg. The foot in question is orange and nearest, seen square from its own side; the dark
ground is cut along its middle line, so that what is in the ground shows. "Before" is the animation, raised as far as
the correction raises the hips. Needs Blender's Python module, as in `make sheets`.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import pi
from pathlib import Path

import bpy
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
LAB = ROOT.parent / "shared" / "lab"
GROUNDS = ("stairs", "rubble", "kerb", "bumps")
KINDS = {"below": (1e3, "{:.1f} mm below"), "float": (1e3, "{:.1f} mm float"), "step": (1e3, "{:.2f} mm step"),
         "hang": (100, "{:.0f} % hang")}
PROCESSES = 2

WIDE, HIGH, PIXELS = 0.9, 0.54, 300
"""Metres that a picture shows, and the pixels of its width."""
FOOT, TONES = 0.3, 15
"""Metres of the longest foot that is shown whole beside the other, and the tones of a colour: few make small files."""
SLAB, BEHIND = 0.008, 0.15
"""Thickness of the drawn sole, and how far behind the foot in question the other is drawn at least."""
COLOURS = {
    "Worst": (0.90, 0.42, 0.12, 1.0),
    "Other": (0.45, 0.60, 0.75, 1.0),
    "Sole": (0.05, 0.05, 0.06, 1.0),
    "Ground": (0.30, 0.33, 0.36, 1.0),
    "Far Ground": (0.56, 0.59, 0.62, 1.0),
    "Text": (0.0, 0.0, 0.0, 1.0),
    "Paper": (1.0, 1.0, 1.0, 1.0),
}
SKY = (0.86, 0.88, 0.90)


@dataclass(frozen=True)
class Limb:
    """A lower leg and its foot in one frame, in metres of a 0.9 m leg: joints (3,) and the sole (6 rows, 3, 3)."""

    knee: np.ndarray
    ankle: np.ndarray
    sole: np.ndarray


@dataclass(frozen=True)
class Moment:
    """What one pair of pictures shows. The first limb is the one in question."""

    title: str
    figure: str
    before: tuple[Limb, Limb]
    after: tuple[Limb, Limb]
    sections: tuple[np.ndarray, np.ndarray]
    """Per limb (N, 3): the surface of the ground along its middle line."""
    right: np.ndarray
    """(3,): the direction that points right in the picture."""


# What is worst


def moments(name: str, kind: str) -> Iterator[Moment]:
    """The worst of each kind of one clip on one ground, corrected live through the add-on."""
    import metrics
    import run
    import stage

    clip = stage.load(name)
    flat = stage.sample(clip)
    offsets = stage.sole(clip, flat)
    objects = stage.ground(kind, clip, flat)
    ground = stage.Ground(clip, objects)
    settings = run.start_addon(clip, objects)
    if bpy.ops.foot_ik.plan() != {"FINISHED"}:
        raise RuntimeError(f"{name} on {kind} could not be planned")
    settings.enabled = True
    live = stage.sample(clip)
    hips = [tracks[clip.hips][:, :3, 3] for tracks in (flat, live)]
    before, after = (stage.feet(clip, tracks, offsets) for tracks in (flat, live))
    limit = clip.contact_speed or max(0.12, 0.10 * float(np.median(metrics.speed(hips[0], clip.fps))))
    found = {side: faults(before[side], after[side], ground, clip.fps, limit) for side in stage.SIDES}
    for fault, (unit, text) in KINDS.items():
        side = max(stage.SIDES, key=lambda side, fault=fault: found[side][fault].max())
        frame = int(found[side][fault].argmax())
        other = next(s for s in stage.SIDES if s != side)
        raised = (0.0, 0.0, 1.0) * (hips[1] - hips[0])[frame]
        pair = [after[s] for s in (side, other)]
        ahead = np.append((pair[0].ball - pair[0].heel)[frame, :2], 0.0)
        ahead /= np.linalg.norm(ahead)
        yield Moment(
            f"{name}  {bpy.context.scene.frame_start + frame}  {'left' if side == 'L' else 'right'}",
            text.format(unit * found[side][fault][frame]),
            tuple(limb(before[s], frame, raised) for s in (side, other)),
            tuple(limb(foot, frame) for foot in pair),
            tuple(section(ground, foot.ankle[frame], ahead, frame) for foot in pair),
            ahead if side == "R" else -ahead,
        )


def faults(before, after, ground, fps: float, limit: float) -> dict[str, np.ndarray]:
    """{kind: (F,) metres, or share of the sole that hangs} of one foot, as `metrics.evaluate` has them; a step ends in
    its frame and is per 1/30 s."""
    import metrics

    own, gap = before.sole[:, :, 2], ground.gaps(after)
    stands, step = np.zeros((2, len(gap)))
    for point in ("heel", "ball"):
        track = getattr(before, point)
        touch = metrics.contact(track, track[:, 2], fps, limit)
        stands += touch
        inner = metrics.inner(touch, max(1, round(fps / 60)))
        moved = np.linalg.norm(np.diff(getattr(after, point)[:, :2], axis=0), axis=1) * fps / 30
        step[1:] = np.maximum(step[1:], np.where(inner[1:] & inner[:-1], moved, 0.0))
    below = (np.maximum(-gap, 0) - np.maximum(-own, 0)).max(1).clip(0)
    above = (gap.min(1) - own.min(1).clip(0)).clip(0)
    hang = np.where((stands > 0) & (own.max(1) < 0.03), (gap > 0.02).mean(1), 0.0)
    return {"below": below, "float": np.where(stands > 0, above, 0.0), "step": step, "hang": hang}


def limb(foot, frame: int, raised=0.0) -> Limb:
    return Limb(foot.knee[frame] + raised, foot.ankle[frame] + raised, foot.sole[frame].reshape(-1, 3, 3) + raised)


def section(ground, middle: np.ndarray, ahead: np.ndarray, frame: int) -> np.ndarray:
    """(N, 3): the ground along a level line through `middle`."""
    line = middle + np.linspace(-2.0 * WIDE, 2.0 * WIDE, 801)[:, None] * ahead
    line[:, 2] = [ground.hit(point, frame)[0] for point in line]
    return line[np.isfinite(line[:, 2])]


# The pictures


def dress() -> None:
    """An empty file with a level camera that looks along y, and Workbench."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.engine = "BLENDER_WORKBENCH"
    scene.render.resolution_x, scene.render.resolution_y = PIXELS, round(PIXELS * HIGH / WIDE)
    scene.render.dither_intensity = 0.0  # noise would swell the pictures
    scene.view_settings.view_transform = "Standard"
    scene.display.render_aa = "8"
    scene.world = bpy.data.worlds.new("World")
    scene.world.color = SKY
    shading = scene.display.shading
    shading.light, shading.color_type, shading.background_type = "STUDIO", "MATERIAL", "WORLD"
    shading.show_object_outline = True
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    camera.data.type, camera.data.ortho_scale = "ORTHO", WIDE
    camera.location, camera.rotation_euler = (0.0, -5.0, 0.0), (pi / 2, 0.0, 0.0)
    scene.collection.objects.link(camera)
    scene.camera = camera
    for name, colour in COLOURS.items():
        bpy.data.materials.new(name).diffuse_color = colour


def solid(points: np.ndarray, material: str) -> None:
    """The convex hull of some points (N, 3)."""
    import bmesh  # comes with bpy
    shape = bmesh.new()
    for point in points.reshape(-1, 3):
        shape.verts.new(point)
    bmesh.ops.convex_hull(shape, input=shape.verts)
    mesh = bpy.data.meshes.new(material)
    shape.to_mesh(mesh)
    shape.free()
    add(mesh, material)


def add(data, material: str):
    """Show a mesh or a text."""
    data.materials.append(bpy.data.materials[material])
    ob = bpy.data.objects.new(material, data)
    bpy.context.scene.collection.objects.link(ob)
    return ob


def ball(centre: np.ndarray, radius: float) -> np.ndarray:
    """(N, 3): points of a sphere."""
    a, b = np.meshgrid(np.linspace(0, 2 * pi, 16, endpoint=False), np.linspace(0.1, pi - 0.1, 8))
    way = np.stack([np.cos(a) * np.sin(b), np.sin(a) * np.sin(b), np.cos(b)], -1)
    return centre + radius * way.reshape(-1, 3)


def draw_limb(shown: Limb, material: str) -> None:
    """Shin, foot and toes as solids over a dark sole."""
    rows, shin = shown.sole, ball(shown.ankle, 0.035)
    solid(np.concatenate([shin, ball(shown.knee, 0.05)]), material)
    for part, heights in ((rows[:4], (0.03, 0.04, 0.05, 0.035)), (rows[3:], (0.035, 0.03, 0.015))):
        up = np.cross(part[-1].mean(0) - part[0].mean(0), part[0, -1] - part[0, 0])
        up *= np.sign(up @ (shown.ankle - part[0].mean(0))) / np.linalg.norm(up)
        top = part + np.array(heights)[:, None, None] * up
        solid(np.stack([part, part + SLAB * up]), "Sole")
        body = np.concatenate([(part + SLAB * up).reshape(-1, 3), top.reshape(-1, 3)])
        solid(np.concatenate([body, shin]) if len(part) == 4 else body, material)  # the toes hang on the foot


def wall(line: np.ndarray, height: float, material: str) -> None:
    """What lies up to `height` below a line (N, 3), as a wall that faces the camera."""
    n = len(line)
    mesh = bpy.data.meshes.new(material)
    faces = [(i, i + 1, n + i + 1, n + i) for i in range(n - 1)]
    mesh.from_pydata(np.concatenate([line, line - (0.0, 0.0, height)]).tolist(), [], faces)
    add(mesh, material)


def write(text: str) -> None:
    """A line of text over the top of the picture."""
    data = bpy.data.curves.new("Text", "FONT")
    data.body, data.size = text, 0.042
    ob = add(data, "Text")
    ob.location, ob.rotation_euler = (-0.485 * WIDE, -3.0, 0.5 * HIGH - 0.04), (pi / 2, 0.0, 0.0)
    wall(np.array([(-WIDE, -2.9, 0.5 * HIGH), (WIDE, -2.9, 0.5 * HIGH)]), 0.055, "Paper")


def picture(shown: Moment, limbs: tuple[Limb, Limb], text: str, path: Path) -> np.ndarray:
    """(height, width, 4): one picture, rows from the bottom."""
    scene = bpy.context.scene
    for ob in [ob for ob in scene.objects if ob.type != "CAMERA"]:
        bpy.data.objects.remove(ob)
    away = np.cross((0.0, 0.0, 1.0), shown.right)
    first_foot = shown.after[0].sole
    first, second = (one.sole.mean((0, 1)) for one in shown.after)
    middle = first + np.clip(0.5 * (second - first) @ shown.right, -0.22, 0.22) * shown.right
    middle[2] = first_foot[..., 2].mean() + 0.08
    size = max(1.0, np.linalg.norm(first_foot[-1, 1] - first_foot[0, 1]) / FOOT)  # cartoon feet are shown smaller
    to_view = np.stack([shown.right, away, (0.0, 0.0, 1.0)], 1)
    behind = max(0.0, BEHIND - (second - first) @ away)  # the other foot may have crossed over
    for one, line, colour, earth, back in zip(
        limbs, shown.sections, ("Worst", "Other"), ("Ground", "Far Ground"), (0.0, behind), strict=True
    ):
        view = lambda points, back=back: (points - middle) @ to_view / size + (0.0, back, 0.0)
        draw_limb(Limb(view(one.knee), view(one.ankle), view(one.sole)), colour)
        wall(view(line), 3.0, earth)
    write(text)
    bpy.ops.render.render()
    bpy.data.images["Render Result"].save_render(str(path), scene=scene)
    image = bpy.data.images.load(str(path))
    pixels = np.empty((image.size[1], image.size[0], 4), np.float32)
    image.pixels.foreach_get(pixels.ravel())
    bpy.data.images.remove(image)
    return pixels


def row_of(shown: list[Moment], path: Path) -> np.ndarray:
    """The pictures of one clip, side by side: each moment before and after, with a line between."""
    out = []
    for moment in shown:
        for limbs, text in ((moment.before, moment.title + ", before"), (moment.after, moment.figure + ", after")):
            out.append(picture(moment, limbs, text, path))
        out[-1][:, -2:] = 0.0
    row = np.concatenate(out, 1)
    row[:2], row[..., 3] = 0.0, 1.0
    return row


def save(pixels: np.ndarray, path: Path) -> None:
    image = bpy.data.images.new("sheet", pixels.shape[1], pixels.shape[0])
    image.pixels.foreach_set((np.round(pixels * TONES) / TONES).ravel())
    settings = bpy.context.scene.render.image_settings
    settings.file_format, settings.color_mode, settings.compression = "PNG", "RGB", 100
    image.save_render(str(path), scene=bpy.context.scene)


def sheet(kind: str, clips: list[str], path: Path) -> None:
    """Make one sheet; the clips that cannot be read are left out, and it says so."""
    sys.path[:0] = [str(LAB), str(ROOT)]
    os.chdir(ROOT)  # from where the lab imports the add-on
    rows = []
    for name in clips:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                rows.append(list(moments(name, kind)))
            print(f"{kind:7}" + "".join(f"  {m.title}: {m.figure}" for m in rows[-1]), flush=True)
        except (KeyError, RuntimeError, OSError, AssertionError) as error:
            print(f"{kind:7}  {name} is left out: {error}", flush=True)
    if not rows:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        dress()
        save(np.concatenate([row_of(row, Path(folder) / "one.png") for row in reversed(rows)]), path)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("grounds", nargs="*", default=list(GROUNDS), help="default: all")
    parser.add_argument("--clips", help="default: every clip of the manifest")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "contact_sheets")
    options = parser.parse_args()
    manifest = LAB.parent / "motions" / "manifest.json"
    if not (manifest.is_file() and LAB.is_dir()):
        print(f"No motions or no lab beside this repository ({LAB.parent}): no contact sheets")
        return 0
    clips = options.clips.split(",") if options.clips else list(json.loads(manifest.read_text()))
    if len(options.grounds) == 1:
        sheet(options.grounds[0], clips, options.out.resolve() / f"{options.grounds[0]}.png")
        return 0
    more = ["--clips", ",".join(clips), "--out", str(options.out.resolve())]
    with ThreadPoolExecutor(PROCESSES) as pool:
        calls = [[sys.executable, __file__, ground, *more] for ground in options.grounds]
        return int(any(pool.map(lambda call: subprocess.run(call).returncode, calls)))


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # Blender's module may crash while the interpreter ends
