"""A fill as tables: rates, time on target, efficiencies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trigemu.base.arrays import FloatArray
from trigemu.base.errors import few_of
from trigemu.rates.results import Rate
from trigemu.results import notes, numbers
from trigemu.results.table import Column, Page, Table, records
from trigemu.results.view import View, name
from trigemu.samples.sample import CM2_PER_PB

from .fill import BOTH, CONTROL, Fill, FillTrace
from .view import document_of_inputs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WAY = Column("way", "key", "thresholds", "fixed, columns (of prescales), control, or both.")
_RATES = (
    _WAY,
    Column(
        "of", "key", "recorded rate", "The menu, its first level if it has several, or a controlled trigger."
    ),
    Column("first", "rate", "at first", "The rate in the first step.", parts=("hz", "error_hz")),
    Column("last", "rate", "at last", "The rate in the last step.", parts=("hz", "error_hz")),
    Column("target_hz", "number", "target", "Its target.", text=numbers.in_hz),
    Column(
        "on_target", "number", None, "The part of the steps within the tolerance of the target, over seeds."
    ),
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


class FillView(View[Fill]):
    def line(self, result: Fill) -> str:
        return f"of {name(result.menu.name)}: {result.hours[-1]:.3g} h, pile-up {_range(result.pileup)}"

    def page(self, result: Fill) -> Page:
        table = Table(_RATES)
        for row in _rates(result):
            table.add_record(row | ({"of": f"menu {result.menu.name}"} if row["of"] == "menu" else {}))
        tables = [table, Table.of(_SETTINGS, _settings(result))]
        if result.signals:
            tables.append(Table.of(_EFFICIENCIES, _efficiencies(result)))
        if rows := [*_recorded_pb(result)]:
            of_ways = [Column(way, "number", way, text=lambda pb: f"{pb:.4g} pb⁻¹") for way in result.ways]
            tables.append(
                Table.of([Column("of", "key", "recorded luminosity"), *of_ways], _without_repeats(rows))
            )
        return Page(tables, [*_notes(result)])

    def csv_table(self, result: Fill) -> Table:
        """Return a row for each step."""
        traces = [_of_trace(result, trace) for trace in result.traces]
        steps = (zip(*trace.values(), strict=True) for trace in traces)
        rows = [dict(zip(traces[0], step, strict=True)) for of_trace in steps for step in of_trace]
        return Table.of([Column(name) for name in traces[0]], rows)

    def document(self, result: Fill) -> dict[str, Any]:
        menu, config, filling, rules = result.menu, result.config, result.filling, result.rules
        document = document_of_inputs(menu, result.catalogue, result.models)
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
            "efficiencies": records(Table.of(_EFFICIENCIES, _efficiencies(result))),
            "recorded_pb": [*_recorded_pb(result)],
            "traces": [
                {
                    "way": trace.name,
                    "seed": trace.seed,
                    "columns": _column_names(result, trace),
                    "before_hz": trace.before.tolist(),
                    "live": trace.live.tolist(),
                    "recorded_hz": trace.recorded.tolist(),
                    "rates_hz": dict(zip(result.controlled, trace.rates.tolist(), strict=True)),
                    "thresholds": dict(zip(result.controlled, trace.thresholds.tolist(), strict=True)),
                    "efficiencies": dict(zip(result.signals, trace.efficiencies.tolist(), strict=True)),
                }
                for trace in result.traces
            ],
        }

    def figures(self, result: Fill) -> Iterator[Figure]:
        from .figures import figures_of_fill  # which loads Matplotlib

        return (picture.figure for picture in figures_of_fill(result))


def _rates(result: Fill) -> Iterator[dict[str, Any]]:
    """Yield the rows of rates: means over the seeds of a way."""
    for way, traces in result.ways.items():
        yield _row(result, way, "menu", [trace.recorded for trace in traces], 1, result.target_hz)
        if result.menu.levels[1:]:
            recorded = [trace.before * trace.live for trace in traces]
            yield _row(result, way, f"level {result.menu.levels[0]}", recorded, 0)
        for k, (trigger, control) in enumerate(zip(result.controlled, result.config.controls, strict=True)):
            target = result.targets[k] if control.of == "trigger" else None
            yield _row(result, way, trigger, [trace.rates[k] for trace in traces], 2 + k, target)


def _row(
    result: Fill,
    way: str,
    quantity: str,
    rates: Sequence[FloatArray],
    number: int,
    target: float | None = None,
) -> dict[str, Any]:
    """Return the row of a rate; its errors are those with the first seed."""
    row: dict[str, Any] = {"way": way, "of": quantity}
    for place, step in (("first", 0), ("last", -1)):
        hz, error = float(np.mean([rate[step] for rate in rates])), float(result.errors[way][number, step])
        row[place] = Rate(hz, error, 1, (hz / error) ** 2 if error else 0.0, None)
    if target is None:
        return row
    shares = np.array([result.on_target(rate, target) for rate in rates])
    share, spread = float(shares.mean()), float(shares.std(ddof=1)) if len(shares) > 1 else 0.0
    time = numbers.percent(share, spread) if spread else f"{100 * share:.3g} %"
    return row | {"target_hz": target, "on_target": share, "on_target_spread": spread, "time": time}


def _efficiencies(result: Fill) -> Iterator[dict[str, Any]]:
    for way, traces in result.ways.items():
        for s, signal in enumerate(result.signals):
            values = np.mean([trace.efficiencies[s] for trace in traces], axis=0)
            means = {"first": float(values[0]), "last": float(values[-1]), "mean": float(values.mean())}
            yield {"way": way, "signal": signal, **means}


def _settings(result: Fill) -> Iterator[dict[str, Any]]:
    """Yield what changes besides rates, in means over the seeds of a way: texts."""
    for way, traces in result.ways.items():
        if result.rules.rules:
            live = 100 * np.mean([trace.live for trace in traces], axis=0)
            yield _ends(way, "live fraction", [f"{value:.2f} %" for value in live])
        for k, trigger in enumerate(result.controlled):
            above = np.mean([trace.thresholds[k] for trace in traces], axis=0)
            yield _ends(way, f"{trigger} above", [f"{value:.4g}" for value in above])
        if result.config.columns:
            yield _ends(way, "column", _column_names(result, traces[0]))


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
        of_ways = {
            way: float((delivered * live[way] * chance[traces[0].columns]).sum())
            for way, traces in result.ways.items()
        }
        yield {"of": trigger.name, **of_ways}


def _without_repeats(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for all triggers that record the most by each way, as those without a prescale do, then
    the others."""
    most = {way: max(row[way] for row in rows) for way in rows[0] if way != "of"}
    all_of_it = [row["of"] for row in rows if row == row | most]
    others = [row for row in rows if row["of"] not in all_of_it]
    return [{"of": few_of(all_of_it, 3), **most}, *others] if all_of_it else rows


