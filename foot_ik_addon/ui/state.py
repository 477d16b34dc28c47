"""What the plan of a rig is worth now, found out at most once a second: a digest of a big scene takes milliseconds."""
from __future__ import annotations

import time
from dataclasses import dataclass

import bpy

from ..blender import planning

INTERVAL = 1.0
"""Seconds between two looks at one rig."""


@dataclass(frozen=True)
class Known:
    """What was found out last about the plan of one rig in one scene."""

    made: str
    """Fingerprint of the plan that was looked at."""
    state: str
    time: float


_known: dict[tuple[int, int], Known] = {}


def plan_state(scene: bpy.types.Scene, ob: bpy.types.Object) -> str:
    """`planning.plan_state`, up to a second old; the sidebar is then drawn once more when that has passed."""
    key, now = (scene.session_uid, ob.session_uid), time.monotonic()
    known = _known.get(key)
    if known is not None and known.made == ob.foot_ik.fingerprint and now - known.time < INTERVAL:
        if not bpy.app.timers.is_registered(redraw):
            bpy.app.timers.register(redraw, first_interval=INTERVAL)
        return known.state
    state = planning.plan_state(scene, ob)
    _known[key] = Known(ob.foot_ik.fingerprint, state, now)
    return state


def changed() -> None:
    """Look at all plans again, and draw what shows them, once: contacts or the overlay have changed."""
    _known.clear()
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
