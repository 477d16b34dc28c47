#!/usr/bin/env python3
"""Take random rigs, clips and grounds through all that the add-on does: tests/blender/fuzzing.py says how.

    tools/fuzz.py VERSION [--seed N] [--cases N]

Each case comes from a seed of its own, the first from N: one that failed is repeated with `--seed N --cases 1`. Cases
run in processes of a batch each, two at a time; one that crashes or hangs fails, and with it those that it kept from
running. The last line sums up: `N solved, N refused, N failed`.
"""
from __future__ import annotations

import argparse
import json
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
PROCESSES, BATCH = 2, 50
CASE_SECONDS = 20
"""Time limit of a batch, for each of its cases."""
WORKER = """
import json, os, sys, traceback
import bpy
from blender import fuzzing
bpy.ops.extensions.package_install_files(filepath=sys.argv[1], repo="user_default", enable_on_install=True)
with open(sys.argv[2], "w") as out:
    for seed in range(int(sys.argv[3]), int(sys.argv[4])):
        try:
            outcome = {"ended": fuzzing.run(fuzzing.make(seed))}
        except Exception:
            outcome = {"failed": traceback.format_exc()}
        out.write(json.dumps({"seed": seed, **outcome}) + "\\n")
        out.flush()
os._exit(0)
"""


def run_batch(version: str, seeds: range) -> list[dict]:
    """What became of each case of a batch."""
    (archive,) = (ROOT / "dist").glob("foot_ik-*.zip")
    with tempfile.TemporaryDirectory(prefix="foot_ik_user_") as user, tempfile.TemporaryFile("w+") as log:
        results = os.path.join(user, "results")
        command = [environment.python(version), "-c", WORKER, archive, results, str(seeds.start), str(seeds.stop)]
        env = {**os.environ, "BLENDER_USER_RESOURCES": user, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}
        try:
            limit = CASE_SECONDS * len(seeds)
            code = subprocess.run(command, env=env, stdout=log, stderr=log, timeout=limit).returncode
        except subprocess.TimeoutExpired:
            code = "no answer in time"
        with open(results) as lines:
            done = [json.loads(line) for line in lines]
        if len(done) < len(seeds):
            log.seek(0)
            why = f"the process ended with {code}\n{log.read()[-2000:]}"
            done.append({"seed": seeds[len(done)], "failed": why})
            done += [{"seed": seed, "failed": "did not run"} for seed in seeds[len(done):]]
    failed = [row for row in done if "failed" in row]
    for row in failed:
        print(f"Seed {row['seed']} failed: {row['failed']}", flush=True)
    print(f"Seeds {seeds.start} to {seeds.stop - 1}: {len(failed)} failed", flush=True)
    return done


def reason(sentence: str) -> str:
    """A refusal without the names in it, to count it by."""
    sentence = re.sub(r"pose\.bones\[.*\]\.\w+", "...", sentence)
    sentence = re.sub(r"\b(bone|leg) .+?(?= (of the leg|does|is|has)\b|:)", r"\1 ...", sentence)
    return re.sub(r"\b(of|to|frame|Frames) -?\d\S*", r"\1 ...", sentence)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("version")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=1000)
    args = parser.parse_args()
    start, stop = time.monotonic(), args.seed + args.cases
    environment.python(args.version)
    build_extension.build()
    batches = [range(first, min(first + BATCH, stop)) for first in range(args.seed, stop, BATCH)]
    with ThreadPoolExecutor(PROCESSES) as pool:
        rows = [row for batch in pool.map(lambda b: run_batch(args.version, b), batches) for row in batch]
    ended = Counter("failed" if "failed" in row else row["ended"] for row in rows)
    solved, failed = ended.pop("solved", 0), ended.pop("failed", 0)
    refused = Counter()
    for sentence, count in ended.items():
        refused[reason(sentence)] += count
    print(f"\nRefused, after {time.monotonic() - start:.0f} s:")
    for sentence, count in refused.most_common():
        print(f"{count:5}  {sentence}")
    seeds = [row["seed"] for row in rows if "failed" in row]
    print(f"{solved} solved, {sum(refused.values())} refused, {failed} failed {seeds or ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
