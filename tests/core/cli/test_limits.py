"""Environments in which the libraries would not load."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable

import pytest

from trigemu.cli.limits import NEEDED


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (NEEDED - 1, NEEDED - 1))


@pytest.mark.parametrize(
    ("threads", "before", "message"),
    [
        ("0", None, "NUMBA_NUM_THREADS=0: expected a number of threads from 1 on"),
        ("-3", None, "NUMBA_NUM_THREADS=-3: expected"),
        ("1", _limited, "the address space is limited to 850 MB"),
    ],
)
def test_a_message_comes_before_the_libraries(
    threads: str, before: Callable[[], None] | None, message: str
) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "trigemu", "run", "none.toml"],
        env=os.environ | {"NUMBA_NUM_THREADS": threads},
        preexec_fn=before,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"trigemu: {message}")
    assert ended.stderr.count("\n") == 1
