"""The command line: `blender FILE.blend --command foot_ik plan|bake|report`."""
from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import bpy

from .. import blender
from . import report_text
from .properties import BAKE_TARGETS

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

DONE, REFUSED, WRONG_USAGE = range(3)
"""Exit codes; the last is also what argparse ends with."""
COMMANDS = (("plan", "plan the clips, and report on them"),
            ("bake", "write the corrected animation as keys; plans first where there is no plan, or an old one"),
            ("report", "tell how well the feet stand, as kept in the file by the last plan or bake"))

_registered: list = []


def main(arguments: list[str]) -> int:
    """Run one command on the file that is open; returns the exit code."""
    parser = make_parser()
    try:
        options = parser.parse_args(arguments)
        options.output = options.output and os.path.abspath(bpy.path.abspath(options.output))
        if options.output and not is_writable(options.output):
            parser.error(f"cannot write to {options.output}: name a file in a folder that exists")
    except SystemExit as end:  # argparse has printed help, or what is wrong
        return int(end.code or DONE)
    scene = bpy.context.scene
    found = [attempt(scene, name, options) for name in chosen(scene, options)]
    problem = "" if found else f"The scene {scene.name} has no animated armature: name one with --object"
    output = "" if all(o.refused for o in found) else options.output
    if output:
        problem = save(output)
    if options.json:
        print(json.dumps(as_json(scene, options.command, found, problem, output)), flush=True)
    else:
        print_text(scene, found, problem, output)
    return REFUSED if problem or any(o.refused for o in found) else DONE


def make_parser() -> ArgumentParser:
    import argparse  # here: it would cost milliseconds of every start of Blender

    parser = argparse.ArgumentParser(
        prog="blender FILE.blend --command foot_ik", allow_abbrev=False,
        description="Plant the feet of animated characters on the ground of the open file.",
        epilog="Exit code 0: done; 1: an object was refused; 2: wrong usage.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in COMMANDS:
        command = commands.add_parser(name, help=text, description=f"Foot IK: {text}.", allow_abbrev=False)
        command.set_defaults(output="")
        command.add_argument("--object", action="append", metavar="NAME", dest="objects",
                             help="armature, may be given several times; by default all that have an animation")
        command.add_argument("--json", action="store_true", help="print one line of JSON instead of text")
        if name != "report":
            command.add_argument("--output", metavar="FILE.blend",
                                 help="save to this file; without it nothing is saved")
        if name == "bake":
            command.add_argument("--frame-start", type=int, help="first frame to bake; by default the scene's")
            command.add_argument("--frame-end", type=int, help="last frame to bake; by default the scene's")
            command.add_argument("--step", type=int, default=1, help="frames from key to key")
            command.add_argument("--target", choices=[target[0] for target in BAKE_TARGETS], default=BAKE_TARGETS[0][0],
                                 help="where the keys go")
    return parser


def is_writable(path: str) -> bool:
    """Whether an absolute path can be that of a file."""
    return not os.path.isdir(path) and os.path.isdir(os.path.dirname(path))


def chosen(scene: bpy.types.Scene, options: Namespace) -> list[str]:
    """Names of the objects to work on, each once."""
    return list(dict.fromkeys(options.objects or [ob.name_full for ob in blender.batch.animated_rigs(scene)]))


def armature(scene: bpy.types.Scene, name: str) -> bpy.types.Object | None:
    """The armature of a scene that has this full name, which names the library of what is linked; else this name."""
    found = [ob for ob in scene.objects if ob.type == "ARMATURE" and name in (ob.name_full, ob.name)]
    return min(found, key=lambda ob: ob.name_full != name, default=None)


def attempt(scene: bpy.types.Scene, name: str, options: Namespace) -> blender.batch.Outcome:
    """Do what the command says with one object."""
    ob = armature(scene, name)
    if ob is None:
        return blender.batch.Outcome(name, f"The scene {scene.name} has no armature called {name}: check --object")
    if options.command == "report":
        return blender.batch.outcome(ob, blender.batch.report_rig(ob))
    if options.command == "plan":
        return blender.batch.outcome(ob, blender.batch.plan_rig(scene, ob))
    start = scene.frame_start if options.frame_start is None else options.frame_start
    end = scene.frame_end if options.frame_end is None else options.frame_end
    return blender.batch.outcome(ob, blender.batch.bake_rig(scene, ob, start, end, options.step, options.target))


def save(path: str) -> str:
    """Save a copy of the open file; returns what went wrong, empty for nothing."""
    try:
        bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
    except RuntimeError as error:
        return f"{path} could not be written: {error}"
    return ""


def as_json(scene: bpy.types.Scene, command: str, found: list[blender.batch.Outcome], problem: str, output: str
            ) -> dict:
    """What was done, for programs."""
    state = blender.reporting.report_state
    rows = [{"name": o.name, "done": not o.refused, "refused": o.refused or None, "notes": o.notes,
             "report": o.report, "report_state": o.report and state(scene, armature(scene, o.name))}
            for o in found]
    return {"version": 1, "command": command, "file": bpy.data.filepath or None, "scene": scene.name,
            "output": output or None, "problem": problem or None, "objects": rows}


def print_text(scene: bpy.types.Scene, found: list[blender.batch.Outcome], problem: str, output: str) -> None:
    """What was done, for people: tables on stdout, what was refused on stderr."""
    for o in found:
        if o.report:
            print(report_text.table(scene, o.report, o.name))
        for note in o.notes:
            print(f"  {note}")
        if o.refused:
            print(f"{o.name}: {o.refused}", file=sys.stderr)
    if problem:
        print(problem, file=sys.stderr)
    elif output:
        print(f"Saved {output}")
    sys.stdout.flush()


def register() -> None:
    _registered.append(bpy.utils.register_cli_command("foot_ik", main))


def unregister() -> None:
    while _registered:
        bpy.utils.unregister_cli_command(_registered.pop())
