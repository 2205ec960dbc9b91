"""`trigemu rates-vs section`: the trend of each trigger, its departures, and its scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from trigemu.cli import options
from trigemu.cli.session import Session, session
from trigemu.menus.menu import Menu
from trigemu.results.numbers import count, short
from trigemu.results.table import Column, Page, Table, records
from trigemu.results.view import Figures, View, name
from trigemu.samples.catalogue import Catalogue

from .along import QUANTILES, RatesAlong, RunRates, rate_of, rates_along
from .trends import LEVEL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The most triggers of a figure.
_DRAWN = 6
_PARTS = ("hz", "error_hz", "events", "upper_limit_hz")
_NAMES = (
    Column("name", "key", "trigger", "The name of the trigger or menu."),
    Column("kind", "label", None, "`trigger` or `menu`."),
)
#: The trend of each trigger.
TRENDS = (
    *_NAMES,
    Column("rate", "rate", "rate", "The mean rate.", parts=_PARTS),
    Column("order", "number", "order", "The order of the polynomial in the pile-up."),
    Column("chi2", "number", "χ²", "Its χ².", lambda value: f"{value:.1f}"),
    Column("dof", "number", "ndf", "Its degrees of freedom."),
    Column(
        "p_more", "number", "p of one more", "The p-value of one order more.", lambda value: f"{value:.2g}"
    ),
    Column("predicted", "rate", "predicted", "The rate at the pile-up asked for.", parts=("hz", "error_hz")),
    Column("coefficients", "number", None, "In Hz per power of the pile-up, from 0 on."),
    Column("covariance", "number", None, "Their covariance."),
)
#: Where rates depart from the trends.
DEPARTURES = (
    *_NAMES,
    Column("what", "label", "departure", "`change` or `outlier`."),
    Column("first", "label", "from run:section", "Its first section."),
    Column("last", "label", "to", "Its last section."),
    Column("ratio", "number", "rate / fit", "The rate over the polynomial.", lambda value: f"{value:.4f}"),
    Column("error", "number", "±", "The statistical uncertainty of that.", lambda value: f"{value:.4f}"),
)
#: The mean score in each section, where there are scores.
MEANS = (
    *_NAMES,
    Column("mean", "number", "mean score", "The mean of all sections, weighted by their errors."),
    Column("chi2", "number", "χ²", "The χ² of the sections to that.", lambda value: f"{value:.1f}"),
    Column("dof", "number", "ndf", "Its degrees of freedom."),
)
#: The scores in a section: of all events that have one.
SCORES = (
    Column("scored", "number", None, "The number of events with a score."),
    Column("score_mean", "number", None, "Their mean score.", errors=("score_error",)),
    Column("score_error", "number", None, "The statistical uncertainty of the mean."),
    *(Column(f"score_{100 * q:g}", "number", None, f"The quantile of {100 * q:g} %.") for q in QUANTILES),
)
#: The rate of a trigger in a section.
COLUMNS = (
    Column("run", "label", None, "The number of the run."),
    Column("section", "label", None, "The number of the section."),
    Column("live_s", "number", None, "Its live time in s."),
    Column("luminosity_pb", "number", None, "Its luminosity in pb⁻¹."),
    Column("pileup", "number", None, "Its mean pile-up."),
    *_NAMES,
    Column("rate", "rate", None, "The rate in the section.", parts=_PARTS),
    Column("fit_hz", "number", None, "The rate of the fit, with its changes."),
    Column("outlier", "flag", None, "Whether the section departs from the fit, which is then without it."),
    Column("cross_section_nb", "number", None, "The rate over the luminosity per second."),
    Column("per_pileup_hz", "number", None, "The rate over the pile-up."),
    *SCORES,
)


@dataclass(frozen=True)
class RunRatesView(View[RunRates]):
    triggers: tuple[str, ...] = ()  #: The triggers that are printed and drawn; by default all

    def line(self, result: RunRates) -> str:
        return f"of {name(result.menu.name)} in {count(len(result.sections), 'section')}"

    def page(self, result: RunRates) -> Page:
        """The trend of each trigger, then their departures and scores."""
        drawn = [rates for rates in result.rates if not self.triggers or rates.name in self.triggers]
        tables = (make(result, drawn) for make in (_trends, _departures, _means))
        shown = [table for table in tables if table.rows]
        return Page(shown, [*_notes(result), *result.catalogue.warnings])

    def table(self, result: RunRates) -> Table:
        """A row for each trigger in each section."""
        table, sections = Table(COLUMNS), result.sections
        columns = sections.run, sections.section, sections.live_s, sections.luminosity, sections.pileup
        with np.errstate(divide="ignore", invalid="ignore"):
            per_nb, per_pileup = sections.live_s / sections.luminosity / 1e3, 1 / sections.pileup
        none = np.full(len(sections), np.nan)
        for rates in result.rates:
            fit = (rates.trend.expected, ~rates.trend.used) if rates.trend else (none, none)
            numbers = *fit, rates.hz * per_nb, rates.hz * per_pileup, *rates.scores
            for k in range(len(sections)):
                place, values = ([_plain(column[k]) for column in part] for part in (columns, numbers))
                table.add(*place, rates.name, rates.kind, rates[k], *values)
        return table

    def document(self, result: RunRates) -> dict[str, Any]:
        head = {"menu": result.menu.name, "false_alarms": result.false_alarms, "pileup": result.pileup}
        tables = {"trends": _trends, "departures": _departures, "scores": _means}
        parts = {key: records(make(result, result.rates)) for key, make in tables.items()}
        return head | parts | {"sections": records(self.table(result))}

    def figures(self, result: RunRates) -> Figures:
        yield figure_of(result, self.triggers)


def _plain(value: Any) -> Any:
    return value.item() if np.isfinite(value) else None


def _trends(result: RunRates, drawn: Sequence[RatesAlong]) -> Table:
    head = None if result.pileup is None else f"at µ = {result.pileup:g}"
    table = Table([column.headed(head) if column.name == "predicted" else column for column in TRENDS])
    for rates in drawn:
        values = {"name": rates.name, "kind": rates.kind, "rate": rates.mean(result.sections.live_s)}
        if fit := rates.trend:
            values |= {key: getattr(fit, key) for key in ("order", "chi2", "dof", "p_more")}
            values["coefficients"], values["covariance"] = (x.tolist() for x in fit.coefficients)
            if result.pileup is not None:
                hz, error_hz = fit.at(result.pileup)
                values["predicted"] = rate_of(float(hz), float(error_hz))
        table.add_record(values, "summary" if rates.kind == "menu" else "plain")
    return table


def _departures(result: RunRates, drawn: Sequence[RatesAlong]) -> Table:
    table, sections = Table(DEPARTURES), result.sections
    for rates in drawn:
        for what, part in rates.departures():
            ends = (f"{sections.run[k]}:{sections.section[k]}" for k in (part.start, part.stop - 1))
            table.add(rates.name, rates.kind, what, *ends, part.ratio, part.error)
    return table


def _means(result: RunRates, drawn: Sequence[RatesAlong]) -> Table:
    table = Table(MEANS)
    for rates in drawn:
        if len(rates.scores):
            means, errors = rates.scores[1:3][:, rates.scores[2] > 0]
            mean = float(np.average(means, weights=errors**-2.0)) if len(means) else np.nan
            chi2 = float((((means - mean) / errors) ** 2).sum())
            table.add(rates.name, rates.kind, mean, chi2, len(means) - 1)
    return table


def _notes(result: RunRates) -> Iterator[str]:
    sections, at = result.sections, result.pileup
    live = f"{count(len(sections), 'section')}, live for {sections.live_s.sum():.6g} s"
    if np.isfinite(sections.pileup).all():
        low, high = sections.pileup.min(), sections.pileup.max()
        yield f"{live}, at a pile-up of {low:.4g} to {high:.4g}"
        yield (
            f"Order: the lowest of a polynomial in the pile-up that no order more improves, F test at "
            f"{100 * LEVEL:g} %. Errors include what the rate varies more than by its events."
        )
        yield (
            f"Departures: {100 * result.false_alarms:g} % of the runs without a change give one, for each "
            f"trigger, and as many without an outlier."
        )
        if at is not None and not low <= at <= high:
            yield f"µ = {at:g} is an extrapolation: the error does not cover another order beyond sections"
    else:
        yield f"{live}; not all have a pile-up, so there are no fits: section_table needs a column pileup"
    if result.outside:
        yield f"{count(result.outside, 'event')} outside of the sections with live time"


def figure_of(result: RunRates, triggers: Sequence[str]) -> Figure:
    """Draw the rates of the menu and the first triggers with events, or of `triggers`: against pile-up, and
    over the fit along the run."""
    from matplotlib.ticker import FuncFormatter

    from trigemu.results.figures import style

    with_events = [rates.name for rates in result.rates if rates.events.any()]
    drawn = [rates for rates in result.rates if rates.name in (triggers or with_events)][:_DRAWN]
    pileup, number, labels = result.sections.pileup, np.arange(len(result.sections)), style.shown(result)
    ends = [*pileup, *([] if result.pileup is None else [result.pileup])]
    x = np.linspace(min(ends), max(ends), 200)
    points = {"fmt": ".", "markersize": 3, "elinewidth": 0.6, "color": style.COLOURS[0], "zorder": 2}
    with style.figure(11.0, 0.8 + 2.1 * len(drawn)) as (made, whole):
        whole.remove()
        panels = made.subplots(len(drawn), 2, squeeze=False, sharex="col", width_ratios=[1, 1.8])
        for (left, right), rates in zip(panels, drawn, strict=True):
            level = np.ones(len(number))
            left.errorbar(pileup, rates.hz, rates.error_hz, **points)
            if fit := rates.trend:
                inside, (line, error) = (x >= pileup.min()) & (x <= pileup.max()), fit.at(x)
                left.plot(np.where(inside, x, np.nan), line, color=style.COLOURS[2], zorder=3)
                left.plot(x, line, "--", color=style.COLOURS[2], linewidth=1.2, zorder=3)
                left.fill_between(
                    x, line - error, line + error, color=style.COLOURS[2], alpha=0.3, linewidth=0
                )
                level = fit.polynomial
                right.plot(
                    number, fit.expected / level, color=style.COLOURS[2], drawstyle="steps-mid", zorder=3
                )
                right.plot(
                    fit.outliers, (rates.hz / level)[fit.outliers], "x", color=style.COLOURS[1], zorder=4
                )
            right.errorbar(number, rates.hz / level, rates.error_hz / level, **points)
            left.set_ylabel(f"{style.literal(labels[rates.name])}\n[Hz]", fontsize=11)
            right.set_ylabel("rate / fit" if fit else "rate [Hz]", fontsize=11)
            left.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
            for axes in (left, right):
                axes.tick_params(labelsize=11)
        panels[-1, 0].set_xlabel("pile-up", fontsize=13)
        panels[-1, 1].set_xlabel("section, in their order", fontsize=13)
        made.align_ylabels(panels[:, 0])
    return made


@click.command()
@options.menu
@click.option("--trigger", "triggers", multiple=True, help="Print and draw only these; repeatable.")
@click.option("--at-pileup", type=options.POSITIVE, help="Also predict the rates at this pile-up.")
@click.option(
    "--order", type=int, help="Order of the polynomials in the pile-up [default: by an F test at 5 %]."
)
@click.option(
    "--false-alarms",
    type=float,
    default=0.01,
    show_default=True,
    help="Probability, for each trigger, to find a change in a run without any; also of an outlier.",
)
@session
@options.json_file
@options.csv_file
@options.figure
def section(
    menu: Path,
    triggers: tuple[str, ...],
    at_pileup: float | None,
    order: int | None,
    false_alarms: float,
    session: Session,
) -> None:
    """Print the rates of a MENU along a run of recorded data, by section of luminosity: their fit against
    pile-up, outliers and changes."""
    (read,) = session.menus(menu)
    for trigger in triggers:
        read.trigger(trigger)  # raises an error for other names

    def task(menus: list[Menu], good: Catalogue, **how: Any) -> RunRates:
        return rates_along(menus[0], good, pileup=at_pileup, order=order, false_alarms=false_alarms, **how)

    result = session.run([read], task)
    session.present(result, view=RunRatesView(triggers))
