#!/usr/bin/env python3
"""Run the scripts of tests/gui in a real Blender window.

    tools/run_gui.py [SCRIPT ...]

The Blender is the one that $BLENDER names, else ../shared/tools/real-blender (installed if need be, which takes
about three minutes and root). Without either this says so and skips. The window opens on a virtual screen where
xvfb-run is there. Pictures and output go to build/gui; `import` (ImageMagick) takes the pictures.
"""
from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import build_extension
import environment

ROOT = environment.ROOT
OUTPUT = ROOT / "build" / "gui"
REAL_BLENDER = ROOT.parent / "shared" / "tools" / "real-blender"
WINDOW = ("--factory-startup", "--gpu-backend", "opengl", "-p", "0", "0", "1600", "900")
XVFB = ("xvfb-run", "-a", "-s", "-screen 0 1600x900x24")
SCRIPT_SECONDS = 300


def find_blender() -> tuple[list[str], str] | str:
    """The command that opens a Blender window and the repository's path as it sees it, else why there is none."""
    if named := os.environ.get("BLENDER"):
        if not shutil.which(named):
            return f"BLENDER={named} is not a program"
        if shutil.which("xvfb-run"):
            return [*XVFB, named, *WINDOW], str(ROOT)
        if os.environ.get("DISPLAY"):
            return [named, *WINDOW], str(ROOT)
        return "no screen: neither xvfb-run nor DISPLAY is there"
    if not REAL_BLENDER.exists():
        return f"BLENDER names no Blender, and {REAL_BLENDER} is not there"
    with open(OUTPUT / "real-blender-install.log", "w") as log:
        installed = subprocess.run([REAL_BLENDER, "run", "--version"], stdout=log, stderr=log).returncode == 0
        if not installed:
            print("Installing a Blender with a window, about 3 minutes", flush=True)
            installed = subprocess.run([REAL_BLENDER, "install"], stdout=log, stderr=log).returncode == 0
    if not installed:
        return f"{REAL_BLENDER} could not be installed, see {log.name}"
    return [str(REAL_BLENDER), "run"], "/project"


def run_script(script: str, command: list[str], root: str) -> tuple[int, int]:
    """Run one script in a window with an empty user folder; returns how many tests passed and failed."""
    name = Path(script).stem
    start = time.monotonic()
    user, verdict, log = OUTPUT / f"{name}_user", OUTPUT / f"{name}.verdict", OUTPUT / f"{name}.log"
    shutil.rmtree(user, ignore_errors=True)
    user.mkdir()
    verdict.unlink(missing_ok=True)

    def seen(path: Path) -> str:
        """The path as this Blender sees it."""
        return f"{root}/{path.relative_to(ROOT)}"

    env = {**os.environ, "BLENDER_USER_RESOURCES": seen(user), "FOOT_IK_VERDICT": seen(verdict)}
    with open(log, "w") as output, contextlib.suppress(subprocess.TimeoutExpired):  # it leaves no verdict then
        subprocess.run([*command, "--python-exit-code", "1", "--python", f"{root}/{script}"], cwd=ROOT, env=env,
                       stdout=output, stderr=output, timeout=SCRIPT_SECONDS)
    text = log.read_text(errors="replace")
    lines = verdict.read_text().splitlines() if verdict.exists() else [f"failed {name}: no verdict"]
    if "Traceback (most recent call last)" in text and not any(line.startswith("failed") for line in lines):
        lines.append("failed: Blender printed a traceback")
    failed = sum(line.startswith("failed") for line in lines)
    print(f"{script}: {', '.join(lines)} in {time.monotonic() - start:.1f} s", flush=True)
    if failed:
        print(text)
    return len(lines) - failed, failed


def main(scripts: list[str]) -> int:
    OUTPUT.mkdir(parents=True, exist_ok=True)
    found = find_blender()
    if isinstance(found, str):
        print(f"No real window, so these tests are skipped: {found}")
        print(f"0 passed, 0 failed, {len(scripts)} skipped")
        return 0
    build_extension.build()
    counts = [run_script(script, *found) for script in scripts]
    passed, failed = map(sum, zip(*counts))
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    every = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "tests" / "gui").glob("test_*.py"))
    sys.exit(main(sys.argv[1:] or every))
