"""What all tests share. tests/core needs no Blender; tests/blender has more in its own conftest.py."""
import os
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"

collect_ignore = ["gui"]  # scripts for a real window, run by tools/run_gui.py

# Machines differ too much for a time limit per example; on CI the same examples each time.
settings.register_profile("foot_ik", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("foot_ik")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the motions and the lab, which lies beside the repository."""
    if not SHARED.is_dir():
        pytest.skip(f"needs the motions and the lab in {SHARED}")
    return SHARED


def pytest_addoption(parser):
    parser.addoption("--share", default="0/1", metavar="I/N",
                     help="run every Nth case of a test with parameters, from the Ith on, and at least one")


def pytest_collection_modifyitems(config, items):
    """Leave only the cases of this run's share; those marked as `first` come before all others."""
    share, shares = map(int, config.getoption("share").split("/"))
    names = [item.nodeid.partition("[")[0] for item in items]
    counts, seen = Counter(names), Counter()
    kept, left = [], []
    for name, item in zip(names, items, strict=True):
        step = min(shares, counts[name])
        (kept if seen[name] % step == share % step else left).append(item)
        seen[name] += 1
    items[:] = sorted(kept, key=lambda item: item.get_closest_marker("first") is None)
    config.hook.pytest_deselected(items=left)


def pytest_sessionfinish(session, exitstatus):
    session.config.stash[EXIT_STATUS] = int(exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config):
    """Leave without the interpreter's clean-up, in which bpy can crash or hang although all tests are done."""
    if "bpy" in sys.modules:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(config.stash.get(EXIT_STATUS, pytest.ExitCode.INTERNAL_ERROR))


EXIT_STATUS = pytest.StashKey[int]()
