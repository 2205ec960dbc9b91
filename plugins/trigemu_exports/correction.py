"""Efficiencies and scale factors as corrections of correctionlib (schema 2)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from trigemu import __version__
from trigemu.base.arrays import FloatArray
from trigemu.base.errors import TrigemuError, module_of_extra
from trigemu.base.shown import Shown
from trigemu.results.efficiency import band, events_of
from trigemu.results.numbers import count, with_unit
from trigemu.studies.efficiency import Efficiencies, Turnon
from trigemu.studies.intervals import Curve, Profile

#: What correctionlib does with values outside of the bins.
FLOWS = ("error", "clamp")
#: The inputs that select a curve, and its value or an end of its interval.
_INPUTS = {
    "menu": "The menu.",
    "trigger": "The trigger; empty for the whole menu.",
    "variation": "nominal, or the ends of its interval, up and down.",
}
#: The values of a curve in bins, and the lower and upper ends of their intervals; NaN is allowed.
Band = tuple[FloatArray, FloatArray, FloatArray]


class Described(NamedTuple):
    """The name of a correction, what it is, the name and the meaning of its value, and its observable."""

    name: str
    description: str
    profile: Profile
    output: str = "efficiency"
    meaning: str = "The efficiency; up and down are the ends of its interval at 68 %."


def schema() -> Any:
    """Return the module of correctionlib that has its models, or raise MissingExtraError."""
    return module_of_extra("correctionlib.schemav2", "to_correction()", "correction", "correctionlib")


def _correction(about: Described, curves: Band | Mapping[tuple[str, str | None], Band], flow: str) -> Any:
    """Return a Correction of one curve, or of curves by menu and trigger, which are further inputs."""
    if flow not in FLOWS:
        raise TrigemuError(f"flow = {flow!r}: expected one of {', '.join(map(repr, FLOWS))}")
    models, profile = schema(), about.profile
    edges = [edge if math.isfinite(edge) else str(edge) for edge in profile.edges]  # "inf" or "-inf"
    # JSON has no NaN; this is evaluated to it.
    nan = {"nodetype": "formula", "expression": "0/0", "parser": "TFormula", "variables": []}

    def category(name: str, contents: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        items = [{"key": key, "value": value} for key, value in contents]
        return {"nodetype": "category", "input": name, "content": items}

    def binned(values: FloatArray) -> dict[str, Any]:
        content = [nan if math.isnan(value) else value for value in values.tolist()]
        bins = {"input": profile.observable, "edges": edges, "content": content, "flow": flow}
        return {"nodetype": "binning"} | bins

    def varied(band: Band) -> dict[str, Any]:
        return category("variation", zip(("nominal", "down", "up"), map(binned, band), strict=True))

    if isinstance(curves, tuple):
        inputs, data = {"variation": _INPUTS["variation"]}, varied(curves)
    else:
        by_menu: dict[str, list[tuple[str, Any]]] = {}
        for (menu, trigger), band in curves.items():
            by_menu.setdefault(menu, []).append((trigger or "", varied(band)))
        inputs = _INPUTS
        data = category("menu", ((menu, category("trigger", part)) for menu, part in by_menu.items()))
    label = with_unit(profile.name, profile.unit)
    strings = [{"name": name, "type": "string", "description": text} for name, text in inputs.items()]
    made = {
        "name": about.name,
        "description": _signed(about.description),
        "version": 1,
        "inputs": [{"name": profile.observable, "type": "real", "description": label}, *strings],
        "output": {"name": about.output, "type": "real", "description": about.meaning},
        "data": data,
    }
    return models.Correction.model_validate(made)


def _as_set(description: str, corrections: Iterable[Any]) -> Any:
    """Return a CorrectionSet; raise TrigemuError if two corrections have the same name."""
    made = list(corrections)
    name, times = Counter(correction.name for correction in made).most_common(1)[0]
    if times > 1:
        raise TrigemuError(
            f"to_correction(): {times} efficiencies are called {name!r}, and names in a set differ: measure "
            f"each observable, in each category, once"
        )
    return schema().CorrectionSet(
        schema_version=schema().VERSION, description=_signed(description), corrections=made
    )


def _signed(description: str) -> str:
    return f"{description} Made by trigemu {__version__}."


@singledispatch
def correction(result: Shown, **options: Any) -> Any:
    """Return the correction of a result that is an efficiency, in a variant that `options` choose."""
    raise TypeError(type(result))


@correction.register
def _(result: Curve, flow: str) -> Any:
    about = Described(result.name, f"The efficiency of {result.name}.", result.profile)
    return _correction(about, band(result), flow)


@correction.register
def _(result: Turnon, flow: str, over: str | tuple[str, str] | None) -> Any:
    profile = result.profile
    condition = [] if result.category == "all" else [result.category]
    key = ", ".join([profile.observable, *condition, *([result.sample] if result.sample else [])])
    what = f"{count(result.selected, 'event')} in {result.name}"
    if over is None:
        curves = {(c.menu, c.trigger): band(c) for c in result.curves}
        about = Described(key, f"Efficiencies of {what}.", profile)
    else:
        reference = result[over]
        ratios = ratios_to(result, reference)
        curves = {(c.menu, c.trigger): (ratio.value, ratio.low, ratio.high) for c, ratio in ratios}
        meaning = f"The efficiency over that of {reference.name}; up and down are bounds of its error."
        key = f"{key} / {reference.name}"
        about = Described(key, f"Ratios of {what}.", profile, "scale factor", meaning)
    return _correction(about, curves, flow)


@correction.register
def _(result: Efficiencies, **options: Any) -> Any:
    return _as_set(f"{events_of(result)}.", (correction(turnon, **options) for turnon in result.turnons))


class Ratio(NamedTuple):
    """The ratio of an efficiency curve to a reference."""

    value: FloatArray  # float64[bins], the ratio; NaN where the reference accepts no event
    low: FloatArray  # low, high: float64[bins], the ratio less and plus the bounds of its errors
    high: FloatArray


def ratios_to(turnon: Turnon, reference: Curve) -> Iterator[tuple[Curve, Ratio]]:
    """Yield each curve of a turn-on with its ratio to one of them."""
    first = turnon.curves[0].menu  # which gains are relative to
    below = np.where(reference.value > 0, reference.value, np.nan)
    for curve in turnon.curves:
        value = curve.value / below
        if curve is reference:
            down = up = np.zeros(len(value))
        elif curve.trigger == reference.trigger and (curve.menu == first) != (reference.menu == first):
            gain_error = (curve if reference.menu == first else reference).gain_error
            half = (reference.high - reference.low) / 2
            down = up = (gain_error + np.abs(value - 1) * half) / below
        else:
            down = (curve.value - curve.low + value * (reference.high - reference.value)) / below
            up = (curve.high - curve.value + value * (reference.value - reference.low)) / below
        yield curve, Ratio(value, np.maximum(value - down, np.minimum(value, 0.0)), value + up)
