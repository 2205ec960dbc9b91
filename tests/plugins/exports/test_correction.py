"""Corrections, as correctionlib evaluates their files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from project import ROOT
from toys import memory_catalogue, toy_events
from trigemu_exports.correction import ratios_to, schema

from trigemu import Profile, TrigemuError, efficiencies

correctionlib = pytest.importorskip("correctionlib")
NAME = "jet[0].pt, n_jet > 1"


def opened(corrections: Any) -> Any:
    """A correction or a set of these, from the text of its file."""
    if not hasattr(corrections, "corrections"):
        corrections = schema().CorrectionSet(schema_version=2, corrections=[corrections])
    return correctionlib.CorrectionSet.from_string(corrections.model_dump_json())


def centres(turnon: Any) -> Any:
    edges = np.array(turnon.profile.edges)
    return (edges[1:] + edges[:-1]) / 2


def test_a_turnon(results: dict[str, Any]) -> None:
    """Every curve and end of an interval, at the edges too; a bin without events is NaN."""
    turnon = results["Turnon"]
    correction = opened(turnon.to_correction())[NAME]
    assert [of.name for of in correction.inputs] == ["jet[0].pt", "menu", "trigger", "variation"]
    low, high = turnon.profile.edges[:-1], turnon.profile.edges[1:]
    for curve in turnon.curves:
        for variation, expected in (("nominal", curve.value), ("down", curve.low), ("up", curve.high)):
            key = curve.menu, curve.trigger or "", variation
            np.testing.assert_allclose(correction.evaluate(centres(turnon), *key), expected, rtol=1e-15)
            np.testing.assert_allclose(correction.evaluate(np.array(low), *key), expected, rtol=1e-15)
            with pytest.raises(RuntimeError, match="above bounds"):
                correction.evaluate(high[-1], *key)
            with pytest.raises(RuntimeError, match="below bounds"):
                correction.evaluate(low[0] - 1, *key)
    assert np.isnan(turnon.curves[0].value[-1])


def test_values_outside_of_the_bins_may_be_clamped(results: dict[str, Any]) -> None:
    curve = results["Turnon"].curves[0]
    correction = opened(curve.to_correction(flow="clamp"))[curve.name]
    assert correction.evaluate(0.0, "nominal") == curve.value[0]
    with pytest.raises(TrigemuError, match="flow = 'wrap': expected one of 'error', 'clamp'"):
        curve.to_correction(flow="wrap")


def test_a_curve_and_all_efficiencies(results: dict[str, Any]) -> None:
    curve, turnon = results["Curve"], results["Turnon"]
    alone = opened(curve.to_correction())[curve.name]
    assert [of.name for of in alone.inputs] == ["jet[0].pt", "variation"]
    corrections = opened(results["Efficiencies"].to_correction())
    assert list(corrections) == [NAME]
    for variation in ("nominal", "up", "down"):
        np.testing.assert_array_equal(
            alone.evaluate(centres(turnon), variation),
            corrections[NAME].evaluate(centres(turnon), curve.menu, curve.trigger, variation),
        )


def measured(edges: tuple[float, ...], *categories: str) -> Any:
    samples = memory_catalogue({"a": toy_events(1, 300)}, signals={"s": toy_events(2, 200)})
    observable = Profile("jet[0].pt", edges)
    return efficiencies(ROOT / "menus" / "primary.toml", samples, "s", observable, categories)


def test_infinite_edges() -> None:
    """The first and the last bin may be open; they then hold every value, however large."""
    found = measured((-np.inf, 30.0, np.inf))
    curve = found.turnons[0].curves[0]
    correction = opened(found.to_correction())["jet[0].pt"]
    for value, expected in ((-1e300, curve.value[0]), (31.0, curve.value[1]), (1e300, curve.value[1])):
        assert correction.evaluate(value, "primary", "", "nominal") == expected


def test_a_category_that_is_repeated() -> None:
    with pytest.raises(TrigemuError, match=r"2 efficiencies are called 'jet\[0\].pt, n_jet > 1', .* once"):
        measured((0.0, 30.0, 60.0), "n_jet > 1", "n_jet > 1").to_correction()


def test_scale_factors(results: dict[str, Any]) -> None:
    turnon = results["Turnon"]
    reference, *_ = turnon.curves
    factors = opened(results["Efficiencies"].to_correction(over=reference.menu))
    (name,) = factors
    assert name == f"{NAME} / {reference.name}"
    for curve, ratio in ratios_to(turnon, reference):
        for variation, expected in (("nominal", ratio.value), ("down", ratio.low), ("up", ratio.high)):
            key = curve.menu, curve.trigger or "", variation
            np.testing.assert_allclose(factors[name].evaluate(centres(turnon), *key), expected, rtol=1e-15)
