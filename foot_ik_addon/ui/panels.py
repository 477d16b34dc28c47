"""The panel `Foot IK` in the sidebar of the 3D viewport."""
from __future__ import annotations


def register() -> None:
    pass


def unregister() -> None:
    pass
