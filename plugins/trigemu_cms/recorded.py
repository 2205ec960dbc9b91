"""Recorded decisions in a separate file from their events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from trigemu.base.arrays import BoolArray
from trigemu.base.errors import SampleError
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.opening import catalogue_of
from trigemu.samples.source import File, Source


@dataclass(frozen=True)
class _Decided(File):
    """A file of events whose decisions are in another file."""

    decisions: Source = field(kw_only=True)
    first: int = field(kw_only=True)  # The row of its first event in that file

    def read_stored(self, start: int, stop: int, names: Iterable[str]) -> Mapping[str, BoolArray]:
        return self.decisions.read_stored(self.first + start, self.first + stop, names)


def with_decisions(catalogue: Catalogue, path: Path | str, *, executor: Any = None) -> Catalogue:
    """Return a catalogue whose recorded decisions are those in another file, event by event."""
    if len(catalogue.samples) != 1:
        names = ", ".join(sample.name for sample in catalogue.samples)
        raise SampleError(f"{path}: decisions belong to one sample, but {catalogue.path} has {names}")
    (sample,), (recorded,) = catalogue.samples, catalogue_of(path, executor=executor).samples
    (decisions,) = recorded.sources
    if not decisions.stored:
        raise SampleError(f"{path}: it has no decisions: columns of booleans, or HLT_… and L1_…")
    if recorded.entries != sample.entries:
        raise SampleError(
            f"{path}: it has {recorded.entries} events, but sample {sample.name!r} has {sample.entries}"
        )
    before = accumulate((source.entries for source in sample.sources), initial=0)
    changed = {"decisions": decisions, "stored": decisions.stored}
    sources = tuple(
        _Decided(
            **{**source.__dict__, **changed, "identity": f"{source.identity} {decisions.identity}"},
            first=first,
        )
        for source, first in zip(sample.sources, before, strict=False)
    )
    return replace(catalogue, samples=(replace(sample, sources=sources),))
