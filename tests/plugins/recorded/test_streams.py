"""Streams against a loop over events and every outcome of every counter, and what is said of mistakes."""

from __future__ import annotations

import csv
import json
import math
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jsonschema
import numpy as np
import pytest
from commands import Place
from counters_menus import PRESCALES, ToyEvent, any_menu, as_toml, catalogue_of, toy_samples
from counters_twin import Event, ToyMenu
from hypothesis import given, strategies as st
from pileup_toys import crossing_catalogue, crossings
from printing import text_of
from toys import engine, even_events, factors, memory_catalogue, menu_from, threshold, toy_events
from trigemu_recorded.streams import Written

from trigemu import Catalogue, at_pileup, read_menu, run
from trigemu.api import MenuRates, SampleError, TrigemuError
from trigemu.base.shown import view_of
from trigemu.menus.schema import menu_schema

#: kind, name and stream.
Key = tuple[str, str, str]


def written(rates: MenuRates) -> dict[Key, Written]:
    (result,) = rates.tables
    return {(part.kind, part.name, part.stream): part for part in result.written}  # type: ignore[attr-defined]


# ---- the twin


@dataclass(frozen=True)
class ToyStream:
    """size: in kB, of each event: a number and a factor of its scalar `size`."""

    name: str
    triggers: tuple[str, ...]
    prescale: float
    size: tuple[float, float]

    def kb(self, size: float) -> float:
        return self.size[0] + self.size[1] * size

    def toml(self) -> str:
        size = f'"{self.size[0]} + {self.size[1]} * size"' if self.size[1] else self.size[0]
        return (
            f'\n[[stream]]\nname = "{self.name}"\ntriggers = {list(self.triggers)}\n'
            f"prescale = {self.prescale}\nevent_size_kb = {size}\n"
        )


def contributions(
    event: Event, streams: Sequence[ToyStream], sizes: Mapping[str, float]
) -> dict[Key, list[Fraction]]:
    """f, s f, and both of what a trigger adds, in one event."""
    found: dict[Key, list[Fraction]] = defaultdict(lambda: [Fraction(0)] * 4)

    def add(key: Key, probability: Fraction, kb: float = 0.0, at: int = 0) -> None:
        found[key][at] += probability
        found[key][at + 1] += probability * Fraction(kb)

    for accepted, width in event.accepted.items():
        for passes in product((True, False), repeat=len(streams)):
            shares = [1 / Fraction(s.prescale) for s in streams]
            chance = math.prod(p if ok else 1 - p for p, ok in zip(shares, passes, strict=True))
            if not (chance := chance * Fraction(width, event.units)):
                continue
            taking = [s for s, ok in zip(streams, passes, strict=True) if ok and accepted & {*s.triggers}]
            for s in taking:
                kb = sizes[s.name]
                add(("stream", s.name, ""), chance, kb)
                add(("streams", "copies", ""), chance, kb)
                taken_by = accepted & {*s.triggers}
                for name in taken_by:
                    add(("trigger", name, s.name), chance, kb)
                if len(taken_by) == 1:
                    add(("trigger", *taken_by, s.name), chance, kb, 2)
            for a, b in combinations(taking, 2):
                add(("both", a.name, b.name), chance, min(sizes[a.name], sizes[b.name]))
            last = {t.name for t in event.menu.enabled if t.level == (event.menu.levels or (None,))[-1]}
            if taking:
                add(("streams", "once", ""), chance, max(sizes[s.name] for s in taking))
            elif accepted & last:
                add(("streams", "unwritten", ""), chance)
    return found


def samples_of(toy: ToyMenu, seed: int) -> tuple[Catalogue, list[tuple[ToyEvent, dict[str, float]]]]:
    """Samples; their events, and of each its size and its interaction, which some of a sample share."""
    rng, samples = random.Random(seed), toy_samples(toy, seed, 60, 8)
    further: dict[str, list[dict[str, float]]] = {
        name: [{"size": float(rng.randrange(5)), "parent": rng.randrange(30)} for _ in events]
        for name, events in samples.items()
    }
    pairs = [pair for name in samples for pair in zip(samples[name], further[name], strict=True)]
    return catalogue_of(toy, samples, further), pairs


