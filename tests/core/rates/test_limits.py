"""Rates beside fitted triggers: unbiased, with covering errors, the same in every menu; what is known of a
rate without events: limits, what can be unique nowhere, and samples that may be missed by chance."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from likeness import alike
from toys import (
    COLLECTIONS,
    evaluation_half,
    even_events,
    memory_catalogue,
    menu_from,
    threshold,
    toy_event,
    toy_events,
)

from trigemu import compare, emulate, rates_of, run
from trigemu.api import MenuRates

J30 = threshold("J", "jet[0].pt", 30)
FITTED = threshold("B", "met", 30, 'fitted_on = "toy"')
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
    rng, menu = np.random.default_rng(7), menu_from(tmp_path, J30 + FITTED)
    alone = menu_from(tmp_path / "..", J30 + FITTED.replace("toy", "other"))
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
    alone = run(menu_from(tmp_path, J30), catalogue)
    menus = [
        menu_from(tmp_path, f'[menu]\nname = "{name}"\n{J30}{more}')
        for name, more in (("a", ""), ("b", FITTED))
    ]
    beside = compare(menus, catalogue)
    assert alike(beside["a"]["J"], alone["J"])
    assert alike(beside["b"]["J"].total, alone["J"].total)
    assert beside["b"].half is not None


def test_a_budget_is_one_only_where_it_was_solved(tmp_path: Path) -> None:
    text = J30 + threshold("M", "ht", 10, "prescale = 2")
    budget = threshold("B", "met", None, "total_rate_hz = 20.0")
    rng = np.random.default_rng(2)
    events = [event | {"met": float(rng.exponential(20.0))} for event in drawn(rng, 300.0)]
    rates = run(menu_from(tmp_path, text + budget), memory_catalogue({"a": events}))
    assert rates["B"].total.budgeted
    assert rates["B"].total.hz == pytest.approx(20.0, rel=0.1)
    assert not rates["B"].unique.budgeted
    assert not rates["J"].total.budgeted


def test_an_upper_limit_is_of_the_heaviest_event(tmp_path: Path) -> None:
    """1.14 · w / p with the largest weight of any sample."""
    heavy = [event | {"weight": 40.0 if i == 7 else 1.0} for i, event in enumerate(even_events(1, 30))]
    menu = menu_from(tmp_path, threshold("A", "jet[0].pt", 1e5, "prescale = 4"))
    result = run(menu, memory_catalogue({"heavy": heavy, "light": even_events(2, 30)}))
    limits = [rate.upper_limit_hz for rate in (result["A"].total, result["A"].unique, result.rate)]
    assert limits == pytest.approx([1.14 * 40.0 / 4] * 3, rel=1e-12)


JET = 'kind = "threshold"\nobservable = "jet[0].pt"\nabove = '
LEGS = 'kind = "leg_threshold"\nlegs = [{ object = "jet" }, { object = "muon" }]\nabove = '


def rates(folder: Path, *triggers: str) -> MenuRates:
    """The rates of a menu with the triggers A, B … and two random ones, R and S."""
    text = "".join(f'[[trigger]]\nname = "{n}"\n{keys}\n' for n, keys in zip("ABCD", triggers, strict=False))
    for name in "RS":
        text += f'[[trigger]]\nname = "{name}"\nkind = "random"\nrate_hz = 1000\n'
    return rates_of(emulate([menu_from(folder, text)], memory_catalogue({"a": toy_events(1, 60)})))


@pytest.mark.parametrize(
    ("first", "second", "nested"),
    [
        (f"{JET}10", f"{JET}20", True),
        (f"{JET}20", f"{JET}20", True),
        (f"{JET}20", f"{JET}10", False),
        (f"{LEGS}10", f"{LEGS}20", True),
        (f"{JET}10", f"{LEGS}1000", False),
        (f"{JET}10", f"{JET}20\nprescale = 20", True),
        (f"{JET}10\nprescale = 10", f"{JET}20\nprescale = 20", False),
        (f'{JET}10\nprescale = 10\ncoherent = "j"', f'{JET}20\nprescale = 20\ncoherent = "j"', True),
        (f'{JET}10\nprescale = 20\ncoherent = "j"', f'{JET}20\nprescale = 10\ncoherent = "j"', False),
        (f'{JET}10\nprescale = 10\ncoherent = "j"', f'{JET}20\nprescale = 20\ncoherent = "k"', False),
        (f"{JET}10", f'{JET}20\nseed = "R"', True),
        (f'{JET}10\nseed = "R"', f'{JET}20\nseed = "R"\nprescale = 2', True),
        (f'{JET}10\nseed = "R"', f'{JET}20\nseed = "S"', False),
        (f'{JET}10\nseed = "R"', f"{JET}1000", False),
    ],
)  # fmt: skip
def test_thresholds_prescales_and_seeds(tmp_path: Path, first: str, second: str, nested: bool) -> None:
    assert rates(tmp_path, first, second)["B"].unique.contained_in == (("A",) if nested else ())


def test_identical_triggers_contain_each_other(tmp_path: Path) -> None:
    combination = 'kind = "combination"\nlegs = [{ object = "muon" }]'
    result = rates(tmp_path, f"{JET}10", f"{JET}10", combination, combination)
    assert [t.unique.contained_in for t in result.triggers[:4]] == [("B",), ("A",), ("D",), ("C",)]
    assert all(t.unique.upper_limit_hz is None and t.total.hz > 0 for t in result.triggers[:4])


def test_a_limit_is_at_most_the_rate_of_a_wider_trigger(tmp_path: Path) -> None:
    """The rarest of those, though the first is named."""
    result = rates(tmp_path, f"{JET}10", f"{JET}60", f"{JET}1000", f"{LEGS}1000")
    limit, free = (result[name].total.upper_limit_hz for name in "CD")
    assert limit is not None
    assert free is not None
    assert math.isclose(limit, min(free, result["B"].total.hz))
    assert result["C"].unique.contained_in == ("A",)


MET, ANY = threshold("MET", "met", 50), threshold("ANY", "met", 10, "prescale = 1000")


def events(n: int, passing: int, weight: float, met: float = 20.0) -> list[dict[str, Any]]:
    """So many of equal weight, of which some have much MET."""
    plain = toy_event(random.Random(1), weight)
    return [plain | {"met": 100.0 if i < passing else met} for i in range(n)]


def result(folder: Path, samples: dict[str, list[dict[str, Any]]], text: str = MET) -> MenuRates:
    return rates_of(emulate([menu_from(folder, text)], memory_catalogue(samples)))


def told(folder: Path, soft: list[dict[str, Any]], text: str = MET) -> tuple[str, ...]:
    """Where 100 events of 1 Hz of another sample enter: 100 ± 10 Hz of 10 kHz."""
    return result(folder, {"hard": events(10_000, 100, 1.0), "soft": soft}, text).triggers[0].total.unseen


@pytest.mark.parametrize(
    ("n", "weight", "expected"),
    [
        (200, 20.0, ("soft",)),  # 40 Hz if it passed like the others: two events
        (200, 9.0, ()),  # one more would not change the error
        (400, 20.0, ()),  # four events: it does not pass like the others
        (100_000, 20.0, ()),
        (1, 5000.0, ("soft",)),
    ],
)
def test_few_heavy_events_may_be_missed_by_chance(
    tmp_path: Path, n: int, weight: float, expected: tuple[str, ...]
) -> None:
    assert told(tmp_path, events(n, 0, weight)) == expected


def test_what_has_an_event_is_not_unseen_nor_a_sample_alone(tmp_path: Path) -> None:
    assert told(tmp_path, events(200, 1, 20.0)) == ()
    assert result(tmp_path, {"soft": events(100, 3, 1.0)}).triggers[0].total.unseen == ()


def test_events_that_the_menu_accepts_show_what_one_would_weigh(tmp_path: Path) -> None:
    """Quiet events are heavy, and no trigger asks for them: those that any trigger accepts are light."""
    soft = [*events(100, 0, 100.0, met=1.0), *events(100, 0, 5.0)]
    assert told(tmp_path, soft) == ("soft",)
    assert told(tmp_path, soft, MET + ANY) == ()


def test_a_prescaled_event_weighs_less(tmp_path: Path) -> None:
    """20 Hz with an error of 2: one event in five is accepted, which would be 4 Hz, or 1.6 Hz."""
    text = threshold("MET", "met", 50, "prescale = 5")
    assert told(tmp_path, events(200, 0, 20.0), text) == ("soft",)
    assert told(tmp_path, events(200, 0, 8.0), text) == ()


def test_all_rates_of_a_menu_are_marked_each_for_itself(tmp_path: Path) -> None:
    """Of heavy crossings that pass at 10 GeV and not at 50."""
    samples = {"hard": events(10_000, 100, 1.0), "soft": events(200, 0, 20.0)}
    found = result(tmp_path, samples, MET + threshold("LOW", "met", 10))
    assert {t.name: t.total.unseen for t in found.triggers} == {"MET": ("soft",), "LOW": ()}
    assert found.rate.unseen == ()
