"""Probabilities of patterns of decisions, and every rate of a menu, against every outcome of every counter in
fractions, and in closed form. `counters_twin` gives the truth, with prescales, sets, seeds and levels."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from counters_menus import any_menu, menu_with_bits, toy_patterns, words_of
from counters_twin import Contributions, Event, Expression, Toy, ToyMenu, contributions
from hypothesis import given, settings, strategies as st
from toys import menu_from, threshold, trigger

from trigemu.base.errors import TrigemuError
from trigemu.counting.acceptance import acceptances
from trigemu.counting.decisions import own_decisions, raw_decisions
from trigemu.counting.quantities import fractions
from trigemu.studies.exclusive import exactly

CLOSE = {"rel": 1e-12, "abs": 1e-15}


@settings(max_examples=40)
@given(any_menu, st.integers(0, 2**32), st.data())
def test_any_of_some_triggers(toy: ToyMenu, seed: int, data: st.DataObject) -> None:
    menu, bits = menu_with_bits(toy)
    words, given = toy_patterns(toy, seed)
    accepted = acceptances(words, menu, bits)
    inside = data.draw(st.lists(st.booleans(), min_size=len(toy.enabled), max_size=len(toy.enabled)))
    some = [t for t, chosen in zip(toy.enabled, inside, strict=True) if chosen]
    members = np.array(inside, np.bool_)
    either, unique = accepted.either(members), accepted.unique(members).toarray()
    for row, fired in enumerate(given):
        event = Event(toy, fired)
        probability = event.either(some)
        assert either[row] == pytest.approx(float(probability), **CLOSE)
        if probability in (0, 1):  # to the last bit: nothing must not become an event of weight 1e-17
            assert either[row] == probability
        for column, t in enumerate(toy.enabled):
            expected = event.either(some) - event.either([u for u in some if u is not t])
            assert unique[row, column] == pytest.approx(float(expected), **CLOSE)
    assert (either <= np.where(members, accepted.total, 0).sum(axis=1) * (1 + 1e-12)).all()
    assert (unique.sum(axis=1) <= either * (1 + 1e-12)).all()


def test_what_is_no_member_changes_no_bit() -> None:
    """The probabilities of the outcomes of A and B do not add up to 1."""
    a, b = Toy("A", 7.25, coherent="c"), Toy("B", 33.3, coherent="c")
    toy = ToyMenu((a, b, Toy("S", seed=("or", "A", "B")), Toy("T", 3)))
    menu, bits = menu_with_bits(toy)
    accepted, only = acceptances(words_of([dict.fromkeys("ABST", True)]), menu, bits), np.arange(4) == 3
    assert accepted.unique(only).toarray()[0].tolist() == [0.0, 0.0, 0.0, 1 / 3]
    assert accepted.either(only).tolist() == [1 / 3]


@settings(max_examples=40)
@given(any_menu, st.integers(0, 2**32), st.data())
def test_exactly_some_triggers(toy: ToyMenu, seed: int, data: st.DataObject) -> None:
    menu, bits = menu_with_bits(toy)
    words, given = toy_patterns(toy, seed)
    drawn = st.lists(st.booleans(), min_size=len(toy.enabled), max_size=len(toy.enabled))
    within, chosen = (np.array(data.draw(drawn), np.bool_) for _ in range(2))
    members = within & chosen
    found = exactly(acceptances(words, menu, bits), members, within)
    names, some = (
        {t.name for t, inside in zip(toy.enabled, mask, strict=True) if inside} for mask in (within, members)
    )
    for row, fired in enumerate(given):
        event = Event(toy, fired)
        widths = sum(width for accepted, width in event.accepted.items() if accepted & names == some)
        assert found[row] == pytest.approx(widths / event.units, **CLOSE)


@settings(max_examples=40)
@given(any_menu, st.integers(0, 2**32))
def test_decisions(toy: ToyMenu, seed: int) -> None:
    menu, bits = menu_with_bits(toy)
    words, given = toy_patterns(toy, seed)
    own, raw = own_decisions(words, menu, bits), raw_decisions(words, menu, bits)
    for row, fired in enumerate(given):
        event = Event(toy, fired)
        for name in raw:
            assert own[name][row] == event.own[name]
            assert raw[name][row] == event.raw[name]
    assert {t.name for t in toy.enabled} <= set(raw) == set(own)


@pytest.mark.parametrize(("seeds", "coherent"), [(16, False), (17, True), (17, False)])
def test_too_many_outcomes_are_an_error(tmp_path: Path, seeds: int, coherent: bool) -> None:
    """Of 17 counters; where all fire together."""
    text = "".join(
        threshold(f"S{n}", "met", n, "prescale = 2" + ('\ncoherent = "c"' if coherent and n < 2 else ""))
        for n in range(seeds)
    )
    names = " or ".join(f"S{number}" for number in range(seeds))
    text += trigger("T", "random", f'rate_hz = 40e6\nseed = "{names}"')
    menu = menu_from(tmp_path, text)
    bits = {f"S{number}": number for number in range(seeds)}
    few, every = np.array([[2**16 - 1]], np.uint64), np.array([[2**seeds - 1]], np.uint64)
    assert acceptances(few, menu, bits).total[0, -1] > 0
    if seeds == 17 and not coherent:
        with pytest.raises(TrigemuError, match=r"the seeds .*'S16'.* are prescaled, fire together"):
            acceptances(every, menu, bits)
    else:
        assert acceptances(every, menu, bits).total[0, -1] == pytest.approx(1 - 0.5**16)


F = Fraction


def check(toy: ToyMenu, words: np.ndarray, given: list[dict[str, bool]]) -> None:
    """Trigemu gives what the twin gives, for every quantity and pattern."""
    menu, bits = menu_with_bits(toy)
    found = fractions(menu, acceptances(words, menu, bits))
    levels = toy.levels or ("",)
    for row, fired in enumerate(given):
        f = contributions(toy, fired)
        expected: dict[tuple[str, str, str], F] = {("menu", "", "rate"): f.menu}
        for level in levels:
            expected["level", level, "rate"] = f.levels.get(level, f.menu)
        for before, after in itertools.pairwise(toy.levels):
            expected["level", after, "rejected"] = f.levels[before] - f.levels[after]
        for name in f.total:
            for quantity in ("total", "unique", "share"):
                expected["trigger", name, quantity] = getattr(f, quantity)[name]
            expected["trigger", name, "covered"] = f.total[name] - f.unique[name]
        for name, lost in f.lost.items():
            expected["trigger", name, "lost"] = lost
        for name in f.group_total:
            for quantity in ("total", "unique", "share"):
                expected["group", name, quantity] = getattr(f, f"group_{quantity}")[name]
            expected["group", name, "covered"] = f.group_total[name] - f.group_unique[name]
        if not toy.levels:  # then there is one without a name
            del expected["level", "", "rate"]
        assert {tuple(label) for label in found.columns} == set(expected)
        for label in found.columns:
            assert found[label][row] == pytest.approx(float(expected[tuple(label)]), **CLOSE), label


@settings(max_examples=40)
@given(any_menu, st.integers(0, 2**32))
def test_every_rate_of_a_menu(toy: ToyMenu, seed: int) -> None:
    check(toy, *toy_patterns(toy, seed))


# ---- closed forms, which both give
def fire(*triggers: Toy, levels: tuple[str, ...] = (), **decisions: bool) -> Contributions:
    """All triggers fire that are not said to be False."""
    toy = ToyMenu(triggers, levels)
    fired = {t.name: decisions.get(t.name, True) for t in toy.given}
    check(toy, words_of([fired]), [fired])
    return contributions(toy, fired)


TWO = ("L1", "HLT")


def seed_and_two(coherent: str | None) -> Contributions:
    return fire(
        Toy("S", 10, level="L1"),
        Toy("A", 2, level="HLT", seed="S", coherent=coherent),
        Toy("B", 3, level="HLT", seed="S", coherent=coherent),
        levels=TWO,
    )


def test_two_triggers_share_the_accepts_of_their_seed() -> None:
    f, either = seed_and_two(None), F(1, 15)
    assert f.menu == f.levels["HLT"] == either == F(1, 10) * (1 - F(1, 2) * F(2, 3))
    assert f.total == {"S": F(1, 10), "A": F(1, 20), "B": F(1, 30)}
    assert f.unique == {"S": F(1, 10), "A": F(1, 10) * F(1, 2) * F(2, 3), "B": F(1, 10) * F(1, 3) * F(1, 2)}
    assert f.share == {"S": F(1, 10), "A": either * F(3, 5), "B": either * F(2, 5)}
    assert f.overlap["A", "B"] == f.overlap["B", "A"] == F(1, 60)  # not 1/600: one seed serves both
    assert f.overlap["S", "A"] == f.overlap["A", "A"] == f.total["A"]
    assert f.lost == f.changed == {"S": either}
    f = seed_and_two("c")
    assert f.menu == F(1, 20)
    assert f.unique == {"S": F(1, 10), "A": F(1, 10) * (F(1, 2) - F(1, 3)), "B": 0}
    assert f.overlap["A", "B"] == F(1, 30)


def test_not_of_a_prescaled_seed() -> None:
    a, b = Toy("A", 4, level="L1"), Toy("B", 5, level="HLT", seed=("not", "A"))
    f = fire(a, b, levels=TWO)
    assert f.total["B"] == f.menu == F(3, 4) * F(1, 5)
    assert f.overlap["A", "B"] == 0
    assert -f.lost["A"] == f.changed["A"] == F(1, 4) * F(1, 5)
    assert fire(a, b, levels=TWO, A=False).menu == F(1, 5)
    # Without A, events move from one trigger to the other.
    others = (Toy("B", 3, level="HLT", seed="A"), Toy("C", 3, level="HLT", seed=("not", "A")))
    f = fire(Toy("A", 2, level="L1"), *others, levels=TWO)
    assert (f.menu, f.lost["A"], f.changed["A"]) == (F(1, 3), 0, F(1, 2) * 2 * F(1, 3) * F(2, 3))


@pytest.mark.parametrize(
    ("seed", "own", "coherent"),
    [
        (("or", "A", "B"), 1 - F(1, 2) * F(2, 3), F(1, 2)),
        (("and", "A", "B"), F(1, 6), F(1, 3)),
        (("and", "A", ("not", "B")), F(1, 2) * F(2, 3), F(1, 6)),
        (("and", "B", ("not", "A")), F(1, 3) * F(1, 2), 0),
        (("or", "A", ("not", "A")), 1, 1),
    ],
)
def test_expressions_of_two_seeds(seed: Expression, own: F, coherent: F) -> None:
    for counter, expected in ((None, own), ("c", coherent)):
        f = fire(Toy("A", 2, coherent=counter), Toy("B", 3, coherent=counter), Toy("T", 7, seed=seed))
        assert f.total["T"] == expected * F(1, 7)


CHAIN = (Toy("A", 10), Toy("B", 4, seed="A"))
ANY_OF_B = Toy("C", 3, seed="B")


@pytest.mark.parametrize(
    ("triggers", "decisions", "total"),
    [
        ((*CHAIN, ANY_OF_B), {}, {"A": F(1, 10), "B": F(1, 40), "C": F(1, 120)}),
        ((*CHAIN, ANY_OF_B), {"B": False}, {"C": 0}),
        ((*CHAIN, Toy("C", 3, seed=("or", "A", "B"))), {}, {"C": F(1, 30)}),
        ((*CHAIN, Toy("C", 3, seed=("and", "A", ("not", "B")))), {}, {"C": F(1, 10) * F(3, 4) * F(1, 3)}),
        # A disabled seed counts by its raw decision, which has that of its own seed.
        ((Toy("A", 10, enabled=False), Toy("C", 3, seed="A")), {}, {"C": F(1, 3)}),
        ((Toy("A", 10, enabled=False), Toy("C", 3, seed="A")), {"A": False}, {"C": 0}),
        ((Toy("A", 10), Toy("B", 4, seed="A", enabled=False), ANY_OF_B), {}, {"A": F(1, 10), "C": F(1, 3)}),
        ((Toy("A", 10), Toy("B", 4, seed="A", enabled=False), ANY_OF_B), {"A": False}, {"C": 0}),
        # Logic reads raw decisions.
        ((*CHAIN, Toy("L", 2, logic=("and", "B", ("not", "C"))), Toy("C")), {"C": False}, {"L": F(1, 2)}),
        ((*CHAIN, Toy("L", 2, logic=("and", "B", ("not", "C"))), Toy("C")), {}, {"L": 0}),
        ((*CHAIN, Toy("L", 2, logic="B")), {"A": False}, {"L": 0}),
        ((Toy("A", 10), Toy("L", 2, logic="A"), Toy("C", 3, seed=("and", "A", "L"))), {}, {"C": F(1, 60)}),
        # A random trigger is prescaled by the crossing rate.
        ((Toy("R", 2, random_hz=1e3), Toy("C", 1, seed="R")), {}, {"R": F(1, 80_000), "C": F(1, 80_000)}),
        ((Toy("S", 3), Toy("A", 2, coherent="c"), Toy("C", 4, seed="S", coherent="c")), {}, {"C": F(1, 12)}),
    ],
)  # fmt: skip
def test_seeds_of_seeds(triggers: tuple[Toy, ...], decisions: dict[str, bool], total: dict[str, F]) -> None:
    f = fire(*triggers, **decisions)
    assert {name: f.total[name] for name in total} == total


def test_coherent_sets() -> None:
    """With a seeded trigger, with a disabled one, and with prescales that are no integers."""
    f = fire(Toy("S", 3), Toy("A", 2, coherent="c"), Toy("T", 4, seed="S", coherent="c"))
    assert f.total["T"] == f.overlap["A", "T"] == F(1, 3) * F(1, 4)
    assert f.menu == 1 - F(2, 3) * F(1, 2)
    assert fire(Toy("A", 2, coherent="c", enabled=False), Toy("B", 3, coherent="c")).menu == F(1, 3)
    f = fire(Toy("A", 1.5, coherent="c"), Toy("B", 7.25, coherent="c"), Toy("C", 7.25))
    assert f.unique["A"] == (F(2, 3) - F(4, 29)) * F(25, 29)
    assert f.menu == 1 - F(1, 3) * F(25, 29)


def test_groups_are_of_their_level() -> None:
    hlt: dict[str, Any] = {"level": "HLT", "seed": "S"}
    f = fire(
        Toy("S", 10, level="L1", group="g1"),
        Toy("A", 2, group="g", **hlt),
        Toy("B", 3, group="g", **hlt),
        Toy("C", 5, **hlt),
        levels=TWO,
    )
    assert f.group_total == {"g1": F(1, 10), "g": F(1, 10) * F(2, 3)}
    assert f.group_unique == {"g1": F(1, 10), "g": F(1, 10) * F(2, 3) * F(4, 5)}
    assert f.group_share["g"] == f.share["A"] + f.share["B"]
    assert f.group_share["g"] + f.share["C"] == f.menu == f.levels["HLT"]
