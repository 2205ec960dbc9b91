"""Files in the layout of the challenge, against loops over their events."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toys import menu_from, threshold
from trigemu_formats.challenge import Challenge

import trigemu
from trigemu import TrigemuError, catalogue_of
from trigemu.api import SampleError
from trigemu.base.mapping import Engine

h5py = pytest.importorskip("h5py")
N = 300
PLACES = {"electron": range(1, 5), "muon": range(5, 9), "jet": range(9, 19)}
NEEDS = [(name, column) for name in PLACES for column in ("pt", "eta", "phi")] + [
    ("", "met"),
    ("", "met_phi"),
]


def challenge_events(seed: int, n: int = N) -> Any:
    """float64[n, 19, 4], places without an object filled with zeros; those of a kind in falling pT."""
    rng = np.random.default_rng(seed)
    particles = np.zeros((n, 19, 4))
    for event in particles:
        event[0] = rng.exponential(20), 0, rng.uniform(-3, 3), 1
        for class_, places in enumerate(PLACES.values(), 2):
            count = rng.integers(0, len(places) + 1)
            pt = np.sort(rng.exponential(30, count))[::-1]
            for place, value in zip(places, pt, strict=False):
                event[place] = value, rng.uniform(-3, 3), rng.uniform(-3, 3), class_
    return particles


def write_challenge(path: Path, particles: Any, rows: int | None = 64, **further: Any) -> None:
    with h5py.File(path, "w") as file:
        chunks = (rows, *particles.shape[1:]) if rows else None
        file.create_dataset("Particles", data=particles, chunks=chunks, compression="gzip" if rows else None)
        for name, values in further.items():
            file[name] = values


@pytest.mark.parametrize(("start", "stop"), [(0, N), (0, 1), (63, 65), (N, N)])
def test_objects_are_the_places_that_are_not_empty(tmp_path: Path, start: int, stop: int) -> None:
    particles = challenge_events(1)
    write_challenge(tmp_path / "a.h5", particles)
    read = Challenge(str(tmp_path / "a.h5")).read(start, stop, NEEDS)
    for name, places in PLACES.items():
        for column, at in (("pt", 0), ("eta", 1), ("phi", 2)):
            expected = [[e[p][at] for p in places if e[p][0]] for e in particles[start:stop]]
            assert read.collections[name].columns[column].tolist() == [
                v for values in expected for v in values
            ]
            assert np.diff(read.collections[name].offsets).tolist() == [len(values) for values in expected]
    assert read.scalars["met"].tolist() == [e[0][0] for e in particles[start:stop]]
    assert read.scalars["met_phi"].tolist() == [e[0][2] for e in particles[start:stop]]
    assert read.id.tolist() == list(range(start, stop))
    assert read.weight.tolist() == [1] * (stop - start)


def test_events_have_their_own_numbers_where_the_file_has_them(tmp_path: Path) -> None:
    numbers = np.arange(N)[::-1]
    write_challenge(tmp_path / "a.h5", challenge_events(1), EvtId=numbers)
    assert Challenge(str(tmp_path / "a.h5")).read(3, 9, []).id.tolist() == numbers[3:9].tolist()


@pytest.mark.parametrize(("rows", "boundaries"), [(128, (0, 128, 256, 300)), (None, (0, 300))])
def test_boundaries_are_those_of_what_is_compressed_together(
    tmp_path: Path, rows: Any, boundaries: Any
) -> None:
    write_challenge(tmp_path / "a.h5", challenge_events(1), rows)
    source = Challenge(str(tmp_path / "a.h5"))
    assert source.boundaries == boundaries
    assert source.entries == pickle.loads(pickle.dumps(source)).entries == N


def test_a_menu_runs_over_one_file_in_any_chunks(tmp_path: Path) -> None:
    particles = challenge_events(1)
    write_challenge(tmp_path / "a.h5", particles)
    menu = menu_from(tmp_path, threshold("M", "muon[1].pt", 20.0) + threshold("E", "met", 40.0))
    catalogue = catalogue_of(tmp_path / "a.h5")
    expected = [int((particles[:, 6, 0] > 20).sum()), int((particles[:, 0, 0] > 40).sum())]
    for chunk in (50, N):
        result = trigemu.rates_of(trigemu.emulate([menu], catalogue, executor=Engine(chunk_events=chunk)))
        assert [t.total.events for t in result.triggers] == expected


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((5, 18, 4), r"has the shape \(5, 18, 4\), expected \(events, 19, 4\)"),
        (None, "no dataset 'Particles'"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, shape: Any, message: str) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x" if shape is None else "Particles"] = np.zeros(shape or 3)
    with pytest.raises(SampleError, match=message):
        catalogue_of(tmp_path / "a.h5")


def _elsewhere(file: h5py.File, other: Path) -> None:
    file.create_dataset("Particles", SHAPE, "f4", external=[(str(other), 0, h5py.h5f.UNLIMITED)])


def _linked(file: h5py.File, other: Path) -> None:
    file["Particles"] = h5py.ExternalLink(str(other), "/Particles")


def _linked_twice(file: h5py.File, other: Path) -> None:
    file["x"] = h5py.ExternalLink(str(other), "/Particles")
    file["Particles"] = h5py.SoftLink("/x")


def _virtual(file: h5py.File, other: Path) -> None:
    layout = h5py.VirtualLayout(SHAPE, "f4")
    layout[...] = h5py.VirtualSource(str(other), "Particles", SHAPE)
    file.create_virtual_dataset("Particles", layout)


def _identities(file: h5py.File, other: Path) -> None:
    file["Particles"] = np.ones(SHAPE, "f4")
    file["EvtId"] = h5py.ExternalLink(str(other), "/EvtId")


def _filtered(file: h5py.File, other: Path) -> None:
    """With a filter of Blosc, whose library would be searched for."""
    storage = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    storage.set_chunk(SHAPE)
    storage.set_filter(32001, h5py.h5z.FLAG_OPTIONAL, (1,))
    h5py.h5d.create(file.id, b"Particles", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple(SHAPE), storage)


SHAPE = (20, 19, 4)
#: How a file may lead to others, or to more than it holds → what the message says.
STRANGE: dict[str, tuple[Callable[[h5py.File, Path], object], str]] = {
    "external storage": (_elsewhere, "Particles is stored in other files"),
    "external link": (_linked, "Particles is a link"),
    "soft link": (_linked_twice, "Particles is a link"),
    "virtual": (_virtual, "Particles is stored in other files"),
    "EvtId": (_identities, "EvtId is a link"),
    "filter": (_filtered, r"HDF5 filters \[32001\]"),
    "text": (
        lambda file, _: file.create_dataset("Particles", SHAPE, h5py.string_dtype()),
        "not a dataset of n",
    ),
    "group": (lambda file, _: file.create_group("Particles"), "not a dataset of numbers"),
}


@pytest.mark.parametrize("name", STRANGE)
def test_only_numbers_in_the_file_itself_are_read(tmp_path: Path, name: str) -> None:
    write, message = STRANGE[name]
    other = tmp_path / "other.h5"
    with h5py.File(other, "w") as file:
        file["Particles"], file["EvtId"] = np.ones(SHAPE, "f4"), np.arange(20)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        write(file, other)
    with pytest.raises(TrigemuError, match=message):
        Challenge(str(tmp_path / "a.h5")).read(0, 20, [("jet", "pt")])
