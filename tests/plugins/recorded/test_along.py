"""Rates by section against loops over the events, what the command prints, and its mistakes."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from command_checks import completed
from project import ROOT
from toys import threshold, write_tree
from trigemu_recorded.along import rates_along
from trigemu_recorded.sections import Sections
from view_checks import check_hepdata, check_html, check_plot, check_texts

from trigemu import TrigemuError, event_table, make_events, read_menu, run
from trigemu.rates.menu_rates import ZERO_EVENTS_LIMIT
from trigemu.samples.events import Collection, Events

MENU = (
    '[menu]\nplugins = ["alpha_t"]\n'
    + threshold("J40", "jet[0].pt", 40.0)
    + threshold("J30", "jet[0].pt", 30.0, "prescale = 5")
    + '[[trigger]]\nname = "AT"\nkind = "alpha_t"\nabove = 0.55\n'
)
PT = np.linspace(10, 60, 1000)


def menu(folder: Path) -> Any:
    file = folder / "menu.toml"
    file.write_text(MENU)
    return read_menu(file, [ROOT / "plugins"])


def some_events(seed: int = 1, n: int = 2000, parents: int | None = None) -> Events:
    rng = np.random.default_rng(seed)
    count = rng.integers(0, 4, n)
    offsets = np.append(0, np.cumsum(count))
    pt = [np.sort(rng.uniform(10, 60, k))[::-1] for k in count]
    columns = {
        "pt": np.concatenate(pt).astype(np.float32),
        "eta": rng.normal(size=offsets[-1]).astype(np.float32),
        "phi": rng.uniform(-3, 3, offsets[-1]).astype(np.float32),
    }
    numbers = {"run": rng.choice([7, 9], n), "luminosityBlock": rng.integers(1, 9, n)}
    numbers["luminosityBlock"][numbers["luminosityBlock"] == 3] = 4  # a section without events
    parent = rng.integers(0, parents, n).astype(np.uint64) if parents else None
    weight = rng.uniform(1, 3, n)
    return make_events("data", weight, {"jet": Collection(offsets, columns)}, numbers, parent=parent)


def some_sections(seed: int = 2, pileup: bool = True) -> Sections:
    """All sections of the events but the last of run 9, and one without live time."""
    rng = np.random.default_rng(seed)
    run, section = np.repeat([7, 9], 8)[:-1], np.tile(np.arange(1, 9), 2)[:-1]
    live = rng.uniform(5, 23, 15)
    live[4] = 0.0
    mean = np.linspace(60, 30, 15) if pileup else np.full(15, np.nan)
    return Sections(run, section, live, live * mean * 1e-4, mean)


def test_rates_are_those_of_a_loop_over_the_sections(tmp_path: Path) -> None:
    events, table = some_events(), some_sections()
    result = rates_along(menu(tmp_path), events, table)
    live = table.live_s > 0
    assert result.sections.section.tolist() == table.section[live].tolist()
    total, leading = table.live_s[live].sum(), np.full(len(events), -np.inf)
    jets = events.collections["jet"]
    has_jet = np.diff(jets.offsets) > 0
    leading[has_jet] = jets.columns["pt"][jets.offsets[:-1][has_jet]]
    run_of, section_of = events.scalars["run"], events.scalars["luminosityBlock"]
    for name, above, prescale in (("J40", 40.0, 1.0), ("J30", 30.0, 5.0)):
        rates, keys = result[name], zip(table.run[live], table.section[live], strict=True)
        for row, (run_, section) in enumerate(keys):
            weights = events.weight[(run_of == run_) & (section_of == section) & (leading > above)] / prescale
            factor = total / table.live_s[live][row]
            assert rates.hz[row] == pytest.approx(weights.sum() * factor, rel=1e-12)
            assert rates.error_hz[row] == pytest.approx((weights**2).sum() ** 0.5 * factor, rel=1e-12)
            assert rates.events[row] == len(weights)
            assert (len(weights) == 0) == (section == 3)
            most = ZERO_EVENTS_LIMIT * factor * events.weight[leading > above].max() / prescale
            assert rates.limit_hz[row] <= most * (1 + 1e-12)
    in_none = (run_of == 9) & (section_of == 8) | (run_of == 7) & (section_of == 5)
    assert result.outside == in_none.sum() > 0


def test_rates_weighted_by_live_time_are_those_of_the_run(tmp_path: Path) -> None:
    """With shared interactions, a section has the error of its own events."""
    events = some_events(parents=300)
    keys = np.unique(np.stack([events.scalars[k] for k in ("run", "luminosityBlock")]), axis=1)
    live = np.random.default_rng(3).uniform(5, 23, keys.shape[1])
    table = Sections(*keys, live, live, live)
    result, whole = rates_along(menu(tmp_path), events, table), run(menu(tmp_path), events)
    for rates in result.rates:
        expected = whole.rate if rates.kind == "menu" else whole[rates.name].total
        assert rates.hz @ live / live.sum() == pytest.approx(expected.hz, rel=1e-12)
        assert rates.events.sum() == expected.events
    inside = np.all(
        [events.scalars[k] == keys[i, 0] for i, k in enumerate(("run", "luminosityBlock"))], axis=0
    )
    jets = events.collections["jet"]
    fires = np.diff(jets.offsets) > 0
    fires[fires] = jets.columns["pt"][jets.offsets[:-1][fires]] > 40.0
    by_parent = np.bincount(events.parent[inside & fires].astype(int), events.weight[inside & fires])
    expected_error = np.sqrt((by_parent**2).sum()) * live.sum() / live[0]
    assert result["J40"].error_hz[0] == pytest.approx(expected_error, rel=1e-12)


def test_scores_are_those_of_numpy(tmp_path: Path) -> None:
    events = replace(some_events(), weight=np.ones(2000))
    numbers = rates_along(menu(tmp_path), events, some_sections())["AT"].scores
    read = menu(tmp_path)
    arrays = event_table(read, events).arrays()
    inside = (events.scalars["run"] == 7) & (events.scalars["luminosityBlock"] == 2)
    score = arrays["score_AT"][inside & np.isfinite(arrays["score_AT"])]
    assert numbers[0, 1] == len(score) > 20
    assert numbers[1, 1] == pytest.approx(score.mean())
    assert numbers[2, 1] == pytest.approx(score.std() / len(score) ** 0.5)
    assert numbers[3:, 1] == pytest.approx(np.quantile(score, (0.5, 0.9, 0.99), method="inverted_cdf"))
    assert np.isnan(numbers[1:, 2]).all()  # no event


def test_what_a_result_shows(tmp_path: Path) -> None:
    with mpl.rc_context({"backend": "agg"}):
        result = rates_along(menu(tmp_path), some_events(), some_sections(), pileup=70.0)
        check_texts(result)
        check_html(result)
        check_hepdata(result, tmp_path)
        check_plot(result, "pile-up")
    assert "µ = 70 is an extrapolation" in str(result)
    document = result.to_dict()
    assert len(document["sections"]) == 14 * 4
    assert [trend["predicted_hz"] > 0 for trend in document["trends"]] == [True] * 4
    assert [scores["name"] for scores in document["scores"]] == ["AT"]


def test_without_pileup_there_are_rates_and_no_fits(tmp_path: Path) -> None:
    result = rates_along(menu(tmp_path), some_events(), some_sections(pileup=False))
    assert [rates.trend for rates in result.rates] == [None] * 4
    assert "not all have a pile-up, so there are no fits" in str(result)


@pytest.mark.parametrize(("change", "settings", "message"), [
    ({}, {"false_alarms": 0.9}, "false alarms 0.9: expected a probability from 0.0001 to 0.5"),
    ({}, {"order": 7}, "order 7: expected one from 0 to 4"),
    ({"live_s": np.zeros(15)}, {}, "0 of 15 sections have live time, .* at least 3: see the column live_s"),
    ({"pileup": np.full(15, np.nan)}, {"pileup": 70.0}, "14 of 14 sections have no pile-up, .* at 70"),
])  # fmt: skip
def test_mistakes(tmp_path: Path, change: Any, settings: Any, message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        rates_along(menu(tmp_path), some_events(), replace(some_sections(), **change), **settings)


def test_events_without_a_section(tmp_path: Path) -> None:
    events = some_events()
    events = replace(events, scalars={"run": events.scalars["run"]})
    with pytest.raises(
        TrigemuError, match="'data' has no luminosityBlock or lumiBlock of an event: rates along"
    ):
        rates_along(menu(tmp_path), events, some_sections())
    with pytest.raises(TrigemuError, match="no sample has section_table under"):
        rates_along(menu(tmp_path), events)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trigemu: Any) -> None:
    """A file of recorded events with a section in which a trigger fires too often."""
    monkeypatch.chdir(tmp_path)
    rng, n = np.random.default_rng(4), 40
    pileup = np.linspace(60, 40, n)
    count = rng.poisson(pileup * 20)
    section = np.repeat(np.arange(n), count)
    met = rng.exponential(20, len(section)) * np.where(section >= 25, 1.3, 1.0)
    columns = {"run": section * 0 + 5, "luminosityBlock": section + 1, "MET_pt": met, "MET_phi": met * 0}
    write_tree(Path("data.root"), columns)
    rows = [f"5,{k + 1},23.3,0.04,{mu:.3f}" for k, mu in enumerate(pileup)]
    Path("sections.csv").write_text("\n".join(["run,section,live_s,luminosity,pileup", *rows]))
    head = '[catalogue]\nname = "c"\nconvention = "crossing"\ncrossing_rate_hz = 3e7\n'
    sample = '[[sample]]\nname = "data"\nrole = "background"\nfiles = ["data.root"]\n'
    table = '[sample.recorded]\nprescale = 1000\nsection_table = "sections.csv"\n'
    Path("data.toml").write_text(head + sample + table)
    Path("menu.toml").write_text("[menu]\ncrossing_rate_hz = 3e7\n" + threshold("MET40", "met", 40.0))
    command = ("rates-vs", "section", "menu.toml", "--samples", "data.toml", "--at-pileup", "55")
    status, output = trigemu(*command, "--json", "o.json", "--csv", "o.csv", "--figure", "f.png")
    assert status == 0
    assert "MET40    change     5:26              5:40" in output
    assert "at µ = 55" in output
    assert "extrapolation" not in output
    rows = [*csv.DictReader(Path("o.csv").read_text().splitlines())]
    document = json.loads(Path("o.json").read_text())
    assert len(rows) == len(document["sections"]) == 2 * n
    first = next(row for row in rows if row["name"] == "MET40")
    events = int((met[section == 0] > 40).sum())
    assert float(first["rate_hz"]) == pytest.approx(events * 1000 / 23.3, rel=1e-9)
    assert float(first["cross_section_nb"]) == pytest.approx(events * 1000 / 0.04e3, rel=1e-9)
    assert float(first["per_pileup_hz"]) == pytest.approx(events * 1000 / 23.3 / 60, rel=1e-9)
    change = next(part for part in document["departures"] if part["kind"] == "trigger")
    assert (change["first"], change["last"]) == ("5:26", "5:40")
    trend = document["trends"][1]
    predicted = sum(c * 55**k for k, c in enumerate(trend["coefficients"]))
    assert trend["predicted_hz"] == pytest.approx(predicted, rel=1e-9)
    assert Path("f.png").stat().st_size > 10_000
    status, output = trigemu(*command, "--trigger", "MEET")
    assert (status, "'MEET'" in output) == (2, True)


def test_an_observable_is_no_command_of_two_words(place: Any, trigemu: Any) -> None:
    assert "n_jet" in trigemu("rates-vs", "n_jet", "menu.toml", "--bins", "0:4:2")[1]
    assert trigemu("rates-vs", "section", "--help")[1].startswith("Usage: trigemu rates-vs section")
    assert [item.value for item in completed("rates-v")] == ["rates-vs"]
