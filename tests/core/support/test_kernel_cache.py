"""The cache of kernels: who reads it, who can have written it, and what makes it stale."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
from numba import typeof

from trigemu.support import KERNEL_STATISTICS, cache, kernel, kernel_cache, kernels, levels

SOURCE = """
def successor(x):
    return x + 1.0
"""
LOADED, COMPILED, UNKEPT = (1, 0, 0), (0, 1, 0), (0, 1, 1)
FOR_OTHERS = """
from trigemu.support import compile_for_others
compile_for_others()
from trigemu.support import KERNEL_STATISTICS
from trigemu.observables import delta_phi
delta_phi(1.0, 2.0)
print(KERNEL_STATISTICS.loaded, len(KERNEL_STATISTICS.compiled))
"""

THAT_ALLOCATES = """
import sys
import numpy as np
from trigemu.samples.events import objects_of
from trigemu.support import KERNEL_STATISTICS
offsets, rows = objects_of(np.array([0, 2, 2, 5]), np.array([2, 0]))
print(offsets, rows, KERNEL_STATISTICS.loaded, "numba.np.arraymath" in sys.modules)
"""


def use(file: Path, text: str = SOURCE) -> tuple[int, int, int]:
    """Call a kernel as a new process would, and return how many were loaded, compiled and not kept."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    names: dict[str, Any] = {"__name__": "made"}
    exec(compile(text, str(file), "exec"), names)
    kernels._digest_of_file.cache_clear()
    before = KERNEL_STATISTICS.loaded, len(KERNEL_STATISTICS.compiled), len(KERNEL_STATISTICS.not_stored)
    assert kernel(names["successor"])(2.0) == 3.0
    after = KERNEL_STATISTICS.loaded, len(KERNEL_STATISTICS.compiled), len(KERNEL_STATISTICS.not_stored)
    return tuple(b - a for a, b in zip(before, after, strict=True))  # type: ignore[return-value]


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder but that beside the source."""
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/none")
    for name in ("NUMBA_CACHE_DIR", "TRIGEMU_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the variable."""
    monkeypatch.setenv("TRIGEMU_CACHE_DIR", str(tmp_path / "a" / "cache"))
    return tmp_path / "a" / "cache"


def test_a_kernel_is_kept_where_the_variable_says(tmp_path: Path, given: Path) -> None:
    """And found for the same source elsewhere, whatever its time, as in the layers of a container."""
    assert use(tmp_path / "made.py") == COMPILED
    (file,) = (given / "kernels").iterdir()
    assert [path.stat().st_mode & 0o777 for path in (given, file.parent, file)] == [0o755, 0o755, 0o644]
    assert use(tmp_path / "made.py") == LOADED
    assert use(tmp_path / "moved" / "made.py") == LOADED
    assert use(tmp_path / "made.py", SOURCE + "# 2\n") == COMPILED


def test_without_the_variable_it_is_kept_beside_the_source(tmp_path: Path) -> None:
    """Where what was compiled of an older source makes room."""
    assert use(tmp_path / "made.py") == COMPILED
    assert use(tmp_path / "made.py") == LOADED
    assert use(tmp_path / "made.py", SOURCE + "# 2\n") == COMPILED
    assert len(list((tmp_path / "__pycache__").glob("*.kernel"))) == 1


def test_what_cannot_be_kept_there_goes_to_the_own_folder_or_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "__pycache__").touch()  # not a folder
    assert use(tmp_path / "made.py") == UNKEPT
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))
    assert use(tmp_path / "made.py") == COMPILED
    assert use(tmp_path / "made.py") == LOADED
    assert (tmp_path / "own" / "trigemu").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o757])
def test_what_others_can_write_to_is_not_used(tmp_path: Path, given: Path, mode: int) -> None:
    assert use(tmp_path / "made.py") == COMPILED
    (given / "kernels").chmod(mode)
    assert use(tmp_path / "made.py") == UNKEPT
    (given / "kernels").chmod(0o755)
    (file,) = (given / "kernels").iterdir()
    file.chmod(mode)
    assert use(tmp_path / "made.py") == COMPILED
    assert use(tmp_path / "made.py") == LOADED


