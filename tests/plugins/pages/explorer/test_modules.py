"""The modules of the page in node: their own tests, and numbers written as the command line writes them."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from trigemu.api import numbers

NODE = shutil.which("node")
HERE = Path(__file__).parent / "page"
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed (Debian: nodejs)")


def node(*arguments: object, given: str = "") -> subprocess.CompletedProcess[str]:
    command = [str(NODE), *map(str, arguments)]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=False, cwd=HERE)


def test_tests_of_modules_pass() -> None:
    result = node("--test", HERE / "state.test.js")
    assert result.returncode == 0, result.stdout
    assert "# pass 0" not in result.stdout


def test_numbers_are_written_as_in_the_terminal() -> None:
    rng = random.Random(1)
    inputs = [
        (rng.choice([1, 2.25, 9.9949, 0.125, 1e3]) * 10.0 ** rng.randint(-4, 8), 0.0) for _ in range(200)
    ]
    inputs += [(hz * rng.random(), hz * 10 ** rng.uniform(-4, 1)) for hz, _ in inputs for _ in range(10)]
    inputs += [(99.5, 9.95), (0.0, 0.0), (1e6, 5e4), (999.5, 0.0)]
    result = json.loads(node(HERE / "format.mjs", given=json.dumps(inputs)).stdout)
    assert result == [
        [numbers.in_unit(*pair), numbers.with_error(*pair), numbers.short(pair[0])] for pair in inputs
    ]
