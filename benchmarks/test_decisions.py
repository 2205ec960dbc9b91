"""Decisions and patterns on events in memory, on one core: each kind of trigger compared with hand-written
code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import awkward as ak
import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from trigemu_anomaly.single_row import bare_models

import trigemu
from menus import menu_of
from trigemu.counting.acceptance import acceptances
from trigemu.counting.patterns import PatternTable, count_patterns
from trigemu.emulation.plan import PlannedTrigger

Record = Callable[[BenchmarkFixture, int], None]
Arrays = dict[str, ak.Array]
Fired = list[np.ndarray]

MENUS = Path(__file__).parent.parent / "menus"
#: Measured menus besides primary.toml → their triggers.
TRIGGERS = {
    "threshold": """
[[trigger]]
name = "HT150"
kind = "threshold"
observable = "ht"
above = 150.0

[[trigger]]
name = "2J50"
kind = "threshold"
observable = "jet[1].pt"
above = 50.0
""",
    "combination": """
[[trigger]]
name = "JJ25_M60"
kind = "combination"
legs = [ { object = "jet", pt = { min = 25.0 } }, { object = "jet", pt = { min = 25.0 } } ]
pairs = [ { legs = [0, 1], mass = { min = 60.0 } } ]

[[trigger]]
name = "J30_G20_DR1"
kind = "combination"
legs = [ { object = "jet", pt = { min = 30.0 } }, { object = "photon", pt = { min = 20.0 } } ]
pairs = [ { legs = [0, 1], dr = { min = 1.0 } } ]
""",
}


@pytest.fixture(params=["primary.toml", *TRIGGERS])
def menu(request: pytest.FixtureRequest, tmp_path: Path, benchmark: BenchmarkFixture) -> trigemu.Menu:
    benchmark.group = f"{request.param} in memory"
    file = MENUS / "primary.toml"
    if request.param in TRIGGERS:
        file = tmp_path / f"{request.param}.toml"
        file.write_text(TRIGGERS[request.param])
    return trigemu.read_menu(file)


def run(benchmark: BenchmarkFixture, record: Record, events: trigemu.Events, menu: trigemu.Menu) -> None:
    plan = trigemu.make_plan([menu])

    def counted() -> PatternTable:
        return count_patterns(0, trigemu.decide(events, plan), events.weight)

    assert counted().n.sum() == len(events)  # and warm
    benchmark(counted)
    record(benchmark, len(events))
    if not benchmark.disabled:
        each = benchmark.stats["min"] / len(events) / len(plan.slots)
        benchmark.extra_info["ns_per_event_and_trigger"] = each * 1e9


def by_hand(
    benchmark: BenchmarkFixture,
    record: Record,
    events: trigemu.Events,
    menu: trigemu.Menu,
    fired: Callable[[], Fired],
) -> None:
    """Compute decisions, then n, Σw and Σw² of each pattern, which must equal those of trigemu."""

    def counted() -> tuple[np.ndarray, ...]:
        pattern = sum(f.astype(np.int64) << bit for bit, f in enumerate(fired()))
        weights = (None, events.weight, events.weight**2)
        return tuple(np.bincount(pattern, w, minlength=4) for w in weights)

    n, *_ = counted()
    table = count_patterns(0, trigemu.decide(events, trigemu.make_plan([menu])), events.weight)
    assert dict(zip(table.words[:, 0].tolist(), table.n.tolist(), strict=True)) == {
        pattern: number for pattern, number in enumerate(n.tolist()) if number
    }
    benchmark(counted)
    record(benchmark, len(events))


def test_trigemu(
    benchmark: BenchmarkFixture, record: Record, events: trigemu.Events, menu: trigemu.Menu
) -> None:
    run(benchmark, record, events, menu)


def test_awkward(
    benchmark: BenchmarkFixture, record: Record, events: trigemu.Events, arrays: Arrays, menu: trigemu.Menu
) -> None:
    """The same menu as an analyst would write it."""
    by_hand(benchmark, record, events, menu, lambda: AWKWARD[menu.name](arrays))


def test_numpy(
    benchmark: BenchmarkFixture, record: Record, events: trigemu.Events, menu: trigemu.Menu
) -> None:
    """The same on flat columns, one row per object or pair of objects."""
    by_hand(benchmark, record, events, menu, lambda: NUMPY[menu.name](events))


def test_memory_limit(
    benchmark: BenchmarkFixture, record: Record, events: trigemu.Events, menu: trigemu.Menu
) -> None:
    """NumPy sums the columns that the menu reads."""
    columns = list(read(events, trigemu.make_plan([menu])))
    benchmark(lambda: [column.sum() for column in columns])
    record(benchmark, len(events))


def read(events: trigemu.Events, plan: trigemu.api.Plan) -> Iterator[np.ndarray]:
    yield events.weight
    for name in sorted({name for name, _ in plan.needs if name}):
        yield events.collections[name].offsets
    for name, column in plan.needs:
        yield events.collections[name].columns[column] if name else events.scalars[column]


def awkward_primary(arrays: Arrays) -> Fired:
    photons = arrays["photon"][arrays["photon"].pt >= 10]
    jets = arrays["jet"][arrays["jet"].pt >= 20]
    pairs = ak.cartesian({"j": jets, "p": photons}, nested=True)
    near = ak.any(awkward_distance(pairs.j, pairs.p) < 0.4, axis=-1)
    jets = jets[~near]
    first = (ak.firsts(jets.pt) > 100, ak.firsts(photons.pt) > 30)
    return [ak.to_numpy(ak.fill_none(fired, False)) for fired in first]


def awkward_threshold(arrays: Arrays) -> Fired:
    jets = arrays["jet"]
    second = ak.fill_none(ak.pad_none(jets.pt, 2)[:, 1] > 50, False)
    return [ak.to_numpy(ak.sum(jets.pt, axis=1) > 150), ak.to_numpy(second)]


def awkward_combination(arrays: Arrays) -> Fired:
    a, b = ak.unzip(ak.combinations(arrays["jet"][arrays["jet"].pt >= 25], 2))
    square = 2 * a.pt * b.pt * (np.cosh(a.eta - b.eta) - np.cos(a.phi - b.phi))
    jets, photons = (arrays[name][arrays[name].pt >= cut] for name, cut in (("jet", 30), ("photon", 20)))
    j, p = ak.unzip(ak.cartesian([jets, photons]))
    return [ak.to_numpy(ak.any(x, axis=1)) for x in (square >= 60**2, awkward_distance(j, p) >= 1)]


def awkward_distance(a: ak.Array, b: ak.Array) -> ak.Array:
    return np.hypot(a.eta - b.eta, (a.phi - b.phi + np.pi) % (2 * np.pi) - np.pi)


AWKWARD = {
    "primary": awkward_primary,
    "threshold": awkward_threshold,
    "combination": awkward_combination,
}


class Flat:
    """Return the objects of a collection above a pT, and the event of each."""

    def __init__(self, collection: trigemu.Collection, least: float = 0.0) -> None:
        remaining = collection.columns["pt"] >= least
        self.n = len(collection)
        self.event = np.repeat(np.arange(self.n), np.diff(collection.offsets))[remaining]
        self.pt, self.eta, self.phi = (collection.columns[c][remaining] for c in ("pt", "eta", "phi"))
        self.counts = np.bincount(self.event, minlength=self.n)
        self.starts = np.cumsum(self.counts) - self.counts

    def with_each(self, other: Flat) -> tuple[np.ndarray, np.ndarray]:
        """Return the objects of both collections for all pairs of an event."""
        numbers = other.counts[self.event]
        mine = np.repeat(np.arange(len(self.event)), numbers)
        place = np.arange(len(mine)) - np.repeat(np.cumsum(numbers) - numbers, numbers)
        return mine, other.starts[self.event[mine]] + place

    def fired(self, objects: np.ndarray) -> np.ndarray:
        """Return the events of these objects."""
        fired = np.zeros(self.n, bool)
        fired[self.event[objects]] = True
        return fired


def numpy_primary(events: trigemu.Events) -> Fired:
    jets, photons = Flat(events.collections["jet"], 20), Flat(events.collections["photon"], 10)
    j, p = jets.with_each(photons)
    clear = np.ones(len(jets.pt), bool)
    clear[j[numpy_distance(jets, j, photons, p) < 0.4]] = False
    return [jets.fired(clear & (jets.pt > 100)), photons.fired(photons.pt > 30)]


def numpy_threshold(events: trigemu.Events) -> Fired:
    jets = Flat(events.collections["jet"])
    second = np.arange(len(jets.pt)) == jets.starts[jets.event] + 1
    ht = np.bincount(jets.event, jets.pt, minlength=jets.n)
    return [ht > 150, jets.fired(second & (jets.pt > 50))]


def numpy_combination(events: trigemu.Events) -> Fired:
    jets = Flat(events.collections["jet"], 25)
    a, b = jets.with_each(jets)
    a, b = a[a < b], b[a < b]
    deta, dphi = jets.eta[a] - jets.eta[b], jets.phi[a] - jets.phi[b]
    square = 2 * jets.pt[a] * jets.pt[b] * (np.cosh(deta) - np.cos(dphi))
    hard, photons = Flat(events.collections["jet"], 30), Flat(events.collections["photon"], 20)
    j, p = hard.with_each(photons)
    apart = numpy_distance(hard, j, photons, p) >= 1
    return [jets.fired(a[square >= 60**2]), hard.fired(j[apart])]


def numpy_distance(a: Flat, i: np.ndarray, b: Flat, j: np.ndarray) -> np.ndarray:
    dphi = (a.phi[i] - b.phi[j] + np.pi) % (2 * np.pi) - np.pi
    return np.hypot(a.eta[i] - b.eta[j], dphi)


NUMPY = {"primary": numpy_primary, "threshold": numpy_threshold, "combination": numpy_combination}


@pytest.mark.benchmark(group="full.toml in memory")
def test_full_trigemu(
    benchmark: BenchmarkFixture, record: Record, events: trigemu.Events, full: trigemu.Menu
) -> None:
    run(benchmark, record, events, full)


@pytest.mark.benchmark(group="30 combinations in memory")
def test_combinations_trigemu(
    benchmark: BenchmarkFixture, record: Record, events: trigemu.Events, combinations: trigemu.Menu
) -> None:
    run(benchmark, record, events, combinations)


@pytest.mark.benchmark(group="by number of triggers, in memory")
@pytest.mark.parametrize("triggers", [2, 10, 50, 200])
def test_triggers_trigemu(
    benchmark: BenchmarkFixture, record: Record, events: trigemu.Events, tmp_path: Path, triggers: int
) -> None:
    (tmp_path / "menu.toml").write_text(menu_of(triggers))
    run(benchmark, record, events, trigemu.read_menu(tmp_path / "menu.toml"))


@pytest.mark.benchmark(group="logic and seeds of full.toml")
def test_logic_trigemu(
    benchmark: BenchmarkFixture, record: Record, events: trigemu.Events, full: trigemu.Menu
) -> None:
    """Evaluate the patterns, which are few for any number of events."""
    plan = trigemu.make_plan([full])
    table = count_patterns(0, trigemu.decide(events, plan), events.weight)
    result = benchmark(acceptances, table.words, full, plan.bits[0])
    assert result.total.shape == (len(table), len(full.enabled))
    record(benchmark, len(events))


@pytest.mark.benchmark(group="logic and seeds of full.toml")
def test_logic_numpy(
    benchmark: BenchmarkFixture, record: Record, events: trigemu.Events, full: trigemu.Menu
) -> None:
    """Evaluate the two triggers of decisions, event by event."""
    plan = trigemu.make_plan([full])
    words = trigemu.decide(events, plan)[:, 0]

    def logic() -> Fired:
        names = ("J100", "HT220", "MU14", "MU6_J40_DR0p5", "MU14_AFTER_JET")
        j100, ht220, mu14, mu6, after = (words >> np.uint64(plan.bits[0][name]) & 1 != 0 for name in names)
        return [j100 & ~ht220, after & (mu14 | mu6)]

    assert len(benchmark(logic)[0]) == len(events)
    record(benchmark, len(events))


@pytest.mark.benchmark(group="anomaly of events that ask, in memory")
@pytest.mark.parametrize("part", ["trigemu", "bare_onnxruntime"])
def test_anomaly(benchmark: BenchmarkFixture, record: Record, part: str) -> None:
    """A trigger with a card, compared with the network alone in one call."""
    menu = trigemu.read_menu(MENUS / "baseline.toml")
    plan = trigemu.make_plan([menu])
    slot = plan.slots[plan.bits[0]["AD"]].compiled
    catalogue = trigemu.open_catalogue()
    sample = catalogue.background[0]
    events = sample.read(0, 0, sample.sources[0].entries, plan.needs)
    events = events.take(np.flatnonzero(np.diff(events.collections["photon"].offsets) > 0)[:16_384])
    alone = trigemu.api.Plan((PlannedTrigger(slot, menu.trigger("AD")),), ({"AD": 0},), plan.needs)
    benchmark(bare_models(slot, events)[part] if part != "trigemu" else lambda: trigemu.decide(events, alone))
    record(benchmark, len(events))
