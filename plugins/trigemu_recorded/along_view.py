"""What `trigemu rates-vs section` shows: a line for each trigger, where its rate departs, and its scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trigemu.rates.results import Rate
from trigemu.results.numbers import count, in_unit, with_error
from trigemu.results.table import Column, Page, Table, stacked
from trigemu.results.view import Figures, View, name

from .along import QUANTILES, RatesAlong, RunRates
from .trends import LEVEL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The most triggers of a figure, two panels each.
_DRAWN = 6
_SCORES = ("scored", "score_mean", "score_error", *(f"score_{100 * q:g}" for q in QUANTILES))
#: A rate in a section, in files.
COLUMNS = (
    Column("run", "label", None, "The number of the run."),
    Column("section", "label", None, "The number of the section."),
    Column("live_s", "number", None, "Its live time in s."),
    Column("luminosity_pb", "number", None, "Its luminosity in pb⁻¹."),
    Column("pileup", "number", None, "Its mean pile-up."),
    Column("name", "label", None, "The name of the trigger or menu."),
    Column("kind", "label", None, "`trigger` or `menu`."),
    Column(
        "rate", "rate", None, "The rate in the section.", parts=("hz", "error_hz", "events", "upper_limit_hz")
    ),
    Column("fit_hz", "number", None, "The rate of the fit, with its changes."),
    Column("cross_section_nb", "number", None, "The rate over the luminosity per second, in nb."),
    Column("per_pileup_hz", "number", None, "The rate over the pile-up in Hz."),
    Column("outlier", "flag", None, "Whether the section departs from the fit, which is then without it."),
    *(Column(key, "number", None, "Of a trigger with a score.") for key in _SCORES),
)


class RunRatesView(View[RunRates]):
    def line(self, result: RunRates) -> str:
        return f"of {name(result.menu.name)} in {count(len(result.sections), 'section')}"

    def page(self, result: RunRates, triggers: Sequence[str] = ()) -> Page:
        """A line for each trigger, or for some; then a line for each departure."""
        at = result.pileup
        trends = Table(
            (
                Column("name", "key", "trigger"),
                Column("rate", "label", "rate"),
                Column("order", "number", "order"),
                Column("chi2", "label", "χ²/ndf"),
                Column("p", "label", "p of one more", gives_way=1),
                *([Column("at", "label", f"at µ = {at:g}")] if at is not None else []),
                Column("outliers", "number", "outliers"),
                Column("changes", "number", "changes"),
            )
        )
        departures = Table(
            (
                Column("name", "key", "trigger"),
                Column("what", "label", "departure"),
                Column("from", "label", "from run:section"),
                Column("to", "label", "to"),
                Column("ratio", "label", "rate / fit"),
            )
        )
        scores = Table(
            (
                Column("name", "key", "trigger"),
                Column("mean", "label", "mean score"),
                Column("chi2", "label", "χ²/ndf of means"),
                *(Column(f"q{q}", "label", f"{100 * q:g} %: lowest to highest") for q in QUANTILES),
            )
        )
        for rates in result.rates:
            if triggers and rates.name not in triggers:
                continue
            _add_trend(trends, result, rates)
            _add_departures(departures, result, rates)
            if rates.scores is not None:
                _add_scores(scores, rates)
        return Page(stacked(table for table in (trends, departures, scores) if table.rows), [*_notes(result)])

    def table(self, result: RunRates) -> Table:
        """A row for each trigger in each section."""
        table, sections = Table(COLUMNS), result.sections
        for rates in result.rates:
            none, trend = np.full(len(sections), np.nan), rates.trend
            per_second = sections.luminosity / sections.live_s * 1e3  # in nb⁻¹
            with np.errstate(divide="ignore", invalid="ignore"):
                columns = (
                    *(sections.run, sections.section, sections.live_s, sections.luminosity, sections.pileup),
                    trend.expected if trend else none,
                    rates.hz / per_second,
                    rates.hz / sections.pileup,
                    np.isin(np.arange(len(sections)), trend.outliers) if trend else none,
                    *(rates.scores.T if rates.scores is not None else ()),
                )
            of_rates = rates.hz, rates.error_hz, rates.events, rates.limit_hz
            for row in zip(zip(*of_rates, strict=True), *columns, strict=True):
                (hz, error, events, limit), *numbers = row
                rate = Rate(float(hz), float(error), int(events), 0.0, None if events else float(limit))
                values = [x.item() if x == x else None for x in numbers]
                table.add(*values[:5], rates.name, rates.kind, rate, *values[5:])
        return table

    def document(self, result: RunRates) -> dict[str, Any]:
        """`sections`: as in CSV; `trends`: the fits and departures of each trigger."""
        return {
            "menu": result.menu.name,
            "false_alarms": result.false_alarms,
            "events_outside": result.outside,
            "trends": [_trend(result, rates) for rates in result.rates],
        } | {"sections": super().document(result)["rows"]}

    def figures(self, result: RunRates) -> Figures:
        yield figure_of(result)


def _place(result: RunRates, section: int) -> str:
    return f"{result.sections.run[section]}:{result.sections.section[section]}"


def _mean(result: RunRates, rates: RatesAlong) -> str:
    live = result.sections.live_s
    error = float(np.sqrt(((rates.error_hz * live) ** 2).sum()) / live.sum())
    if not rates.events.any():
        return f"< {in_unit(1 / float((1 / rates.limit_hz).sum()), 0.0)}"
    return in_unit(float(rates.hz @ live / live.sum()), error)


def _add_trend(table: Table, result: RunRates, rates: RatesAlong) -> None:
    values: dict[str, Any] = {"name": rates.name, "rate": _mean(result, rates)}
    if trend := rates.trend:
        values |= {"order": trend.order, "chi2": f"{trend.chi2:.0f}/{trend.dof}"}
        values["p"] = None if trend.p_more is None else f"{trend.p_more:.2g}"
        values |= {"outliers": len(trend.outliers), "changes": len(trend.parts)}
        if result.pileup is not None:
            values["at"] = in_unit(*map(float, trend.at(result.pileup)))
    table.add_record(values, "summary" if rates.kind == "menu" else "plain")


def _add_departures(table: Table, result: RunRates, rates: RatesAlong) -> None:
    if trend := rates.trend:
        for part in trend.parts:
            ends = _place(result, part.start), _place(result, part.stop - 1)
            table.add(rates.name, "change", *ends, with_error(part.ratio, part.error))
        for row in trend.outliers.tolist():
            ratio, error = (float(x[row] / trend.expected[row]) for x in (rates.hz, rates.error_hz))
            table.add(rates.name, "outlier", *[_place(result, row)] * 2, with_error(ratio, error))


def _add_scores(table: Table, rates: RatesAlong) -> None:
    assert rates.scores is not None
    numbers = rates.scores[rates.scores[:, 0] > 1]
    if not len(numbers):
        return
    means, weights = numbers[:, 1], 1 / np.maximum(numbers[:, 2], 1e-300) ** 2
    mean = float(means @ weights / weights.sum())
    chi2 = float(weights @ (means - mean) ** 2)
    ranges = [f"{column.min():.4g} to {column.max():.4g}" for column in numbers[:, 3:].T]
    table.add(
        rates.name, with_error(mean, float(weights.sum() ** -0.5)), f"{chi2:.0f}/{len(means) - 1}", *ranges
    )


def _notes(result: RunRates) -> list[str]:
    sections, at = result.sections, result.pileup
    live = f"{count(len(sections), 'section')}, live for {sections.live_s.sum():.6g} s"
    if not np.isfinite(sections.pileup).all():
        notes = [f"{live}; not all have a pile-up, so there are no fits: section_table needs its column."]
    else:
        low, high = sections.pileup.min(), sections.pileup.max()
        notes = [
            f"{live}, at a pile-up of {low:.4g} to {high:.4g}.",
            f"Order: the lowest of a polynomial in the pile-up that no order more improves, F test at "
            f"{100 * LEVEL:g} %. Errors of fits include χ²/ndf above 1.",
            f"Outliers and changes: in a run without one, the probability to find one is "
            f"{100 * result.false_alarms:g} % for each trigger.",
        ]
        if at is not None and not low <= at <= high:
            notes.append(
                f"µ = {at:g} is an extrapolation: its error is that of the fit, and the order beyond the "
                f"sections is not known."
            )
    if result.outside:
        notes.append(f"{count(result.outside, 'event')} in no section with live time: not in these rates.")
    return [*notes, *result.catalogue.warnings]


def _trend(result: RunRates, rates: RatesAlong) -> dict[str, Any]:
    document: dict[str, Any] = {"name": rates.name, "kind": rates.kind, "fit": None, "prediction": None}
    if not (trend := rates.trend):
        return document
    numbers = {key: getattr(trend, key) for key in ("order", "chi2", "dof", "p_more")}
    coefficients, covariance = (array.tolist() for array in trend.coefficients)
    document["fit"] = numbers | {"coefficients": coefficients, "covariance": covariance}
    if result.pileup is not None:
        hz, error = map(float, trend.at(result.pileup))
        low, high = result.sections.pileup.min(), result.sections.pileup.max()
        document["prediction"] = {
            "pileup": result.pileup,
            "hz": hz,
            "error_hz": error,
            "extrapolation": bool(not low <= result.pileup <= high),
        }
    sections = result.sections
    document["outliers"] = [[int(sections.run[k]), int(sections.section[k])] for k in trend.outliers]
    document["changes"] = [
        {
            "first": [int(sections.run[part.start]), int(sections.section[part.start])],
            "last": [int(sections.run[part.stop - 1]), int(sections.section[part.stop - 1])],
            "ratio": part.ratio,
            "error": part.error,
        }
        for part in trend.parts
    ]
    return document


def figure_of(result: RunRates, triggers: Sequence[str] = ()) -> Figure:
    """Draw the rates of the menu and the first triggers, or of `triggers`: against pile-up with the fit, and
    over the fit along the run."""
    from trigemu.results.figures import style

    drawn = [r for r in result.rates if not triggers or r.name in triggers][:_DRAWN]
    with style.figure(11.0, 0.6 + 2.1 * len(drawn)) as (made, axes):
        axes.remove()
        panels = made.subplots(len(drawn), 2, squeeze=False, sharex="col", width_ratios=[1, 2])
        number = np.arange(len(result.sections))
        for (left, right), rates in zip(panels, drawn, strict=True):
            trend, colour = rates.trend, style.COLOURS[0]
            points = {"fmt": ".", "markersize": 3, "elinewidth": 0.6, "color": colour, "zorder": 2}
            left.set_ylabel(f"{style.literal(style.shown([rates.name])[rates.name])}\n[Hz]", fontsize=11)
            left.errorbar(result.sections.pileup, rates.hz, rates.error_hz, **points)
            if not trend:
                right.errorbar(number, rates.hz, rates.error_hz, **points)
                continue
            x = np.linspace(result.sections.pileup.min(), result.sections.pileup.max(), 100)
            x = (
                x
                if result.pileup is None
                else np.linspace(min(x[0], result.pileup), max(x[-1], result.pileup), 100)
            )
            fit, error = trend.at(x)
            left.plot(x, fit, color=style.COLOURS[2], zorder=3)
            left.fill_between(x, fit - error, fit + error, color=style.COLOURS[2], alpha=0.3, zorder=2)
            polynomial = trend.at(result.sections.pileup)[0]
            right.errorbar(number, rates.hz / polynomial, rates.error_hz / polynomial, **points)
            right.plot(
                number, trend.expected / polynomial, color=style.COLOURS[2], drawstyle="steps-mid", zorder=3
            )
            right.plot(
                trend.outliers, (rates.hz / polynomial)[trend.outliers], "x", color=style.COLOURS[1], zorder=4
            )
            right.set_ylabel("rate / fit", fontsize=11)
        panels[-1, 0].set_xlabel("pile-up")
        panels[-1, 1].set_xlabel("section, in their order")
    return made
