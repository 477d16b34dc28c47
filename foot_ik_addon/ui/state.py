"""What plan and report of a rig are worth now, found out at most once a second: a digest of a big scene takes
milliseconds, and one of a clip of 20,000 frames half a second."""
from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import bpy

from .. import blender
from . import replanning

INTERVAL, REST = 1.0, 20
"""Seconds between two looks at one rig, and how many times as long as the look took they are at least."""


@dataclass(frozen=True)
class Known:
    """What was found out last about the plan or the report of one rig in one scene."""

    made: str
    """Fingerprint of the plan, or the report, that was looked at."""
    state: str
    due: float
    """When to look again."""


_known: dict[tuple, Known] = {}


def plan_state(scene: bpy.types.Scene, ob: bpy.types.Object) -> str:
    """`planning.plan_state`, up to some seconds old; the sidebar is then drawn once more when they have passed."""
    return recent(scene, ob, ob.foot_ik.fingerprint, blender.planning.plan_state)


def report_state(scene: bpy.types.Scene, ob: bpy.types.Object) -> str:
    """`reporting.report_state`, up to some seconds old like that of the plan."""
    return recent(scene, ob, ob.foot_ik.report, blender.reporting.report_state)


def recent(scene: bpy.types.Scene, ob: bpy.types.Object, made: str,
           find: Callable[[bpy.types.Scene, bpy.types.Object], str]) -> str:
    """What `find` tells of a rig, a short time ago, and of what was `made` then."""
    key, now = (scene.session_uid, ob.session_uid, find), time.monotonic()
    known = _known.get(key)
    if known is not None and known.made == made and now < known.due:
        if not bpy.app.timers.is_registered(redraw):
            bpy.app.timers.register(redraw, first_interval=known.due - now)
        return known.state
    state = find(scene, ob)
    then = time.monotonic()
    _known[key] = Known(made, state, then + max(INTERVAL, REST * (then - now)))
    return state


def changed() -> None:
    """Look at all plans again, and draw what shows them, once: settings, contacts or the overlay have changed."""
    _known.clear()
    replanning.edited()
    if not bpy.app.timers.is_registered(redraw_all):
        bpy.app.timers.register(redraw_all, first_interval=0.0)


def redraw_all() -> None:
    """Draw all 3D viewports and their sidebars again."""
    redraw(("UI", "WINDOW"))


def redraw(regions: tuple[str, ...] = ("UI",)) -> None:
    """Draw regions of all 3D viewports again: their sidebars."""
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                for region in area.regions:
                    if region.type in regions:
                        region.tag_redraw()


def register() -> None:
    pass


def unregister() -> None:
    for function in (redraw, redraw_all):
        if bpy.app.timers.is_registered(function):
            bpy.app.timers.unregister(function)
    _known.clear()
