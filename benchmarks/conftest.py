"""Events in memory and on disk, made from the embedded sample."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import awkward as ak
import numpy as np
import pytest
import uproot
from pytest_benchmark.fixture import BenchmarkFixture
from repeat import repeated, write_repeated

import trigemu

MENUS = Path(__file__).parent.parent / "menus"
PERCENTILES = (50, 90, 99)


@pytest.fixture(scope="session")
def record() -> Callable[[BenchmarkFixture, int], None]:
    """record(benchmark, events), after the run: events/s of the fastest call, and percentiles of the time per
    event over all calls, in addition to the numbers of pytest-benchmark."""

    def record(benchmark: BenchmarkFixture, events: int) -> None:
        if benchmark.disabled:
            return
        times = np.array(benchmark.stats.stats.data)
        benchmark.extra_info["million_events_per_s"] = events / times.min() / 1e6
        for percentile, seconds in zip(PERCENTILES, np.percentile(times, PERCENTILES), strict=True):
            benchmark.extra_info[f"p{percentile}_ns_per_event"] = seconds / events * 1e9

    return record


@pytest.fixture(scope="session")
def primary() -> trigemu.Menu:
    return trigemu.read_menu(MENUS / "primary.toml")


@pytest.fixture(scope="session")
def full() -> trigemu.Menu:
    return trigemu.read_menu(MENUS / "full.toml")


@pytest.fixture(scope="session")
def combinations(tmp_path_factory: pytest.TempPathFactory) -> trigemu.Menu:
    """30 combinations: pairs of jets, of muons, of an electron and a photon, triples of jets."""
    file = tmp_path_factory.mktemp("menu") / "combinations.toml"
    text = ""
    for i in range(30):
        legs, pairs = (
            (f"jet pt={20 + i}; jet pt=20", "mass = { min = 60.0 }, deta = { max = 2.5 }"),
            (f"muon pt={4 + i / 2}; muon pt=4", 'mass = { min = 2.0, max = 120.0 }, charge = "opposite"'),
            (f"electron pt={8 + i}; photon pt=10", "dr = { min = 0.4 }"),
            (f"jet pt={25 + i}; jet pt=25; jet pt=20", "dphi = { min = 1.0 }"),
        )[i % 4]
        parts = [leg.split(" pt=") for leg in legs.split("; ")]
        listed = ", ".join(
            f'{{ object = "{name}", pt = {{ min = {pt} }}, eta = {{ abs_max = 2.4 }} }}' for name, pt in parts
        )
        text += f'[[trigger]]\nname = "C{i}"\nkind = "combination"\nlegs = [{listed}]\n'
        text += f"pairs = [{{ legs = [0, 1], {pairs} }}]\n"
    file.write_text(text)
    return trigemu.read_menu(file)


@pytest.fixture(scope="session")
def events(full: trigemu.Menu, combinations: trigemu.Menu) -> trigemu.Events:
    """About 130 000 events: the background of the embedded sample, repeated."""
    plan = trigemu.make_plan([full, combinations])
    return repeated(trigemu.open_catalogue(), plan.needs, 131_072)


@pytest.fixture(scope="session")
def million(tmp_path_factory: pytest.TempPathFactory) -> trigemu.Catalogue:
    """10⁶ events in a file."""
    return write_repeated(tmp_path_factory.mktemp("million"), 1_000_000)


@pytest.fixture(scope="session")
def arrays(events: trigemu.Events) -> dict[str, ak.Array]:
    """The same events as awkward arrays."""
    result = {}
    for name, collection in events.collections.items():
        counts = np.diff(collection.offsets)
        result[name] = ak.zip({c: ak.unflatten(column, counts) for c, column in collection.columns.items()})
    return result


@pytest.fixture(scope="session")
def tree(million: trigemu.Catalogue) -> uproot.TTree:
    return uproot.open(million.samples[0].sources[0].path, array_cache=None)["Events"]
