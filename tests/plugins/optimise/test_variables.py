"""The values that goals allow, ties between them, and the halves of a menu with a trained model."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from optimise_toys import GOALS, MENU, missed_by, toy_rate, toy_samples, write_goals, write_menu
from toys import even_events, memory_catalogue, toy_events
from trigemu_optimise import Effort, optimise
from trigemu_optimise.figures import pictures
from trigemu_optimise.goals import read_goals
from trigemu_optimise.setup import Setup, make_setup
from trigemu_optimise.variables import FREE_VALUES, menu_at, round_step
from trigemu_optimise.write_menu import write_menu as write_best

from trigemu import TrigemuError, read_menu
from trigemu.emulation import scaling


@given(st.floats(1e-6, 1e9))
def test_steps_are_round_and_not_too_many(width: float) -> None:
    step = round_step(width)
    digits = float(f"{step:.0e}".split("e")[0])
    assert digits in (1, 2, 5)
    assert FREE_VALUES / 3 < width / step + 1 <= FREE_VALUES


def test_without_a_step_thresholds_are_edges_of_the_hardware(tmp_path: Path) -> None:
    """Of the bins of [integer], so many that not too many values are left; and the value in the menu."""
    scale = "[integer.jet]\npt = { first = 0.25, step = 0.5, bins = 2000 }\n"
    goals = GOALS.format(cap=3e4).replace(", step = 1.0", "").replace(", step = 2.0", "")
    (tmp_path / "goals.toml").write_text(goals)
    menu = read_menu(write_menu(tmp_path, MENU + scale))
    setup = make_setup(menu, read_goals(tmp_path / "goals.toml"), toy_samples(200))
    first, _, met, _ = setup.variables
    edges = [0.25 + i for i in range(10, 80)]  # every second one
    assert first.values == tuple(sorted([*edges, 30.0]))
    assert met.values[:2] == (20.0, 21.0)  # without a scale: round steps


def test_ties_make_one_variable_of_equal_thresholds_and_leave_out_excluded_values(tmp_path: Path) -> None:
    def setup(tie: str) -> Setup:
        goals = write_goals(tmp_path, 3e4, f"[[tie]]\n{tie}")
        return make_setup(read_menu(write_menu(tmp_path)), read_goals(goals), toy_samples(200))

    equal = setup('triggers = ["J30", "J15"]\n')
    assert [variable.name for variable in equal.variables] == ["J30 = J15", "MET40", "MET40 prescale"]
    menu = menu_at(equal.menu, equal.variables, [5, 0, 0])
    thresholds = {menu.trigger(name).description.threshold for name in ("J30", "J15")}
    assert thresholds == {equal.variables[0].values[5]}
    first, second, *_ = setup('triggers = ["J15", "J30"]\nat_least = 20\n').variables
    assert (first.values[0], first.values[-1]) == (30.0, 80.0)
    assert (second.values[0], second.values[-1]) == (10.0, 60.0)


J30 = '[[vary]]\ntriggers = ["J30"]\nabove = {{ min = {}, max = {}, step = {} }}\n'
J15 = '[[vary]]\ntriggers = ["J15"]\nabove = {{ min = {}, max = {}, step = {} }}\n'
EQUAL = '[[tie]]\ntriggers = ["J30", "J15"]\n'


@pytest.mark.parametrize(
    ("goals", "expected"),
    [
        pytest.param(J30.format(50, 50, 1), {"J30": 50}, id="a range of one value"),
        pytest.param(J30.format(42, 46, 5), {"J30": 42}, id="a step that leaves one value"),
        pytest.param(
            J30.format(12, 50, 38) + J15.format(50, 60, 5) + EQUAL, {"J30": 50, "J15": 50}, id="a tie"
        ),
        pytest.param(
            J30.format(10, 50, 40)
            + J15.format(35, 35, 5)
            + '[[tie]]\ntriggers = ["J15", "J30"]\nat_least = 5\n',
            {"J30": 50, "J15": 35},
            id="a tie at a distance",
        ),
        pytest.param(
            J30.format(14, 50, 12) + J15.format(10, 60, 20) + EQUAL, {"J30": 50, "J15": 50}, id="two steps"
        ),
        pytest.param('[[vary]]\ntriggers = ["MET40"]\nprescale = [5]\n', {"MET40": 5}, id="a prescale"),
    ],
)
def test_a_single_allowed_value_is_taken(tmp_path: Path, goals: str, expected: dict[str, float]) -> None:
    """The best menu, and the one with scaled thresholds, have it; no threshold was fitted for it."""
    varied = '[[vary]]\ntriggers = ["MU"]\nprescale = [1, 10]\n'
    head = '[goals]\nrate_hz = 1e9\n[[channel]]\nsample = "s"\n'
    (tmp_path / "goals.toml").write_text(head + varied + goals)
    effort = Effort(starts=1, hops=0, replicas=0, caps=0)
    samples = toy_samples(200)
    result = optimise(read_menu(write_menu(tmp_path)), tmp_path / "goals.toml", samples, effort)
    write_best(result.written, result.menu, result.summary, tmp_path / "best.toml")
    best = read_menu(tmp_path / "best.toml")
    for name, value in expected.items():
        trigger = best.trigger(name)
        assert value == (trigger.prescale if name == "MET40" else trigger.description.threshold)
        assert trigger.fitted_on is None
    assert best.trigger("MU").prescale == 1.0
    drawn = [picture.name for picture in pictures(result.summary)]
    assert ("optimise_thresholds" in drawn) == any(v.what == "above" for v in result.summary.variables)
    rates = {contender.name: contender.fitted.rate_hz for contender in result.summary.contenders}
    triggers = {of["name"]: of for of in tomllib.loads((tmp_path / "best.toml").read_text())["trigger"]}
    assert rates["optimised"] == pytest.approx(toy_rate(triggers, 200), rel=1e-12)
    triggers["MU"]["prescale"] = 10  # no threshold varies: the menu as written, at the allowed values
    assert rates["scaled"] == pytest.approx(toy_rate(triggers, 200), rel=1e-12)


#: The thresholds at the lowest values of the goals.
LOOSEST = MENU.replace("30.0 ", "10.0 ").replace("15.0", "10.0").replace("40.0", "20.0")


@pytest.mark.parametrize("trained", [0, 1])
def test_only_events_that_no_model_was_trained_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trained: int
) -> None:
    """Each quarter of a sample is scaled by Σw(all) / Σw(quarter), events that no trigger accepts too;
    signals are halved once."""
    signal = even_events(5, 200)
    samples = {"a": toy_events(3, 400), "b": toy_events(4, 200)}  # of very unequal weights
    catalogue = memory_catalogue(samples, signals={"s": signal})
    monkeypatch.setattr(scaling, "unseen_half", lambda *_: 1 - trained)
    setup = make_setup(read_menu(write_menu(tmp_path)), read_goals(write_goals(tmp_path, 3e9)), catalogue)
    for number, half in enumerate((setup.problem.half, setup.unseen)):
        expected = []
        for events in samples.values():
            quarter = [_quarter(i) == 2 * (1 - trained) + number for i in range(len(events))]
            weights = np.array([event["weight"] for event in events])
            some = [missed_by(event, LOOSEST) < 1 for event in events]
            expected += (weights * (weights.sum() / weights[quarter].sum()))[
                np.array(some) & quarter
            ].tolist()
        assert half.background.weight.tolist() == pytest.approx(expected, rel=1e-12)
    signals = [half.channels[0].event for half in (setup.problem.half, setup.unseen)]
    assert len(signals[0]) + len(signals[1]) == len(signal)
    assert "which no model of the menu was trained on" in setup.halves
    few = memory_catalogue({"a": samples["a"][:1]}, signals={"s": signal})
    with pytest.raises(TrigemuError, match="sample 'a': there is no weight in one of the two quarters"):
        make_setup(read_menu(write_menu(tmp_path)), read_goals(tmp_path / "goals.toml"), few)


def _quarter(parent: int) -> int:
    """The two highest bits of SplitMix64, in whole numbers."""
    z = (parent + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return (z ^ z >> 31) >> 62
