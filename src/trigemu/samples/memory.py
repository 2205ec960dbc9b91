"""Events in memory as a source; samples as arguments of calls; events from awkward arrays of records:

weight                                   → the rate in Hz of each event
id, event; parent                        → id, parent (parent: the event itself if there is none)
jet: list of {pt, eta, phi, …}           → collection `jet` with pt, eta, phi, … (names in lower case)
Jet_pt, Jet_eta, …: lists of numbers     → the same (the part before the first _, in lower case)
met, met_phi; MET_…; MET: {pt, phi}      → met, met_phi
n_interaction, nInteraction              → n_interaction
any number or boolean per event          → a scalar of that name ({…}: names joined by _)
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np

from trigemu.base.arrays import Array, BoolArray, IntArray
from trigemu.base.checkpoint import fingerprint
from trigemu.base.errors import SampleError, excerpt, wrong_type
from trigemu.base.files import is_there
from trigemu.base.mapping import CHUNK_EVENTS
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import EVENT_COLUMNS, STANDARD, Collection, Events, Need, ReadEvents, make_events
from trigemu.samples.locations import has_wildcards, located
from trigemu.samples.opening import catalogue_of, open_catalogue
from trigemu.samples.sample import (
    CROSSING_RATE_HZ,
    IN_MEMORY,
    CatalogueTable,
    Sample,
    SampleTable,
    normalised,
)
from trigemu.samples.source import Schema, Source, events_of

#: Names of columns → names in menus.
SCALARS = {
    **{"MET_pt": "met", "met_pt": "met", "MET_phi": "met_phi"},
    **{"nInteraction": "n_interaction", "event": "id"},
}


@dataclass
class Memory(Source):
    """A range of events in memory, with weights in Hz. It is sent to workers with its events."""

    events: Events = None  # type: ignore[assignment]  # a dataclass with a base that has defaults
    has_parents: bool = False  # Whether events of the sample may have a parent in common

    physical = False  # the values were checked when the events were made

    @property
    def entries(self) -> int:
        return len(self.events)

    @property
    def schema(self) -> Schema:
        collections = {name: frozenset(c.columns) for name, c in self.events.collections.items()}
        return Schema(collections, frozenset(self.events.scalars))

    def read(self, start: int, stop: int, needs: Iterable[Need]) -> ReadEvents:
        part, wanted = self.events[start:stop], {*needs}
        wanted |= {(name, "pt") for name, _ in wanted if name}
        collections = {
            name: Collection(c.offsets, {n: values for n, values in c.columns.items() if (name, n) in wanted})
            for name, c in part.collections.items()
            if (name, "pt") in wanted
        }
        scalars = {name: part.scalars[name] for name in part.scalars if ("", name) in wanted}
        return ReadEvents(part.weight, part.id, part.parent, collections, scalars)

    @property
    def sum_of_weights(self) -> float:
        return float(self.events.weight.sum())

    @property
    def stored(self) -> tuple[str, ...]:
        """The integer columns, to which boolean ones are converted."""
        return tuple(name for name, column in self.events.scalars.items() if column.dtype.kind in "iu")

    def read_stored(self, start: int, stop: int, names: Iterable[str]) -> dict[str, BoolArray]:
        return {name: self.events.scalars[name][start:stop] != 0 for name in names}

    @cached_property
    def identity(self) -> str:
        return fingerprint(self.events, without=("core",))


def sample_in_memory(events: Events, rate_hz: float | None = None) -> Sample:
    """Return events as a sample, in pieces that contain only their own objects and can be sent to workers.
    rate_hz: their total rate; None: the rate of all crossings, with equal weights."""
    name, rate = events.sample, CROSSING_RATE_HZ if rate_hz is None else rate_hz
    kind: dict[str, Any] = {"role": "background", "format": IN_MEMORY, "files": (IN_MEMORY,)}
    table = SampleTable(name=name, **kind, rate_hz=rate, sum_of_weights=rate_hz)
    parent = events.parent
    if not (parent[1:] > parent[:-1]).all():
        parent = np.sort(parent)  # np.unique takes 20 times as long where all are different
    shared = bool((parent[1:] == parent[:-1]).any())
    sources = []
    for start in range(0, len(events), CHUNK_EVENTS):
        part = events[start : start + CHUNK_EVENTS].trimmed()
        rows = "" if len(part) == len(events) else f"[{start}:{start + len(part)}]"
        sources.append(Memory(f"{name}{rows}", events=part, has_parents=shared))
    return Sample(0, table, tuple(sources), 1.0, rate, weighted=rate_hz is not None)


#: A catalogue, or anything that `samples_of` converts to one. An awkward array is Any: awkward is not
#: imported.
SamplesLike = Catalogue | Events | str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Any | None
_CONVERT = "convert records or columns with ak.Array, as events_from_awkward describes"
#: Advice on a value of another type, by the name of its type.
_ADVICE = {
    **{"Record": "this is a single event: take array[i : i + 1]", "list": _CONVERT},
    **dict.fromkeys(("dict", "DataFrame", "ndarray"), _CONVERT),
    "Menu": "the menu comes first, then the samples",
    "Sample": "give the Catalogue that it is in",
    "Emulation": "its samples are .catalogue",
    "Scores": "emulate, solve_budgets and scan take it in place of samples",
    "MenuRates": "its samples are .catalogue",
}


def samples_of(samples: SamplesLike, *, executor: Any = None) -> Catalogue:
    """Convert samples to a catalogue.

    Parameters
    ----------
    samples : Catalogue, path, sequence of paths, Events, ak.Array or None
        A catalogue, its path, or the folder of a catalogue.toml. Event files, one or several with the same
        branches: crossings of equal weight that add up to 40 MHz (`catalogue_of`). Events: one background of
        crossings with their weights in Hz. An awkward array: converted by `events_from_awkward`; without a
        field `weight`, crossings of equal weight that add up to 40 MHz. None: the embedded samples.
    executor
        As in `open_catalogue`.

    Returns
    -------
    Catalogue
        The samples.
    """
    if isinstance(samples, Catalogue):
        return samples
    if samples is None:
        return open_catalogue(executor=executor)
    equal, events = False, cast(Any, samples)
    if is_awkward(events):  # without weights, in the convention of equal ones
        equal, events = "weight" not in events.fields, events_from_awkward(events)
    if isinstance(events, Events):
        events, name = events[events.core], f"sample {events.sample!r}"
        total = float(events.weight.sum())
        if not len(events):
            raise SampleError(f"{name} has no events")
        if not total > 0:
            raise SampleError(f"{name}: its weights add up to {total:g} Hz, expected a rate above 0")
        head = CatalogueTable(name=events.sample, convention="crossing")
        sample = normalised(head, sample_in_memory(events, None if equal else total))
        return Catalogue(head, (sample,), Path(events.sample))
    paths: Any = [samples] if isinstance(samples, str | os.PathLike) else samples
    given: list[Any] = [*paths] if isinstance(paths, list | tuple | Iterator) else []
    if not given or not all(isinstance(file, str | os.PathLike) for file in given):
        advice = _ADVICE.get(type(samples).__name__, "")
        files = "a Catalogue, its path or folder, the paths of event files"
        raise wrong_type("the samples", samples, f"{files}, Events, or an awkward array of events", advice)
    for file in given:
        where = located(file)
        if not (isinstance(where, str) or is_there(where) or has_wildcards(where)):
            absolute = "://" in str(file) or Path(file).is_absolute()
            searched = "" if absolute else f" in the current folder, {Path.cwd()}"
            raise SampleError(f"there is no catalogue or event file {excerpt(str(file))}{searched}")
        if len(given) > 1 and str(file).endswith(".toml"):
            raise SampleError(f"{file}: expected a single catalogue: list the files of several in one")
    if len(given) == 1:
        return open_catalogue(given[0], executor=executor)
    return catalogue_of(given, executor=executor)


def events_from_awkward(array: Any, sample: str = "events") -> Events:
    """Make events from an awkward array of records, the inverse of `Events.to_awkward`.

    Parameters
    ----------
    array : ak.Array
        One record for each event. Lists of records are collections (`jet`, with `pt`, `eta`, `phi` and any
        others), numbers are scalars (`met`); the columns of objects may also be lists of numbers with names
        like `Jet_pt`. `weight` is the rate of an event in Hz; without it, events are crossings of equal
        weight that add up to 40 MHz. `id` and `parent` are as in `Events`.
    sample : str
        The name of the sample.

    Returns
    -------
    Events
        The events, with views of the array if types allow it; objects are sorted in descending pT. Other
        types, missing or impossible values, NaN, and fields of a collection with different numbers of objects
        are a SampleError, which names the field and the first such event.

    Examples
    --------
    >>> import awkward as ak
    >>> import trigemu
    >>> jets = [[{"pt": 120.0, "eta": 0.1, "phi": 2.0}], []]
    >>> array = ak.Array({"jet": jets, "met": [30.0, 80.0], "weight": [5.0, 2.0]})
    >>> events = trigemu.events_from_awkward(array)
    >>> events.collections["jet"].columns["pt"].tolist()
    [120.0]
    """
    if not is_awkward(array):
        advice = _ADVICE.get(type(array).__name__, "")
        raise wrong_type("the events", array, "an awkward array of records", advice)
    where, layout, n = f"sample {sample!r}", array.layout, len(array)
    inner = layout
    while inner.is_option or inner.is_indexed:
        inner = inner.content
    if layout.is_unknown or not inner.is_record or inner.is_tuple:
        kind = excerpt(str(array.type))
        raise SampleError(f"{where}: the array is of type {kind}: expected records, with fields such as jet")
    try:
        columns = _columns(layout)
        event = {name: columns.pop(("", name))[1] for name in EVENT_COLUMNS if ("", name) in columns}
        for name in ("id", "parent"):
            if name in event and event[name].dtype.kind not in "iu":
                raise SampleError(f"{name} is of type {event[name].dtype}: expected integers")
        read = events_of(columns, event, 0, n)
    except SampleError as error:
        raise SampleError(f"{where}: {error}") from None
    weight = event.get("weight", np.full(n, CROSSING_RATE_HZ / max(n, 1)))
    return make_events(
        sample, weight, read.collections, read.scalars, id=read.id, parent=read.parent, physical=True
    )


def is_awkward(array: object) -> bool:
    """Return whether this is an awkward array, without importing awkward: if it is one, awkward is
    imported."""
    awkward = sys.modules.get("awkward")
    return awkward is not None and isinstance(array, awkward.Array)


def _columns(layout: Any) -> dict[Need, tuple[IntArray | None, Array]]:
    """Return the columns by their names in menus, each with the offsets of its lists, None for a scalar."""
    columns: dict[Need, tuple[IntArray | None, Array]] = {}
    written: dict[Need, str] = {}
    for path, offsets, values in _leaves(_present(layout, "the array", None), (), None):
        first, *others = path
        prefix, _, column = first.partition("_")
        name, column = (prefix, column) if others == [] and column else (first, "_".join(others))
        if offsets is None:
            name, column = "", SCALARS.get("_".join(path), "_".join(path))
        need = name.lower(), column
        if before := written.get(need):
            what = ".".join(filter(None, need))
            raise SampleError(f"{what} is given twice, as {before!r} and as {'.'.join(path)!r}")
        written[need] = ".".join(path)
        columns[need] = offsets, values
    return columns


def _leaves(
    layout: Any, path: tuple[str, ...], offsets: IntArray | None
) -> Iterator[tuple[tuple[str, ...], IntArray | None, Array]]:
    """Yield the numbers of a layout, with their path of names from the outermost down, and the offsets of
    their lists, None if there are none."""
    name = ".".join(path)
    inner = _present(layout, name, offsets) if path else layout
    if inner.is_numpy and inner.purelist_depth > 1:
        inner = inner.to_RegularArray()
    is_plain = not inner.parameter("__array__")  # else a text
    if inner.is_list and is_plain and len(path) == 1 and offsets is None:
        lists = inner.to_ListOffsetArray64(True)
        ends = np.asarray(lists.offsets)
        objects = _present(lists.content[: int(ends[-1])], name, ends)
        if objects.is_unknown:  # no event has an object
            columns = [path] if "_" in name else [(*path, column) for column in STANDARD]
            yield from ((column, ends, np.zeros(0, np.float32)) for column in columns)
            return
        if not objects.is_record and not objects.is_list and "_" not in name:
            raise SampleError(
                f"{name} is a list of numbers: expected a name such as Jet_pt, or a list of records such as "
                f"jet: {{pt, eta, phi}}"
            )
        yield from _leaves(objects, path, ends)
    elif inner.is_record and not inner.is_tuple:
        for field in inner.fields:
            yield from _leaves(inner.content(field), (*path, field), offsets)
    elif inner.is_unknown:
        yield path, offsets, np.zeros(0)
    elif inner.is_numpy and is_plain and inner.data.dtype.kind in "fiub":
        yield path, offsets, np.asarray(inner.data)
    else:
        raise SampleError(
            f"{name} is of type {excerpt(str(inner.form.type))}: expected numbers, records of numbers, lists "
            f"of numbers and lists of records of numbers; leave out the fields that no trigger needs"
        )


def _present(layout: Any, name: str, offsets: IntArray | None) -> Any:
    """Return a layout without options and indices; raise SampleError if an entry is missing (None)."""
    while layout.is_option or layout.is_indexed:
        if layout.is_option and len(missing := np.flatnonzero(layout.mask_as_bool(valid_when=False))):
            first = int(missing[0])
            event = first if offsets is None else int(np.searchsorted(offsets, first, side="right")) - 1
            raise SampleError(f"event {event}: {name} is missing (None)")
        layout = layout.project()
    return layout
