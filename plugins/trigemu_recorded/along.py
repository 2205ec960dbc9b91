"""Rates along a run: of each section of luminosity, from one pass over the events, with their trends.

The weights of events are rates in the mean over the live time T of all sections. The rate in a section of
live time T_s is Σ w f · T / T_s over its events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words
from trigemu.base.errors import SampleError, TrigemuError
from trigemu.base.mapping import engine_of
from trigemu.base.shown import Named, Shown
from trigemu.counting.acceptance import acceptances
from trigemu.counting.quantities import MENU, Label, fractions
from trigemu.counting.sums import RateSums
from trigemu.emulation.engine import Job
from trigemu.emulation.loop import Emulation, emulate
from trigemu.emulation.per_event import Columns, per_event, scores_of
from trigemu.emulation.plan import Plan
from trigemu.menus.menu import Menu
from trigemu.menus.read import MenuLike, menu_of
from trigemu.observables.workspace import Workspace
from trigemu.rates.menu_rates import ZERO_EVENTS_LIMIT
from trigemu.rates.results import Rate
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Need
from trigemu.samples.memory import SamplesLike, samples_of
from trigemu.samples.sample import CM2_PER_PB
from trigemu.triggers.base import ScoreKind
from trigemu.triggers.combination import LegThreshold
from trigemu.triggers.threshold import Threshold

from .recorded import Recorded
from .sections import RUN, SECTION, Sections
from .trends import LEAST, MAX_ORDER, Part, Series, Trend, trend_of

#: The quantiles of scores.
QUANTILES = (0.5, 0.9, 0.99)


def rate_of(hz: float, error_hz: float, events: int = 0, limit_hz: float | None = None) -> Rate:
    """Return a rate whose statistics are those of its uncertainty; the limit is for one without events."""
    effective = (hz / error_hz) ** 2 if error_hz else 0.0
    return Rate(hz, error_hz, events, effective, None if events else limit_hz)


@dataclass(frozen=True)
class RatesAlong:
    """The rate of a trigger, or of the menu, in each section; arrays are in the order of the sections."""

    name: str  #: The name of the trigger or the menu
    kind: str  #: "trigger" or "menu"
    hz: FloatArray  #: float64[s]: The rate in Hz
    error_hz: FloatArray  #: float64[s]: Its statistical uncertainty in Hz, from the events of the section
    events: IntArray  #: int64[s]: The number of events that contribute
    limit_hz: FloatArray  #: float64[s]: The upper limit at 68 % in Hz if none contributes
    trend: Trend | None  #: Its trend against pile-up; None without pile-up, or without events
    #: float64[6, s], of a trigger with a score: the number of events that have one, their mean score, its
    #: statistical uncertainty, and the `QUANTILES`, weighted; NaN without events
    scores: FloatArray

    def __getitem__(self, section: int) -> Rate:
        """Return the rate in the section at a position."""
        columns = self.hz, self.error_hz, self.events, self.limit_hz
        return rate_of(*(column[section].item() for column in columns))

    def mean(self, live_s: FloatArray) -> Rate:
        """Return the mean rate."""
        share = live_s / live_s.sum()
        error_hz, limit_hz = np.linalg.norm(self.error_hz * share), 1 / (1 / self.limit_hz).sum()
        return rate_of(float(self.hz @ share), float(error_hz), int(self.events.sum()), float(limit_hz))

    def departures(self) -> Iterator[tuple[str, Part]]:
        """Yield the changes and outliers."""
        if self.trend:
            yield from (("change", part) for part in self.trend.parts)
            for k in self.trend.outliers.tolist():
                ratio, error = (float(x[k] / self.trend.polynomial[k]) for x in (self.hz, self.error_hz))
                yield "outlier", Part(k, k + 1, ratio, error)


@dataclass(frozen=True, repr=False)
class RunRates(Shown, Named[RatesAlong]):
    """The rates of a menu along a run; result["J100"] is those of a trigger."""

    _view: ClassVar[str] = "trigemu_recorded.along_view:RunRatesView"

    menu: Menu  #: The menu
    catalogue: Catalogue  #: The samples
    sections: Sections  #: The sections with live time
    rates: tuple[RatesAlong, ...]  #: The rates of the menu, and of its enabled triggers
    outside: int  #: The number of events that are in no section
    false_alarms: float  #: The probability of an outlier in a run without one, and of a change
    pileup: float | None  #: The pile-up of predictions, if one was asked for

    def _named(self) -> tuple[str, Mapping[str, RatesAlong]]:
        return "trigger", {rates.name: rates for rates in self.rates}


def rates_along(
    menu: MenuLike,
    catalogue: SamplesLike,
    sections: Sections | None = None,
    *,
    pileup: float | None = None,
    order: int | None = None,
    false_alarms: float = 0.01,
    executor: Any = None,
) -> RunRates:
    """Compute the rates of a menu in each section, fit them against pile-up, and find where they depart.

    sections: by default those of [sample.recorded] that count. pileup: of predictions. order: of the
    polynomials, in place of the F test. false_alarms: the probability, for each trigger, of an outlier in a
    run without any, and that of a change. catalogue, executor: as in `emulate`. TrigemuError if
    events have no run or section, or the sections no live time.
    """
    if not 1e-4 <= false_alarms <= 0.5:
        raise TrigemuError(f"false alarms {false_alarms:g}: expected a probability from 0.0001 to 0.5")
    if order is not None and not 0 <= order <= MAX_ORDER:
        raise TrigemuError(f"order {order}: expected one from 0 to {MAX_ORDER}")
    engine = engine_of(executor)
    catalogue = samples_of(catalogue, executor=engine)
    sections = sections_of(catalogue) if sections is None else sections
    live = np.isfinite(sections.live_s) & (sections.live_s > 0)
    if live.sum() < LEAST:
        raise SampleError(
            f"{catalogue.path}: {live.sum()} of {len(sections)} sections have live time, and rates along a "
            f"run need at least {LEAST}: see the column live_s of section_table, and lumi_mask"
        )
    sections = _take(sections, live)
    has_pileup = bool(np.isfinite(sections.pileup).all())
    if pileup is not None and not has_pileup:
        raise SampleError(
            f"{catalogue.path}: {np.isnan(sections.pileup).sum()} of {len(sections)} sections have no "
            f"pile-up, so there is no prediction at {pileup:g}: section_table needs a column pileup"
        )
    axis = _InSections(sections, *(_column(catalogue, names) for names in (RUN, SECTION)))
    emulation = emulate([menu_of(menu)], catalogue, axis=axis, executor=engine)
    (solved,), table = emulation.menus, emulation.table
    hz, variance, events, largest = _sums(emulation, axis)
    scores = _scores(emulation, catalogue, axis, engine)
    seconds, rates = _seconds(catalogue, sections), []
    factor = seconds / sections.live_s
    for column, name in enumerate(["", *(trigger.name for trigger in solved.enabled)]):
        trend, some, most = None, float(hz[:, column].sum()), float(largest[column])
        if has_pileup and some > 0:
            size = float(variance[:, column].sum()) / some * seconds
            in_hz = hz[:, column] * factor
            series = Series(sections.pileup, sections.live_s, in_hz, size, most * seconds)
            trend = trend_of(series, false_alarms, order)
        along = RatesAlong(
            name or solved.name,
            "trigger" if name else "menu",
            hz[:, column] * factor,
            np.sqrt(variance[:, column]) * factor,
            events[:, column],
            ZERO_EVENTS_LIMIT * float(most or table.largest.max(initial=0.0)) * factor,
            trend,
            scores.get(name, np.empty((0, len(sections)))),
        )
        rates.append(along)
    outside = int(table.n[table.bin == len(sections)].sum())
    return RunRates(solved, catalogue, sections, tuple(rates), outside, false_alarms, pileup)


def sections_of(catalogue: Catalogue) -> Sections:
    """Return the sections of a catalogue that count."""
    tables = []
    for sample in catalogue.background:
        if isinstance(sample.weighting, Recorded) and (table := sample.weighting.sections):
            tables.append(_take(table, sample.weighting.certified(table.run, table.section)))
    if not tables:
        raise SampleError(
            f"{catalogue.path}: no sample has section_table under [sample.recorded], the file with the live "
            f"time of each section: add it"
        )
    if any(not np.array_equal(table.keys, tables[0].keys) for table in tables[1:]):
        raise SampleError(
            f"{catalogue.path}: its samples have different sections: list their files in one sample"
        )
    return tables[0]


def _take(sections: Sections, rows: BoolArray) -> Sections:
    return Sections(*(column[rows] for column in vars(sections).values()))


def _column(catalogue: Catalogue, names: tuple[str, ...]) -> str:
    """Return the name of a number of an event that all samples have."""
    for name in names:
        if all(name in sample.schema.scalars for sample in catalogue.background):
            return name
    sample = next(s for s in catalogue.background if names[0] not in s.schema.scalars)
    raise SampleError(
        f"sample {sample.name!r} has no {' or '.join(names)} of an event: rates along a run need the run and "
        f"the section of luminosity"
    )


def _seconds(catalogue: Catalogue, sections: Sections) -> float:
    """Return the live time that weights are the mean of."""
    luminosity_cm2s = catalogue.table.luminosity_cm2s
    if catalogue.table.convention == "luminosity" and luminosity_cm2s:
        return float(np.nansum(sections.luminosity)) / (luminosity_cm2s * CM2_PER_PB)
    return float(sections.live_s.sum())


@dataclass(frozen=True)
class _InSections:
    """The axis of the sections; its last bin is for events in none."""

    sections: Sections
    run: str
    section: str
    count_rejected: ClassVar[bool] = False

    @property
    def bins(self) -> int:
        return len(self.sections) + 1

    def needs(self) -> Iterable[Need]:
        return ("", self.run), ("", self.section)

    def __call__(self, work: Workspace) -> IntArray:
        numbers = work.events.scalars
        found = self.sections.index(numbers[self.run], numbers[self.section])
        return np.where(found < 0, len(self.sections), found)


def _sums(emulation: Emulation, axis: _InSections) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
    """Return Σ w f in Hz, its variance and the number of events, of the menu and its triggers in each
    section, float64[s, columns]; and the largest w f of each, float64[columns]."""
    counted, (menu,), (bits,) = emulation.counted(0, by_bin=True), emulation.menus, emulation.plan.bits
    labels = [MENU, *(Label("trigger", trigger.name, "total") for trigger in menu.enabled)]

    def accepted(words: Words, menus: tuple[Menu, ...]) -> sparse.csr_array:
        return fractions(menus[0], acceptances(words, menus[0], bits), ("total",)).of(labels)

    shape = axis.bins, len(labels)
    sums = RateSums(counted, axis.bins * len(labels))
    for rows in counted.blocks():
        part = counted.fractions(rows, accepted)
        place = np.repeat(counted.table.bin[rows], np.diff(part.indptr)) * len(labels) + part.indices
        sums.add(rows, sparse.csr_array((part.data, place, part.indptr), (part.shape[0], np.prod(shape))))
    hz, variance = (column.reshape(shape)[:-1] for column in sums.result())
    events, largest = sums.events.sum(axis=0).reshape(shape)[:-1], sums.largest.reshape(shape)
    return hz, variance, events, largest.max(axis=0)


def _scores(
    emulation: Emulation, catalogue: Catalogue, axis: _InSections, executor: Any
) -> dict[str, FloatArray]:
    """Return `RatesAlong.scores` by trigger, from another pass, of those that have a score other than an
    observable of their events."""
    (menu,), (bits,) = emulation.menus, emulation.plan.bits
    kinds = {trigger.name: trigger.description for trigger in menu.enabled}
    with_score = {
        name: bits[name]
        for name, kind in kinds.items()
        if isinstance(kind, ScoreKind) and not isinstance(kind, Threshold | LegThreshold)
    }
    if not with_score:
        return {}
    job = Job((menu,), emulation.plan, catalogue, frozenset(axis.needs()))
    read = partial(_in_sections, tuple(with_score.values()), axis)
    columns = per_event(job, ["weight"], read, executor=executor)
    scores = {}
    for name, score in zip(with_score, columns["scores"].T, strict=True):
        order = np.lexsort((score, columns["section"]))
        order = order[np.isfinite(score[order])]
        starts = np.searchsorted(columns["section"][order], np.arange(axis.bins))
        numbers = np.full((3 + len(QUANTILES), axis.bins - 1), np.nan)
        for section, rows in enumerate(np.split(order, starts[1:])[: axis.bins - 1]):
            value, weight = score[rows], columns["weight"][rows]
            numbers[0, section] = len(rows)
            if (total := weight.sum()) > 0:
                mean = weight @ value / total
                error = np.sqrt(weight**2 @ (value - mean) ** 2) / total
                where = np.searchsorted(np.cumsum(weight) / total, QUANTILES)
                numbers[1:, section] = mean, error, *value[np.minimum(where, len(rows) - 1)]
        scores[name] = numbers
    return scores


def _in_sections(slots: Sequence[int], axis: _InSections, plan: Plan, work: Workspace) -> Columns:
    """Return the scores of some slots, and the sections of their events."""
    return {"scores": scores_of(slots, plan, work), "section": axis(work)}
