"""Public calls take what people have: paths, lists, arrays; and say of anything else what they take."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
from project import ROOT
from toys import CATALOGUE, memory_catalogue, threshold, toy_events, write_root

import trigemu
from trigemu import Profile, Steps

MENUS = ROOT / "menus"
PRIMARY = MENUS / "primary.toml"
EVENTS = toy_events(11, 150)
BUDGET = (
    '[menu]\nprescale_columns = ["low", "high"]\ncolumn = "low"\n'
    + threshold("J", "jet[0].pt", None, "total_rate_hz = 300.0\nprescales = [1, 2]")
    + threshold("M", "met", 20.0, "prescales = [1, 10]")
)


@dataclass(frozen=True)
class Given:
    """What calls are given: a menu and its path, another, samples in every form, an emulation."""

    folder: Path
    menu: trigemu.Menu
    samples: trigemu.Catalogue
    array: ak.Array
    emulation: trigemu.api.Emulation

    @property
    def path(self) -> str:
        return str(self.folder / "budget.toml")


@pytest.fixture(scope="module")
def have(tmp_path_factory: pytest.TempPathFactory) -> Given:
    folder = tmp_path_factory.mktemp("have")
    (folder / "budget.toml").write_text(BUDGET)
    (folder / "cut.toml").write_text(BUDGET.replace("total_rate_hz = 300.0", "above = 30.0"))
    (folder / "other.toml").write_text(BUDGET.replace("above = 20.0", "above = 25.0"))
    shutil.copy(PRIMARY, folder / "primary.toml")
    write_root(folder / "all.root", EVENTS)
    (folder / "catalogue.toml").write_text(CATALOGUE)
    menu = trigemu.read_menu(folder / "budget.toml")
    array = ak.Array(EVENTS)
    samples = memory_catalogue({"toy": EVENTS})
    return Given(folder, menu, samples, array, trigemu.emulate(menu, samples))


#: Each takes a menu and samples.
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "run": lambda menu, samples: trigemu.run(menu, samples).triggers,
    "emulate": lambda menu, samples: trigemu.rates_of(trigemu.emulate(menu, samples)).triggers,
    "compare": lambda menu, samples: trigemu.compare([menu, PRIMARY], samples).differences,
    "scan": lambda menu, samples: [p.rate for p in trigemu.scan(menu, Steps("M", (10, 20)), samples).points],
    "binned_rates": lambda menu, samples: (
        trigemu.binned_rates(menu, "met", [0, 20, 40], samples).bins[0].crossings
    ),
    "efficiencies": lambda menu, samples: [
        np.nan_to_num(curve.value, nan=-1).tolist()
        for curve in trigemu.efficiencies(menu, samples, names(samples), Profile("met", (0, 20, 40)))
        .turnons[0]
        .curves
    ],
    "exclusive_rates": lambda menu, samples: trigemu.exclusive_rates(menu, catalogue=samples),
    "solve_budgets": lambda menu, samples: trigemu.solve_budgets(menu, samples),
    "column_rates": lambda menu, samples: [
        rates.rate for rates in trigemu.column_rates(menu, "high", samples).values()
    ],
}


def names(samples: Any) -> str:
    """The name of the one sample."""
    if isinstance(samples, trigemu.Catalogue):
        return samples.samples[0].name
    return {"Array": "events", "Events": "toy"}.get(type(samples).__name__, "all")


@pytest.mark.parametrize("call", CALLS)
def test_paths_and_events_in_memory_are_menu_and_samples(have: Given, call: str) -> None:
    """The weights are those of the catalogue, so that every number is the same. Events of a file, and of an
    array, without weights are crossings of equal weight."""
    function, folder, path = CALLS[call], have.folder, have.path
    expected = function(have.menu, have.samples)
    events = trigemu.events_from_awkward(have.array, sample="toy")
    for samples in (have.samples, have.array, events, events.to_awkward()):
        assert function(path, samples) == expected
    menu = folder / "cut.toml"
    catalogue = function(menu, trigemu.open_catalogue(folder / "catalogue.toml"))
    assert function(menu, folder) == function(menu, str(folder / "catalogue.toml")) == catalogue
    file = function(menu, trigemu.catalogue_of(folder / "all.root"))
    assert function(menu, folder / "all.root") == function(menu, [str(folder / "all.root")]) == file
    without_weights = have.array[[name for name in have.array.fields if name != "weight"]]
    assert function(menu, without_weights) == file


def test_weights_change_rates(have: Given) -> None:
    """Whereas the comparisons above are of equal numbers."""
    doubled = ak.with_field(have.array, 2 * have.array.weight, "weight")
    path = have.folder / "primary.toml"
    assert trigemu.run(path, doubled).rate.hz == 2 * trigemu.run(path, have.array).rate.hz > 0


def test_menus_one_or_several(have: Given) -> None:
    both = [have.path, have.folder / "other.toml"]
    compared = trigemu.compare(both, have.array)
    assert compared.differences == trigemu.compare(trigemu.emulate(both, have.array)).differences
    assert [rates.menu.name for rates in compared.variants] == ["budget", "other"]
    assert len(trigemu.make_plan(both).bits) == 2
    assert trigemu.make_plan(have.path).bits == trigemu.make_plan([have.menu]).bits
    emulation = trigemu.emulate(both, have.array)
    for menu in both:
        assert trigemu.rates_of(emulation, menu).menu.name == trigemu.read_menu(menu).name
        assert trigemu.exclusive_rates(emulation, menu).largest
    assert trigemu.exclusive_rates(have.emulation) == trigemu.exclusive_rates(have.path, catalogue=have.array)


def test_lists_may_be_tuples_or_arrays(have: Given) -> None:
    scans = [
        trigemu.scan(have.path, s, have.array)
        for s in (Steps("M", np.array([10, 20])), [Steps("M", (10, 20))])
    ]  # type: ignore[arg-type]
    assert scans[0].steps == scans[1].steps == (Steps("M", (10, 20)),)
    assert [point.rate for point in scans[0].points] == [point.rate for point in scans[1].points]
    binned = [
        trigemu.binned_rates(have.path, "met", e, have.array) for e in ([0, 20, 40], np.linspace(0, 40, 3))
    ]  # type: ignore[arg-type]
    assert binned[0].bins[1].crossings == binned[1].bins[1].crossings


def test_pileup_and_luminosity_take_paths(have: Given) -> None:
    crossings = ak.Array({"n_interaction": np.random.default_rng(1).poisson(2.0, 20_000)})
    reweighted = trigemu.at_pileup(crossings, 2.2).pileup
    assert reweighted
    assert reweighted.before == pytest.approx(2.0, rel=0.02)
    text = CATALOGUE.replace('"crossing"', '"luminosity"\nluminosity_cm2s = 1e34').replace(
        "rate_hz = 40e6", "cross_section_pb = 1e8"
    )
    (have.folder / "luminosity.toml").write_text(text)
    found = trigemu.at_luminosity(str(have.folder / "luminosity.toml"), 2e34)
    assert found.table.luminosity_cm2s == 2e34


def wrong_calls(have: Given) -> list[tuple[Callable[[], Any], str]]:
    """Each function with something that it does not take, and what its message names. What is no menu and no
    sample is in menus/test_write.py and samples/test_opening.py."""
    path, samples, menu, array = have.path, have.samples, have.menu, have.array
    result, t = trigemu.run(path, samples), trigemu
    two_menus = replace(have.emulation, menus=2 * have.emulation.menus)
    calls: list[tuple[Callable[..., Any], tuple[Any, ...], str]] = [
        (t.run, (5,), "the menu: got 5; "),
        (t.run, ({"trigger": []},), "write it to a file"),
        (t.run, ([path],), "the menu: got a list of str; "),
        (t.run, (samples, path), "the menu: got a Catalogue; "),
        (t.run, (path, menu), "the samples: got a Menu; "),
        (t.run, (path, [{"jet": []}]), "ak.Array"),
        (t.run, (path, array[0]), "a single event: take array[i : i + 1]"),
        (t.run, (path, result), "got a MenuRates; "),
        (t.run, (path, samples.samples[0]), "give the Catalogue that it is in"),
        (t.run, (path, array[["met"]]), "trigger 'J': sample 'events' has no"),
        (t.emulate, ([],), "there is no menu to emulate"),
        (t.compare, (path, samples), "budget.toml: a comparison needs at least two menus"),
        (t.compare, (have.emulation,), "budget.toml: a comparison needs at least two menus"),
        (t.compare, (two_menus, samples), "the emulation already has samples"),
        (t.scan, (path, "M"), "the steps: got 'M'; expected Steps(trigger, values)"),
        (t.scan, (path, Steps("M", "1:2:3"), samples), "the values of 'M': got '1:2:3'; "),  # type: ignore[arg-type]
        (t.efficiencies, (path, samples, "toy", "met"), "the profiles: got 'met'; "),
        (t.efficiencies, (path, samples, 5, Profile("met", (0, 1))), "the samples: got 5; "),
        (t.binned_rates, (path, "met", "0:10", samples), "the bin edges of 'met': got '0:10'; "),
        (t.binned_rates, (path, 5, [0, 1], samples), "the observable: got 5; "),
        (t.at_pileup, (samples, None), "the pile-up: got None; "),
        (t.at_luminosity, (samples, None), "the luminosity: got None; "),
        (t.rates_of, (path,), "expected an Emulation (emulate)"),
        (t.rates_of, (have.emulation, PRIMARY), "primary.toml) is not in the emulation of 'budget'"),
        (t.column_rates, (path, "middle", samples), "unknown column 'middle'"),
        (t.column_rates, (path, 5, samples), "the columns: got 5; "),
        (t.budget_brackets, (result, 5), "the scan: got a MenuRates; "),
        (result.fired, (5,), "the trigger: got 5; "),
        (
            t.decisions,
            (path, array),
            "budget.toml:4: trigger 'J': its threshold follows from total_rate_hz = 300",
        ),
        (t.decisions, (PRIMARY, [{}]), "the samples: got a list of dict; "),
        (t.decide, (t.events_from_awkward(array), menu), "the plan: got a Menu; "),
        (t.decide, (array, have.emulation.plan), "the events: got an awkward.Array; "),
        (t.make_plan, (5,), "the menus: got 5; "),
        (t.read_menu, (menu,), "the menu: got a Menu; "),
        (t.open_catalogue, (array,), "the catalogue: got an awkward.Array; "),
        (t.catalogue_of, (array,), "the event files: got an awkward.Array; "),
        (t.write_calibrated, (path, "x.toml", "toy"), "expected a Menu with solved budgets"),
        (t.events_from_awkward, ([{"jet": []}],), "the events: got a list of dict; "),
    ]
    return [(partial(function, *arguments), words) for function, arguments, words in calls]


def test_wrong_calls_get_a_sentence(have: Given, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for call, words in wrong_calls(have):
        with pytest.raises(trigemu.TrigemuError, match=re.escape(words)) as caught:
            call()
        message = str(caught.value)
        assert "\n" not in message
        assert len(message) < 300
        assert ("; expected" in message) == isinstance(caught.value, TypeError), message
    assert not any(tmp_path.iterdir())


PLUGIN = """
import awkward as ak
from trigemu.api import Compiled, Kind

class Central(Kind, frozen=True):
    def compile(self, context):
        context.objects("jet", "pt", "eta")
        return CompiledCentral()

class CompiledCentral(Compiled):
    threshold = None

    def evaluate(self, work):
        jets = work.events.to_awkward().jet
        return ak.to_numpy(ak.any((jets.pt > 30) & (abs(jets.eta) < 1), axis=1))

KINDS = {"central": Central}
"""


def test_a_plugin_sees_awkward_arrays(have: Given, tmp_path: Path) -> None:
    (tmp_path / "calls_central.py").write_text(PLUGIN)
    menu = tmp_path / "menu.toml"
    menu.write_text('[menu]\nplugins = ["calls_central"]\n[[trigger]]\nname = "C"\nkind = "central"\n')
    read = trigemu.read_menu(menu, [tmp_path])
    fires = [any(jet["pt"] > 30 and abs(jet["eta"]) < 1 for jet in event["jet"]) for event in EVENTS]
    assert trigemu.decisions(read, have.array)["C"].tolist() == fires
    assert trigemu.run(read, have.folder).fired("C").tolist() == fires
    sys.modules.pop("trigemu_plugin_calls_central")
