"""The cache of kernels: who reads it, who can have written it, and what makes it stale."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trigemu.support import kernel_cache
from trigemu.support.kernel_cache import levels

KERNEL = """
from trigemu.support import KEPT, kernel


@kernel
def successor(x):
    return x + 1.0


assert successor(2.0) == 3.0
print(KEPT.loaded, len(KEPT.compiled), len(KEPT.unkept))
"""
FOR_OTHERS = "from trigemu.support import compile_for_others\ncompile_for_others()\n"
LOADED, COMPILED, UNKEPT = "1 0 0", "0 1 0", "0 1 1"


def run(source: Path, text: str = KERNEL, **variables: object) -> str:
    """What it prints with these variables; without any, nothing can be kept but beside the source."""
    source.write_text(text)
    kept = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "TRIGEMU_CACHE_DIR")}
    given = {"XDG_CACHE_HOME": "/dev/null/none"} | {k: str(v) for k, v in variables.items()}
    done = subprocess.run(
        [sys.executable, source], env=kept | given, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def test_a_kernel_is_kept_where_the_variable_says(tmp_path: Path) -> None:
    """And found for the same source elsewhere, whatever its time, as in the layers of a container."""
    folder = tmp_path / "a" / "cache"
    assert run(tmp_path / "made.py", TRIGEMU_CACHE_DIR=folder) == COMPILED
    (file,) = (folder / "kernels").iterdir()
    assert [path.stat().st_mode & 0o777 for path in (folder, file.parent, file)] == [0o755, 0o755, 0o644]
    (tmp_path / "moved").mkdir()
    assert run(tmp_path / "moved" / "made.py", TRIGEMU_CACHE_DIR=folder) == LOADED
    os.utime(tmp_path / "moved" / "made.py", (0, 0))
    assert run(tmp_path / "moved" / "made.py", KERNEL + "# 2\n", TRIGEMU_CACHE_DIR=folder) == COMPILED


def test_without_the_variable_it_is_kept_beside_the_source(tmp_path: Path) -> None:
    """Where what was compiled of an older source makes room."""
    assert run(tmp_path / "made.py") == COMPILED
    assert run(tmp_path / "made.py") == LOADED
    assert run(tmp_path / "made.py", KERNEL + "# 2\n") == COMPILED
    assert len(list((tmp_path / "__pycache__").glob("*.kernel"))) == 1


def test_what_cannot_be_kept_there_goes_to_the_own_folder_or_nowhere(tmp_path: Path) -> None:
    (tmp_path / "__pycache__").touch()  # not a folder
    assert run(tmp_path / "made.py") == UNKEPT
    assert run(tmp_path / "made.py", XDG_CACHE_HOME=tmp_path / "own") == COMPILED
    assert run(tmp_path / "made.py", XDG_CACHE_HOME=tmp_path / "own") == LOADED
    assert (tmp_path / "own" / "trigemu").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o757])
def test_a_folder_that_others_can_write_to_is_not_used(tmp_path: Path, mode: int) -> None:
    given = {"TRIGEMU_CACHE_DIR": tmp_path / "cache"}
    assert run(tmp_path / "made.py", **given) == COMPILED
    (tmp_path / "cache" / "kernels").chmod(mode)
    assert run(tmp_path / "made.py", **given) == UNKEPT
    (tmp_path / "cache" / "kernels").chmod(0o755)
    (file,) = (tmp_path / "cache" / "kernels").iterdir()
    file.chmod(0o666)
    assert run(tmp_path / "made.py", **given) == COMPILED
    assert run(tmp_path / "made.py", **given) == LOADED


def test_what_is_damaged_is_made_again(tmp_path: Path) -> None:
    given = {"TRIGEMU_CACHE_DIR": tmp_path / "cache"}
    run(tmp_path / "made.py", **given)
    (file,) = (tmp_path / "cache" / "kernels").iterdir()
    content = file.read_bytes()
    for damaged in (b"", content[:40], content[:500] + bytes([content[500] ^ 1]) + content[501:]):
        file.write_bytes(damaged)
        assert run(tmp_path / "made.py", **given) == COMPILED
    assert run(tmp_path / "made.py", **given) == LOADED


def test_code_for_a_level_serves_its_processors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"TRIGEMU_CACHE_DIR": tmp_path / "cache"}
    assert run(tmp_path / "made.py", FOR_OTHERS + KERNEL, **given) == COMPILED
    assert run(tmp_path / "made.py", FOR_OTHERS + KERNEL, **given) == LOADED
    other = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx2"}
    assert run(tmp_path / "made.py", FOR_OTHERS + KERNEL, **given, **other) == LOADED


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
