"""The columns of files of events by the names that menus give them, and a threshold to begin a menu with."""

from __future__ import annotations

import keyword
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from trigemu.base.errors import SampleError, UnreadableError
from trigemu.observables.expressions import unit_of
from trigemu.observables.language import parse_observable
from trigemu.observables.selections import STANDARD, Scope
from trigemu.observables.workspace import Workspace
from trigemu.samples.sample import Sample

#: Events that the threshold of the example is found from, and the quantile that it is near.
_EVENTS, _QUANTILE = 10_000, 0.9
#: The columns that come first: those that all objects have, and missing momentum.
_FIRST = ("pt", "eta", "phi", "mass", "met", "met_phi")
_SCOPE = Scope((), (), ())


@dataclass(frozen=True)
class FileColumn:
    """A column. unit, type: empty if unknown."""

    name: str
    unit: str
    type: str


@dataclass(frozen=True)
class Example:
    """A threshold on an observable that some of the first `events` events are above. unit: as of columns."""

    observable: str
    above: float
    events: int
    unit: str


@dataclass(frozen=True)
class FileColumns:
    """The columns of a sample, by their names in menus."""

    tree: str  # The name of the tree with the events in a ROOT file; empty for other files
    objects: Mapping[str, tuple[FileColumn, ...]]  # The columns of each collection
    numbers: tuple[FileColumn, ...]  # The numbers per event
    weight: str  # The name of the weight in the file; empty if there is none
    decisions: tuple[str, ...]  # The stored decisions
    example: Example | None  # A trigger that fires; None if there is none among the first events


def file_columns(sample: Sample) -> FileColumns:
    """Return the columns of a sample that menus can use."""
    schema, file = sample.schema, sample.sources[0].opened

    def described(collection: str, columns: Iterable[str]) -> Iterator[FileColumn]:
        for name in _names(columns, _FIRST):
            number = parse_observable(f"{collection}[0].{name}" if collection else name, _SCOPE)
            yield FileColumn(name, unit_of(number), file.types.get((collection, name), ""))

    collections = _names(schema.collections, STANDARD)
    return FileColumns(
        tree=file.tree,
        objects={name: tuple(described(name, schema.collections[name])) for name in collections},
        numbers=tuple(described("", schema.numbers - sample.stored)),
        weight=file.weight_column,
        decisions=tuple(sorted(sample.stored)),
        example=next(_examples(sample, collections), None),
    )


def _names(names: Iterable[str], first: tuple[str, ...]) -> list[str]:
    """Return the names that a menu can write, the `first` ones first."""
    plain = sorted(name for name in names if name.isidentifier() and not keyword.iskeyword(name))
    return sorted(plain, key=lambda name: first.index(name) if name in first else len(first))


def _examples(sample: Sample, collections: Iterable[str]) -> Iterator[Example]:
    """Yield thresholds of two digits on observables, each of which some of the first events are above."""
    n, schema = min(sample.sources[0].entries, _EVENTS), sample.schema
    leading = (f"{name}[0].pt" for name in collections if "pt" in schema.collections[name])
    for observable in (*leading, *_names(schema.scalars, _FIRST)):
        number = parse_observable(observable, _SCOPE)
        try:
            values = number.evaluate(Workspace(sample.read(0, 0, n, number.needs())))
        except UnreadableError:
            raise
        except SampleError:  # such as a NaN: a run will report it
            continue
        values = values[np.isfinite(values)]
        if len(values):
            quantile = float(np.quantile(values, _QUANTILE))
            step = 10.0 ** (math.floor(math.log10(abs(quantile))) - 1) if quantile else 1.0
            steps = math.floor(quantile / step)
            steps -= not np.any(values > steps * step)  # such as of values that are all the same
            yield Example(observable, float(f"{steps * step:.6g}"), n, unit_of(number))
