"""Work that breaks off half-way leaves everything as it was: each function that a detection, a plan or a bake calls on
its way is made to raise, in its last call.
"""
import inspect
import sys
from itertools import cycle
from pathlib import Path

import bpy
import pytest
from blender import scenes

FRAME, LAST = 3, 4
FAULTS = (RuntimeError, MemoryError, KeyboardInterrupt)
CALLBACKS = ("properties.py", "handlers.py", "replanning.py")
"""Where Blender itself calls, and swallows faults."""


class Trace:
    """A trace function for `sys.settrace`: counts the calls that the steps of the work make of the add-on's functions,
    and raises a fault in one of them."""

    def __init__(self, package, steps, at=None, fault=None):
        self.package, self.steps = str(package), tuple(str(package / "blender" / name) for name in steps)
        self.at, self.fault, self.counts = at, fault, {}

    def __call__(self, frame, event, _arg):
        code, caller = frame.f_code, frame.f_back.f_code
        plain = caller.co_filename in self.steps and code.co_name == code.co_qualname  # no method, no lambda
        plain = plain and not code.co_flags & inspect.CO_GENERATOR
        if plain and code.co_filename.startswith(self.package) and not code.co_filename.endswith(CALLBACKS):
            site = Path(code.co_filename).name, code.co_name
            self.counts[site] = self.counts.get(site, 0) + 1
            if (site, self.counts[site]) == self.at:
                raise self.fault("injected")


def run(steps, trace):
    """Do the work under a trace function; whether it came to its end."""
    sys.settrace(trace)
    try:
        for _ in steps:
            pass
        return True
    except FAULTS as fault:
        assert str(fault) == "injected"
        return False
    finally:
        sys.settrace(None)


def played_from_the_nla(ob):
    """Tracks below the action, which is blended over them and bakes only onto a track above."""
    data = ob.animation_data
    for name in ("Low", "High"):
        data.nla_tracks.new().strips.new(name, 1, data.action)
    data.action_blend_type, data.action_influence = "COMBINE", 0.9


def still(ob):
    """No animation data at all."""
    ob.animation_data_clear()


def detect(of, scene, ob):
    return of("planning").detect_legs(scene, ob)


def plan(of, scene, ob):
    return of("planning").plan_clip(scene, ob)


def bake(of, scene, ob):
    return of("bake").bake(scene, ob, 2, LAST, 1, "NEW_ACTION")


def bake_nla(of, scene, ob):
    return of("bake").bake(scene, ob, 2, LAST, 1, "NLA")


WORKS = (  # what it does, the files of its steps, how the rig is changed before
    (detect, ("planning.py", "detect.py"), None),
    (plan, ("planning.py",), None),
    (bake, ("bake.py",), None),
    (bake, ("bake.py",), still),
    (bake_nla, ("bake.py",), played_from_the_nla),
)


@pytest.fixture(params=WORKS, ids=lambda w: f"{w[0].__name__}-{w[2].__name__ if w[2] else 'walking'}")
def work(request, addon):
    """What opens the scene and returns the rig, live at a frame of its clip; what begins the work; the files of its
    steps."""
    begin, files, prepare = request.param

    def fresh():
        ob, scene = scenes.walker("slope", prepare=prepare), bpy.context.scene
        scene.frame_end = LAST
        ob.foot_ik.contacts[0].end += 1  # edited by hand
        ob.foot_ik.enabled = True
        scenes.visit(FRAME)
        return ob

    return fresh, lambda ob: begin(lambda name: addon(f"blender.{name}"), bpy.context.scene, ob), files


def state(ob):
    """All that work could change: the file, what is shown, and the handlers."""
    handlers = {name: list(of) for name in dir(bpy.app.handlers)
                if isinstance(of := getattr(bpy.app.handlers, name), list)}
    active = ob.animation_data and ob.animation_data.nla_tracks.active
    return scenes.everything() | {"handlers": handlers, "shown": scenes.shown(ob).tobytes(),
                                  "active track": active and active.name}


def test_fault_leaves_everything_as_it_was(work, addon):
    fresh, begin, files = work
    package = Path(addon("blender.bake").__file__).parent.parent
    counted = Trace(package, files)
    ob = fresh()
    assert run(begin(ob), counted)
    done = state(ob)
    ob = fresh()
    before = state(ob)
    assert scenes.differences(before, done) and len(counted.counts) > 5
    for (site, count), fault in zip(counted.counts.items(), cycle(FAULTS)):
        assert not run(begin(ob), Trace(package, files, (site, count), fault)), site
        assert scenes.differences(before, state(ob)) == [], (site, fault)
    assert run(begin(ob), None)
    assert scenes.differences(done, state(ob)) == []


def test_cancelled_work_leaves_everything_as_it_was(work):
    fresh, begin, _ = work
    ob = fresh()
    before, frames = state(ob), sum(1 for _ in begin(ob))
    ob = fresh()
    for count in (0, 1, frames):
        steps = begin(ob)
        for _ in zip(range(count), steps):
            pass
        steps.close()
        assert scenes.differences(before, state(ob)) == [], count


def unkeyed_left_leg(ob):
    scenes.remove_curves(ob, lambda path, _: not any(f"{part}.L" in path for part in scenes.LEG_BONES))


def test_pose_written_in_part_is_taken_back(addon, monkeypatch, capsys):
    """What Blender does not animate anew would keep a half-written pose for ever."""
    live, channels = addon("blender.live"), addon("blender.channels").BoneChannels
    ob = scenes.walker("slope", prepare=unkeyed_left_leg)
    scenes.visit(30)
    before = scenes.channels(ob)
    for part in (slice(0, 4), slice(4, 7), slice(0, 10)):
        scenes.visit(20)
        ob.foot_ik.enabled = True
        with monkeypatch.context() as patch, live.suspended(ob):
            scenes.visit(30)
            patch.setattr(channels, "write", failing_after(part, channels.write))
        assert "MemoryError" in live.problems[ob.session_uid]
        assert "MemoryError" in capsys.readouterr().err
        assert scenes.channels(ob) != before
        ob.foot_ik.enabled = False
        assert scenes.channels(ob) == before


def failing_after(part, write):
    """`BoneChannels.write` that fails after these columns."""
    def failing(bones, values):
        some = bones.values.copy()
        some[:, part] = values[:, part]
        write(bones, some)
        raise MemoryError
    return failing
