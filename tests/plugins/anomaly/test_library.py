"""Trees as machine code against XGBoost, and the cache of them."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import treelite
import xgboost
from decade_toys import train_quantile

from trigemu import TrigemuError
from trigemu.support import Limits
from trigemu_anomaly import library, machine_code

Compiler = Callable[..., Path]

SPECIAL = np.array([0, -0.0, 1e-45, -1e-45, 1e-40, -1e-39, 1.2e-38, 3.4e38, -3.4e38, -5, 1e10], np.float32)
CASES = [
    {"features": 1, "depth": 1, "trees": 1},
    {"features": 2, "depth": 4, "trees": 22},
    {"features": 4, "depth": 6, "trees": 30},
    {"features": 4, "depth": 2, "trees": 100, "learning_rate": 0.1},
    {"features": 2, "depth": 4, "trees": 5, "constant": True},
    {"features": 2, "depth": 3, "trees": 4, "scale": 1e-42},
]


def read(booster: xgboost.Booster) -> tuple[treelite.Model, bytes]:
    content = bytes(booster.save_raw("json"))
    return treelite.frontend.from_xgboost_json(content.decode()), content


def splits_of(booster: xgboost.Booster, feature: int) -> np.ndarray:
    learner = json.loads(booster.save_raw("json"))["learner"]
    result = []
    for tree in learner["gradient_booster"]["model"]["trees"]:
        columns = zip(tree["left_children"], tree["split_indices"], tree["split_conditions"], strict=True)
        result += [value for child, index, value in columns if child != -1 and index == feature]
    return np.float32(result)


def rows(booster: xgboost.Booster, n: int) -> np.ndarray:
    """Edges of the splits that XGBoost writes and the floats next to them, mixed with special values."""
    rng = np.random.default_rng(n)
    columns = []
    for feature in range(booster.num_features()):
        edges = splits_of(booster, feature)
        near = [np.nextafter(edges, np.float32(end)) for end in (-np.inf, np.inf)]
        columns.append(rng.choice(np.concatenate([edges, *near, SPECIAL]), n))
    return np.column_stack(columns)


@pytest.fixture(scope="module", params=CASES, ids=lambda case: "-".join(f"{v}" for v in case.values()))
def case(request: pytest.FixtureRequest) -> tuple[xgboost.Booster, treelite.Model, library.Library]:
    booster = train_quantile(**request.param)
    result = library.build(*read(booster))
    assert result is not None
    return booster, read(booster)[0], result


def test_it_gives_what_xgboost_gives(case: Any) -> None:
    """But for the rounding of sums of float32, which grows with the number of trees, in XGBoost too."""
    booster, model, result = case
    x = rows(booster, 100_000)
    expected = booster.inplace_predict(x)
    allowed = (1e-6 if booster.num_boosted_rounds() <= 30 else 5e-6) * np.maximum(1, abs(expected))
    assert result.predict(x).dtype == np.float32
    assert (abs(result.predict(x) - expected) <= allowed).all()
    assert (abs(library.interpret(model, x) - expected) <= allowed).all()


def test_leaves_are_those_of_xgboost(case: Any) -> None:
    """Also where sums of float32, in another order, differ: in float64 they cannot."""
    booster, _, result = case
    x = rows(booster, 20_000)
    learner = json.loads(booster.save_raw("json"))["learner"]
    base = np.float32(json.loads(learner["learner_model_param"]["base_score"])[0])
    trees = learner["gradient_booster"]["model"]["trees"]
    leaves = booster.predict(xgboost.DMatrix(x), pred_leaf=True).astype(int).reshape(len(x), -1)
    terms = [np.float32(t["split_conditions"])[leaves[:, i]].astype(float) for i, t in enumerate(trees)]
    exact = base + sum(terms)
    rounding = 2.0**-24 * (len(trees) + 1) * (abs(base) + sum(abs(t) for t in terms))
    assert (abs(result.predict(x) - exact) <= rounding).all()


def test_any_layout_of_the_rows_is_read(booster: xgboost.Booster) -> None:
    result = library.build(*read(booster))
    assert result is not None
    x = rows(booster, 1000)
    expected = result.predict(x)
    assert (result.predict(np.asfortranarray(x)) == expected).all()
    assert (result.predict(x.astype(np.float64)) == expected).all()  # type: ignore[arg-type]
    assert (result.predict(np.repeat(x, 2, axis=0)[::2]) == expected).all()
    assert [result.predict(x[i : i + 1])[0] for i in range(20)] == expected[:20].tolist()
    assert result.predict(x[:0]).shape == (0,)
    assert (result.by_row(np.asfortranarray(x)) == expected).all()


def test_nothing_next_to_the_rows_is_read(booster: xgboost.Booster) -> None:
    result = library.build(*read(booster))
    assert result is not None
    x = rows(booster, 1000)
    around = np.full((3, 1000, 2), np.nan, np.float32)
    around[1] = x
    assert (result.predict(around[1]) == result.predict(x)).all()
    for wrong in (x[:, :1], np.hstack([x, x]), x[:, 0]):
        with pytest.raises(ValueError, match="trees that read 2 features got an array"):
            result.predict(wrong)


def test_edges_are_the_splits_and_their_neighbours(booster: xgboost.Booster) -> None:
    model, _ = read(booster)
    x = library.edges(model, 20_000)
    for feature in range(2):
        splits = set(splits_of(booster, feature))
        near = {np.nextafter(s, np.float32(end)) for s in splits for end in (-np.inf, np.inf)}
        assert len(splits) > 3
        assert splits | near <= set(x[:, feature])


# ---- the cache


def kept(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def test_a_model_is_compiled_once(booster: xgboost.Booster, fresh_cache: Path, compiler: Compiler) -> None:
    log = compiler()
    first = library.build(*read(booster))
    (file,) = kept(fresh_cache)
    calls, changed = log.read_text(), file.stat().st_mtime_ns
    assert calls
    second = library.build(*read(booster))
    assert first is not None
    assert second is not None
    assert log.read_text() == calls
    assert kept(fresh_cache) == [file]
    assert file.stat().st_mtime_ns == changed
    x = rows(booster, 100)
    assert (first.predict(x) == second.predict(x)).all()
    assert fresh_cache.stat().st_mode & 0o777 == 0o700


def test_another_model_compiler_or_version_is_another_library(
    booster: xgboost.Booster, fresh_cache: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler()
    model, content = read(booster)
    library.build(model, content)
    library.build(model, content + b" ")
    compiler(version="toy 1.1")
    library.build(model, content)
    for module in (treelite, library.tl2cgen):
        monkeypatch.setattr(module, "__version__", "0.0")
        library.build(model, content)
    monkeypatch.setattr(library.platform, "machine", lambda: "another")
    library.build(model, content)
    assert len(kept(fresh_cache)) == 6


@pytest.mark.parametrize("damage", ["empty", "header", "half", "bit", "text"])
def test_a_damaged_library_is_made_anew(
    booster: xgboost.Booster, fresh_cache: Path, compiler: Compiler, damage: str
) -> None:
    log = compiler()
    library.build(*read(booster))
    (file,) = kept(fresh_cache)
    full = file.read_bytes()
    flipped = bytearray(full)
    flipped[len(full) // 2] ^= 1
    cut = {"empty": b"", "header": full[:64], "half": full[: len(full) // 2], "text": b"no library"}
    file.unlink()  # the one that is loaded stays as it is
    file.write_bytes(cut.get(damage, bytes(flipped)))
    calls = log.read_text()
    result = library.build(*read(booster))
    assert log.read_text() != calls
    (file,) = kept(fresh_cache)
    assert file.stat().st_size == len(full)
    x = rows(booster, 100)
    assert result is not None
    assert result.predict(x) == pytest.approx(booster.inplace_predict(x), abs=1e-6)


@pytest.mark.parametrize("how", ["other values", "written by others"])
def test_a_cached_library_is_checked_again(
    booster: xgboost.Booster, fresh_cache: Path, compiler: Compiler, how: str
) -> None:
    """Also where its name has the digest of what is in it."""
    log = compiler()
    model, content = read(booster)
    first = library.build(model, content)
    (file,) = kept(fresh_cache)
    if how == "written by others":
        file.chmod(0o770)
    else:
        library.build(*read(train_quantile(2, trees=2)))
        (result,) = set(kept(fresh_cache)) - {file}
        key, digest = (path.stem.rpartition("-")[end] for path, end in ((file, 0), (result, 2)))
        file.unlink()
        result.rename(fresh_cache / f"{key}-{digest}.so")
    calls = log.read_text()
    again = library.build(model, content)
    assert log.read_text() != calls
    assert first is not None
    assert again is not None
    x = rows(booster, 100)
    assert (again.predict(x) == first.predict(x)).all()
    (file,) = kept(fresh_cache)
    assert file.stat().st_mode & 0o777 == 0o755


def test_a_compiler_that_takes_too_long_or_too_much(
    booster: xgboost.Booster, fresh_cache: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "_LIMITS", Limits(1, 2**28))
    compiler("sleep 60")
    with pytest.raises(TrigemuError, match=r"cannot be compiled: toycc was stopped: it took more than 1 s"):
        library.build(*read(booster))
    compiler(f"exec {sys.executable} -c 'bytearray(2**29)'")
    with pytest.raises(TrigemuError, match=r"MemoryError \(within 1 s and 0.25 GiB of memory\)"):
        library.build(*read(booster))
    assert not kept(fresh_cache)


def test_no_shell_sees_the_name_of_the_compiler(
    booster: xgboost.Booster, fresh_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", f"gcc; touch {tmp_path}/seen")
    monkeypatch.setenv("SHELL", f"touch {tmp_path}/seen;")
    assert library.build(*read(booster))
    assert not (tmp_path / "seen").exists()


def test_a_compiler_that_fails(booster: xgboost.Booster, fresh_cache: Path, compiler: Compiler) -> None:
    compiler('echo "out of luck" >&2; exit 1')
    with pytest.raises(TrigemuError, match=r"toycc cannot compile the trees: .*out of luck"):
        library.build(*read(booster))
    assert not kept(fresh_cache)
    compiler()
    assert library.build(*read(booster))


@pytest.mark.parametrize(
    "wrong", ["s/ < / <= /", "s/+= \\([0-9]\\)/+= 1\\1/", "s/data\\[0\\].fv/data[1].fv/"]
)
def test_a_compiler_that_makes_something_else(
    booster: xgboost.Booster, fresh_cache: Path, compiler: Compiler, wrong: str
) -> None:
    compiler(f'sed -i "{wrong}" main.c; exec gcc "$@"')
    with pytest.raises(TrigemuError, match=r"the compiled trees differ by .*try another compiler"):
        library.build(*read(booster))
    assert not kept(fresh_cache)


def test_what_is_interrupted_leaves_nothing(
    booster: xgboost.Booster, fresh_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(library, "_checked", interrupt)  # when the library is there
    with pytest.raises(KeyboardInterrupt):
        library.build(*read(booster))
    assert not kept(fresh_cache)


@pytest.mark.slow
def test_two_processes_compile_at_once(booster: xgboost.Booster, fresh_cache: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    booster.save_model(model)
    np.save(tmp_path / "x.npy", rows(booster, 100))
    script = (
        "import sys, numpy as np\n"
        "from pathlib import Path\n"
        "from trigemu_anomaly import QUANTILE, compile_trees\n"
        "print('ready', flush=True); input()\n"
        f"trees = compile_trees(Path({str(model)!r}).read_bytes(), 2, QUANTILE)\n"
        f"print(trees.engine, trees.predict(np.load({str(tmp_path / 'x.npy')!r})).tolist())\n"
    )
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    both = [subprocess.Popen([sys.executable, "-c", script], **pipes) for _ in range(2)]
    for process in both:
        assert process.stdout.readline() == "ready\n"
    for process in both:
        process.stdin.write("\n")
        process.stdin.flush()
    messages = [process.communicate(timeout=60)[0] for process in both]
    assert messages[0] == messages[1]
    assert messages[0].startswith("compiled by treelite [")
    assert {file.suffix for file in kept(fresh_cache)} == {".so"}


def test_nothing_is_printed(
    booster: xgboost.Booster, fresh_cache: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert library.build(*read(booster))
    assert capfd.readouterr() == ("", "")


def test_without_a_compiler_there_is_no_library(booster: xgboost.Booster, no_compiler: None) -> None:
    assert library.build(*read(booster)) is None


def assert_compiled(booster: xgboost.Booster) -> None:
    result, x = library.build(*read(booster)), rows(booster, 100)
    assert result is not None
    assert result.predict(x) == pytest.approx(booster.inplace_predict(x), abs=1e-6)


def test_a_cache_that_cannot_be_written(
    booster: xgboost.Booster, fresh_cache: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trees are compiled for this process alone."""

    def refuse(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    log = compiler()
    monkeypatch.setattr(machine_code, "temporary_folder", refuse)
    assert_compiled(booster)
    assert kept(fresh_cache) == []
    calls = log.read_text()
    assert_compiled(booster)
    assert log.read_text() != calls


def test_a_cache_that_cannot_be_made(
    booster: xgboost.Booster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "trigemu").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert_compiled(booster)


def test_no_home_and_no_folder_for_temporary_files(
    booster: xgboost.Booster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> str:
        raise FileNotFoundError("No usable temporary directory found")

    for name in ("HOME", "XDG_CACHE_HOME", "TRIGEMU_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 5)
    assert_compiled(booster)
    monkeypatch.setattr(machine_code.tempfile, "_get_default_tempdir", refuse)
    monkeypatch.setattr(machine_code.tempfile, "tempdir", None)
    assert library.build(*read(booster)) is None


def test_a_library_of_the_administrator_needs_no_compiler(
    booster: xgboost.Booster,
    fresh_cache: Path,
    tmp_path: Path,
    compiler: Compiler,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRIGEMU_CACHE_DIR", str(tmp_path / "image"))
    compiler()
    assert library.build(*read(booster))
    (file,) = kept(tmp_path / "image")
    monkeypatch.setattr(machine_code, "compiler", lambda limits: None)
    assert library.build(*read(booster))
    file.chmod(0o777)
    assert library.build(*read(booster)) is None
    assert kept(tmp_path / "image") == []


def test_the_home_folder_is_the_default(
    booster: xgboost.Booster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRIGEMU_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert library.build(*read(booster))
    assert [file.suffix for file in kept(tmp_path / ".cache" / "trigemu")] == [".so"]
