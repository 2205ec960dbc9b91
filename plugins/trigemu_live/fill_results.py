"""A menu through a fill, and how it is shown: rates, time on target, settings, efficiencies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.errors import few_of
from trigemu.menus.menu import Menu
from trigemu.rates.results import Rate
from trigemu.results import notes, numbers
from trigemu.results.table import Column, Page, Table, records
from trigemu.results.view import Pictures, View, name
from trigemu.samples.sample import CM2_PER_PB

from .fill_config import FillConfig
from .results import ReadoutResult, document_of

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


def _row(field: str, row: int, factor: float = 1.0) -> Callable[[FillTrace], FloatArray]:
    """Return a function of a trace that gives a row of one of its fields, float64[steps]."""
    return lambda trace: factor * getattr(trace, field)[row]


class Quantity(NamedTuple):
    """A number that changes through a fill."""

    name: str  # In tables
    key: str  # Of its figure
    label: str  # Of its axis
    values: Callable[[FillTrace], FloatArray]  # float64[steps]
    text: Callable[[float], str] = str  # Formats it, if it is no rate
    error: int | None = None  # The row of its errors, if it is a rate
    target_hz: float | None = None
    signal: bool = False


@dataclass(frozen=True, repr=False, kw_only=True)
class Fill(ReadoutResult):
    """A menu through a fill."""

    _view: ClassVar[str] = "trigemu_live.fill_results:FillView"

    menus: tuple[Menu, ...]  #: The menu with its budgets solved, in each column of prescales
    config: FillConfig  #: The fill
    #: hours, pileup: float64[steps], the beginning of each step, and its mean number of interactions.
    hours: FloatArray
    pileup: FloatArray
    #: The targets of controllers in Hz, recorded; of one of the menu's rate, that of the menu.
    targets: tuple[float, ...]
    target_hz: float  #: The target of the menu in Hz, recorded
    #: Fixed thresholds; columns, if there are any; control with each seed; and control in columns.
    traces: tuple[FillTrace, ...]
    #: float64[2 + k, 2] by way (the first seed), the statistical errors in Hz of the recorded rates of the
    #: first level, the menu and the controlled triggers, in the first and the last step.
    errors: Mapping[str, FloatArray]

    @property
    def controlled(self) -> tuple[str, ...]:
        """The controlled triggers."""
        return tuple(control.trigger for control in self.config.controls)

    @property
    def signals(self) -> tuple[str, ...]:
        """The signals."""
        return tuple(self.config.fill.signals)

    @property
    def menu(self) -> Menu:
        """The menu with its budgets solved, in the column of prescales at the beginning."""
        return self.menus[int(self.traces[0].columns[0])]

    @property
    def ways(self) -> Mapping[str, Sequence[FillTrace]]:
        """The traces of each way of setting thresholds."""
        names = dict.fromkeys(trace.name for trace in self.traces)
        return {name: [trace for trace in self.traces if trace.name == name] for name in names}

    @property
    def quantities(self) -> Iterator[Quantity]:
        """The numbers that change, in the order of tables."""
        rate, menu = "recorded rate of {} in Hz".format, self.target_hz
        yield Quantity("menu", "menu", rate("the menu"), lambda t: t.recorded, error=1, target_hz=menu)
        for level in self.menu.levels[:-1][:1]:
            yield Quantity(f"level {level}", level, rate(level), lambda t: t.before * t.live, error=0)
        if self.rules.rules:
            live = "live fraction"
            yield Quantity(live, "live", f"{live} in %", lambda t: 100 * t.live, "{:.2f} %".format)
        for k, (trigger, control) in enumerate(zip(self.controlled, self.config.controls, strict=True)):
            target, label = self.targets[k] if control.of == "trigger" else None, rate(trigger)
            yield Quantity(trigger, trigger, label, _row("rates", k), error=2 + k, target_hz=target)
            label, above = f"threshold of {trigger}", _row("thresholds", k)
            yield Quantity(f"{trigger} above", f"{trigger}_above", label, above, "{:.4g}".format)
        if names := [column.name for column in self.config.columns]:
            label = "column of prescales"
            yield Quantity(
                "column", "column", label, lambda t: t.columns.astype(np.float64), lambda v: names[int(v)]
            )
        for s, signal in enumerate(self.signals):
            label, part = f"recorded part of {signal} in %", _row("efficiencies", s, 100.0)
            yield Quantity(signal, signal, label, part, "{:.3g} %".format, signal=True)

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
#: Live fraction, thresholds, column of prescales, and efficiencies of signals.
_FURTHER = (
    _WAY,
    Column("of", "label", "setting or signal"),
    Column("first", "label", "at first"),
    Column("last", "label", "at last"),
    Column("mean", "label", "mean"),
)
#: How the columns of each trigger and signal end in CSV, by their key in JSON.
_ENDINGS = {"rates_hz": "hz", "thresholds": "above", "efficiencies": "part"}


class FillView(View[Fill]):
    def line(self, result: Fill) -> str:
        return f"of {name(result.menu.name)}: {result.hours[-1]:.3g} h, pile-up {_range(result.pileup)}"

    def page(self, result: Fill) -> Page:
        table, further = Table(_RATES), Table(_FURTHER)
        for row in _rates(result):
            table.add_record(row | ({"of": f"menu {result.menu.name}"} if row["of"] == "menu" else {}))
        for way, quantity, values in _means(result):
            if quantity.error is None:
                mean = "" if quantity.key == "column" else quantity.text(float(values.mean()))
                further.add(way, quantity.name, *map(quantity.text, values[[0, -1]].tolist()), mean)
        tables = [table, further] if further.rows else [table]
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
            steps: dict[str, Any] = {"hours": result.hours.tolist(), "pileup": result.pileup.tolist()}
            steps["column"] = trace["columns"]
            for key, values in trace.items():
                if ending := _ENDINGS.get(key):
                    steps |= {f"{name}_{ending}": of_name for name, of_name in values.items()}
                elif key.endswith("_hz") or key == "live":
                    steps[key] = values
            way = {"way": trace["way"], "seed": trace["seed"]}
            rows += [way | dict(zip(steps, step, strict=True)) for step in zip(*steps.values(), strict=True)]
        return Table.of([Column(key) for key in rows[0]], rows)

    def document(self, result: Fill) -> dict[str, Any]:
        config = result.config
        document = document_of(result, result.menu)
        del document["menu"]["column"]
        document["provenance"]["fill"] = {"path": str(config.path), "sha256": config.sha256}
        return document | {
            "columns": [{"name": column.name, "below": column.below} for column in config.columns],
            "hours": result.hours.tolist(),
            "pileup": result.pileup.tolist(),
            "controlled": list(result.controlled),
            "targets_hz": list(result.targets),
            "target_hz": result.target_hz,
            "rows": records(self.table(result)),
            "efficiencies": [
                {"way": way, "signal": q.name, "first": v[0], "last": v[-1], "mean": v.mean()}
                for way, q, values in _means(result)
                for v in [values / 100]
                if q.signal
            ],
            "recorded_pb": [*_recorded_pb(result)],
            "traces": [*_traces(result)],
        }

    def pictures(self, result: Fill) -> Pictures:
        """Draw each quantity against time; controllers are shown with the first seed."""
        from .figures import picture_of_fill  # which loads Matplotlib

        hours, tolerance = result.hours, result.config.fill.tolerance
        yield picture_of_fill("pileup", "interactions a crossing", hours, {"µ": result.pileup})
        for q in result.quantities:
            lines = {way: q.values(traces[0]) for way, traces in result.ways.items()}
            names = [column.name for column in result.config.columns] if q.key == "column" else []
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


def _means(result: Fill) -> Iterator[tuple[str, Quantity, FloatArray]]:
    """Yield the way and the mean over its seeds, float64[steps], of each quantity."""
    for way, traces in result.ways.items():
        for quantity in result.quantities:
            yield way, quantity, np.mean([quantity.values(trace) for trace in traces], axis=0)


def _rates(result: Fill) -> Iterator[dict[str, Any]]:
    """Yield the rows of rates: means over the seeds of a way, with the errors of the first seed."""
    for way, quantity, mean in _means(result):
        if quantity.error is None:
            continue
        row: dict[str, Any] = {"way": way, "of": quantity.name}
        errors = result.errors[way][quantity.error]
        for place, hz, error in zip(("first", "last"), mean[[0, -1]].tolist(), errors.tolist(), strict=True):
            row[place] = Rate(hz, error, 1, (hz / error) ** 2 if error else 0.0, None)
        if target := quantity.target_hz:
            of_seeds = [result.on_target(quantity.values(trace), target) for trace in result.ways[way]]
            share, spread = float(np.mean(of_seeds)), float(np.std(of_seeds, ddof=1)) if of_seeds[1:] else 0.0
            time = numbers.percent(share, spread) if spread else f"{100 * share:.3g} %"
            row |= {"target_hz": target, "on_target": share, "on_target_spread": spread, "time": time}
        yield row


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
    fill, columns, rules = result.config.fill, result.config.columns, result.rules
    yield from notes.source(result.menu, result.catalogue)
    made_with = result.catalogue.table.mean_interactions
    of_sample = f"; the sample has {made_with:.3g}" if made_with else ""
    yield f"µ = {_range(result.pileup)} interactions a crossing{of_sample}."
    if columns:
        first = result.column_names(result.traces[0])[0]
        used = ", ".join(f"{column.name} from µ = {column.below:g} down" for column in columns)
        yield f"Columns of prescales: {used}. Fixed and control: {first}, that at the beginning."
    steps = f"{fill.hours:g} h in steps of {fill.step_seconds:g} s"
    yield f"{steps}: {result.filling.name}; rules {rules.name}: {rules.text}."
    yield "±: events of the samples."
    if any(_recorded_pb(result)):
        yield "Recorded luminosity: that of the fill, times the live fraction, over the prescale."
    yield f"On target: within {100 * fill.tolerance:g} % of it, part of the time."
    if (seeds := len(result.ways.get(CONTROL, ()))) > 1:
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
