"""The fractions of `counters_twin` against closed forms, and against counters that count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from counters_drawn import Columns, drawn, observed, run
from counters_menus import TWO_LEVELS, toy_menus
from counters_twin import Contributions, Event, Expression, Toy, ToyMenu, contributions
from hypothesis import Phase, given, settings, strategies as st
from scipy import stats

TRIALS = 1_000_000

# ---- closed forms, where everything fires


def fire(*triggers: Toy, levels: tuple[str, ...] = (), **decisions: bool) -> Contributions:
    """All triggers fire that are not said to be False."""
    menu = ToyMenu(triggers, levels)
    return contributions(menu, {t.name: decisions.get(t.name, True) for t in menu.given})


def seed_and_two(coherent: str | None) -> Contributions:
    return fire(
        Toy("S", 10, level="L1"),
        Toy("A", 2, level="HLT", seed="S", coherent=coherent),
        Toy("B", 3, level="HLT", seed="S", coherent=coherent),
        levels=("L1", "HLT"),
    )


def test_two_triggers_share_the_accepts_of_their_seed() -> None:
    f = seed_and_two(None)
    either = Fraction(1, 10) * (1 - Fraction(1, 2) * Fraction(2, 3))
    assert f.menu == f.levels["HLT"] == either == Fraction(1, 15)
    assert f.levels["L1"] == Fraction(1, 10)
    assert f.total == {"S": Fraction(1, 10), "A": Fraction(1, 20), "B": Fraction(1, 30)}
    assert f.unique == {
        "S": Fraction(1, 10),
        "A": Fraction(1, 10) * Fraction(1, 2) * Fraction(2, 3),
        "B": Fraction(1, 10) * Fraction(1, 3) * Fraction(1, 2),
    }
    assert f.share == {"S": Fraction(1, 10), "A": either * Fraction(3, 5), "B": either * Fraction(2, 5)}
    assert f.overlap["A", "B"] == f.overlap["B", "A"] == Fraction(1, 60)  # not 1/600: one seed serves both
    assert f.overlap["S", "A"] == f.overlap["A", "A"] == f.total["A"]
    assert f.lost == f.changed == {"S": either}


def test_two_triggers_on_one_counter_below_a_seed() -> None:
    f = seed_and_two("c")
    assert f.menu == Fraction(1, 10) * Fraction(1, 2)
    assert f.unique["A"] == Fraction(1, 10) * (Fraction(1, 2) - Fraction(1, 3))
    assert f.unique["B"] == 0
    assert f.overlap["A", "B"] == Fraction(1, 30)


def test_in_a_menu_without_levels_seeds_are_part_of_the_menu() -> None:
    f = fire(Toy("S", 10), Toy("A", 2, seed="S"), Toy("B", 3, seed="S"))
    assert f.menu == Fraction(1, 10)
    assert f.unique == {"S": Fraction(1, 10) * Fraction(1, 2) * Fraction(2, 3), "A": 0, "B": 0}
    assert f.share["S"] == Fraction(1, 10) * Fraction(6, 11)
    assert f.levels == f.lost == {}


def test_not_of_a_prescaled_seed() -> None:
    a, b = Toy("A", 4, level="L1"), Toy("B", 5, level="HLT", seed=("not", "A"))
    f = fire(a, b, levels=("L1", "HLT"))
    assert f.total["B"] == f.menu == Fraction(3, 4) * Fraction(1, 5)
    assert f.overlap["A", "B"] == 0
    assert f.lost["A"] == -Fraction(1, 4) * Fraction(1, 5)
    assert f.changed["A"] == Fraction(1, 4) * Fraction(1, 5)
    assert fire(a, b, levels=("L1", "HLT"), A=False).menu == Fraction(1, 5)
    flat = fire(Toy("A", 4), Toy("B", 5, seed=("not", "A")))
    assert flat.menu == Fraction(1, 4) + Fraction(3, 4) * Fraction(1, 5)


def test_what_is_lost_may_be_gained_elsewhere() -> None:
    """Without A, events move from one trigger to the other."""
    f = fire(
        Toy("A", 2, level="L1"),
        Toy("B", 3, level="HLT", seed="A"),
        Toy("C", 3, level="HLT", seed=("not", "A")),
        levels=("L1", "HLT"),
    )
    assert f.menu == Fraction(1, 3)
    assert f.lost["A"] == 0
    assert f.changed["A"] == Fraction(1, 2) * 2 * Fraction(1, 3) * Fraction(2, 3)


@pytest.mark.parametrize(
    ("seed", "own", "coherent"),
    [
        (("or", "A", "B"), 1 - Fraction(1, 2) * Fraction(2, 3), Fraction(1, 2)),
        (("and", "A", "B"), Fraction(1, 6), Fraction(1, 3)),
        (("and", "A", ("not", "B")), Fraction(1, 2) * Fraction(2, 3), Fraction(1, 6)),
        (("and", "B", ("not", "A")), Fraction(1, 3) * Fraction(1, 2), 0),
        (("or", "A", ("not", "A")), 1, 1),
    ],
)
def test_expressions_of_two_seeds(seed: Expression, own: Fraction, coherent: Fraction) -> None:
    for counter, expected in ((None, own), ("c", coherent)):
        f = fire(Toy("A", 2, coherent=counter), Toy("B", 3, coherent=counter), Toy("T", 7, seed=seed))
        assert f.total["T"] == expected * Fraction(1, 7)


def test_seeds_of_seeds() -> None:
    chain = (Toy("A", 10), Toy("B", 4, seed="A"), Toy("C", 3, seed="B"))
    f = fire(*chain)
    assert f.total == {"A": Fraction(1, 10), "B": Fraction(1, 40), "C": Fraction(1, 120)}
    assert f.overlap["A", "C"] == Fraction(1, 120)
    assert fire(*chain, B=False).total["C"] == 0
    assert fire(*chain, Toy("D", 3, seed=("or", "A", "B"))).total["D"] == Fraction(1, 30)
    only_a = Toy("D", 3, seed=("and", "A", ("not", "B")))
    assert fire(*chain, only_a).total["D"] == Fraction(1, 10) * Fraction(3, 4) * Fraction(1, 3)


def test_three_levels() -> None:
    f = fire(
        Toy("A", 10, level="L1"),
        Toy("B", 2, level="L2", seed="A"),
        Toy("C", 3, level="L2", seed="A"),
        Toy("D", 5, level="L3", seed=("or", "B", "C")),
        levels=("L1", "L2", "L3"),
    )
    assert f.levels == {"L1": Fraction(1, 10), "L2": Fraction(1, 15), "L3": Fraction(1, 75)}
    assert f.lost == {
        "A": Fraction(1, 75),
        "B": Fraction(1, 75) - Fraction(1, 150),
        "C": Fraction(1, 75) - Fraction(1, 100),
    }


def test_a_disabled_seed_counts_by_its_raw_decision() -> None:
    off, t = Toy("A", 10, enabled=False), Toy("T", 3, seed="A")
    assert fire(off, t).menu == Fraction(1, 3)
    assert fire(off, t, A=False).menu == 0
    assert fire(off, t).unique == {"T": Fraction(1, 3)}


def test_a_disabled_seed_with_a_seed_reads_its_raw_decision() -> None:
    menu = (Toy("A", 10), Toy("B", 4, seed="A", enabled=False), Toy("T", 3, seed="B"))
    assert fire(*menu).total == {"A": Fraction(1, 10), "T": Fraction(1, 3)}
    assert fire(*menu, A=False).total["T"] == 0


def test_one_counter_for_a_seeded_trigger_and_another() -> None:
    f = fire(Toy("S", 3), Toy("A", 2, coherent="c"), Toy("T", 4, seed="S", coherent="c"))
    assert f.total["T"] == f.overlap["A", "T"] == Fraction(1, 3) * Fraction(1, 4)
    assert f.menu == 1 - Fraction(2, 3) * Fraction(1, 2)


def test_a_disabled_member_of_a_coherent_set_leaves_the_others_alone() -> None:
    f = fire(Toy("A", 2, coherent="c", enabled=False), Toy("B", 3, coherent="c"))
    assert f.menu == Fraction(1, 3)


def test_logic_reads_raw_decisions() -> None:
    seeded = (Toy("A", 10), Toy("B", 4, seed="A"), Toy("L", 2, logic=("and", "B", ("not", "C"))), Toy("C", 1))
    assert fire(*seeded, C=False).total["L"] == Fraction(1, 2)
    assert fire(*seeded).total["L"] == 0
    assert fire(*seeded, A=False, C=False).total["L"] == 0
    chained = fire(Toy("A", 10), Toy("L", 2, logic="A"), Toy("T", 3, seed=("and", "A", "L")))
    assert chained.total["T"] == Fraction(1, 60)


def test_random_is_prescaled_by_the_crossing_rate() -> None:
    f = fire(Toy("R", 2, random_hz=1e3), Toy("T", 1, seed="R"))
    assert f.total == {"R": Fraction(1, 80_000), "T": Fraction(1, 80_000)}


def test_prescales_with_a_fraction() -> None:
    f = fire(Toy("A", 1.5, coherent="c"), Toy("B", 7.25, coherent="c"), Toy("C", 7.25))
    assert f.unique["A"] == (Fraction(2, 3) - Fraction(4, 29)) * Fraction(25, 29)
    assert f.menu == 1 - Fraction(1, 3) * Fraction(25, 29)


def test_groups_are_of_their_level() -> None:
    f = fire(
        Toy("S", 10, level="L1", group="g1"),
        Toy("A", 2, level="HLT", seed="S", group="g"),
        Toy("B", 3, level="HLT", seed="S", group="g"),
        Toy("C", 5, level="HLT", seed="S"),
        levels=("L1", "HLT"),
    )
    assert f.group_total == {"g1": Fraction(1, 10), "g": Fraction(1, 10) * Fraction(2, 3)}
    assert f.group_unique == {"g1": Fraction(1, 10), "g": Fraction(1, 10) * Fraction(2, 3) * Fraction(4, 5)}
    assert f.group_share["g"] == f.share["A"] + f.share["B"]
    assert f.group_share["g"] + f.share["C"] == f.menu == f.levels["HLT"]


# ---- counters that count


def fraction(f: Contributions, field: str, key: Any) -> Fraction:
    value = getattr(f, field)
    return value if key is None else value[key]


def test_modulo_counters_over_a_whole_period() -> None:
    """Counters of periods without a common divisor meet in every combination once."""
    menu = ToyMenu(
        (
            Toy("A", 2, coherent="c", level="L1"),
            Toy("B", 6, coherent="c", level="L1", group="g"),
            Toy("C", 5, level="L1", group="g"),
            Toy("H1", 7, seed=("or", "A", "C"), level="HLT"),
            Toy("H2", 11, seed=("and", "B", ("not", "C")), level="HLT"),
            Toy("H3", 1, seed=("and", "H1", "B"), level="HLT"),
        ),
        ("L1", "HLT"),
    )
    count = np.arange(6 * 5 * 7 * 11)
    passed = {t.name: count % int(t.prescale) == 0 for t in menu.triggers}
    given = {t.name: np.ones(len(count), np.bool_) for t in menu.triggers}
    f = contributions(menu, dict.fromkeys(given, True))
    for field, key, values in observed(menu, given, passed):
        assert Fraction(int(values.sum()), len(count)) == fraction(f, field, key), (field, key)


def check_drawn(menu: ToyMenu, seed: int) -> None:
    """A million events of a few patterns of decisions, each with its counters."""
    rng = np.random.default_rng(seed)
    names = [t.name for t in menu.given]
    patterns = rng.random((12, len(names))) < 0.6
    patterns[0] = True
    number = rng.integers(len(patterns), size=TRIALS)
    given = {name: patterns[number, i] for i, name in enumerate(names)}
    passed = drawn(menu, rng, TRIALS)
    twins = [Event(menu, dict(zip(names, map(bool, pattern), strict=True))) for pattern in patterns]
    check_sets(run(menu, given, passed), number, twins)
    n = np.bincount(number, minlength=len(patterns))
    of_pattern = [contributions(menu, twin.decisions) for twin in twins]
    for field, key, values in observed(menu, given, passed):
        f = np.array([float(fraction(one, field, key)) for one in of_pattern])
        square = np.array([float(one.changed[key]) for one in of_pattern]) if field == "lost" else f
        expected, variance = n @ f, n @ (square - f**2)
        if variance > 25:
            assert abs(values.sum() - expected) < 5 * np.sqrt(variance), (field, key)
        elif not variance:
            assert values.sum() == expected, (field, key)


def check_sets(accepted: Columns, number: np.ndarray, twins: Sequence[Event]) -> None:
    """Which triggers accept together, pattern by pattern: χ² of the frequencies."""
    code = sum(column.astype(np.int64) << i for i, column in enumerate(accepted.values()))
    chi2, freedom = 0.0, 0
    for i, twin in enumerate(twins):
        values, counts = np.unique(code[number == i], return_counts=True)
        seen = {
            frozenset(name for bit, name in enumerate(accepted) if value >> bit & 1): int(count)
            for value, count in zip(values, counts, strict=True)
        }
        assert seen.keys() <= twin.accepted.keys()
        expected = {key: sum(seen.values()) * width / twin.units for key, width in twin.accepted.items()}
        cells = pooled((seen.get(key, 0), mean) for key, mean in expected.items())
        chi2 += sum((measured - mean) ** 2 / mean for measured, mean in cells)
        freedom += len(cells) - 1
    if freedom:
        assert 1e-5 < stats.chi2.sf(chi2, freedom) < 1 - 1e-5
    else:
        assert chi2 == 0


def pooled(cells: Iterable[tuple[int, float]]) -> list[tuple[int, float]]:
    """Cells of which at least 20 events are expected, rare ones taken together."""
    large: list[tuple[int, float]] = []
    measured, mean = 0, 0.0
    for one, of_one in sorted(cells, key=lambda cell: cell[1]):
        measured, mean = measured + one, mean + of_one
        if mean >= 20:
            large.append((measured, mean))
            measured, mean = 0, 0.0
    return large


def test_uniform_counters() -> None:
    check_drawn(TWO_LEVELS, 1)


@pytest.mark.parametrize("levels", [0, 2])
@settings(max_examples=5, derandomize=True, phases=[Phase.generate])
@given(data=st.data())
def test_uniform_counters_of_any_menu(levels: int, data: st.DataObject) -> None:
    check_drawn(data.draw(toy_menus(levels=levels)), 2)
