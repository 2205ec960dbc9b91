"""Errors of scale factors against their true spread: of toys that use the same events for both curves."""

from __future__ import annotations

import numpy as np
import pytest
from trigemu_exports.correction import ratios_to

from trigemu.base.arrays import FloatArray
from trigemu.counting.patterns import Keys, count_patterns
from trigemu.studies.efficiency import Turnon
from trigemu.studies.intervals import Profile, Sums

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
