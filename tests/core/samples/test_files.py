"""Files: what is learned of them, wherever they are opened; opened again where they are read; ranges with
neighbouring crossings."""

from __future__ import annotations

import hashlib
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, strategies as st
from servers import Ranges, serving
from toys import CATALOGUE, columns, memory_catalogue, toy_events, write_root

from trigemu import Events, make_events, open_catalogue, worker_pool
from trigemu.api import SampleError
from trigemu.base.errors import UnreadableError
from trigemu.base.mapping import Engine
from trigemu.samples import locations, opening
from trigemu.samples.sample import join_events
from trigemu.samples.source import OPEN_FILES, File, opened_source


def file_of(path: object, folder: Path, engine: Engine | None = None) -> File:
    (folder / "one.toml").write_text(CATALOGUE.replace("all.root", str(path)))
    (file,) = open_catalogue(folder / "one.toml", executor=engine).samples[0].sources
    assert isinstance(file, File)
    return file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_root(tmp_path / "a.root", toy_events(1, 50), basket=20, sum_of_weights=123.0)
    return tmp_path / "a.root"


def test_what_is_learned_of_a_file(file: Path) -> None:
    found = file_of(file, file.parent)
    assert (found.entries, found.boundaries, found.sum_of_weights) == (50, (0, 20, 40, 50), 123.0)
    assert found.schema.collections["jet"] >= {"pt", "eta", "phi"}
    (one,) = open_catalogue(file).samples[0].sources
    assert isinstance(one, File)
    assert one.sum_of_weights is None