def test_what_somebody_else_wrote_is_not_loaded(
    tmp_path: Path, given: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert use(tmp_path / "made.py") == COMPILED
    owner = os.getuid()
    monkeypatch.setattr(cache.os, "geteuid", lambda: owner + 1)
    assert use(tmp_path / "made.py") == LOADED  # it belongs to who owns the installation
    monkeypatch.setattr(cache, "_installer", lambda: owner + 2)
    assert use(tmp_path / "made.py")[0] == (0 if owner else 1)


def test_what_is_damaged_is_made_again(tmp_path: Path, given: Path) -> None:
    use(tmp_path / "made.py")
    (file,) = (given / "kernels").iterdir()
    content = file.read_bytes()
    for damaged in (b"", content[:40], content[:500] + bytes([content[500] ^ 1]) + content[501:]):
        file.write_bytes(damaged)
        assert use(tmp_path / "made.py") == COMPILED
    assert use(tmp_path / "made.py") == LOADED


def test_code_for_a_level_serves_its_processors(given: Path) -> None:
    """Compiled for this one's level, loaded where another is compiled for."""

    def run(text: str, **variables: str) -> list[str]:
        command = [sys.executable, "-c", text]
        made = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=True)
        return made.stdout.split()

    assert run(FOR_OTHERS) == ["0", "1"]
    plain = FOR_OTHERS.replace("compile_for_others()\n", "")
    assert run(plain, NUMBA_CPU_NAME="haswell", NUMBA_CPU_FEATURES="+avx2") == ["1", "0"]


def test_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of processors with and without AVX2, and of another architecture."""
    needed = {name: True for names in kernel_cache.LEVELS.values() for name in names}
    for features, triple, expected in (
        (needed, "x86_64-unknown-linux-gnu", ("x86-64-v3", "x86-64")),
        (needed | {"avx2": False}, "x86_64-unknown-linux-gnu", ("x86-64",)),
        ({"neon": True}, "aarch64-unknown-linux-gnu", ("generic",)),
    ):
        monkeypatch.setattr(kernel_cache.binding, "get_host_cpu_features", lambda made=features: made)
        monkeypatch.setattr(kernel_cache.binding, "get_process_triple", lambda made=triple: made)
        assert levels.__wrapped__() == expected


def test_a_kernel_is_loaded_without_what_compiles(given: Path) -> None:
    """Also one that allocates memory."""
    command = (sys.executable, "-c", THAT_ALLOCATES)
    first, second = (subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2))
    assert first.stdout == "[0 3 5] [2 3 4 0 1] 0 True\n"
    assert second.stdout == "[0 3 5] [2 3 4 0 1] 1 False\n"


def test_the_fields_of_named_tuples_are_part_of_a_signature() -> None:
    """numba's text of a signature leaves them out."""
    one, other = (namedtuple("Pair", names) for names in ("a b", "b a"))
    plain = [(typeof(of(1.0, 2.0)),) for of in (one, other)]
    inside = [(typeof((one(1.0, 2.0), 3)[0]), typeof(one(of(1.0, 2.0), 2.0))) for of in (one, other)]
    for first, second in (plain, inside):
        assert repr(first) == repr(second)
        assert kernel_cache._text(first) != kernel_cache._text(second)
    assert kernel_cache._text(plain[0]) == kernel_cache._text((typeof(one(3.0, 4.0)),))
    assert kernel_cache._text((typeof(1.0),)) == repr((typeof(1.0),))


def test_those_of_one_that_a_kernel_makes_are_part_of_its_digest() -> None:
    def digest(names: str) -> str:
        of: dict[str, Any] = {"Pair": namedtuple("Pair", names)}
        exec("def made(x):\n    return Pair(x, 2 * x)", of)
        return kernels._digest(of["made"])

    assert digest("a b") != digest("b a")
    assert digest("a b") == digest("a b")


def test_kernels_of_an_installed_package_are_read_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "trigemu_kernels"
    monkeypatch.setenv("TRIGEMU_CACHE_DIR", str(tmp_path / "made"))
    assert use(tmp_path / "source" / "made.py") == COMPILED
    package.parent.mkdir()
    (tmp_path / "made" / "kernels").rename(package)
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(package.parent))
    kernel_cache.installed.cache_clear()
    before = sorted(package.iterdir())
    assert use(tmp_path / "source" / "made.py") == LOADED
    assert use(tmp_path / "source" / "made.py", SOURCE.replace("1.0", "1.0 * x / x")) == COMPILED
    assert sorted(package.iterdir()) == before
    monkeypatch.undo()
    kernel_cache.installed.cache_clear()
