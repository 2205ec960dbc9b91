"""The data of a page as one block of bytes: a header in JSON, then arrays.

The block begins with the length of the header, uint32; the header is padded with zeros to a multiple of 8.
Each array is little-endian and begins at a multiple of 8; the header has its position, counted from the first
array.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from trigemu.api import BoolArray, FloatArray, TrigemuError, split

from .columns import Columns
from .contents import Contents
from .halves import sums_of
from .menu_data import menu_entry
from .tables import Cells, Rows, ordered, rows_of, without_idle

#: The version of the format of the block.
FORMAT = 3
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
        "format": FORMAT,
        "trigemu": contents.version,
        "catalogue": catalogue.table.name,
        "half": None if unseen.half is None else split.HALF_NAMES[unseen.half],
        "convention": catalogue.table.convention,
        "scores": [{"name": c.name, "unit": c.unit, "steps": c.steps.tolist()} for c in columns.scores],
        "bits": [{"name": name} for name, _ in columns.bits],
        "menus": [menu_entry(contents, columns, number) for number in range(len(contents.menus))],
        "background": _background(contents, columns, arrays),
        "signals": [_signal(contents, columns, name, arrays) for name in contents.signals],
    }
    return arrays.block(header)


def background_rows(contents: Contents, columns: Columns) -> Rows:
    """Return the events of the background that may pass a trigger."""
    table = contents.scores.table
    rows = rows_of(table, columns, contents.scores.catalogue.with_parents)
    factor = np.searchsorted(_factors(contents), contents.unseen.factor(table.sample, table.half))
    rows = replace(rows, factor=factor.astype(np.uint8))
    rows, fires = without_idle(rows, contents.menus, columns)
    return rows.take(fires)


def _factors(contents: Contents) -> FloatArray:
    """Return the distinct factors on the contribution of fitted triggers, ascending; there are few
    samples."""
    sums = sums_of(contents.scores)
    factors = np.unique(contents.unseen.factor(sums.sample, sums.half))
    if len(factors) > _MOST_FACTORS:
        raise TrigemuError(
            f"{len(factors) - 1} samples: a page supports at most {_MOST_FACTORS - 1} if triggers were fitted"
        )
    return factors


def _background(contents: Contents, columns: Columns, arrays: Arrays) -> dict[str, Any]:
    sums, unseen = sums_of(contents.scores), contents.unseen
    of_fitted = sums.largest * unseen.factor(sums.sample, sums.half)
    events, begins, cells, _ = ordered(background_rows(contents, columns), with_cells=True)
    return _table(arrays, events, begins, cells) | {
        "factors": _factors(contents).tolist(),
        "factor": arrays.add("u8", events.factor),
        "cell_factor": arrays.add("u8", cells.factor),
        "largest": float(sums.largest.max(initial=0.0)),
        "largest_fitted": float(of_fitted.max(initial=0.0)),
    }


def _signal(contents: Contents, columns: Columns, name: str, arrays: Arrays) -> dict[str, Any]:
    table, bins = contents.scores.signals[name], contents.signals[name]
    if not np.array_equal(bins.id, table.id):
        raise TrigemuError(
            f"the score table and the turn-ons of {name!r} are of different events: make both again"
        )
    rows = rows_of(table.take(bins.selected), columns, contents.scores.catalogue.with_parents)
    rows, _ = without_idle(rows, contents.menus, columns)
    events, begins, cells, order = ordered(rows, with_cells=False)
    chosen = np.flatnonzero(bins.selected)[order]
    return {
        "name": name,
        "title": name,
        "condition": bins.condition,
        "table": _table(arrays, events, begins, cells),
        "turnons": [
            {
                "observable": profile.observable,
                "unit": profile.unit,
                "edges": list(profile.edges),
                "bin": arrays.add("u8", bins.bin[chosen, number]),
            }
            for number, profile in enumerate(bins.profiles)
        ],
    }


def _table(arrays: Arrays, events: Rows, begins: BoolArray, cells: Cells) -> dict[str, Any]:
    weights, weight = np.unique(events.weight, return_inverse=True)

    def each(dtype: str, values: npt.NDArray[Any]) -> list[dict[str, Any]]:
        return [arrays.add(dtype, column) for column in values.T]

    return {
        "events": len(events),
        "weight": arrays.add("u16" if len(weights) <= 2**16 else "u32", weight),
        "weights": arrays.add("f64", weights),
        "first": arrays.add("bits", begins),
        "scores": each("u8", events.scores),
        "bits": each("bits", events.bits),
        "cells": len(cells.events),
        "cell_scores": each("u8", cells.scores),
        "cell_bits": each("bits", cells.bits),
        "cell_events": arrays.add("u32", cells.events),
        "cell_weight": arrays.add("f64", cells.weight),
        "cell_square": arrays.add("f64", cells.square),
        "cell_largest": arrays.add("f64", cells.largest),
    }
