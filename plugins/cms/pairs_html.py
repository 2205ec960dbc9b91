"""The page of `trigemu check-decisions --all`: menus on vectors, differences, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trigemu.api import Column, Section, Table
from trigemu_pages import render
from trigemu_validation import doubts

from .pairs import CheckedPair
from .pairs_shown import not_compared, pairs_table, unused

TITLE = "Emulated and stored decisions"
_FILES = Column("menu", "key", "menu"), Column("vector", "key", "vector")


def validation_page(pairs: Sequence[CheckedPair], alone: Sequence[Path]) -> str:
    """Return the HTML page. alone: files without a counterpart."""
    matrix = Section(
        "Menus and vectors",
        text=("Decisions before prescales. Triggers agree if they do on every crossing.", *unused(alone)),
        tables=(pairs_table(pairs),),
    )
    return render(TITLE, [matrix, _differing(pairs), _not_compared(pairs)])


def _differing(pairs: Sequence[CheckedPair]) -> Section:
    counts = (Column(name, "count", name) for name in ("crossings", "agree", "only emulated", "only stored"))
    table = Table((*_FILES, Column("trigger", "key", "trigger"), *counts))
    for checked in pairs:
        for trigger in checked.result.differing:
            numbers = trigger.compared, trigger.agree, trigger.only_emulated, trigger.only_stored
            table.add(*_files(checked), trigger.name, *numbers)
    text = tuple(line for checked in pairs for line in doubts(checked.result))
    return _section("Triggers that differ", table, text)


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
