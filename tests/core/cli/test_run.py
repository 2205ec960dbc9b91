"""`trigemu run`: samples, columns of prescales, other pile-up and luminosity, triggers that are left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import uproot
from toys import toy_events, write_root

Run = Callable[..., tuple[int, str]]
ON_TOYS = ("--samples", "catalogue.toml")
EFFICIENCY = ("efficiency", "menu.toml", "--observable", "met", "--bins", "0,1000", *ON_TOYS)


def same_rates(a: Any, b: Any) -> bool:
    return all(a[key] == b[key] for key in ("menu", "triggers", "groups", "overlap", "samples"))


def test_a_tree_by_its_name(place: Any, trigemu: Run, document: Callable[..., Any]) -> None:
    with uproot.open("all.root") as old, uproot.recreate("two.root") as new:
        branches = old["Events"].arrays(["Jet_pt", "MET_pt"], entry_stop=300)
        columns = {"jet_pt": branches.Jet_pt, "met": branches.MET_pt}
        for name, stop in (("a/tree", 300), ("b/tree", 100)):
            new.mktree(name, {"jet_pt": "var * float32", "met": "float32"})
            new[name].extend({key: values[:stop] for key, values in columns.items()})
    jets = '[[trigger]]\nname = "J"\nkind = "threshold"\nobservable = "jet[0].pt"\nabove = 30\n'
    place.write("jets.toml", jets)
    status, text = trigemu("run", "jets.toml", "--samples", "two.root")
    assert (status, "--tree" in text) == (2, True)
    arguments = ("jets.toml", "--samples", "two.root", "--tree", "b/tree")
    assert trigemu("check-menu", *arguments)[0] == 0
    passed = sum(max(pt, default=0.0) > 30 for pt in columns["jet_pt"][:100].tolist())
    assert document("run", *arguments)["triggers"][0]["total_events"] == passed > 0


def test_another_luminosity(place: Any, document: Callable[..., Any]) -> None:
    catalogue = (place.folder / "catalogue.toml").read_text()
    catalogue = catalogue.replace('"crossing"', '"luminosity"\nluminosity_cm2s = 1e34')
    place.write("catalogue.toml", catalogue.replace("rate_hz = 40e6", "cross_section_pb = 1e8"))
    one, two = (document("run", "menu.toml", *ON_TOYS, *m) for m in ((), ("--luminosity", "2e34")))
    assert two["triggers"][0]["total_hz"] == pytest.approx(2 * one["triggers"][0]["total_hz"])
    assert "2e+34 cm⁻² s⁻¹" in " ".join(two["text"].split())
    assert two["provenance"]["catalogue"]["luminosity_cm2s"] == 2e34
    assert two["provenance"]["catalogue"]["pileup"] is None


@pytest.mark.parametrize("command", [("run", "more.toml"), ("compare", "more.toml", "menu.toml")])
def test_triggers_that_the_samples_cannot_feed(
    place: Any, trigemu: Run, document: Callable[..., Any], command: tuple[str, ...]
) -> None:
    tau = '[[trigger]]\nname = "TAU"\nkind = "threshold"\nobservable = "tau[0].pt"\nabove = 9\n'
    place.write("more.toml", (place.folder / "menu.toml").read_text() + tau)
    status, text = trigemu(*command, *ON_TOYS)
    assert (status, "'TAU'" in text, "--skip-missing" in text) == (2, True, True)
    found = document(*command, *ON_TOYS, "--skip-missing")
    assert "1 of 3 triggers" in " ".join(found["text"].split())
    more = found["variants"][0] if "variants" in found else found
    assert more["menu"]["left_out"] == [{"name": "TAU", "missing": "tau"}]
    assert [t["name"] for t in more["triggers"]] == ["J30", "MU"]


# ---- signals without the sum of their generator weights, as skims are

MISSING = "signal.root: Runs/genEventSumw"


def add_skims(place: Any, cross_section: str) -> None:
    """Two signals with the same events: one with the sum, one without."""
    events = toy_events(5, 200)
    write_root(place.folder / "signal.root", events, runs=False)
    write_root(place.folder / "whole.root", events)
    text = (place.folder / "catalogue.toml").read_text()
    text = text.replace("[[sample]]", "luminosity_cm2s = 1e34\n\n[[sample]]", 1)
    for name in ("signal", "whole"):
        text += f'\n[[sample]]\nname = "{name}"\nrole = "signal"\nfiles = ["{name}.root"]\n{cross_section}'
    place.write("catalogue.toml", text)


@pytest.mark.parametrize("cross_section", ["", "cross_section_pb = 3.0\n"])
def test_rates_do_not_need_the_sum_of_a_signal(
    place: Any, trigemu: Run, document: Callable[..., Any], cross_section: str
) -> None:
    before = document("run", "menu.toml", *ON_TOYS)
    add_skims(place, cross_section)
    after = document("run", "menu.toml", *ON_TOYS)
    assert same_rates(before, after)
    warned = "".join(after["text"].split())  # a path may be broken at the end of a line
    assert (MISSING.replace(" ", "") in warned) == bool(cross_section)
    assert ("unknown" in trigemu("samples", "catalogue.toml")[1]) == bool(cross_section)


def test_an_efficiency_needs_it_only_among_several_samples(
    place: Any, trigemu: Run, document: Callable[..., Any]
) -> None:
    add_skims(place, "cross_section_pb = 3.0\n")
    of = [document(*EFFICIENCY, "--sample", name)["turnons"][0]["curves"][0] for name in ("signal", "whole")]
    for key in ("efficiency", "low", "high"):
        assert of[0][key] == pytest.approx(of[1][key], rel=1e-9)
    status, text = trigemu(*EFFICIENCY, "--sample", "whole", "--sample", "signal")
    assert (status, MISSING in text) == (2, True)