def test_a_file_is_identified_without_reading_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until somebody asks for its digest, which is computed once."""
    (file.parent / "catalogue.toml").write_text(CATALOGUE.replace("all.root", "a.root"))
    read: list[str] = []
    monkeypatch.setattr(
        "trigemu.samples.sample.digest_of", lambda path: read.append(path) or locations.digest_of(path)
    )
    before = open_catalogue(file.parent / "catalogue.toml").samples[0]
    assert (before.sources[0].sha256, read) == (None, [])
    for _ in range(2):
        assert replace(before).digests == (hashlib.sha256(file.read_bytes()).hexdigest(),)
    assert read == [str(file)]
    write_root(file, toy_events(2, 50), basket=20, sum_of_weights=123.0)
    after = open_catalogue(file.parent / "catalogue.toml").samples[0]
    assert after.sources[0].identity != before.sources[0].identity
    assert after.digests == (hashlib.sha256(file.read_bytes()).hexdigest(),) != before.digests


class _Lost:
    """Workers that are lost before they answer."""

    def submit(self, function: object, /, *arguments: object) -> Future[object]:
        future: Future[object] = Future()
        future.set_exception(OSError("lost"))
        return future


def test_files_of_lost_workers_are_opened_here(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "OPEN_FILES", 0)
    assert file_of(file, file.parent, Engine(_Lost())).entries == 50


def test_every_engine_finds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "OPEN_FILES", 5)
    for n in range(7):
        write_root(tmp_path / f"{n}.root", toy_events(n, 20 + n), basket=8)
    path = tmp_path / "catalogue.toml"
    path.write_text(CATALOGUE.replace("all.root", "*.root"))
    with ThreadPoolExecutor(3) as threads, worker_pool(1) as process:
        opened = [open_catalogue(path, executor=e) for e in (None, Engine(threads), process)]
    samples = [c.samples[0] for c in opened]
    for found in samples:
        assert found.hz_per_weight == samples[0].hz_per_weight
        assert found.sources == samples[0].sources
        assert found.schema == samples[0].schema


class _Failing(Ranges):
    """Answers with an error a few times first."""

    left = 0

    def send_head(self) -> Any:
        if type(self).left > 0:
            type(self).left -= 1
            self.send_error(503)
            return None
        return super().send_head()

    def do_GET(self) -> None:  # noqa: N802
        (Ranges.do_GET if type(self).left == 0 else SimpleHTTPRequestHandler.do_GET)(self)


def test_a_server_that_fails_is_asked_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "PAUSE_S", 0.01)
    handler = type("Handler", (_Failing,), {})

    with serving(partial(handler, directory=str(file.parent))) as url:
        path = file.parent / "catalogue.toml"
        path.write_text(CATALOGUE.replace("all.root", f"{url}/a.root"))
        handler.left = 2  # type: ignore[attr-defined]
        assert open_catalogue(path).samples[0].entries == 50
        handler.left = 2  # type: ignore[attr-defined]
        opened_source.cache_clear()
        with pytest.raises(Exception, match="503"):
            open_catalogue(path, executor=Engine(retries=0))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for n in range(2):
        write_root(tmp_path / f"{n:02d}.root", toy_events(n, 10), basket=4)
    (tmp_path / "catalogue.toml").write_text(
        '[catalogue]\nname = "toy"\nconvention = "crossing"\n'
        '[[sample]]\nname = "a"\nrole = "background"\nrate_hz = 4e7\nfiles = ["*.root"]\n'
    )
    return tmp_path


def test_a_process_keeps_few_files_open(folder: Path) -> None:
    """Of more than that; with other bytes after their end, they are no copies."""
    content = (folder / "00.root").read_bytes()
    for n in range(2, OPEN_FILES + 5):
        (folder / f"{n:02d}.root").write_bytes(content + bytes([n]))
    opened_source.cache_clear()
    sample = open_catalogue(folder / "catalogue.toml").samples[0]
    for number in range(len(sample.sources)):
        assert len(sample.read(number, 0, 10, [("jet", "pt")])) == 10
    assert opened_source.cache_info().currsize == OPEN_FILES


def test_a_file_that_became_another_one_is_noticed(folder: Path) -> None:
    sample = open_catalogue(folder / "catalogue.toml").samples[0]
    opened_source.cache_clear()
    write_root(folder / "00.root", toy_events(0, 12))
    with pytest.raises(UnreadableError, match=r"00\.root: has 12 events, and had 10 when"):
        sample.read(0, 0, 10, [])


def test_events_that_do_not_exist(folder: Path) -> None:
    sample = open_catalogue(folder / "catalogue.toml").samples[0]
    assert len(sample.read(0, 10, 10, [])) == 0
    wrong: list[tuple[Any, Any, Any, str]] = [
        (0, 0, 11, r"sample 'a': .*00\.root has entries from 0 to 10, not 0 to 11"),
        (0, 10, 12, "has entries from 0 to 10, not 10 to 12"),
        (0, -3, 2, "has entries from 0 to 10, not -3 to 2"),
        (0, 5, 2, "has entries from 0 to 10, not 5 to 2"),
        (0, 0, 1.5, r"has entries from 0 to 10, not 0 to 1\.5"),
        (99, 0, 1, r"sample 'a' has files 0 to \d+, not 99"),
        ("x", 0, 1, r"sample 'a' has files 0 to \d+, not 'x'"),
    ]
    for file, start, stop, message in wrong:
        with pytest.raises(SampleError, match=message):
            sample.read(file, start, stop, [])


EVENTS = toy_events(8, 30)


def read(start: int, stop: int) -> Events:
    read = columns(EVENTS[start:stop], start)
    return make_events("toy", read.weight, read.collections, read.scalars, id=read.id, first=start)


@given(
    st.sampled_from(["none", "line", "orbit"]),
    st.integers(1, 30),
    st.integers(0, 29),
    st.integers(1, 30),
    st.integers(0, 3),
)
def test_as_in_a_list(
    neighbours: Literal["none", "line", "orbit"], entries: int, start: int, length: int, margin: int
) -> None:
    start = min(start, entries - 1)
    stop = min(entries, start + length)
    (sample,) = memory_catalogue({"a": EVENTS[:entries]}).samples
    sample.sources[0].neighbours = neighbours  # type: ignore[misc]
    events = sample.read(0, start, stop, [("", "met")], margin)
    assert events.id[events.core].tolist() == list(range(start, stop))
    wanted = range(start - margin, stop + margin)
    expected = {
        "none": list(range(start, stop)),
        "line": [row for row in wanted if 0 <= row < entries],
        "orbit": [row % entries for row in wanted],
    }
    assert events.id.tolist() == expected[neighbours]


@given(st.lists(st.tuples(st.integers(0, 29), st.integers(0, 6)), min_size=1, max_size=4))
def test_joined_events_are_those_of_the_parts(ranges: list[tuple[int, int]]) -> None:
    """Of views too, whose objects begin in the middle of their columns."""
    whole = read(0, 30)
    parts = [whole[first : first + length] for first, length in ranges]
    rows = [row for first, length in ranges for row in range(first, min(30, first + length))]
    made = join_events(parts, slice(1, 2))
    assert made.core == slice(1, 2)
    expected = whole.take(np.array(rows, np.int64))
    for name in ("weight", "id", "parent"):
        np.testing.assert_array_equal(getattr(made, name), getattr(expected, name))
    np.testing.assert_array_equal(made.scalars["met"], expected.scalars["met"])
    for name, collection in expected.collections.items():
        found = made.collections[name]
        for row in range(len(rows)):
            mine = slice(*found.offsets[row : row + 2])
            theirs = slice(*collection.offsets[row : row + 2])
            for column in collection.columns:
                np.testing.assert_array_equal(found.columns[column][mine], collection.columns[column][theirs])
