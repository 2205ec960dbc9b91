"""Columns of prescales, typically one for each luminosity: in the menu, or in a CSV file.

    [menu]                                          name,2.0e34,1.5e34
    prescale_columns = ["2.0e34", "1.5e34"]         G30,7.5,5
    column = "2.0e34"                               RATE,0,0

    [[trigger]]
    name = "G30"
    prescales = [7.5, 5]

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
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from trigemu.base import toml_text
from trigemu.base.errors import MAX_PROBLEMS, TrigemuError, excerpt, few_of, listed, nearest
from trigemu.base.files import read_bounded
from trigemu.menus.menu import Menu, PrescaleColumns, Trigger, own_prescale

#: Selects all columns, in place of their names.
ALL_COLUMNS = "all"
#: The largest prescale: it would accept one of all crossings in a year.
MAX_PRESCALE = 1e15
_NO_COLUMNS = (
    "it has no columns of prescales: give prescale_columns under [menu] and prescales of its triggers, or a "
    "CSV file with --prescales"
)
#: Triggers without a row that a message names.
_NAMED = 3
#: Columns that a message names.
_LISTED = 20

#: Name of a trigger → line and prescales of its row.
Rows = dict[str, tuple[int, tuple[float, ...]]]


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


def read_prescales(menu: Menu, path: Path) -> Menu:
    """Return the menu with the prescale columns of a CSV file in place of its own."""
    try:
        content = read_bounded(path)
        lines = io.StringIO(content.decode("utf-8-sig"), newline="").readlines()
        names, rows, problems = _parse(lines)
    except OSError as error:
        raise TrigemuError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TrigemuError(f"cannot read {path}: it is not UTF-8 text") from None
    except csv.Error as error:
        raise TrigemuError(f"cannot read {path}: it is not a CSV file: {error}") from None
    known = {trigger.name for trigger in menu.triggers}
    for name in [name for name in rows if name not in known][:MAX_PROBLEMS]:
        message = f"the menu {menu.path} has no trigger {excerpt(name)!r}{nearest(name, known)}"
        problems.append((rows[name][0], message))
    missing = [f"{t.name!r} ({t.place})" for t in menu.enabled if t.name not in rows]
    if missing and not problems:
        named = f"trigger{'s' * (len(missing) > 1)} {few_of(missing, _NAMED)}"
        one = "each enabled trigger needs one, with 1 if it is not prescaled"
        problems.append((len(lines), f"no row for {named}: {one}"))
    if problems:
        raise TrigemuError(listed([f"{path}:{line}: {text}" for line, text in sorted(problems)]))
    triggers = []
    for trigger in menu.triggers:
        _, prescales = rows.get(trigger.name, (0, trigger.prescales))
        factor = own_prescale(trigger.description, menu.crossing_rate_hz) if trigger.name in rows else 1.0
        triggers.append(replace(trigger, prescales=tuple(prescale * factor for prescale in prescales)))
    columns = PrescaleColumns(names, path, hashlib.sha256(content).hexdigest())
    return replace(menu, triggers=tuple(triggers), columns=columns)


def _parse(lines: Sequence[str]) -> tuple[tuple[str, ...], Rows, list[tuple[int, str]]]:
    """Return the names of the columns, the rows, and the mistakes as (line, message)."""
    reader = csv.reader(lines, strict=True)
    first, *names = [cell.strip() for cell in next(reader, [""])] or [""]
    if first != "name" or not names:
        return (), {}, [(1, "expected a header: 'name', then the names of columns, as in name,2.0e34,1.5e34")]
    problems = [(1, mistake) for mistake in name_mistakes(names)]
    rows: Rows = {}
    for cells in filter(None, reader):
        line, (name, *values) = reader.line_num, [cell.strip() for cell in cells]
        if len(values) != len(names):
            problems.append((line, f"trigger {name!r} has {len(values)} prescales for {len(names)} columns"))
        elif name in rows:
            problems.append((line, f"trigger {name!r} already has a row (line {rows[name][0]})"))
        else:
            numbers = []
            for column, text in zip(names, values, strict=True):
                try:
                    numbers.append(float(text))
                    wrong = prescale_mistake(numbers[-1])
                except ValueError:
                    wrong = f"{text!r} is not a number"
                if wrong:
                    problems.append((line, f"trigger {name!r}, column {column!r}: {wrong}"))
            rows[name] = line, tuple(numbers)
    return tuple(names), rows, problems


def chosen_columns(menu: Menu, names: Sequence[str]) -> tuple[str, ...]:
    """Return the selected columns of a menu, by name; `ALL_COLUMNS` selects all."""
    every = menu.columns.names
    return every if every and ALL_COLUMNS in names else tuple(dict.fromkeys(names))


def at_column(menu: Menu, name: str) -> Menu:
    """Return the menu with the prescales of one of its columns."""
    columns = menu.columns
    if name not in columns.names:
        known = f"unknown column {name!r}{nearest(name, columns.names)}" if columns.names else _NO_COLUMNS
        raise TrigemuError(f"{columns.path or menu.path}: {known}")
    if columns.chosen:
        if columns.chosen == name:
            return menu
        raise TrigemuError(
            f"{menu.path} has the prescales of column {columns.chosen!r} already: choose {name!r} of the "
            f"menu as it was read"
        )
    number = columns.names.index(name)

    def at(trigger: Trigger) -> Trigger:
        if not trigger.prescales:
            return trigger
        value = trigger.prescales[number]
        on = value > 0
        return replace(trigger, prescale=value if on else math.inf, enabled=trigger.enabled and on)

    triggers = tuple(at(trigger) for trigger in menu.triggers)
    if not any(trigger.enabled for trigger in triggers):
        raise TrigemuError(f"column {name!r} switches every trigger of {menu.path} off: choose another")
    return replace(menu, triggers=triggers, columns=replace(columns, chosen=name))


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
        f"--column (of run, compare and live) from {few_of(columns.names, _LISTED)}"
    )
