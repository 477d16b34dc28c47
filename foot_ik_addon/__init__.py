"""Foot IK: feet that belong to the ground."""


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
        report_panel,
        state,
    )
    return properties, operators, fixes, lists, contacts, state, panels, report_panel, overlay, command_line, handlers
