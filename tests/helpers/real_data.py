"""Files of experiments, which are not part of the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def real_file(*parts: str) -> Path:
    """A file in the folder that the environment names; without one the test is skipped."""
    folder = os.environ.get("TRIGEMU_TEST_DATA")
    if not folder:
        pytest.skip("TRIGEMU_TEST_DATA names no folder with files of experiments")
    return Path(folder, *parts)
