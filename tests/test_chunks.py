"""Samples in chunks, on one process and on several."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from toys import Memory, Seen, even_events, memory_catalogue, menu_from, toy_events

from trigemu import Catalogue, TrigemuError, make_plan
from trigemu.chunks import Chunk, Job, chunks_of, over_background

MENU = '[[trigger]]\nname = "J"\nkind = "threshold"\nobservable = "jet[0].pt"\nabove = 20\n'


def job(folder: Path, catalogue: Catalogue, text: str = MENU, **more: Any) -> Job:
    menus = (menu_from(folder, text),)
    return Job(menus, make_plan(menus), catalogue, **more)


@pytest.mark.parametrize("events", [1, 49, 50, 51, 120, 1000])
def test_chunks_cover_each_event_once_and_begin_where_baskets_do(events: int) -> None:
    catalogue = memory_catalogue({"a": toy_events(1, 330)})
    chunks = list(chunks_of(catalogue.samples[0], events))
    assert [c.start for c in chunks] == [0, *(c.stop for c in chunks[:-1])]
    assert chunks[-1].stop == 330
    assert all(c.stop - c.start <= events for c in chunks)
    if events >= 50:
        assert all(c.start % 50 == 0 for c in chunks)


def test_a_task_sees_each_background_event_once_in_order(tmp_path: Path) -> None:
    events = {"a": even_events(1, 70), "b": even_events(2, 30)}
    done = list(over_background(job(tmp_path, memory_catalogue(events)), Seen(1.0), chunk_events=20))
    assert [chunk for chunk, _ in done] == [
        *(Chunk(0, 0, start, min(start + 20, stop)) for start, stop in ((0, 50), (20, 50), (40, 50))),
        Chunk(0, 0, 50, 70),
        Chunk(1, 0, 0, 20),
        Chunk(1, 0, 20, 30),
    ]
    for chunk, (sample, numbers, met) in done:
        assert sample == chunk.sample
        assert numbers == list(range(chunk.start, chunk.stop))
        part = events["ab"[sample]][chunk.start : chunk.stop]
        assert met == pytest.approx(sum(e["met"] for e in part))


def test_workers_give_the_same_in_the_same_order(tmp_path: Path) -> None:
    """And a task takes along what it needs to know."""
    work = job(tmp_path, memory_catalogue({"a": even_events(1, 90)}))
    alone = list(over_background(work, Seen(2.0), chunk_events=20))
    assert list(over_background(work, Seen(2.0), workers=2, chunk_events=20)) == alone


def test_what_a_task_reads_besides_is_read_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[set[tuple[str, str]]] = []
    plain = Memory.read

    def recording(self: Memory, start: int, stop: int, needs: Iterable[tuple[str, str]]) -> Any:
        read.append(set(needs))
        return plain(self, start, stop, needs)

    monkeypatch.setattr(Memory, "read", recording)
    catalogue = memory_catalogue({"a": even_events(1, 10)})
    list(over_background(job(tmp_path, catalogue), Seen(1.0)))
    list(over_background(job(tmp_path, catalogue, further=frozenset({("", "met")})), Seen(1.0)))
    assert read == [{("jet", "pt")}, {("jet", "pt"), ("", "met")}]


def test_a_worker_that_is_ended_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trigemu.chunks._perform_in_worker", _end_this_process)
    work = job(tmp_path, memory_catalogue({"a": even_events(1, 90)}))
    with pytest.raises(TrigemuError, match="a worker was ended from outside"):
        list(over_background(work, Seen(1.0), workers=2, chunk_events=20))


def _end_this_process(chunk: Chunk) -> None:
    os._exit(1)
