"""The page of `trigemu check-decisions --all`: menus on vectors, as a matrix and in detail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from trigemu_pages import render
from trigemu_validation import doubts, other_bits

from trigemu.results.section import Section
from trigemu.results.table import Column, Table

from .pairs import CheckedPair, not_compared, pairs_table, unused

TITLE = "Emulated and stored decisions"
_FILES = Column("menu", "key", "menu"), Column("vector", "key", "vector")


def validation_page(pairs: Sequence[CheckedPair], alone: Sequence[Path]) -> str:
    """Return the HTML page. alone: files without a counterpart."""
    matrix = Section(
        "Menus and vectors",
        text=("Decisions before prescales. Triggers agree if they do on every crossing.", *unused(alone)),
        tables=(pairs_table(pairs),),
    )
    return render(TITLE, [matrix, _differing(pairs), *_other_bits(pairs), _not_compared(pairs)])


def _differing(pairs: Sequence[CheckedPair]) -> Section:
    counts = (Column(name, "count", name) for name in ("crossings", "agree", "only emulated", "only stored"))
    table = Table((*_FILES, Column("trigger", "key", "trigger"), *counts))
    for checked in pairs:
        for trigger in checked.result.differing:
            if trigger.equals is not None:
                continue  # in the section on other bits
            numbers = trigger.compared, trigger.agree, trigger.only_emulated, trigger.only_stored
            table.add(*_files(checked), trigger.name, *numbers)
    text = tuple(line for checked in pairs for line in doubts(checked.result))
    return _section("Triggers that differ", table, text)


def _other_bits(pairs: Sequence[CheckedPair]) -> Iterator[Section]:
    """Yield a section on files that seem to number their bits otherwise, if there are any."""
    bits = (Column(name, "key", name) for name in ("trigger", "its bit", "the bit that it equals"))
    table = Table((*_FILES, *bits))
    for checked in pairs:
        for trigger in checked.result.elsewhere:
            table.add(*_files(checked), trigger.name, trigger.stored, trigger.equals)
    if table.rows:
        text = tuple(line for checked in pairs for line in other_bits(checked.result))
        yield _section("Decisions of another bit", table, text)


def _not_compared(pairs: Sequence[CheckedPair]) -> Section:
    table = Table((*_FILES, Column("why", "note", "why"), Column("triggers", "note", "triggers")))
    for checked in pairs:
        for reason, names in not_compared(checked):
            table.add(*_files(checked), reason, ", ".join(names))
    return _section("What was not compared", table)


def _files(checked: CheckedPair) -> tuple[str, str]:
    return checked.pair.menu.name, checked.pair.vector.name


def _section(title: str, table: Table, text: tuple[str, ...] = ()) -> Section:
    return Section(title, text, (table,)) if table.rows else Section(title, ("None.",))
