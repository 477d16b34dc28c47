"""Runs the installed extension over the sample scenes: a table of before and after, and pictures.

    python sample_scenes/demo.py [scene ...] [--zip FILE] [--out FOLDER] [--pictures FOLDER]

Needs Blender's Python module and the built extension in dist/ (`make extension`). Works in a fresh user
folder and leaves the .blend files alone. Exit code 1 where an operator fails or the feet are not better.
"""

import argparse
import contextlib
import io
import os
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

USER_FOLDER = tempfile.mkdtemp(prefix="foot_ik_demo_")
os.environ["BLENDER_USER_RESOURCES"] = USER_FOLDER  # read when bpy is imported
import bpy  # noqa: E402
import numpy as np  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from sample_scenes import figures  # noqa: E402

SCENES = ("slope", "stairs", "rough", "platform", "slide", "crowd")
MARGIN = {"slide": 0.3, "cut": 2.0, "float": 2.0}  # mm that a figure may lose where it was good before


def install(path):
    """Install and enable the extension from its zip, as a user would."""
    result = bpy.ops.extensions.package_install_files(filepath=str(path), repo="user_default", enable_on_install=True)
    if result != {"FINISHED"} or not hasattr(bpy.types.Object, "foot_ik"):
        raise RuntimeError(f"{path.name} did not install: {result}")


def walkers():
    """The mannequins of the scene, in order."""
    return sorted((ob for ob in bpy.context.scene.objects if ob.type == "ARMATURE"), key=lambda ob: ob.name)


def run(operator, rig):
    """Run an operator of the extension on `rig`; RuntimeError where it does not finish."""
    for ob in bpy.context.selected_objects:
        ob.select_set(False)
    rig.select_set(True)
    bpy.context.view_layer.objects.active = rig
    with contextlib.redirect_stdout(io.StringIO()):  # the report of each: the table at the end tells of all
        result = operator()
    if result != {"FINISHED"}:
        raise RuntimeError(f"{operator.idname_py()} on {rig.name}: {result}")


def frame_time():
    """Milliseconds for one frame of the scene, all characters in it."""
    scene = bpy.context.scene
    begin = time.perf_counter()
    for frame in range(scene.frame_start, scene.frame_end + 1):
        scene.frame_set(frame)
    return 1e3 * (time.perf_counter() - begin) / (scene.frame_end - scene.frame_start + 1)


def correct(rigs):
    """Detect, plan, play live and bake on every mannequin; returns seconds to plan and bake, and ms per live frame."""
    ops = bpy.ops.foot_ik
    begin = time.perf_counter()
    for rig in rigs:
        run(ops.detect_legs, rig)
        rig.foot_ik.ground_source = "COLLECTION"
        rig.foot_ik.ground_collection = bpy.data.collections["Ground"]
        run(ops.plan, rig)
    planned = time.perf_counter() - begin
    for rig in rigs:
        rig.foot_ik.enabled = True
    live = frame_time()
    begin = time.perf_counter()
    for rig in rigs:
        run(ops.bake, rig)
    return planned, time.perf_counter() - begin, live


# Pictures

def show_trace(track, standing):
    """Lay a dot on the floor for every frame in which a heel or ball stands: a slide draws a line."""
    turns = np.linspace(0.0, 2.0 * np.pi, 10, endpoint=False)
    disc = 0.013 * np.stack([np.cos(turns), np.sin(turns), 0.0 * turns], axis=1)
    spots = [track.places[f, p] for p in figures.SLIDERS for f in np.flatnonzero(standing[:, p])]
    verts = np.concatenate([spot * (1, 1, 0) + disc + (0, 0, 0.002) for spot in spots])
    mesh = bpy.data.meshes.new("Trace")
    mesh.from_pydata(verts, [], [tuple(range(i, i + 10)) for i in range(0, len(verts), 10)])
    mesh.materials.append(bpy.data.materials.new("Trace"))
    mesh.materials[0].diffuse_color = (0.85, 0.02, 0.10, 1.0)
    ob = bpy.data.objects.new("Trace", mesh)
    bpy.context.scene.collection.objects.link(ob)
    return ob


def render(path):
    """Render the frame of the scene's "Picture" marker; returns its pixels, rows from the bottom."""
    scene = bpy.context.scene
    scene.frame_set(scene.timeline_markers["Picture"].frame)
    scene.render.filepath = str(path)
    bpy.ops.render.render(write_still=True)
    image = bpy.data.images.load(str(path))
    pixels = np.empty(image.size[0] * image.size[1] * 4, np.float32)
    image.pixels.foreach_get(pixels)
    pixels = pixels.reshape(image.size[1], image.size[0], 4)
    bpy.data.images.remove(image)
    return pixels


