"""Foot IK: feet that belong to the ground."""
import sys

for name in [name for name in sys.modules if name.startswith(f"{__name__}.")]:
    del sys.modules[name]  # Reload Scripts reads only this file anew


def register() -> None:
    for module in modules():
        module.register()


def unregister() -> None:
    for module in reversed(modules()):
        module.unregister()


def modules() -> tuple:
    """What is registered, in this order; undone in reverse."""
    from .blender import handlers
    from .ui import (
        command_line,
        contacts,
        fixes,
        lists,
        operators,
        overlay,
        panels,
        properties,
        replanning,
        report_panel,
        state,
    )
    return (properties, fixes, lists, contacts, state, panels, report_panel, overlay, command_line, handlers,
            replanning, operators)  # whose work, if some is under way, ends before all else goes
