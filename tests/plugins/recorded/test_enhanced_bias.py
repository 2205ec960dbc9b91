"""The probability to be collected, by counting through every state of the prescale counters; rates of
weighted events against those of the sample that they were collected from."""

from __future__ import annotations

import re
import shutil
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import recorded_toys as toys
import uproot
from hypothesis import given, strategies as st
from real_data import real_file
from toys import menu_from
from trigemu_recorded.collecting import CollectedTable, collected, read_collecting

import trigemu
from trigemu.api import TrigemuError
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
def test_the_probability_counts_the_states_of_all_counters(
    events: list[list[list[tuple[bool, int]]]],
) -> None:
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


def pulls(folder: Path, n: int, assumed: dict[str, np.ndarray], true: dict[str, np.ndarray]) -> np.ndarray:
    """Pulls of the rates of the other triggers, float64[toys, 30], from events that are collected with true
    prescales and weighted with those that are assumed."""
    toys.write_menu(folder, assumed)
    table = CollectedTable("collected.toml", "prescales.csv", "columns.csv")
    collecting = read_collecting(table, folder).at(40e6)
    kinds = toys.crossings()
    kind, section = (place.ravel() for place in np.indices((len(kinds.hz), toys.SECTIONS)))
    columns = {stored_need(f"L1_{name}")[1]: fired[kind] for name, fired in kinds.fired.items()}
    run = np.full(len(kind), toys.RUN)
    _, weight = collecting.weigh(columns, run, section + 1, np.ones(len(kind), bool))
    probability = toys.probabilities(true)
    live = toys.LIVE_S * toys.SECTIONS
    fired = np.array([kinds.fired[name] for name in toys.OTHERS], float)
    weight = weight.reshape(probability.shape) / live
    result = []
    for seed in range(n):
        kind, section = toys.collect(seed, probability)
        factor = weight[kind, section]
        total, square = (np.bincount(kind, factor**power, len(kinds.hz)) for power in (1, 2))
        result.append((fired @ total - fired @ kinds.hz) / np.sqrt(fired @ square))
    return np.array(result)


def is_closed(pulls: np.ndarray) -> bool:
    """Whether pulls, float64[toys, triggers], have the mean 0 and the width 1, within 4.5 standard errors of
    each trigger's."""
    n = len(pulls)
    mean = np.abs(pulls.mean(axis=0)) < 4.5 / np.sqrt(n)
    width = np.abs(pulls.std(axis=0) - 1) < 4.5 / np.sqrt(2 * n)
    return bool(mean.all() and width.all())


TRUE = 1


def test_rates_have_pulls_of_unit_width_and_a_wrong_prescale_is_noticed(tmp_path: Path) -> None:
    true = toys.prescales(TRUE)
    assert len(true) == 20
    right = pulls(tmp_path, 12, true, true)
    assert right.shape == (12, 30)
    assert is_closed(right)
    assert not is_closed(pulls(tmp_path, 12, true | {"DJ30": 2 * true["DJ30"]}, true))


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray, np.ndarray]:
    """A folder with a file of events, and the kind and section of each."""
    folder, true = tmp_path_factory.mktemp("taken"), toys.prescales(TRUE)
    kind, section = (column[:20_000] for column in toys.collect(0, toys.probabilities(true)))
    toys.write_catalogue(folder, true)
    toys.write_events(folder / "events.root", kind, section)
    return folder, kind, section


def test_rates_of_a_file_are_sums_over_its_events(taken: tuple[Path, np.ndarray, np.ndarray]) -> None:
    folder, kind, section = taken
    weight = 1 / toys.probabilities(toys.prescales(TRUE))[kind, section] / toys.LIVE_S / toys.SECTIONS
    fired = np.array([toys.crossings().fired[name][kind] for name in toys.OTHERS])
    expected = np.stack([fired @ weight, np.sqrt(fired @ weight**2)], axis=1)
    np.testing.assert_allclose(toys.rates(folder), expected, rtol=1e-9)