@st.composite
def toy_streams(draw: st.DrawFn, toy: ToyMenu) -> list[ToyStream]:
    last = [t.name for t in toy.triggers if not toy.levels or t.level == toy.levels[-1]]
    some = st.lists(st.sampled_from(last), min_size=1, max_size=6, unique=True).map(tuple)
    sizes = st.tuples(st.sampled_from([0.5, 4.0, 110.0]), st.sampled_from([0.0, 0.0, 1.25, 60.0]))
    streams = st.tuples(some, st.sampled_from(PRESCALES), sizes)
    return [ToyStream(f"S{i}", *s) for i, s in enumerate(draw(st.lists(streams, min_size=1, max_size=3)))]


@given(st.data(), any_menu, st.integers(0, 2**32))
def test_streams_are_those_of_a_loop_over_events(data: st.DataObject, toy: ToyMenu, seed: int) -> None:
    """With prescales, coherent sets, seeds, levels, weights over nine orders, and shared interactions.

    A random trigger accepts a known part of all crossings: errors are then smaller than those of the loop.
    """
    streams = data.draw(toy_streams(toy))
    catalogue, events = samples_of(toy, seed)
    with TemporaryDirectory() as folder:
        menu = menu_from(Path(folder), as_toml(toy) + "".join(s.toml() for s in streams))
        found = written(run(menu, catalogue, executor=engine(7)))
    scale = toy.crossing_rate_hz / 40e6
    hz: dict[Key, np.ndarray] = defaultdict(lambda: np.zeros(4))
    by_parent: dict[int, dict[Key, np.ndarray]] = defaultdict(lambda: defaultdict(lambda: np.zeros(4)))
    known: dict[tuple[bool, ...], Event] = {}
    for toy_event, more in events:
        decisions = toy_event.decisions
        event = known.setdefault(tuple(decisions.values()), Event(toy, decisions))
        sizes = {s.name: s.kb(more["size"]) for s in streams}
        for key, f in contributions(event, streams, sizes).items():
            value = scale * toy_event.weight * np.array([float(part) for part in f])
            hz[key] += value
            by_parent[int(more["parent"])][key] += value
    assert hz.keys() <= found.keys()
    constant = any(t.random_hz is not None for t in toy.triggers)
    for key, part in found.items():
        square = sum((sums[key] ** 2 for sums in by_parent.values()), np.zeros(4))
        expected = [*zip(hz[key], np.sqrt(square), strict=True)]
        got = [(part.rate.hz, part.rate.error_hz), part.bandwidth]
        got += [(part.adds.hz, part.adds.error_hz) if part.adds else None, part.adds_bandwidth]
        for (value, error), pair, unit in zip(expected, got, (1, 1e3, 1, 1e3), strict=True):
            if pair is not None:
                assert unit * pair[0] == pytest.approx(value, rel=1e-9, abs=1e-10)
                assert constant or unit * pair[1] == pytest.approx(error, rel=1e-9, abs=1e-10)
        assert (part.rate.events == 0) == (hz[key][0] == 0) or hz[key][0] < 1e-10
    once, copies = found["streams", "once", ""], found["streams", "copies", ""]
    assert once.rate.hz <= copies.rate.hz * (1 + 1e-12)
    assert once.bandwidth[0] <= copies.bandwidth[0] * (1 + 1e-12)


# ---- streams by themselves

JETS = (
    threshold("J30", "jet[0].pt", 30, 'group = "jets"\n')
    + threshold("J20_PS", "jet[0].pt", 20, 'prescale = 5\ngroup = "jets"\n')
    + threshold("MET40", "met", 40).rstrip()
    + "\n"
)


def stream(
    name: str = "Main", triggers: Sequence[str] = ("*",), size: float | str = 1000, **keys: Any
) -> str:
    table = {"name": name, "triggers": list(triggers), "event_size_kb": size, **keys}
    return "\n[[stream]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())


