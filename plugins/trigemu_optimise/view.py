"""What an optimisation shows: the compared menus, the channels, the values, the limits and the front."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from trigemu.results import numbers
from trigemu.results.comparison import changes_table
from trigemu.results.table import Column, Page, Table, stacked
from trigemu.results.view import View

from .optimise import Optimised
from .summary import BEST, Summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: The losses, in words.
MERITS = {
    "squared": "Σ w (1 − ε/ε_max)²",
    "mean": "1 − Σ w ε",
    "worst": "1 − the smallest ε/ε_max",
}


def _loss(value: float) -> str:
    return f"{value:.5f}"


def _hz(value: float) -> str:
    return numbers.in_unit(value, 0.0)


def _share(value: float) -> str:
    return f"{100 * value:.2f} %"


def _pair(value: tuple[float, float]) -> str:
    return numbers.with_error(*value)


_MENUS = (
    Column("menu", "key", "menu"),
    Column("rate", "rate", "rate"),
    Column("fitted", "number", "loss, fitted", text=_loss),
    Column("unseen", "number", "unseen", text=_pair),
    Column("drop", "number", "unseen − fitted", text=_pair, gives_way=2),
    Column("gain", "number", "above optimised", text=_pair),
)
_CHANNELS = (
    Column("channel", "key", "channel"),
    Column("weight", "number", "weight", text="{:.3g}".format, gives_way=2),
    Column("alone", "share", "alone", text=_share),
    Column("written", "share", "as written", text=_share),
    Column("scaled", "share", "scaled", text=_share, gives_way=1),
    Column("optimised", "key", "optimised"),
    Column("per_khz", "share", "per kHz", text="{:+.2%}".format),
)
VALUES = (
    Column("name", "key", "varied", "What varies: the threshold of a trigger, or what is named."),
    Column("unit", "label", "unit", "The unit of a threshold.", gives_way=1),
    Column("written", "number", "as written", "The value in the menu."),
    Column("value", "number", "optimised", "The best value."),
    Column("low", "number", None, "The lower end of the interval of 68 % over replicas."),
    Column("high", "number", None, "The upper end of that interval."),
    Column("interval", "label", "68 %", in_files=False),
    Column(
        "hz_per_unit",
        "number",
        "∂rate/∂value",
        "∂rate/∂threshold of the menu, in Hz per unit.",
        text=_hz,
    ),
    Column(
        "loss_per_khz",
        "number",
        "loss/kHz",
        "The decrease of the loss for another kHz.",
        text="{:.2g}".format,
    ),
    Column(
        "partner", "label", "trades with", "The strongest negative correlation over replicas.", gives_way=1
    ),
)
_LIMITS = (
    Column("name", "key", "limit"),
    Column("min_hz", "number", "at least", text=numbers.in_hz),
    Column("max_hz", "number", "at most", text=numbers.in_hz),
    Column("fitted_hz", "number", "fitted", text=numbers.in_hz),
    Column("unseen_hz", "number", "unseen", text=numbers.in_hz),
)
_FRONT = (
    Column("cap_hz", "number", "cap", text=numbers.in_hz),
    Column("loss", "number", "loss, fitted", text=_loss),
    Column("unseen_loss", "number", "unseen", text=_loss),
    Column("one_way_loss", "number", "one way", text=_loss),
)


class _Optimised(View[Optimised]):
    def line(self, result: Optimised) -> str:
        best = result.summary.contender(BEST)
        rate = numbers.in_hz(best.unseen.rate_hz)
        return f"of {result.written.name!r}: loss {_loss(best.unseen.loss)} at {rate}"

    def page(self, result: Optimised) -> Page:
        tables = [*tables_of(result.summary), changes_table(result.comparison)]
        return Page(stacked(table for table in tables if table.rows), list(notes_of(result.summary)))

    def table(self, result: Optimised) -> Table:
        return values_table(result.summary)

    def document(self, result: Optimised) -> dict[str, Any]:
        document: dict[str, Any] = msgspec.to_builtins(result.summary)
        return document

    def figures(self, result: Optimised) -> Iterator[Figure]:
        from .figures import pictures  # which loads Matplotlib

        for picture in pictures(result.summary):
            yield picture.figure


OPTIMISATION = _Optimised()


def tables_of(summary: Summary) -> list[Table]:
    """Return the tables of a summary."""
    return [
        _menus_table(summary),
        _channels_table(summary),
        values_table(summary),
        Table.of(_LIMITS, _records(summary.limits)),
        Table.of(_FRONT, _records(summary.front)),
    ]


def _records(rows: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [msgspec.to_builtins(row) for row in rows]


def _menus_table(summary: Summary) -> Table:
    table = Table(_MENUS)
    for contender in summary.contenders:
        unseen, fitted = contender.unseen, contender.fitted
        error = (unseen.loss_error**2 + fitted.loss_error**2) ** 0.5
        best = contender.name == BEST
        table.add(
            contender.name,
            (unseen.rate_hz, unseen.rate_error_hz),
            fitted.loss,
            (unseen.loss, unseen.loss_error),
            (unseen.loss - fitted.loss, error),
            None if best else (contender.gain, contender.gain_error),
        )
    return table


def _channels_table(summary: Summary) -> Table:
    table, by_name = Table(_CHANNELS), {contender.name: contender.unseen for contender in summary.contenders}
    best = by_name[BEST]
    for number, channel in enumerate(summary.channels):
        table.add(
            channel.name,
            channel.weight,
            channel.ceiling,
            by_name["as written"].efficiencies[number],
            by_name["scaled"].efficiencies[number],
            numbers.percent(best.efficiencies[number], best.errors[number]),
            channel.per_khz,
        )
    return table


def values_table(summary: Summary) -> Table:
    """Return the table of the variables."""
    table = Table(VALUES)
    for variable in summary.variables:
        known = variable.low is not None
        table.add_record(
            {column.name: getattr(variable, column.name, None) for column in VALUES}
            | {
                "interval": f"{variable.low:.5g} … {variable.high:.5g}" if known else "",
                "hz_per_unit": variable.hz_per_unit if variable.what == "above" else None,
            }
        )
    return table


def notes_of(summary: Summary) -> Iterator[str]:
    """Yield the notes below the tables."""
    yield (
        f"Loss: {MERITS[summary.merit]}, lower is better; ε_max: the efficiency of a channel with all of the "
        f"{numbers.in_hz(summary.cap_hz)} to itself. {summary.halves}"
    )
    yield (
        "Rates and efficiencies: of the unseen half, scaled to all events; ±: statistical. Above optimised: "
        "the loss of each menu minus that of the optimised one, with the paired error. Scaled: all varied "
        f"thresholds times {summary.factor:.4g}."
    )
    yield (
        "Per kHz, loss/kHz: what another kHz gives at the margin, for the variable that gives a channel "
        "most, and for each variable."
    )
    if summary.replicas:
        yield (
            f"68 %: of the best values on {summary.replicas} replicas of the events, searched from the best "
            f"menu; trades with: the value that falls most regularly as this one rises."
        )
    if summary.turning:
        yield (
            f"As the cap rises, these become tighter somewhere: {', '.join(summary.turning)}. One way: the "
            "loss if no value may."
        )
    if not summary.complete:
        starts = numbers.count(summary.starts, "start")
        yield f"The time limit ended the search after {starts}; it is not complete."
