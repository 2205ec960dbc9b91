"""What the validation page shows of a sample: spectra of objects, rates above thresholds, cross-sections.

Every result is a plain array of rates in Hz and of variances in Hz², summed over the events made from one
interaction before they are squared, as everywhere in trigemu.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trigemu.base.mapping import CHUNK_EVENTS
from trigemu.emulation.engine import ranges_of
from trigemu.observables.expressions import Number
from trigemu.observables.selections import make_scope
from trigemu.observables.workspace import Workspace
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Collection, Events
from trigemu.samples.sample import Sample
from trigemu.triggers.base import Context

Array = NDArray[np.float64]
Rows = NDArray[Any]
#: Values, and the index of the event that each belongs to.
Values = tuple[Array, Rows]


@dataclass(frozen=True)
class Quantity:
    """A quantity with bins; `of` returns its values in some events, `needs` the columns that it reads. With
    `above`, the rate above each edge is measured, otherwise the rate in each bin."""

    name: str
    label: str
    unit: str
    edges: Array
    of: Callable[[Workspace], Values]
    needs: frozenset[tuple[str, str]]
    above: bool = False


@dataclass(frozen=True)
class Measured:
    """Rates and variances by the name of the sample, float64[bins] each."""

    quantity: Quantity
    hz: dict[str, Array] = field(default_factory=dict)
    variance: dict[str, Array] = field(default_factory=dict)
    #: The largest weight in each bin, in Hz.
    largest: dict[str, Array] = field(default_factory=dict)

    def heaviest(self, names: Sequence[str]) -> Array:
        """Return the largest weight, in Hz, in each bin and its neighbours, of the named samples."""
        none = np.zeros(len(self.quantity.edges) - 1)
        own = np.max([none, *(self.largest[name] for name in names if name in self.largest)], axis=0)
        found: Array = np.maximum.reduce([own, np.append(own[1:], 0), np.append(0, own[:-1])])
        return found

    def sum(self, names: Sequence[str]) -> tuple[Array, Array]:
        """Return the rate and its error, summed over the named samples that have the quantity."""
        none = np.zeros(len(self.quantity.edges) - (0 if self.quantity.above else 1))
        chosen = [name for name in names if name in self.hz]
        hz = sum((self.hz[name] for name in chosen), none)
        return hz, np.sqrt(sum((self.variance[name] for name in chosen), none))


def observable(text: str, *more: str) -> tuple[Callable[[Workspace], Values], frozenset[tuple[str, str]]]:
    """Return the function and the columns of an expression, one value an event; of several, the largest."""
    context = Context(make_scope({}, {}, lambda key, message: None))
    numbers: list[Number] = [context.observable(one) for one in (text, *more)]

    def of(work: Workspace) -> Values:
        found = numbers[0].evaluate(work)
        for number in numbers[1:]:
            found = np.fmax(found, number.evaluate(work))
        rows = np.flatnonzero(~np.isnan(found))
        return found[rows], rows

    return of, frozenset(need for number in numbers for need in number.needs())


def objects(
    collection: str,
    column: str = "pt",
    eta: tuple[float, float] | None = None,
    where: Mapping[str, float] | None = None,
) -> tuple[Callable[[Workspace], Values], frozenset[tuple[str, str]]]:
    """Return the function and the columns of all objects of a collection, with |η| in a range and with other
    columns, if the sample has them, equal to given numbers."""

    def of(work: Workspace) -> Values:
        found = work.events.collections[collection]
        kept = np.ones(int(found.offsets[-1] - found.offsets[0]), np.bool_)
        if eta:
            kept &= (np.abs(found.columns["eta"]) >= eta[0]) & (np.abs(found.columns["eta"]) < eta[1])
        for name, value in (where or {}).items():
            if name in found.columns:
                kept &= found.columns[name] == value
        rows = np.repeat(np.arange(len(work.events)), np.diff(found.offsets))
        return found.columns[column][kept].astype(np.float64), rows[kept]

    return of, frozenset((collection, name) for name in {column, *(("eta",) if eta else ())})


def _column(found: Collection, name: str) -> Array:
    return found.columns[name].astype(np.float64)


def sum_of(
    collection: str, pt: float, eta: float
) -> tuple[Callable[[Workspace], Values], frozenset[tuple[str, str]]]:
    """Return the function and the columns of the scalar sum of the pT of a collection within cuts."""

    def of(work: Workspace) -> Values:
        found = work.events.collections[collection]
        kept = (_column(found, "pt") > pt) & (np.abs(found.columns["eta"]) < eta)
        rows = np.repeat(np.arange(len(work.events)), np.diff(found.offsets))[kept]
        total = np.bincount(rows, _column(found, "pt")[kept], len(work.events)).astype(np.float64)
        return total, np.arange(len(work.events))

    return of, frozenset((collection, name) for name in ("pt", "eta"))


def pairs(
    collection: str, pt: float = 0.0, eta: float = np.inf, charge: bool = True
) -> tuple[Callable[[Workspace], Values], frozenset[tuple[str, str]]]:
    """Return the function and the columns of the masses of all pairs of objects within cuts; with `charge`
    only those of opposite charge."""
    names = ("pt", "eta", "phi", *(("charge",) if charge else ()))

    def of(work: Workspace) -> Values:
        found = work.events.collections[collection]
        kept = (_column(found, "pt") > pt) & (np.abs(found.columns["eta"]) < eta)
        rows = np.repeat(np.arange(len(work.events)), np.diff(found.offsets))[kept]
        column = {name: found.columns[name][kept].astype(np.float64) for name in names}
        masses, at = [np.empty(0)], [np.empty(0, np.int64)]
        for step in range(1, int(np.diff(found.offsets).max(initial=0))):
            same = rows[step:] == rows[:-step]
            first, second = np.flatnonzero(same), np.flatnonzero(same) + step
            if charge:
                opposite = column["charge"][first] * column["charge"][second] < 0
                first, second = first[opposite], second[opposite]
            cosh = np.cosh(column["eta"][first] - column["eta"][second])
            cos = np.cos(column["phi"][first] - column["phi"][second])
            product = column["pt"][first] * column["pt"][second]
            masses.append(np.sqrt(np.maximum(2 * product * (cosh - cos), 0)))
            at.append(rows[first])
        return np.concatenate(masses), np.concatenate(at)

    return of, frozenset((collection, name) for name in names)


def measure(catalogue: Catalogue, quantities: Sequence[Quantity]) -> list[Measured]:
    """Fill all quantities in one pass over the catalogue; a sample without a column lacks the quantity."""
    made = [Measured(quantity) for quantity in quantities]
    for sample in catalogue.samples:
        known = {(c, column) for c, columns in sample.schema.collections.items() for column in columns}
        known |= {("", scalar) for scalar in sample.schema.scalars}
        offered = [one for one in made if one.quantity.needs <= known]
        wanted = {need for one in offered for need in one.quantity.needs}
        extra = {(c, "fake") for c, _ in wanted} & known
        parts: list[list[tuple[Rows, Rows, Array]]] = [[] for _ in offered]
        for events in _events(sample, wanted | extra):
            work = Workspace(events)
            of_event = events.parent if sample.number in catalogue.with_parents else None
            for one, part in zip(offered, parts, strict=True):
                values, rows = one.quantity.of(work)
                bins = np.searchsorted(one.quantity.edges, values, "left" if one.quantity.above else "right")
                parent = of_event[rows] if of_event is not None else events.id[rows]
                part.append((parent.astype(np.int64), bins - 1, events.weight[rows]))
        for one, part in zip(offered, parts, strict=True):
            parent, bins, weight = (np.concatenate(column) for column in zip(*part, strict=True))
            edges, sums = len(one.quantity.edges), _above if one.quantity.above else _in_bins
            one.hz[sample.name], one.variance[sample.name] = sums(parent, bins, weight, edges)
            if not one.quantity.above:
                one.largest[sample.name] = _largest(bins, weight, edges - 1)
    return [one for one in made if one.hz]


def _events(sample: Sample, needs: set[tuple[str, str]]) -> Iterator[Events]:
    for part in ranges_of(sample, CHUNK_EVENTS):
        yield sample.read(part.source, part.start, part.stop, needs)


def _in_bins(parent: Rows, bins: Rows, weight: Array, edges: int) -> tuple[Array, Array]:
    """Return Σw and Σ over parents of (Σw)² in each bin; values outside of the bins are dropped."""
    n = edges - 1
    inside = (bins >= 0) & (bins < n)
    _, number = np.unique(parent[inside], return_inverse=True)
    cells, cell = np.unique(number.ravel() * n + bins[inside], return_inverse=True)
    sums = np.bincount(cell.ravel(), weight[inside], len(cells))
    hz, variance = (np.bincount(cells % n, of, n).astype(np.float64) for of in (sums, sums**2))
    return hz, variance


def _largest(bins: Rows, weight: Array, n: int) -> Array:
    """Return the largest weight in each of n bins."""
    found = np.zeros(n)
    inside = (bins >= 0) & (bins < n)
    np.maximum.at(found, bins[inside], np.abs(weight[inside]))
    return found


def _above(parent: Rows, bins: Rows, weight: Array, edges: int) -> tuple[Array, Array]:
    """Return Σw and Σ over parents of (Σw)² of the values above each edge. `bins` is the last edge below."""
    hz, variance = np.zeros(edges), np.zeros(edges)
    for edge in range(edges):
        above = bins >= edge
        _, number = np.unique(parent[above], return_inverse=True)
        sums = np.bincount(number.ravel(), weight[above])
        hz[edge], variance[edge] = sums.sum(), np.sum(sums**2)
    return hz, variance
