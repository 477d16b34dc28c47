"""Measures what the extension costs against what it is compared with: a table, build/bench.json and build/bench.svg.

    python benchmarks/run.py [row ...] [--rounds N]

Needs Blender's Python module and the built extension in dist/ (`make extension`). What is compared runs in turns in one
process, so that the noise of the machine meets both; the ratio is the median of those of all turns.
"""
from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path

os.environ["BLENDER_USER_RESOURCES"] = tempfile.mkdtemp(prefix="foot_ik_bench_")  # read when bpy is imported
import bpy  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import chart, rows  # noqa: E402


def install() -> None:
    """Install and enable the extension from its zip, as a user would."""
    (archive,) = (ROOT / "dist").glob("foot_ik-*.zip")
    with contextlib.redirect_stdout(io.StringIO()):
        bpy.ops.extensions.package_install_files(filepath=str(archive), repo="user_default", enable_on_install=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("row", nargs="*", help=f"one of {', '.join(rows.ROWS)}")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    install()
    results = []
    print(f"{'work':<52}{'target':>8}{'ratio':>9}   measured", flush=True)
    for name in options.row or rows.ROWS:
        result = rows.ROWS[name](options.rounds)
        results.append({"row": name, **result})
        mark = " " if result["ratio"] <= result["target"] else "!"
        figures = f"{result['target']:>8g}{result['ratio']:>9.3g} {mark}"
        print(f"{result['work']:<52}{figures} {result['measured']}", flush=True)
    out = ROOT / "build"
    out.mkdir(exist_ok=True)
    about = {"blender": bpy.app.version_string, "cores": os.cpu_count()}
    (out / "bench.json").write_text(json.dumps({**about, "rows": results}, indent=1))
    (out / "bench.svg").write_text(chart.drawn(results, f"Blender {about['blender']}"))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
