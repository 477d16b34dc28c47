"""All that reads and writes Blender data.

Its modules are loaded when `blender.NAME` is first asked for, `core` and NumPy with them: a start of Blender pays only
for what is registered.
"""
from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import (
        advice,
        bake,
        batch,
        curves,
        fingerprint,
        ground,
        handles,
        live,
        planning,
        prints,
        refusals,
        reporting,
        rig,
        snapshot,
        store,
    )

    __all__ = ["advice", "bake", "batch", "curves", "fingerprint", "ground", "handles", "live", "planning", "prints",
               "refusals", "reporting", "rig", "snapshot", "store"]


def __getattr__(name: str) -> ModuleType:
    if name.startswith("__") or not find_spec(f"{__name__}.{name}"):
        raise AttributeError(name)
    return import_module(f".{name}", __name__)
