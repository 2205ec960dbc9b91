"""Public calls take what people have: paths, lists, arrays; and say of anything else what they take."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
from project import ROOT
from toys import CATALOGUE, memory_catalogue, toy_events, write_root

import trigemu
from trigemu import Profile, Steps

MENUS = ROOT / "menus"
PRIMARY = MENUS / "primary.toml"
EVENTS = toy_events(11, 150)
BUDGET = """
[menu]
prescale_columns = ["low", "high"]
column = "low"

[[trigger]]
name = "J"
kind = "threshold"
observable = "jet[0].pt"
total_rate_hz = 300.0
prescales = [1, 2]

[[trigger]]
name = "M"
kind = "threshold"
observable = "met"
above = 20.0
prescales = [1, 10]
"""


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
def test_a_path_is_the_menu(have: Given, call: str) -> None:
    function = CALLS[call]
    expected = function(have.menu, have.samples)
    assert function(have.path, have.samples) == expected
    assert function(Path(have.path), have.samples) == expected


@pytest.mark.parametrize("call", CALLS)
def test_events_in_memory_are_the_samples(have: Given, call: str) -> None:
    """The weights are those of the catalogue, so that every number is the same."""
    function = CALLS[call]
    expected = function(have.menu, have.samples)
    assert function(have.path, have.array) == expected
    events = trigemu.events_from_awkward(have.array, sample="toy")
    assert function(have.path, events) == expected
    assert function(have.path, events.to_awkward()) == expected


@pytest.mark.parametrize("call", CALLS)
def test_paths_are_the_samples(have: Given, call: str) -> None:
    """Events of a file, and of an array, without weights are crossings of equal weight."""
    function, folder, menu = CALLS[call], have.folder, have.folder / "cut.toml"
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


def wrong_calls(have: Given) -> dict[str, tuple[Callable[[], Any], str]]:
    """Call → how it is made, and what its message says."""
    path, samples, menu, array = have.path, have.samples, have.menu, have.array
    result, loose = trigemu.run(path, samples), trigemu
    menu_path = "expected the path of a menu (TOML), or a Menu"
    any_samples = (
        "expected a Catalogue, its path or folder, the paths of event files, Events, or an awkward array of "
        "events"
    )
    return {
        "run()": (lambda: loose.run(None), f"the menu: got None; {menu_path}"),  # type: ignore[arg-type]
        "run(5)": (lambda: loose.run(5), f"the menu: got 5; {menu_path}"),  # type: ignore[arg-type]
        "run({…})": (
            lambda: loose.run({"trigger": []}),
            f"the menu: got a dict; {menu_path}; write it to a file",
        ),  # type: ignore[arg-type]
        "run(text)": (lambda: loose.run(BUDGET), "'[menu]' … is not a path: write the menu to a file first"),
        "run([a, b])": (lambda: loose.run([path]), "the menu: got a list of str; "),  # type: ignore[arg-type]
        "run(missing)": (lambda: loose.run("no.toml"), "there is no menu no.toml in the current folder, /"),
        "run(folder)": (
            lambda: loose.run(have.folder),
            "is a folder: give the path of one menu in it (budget.toml",
        ),
        "run(samples, menu)": (
            lambda: loose.run(samples, path),  # type: ignore[arg-type]
            f"the menu: got a Catalogue; {menu_path}; the menu comes first, then the samples",
        ),
        "run(menu, menu)": (
            lambda: loose.run(path, menu),
            f"the samples: got a Menu; {any_samples}; the menu comes",
        ),
        "run(menu, 5)": (lambda: loose.run(path, 5), f"the samples: got 5; {any_samples}"),
        "run(menu, [{…}])": (
            lambda: loose.run(path, [{"jet": []}]),
            f"the samples: got a list of dict; {any_samples}; convert records or columns with ak.Array",
        ),
        "run(menu, {…})": (lambda: loose.run(path, {"met": [1]}), "the samples: got a dict; "),
        "run(menu, ndarray)": (lambda: loose.run(path, np.ones(3)), "the samples: got a numpy.ndarray; "),
        "run(menu, record)": (
            lambda: loose.run(path, array[0]),
            "; this is a single event: take array[i : i + 1]",
        ),
        "run(menu, result)": (lambda: loose.run(path, result), "got a MenuRates; expected"),
        "run(menu, missing)": (
            lambda: loose.run(path, "no.root"),
            "no catalogue or event file no.root in the",
        ),
        "run(menu, no jets)": (
            lambda: loose.run(path, array[["met"]]),
            "trigger 'J': sample 'events' has no",
        ),
        "emulate([])": (lambda: loose.emulate([]), "there is no menu to emulate: give at least one"),
        "compare(one)": (
            lambda: loose.compare(path, samples),
            "budget.toml: a comparison needs at least two menus",
        ),  # type: ignore[arg-type]
        "compare(emulation, samples)": (
            lambda: loose.compare(have.emulation, samples),
            "the emulation already has samples",
        ),
        "scan(menu, name)": (
            lambda: loose.scan(path, "M"),
            "the steps: got 'M'; expected Steps(trigger, values)",
        ),  # type: ignore[arg-type]
        "scan(menu, Steps(name, text))": (
            lambda: loose.scan(path, Steps("M", "1:2:3"), samples),  # type: ignore[arg-type]
            "the values of 'M': got '1:2:3'; expected a list of numbers",
        ),
        "efficiencies(…, text)": (
            lambda: loose.efficiencies(path, samples, "toy", "met"),  # type: ignore[arg-type]
            "the profiles: got 'met'; expected Profile(observable, edges), or a list of these",
        ),
        "efficiencies(…, 5, …)": (
            lambda: loose.efficiencies(path, samples, 5, Profile("met", (0, 1))),  # type: ignore[arg-type]
            "the samples: got 5; expected a name, or a list of names",
        ),
        "binned_rates(…, edges)": (
            lambda: loose.binned_rates(path, "met", "0:10", samples),
            "the bin edges: got '0:10'; expected a list of numbers",
        ),
        "binned_rates(menu, 5)": (
            lambda: loose.binned_rates(path, 5, [0, 1], samples),  # type: ignore[arg-type]
            "the observable: got 5; expected a text, such as 'jet[0].pt'",
        ),
        "at_pileup(samples, text)": (
            lambda: loose.at_pileup(samples, "10"),  # type: ignore[arg-type]
            "the pile-up: got '10'; expected a number",
        ),
        "at_luminosity(samples, None)": (
            lambda: loose.at_luminosity(samples, None),  # type: ignore[arg-type]
            "the luminosity: got None; expected a number",
        ),
        "rates_of(menu)": (
            lambda: loose.rates_of(path),  # type: ignore[arg-type]
            "expected an Emulation (emulate); run needs a menu and samples",
        ),
        "rates_of(emulation, other)": (
            lambda: loose.rates_of(have.emulation, PRIMARY),
            "primary.toml) is not in the emulation of 'budget'",
        ),
        "column_rates(menu, unknown)": (
            lambda: loose.column_rates(path, "middle", samples),
            "unknown column 'middle'",
        ),
        "column_rates(menu, 5)": (
            lambda: loose.column_rates(path, 5, samples),  # type: ignore[arg-type]
            "the columns: got 5; expected a name, or a list of names",
        ),
        "budget_brackets(result, 5)": (
            lambda: loose.budget_brackets(result, 5),  # type: ignore[arg-type]
            "the scan: got a MenuRates; expected a Scan, which the function scan returns",
        ),
        "fired(5)": (lambda: result.fired(5), "the trigger: got 5; expected its name"),  # type: ignore[arg-type]
        "decisions(budget, events)": (
            lambda: loose.decisions(path, array),
            "budget.toml:6: trigger 'J': its threshold follows from total_rate_hz = 300, which needs",
        ),
        "decisions(menu, [{…}])": (
            lambda: loose.decisions(PRIMARY, [{}]),
            "the samples: got a list of dict; ",
        ),
        "decide(events, menu)": (
            lambda: loose.decide(trigemu.events_from_awkward(array), menu),  # type: ignore[arg-type]
            "the plan: got a Menu; expected a Plan (make_plan); decisions needs a menu",
        ),
        "decide(array, plan)": (
            lambda: loose.decide(array, have.emulation.plan),
            "the events: got an awkward.Array; expected Events; events_from_awkward converts",
        ),
        "make_plan(5)": (lambda: loose.make_plan(5), f"the menus: got 5; {menu_path}, or a list of these"),  # type: ignore[arg-type]
        "read_menu(menu)": (
            lambda: loose.read_menu(menu),
            "the menu: got a Menu; expected the path of a TOML file",
        ),  # type: ignore[arg-type]
        "open_catalogue(array)": (
            lambda: loose.open_catalogue(array),
            "the catalogue: got an awkward.Array; expected the path of a catalogue (TOML) or of an event",
        ),
        "catalogue_of(array)": (
            lambda: loose.catalogue_of(array),
            "the event files: got an awkward.Array; expected",
        ),
        "write_calibrated(path)": (
            lambda: loose.write_calibrated(path, "x.toml", "toy"),  # type: ignore[arg-type]
            "expected a Menu with solved budgets (solve_budgets)",
        ),
        "events_from_awkward([{…}])": (
            lambda: loose.events_from_awkward([{"jet": []}]),
            "the events: got a list of dict; expected an awkward array of records; convert it with ak.Array",
        ),
    }


def test_wrong_calls_get_a_sentence(have: Given, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = wrong_calls(have)
    assert len(wrong) > 40
    for call, (make, words) in wrong.items():
        with pytest.raises(trigemu.TrigemuError, match=re.escape(words)) as caught:
            make()
        message = str(caught.value)
        assert "\n" not in message, call
        assert len(message) < 300, call
        assert ("; expected" in message) == isinstance(caught.value, TypeError), call
    assert not any(tmp_path.iterdir())


def test_from_another_folder(have: Given, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Menu and samples are found by their paths alone."""
    here = trigemu.run(have.folder / "primary.toml", have.folder)
    monkeypatch.chdir(have.folder)
    assert trigemu.run("primary.toml", "catalogue.toml").triggers == here.triggers
    monkeypatch.chdir(tmp_path)
    assert trigemu.run(str(have.folder / "primary.toml"), str(have.folder)).triggers == here.triggers
    with pytest.raises(trigemu.TrigemuError, match=rf"menu primary\.toml in the current folder, {tmp_path}$"):
        trigemu.run("primary.toml")


PLUGIN = """
import awkward as ak
from trigemu.triggers import Compiled, Kind

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
