"""Probabilities of patterns of decisions against every outcome of every counter, in fractions.

`counters_twin` gives the truth for menus with prescales, coherent sets, seeds, levels and disabled triggers.
"""

from __future__ import annotations

import numpy as np
import pytest
from counters_menus import any_menu, menu_with_bits, toy_patterns, words_of
from counters_twin import Event, Toy, ToyMenu
from hypothesis import given, settings, strategies as st

from trigemu.counting.acceptance import acceptances
from trigemu.counting.decisions import own_decisions, raw_decisions
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
