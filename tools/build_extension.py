#!/usr/bin/env python3
"""Build and validate dist/foot_ik-VERSION.zip with Blender's own extension builder.

The builder is a script inside the bpy module, so this needs no Blender program. Its archive is then written
again in name order with a fixed date: the same source gives the same bytes.
"""
from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

import environment

ROOT = environment.ROOT
BUILD = ROOT / "build"
DIST = ROOT / "dist"
BUILDER = "addons_core/bl_pkg/cli/blender_ext.py"
TAGS = "modules/_bpy_internal/extensions/tags.py"


def build() -> Path:
    """Stage, build, validate; returns the archive, the only one in dist/."""
    python = environment.python(environment.NEWEST_LTS)
    scripts = next(python.parent.parent.glob("lib/python*/site-packages/bpy/*/scripts"))
    builder, tags = scripts / BUILDER, ("--valid-tags", scripts / TAGS)
    archive = DIST / f"foot_ik-{version()}.zip"
    BUILD.mkdir(exist_ok=True)
    DIST.mkdir(exist_ok=True)
    # A folder of its own, and a move at the end: two builds at a time do not disturb each other.
    with tempfile.TemporaryDirectory(prefix="extension_", dir=BUILD) as folder:
        staged, built = Path(folder, "stage"), Path(folder, archive.name)
        stage(staged)
        run(python, builder, "build", *tags, "--source-dir", staged, "--output-filepath", built)
        make_reproducible(built)
        run(python, builder, "validate", *tags, built)
        built.replace(archive)
    for old in set(DIST.glob("foot_ik-*.zip")) - {archive}:
        old.unlink()
    return archive


def run(*command: str | Path) -> None:
    """Run Blender's builder; its words matter only when it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise SystemExit(f"{done.stdout}The extension was not built")


def version() -> str:
    manifest = (ROOT / "blender_manifest.toml").read_text()
    return re.search(r'^version = "(.+)"', manifest, re.MULTILINE)[1]


def stage(folder: Path) -> None:
    """Lay the archive out: the package's content at the root, beside the manifest and the licence."""
    shutil.copytree(ROOT / "foot_ik_addon", folder, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    for name in ("blender_manifest.toml", "LICENSE"):
        shutil.copy(ROOT / name, folder)


def make_reproducible(archive: Path) -> None:
    with zipfile.ZipFile(archive) as source:
        files = {name: source.read(name) for name in sorted(source.namelist())}
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as target:
        for name, data in files.items():
            info = zipfile.ZipInfo(name)  # dated 1980-01-01
            info.external_attr = 0o644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(info, data)


if __name__ == "__main__":
    print(build().relative_to(ROOT))
