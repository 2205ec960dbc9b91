"""`trigemu gate`: a new menu against an old one, as text, JSON and JUnit."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click

from trigemu.base.errors import printable
from trigemu.cli import options
from trigemu.cli.console import present
from trigemu.cli.session import Session, session
from trigemu.menus.menu import Menu
from trigemu.results import numbers
from trigemu.results.notes import points
from trigemu.results.rates import provenance
from trigemu.results.table import Column, Page, Table
from trigemu.results.view import View
from trigemu.samples.catalogue import Catalogue

from .drifts import Drift, Gate, Tolerances, gate as compare_with_old, read_tolerances

#: Differences that tables list.
MOST = 50
_COLUMNS = (
    Column("what", "key", "what"),
    Column("quantity", "key", "quantity"),
    *(Column(name, "number", name) for name in ("old", "new", "change", "%", "σ")),
    Column("allowed", "key", "allowed"),
)
#: A difference in files.
_NUMBERS = (
    Column("what", "key", None, "The trigger, the pair of triggers, or the menu."),
    Column("quantity", "key", None, "The compared quantity."),
    Column("old", "number", None, "Its value in the old menu."),
    Column("new", "number", None, "Its value in the new menu."),
    Column("percent", "number", None, "The change in percent of the old value."),
    Column("sigma", "number", None, "The change over its uncertainty."),
    Column("accepted", "flag", None, "Whether the change is tolerated."),
)


class GateView(View[Gate]):
    def line(self, result: Gate) -> str:
        return f"of {summary(result)}"

    def page(self, result: Gate) -> Page:
        shown: list[Table | str] = [_table(result), ""] if result.failed else []
        where = (line for rates in result.rates for line in points([rates.menu], rates.catalogue))
        more = len(result.failed) - MOST
        left = [f"… and {more} more, of which most may follow from these"] if more > 0 else []
        return Page([*shown, *left, summary(result)], [*where])

    def table(self, result: Gate) -> Table:
        return Table.of(_NUMBERS, result.drifts)

    def document(self, result: Gate) -> dict[str, Any]:
        drifts = [
            asdict(drift)
            | {"tolerance": {"percent": drift.tolerance.percent, "sigma": drift.tolerance.sigma}}
            | {"difference": drift.difference, "percent": drift.percent, "sigma": drift.sigma}
            for drift in result.drifts
        ]
        menus = {"old": str(result.old.path), "new": str(result.new.path)}
        compared = {"passed": not result.failed, "overlaps_compared": result.overlaps}
        made_from = {r.menu.name: provenance(r.menu, r.catalogue, r.models) for r in result.rates}
        return menus | compared | {"drifts": drifts, "provenance": made_from}


def _cells(drift: Drift) -> tuple[str, ...]:
    """Return what the printed columns are for a difference."""
    if drift.quantity in ("added", "removed"):
        return (drift.what, drift.quantity, "", "", "", "", "", "no")
    if drift.quantity.endswith("_hz"):
        old, new, change = (numbers.in_unit(hz, 0.0) for hz in (drift.old, drift.new, abs(drift.difference)))
    else:
        old, new, change = (f"{value:.0f}" for value in (drift.old, drift.new, abs(drift.difference)))
    if drift.quantity == "decisions_hz":
        new = ""  # the rate of what changed in either direction is no rate of the new menu
    sign = "+" if drift.difference > 0 else "-"
    name = drift.quantity.removesuffix("_hz").replace("_", " ")
    sigma = f"{drift.sigma:+.3g}" if drift.error else ""
    return (drift.what, name, old, new, sign + change, f"{drift.percent:+.3g}", sigma, str(drift.tolerance))


def message(drift: Drift) -> str:
    """Return a sentence on a difference that is not tolerated."""
    if drift.quantity == "added":
        return f"{drift.what} is only in the new menu"
    if drift.quantity == "removed":
        return f"{drift.what} is only in the old menu"
    what, name, old, new, change, percent, sigma, allowed = _cells(drift)
    apart = f", {sigma} σ" if sigma else ""
    became = f" → {new}" if new else ""
    return f"{what}, {name}: {old}{became}, {change} ({percent} %{apart}); allowed: {allowed}"


def summary(gate: Gate) -> str:
    """Return how many quantities were compared and how many changed by too much."""
    overlaps = sum(drift.quantity == "overlap_hz" for drift in gate.drifts)
    compared = len(gate.drifts) - overlaps + gate.overlaps
    changed = sum(drift.difference != 0.0 for drift in gate.drifts)
    return (
        f"{gate.old.path} → {gate.new.path}: {compared} quantities compared, "
        f"{changed} changed, {len(gate.failed)} by more than is tolerated"
    )


def _table(gate: Gate) -> Table:
    """Return the differences that are not accepted: overlaps last, since they follow from the others."""
    table = Table(_COLUMNS)
    for drift in sorted(gate.failed, key=lambda drift: drift.quantity == "overlap_hz")[:MOST]:
        table.add(*_cells(drift))
    return table


def as_junit(gate: Gate) -> str:
    """Return a test suite in JUnit's XML, with a test case for each quantity; overlaps that did not change
    are one together."""
    cases = list(gate.drifts)
    same = gate.overlaps - sum(drift.quantity == "overlap_hz" for drift in cases)
    suite = ElementTree.Element(
        "testsuite",
        name="trigemu gate",
        tests=str(len(cases) + (same > 0)),
        failures=str(len(gate.failed)),
        errors="0",
        skipped="0",
        time="0",
    )
    for drift in cases:
        case = ElementTree.SubElement(
            suite, "testcase", classname=printable(drift.what), name=drift.quantity, time="0"
        )
        if not drift.accepted:
            text = printable(message(drift))
            ElementTree.SubElement(case, "failure", message=text, type="drift").text = text
    if same:
        name = f"{same} overlaps that did not change"
        ElementTree.SubElement(suite, "testcase", classname="overlaps", name=name, time="0")
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


@click.command()
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option(
    "--tolerances",
    type=click.Path(path_type=Path),
    help="The largest differences (TOML); without it, no difference is tolerated.",
)
@session
@options.json_file
@click.option("--junit", type=click.Path(path_type=Path), help="Write the result as JUnit's XML.")
@click.pass_context
def gate(
    context: click.Context,
    old: Path,
    new: Path,
    tolerances: Path | None,
    session: Session,
    junit: Path | None,
) -> None:
    """Compare the menu NEW with OLD on the same events, within tolerances, for continuous integration.

    It compares rates, unique rates, overlaps and decisions before prescales and, with samples that store
    decisions, the numbers of decisions that differ from them. The exit status is 1 if a difference is not
    tolerated.
    """
    limits = read_tolerances(tolerances) if tolerances else Tolerances()
    read = session.menus(old, new)

    def compared(menus: list[Menu], good: Catalogue, **how: Any) -> Gate:
        before, after = menus
        return compare_with_old(before, after, limits, good, **how)

    result = session.run(read, compared)
    documents = [
        (session.json_file, lambda: GateView().json(result)),
        (junit, lambda: as_junit(result)),
    ]
    present([GateView().page(result)], documents)
    context.exit(1 if result.failed else 0)
