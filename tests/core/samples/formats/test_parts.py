from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from threading import Barrier
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot
from hypothesis import given, strategies as st

from trigemu.samples.events import ReadEvents
from trigemu.samples.formats import parts, root, source as contract
from trigemu.samples.formats.nanoaod import NanoAOD
from trigemu.samples.formats.parts import cached_bytes, decoded_once, pieces

N = 1000
NEEDS = [("jet", "pt"), ("jet", "eta"), ("", "met")]


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    parts._parts.clear()  # of other tests
    yield
    parts._parts.clear()


@given(
    inner=st.sets(st.integers(1, 999), max_size=30),
    most=st.integers(20, 2000),
    cut=st.tuples(st.integers(0, N), st.integers(0, N)),
)
def test_pieces_cover_a_range(inner: set[int], most: int, cut: tuple[int, int]) -> None:
    edges, (start, stop) = [0, *sorted(inner), N], sorted(cut)
    found = list(pieces(edges, start, stop, most))
    covered = [entry for first, last, _ in found for entry in range(max(first, start), min(last, stop))]
    assert covered == list(range(start, stop))
    for first, last, cached in found:
        assert cached or start <= first <= last <= stop
        assert last - first <= most or not cached


def test_small_parts_are_not_kept_and_large_ones_are_kept_in_windows() -> None:
    def of(edges: Sequence[int], start: int, stop: int, most: int = N) -> list[tuple[int, int, bool]]:
        return list(pieces(edges, start, stop, most))

    assert of([0, 100, 200, 300], 100, 200) == [(100, 200, False)]
    assert of(range(0, 310, 10), 95, 195) == [(95, 195, False)]
    assert of([0, 1000], 100, 200) == [(0, 1000, True)]
    assert of([0, 90, 210, 1000], 80, 300) == [(0, 90, True), (90, 210, False), (210, 1000, True)]
    assert of([0, 1000], 380, 420, 400) == [(0, 400, True), (400, 800, True)]


Calls = Counter[str]


def _events(first: int, last: int) -> ReadEvents:
    weight = np.arange(first, last, dtype=np.float64)
    return ReadEvents(weight, weight, weight, {}, {})


def _read(key: str, start: int, stop: int, calls: Calls) -> list[int]:
    def decode(first: int, last: int) -> ReadEvents:
        calls[key] += 1
        return _events(first, last)

    return decoded_once(key, 0, 100, slice(start, stop), decode).weight.tolist()  # type: ignore[no-any-return]


def test_a_part_is_dropped_when_all_of_it_was_read() -> None:
    calls = Calls()
    for start in (50, 0, 75):
        assert _read("a", start, start + 25, calls) == [*range(start, start + 25)]
        assert cached_bytes() == 800
    _read("a", 25, 50, calls)
    assert cached_bytes() == 0
    assert calls == {"a": 1}


