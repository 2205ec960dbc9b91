"""The loop: nothing that should not matter changes a bit of the result."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pytest
from toys import Memory, engine, even_events, memory_catalogue, menu_from, toy_events, write_root

from trigemu import Catalogue, TrigemuError, emulate, make_plan, open_catalogue, rates_of
from trigemu.counting import empty_table
from trigemu.emulation import Chunk, chunks_of
from trigemu.support import Engine

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


def document(catalogue: Catalogue, folder: Path, executor: Engine | None = None) -> dict[str, Any]:
    menu = menu_from(folder, MENU)
    return rates_of(emulate([menu], catalogue, executor=executor)).to_dict()


@pytest.mark.parametrize("chunk_events", [1, 7, 100, 1000])
def test_chunks_change_no_bit(catalogue: Catalogue, tmp_path: Path, chunk_events: int) -> None:
    reference = document(catalogue, tmp_path)
    assert reference["menu"]["events"] > 300
    assert document(catalogue, tmp_path, Engine(chunk_events=chunk_events)) == reference


def test_workers_change_no_bit(catalogue: Catalogue, tmp_path: Path) -> None:
    assert document(catalogue, tmp_path, engine(90, 2)) == document(catalogue, tmp_path)


def test_the_order_of_chunks_changes_no_bit(
    catalogue: Catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = document(catalogue, tmp_path)

    def shuffled(sample: object, events: int, most: int | None = None) -> list[Chunk]:
        chunks = list(chunks_of(sample, 13, most))  # type: ignore[arg-type]
        random.Random(5).shuffle(chunks)
        return chunks

    monkeypatch.setattr(sys.modules["trigemu.emulation.engine"], "chunks_of", shuffled)
    assert document(catalogue, tmp_path) == reference


def test_what_else_stands_in_the_pass_changes_no_bit(tmp_path: Path) -> None:
    """A menu alone, and the same in one pass with another one whose objects differ."""
    catalogue = memory_catalogue({"a": toy_events(2, 400)})
    first = menu_from(tmp_path, MENU)
    second = menu_from(tmp_path, MENU.replace("12.0", "18.0").replace("above = 40", "above = 55"))
    both = emulate([first, second], catalogue)
    for menu in (first, second):
        alone, together = rates_of(emulate([menu], catalogue)), rates_of(both, menu)
        assert alone.to_dict() == together.to_dict()
    assert rates_of(both, first).triggers[1].total != rates_of(both, second).triggers[1].total


def test_equal_triggers_are_evaluated_once(tmp_path: Path) -> None:
    first = menu_from(tmp_path, MENU)
    second = menu_from(tmp_path, MENU.replace('name = "HT"', 'name = "HT40"').replace("= 7", "= 9"))
    assert len(make_plan([first, second]).slots) == 3


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


def test_a_catalogue_without_background_has_no_rates(tmp_path: Path) -> None:
    catalogue = memory_catalogue({})
    with pytest.raises(TrigemuError, match="no sample has the role 'background'"):
        emulate([menu_from(tmp_path, MENU)], catalogue)


def test_the_empty_table_has_as_many_words_as_the_plan(tmp_path: Path) -> None:
    plan = make_plan([menu_from(tmp_path, MENU)])
    assert empty_table(plan.words).words.shape == (0, 1)


# ---- which events count

PLAIN = '[[trigger]]\nname = "P"\nkind = "threshold"\nobservable = "n_jet"\nabove = 1\n'
FITTED = '[[trigger]]\nname = "F"\nkind = "threshold"\nobservable = "met"\nabove = 20\nfitted_on = "{}"\n{}\n'
BUDGET = '[[trigger]]\nname = "B"\nkind = "threshold"\nobservable = "met"\ntotal_rate_hz = 30\n'
LOGIC = '[[trigger]]\nname = "L"\nkind = "logic"\nexpression = "P and F"\n'


@pytest.mark.parametrize(
    ("text", "half"),
    [
        (PLAIN, None),
        (PLAIN + FITTED.format("toy", ""), 1),
        (PLAIN + FITTED.format("other", ""), None),
        (PLAIN + FITTED.format("toy", "enabled = false"), None),
        (PLAIN + FITTED.format("toy", "enabled = false") + LOGIC, 1),
        (PLAIN + BUDGET, 1),
        (PLAIN + BUDGET + "enabled = false\n", None),
    ],
    ids=["plain", "fitted", "elsewhere", "off", "off but read", "budget", "budget off"],
)
def test_what_was_fitted_on_a_sample_is_evaluated_on_one_half(
    tmp_path: Path, text: str, half: int | None
) -> None:
    catalogue = memory_catalogue({"a": even_events(1, 200)})
    emulation = emulate([menu_from(tmp_path, text)], catalogue)
    assert emulation.half == half
    assert set(emulation.table.half.tolist()) == ({0} if half is None else {0, 1})
    assert (rates_of(emulation).half is None) == (half is None)


def test_a_fitted_menu_changes_no_bit_of_what_is_not_fitted(tmp_path: Path) -> None:
    """Beside it in the same pass, or in the same menu."""
    catalogue = memory_catalogue({"a": even_events(1, 200)})
    plain = menu_from(tmp_path, PLAIN)
    fitted = menu_from(tmp_path, PLAIN + BUDGET)
    both = emulate([plain, fitted], catalogue)
    alone = rates_of(emulate([plain], catalogue))
    assert rates_of(both, plain).triggers == alone.triggers
    assert rates_of(both, fitted).triggers[0].total == alone.triggers[0].total
    assert rates_of(both, plain).half is None
    half = rates_of(both, fitted).half
    assert half is not None
    assert (half.number, half.triggers) == (1, ("B",))


def test_a_menu_with_budgets_is_known_as_given_and_as_solved(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, PLAIN + BUDGET)
    emulation = emulate([menu], memory_catalogue({"a": even_events(1, 200)}))
    assert emulation.input_menus == (menu,)
    (solved,) = emulation.menus
    assert solved.trigger("B").solution is not None
    as_given, as_solved = (rates_of(emulation, m).to_dict() for m in (menu, solved))
    assert as_given == as_solved
    assert rates_of(emulation, menu).menu == solved


def test_progress_counts_both_passes(tmp_path: Path) -> None:
    done: list[int] = []
    events = even_events(1, 330)
    emulate([menu_from(tmp_path, PLAIN + BUDGET)], memory_catalogue({"a": events}), progress=done.append)
    assert sum(done) == 2 * 330
