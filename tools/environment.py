#!/usr/bin/env python3
"""One virtual environment for each Blender version, made on demand in .venv/VERSION.

    tools/environment.py VERSION ...    make or update them, print the path of each one's Python

Blender comes as the `bpy` module from PyPI. A second call only compares a hash (no pip, no import).
"""
from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENVS = ROOT / ".venv"

# bpy -> (Python that it is built for, NumPy). From 4.2 to 5.0 NumPy is the one that Blender itself ships.
VERSIONS = {
    "4.2.23": ("3.11", "1.24.3"),
    "4.5.15": ("3.11", "1.26.4"),
    "5.0.1": ("3.11", "1.26.4"),
    "5.2.3": ("3.13", "2.5.5"),
    "5.3.0": ("3.13", "2.5.5"),
}
NEWEST_LTS = "5.2.3"
TEST_PACKAGES = ("pytest==9.2.0", "hypothesis==6.170.17")
# Lint and pictures, in the environment of the newest LTS only. The extra `nodejs` lets pyright run without Node.js.
DEVELOPER_PACKAGES = ("ruff==0.17.6", "pyright[nodejs]==1.1.414", "fake-bpy-module==20261026")


def requirements(version: str) -> list[str]:
    """What pip installs for this Blender version."""
    packages = [f"bpy=={version}", f"numpy=={VERSIONS[version][1]}", *TEST_PACKAGES]
    return packages + list(DEVELOPER_PACKAGES) if version == NEWEST_LTS else packages


def python(version: str) -> Path:
    """The Python of this Blender version's environment, which is made or updated first where needed."""
    if version not in VERSIONS:
        raise SystemExit(f"No environment for bpy {version}; there are {', '.join(VERSIONS)}")
    folder = VENVS / version
    executable = folder / "bin/python"
    wanted = requirements(version)
    stamp = folder / "requirements.sha256"
    digest = hashlib.sha256("\n".join(wanted).encode()).hexdigest()
    if executable.exists() and stamp.exists() and stamp.read_text() == digest:
        return executable

    print(f"Setting up {folder.relative_to(ROOT)}", file=sys.stderr, flush=True)
    if not runs(executable, VERSIONS[version][0]):
        create(folder, VERSIONS[version][0])
    run(executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", *wanted)
    stamp.write_text(digest)
    return executable


def create(folder: Path, wanted: str) -> None:
    """Make an empty environment with pip, from a Python of this machine or else one fetched by uv."""
    shutil.rmtree(folder, ignore_errors=True)
    base = find_python(wanted)
    if base:
        run(base, "-m", "venv", folder)
    else:
        run(*uv(), "venv", "--quiet", "--seed", "--python", wanted, folder)


def find_python(wanted: str) -> Path | None:
    """A Python of this version on PATH, else in pyenv's folder."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    on_path = shutil.which(f"python{wanted}")
    candidates = [Path(on_path)] if on_path else []
    candidates += sorted(pyenv.glob(f"versions/{wanted}.*/bin/python"))
    return next((p for p in candidates if runs(p, wanted)), None)


def runs(executable: Path, wanted: str) -> bool:
    """Whether this is a working Python of this version that can make environments (pyenv's shims may not be)."""
    check = f"import ensurepip, venv, sys; sys.exit('{wanted}' != '%d.%d' % sys.version_info[:2])"
    try:
        return subprocess.run([executable, "-c", check], capture_output=True, timeout=30).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def uv() -> list[str]:
    """The command that starts uv: the one on PATH, else one installed into an environment of its own."""
    if shutil.which("uv"):
        return ["uv"]
    executable = VENVS / "uv/bin/python"
    if not executable.exists():
        run(sys.executable, "-m", "venv", VENVS / "uv")
    run(executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "uv")
    return [str(executable), "-m", "uv"]


def run(*command: str | Path) -> None:
    """Run a command with its output on stderr; stop the program with one sentence when it fails."""
    if subprocess.run(command, stdout=sys.stderr).returncode:
        raise SystemExit(f"Failed: {' '.join(map(str, command))}")


if __name__ == "__main__":
    for name in sys.argv[1:] or [NEWEST_LTS]:
        print(python(name))
