"""Foot IK: feet that belong to the ground."""


def register() -> None:
    from .blender import handlers
    from .ui import operators, panels, properties
    properties.register()
    operators.register()
    panels.register()
    handlers.register()


def unregister() -> None:
    from .blender import handlers
    from .ui import operators, panels, properties
    handlers.unregister()
    panels.unregister()
    operators.unregister()
    properties.unregister()
