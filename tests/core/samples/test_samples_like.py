from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
from toys import CATALOGUE, toy_events, write_root

from trigemu import Catalogue, catalogue_of, open_catalogue
from trigemu.api import SampleError
from trigemu.base.errors import UnreadableError, WrongTypeError
from trigemu.samples.memory import samples_of
from trigemu.samples.opening import embedded_catalogue


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("samples")
    for n, name in enumerate(("all", "more")):
        write_root(made / f"{name}.root", toy_events(n, 20 + n))
    (made / "catalogue.toml").write_text(CATALOGUE)
    return made


def heads(catalogue: Catalogue) -> list[Any]:
    return [(s.name, s.weighted, s.rate_hz, [f.path for f in s.sources]) for s in catalogue.samples]


def test_a_catalogue_in_every_form(folder: Path) -> None:
    catalogue = open_catalogue(folder / "catalogue.toml")
    assert samples_of(catalogue) is catalogue
    for given in (folder / "catalogue.toml", str(folder / "catalogue.toml"), folder, str(folder), [folder]):
        found = samples_of(given)
        assert heads(found) == heads(catalogue)
        assert (found.sha256, found.path) == (catalogue.sha256, catalogue.path)
    assert heads(open_catalogue(folder)) == heads(catalogue)


def test_nothing_stands_for_the_embedded_samples() -> None:
    assert samples_of(None).path == embedded_catalogue()


def test_event_files_one_or_several(folder: Path) -> None:
    one = samples_of(folder / "all.root")
    assert heads(one) == [("all", False, 40e6, [str(folder / "all.root")])]
    for given in (
        [folder / "all.root", str(folder / "more.root")],
        str(folder / "*.root"),
        folder / "*.root",
    ):
        both = samples_of(given)
        files = [str(folder / f"{name}.root") for name in ("all", "more")]
        assert heads(both) == [("all", False, 40e6, files)]
        assert both.samples[0].entries == 41
        assert both.samples[0].hz_per_weight == pytest.approx(40e6 / 41, rel=1e-15)
        assert (both.path, both.sha256) == (folder / "all.root", "")
    assert heads(catalogue_of([folder / "all.root"])) == heads(one)
    only = samples_of(folder / "al?.root")
    assert (only.path, only.sha256) == (one.path, one.sha256) == (folder / "all.root", "")


def test_paths_are_relative_to_the_current_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert heads(samples_of("all.root")) == heads(samples_of(folder / "all.root"))
    assert heads(samples_of("*.root")) == heads(samples_of(folder / "*.root"))
    assert heads(samples_of(".")) == heads(samples_of(folder))


def test_a_name_with_wildcards_may_be_that_of_a_file(folder: Path, tmp_path: Path) -> None:
    """Only a catalogue takes it for a pattern."""
    shutil.copy(folder / "all.root", tmp_path / "a1.root")
    with pytest.raises(UnreadableError, match="no file"):
        samples_of(tmp_path / "a[23].root")
    assert heads(samples_of(tmp_path / "a[12].root"))[0][3] == [str(tmp_path / "a1.root")]


def test_what_is_not_there(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for given in ("x.root", ["x.root"], [folder / "all.root", "x.root"]):
        with pytest.raises(SampleError, match=rf"event file x\.root in the current folder, {tmp_path}$"):
            samples_of(given)
    with pytest.raises(SampleError, match=rf"event file {tmp_path}/x\.toml$"):
        samples_of(tmp_path / "x.toml")
    with pytest.raises(SampleError, match=r"catalogue\.toml"):
        samples_of(tmp_path)
    with pytest.raises(UnreadableError, match=r"no file .*\*\.root"):
        samples_of("*.root")
    with pytest.raises(SampleError, match=r"'ftp:' is not a supported scheme"):
        samples_of("ftp://host/a.root")
    with pytest.raises(SampleError, match=r"catalogue\.toml: expected a single catalogue"):
        samples_of([folder / "catalogue.toml", folder / "all.root"])
    with pytest.raises(SampleError, match="name at least one"):
        catalogue_of([])


@pytest.mark.parametrize(
    "given",
    [5, True, Catalogue, {"jet": []}, [{"jet": []}], [], [5], np.ones(3), b"a.root", ak.Array([{"x": 1}])[0]],
)
def test_anything_else_is_refused(given: Any) -> None:
    with pytest.raises(
        WrongTypeError, match=r"the samples: got .*; expected a Catalogue, its path or folder"
    ):
        samples_of(given)


def test_a_catalogue_and_its_sample(folder: Path) -> None:
    catalogue = open_catalogue(folder)
    with pytest.raises(WrongTypeError, match=r"got a Sample; .*; give the Catalogue that it is in"):
        samples_of(catalogue.samples[0])
    for wrong in (catalogue, [folder], 5):
        with pytest.raises(WrongTypeError, match=r"the catalogue: got"):
            open_catalogue(wrong)  # type: ignore[arg-type]
    for wrong in (catalogue, 5, [5]):
        with pytest.raises(WrongTypeError, match="the event files: got"):
            catalogue_of(wrong)  # type: ignore[arg-type]
