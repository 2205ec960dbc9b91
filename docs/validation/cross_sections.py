"""Cross-sections of a sample, its rates divided by its luminosity, beside published ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from measure import Array, Measured, Quantity, objects, pairs
from page import ratio, table

from trigemu.results.numbers import with_error
from trigemu.samples.catalogue import Catalogue

#: Units in cm².
CM2 = {"mb": 1e-27, "μb": 1e-30, "nb": 1e-33, "pb": 1e-36, "fb": 1e-39}
Table = Mapping[str, Any]
#: By the name of a range of |η|: lower and upper ends of bins, published value, error, the sample's, error.
Groups = dict[str, tuple[Array, Array, Array, Array, Array, Array]]


def quantities(published: Table) -> list[Quantity]:
    """Return what is measured for the published cross-sections."""
    made = []
    for one in published["differential"]:
        for low, high in _ranges(one):
            edges = np.unique([row[2:4] for row in one["bins"] if (row[0], row[1]) == (low, high)])
            of = objects(one["collection"], "pt", (low, high), one.get("where"))
            made.append(Quantity(_key(one, low, high), one["title"], "GeV", edges, *of))
    for one in published["total"]:
        if one["measure"] == "pairs":
            edges = np.array(one["mass"])
            of = pairs(one["collection"], one["pt"], one["eta"])
            made.append(Quantity(one["name"], one["name"], "GeV", edges, *of))
    return made


def _ranges(one: Table) -> list[tuple[float, float]]:
    return sorted({(row[0], row[1]) for row in one["bins"]})


def _key(one: Table, low: float, high: float) -> str:
    return f"{one['name']} {low:g}–{high:g}"


def differential(
    one: Table, measured: Mapping[str, Measured], names: Sequence[str], per_cm2s: float
) -> Groups:
    """Return published cross-sections and the sample's, in the published unit, by the range of |η|. The error
    is at least the largest weight in a bin and its neighbours, in any of the ranges: a bin that by chance has
    light events only would have too small an error."""
    groups: Groups = {}
    ranges = [measured[key] for key in (_key(one, *ends) for ends in _ranges(one)) if key in measured]
    for low, high in _ranges(one):
        found = measured.get(_key(one, low, high))
        if found is None:
            continue
        rows = np.array([row[2:] for row in one["bins"] if (row[0], row[1]) == (low, high)])
        at = np.searchsorted(found.quantity.edges, rows[:, 0])
        width = rows[:, 1] - rows[:, 0]
        eta = 2 * (high - low) if one["per_eta"] else 1.0
        unit = CM2[one["unit"].split("/")[0]] * per_cm2s * eta * width
        hz, error = found.sum(names)
        alike = [other for other in ranges if len(other.quantity.edges) == len(found.quantity.edges)]
        error = np.maximum.reduce([error, *(other.heaviest(names) for other in alike)])
        groups[f"{low:g} < |η| < {high:g}"] = (*rows.T, hz[at] / unit, error[at] / unit)
    return groups


def integrated(
    one: Table, measured: Mapping[str, Measured], names: Sequence[str], per_cm2s: float
) -> tuple[float, float, float, float]:
    """Return the sum over all bins: published, its error (those of the bins, fully correlated), the sample's,
    and its statistical error, in the published unit times GeV."""
    value = error = hz = variance = 0.0
    for low, high in _ranges(one):
        eta = 2 * (high - low) if one["per_eta"] else 1.0
        rows = np.array([row[2:] for row in one["bins"] if (row[0], row[1]) == (low, high)])
        width = (rows[:, 1] - rows[:, 0]) * eta
        value += float(np.sum(rows[:, 2] * width))
        error += float(np.sum(rows[:, 3] * width))
        found = measured[_key(one, low, high)]
        rate, spread = found.sum(names)
        at = np.searchsorted(found.quantity.edges, rows[:, 0])
        hz += float(np.sum(rate[at]))
        variance += float(np.sum(spread[at] ** 2))
    unit = CM2[one["unit"].split("/")[0]] * per_cm2s
    return value, error, hz / unit, math.sqrt(variance) / unit


def differential_table(groups: Groups, unit: str) -> str:
    """Return the cross-sections as a table."""
    rows = []
    for name, columns in groups.items():
        for low, high, value, error, ours, spread in zip(*columns, strict=True):
            rows.append(
                [
                    name,
                    f"{low:g}–{high:g}",
                    with_error(value, error),
                    with_error(ours, spread) if spread > 0 else "0",
                    ratio(ours, spread, value, error),
                ]
            )
    head = ["range", "pT (GeV)", f"published ({unit})", f"sample ({unit})", "sample / published"]
    return table(head, rows)


def totals_table(
    published: Table, measured: Mapping[str, Measured], catalogue: Catalogue, names: Sequence[str]
) -> str:
    """Return the single cross-sections of what the sample has."""
    rows = []
    for one in published["total"]:
        found = _total(one, measured, catalogue, names)
        if found is None:
            continue
        unit = CM2[one["unit"]] * (catalogue.table.luminosity_cm2s or math.nan)
        ours, spread = found[0] / unit, found[1] / unit
        rows.append(
            [
                one["name"],
                f"{with_error(one['value'], one['error'])} {one['unit']}",
                f"{with_error(ours, spread) if spread > 0 else f'{ours:.4g}'} {one['unit']}",
                ratio(ours, spread, one["value"], one["error"]),
                f"{one['measured']}; {one['source']}",
                one["differs"],
            ]
        )
    head = ["what", "published", "sample", "sample / published", "measured; source", "differences"]
    return table(head, rows)


def _total(
    one: Table, measured: Mapping[str, Measured], catalogue: Catalogue, names: Sequence[str]
) -> tuple[float, float] | None:
    """Return the rate in Hz, and its error, of what a total describes; None if the sample has none of it."""
    if one["measure"] == "pairs" and one["name"] in measured:
        hz, error = measured[one["name"]].sum([name for name in one.get("class", names) if name in names])
        return float(hz[0]), float(error[0])
    if one["measure"] == "class":
        rates = [sample.rate_hz for sample in catalogue.background if sample.name in one["class"]]
        if not rates and "signal" in one:  # a class that contains more has no rate of it alone
            alone = [sample for sample in catalogue.samples if sample.name == one["signal"]]
            rates = [one["factor"] * sample.rate_hz for sample in alone]
        return (sum(rates), 0.0) if rates else None
    if one["measure"] == "interactions" and catalogue.table.mean_interactions:
        return catalogue.table.mean_interactions * catalogue.crossing_rate_hz, 0.0
    return None
