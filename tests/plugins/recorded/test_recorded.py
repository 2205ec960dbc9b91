"""Recorded samples: which events count against loops, weights in closed form, and every command against the
same sample without its other events."""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot
from real_data import real_file
from toys import threshold, write_tree
from trigemu_recorded.sections import LumiMask

from trigemu import open_catalogue, run
from trigemu.base.errors import TrigemuError
from trigemu.base.mapping import Engine
from trigemu.samples.events import Events

ORBIT_HZ = 11_245.5
N = 6000
MASK = {"400": [[3, 9], [20, 40]], "402": [[1, 12]], "405": [[1, 99]]}
MENU = "[menu]\ncrossing_rate_hz = {rate}\n" + (
    threshold("J40", "jet[0].pt", 40.0) + threshold("J30", "jet[0].pt", 30.0, "prescale = 5")
)


def columns(seed: int = 1, n: int = N) -> dict[str, Any]:
    """Events of four runs with 40 sections each, in order; each fourth is of a bunch below 100."""
    rng = np.random.default_rng(seed)
    run, section = np.divmod(np.sort(rng.integers(0, 160, n)), 40)
    count = rng.poisson(2, n)
    pt = ak.sort(ak.unflatten((10 + rng.exponential(20, count.sum())).astype("f4"), count), ascending=False)
    return {
        "run": (run + 400).astype(np.uint32),
        "luminosityBlock": (section + 1).astype(np.uint32),
        "bunchCrossing": rng.integers(0, 400, n).astype(np.int32),
        "event": np.arange(n, dtype=np.uint64),
        "Jet_pt": pt,
        "Jet_eta": pt * 0,
        "Jet_phi": pt * 0,
    }


def catalogue(folder: Path, recorded: str, head: str = "", file: str = "data.root", **more: str) -> Path:
    convention = "" if "convention" in head else 'convention = "crossing"'
    text = f'[catalogue]\nname = "c"\n{convention}\n{head}\n'
    for name, (files, table) in ({"data": (file, recorded)} | more).items():
        text += f'[[sample]]\nname = "{name}"\nrole = "background"\nfiles = ["{files}"]\n'
        text += f"[sample.recorded]\n{table}\n" if table is not None else ""
    (made := folder / f"{Path(file).stem}.toml").write_text(text)
    return made


def count(event: dict[str, Any]) -> bool:
    ranges = MASK.get(str(event["run"]), [])
    return any(first <= event["luminosityBlock"] <= last for first, last in ranges)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_tree(tmp_path / "data.root", columns())
    (tmp_path / "mask.json").write_text(json.dumps(MASK))
    return tmp_path


def events_of(samples: Path) -> Events:
    sample = open_catalogue(samples).samples[0]
    return sample.read(0, 0, sample.entries, [("", "bunchCrossing")])


SELECTIONS = [
    ('lumi_mask = "mask.json"', count),
    ("runs = [[401, 401], [403, 410]]", lambda e: e["run"] in (401, 403)),
    ("sections = [[5, 9]]", lambda e: 5 <= e["luminosityBlock"] <= 9),
    ("bunches = [[0, 99], [150, 150]]", lambda e: e["bunchCrossing"] < 100 or e["bunchCrossing"] == 150),
    ('lumi_mask = "mask.json"\nbunches = [[7, 9]]', lambda e: count(e) and 7 <= e["bunchCrossing"] <= 9),
    ("", lambda e: True),
]


@pytest.mark.parametrize(("table", "counts"), SELECTIONS)
def test_events_that_count_are_those_of_a_loop(folder: Path, table: str, counts: Any) -> None:
    """In chunks of one basket, of many, and on worker processes; zero bias adds up to R0."""
    r0 = 2345 * ORBIT_HZ
    of_file = columns()
    rows = [i for i in range(N) if counts({name: c[i] for name, c in of_file.items() if name[:3] != "Jet"})]
    samples = catalogue(folder, table, "colliding_bunches = 2345")
    read = events_of(samples)
    assert read.id.tolist() == rows
    np.testing.assert_allclose(read.weight, r0 / len(rows))
    assert open_catalogue(samples).samples[0].events == len(rows)
    (folder / "menu.toml").write_text(MENU.format(rate=r0))
    leading = ak.fill_none(ak.firsts(of_file["Jet_pt"]), 0.0)[rows]
    write_tree(folder / "data.root", of_file, basket=700)
    for engine in (None, Engine(chunk_events=37), Engine(chunk_events=1000)):
        rate = run("menu.toml", samples, executor=engine).triggers[0].total
        assert rate.events == ak.sum(leading > 40)
        assert rate.hz == pytest.approx(r0 * float(ak.mean(leading > 40)), rel=1e-12)


