"""What is compiled is never older than what it is compiled from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from numba.core import entrypoints
from numba.core.compiler_lock import global_compiler_lock

from trigemu.base.kernels import kernel

FIRST = """
from trigemu.base.kernels import kernel
FACTOR = {factor}
@kernel
def inner(x):
    return x + below()
@kernel
def below():
    return {term}
"""
MIDDLE = """
from trigemu.base.kernels import kernel
import first
@kernel
def middle(x):
    return first.inner(x)
"""
LAST = """
from trigemu.base.kernels import kernel
import first
from first import FACTOR
from middle import middle
@kernel
def outer(x):
    return middle(x) * FACTOR + first.FACTOR
print(outer(1.0), sum(outer.stats.cache_hits.values()))
"""


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shared folder of the tests has the kernels of an earlier run."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))


def test_a_kernel_is_compiled_anew_when_what_it_calls_changes(tmp_path: Path, own_cache: None) -> None:
    """From one process to the next, its own file being the same."""

    def run(factor: float, term: float) -> tuple[float, int]:
        (tmp_path / "first.py").write_text(FIRST.format(factor=factor, term=term))
        (tmp_path / "middle.py").write_text(MIDDLE)
        (tmp_path / "last.py").write_text(LAST)
        made = subprocess.run(
            [sys.executable, "last.py"], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        value, hits = made.stdout.split()
        return float(value), int(hits)

    assert run(2.0, 3.0) == (10.0, 0)
    assert run(2.0, 3.0) == (10.0, 1)
    assert run(2.0, 4.0) == (12.0, 0)
    assert run(3.0, 4.0) == (18.0, 0)


GENERATOR = """
from numba import types
from numba.extending import intrinsic
@intrinsic
def plus(typing, x):
    def generate(context, builder, signature, arguments):
        from llvmlite import ir
        return builder.fadd(arguments[0], ir.Constant(ir.DoubleType(), {term}))
    return types.float64(types.float64), generate
"""
CALLER = """
from trigemu.base.kernels import kernel
from generator import plus
@kernel
def outer(x):
    return plus(x)
print(outer(1.0), sum(outer.stats.cache_hits.values()))
"""


def test_a_kernel_is_compiled_anew_when_generated_code_changes(tmp_path: Path, own_cache: None) -> None:
    """An intrinsic of another file writes LLVM code."""
    (tmp_path / "caller.py").write_text(CALLER)
    results = []
    for term in (2.0, 2.0, 5.0):
        (tmp_path / "generator.py").write_text(GENERATOR.format(term=term))
        command = [sys.executable, "caller.py"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        results.append(tuple(map(float, done.stdout.split())))
    assert results == [(3.0, 0), (3.0, 1), (6.0, 0)]


def test_extensions_of_numba_are_loaded_under_its_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise what another thread compiles fails at times: in one of 13 cold runs, with a KeyError."""
    locked: list[bool] = []
    monkeypatch.setattr(entrypoints, "init_all", lambda: locked.append(global_compiler_lock.is_locked()))

    @kernel
    def negative(value: float) -> float:
        return -value

    assert negative(1.0) == -1.0
    assert locked
    assert all(locked)
