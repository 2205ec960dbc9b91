"""Pictures of what `decade` triggers select, and their sections in `trigemu report`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from trigemu.base.errors import file_stem
from trigemu.results.figures.draw import write_pictures
from trigemu.results.section import Contents, Numbers, Picture, Section

from .check import scored_events, summary, triggers_of
from .closure import Closure
from .diagnostics import Diagnostics, diagnose
from .events import ScoredEvents
from .figures import Density, densities, draw_acceptance, draw_densities, draw_map

TITLE = "What the decorrelated anomaly triggers select"
TEXT = (
    "The score y of an event is compared with Y(x), the conditional quantile of y given the primary "
    "observables x; the trigger fires where y′ = y − Y(x) is above its threshold. For comparison, y alone "
    "has the threshold with the same unique rate. Shown are events that pass the preselection, of the half "
    "that no model was trained on."
)


def sections(contents: Contents) -> Iterator[Section]:
    """Yield one section for each `decade` trigger of each menu."""
    for menu in (variant.menu for variant in contents.variants):
        names = triggers_of(menu)
        for name in names:
            events = scored_events(menu, contents.catalogue, name)
            result = diagnose(events)
            ceiling = result.overlap.ceiling
            table = replace(summary(result), title=f"{result.events:,} events, q = {100 * result.q:.3g} %.")
            prefix = f"decade_{file_stem(menu.name)}_{file_stem(name)}_"
            yield Section(
                TITLE if len(names) == 1 else f"{TITLE}: {name}",
                (TEXT,),
                (table,),
                (*_densities(events, prefix), *_acceptances(result, prefix)),
                menu=menu.name,
                measured={(name, "unique_ceiling"): (ceiling.value, ceiling.error)},
            )


def write_figures(events: ScoredEvents, result: Diagnostics, folder: Path) -> list[Path]:
    """Write the figures of a check as PNG and return the files."""
    return write_pictures([*_acceptances(result), *_densities(events)], folder)


def _densities(events: ScoredEvents, prefix: str = "") -> Iterator[Picture]:
    for before, after in densities(events):
        yield Picture(
            f"{prefix}density_{file_stem(before.observable)}",
            f"Rate in the plane of {before.observable} and the score, before (above) and after (below) the "
            f"correction, with the thresholds; thin lines hold 68 % of the events at each value.",
            draw_densities(before, after),
            _rates(before, after),
            dense=True,
        )


def _rates(*found: Density) -> Numbers:
    """Return a row for each bin with a rate; the first, without edges, lacks the object."""
    rows: list[tuple[object, ...]] = []
    for density in found:
        score, x = "y'" if density.corrected else "y", np.concatenate([[np.nan], density.x_edges])
        for i, j in np.argwhere(density.rate > 0):
            bounds = (x[i], x[i + 1] if i else np.nan, density.y_edges[j], density.y_edges[j + 1])
            rows.append((score, *bounds, density.rate[i, j]))
    names = ("score", "x_low", "x_high", "y_low", "y_high", "rate_hz")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def _acceptances(result: Diagnostics, prefix: str = "") -> Iterator[Picture]:
    for closure in result.closures:
        names = " and ".join(axis.observable for axis in closure.axes)
        single = len(closure.axes) == 1
        yield Picture(
            f"{prefix}acceptance_{'_'.join(file_stem(axis.observable) for axis in closure.axes)}",
            f"Accepted fraction of events over q, in bins of {names}, with the correction and without."
            + ("" if single else " Grey: too few events."),
            draw_acceptance(closure, result.q) if single else draw_map(closure, result.q),
            _fractions(closure, result.q),
        )


def _fractions(closure: Closure, q: float) -> Numbers:
    """Return a row for each bin or cell; edges are empty for the bin of events without the object."""
    columns: dict[str, list[object]] = {}
    shape = tuple(axis.bins for axis in closure.axes)
    for number, axis in enumerate(closure.axes):
        bounds = [axis.bounds[place[number]] for place in np.ndindex(shape)]
        columns[f"{axis.observable}_low"] = [low for low, _ in bounds]
        columns[f"{axis.observable}_high"] = [high for _, high in bounds]
    columns["events"] = list(closure.events)
    for acceptance in closure.acceptances:
        name = "y'" if acceptance.corrected else "y"
        named = f"{name} > {acceptance.threshold:.6g}"
        for key, values in (("acceptance", acceptance.value), ("error", acceptance.error)):
            columns[f"{key} {named}"] = list(values)
    columns["q"] = [q] * len(closure.events)
    return columns