def table_of_sections(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """A table of all sections, whose live time and luminosity differ, and their sums over certified ones."""
    rng = np.random.default_rng(2)
    sums, rows = np.zeros(2), []
    for number in range(400, 404):
        for section in range(1, 41):
            live, luminosity = rng.uniform(5, 23), rng.uniform(0.01, 0.02)
            rows.append(f"{number},{section},{live},{luminosity}")
            if count({"run": number, "luminosityBlock": section}):
                sums += live, luminosity
    (folder / "sections.csv").write_text("\n".join(["run,section,live_s,luminosity", *rows]))
    return sums


def test_weights_from_live_time_and_luminosity(folder: Path) -> None:
    """p / T, and p L / ∫L, with T and ∫L of all sections that count."""
    live, luminosity = table_of_sections(folder)
    table = 'lumi_mask = "mask.json"\nprescale = 30\n'
    weight = events_of(catalogue(folder, table + 'section_table = "sections.csv"')).weight
    np.testing.assert_allclose(weight, 30 / live)
    np.testing.assert_allclose(events_of(catalogue(folder, f"{table}live_time_s = {live}")).weight, weight)
    at = 'convention = "luminosity"\nluminosity_cm2s = 2e34'
    weight = events_of(catalogue(folder, table + 'section_table = "sections.csv"', at)).weight
    np.testing.assert_allclose(weight, 30 * 2e34 / (luminosity * 1e36))
    given = catalogue(folder, f"{table}luminosity_pb = {luminosity}", at)
    np.testing.assert_allclose(events_of(given).weight, weight)


def test_zero_bias_by_its_prescale_and_by_the_crossing_rate_agree(folder: Path) -> None:
    """n events of R0 T / p on average: the two rates differ by the fluctuation of n."""
    live, _ = table_of_sections(folder)
    by_count = events_of(catalogue(folder, 'lumi_mask = "mask.json"', "colliding_bunches = 100"))
    n, r0 = len(by_count), 100 * ORBIT_HZ
    prescale = r0 * live / n
    table = f'lumi_mask = "mask.json"\nsection_table = "sections.csv"\nprescale = {prescale}'
    np.testing.assert_allclose(events_of(catalogue(folder, table)).weight, by_count.weight)


def test_a_random_trigger_has_an_error_where_the_crossings_are_counted(folder: Path) -> None:
    """Zero bias adds up to R0; events over the live time add up to a number that fluctuates."""
    live, _ = table_of_sections(folder)
    random = '\n[[trigger]]\nname = "R"\nkind = "random"\nrate_hz = 100\n'
    (folder / "random.toml").write_text(f"[menu]\ncrossing_rate_hz = {100 * ORBIT_HZ}\n{random}")
    at, mask = "colliding_bunches = 100", 'lumi_mask = "mask.json"\n'
    known = catalogue(folder, mask, at)
    rate = run("random.toml", known).rate
    assert (rate.hz, rate.error_hz) == (pytest.approx(100), 0.0)
    n = len(events_of(known))
    table = f'section_table = "sections.csv"\nprescale = {100 * ORBIT_HZ * live / n}'
    rate = run("random.toml", catalogue(folder, mask + table, at)).rate
    assert (rate.hz, rate.error_hz) == (pytest.approx(100), pytest.approx(100 / math.sqrt(n)))


COMMANDS = [("run", "menu.toml"), ("rates-vs", "jet[0].pt", "menu.toml", "--bins", "0,30,60,100")]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_commands_see_only_events_that_count(
    folder: Path, trigemu: Any, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    """The numbers are those of a file without the others, although no event of most chunks counts."""
    monkeypatch.setattr("trigemu.cli.session.Engine", partial(Engine, chunk_events=100))
    of_file = columns()
    rows = np.flatnonzero(LumiMask.read(folder / "mask.json")(of_file["run"], of_file["luminosityBlock"]))
    write_tree(folder / "other.root", {name: c[rows] for name, c in of_file.items()})
    (folder / "menu.toml").write_text(MENU.format(rate=40e6))
    masked = catalogue(folder, 'lumi_mask = "mask.json"')
    other = catalogue(folder, "", file="other.root")
    found = []
    for samples in (masked, other):
        status, text = trigemu(*command, "--samples", str(samples), "--json", "out.json")
        assert status == 0, text
        found.append(_numbers(json.loads((folder / "out.json").read_text())))
    np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-6)
    assert len(found[0]) > 10


def _numbers(document: Any) -> list[float]:
    if isinstance(document, dict):
        return [n for name, part in document.items() if name != "provenance" for n in _numbers(part)]
    if isinstance(document, list):
        return [n for part in document for n in _numbers(part)]
    return [document] if isinstance(document, int | float) else []


def test_tables_of_events_and_scores_have_events_that_count(folder: Path, trigemu: Any) -> None:
    samples = str(catalogue(folder, 'lumi_mask = "mask.json"\nbunches = [[0, 99]]'))
    (folder / "menu.toml").write_text(MENU.format(rate=40e6))
    assert trigemu("events", "menu.toml", "--samples", samples, "-o", "events.parquet")[0] == 0
    menu = run("menu.toml", samples)
    written = ak.from_parquet(folder / "events.parquet")
    assert ak.sum(written.weight * written.acceptance_J40) == pytest.approx(menu["J40"].total.hz)
    scan = ("scan", "menu.toml", "--trigger", "J40", "--values", "40", "--samples", samples, "--json", "-")
    assert trigemu("scores", "menu.toml", "--samples", samples, "-o", "scores.parquet")[0] == 0
    direct, stored = (trigemu(*scan, *more) for more in ((), ("--scores", "scores.parquet")))
    assert direct[0] == stored[0] == 0, stored
    one, other = (_numbers(json.loads(text)["points"]) for _, text in (direct, stored))
    np.testing.assert_allclose(one, other, rtol=1e-9)


FILES = [
    ("nano_dy.root", "nanoaod", "Events", ("run", "luminosityBlock"), {"1": [[13889, 13889]]}),
    ("nano_dy.root", "nanoaod", "Events", ("run", "luminosityBlock"), {"1": [[1, 13888]]}),
    (*("PHYSLITE_example.root", "physlite", "CollectionTree"),
     *(("EventInfoAuxDyn.runNumber", "EventInfoAuxDyn.lumiBlock"), {"300000": [[16, 21], [30, 60]]})),
    (*("uproot-physlite-rntuple_v1-0-0-0.root", "physlite", "EventData"),
     *(("EventInfoAuxDyn:runNumber", "EventInfoAuxDyn:lumiBlock"), {"450000": [[2, 4], [9, 11]]})),
]  # fmt: skip


@pytest.mark.parametrize(("name", "format", "tree", "branches", "mask"), FILES)
def test_counts_of_experiments_files(
    tmp_path: Path, name: str, format: str, tree: str, branches: tuple[str, str], mask: dict[str, Any]
) -> None:
    """Against uproot and a loop."""
    file = real_file("root", name)
    (tmp_path / "mask.json").write_text(json.dumps(mask))
    with uproot.open(file) as read:
        run_of, section_of = (read[tree][branch].array(library="np") for branch in branches)
    expected = [
        i
        for i, (r, s) in enumerate(zip(run_of, section_of, strict=True))
        if any(first <= s <= last for first, last in mask.get(str(r), []))
    ]
    text = (
        f'[catalogue]\nname = "c"\nconvention = "crossing"\n[[sample]]\nname = "s"\nrole = "background"\n'
        f'format = "{format}"\nfiles = ["{file}"]\n[sample.recorded]\nlumi_mask = "mask.json"\n'
    )
    (samples := tmp_path / "c.toml").write_text(text)
    if not expected:
        with pytest.raises(
            TrigemuError, match=r"section 13889 of run 1: none of its 40 events count .* belong to mask\.json"
        ):
            open_catalogue(samples)
        return
    sample = open_catalogue(samples).samples[0]
    found = sample.read(0, 0, sample.entries, ())
    assert found.id.tolist() == [sample.read(0, i, i + 1, ()).id[0] for i in expected]
    assert len(found) == sample.events == len(expected)
    assert found.weight.sum() == pytest.approx(40e6)


MISTAKES = [
    ('lumi_mask = "none.json"', "", r":10: cannot read .*none\.json"),
    ('lumi_mask = "data.root"', "", "not text in UTF-8"),
    ('lumi_maks = "mask.json"', "", r"did you mean 'lumi_mask'\?"),
    ("lumi_mask = 3", "", "lumi_mask = 3: expected a string"),
    ("runs = [[5, 1]]", "", r"runs has \[5, 1\]: expected \[first, last\]"),
    ("runs = [5, 1]", "", "expected a list"),
    ("runs = [[1, 2, 3]]", "", "length 2"),
    ("bunches = [[-3, 5]]", "", r"bunches has \[-3, 5\]"),
    ("prescale = 0.5", "", "prescale = 0.5"),
    ("live_time_s = -5", "", "live_time_s = -5"),
    (
        "runs = [[1, 300]]",
        "",
        "section 1 of run 400: none of its 6000 events count .* these runs, sections and bunches",
    ),
    ("", 'convention = "luminosity"', "needs the prescale of its trigger"),
    ("prescale = 2", "", "give live_time_s or section_table"),
    ("prescale = 2", 'convention = "luminosity"', "give luminosity_pb or section_table"),
    ("prescale = 2\nluminosity_pb = 3", 'convention = "luminosity"', "needs luminosity_cm2s"),
    ('prescale = 2\nsection_table = "few.csv"', "", "120 of 160 sections .* no live_s in few.csv"),
    ('prescale = 2\nsection_table = "no.csv"', "", "the first is section 1 of run 400"),
    ("", "colliding_bunches = 5000", "colliding_bunches"),
]


@pytest.mark.parametrize(("table", "head", "message"), MISTAKES)
def test_mistakes(folder: Path, table: str, head: str, message: str) -> None:
    rows = "".join(f"400,{section},20\n" for section in range(1, 41))
    (folder / "few.csv").write_text("run,section,live_s\n" + rows)
    (folder / "no.csv").write_text("run,section,pileup\n" + rows)
    with pytest.raises(TrigemuError, match=message) as error:
        open_catalogue(catalogue(folder, table, head))
    assert "data" in str(error.value)


def test_a_file_without_sections_is_refused(folder: Path) -> None:
    write_tree(folder / "data.root", {name: c for name, c in columns().items() if name != "luminosityBlock"})
    with pytest.raises(TrigemuError, match="no section of an event, luminosityBlock or lumiBlock"):
        open_catalogue(catalogue(folder, ""))


def test_sections_without_events_are_named(folder: Path) -> None:
    """A file may be missing: the live time of its sections counts."""
    rows = "".join(f"{run_},{s},20\n" for run_ in range(400, 406) for s in range(1, 41))
    (folder / "sections.csv").write_text("run,section,live_s\n" + rows)
    table = 'section_table = "sections.csv"\nprescale = 1'
    (warning,) = open_catalogue(catalogue(folder, table)).warnings
    assert "80 of 240 sections that count have no event, the first is section 1 of run 404" in warning
    assert "their 1600 s" in warning
    assert not open_catalogue(catalogue(folder, f"runs = [[400, 403]]\n{table}")).warnings


def test_an_event_twice_is_named_only_if_it_counts_twice(folder: Path) -> None:
    """The second file repeats the first 600 events of the first, all in run 400."""
    first = columns()
    rows = np.arange(600)
    write_tree(folder / "again.root", {name: c[rows] for name, c in first.items()})
    both = {"again": ("again.root", 'lumi_mask = "mask.json"')}
    (warning,) = open_catalogue(catalogue(folder, "runs = [[400, 400]]", **both)).warnings
    counted = sum(count({n: first[n][row] for n in ("run", "luminosityBlock")}) for row in rows)
    assert f"{counted} events of 'data' and 'again' are there twice, by run, section and number" in warning
    row = next(r for r in rows if count({n: first[n][r] for n in ("run", "luminosityBlock")}))
    assert f"400, {first['luminosityBlock'][row]}, {row}, is entry {row} of" in warning
    assert not open_catalogue(catalogue(folder, "runs = [[401, 405]]", **both)).warnings


def test_decisions_are_compared_on_all_events(folder: Path, trigemu: Any) -> None:
    of_file = columns()
    leading = ak.fill_none(ak.firsts(of_file["Jet_pt"]), 0.0)
    write_tree(folder / "data.root", {**of_file, "HLT_J40": np.asarray(leading > 40)})
    text = MENU.format(rate=40e6).replace('name = "J40"', 'name = "J40"\nstored = "HLT_J40"')
    (folder / "menu.toml").write_text(text)
    samples = catalogue(folder, 'lumi_mask = "mask.json"')
    status, text = trigemu("check-decisions", "menu.toml", str(samples))
    assert status == 0, text
    assert "6000" in text


@pytest.mark.parametrize(("rate", "says"), [(40e6, True), (2345 * ORBIT_HZ, False)])
def test_rates_at_another_crossing_rate_than_that_of_the_data_say_so(
    folder: Path, trigemu: Any, rate: float, says: bool
) -> None:
    (folder / "menu.toml").write_text(MENU.format(rate=rate))
    samples = catalogue(folder, 'lumi_mask = "mask.json"', "colliding_bunches = 2345")
    status, text = trigemu("run", "menu.toml", "--samples", str(samples))
    assert status == 0
    note = "Rates are those at 40 MHz of crossings; those of the sample have 26.4 MHz."
    assert (note in " ".join(text.split())) == says
