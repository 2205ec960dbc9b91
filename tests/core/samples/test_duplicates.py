"""The same events twice: by the file, and by run, section and number."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot
from toys import menu_from, write_tree

import trigemu
from trigemu import open_catalogue
from trigemu.base.errors import SampleError
from trigemu.samples import catalogue as catalogues, opening

N = 1000
MENU = '[[trigger]]\nname = "T"\nkind = "stored"\ndecision = "HLT_T"\n'


def write(path: Path, numbers: Any, run: int = 362000, seed: int = 1, weight: bool = False) -> None:
    """Events with these numbers in sections of 100; a tenth fires."""
    numbers = np.asarray(numbers, np.uint64)
    columns: dict[str, Any] = {
        "run": np.full(len(numbers), run, np.uint32),
        "luminosityBlock": (numbers // 100).astype(np.uint32),
        "event": numbers,
        "MET_pt": np.random.default_rng(seed).exponential(20, len(numbers)).astype("f4"),
        "HLT_T": numbers % 10 == 0,
    }
    if weight:
        columns["genWeight"] = np.ones(len(numbers), "f4")
    write_tree(path, columns, runs=[len(numbers)] if weight else None)


def catalogue(folder: Path, **samples: tuple[str, list[str]]) -> Path:
    """Samples by name: role and files."""
    text = '[catalogue]\nname = "c"\nconvention = "crossing"\n'
    for name, (role, files) in samples.items():
        rate = "rate_hz = 20e6\n" if role == "background" else ""
        text += f'[[sample]]\nname = "{name}"\nrole = "{role}"\nfiles = {files}\n{rate}'
    (folder / "c.toml").write_text(text)
    return folder / "c.toml"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "a.root", range(N))
    (tmp_path / "soft.root").symlink_to("a.root")
    os.link(tmp_path / "a.root", tmp_path / "hard.root")
    shutil.copy(tmp_path / "a.root", tmp_path / "copy.root")
    return tmp_path


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["a.root", "a.root"], "a.root is listed twice"),
        (["a*.root", "a.root"], "a.root is listed twice"),
        (["a.root", "../{0}/a.root"], "has the same content as"),
        (["a.root", "soft.root"], "soft.root has the same content as .*a.root"),
        (["a.root", "hard.root"], "hard.root has the same content as .*a.root"),
        (["a.root", "copy.root"], "copy.root has the same content as .*a.root"),
    ],
)
def test_a_file_twice_in_a_sample_is_refused(folder: Path, files: list[str], message: str) -> None:
    """In a catalogue, of any role, and in a list."""
    files = [file.format(folder.name) for file in files]
    for role in ("background", "signal"):
        with pytest.raises(SampleError, match=f"{message}.*: its events would count twice, name it once"):
            open_catalogue(catalogue(folder, one=(role, files)))
    with pytest.raises(SampleError, match=message):
        trigemu.run(menu_from(folder, MENU), [str(folder / file) for file in files])


def test_a_file_in_two_samples(folder: Path) -> None:
    """A signal is in no rate: it may be part of the background, and two may share events."""
    both = catalogue(folder, one=("background", ["a.root"]), two=("background", ["soft.root"]))
    with pytest.raises(
        SampleError, match=r"sample 'two': .*soft.root has .* in the sample 'one' of the backgr"
    ):
        open_catalogue(both)
    listed = catalogue(
        folder, one=("background", ["a.root"]), s=("signal", ["a.root"]), t=("signal", ["copy.root"])
    )
    assert open_catalogue(listed).repeated == ()


def test_trees_of_one_file_are_different_events(folder: Path) -> None:
    with uproot.update(folder / "a.root") as file:
        file.mktree("Other", {"MET_pt": "f4"})
        file["Other"].extend({"MET_pt": np.ones(N, "f4")})
    text = catalogue(folder, one=("background", ["a.root"]), two=("background", ["a.root"])).read_text()
    head, one, two = text.split("[[sample]]")
    (folder / "c.toml").write_text(f'{head}[[sample]]{one}tree = "Events"\n[[sample]]{two}tree = "Other"\n')
    assert len(open_catalogue(folder / "c.toml").samples) == 2


@pytest.mark.parametrize("numbers", [range(N), range(N - 1, N + 50), [*range(N, N + 50), 17]], ids=len)
@pytest.mark.parametrize("apart", [False, True])
def test_recorded_events_are_known_by_their_numbers(folder: Path, numbers: Any, apart: bool) -> None:
    """In another file that has some of them, whatever else it has; in one sample or in two."""
    write(folder / "b.root", numbers, seed=2)
    samples = {"one": ["a.root"], "two": ["b.root"]} if apart else {"one": ["a.root", "b.root"]}
    path = catalogue(folder, **{name: ("background", files) for name, files in samples.items()})
    (warning,) = open_catalogue(path).repeated
    same = sorted({*range(N)} & {*numbers})
    entry = list(numbers).index(same[0])
    assert warning.startswith(f"{len(same)} events of {' and '.join(map(repr, samples))} are there twice")
    assert (
        f"the first, 362000, {same[0] // 100}, {same[0]}, is entry {same[0]} of {folder}/a.root " in warning
    )
    assert f"and entry {entry} of {folder}/b.root; errors are too small" in warning
    assert warning in trigemu.run(menu_from(folder, MENU), path).warnings


def test_events_twice_in_one_file(folder: Path) -> None:
    write(folder / "b.root", [5, 6, 7, 6])
    (warning,) = open_catalogue(folder / "b.root").repeated
    assert warning.startswith("1 events of 'b' are there twice")
    assert f"362000, 0, 6, is entry 1 of {folder}/b.root and entry 3 of {folder}/b.root" in warning


@pytest.mark.parametrize(("run", "weight"), [(1, False), (362000, True)])
def test_simulated_events_are_the_same_if_their_objects_are(folder: Path, run: int, weight: bool) -> None:
    """Files that were generated one by one have the same numbers."""
    write(folder / "x.root", range(N), run, 1, weight)
    write(folder / "y.root", range(N), run, 2, weight)
    write(folder / "z.root", range(N + 1), run, 1, weight)
    assert open_catalogue(catalogue(folder, one=("background", ["x.root", "y.root"]))).repeated == ()
    apart = catalogue(folder, one=("background", ["x.root"]), two=("background", ["z.root"]))
    assert open_catalogue(apart).repeated == ()
    x, z = (np.random.default_rng(1).exponential(20, n).astype("f4") for n in (N, N + 1))
    assert (x == z[:N]).all()
    (warning,) = open_catalogue(catalogue(folder, one=("background", ["x.root", "z.root"]))).repeated
    assert warning.startswith(f"{N} events of 'one' are there twice")


def test_of_many_events_a_part_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same part of each file, so that the events of a file are found in another."""
    monkeypatch.setattr(opening, "MOST_HASHES", 400)
    monkeypatch.setattr(opening, "LEAST_HASHES", 200)
    monkeypatch.setattr(catalogues, "STEP", 90)
    write(folder / "b.root", range(-0, 3 * N), seed=3)
    (warning,) = open_catalogue(catalogue(folder, one=("background", ["a.root", "b.root"]))).repeated
    found = int(warning.split()[1])
    assert warning.startswith("about ")
    assert abs(found - N) < 5 * N / np.sqrt(200 / 3)


def test_files_without_numbers_are_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tree(folder / "p.root", {"event": np.zeros(5, "u8"), "MET_pt": np.ones(5, "f4")})
    monkeypatch.setattr(catalogues, "splitmix64", lambda *of: pytest.fail("it was read"))
    assert open_catalogue(folder / "p.root").repeated == ()
