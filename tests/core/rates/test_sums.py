"""Rates beside fitted triggers: unbiased, with covering errors, the same in every menu; and what is known of
a rate without events."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from likeness import alike
from toys import COLLECTIONS, evaluation_half, even_events, memory_catalogue, menu_from, write_root

from trigemu import compare, run
from trigemu.api import MenuRates

JET = '[[trigger]]\nname = "J"\nkind = "threshold"\nobservable = "jet[0].pt"\nabove = 30\n'
FITTED = '[[trigger]]\nname = "B"\nkind = "threshold"\nobservable = "met"\nabove = 30\nfitted_on = "toy"\n'
#: The probabilities that J, B, and both accept an event.
J, B, BOTH = 0.3, 0.2, 0.1


def drawn(rng: np.random.Generator, mean: float) -> list[dict[str, Any]]:
    """A Poisson number of events of 1 Hz, made from interactions of one or two."""
    found = []
    for parent in range(rng.poisson(mean / 1.5)):
        for _ in range(1 + (rng.random() < 0.5)):
            u = rng.random()
            jet = {"pt": 40.0, "eta": 0.0, "phi": 0.0, "charge": 0} if u < J else None
            met = 40.0 if J - BOTH <= u < J - BOTH + B else 0.0
            found.append(
                {"met": met, "met_phi": 0.0, "weight": 1.0, "parent": parent}
                | {name: [] for name in COLLECTIONS}
                | ({"jet": [jet]} if jet else {})
            )
    return found


def numbers(rates: MenuRates) -> dict[str, tuple[float, float]]:
    found = {"menu": (rates.rate.hz, rates.rate.error_hz)}
    for t in rates.triggers:
        for quantity in ("total", "unique", "share"):
            found[f"{quantity} {t.name}"] = t.rates[quantity].hz, t.rates[quantity].error_hz
    return found | {"overlap": (float(rates.overlap[0, 1]), float(rates.overlap_error[0, 1]))}


def test_rates_are_unbiased_and_errors_cover_them(tmp_path: Path) -> None:
    """In 120 samples of 600 events on average; errors are not above those of the half alone, each of what
    nothing was fitted for, the others on average."""
    either = J + B - BOTH
    truth = {
        **{"menu": either, "total J": J, "unique J": J - BOTH, "share J": J - BOTH / 2},
        **{"total B": B, "unique B": B - BOTH, "share B": B - BOTH / 2, "overlap": BOTH},
    }
    rng, menu = np.random.default_rng(7), menu_from(tmp_path, JET + FITTED)
    alone = menu_from(tmp_path / "..", JET + FITTED.replace("toy", "other"))
    pulls: dict[str, list[float]] = {name: [] for name in truth}
    ratios: dict[str, list[float]] = {name: [] for name in truth}
    for _ in range(120):
        events = drawn(rng, 600.0)
        found = numbers(run(menu, memory_catalogue({"a": events})))
        half = numbers(run(alone, memory_catalogue({"a": evaluation_half(events)})))
        for name, (hz, error) in found.items():
            pulls[name].append((hz - 600.0 * truth[name]) / error)
            ratios[name].append(error / half[name][1])
    assert max(ratios["total J"]) <= 1.0
    assert all(ratio == pytest.approx(1.0, rel=1e-9) for ratio in ratios["total B"])
    for name, of in pulls.items():
        assert np.mean(ratios[name]) < 1.0 + 1e-9, name
        assert abs(np.mean(of)) < 3.5 / np.sqrt(120), name
        assert 0.8 < np.std(of) < 1.2, name


def test_a_rate_is_the_same_beside_fitted_triggers(tmp_path: Path) -> None:
    """Alone, in a menu with a fitted trigger, and in a comparison with it."""
    catalogue = memory_catalogue({"a": drawn(np.random.default_rng(3), 600.0)})
    alone = run(menu_from(tmp_path, JET), catalogue)
    menus = [
        menu_from(tmp_path, f'[menu]\nname = "{name}"\n{JET}{more}')
        for name, more in (("a", ""), ("b", FITTED))
    ]
    beside = compare(menus, catalogue)
    assert alike(beside["a"]["J"], alone["J"])
    assert alike(beside["b"]["J"].total, alone["J"].total)
    assert beside["b"].half is not None


def test_a_limit_is_at_most_what_a_containing_trigger_accepts(tmp_path: Path) -> None:
    """Heavy events without jets, light ones with: no limit of a heavy one above the rate of J."""
    rng = np.random.default_rng(1)
    events = [e | {"weight": 100.0 if not e["jet"] else 0.1} for e in drawn(rng, 60.0)]
    higher = JET.replace('"J"', '"HIGHER"').replace("30", "300")
    highest = JET.replace('"J"', '"HIGHEST"').replace("30", "900")
    rates = run(menu_from(tmp_path, highest + higher + JET), memory_catalogue({"a": events}))
    assert rates["J"].total.hz == pytest.approx(0.1 * rates["J"].total.events)
    for name in ("HIGHER", "HIGHEST"):
        assert rates[name].total.upper_limit_hz == rates[name].share.upper_limit_hz == rates["J"].total.hz
        assert rates[name].unique.upper_limit_hz is None


def test_a_budget_is_one_only_where_it_was_solved(tmp_path: Path) -> None:
    text = JET + '[[trigger]]\nname = "M"\nkind = "threshold"\nobservable = "ht"\nabove = 10\nprescale = 2\n'
    budget = '[[trigger]]\nname = "B"\nkind = "threshold"\nobservable = "met"\ntotal_rate_hz = 20.0\n'
    rng = np.random.default_rng(2)
    events = [event | {"met": float(rng.exponential(20.0))} for event in drawn(rng, 300.0)]
    rates = run(menu_from(tmp_path, text + budget), memory_catalogue({"a": events}))
    assert rates["B"].total.budgeted
    assert rates["B"].total.hz == pytest.approx(20.0, rel=0.1)
    assert not rates["B"].unique.budgeted
    assert not rates["J"].total.budgeted


def test_an_upper_limit_is_of_the_heaviest_event(tmp_path: Path) -> None:
    """1.14 · w / p with the largest weight of any sample; `weight_before_thinning` of older catalogues is
    read, and limits nothing."""
    heavy, light = even_events(1, 30), even_events(2, 30)
    heavy[7]["weight"] = 40.0
    for name, events in (("heavy", heavy), ("light", light)):
        write_root(tmp_path / f"{name}.root", events, sum_of_weights=math.fsum(e["weight"] for e in events))
    (tmp_path / "catalogue.toml").write_text(
        '[catalogue]\nname = "toy"\nconvention = "crossing"\n'
        + "".join(
            f'[[sample]]\nname = "{name}"\nrole = "background"\nfiles = ["{name}.root"]\n'
            f"rate_hz = {math.fsum(e['weight'] for e in events)}\nweight_before_thinning = 0.5\n"
            for name, events in (("heavy", heavy), ("light", light))
        )
    )
    text = (
        '[[trigger]]\nname = "A"\nkind = "threshold"\nobservable = "jet[0].pt"\nabove = 1e5\nprescale = 4\n'
    )
    result = run(menu_from(tmp_path, text), tmp_path / "catalogue.toml")
    limits = [rate.upper_limit_hz for rate in (result["A"].total, result["A"].unique, result.rate)]
    assert limits == pytest.approx([1.14 * 40.0 / 4] * 3, rel=1e-12)
