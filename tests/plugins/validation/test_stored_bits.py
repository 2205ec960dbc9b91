"""What stored bits say of themselves, held against loops over them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from trigemu_validation.decisions_task import EMPTY, bits_in, equal_columns, lacking, renumbered

from trigemu.api import BoolArray

N = 40


def random_bits(seed: int, count: int, n: int = N) -> BoolArray:
    """Columns of which no two are the same, each with 10 to 30 of n events."""
    rng = np.random.default_rng(seed)
    columns = [rng.permutation(np.arange(n) < rng.integers(10, 30)) for _ in range(count)]
    return np.array(columns).T


def of_file(emulated: BoolArray, stored: BoolArray) -> dict[int, str]:
    """Triggers 0, 1, … whose bits have their numbers."""
    equal = equal_columns(emulated, stored, np.zeros(emulated.shape, np.bool_))
    own, bits = ([str(number) for number in range(of.shape[1])] for of in (emulated, stored))
    compared = np.full(len(own), len(emulated))
    return renumbered(own, bits, equal, emulated.sum(axis=0), compared)


@given(st.integers(0, 99), st.integers(1, 70), st.integers(1, 5), st.integers(1, 5))
def test_equal_columns_are_those_of_a_loop(seed: int, n: int, triggers: int, bits: int) -> None:
    rng = np.random.default_rng(seed)
    emulated, stored = rng.random((n, triggers)) < 0.2, rng.random((n, bits)) < 0.2
    left_out = rng.random((n, triggers)) < rng.choice([0.0, 0.3, 0.9])
    truth = [
        [all(emulated[i, t] == stored[i, b] for i in range(n) if not left_out[i, t]) for b in range(bits)]
        for t in range(triggers)
    ]
    assert equal_columns(emulated, stored, left_out).tolist() == truth


@pytest.mark.parametrize("shift", [-2, -1, 1, 3])
def test_bits_that_are_moved(shift: int) -> None:
    emulated = random_bits(1, 12)
    stored = random_bits(2, 20)
    stored[:, 4 + shift : 10 + shift] = emulated[:, 4:10]
    stored[:, :4] = emulated[:, :4] if shift > 0 else stored[:, :4]
    expected = {trigger: str(trigger + shift) for trigger in range(4, 10)}
    assert of_file(emulated, stored) == expected


def test_two_triggers_may_be_a_coincidence() -> None:
    emulated, stored = random_bits(1, 8), random_bits(2, 8)
    stored[:, 3:5] = emulated[:, 2:4]
    assert of_file(emulated, stored) == {}
    stored[:, 5] = emulated[:, 4]
    assert of_file(emulated, stored) == {2: "3", 3: "4", 4: "5"}


def test_triggers_with_their_own_bit_are_not_moved() -> None:
    """Also where others have the same decisions."""
    emulated = random_bits(1, 8)
    emulated[:, 1:] = emulated[:, :1]
    assert of_file(emulated, emulated) == {}


def test_rare_decisions_establish_nothing_but_may_follow() -> None:
    emulated, stored = np.zeros((N, 8), np.bool_), random_bits(2, 9)
    emulated[[0, 1, 2], [0, 1, 2]] = True
    stored[:, 1:4] = emulated[:, :3]
    assert of_file(emulated, stored) == {}
    emulated[:, 3:6] = random_bits(3, 3)
    stored[:, 4:7] = emulated[:, 3:6]
    assert of_file(emulated, stored) == {trigger: str(trigger + 1) for trigger in range(6)}


def test_decisions_that_never_change_count_only_between_moved_ones() -> None:
    emulated, stored = random_bits(1, 8), random_bits(2, 9)
    emulated[:, [3, 7]] = False
    stored[:, 1:9] = emulated
    assert of_file(emulated, stored) == {trigger: str(trigger + 1) for trigger in range(7)}


def test_of_equal_bits_the_one_at_the_common_distance_is_chosen() -> None:
    emulated, stored = random_bits(1, 8), random_bits(2, 9)
    emulated[:, 6] = emulated[:, 0]
    stored[:, 1:9] = emulated
    assert of_file(emulated, stored) == {trigger: str(trigger + 1) for trigger in range(8)}


def test_names_that_are_no_numbers_are_not_moved() -> None:
    equal = np.ones((4, 0), np.bool_)
    counts = np.full(4, 5)
    assert renumbered(["A", "B", "7", "8"], (), equal, counts, 2 * counts) == {}
    assert bits_in([("2", "10", "L1_A", "01", "-1", "²"), ("10", "2", "3")]) == ("2", "10")


def lacks(accepted: list[int], stored: list[int], both: list[int], **given: object) -> dict[int, str]:
    """Numbers of events that the emulation accepts, that are stored, and both."""
    emulated, of_file, common = map(np.array, (accepted, stored, both))
    arguments = {"words": [()] * len(accepted), "filled": {}, "elsewhere": ()} | given
    return lacking(emulated - common, of_file - common, emulated, **arguments)  # type: ignore[arg-type]


def test_bits_that_are_never_set() -> None:
    some = [7] * (EMPTY + 1)
    rest = [5] * EMPTY, [0] * EMPTY, [0] * EMPTY
    accepted, stored, both = ([*(some), *part] for part in rest)
    reasons = lacks(accepted, stored, both)
    assert [*reasons] == [*range(EMPTY + 1, 2 * EMPTY + 1)]
    assert f"like those of {EMPTY} of the {2 * EMPTY + 1} triggers that accept events" in reasons[EMPTY + 1]
    assert lacks(accepted[:-1], stored[:-1], both[:-1]) == {}  # too few
    assert lacks(accepted, stored, both, elsewhere=[EMPTY + 1]) == {}
    many = [7] * 9 * EMPTY
    assert lacks(many + accepted, many + stored, many + both) == {}  # less than a tenth


def test_a_file_without_any_decision_is_not_excused() -> None:
    assert lacks([5] * 20, [0] * 20, [0] * 20) == {}


@pytest.mark.parametrize(
    ("accepted", "stored", "filled", "lacking_"),
    [(0, 4, False, True), (0, 4, True, False), (0, 0, False, False), (1, 4, False, False)],
)
def test_a_word_that_is_never_set(accepted: int, stored: int, filled: bool, lacking_: bool) -> None:
    word = ("muon", "index")
    reasons = lacks([accepted], [stored], [0], words=[(word,)], filled={word: filled})
    assert (0 in reasons) == lacking_
    if lacking_:
        assert reasons[0].startswith("its muon.index is 0 in every event, but its stored decision is not")