def test_sections_that_do_not_count_need_no_prescales(
    taken: tuple[Path, np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    folder, kind, section = taken
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    toys.edit(tmp_path / "columns.csv", f"{toys.RUN},3,c2\n", "")
    toys.edit(tmp_path / "catalogue.toml", "section_table", "sections = [[1, 2], [4, 99]]\nsection_table")
    weight = 1 / toys.probabilities(toys.prescales(TRUE))[kind, section] / toys.LIVE_S / (toys.SECTIONS - 1)
    fired = np.array([toys.crossings().fired[name][kind] for name in toys.OTHERS])
    np.testing.assert_allclose(toys.rates(tmp_path)[:, 0], fired @ (weight * (section != 2)), rtol=1e-9)


def test_prescales_in_branches_count_as_those_of_a_table(
    taken: tuple[Path, np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    folder, kind, section = taken
    true = toys.prescales(TRUE)
    toys.write_catalogue(
        tmp_path, {name: np.full(toys.SECTIONS, 1.0) for name in true} | {"RND": true["RND"]}
    )
    branches = {f"Prescale_L1_{name}": true[name][section] for name in toys.COLLECTING}
    toys.write_events(tmp_path / "events.root", kind, section, branches)
    toys.edit(tmp_path / "catalogue.toml", "columns =", 'branches = "Prescale_{}"\ncolumns =')
    np.testing.assert_allclose(toys.rates(tmp_path), toys.rates(folder), rtol=1e-12)


#: What is changed in which file, and the message.
BAD = [
    ("columns.csv", f"{toys.RUN},3,c2\n", "",
     "of 20000 events, the first in run 400001, section 3, have no row in columns.csv"),
    ("columns.csv", "c2\n", "c22\n", r"columns.csv:4: unknown column 'c22'"),
    ("columns.csv", f"{toys.RUN},3,", f"{toys.RUN},2,",
     r"columns.csv:4: section 2 of run 400001 is there twice"),
    ("columns.csv", f"{toys.RUN},3,", "x,3,",
     r"columns.csv:4: x,3,c2: expected a run, a section and a column"),
    ("columns.csv", "run,", "fill,", r"columns.csv:1: expected the heading run,section,column"),
    ("collected.toml", "L1_J35", "L1_J36",
     "events.root: collected.toml: no stored decision 'L1_J36' of its trigger"),
    ("collected.toml", 'name = "J100"', 'seed = "J35"\nname = "J100"', "trigger 'J100' has a seed"),
    ("collected.toml", "rate_hz = 3000.0", "rate_hz = 3000.0\nenabled = false",
     "are not explained by collected.toml"),
    ("catalogue.toml", 'columns = "columns.csv"', "", "it has 12 columns of prescales: give columns"),
    ("catalogue.toml", "columns =", 'branches = "PS"\ncolumns =',
     'branches = "PS": expected {} for a decision'),
    ("catalogue.toml", "columns =", 'branches = "PS_{}"\ncolumns =', "no branch 'PS_L1_J20' of its trigger"),
    ("catalogue.toml", "[sample.recorded.c", "prescale = 2\n[sample.recorded.c",
     "prescale and collected: give one"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "message"), BAD)
def test_mistakes_are_named(
    taken: tuple[Path, np.ndarray, np.ndarray], tmp_path: Path, name: str, old: str, new: str, message: str
) -> None:
    shutil.copytree(taken[0], tmp_path, dirs_exist_ok=True)
    toys.edit(tmp_path / name, old, new)
    with pytest.raises(TrigemuError, match=re.escape(message)):
        toys.rates(tmp_path)


def test_events_that_no_trigger_explains_are_left_out_and_counted(
    taken: tuple[Path, np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    folder, kind, section = taken
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    toys.write_catalogue(tmp_path, toys.prescales(TRUE), 'unexplained = "leave out"\n')
    toys.edit(tmp_path / "collected.toml", "rate_hz = 3000.0", "rate_hz = 3000.0\nenabled = false")
    probability = toys.probabilities(toys.prescales(TRUE) | {"RND": np.full(toys.SECTIONS, np.inf)})
    out = np.flatnonzero(probability[kind, section] == 0)
    catalogue = trigemu.open_catalogue(tmp_path / "catalogue.toml")
    (text,) = (text for text in catalogue.warnings if "explained" in text)
    assert text.startswith(f"{len(out)} events, the first in run {toys.RUN}, section {section[out[0]] + 1}, ")
    assert catalogue.samples[0].events == len(kind) - len(out)


def test_a_live_section_with_all_triggers_off_and_rows_without_a_trigger_are_named(
    taken: tuple[Path, np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    shutil.copytree(taken[0], tmp_path, dirs_exist_ok=True)
    row = ",".join(["L1_New", *["5"] * (toys.SECTIONS - 1)])
    toys.edit(tmp_path / "prescales.csv", "RND,", f"{row},5\nRND,")
    (text,) = trigemu.open_catalogue(tmp_path / "catalogue.toml").warnings
    assert "no trigger for rows of prescales.csv: L1_New" in text
    off = {name: np.append(values[:-1], 0.0) for name, values in toys.prescales(TRUE).items()}
    toys.write_catalogue(tmp_path, off, 'unexplained = "leave out"\n')
    message = "1 of 12 sections, the first in run 400001, section 12, had all triggers of collected.toml off"
    with pytest.raises(TrigemuError, match=message):
        trigemu.open_catalogue(tmp_path / "catalogue.toml")


def test_a_file_of_an_experiment_is_weighted(tmp_path: Path) -> None:
    """Three decisions of the file with prescales 2, 5 and 8, of which the last two share a counter."""
    names = ("HLT_IsoMu24", "HLT_Mu8_TrkIsoVVL", "L1_SingleMuOpen")
    path = real_file("root", "nano_dy.root")
    (sample,) = trigemu.catalogue_of(path).samples
    fired = sample.sources[0].read_stored(0, sample.entries, names)
    coherent = ("", 'coherent = "a"', 'coherent = "a"')
    triggers = [
        f'[[trigger]]\nname = "{n}"\nkind = "stored"\ndecision = "{n}"\nprescale = {p}\n{c}\n'
        for n, p, c in zip(names, (2, 5, 8), coherent, strict=True)
    ]
    (tmp_path / "collected.toml").write_text("".join(triggers))
    (tmp_path / "catalogue.toml").write_text(
        '[catalogue]\nname = "c"\nconvention = "crossing"\n[[sample]]\nname = "s"\nrole = "background"\n'
        f'files = ["{path}"]\nformat = "nanoaod"\n[sample.recorded]\nlive_time_s = 3.0\n'
        '[sample.recorded.collected]\nmenu = "collected.toml"\nunexplained = "leave out"\n'
    )
    a, b, c = (np.where(fired[n], 1 / p, 0.0) for n, p in zip(names, (2, 5, 8), strict=True))
    probability = 1 - (1 - a) * (1 - np.maximum(b, c))
    catalogue = trigemu.open_catalogue(tmp_path / "catalogue.toml")
    taken = probability > 0
    assert catalogue.samples[0].events == taken.sum() > 10
    generated = uproot.open(path)["Events"]["genWeight"].array(library="np")
    weight = generated[taken] / probability[taken] / 3.0
    result = trigemu.run(menu_from(tmp_path, triggers[1].replace("prescale = 5", "")), catalogue)
    assert result.triggers[0].total.hz == pytest.approx(weight[fired[names[1]][taken]].sum())