def _ends(way: str, setting: str, texts: Sequence[str]) -> dict[str, Any]:
    return {"way": way, "setting": setting, "first": texts[0], "last": texts[-1]}


def _column_names(result: Fill, trace: FillTrace) -> list[str]:
    """Return the column of prescales in each step; empty without columns."""
    names = [column.name for column in result.config.columns] or [result.menu.columns.chosen or ""]
    return [names[number] for number in trace.columns.tolist()]


def _of_trace(result: Fill, trace: FillTrace) -> dict[str, Sequence[Any]]:
    """Return the columns of a trace, by name, with a value for each step."""
    columns: dict[str, Sequence[Any]] = {
        "way": [trace.name] * len(result.hours),
        "seed": [trace.seed] * len(result.hours),
        "hours": result.hours.tolist(),
        "pileup": result.pileup.tolist(),
        "column": _column_names(result, trace),
        "before_hz": trace.before.tolist(),
        "live": trace.live.tolist(),
        "recorded_hz": trace.recorded.tolist(),
    }
    for names, ending, table in (
        (result.controlled, "hz", trace.rates),
        (result.controlled, "above", trace.thresholds),
        (result.signals, "part", trace.efficiencies),
    ):
        columns |= {f"{name}_{ending}": row.tolist() for name, row in zip(names, table, strict=True)}
    return columns


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
    yield from _troubles(result)
    if result.catalogue.left_out:
        yield f"Warning: {result.catalogue.left_out_text}."


def _troubles(result: Fill) -> Iterator[str]:
    """Yield which controllers do not hold their rate, and what would help."""
    for way in (CONTROL, BOTH):
        where = " in columns" if way == BOTH else ""
        for k, control in enumerate(result.config.controls if way in result.ways else ()):
            yield from _trouble(result, result.ways[way], k, f"the controller of {control.trigger}{where}")


def _trouble(result: Fill, traces: Sequence[FillTrace], k: int, controller: str) -> Iterator[str]:
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
