"""What is drawn over the 3D viewport: footprints where they lie, and the contacts over the frames of the scene."""
from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import blf
import bpy
import gpu
from gpu_extras.batch import batch_for_shader

from .. import blender

if TYPE_CHECKING:
    import numpy as np

COLOURS = ((1.0, 0.42, 0.12), (0.18, 0.62, 1.0), (0.55, 0.85, 0.2), (0.85, 0.35, 0.9))
"""Of the first leg, the second and so on, over again."""
THIN, LIT, FILLED, RAY = 0.75, 1.0, 0.5, 0.9
"""How opaque outlines, those of this frame, their surfaces, and rays are."""
MOST_BATCHES = 16

_handles: list[tuple] = []
_batches: dict[tuple, list[tuple]] = {}
"""{what was drawn: batches ready to draw}, by texts and numbers, so that they cannot be out of date."""
_failures: set[str] = set()


def guarded(draw: Callable[[bpy.types.Context], None]) -> Callable[[], None]:
    """A draw callback that never raises: Blender would go on calling it; each failure is printed once."""
    def callback() -> None:
        context = bpy.context
        try:
            overlay = getattr(context.space_data, "overlay", None)
            if overlay is not None and overlay.show_overlays:
                draw(context)
        except blender.rig.Refusal:
            pass  # the panel says it
        except Exception as error:
            if repr(error) not in _failures:
                _failures.add(repr(error))
                traceback.print_exc()
    return callback


