"""Columns of prescales, typically one for each luminosity: in the menu, in a CSV file, or in XML of CMS.

    name,2.0e34,1.5e34
    pileup,56,42
    G30,7.5,5
    RATE,0,0

0 or a negative number switches a trigger off in a column. A trigger without `prescales` in the menu has its
`prescale` in all columns. A trigger that the menu disables stays off. Whatever depends on prescales needs a
column: the one that the menu names, or one that the user chooses.
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from xml.parsers import expat

from trigemu.base import toml_text
from trigemu.base.errors import MAX_PROBLEMS, TrigemuError, excerpt, few_of, listed, nearest
from trigemu.base.files import read_bounded
from trigemu.menus.menu import Menu, PrescaleColumns, own_prescale

#: Selects all columns, in place of their names.
ALL_COLUMNS = "all"
#: The largest prescale: it would accept one of all crossings in a year.
MAX_PRESCALE = 1e15
#: The triggers without a row, and the columns, that a message names.
_NAMED, _LISTED = 3, 20

#: Headings of the names of triggers, in lower case: of trigemu and in tables of CMS. What is to the left of
#: them, such as the bit of each trigger, is not read.
_NAME = ("name", "algo name", "algo/prescale-index")
#: Headings of columns of remarks, in lower case, which are not read.
_REMARKS = ("comment", "comments", "remark", "remarks")
#: Rows of a file with the pile-up and the luminosity of each column.
CONDITIONS = ("pileup", "luminosity_cm2s")

#: Line and cells of a row.
Cells = tuple[int, list[str]]


def prescale_mistake(value: float) -> str | None:
    """Return the mistake in a prescale of a column, or None."""
    if -MAX_PRESCALE <= value <= 0 or 1 <= value <= MAX_PRESCALE:
        return None
    most = f" up to {MAX_PRESCALE:g}" if abs(value) > MAX_PRESCALE else ""
    return f"{value:g} is not a prescale: expected a number ≥ 1{most}, or 0 or a negative number for off"


def name_mistakes(names: Sequence[str]) -> Iterator[str]:
    """Yield the mistakes in the names of columns."""
    for name, times in Counter(names).items():
        if not name.strip():
            yield "a column has no name"
        elif name == ALL_COLUMNS:
            yield f"a column cannot be called {ALL_COLUMNS!r}, which means all columns"
        elif times > 1:
            yield f"two columns are called {name!r}"


def condition_mistake(value: float) -> str | None:
    """Return the mistake in the pile-up or the luminosity of a column, or None."""
    if 0 <= value < math.inf:
        return None
    return f"{value:g}: expected a number above 0, or 0 for that of samples"


def read_prescales(menu: Menu, path: Path, skip_missing: bool = False) -> Menu:
    """Return the menu with the prescale columns of a file in place of its own.

    The file is a CSV file, also with further columns to the left of the names, as in tables of CMS; or the
    XML of the CMS global trigger, whose rows have the name or the bit of a trigger (`stored`). skip_missing:
    whether to skip rows for which the menu has no trigger.
    """
    try:
        content = read_bounded(path)
        if content.lstrip().startswith(b"<"):
            table = _xml_rows(path, content)
        else:
            text = content.decode("utf-8-sig")
            delimiter = max(",;\t", key=text.count)
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
            lines = ((reader.line_num, [cell.strip() for cell in row]) for row in reader)
            table = [(line, cells) for line, cells in lines if any(cells)]
    except OSError as error:
        raise TrigemuError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TrigemuError(f"cannot read {path}: it is not UTF-8 text") from None
    except csv.Error as error:
        raise TrigemuError(f"cannot read {path}: it is not a CSV file: {error}") from None
    known = {trigger.name for trigger in menu.triggers}
    conditions = [name for name in CONDITIONS if name not in known]
    bits = {t.stored: t.name for t in menu.triggers if t.stored and t.stored not in known}
    mistakes: list[tuple[int, str]] = []
    names, rows = _parse(table, conditions, bits, mistakes)
    pileup, luminosity = (rows.pop(n, (0, ()))[1] if n in conditions else () for n in CONDITIONS)
    unknown = [name for name in rows if name not in known]
    for name in [] if skip_missing else unknown[:MAX_PROBLEMS]:
        message = f"the menu {menu.path} has no trigger {excerpt(name)!r}{nearest(name, known)}"
        mistakes.append((rows[name][0], message))
    missing = [f"{t.name!r} ({t.place})" for t in menu.enabled if t.name not in rows]
    if missing and not mistakes:
        named = f"trigger{'s' * (len(missing) > 1)} {few_of(missing, _NAMED)}"
        one = "each enabled trigger needs one, with 1 if it is not prescaled"
        mistakes.append((table[-1][0], f"no row for {named}: {one}"))
    if mistakes:
        remedy = "\n--skip-missing skips rows without a trigger" if unknown and not skip_missing else ""
        raise TrigemuError(listed([f"{path}:{line}: {text}" for line, text in sorted(mistakes)]) + remedy)
    triggers = []
    for trigger in menu.triggers:
        prescales = trigger.prescales
        if trigger.name in rows:
            factor = own_prescale(trigger.description, menu.crossing_rate_hz)
            prescales = tuple(prescale * factor for prescale in rows[trigger.name][1])
        triggers.append(replace(trigger, prescales=prescales))
    sha256 = hashlib.sha256(content).hexdigest()
    columns = PrescaleColumns(
        names, path, sha256, pileup=pileup, luminosity_cm2s=luminosity, skipped=tuple(unknown)
    )
    return replace(menu, triggers=tuple(triggers), columns=columns)


def _xml_rows(path: Path, content: bytes) -> list[Cells]:
    """Return the columns and the rows of the prescales in the run settings of the CMS global trigger."""
    parser, inside = expat.ParserCreate(), False
    texts: list[tuple[int, list[str]]] = []

    def begin(tag: str, attributes: dict[str, str]) -> None:
        nonlocal inside
        inside = attributes.get("id") == "prescales" if tag == "param" else inside
        if inside and tag in ("columns", "row"):
            texts.append((parser.CurrentLineNumber, []))
            parser.CharacterDataHandler = texts[-1][1].append

    def end(tag: str) -> None:
        parser.CharacterDataHandler = None

    def refuse(*_: object) -> None:  # its entities could grow without limit
        raise TrigemuError(
            f"{path}:{parser.CurrentLineNumber}: a DOCTYPE, which no prescales need: remove it"
        )

    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise TrigemuError(f"{path}:{error.lineno}: not valid XML: {expat.ErrorString(error.code)}") from None
    except (LookupError, ValueError) as error:  # of an encoding that needs one of Python's codecs
        raise TrigemuError(f"{path}: {error}; save it as UTF-8") from None
    if not texts:
        raise TrigemuError(f'{path}: no <param id="prescales"> with <columns> and <row>, as CMS writes them')
    return [(line, [cell.strip() for cell in "".join(parts).split(",")]) for line, parts in texts]


def _parse(
    table: Sequence[Cells],
    conditions: Sequence[str],
    bits: Mapping[str, str],
    mistakes: list[tuple[int, str]],
) -> tuple[tuple[str, ...], dict[str, tuple[int, tuple[float, ...]]]]:
    """Return the names of the columns, and the line and the values of each row; add mistakes with their
    lines. bits: the name of the trigger of each bit."""
    headings = (  # the place of the names of triggers in a row, after rows of titles
        (number, place)
        for number, (_, cells) in enumerate(table)
        for place, cell in enumerate(cells)
        if cell.lower() in _NAME and any(cells[place + 1 :])
    )
    number, first = next(headings, (-1, 0))
    if number < 0:
        expected = "'name', then the names of columns, as in name,2.0e34,1.5e34 or Index,Name,2.0e34,1.5e34"
        mistakes.append((1, f"expected a header: {expected}"))
        return (), {}
    line, head = table[number]
    used = [any(place < len(cells) and cells[place] for _, cells in table) for place in range(len(head))]
    places = [i for i in range(first + 1, len(head)) if used[i] and head[i].lower() not in _REMARKS]
    names = tuple(head[place] for place in places)
    mistakes += ((line, mistake) for mistake in name_mistakes(names))
    rows: dict[str, tuple[int, tuple[float, ...]]] = {}
    for line, cells in table[number + 1 :]:
        name = cells[first] if first < len(cells) else ""
        name = bits.get(name, name)
        what = name if name in conditions else f"trigger {name!r}"
        values = [cells[place] for place in places if place < len(cells)]
        if not name:
            if any(text not in ("", "0") for text in values):
                mistakes.append((line, "a row with prescales has no name"))
        elif len(values) < len(names) or any(cells[len(head) :]):
            number_of_values = f"{len(cells) - 1 - first} prescales for {len(names)} columns"
            mistakes.append((line, f"trigger {name!r} has {number_of_values}"))
        elif name in rows:
            mistakes.append((line, f"trigger {name!r} already has a row (line {rows[name][0]})"))
        else:
            numbers = []
            mistake_in = condition_mistake if name in conditions else prescale_mistake
            for column, text in zip(names, values, strict=True):
                try:
                    numbers.append(float("0" if name in conditions and not text else text))
                    wrong = mistake_in(numbers[-1])
                except ValueError:
                    wrong = f"{text!r} is not a number"
                if wrong:
                    mistakes.append((line, f"{what}, column {column!r}: {wrong}"))
            rows[name] = line, tuple(numbers)
    return names, rows


def chosen_columns(menu: Menu, names: Sequence[str]) -> tuple[str, ...]:
    """Return the selected columns of a menu, by name; `ALL_COLUMNS` selects all in which a trigger is on."""
    every = menu.columns.names
    if not (every and ALL_COLUMNS in names):
        return tuple(dict.fromkeys(names))
    rows = [trigger.prescales or (1.0,) * len(every) for trigger in menu.triggers if trigger.enabled]
    on = tuple(name for name, column in zip(every, zip(*rows, strict=True), strict=True) if max(column) > 0)
    return on or every


def at_column(menu: Menu, name: str) -> Menu:
    """Return the menu with the prescales of one of its columns."""
    columns = menu.columns
    if name not in columns.names:
        message = f"unknown column {name!r}{nearest(name, columns.names)}"
        if not columns.names:
            message = (
                "it has no columns of prescales: give prescale_columns under [menu] and prescales of its "
                "triggers, or a CSV file with --prescales"
            )
        raise TrigemuError(f"{columns.path or menu.path}: {message}")
    if columns.chosen == name:
        return menu
    if columns.chosen:
        raise TrigemuError(
            f"{menu.path} has the prescales of column {columns.chosen!r} already: choose {name!r} of the "
            f"menu as it was read"
        )
    number = columns.names.index(name)
    triggers = list(menu.triggers)
    for place, trigger in enumerate(triggers):
        if trigger.prescales:
            on = (value := trigger.prescales[number]) > 0
            prescale = value if on else math.inf
            triggers[place] = replace(trigger, prescale=prescale, enabled=trigger.enabled and on)
    if not any(trigger.enabled for trigger in triggers):
        raise TrigemuError(f"column {name!r} switches every trigger of {menu.path} off: choose another")
    return replace(menu, triggers=tuple(triggers), columns=replace(columns, chosen=name))


def at_own_column(menu: Menu) -> Menu:
    """Return the menu with the prescales of the column that it names."""
    columns = menu.columns
    if not columns.names or columns.chosen:
        return menu
    if not columns.default:
        raise TrigemuError(no_column(menu))
    return at_column(menu, columns.default)


def no_column(menu: Menu) -> str:
    """Return a message on a menu with columns of which none is chosen."""
    columns = menu.columns
    key = "" if columns.path else f"write column = {toml_text.value(columns.names[0])} under [menu], or "
    return (
        f"{columns.path or menu.path} has columns of prescales, and rates need one of them: {key}choose with "
        f"--column from {few_of(columns.names, _LISTED)}"
    )


def at_crossing_rate(menu: Menu, crossing_rate_hz: float) -> Menu:
    """Return the menu at another crossing rate; the rates of `random` triggers stay."""
    if crossing_rate_hz == menu.crossing_rate_hz:
        return menu
    triggers = []
    for trigger in menu.triggers:
        before = own_prescale(trigger.description, menu.crossing_rate_hz)
        ratio = own_prescale(trigger.description, crossing_rate_hz) / before
        prescales = tuple(prescale * ratio for prescale in trigger.prescales)
        triggers.append(replace(trigger, prescale=trigger.prescale * ratio, prescales=prescales))
    return replace(menu, crossing_rate_hz=crossing_rate_hz, triggers=tuple(triggers))
