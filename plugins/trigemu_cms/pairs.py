"""Menus and test vectors of a folder that belong together by their names, and the validation of all of them.

Names are compared without the ending, without the prefix `TestVector_`, and up to the version, `_v8` or
`_v2_1_0`. A menu and a vector with equal names are a pair: `L1Menu_Collisions2016_v8_m2.xml.xz` and
`TestVector_L1Menu_Collisions2016_v8.txt.xz`. A name without a version is compared in full.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from trigemu_validation import Checked, DecisionCheck, doubts, other_bits

from trigemu.base.errors import TrigemuError, excerpt, few_of
from trigemu.base.files import is_file
from trigemu.base.shown import Shown
from trigemu.results.table import Column, Page, RowStyle, Table
from trigemu.results.view import View

from .imported import LeftOut

_PACKED = r"(?:\.xz|\.gz)?"
_MENU = re.compile(rf"(.+)(?:\.toml|\.xml{_PACKED})")
_VECTOR = re.compile(rf"(.+)\.txt{_PACKED}")
_VERSION = re.compile(r".+?_v\d+(?:_\d+)*(?=_|$)")
_BEFORE = "TestVector_"
#: Largest number of files in a message.
_NAMED = 10


@dataclass(frozen=True)
class CheckedPair:
    """The validation of a menu on its vector."""

    menu: Path  # The file
    vector: Path  # The file
    left_out: tuple[LeftOut, ...]  # The algorithms that the import left out; empty for a menu in TOML
    result: DecisionCheck  # The validation of the others


@dataclass(frozen=True, repr=False)
class CheckedPairs(Shown):
    """The validation of all pairs of a folder."""

    _view: ClassVar[str] = "trigemu_cms.pairs:CheckedPairsView"

    pairs: tuple[CheckedPair, ...]
    alone: tuple[Path, ...]  # The files without a counterpart


def find_pairs(folder: Path) -> tuple[tuple[tuple[Path, Path], ...], tuple[Path, ...]]:
    """Return the pairs of menu and vector in a folder, in the order of the names, and the files without a
    counterpart. TrigemuError if there is no pair. Files of menus end with .xml (also .xz, .gz) or .toml,
    those of vectors with .txt (also .xz, .gz)."""
    try:
        files = sorted(file for file in folder.iterdir() if is_file(file))
    except OSError as error:
        raise TrigemuError(f"{folder}: cannot be read: {error.strerror}") from error
    menus = {file: _key(match[1]) for file in files if (match := _MENU.fullmatch(file.name))}
    vectors = {file: _key(match[1]) for file in files if (match := _VECTOR.fullmatch(file.name))}
    pairs = tuple((m, v) for m, key in menus.items() for v, k in vectors.items() if key == k)
    if not pairs:
        raise TrigemuError(
            f"{folder}: no pairs of menu and vector: their names have to agree up to the "
            f"version, as in L1Menu_A_v8.xml and TestVector_L1Menu_A_v8.txt; menus: {_names(menus)}; "
            f"vectors: {_names(vectors)}"
        )
    paired = {file for pair in pairs for file in pair}
    return pairs, tuple(file for file in (*menus, *vectors) if file not in paired)


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


class CheckedPairsView(View[CheckedPairs]):
    """In files, the last columns of a pair name the triggers that differ, and how often, and those whose
    decisions are of another stored bit."""

    def page(self, result: CheckedPairs) -> Page:
        return Page([self.table(result), "", *_notes(result)])

    def table(self, result: CheckedPairs) -> Table:
        table = Table(_COLUMNS)
        for pair in result.pairs:
            check = pair.result
            compared, differ = len(check.compared), len(check.differing)
            counts = len(check.triggers), len(pair.left_out)
            agreement = compared, compared - differ, differ, len(check.skipped)
            differing = "; ".join(map(_differing, check.differing))
            bits = "; ".join(
                f"{trigger.name} {trigger.stored}: {trigger.equals}" for trigger in check.elsewhere
            )
            style: RowStyle = "wrong" if check.differ else "plain"
            files = pair.menu.name, pair.vector.name
            table.add(*files, *counts, *agreement, differing, bits, style=style)
        return table

    def document(self, result: CheckedPairs) -> dict[str, Any]:
        pairs = [
            {
                "menu": pair.menu.name,
                "vector": pair.vector.name,
                "left_out_of_import": [{"name": out.name, "reason": out.reason} for out in pair.left_out],
                **pair.result.to_dict(),
            }
            for pair in result.pairs
        ]
        return {"pairs": pairs}


def _notes(result: CheckedPairs) -> Iterator[str]:
    for pair in result.pairs:
        files = f"{pair.menu.name} on {pair.vector.name}"
        for trigger in pair.result.differing:
            if trigger.equals is None:
                only = f"{trigger.only_emulated} only emulated, {trigger.only_stored} only stored"
                yield f"{files}: differs: {_differing(trigger)}, {only}."
        for lines in (doubts, other_bits):
            yield from (f"{files}: {line}" for line in lines(pair.result))
        for reason, names in _not_compared(pair):
            yield f"{files}: {reason}: {', '.join(names)}."
    if result.alone:
        yield f"Without a counterpart of the same name: {', '.join(file.name for file in result.alone)}."


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
