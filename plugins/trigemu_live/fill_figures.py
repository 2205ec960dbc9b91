"""Figures of a fill: rates and efficiencies against time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from trigemu.base.arrays import FloatArray
from trigemu.results import numbers
from trigemu.results.figures import style
from trigemu.results.section import Picture, slug

from .fill import Fill, names_of, traces_named

#: Lines: name → values, float64[steps].
Lines = Sequence[tuple[str, FloatArray]]


def figures_of_fill(result: Fill) -> Iterator[Picture]:
    """Yield the figures of a fill; controllers are shown with the first seed."""
    first = {way: next(iter(traces_named(result, way))) for way in names_of(result)}
    recorded = [(way, trace.recorded) for way, trace in first.items()]
    rows: list[tuple[str, str, Lines, float | None, bool]] = [
        ("menu", "recorded rate of the menu in Hz", recorded, result.target_hz, True)
    ]
    lines: Lines
    for k, trigger in enumerate(result.controlled):
        lines = [(way, trace.rates[k]) for way, trace in first.items()]
        target = result.targets[k] if result.config.controls[k].of == "trigger" else None
        rows.append((trigger, f"recorded rate of {trigger} in Hz", lines, target, True))
    for s, signal in enumerate(result.signals):
        lines = [(way, 100.0 * trace.efficiencies[s]) for way, trace in first.items()]
        rows.append((signal, f"recorded part of {signal} in %", lines, None, False))
    for quantity, label, lines, target, is_rate in rows:
        yield Picture(
            f"fill_{slug(quantity)}",
            f"{label} through the fill.",
            draw_lines(result.hours, lines, label, target, result.config.fill.tolerance, is_rate),
            {"hours": result.hours, **dict(lines)},
        )


def draw_lines(
    hours: FloatArray, lines: Lines, label: str, target: float | None, tolerance: float, is_rate: bool
) -> Figure:
    """Draw values against time, and a band around a target."""
    with style.figure(7.0, 4.2) as (figure, axes):
        if target:
            low, high = target * (1 - tolerance), target * (1 + tolerance)
            axes.axhspan(low, high, color="lightgrey", label=f"±{100 * tolerance:g} % of the target")
        for number, (way, values) in enumerate(lines):
            axes.plot(hours, values, color=style.COLOURS[number], label=way)
        if is_rate:
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: numbers.short(value)))
        axes.set_ylim(0.0, 1.1 * max(float(values.max()) for _, values in lines))
        axes.set_xlim(hours[0], hours[-1])
        axes.set_xlabel("time in hours", fontsize=14)
        axes.set_ylabel(style.literal(label), fontsize=13)
        figure.legend(loc="outside upper right", ncols=4, fontsize=11, frameon=False)
    return figure
