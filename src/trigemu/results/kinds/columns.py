"""The columns of a file of events, by the names that menus give them: what `trigemu samples FILE` shows."""

from __future__ import annotations

import keyword
import math
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from trigemu.observables import STANDARD, Scope, Workspace, parse_observable, unit_of
from trigemu.results.numbers import count
from trigemu.results.table import Column, Page, Table
from trigemu.samples import Sample, SampleError, Schema
from trigemu.support import excerpt, toml_text

#: Columns of a line, and stored decisions that are named one by one.
_NAMED, _FEW = 60, 12
#: Events that the threshold of the example is found from, and the quantile of the score there.
_EVENTS, _QUANTILE = 10_000, 0.9
#: The columns that come first: those that all objects have, and missing momentum.
_FIRST = ("pt", "eta", "phi", "mass", "met", "met_phi")
_COLUMNS = (
    Column("object", "key", "object", leads=True),
    Column("number", "label", "number"),
    Column("columns", "note", "columns"),
)
_SCOPE = Scope((), (), ())


def columns_page(sample: Sample) -> Page:
    """Return the page with the columns of a sample, and an example of a trigger on one of them.

    Parameters
    ----------
    sample : Sample
        The sample.

    Returns
    -------
    Page
        The collections, the numbers per event, weights, stored decisions, and the example.
    """
    schema = sample.schema
    tree = sample.sources[0].tree_name
    of_tree = f" of the tree {tree!r}" if tree else ""
    table, counters = Table(_COLUMNS), set()
    for name in sorted(filter(_is_name, schema.collections), key=_standard_first):
        table.add(f"{name}[0]", f"n_{name}", _described(sample, name, schema.collections[name]))
        counters.update((f"n{name}", *(f"n{name}_{column}" for column in schema.collections[name])))
    stored = set(sample.stored)
    scalars = {name for name in schema.scalars if name.casefold() not in counters} - stored
    lines = [f"Numbers per event: {_described(sample, '', scalars)}."] if scalars else []
    weight = sample.sources[0].weight_column
    lines.append(
        f"Weight: {weight}, which only a catalogue uses: without one, all events count alike."
        if weight
        else "Weight: none, all events count alike."
    )
    lines += [f'Stored decisions (kind = "stored", decision = NAME): {_decisions(stored)}.'] if stored else []
    objects = [table, ""] if table.rows else []
    return Page(["", f"Names in menus{of_tree}:", "", *objects, *lines, "", *_example(sample)])


def _is_name(name: str) -> bool:
    """Whether a menu can write a name."""
    return name.isidentifier() and not keyword.iskeyword(name)


def _standard_first(name: str) -> tuple[int, str]:
    return STANDARD.index(name) if name in STANDARD else len(STANDARD), name


def _described(sample: Sample, collection: str, columns: Iterable[str]) -> str:
    """Return the names of columns with their units, those of one type together."""
    types = sample.sources[0].types
    by_type: dict[str, list[str]] = {}
    named = sorted(filter(_is_name, columns), key=_usual_first)
    for name in named[:_NAMED]:
        by_type.setdefault(types.get((collection, name), ""), []).append(_with_unit(collection, name))
    parts = [f"{', '.join(names)}{f' ({type_})' if type_ else ''}" for type_, names in by_type.items()]
    more = [f"{len(named) - _NAMED} more"] if len(named) > _NAMED else []
    return "; ".join([*parts, *more])


def _usual_first(name: str) -> tuple[int, str]:
    return _FIRST.index(name) if name in _FIRST else len(_FIRST), name


def _with_unit(collection: str, name: str) -> str:
    number = parse_observable(f"{collection}[0].{name}" if collection else name, _SCOPE)
    unit = unit_of(number)
    return f"{name} in {unit}" if unit else name


def _decisions(names: Iterable[str]) -> str:
    ordered = sorted(names)
    if len(ordered) <= _FEW:
        return ", ".join(map(excerpt, ordered))
    of_prefix = Counter(name.partition("_")[0] for name in ordered)
    parts = [f"{number} {excerpt(prefix)}_…" for prefix, number in of_prefix.most_common(_FEW)]
    return f"{', '.join(parts)}, such as {excerpt(ordered[0])}"


def _example(sample: Sample) -> Iterator[str]:
    """Yield the lines of a trigger that fires in some of the first events."""
    for observable in _observables(sample.schema):
        threshold = _threshold(sample, observable)
        if threshold is None:
            continue
        name = observable.partition("[")[0].upper()
        entries = {
            "name": f"{name}{threshold:g}" if threshold >= 1 else name,
            "kind": "threshold",
            "observable": observable,
            "above": threshold,
        }
        yield f"A trigger that fires in some of the first {count(min(sample.entries, _EVENTS), 'event')}:"
        yield ""
        yield from toml_text.table("[[trigger]]", entries).splitlines()
        return


def _observables(schema: Schema) -> Iterator[str]:
    collections = sorted(filter(_is_name, schema.collections), key=_standard_first)
    yield from (f"{name}[0].pt" for name in collections if "pt" in schema.collections[name])
    yield from sorted(filter(_is_name, schema.scalars), key=_usual_first)


def _threshold(sample: Sample, observable: str) -> float | None:
    """Return a threshold of two digits that some of the first events are above; None if there is none."""
    number = parse_observable(observable, _SCOPE)
    try:
        events = sample.read(0, 0, min(sample.sources[0].entries, _EVENTS), number.needs())
        values = number.evaluate(Workspace(events))
    except SampleError:
        return None
    values = values[np.isfinite(values)]
    quantile = float(np.quantile(values, _QUANTILE)) if len(values) else math.nan
    step = 10.0 ** (math.floor(math.log10(abs(quantile))) - 1) if quantile else 1.0
    threshold = float(f"{math.floor(quantile / step) * step:.6g}") if quantile == quantile else math.nan
    return threshold if np.any(values > threshold) else None
