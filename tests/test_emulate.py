"""The loop: nothing that should not matter changes a bit of the result."""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path

import pytest
from toys import Memory, memory_catalogue, menu_from, toy_events, write_root

from trigemu import Catalogue, TrigemuError, emulate, make_plan, open_catalogue, output, rates
from trigemu.chunks import Chunk, chunks_of
from trigemu.patterns import empty

MENU = """
[objects.jet]
from = "jet"
pt = { min = 12.0 }
remove_overlap = { with = "photon", dr = 0.8 }

[[trigger]]
name = "J"
kind = "threshold"
observable = "jet[0].pt"
above = 20.0
prescale = 3

[[trigger]]
name = "HT"
kind = "threshold"
observable = "ht"
above = 40.0

[[trigger]]
name = "MM"
kind = "combination"
legs = [{ object = "muon" }, { object = "muon" }]
pairs = [{ legs = [0, 1], dr = { min = 0.3 } }]

[[trigger]]
name = "either"
kind = "logic"
expression = "J or MM"
prescale = 7
"""


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    """Two samples, three ROOT files with baskets of 100 events."""
    folder = tmp_path_factory.mktemp("samples")
    events = toy_events(11, 700)
    for name, part in (("a1", events[:300]), ("a2", events[300:550]), ("b", events[550:])):
        write_root(folder / f"{name}.root", part, basket=100)
    (folder / "catalogue.toml").write_text(
        '[catalogue]\nname = "toy"\nconvention = "crossing"\n'
        '[[sample]]\nname = "a"\nrole = "background"\nfiles = ["a*.root"]\nrate_hz = 3.9e7\n'
        '[[sample]]\nname = "b"\nrole = "background"\nfiles = ["b.root"]\nrate_hz = 1e6\n'
    )
    return open_catalogue(folder / "catalogue.toml")


def document(catalogue: Catalogue, folder: Path, **how: int) -> str:
    menu = menu_from(folder, MENU)
    return output.as_json(rates(emulate([menu], catalogue, **how)), "0")


@pytest.mark.parametrize("chunk_events", [1, 7, 100, 1000])
def test_chunks_change_no_bit(catalogue: Catalogue, tmp_path: Path, chunk_events: int) -> None:
    reference = document(catalogue, tmp_path)
    assert json.loads(reference)["menu"]["events"] > 300
    assert document(catalogue, tmp_path, chunk_events=chunk_events) == reference


def test_workers_change_no_bit(catalogue: Catalogue, tmp_path: Path) -> None:
    assert document(catalogue, tmp_path, workers=2, chunk_events=90) == document(catalogue, tmp_path)


def test_the_order_of_chunks_changes_no_bit(
    catalogue: Catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = document(catalogue, tmp_path)

    def shuffled(sample: object, events: int) -> list[Chunk]:
        chunks = list(chunks_of(sample, 13))  # type: ignore[arg-type]
        random.Random(5).shuffle(chunks)
        return chunks

    monkeypatch.setattr(sys.modules["trigemu.chunks"], "chunks_of", shuffled)
    assert document(catalogue, tmp_path) == reference


def test_what_else_stands_in_the_pass_changes_no_bit(tmp_path: Path) -> None:
    """A menu alone, and the same in one pass with another one whose objects differ."""
    catalogue = memory_catalogue({"a": toy_events(2, 400)})
    first = menu_from(tmp_path, MENU)
    second = menu_from(tmp_path, MENU.replace("12.0", "18.0").replace("above = 40", "above = 55"))
    both = emulate([first, second], catalogue)
    for menu in (first, second):
        alone, together = rates(emulate([menu], catalogue)), rates(both, menu)
        assert output.as_json(alone, "0") == output.as_json(together, "0")
    assert rates(both, first).triggers[1].total != rates(both, second).triggers[1].total


def test_equal_triggers_are_evaluated_once(tmp_path: Path) -> None:
    first = menu_from(tmp_path, MENU)
    second = menu_from(tmp_path, MENU.replace('name = "HT"', 'name = "HT40"').replace("= 7", "= 9"))
    assert len(make_plan([first, second]).slots) == 3


@pytest.mark.parametrize("events", [1, 49, 50, 51, 120, 1000])
def test_chunks_cover_each_event_once_and_begin_where_baskets_do(events: int) -> None:
    catalogue = memory_catalogue({"a": toy_events(1, 330)})
    chunks = list(chunks_of(catalogue.samples[0], events))
    assert [c.start for c in chunks] == [0, *(c.stop for c in chunks[:-1])]
    assert chunks[-1].stop == 330
    assert all(c.stop - c.start <= events for c in chunks)
    if events >= 50:
        assert all(c.start % 50 == 0 for c in chunks)


def test_progress_counts_every_event(tmp_path: Path) -> None:
    done: list[int] = []
    emulate([menu_from(tmp_path, MENU)], memory_catalogue({"a": toy_events(1, 330)}), progress=done.append)
    assert sum(done) == 330


def test_a_missing_column_is_reported_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        pytest.fail("read before the check")

    monkeypatch.setattr(Memory, "read", never)
    text = MENU + (
        '[[trigger]]\nname = "X"\nkind = "threshold"\nobservable = "jet[0].bdisc"\nabove = 1\n'
        '[[trigger]]\nname = "Y"\nkind = "threshold"\nobservable = "n_tau"\nabove = 1\n'
        '[[trigger]]\nname = "Z"\nkind = "threshold"\nobservable = "mett"\nabove = 1\n'
    )
    menu = menu_from(tmp_path, text)
    with pytest.raises(TrigemuError) as caught:
        emulate([menu], memory_catalogue({"a": toy_events(1, 10)}))
    message = str(caught.value)
    lines = text.splitlines()
    for name, what in (("X", "column 'jet.bdisc'"), ("Y", "collection 'tau'"), ("Z", "observable 'mett'")):
        line = lines.index(f'name = "{name}"')
        assert f"menu.toml:{line}: trigger '{name}': sample 'a' has no {what}" in message
    assert "did you mean 'met'?" in message


def test_a_worker_that_is_ended_is_reported(
    catalogue: Catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["trigemu.chunks"], "_perform_in_worker", _end_this_process)
    with pytest.raises(TrigemuError, match="a worker was ended from outside"):
        emulate([menu_from(tmp_path, MENU)], catalogue, workers=2, chunk_events=100)


def _end_this_process(chunk: Chunk) -> None:
    os._exit(1)


def test_a_catalogue_without_background_has_no_rates(tmp_path: Path) -> None:
    catalogue = memory_catalogue({})
    with pytest.raises(TrigemuError, match="no sample has the role 'background'"):
        emulate([menu_from(tmp_path, MENU)], catalogue)


def test_the_empty_table_has_as_many_words_as_the_plan(tmp_path: Path) -> None:
    plan = make_plan([menu_from(tmp_path, MENU)])
    assert empty(plan.words).words.shape == (0, 1)