def test_the_published_numbers_of_lhcb(tmp_path: Path) -> None:
    """64.8 kHz of events of 110 kB are 7.13 GB/s."""
    menu = '[[trigger]]\nname = "R"\nkind = "random"\nrate_hz = 64.8e3\n' + stream("Full", size=110)
    crossings = [event | {"weight": 1e6} for event in toy_events(1, 40)]
    rates = run(menu_from(tmp_path, menu), memory_catalogue({"a": crossings}))
    assert written(rates)["stream", "Full", ""].bandwidth == (pytest.approx(7128.0, rel=1e-12), 0.0)
    assert "7.128 GB/s" in text_of(view_of(rates).page(rates))


@pytest.mark.parametrize("size", [1000, "1000 + 0 * n_jet", "1000 + 0 * met"])
@pytest.mark.parametrize("fitted", [False, True])
def test_one_stream_of_everything_is_the_menu(tmp_path: Path, size: float | str, fitted: bool) -> None:
    """Also with triggers that are judged on one half; in MB/s the same as in Hz, at 1000 kB an event."""
    text = JETS.replace("above = 40", 'above = 40\nfitted_on = "toy"') if fitted else JETS
    events = [event | {"parent": i // 3} for i, event in enumerate(even_events(3, 400))]
    rates = run(menu_from(tmp_path, text + stream(size=size)), memory_catalogue({"a": events}))
    found = written(rates)
    for key in (("stream", "Main", ""), ("streams", "copies", ""), ("streams", "once", "")):
        pairs = [(found[key].rate.hz, found[key].rate.error_hz), found[key].bandwidth]
        assert pairs == [pytest.approx((rates.rate.hz, rates.rate.error_hz), rel=1e-12)] * 2
    for trigger in rates.triggers:
        part = found["trigger", trigger.name, "Main"]
        assert part.adds is not None
        assert (part.rate.hz, part.adds.hz) == pytest.approx((trigger.total.hz, trigger.unique.hz), rel=1e-12)
        assert (part.adds_bandwidth or (0,))[0] == pytest.approx(trigger.unique.hz, rel=1e-12)
    assert ("streams", "unwritten", "") not in found
    if fitted:
        fired = [(e["jet"] and e["jet"][0]["pt"] > 30, e["jet"] and e["jet"][0]["pt"] > 20) for e in events]
        without = [1.0 if j30 else 0.2 if j20 else 0.0 for j30, j20 in fired]
        both = [1.0 if e["met"] > 40 else f for e, f in zip(events, without, strict=True)]
        sums = zip(events, factors(events), without, both, strict=True)
        hz = math.fsum(e["weight"] * (f0 + s * (f - f0)) for e, s, f0, f in sums)
        assert found["stream", "Main", ""].rate.hz == pytest.approx(hz, rel=1e-12)


def test_pileup_is_reweighted_with_sizes(tmp_path: Path) -> None:
    """The weight of each number of interactions is then known: only w (s f − mean of s f) fluctuates."""
    events = crossings(1, 900)
    samples = at_pileup(crossing_catalogue({"a": events}), 2.0)
    menu = menu_from(tmp_path, JETS + stream(triggers=["J30"], size="10 + met", prescale=4))
    bandwidth = written(run(menu, samples))["stream", "Main", ""].bandwidth
    n, w, size = (np.array([e[key] for e in events]) for key in ("n_interaction", "weight", "met"))
    fired = np.array([bool(e["jet"]) and e["jet"][0]["pt"] > 30 for e in events])
    value = np.where(fired, 0.25 * (10 + size) / 1e3, 0.0)
    hz = w * np.array(samples.samples[0].per_interactions)[n]
    mean = np.bincount(n, hz * value) / np.bincount(n, hz)
    expected = (hz @ value, math.sqrt(np.sum((hz * (value - mean[n])) ** 2)))
    assert bandwidth == pytest.approx(expected, rel=1e-9)
    assert hz.sum() == pytest.approx(40e6, rel=0.05)


def test_workers_change_nothing(tmp_path: Path) -> None:
    menu = menu_from(
        tmp_path, JETS + stream(size="60 + 1.2 * n_jet") + stream("MET", ["MET*"], 4.5, prescale=3)
    )
    catalogue = memory_catalogue({"a": toy_events(1, 400), "b": toy_events(2, 300)})
    one, two = (run(menu, catalogue, executor=engine(50, workers)) for workers in (1, 2))
    assert written(one) == written(two)


def test_names_groups_and_patterns(tmp_path: Path) -> None:
    events = memory_catalogue({"a": even_events(3, 400)})

    def triggers(*names: str) -> set[str]:
        found = written(run(menu_from(tmp_path, JETS + stream(triggers=names)), events))
        return {name for kind, name, _ in found if kind == "trigger"}

    assert triggers("jets") == triggers("J*") == triggers("J?0", "J20_PS") == {"J30", "J20_PS"}
    assert triggers("MET40") == {"MET40"}


def test_a_size_matters_where_the_stream_takes_the_event(tmp_path: Path) -> None:
    """Many events have no jet."""
    menu = menu_from(tmp_path, JETS + stream(triggers=["J30"], size="2 * jet[0].pt"))
    events = toy_events(1, 300)
    leading = [(e["weight"], e["jet"][0]["pt"]) for e in events if e["jet"] and e["jet"][0]["pt"] > 30]
    bandwidth = written(run(menu, memory_catalogue({"a": events})))["stream", "Main", ""].bandwidth
    assert bandwidth is not None
    assert bandwidth[0] == pytest.approx(math.fsum(w * 2 * pt / 1e3 for w, pt in leading), rel=1e-12)


@pytest.mark.parametrize(("size", "message"), [
    ("jet[1].pt", r"menu.toml:25: stream 'Main': event_size_kb = 'jet\[1\].pt' has no value in an event of"),
    ("30 - jet[0].pt", r"menu.toml:25: .*'30 - jet\[0\].pt' is -.* of sample 'a' that it takes: expected"),
    ("n_jet / 0", r"is inf in an event"),
    ("n_jat", r"sample 'a' has no observable 'n_jat'.*, which stream 'Main' needs"),
])  # fmt: skip
def test_sizes_that_events_do_not_have(tmp_path: Path, size: str, message: str) -> None:
    menu = menu_from(tmp_path, JETS + stream(triggers=["J30"], size=size))
    with pytest.raises(SampleError, match=message):
        run(menu, memory_catalogue({"a": toy_events(1, 300)}))


@pytest.mark.parametrize(("text", "message"), [
    (stream(triggers=[]), r":24: \[\[stream\]\]: triggers = \[\]: expected a list of length >= 1"),
    (stream(prescale=0.5), r":26: \[\[stream\]\]: prescale = 0.5: expected a number >= 1"),
    (stream(size=-1), r":25: \[\[stream\]\]: event_size_kb = -1: expected a number > 0"),
    (stream(size="n_jet > 2"), r":25: stream 'Main': event_size_kb: 'n_jet > 2': 'n_jet > 2' is a condition"),
    (stream(triggers=["J31"]), r":24: stream 'Main': triggers: unknown trigger or group 'J31'; did you mean"),
    (stream(triggers=["HLT_*"]), r":24: stream 'Main': triggers: unknown trigger or group 'HLT_\*'"),
    (stream() + stream(), r":28: stream 'Main': name: another stream has this name"),
    ("[stream]\nname = 'a'", r":21: stream = .*: expected a list"),
    ("[[streams]]", r":21: unknown table \[\[streams\]\]; did you mean \[\[stream\]\]\?"),
    ("".join(stream(f"S{i}", prescale=2) for i in range(11)),
     r":86: stream 'S10': prescale: at most 10 streams may have one"),
])  # fmt: skip
def test_mistakes_have_their_lines(tmp_path: Path, text: str, message: str) -> None:
    """Besides those of triggers."""
    with pytest.raises(TrigemuError, match=f"menu.toml{message}"):
        menu_from(tmp_path, JETS + text)
    with pytest.raises(TrigemuError) as both:
        menu_from(tmp_path, JETS.replace('"met"', "3") + text)
    assert "menu.toml:19: trigger 'MET40': observable = 3" in str(both.value)
    assert len(str(both.value).splitlines()) == 2


def test_streams_are_of_the_last_level(tmp_path: Path) -> None:
    levels = (
        '[menu]\nlevels = ["L1", "HLT"]\n'
        + JETS.replace('group = "jets"', 'level = "L1"')
        + 'level = "HLT"\n'
    )
    assert menu_from(tmp_path, levels + stream(triggers=["MET*"])).tables
    with pytest.raises(
        TrigemuError, match=r":27: stream 'Main': triggers: 'J30' is of level 'L1', not of the"
    ):
        menu_from(tmp_path, levels + stream())


# ---- commands and files


def test_what_is_printed_and_written(place: Place, trigemu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    two = stream(triggers=["jets"], size="60 + 1.2 * n_jet") + stream("Muons", ["MU"], 4, prescale=10)
    menu = place.folder / "menu.toml"
    menu.write_text(menu.read_text() + two)
    for width in (80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        _, text = trigemu("run", "menu.toml", "--samples", "catalogue.toml")
        assert max(map(len, text.splitlines())) <= width
        assert all(f"\n{name} " in text for name in ("Main", "Muons", "copies", "once", "unwritten"))
    trigemu("run", "menu.toml", "--samples", "catalogue.toml", "--json", "a.json", "--csv", "a.csv")
    rates = run("menu.toml", "catalogue.toml")
    (table,) = json.loads(Path("a.json").read_text())["tables"]
    lines = csv.DictReader(Path("a.csv").read_text().splitlines())
    in_csv = [row for row in lines if row["kind"] in ("stream", "streams")]
    in_json = [row for row in table["rows"] if row["kind"] in ("stream", "streams")]
    assert [row["name"] for row in in_csv] == [row["name"] for row in in_json]
    for row, other in zip(in_csv, in_json, strict=True):
        part = written(rates)[other["kind"], other["name"], ""]
        assert (float(row["total_hz"]), other["total_hz"]) == (part.rate.hz, part.rate.hz)
        if part.bandwidth:
            assert float(row["bandwidth_mb_s"]) == other["bandwidth_mb_s"] == part.bandwidth[0]
            assert other["bandwidth_mb_s_error"] == part.bandwidth[1]
    assert in_json[1]["event_size_kb"] == pytest.approx(4.0)


def test_the_rest_of_the_program_takes_menus_with_streams(place: Place, trigemu: Any) -> None:
    """Menus that are written keep them; columns of prescales have each their own; a menu is checked with its
    sizes; comparisons and rates in bins are those without streams."""
    menu = place.folder / "menu.toml"
    menu.write_text(menu.read_text() + stream(size="60 + 1.2 * n_jet"))
    samples = "--samples", "catalogue.toml"
    assert "no mistakes" in trigemu("check-menu", "menu.toml", *samples)[1]
    place.write("missing.toml", menu.read_text().replace("n_jet", "n_jat"))
    status, text = trigemu("check-menu", "missing.toml", *samples)
    assert (status, "has no observable 'n_jat'" in text) == (2, True)
    place.write("budget.toml", menu.read_text().replace("above = 30.0", "unique_rate_hz = 3e6"))
    assert trigemu("calibrate", "budget.toml", *samples, "-o", "found.toml")[0] == 0
    assert read_menu("found.toml").tables == read_menu("menu.toml").tables
    assert trigemu("compare", "menu.toml", "found.toml", *samples)[0] == 0
    assert trigemu("rates-vs", "met", "menu.toml", "--bins", "0,20,50", *samples)[0] == 0
    place.write("columns.csv", "name,a,b\nJ30,1,2\nMU,2,0\n")
    trigemu("run", "menu.toml", *samples, "--prescales", "columns.csv", "--json", "c.json")
    a, b = (column["tables"][0]["rows"][0] for column in json.loads(Path("c.json").read_text())["columns"])
    assert 0 < b["bandwidth_mb_s"] < a["bandwidth_mb_s"]


def test_the_schema_has_streams(tmp_path: Path) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(json.dumps(menu_schema())))
    table = {"name": "A", "triggers": ["J"], "event_size_kb": "60 + n_jet"}
    trigger = {"name": "J", "kind": "threshold", "observable": "met", "above": 1.0}
    assert validator.is_valid({"trigger": [trigger], "stream": [table, table | {"event_size_kb": 4}]})
    for wrong in (table | {"prescale": 0.5}, table | {"triggers": []}, table | {"tigers": []}):
        assert not validator.is_valid({"trigger": [trigger], "stream": [wrong]})
