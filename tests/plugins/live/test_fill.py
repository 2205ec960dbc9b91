"""Fills: rates against those of reweighted samples, controllers, live fractions; files and their mistakes."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from command_checks import Run
from commands import Place
from pileup_toys import crossing_catalogue, crossings
from toys import threshold
from trigemu_live import FillConfig, Rules, read_fill, spread, through_fill
from trigemu_live.rules import Rule

from trigemu import Menu, Profile, TrigemuError, at_pileup, column_rates, efficiencies, read_menu, run
from trigemu.base.shown import view_of
from trigemu.samples.catalogue import Catalogue

LOGIC = '[[trigger]]\nname = "LOGIC"\nkind = "logic"\nexpression = "J"\nprescale = 10\n'
JET = threshold("J", "jet[0].pt", 30.0, "prescale = 4")
MENU = JET + threshold("M", "met", 20.0, "prescale = 2") + LOGIC
BUDGET = MENU.replace("above = 20.0", "total_rate_hz = 2e6")
COLUMNS = (
    '[menu]\nprescale_columns = ["tight", "loose"]\n'
    + JET.replace("prescale = 4", "prescales = [4, 2]")
    + threshold("M", "met", 20.0, "prescales = [6, 3]")
    + threshold("N", "n_jet", 1, "prescales = [2, 0]")
    + LOGIC
)
LEVELS = (
    '[menu]\nlevels = ["L1", "HLT"]\n'
    + threshold("N", "n_jet", 1, 'prescale = 2\nlevel = "L1"')
    + threshold("M", "met", 20.0, 'level = "L1"')
    + threshold("J", "jet[0].pt", 30.0, 'level = "L1"')
    + threshold("H", "jet[0].pt", 50.0, 'prescale = 3\nlevel = "HLT"\nseed = "J"')
)
FILL = "[fill]\nhours = 4\nstep_seconds = 600\npileup = 3.5\nhalf_life_hours = 8\n"
CONTROL = '[[control]]\ntrigger = "M"\n'
CONTROL_N = '[[control]]\ntrigger = "N"\n'
#: "tight" at the beginning, "loose" from a pile-up of 3 down.
IN_COLUMNS = '[[column]]\nname = "loose"\nbelow = 3.0\n[[column]]\nname = "tight"\nbelow = 4.0\n'


@cache
def scaled_crossings(**of_one: int) -> list[dict[str, Any]]:
    """Crossings of 40 MHz: with more interactions, they have more missing momentum, in whole GeV."""
    events = [event | of_one for event in crossings(5, 4000, most=9)]
    hz = 40e6 / sum(event["weight"] for event in events)
    return [
        event
        | {"weight": event["weight"] * hz, "met": float(round(event["met"] * event["n_interaction"] / 3))}
        for event in events
    ]


def setting(folder: Path, menu: str, fill: str) -> tuple[Menu, FillConfig, Catalogue]:
    (folder / "m.toml").write_text(menu)
    (folder / "f.toml").write_text(fill)
    events = scaled_crossings()
    signals = {"some": events[:500], "of_three": scaled_crossings(n_interaction=3)[:500]}
    return (
        read_menu(folder / "m.toml"),
        read_fill(folder / "f.toml"),
        crossing_catalogue({"first": events[:2500], "rest": events[2500:]}, signals=signals),
    )


@pytest.mark.parametrize(
    ("menu", "fill"),
    [
        (MENU, CONTROL),
        (MENU + threshold("N", "n_jet", 1), CONTROL + CONTROL_N),
        (MENU, CONTROL + "target_hz = 3e6\n"),
        (COLUMNS, CONTROL + CONTROL_N + IN_COLUMNS),
        (COLUMNS, CONTROL + "target_hz = 1e6\n" + IN_COLUMNS),
        (LEVELS, CONTROL + CONTROL_N),
        (LEVELS, CONTROL_N + "target_hz = 3e6\n"),
        (BUDGET, CONTROL),
        (BUDGET + threshold("N", "n_jet", 1), CONTROL_N),
    ],
)
def test_the_first_step_is_that_of_run(tmp_path: Path, menu: str, fill: str) -> None:
    """With integer scores and rounded ones, which many events share: fixed thresholds and controlled ones.
    The menu may have columns of prescales, two levels, or a threshold that was found from a budget, whose
    effect is that of one half of the events."""
    read, config, samples = setting(tmp_path, menu, FILL + fill)
    result = through_fill(read, config, samples)
    for trace in result.traces:
        found = dict(zip(result.controlled, trace.thresholds[:, 0], strict=True))
        triggers = (
            replace(t, description=t.description.at(found[t.name])) if t.name in found else t  # type: ignore[union-attr]
            for t in result.menu.triggers
        )
        rates = run(
            replace(result.menu, triggers=tuple(triggers)), at_pileup(samples, float(result.pileup[0]))
        )
        first = rates.levels[0].rate if rates.levels else rates.rate
        errors = [first, rates.rate, *(rates[name].total for name in result.controlled)]
        assert result.errors[trace.name][:, 0] == pytest.approx([rate.error_hz for rate in errors], rel=1e-9)
        assert trace.recorded[0] == pytest.approx(rates.rate.hz, rel=1e-12)
        assert trace.before[0] == pytest.approx(first.hz, rel=1e-12)
        for name, rate in zip(result.controlled, trace.rates, strict=True):
            assert rate[0] == pytest.approx(rates[name].total.hz, rel=1e-12)
    if "target_hz" not in fill:
        own = [read.trigger(name).description.threshold for name in result.controlled]  # type: ignore[union-attr]
        solved = [result.menu.trigger(name).solution for name in result.controlled]
        expected = [s.threshold if s else above for s, above in zip(solved, own, strict=True)]
        assert result.traces[0].thresholds[:, 0].tolist() == expected
        assert result.targets == pytest.approx(result.traces[0].rates[:, 0], rel=1e-12)


def test_a_target_is_met_as_nearly_as_the_scores_allow(tmp_path: Path) -> None:
    read, config, samples = setting(tmp_path, MENU, FILL + CONTROL + "target_hz = 3e6\n")
    result = through_fill(read, config, samples)
    events = scaled_crossings()
    factor = at_pileup(samples, 3.5).background[0].per_interactions
    hz = np.array([event["weight"] * factor[event["n_interaction"]] for event in events]) / 2
    met = np.array([event["met"] for event in events])
    rates = np.array([hz[met > threshold].sum() for threshold in np.unique(met)])
    nearest = rates[np.argmin(np.abs(rates - 3e6))]
    assert result.traces[0].rates[0][0] == pytest.approx(nearest, rel=1e-12)
    assert abs(nearest / 3e6 - 1) > 1e-4  # the events of one value make the difference


def test_columns_of_prescales(tmp_path: Path) -> None:
    """Fixed and controlled thresholds have the prescales of the column at the beginning; `random` triggers
    keep their rate at the crossing rate of a filling scheme."""
    rate = '[[trigger]]\nname = "R"\nkind = "random"\nrate_hz = 1e3\nprescales = [5, 2]\n'
    read, config, samples = setting(tmp_path, COLUMNS + rate, FILL + CONTROL + IN_COLUMNS)
    fill = through_fill(read, config, samples)
    fixed, columns, *_ = fill.traces
    assert columns.name == "columns"
    above = fill.pileup > 3.0
    assert (fixed.before[above] == columns.before[above]).all()
    assert (columns.before[~above] != fixed.before[~above]).all()
    at_last = at_pileup(samples, float(fill.pileup[-1]))
    rates = column_rates(read, ["tight", "loose"], at_last)
    assert fixed.before[-1] == pytest.approx(rates["tight"].rate.hz, rel=2e-3)
    assert columns.before[-1] == pytest.approx(rates["loose"].rate.hz, rel=2e-3)
    fill = through_fill(read, config, samples, filling=spread(2544))
    rates = run(fill.menu, at_pileup(samples, 3.5))
    assert rates["R"].total.hz == pytest.approx(1e3 / 5)
    assert fill.traces[0].before[0] == pytest.approx(rates.rate.hz, rel=1e-12)


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


def test_control_in_columns(tmp_path: Path) -> None:
    """Until the column changes, it is control. Then a tighter threshold of M makes up for a smaller prescale,
    and rates are those of the column with this threshold; N is off, and its threshold stays."""
    fill = FILL.replace("600", "60") + CONTROL + CONTROL_N + IN_COLUMNS
    read, config, samples = setting(tmp_path, COLUMNS, fill)
    result = through_fill(read, config, samples, seeds=[2])
    control, both = result.traces[2:]
    assert (control.name, both.name) == ("control", "both")
    above = result.pileup > 3.0
    assert (control.thresholds[:, above] == both.thresholds[:, above]).all()
    assert (control.before[above] == both.before[above]).all()
    (m, n), last = both.thresholds, int(above.sum())
    assert (both.columns[above] == 1).all()
    assert (both.columns[~above] == 0).all()
    assert (n[last:] == n[last]).all()
    assert (both.rates[1][last:] == 0.0).all()
    assert both.rates[0][last] > 1.5 * result.targets[0]
    assert result.on_target(both.rates[0][last + 20 :], result.targets[0]) > 0.9
    assert m[-1] > control.thresholds[0][-1]
    (tmp_path / "last.toml").write_text(COLUMNS.replace("above = 20.0", f"above = {float(m[-1])!r}"))
    at_last = at_pileup(samples, float(result.pileup[-1]))
    rates = column_rates(tmp_path / "last.toml", ["loose"], at_last)["loose"]
    assert both.before[-1] == pytest.approx(rates.rate.hz, rel=5e-3)
    assert both.rates[0][-1] == pytest.approx(rates["M"].total.hz, rel=5e-3)
    text = " ".join(str(result).split())
    assert "both" in text
    assert "Warning" not in text, text


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


@pytest.mark.parametrize(("gains", "message"), [
    ("proportional = 0\nintegral = 0.2\n", ""),
    ("proportional = 0\nintegral = 0.001\n", "of M does not follow: the rate is .* below its target in the"),
    ("prescale = 4e6\nintegral = 1.0\n", r"of M does not hold its rate, .* sees .* accepts in a step, ±"),
])  # fmt: skip
def test_a_controller_that_does_not_follow_says_so(tmp_path: Path, gains: str, message: str) -> None:
    read, config, samples = setting(tmp_path, MENU, FILL.replace("600", "60") + CONTROL + gains)
    text = " ".join(str(through_fill(read, config, samples)).split())
    assert re.search(f"Warning: the controller {message}", text) if message else "Warning" not in text, text


@pytest.mark.parametrize("control", ["", CONTROL + "target_hz = 4e6\n"])
def test_the_live_fraction_follows_the_rate(tmp_path: Path, control: str) -> None:
    """Also with a target that is far above the rates of the menu."""
    menu = MENU.replace("above = 20.0", f"above = {80.0 if control else 20.0}")
    read, config, samples = setting(tmp_path, menu, FILL + control)
    fill = through_fill(read, config, samples, rules=Rules("", (Rule(simple=3),)))
    for trace in fill.traces:
        assert trace.live == pytest.approx(1 / (1 + 3 * trace.before / 40e6), abs=3e-3)
    if control:
        assert fill.traces[0].rates[0][0] == pytest.approx(4e6, rel=0.02)
        assert fill.traces[0].before[0] > 2 * run(read, at_pileup(samples, 3.5)).rate.hz


@pytest.mark.parametrize("menu", [BUDGET + threshold("N", "n_jet", 1), LEVELS])
def test_signals_are_those_of_efficiencies(tmp_path: Path, menu: str) -> None:
    """A signal keeps all its events beside a fitted trigger; of a background, only the unseen half counts.
    Events with equal numbers of interactions have equal factors."""
    signals = 'signals = ["of_three", "more"]\n'
    read, config, samples = setting(tmp_path, menu, FILL + signals + CONTROL_N)
    background = {"all": scaled_crossings(), "more": scaled_crossings(n_interaction=3)[500:1500]}
    of_signals = {"of_three": scaled_crossings(n_interaction=3)[:500]}
    samples = crossing_catalogue(background, signals=of_signals)
    fill = through_fill(read, config, samples)
    for name, efficiency in zip(("of_three", "more"), fill.traces[0].efficiencies, strict=True):
        expected = efficiencies(read, samples, name, Profile("n_interaction", (0.0, 10.0)))
        assert efficiency[0] == pytest.approx(expected.turnons[0].curves[0].overall.value, rel=1e-12)


NEVER = threshold("M", "met", 1e6)
COARSE = threshold("M", "n_photon", 3)
ALL_OFF = (
    COLUMNS.replace("[4, 2]", "[4, 0]")
    .replace("[6, 3]", "[6, 0]")
    .replace("prescale = 10", "prescales = [10, 0]")
)


@pytest.mark.parametrize(("menu", "fill", "message"), [
    (MENU, '[[control]]\ntrigger = "N"\n', "has no such trigger"),
    (MENU, '[[control]]\ntrigger = "LOGIC"\n', "cannot be moved by itself: it has no threshold"),
    (MENU, '[[control]]\ntrigger = "J"\n', "cannot be moved by itself: 'LOGIC' reads it"),
    (LEVELS, '[[control]]\ntrigger = "H"\n', "cannot be moved by itself: it has a seed"),
    (LEVELS, CONTROL + 'of = "menu"\n', "the rate of the menu is that of HLT, which a threshold of L1"),
    (MENU, 'signals = ["other"]\n', "other"),
    (MENU, "pileup = 35\n", "generate crossings at that pile-up"),
    (COLUMNS, "", "m.toml has columns of prescales, tight, loose: choose one or several with"),
    (COLUMNS, '[[column]]\nname = "none"\nbelow = 4\n', "unknown column 'none'"),
    (COLUMNS, '[[column]]\nname = "tight"\nbelow = 3\n', r"pile-up is up to 3.5, .* begin at 3: .* 3.5 or"),
    (ALL_OFF, '[[column]]\nname = "loose"\nbelow = 4\n', "column 'loose' switches every trigger"),
    (COLUMNS, CONTROL_N + IN_COLUMNS.replace("loose", "-").replace("tight", "loose").replace("-", "tight"),
     "above 1 and switched off it accepts no"),
    (COLUMNS, CONTROL_N + '[[column]]\nname = "loose"\nbelow = 4\n',
     "control of 'N': it is switched off at all times: give another prescale or column"),
    (NEVER, "", "'m' accepts no event at the beginning of the fill, so there is no rate to follow"),
    (MENU + NEVER.replace('"M"', '"N"'), CONTROL_N,
     "control of 'N': above 1e.06 and with a prescale of 1 it"),
    (MENU, CONTROL + "target_hz = 1e-200\n", "1e-200 Hz before the rules cannot be met: the highest score"),
    (MENU, CONTROL + "target_hz = 1e9\n", "1e.09 Hz before the rules cannot be met: all events with a score"),
    (MENU, CONTROL + "seconds = 1e-200\n", "it would count .* in a step: give more seconds, or a smaller"),
    (MENU, CONTROL + 'of = "menu"\ntarget_hz = 1e-200\n', "it would count .* in a step: give more seconds"),
    (COARSE, CONTROL, "'M': no threshold beside 3, with .* too many events share a score"),
])  # fmt: skip
def test_what_is_refused(tmp_path: Path, menu: str, fill: str, message: str) -> None:
    text = FILL.replace("pileup = 3.5\n", "" if "pileup" in fill else "pileup = 3.5\n") + fill
    read, config, samples = setting(tmp_path, menu, text)
    with pytest.raises(TrigemuError, match=message):
        through_fill(read, config, samples)


def test_negative_weights(tmp_path: Path) -> None:
    """They count in rates, but a threshold cannot be found with them."""
    read, config, _ = setting(tmp_path, MENU, FILL + CONTROL)
    first, *others = scaled_crossings()
    events = [first | {"weight": -first["weight"]}, *others]
    with pytest.raises(TrigemuError, match="an event has a negative weight: no threshold can be controlled"):
        through_fill(read, config, crossing_catalogue({"all": events}))
    samples = crossing_catalogue({"all": events})
    fill = through_fill(read, replace(config, controls=()), samples)
    hz = run(read, at_pileup(samples, 3.5)).rate.hz
    assert fill.traces[0].before[0] == pytest.approx(hz, rel=1e-12)


def test_the_command(tmp_path: Path, place: Place, trigemu: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, samples = setting(tmp_path, MENU, FILL + 'signals = ["some"]\n' + CONTROL)
    monkeypatch.setattr("trigemu.cli.session.open_catalogue", lambda *given, **how: samples)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.csv").write_text("name,one\nJ,3\nM,0\nLOGIC,1\n")
    (tmp_path / "g.toml").write_text(FILL + '[[column]]\nname = "one"\nbelow = 4.0\n')
    written = ("--json", "g.json", "--csv", "g.csv")
    status, text = trigemu("fill", "m.toml", "g.toml", "--prescales", "p.csv", *written)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "g.csv").read_text())))
    assert (status, [row["way"] for row in rows]) == (0, ["fixed"] * 24 + ["columns"] * 24), text
    assert {row["column"] for row in rows} == {"one"}
    columns = "Columns of prescales: one from µ = 4 down. Fixed and control: one, that at the beginning."
    assert columns in " ".join(text.split())
    sources = json.loads((tmp_path / "g.json").read_text())["provenance"]
    for key, file in (("menu", "m.toml"), ("fill", "g.toml"), ("prescales", "p.csv")):
        sha256 = hashlib.sha256((tmp_path / file).read_bytes()).hexdigest()
        assert (Path(sources[key]["path"]).name, sources[key]["sha256"]) == (file, sha256)
    command = ("fill", "m.toml", "f.toml", "--rules", "cms", "--seeds", "2")
    status, text = trigemu(*command, "--json", "f.json", "--csv", "f.csv", "--figures", "drawn")
    assert status == 0, text
    text = " ".join(text.split())
    assert "On target: within 10 %" in text
    assert "menu m " in text
    assert "(crossing weights): first + rest. µ = 3.5 to 2.51 interactions a crossing" in text, text
    document = json.loads((tmp_path / "f.json").read_text())
    assert [trace["way"] for trace in document["traces"]] == ["fixed", "control", "control"]
    assert len(document["traces"][0]["recorded_hz"]) == len(document["hours"]) == 24
    assert {file.name for file in (tmp_path / "drawn").iterdir()} == {
        f"fill_{n}.png" for n in ("pileup", "menu", "live", "M", "M_above", "some")
    }
    rows = list(csv.DictReader(io.StringIO((tmp_path / "f.csv").read_text())))
    for trace, of_trace in zip(document["traces"], (rows[n : n + 24] for n in (0, 24, 48)), strict=True):
        assert {(row["way"], int(row["seed"])) for row in of_trace} == {(trace["way"], trace["seed"])}
        for name, values in (
            ("live", trace["live"]),
            ("recorded_hz", trace["recorded_hz"]),
            ("M_hz", trace["rates_hz"]["M"]),
            ("M_above", trace["thresholds"]["M"]),
            ("some_part", trace["efficiencies"]["some"]),
        ):
            assert [float(row[name]) for row in of_trace] == values
    (tmp_path / "f.toml").write_text("[fill]\n")
    status, text = trigemu(*command)
    assert (status, "f.toml:1: [fill]: expected pileup" in text) == (2, True), text


def test_the_recorded_luminosity(tmp_path: Path) -> None:
    """Without rules, that of the fill over the prescales of the columns: an exponential, in steps of 6 s."""
    read, config, samples = setting(tmp_path, COLUMNS, FILL.replace("600", "6") + IN_COLUMNS)
    head = msgspec.structs.replace(samples.table, luminosity_cm2s=2e34, mean_interactions=4.5)
    result = through_fill(read, config, replace(samples, table=head))
    rows = {row["of"]: row for row in view_of(result).document(result)["recorded_pb"]}
    decay = math.log(2) / (8 * 3600)
    to_3 = math.log(3.5 / 3.0) / decay  # the time until the column changes

    def delivered(first: float, last: float) -> float:
        return 2e34 * 3.5 / 4.5 * 1e-36 * (math.exp(-decay * first) - math.exp(-decay * last)) / decay

    early, late = delivered(0, to_3), delivered(to_3, 4 * 3600)
    assert rows["M"]["fixed"] == pytest.approx((early + late) / 6, rel=1e-3)
    assert rows["M"]["columns"] == pytest.approx(early / 6 + late / 3, rel=1e-3)
    assert rows["N"]["columns"] == pytest.approx(early / 2, rel=1e-3)  # it is off in the other
    assert "recorded luminosity" in view_of(result).text(result)


GOOD = "[fill]\nhours = 10\npileup = 20\nhalf_life_hours = 5\n"


def test_the_pileup_of_a_fill(tmp_path: Path) -> None:
    """It halves in a time, or is interpolated."""
    (tmp_path / "f.toml").write_text(GOOD + '[[column]]\nname = "c"\nbelow = 12\n')
    config = read_fill(tmp_path / "f.toml")
    hours, pileup = config.fill.hours_and_pileup()
    assert len(hours) == 600
    assert pileup[300] == pytest.approx(10)
    assert [config.column_at(pileup) for pileup in (12.1, 12, 1)] == [None, 0, 0]
    curve = "[fill]\nhours = 4\nstep_seconds = 3600\ncurve = [[0, 20], [2, 10], [3, 9]]\n"
    (tmp_path / "f.toml").write_text(curve)
    _, pileup = read_fill(tmp_path / "f.toml").fill.hours_and_pileup()
    assert pileup.tolist() == [20, 15, 10, 9]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[fill]\n", "expected pileup and half_life_hours, or a curve"),
        ("[fill]\npileup = 20\n", "expected pileup and half_life_hours, or a curve"),
        (GOOD + "curve = [[0, 1], [1, 1]]\n", "expected pileup and half_life_hours, or a curve"),
        ("[fill]\ncurve = [[0, 20]]\n", "two or more points"),
        ("[fill]\ncurve = [[1, 20], [0, 10]]\n", "ascending hours"),
        ("[fill]\ncurve = [[1, -20], [2, 10]]\n", "the pile-up is -20 to"),
        (GOOD + "step_seconds = 0.1\n", "360000 steps: expected at most 100000"),
        (GOOD.replace("20", "-1"), "pileup"),
        (GOOD.replace("20", "1e300"), "pileup"),
        (GOOD.replace("20", "nan"), "pileup"),
        (GOOD.replace("= 5", "= 1e-300"), "the pile-up is 0 to 20: expected 1e-06 to 100000"),
        ("[fill]\ncurve = [[0, 20], [1, nan]]\n", r"nan\]\]: expected finite numbers"),
        ("[fill]\ncurve = [[0, 20], [1, 1e9]]\n", "expected 1e-06 to 100000"),
        (GOOD + '[[column]]\nname = "c"\nbelow = 12\n' * 2, "two columns begin below the same pile-up"),
        (GOOD + '[[control]]\ntrigger = "T"\ntarget_hz = inf\n', "target_hz"),
        (GOOD + '[[control]]\ntrigger = "T"\nproportional = 5\n', "proportional"),
        (GOOD + '[[control]]\ntrigger = "T"\nof = "group"\n', "of"),
        (GOOD + '[[control]]\ntrigger = "T"\n' * 2, "two controllers"),
        (GOOD + "control = 3\n", "unknown key 'control'"),
        (GOOD + "[[columns]]\n", "unknown key 'columns'; did you mean 'column'"),
    ],
)
def test_mistakes_of_the_file(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "f.toml").write_text(text)
    with pytest.raises(TrigemuError, match=message):
        read_fill(tmp_path / "f.toml")
