"""Fits of turn-ons against the curves that made the entries, and against a likelihood written out."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import optimize, stats
from trigemu_recorded import Fit, fit_turnon

from trigemu.base.arrays import BoolArray, FloatArray

EDGES = np.linspace(20.0, 180.0, 641)
CENTRES = (EDGES[1:] + EDGES[:-1]) / 2


def entries(
    rng: np.random.Generator, n: int, plateau: float, x50: float, width: float
) -> tuple[FloatArray, BoolArray]:
    """A falling spectrum within the bins, and what passes."""
    x = 20 + rng.exponential(40.0, n)
    x = x[x < EDGES[-1]]
    return x, rng.random(len(x)) < plateau * stats.norm.cdf((x - x50) / width)


def fitted(x: FloatArray, passes: BoolArray, weight: FloatArray) -> Fit | None:
    total, square, passed = (
        np.histogram(x, EDGES, weights=w)[0] for w in (weight, weight**2, weight * passes)
    )
    with np.errstate(invalid="ignore"):
        return fit_turnon(CENTRES, np.nan_to_num(passed / total), np.nan_to_num(total**2 / square))


@pytest.mark.parametrize(("plateau", "weighted"), [(0.9, True), (1.0, False)])
def test_pulls_of_toys_have_unit_width(plateau: float, weighted: bool) -> None:
    rng = np.random.default_rng(int(10 * plateau) + weighted)
    truth = {"plateau": plateau, "x50": 70.0, "width": 9.0, "x95": 70.0 + 1.6448536 * 9.0}
    names = [name for name in truth if name != "plateau" or plateau < 1]  # else one-sided
    pulls = []
    for _ in range(100):
        x, passes = entries(rng, 4000, plateau, 70.0, 9.0)
        fit = fitted(x, passes, rng.exponential(1.0, len(x)) if weighted else np.ones(len(x)))
        assert fit
        pulls.append([(getattr(fit, n) - truth[n]) / getattr(fit, f"{n}_error") for n in names])
    assert np.abs(np.mean(pulls, axis=0)).max() < 0.4  # 4 σ of the mean
    assert np.abs(np.std(pulls, axis=0) - 1).max() < 0.28  # 4 σ of the width


def test_the_fit_maximises_a_likelihood_that_is_written_out() -> None:
    rng = np.random.default_rng(3)
    x, passes = entries(rng, 3000, 0.85, 60.0, 12.0)
    fit = fitted(x, passes, np.ones(len(x)))

    def loss(values: FloatArray) -> float:
        efficiency = values[0] * stats.norm.cdf((x - values[1]) / values[2])
        return -float(np.log(np.where(passes, efficiency, 1 - efficiency)).sum())

    best = optimize.minimize(loss, [0.85, 60.0, 12.0], method="Nelder-Mead", options={"xatol": 1e-4})
    assert fit
    values, errors = [fit.plateau, fit.x50, fit.width], [fit.plateau_error, fit.x50_error, fit.width_error]
    assert np.all(np.abs(values - best.x) < 0.02 * np.array(errors))
    scales = np.diag(errors)
    for moved, sign in product(scales, (-1, 1)):  # the likelihood falls by 1/2 one error away, others free

        def moved_loss(others: FloatArray, step: FloatArray = sign * moved) -> float:
            return loss(best.x + step + others * (step == 0))

        falls = optimize.minimize(moved_loss, np.zeros(3), method="Nelder-Mead").fun - best.fun
        assert falls == pytest.approx(0.5, abs=0.12)


def test_copies_of_weights_do_not_change_the_fit() -> None:
    """All weights times a constant: the same numbers and errors; each entry twice: errors smaller by √2."""
    rng = np.random.default_rng(4)
    x, passes = entries(rng, 2000, 0.95, 60.0, 10.0)
    one, scaled = (fitted(x, passes, np.full(len(x), w)) for w in (1.0, 7e3))
    twice = fitted(np.tile(x, 2), np.tile(passes, 2), np.ones(2 * len(x)))
    assert one
    assert scaled
    assert twice
    assert vars(scaled) == pytest.approx(vars(one), rel=1e-6)
    assert twice.x50_error == pytest.approx(one.x50_error / np.sqrt(2), rel=1e-3)
    assert one.at(np.array([one.x50, one.x95])) == pytest.approx([0.5 * one.plateau, 0.95 * one.plateau])


@pytest.mark.parametrize("efficiency", [
    np.zeros(640), np.ones(640),  # none pass, all pass
    (CENTRES > 60.0) * 1.0,  # narrower than the bins
    1.0 - (CENTRES > 60.0),  # it falls
])  # fmt: skip
@pytest.mark.parametrize("effective", [10.0, 1e6])
def test_without_a_rise_there_is_no_fit(efficiency: FloatArray, effective: float) -> None:
    assert fit_turnon(CENTRES, efficiency, np.full(640, effective)) is None


@pytest.mark.parametrize("entries", [1e3, 1e6, 1e9])
@pytest.mark.parametrize(("plateau", "x50", "width"), [(0.9, 60.0, 5.0), (1.0, 30.0, 1.0), (0.2, 90.0, 20.0)])
def test_an_exact_curve_comes_back(entries: float, plateau: float, x50: float, width: float) -> None:
    """Whatever the number of entries; the errors fall with its root."""
    effective = entries * np.exp(-CENTRES / 40.0)
    fit = fit_turnon(CENTRES, plateau * stats.norm.cdf((CENTRES - x50) / width), effective)
    assert fit
    assert [fit.plateau, fit.x50, fit.width] == pytest.approx([plateau, x50, width], rel=1e-3)
    first = fit_turnon(CENTRES, plateau * stats.norm.cdf((CENTRES - x50) / width), effective / entries * 1e5)
    assert first
    assert fit.x50_error == pytest.approx(first.x50_error * np.sqrt(1e5 / entries), rel=0.01)


def test_a_gap_without_entries_has_no_fit() -> None:
    effective = np.where((CENTRES > 30) & (CENTRES < 100), 0.0, 5.0)
    assert fit_turnon(CENTRES, (CENTRES > 60) * 1.0, effective) is None
    assert fit_turnon(CENTRES, (CENTRES > 60) * 1.0, np.zeros(640)) is None
