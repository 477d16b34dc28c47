"""The figures as a picture: one bar for each row, drawn as a share of its target on a logarithmic axis."""
from __future__ import annotations

from html import escape
from math import log10

WIDTH, ROW, LEFT, RIGHT = 900, 26, 400, 90
LEAST, MOST = 0.1, 100.0
"""Shares of the target at the ends of the axis."""


def drawn(results: list[dict], title: str) -> str:
    """An SVG picture of the results of `rows`."""
    height = ROW * (len(results) + 2)
    decade = (WIDTH - LEFT - RIGHT) / log10(MOST / LEAST)
    place = lambda share: LEFT + decade * log10(min(max(share, LEAST), MOST) / LEAST)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" '
           f'font-size="12"><rect width="100%" height="100%" fill="white"/>',
           f'<text x="10" y="18" font-weight="bold">{escape(title)}: measured / target</text>']
    for i, row in enumerate(results):
        y, share = ROW * (i + 1) + 4, row["ratio"] / row["target"]
        colour = "#3a8f5c" if share <= 1 else "#c8553d"
        out.append(f'<text x="10" y="{y + 13}">{escape(row["work"])}</text>')
        out.append(f'<rect x="{LEFT}" y="{y}" width="{place(share) - LEFT:.1f}" height="{ROW - 8}" fill="{colour}"/>')
        text = f'{row["ratio"]:.3g} / {row["target"]:g}'
        out.append(f'<text x="{place(share) + 6:.1f}" y="{y + 13}">{text}</text>')
    x = place(1.0)
    out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{ROW}" y2="{height - ROW}" stroke="black"/>')
    return "\n".join([*out, "</svg>"]) + "\n"
