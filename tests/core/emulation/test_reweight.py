"""Reweighted pile-up, to a number or as measured, and moved luminosity, against loops in plain Python and
closed forms."""

from __future__ import annotations

import json
import math
import tempfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import uproot
from hypothesis import given, settings, strategies as st
from pileup_toys import alike, crossing_catalogue, crossings
from project import ROOT
from scipy.special import gammainc
from scipy.stats import poisson
from toy_menus import as_toml, brute_force, menus
from toys import memory_catalogue, menu_from, threshold, toy_events, trigger

from trigemu import (
    Menu,
    Steps,
    TrigemuError,
    column_rates,
    emulate,
    event_table,
    open_catalogue,
    rates_of,
    read_menu,
    run,
    scan,
)
from trigemu.emulation.reweight import MIN_EFFECTIVE, at_luminosity, at_pileup, pileups_of
from trigemu.menus.prescales import at_column
from trigemu.samples.catalogue import Catalogue

RANDOM = trigger("R", "random", "rate_hz = 1000.0")
MET = threshold("MET", "met", 30)


def pmf(n: int, mean: float) -> float:
    return math.exp(-mean + n * math.log(mean) - math.lgamma(n + 1))


def weights(catalogue: Catalogue) -> dict[str, list[float]]:
    return {
        sample.name: sample.read(0, 0, sample.entries, ()).weight.tolist() for sample in catalogue.background
    }


def reweighted(
    samples: dict[str, list[dict[str, Any]]], mean: float
) -> tuple[dict[str, list[dict[str, Any]]], dict[int, int]]:
    """The events with their new weights, and the range of each n, in plain Python."""
    most = max(event["n_interaction"] for events in samples.values() for event in events)
    ranges: list[list[int]] = [[]]
    for n in range(most + 1):
        ranges[-1].append(n)
        inside = [e["weight"] for p in samples.values() for e in p if e["n_interaction"] in ranges[-1]]
        if sum(inside) ** 2 >= MIN_EFFECTIVE * sum(w * w for w in inside) > 0:
            ranges.append([])
    left = ranges.pop()
    ranges[-1] += left
    of = {n: number for number, part in enumerate(ranges) for n in part}
    there = [0.0] * len(ranges)
    for event in (event for events in samples.values() for event in events):
        there[of[event["n_interaction"]]] += event["weight"]
    below = [0.0, *(sum(pmf(n, mean) for n in range(part[-1] + 1)) for part in ranges[:-1]), 1.0]
    factor = [40e6 * (high - low) / w for (low, high), w in zip(pairwise(below), there, strict=True)]
    made = {
        name: [e | {"weight": e["weight"] * factor[of[e["n_interaction"]]]} for e in events]
        for name, events in samples.items()
    }
    return made, of


@settings(max_examples=15)
@given(menus(), st.integers(0, 2**32), st.floats(0.9, 1.8), st.booleans())
def test_rates_are_those_of_events_weighted_in_a_loop(
    triggers: list[dict[str, Any]], seed: int, mean: float, rare: bool
) -> None:
    """Of several samples together; with an n that has too few events, or without one."""
    samples = {"a": crossings(seed, 150), "b": crossings(seed + 1, 60, most=3)}
    samples["b"] += alike(7, 3, 1e3) if rare else []
    expected, of = reweighted(samples, mean)
    with tempfile.TemporaryDirectory() as folder:
        menu = menu_from(Path(folder), as_toml(triggers, 40e6))
    catalogue = at_pileup(crossing_catalogue(samples), mean)
    for name, found in weights(catalogue).items():
        assert found == pytest.approx([event["weight"] for event in expected[name]], rel=1e-12)
        assert catalogue.sample(name).rate_hz == pytest.approx(math.fsum(found))
    everything = [w for part in weights(catalogue).values() for w in part]
    assert math.fsum(everything) == pytest.approx(40e6, rel=1e-12)
    pileup = catalogue.pileup
    assert pileup is not None
    assert (pileup.factor, pileup.known) == (1.0, False)
    effective = math.fsum(everything) ** 2 / math.fsum(w * w for w in everything)
    assert pileup.effective_events == pytest.approx(effective)
    assert pileup.events == len(everything)
    by_loop = brute_force(expected, triggers, 1.0, 40e6)
    hz = rates_of(emulate([menu], catalogue)).rate
    assert hz.hz == pytest.approx(math.fsum(w * f for _, w, f in by_loop["menu"]), rel=1e-9)
    ranges = [of[event["n_interaction"]] for part in expected.values() for event in part]
    assert hz.error_hz == pytest.approx(
        error_within(ranges, by_loop["menu"]), rel=1e-6, abs=1e-7 * (1 + hz.hz)
    )


