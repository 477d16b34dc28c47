"""A digest of data-blocks: what they are made of, what animates that, and the data-blocks that they refer to."""
from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from contextlib import suppress

import bpy
import numpy as np

from .channels import LOCATION, ROTATION, SCALE, column, rotation_path
from .compat import node_inputs
from .held import animated_channels
from .playing import PLAIN, add_playing, as_plain, is_as_before, properties_of, value_of
from .surfaces import read_mesh

TRANSFORMS = ("location", "rotation_euler", "rotation_quaternion", "rotation_axis_angle", "scale", "delta_location",
              "delta_rotation_euler", "delta_rotation_quaternion", "delta_scale")
HELD = ("parent_type", "parent_bone", "parent_vertices", "matrix_parent_inverse")
INSTANCED = ("show_instancer_for_viewport", "use_instance_vertices_rotation", "use_instance_faces_scale",
             "instance_faces_scale")
JOINTED = ("use_connect", "use_local_location", "use_inherit_rotation", "inherit_scale")
KEYED_SHAPE = ("mute", "interpolation", "slider_min", "slider_max", "vertex_group")
REFERRED = (bpy.types.Object, bpy.types.Collection, bpy.types.Curve, bpy.types.MetaBall, bpy.types.Lattice,
            bpy.types.Mesh, bpy.types.Key, bpy.types.Armature, bpy.types.Texture, bpy.types.NodeTree,
            bpy.types.ParticleSettings)
"""Data-blocks that shape what refers to them."""
WEIGHTED = {"ARMATURE", "NODES", "PARTICLE_SYSTEM"}
"""Modifiers that may read vertex groups without naming one."""


