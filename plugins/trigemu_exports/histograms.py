"""Results in bins as histograms of hist (UHI)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from trigemu.base.arrays import FloatArray
from trigemu.base.shown import Shown, part_of
from trigemu.results.bins import axis_of, curves_of
from trigemu.results.numbers import with_unit
from trigemu.studies.bins import BinnedRates
from trigemu.studies.efficiency import Turnon
from trigemu.studies.intervals import Curve, Profile


@dataclass(frozen=True)
class Histograms:
    """Histograms over common bins."""

    label: str  #: The label of the axis, with its unit
    edges: FloatArray  #: float64[bins + 1]
    #: Values and variances, float64[bins] each, by name; the name of a single one is empty
    named: Mapping[str, tuple[FloatArray, FloatArray]]


def histogram(result: Shown, name: str | None = None, **options: bool) -> Any:
    """Return a hist.Hist of a result without flow bins, in a variant of `options`: the histogram of a
    `name`, the only one, or all with a category axis."""
    import hist  # here, because the import takes a tenth of a second and is needed nowhere else

    histograms = histograms_of(result, **options)
    axis = hist.axis.Variable(histograms.edges, flow=False, name="observable", label=histograms.label)
    single = "" if name is None and "" in histograms.named else name
    if single is not None:
        values, variances = part_of(single, "histogram", histograms.named)
        made = hist.Hist(axis, storage="Weight")
    else:
        values, variances = (np.stack(part) for part in zip(*histograms.named.values(), strict=True))
        names = hist.axis.StrCategory(list(histograms.named), flow=False, name="name")
        made = hist.Hist(names, axis, storage="Weight")
    view = made.view()
    view.value, view.variance = values, variances
    return made


@singledispatch
def histograms_of(result: Shown, **options: bool) -> Histograms:
    """Return the histograms of a result in bins."""
    raise TypeError(type(result))


@histograms_of.register
def _(result: BinnedRates, rescaled: bool = False) -> Histograms:
    """A bin without crossings has a rate of 0; its rescaled rate is NaN."""
    label, edges = axis_of(result)
    missing = (np.nan, np.nan) if rescaled else (0.0, 0.0)
    values = {}
    for key, pairs in curves_of(result).items():
        rates = [pair[1 if rescaled else 0] if pair else None for pair in pairs]
        hz, error = np.array([(rate.hz, rate.error_hz) if rate else missing for rate in rates]).T
        values[key] = (hz, error**2)
    return Histograms(label, edges, values)


@histograms_of.register
def _(result: Curve) -> Histograms:
    return _efficiencies(result.profile, {"": result})


@histograms_of.register
def _(result: Turnon) -> Histograms:
    return _efficiencies(result.profile, {curve.name: curve for curve in result.curves})


def _efficiencies(profile: Profile, curves: Mapping[str, Curve]) -> Histograms:
    """Return efficiencies; their variances are the squares of half their intervals."""
    values = {key: (curve.value, ((curve.high - curve.low) / 2) ** 2) for key, curve in curves.items()}
    return Histograms(with_unit(profile.name, profile.unit), np.array(profile.edges), values)
