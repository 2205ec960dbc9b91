"""Export, verification and estimate of a firmware project, as JSON and tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

import numpy as np

from trigemu import __version__
from trigemu.results.table import Column, Page, Table, in_json

from .block import BlockReport
from .estimate import BUDGETS, LEVEL_NS, PAPER, VU9P, Estimate
from .project import Manifest, Project
from .rtl import DEVICE, PACKAGE, SPEED
from .verify import BACKEND_NAMES, FirmwareCheck


def exported(manifest: Manifest, folder: str) -> Iterator[str]:
    """Yield the lines that `trigemu firmware export` prints."""
    types = manifest.precision
    scales = types.scales or (0,) * len(manifest.inputs)
    scaled = zip(manifest.inputs, scales, strict=True)
    inputs = ", ".join(f"{text} · 2^{scale}" if scale else text for text, scale in scaled)
    half = f" ({manifest.half} half)" if manifest.half else ""
    yield f"{folder}: {', '.join(manifest.backends)}, with conifer {manifest.conifer}"
    if manifest.chosen:
        yield f"the menu gives no precision; chosen with the paper's widths on {manifest.chosen} events:"
    yield f"inputs {inputs}: {types.input}"
    yield f"thresholds: {types.threshold}; leaves, sums and score: {types.score}"
    yield f"Verilog: {manifest.form}, {manifest.latency} clocks from an event to its score"
    around = manifest.events - manifest.sample
    yield f"{manifest.sample} events of {manifest.catalogue!r}{half} and {around} rows around thresholds"


def verified_json(checks: Sequence[FirmwareCheck]) -> str:
    """Return the JSON document of `trigemu firmware verify`: events and differences of each back end, null
    where it could not be compared, and each check."""
    document = {
        "events": {check.backend: check.events for check in checks},
        "differences": {check.backend: None if check.missing else check.differences for check in checks},
        "cycles": next((check.cycles for check in checks if check.backend == "verilog"), None),
        "checks": [asdict(check) for check in checks],
        "provenance": {"trigemu": __version__},
    }
    return in_json(document)


def verified_table(checks: Sequence[FirmwareCheck], project: Project) -> Page:
    """Return what `trigemu firmware verify` prints."""
    counts = (Column(name, "count", name) for name in ("events", "differences", "cycles"))
    table = Table((Column("backend", "label", "firmware"), *counts))
    lines: list[str] = []
    for check in checks:
        compared = ("–", "–") if check.missing else (check.events, check.differences)
        table.add(BACKEND_NAMES[check.backend], *compared, check.cycles)
        lines += _lines(check, project)
    return Page([table, *lines])


def _lines(check: FirmwareCheck, project: Project) -> Iterator[str]:
    """Yield where the first difference is, as words and, in brackets, as numbers."""
    if check.missing:
        yield f"{BACKEND_NAMES[check.backend]}: not compared: {check.missing}"
    if check.first is None:
        return
    first, score = check.first, project.fixed.precision.score

    def value(word: int) -> str:
        return f"{word} ({word * score.step:.10g})"

    inputs = ", ".join(f"{x} = {v:.9g}" for x, v in zip(project.manifest.inputs, first.x, strict=True))
    yield (
        f"{BACKEND_NAMES[check.backend]}: first difference in event {first.event} of vectors.npz ({inputs}): "
        f"expected {value(first.expected)}, found {value(first.found)}"
    )
    if where := first.where:
        found = f"expected {value(where.expected)}, found {value(where.found)}"
        yield f"  the first tree that differs is {where.tree}: {found}"
    elif check.backend != "verilog":
        yield "  all trees agree: the difference is in their sum or in the base"


_RESOURCES = {
    "lut": "LUT",
    "ff": "registers",
    "carry": "carry cells",
    "dsp": "DSP",
    "bram": "block RAM (36 kbit)",
    "levels": "levels of logic",
}
#: Number of an estimate, by its key in JSON → its label.
_LABELS = {
    "trees": "trees",
    "split_nodes": "split nodes",
    "clock_mhz": "clock in MHz",
    "cycles": "clocks",
    "latency_ns": "latency in ns",
    **_RESOURCES,
}
_MAPPED = "mapped by yosys for UltraScale+, neither placed nor routed, without timing"
_LEVELS = "look-up tables and carry chains on the longest path between registers"


def _number(estimate: Estimate, key: str) -> float | None:
    number: float | None = getattr(estimate.resources if key in _RESOURCES else estimate, key, None)
    return number


def _shares(estimate: Estimate) -> dict[str, float]:
    """Return the fractions of the resources of an XCVU9P."""
    return (
        {key: (_number(estimate, key) or 0.0) / total for key, total in VU9P.items()}
        if estimate.resources
        else {}
    )


def estimate_json(estimate: Estimate, project: Project) -> str:
    """Return the JSON document of `trigemu firmware estimate`; null where a tool is missing."""
    resources, types = estimate.resources, project.fixed.precision
    document = {
        **{key: _number(estimate, key) for key in _LABELS},
        "form": project.manifest.form,
        "path_ns": estimate.path_ns,
        "share_of_vu9p": _shares(estimate) or None,
        "cells": resources and dict(resources.cells),
        "routed": {
            "device": f"{DEVICE}-{SPEED}{PACKAGE}",
            "mhz": estimate.routed_mhz,
            "seeds": [asdict(route) for route in estimate.routes],
        },
        "depth": estimate.depth,
        "precision": {key: str(getattr(types, key)) for key in ("input", "threshold", "score")},
        "kind": {**dict.fromkeys(_RESOURCES, _MAPPED), "levels": _LEVELS},
        "missing": estimate.missing,
        "published": [asdict(other) for other in (PAPER, *BUDGETS)],
        "provenance": {"trigemu": __version__},
    }
    return in_json(document)


def estimate_table(estimate: Estimate, project: Project) -> Page:
    """Return what `trigemu firmware estimate` prints."""
    others = (PAPER, *BUDGETS)
    names = ("here", "of a VU9P", *(other.name for other in others))
    table = Table((Column("", "label", ""), *(Column(name, "number", name) for name in names)))
    types, shares = project.fixed.precision, _shares(estimate)
    for key, label in _LABELS.items():
        share = f"{100 * shares[key]:.2f} %" if key in shares else ""
        published = (_cell(getattr(other, key, None)) for other in others)
        table.add(label, _cell(_number(estimate, key)), share, *published)
        if key == "split_nodes":
            bits = f"{types.input.width} / {types.threshold.width} / {types.score.width}"
            table.add("bits: inputs / thresholds / score", bits, "", "– / 12 / 16")
    return Page([table, *_routes(estimate)], [*_kinds(estimate)])


def _routes(estimate: Estimate) -> Iterator[Table]:
    if not estimate.routes:
        return
    names = ("seed", "MHz", "latency in ns", "logic in ns", "routing in ns", "LUT4", "registers", "block RAM")
    table = Table(tuple(Column(name, "number", name) for name in names), title=f"{DEVICE}-{SPEED}{PACKAGE}")
    for route in estimate.routes:
        path = (
            f"{value:.1f}" for value in (route.latency_ns(estimate.cycles), route.logic_ns, route.routing_ns)
        )
        table.add(str(route.seed), f"{route.mhz:.1f}", *path, *map(_cell, (route.lut, route.ff, route.bram)))
    yield table


def _kinds(estimate: Estimate) -> Iterator[str]:
    """Yield how each column of numbers was obtained."""
    yield f"here, resources: {_MAPPED}; levels: {_LEVELS}."
    if estimate.path_ns:
        yield (
            f"{_cell(_number(estimate, 'levels'))} levels take {estimate.path_ns:.1f} of "
            f"{1000.0 / estimate.clock_mhz:.1f} ns if each takes the {LEVEL_NS} ns that the vendor's "
            f"report_failfast grants a table with its net (UltraScale+, speed grade −2): an estimate."
        )
    if estimate.routed_mhz:
        clocks = sorted(route.mhz for route in estimate.routes)
        yield (
            f"nextpnr, {DEVICE} of speed grade {SPEED}: median {estimate.routed_mhz:.1f} MHz "
            f"({clocks[0]:.1f} to {clocks[-1]:.1f}), {1000.0 * estimate.cycles / estimate.routed_mhz:.1f} ns "
            f"for {estimate.cycles} clocks, placed and routed between registers, without pads."
        )
    for other in (PAPER, *BUDGETS):
        yield f"{other.name}: {other.kind}."
    if estimate.cycles:
        needed = [f"{1000.0 * estimate.cycles / b.latency_ns:.0f} MHz for {b.name}" for b in BUDGETS]
        yield f"{estimate.cycles} clocks are within a budget from {' and '.join(needed)}."
    for program, hint in estimate.missing.items():
        yield f"{program} is not installed: {hint}."


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:,.10g}"


def block_table(report: BlockReport) -> Table:
    """Return what `trigemu firmware block` prints: the whole, and its trees."""
    names = ("clocks", "levels", "LUT", "registers", "carry", "DSP", "block RAM")
    table = Table((Column("circuit", "label", "circuit"), *(Column(name, "count", name) for name in names)))
    circuits = report.block.circuit, report.block.of_trees
    for circuit, used in zip(circuits, report.resources, strict=True):
        row = (used.levels, used.lut, used.ff, used.carry, used.dsp, used.bram)
        table.add(circuit.name, circuit.latency, *row)
    return table


def block_notes(report: BlockReport) -> Iterator[str]:
    """Yield the notes below `block_table`."""
    check, routes, circuit = report.check, report.routes, report.block.circuit
    yield (
        f"Simulated by Verilator: {check.differences} differences from the integer model in {check.events} "
        f"events and {check.mixed} with inputs of different events, of which {check.accepted} are accepted."
    )
    yield f"The integer model and the trigger of the menu differ in {check.of_menu} events."
    yield (
        "Resources: mapped by yosys for UltraScale+. levels: the most look-up tables and carry chains one "
        "after the other between registers."
    )
    path = LEVEL_NS * report.resources[0].levels
    yield (
        f"By the vendor's rule of {LEVEL_NS} ns a level, with its net, a clock takes {path:.1f} ns, and the "
        f"whole {path * circuit.latency:.0f} ns: an estimate, neither placed nor routed."
    )
    if routes:
        clocks = sorted(route.mhz for route in routes)
        median = float(np.median(clocks))
        best, latency, worst = (1000.0 * circuit.latency / mhz for mhz in (clocks[-1], median, clocks[0]))
        yield (
            f"Routed by nextpnr on an ECP5 ({DEVICE}, grade {SPEED}), {len(routes)} seeds: "
            f"{median:.1f} MHz ({clocks[0]:.1f} to {clocks[-1]:.1f}), {latency:.1f} ns ({best:.1f} to "
            f"{worst:.1f}); {routes[0].lut} tables of four inputs, {routes[0].ff} registers."
        )
    times = ", ".join(f"{step} {seconds:.0f} s" for step, seconds in report.seconds.items())
    yield f"Time: {times}."


def block_json(report: BlockReport) -> str:
    """Return the JSON document of `trigemu firmware block`."""
    circuits = report.block.circuit, report.block.of_trees
    parts = [
        {"circuit": circuit.name, "clocks": circuit.latency, **asdict(used)}
        for circuit, used in zip(circuits, report.resources, strict=True)
    ]
    document = {
        "parts": parts,
        "check": asdict(report.check),
        "routes": [asdict(route) for route in report.routes],
        "seconds": report.seconds,
        "provenance": {"trigemu": __version__},
    }
    return in_json(document)