class Digest:
    """Of values that are added, and of data-blocks that are referred to, each once."""

    def __init__(self, takes: Callable[[bpy.types.Object], bool]):
        """`takes` tells which objects of a collection are looked at."""
        self.takes = takes
        self.sha = hashlib.sha1(usedforsecurity=False)
        self.known: dict[tuple[str, int], int] = {}
        """{type and address of a data-block, or of a part of one: its number}"""
        self.open: list[bpy.types.ID] = []

    def add(self, *values: object) -> None:
        self.sha.update(repr(values).encode())

    def finish(self) -> str:
        """The digest, after all that was referred to has been looked at."""
        while self.open:
            block = self.open.pop(0)
            if isinstance(block, bpy.types.Object):
                self.add_object(block)
            elif isinstance(block, bpy.types.Collection):
                self.add(*block.instance_offset)
                for ob in filter(self.takes, block.all_objects):
                    self.refer(ob)
            elif isinstance(block, bpy.types.Mesh):
                self.add_mesh(block)
            elif isinstance(block, bpy.types.Armature):
                self.add(block.pose_position)
            elif isinstance(block, bpy.types.Key):
                self.add_shapes(block)
            else:
                self.add_struct(block, add_playing(self.add, block.animation_data))
        return self.sha.hexdigest()

    def refer(self, part: bpy.types.bpy_struct | None) -> bool:
        """Add which data-block, or part of one, is referred to; returns whether it is a part that is new."""
        if part is None or (isinstance(part, bpy.types.ID) and not isinstance(part, REFERRED)):
            self.add(part and part.name_full)
            return False
        key = type(part).__name__, part.as_pointer()
        new = key not in self.known
        self.add(self.known.setdefault(key, len(self.known)))
        if new and isinstance(part, bpy.types.ID):
            self.open.append(part)
            return False
        return new

    def add_struct(self, owner: bpy.types.bpy_struct, moved: set[str]) -> None:
        """What tells how something acts, but what lies at data paths that are `moved`; its parts, too."""
        path = path_of(owner) if moved else ""
        for name, kind in properties_of(type(owner)):
            if kind == PLAIN:
                if path + name not in moved and not is_as_before(owner, name):
                    self.add(value_of(owner, name))
                continue
            part = getattr(owner, name)
            parts = [part] if kind == "POINTER" else list(part)
            self.add(len(parts))
            for each in parts:
                if self.refer(each):
                    self.add_struct(each, moved)

    def add_object(self, ob: bpy.types.Object) -> None:
        """Where an object is, what moves and what shapes it."""
        moved = add_playing(self.add, ob.animation_data)
        self.add_place(ob, moved)
        self.add_sources(ob.animation_data)
        self.add(ob.type, ob.display_type if "display_type" not in moved else None, ob.instance_type)
        if ob.instance_type != "NONE":
            self.add(*(value_of(ob, name) for name in INSTANCED if name not in moved))
            self.refer(ob.instance_collection)
        for modifier in ob.modifiers:
            self.add(modifier.type, modifier.show_viewport)
            self.add_struct(modifier, moved)
            for path, value in node_inputs(modifier):
                if isinstance(value, bpy.types.ID):
                    self.refer(value)
                elif path not in moved:
                    self.add(as_plain(value))
        if ob.type == "ARMATURE":
            self.add_pose(ob, ob.pose.bones.keys(), moved)
        if isinstance(ob.data, REFERRED):
            self.refer(ob.data)
        if getattr(ob.data, "shape_keys", None):
            self.add(ob.show_only_shape_key and ob.active_shape_key_index)
        if ob.type == "MESH" and len(ob.vertex_groups) and any(map(is_weighted, ob.modifiers)):
            self.add([group.name for group in ob.vertex_groups])
            self.add([(g.group, g.weight) for vertex in ob.data.vertices for g in vertex.groups])

    def add_rig(self, ob: bpy.types.Object, bones: list[str], posed: bool) -> None:
        """Where an armature object is, what moves it, and the pose of some of its bones; `posed` as in `add_pose`."""
        self.known[type(ob).__name__, ob.as_pointer()] = len(self.known)
        moved = add_playing(self.add, ob.animation_data)
        self.add_place(ob, moved)
        self.add_pose(ob, bones, moved, posed)

    def add_place(self, ob: bpy.types.Object, moved: set[str]) -> None:
        """Where an object is, but for what is `moved`, and what holds it there."""
        self.add(*([round(v, 6) for v in getattr(ob, name)] for name in TRANSFORMS if name not in moved))
        self.add(ob.rotation_mode if "rotation_mode" not in moved else None)
        if ob.parent:
            self.refer(ob.parent)
            self.add(*(value_of(ob, name) for name in HELD))
        for constraint in ob.constraints:
            self.add(constraint.type)
            self.add_struct(constraint, moved)

    def add_pose(self, ob: bpy.types.Object, bones: list[str], moved: set[str], posed: bool = True) -> None:
        """The rest and the pose of some bones as animated; what no curve moves only where they are `posed` by hand."""
        names = ob.pose.bones.keys()
        now = animated_channels(ob, [names.index(name) for name in bones])
        for name, mode, values in zip(bones, now.modes, now.values.round(5).tolist(), strict=True):
            bone, path = ob.pose.bones[name], f'pose.bones["{bpy.utils.escape_identifier(name)}"].'
            rest = bone.bone
            self.add(name, rest.parent and rest.parent.name, *(getattr(rest, flag) for flag in JOINTED))
            self.add(np.array(rest.matrix_local, float).round(5).tolist(), round(rest.length, 5))
            self.add(mode if path + "rotation_mode" not in moved else None)
            for channel, part in ((rotation_path(mode), ROTATION), ("location", LOCATION), ("scale", SCALE)):
                if posed and path + channel not in moved:
                    self.add(values[part])
            for constraint in bone.constraints:
                self.add(constraint.type)
                self.add_struct(constraint, moved)

    def add_mesh(self, mesh: bpy.types.Mesh) -> None:
        """Vertices, faces and shape keys."""
        if not mesh.is_editmode:
            self.add(*read_mesh(mesh)[1:])
        self.refer(mesh.shape_keys)

    def add_shapes(self, keys: bpy.types.Key) -> None:
        """Shape keys and their values."""
        moved = add_playing(self.add, keys.animation_data)
        for block in keys.key_blocks:
            self.refer(block.relative_key)
            self.add(*(getattr(block, name) for name in KEYED_SHAPE), zlib.crc32(column(block.data, "co", 3)))
            if path_of(block) + "value" not in moved:
                self.add(round(block.value, 6))

    def add_sources(self, data: bpy.types.AnimData | None) -> None:
        """What the drivers of an object read, but what is animated."""
        targets = [t for d in (data.drivers if data else ()) for v in d.driver.variables for t in v.targets]
        for target in targets:
            if isinstance(target.id, REFERRED):
                self.refer(target.id)
                moved = add_playing(lambda *_: None, target.id.animation_data)
                if target.data_path and not target.data_path.startswith(("matrix", *moved)):
                    with suppress(ValueError):
                        self.add(as_plain(target.id.path_resolve(target.data_path)))


def path_of(owner: bpy.types.bpy_struct) -> str:
    """The beginning of the data paths of what something has."""
    if isinstance(owner, bpy.types.ID):
        return ""
    with suppress(ValueError):  # there are parts that cannot be animated
        return owner.path_from_id() + "."
    return ""


def is_weighted(modifier: bpy.types.Modifier) -> bool:
    """Whether a modifier may read vertex groups."""
    names = (name for name, kind in properties_of(type(modifier)) if "vertex_group" in name and kind == PLAIN)
    return modifier.type in WEIGHTED or any(isinstance(value := getattr(modifier, n), str) and value for n in names)
