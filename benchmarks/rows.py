"""The rows of the table: each builds its scene, measures in turns, and tells the ratio, the target and the times."""
from __future__ import annotations

import contextlib
import io
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import bpy

from . import scenes

SHORT, LONG = 60, 1000
"""Frames of what is played, and of what is planned and baked."""
ROOT = Path(__file__).resolve().parents[1]
BONES = ("hips", *(f"{part}.{side}" for side in "LR" for part in ("thigh", "shin", "foot")))


def seconds(work: Callable[[], None]) -> float:
    """How long some work takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def in_turns(rounds: int, *works: Callable[[], float]) -> list[tuple[float, ...]]:
    """What works return, run in turns, after one round that does not count."""
    return [tuple(work() for work in works) for _ in range(rounds + 1)][1:]


def result(work: str, against: str, target: float, turns: list[tuple[float, ...]], ratio: Callable[..., float],
           names: tuple[str, ...], scale: float) -> dict:
    """A row of the table; `scale` turns seconds into the milliseconds of one frame."""
    medians = [statistics.median(column) * 1e3 * scale for column in zip(*turns)]
    measured = ", ".join(f"{name} {value:.3g} ms" for name, value in zip(names, medians))
    return {"work": work, "against": against, "target": target, "measured": measured,
            "ratio": statistics.median(ratio(*turn) for turn in turns), "turns": turns}


def run(operator: Callable, ob: bpy.types.Object, **arguments: object) -> None:
    """Run an operator of the extension on an armature."""
    bpy.context.view_layer.objects.active = ob
    with contextlib.redirect_stdout(io.StringIO()):
        assert operator(**arguments) == {"FINISHED"}


def planned(ob: bpy.types.Object) -> bpy.types.Object:
    """An armature, its legs detected and its clip planned."""
    run(bpy.ops.foot_ik.detect_legs, ob)
    run(bpy.ops.foot_ik.plan, ob)
    return ob


def play(frames: int = SHORT, shown: tuple[bpy.types.Object, ...] = (), live: tuple[bpy.types.Object, ...] = ()
         ) -> float:
    """Seconds to play the first frames, with these rigs shown (all, where none is named) and those corrected live."""
    scene = bpy.context.scene
    if shown:
        scenes.only(*shown)
    for ob in scene.objects:
        if ob.type == "ARMATURE" and ob.foot_ik.enabled != (ob in live):
            ob.foot_ik.enabled = ob in live
    scene.frame_set(1)
    return seconds(lambda: [scene.frame_set(frame) for frame in range(1, frames + 1)] and None)


def play_first(**arguments: object) -> float:
    """Seconds to play the first frames as if none of them had been seen before."""
    module = next(m for name, m in sys.modules.items() if name.endswith(".foot_ik.blender.apply"))
    module._solved.clear()
    return play(**arguments)


def walker(frames: int) -> bpy.types.Object:
    """A file with one walker, on the terrain."""
    scenes.empty()
    ob = scenes.walker(frames)
    scenes.terrain()
    return ob


def playback(rounds: int) -> dict:
    ob = walker(SHORT)
    scenes.skin(ob)
    raw = ob.animation_data.action
    planned(ob)
    run(bpy.ops.foot_ik.bake, ob)
    baked = ob.animation_data.action

    def playing(action: bpy.types.Action) -> float:
        ob.animation_data.action = action
        if hasattr(action, "slots"):
            ob.animation_data.action_slot = action.slots[0]
        return play()

    turns = in_turns(rounds, lambda: playing(baked), lambda: playing(raw))
    return result("Playback of a baked clip, 20,000-vertex character", "the raw clip", 1.02, turns,
                  lambda a, b: a / b, ("baked", "raw"), 1 / SHORT)


def live(rounds: int, ob: bpy.types.Object, work: str, target: float) -> dict:
    """Frames that are seen again, as in a loop; how long those take that are seen for the first time is told beside."""
    turns = in_turns(rounds, lambda: play(live=(ob,)), play, lambda: play_first(live=(ob,)))
    return result(work, "the raw frame", target, turns, lambda a, b, _: a / b, ("live", "raw", "first time"), 1 / SHORT)


def live_rig(rounds: int) -> dict:
    return live(rounds, planned(walker(SHORT)), "Live frame, one rig, no mesh", 3)


def live_character(rounds: int) -> dict:
    ob = walker(SHORT)
    scenes.skin(ob)
    return live(rounds, planned(ob), "Live frame, 20,000-vertex character on terrain", 2.2)


def live_by_hand(rounds: int) -> dict:
    ob = walker(SHORT)
    hand = scenes.hand_rig(ob, bpy.data.objects["Terrain"])
    for rig in (ob, hand):
        scenes.skin(rig)
    hand.hide_viewport = True
    planned(ob)
    turns = in_turns(rounds, lambda: play(shown=(ob,), live=(ob,)), lambda: play(shown=(hand,)))
    return result("Live frame, the same", "a hand-built IK and Shrinkwrap rig", 2.5, turns, lambda a, b: a / b,
                  ("live", "by hand"), 1 / SHORT)


def live_crowd(rounds: int, count: int = 50) -> dict:
    ob = planned(walker(SHORT))
    crowd = [ob]
    for i in range(1, count):
        other = ob.copy()  # settings and plan with it
        other.location.x += 0.02 * i
        bpy.context.scene.collection.objects.link(other)
        crowd.append(other)
    every = tuple(crowd)
    turns = in_turns(min(rounds, 3), lambda: play_first(shown=every, live=every), lambda: play(shown=every),
                     lambda: play_first(shown=(ob,), live=(ob,)), lambda: play(shown=(ob,)))
    return result("Live frame, 50 characters, the first time", "50 times the added cost of one", 0.5, turns,
                  lambda all_live, all_raw, live, raw: (all_live - all_raw) / (count * (live - raw)),
                  ("50 live", "50 raw", "1 live", "1 raw"), 1 / SHORT)


def bake(rounds: int) -> dict:
    ob = planned(walker(LONG))
    raw = ob.animation_data.action

    def ours() -> float:
        ob.animation_data.action = raw
        return seconds(lambda: run(bpy.ops.foot_ik.bake, ob))

    def blenders() -> float:
        ob.animation_data.action = raw
        bpy.ops.object.mode_set(mode="POSE")
        for bone in ob.pose.bones:
            (bone.bone if hasattr(bone.bone, "select") else bone).select = bone.name in BONES
        out = seconds(lambda: bpy.ops.nla.bake(frame_start=1, frame_end=LONG, only_selected=True, visual_keying=True,
                                               use_current_action=False, bake_types={"POSE"}))
        bpy.ops.object.mode_set(mode="OBJECT")
        return out

    turns = in_turns(min(rounds, 3), ours, blenders)
    return result("Bake of 1,000 frames", "nla.bake of the same bones, visual keying", 0.2, turns, lambda a, b: a / b,
                  ("bake", "nla.bake"), 1 / LONG)


def planning(ob: bpy.types.Object) -> float:
    return seconds(lambda: run(bpy.ops.foot_ik.plan, ob))


def plan(rounds: int) -> dict:
    ob = planned(walker(LONG))
    turns = in_turns(min(rounds, 3), lambda: planning(ob), lambda: play(LONG))
    return result("Plan of 1,000 frames", "stepping through them, no mesh", 0.7, turns, lambda a, b: a / b,
                  ("plan", "stepping"), 1 / LONG)


def plan_character(rounds: int) -> dict:
    ob = walker(LONG)
    scenes.skin(ob, subdivision=2)
    planned(ob)
    turns = in_turns(1, lambda: planning(ob), lambda: play(LONG))
    return result("Plan of 1,000 frames, mesh and subdivision", "stepping through them", 0.1, turns,
                  lambda a, b: a / b, ("plan", "stepping"), 1 / LONG)


def plan_long(rounds: int) -> dict:
    ob = planned(walker(10 * LONG))

    def of(frames: int) -> float:
        bpy.context.scene.frame_end = frames
        return planning(ob)

    turns = in_turns(1, lambda: of(10 * LONG), lambda: of(LONG))
    return result("Plan of 10,000 frames", "ten times the plan of 1,000", 1.1, turns, lambda a, b: a / (10 * b),
                  ("10,000", "1,000"), 1.0)


def plan_scattered(rounds: int) -> dict:
    ob = walker(LONG)
    ground = scenes.stones(1000)
    chosen = bpy.data.collections.new("Ground")
    bpy.context.scene.collection.children.link(chosen)
    chosen.objects.link(bpy.data.objects["Terrain"])
    run(bpy.ops.foot_ik.detect_legs, ob)
    ob.foot_ik.ground_source, ob.foot_ik.ground_collection = "COLLECTION", chosen

    def over(scattered: bool) -> float:
        if scattered:
            chosen.children.link(ground)
        out = planning(ob)
        if scattered:
            chosen.children.unlink(ground)
        return out

    turns = in_turns(min(rounds, 3), lambda: over(True), lambda: over(False))
    return result("Plan with 1,000 scattered objects", "plan with 1", 2, turns, lambda a, b: a / b,
                  ("1,001 objects", "1 object"), 1 / LONG)


def start(rounds: int) -> dict:
    """Blender's start, with the extension enabled by the preferences and without; the added milliseconds count."""
    script = ("import time; begin = time.perf_counter(); import bpy, addon_utils; loaded = time.perf_counter(); "
              "addon_utils.enable('bl_ext.user_default.foot_ik'); print(loaded - begin, time.perf_counter() - loaded); "
              "import os, sys; sys.stdout.flush(); os._exit(0)")
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def started() -> tuple[float, float]:
        done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=120)
        blender, ours = done.stdout.split()[-2:]
        return float(blender), float(ours)

    turns = [(ours, blender) for blender, ours in (started() for _ in range(rounds + 1))][1:]
    return result("Enabling the extension, milliseconds", "Blender's start", 50, turns, lambda a, b: a * 1e3,
                  ("enabling", "Blender"), 1.0)