def test_what_does_not_fit_is_decoded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of the oldest."""
    monkeypatch.setattr(parts, "CACHED_BYTES", 2000)
    calls = Calls()
    for key in "abab":
        _read(key, 0, 10, calls)
        assert cached_bytes() <= 1600
    _read("c", 0, 10, calls)
    _read("b", 20, 30, calls)
    assert calls == {"a": 1, "b": 1, "c": 1}
    _read("a", 20, 30, calls)
    assert calls == {"a": 2, "b": 1, "c": 1}


def test_threads_share_the_work_and_an_error_reaches_all_and_is_forgotten() -> None:
    together = Barrier(2, timeout=30)
    calls = Counter[str]()

    def read(columns: str) -> None:
        for column in columns:
            decoded_once(column, 0, 100, slice(0, 50), partial(decode, column))

    def decode(column: str, first: int, last: int) -> ReadEvents:
        calls[column] += 1
        together.wait()  # passes only where two threads decode at once
        if calls.total() <= 2:
            raise OSError(column)
        return _events(first, last)

    with ThreadPoolExecutor(2) as pool:
        errors = [future.exception() for future in [pool.submit(read, c) for c in ("a", "b")]]
        assert [str(error) for error in errors] == ["a", "b"]
        assert [future.exception() for future in [pool.submit(read, c) for c in ("ab", "ba")]] == [None, None]
    assert calls == {"a": 2, "b": 2}
    assert cached_bytes() == 0


def _columns() -> dict[str, Any]:
    random = np.random.default_rng(1)
    counts = random.integers(0, 4, N)
    jet = {name: ak.unflatten(random.random(counts.sum()).astype("f4"), counts) for name in ("pt", "eta")}
    return {"Jet": ak.zip({"pt": -np.sort(-jet["pt"]), "eta": jet["eta"]}), "MET_pt": random.random(N)}


def _tree(path: Path, columns: dict[str, Any], step: int) -> None:
    with uproot.recreate(path, compression=uproot.ZSTD(1)) as file:
        names = {"counter_name": lambda n: f"n{n}", "field_name": lambda a, b: f"{a}_{b}"}
        file.mktree("Events", {"Jet": columns["Jet"].type.content, "MET_pt": "f8"}, **names)
        for start in range(0, N, step):
            file["Events"].extend({name: c[start : start + step] for name, c in columns.items()})


def _rntuple(path: Path, columns: dict[str, Any], step: int) -> None:
    jet = columns["Jet"]
    flat = {"nJet": ak.to_numpy(ak.num(jet)).astype("i4"), "Jet_pt": jet.pt, "Jet_eta": jet.eta}
    flat["MET_pt"] = columns["MET_pt"]
    with uproot.recreate(path, compression=uproot.ZSTD(1)) as file:
        ntuple = file.mkrntuple("Events", {name: c[:step] for name, c in flat.items()})
        for start in range(step, N, step):
            ntuple.extend({name: c[start : start + step] for name, c in flat.items()})


@pytest.mark.parametrize("write", [_tree, _rntuple])
@pytest.mark.parametrize("step", [N, 100])
@pytest.mark.parametrize("ahead", [1, 3])
def test_a_pass_decompresses_each_block_once(
    write: Any, step: int, ahead: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And returns what was written. uproot calls a hook before each block that it decompresses."""
    columns, path = _columns(), tmp_path / "a.root"
    write(path, columns, step)
    source = NanoAOD(str(path))
    assert source.schema.scalars  # the header and the descriptions of columns are decompressed
    blocks: Counter[int] = Counter()

    def counted(*, cursor: Any, **_: Any) -> None:
        blocks[cursor.index] += 1

    monkeypatch.setattr(uproot.compression.decompress, "hook_before_block", counted)
    edges = [0, *(stop for at in range(0, N, step) for stop in range(at + 100, at + step + 1, 100)), N]
    ranges = [(a, b) for a, b in pairwise(edges) if a < b <= N]
    with ThreadPoolExecutor(ahead) as pool:
        read = list(pool.map(lambda r: source.columns(*r, NEEDS), ranges))
    for (start, stop), part in zip(ranges, read, strict=True):
        np.testing.assert_array_equal(part.scalars["met"], columns["MET_pt"][start:stop])
        for name in ("pt", "eta"):
            wanted = ak.to_numpy(ak.flatten(columns["Jet"][name][start:stop]))
            np.testing.assert_array_equal(part.collections["jet"].columns[name], wanted)
    assert blocks
    assert set(blocks.values()) == {1}
    assert cached_bytes() == 0


@pytest.mark.parametrize("write", [_tree, _rntuple])
def test_parts_too_large_to_keep_are_read_in_windows(
    write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(root, "CHUNK_EVENTS", 70)
    monkeypatch.setattr(contract, "WINDOW_BYTES", 1)
    columns, path = _columns(), tmp_path / "a"
    write(path, columns, N)
    source = NanoAOD(str(path))
    for start in (0, 50, 300, 350, 940):
        part = source.columns(start, start + 50, NEEDS)
        np.testing.assert_array_equal(part.scalars["met"], columns["MET_pt"][start : start + 50])
        for name in ("pt", "eta"):
            wanted = ak.to_numpy(ak.flatten(columns["Jet"][name][start : start + 50]))
            np.testing.assert_array_equal(part.collections["jet"].columns[name], wanted)
        assert 0 < cached_bytes() < 15_000
