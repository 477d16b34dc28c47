#!/usr/bin/env python3
"""Run the tests in the environments of one or more Blender versions.

    tools/run_tests.py VERSION[,VERSION ...] [PATH ...] [pytest options]

Versions joined by + instead share the cases of each test with parameters, as in 4.2.23,4.5.15+5.0.1+5.3.0.
tests/core runs as one process. Each file of tests/blender that is named has a process and an empty Blender user folder
of its own; without a PATH several files share one, which saves the start of Blender, the installation and the scenes
that they have in common; a crash of bpy takes those files only. Two processes run at a time. Without a PATH
tests/core, which needs no Blender, runs only with the oldest and the newest Python and NumPy of `environment.VERSIONS`.
The last line sums them all up: `N passed, N failed, N skipped`; a crash, a time-out and a traceback printed by Blender
each count as a failure.
"""
from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import build_extension
import environment

ROOT = environment.ROOT
PROCESSES = 2
SUITE_SECONDS = 1200
GROUPS = 6
"""Processes among which a whole run deals the files of tests/blender out, per Blender."""
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""NumPy's. Those of two processes wait for each other while they spin: on two cores tests took up to four times as long
with NumPy 1.24, whose threads share even the inverse of small matrices."""
TRACEBACK = "Traceback (most recent call last)"
NO_TESTS_COLLECTED = 5  # pytest's exit code, as when -k selects nothing of this file


def suites(paths: list[str], groups: int) -> list[list[str]]:
    """What each process is handed: a folder of tests that need no Blender, or files of those that do."""
    if not paths:
        files = blender_files("tests/blender")
        return [["tests/core"], *(files[i::groups] for i in range(groups))]
    found = []
    for path in paths:
        place = ROOT / path.partition("::")[0]
        is_folder = place.is_dir() and "core" not in place.relative_to(ROOT).parts
        found += [[file] for file in blender_files(path)] if is_folder else [[path]]
    return found


def blender_files(folder: str) -> list[str]:
    """The files of a folder that need a process with Blender."""
    return [str(p.relative_to(ROOT)) for p in sorted((ROOT / folder).rglob("test_*.py")) if "gui" not in p.parts]


def is_between(version: str, suite: list[str]) -> bool:
    """Whether these are tests without Blender, on a Python and NumPy between the oldest and the newest."""
    return suite == ["tests/core"] and version not in (next(iter(environment.VERSIONS)), environment.NEWEST_LTS)


def run_suite(version: str, suite: list[str], options: list[str]) -> Counter:
    """Run one suite; print a line when it is well, its whole output when it is not."""
    start = time.monotonic()
    command = [environment.python(version), "-m", "pytest", "--color=no", *suite, *options]
    with tempfile.TemporaryDirectory(prefix="foot_ik_user_") as user, \
            tempfile.TemporaryFile("w+", errors="replace") as log:
        env = {**os.environ, "BLENDER_USER_RESOURCES": user, "PYTHONUNBUFFERED": "1", **ONE_THREAD}
        try:
            code = subprocess.run(command, cwd=ROOT, env=env, stdout=log, stderr=log, timeout=SUITE_SECONDS).returncode
        except subprocess.TimeoutExpired:
            code = None
        log.seek(0)
        output = log.read()

    count = read_counts(output)
    trouble = ""
    if code is None:
        trouble = f"stopped after {SUITE_SECONDS} s"
    elif code not in (0, NO_TESTS_COLLECTED) and not count["failed"]:
        trouble = f"ended with code {code}"
    elif TRACEBACK in output and not count["failed"]:
        trouble = "printed a traceback"
    if trouble:
        count["failed"] += 1
    head = f"{version:7} {' '.join(suite)}: {summary(count)} in {time.monotonic() - start:.1f} s {trouble}"
    print(f"{head}\n{output}" if count["failed"] else head, flush=True)
    return count


def read_counts(output: str) -> Counter:
    """Passed, failed and skipped tests, from the line that pytest closes with."""
    closing = [line for line in output.splitlines() if re.search(r" in \d+\.\d+s\b", line)]
    names = {"passed": "passed", "xfailed": "passed", "skipped": "skipped",
             "failed": "failed", "error": "failed", "errors": "failed", "xpassed": "failed"}
    count = Counter()
    for number, word in re.findall(r"(\d+) (\w+)", closing[-1] if closing else ""):
        if word in names:
            count[names[word]] += int(number)
    return count


def summary(count: Counter) -> str:
    return f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped"


def main(versions: str, arguments: list[str]) -> int:
    paths = [a for a in arguments if not a.startswith("-") and (ROOT / a.partition("::")[0]).exists()]
    options = [a for a in arguments if a not in paths]
    jobs = []
    for sharing in (entry.split("+") for entry in versions.split(",")):
        groups = suites(paths, -(-GROUPS // len(sharing)))
        for i, version in enumerate(sharing):
            environment.python(version)
            jobs += [(version, suite, [*options, f"--share={i}/{len(sharing)}"]) for suite in groups
                     if paths or not is_between(version, suite)]
    build_extension.build()
    with ThreadPoolExecutor(PROCESSES) as pool:
        total = sum(pool.map(run_suite, *zip(*jobs)), Counter())
    print(summary(total))
    return 1 if total["failed"] or not total["passed"] else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
