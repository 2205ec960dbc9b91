"""The data of a page, grouped events included, as one block of bytes: a header in JSON, then arrays.

The block begins with the length of the header, uint32; the header is padded with zeros to a multiple of 8.
Each array is little-endian and begins at a multiple of 8; the header has its position, counted from the first
array.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import Array, BoolArray, FloatArray, IntArray
from trigemu.base.errors import TrigemuError
from trigemu.counting.patterns import distinct_entries
from trigemu.emulation.per_event import Columns as EventColumns, interactions, take_rows
from trigemu.menus.menu import Menu
from trigemu.samples import split
from trigemu.samples.catalogue import Catalogue
from trigemu.triggers.base import BitKind

from .columns import Columns, Contents
from .menu_data import menu_entry

#: Fewer events than this need less space individually than merged.
CELL_EVENTS = 8
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Rows:
    """Events of a page."""

    scores: Bytes  # uint8[n, s], the number of steps of each score below the event
    bits: BoolArray  # bool[n, b], the fixed decisions
    group: IntArray  # int64[n], equal for events that share an interaction
    weight: FloatArray  # float64[n], in Hz
    factor: Bytes  # uint8[n], the number of the factor on the contribution of fitted triggers

    def __len__(self) -> int:
        return len(self.weight)

    def take(self, rows: IntArray | BoolArray) -> Rows:
        return Rows(*(getattr(self, field.name)[rows] for field in fields(self)))


def rows_of(table: EventColumns, columns: Columns, catalogue: Catalogue) -> Rows:
    """Return the events of a score table of a catalogue."""
    n = len(table["id"])
    scores = np.empty((n, len(columns.scores)), np.uint8, order="F")
    for number, column in enumerate(columns.scores):
        scores[:, number] = np.searchsorted(column.steps, table[column.stored])
    bits = np.zeros((n, len(columns.bits)), np.bool_, order="F")
    for number, stored in enumerate(columns.bits):
        if stored:
            bits[:, number] = table[stored]
    return Rows(scores, bits, interactions(table, catalogue), table["weight"], np.zeros(n, np.uint8))


def _accepts_idle(menu: Menu) -> bool:
    """Return whether a menu may accept an event in which nothing fires that is decided event by event."""
    raw: dict[str, BoolArray] = {}
    for trigger in map(menu.trigger, menu.order):
        kind = trigger.description
        own = kind.decide(raw, 1) if isinstance(kind, BitKind) else np.zeros(1, np.bool_)
        raw[trigger.name] = own & trigger.seed.evaluate(raw) if trigger.seed else own
    return any(decision.any() for decision in raw.values())


def ordered(rows: Rows, with_cells: bool) -> tuple[IntArray, BoolArray, IntArray, dict[str, Array]]:
    """Return the positions of the events ordered by parent, whether each begins a new parent, an event of
    each cell, and their sums (`_cells`). Parents are ordered by their number of events and the row of their
    first event."""
    rank = _rank(rows)
    order = np.lexsort((rows.weight, rank, rows.group))
    rank, group = rank[order], rows.group[order]
    begins = np.diff(group, prepend=-1) != 0
    first = np.flatnonzero(begins)
    parent = np.cumsum(begins) - 1
    size = np.diff(np.append(first, len(order)))
    last = first + size - 1
    equal = (rank[first] == rank[last])[parent]  # rows are in order within a parent
    often = np.bincount(rank[equal], minlength=len(order) + 1) >= CELL_EVENTS
    summed = equal & often[rank] & with_cells
    first_of, sums = _cells(rows.weight[order[summed]], rank[summed], begins[summed])
    by = np.lexsort((rows.weight[order][first], rank[first], size))
    position = np.empty(len(first), np.int64)
    position[by] = np.arange(len(first))
    remaining = np.flatnonzero(~summed)
    remaining = remaining[np.argsort(position[parent[remaining]], kind="stable")]
    return order[remaining], begins[remaining], order[summed][first_of], sums


def _rank(rows: Rows) -> IntArray:
    """Return the rank of each event's row among the distinct rows, ordered by scores; the scores that are
    most often above a threshold are compared first."""
    parts = np.column_stack([rows.scores, np.packbits(rows.bits, axis=1), rows.factor])
    padded = np.zeros((len(rows), max(8, -(-parts.shape[1] // 8) * 8)), np.uint8)
    padded[:, : parts.shape[1]] = parts
    entry, first = distinct_entries(padded.view(np.uint64))
    distinct = parts[first]
    by = np.argsort(np.count_nonzero(parts, axis=0), kind="stable")
    rank = np.empty(len(first), np.int64)
    rank[np.lexsort(distinct[:, by].T) if len(by) else np.arange(len(first))] = np.arange(len(first))
    return rank[entry]


def _cells(weight: FloatArray, rank: IntArray, begins: BoolArray) -> tuple[IntArray, dict[str, Array]]:
    """Return the first event of each rank, and by name the sums over events of equal rank, none of which
    shares an interaction with events of other ranks: their number, Σw in Hz, the sum of (Σw)² over
    interactions, and the largest |w|. The events are in the order of their parents."""
    _, first, cell = np.unique(rank, return_index=True, return_inverse=True)
    starts, m = np.flatnonzero(begins), len(first)
    together = np.add.reduceat(weight, starts) if len(starts) else weight
    largest = np.zeros(m)
    np.maximum.at(largest, cell, np.abs(weight))
    return first, {
        "cell_events": np.bincount(cell, minlength=m),
        "cell_weight": np.bincount(cell, weight, m),
        "cell_square": np.bincount(cell[starts], together**2, m),
        "cell_largest": largest,
    }


#: Largest number of factors on the contribution of fitted triggers: bytes number them, with 0 for none.
_MOST_FACTORS = 255
_TYPES = {"u8": "<u1", "u16": "<u2", "u32": "<u4", "f64": "<f8"}


@dataclass
class Arrays:
    """The arrays of a block, one after the other."""

    parts: list[bytes] = field(default_factory=list)
    length: int = 0

    def add(self, dtype: str, values: npt.NDArray[Any]) -> dict[str, Any]:
        """Append an array; return its entry for the header. dtype: u8, u16, u32, f64 or bits."""
        bits = dtype == "bits"
        array = np.packbits(values, bitorder="little") if bits else values.astype(_TYPES[dtype])
        content = array.tobytes()
        entry = {"dtype": dtype, "at": self.length, "length": len(values)}
        self.parts.append(content + bytes(-len(content) % 8))
        self.length += len(self.parts[-1])
        return entry

    def block(self, header: Mapping[str, Any]) -> bytes:
        """Return the block."""
        text = json.dumps(header, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        encoded = text.encode(errors="backslashreplace")  # a path may have lone surrogates
        head = len(encoded).to_bytes(4, "little") + encoded
        return b"".join([head, bytes(-len(head) % 8), *self.parts])


def block_of(contents: Contents, columns: Columns) -> bytes:
    """Return the block of a page with the thresholds of some columns."""
    catalogue, unseen, arrays = contents.scores.catalogue, contents.unseen, Arrays()
    header = {
        "trigemu": contents.version,
        "catalogue": catalogue.table.name,
        "half": None if unseen.half is None else split.HALF_NAMES[unseen.half],
        "scores": [{"name": c.name, "unit": c.unit, "steps": c.steps.tolist()} for c in columns.scores],
        "menus": [menu_entry(contents, columns, number) for number in range(len(contents.menus))],
        "background": _background(contents, columns, arrays),
        "signals": [_signal(contents, columns, name, arrays) for name in contents.signals],
    }
    return arrays.block(header)


def background_rows(contents: Contents, columns: Columns) -> Rows:
    """Return the events of the background that may pass a trigger."""
    table = contents.scores.table
    rows = rows_of(table, columns, contents.scores.catalogue)
    factor = np.searchsorted(_factors(contents), contents.unseen.factor(table["sample"], table["half"]))
    rows = replace(rows, factor=factor.astype(np.uint8))
    if any(map(_accepts_idle, contents.menus)):
        return rows
    fires = np.any(np.column_stack([rows.scores, rows.bits]), axis=1)
    return rows.take(np.flatnonzero(fires))


def _factors(contents: Contents) -> FloatArray:
    """Return the distinct factors on the contribution of fitted triggers, ascending; there are few
    samples."""
    sums = contents.scores.by_half()
    factors = np.unique(contents.unseen.factor(sums.sample, sums.half))
    if len(factors) > _MOST_FACTORS:
        raise TrigemuError(
            f"{len(factors) - 1} samples: a page supports at most {_MOST_FACTORS - 1} if triggers were fitted"
        )
    return factors


def _background(contents: Contents, columns: Columns, arrays: Arrays) -> dict[str, Any]:
    sums, unseen = contents.scores.by_half(), contents.unseen
    of_fitted = sums.largest * unseen.factor(sums.sample, sums.half)
    rows = background_rows(contents, columns)
    table, events = _table(arrays, rows, with_cells=True)
    return table | {
        "factors": _factors(contents).tolist(),
        "factor": arrays.add("u8", rows.factor[events]),
        "largest": float(sums.largest.max(initial=0.0)),
        "largest_fitted": float(of_fitted.max(initial=0.0)),
    }


def _signal(contents: Contents, columns: Columns, name: str, arrays: Arrays) -> dict[str, Any]:
    scores, turnons = contents.scores.signals[name], contents.signals[name]
    catalogue, selected = contents.scores.catalogue, turnons["selected"]
    rows = rows_of(take_rows(scores, selected), columns, catalogue)
    table, events = _table(arrays, rows, with_cells=False)
    chosen = np.flatnonzero(selected)[events]
    return {
        "name": name,
        "condition": catalogue.sample(name).table.require,
        "table": table,
        "turnons": [
            {
                "observable": profile.observable,
                "unit": profile.unit,
                "edges": list(profile.edges),
                "bin": arrays.add("u8", turnons["bin"][chosen, number]),
            }
            for number, profile in enumerate(contents.profiles)
        ],
    }


def _table(arrays: Arrays, rows: Rows, with_cells: bool) -> tuple[dict[str, Any], IntArray]:
    """Return the entry of a table, with scores and decisions of its cells, then of its events; and the
    positions of all of these."""
    events, begins, cells, sums = ordered(rows, with_cells)
    weights, weight = np.unique(rows.weight[events], return_inverse=True)
    positions = np.append(cells, events)
    every = rows.take(positions)
    entry = {
        "events": len(events),
        "weight": arrays.add("u16" if len(weights) <= 2**16 else "u32", weight),
        "weights": arrays.add("f64", weights),
        "first": arrays.add("bits", begins),
        "scores": [arrays.add("u8", column) for column in every.scores.T],
        "bits": [arrays.add("bits", column) for column in every.bits.T],
        "cells": len(cells),
        **{name: arrays.add("u32" if name == "cell_events" else "f64", sums[name]) for name in sums},
    }
    return entry, positions
