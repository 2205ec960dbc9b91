from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from toys import menu_from
from trigemu_decade.card import Step
from trigemu_decade.events import Selected
from trigemu_decade.observables import Candidate, candidates, compared_numbers
from trigemu_decade.training.choice import choose
from trigemu_decade.training.config import QuantileTable

from trigemu import TrigemuError

NAMES = ("A", "B", "C")
CANDIDATES = (Candidate("a", ("A",)), Candidate("b", ("B",)), Candidate("c", ("C",)), Candidate("d", ("B",)))


def sample(n: int = 60_000, slope: tuple[float, ...] = (1.0, 0.6, 0.0, 0.0)) -> Selected:
    """Triggers on three of four observables; the score grows with some of them, by `slope`."""
    rng = np.random.default_rng(1)
    x = rng.exponential(size=(n, 4)).astype(np.float32)
    y = x @ np.array(slope) + rng.normal(size=n)
    accepts = (x[:, :3] > np.array([2.5, 3.0, 2.5])).astype(np.float64)
    others = accepts.max(axis=1)
    parent = np.arange(n, dtype=np.uint64) // np.uint64(2)
    weight, interaction = np.full(n, 30_000 / n), parent.astype(np.int64)
    return Selected(weight, parent, interaction, accepts, others, {"x": x, "y": y})


def steps_of(events: Selected, *begin: Callable[[str], None]) -> tuple[Step, ...]:
    return choose(events, CANDIDATES, NAMES, 600.0, QuantileTable(x=("x",)), 1, *begin)


def test_observables_are_added_that_the_score_and_a_trigger_have_in_common() -> None:
    """The share reaches that of a score independent of all triggers. Each fit is announced."""
    events, said = sample(), list[str]()
    steps = steps_of(events, said.append)
    assert said[0] == "Y(a), for the overlap with A"
    assert len(said) == len(set(said)) >= 4
    assert [(step.observable, step.trigger) for step in steps] == [("", ""), ("a", "A"), ("b", "B")]
    ceiling = 1.0 - events.others.mean()
    assert steps[0].share < ceiling - 0.3
    assert steps[-1].share == pytest.approx(ceiling, abs=0.05)
    for before, step in pairwise(steps):
        assert step.overlap_reduction_hz == pytest.approx(before.overlap_hz - step.overlap_hz)
        assert step.overlap_reduction_hz > step.error_hz > 0
        assert step.trees >= 1


@pytest.mark.slow
def test_the_error_of_the_reduction_accounts_for_shared_interactions() -> None:
    """Each event twice, with half the weight, has the error of the events once."""
    events = sample(30_000)
    twice = events.take(np.repeat(np.arange(30_000), 2))  # type: ignore[arg-type]
    once, again = steps_of(events), steps_of(twice)
    assert again[1].observable == once[1].observable == "a"
    assert again[1].error_hz == pytest.approx(once[1].error_hz, rel=0.1)


def test_nothing_is_added_to_an_independent_score() -> None:
    steps = steps_of(sample(20_000, (0.0, 0.0, 0.0, 0.0)))
    assert [step.observable for step in steps[1:]] == []


def test_candidates_are_what_enabled_triggers_cut_on(tmp_path) -> None:
    menu = menu_from(
        tmp_path,
        """
        [[trigger]]
        name = "J"
        kind = "threshold"
        observable = "jet[0].pt"
        above = 100.0
        [[trigger]]
        name = "off"
        kind = "threshold"
        observable = "ht"
        above = 100.0
        enabled = false
        [[trigger]]
        name = "JG"
        kind = "combination"
        legs = [ { object = "photon", pt = { min = 20.0 } }, { object = "jet", pt = { min = 30.0 } } ]
        pairs = [ { legs = [0, 1], dr = { min = 1.0 } } ]
        """,
    )
    assert [(c.observable, c.triggers) for c in candidates(menu)] == [
        ("jet[0].pt", ("J", "JG")),
        ("photon[0].pt", ("JG",)),
        ("dr(photon[0], jet[0])", ("JG",)),
    ]


def test_numbers_that_a_condition_compares_with_constants() -> None:
    text = "jet[0].pt > 50 and not (20 <= ht < 80 or abs(dphi(jet[0], met)) > 1) and n_jet == 2 and ht > met"
    assert {*compared_numbers(text)} == {"abs(dphi(jet[0], met))", "ht", "jet[0].pt", "n_jet"}


def test_a_menu_that_cuts_on_nothing_is_refused(tmp_path) -> None:
    menu = menu_from(tmp_path, '[[trigger]]\nname = "R"\nkind = "random"\nrate_hz = 10.0\n')
    with pytest.raises(TrigemuError, match="no enabled trigger cuts on an observable"):
        candidates(menu)
