"""`trigemu check-menu` on several files, of several kinds."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from onnx_toys import linear, write_card
from toys import toy_events, write_root

Run = Callable[..., tuple[int, str]]
ON_TOYS = ("--samples", "catalogue.toml")
PROFILES = """
[profile]
menus = ["menu.toml"]
samples = ["all"]
[[observable]]
expression = "met"
bins = "0:100:10"
"""


def test_menus_and_profiles_are_checked_together(place: Any, trigemu: Run) -> None:
    """Mistakes of all files: those of profiles, what each other file is, what every sample lacks."""
    place.write("paper.toml", PROFILES)
    status, text = trigemu("check-menu", "menu.toml", "paper.toml", *ON_TOYS)
    menu, profiles = text.splitlines()
    assert (status, menu) == (0, "menu.toml: 2 triggers, 2 enabled, no mistakes")
    assert profiles.startswith("paper.toml: efficiency profiles (observables: 1, categories: 0, menus: 1)")
    place.write("paper.toml", PROFILES.replace("met", "mett[0]"))
    place.write("lacks.toml", (place.folder / "menu.toml").read_text().replace("jet[0].pt", "jet[0].ptt"))
    catalogue = (place.folder / "catalogue.toml").read_text()
    entry = catalogue[catalogue.index("[[sample]]") :].replace('"all"', '"too"')
    place.write("catalogue.toml", catalogue + entry.replace("all.root", "too.root"))
    write_root(place.folder / "too.root", toy_events(18, 40))
    files = ("paper.toml", "lacks.toml", "catalogue.toml", "menu.toml")
    status, text = trigemu("check-menu", *files, *ON_TOYS)
    assert status == 2
    lines = text.splitlines()
    for start in (
        "trigemu: paper.toml:6: 'mett[0]':",
        "trigemu: lacks.toml:2: trigger 'J30': sample 'all' (and 1 other) has no column 'jet.ptt'",
        "trigemu: catalogue.toml:2: this is a catalogue",
        "menu.toml: 2 triggers, 2 enabled, no mistakes",
    ):
        assert sum(line.startswith(start) for line in lines) == 1, start
    assert len(lines) == 4


CARD = """
[[trigger]]
name = "AE"
kind = "network"
card = "card.toml"
above = 0.0
"""


def test_a_card_that_reads_what_the_menu_redefines(place: Any, trigemu: Run) -> None:
    """A card with tables of its own reads what they say."""
    objects = "[objects.jet]\nfrom = 'jet'\npt = {{ min = {} }}\n"
    head = "[menu]\nplugins = ['anomaly']\n" + objects.format(30.0)
    place.write("menu.toml", head + CARD)
    inputs = [(["jet[0].pt", "n_jet"], 0.0)]
    write_card(place.folder, linear([1.0, 1.0]), inputs)
    status, text = trigemu("check-menu", "menu.toml", *ON_TOYS)
    assert status == 0
    assert "\n'AE' (menu.toml:7): its card has no [objects.jet]" in text
    assert "(line 3)" in text
    write_card(place.folder, linear([1.0, 1.0]), inputs, objects.format(20.0))
    assert "its card" not in trigemu("check-menu", "menu.toml", *ON_TOYS)[1]


def test_a_score_without_padding(place: Any, trigemu: Run) -> None:
    """The same with a rate budget, and in a run."""
    head = "[menu]\nplugins = ['anomaly']\n"
    place.write("menu.toml", head + CARD)
    place.write("budget.toml", head + CARD.replace("above = 0.0", "total_rate_hz = 10.0"))
    write_card(place.folder, linear([1.0, 1.0]), [(["muon[40].pt", "jet[50].pt"], None)])
    expected = "none passes its preselection and has muon[40], jet[50], without which its model has no score"
    for command, menu, ends in (("check-menu", "menu", 0), ("run", "menu", 0), ("run", "budget", 2)):
        status, text = trigemu(command, f"{menu}.toml", *ON_TOYS)
        assert status == ends
        assert expected in " ".join(text.split())
    write_card(place.folder, linear([1.0, 1.0]), [(["muon[40].pt", "jet[50].pt"], 0.0)])
    assert "without which" not in trigemu("run", "menu.toml", *ON_TOYS)[1]


def test_samples_that_cannot_be_opened_hide_no_mistake(place: Any, trigemu: Run) -> None:
    place.write("wrong.toml", (place.folder / "menu.toml").read_text().replace("threshold", "thresold"))
    status, text = trigemu("check-menu", "wrong.toml", "menu.toml", "--samples", "absent.toml")
    assert status == 2
    assert [line.split(":")[1] for line in text.splitlines()] == [" absent.toml", " wrong.toml"]


SIGNED = '[[trigger]]\nname = "D"\nkind = "threshold"\nobservable = "dphi(jet[0], jet[1])"\nabove = 1.0\n'


def test_every_command_shows_the_warnings_of_a_menu(place: Any, trigemu: Run) -> None:
    """The status is 0. check-menu does not need to read all events for them."""
    menu = (place.folder / "menu.toml").read_text()
    place.write("odd.toml", menu.replace("above = 30.0", "above = 30000.0") + SIGNED)
    for command in (("check-menu",), ("run",), ("compare", "menu.toml")):
        status, text = trigemu(*command, "odd.toml", *ON_TOYS)
        said = " ".join(text.split())
        assert status == 0
        assert "Warning: dphi and deta have a sign" in said
        assert "'D' (dphi(jet[0], jet[1]))" in said
        assert "Warning: 'J30' (odd.toml:2) fires in no event" in said
        assert "30000 GeV, the largest jet[0].pt is " in said
        assert text.count("MeV?") == 1
    status, text = trigemu("run", "odd.toml", *ON_TOYS, "--json", "-")
    assert sum("MeV?" in warning for warning in json.loads(text)["warnings"]) == 1


OBJECTS = """
[objects.jet]
from = "jet"
pt = { min = 20.0 }

[objects.central_jet]
from = "jet"
eta = { abs_max = 2.4 }

[objects.central_muon]
from = "muon"
eta = { abs_max = 1.0 }
"""


def test_check_menu_reports_that_from_means_the_redefined_object(place: Any, trigemu: Run) -> None:
    place.write("objects.toml", OBJECTS + (place.folder / "menu.toml").read_text())
    status, text = trigemu("check-menu", "objects.toml", *ON_TOYS)
    _, note = text.splitlines()
    assert status == 0
    assert note.startswith(
        'central_jet: from = "jet" means [objects.jet] of this menu (line 2: pt = { min = 20.0 })'
    )
