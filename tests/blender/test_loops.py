"""Clips that loop, by Cycles modifiers or as an NLA strip that repeats, still loop when they are baked."""
from __future__ import annotations

from math import radians, tan

import bpy
import numpy as np
import pytest
from blender import scenes

from sample_scenes import walk

ROUND = 30
GAIT = walk.Gait(steps=2, skate=0.15, phase=0.3, hold=0.15)
"""One round of a walk that slips in its stances, cut in the middle of one."""


def cycling(ob: bpy.types.Object, on_the_spot: bool = False) -> None:
    """The walk as one round of keys that Cycles modifiers repeat, its travel with an offset, or taken out."""
    ob.animation_data_clear()
    assert walk.key(ob, GAIT) == ROUND + 1
    bpy.context.scene.frame_end = ROUND + 1
    for (path, _), curve in scenes.curves(ob.animation_data.action).items():
        travels = path.endswith("location") and abs(curve.evaluate(ROUND + 1) - curve.evaluate(1)) > 0.5
        if travels and on_the_spot:
            for point in curve.keyframe_points:
                point.co.y -= (point.co.x - 1) / ROUND * (curve.evaluate(ROUND + 1) - curve.evaluate(1))
        modifier = curve.modifiers.new("CYCLES")
        if travels and not on_the_spot:
            modifier.mode_after = modifier.mode_before = "REPEAT_OFFSET"


def on_the_spot(ob) -> None:
    cycling(ob, on_the_spot=True)


def in_strips(ob) -> None:
    """The walk on the spot as a strip that is repeated three times."""
    cycling(ob, on_the_spot=True)
    action = ob.animation_data.action
    for curve in scenes.curves(action).values():
        curve.modifiers.remove(curve.modifiers[0])
    slot = getattr(ob.animation_data, "action_slot", None)
    ob.animation_data.action = None
    strip = ob.animation_data.nla_tracks.new().strips.new("Walk", 1, action)
    if slot is not None:
        strip.action_slot = slot
    strip.repeat = 3
    bpy.context.scene.frame_end = 1 + 3 * ROUND


def channels(ob, frame: int) -> dict[str, np.ndarray]:
    """The channels that Foot IK writes, in a frame."""
    scenes.visit(frame)
    out = {}
    for name in scenes.WRITTEN:
        bone = ob.pose.bones[name]
        rotation = np.array(bone.rotation_quaternion)
        out[name] = np.concatenate([bone.location, rotation * np.sign(rotation[0])])
    return out


def offset(ob, a: int, b: int) -> np.ndarray:
    """Largest difference of the channels in two frames, the travel of the hips along the way taken out."""
    first, second = channels(ob, a), channels(ob, b)
    difference = {name: second[name] - first[name] for name in first}
    travel = np.abs(difference["hips"][:3]).argmax()
    difference["hips"][travel] = 0
    return max(np.abs(d).max() for d in difference.values())


@pytest.mark.parametrize("clip, ground", [(cycling, "flat"), (on_the_spot, "flat"), (on_the_spot, "skate")])
def test_a_cycle_that_is_baked_goes_on_as_a_cycle(clip, ground):
    """First and last key are one pose, and the modifiers repeat it: walking along the level floor, on the spot, and on
    the spot on a slope of 8 degrees."""
    ob = scenes.walker(ground, prepare=clip)
    assert bpy.ops.foot_ik.bake() == {"FINISHED"}
    for bone in scenes.WRITTEN:
        for index in range(4):
            curve = scenes.curve(ob, bone, "rotation_quaternion", index)
            assert [m.type for m in curve.modifiers] == ["CYCLES"]
    assert offset(ob, 1, ROUND + 1) < 2e-4
    for frame in (2, 14, 29):
        assert offset(ob, frame, frame + ROUND) < 2e-4
        assert offset(ob, frame, frame + 3 * ROUND) < 6e-4


def along(ob) -> None:
    """The walk over a level floor that does not end."""
    uphill(ob, [(-30.0, 0.0), (30.0, 0.0)])


def on_a_hill(ob) -> None:
    """The walk up a hill of 10 degrees that does not end."""
    uphill(ob, [(-30.0, 30 * tan(radians(10))), (30.0, -30 * tan(radians(10)))])


def on_steps(ob) -> None:
    """The walk up steps, four to a round."""
    tread = 2 * GAIT.step_length / 4
    uphill(ob, [(y, 0.1 * -k) for k in range(60, -60, -1) for y in (tread * (k - 0.4), tread * (k + 0.6))][::-1])


def uphill(ob, profile) -> None:
    cycling(ob)
    grounds = bpy.data.collections["Ground"]
    bpy.data.objects.remove(grounds.objects[0])
    grounds.objects.link(scenes.strip("Hill", profile))


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("clip", [along, on_the_spot, on_a_hill, on_steps], ids=lambda f: f.__name__)
def test_a_cycle_is_known_though_the_range_ends_a_frame_before_its_last_key(clip, rounds):
    """So that no pose is played twice. Baked, every round goes on from the one before, uphill too."""
    def ends_before(ob):
        clip(ob)
        bpy.context.scene.frame_end = rounds * ROUND

    ob = scenes.walker("flat", prepare=ends_before)
    ob.foot_ik.enabled = True
    root, hips = ob.pose.bones[:2]
    assert (root.name, hips.name) == ("root", "hips")
    live = scenes.shown_over(ob, range(1, rounds * ROUND + 2))[:, 1:]
    rise = live[-1, 0, :3, 3] - live[0, 0, :3, 3]
    assert scenes.gaps(live[-1], live[0] + at(rise)).max() < 2e-4
    assert bpy.ops.foot_ik.bake() == {"FINISHED"}
    baked = scenes.shown_over(ob, range(1, (rounds + 2) * ROUND + 2))[:, 1:]
    assert scenes.gaps(baked[:len(live)], live).max() < 1e-5
    assert scenes.gaps(baked[2 * ROUND:], baked[:-2 * ROUND] + at(rise) * 2 / rounds).max() < 6e-4


def at(place: np.ndarray) -> np.ndarray:
    """(4, 4): what moves poses by a vector (3,) when it is added."""
    return np.pad(place[:, None], ((0, 1), (3, 0)))


def test_a_cycle_baked_over_some_of_what_is_played_stays_as_animated_elsewhere():
    ob = scenes.walker("skate", prepare=on_the_spot)
    bpy.context.scene.frame_end = 3 * ROUND
    animated = channels(ob, 2 * ROUND)
    assert bpy.ops.foot_ik.plan() == bpy.ops.foot_ik.bake(frame_start=1, frame_end=ROUND + 1) == {"FINISHED"}
    after = channels(ob, 2 * ROUND)
    assert all(np.abs(after[name] - animated[name]).max() < 1e-5 for name in after)


@pytest.mark.parametrize("target", ["NEW_ACTION", "NLA"])
def test_strips_that_repeat_loop_when_they_are_baked(target):
    ob = scenes.walker("skate", prepare=in_strips)
    assert bpy.ops.foot_ik.bake(target=target) == {"FINISHED"}
    assert offset(ob, 1, 1 + 3 * ROUND) < 2e-4
    assert all(offset(ob, frame, frame + ROUND) < 2e-3 for frame in (1, 9, 25, 37))