def plan_size(rounds: int) -> dict:
    ob = planned(walker(LONG))
    size = {name: len(getattr(ob.foot_ik, name)) for name in ("plan", "footprints", "report")}
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, text in (("with", ob.foot_ik.plan), ("without", "")):
            ob.foot_ik.plan = text
            path = Path(folder) / f"{name}.blend"
            bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True, compress=False)
            files.append(path.stat().st_size)
    ratio = (files[0] - files[1]) / LONG / len(ob.foot_ik.legs)
    return {"work": "Plan in the .blend, bytes per frame and leg", "against": "a file without", "target": 200,
            "ratio": ratio, "measured": ", ".join(f"{k} {v:,} bytes" for k, v in size.items()), "turns": files}


def growth(rounds: int, frames: int = 10_000) -> dict:
    """Memory that 10,000 live frames leave behind, in bytes a frame; below a hundred it is the allocator's own."""
    ob = planned(walker(SHORT))

    def held() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    for _ in range(10):
        play(live=(ob,))
    before = held()
    for _ in range(frames // SHORT):
        play(live=(ob,))
    ratio = max(held() - before, 0) / frames
    return {"work": "Growth over 10,000 live frames, bytes per frame", "against": "none", "target": 100,
            "ratio": ratio, "measured": f"{before / 2**20:.0f} MB before", "turns": [before, held()]}


ROWS = {row.__name__: row for row in (
    playback, live_rig, live_character, live_by_hand, live_crowd, bake, plan, plan_character, plan_long, plan_scattered,
    start, plan_size, growth)}
