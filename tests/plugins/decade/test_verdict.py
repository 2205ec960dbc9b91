"""Whether a trigger passes or fails, what it shares with others, and what `run` says of other samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from decade_toys import MENU as TOY, Models
from toys import menu_from
from trigemu_decade.diagnostics import diagnose
from trigemu_decade.events import ScoredEvents
from trigemu_decade.verdict import Verdict, judge

from trigemu import Catalogue, run
from trigemu.base.toml import TableError

MENU = """
[[trigger]]
name = "J60"
kind = "threshold"
observable = "jet[0].pt"
above = 60.0

[[trigger]]
name = "G20"
kind = "threshold"
observable = "photon[0].pt"
above = 20.0
"""


@pytest.fixture
def verdict_of(tmp_path: Path) -> Callable[[ScoredEvents], Verdict]:
    menu = menu_from(tmp_path, MENU)
    return lambda events: judge(events, diagnose(events), menu)


Judge = Callable[[ScoredEvents], Verdict]


@pytest.fixture(scope="module")
def scored(toy: Callable[..., Any]) -> ScoredEvents:
    """Events of which Y(x) is exact, at the threshold 0."""
    events = toy(60_000, 1, threshold=0.0)
    return replace(events, threshold_error=0.02, y_threshold=float(np.quantile(events.y, 0.97)))


def test_an_exact_quantile_removes_the_avoidable_overlap(scored: ScoredEvents, verdict_of: Judge) -> None:
    verdict = verdict_of(scored)
    assert verdict.passes
    assert verdict.removed == pytest.approx(1.0, abs=0.1)
    assert verdict.text.startswith("Passes. ")


def test_a_constant_removes_nothing_and_x_lacks_the_observables(
    scored: ScoredEvents, verdict_of: Judge
) -> None:
    """y less a constant: x is said to be an observable that no trigger cuts on."""
    cut = scored.y_threshold
    bare = replace(scored, x={"met": scored.y}, quantile=np.full(len(scored.y), cut))
    verdict = verdict_of(bare)
    assert verdict.removed == pytest.approx(0.0, abs=1e-9)
    (reason,) = verdict.reasons
    assert "unique share is 0." in reason
    assert reason.endswith("x lacks jet[0].pt, photon[0].pt")
    assert [of.not_in_x for of in verdict.shared] == [of.observables for of in verdict.shared]
    passing = bare.corrected > 0
    for of in verdict.shared:
        accepts, weight = bare.primary[of.trigger], bare.weight
        assert of.part == pytest.approx((weight * accepts)[passing].sum() / weight[passing].sum())
        assert of.independent == pytest.approx((weight * accepts).sum() / weight.sum())


def test_a_threshold_far_from_0_fails(scored: ScoredEvents, verdict_of: Judge) -> None:
    assert verdict_of(replace(scored, threshold=0.02)).passes
    (reason,) = verdict_of(replace(scored, threshold=0.3)).reasons
    assert reason.startswith("the threshold 0.3 is far from 0")


def test_too_few_events_fail(toy: Callable[..., Any], verdict_of: Judge) -> None:
    (reason,) = verdict_of(toy(300, 1, q=1e-3, threshold=0.0)).reasons
    assert reason.startswith("with q = 0.001, no bin of x has enough of the 300 events")


# ---- run

SEEN = (
    "missing = 0.0\n",
    "missing = 0.0\n[[quantile.seen]]\nobservable = 'jet[0].pt'\n{}\n"
    "[[quantile.seen]]\nobservable = 'photon[0].pt'\nmin = 0.0\nmax = 900.0\nmean = {}\nspread = {}\n",
)
JET = "min = 0.0\nmax = 900.0\nmean = 30.0\nspread = 900.0"


def card_with(models: Models, jet: str = JET, mean: float = 10.0, spread: float = 900.0) -> None:
    models.write_card((SEEN[0], SEEN[1].format(jet, mean, spread)))


def test_run_warns_of_another_mean(
    models: Models, catalogue: Catalogue, plain_events: list[dict[str, Any]]
) -> None:
    """That of a loop over the events, of both halves, that have a photon above 15 GeV."""
    card_with(models, spread=1.0)
    warnings = run(models.menu(), catalogue).warnings
    leading = [max((p["pt"] for p in e["photon"]), default=0.0) for e in plain_events]
    weight = np.array([e["weight"] if pt >= 15 else 0.0 for e, pt in zip(plain_events, leading, strict=True)])
    mean = np.average(np.float32(leading), weights=weight)
    (warning,) = [text for text in warnings if "photon[0].pt" in text]
    assert abs(mean - 10.0) > 10
    assert f"the mean of photon[0].pt over the events that pass `requires` is {mean:.4g}; " in warning
    assert "menu.toml:" in warning
    assert not any("jet[0].pt" in text for text in warnings)
    card_with(models, mean=float(mean) + 0.5, spread=1.0)
    assert not [text for text in run(models.menu(), catalogue).warnings if "photon[0].pt" in text]


def test_run_warns_of_a_threshold_far_from_0(models: Models, catalogue: Catalogue) -> None:
    """Also of a card without the values of x, as older ones."""
    result = run(models.menu(TOY, ("above = 0.0", "unique_rate_hz = 4000.0")), catalogue)
    solution = result.menu.trigger("AD").solution
    assert solution
    assert abs(solution.threshold) > 20 * solution.error > 0
    (warning,) = [text for text in result.warnings if "σ from 0" in text]
    assert f"is {abs(solution.threshold) / solution.error:.0f} σ from 0" in warning
    assert not any("σ from 0" in text for text in run(models.menu(), catalogue).warnings)


@pytest.mark.parametrize(
    ("jet", "message"),
    [
        (JET.replace("mean = 30.0", "mean = 901.0"), "mean = 901: expected a value from min = 0 to"),
        (JET.replace("spread = 900.0", "spread = -1.0"), "spread"),
        (JET.replace("min = 0.0", "min = nan"), "min"),
    ],
)
def test_values_that_cannot_be(models: Models, jet: str, message: str) -> None:
    card_with(models, jet)
    with pytest.raises(TableError, match=message):
        models.menu()


def test_x_in_another_order_than_in_training(models: Models) -> None:
    card_with(models)
    card = models.folder / "decade.toml"
    text = card.read_text()
    swapped = text.replace('x = ["jet[0].pt", "photon[0].pt"]', 'x = ["photon[0].pt", "jet[0].pt"]')
    assert swapped != text
    card.write_text(swapped)
    with pytest.raises(TableError, match=r"Y\(x\) was fitted to \['jet\[0\].pt', 'pho"):
        models.menu()
