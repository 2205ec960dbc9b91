"""The probability to be collected, by counting through every state of the prescale counters."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import recorded_toys
from hypothesis import given, strategies as st
from trigemu_recorded.collecting import read_collecting
from trigemu_recorded.enhanced_bias import collected

from trigemu.samples.events import stored_need

#: Prescales of triggers that share a counter divide one another, so that one of them accepts whenever a more
#: prescaled one does; 0: off.
SET = st.lists(st.tuples(st.booleans(), st.sampled_from([0, 1, 2, 4, 8])), min_size=1, max_size=3)


def counted(sets: list[list[tuple[bool, int]]]) -> Fraction:
    """The share of the states of all counters in which any trigger accepts."""
    lengths = [max([prescale for _, prescale in triggers] + [1]) for triggers in sets]
    states = [*product(*map(range, lengths))]
    accepted = sum(
        any(
            fired and prescale and state % prescale == 0
            for state, triggers in zip(counters, sets, strict=True)
            for fired, prescale in triggers
        )
        for counters in states
    )
    return Fraction(accepted, len(states))


@given(st.lists(st.lists(SET, min_size=3, max_size=3), min_size=1, max_size=4))
def test_the_probability_counts_the_states_of_all_counters(events: list[list[list[tuple[bool, int]]]]) -> None:
    most = [max(len(event[i]) for event in events) for i in range(3)]
    padded = [[s + [(False, 0)] * (m - len(s)) for s, m in zip(e, most, strict=True)] for e in events]
    flat = np.array([[trigger for triggers in event for trigger in triggers] for event in padded], float)
    prescales = flat[:, :, 1]
    accept = np.divide(1.0, prescales, out=np.zeros_like(prescales), where=prescales > 0)
    counter = np.repeat(np.arange(3), most)
    triggers = zip(counter, flat[:, :, 0].T != 0, accept.T, strict=True)
    np.testing.assert_allclose(
        collected(triggers, len(events)), [float(counted(event)) for event in padded], rtol=1e-14, atol=1e-15
    )


def pulls(folder: Path, toys: int, assumed: dict[str, np.ndarray], true: dict[str, np.ndarray]) -> np.ndarray:
    """Pulls of the rates of the other triggers, float64[toys, 30], from events that are collected with true
    prescales and weighted with those that are assumed."""
    recorded_toys.write_menu(folder, assumed)
    collecting, _ = read_collecting(
        folder / "collected.toml", 40e6, folder / "prescales.csv", folder / "columns.csv"
    )
    kinds = recorded_toys.crossings()
    kind, section = (place.ravel() for place in np.indices((len(kinds.hz), recorded_toys.SECTIONS)))
    columns = {stored_need(f"L1_{name}")[1]: fired[kind] for name, fired in kinds.fired.items()}
    run = np.full(len(kind), recorded_toys.RUN)
    _, weight = collecting.weigh(columns, run, section + 1, np.ones(len(kind), bool))
    probability = recorded_toys.probabilities(true)
    live = recorded_toys.LIVE_S * recorded_toys.SECTIONS
    fired = np.array([kinds.fired[name] for name in recorded_toys.OTHERS], float)
    result = []
    for seed in range(toys):
        times = recorded_toys.collect(np.random.default_rng(seed), probability)
        total, square = (
            (times * weight.reshape(times.shape) ** power).sum(axis=1) / live**power for power in (1, 2)
        )
        result.append((fired @ total - fired @ kinds.hz) / np.sqrt(fired @ square))
    return np.array(result)


def is_closed(pulls: np.ndarray) -> bool:
    """Whether pulls, float64[toys, triggers], have the mean 0 and the width 1, within 4.5 standard errors of
    each trigger's."""
    toys = len(pulls)
    mean = np.abs(pulls.mean(axis=0)) < 4.5 / np.sqrt(toys)
    width = np.abs(pulls.std(axis=0) - 1) < 4.5 / np.sqrt(2 * toys)
    return bool(mean.all() and width.all())


def test_rates_have_pulls_of_unit_width_and_a_wrong_prescale_is_noticed(tmp_path: Path) -> None:
    true = recorded_toys.prescales(1)
    right = pulls(tmp_path, 200, true, true)
    assert right.shape == (200, 30)
    assert is_closed(right)
    wrong = pulls(tmp_path, 200, true | {"DJ30": 2 * true["DJ30"]}, true)
    assert not is_closed(wrong)
