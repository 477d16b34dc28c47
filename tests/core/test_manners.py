"""What the add-on's source never does: no network, no processes, no code from text, no files, no operators where data
can be written, nothing but definitions when a module is imported."""
import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "foot_ik_addon"
FILES = {str(path.relative_to(PACKAGE)): path for path in sorted(PACKAGE.rglob("*.py"))}

PLAIN = {"__future__", "base64", "collections", "contextlib", "dataclasses", "functools", "hashlib", "itertools",
         "json", "math", "numpy", "re", "time", "traceback", "typing", "unicodedata", "zlib"}
"""Modules that touch nothing outside."""
BLENDER = {"bpy", "blf", "bpy_extras", "gpu", "gpu_extras", "mathutils"}
MORE = {"__init__.py": {"sys"}, "blender/__init__.py": {"importlib", "types"}, "blender/handlers.py": {"threading"},
        "ui/command_line.py": {"argparse", "os", "sys"}}
"""What single files import besides."""
PARTS = {"os": {"path"}, "sys": {"modules", "stdout", "stderr"}, "threading": {"local"}}
"""What they use of it."""
FORBIDDEN = {"eval", "exec", "compile", "__import__", "open", "input", "breakpoint", "globals"}
OPERATORS = {
    "ui/command_line.py": {"bpy.ops.wm.save_as_mainfile"},  # the only way to save
    "ui/fixes.py": {"bpy.ops.object.mode_set"},  # the only way to the edit bones
}
AT_IMPORT = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)
STATE = ("bpy.data", "bpy.context", "bpy.ops", "bpy.app.handlers", "bpy.app.timers", "bpy.utils.register_class",
         "bpy.msgbus", "bpy.types.SpaceView3D.draw_handler_add")
"""What only a function may use, not the import of a module."""


@pytest.fixture(params=FILES)
def source(request):
    """(name, syntax tree) of a file of the add-on."""
    return request.param, ast.parse(FILES[request.param].read_text(encoding="utf-8"))


def dotted(node):
    """`bpy.ops.wm` of an attribute of an attribute of a name; empty for others."""
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return base and f"{base}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def attributes(tree):
    return {dotted(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)} - {""}


def imported(tree):
    """Top-level names of the modules that are imported from outside of the add-on."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.partition(".")[0]


def outside_functions(tree):
    """The nodes that run when the module is imported: what stands in no function."""
    open_ = [tree]
    while open_:
        node = open_.pop()
        yield node
        open_ += [child for child in ast.iter_child_nodes(node)
                  if not isinstance(child, (ast.FunctionDef, ast.Lambda))]


def test_imports_only_what_touches_nothing_outside(source):
    name, tree = source
    allowed = PLAIN | (set() if name.startswith("core/") else BLENDER) | MORE.get(name, set())
    assert set(imported(tree)) <= allowed
    for module, parts in PARTS.items():
        used = {a.split(".")[1] for a in attributes(tree) if a.startswith(f"{module}.")}
        assert used <= parts


def test_runs_no_code_from_text_and_opens_no_file(source):
    _, tree = source
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    ends = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not names & FORBIDDEN
    assert not ends & {"tofile", "save", "savez", "savetxt", "fromfile", "memmap", "load", "write_text", "write_bytes"}


def test_uses_operators_only_where_data_cannot_be_written(source):
    name, tree = source
    used = {a for a in attributes(tree) if a.startswith("bpy.ops.") and a.count(".") == 3}
    assert used == OPERATORS.get(name, set())
    assert {a for a in attributes(tree) if a.startswith("bpy.ops")} <= {part for o in used for part in parts_of(o)}


def parts_of(path):
    words = path.split(".")
    return [".".join(words[:i]) for i in range(2, len(words) + 1)]


def test_import_only_defines(source):
    name, tree = source
    for node in tree.body:
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        typing = isinstance(node, ast.If) and dotted(node.test) == "TYPE_CHECKING"
        assert text or typing or isinstance(node, AT_IMPORT) or name == "__init__.py", ast.unparse(node)
    used = {dotted(node) for node in outside_functions(tree) if isinstance(node, ast.Attribute)}
    assert not {a for a in used for state in STATE if a == state or a.startswith(f"{state}.")}


def test_sees_what_is_forbidden():
    """The tests above would see these."""
    tree = ast.parse("import socket, os.path\nfrom urllib.request import x\nbpy.data.objects[0].x\nclass A:\n"
                     "    b = bpy.context.scene\ndef f():\n    bpy.ops.wm.save()\n    os.system('x')\n")
    assert set(imported(tree)) == {"socket", "os", "urllib"}
    assert {"bpy.ops.wm.save", "os.system"} <= attributes(tree)
    used = {dotted(node) for node in outside_functions(tree) if isinstance(node, ast.Attribute)}
    assert {"bpy.data", "bpy.context"} <= used and "bpy.ops" not in used
