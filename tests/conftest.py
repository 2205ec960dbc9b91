from __future__ import annotations

import gc
import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from platformdirs import user_cache_path

from trigemu.base import mapping

ROOT = Path(__file__).parents[1]

# In CI the same examples every time: new ones are found where someone is there to look at them. Many more:
# pytest -m hypothesis --hypothesis-profile=thorough
for name, examples in (("trigemu", 30), ("thorough", 300)):
    settings.register_profile(
        name,
        deadline=None,
        max_examples=examples,
        suppress_health_check=list(HealthCheck),
        derandomize=bool(os.environ.get("CI")),
    )
settings.load_profile("trigemu")

# One folder of compiled kernels for all workers and for the programs that tests start.
os.environ.setdefault("NUMBA_CACHE_DIR", str(user_cache_path("trigemu-tests")))

# Tests start workers when they mean to, however slow the machine is at the moment.
mapping.START_S = math.inf

# A shell that starts the tests in the background has interruptions ignored, and programs inherit that: those
# that the tests start and interrupt would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Keep the thousands of collected tests out of searches for garbage, which took a sixth of the time.

    hypothesis runs once before: it looks for its own random generator among what is not frozen, and warns if
    it does not find it."""
    given(st.none())(lambda _: None)()
    gc.collect()
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    """Compile the kernels of ordinary runs once, before several workers would each compile them."""
    if not getattr(config.option, "numprocesses", None) or hasattr(config, "workerinput"):
        return
    made = Path(os.environ["NUMBA_CACHE_DIR"], "made")
    changed = max(file.stat().st_mtime for room in ("src", "plugins") for file in (ROOT / room).rglob("*.py"))
    if not made.exists() or made.stat().st_mtime < changed:
        for menu in ("full-decade", "two-level"):
            command = [sys.executable, "-m", "trigemu", "run", f"menus/{menu}.toml"]
            subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
        made.parent.mkdir(parents=True, exist_ok=True)
        made.touch()


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Class → a result of it."""
    from result_toys import results_in  # which loads numba, after the choice of its folder

    return results_in(tmp_path_factory.mktemp("views"))