def error_within(n: list[int], entries: list[tuple[str, float, float]]) -> float:
    """What crossings of a range weigh is given: only the fraction of them that is accepted fluctuates."""
    squares = []
    for number in set(n):
        inside = [(w, f) for k, (_, w, f) in zip(n, entries, strict=True) if k == number]
        total = math.fsum(w for w, _ in inside)
        mean = math.fsum(w * f for w, f in inside) / total if total else 0.0
        squares += [(w * (f - mean)) ** 2 for w, f in inside]
    return math.sqrt(math.fsum(squares))


@pytest.fixture(scope="module")
def drawn() -> Catalogue:
    """Crossings of 40 MHz with 10 interactions on average, one in fifty of which has MET."""
    rng = np.random.default_rng(5)
    n = rng.poisson(10.0, 10_000)
    fired = rng.binomial(n, 0.02) > 0
    events = [alike(int(k), 1, 40e6 / len(n))[0] | {"met": 50.0 * f} for k, f in zip(n, fired, strict=True)]
    return crossing_catalogue({"a": events})


@pytest.mark.parametrize("mean", [7.0, 10.0, 13.0])
def test_rates_of_independent_interactions_follow_their_closed_form(
    tmp_path: Path, drawn: Catalogue, mean: float
) -> None:
    """R0 (1 − exp(−µ p)): what the reweighted crossings give is what ones generated there would."""
    total = run(menu_from(tmp_path, MET), at_pileup(drawn, mean)).triggers[0].total
    expected = 40e6 * (1.0 - math.exp(-0.02 * mean))
    assert abs(total.hz - expected) < 3.5 * total.error_hz
    assert total.error_hz < 0.05 * expected


def with_mean(catalogue: Catalogue, mean: float) -> Catalogue:
    """The catalogue, which gives the mean that it was made with."""
    return replace(catalogue, table=msgspec.structs.replace(catalogue.table, mean_interactions=mean))


