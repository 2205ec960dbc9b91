"""Results in a checkpoint whose digests were renewed: what no task gives is done again."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toys import memory_catalogue, menu_from, toy_events

from trigemu import Catalogue, Checkpoint, Menu, emulate, rates_of, score_table, solve_budgets
from trigemu.api import MenuRates
from trigemu.base.engine import Engine
from trigemu.base.fingerprint import pack, unpack
from trigemu.counting.patterns import PatternTable
from trigemu.counting.score_table import ScoreTable
from trigemu.counting.patterns import SharedEvents
from trigemu.emulation.budgets import BudgetEvents
from trigemu.emulation.score_pass import BinnedScores

MENU = """
[[trigger]]
name = "J"
kind = "threshold"
observable = "jet[0].pt"
above = 30.0

[[trigger]]
name = "MU"
kind = "combination"
legs = [{ object = "muon" }]
"""
CLASSES = (PatternTable, SharedEvents, ScoreTable, BudgetEvents, BinnedScores)


@pytest.fixture
def menu(tmp_path: Path) -> Menu:
    return menu_from(tmp_path, MENU)


@pytest.fixture
def catalogue() -> Catalogue:
    shared = [event | {"parent": number // 3} for number, event in enumerate(toy_events(2, 90))]
    return memory_catalogue({"a": toy_events(1, 120), "b": shared})


def forged(file: Path, change: Callable[[Any], Any]) -> None:
    """Change the result in a file, and renew its digest."""
    magic, head, body = file.read_bytes().split(b"\n", 2)
    rest = head + b"\n" + pack(change(unpack(body, CLASSES)))
    file.write_bytes(magic[:-64] + hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest)


def setting(name: str, value: Any, at: Any = 0) -> Callable[[PatternTable], PatternTable]:
    def change(table: PatternTable) -> PatternTable:
        column = getattr(table, name).copy()
        column[at] = value
        return replace(table, **{name: column})

    return change


def of_shared(name: str, value: Any) -> Callable[[PatternTable], PatternTable]:
    def change(table: PatternTable) -> PatternTable:
        column = getattr(table.shared, name).copy()
        column[:1] = value
        return replace(table, shared=replace(table.shared, **{name: column}))

    return change


TABLES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "another type": (lambda table: 3, "it is not a pattern table"),
    "another sample": (setting("sample", 7), "it has events of a sample 7"),
    "a negative half": (setting("half", -1), "the half is -1 to 0"),
    "another bin": (setting("bin", 1), "the bin is 0 to 1, expected 0 to 0"),
    "another stratum": (setting("stratum", 1), "the stratum is 0 to 1, expected 0 to 0"),
    "no events": (setting("n", 0), "an entry has no events"),
    "more events": (setting("n", 10**6), "more events of sample"),
    "a NaN": (setting("largest", np.nan), "the largest weight is nan Hz"),
    "a huge sum": (setting("weight", 2**62, (0, -1)), "are impossible for"),
    "a negative square": (setting("square", -1, (0, -1)), "are impossible for"),
    "another limb": (setting("weight", 2**40, (0, 1)), "not in its unique form"),
    "fewer rows": (lambda t: replace(t, largest=t.largest[1:]), "largest has the shape"),
    "other words": (lambda t: replace(t, words=np.hstack([t.words, t.words])), "words has the shape"),
    "floats": (lambda t: replace(t, n=t.n.astype(float)), "n is not an array of int64"),
    "an event of no row": (of_shared("entry", 10**9), "an entry of an event with a parent is"),
    "a heavy event": (of_shared("weight", 1e30), "is heavier than the largest weight"),
}


@pytest.mark.parametrize(("change", "message"), TABLES.values(), ids=TABLES)
def test_tables_that_no_events_give_are_made_again(
    tmp_path: Path, menu: Menu, catalogue: Catalogue, change: Callable[[Any], Any], message: str
) -> None:
    told: list[str] = []

    def rates() -> MenuRates:
        engine = Engine(checkpoint=Checkpoint(tmp_path / "kept"), warn=told.append)
        return rates_of(emulate(menu, catalogue, executor=engine))

    expected = rates().to_dict()
    (file,) = (tmp_path / "kept").glob("*.task")
    assert rates().to_dict() == expected
    assert not told
    forged(file, change)
    assert rates().to_dict() == expected
    (said,) = told
    assert said.startswith(f"{file} holds what no task gives (")
    assert message in said
    assert said.endswith("): its part is done again")


@pytest.mark.parametrize("name", ["sample", "half", "stratum", "weight", "scores", "words"])
def test_score_tables_that_no_events_give_are_made_again(
    tmp_path: Path, menu: Menu, catalogue: Catalogue, name: str
) -> None:
    told: list[str] = []

    def scores() -> ScoreTable:
        engine = Engine(checkpoint=Checkpoint(tmp_path / "kept"), warn=told.append)
        return score_table(menu, catalogue, vary={"J": (20, 40)}, executor=engine).table

    expected = scores()
    np.testing.assert_array_equal(scores().scores, expected.scores)
    assert not told
    for file in (tmp_path / "kept").glob("*.task"):
        forged(file, lambda table: replace(table, **{name: getattr(table, name)[..., None]}))
    np.testing.assert_array_equal(scores().scores, expected.scores)
    assert told
    assert f"{name} is not an array of" in told[0]


def test_events_and_bins_that_no_events_give_are_made_again(tmp_path: Path, catalogue: Catalogue) -> None:
    budget = menu_from(tmp_path, MENU.replace("above = 30.0", "total_rate_hz = 1000.0"))
    told: list[str] = []

    def engine() -> Engine:
        return Engine(checkpoint=Checkpoint(tmp_path / "kept"), warn=told.append)

    expected = solve_budgets(budget, catalogue, executor=engine())
    assert solve_budgets(budget, catalogue, executor=engine()) == expected
    (file,) = (tmp_path / "kept").glob("*.task")
    for change in (
        lambda pair: pair[0],
        lambda pair: (pair[0], replace(pair[1], scores=pair[1].scores[:, :0])),
        lambda pair: (pair[0], replace(pair[1], sample=pair[1].sample + 5)),
        lambda pair: (pair[0], replace(pair[1], weight=pair[1].weight * -1)),
    ):
        forged(file, change)
        assert solve_budgets(budget, catalogue, executor=engine()) == expected
    assert len(told) == 4
    menu = expected[0]
    ranges = score_table(menu, catalogue, executor=engine()).threshold_ranges
    for file in (tmp_path / "kept").glob("*.task"):
        forged(file, lambda made: replace(made, bin=made.bin + 2**40) if hasattr(made, "bin") else made)
    assert score_table(menu, catalogue, executor=engine()).threshold_ranges == ranges
    assert "the bin, from the lowest one on, is" in told[-1]


def test_a_pipe_in_place_of_a_result_is_replaced(tmp_path: Path, menu: Menu, catalogue: Catalogue) -> None:
    told: list[str] = []

    def table() -> PatternTable:
        engine = Engine(checkpoint=Checkpoint(tmp_path / "kept"), warn=told.append)
        return emulate(menu, catalogue, executor=engine).table

    expected = table()
    (file,) = (tmp_path / "kept").glob("*.task")
    file.unlink()
    os.mkfifo(file)
    assert table().n.tolist() == expected.n.tolist()
    assert file.is_file()
    (said,) = told
    assert said.endswith("is damaged or of another program: its part is done again")
