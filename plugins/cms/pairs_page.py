"""The page of `trigemu check --all`: menus on their vectors, what differs, and what was not compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trigemu.api import ReportTable, Section
from trigemu_pages import render
from trigemu_validation import doubts

from .pairs import CheckedPair
from .pairs_text import HEAD, not_compared, row, unused

TITLE = "Emulated and stored decisions"


def validation_page(pairs: Sequence[CheckedPair], alone: Sequence[Path]) -> str:
    """Return the HTML page. alone: files without a counterpart."""
    rows = tuple(tuple(map(str, row(checked))) for checked in pairs)
    matrix = Section(
        "Menus and vectors",
        text=("Decisions before prescales. Triggers agree if they do on every crossing.", *unused(alone)),
        tables=(ReportTable(HEAD, rows, "ll" + "r" * (len(HEAD) - 2)),),
    )
    return render(TITLE, [matrix, _differing(pairs), _not_compared(pairs)])


def _differing(pairs: Sequence[CheckedPair]) -> Section:
    head = ("menu", "vector", "trigger", "crossings", "agree", "only emulated", "only stored")
    rows = tuple(
        (
            *_files(checked),
            trigger.name,
            *map(str, (trigger.compared, trigger.agree, trigger.only_emulated, trigger.only_stored)),
        )
        for checked in pairs
        for trigger in checked.result.differing
    )
    text = tuple(line for checked in pairs for line in doubts(checked.result))
    return _section("Triggers that differ", ReportTable(head, rows, "lllrrrr"), text)


def _not_compared(pairs: Sequence[CheckedPair]) -> Section:
    rows = tuple(
        (*_files(checked), reason, ", ".join(names))
        for checked in pairs
        for reason, names in not_compared(checked)
    )
    return _section("What was not compared", ReportTable(("menu", "vector", "why", "triggers"), rows, "llll"))


def _files(checked: CheckedPair) -> tuple[str, str]:
    return checked.pair.menu.name, checked.pair.vector.name


def _section(title: str, table: ReportTable, text: tuple[str, ...] = ()) -> Section:
    return Section(title, text, (table,)) if table.rows else Section(title, ("None.",))
