"""The report in words: lengths in the units of the scene, rows for the panel, a sentence and a table."""
from __future__ import annotations

from dataclasses import dataclass

import bpy

SHOWN = (("slide", "Slide", "mean", " per frame"), ("drift", "Drift", "worst", ""),
         ("penetration", "Penetration", "worst", ""), ("float", "Float", "worst", ""))
"""Figure, label, which of its values is shown, and what is said after it."""
MADE = {"PLAN": "Planned", "BAKE": "Baked"}


@dataclass(frozen=True)
class Row:
    """One line of the report."""

    label: str
    before: str
    """Empty where there is no before."""
    after: str
    frame: int | None
    """Where it is worst; None where there is nothing to look at."""
    leg: str


def rows(scene: bpy.types.Scene, report: dict) -> list[Row]:
    """The lines of a report; figures that could not be measured have none."""
    overall, out = report["overall"], []
    for name, label, value, unit in SHOWN:
        before, after = overall[name]["before"], overall[name]["after"]
        if after[value] is not None:
            text = length_text(scene, after[value]) + unit
            out.append(Row(label, length_text(scene, before[value]), text, after["frame"], after["leg"] or ""))
    unreached = overall["unreached"]
    if unreached["count"]:
        text = f"{counted(unreached['count'], 'frame')}, by up to {length_text(scene, unreached['worst'])}"
        out.append(Row("Out of Reach", "", text, unreached["frame"], unreached["leg"]))
    bare = sorted((c["start"], leg["name"]) for leg in report["legs"] for c in leg["contacts"] if not c["grounded"])
    if bare:
        out.append(Row("No Ground", "", counted(len(bare), "contact"), *bare[0]))
    return out


def headline(report: dict, dash: str = "\u2013") -> str:
    """What the report is about."""
    return f"{MADE[report['made_by']]} frames {report['frame_start']}{dash}{report['frame_end']}"


def sentence(scene: bpy.types.Scene, report: dict) -> str:
    """The report in one sentence."""
    parts = (f"{row.label.lower()} {row.before} -> {row.after}" if row.before else f"{row.label.lower()} {row.after}"
             for row in rows(scene, report))
    return f"{headline(report, '-')}: {', '.join(parts)}"


def table(scene: bpy.types.Scene, report: dict, name: str) -> str:
    """The report as lines of plain text."""
    lines = [(headline(report, "-"), "before", "after", "worst")]
    lines += [(row.label, row.before, row.after, "" if row.frame is None else f"frame {row.frame}, {row.leg}")
              for row in rows(scene, report)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    body = ("   ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
    return "\n".join([f"Foot IK: {name}", *(f"  {line}" for line in body)])


def length_text(scene: bpy.types.Scene, length: float) -> str:
    """A length in Blender units, as small lengths are written in the units of the scene."""
    settings = scene.unit_settings
    if settings.system == "NONE":
        return f"{length:.3g}"
    factor, unit = (1e3, " mm") if settings.system == "METRIC" else (1 / 0.0254, '"')
    value = length * settings.scale_length * factor
    if value < 0.005:
        return f"0{unit}"
    return f"{value:.{2 if value < 1 else 1 if value < 10 else 0}f}{unit}"


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
