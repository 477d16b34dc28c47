"""Sentences in a narrow sidebar: broken into labels that fit its width."""
from __future__ import annotations

import blf
import bpy

FONT_POINTS = 11.0
MARGIN = 4.4
"""Width that panel, box and icon take, in widget heights."""


def lines(text: str, width: float, measure) -> list[str]:
    """A text broken between words into lines of at most `width`, in the unit of `measure(text)`."""
    out: list[str] = []
    for word in text.split():
        if out and measure(f"{out[-1]} {word}") <= width:
            out[-1] += f" {word}"
        else:
            out.append(word)
    return out


def draw_text(layout: bpy.types.UILayout, context: bpy.types.Context, text: str, icon: str = "NONE") -> None:
    """A column of labels with an icon before the first."""
    scale = context.preferences.system.ui_scale
    style = context.preferences.ui_styles[0].widget
    blf.size(0, (style.points or FONT_POINTS) * scale)
    width = context.region.width - MARGIN * 20 * scale
    column = layout.column(align=True)
    column.scale_y = 0.85
    for i, line in enumerate(lines(text, width, lambda t: blf.dimensions(0, t)[0])):
        column.label(text=line, icon=icon if i == 0 else ("NONE" if icon == "NONE" else "BLANK1"))
