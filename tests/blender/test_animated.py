"""However a clip is animated, the same motion gets the same correction, live as baked, and none of it is lost.

The right value is that of a twin: the motion as it is shown, keyed plainly in every frame of one action.
"""
from __future__ import annotations

import random
from functools import cache

import bpy
import numpy as np
import pytest
from blender import scenes

FRAMES = (2, 9, 14, 20, 26)
SAME = 1e-4
"""Metres: poses go through float keys once more, and a leg is 0.9 m."""
CORRECTED = 0.01


# Ways to animate: each hands the mannequin, which has the walk as its active action, its motion in another way.

def strip(ob, action, name="Walk", start=1, **values) -> bpy.types.NlaStrip:
    """A strip of an action on a track of its own above the others."""
    new = ob.animation_data.nla_tracks.new().strips.new(name, start, action)
    if hasattr(new, "action_slot"):
        new.action_slot = action.slots[0]
    for key, value in values.items():
        setattr(new, key, value)
    return new


def pushed_down(ob, **values) -> bpy.types.NlaStrip:
    """The active action as a strip."""
    action, ob.animation_data.action = ob.animation_data.action, None
    return strip(ob, action, **values)


def sway(ob) -> bpy.types.Action:
    """An action that turns the left thigh and the hips a little and moves the hips."""
    data = ob.animation_data
    walk, data.action = data.action, bpy.data.actions.new("Sway")
    for frame, turn, side in ((1, 0.0, 0.0), (20, 0.12, 0.05), (46, -0.05, -0.02)):
        for name in ("thigh.L", "hips"):
            bone = ob.pose.bones[name]
            bone.rotation_quaternion = (1 - turn * turn / 2, turn, 0, 0)
            bone.keyframe_insert("rotation_quaternion", frame=frame)
        ob.pose.bones["hips"].location = (side, 0.0, 0.0)
        ob.pose.bones["hips"].keyframe_insert("location", frame=frame)
    out, data.action = data.action, walk
    if hasattr(data, "action_slot"):
        data.action_slot = walk.slots[0]
    return out


def layered(blend):
    def animate(ob):
        top = sway(ob)
        pushed_down(ob)
        strip(ob, top, "Sway", blend_type=blend, influence=1.0 if blend in ("ADD", "COMBINE") else 0.5)
    animate.__name__ = f"blended_{blend.lower()}"
    return animate


def action_added_to_a_strip(ob):
    data, top = ob.animation_data, sway(ob)
    pushed_down(ob)
    data.action = top
    if hasattr(data, "action_slot"):
        data.action_slot = top.slots[0]
    data.action_blend_type, data.action_influence = "ADD", 0.7


def reversed_strip(ob):
    pushed_down(ob, use_reverse=True)


def scaled_strip(ob):
    pushed_down(ob, scale=1.6)


def repeated_strip(ob):
    pushed_down(ob, action_frame_end=24, repeat=3)


def two_strips_that_cross(ob):
    """The walk fades into itself, half a second later."""
    action = ob.animation_data.action
    pushed_down(ob, frame_end=30, action_frame_end=30, blend_out=8)
    strip(ob, action, "Later", 23, blend_in=8, extrapolation="NOTHING")


def strip_that_is_held(ob):
    pushed_down(ob, action_frame_end=24, extrapolation="HOLD")


def meta_strip(ob):
    """Two strips grouped into one, which only an editor can do, and that inside of another one, with the walk."""
    top = sway(ob)
    pushed_down(ob)
    walk_track = ob.animation_data.nla_tracks[0]
    track = ob.animation_data.nla_tracks.new()
    for i in range(2):
        track.strips.new("Sway", 1 + 46 * i, top)
    for each in track.strips:
        each.blend_type = "ADD"
        if hasattr(each, "action_slot"):
            each.action_slot = top.slots[0]
    scenes.nla(ob, track, "meta_add")
    track.strips[0].blend_type = "ADD"
    scenes.nla(ob, walk_track, "meta_add")
    walk_track.strips[0].scale = 1.3


def animated_strip(ob):
    """Both time and influence of a strip are keyed."""
    under = sway(ob)
    action, ob.animation_data.action = ob.animation_data.action, None
    strip(ob, under, "Sway")
    top = strip(ob, action)
    top.use_animated_time = top.use_animated_influence = True
    for path, keys in (("strip_time", ((1, 1), (46, 30))), ("influence", ((1, 0.6), (46, 1.0)))):
        for frame, value in keys:
            top.fcurves.find(path).keyframe_points.insert(frame, value)


def muted_track(ob):
    strip(ob, sway(ob), "Sway", blend_type="ADD")
    ob.animation_data.nla_tracks[0].mute = True


def solo_track(ob):
    top = sway(ob)
    pushed_down(ob)
    strip(ob, top, "Sway", blend_type="ADD")
    ob.animation_data.nla_tracks[0].is_solo = True


def nla_switched_off(ob):
    strip(ob, sway(ob), "Sway", blend_type="ADD")
    ob.animation_data.use_nla = False