def save_side_by_side(left, right, path):
    """Write two pictures of one size next to each other, with a line between, as a small PNG."""
    both = np.concatenate([left, right], axis=1)
    middle = left.shape[1]
    both[:, middle - 1 : middle + 1] = 1.0
    both[..., 3] = 1.0
    image = bpy.data.images.new("both", both.shape[1], both.shape[0])
    image.pixels.foreach_set(both.ravel())
    settings = bpy.context.scene.render.image_settings
    settings.file_format, settings.color_mode, settings.compression = "PNG", "RGB", 100
    image.save_render(str(path), scene=bpy.context.scene)
    bpy.data.images.remove(image)


# The run

def show(name, folders):
    """One scene, before and after; returns its row of figures."""
    bpy.ops.wm.open_mainfile(filepath=str(ROOT / "sample_scenes" / f"{name}.blend"))
    rigs = walkers()
    ground = figures.Ground.of(bpy.data.collections["Ground"])
    raw_time = frame_time()
    raw = figures.track(rigs, ground)
    standing = [figures.contacts(one, rig.location.z) for one, rig in zip(raw, rigs)]
    before = picture(name, raw, standing, folders[0] / f"{name}_before.png")
    planned, baked, live_time = correct(rigs)
    tracks = figures.track(rigs, ground)
    after = picture(name, tracks, standing, folders[0] / f"{name}_after.png")
    for folder in folders:
        save_side_by_side(before, after, folder / f"{name}.png")
    return {"name": name, "raw": figures.sum_up(raw, standing), "new": figures.sum_up(tracks, standing),
            "raw_time": raw_time, "live_time": live_time, "plan": planned, "bake": baked}


def picture(name, tracks, standing, path):
    """The scene's picture; on the slide's flat floor with the trace of the feet, since a still shows no slip."""
    trace = show_trace(tracks[0], standing[0]) if name == "slide" else None
    pixels = render(path)
    if trace is not None:
        bpy.data.objects.remove(trace)
    return pixels


def better(row):
    """Whether what was wrong is less wrong now, and what was right (a standing foot on a slope) still is."""
    raw, new = row["raw"], row["new"]
    return sum(new.values()) < sum(raw.values()) and all(new[key] <= raw[key] + MARGIN[key] for key in new)


def print_table(rows):
    """Before and after, one line per scene."""
    heads = ("slide mm/frame", "deepest cut mm", "float mm", "frame ms")
    print("\n" + f"{'scene':10}" + "".join(f"{head:>18}" for head in heads) + f"{'plan s':>8}{'bake s':>8}")
    for row in rows:
        raw, new = row["raw"], row["new"]
        pairs = [f"{raw['slide']:.2f} > {new['slide']:.2f}", f"{raw['cut']:.1f} > {new['cut']:.1f}",
                 f"{raw['float']:.1f} > {new['float']:.1f}", f"{row['raw_time']:.2f} > {row['live_time']:.2f}"]
        print(f"{row['name']:10}" + "".join(f"{pair:>18}" for pair in pairs)
              + f"{row['plan']:8.1f}{row['bake']:8.1f}" + ("" if better(row) else "  NOT BETTER"))
    print("before > after the correction; frame ms: raw > corrected live, all characters of the scene\n")


def main():
    """Run what the command line asks for; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenes", nargs="*", default=list(SCENES), help="default: all")
    parser.add_argument("--zip", type=Path, help="default: the newest dist/foot_ik-*.zip")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "demo")
    parser.add_argument("--pictures", type=Path, help="also write the side-by-side pictures here")
    options = parser.parse_args()
    folders = [folder for folder in (options.out, options.pictures) if folder]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    zips = sorted((ROOT / "dist").glob("foot_ik-*.zip"), key=lambda path: path.stat().st_mtime)
    if not (options.zip or zips):
        print("No dist/foot_ik-*.zip here: run `make extension` first", file=sys.stderr)
        return 1
    install((options.zip or zips[-1]).resolve())
    rows, failed = [], []
    for name in options.scenes:
        try:
            rows.append(show(name, folders))
        except RuntimeError as error:
            failed.append(f"{name}: {error}")
    print_table(rows)
    print("\n".join(failed), file=sys.stderr)
    print(f"Pictures: {', '.join(str(folder) for folder in folders)}")
    return int(bool(failed) or not all(map(better, rows)))


if __name__ == "__main__":
    try:
        code = main()
    except Exception:
        traceback.print_exc()
        code = 1
    shutil.rmtree(USER_FOLDER, ignore_errors=True)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # Blender's module may crash while the interpreter ends
