"""Events in memory as a source, and samples as arguments of calls: a catalogue, its path, files, events."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np

from trigemu.base.arrays import BoolArray
from trigemu.base.errors import SampleError, excerpt, wrong_type
from trigemu.base.files import is_there
from trigemu.base.fingerprint import fingerprint
from trigemu.base.mapping import CHUNK_EVENTS
from trigemu.samples.awkward import advice_on, events_from_awkward, is_awkward
from trigemu.samples.catalogue import Catalogue, normalised
from trigemu.samples.events import Collection, Events, Need, ReadEvents
from trigemu.samples.formats.source import Schema, Source
from trigemu.samples.locations import has_wildcards, located
from trigemu.samples.normalisation import CROSSING_RATE_HZ, CatalogueTable, SampleTable
from trigemu.samples.opening import catalogue_of, open_catalogue
from trigemu.samples.sample import IN_MEMORY, Sample


@dataclass
class Memory(Source):
    """A range of events in memory, with weights in Hz. It is sent to workers with its events."""

    events: Events = None  # type: ignore[assignment]  # a dataclass with a base that has defaults
    shared: bool = False  # Whether events of the sample may have a parent in common

    physical = False  # the values were checked when the events were made

    @property
    def entries(self) -> int:
        return len(self.events)

    @cached_property
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
        scalars = {name: column for name, column in part.scalars.items() if ("", name) in wanted}
        return ReadEvents(part.weight, part.id, part.parent, collections, scalars)

    @property
    def sum_of_weights(self) -> float:
        return float(self.events.weight.sum())

    @property
    def has_parents(self) -> bool:
        return self.shared

    @property
    def stored(self) -> tuple[str, ...]:
        """The integer columns, to which boolean ones are converted."""
        return tuple(name for name, column in self.events.scalars.items() if column.dtype.kind in "iu")

    def read_stored(self, start: int, stop: int, names: Iterable[str]) -> dict[str, BoolArray]:
        return {name: self.events.scalars[name][start:stop] != 0 for name in names}

    @cached_property
    def identity(self) -> str:
        return fingerprint(self.events, without=("core",))


def catalogue_in_memory(events: Events, equal: bool = False) -> Catalogue:
    """Return a catalogue with events in memory as its only background, in the convention `crossing`."""
    events = events[events.core]
    if not len(events):
        raise SampleError(f"sample {events.sample!r} has no events")
    total = float(events.weight.sum())
    if not total > 0:
        wrong = f"its weights add up to {total:g} Hz, expected a rate above 0"
        raise SampleError(f"sample {events.sample!r}: {wrong}")
    head = CatalogueTable(name=events.sample, convention="crossing")
    sample = normalised(head, sample_in_memory(events, None if equal else total))
    return Catalogue(head, (sample,), Path(events.sample))


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
        sources.append(Memory(f"{name}{rows}", events=part, shared=shared))
    return Sample(0, table, tuple(sources), 1.0, rate, weighted=rate_hz is not None)


#: A catalogue, or anything that `samples_of` converts to one. An awkward array is Any: awkward is not
#: imported.
SamplesLike = Catalogue | Events | str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Any | None
_ADVICE = {
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
    if isinstance(samples, Events):
        return catalogue_in_memory(samples)
    if samples is None:
        return open_catalogue(executor=executor)
    if is_awkward(array := cast(Any, samples)):
        return catalogue_in_memory(events_from_awkward(array), equal="weight" not in array.fields)
    paths: Any = [samples] if isinstance(samples, str | os.PathLike) else samples
    given: list[Any] = [*paths] if isinstance(paths, list | tuple | Iterator) else []
    if not given or not all(isinstance(file, str | os.PathLike) for file in given):
        advice = _ADVICE.get(type(samples).__name__, "") or advice_on(samples)
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
