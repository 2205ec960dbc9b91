"""Scale factors: their errors against the true spread of toys that use the same events for both curves; and
corrections, as correctionlib evaluates their files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from project import ROOT
from toys import memory_catalogue, toy_events
from trigemu_exports.correction import ratios_to, schema

from trigemu import Profile, TrigemuError, efficiencies
from trigemu.base.arrays import FloatArray
from trigemu.counting.patterns import Keys, count_patterns
from trigemu.studies.efficiency import Turnon
from trigemu.studies.intervals import Sums

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


TOYS, EVENTS = 2000, 400
#: The shares of events that only the curve, only the reference, and both accept.
SHARES = {
    "similar": (0.02, 0.01, 0.5),
    "contained": (0.0, 0.3, 0.3),
    "containing": (0.3, 0.0, 0.3),
    "disjoint": (0.3, 0.3, 0.0),
    "independent": (0.2, 0.3, 0.3),
}


def turnon_of(names: tuple[tuple[str, str | None], ...], shares: tuple[float, float, float]) -> Turnon:
    """Three curves in bins that are independent toys: of a first menu that accepts what the reference does,
    of the reference, and of the curve."""
    rng = np.random.default_rng(5)
    uniform, weight = rng.random((TOYS, EVENTS)), rng.lognormal(0, 0.3, (TOYS, EVENTS))
    only, reference, both = np.cumsum(shares)
    accepts = (
        uniform < only,
        (uniform >= only) & (uniform < reference),
        (uniform >= reference) & (uniform < both),
    )
    words = np.stack([(accepts[0] | accepts[2]).ravel(), (accepts[1] | accepts[2]).ravel()], axis=1)
    bins = Keys(bin=np.repeat(np.arange(TOYS), EVENTS))
    table = count_patterns(0, words.astype(np.uint64), weight.ravel(), bins)
    curve, of = (table.words[:, bit].astype(np.float64) for bit in (0, 1))
    profile = Profile("x", tuple(range(TOYS + 1)))
    sums = Sums(table, profile)
    fractions = (of, of, curve)
    curves = tuple(sums.curve(*name, fraction, of) for name, fraction in zip(names, fractions, strict=True))
    return Turnon(profile, "all", TOYS * EVENTS, sums.events[:-1], sums.effective[:-1], curves)


def spread(values: FloatArray) -> float:
    low, high = np.quantile(values, (0.1587, 0.8413))
    return float(high - low) / 2


@pytest.mark.parametrize("shares", SHARES.values(), ids=SHARES)
def test_errors_are_bounds(shares: tuple[float, float, float]) -> None:
    """With the gain and without; with it, those of similar efficiencies are close to the truth."""
    truth = (shares[0] + shares[2]) / (shares[1] + shares[2])
    with_gain = turnon_of((("a", None), ("b", None), ("c", None)), shares)
    without = turnon_of((("a", None), ("b", "T"), ("c", "U")), shares)
    for turnon, reference in ((with_gain, with_gain["a"]), (without, without["b", "T"])):
        *_, (_, ratio) = ratios_to(turnon, reference)
        assert np.median(ratio.value) == pytest.approx(truth, rel=0.01)
        half = np.median(ratio.high - ratio.low) / 2
        assert half > 0.98 * spread(ratio.value)
        if turnon is with_gain and shares == SHARES["similar"]:
            assert half < 1.1 * spread(ratio.value)


def test_a_gain_serves_in_both_directions() -> None:
    turnon = turnon_of((("a", None), ("b", None), ("c", None)), SHARES["similar"])
    (_, ratio), *_ = ratios_to(turnon, turnon["c"])
    assert np.median(ratio.high - ratio.low) / 2 < 1.1 * spread(ratio.value)


def test_the_reference_is_1_and_no_events_give_nan() -> None:
    turnon = turnon_of((("a", None), ("b", None), ("c", None)), (0.5, 0.0, 0.0))
    ratios = [ratio for _, ratio in ratios_to(turnon, turnon["a"])]
    assert all(np.isnan(part).all() for ratio in ratios for part in ratio)
    turnon = turnon_of((("a", None), ("b", None), ("c", None)), SHARES["disjoint"])
    (_, itself), *_ = ratios_to(turnon, turnon["a"])
    assert all((part == 1).all() for part in itself)
