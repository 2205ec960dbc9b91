"""Export, verification and estimate of a firmware project, as JSON and tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from trigemu import __version__
from trigemu.results.documents import in_json
from trigemu.results.table import Column, Page, Table

from .estimate import BUDGETS, PAPER, VU9P, Estimate
from .project import Manifest, Project
from .verify import BACKEND_NAMES, FirmwareCheck


def exported(manifest: Manifest, folder: str) -> Iterator[str]:
    """Yield the lines that `trigemu firmware export` prints."""
    types = manifest.precision
    scales = types.scales or (0,) * len(manifest.inputs)
    scaled = zip(manifest.inputs, scales, strict=True)
    inputs = ", ".join(f"{text} · 2^{scale}" if scale else text for text, scale in scaled)
    half = f" ({manifest.half} half)" if manifest.half else ""
    yield f"{folder}: {', '.join(manifest.backends)}, by conifer {manifest.conifer}"
    if manifest.chosen:
        yield f"the menu gives no precision; chosen with the paper's widths on {manifest.chosen} events:"
    yield f"inputs {inputs}: {types.input}"
    yield f"thresholds: {types.threshold}; leaves, sums and score: {types.score}"
    yield f"VHDL: one type for all, {manifest.words}, which holds the words of these; the scores are equal"
    around = manifest.events - manifest.sample
    yield f"{manifest.sample} events of {manifest.catalogue!r}{half} and {around} rows around thresholds"


def verified_json(checks: Sequence[FirmwareCheck]) -> str:
    """Return the JSON document of `trigemu firmware verify`: events and differences of C++ and of VHDL, null
    where they could not be compared, and each check."""
    groups = {
        "cpp": [c for c in checks if c.backend != "vhdl"],
        "vhdl": [c for c in checks if c.backend == "vhdl"],
    }
    document = {
        "events": {name: max((c.events for c in group), default=0) for name, group in groups.items()},
        "differences": {name: _differences(group) for name, group in groups.items()},
        "cycles": next((c.cycles for c in groups["vhdl"]), None),
        "checks": [asdict(check) for check in checks],
        "provenance": {"trigemu": __version__},
    }
    return in_json(document)


def _differences(checks: Sequence[FirmwareCheck]) -> int | None:
    if not checks or any(check.missing for check in checks):
        return None
    return sum(check.differences for check in checks)


def verified_table(checks: Sequence[FirmwareCheck], project: Project) -> Page:
    """Return what `trigemu firmware verify` prints."""
    counts = (Column(name, "count", name) for name in ("events", "differences", "cycles"))
    table = Table((Column("backend", "label", "conifer's"), *counts))
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
    if first.where is None:
        yield "  all trees agree: the difference is in their sum or in the base"
    else:
        yield (
            f"  the first tree that differs is {first.where.tree}: expected {value(first.where.expected)}, "
            f"found {value(first.where.found)}"
        )


def estimate_json(estimate: Estimate, project: Project) -> str:
    """Return the JSON document of `trigemu firmware estimate`; null where a tool is missing."""
    resources, manifest, types = estimate.resources, project.manifest, project.fixed.precision
    taken = {name: getattr(resources, name, None) for name in ("lut", "ff", "carry", "dsp", "bram")}
    document = {
        "cycles": estimate.cycles,
        "clock_mhz": estimate.clock_mhz,
        "latency_ns": estimate.latency_ns,
        **taken,
        "share_of_vu9p": resources and resources.shares,
        "cells": resources and dict(resources.cells),
        "trees": estimate.trees,
        "split_nodes": estimate.split_nodes,
        "depth": estimate.depth,
        "precision": {key: str(getattr(types, key)) for key in ("input", "threshold", "score")},
        "words": manifest.words,
        "kind": {"cycles": _SIMULATED, **dict.fromkeys(taken, _MAPPED)},
        "missing": estimate.missing,
        "published": [asdict(other) for other in (PAPER, *BUDGETS)],
        "provenance": {"trigemu": __version__},
    }
    return in_json(document)


_SIMULATED = "conifer's VHDL in GHDL's simulation, from a valid input to its valid score"
_MAPPED = "conifer's VHDL, mapped by yosys for UltraScale+, neither placed nor routed, without timing"


def estimate_table(estimate: Estimate, project: Project) -> Page:
    """Return what `trigemu firmware estimate` prints."""
    others = (PAPER, *BUDGETS)
    names = ("here", "of a VU9P", *(other.name for other in others))
    table = Table((Column("", "label", ""), *(Column(name, "number", name) for name in names)))
    types, resources = project.fixed.precision, estimate.resources
    bits = f"{types.input.width} / {types.threshold.width} / {types.score.width}"
    table.add("trees", str(estimate.trees), "", *(_cell(other.trees) for other in others))
    table.add("split nodes", str(estimate.split_nodes), "", *(_cell(other.split_nodes) for other in others))
    table.add("bits: inputs / thresholds / score", bits, "", "– / 12 / 16")
    table.add("clock in MHz", f"{estimate.clock_mhz:g}", "", *(_cell(other.clock_mhz) for other in others))
    table.add("clocks", _cell(estimate.cycles))
    table.add("latency in ns", _cell(estimate.latency_ns), "", *(_cell(other.latency_ns) for other in others))
    for key, label in _LABELS.items():
        share = f"{100 * resources.shares[key]:.2f} %" if resources and key in VU9P else ""
        published = (_cell(getattr(other, key, None)) for other in others)
        table.add(label, _cell(getattr(resources, key, None)), share, *published)
    return Page([table], [*_kinds(estimate)])


_LABELS = {
    "lut": "LUT",
    "ff": "registers",
    "carry": "carry cells",
    "dsp": "DSP",
    "bram": "block RAM (36 kbit)",
}


def _kinds(estimate: Estimate) -> Iterator[str]:
    """Yield how each column of numbers was obtained."""
    yield f"here, clocks: {_SIMULATED}."
    yield f"here, resources: {_MAPPED}."
    yield "conifer's HLS is a different circuit from its VHDL; only Vitis HLS can estimate it."
    for other in (PAPER, *BUDGETS):
        yield f"{other.name}: {other.kind}."
    if estimate.cycles:
        needed = [f"{1000.0 * estimate.cycles / b.latency_ns:.0f} MHz for {b.name}" for b in BUDGETS]
        yield f"{estimate.cycles} clocks are within a budget from {' and '.join(needed)}."
    for program, hint in estimate.missing.items():
        yield f"{program} is not installed: {hint}."


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:,.10g}"
