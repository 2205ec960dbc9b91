"""Fills: rates against those of reweighted samples, controllers against the targets, live fractions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_checks import Run
from commands import Place
from pileup_toys import crossing_catalogue, crossings

from trigemu import Menu, TrigemuError, at_pileup, column_rates, read_menu, run
from trigemu.samples import Catalogue
from trigemu_live import FillConfig, Rules, read_fill, through_fill
from trigemu_live.rules import Simple

MENU = """
[menu]
prescale_columns = ["even", "tight", "loose"]
column = "even"
[[trigger]]
name = "J"
kind = "threshold"
observable = "jet[0].pt"
above = 30.0
prescales = [1, 4, 2]
[[trigger]]
name = "M"
kind = "threshold"
observable = "met"
above = 20.0
prescale = 2
[[trigger]]
name = "LOGIC"
kind = "logic"
expression = "J"
prescale = 10
"""
BUDGET = MENU.replace("above = 20.0", "total_rate_hz = 2e6")
FILL = "[fill]\nhours = 4\nstep_seconds = 600\npileup = 3.5\nhalf_life_hours = 8\n"
CONTROL = '[[control]]\ntrigger = "M"\n'


def setting(folder: Path, menu: str, fill: str) -> tuple[Menu, FillConfig, Catalogue]:
    (folder / "m.toml").write_text(menu)
    (folder / "f.toml").write_text(fill)
    events = crossings(5, 4000, most=9)
    total = sum(event["weight"] for event in events)
    scaled = [  # more interactions, more missing momentum
        event | {"weight": event["weight"] * 40e6 / total, "met": event["met"] * event["n_interaction"] / 3}
        for event in events
    ]
    samples = crossing_catalogue({"all": scaled}, signals={"some": scaled[:500]})
    return read_menu(folder / "m.toml"), read_fill(folder / "f.toml"), samples


@pytest.mark.parametrize("menu", [MENU, BUDGET])
def test_rates_are_those_of_reweighted_samples(tmp_path: Path, menu: str) -> None:
    """Also where a threshold was found from a budget, so that its effect is that of one half of the
    events."""
    read, config, samples = setting(tmp_path, menu, FILL + CONTROL)
    fill = through_fill(read, config, samples)
    fixed = fill.traces[0]
    for step in (0, 12, -1):
        rates = run(fill.menu, at_pileup(samples, float(fill.pileup[step])))
        # factors are interpolated; and a half is scaled by the weights as they are, not as reweighted
        close = 5e-3 if menu == MENU else 2e-2
        assert fixed.before[step] == pytest.approx(rates.rate.hz, rel=close)
        assert fixed.rates[0][step] == pytest.approx(rates["M"].total.hz, rel=close)


def test_columns_of_prescales(tmp_path: Path) -> None:
    read, config, samples = setting(tmp_path, MENU, FILL + '[[column]]\nname = "loose"\nbelow = 3.0\n')
    fill = through_fill(read, config, samples)
    fixed, columns = fill.traces
    assert (columns.name, fill.controlled) == ("columns", ())
    above = fill.pileup > 3.0
    assert (fixed.before[above] == columns.before[above]).all()
    at_last = at_pileup(samples, float(fill.pileup[-1]))
    assert fixed.before[-1] == pytest.approx(run(read, at_last).rate.hz, rel=2e-3)
    loose = column_rates(read, "loose", at_last)["loose"].rate.hz
    assert columns.before[-1] == pytest.approx(loose, rel=2e-3)
    assert (columns.before[~above] != fixed.before[~above]).all()


def test_control_holds_the_rate(tmp_path: Path) -> None:
    read, config, samples = setting(tmp_path, MENU, FILL.replace("600", "60") + CONTROL)
    fill = through_fill(read, config, samples, seeds=range(1, 5))
    fixed, *controlled = fill.traces
    assert fixed.rates[0][0] == pytest.approx(fill.targets[0], rel=0.02)
    assert fill.on_target(fixed.rates[0], fill.targets[0]) < 0.7
    for trace in controlled:
        assert fill.on_target(trace.rates[0], fill.targets[0]) > 0.9
        assert trace.thresholds[0][-1] < trace.thresholds[0][0]
    assert len({tuple(trace.rates[0]) for trace in controlled}) == 4


def test_control_of_the_menu(tmp_path: Path) -> None:
    fill = FILL.replace("600", "60") + CONTROL + 'of = "menu"\n'
    read, config, samples = setting(tmp_path, MENU, fill)
    result = through_fill(read, config, samples)
    fixed, controlled = result.traces
    assert result.on_target(fixed.recorded, result.target_hz) < 1.0
    assert abs(controlled.recorded[-1] / result.target_hz - 1) < 0.05


def test_noise_is_that_of_the_counts(tmp_path: Path) -> None:
    """At constant pile-up an integral controller of gain I has a spread of σ √(I / (2 − I)) for counts with a
    relative error of σ."""
    text = "[fill]\nhours = 10\nstep_seconds = 30\ncurve = [[0, 3.0], [1, 3.0]]\n" + CONTROL
    read, config, samples = setting(
        tmp_path, MENU, f"{text}proportional = 0\nintegral = 0.2\nprescale = 1e5\n"
    )
    fill = through_fill(read, config, samples, seeds=[3])
    rate = fill.traces[1].rates[0][200:]
    sigma = 1 / np.sqrt(fill.targets[0] * 10 / 1e5)
    assert np.log(rate).std() == pytest.approx(sigma * np.sqrt(0.2 / 1.8), rel=0.35)


def test_the_live_fraction_follows_the_rate(tmp_path: Path) -> None:
    read, config, samples = setting(tmp_path, MENU, FILL)
    fill = through_fill(read, config, samples, rules=Rules("", (Simple(simple=3),)))
    trace = fill.traces[0]
    assert trace.live == pytest.approx(1 / (1 + 3 * trace.before / 40e6), abs=3e-3)


def test_signals(tmp_path: Path) -> None:
    read, config, samples = setting(tmp_path, MENU, FILL + 'signals = ["some"]\n' + CONTROL)
    fill = through_fill(read, config, samples)
    (efficiency,) = fill.traces[0].efficiencies
    assert ((efficiency > 0) & (efficiency < 1)).all()
    assert efficiency[0] > efficiency[-1]


@pytest.mark.parametrize(
    ("fill", "message"),
    [
        (FILL + '[[control]]\ntrigger = "N"\n', "has no such trigger"),
        (FILL + '[[control]]\ntrigger = "LOGIC"\n', "expected a trigger with a threshold"),
        (FILL + '[[control]]\ntrigger = "J"\n', "'LOGIC' reads it, so its threshold cannot be moved"),
        (FILL + '[[column]]\nname = "none"\nbelow = 3\n', "has no column 'none'; it has even, tight, loose"),
        (FILL + 'signals = ["other"]\n', "other"),
        (FILL.replace("3.5", "35"), "generate crossings at that pile-up"),
    ],
)
def test_what_is_refused(tmp_path: Path, fill: str, message: str) -> None:
    read, config, samples = setting(tmp_path, MENU, fill)
    with pytest.raises(TrigemuError, match=message):
        through_fill(read, config, samples)


def test_the_command(tmp_path: Path, place: Place, trigemu: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, samples = setting(tmp_path, MENU, FILL + 'signals = ["some"]\n' + CONTROL)
    monkeypatch.setattr("trigemu.open_catalogue", lambda *given, **how: samples)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.csv").write_text("name,one\nJ,3\nM,0\nLOGIC,1\n")
    (tmp_path / "g.toml").write_text(FILL + '[[column]]\nname = "one"\nbelow = 3.0\n')
    with_columns = ("fill", "m.toml", "g.toml", "--prescales", "p.csv", "--csv", "-")
    status, text = trigemu(*with_columns)
    assert (status, [line.split(",")[0] for line in text.splitlines()]) == (0, ["way", "fixed", "columns"]), (
        text
    )
    command = ("fill", "m.toml", "f.toml", "--rules", "cms", "--seeds", "2")
    status, text = trigemu(*command, "--json", "f.json", "--csv", "f.csv", "--figures", "drawn")
    assert status == 0, text
    assert "On target: within 10 %" in " ".join(text.split())
    document = json.loads((tmp_path / "f.json").read_text())
    assert [trace["way"] for trace in document["traces"]] == ["fixed", "control", "control"]
    assert len(document["traces"][0]["recorded_hz"]) == len(document["hours"]) == 24
    assert {file.name for file in (tmp_path / "drawn").iterdir()} == {
        f"fill_{n}.png" for n in ("menu", "M", "some")
    }
    before = (tmp_path / "f.json").read_bytes()
    assert trigemu(*command, "--json", "f.json")[0] == 0
    assert (tmp_path / "f.json").read_bytes() == before
    (tmp_path / "f.toml").write_text("[fill]\n")
    status, text = trigemu(*command)
    assert (status, "f.toml:1: [fill]: expected pileup" in text) == (2, True), text
