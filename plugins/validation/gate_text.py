"""A gate as a table for a terminal, as Markdown, JSON and JUnit's XML."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any
from xml.etree import ElementTree

from rich.console import RenderableType

from trigemu.api import Page, Table, in_json, numbers, plain, printable

from .drifts import Drift, Gate

HEAD = ("what", "quantity", "old", "new", "change", "%", "σ", "allowed")
#: Differences that tables list.
MOST = 50


def cells(drift: Drift) -> tuple[str, ...]:
    """Return what the columns of `HEAD` are for a difference."""
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
    what, name, old, new, change, percent, sigma, allowed = cells(drift)
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


def _listed(gate: Gate) -> list[Drift]:
    """Return the differences that a table lists: overlaps last, since they follow from the others."""
    return sorted(gate.failed, key=lambda drift: drift.quantity == "overlap_hz")[:MOST]


def gate_table(gate: Gate) -> RenderableType:
    """Return what `trigemu gate` prints."""
    parts: list[RenderableType] = []
    if gate.failed:
        table = Table()
        for name in HEAD:
            table.add_column(name, "name" if name in ("what", "quantity", "allowed") else "number")
        for drift in _listed(gate):
            table.add_row(*cells(drift))
        parts = [table, "", *(plain(line) for line in _more(gate))]
    return Page([*parts, plain(summary(gate))])


def _more(gate: Gate) -> Iterator[str]:
    if len(gate.failed) > MOST:
        yield f"… and {len(gate.failed) - MOST} more, of which most may follow from these"


def as_markdown(gate: Gate) -> str:
    """Return a heading, the summary and a table of what is not tolerated."""
    title = "trigemu gate: failed" if gate.failed else "trigemu gate: passed"
    lines = [f"### {title}", "", _escaped(summary(gate)), ""]
    if gate.failed:
        lines += [_line(HEAD), _line(["---", "---", *["---:"] * 5, "---"])]
        lines += [_line([_escaped(cell) for cell in cells(drift)]) for drift in _listed(gate)]
        lines += ["", *_more(gate)]
    return "\n".join(lines).rstrip() + "\n"


def _line(row: Any) -> str:
    return f"| {' | '.join(row)} |"


def _escaped(text: str) -> str:
    """Return a text without a meaning in Markdown and HTML."""
    for sign in "\\`*_{}[]<>#|!~":
        text = text.replace(sign, f"\\{sign}" if sign != "<" else "&lt;")
    return printable(text)


def as_json(gate: Gate) -> str:
    """Return the JSON document of `trigemu gate`; rates in Hz."""
    drifts = [
        asdict(drift)
        | {"tolerance": {"percent": drift.tolerance.percent, "sigma": drift.tolerance.sigma}}
        | {"difference": drift.difference, "percent": drift.percent, "sigma": drift.sigma}
        for drift in gate.drifts
    ]
    menus = {"old": str(gate.old.path), "new": str(gate.new.path)}
    return in_json(menus | {"passed": not gate.failed, "overlaps_compared": gate.overlaps, "drifts": drifts})


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
