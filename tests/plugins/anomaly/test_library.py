"""Trees as machine code: rows, compilers that fail, and the cache; test_boosted.py compares scores."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import treelite
import xgboost
from decade_toys import train_quantile
from trigemu_anomaly import children, library, library as machine_code

from trigemu import TrigemuError

Compiler = Callable[..., Path]


def read(booster: xgboost.Booster) -> tuple[treelite.Model, bytes]:
    content = bytes(booster.save_raw("json"))
    return treelite.frontend.from_xgboost_json(content.decode()), content


@pytest.fixture(scope="module")
def small() -> xgboost.Booster:
    """Trees that are compiled in no time."""
    return train_quantile(2, trees=3)


def test_any_layout_of_the_rows_is_read_and_nothing_beside_them(small: xgboost.Booster) -> None:
    model, content = read(small)
    result = library.build(model, content)
    assert result is not None
    x = library.edges(model, 1000)
    expected = result.predict(x)
    assert (result.predict(np.asfortranarray(x)) == expected).all()
    assert (result.predict(x.astype(np.float64)) == expected).all()  # type: ignore[arg-type]
    assert (result.predict(np.repeat(x, 2, axis=0)[::2]) == expected).all()
    assert (result.by_row(np.asfortranarray(x)) == expected).all()
    for wrong in (x[:, :1], np.hstack([x, x]), x[:, 0]):
        with pytest.raises(ValueError, match="trees that read 2 features got an array"):
            result.predict(wrong)


# ---- the cache


def kept(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def assert_built(booster: xgboost.Booster) -> None:
    model, content = read(booster)
    result, x = library.build(model, content), library.edges(model, 100)
    assert result is not None
    assert result.predict(x) == pytest.approx(booster.inplace_predict(x), abs=1e-6)


def test_a_model_is_compiled_once(
    small: xgboost.Booster, fresh_cache: Path, compiler: Compiler, capfd: pytest.CaptureFixture[str]
) -> None:
    """And without a word of tl2cgen."""
    log = compiler()
    assert_built(small)
    (file,) = kept(fresh_cache)
    calls, changed = log.read_text(), file.stat().st_mtime_ns
    assert calls
    assert_built(small)
    assert log.read_text() == calls
    assert kept(fresh_cache) == [file]
    assert file.stat().st_mtime_ns == changed
    assert fresh_cache.stat().st_mode & 0o777 == 0o700
    assert capfd.readouterr() == ("", "")


def test_another_model_compiler_or_version_is_another_library(
    small: xgboost.Booster, fresh_cache: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler()
    model, content = read(small)
    library.build(model, content)
    library.build(model, content + b" ")
    compiler(version="toy 1.1")
    library.build(model, content)
    for module in (treelite, library.tl2cgen):
        monkeypatch.setattr(module, "__version__", "0.0")
        library.build(model, content)
    assert len(kept(fresh_cache)) == 5


@pytest.mark.parametrize("damage", ["half", "bit", "written by others"])
def test_a_damaged_library_is_made_anew(
    small: xgboost.Booster, fresh_cache: Path, compiler: Compiler, damage: str
) -> None:
    log = compiler()
    library.build(*read(small))
    (file,) = kept(fresh_cache)
    full = file.read_bytes()
    if damage == "written by others":
        file.chmod(0o770)
    else:
        flipped = bytearray(full)
        flipped[len(full) // 2] ^= 1
        file.unlink()  # the one that is loaded stays as it is
        file.write_bytes(full[: len(full) // 2] if damage == "half" else bytes(flipped))
    calls = log.read_text()
    assert_built(small)
    assert log.read_text() != calls
    (file,) = kept(fresh_cache)
    assert (file.stat().st_size, file.stat().st_mode & 0o777) == (len(full), 0o755)


def test_no_shell_sees_the_name_of_the_compiler(
    small: xgboost.Booster, fresh_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", f"gcc; touch {tmp_path}/seen")
    monkeypatch.setenv("SHELL", f"touch {tmp_path}/seen;")
    assert library.build(*read(small))
    assert not (tmp_path / "seen").exists()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ('echo "out of luck" >&2; exit 1', "toycc cannot compile the trees: .*out of luck"),
        ("sleep 60", "toycc was stopped: it took more than 1 s"),
        ('sed -i "s/ < / <= /" main.c; exec gcc "$@"', "the compiled trees differ by"),
        ('sed -i "s/data\\[0\\].fv/data[1].fv/" main.c; exec gcc "$@"', "the compiled trees differ by"),
    ],
    ids=["fails", "takes too long", "compares otherwise", "reads another input"],
)
def test_a_compiler_that_fails(
    small: xgboost.Booster,
    fresh_cache: Path,
    compiler: Compiler,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    message: str,
) -> None:
    monkeypatch.setattr(library, "_LIMITS", children.Limits(1, library._LIMITS.memory))
    compiler(command)
    with pytest.raises(TrigemuError, match=message):
        library.build(*read(small))
    assert not kept(fresh_cache)


def test_what_is_interrupted_leaves_nothing(
    small: xgboost.Booster, fresh_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(library, "_checked", interrupt)  # when the library is there
    with pytest.raises(KeyboardInterrupt):
        library.build(*read(small))
    assert not kept(fresh_cache)


def test_without_a_cache_trees_are_compiled_for_this_process_alone(
    small: xgboost.Booster, fresh_cache: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    log = compiler()
    monkeypatch.setattr(machine_code, "temporary_folder", refuse)
    assert_built(small)
    assert kept(fresh_cache) == []
    calls = log.read_text()
    assert_built(small)
    assert log.read_text() != calls


def test_no_home_and_no_folder_for_temporary_files(
    small: xgboost.Booster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> str:
        raise FileNotFoundError("No usable temporary directory found")

    for name in ("HOME", "XDG_CACHE_HOME", "TRIGEMU_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 5)
    assert_built(small)
    monkeypatch.setattr(machine_code.tempfile, "_get_default_tempdir", refuse)
    monkeypatch.setattr(machine_code.tempfile, "tempdir", None)
    assert library.build(*read(small)) is None


def test_a_library_of_the_administrator_needs_no_compiler(
    small: xgboost.Booster,
    fresh_cache: Path,
    tmp_path: Path,
    compiler: Compiler,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRIGEMU_CACHE_DIR", str(tmp_path / "image"))
    compiler()
    assert library.build(*read(small))
    (file,) = kept(tmp_path / "image")
    monkeypatch.setattr(machine_code, "compiler", lambda limits: None)
    assert library.build(*read(small))
    file.chmod(0o777)
    assert library.build(*read(small)) is None
    assert kept(tmp_path / "image") == []
