"""Kernels: compiled anew when what they are made of changes, and kept where the user says."""

from __future__ import annotations

import subprocess
import sys
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
from numba import typeof
from numba.core import entrypoints
from numba.core.compiler_lock import global_compiler_lock

from trigemu.base import kernels
from trigemu.base.kernels import kernel

FIRST = """
from trigemu.base.kernels import kernel
from generator import plus
FACTOR = {factor}
@kernel
def inner(x):
    return plus(x) + below()
@kernel
def below():
    return {term}
"""
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
    """From one process to the next, its own file being the same. An intrinsic writes LLVM code."""

    def run(factor: float, term: float, generated: float = 0.0) -> tuple[float, int]:
        (tmp_path / "first.py").write_text(FIRST.format(factor=factor, term=term))
        (tmp_path / "generator.py").write_text(GENERATOR.format(term=generated))
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
    assert run(3.0, 4.0, 1.0) == (21.0, 0)


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


SOURCE = """
def successor(x):
    return x + 1.0
"""
THAT_ALLOCATES = """
import sys
import numpy as np
from trigemu.samples.source import _falling
print(_falling(np.array([0, 2, 3]), np.array([1.0, 2.0, 3.0])), "numba.np.arraymath" in sys.modules)
"""


def is_loaded(file: Path, text: str = SOURCE) -> bool:
    """Call a kernel as a new process would, and return whether it was not compiled."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    names: dict[str, Any] = {"__name__": "made"}
    exec(compile(text, str(file), "exec"), names)
    kernels._digest_of_file.cache_clear()
    successor: Any = kernel(names["successor"])
    assert successor(2.0) == 3.0
    return sum(successor.stats.cache_hits.values()) == 1


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the variable."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "a" / "cache"))
    return tmp_path / "a" / "cache" / "trigemu"


def test_a_kernel_is_kept_where_the_variable_says(tmp_path: Path, folder: Path) -> None:
    """And found for the same source elsewhere, whatever its time, as in the layers of a container."""
    assert not is_loaded(tmp_path / "made.py")
    (file,) = folder.iterdir()
    assert [path.stat().st_mode & 0o022 for path in (folder, file)] == [0, 0]
    assert is_loaded(tmp_path / "made.py")
    assert is_loaded(tmp_path / "moved" / "made.py")
    assert not is_loaded(tmp_path / "made.py", SOURCE + "# 2\n")


def test_without_the_variable_or_a_writable_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is kept in the cache folder, or compiled each time."""
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    for cache, kept in ((str(tmp_path / "own"), True), ("/dev/null/none", False)):
        monkeypatch.setenv("XDG_CACHE_HOME", cache)
        assert [is_loaded(tmp_path / "made.py") for _ in range(2)] == [False, kept]
    assert len(list((tmp_path / "own" / "trigemu" / "kernels").iterdir())) == 1


def test_what_is_damaged_is_made_again(tmp_path: Path, folder: Path) -> None:
    is_loaded(tmp_path / "made.py")
    (file,) = folder.iterdir()
    content = file.read_bytes()
    for damaged in (b"", content[:40], content[:500] + bytes([content[500] ^ 1]) + content[501:]):
        file.write_bytes(damaged)
        assert not is_loaded(tmp_path / "made.py")
    assert is_loaded(tmp_path / "made.py")


def test_a_kernel_is_loaded_without_what_compiles(folder: Path) -> None:
    """Also one that allocates memory."""
    command = (sys.executable, "-c", THAT_ALLOCATES)
    first, second = (subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2))
    assert first.stdout == "[1 0 2] True\n"
    assert second.stdout == "[1 0 2] False\n"


def test_the_fields_of_named_tuples_are_part_of_a_signature() -> None:
    """numba's text of a signature leaves them out."""
    one, other = (namedtuple("Pair", names) for names in ("a b", "b a"))
    plain = [(typeof(of(1.0, 2.0)),) for of in (one, other)]
    inside = [(typeof((one(1.0, 2.0), 3)[0]), typeof(one(of(1.0, 2.0), 2.0))) for of in (one, other)]
    for first, second in (plain, inside):
        assert repr(first) == repr(second)
        assert kernels._text(first) != kernels._text(second)
    assert kernels._text(plain[0]) == kernels._text((typeof(one(3.0, 4.0)),))
    assert kernels._text((typeof(1.0),)) == repr((typeof(1.0),))


def test_those_of_one_that_a_kernel_makes_are_part_of_its_digest() -> None:
    def digest(names: str) -> str:
        of: dict[str, Any] = {"Pair": namedtuple("Pair", names)}
        exec("def made(x):\n    return Pair(x, 2 * x)", of)
        return kernels._digest(of["made"])

    assert digest("a b") != digest("b a")
    assert digest("a b") == digest("a b")
