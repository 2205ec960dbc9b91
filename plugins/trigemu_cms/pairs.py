"""Menus and test vectors of a folder that belong together by their names, and the validation of all of them.

Names are compared without the ending, without the prefix `TestVector_`, and up to the version, `_v8` or
`_v2_1_0`. A menu and a vector with equal names are a pair: `L1Menu_Collisions2016_v8_m2.xml.xz` and
`TestVector_L1Menu_Collisions2016_v8.txt.xz`. A name without a version is compared in full.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trigemu_validation import Checked, DecisionCheck, doubts, other_bits

from trigemu.base.errors import TrigemuError, excerpt, few_of
from trigemu.base.files import is_file
from trigemu.menus.menu import Menu
from trigemu.menus.read import read_menu
from trigemu.results.section import Section
from trigemu.results.table import Column, Page, RowStyle, Table, in_json

from .imported import LeftOut
from .l1 import import_cms_l1
from .l1_conditions import AsEmulated

_PACKED = r"(?:\.xz|\.gz)?"
_IMPORTED = re.compile(rf"(.+)\.xml{_PACKED}")
_MENU = re.compile(rf"(.+)(?:\.toml|\.xml{_PACKED})")
_VECTOR = re.compile(rf"(.+)\.txt{_PACKED}")
_VERSION = re.compile(r".+?_v\d+(?:_\d+)*(?=_|$)")
_BEFORE = "TestVector_"
#: Largest number of files in a message.
_NAMED = 10


@dataclass(frozen=True)
class Pair:
    """A menu and its vector."""

    menu: Path
    vector: Path


@dataclass(frozen=True)
class CheckedPair:
    """The validation of a menu on its vector."""

    pair: Pair  # The files
    left_out: tuple[LeftOut, ...]  # The algorithms that the import left out; empty for a menu in TOML
    result: DecisionCheck  # The validation of the others


def find_pairs(folder: Path) -> tuple[tuple[Pair, ...], tuple[Path, ...]]:
    """Return the pairs of menu and vector in a folder, in the order of the names, and the files without a
    counterpart. TrigemuError if there is no pair. Files of menus end with .xml (also .xz, .gz) or .toml,
    those of vectors with .txt (also .xz, .gz)."""
    try:
        files = sorted(file for file in folder.iterdir() if is_file(file))
    except OSError as error:
        raise TrigemuError(f"{folder}: cannot be read: {error.strerror}") from error
    menus = {file: _key(match[1]) for file in files if (match := _MENU.fullmatch(file.name))}
    vectors = {file: _key(match[1]) for file in files if (match := _VECTOR.fullmatch(file.name))}
    pairs = tuple(Pair(m, v) for m, key in menus.items() for v, k in vectors.items() if key == k)
    if not pairs:
        raise TrigemuError(
            f"{folder}: no pairs of menu and vector: their names have to agree up to the "
            f"version, as in L1Menu_A_v8.xml and TestVector_L1Menu_A_v8.txt; menus: {_names(menus)}; "
            f"vectors: {_names(vectors)}"
        )
    paired = {file for pair in pairs for file in (pair.menu, pair.vector)}
    return pairs, tuple(file for file in (*menus, *vectors) if file not in paired)


def read_menu_of(
    pair: Pair, plugin_path: Sequence[Path] | None = None, as_emulated: AsEmulated | None = None
) -> tuple[Menu, tuple[LeftOut, ...]]:
    """Return the menu of a pair, imported if it is XML, and the algorithms that the import left out."""
    if not _IMPORTED.fullmatch(pair.menu.name):
        return read_menu(pair.menu, plugin_path), ()
    imported = import_cms_l1(pair.menu, as_emulated)
    return replace(imported.menu, path=pair.menu), imported.left_out


def _key(stem: str) -> str:
    name = stem.removeprefix(_BEFORE)
    match = _VERSION.match(name)
    return match[0] if match else name


def _names(files: Collection[Path]) -> str:
    return few_of([excerpt(file.name) for file in files], _NAMED) or "none"


_COLUMNS = (
    Column("menu", "key", "menu"),
    Column("vector", "key", "vector", leads=False),
    *(
        Column(name, "count", name)
        for name in ("imported", "left out", "compared", "agree", "differ", "skipped")
    ),
    Column("differing", "note"),
    Column("other_bits", "note"),
)


def pairs_table(pairs: Sequence[CheckedPair]) -> Table:
    """Return a line for each pair; in files its last columns name the triggers that differ, and how often,
    and those whose decisions are of another stored bit."""
    table = Table(_COLUMNS)
    for checked in pairs:
        result, pair = checked.result, checked.pair
        compared, differ = len(result.compared), len(result.differing)
        files, counts = (pair.menu.name, pair.vector.name), (len(result.triggers), len(checked.left_out))
        style: RowStyle = "wrong" if result.differ else "plain"
        agreement = compared, compared - differ, differ, len(result.skipped)
        bits = "; ".join(f"{trigger.name} {trigger.stored}: {trigger.equals}" for trigger in result.elsewhere)
        table.add(
            *files, *counts, *agreement, "; ".join(map(_differing, result.differing)), bits, style=style
        )
    return table


def as_json(pairs: Sequence[CheckedPair]) -> str:
    """Return the JSON document of --all: the document of each check, its files, what is left out."""
    documents = [
        {
            "menu": checked.pair.menu.name,
            "vector": checked.pair.vector.name,
            "left_out_of_import": [{"name": out.name, "reason": out.reason} for out in checked.left_out],
            **checked.result.to_dict(),
        }
        for checked in pairs
    ]
    return in_json({"pairs": documents})


def pairs_page(pairs: Sequence[CheckedPair], alone: Sequence[Path]) -> Page:
    """Return what `trigemu check-decisions --all` prints. alone: files without a counterpart."""
    return Page([pairs_table(pairs), "", *_notes(pairs, alone)])


def validation_page(pairs: Sequence[CheckedPair], alone: Sequence[Path]) -> str:
    """Return the HTML page of the same."""
    from trigemu_pages import render

    text = ("Decisions before prescales. Triggers agree if they do on every crossing.", *_notes(pairs, alone))
    return render(
        "Emulated and stored decisions", [Section("Menus and vectors", text, (pairs_table(pairs),))]
    )


def _notes(pairs: Sequence[CheckedPair], alone: Sequence[Path]) -> Iterator[str]:
    for checked in pairs:
        files = f"{checked.pair.menu.name} on {checked.pair.vector.name}"
        for trigger in checked.result.differing:
            if trigger.equals is None:
                only = f"{trigger.only_emulated} only emulated, {trigger.only_stored} only stored"
                yield f"{files}: differs: {_differing(trigger)}, {only}."
        for lines in (doubts, other_bits):
            yield from (f"{files}: {line}" for line in lines(checked.result))
        for reason, names in _not_compared(checked):
            yield f"{files}: {reason}: {', '.join(names)}."
    if alone:
        yield f"Without a counterpart of the same name: {', '.join(file.name for file in alone)}."


def _differing(trigger: Checked) -> str:
    return f"{trigger.name} on {trigger.differ} of {trigger.compared} crossings"


def _not_compared(checked: CheckedPair) -> Iterator[tuple[str, list[str]]]:
    """Yield each reason why triggers were not compared, or not on all crossings, with their names."""
    reasons: dict[str, list[str]] = {}
    for out in checked.left_out:
        reasons.setdefault(f"left out of the import: {out.reason}", []).append(out.name)
    for trigger in checked.result.skipped:
        reasons.setdefault(f"skipped: {trigger.skipped}", []).append(trigger.name)
    for trigger in checked.result.compared:
        if trigger.not_compared:
            reason = f"not compared on {trigger.not_compared} crossings at the ends of files"
            reasons.setdefault(reason, []).append(trigger.name)
    yield from reasons.items()