def tweaked_strip(ob):
    top = sway(ob)
    track_strip = pushed_down(ob)
    strip(ob, top, "Sway", blend_type="ADD")
    ob.animation_data.nla_tracks[0].select = track_strip.select = True
    ob.animation_data.use_tweak_mode = True


def locked_track(ob):
    pushed_down(ob)
    ob.animation_data.nla_tracks[0].lock = True


def driven_and_keyed_object(ob):
    """The object moves on by itself, sideways by a driver."""
    for frame, y in ((1, 0.0), (46, -0.4)):
        ob.location.y = y
        ob.keyframe_insert("location", index=1, frame=frame)
    ob.driver_add("location", 0).driver.expression = "frame * 0.002"


NO_BAKE = {tweaked_strip: "leave tweak mode", solo_track: "turn Solo off", action_added_to_a_strip: "to an NLA track"}
"""Refused, for a new action."""
NO_NLA_BAKE = {tweaked_strip: "leave tweak mode", solo_track: "turn Solo off", nla_switched_off: "turn it on"}
WAYS = (*map(layered, ("REPLACE", "ADD", "SUBTRACT", "MULTIPLY", "COMBINE")), action_added_to_a_strip, reversed_strip,
        scaled_strip, repeated_strip, two_strips_that_cross, strip_that_is_held, meta_strip, animated_strip,
        muted_track, solo_track, nla_switched_off, tweaked_strip, locked_track, driven_and_keyed_object)
BAKES = [*((way, "NEW_ACTION") for way in WAYS),
         *((way, "NLA") for way in (*NO_BAKE, nla_switched_off, scaled_strip, repeated_strip, strip_that_is_held,
                                     meta_strip))]
named = pytest.mark.parametrize("animate", WAYS, ids=lambda f: f.__name__)


@cache
def short(animate):
    """The same way, in a scene of fewer frames and without a skin, which takes time."""
    def prepare(ob):
        bpy.context.scene.frame_end = FRAMES[-1]
        bpy.data.objects.remove(bpy.data.objects["Mannequin Mesh"])
        animate(ob)
    return prepare


def keyed_plainly(ob):
    """Turn the motion that is shown into plain keys of one action."""
    frames = range(0, FRAMES[-1] + 2)
    rows = []
    for frame in frames:
        scenes.visit(frame)
        now = ob.evaluated_get(bpy.context.evaluated_depsgraph_get())
        rows.append((now.matrix_basis.copy(), [bone.matrix_basis.copy() for bone in now.pose.bones]))
    for driver in list(ob.animation_data.drivers):
        ob.driver_remove(driver.data_path, driver.array_index)
    ob.animation_data_clear()
    for frame, (place, poses) in zip(frames, rows):
        ob.matrix_basis = place
        ob.keyframe_insert("location", frame=frame)
        for bone, pose in zip(ob.pose.bones, poses):
            bone.matrix_basis = pose
            bone.keyframe_insert("rotation_quaternion", frame=frame)
            bone.keyframe_insert("location", frame=frame)


def animation(ob):
    """All that animates."""
    return scenes.animation_state(ob), {a.name: scenes.action_state(a) for a in bpy.data.actions}


@named
def test_the_same_motion_is_corrected_alike_and_without_a_trace(animate):
    ob = scenes.walker("slope", prepare=short(animate))
    scenes.visit(20)
    before = animation(ob)
    raw = scenes.channels(ob)
    ob.foot_ik.enabled = True
    order = random.Random(3).sample(FRAMES * 2, 2 * len(FRAMES))
    poses = dict(zip(order, scenes.shown_over(ob, order)))
    ob.foot_ik.enabled = False
    scenes.visit(20)
    assert scenes.channels(ob) == raw
    assert animation(ob) == before

    keyed_plainly(ob)
    plain = scenes.shown_over(ob, FRAMES)
    ob.foot_ik.enabled = True
    twin = scenes.shown_over(ob, FRAMES)
    assert scenes.gaps(twin, plain).max() > CORRECTED
    assert scenes.gaps(twin, np.array([poses[f] for f in FRAMES])).max() < SAME


@pytest.mark.parametrize("animate, target", BAKES, ids=lambda v: getattr(v, "__name__", v))
def test_the_bake_plays_as_live(animate, target):
    ob = scenes.walker("slope", prepare=short(animate))
    refusal = (NO_BAKE if target == "NEW_ACTION" else NO_NLA_BAKE).get(animate)
    kept = {a.name: scenes.action_state(a) for a in bpy.data.actions}
    if refusal:
        with pytest.raises(RuntimeError, match=refusal):
            bpy.ops.foot_ik.bake(target=target)
        return
    ob.foot_ik.enabled = True
    poses = scenes.shown_over(ob, FRAMES)
    assert bpy.ops.foot_ik.bake(target=target) == {"FINISHED"}
    assert not ob.foot_ik.enabled
    assert scenes.gaps(scenes.shown_over(ob, FRAMES), poses).max() < SAME
    assert {name: scenes.action_state(bpy.data.actions[name]) for name in kept} == kept
