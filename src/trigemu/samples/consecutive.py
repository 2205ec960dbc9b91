"""Treat consecutive events as unrelated crossings."""

from __future__ import annotations

from dataclasses import replace

from trigemu.samples.catalogue import Catalogue
from trigemu.samples.event_file import EventFile
from trigemu.samples.sample import Sample


def not_consecutive(catalogue: Catalogue) -> Catalogue:
    """Return a catalogue in which no event is the neighbouring crossing of another.

    Parameters
    ----------
    catalogue : Catalogue
        The samples.

    Returns
    -------
    Catalogue
        The same events.
    """
    return replace(catalogue, samples=tuple(map(_alone, catalogue.samples)))


def _alone(sample: Sample) -> Sample:
    sources = (
        replace(file, facts=replace(file.facts, neighbours="none")) if isinstance(file, EventFile) else file
        for file in sample.sources
    )
    return replace(sample, sources=tuple(sources))
