from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from threading import Barrier
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot
from hypothesis import given, strategies as st

from trigemu.samples.files import opened_source
from trigemu.samples.formats import decoded, root
from trigemu.samples.formats.decoded import Decoded, Part, Piece, cached_bytes, pieces
from trigemu.samples.formats.nanoaod import NanoAOD

N = 1000
NEEDS = [("jet", "pt"), ("jet", "eta"), ("", "met")]


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    opened_source.cache_clear()  # files of other tests
    gc.collect()
    assert cached_bytes() == 0
    yield
    gc.collect()
    assert cached_bytes() == 0


@given(
    inner=st.sets(st.integers(1, 999), max_size=30),
    most=st.integers(20, 2000),
    cut=st.tuples(st.integers(0, N), st.integers(0, N)),
)
def test_pieces_cover_a_range(inner: set[int], most: int, cut: tuple[int, int]) -> None:
    edges, (start, stop) = [0, *sorted(inner), N], sorted(cut)
    found = pieces(edges, start, stop, lambda: most)
    covered = [entry for p in found for entry in range(max(p.first, start), min(p.last, stop))]
    assert covered == list(range(start, stop))
    for piece in found:
        assert piece.cached or start <= piece.first <= piece.last <= stop
        assert piece.last - piece.first <= most or not piece.cached


def test_small_parts_are_not_kept_and_large_ones_are_kept_in_windows() -> None:
    assert pieces([0, 100, 200, 300], 100, 200, lambda: N) == [Piece(100, 200, False)]
    assert pieces(range(0, 310, 10), 95, 195, lambda: N) == [Piece(95, 195, False)]
    assert pieces([0, 1000], 100, 200, lambda: N) == [Piece(0, 1000, True)]
    assert pieces([0, 90, 210, 1000], 80, 300, lambda: N) == [
        Piece(0, 90, True),
        Piece(90, 210, False),
        Piece(210, 1000, True),
    ]
    assert pieces([0, 1000], 380, 420, lambda: 400) == [Piece(0, 400, True), Piece(400, 800, True)]


class _Bytes:
    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes


def test_a_part_is_dropped_when_all_of_it_was_read() -> None:
    file, part = Decoded[_Bytes](), Part("a", 0, 100)
    calls: list[Part] = []

    def decode(part: Part) -> _Bytes:
        calls.append(part)
        return _Bytes(1000)

    for start in (50, 0, 75):
        file.read([part], start, start + 25, decode)
        assert cached_bytes() == 1000
    file.read([part], 25, 50, decode)
    assert cached_bytes() == 0
    assert calls == [part]


def test_what_does_not_fit_is_decoded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room comes from other files and what lies elsewhere, never from what is being read."""
    monkeypatch.setattr(decoded, "CACHED_BYTES", 250)
    calls: Counter[Any] = Counter()

    def decode(part: Part) -> _Bytes:
        calls[part.column] += 1
        return _Bytes(100)

    other, file = Decoded[_Bytes](), Decoded[_Bytes]()
    other.read([Part("other", 0, 100)], 0, 10, decode)
    file.read([Part("elsewhere", 0, 100)], 0, 10, decode)
    here = [Part(column, 100, 200) for column in "abc"]
    for start in (100, 110, 120):
        file.read(here, start, start + 10, decode)
        assert cached_bytes() == 200
    assert calls == {"other": 1, "elsewhere": 1, "a": 1, "b": 1, "c": 3}
    del file
    other.read([Part("other", 0, 100)], 10, 20, decode)
    assert calls["other"] == 2


def test_threads_share_the_work_and_an_error_reaches_all_and_is_forgotten() -> None:
    file, together = Decoded[_Bytes](), Barrier(2, timeout=30)
    parts = [Part("a", 0, 100), Part("b", 0, 100)]
    calls: Counter[Any] = Counter()

    def decode(part: Part) -> _Bytes:
        calls[part.column] += 1
        together.wait()  # passes only where two threads decode at once
        if calls.total() <= 2:
            raise OSError(part.column)
        return _Bytes(1)

    with ThreadPoolExecutor(2) as pool:
        for _ in range(2):
            reading = [pool.submit(file.read, parts[::step], 0, 50, decode) for step in (1, -1)]
            errors = [future.exception() for future in reading]
        assert errors == [None, None]
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
        read = list(pool.map(lambda r: source.read(*r, NEEDS), ranges))
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
    monkeypatch.setattr(root, "WINDOW_BYTES", 1)
    columns, path = _columns(), tmp_path / "a"
    write(path, columns, N)
    source = NanoAOD(str(path))
    for start in (0, 50, 300, 350, 940):
        part = source.read(start, start + 50, NEEDS)
        np.testing.assert_array_equal(part.scalars["met"], columns["MET_pt"][start : start + 50])
        for name in ("pt", "eta"):
            wanted = ak.to_numpy(ak.flatten(columns["Jet"][name][start : start + 50]))
            np.testing.assert_array_equal(part.collections["jet"].columns[name], wanted)
        assert 0 < cached_bytes() < 15_000
