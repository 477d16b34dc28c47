"""What all tests share. tests/core needs no Blender; tests/blender has more in its own conftest.py."""
import os
import sys
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