def planned_rigs(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The selected armatures and the active one that have a plan and can be seen in this viewport."""
    among = {ob.name_full: ob for ob in (context.object, *context.selected_objects) if ob is not None}
    return [ob for ob in among.values() if ob.type == "ARMATURE" and ob.foot_ik.plan and ob.foot_ik.footprints
            and ob.visible_in_viewport_get(context.space_data)]


def coloured(legs: np.ndarray, corners: int, alpha: float) -> list[tuple[float, ...]]:
    """N * corners colours of figures that belong to legs (N,)."""
    return [(*COLOURS[leg % len(COLOURS)], alpha) for leg in legs.tolist() for _ in range(corners)]


# Footprints

def draw_footprints(context: bpy.types.Context) -> None:
    """Draw what is asked for of the rigs in this viewport, in world space."""
    rigs = [ob for ob in planned_rigs(context) if ob.foot_ik.show_footprints or ob.foot_ik.show_rays]
    if not rigs:
        return
    depsgraph, frame = context.view_layer.depsgraph, context.scene.frame_float
    draw_batches([b for ob in rigs for b in batches(ob, depsgraph, frame)], context.preferences.system.pixel_size)


def draw_batches(found: list[tuple], thickness: float) -> None:
    """Draw what `batches` has made, lines so many times as thick."""
    gpu.state.blend_set("ALPHA")
    try:
        for batch, shader, test, width in found:
            gpu.state.depth_test_set(test)
            shader.bind()
            if width:
                shader.uniform_float("viewportSize", gpu.state.viewport_get()[2:])
                shader.uniform_float("lineWidth", width * thickness)
            batch.draw(shader)
    finally:
        gpu.state.depth_test_set("NONE")
        gpu.state.blend_set("NONE")


def batches(ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph, frame: float) -> list[tuple]:
    """(batch, shader, depth test, line width in pixels) of what is drawn of one rig."""
    settings = ob.foot_ik
    saved = blender.prints.unpack_prints(settings.footprints)
    carriers, lit = blender.prints.carriers_now(ob, saved, depsgraph), blender.prints.lit_at(saved, frame)
    key = settings.footprints, carriers.tobytes(), lit.tobytes(), settings.show_footprints, settings.show_rays
    if key not in _batches:
        while len(_batches) >= MOST_BATCHES:
            _batches.pop(next(iter(_batches)))
        shapes = blender.prints.shapes(saved, carriers, lit)
        figures = []
        if settings.show_footprints:  # what is stood on shows through the shoe
            figures = [(shapes.outlines, shapes.outline_legs, THIN, "LESS_EQUAL", 1.5),
                       (shapes.filled, shapes.filled_legs, FILLED, "NONE", 0.0),
                       (shapes.lit, shapes.lit_legs, LIT, "NONE", 2.5)]
        if settings.show_rays:
            figures.append((shapes.normals, shapes.normal_legs, RAY, "NONE", 1.5))
        _batches[key] = [batch_of(*figure) for figure in figures if len(figure[0])]
    out = list(_batches[key])
    if settings.show_rays:
        lines, legs = blender.prints.rays(ob, depsgraph, frame)
        out += [batch_of(lines, legs, RAY, "NONE", 1.5)] if len(lines) else []
    return out


def batch_of(points: np.ndarray, legs: np.ndarray, alpha: float, test: str, width: float) -> tuple:
    """A batch of lines (N, 2, 3) with a width in pixels, or of triangles (N, 3, 3), and how it is drawn."""
    shader = gpu.shader.from_builtin("POLYLINE_FLAT_COLOR" if width else "FLAT_COLOR")
    content = {"pos": points.reshape(-1, 3).astype("float32"), "color": coloured(legs, points.shape[1], alpha)}
    return batch_for_shader(shader, "LINES" if width else "TRIS", content), shader, test, width


# The strip of contacts

ROW, GAP, MARGIN, TEXT = 12.0, 4.0, 16.0, 11.0
"""Height of a leg's row, space between rows and to the borders, size of letters: in pixels of a display of scale 1."""
NAMES = 70.0
"""Room for the names of the legs, to the left of the strip."""
BACKGROUND, CURSOR = (0.0, 0.0, 0.0, 0.35), (1.0, 1.0, 1.0, 0.9)


@dataclass(frozen=True)
class Strip:
    """The contacts of a rig over frames, in pixels of a region."""

    boxes: list[tuple[float, float, float, float, tuple[float, float, float, float]]]
    """x, y, x, y of two corners, and the colour."""
    texts: list[tuple[float, float, str]]
    """x, y and the words."""


def strip(
    ob: bpy.types.Object, scene: bpy.types.Scene, left: float, right: float, bottom: float, scale: float
) -> Strip:
    """The contacts of `ob`, as listed, between two borders: a row for each leg, its heel above, its ball below."""
    preview = scene.use_preview_range
    first, last = ((scene.frame_preview_start, scene.frame_preview_end) if preview else
                   (scene.frame_start, scene.frame_end))
    row, gap, x0 = ROW * scale, GAP * scale, left + NAMES * scale
    legs = blender.rig.used_legs(ob)
    top = bottom + len(legs) * (row + gap) + gap
    per_frame = max(right - x0, 1.0) / (last + 1 - first)

    def at(frame: float) -> float:
        return x0 + min(max(frame - first, 0), last + 1 - first) * per_frame

    boxes, texts = [(left, bottom, right, top, BACKGROUND)], []
    for i, leg in enumerate(legs):
        y = top - (i + 1) * (row + gap)
        texts.append((left + gap, y + 0.15 * row, leg.name))
        for c in ob.foot_ik.contacts:
            if c.leg == leg.name and c.mode != "NONE":
                colour = COLOURS[i % len(COLOURS)]
                now = c.start <= scene.frame_current <= c.end
                whole = (at(c.start), y, at(c.end + 1), y + row)
                boxes.append((*whole, (*colour, 0.3)))
                touches = (c.heel_start, c.heel_end, 0.5), (c.ball_start, c.ball_end, 0.0)
                for start, end, low in touches if c.mode != "SLIDE" else ():
                    start, end = max(start, c.start), min(end, c.end)
                    if start <= end:
                        boxes.append((at(start), y + low * row, at(end + 1), y + (low + 0.5) * row,
                                      (*colour, 1.0 if now else 0.65)))
                if c.edited:
                    boxes.append((whole[0], y - gap / 2, whole[2], y, CURSOR))
    if first <= scene.frame_current <= last:
        middle = at(scene.frame_current + 0.5)
        boxes.append((middle - scale, bottom, middle + scale, top, CURSOR))
    return Strip([b for b in boxes if b[2] > b[0]], texts)


def draw_strip(context: bpy.types.Context) -> None:
    """Draw the contacts of the active rig at the bottom of the viewport, clear of the sidebars."""
    ob = context.object
    if ob not in planned_rigs(context) or not ob.foot_ik.show_contacts:
        return
    scale = context.preferences.system.ui_scale
    left, right, bottom = free_area(context)
    margin = MARGIN * scale
    if right - left < 4 * NAMES * scale:
        return
    shown = strip(ob, context.scene, left + margin, right - margin, bottom + margin, scale)
    corners = [p for box in shown.boxes for p in triangle_corners(*box[:4])]
    content = {"pos": corners, "color": [box[4] for box in shown.boxes for _ in range(6)]}
    shader = gpu.shader.from_builtin("FLAT_COLOR")
    gpu.state.blend_set("ALPHA")
    try:
        batch_for_shader(shader, "TRIS", content).draw(shader)
    finally:
        gpu.state.blend_set("NONE")
    blf.size(0, TEXT * scale)
    blf.color(0, *CURSOR)
    for x, y, text in shown.texts:
        blf.enable(0, blf.CLIPPING)
        blf.clipping(0, x, y - ROW * scale, x + (NAMES - 2 * GAP) * scale, y + 2 * ROW * scale)
        blf.position(0, x, y, 0)
        blf.draw(0, text)
        blf.disable(0, blf.CLIPPING)


def triangle_corners(x0: float, y0: float, x1: float, y1: float) -> Iterator[tuple[float, float, float]]:
    """The corners of the two triangles of a box."""
    for x, y in ((x0, y0), (x1, y0), (x1, y1), (x0, y0), (x1, y1), (x0, y1)):
        yield x, y, 0.0


def free_area(context: bpy.types.Context) -> tuple[float, float, float]:
    """Left, right and lower border of the part of the region that no other region lies over, in pixels."""
    area, region = context.area, context.region
    left, right, bottom = 0.0, float(region.width), 0.0
    for other in area.regions:
        if other.width <= 1 or other.height <= 1:  # closed
            continue
        x, y = other.x - region.x, other.y - region.y
        if other.type == "TOOLS" and x <= 0:
            left = max(left, x + other.width)
        elif other.type == "UI" and x > 0:
            right = min(right, x)
        elif other.type.startswith("ASSET") and y < region.height / 2:
            bottom = max(bottom, y + other.height)
    return left, right, bottom


def register() -> None:
    for draw, when in ((draw_footprints, "POST_VIEW"), (draw_strip, "POST_PIXEL")):
        handle = bpy.types.SpaceView3D.draw_handler_add(guarded(draw), (), "WINDOW", when)
        _handles.append((handle, "WINDOW"))


def unregister() -> None:
    while _handles:
        bpy.types.SpaceView3D.draw_handler_remove(*_handles.pop())
    _batches.clear()
    _failures.clear()
