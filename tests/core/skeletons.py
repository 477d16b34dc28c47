"""Small skeletons for tests: one for each row of the naming table (skeletons.txt), and the way to write more."""
from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from foot_ik_addon.core.legs import Leg
from foot_ik_addon.core.skeleton import Skeleton

HIPS = np.array([0.0, 0.0, 1.0])
PLACES = {  # heads of the left side in metres, z up, facing -y
    "floor": (0, 0, 0), "hips": HIPS, "upper": (0.1, 0, 0.95), "upper2": (0.1, -0.01, 0.72), "lower": (0.1, -0.02, 0.5),
    "lower2": (0.1, 0, 0.3), "foot": (0.1, 0.02, 0.09), "foot2": (0.1, -0.03, 0.06), "toe": (0.1, -0.1, 0.02),
    "toe2": (0.11, -0.1, 0.02), "toe5": (0.13, -0.09, 0.02), "tip": (0.1, -0.18, 0.02), "heel": (0.1, 0.06, 0),
    "pole": (0.1, -0.8, 0.5),
}
FRONT = np.array([0.0, -0.8, 0.0])  # @fupper is @upper at the shoulders of an animal
CHOICE = re.compile(r"\[([^[|\]]*)\|([^[\]]*)\]")


@dataclass(frozen=True)
class Case:
    """A skeleton and what must be found in it."""

    name: str
    skeleton: Skeleton
    pelvis: str
    legs: tuple[Leg, ...]


def on_side(text: str, side: int) -> str:
    """Resolve every [left|right] choice; side 0 is left."""
    return CHOICE.sub(lambda m: m[side + 1], text)


def build(tree: str) -> Skeleton:
    """A skeleton from indented lines, see skeletons.txt; its rest pose is also its posed frame."""
    bones: list[tuple[str, int, np.ndarray, bool]] = []
    lines = [line for line in tree.splitlines() if line.strip()]
    depth = [len(line) - len(line.lstrip()) for line in lines]

    def grow(i: int, parent: int, side: int | None) -> None:
        for s in (0, 1) if side is None and CHOICE.search(lines[i]) else (side,):
            name, _, place = on_side(lines[i].strip(), s or 0).partition(" @")
            above = bones[parent][2] if parent >= 0 else np.zeros(3)
            mirror = np.array([-1.0 if s == 1 else 1.0, 1.0, 1.0])
            if place in PLACES:
                head = np.array(PLACES[place], float) * mirror
            elif place:
                head = (np.array(PLACES[place[1:]]) + FRONT) * mirror
            else:
                head = above + (np.array([0.0, 0.0, 0.12]) if s is None else np.array([0.15, 0.0, 0.0]) * mirror)
            bones.append((name.lstrip("!"), parent, head, not name.startswith("!")))
            me = len(bones) - 1
            for j in range(i + 1, len(lines)):
                if depth[j] <= depth[i]:
                    break
                if depth[j] == depth[i] + 2:
                    grow(j, me, s)

    for i, d in enumerate(depth):
        if d == min(depth):
            grow(i, -1, None)
    names, parents, heads, deform = zip(*bones)
    heads = np.array(heads)
    return Skeleton(names, np.array(parents), heads, heads + [0.0, 0.0, 0.05], np.array(deform),
                    np.zeros(len(names), bool), heads[None])


def read_cases() -> list[Case]:
    """All cases of skeletons.txt."""
    text = (Path(__file__).parent / "skeletons.txt").read_text(encoding="utf-8")
    return [_case(part) for part in re.split(r"^== ", text, flags=re.M)[1:]]


def _case(text: str) -> Case:
    head, tree = text.split("\n---\n")
    name, pelvis, *legs = head.splitlines()
    found = []
    for line in legs:
        label, bones = line.split(" = ")
        for side in (0, 1):
            upper, lower, foot, toe = on_side(bones, side).split(" > ")
            found.append(Leg(on_side(label, side), upper, lower, foot, "" if toe == "-" else toe))
    return Case(name, build(tree), pelvis.removeprefix("pelvis = "), tuple(found))
