"""A menu through a fill, and how it is shown: rates, time on target, settings, efficiencies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.errors import few_of
from trigemu.base.shown import Shown
from trigemu.menus.menu import Menu
from trigemu.rates.results import Rate
from trigemu.results import notes, numbers
from trigemu.results.table import Column, Page, Table, records
from trigemu.results.view import Pictures, View, name
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.sample import CM2_PER_PB

from .fill_config import FillConfig
from .filling import Filling
from .results import document_of_inputs
from .rules import Rules

#: The ways of setting thresholds and prescales.
FIXED, COLUMNS, CONTROL, BOTH = "fixed", "columns", "control", "both"


@dataclass(frozen=True)
class FillTrace:
    """A fill with one way of setting thresholds and prescales."""

    name: str  #: The way
    seed: int  #: The seed of the counts that controllers see
    before: FloatArray  #: float64[steps], the rate of the first level before the rules in Hz
    menu: FloatArray  #: float64[steps], that of the menu, which is the rate of its last level
    live: FloatArray  #: float64[steps], the part that is recorded
    rates: FloatArray  #: float64[k, steps], the recorded rate of each controlled trigger in Hz
    thresholds: FloatArray  #: float64[k, steps], their thresholds
    efficiencies: FloatArray  #: float64[s, steps], the recorded part of each signal
    columns: IntArray  #: int64[steps], the number of the column of prescales

    @property
    def recorded(self) -> FloatArray:
        """The recorded rate of the menu in Hz, float64[steps]."""
        return self.menu * self.live


@dataclass(frozen=True)
class Quantity:
    """A number that changes through a fill."""

    name: str  # In tables
    what: Literal["rate", "setting", "signal"]  # The table that it is in
    values: Callable[[FillTrace], FloatArray]  # float64[steps]
    key: str  # Of its figure
    label: str  # Of its axis
    text: Callable[[float], str] = str  # Formats a setting
    target_hz: float | None = None
    row: int = 0  # That of its errors


def _row_of(field: str, row: int | slice) -> Callable[[FillTrace], FloatArray]:
    """Return a function of a trace that gives a row of one of its fields, float64[steps]."""
    return lambda trace: getattr(trace, field)[row].astype(np.float64)


@dataclass(frozen=True, repr=False, kw_only=True)
class Fill(Shown):
    """A menu through a fill."""

    _view: ClassVar[str] = "trigemu_live.fill_results:FillView"

    menus: tuple[Menu, ...]  #: The menu with its budgets solved, in each column of prescales
    catalogue: Catalogue  #: The samples
    config: FillConfig  #: The fill
    filling: Filling  #: The filling scheme
    rules: Rules  #: The rules
    #: hours, pileup: float64[steps], the beginning of each step, and its mean number of interactions.
    hours: FloatArray
    pileup: FloatArray
    controlled: tuple[str, ...]  #: The controlled triggers
    #: Their targets in Hz, recorded; of a controller of the menu's rate, that of the menu.
    targets: tuple[float, ...]
    target_hz: float  #: The target of the menu in Hz, recorded
    signals: tuple[str, ...]  #: The signals
    #: Fixed thresholds; columns, if there are any; control with each seed; and control in columns.
    traces: tuple[FillTrace, ...]
    #: float64[2 + k, 2] by way (the first seed), the statistical errors in Hz of the recorded rates of the
    #: first level, the menu and the controlled triggers, in the first and the last step.
    errors: Mapping[str, FloatArray]
    models: Mapping[str, str]  #: The SHA-256 of each model file of the menu, by its path

    @property
    def menu(self) -> Menu:
        """The menu with its budgets solved, in the column of prescales at the beginning."""
        return self.menus[self.config.column_at(float(self.pileup[0])) or 0]

    @property
    def ways(self) -> Mapping[str, Sequence[FillTrace]]:
        """The traces of each way of setting thresholds."""
        names = dict.fromkeys(trace.name for trace in self.traces)
        return {name: [trace for trace in self.traces if trace.name == name] for name in names}

    @property
    def quantities(self) -> Iterator[Quantity]:
        """The numbers that change, in the order of tables."""
        rate, part = "recorded rate of {} in Hz", "recorded part of {} in %"
        menu, first = rate.format("the menu"), self.menu.levels[:1]
        yield Quantity("menu", "rate", lambda t: t.recorded, "menu", menu, target_hz=self.target_hz, row=1)
        for level in first if self.menu.levels[1:] else ():
            yield Quantity(f"level {level}", "rate", lambda t: t.before * t.live, level, rate.format(level))
        if self.rules.rules:
            live = "live fraction"
            yield Quantity(live, "setting", lambda t: 100 * t.live, "live", f"{live} in %", "{:.2f} %".format)
        for k, (trigger, control) in enumerate(zip(self.controlled, self.config.controls, strict=True)):
            target, label = self.targets[k] if control.of == "trigger" else None, rate.format(trigger)
            yield Quantity(trigger, "rate", _row_of("rates", k), trigger, label, target_hz=target, row=2 + k)
            above, label = _row_of("thresholds", k), f"threshold of {trigger}"
            yield Quantity(f"{trigger} above", "setting", above, f"{trigger}_above", label, "{:.4g}".format)
        if names := [column.name for column in self.config.columns]:
            number, label = _row_of("columns", slice(None)), "column of prescales"
            yield Quantity("column", "setting", number, "column", label, lambda v: names[int(v)])
        for s, signal in enumerate(self.signals):
            yield Quantity(signal, "signal", _row_of("efficiencies", s), signal, part.format(signal))

    def on_target(self, rates: FloatArray, target_hz: float) -> float:
        """Return the part of the steps in which a rate, float64[steps], is within the tolerance of a
        target."""
        return float(np.mean(np.abs(rates / target_hz - 1.0) <= self.config.fill.tolerance))

    def column_names(self, trace: FillTrace) -> list[str]:
        """Return the column of prescales in each step of a trace; empty texts without columns."""
        names = [column.name for column in self.config.columns] or [self.menu.columns.chosen or ""]
        return [names[number] for number in trace.columns.tolist()]


_WAY = Column("way", "key", "thresholds", "fixed, columns (of prescales), control, or both.")
_OF = "The menu, its first level if it has several, or a controlled trigger."
_ON_TARGET = "The part of the steps within the tolerance of the target, over seeds."
_RATES = (
    _WAY,
    Column("of", "key", "recorded rate", _OF),
    Column("first", "rate", "at first", "The rate in the first step.", parts=("hz", "error_hz")),
    Column("last", "rate", "at last", "The rate in the last step.", parts=("hz", "error_hz")),
    Column("target_hz", "number", "target", "Its target.", text=numbers.in_hz),
    Column("on_target", "number", None, _ON_TARGET),
    Column("on_target_spread", "number", None, "Its standard deviation between seeds."),
    Column("time", "label", "on target", in_files=False),
)
_EFFICIENCIES = (
    _WAY,
    Column("signal", "key", "signal", "The signal."),
    Column("first", "share", "at first", "Its recorded part in the first step."),
    Column("last", "share", "at last", "Its recorded part in the last step."),
    Column("mean", "share", "mean", "The mean over the steps."),
)
_SETTINGS = (
    _WAY,
    Column("setting", "label", "setting"),
    Column("first", "label", "at first"),
    Column("last", "label", "at last"),
)
#: How the columns of each trigger and signal end in CSV, by their key in JSON.
_ENDINGS = {"rates_hz": "hz", "thresholds": "above", "efficiencies": "part"}


class FillView(View[Fill]):
    def line(self, result: Fill) -> str:
        return f"of {name(result.menu.name)}: {result.hours[-1]:.3g} h, pile-up {_range(result.pileup)}"

    def page(self, result: Fill) -> Page:
        table = Table(_RATES)
        for row in _rates(result):
            table.add_record(row | ({"of": f"menu {result.menu.name}"} if row["of"] == "menu" else {}))
        tables = [table, Table(_SETTINGS)]
        for way, quantity, values in _means(result, "setting"):
            tables[1].add(way, quantity.name, *map(quantity.text, values[[0, -1]].tolist()))
        if result.signals:
            tables.append(_efficiencies(result))
        if rows := [*_recorded_pb(result)]:
            of_ways = [Column(way, "number", way, text=lambda pb: f"{pb:.4g} pb⁻¹") for way in result.ways]
            # Triggers that record the most by each way, as those without a prescale do, share a row.
            most = {way: max(row[way] for row in rows) for way in result.ways}
            all_of_it = [row["of"] for row in rows if row == row | most]
            shown = [{"of": few_of(all_of_it, 3), **most}] if all_of_it else []
            shown += [row for row in rows if row["of"] not in all_of_it]
            tables.append(Table.of([Column("of", "key", "recorded luminosity"), *of_ways], shown))
        return Page(tables, [*_notes(result)])

    def csv_table(self, result: Fill) -> Table:
        """Return a row for each step."""
        rows: list[dict[str, Any]] = []
        for trace in _traces(result):
            columns = {key: [trace.pop(key)] * len(result.hours) for key in ("way", "seed")}
            columns |= {"hours": result.hours.tolist(), "pileup": result.pileup.tolist()}
            columns["column"] = trace.pop("columns")
            for key, values in trace.items():
                ending = _ENDINGS.get(key)
                columns |= {f"{of}_{ending}": v for of, v in values.items()} if ending else {key: values}
            rows += [dict(zip(columns, step, strict=True)) for step in zip(*columns.values(), strict=True)]
        return Table.of([Column(key) for key in rows[0]], rows)

    def document(self, result: Fill) -> dict[str, Any]:
        config, filling, rules = result.config, result.filling, result.rules
        document = document_of_inputs(result.menu, result.catalogue, result.models)
        del document["menu"]["column"]
        document["provenance"]["fill"] = {"path": str(config.path), "sha256": config.sha256}
        return document | {
            "columns": [{"name": column.name, "below": column.below} for column in config.columns],
            "filling": {"name": filling.name, "colliding": len(filling.slots)},
            "rules": {"name": rules.name, "source": rules.source, "rules": list(rules.labels)},
            "hours": result.hours.tolist(),
            "pileup": result.pileup.tolist(),
            "controlled": list(result.controlled),
            "targets_hz": list(result.targets),
            "target_hz": result.target_hz,
            "rows": records(self.table(result)),
            "efficiencies": records(_efficiencies(result)),
            "recorded_pb": [*_recorded_pb(result)],
            "traces": [*_traces(result)],
        }

    def pictures(self, result: Fill) -> Pictures:
        """Draw each quantity against time; controllers are shown with the first seed."""
        from .figures import picture_of_fill  # which loads Matplotlib

        hours, tolerance = result.hours, result.config.fill.tolerance
        yield picture_of_fill("pileup", "interactions a crossing", hours, {"µ": result.pileup})
        for q in result.quantities:
            factor = 100.0 if q.what == "signal" else 1.0
            lines = {way: factor * q.values(traces[0]) for way, traces in result.ways.items()}
            names = [column.name for column in result.config.columns] if q.name == "column" else []
            yield picture_of_fill(q.key, q.label, hours, lines, q.target_hz, tolerance, names)


def _traces(result: Fill) -> Iterator[dict[str, Any]]:
    """Yield all numbers of each trace, with lists of values for the steps."""
    for trace in result.traces:
        yield {
            "way": trace.name,
            "seed": trace.seed,
            "columns": result.column_names(trace),
            "before_hz": trace.before.tolist(),
            "live": trace.live.tolist(),
            "recorded_hz": trace.recorded.tolist(),
            "rates_hz": dict(zip(result.controlled, trace.rates.tolist(), strict=True)),
            "thresholds": dict(zip(result.controlled, trace.thresholds.tolist(), strict=True)),
            "efficiencies": dict(zip(result.signals, trace.efficiencies.tolist(), strict=True)),
        }


def _means(result: Fill, what: str) -> Iterator[tuple[str, Quantity, FloatArray]]:
    """Yield the way and the mean over its seeds, float64[steps], of the quantities of a table; of columns,
    which all seeds share, those of the first."""
    for way, traces in result.ways.items():
        for quantity in result.quantities:
            if quantity.what == what:
                yield way, quantity, np.mean([quantity.values(trace) for trace in traces], axis=0)


def _rates(result: Fill) -> Iterator[dict[str, Any]]:
    """Yield the rows of rates: means over the seeds of a way, with the errors of the first seed."""
    for way, quantity, mean in _means(result, "rate"):
        row: dict[str, Any] = {"way": way, "of": quantity.name}
        for place, step in (("first", 0), ("last", -1)):
            hz, error = float(mean[step]), float(result.errors[way][quantity.row, step])
            row[place] = Rate(hz, error, 1, (hz / error) ** 2 if error else 0.0, None)
        if target := quantity.target_hz:
            of_seeds = [result.on_target(quantity.values(trace), target) for trace in result.ways[way]]
            share, spread = float(np.mean(of_seeds)), float(np.std(of_seeds, ddof=1)) if of_seeds[1:] else 0.0
            time = numbers.percent(share, spread) if spread else f"{100 * share:.3g} %"
            row |= {"target_hz": target, "on_target": share, "on_target_spread": spread, "time": time}
        yield row


def _efficiencies(result: Fill) -> Table:
    table = Table(_EFFICIENCIES)
    for way, quantity, mean in _means(result, "signal"):
        table.add(way, quantity.name, *mean[[0, -1]].tolist(), float(mean.mean()))
    return table


def _recorded_pb(result: Fill) -> Iterator[dict[str, Any]]:
    """Yield the integrated luminosity in pb⁻¹ that each trigger records by each way (means over seeds).
    Nothing if the luminosity of the sample is unknown."""
    luminosity = notes.working_point(result.menu, result.catalogue)["luminosity_cm2s"]
    mean = result.catalogue.table.mean_interactions
    if not (luminosity and mean):
        return
    seconds = 3600.0 * np.diff(result.hours, append=result.config.fill.hours)
    delivered = CM2_PER_PB * luminosity * result.pileup / mean * seconds
    live = {way: np.mean([trace.live for trace in traces], axis=0) for way, traces in result.ways.items()}
    for trigger in result.menu.enabled:
        chance = np.array([1.0 / menu.trigger(trigger.name).prescale for menu in result.menus])
        yield {"of": trigger.name} | {
            way: float((delivered * live[way] * chance[traces[0].columns]).sum())
            for way, traces in result.ways.items()
        }


def _range(pileup: FloatArray) -> str:
    return f"{pileup[0]:.3g} to {pileup[-1]:.3g}"


def _notes(result: Fill) -> Iterator[str]:
    fill, columns = result.config.fill, result.config.columns
    yield from notes.source(result.menu, result.catalogue)
    made_with = result.catalogue.table.mean_interactions
    of_sample = f"; the sample has {made_with:.3g}" if made_with else ""
    yield f"µ = {_range(result.pileup)} interactions a crossing{of_sample}."
    if columns:
        first = columns[result.config.column_at(float(result.pileup[0])) or 0].name
        used = ", ".join(f"{column.name} from µ = {column.below:g} down" for column in columns)
        yield f"Columns of prescales: {used}. Fixed and control: {first}, that at the beginning."
    yield (
        f"{fill.hours:g} h in steps of {fill.step_seconds:g} s: "
        f"{result.filling.name}; rules {result.rules.name}: {result.rules.text}."
    )
    yield "±: events of the samples."
    if any(_recorded_pb(result)):
        yield "Recorded luminosity: that of the fill, times the live fraction, over the prescale."
    yield f"On target: within {100 * fill.tolerance:g} % of it, part of the time."
    seeds = len(result.ways.get(CONTROL, ()))
    if seeds > 1:
        yield f"Control: mean of {seeds} seeds; ± is the standard deviation between them."
    for control in result.config.controls:
        yield (
            f"{control.trigger}: P = {control.proportional:g}, I = {control.integral:g}, counts "
            f"{control.seconds:g} s of accepts of the {control.of}, one in {control.prescale:g}."
        )
    for way, where in ((CONTROL, ""), (BOTH, " in columns")):
        for k, control in enumerate(result.config.controls if way in result.ways else ()):
            yield from _troubles(result, result.ways[way], k, f"the controller of {control.trigger}{where}")
    if result.catalogue.left_out:
        yield f"Warning: {result.catalogue.left_out_text}."


def _troubles(result: Fill, traces: Sequence[FillTrace], k: int, controller: str) -> Iterator[str]:
    """Yield whether a controller does not hold its rate, and what would help."""
    tolerance, control = 100 * result.config.fill.tolerance, result.config.controls[k]
    rates = [trace.recorded if control.of == "menu" else trace.rates[k] for trace in traces]
    prescales = np.array([menu.trigger(control.trigger).prescale for menu in result.menus])
    on = np.isfinite(prescales)[traces[0].columns]  # a column may switch it off
    with np.errstate(divide="ignore", invalid="ignore"):  # a rate of 0
        distance = np.log(np.array(rates)[:, on] / result.targets[k])
        lag, spread = 100 * float(np.expm1(distance.mean())), 100 * float(distance.std())
    counted = result.targets[k] * min(control.seconds, result.config.fill.step_seconds) / control.prescale
    if abs(lag) > tolerance:
        where = f"{abs(lag):.3g} % {'above' if lag > 0 else 'below'} its target in the mean"
        advice = "try a larger integral, or shorter steps"
        yield f"Warning: {controller} does not follow: the rate is {where}; {advice}."
    elif spread > tolerance:
        yield (
            f"Warning: {controller} does not hold its rate, which fluctuates by {spread:.3g} %; it sees "
            f"{counted:.3g} accepts in a step, ± {100 / counted**0.5:.3g} %: give it more seconds, a smaller "
            f"prescale, or smaller gains."
        )
