"""Tables of results as tables of a HEPData record."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trigemu.base.errors import module_of_extra
from trigemu.base.shown import Shown, WithHistogram, WithHistograms, view_of
from trigemu.results.table import Column, Table
from trigemu.studies.efficiency import Efficiencies

from .histograms import histograms_of

#: Units that names of columns end with.
UNITS = {"hz": "Hz", "hz2": "Hz^2", "ns": "ns", "us": "us", "ms": "ms", "gev": "GeV"}
#: A label of an axis with a unit.
_LABEL = re.compile(r"(?P<name>.*) \[(?P<unit>[^][]*)\]")
#: A number that is missing.
_MISSING = "-"
#: Significant digits of numbers, enough to lose nothing.
_DIGITS = 15

#: The values of a row of a table.
_Values = Mapping[str, Any]


def tables(result: Shown) -> list[Any]:
    """Return the table of a result as tables of hepdata-lib; those of each turn-on, which are numbered."""
    if isinstance(result, Efficiencies):
        numbered = [(n, table) for n, turnon in enumerate(result.turnons, 1) for table in tables(turnon)]
        for number, table in numbered:
            table.name = table.name.replace("Turnon", f"Turnon {number}")
        return [table for _, table in numbered]
    is_binned = isinstance(result, WithHistogram | WithHistograms)
    axis = histograms_of(result).label if is_binned else ""
    view, kind = view_of(result), type(result).__name__
    return as_tables(view.table(result), kind, f"{kind} {view.line(result)}", axis)


def as_tables(table: Table, name: str, description: str, axis: str = "") -> list[Any]:
    """Return a table as a list of hepdata_lib.Table.

    A table of bins has the bins as its independent variable, and a dependent variable for each number of each
    curve, with the names of the curve as qualifiers. Otherwise names are independent variables, and each row
    has its own values of the dependent ones.
    """
    rows = [row.values for row in table.rows if row.values]
    lower = next((column for column in table.columns if column.upper), None)
    binned = [row for row in rows if lower and row.get(lower.name) is not None]
    others = [row for row in rows if not lower or row.get(lower.name) is None]
    tables = []
    if lower and binned:
        curves: dict[tuple[str, ...], list[_Values]] = {}
        for row in binned:
            curves.setdefault(tuple(_text(row.get(c.name)) for c in _names(table)), []).append(row)
        edges = [(row[lower.name], row[lower.upper]) for row in next(iter(curves.values()))]
        labelled = _LABEL.fullmatch(axis)
        label, unit = labelled.group("name", "unit") if labelled else (axis or "bin", "")
        bins = _variable(label, edges, units=unit, is_binned=True)
        tables.append(_new(name, description, [bins, *_dependents(table, curves)]))
    if others or not tables:
        texts = {c.heading or c.name: [_text(row.get(c.name)) for row in others] for c in _names(table)}
        names = [_variable(key, column) for key, column in texts.items() if any(column) or not others]
        title = f"{name} overall" if tables else name
        tables.append(_new(title, description, [*names, *_dependents(table, {(): others})]))
    return tables


def _library() -> Any:
    return module_of_extra("hepdata_lib", "to_hepdata()", "hepdata", "hepdata-lib")


def _new(name: str, description: str, variables: Iterable[Any]) -> Any:
    table = _library().Table(name)
    table.description, table.location = description, ""
    for variable in variables:
        table.add_variable(variable)
    return table


def _dependents(table: Table, curves: Mapping[tuple[str, ...], Sequence[_Values]]) -> Iterator[Any]:
    """Yield the numbers of each curve, by the texts of its names. Counts and other numbers without errors
    that all curves share are there once."""
    names = [column.heading or column.name for column in _names(table)]
    first, *others = curves.values()
    for column in _numbers(table):
        values = [[row.get(column.name) for row in rows] for rows in (first, *others)]
        is_plain = column.role in ("count", "number") and not column.errors
        if is_plain and all(of_curve == values[0] for of_curve in values):
            yield from _dependent(column, first, {})
            continue
        for key, rows in curves.items():
            qualifiers = {name: text for name, text in zip(names, key, strict=False) if text}
            yield from _dependent(column, rows, qualifiers)


def _names(table: Table) -> list[Column]:
    """List the columns that identify a row."""
    columns = [column for column in table.columns if column.in_files]
    return [c for c in columns if c.identifies] or [c for c in columns if c.role == "note"]


def _numbers(table: Table) -> list[Column]:
    """List the columns of numbers, without those that are errors or edges of others."""
    parts = {name for column in table.columns for name in (*column.errors, column.upper)}
    roles = ("rate", "difference", "number", "share", "count", "flag")
    columns = [column for column in table.columns if column.in_files and column.role in roles]
    return [c for c in columns if not (c.upper or c.leads or c.name in parts)]


def _dependent(column: Column, rows: Sequence[_Values], qualifiers: Mapping[str, str]) -> Iterator[Any]:
    """Yield a column as a dependent variable, if it has a value in any row."""
    values, minus, plus = zip(*(_number(column, row) for row in rows), strict=True) if rows else ((), (), ())
    if all(value == _MISSING for value in values):
        return
    name, ending = column.heading or column.name, column.name.rpartition("_")[2].lower()
    unit = "Hz" if column.role in ("rate", "difference") else UNITS.get(ending, "")
    if labelled := _LABEL.fullmatch(column.heading or ""):
        name, unit = labelled["name"], labelled["unit"]
    elif unit and not column.heading and column.role not in ("rate", "difference"):
        name = column.name.rpartition("_")[0] or "rate"
    variable = _variable(name, [*values], is_independent=False, units=unit)
    for key, value in qualifiers.items():
        variable.add_qualifier(key, value)
    if any((*minus, *plus)):
        uncertainty = _library().Uncertainty("stat", is_symmetric=minus == plus)
        ends = [(-low or 0.0, high) for low, high in zip(minus, plus, strict=True)]
        uncertainty.values = [*plus] if minus == plus else ends
        variable.add_uncertainty(uncertainty)
    yield variable


def _variable(name: str, values: list[Any], **how: Any) -> Any:
    how = {"is_independent": True, "is_binned": False} | how
    variable = _library().Variable(name, values=values, zero_uncertainties_warning=False, **how)
    variable.digits = _DIGITS
    return variable


def _number(column: Column, row: _Values) -> tuple[float | int | str, float, float]:
    """Return the value of a column in a row, and its lower and upper error, which are 0 where there are
    none."""
    value = row.get(column.name)
    if column.role == "rate" and value is not None:
        limit = value.upper_limit_hz
        return value.hz, value.error_hz, value.error_hz if limit is None else limit
    if column.role == "difference" and value is not None:
        return value[0], value[1], value[1]
    if column.role == "flag" and value is not None:
        return str(value).lower(), 0.0, 0.0
    if value is None or isinstance(value, str) or not math.isfinite(value):
        return _MISSING, 0.0, 0.0
    errors = [error for name in column.errors if (error := row.get(name)) is not None]
    if len(errors) < max(len(column.errors), 1):
        return value, 0.0, 0.0
    if len(errors) == 1:
        return value, errors[0], errors[0]
    return value, value - errors[0], errors[1] - value


def _text(value: Any) -> Any:
    return " & ".join(value) if isinstance(value, list | tuple) else "" if value is None else value
