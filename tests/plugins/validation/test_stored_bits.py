"""What stored bits say of themselves: that they are numbered otherwise, or missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
from toys import menu_from
from trigemu_validation import Checked, check_decisions
from trigemu_validation.decisions import EMPTY

from trigemu.api import BoolArray
from trigemu.base.mapping import Engine

N = 40


def random_bits(seed: int, count: int, n: int = N) -> BoolArray:
    """Columns of which no two are the same, each with 10 to 30 of n events."""
    rng = np.random.default_rng(seed)
    columns = [rng.permutation(np.arange(n) < rng.integers(10, 30)) for _ in range(count)]
    return np.array(columns).T


def check(
    folder: Path, emulated: BoolArray, stored: BoolArray, rejected: float = 0.25, prefix: str = "", **how: Any
) -> list[Checked]:
    """Triggers 0, 1, … on bits that have their numbers after a prefix. Each has the emulated decisions of a
    column, whose value is 1 in events that are accepted."""
    fields = {f"e{number}": np.where(column, 1.0, rejected) for number, column in enumerate(emulated.T)}
    fields |= {f"{prefix}{number}": column for number, column in enumerate(stored.T)}
    keys = "kind = 'threshold'\nabove = 0.5\n"
    triggers = (
        f"[[trigger]]\nname = 'T{number}'\nstored = '{prefix}{number}'\nobservable = 'e{number}'\n{keys}"
        for number in range(emulated.shape[1])
    )
    return [*check_decisions(menu_from(folder, "".join(triggers)), ak.Array(fields), **how).triggers]


def of_file(folder: Path, emulated: BoolArray, stored: BoolArray) -> dict[int, str]:
    checked = check(folder, emulated, stored)
    return {number: trigger.equals for number, trigger in enumerate(checked) if trigger.equals is not None}


@pytest.mark.parametrize("shift", [-2, -1, 1, 3])
def test_bits_that_are_moved(tmp_path: Path, shift: int) -> None:
    emulated = random_bits(1, 12)
    stored = random_bits(2, 20)
    stored[:, 4 + shift : 10 + shift] = emulated[:, 4:10]
    stored[:, :4] = emulated[:, :4] if shift > 0 else stored[:, :4]
    expected = {trigger: str(trigger + shift) for trigger in range(4, 10)}
    assert of_file(tmp_path, emulated, stored) == expected
    for chunk in (7, N):  # only where it is asked for, the other bits are compared
        matched = check(tmp_path, emulated, stored, match_bits=True, executor=Engine(chunk_events=chunk))
        assert [t.equals for t in matched[4:10]] == [*expected.values()]
        assert [t.differ for t in matched[4:10]] == [0] * 6


def test_two_triggers_may_be_a_coincidence(tmp_path: Path) -> None:
    emulated, stored = random_bits(1, 8), random_bits(2, 8)
    stored[:, 3:5] = emulated[:, 2:4]
    assert of_file(tmp_path, emulated, stored) == {}
    stored[:, 5] = emulated[:, 4]
    assert of_file(tmp_path, emulated, stored) == {2: "3", 3: "4", 4: "5"}


def test_triggers_with_their_own_bit_are_not_moved(tmp_path: Path) -> None:
    """Also where others have the same decisions."""
    emulated = random_bits(1, 8)
    emulated[:, 1:] = emulated[:, :1]
    assert of_file(tmp_path, emulated, emulated) == {}


def test_rare_decisions_establish_nothing_but_may_follow(tmp_path: Path) -> None:
    emulated, stored = np.zeros((N, 8), np.bool_), random_bits(2, 9)
    emulated[[0, 1, 2], [0, 1, 2]] = True
    stored[:, 1:4] = emulated[:, :3]
    assert of_file(tmp_path, emulated, stored) == {}
    emulated[:, 3:6] = random_bits(3, 3)
    stored[:, 4:7] = emulated[:, 3:6]
    assert of_file(tmp_path, emulated, stored) == {trigger: str(trigger + 1) for trigger in range(6)}


def test_decisions_that_never_change_count_only_between_moved_ones(tmp_path: Path) -> None:
    emulated, stored = random_bits(1, 8), random_bits(2, 9)
    emulated[:, [3, 7]] = False
    stored[:, 1:9] = emulated
    assert of_file(tmp_path, emulated, stored) == {trigger: str(trigger + 1) for trigger in range(7)}


def test_of_equal_bits_the_one_at_the_common_distance_is_chosen(tmp_path: Path) -> None:
    emulated, stored = random_bits(1, 8), random_bits(2, 9)
    emulated[:, 6] = emulated[:, 0]
    stored[:, 1:9] = emulated
    assert of_file(tmp_path, emulated, stored) == {trigger: str(trigger + 1) for trigger in range(8)}


@pytest.mark.parametrize(("prefix", "moved"), [("", 5), ("A", 0), ("0", 0), ("-", 0)])
def test_names_that_are_no_numbers_are_not_moved(tmp_path: Path, prefix: str, moved: int) -> None:
    emulated, stored = random_bits(1, 5), random_bits(2, 6)
    stored[:, 1:] = emulated
    checked = check(tmp_path, emulated, stored, prefix=prefix)
    assert sum(trigger.equals is not None for trigger in checked) == moved


def counted(*numbers: tuple[int, int]) -> tuple[BoolArray, BoolArray]:
    """Decisions on the first of 20 events, by the numbers of emulated and of stored ones."""
    events = np.arange(20)[:, None]
    emulated, stored = (np.array(of) for of in zip(*numbers, strict=True))
    return events < emulated, events < stored


def lacking(checked: list[Checked]) -> list[int]:
    return [number for number, trigger in enumerate(checked) if trigger.skipped]


def test_bits_that_are_never_set(tmp_path: Path) -> None:
    good, bad = [(7, 7)] * (EMPTY + 1), [(5, 0)] * EMPTY
    checked = check(tmp_path, *counted(*good, *bad))
    assert lacking(checked) == [*range(EMPTY + 1, 2 * EMPTY + 1)]
    reason = f"like those of {EMPTY} of the {2 * EMPTY + 1} triggers that accept events"
    assert reason in str(checked[-1].skipped)
    assert not lacking(check(tmp_path, *counted(*good, *bad[1:])))  # too few
    assert not lacking(check(tmp_path, *counted(*good * 9, *bad)))  # less than a tenth
    assert not lacking(check(tmp_path, *counted(*bad * 2)))  # a file without any decision is not excused


@pytest.mark.parametrize(
    ("accepted", "stored", "is_lacking"), [(0, 4, True), (0, 0, False), (1, 4, False), (1, 1, False)]
)
def test_a_word_that_is_never_set(tmp_path: Path, accepted: int, stored: int, is_lacking: bool) -> None:
    """That of a trigger which rejects all events; others read other words."""
    checked = check(tmp_path, *counted((accepted, stored), (3, 3)), rejected=0.0)
    assert lacking(checked) == [0] * is_lacking
    if is_lacking:
        reason = "its e0 is 0 in every event, but its stored decision is not"
        assert str(checked[0].skipped).startswith(reason)
