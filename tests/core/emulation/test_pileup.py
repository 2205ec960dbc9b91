"""Measured pile-up against mixtures of Poisson distributions in closed form, and in rates."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
import uproot
from hypothesis import HealthCheck, given, settings, strategies as st
from pileup_toys import alike, crossing_catalogue, crossings
from scipy.special import gammainc
from scipy.stats import poisson
from toys import menu_from

from trigemu import run
from trigemu.base.errors import TrigemuError
from trigemu.emulation.reweight import at_pileup, pileups_of
from trigemu.samples.catalogue import Catalogue

N = np.arange(120)


def mixture(edges: np.ndarray, contents: np.ndarray) -> np.ndarray:
    """Probabilities of n, with µ uniform in each bin: the integral of a Poisson probability over µ is a
    difference of incomplete gamma functions."""
    p = np.diff(gammainc(N + 1, edges[:, None]), axis=0) / np.diff(edges)[:, None]
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


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([".root", ".json", ".csv"]), st.floats(0.0, 20.0), HISTOGRAMS)
def test_a_histogram_is_a_mixture_of_poisson_distributions(
    tmp_path: Path, suffix: str, first: float, bins: list[tuple[float, float]]
) -> None:
    width, contents = np.array(bins).T
    edges = first + np.append(0.0, np.cumsum(width))
    found = pileups_of(write(tmp_path, suffix, edges, contents))
    expected = mixture(edges, contents)
    np.testing.assert_allclose(found.probabilities(len(N)), expected, rtol=1e-9, atol=1e-14)
    ratios = found.over(np.arange(40) * np.log(9.0) - 9.0)
    np.testing.assert_allclose(ratios * poisson.pmf(N[:40], 9.0), expected[:40], rtol=1e-9, atol=1e-14)
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
    catalogue = catalogue if not known else _with_mean(catalogue, 4.0)
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


def _with_mean(catalogue: Catalogue, mean: float) -> Catalogue:
    return replace(catalogue, table=msgspec.structs.replace(catalogue.table, mean_interactions=mean))


def test_a_narrow_bin_is_the_number_within_its_width(tmp_path: Path) -> None:
    """A rate for a bin of µ lies between those at its ends, and is theirs as the width goes to 0."""

    catalogue = crossing_catalogue({"a": crossings(3, 3000, most=9)})
    menu = menu_from(tmp_path, '[[trigger]]\nname="M"\nkind="threshold"\nobservable="met"\nabove=40.0\n')

    def rate(target: float | Path) -> float:
        return run(menu, at_pileup(catalogue, target)).rate.hz

    low, high = rate(3.5), rate(3.7)
    found = rate(write(tmp_path, ".csv", np.array([3.5, 3.7]), np.array([7.0])))
    assert min(low, high) < found < max(low, high)
    assert found == pytest.approx(rate(3.6), rel=1e-3)
    narrow = rate(write(tmp_path, ".csv", np.array([3.6 - 1e-7, 3.6 + 1e-7]), np.array([7.0])))
    assert narrow == pytest.approx(rate(3.6), rel=1e-9)


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