def test_a_known_mean_gives_a_ratio(tmp_path: Path) -> None:
    """R0 Σ w r f / Σ w r, r the ratio of two Poisson distributions, and its error by parent; a random trigger
    has its rate."""
    rng = np.random.default_rng(3)
    events = [
        alike(int(n), 1, 1.0)[0] | {"met": 50.0 * (rng.random() < 0.02 * n), "parent": i // 3}
        for i, n in enumerate(rng.poisson(3.0, 900))
    ]
    menu = menu_from(tmp_path, MET + RANDOM)
    catalogue = at_pileup(with_mean(crossing_catalogue({"a": events}), 3.0), 3.5)
    assert catalogue.pileup is not None
    rates = run(menu, catalogue)
    w = np.array([math.exp(-0.5) * (3.5 / 3.0) ** event["n_interaction"] for event in events])
    f = np.array([event["met"] > 30 for event in events])
    hz = 40e6 * (w @ f) / w.sum()
    assert catalogue.pileup.factor == pytest.approx(40e6 / w.sum(), rel=1e-12)
    assert catalogue.pileup.before == 3.0
    n = [event["n_interaction"] for event in events]
    assert catalogue.pileup.after == pytest.approx(w @ n / w.sum())
    assert math.fsum(weights(catalogue)["a"]) == pytest.approx(40e6, rel=1e-12)
    assert rates["MET"].total.hz == pytest.approx(hz, rel=1e-12)
    deviation = (w * (f - hz / 40e6)).reshape(-1, 3).sum(axis=1) * 40e6 / w.sum()
    assert rates["MET"].total.error_hz == pytest.approx(math.sqrt(deviation @ deviation), rel=1e-9)
    assert rates["R"].total.hz == pytest.approx(1000.0, rel=1e-12)
    assert rates["R"].total.error_hz == 0.0
    assert any("weights differ from the crossing rate" in warning for warning in rates.warnings) == (
        abs(catalogue.pileup.factor - 1) > 0.01
    )


@pytest.mark.slow
def test_jets_of_the_embedded_sample_go_with_the_pile_up() -> None:
    """About in proportion, since few crossings have two such jets from different interactions; and exactly
    what its events give with the ratio of two Poisson distributions over its sum."""
    menu, catalogue = read_menu(ROOT / "menus" / "primary.toml"), open_catalogue()
    before = run(menu, catalogue)
    made = catalogue.table.mean_interactions
    assert made is not None
    read = [s.read(0, 0, s.entries, [("", "n_interaction")]) for s in catalogue.background]
    number = np.concatenate([events.scalars["n_interaction"] for events in read])
    weight = np.concatenate([events.weight for events in read])
    fired = {
        t.name: np.concatenate([before.fired(t.name, sample=s.name) for s in catalogue.background])
        for t in before.triggers
    }
    for mean in (0.75 * made, 1.25 * made):
        moved = at_pileup(catalogue, mean)
        ratio = weight * np.exp(made - mean) * (mean / made) ** number
        for old, new in zip(before.triggers, run(menu, moved).triggers, strict=True):
            part = float(ratio[fired[old.name]].sum() / ratio.sum())
            assert new.total.hz == pytest.approx(40e6 * part, rel=1e-10)
            expected = old.total.hz * mean / made
            assert abs(new.total.hz - expected) < 0.02 * expected + 3 * new.total.error_hz


def test_signals_keep_their_weights() -> None:
    signal = crossings(3, 20)
    catalogue = crossing_catalogue({"a": crossings(1, 200)}, signals={"s": signal})
    moved = at_pileup(catalogue, 1.0).sample("s")
    assert moved.read(0, 0, 20, ()).weight.tolist() == [event["weight"] for event in signal]


@pytest.mark.parametrize(
    ("mean", "message"),
    [
        (
            4.0,
            r"toy.toml: pile-up 4: 21.5 % of the crossings .*\(it has enough with 0 to 5, which allows "
            r"means of 0.1 to 2.6\), more than 5 %: .*trigemu generate run3",
        ),
        (2.7, r"allows means of 0\.1 to 2\.6"),
        (0.0, "pile-up 0: expected a mean"),
        (-1.0, "pile-up -1: expected"),
        (math.nan, "pile-up nan: expected"),
        (math.inf, "pile-up inf: expected"),
    ],
)
def test_means_that_cannot_be(mean: float, message: str) -> None:
    """Five per cent of a Poisson distribution of mean 2.61 are above 5."""
    sample = crossing_catalogue({"a": crossings(1, 300)})
    assert at_pileup(sample, 2.6).pileup
    with pytest.raises(TrigemuError, match=message):
        at_pileup(sample, mean)


def test_samples_that_cannot_be_reweighted() -> None:
    events = crossings(1, 200)
    whole = crossing_catalogue({"a": events})
    skim = replace(whole, samples=tuple(replace(s, rate_hz=2 * s.rate_hz) for s in whole.samples))
    for catalogue, message in [
        (memory_catalogue({"a": events}), "'a' has no observable 'n_interaction'.*pile-up reweighting needs"),
        (crossing_catalogue({"a": events}, dtype="f4"), "n_interaction is not an integer"),
        (crossing_catalogue({"a": events}, convention="luminosity"), "no pile-up: .* --luminosity"),
        (crossing_catalogue({}, signals={"s": events}), "no sample has the role 'background'"),
        (crossing_catalogue({"a": [*events, *alike(-1, 1, 1.0)]}), "goes from -1 to 5"),
        (crossing_catalogue({"a": alike(1, 3, 1.0)}), r"100 % .*\(it has too few of any\)"),
        (at_pileup(crossing_catalogue({"a": events}), 1.0), "already reweighted"),
        (skim, r"'a': its events sum to .* a skim cannot be reweighted"),
    ]:
        with pytest.raises(TrigemuError, match=message):
            at_pileup(catalogue, 1.0)


def interactions() -> Catalogue:
    made = memory_catalogue({"a": toy_events(1, 50)}, "luminosity", signals={"s": toy_events(2, 5)})
    a, s = made.samples
    head = type(made.table)(name="toy", convention="luminosity", luminosity_cm2s=1e34)
    table = type(a.table)(name="a", role="background", files=("memory",), cross_section_pb=1.0)
    return replace(made, table=head, samples=(replace(a, table=table), s))


def test_interactions_go_with_the_luminosity(tmp_path: Path) -> None:
    menu: Menu = menu_from(tmp_path, MET)
    before, after = run(menu, interactions()), run(menu, at_luminosity(interactions(), 2.5e34))
    for old, new in zip(before.triggers, after.triggers, strict=True):
        assert new.total.hz == pytest.approx(2.5 * old.total.hz, rel=1e-12)
        assert new.total.error_hz == pytest.approx(2.5 * old.total.error_hz, rel=1e-12)
        assert new.total.events == old.total.events
    assert after.catalogue.table.luminosity_cm2s == 2.5e34
    assert after.catalogue.sample("a").rate_hz == pytest.approx(2.5 * before.catalogue.sample("a").rate_hz)
    assert after.catalogue.sample("s").hz_per_weight == 1.0  # it has no cross-section


def test_crossings_stay_at_their_luminosity() -> None:
    nowhere = crossing_catalogue({}, convention="luminosity", signals={"s": crossings(1, 20)})
    with pytest.raises(TrigemuError, match=r"toy.toml: there is no luminosity_cm2s"):
        at_luminosity(nowhere, 1e34)
    with pytest.raises(TrigemuError, match=r"toy.toml: the events are crossings with all .*\(--pileup\)"):
        at_luminosity(crossing_catalogue({"a": crossings(1, 20)}), 1e34)
    for wrong in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(TrigemuError, match="expected a number above 0"):
            at_luminosity(interactions(), wrong)


COLUMNS = '[menu]\nprescale_columns = ["x", "y", "z"]\n{conditions}\n' + MET


def at(folder: Path, column: str, conditions: str) -> Menu:
    return at_column(menu_from(folder, COLUMNS.replace("{conditions}", conditions)), column)


def test_each_column_is_at_its_own_pileup(tmp_path: Path) -> None:
    """In every call that takes a menu; columns without one are at that of the samples."""
    events = [event for n in range(8) for event in alike(n, 60, 40e6 * pmf(n, 2.0))]
    catalogue = with_mean(crossing_catalogue({"a": events}), 2.0)
    conditions = "column_pileup = [2.5, 0, 0]\ncolumn_luminosity_cm2s = [1e34, 0, 3e33]"
    menu = menu_from(tmp_path, COLUMNS.replace("{conditions}", conditions))
    catalogue = replace(catalogue, table=msgspec.structs.replace(catalogue.table, luminosity_cm2s=2e33))
    found = column_rates(menu, "all", catalogue)
    for column, mean in {"x": 2.5, "y": None, "z": 3.0}.items():
        moved = catalogue if mean is None else at_pileup(catalogue, mean)
        assert found[column].rate == run(at(tmp_path, column, ""), moved).rate
        assert found[column].catalogue.pileup == moved.pileup
        own = at_column(menu, column)
        assert run(own, catalogue).rate == found[column].rate
        assert run(own, at_pileup(catalogue, 2.2)).rate == run(own, at_pileup(catalogue, 2.2)).rate
        (rates,) = scan(own, Steps("MET", (20.0,)), catalogue).points
        assert rates.rate.hz == pytest.approx(
            scan(at(tmp_path, column, ""), Steps("MET", (20.0,)), moved).points[0].rate.hz, rel=1e-12
        )
        table = event_table(own, catalogue).arrays()
        assert (table["weight"] @ table["acceptance"]) == pytest.approx(found[column].rate.hz, rel=1e-9)
    with pytest.raises(TrigemuError, match=r"different conditions.*column x: µ = 2.5; .*column z: 3e\+33 cm"):
        emulate([at_column(menu, "x"), at_column(menu, "z")], catalogue)
    far = at(tmp_path, "y", "column_pileup = [0, 40, 0]")
    with pytest.raises(TrigemuError, match=r"column 'y': .*toy.toml: pile-up 40: .* has too few"):
        run(far, catalogue)
    unknown = crossing_catalogue({"a": events})
    with pytest.raises(TrigemuError, match=r"column 'z' is for 3e\+33 cm.*, and the pile-up there is not"):
        run(at_column(menu, "z"), unknown)


def test_each_column_is_at_its_own_luminosity(tmp_path: Path) -> None:
    conditions = "column_luminosity_cm2s = [2.5e34, 0, 5e33]"
    menu = menu_from(tmp_path, COLUMNS.replace("{conditions}", conditions))
    hz = {column: rates.rate.hz for column, rates in column_rates(menu, "all", interactions()).items()}
    assert hz["x"] == pytest.approx(2.5 * hz["y"], rel=1e-12)
    assert hz["z"] == pytest.approx(0.5 * hz["y"], rel=1e-12)


NUMBERS = np.arange(120)


def mixture(edges: np.ndarray, contents: np.ndarray) -> np.ndarray:
    """Probabilities of n, with µ uniform in each bin: the integral of a Poisson probability over µ is a
    difference of incomplete gamma functions."""
    p = np.diff(gammainc(NUMBERS + 1, edges[:, None]), axis=0) / np.diff(edges)[:, None]
    return contents @ p / contents.sum()


def write(folder: Path, suffix: str, edges: np.ndarray, contents: np.ndarray) -> Path:
    file = folder / f"mu{suffix}"
    if suffix == ".root":
        with uproot.recreate(file) as out:
            out["pileup"] = contents, edges
            out["other"] = contents, edges
    elif suffix == ".json":
        file.write_text(json.dumps({"edges": [*edges], "contents": [*contents]}))
    else:
        rows = zip(edges.tolist(), edges[1:].tolist(), contents.tolist(), strict=False)
        file.write_text("low,high,content\n" + "".join(f"{a!r},{b!r},{c!r}\n" for a, b, c in rows))
    return file


HISTOGRAMS = st.lists(st.tuples(st.floats(0.1, 10.0), st.floats(0.0, 5.0)), min_size=1, max_size=8).filter(
    lambda bins: sum(content for _, content in bins) > 0.1
)


@settings(max_examples=60)
@given(st.sampled_from([".root", ".json", ".csv"]), st.floats(0.0, 20.0), HISTOGRAMS)
def test_a_histogram_is_a_mixture_of_poisson_distributions(
    tmp_path: Path, suffix: str, first: float, bins: list[tuple[float, float]]
) -> None:
    width, contents = np.array(bins).T
    edges = first + np.append(0.0, np.cumsum(width))
    found = pileups_of(write(tmp_path, suffix, edges, contents))
    expected = mixture(edges, contents)
    np.testing.assert_allclose(found.probabilities(len(NUMBERS)), expected, rtol=1e-9, atol=1e-14)
    ratios = found.over(np.arange(40) * np.log(9.0) - 9.0)
    np.testing.assert_allclose(ratios * poisson.pmf(NUMBERS[:40], 9.0), expected[:40], rtol=1e-9, atol=1e-14)
    assert found.mean == pytest.approx(contents @ (edges[:-1] + edges[1:]) / 2 / contents.sum())


@pytest.mark.parametrize("known", [True, False])
def test_crossings_are_reweighted_to_the_mixture(tmp_path: Path, known: bool) -> None:
    """Each weight is that of its n in the closed form, over that of the sample, and all add up to R0."""
    edges, contents = np.array([2.0, 3.0, 3.5, 6.0]), np.array([1.0, 4.0, 0.5])
    expected = mixture(edges, contents)
    made = [
        event for n in range(30) for event in alike(n, 12, 40e6 * float(poisson.pmf(n, 4.0)) + 40e6 * 1e-13)
    ]
    catalogue = crossing_catalogue({"a": made})
    catalogue = catalogue if not known else with_mean(catalogue, 4.0)
    moved = at_pileup(catalogue, write(tmp_path, ".root", edges, contents))
    events = moved.sample("a").read(0, 0, len(made), [("", "n_interaction")])
    total = np.bincount(events.scalars["n_interaction"], events.weight, 30)
    assert events.weight.sum() == pytest.approx(40e6, rel=1e-12)
    np.testing.assert_allclose(total[:25], 40e6 * expected[:25], rtol=1e-6 if known else 1e-9, atol=1e-2)
    assert moved.pileup is not None
    assert moved.pileup.measured.endswith("mu.root")
    assert moved.pileup.mean == pytest.approx(
        contents @ (edges[:-1] + edges[1:]) / 2 / contents.sum(), rel=1e-12
    )


GOOD = '{"edges": [0, 1], "contents": [1]}'
MISTAKES = [
    ("mu.txt", GOOD, "expected a number, or a histogram of µ: .root, .json or .csv"),
    ("30x", "", "expected a number, or a histogram"),
    ("mu.json", "", "is no histogram of µ"),
    ("mu.json", "[1]", "is no histogram of µ"),
    ("mu.json", '{"edges": [0, 1]}', "is no histogram of µ: 'contents'"),
    ("mu.json", '{"edges": [0, 1], "contents": ["a"]}', "is no histogram of µ"),
    ("mu.json", '{"edges": [0, 1], "contents": [1, 2]}', "ascending edges of bins, one more than contents"),
    ("mu.json", '{"edges": [1, 0], "contents": [1]}', "ascending edges"),
    ("mu.json", '{"edges": [-1, 0], "contents": [1]}', "bins from -1 to 0: expected µ of at least 0"),
    ("mu.json", '{"edges": [0, 1e9], "contents": [1]}', r"bins from 0 to 1e\+09"),
    ("mu.json", '{"edges": [0, 1], "contents": [-1]}', "expected contents of at least 0"),
    ("mu.json", '{"edges": [0, 1], "contents": [0]}', "of which some are above 0"),
    ("mu.json", '{"edges": [0, 1], "contents": [NaN]}', "expected contents of at least 0"),
    ("mu.csv", "low,high,content\n0,1,1\n2,3,1\n", "each bin has to begin where the one before it ends"),
    ("mu.csv", "low,high,content\n0,1\n", "is no histogram of µ"),
    ("mu.csv", "", "is no histogram of µ"),
    ("mu.root", "root", "mu.root"),
]


@pytest.mark.parametrize(("name", "text", "message"), MISTAKES)
def test_mistakes_in_histograms(tmp_path: Path, name: str, text: str, message: str) -> None:
    (file := tmp_path / name).write_text(text)
    with pytest.raises(TrigemuError, match=message) as error:
        pileups_of(file)
    assert name in str(error.value)


def test_a_root_file_has_one_histogram_or_one_called_pileup(tmp_path: Path) -> None:
    with uproot.recreate(file := tmp_path / "mu.root") as out:
        out["one"] = np.array([1.0]), np.array([4.0, 5.0])
        assert pileups_of(file).mean == pytest.approx(4.5)
        out["two"] = np.array([1.0]), np.array([4.0, 5.0])
    with pytest.raises(TrigemuError, match=r"expected one histogram .* among .*'one', 'two'"):
        pileups_of(file)
    with pytest.raises(TrigemuError, match=r"cannot read .*none\.root"):
        pileups_of(tmp_path / "none.root")
