"""What an optimisation shows: the compared menus, the channels, the values, the limits and the front; and the
section of `trigemu report` on menus that `trigemu optimise` wrote."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from trigemu.results import numbers
from trigemu.results.comparison import changes_table
from trigemu.results.table import Column, Page, Table, columns_of
from trigemu.results.view import Pictures, View

from .optimise import Optimised
from .results import (
    BEST,
    SCALED,
    WRITTEN,
    CapResult,
    LimitResult,
    Summary,
    VariableResult,
    loss_text,
)
from .write_menu import read_summary

if TYPE_CHECKING:
    from trigemu.results.section import Contents, Section


#: The losses, in words.
MERITS = {
    "squared": "Σ w (1 − ε/ε_max)²",
    "mean": "1 − Σ w ε",
    "worst": "1 − the smallest ε/ε_max",
}


def _share(value: float) -> str:
    return f"{100 * value:.2f} %"


def _pair(value: tuple[float, float]) -> str:
    return numbers.with_error(*value)


_MENUS = (
    Column("menu", "key", "menu", of=lambda c: c.name),
    Column("rate", "rate", "rate", of=lambda c: (c.unseen.rate_hz, c.unseen.rate_error_hz)),
    Column("fitted", "number", "loss, fitted", text=loss_text, of=lambda c: c.fitted.loss),
    Column("unseen", "number", "unseen", text=_pair, of=lambda c: (c.unseen.loss, c.unseen.loss_error)),
    Column(
        "drop",
        "number",
        "unseen − fitted",
        text=_pair,
        gives_way=2,
        of=lambda c: (c.unseen.loss - c.fitted.loss, math.hypot(c.unseen.loss_error, c.fitted.loss_error)),
    ),
    Column(
        "gain",
        "number",
        "above optimised",
        text=_pair,
        of=lambda c: None if c.name == BEST else (c.gain, c.gain_error),
    ),
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


def _interval(variable: VariableResult) -> str:
    return "" if variable.low is None else f"{variable.low:.5g} … {variable.high:.5g}"


#: The columns of the values: those of files, and the interval as it is printed.
VALUES = [*columns_of(VariableResult)]
VALUES.insert(6, Column("interval", "label", "68 %", in_files=False, of=_interval))


class OptimisedView(View[Optimised]):
    def line(self, result: Optimised) -> str:
        best = result.summary.contender(BEST).unseen
        return f"of {result.written.name!r}: loss {loss_text(best.loss)} at {numbers.in_hz(best.rate_hz)}"

    def page(self, result: Optimised) -> Page:
        tables = [*tables_of(result.summary), changes_table(result.comparison)]
        return Page([table for table in tables if table.rows], list(notes_of(result.summary)))

    def table(self, result: Optimised) -> Table:
        return Table.of(VALUES, result.summary.variables)

    def document(self, result: Optimised) -> dict[str, Any]:
        document: dict[str, Any] = msgspec.to_builtins(result.summary)
        return document

    def pictures(self, result: Optimised) -> Pictures:
        from .figures import pictures  # which loads Matplotlib

        return pictures(result.summary)


def sections(contents: Contents) -> Iterator[Section]:
    """Yield a section of a report for each menu with the numbers of its optimisation beside it."""
    from trigemu.results.section import Section

    from .figures import pictures

    for variant in contents.variants:
        summary = read_summary(variant.menu)
        if summary is not None:
            yield Section(
                "How the menu was optimised",
                tuple(notes_of(summary)),
                tuple(tables_of(summary)),
                tuple(pictures(summary)),
                menu=variant.menu.name,
            )


def tables_of(summary: Summary) -> list[Table]:
    """Return the tables of a summary that have rows."""
    channels = Table(_CHANNELS)
    written, scaled, best = (summary.contender(name).unseen for name in (WRITTEN, SCALED, BEST))
    for number, channel in enumerate(summary.channels):
        channels.add(
            channel.name,
            channel.weight,
            channel.ceiling,
            written.efficiencies[number],
            scaled.efficiencies[number],
            numbers.percent(best.efficiencies[number], best.errors[number]),
            channel.per_khz,
        )
    tables = (
        Table.of(_MENUS, summary.contenders),
        channels,
        Table.of(VALUES, summary.variables),
        Table.of(columns_of(LimitResult), summary.limits),
        Table.of(columns_of(CapResult), summary.front),
    )
    return [table for table in tables if table.rows]


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
    if column := summary.point.get("column"):
        yield f"Prescales: those of column {column}."
    if summary.replicas:
        yield (
            f"68 %: of the best values on {summary.replicas} replicas of the events, searched from the best "
            "menu."
        )
    if summary.front and summary.merit != "mean":
        yield (
            "Caps: their losses have one ε_max: the efficiency with all of the "
            f"{numbers.in_hz(summary.front[-1].cap_hz)} to itself."
        )
