"""What a command prints and writes is what its result in Python has, to the last bit; whatever is wrong
ends with status 2, a message that names it, and no file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from command_checks import check_documents_and_help
from toys import toy_events, write_root

import trigemu as library
from trigemu.base.plugins import CORE
from trigemu.base.shown import view_of
from trigemu.studies.efficiency_profiles import read_profiles

Run = Callable[..., tuple[int, str]]
ON_TOYS = ("--samples", "catalogue.toml")
PROFILES = """
[profile]
menus = ["menu.toml", "other.toml"]
samples = ["all"]
triggers = ["J30"]

[[observable]]
expression = "jet[0].pt"
label = "leading pT"
unit = "GeV"
bins = "0:90:30"

[[category]]
condition = "n_muon > 0"
label = "with a muon"
"""
MENUS = ["menu.toml", "other.toml"]
#: A command, and the call in Python for the same, given the samples.
COMMANDS: dict[str, tuple[tuple[str, ...], Callable[[Any], Any]]] = {
    "run": (("menu.toml",), lambda samples: library.run("menu.toml", samples)),
    "run in columns": (
        ("columns.toml", "--column", "b", "--column", "a"),
        lambda samples: library.column_rates("columns.toml", ["b", "a"], samples),
    ),
    "compare": (("menu.toml", "other.toml"), lambda samples: library.compare(MENUS, samples)),
    "scan": (
        ("menu.toml", "--trigger", "J30", "--values", "20,40"),
        lambda samples: library.scan("menu.toml", library.Steps("J30", (20.0, 40.0)), samples),
    ),
    "efficiency": (
        ("--profile", "profiles.toml"),
        lambda samples: read_profiles("profiles.toml").measure(list(map(library.read_menu, MENUS)), samples),
    ),
    "rates-vs": (
        ("met", "menu.toml", "--bins", "0,20,60"),
        lambda samples: library.binned_rates("menu.toml", "met", (0.0, 20.0, 60.0), samples),
    ),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_printed_and_written(place: Any, trigemu: Run, name: str) -> None:
    menu = (place.folder / "menu.toml").read_text()
    place.write("other.toml", menu.replace("30.0", "35.0"))
    columns = '[menu]\nname = "columns"\nprescale_columns = ["a", "b"]\n'
    place.write("columns.toml", columns + menu.replace("prescale = 2", "prescales = [2, 0]"))
    place.write("profiles.toml", PROFILES)
    place.write("out.json", "is replaced")
    files = place.files()
    arguments, call = COMMANDS[name]
    command = (name.split()[0], *arguments, *ON_TOYS)
    status, text = trigemu(*command, "--json", "out.json", "--csv", "out.csv")
    assert status == 0, text
    result = call(library.open_catalogue("catalogue.toml"))
    assert text == f"{result}\n"
    document = (place.folder / "out.json").read_text()
    assert json.loads(document, parse_constant=pytest.fail) == result.to_dict()
    table = (place.folder / "out.csv").read_text()
    assert table == view_of(result).csv(result)
    assert len({len(row) for row in csv.reader(io.StringIO(table))}) == 1
    # On the standard output a document is alone.
    assert trigemu(*command, "--json", "-") == (0, document)
    assert trigemu(*command, "--csv", "-") == (0, table)
    assert place.files() == sorted({*files, "out.csv"})


def test_samples(place: Any, trigemu: Run) -> None:
    catalogue = (place.folder / "catalogue.toml").read_text()
    catalogue = catalogue.replace("[catalogue]", '[catalogue]\nnote = "Mind [this]."')
    place.write("catalogue.toml", catalogue.replace('"all"', '"all [b]"') + 'description = "[/x] :smile:"\n')
    samples = library.open_catalogue("catalogue.toml")
    status, text = trigemu("samples", "catalogue.toml")
    assert (status, text) == (0, f"{samples}\n")
    lines = text.splitlines()
    assert any(line.startswith("all [b] ") and "[/x] :smile:" in line for line in lines)
    assert lines[-1] == "Mind [this]."
    (sample,) = samples.to_dict()["samples"]
    assert (sample["name"], sample["events"], sample["rate_hz"]) == ("all [b]", 400, 40e6)


def test_a_file_may_be_called_like_the_sign_of_the_standard_output(place: Any, trigemu: Run) -> None:
    status, text = trigemu("run", "menu.toml", *ON_TOYS, "--json", "./-")
    assert (status, "J30" in text) == (0, True)
    assert json.loads((place.folder / "-").read_text())["menu"]["name"] == "menu"


def test_every_command_with_documents_can_write_them_there() -> None:
    result = check_documents_and_help(set(CORE.declared().commands))
    assert {"run", "compare", "scan", "rates-vs", "efficiency"} <= result


OUT = ("--json", "out.json", "--csv", "out.csv")
#: Commands that write documents.
DOCUMENTS = ("run", "compare", "scan", "rates-vs", "efficiency")
FAILING = """
from trigemu.triggers import base
from trigemu.triggers.base import Kind
class Compiled(base.Compiled):
    threshold = None
    def evaluate(self, work): raise ValueError("odd\\nshape")
class Failing(Kind, frozen=True):
    def compile(self, context): return Compiled()
KINDS = {"failing": Failing}
"""
PROFILE = (
    '[profile]\nmenus = ["menu.toml"]\nsamples = ["all"]\n[[observable]]\nexpression = "met"\nbins = [0, 9]\n'
)
SCAN = ("scan", "menu.toml", "--trigger", "J30", "--values")
J30 = ("--trigger", "J30", "--values", "1:2:1")
EFFICIENCY = ("efficiency", "menu.toml", "--sample", "all", "--observable", "met", "--bins")
SCORES = ("scores", "menu.toml", "-o", "s.parquet", "--vary")
#: A command, and what its message must contain.
MISTAKES: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
    (("rnu", "menu.toml"), ("Error", "'rnu'")),
    (("run",), ("Error", "MENU")),
    (("run", "menu.toml", "--wrkers", "2"), ("Error", "--wrkers")),
    (("run", "menu.toml", "--workers", "0"), ("Error", "--workers")),
    (("run", "menu.toml", "--plugin-path", "absent"), ("Error", "absent")),
    (("run", "absent.toml"), ("absent.toml: ",)),
    (("run", "broken.toml"), ("broken.toml:2: ",)),
    (
        ("run", "two.toml"),
        ("two.toml:6: trigger 'J30'", "'abvoe'", "two.toml:13: trigger 'MU'", "'prescael'"),
    ),
    (("run", "tau.toml"), ("tau.toml:2: trigger 'J30'", "sample 'all'", "'tau'")),
    (
        ("run", "failing.toml"),
        ("failing.toml:3: trigger 'T'", "'failing'", "sample 'all'", "ValueError: odd"),
    ),
    (("run", "menu.toml", "--samples", "absent.toml"), ("absent.toml: ",)),
    (("run", "menu.toml", "--samples", "signals.toml"), ("signals.toml: ", "'background'")),
    (("run", "menu.toml", "--samples", "nan.root"), ("event 13", "jet.pt", "NaN")),
    (("run", "menu.toml", "--column", "x"), ("menu.toml: ", "columns of prescales")),
    (("run", "menu.toml", "--prescales", "no.csv"), ("no.csv",)),
    (("run", "menu.toml", "--prescales", "p.csv", "--column", "hihg"), ("'hihg'", "'high'")),
    (("run", "menu.toml", "--pileup", "10"), ("'all'", "'n_interaction'")),
    (("run", "menu.toml", "--luminosity", "1e34"), ("catalogue.toml: ", "crossings")),
    (("run", "menu.toml", "--json", "-", "--csv", "-"), ("only one document",)),
    (("run", "menu.toml", "--json", "x", "--csv", "./x"), ("cannot write x: ",)),
    (
        ("run", "menu.toml", "--json", "absent/out.json"),
        ("cannot write absent/out.json: ", "no folder absent"),
    ),
    (("compare", "menu.toml"), ("menu.toml: ", "at least two menus")),
    (("compare", "menu.toml", "hard.toml", "--prescales", "p.csv"), ("p.csv", "--column")),
    (("scan", "menu.toml", "--trigger", "J3", "--values", "1:2:1"), ("'J3'", "'J30'")),
    (("scan", "menu.toml", "--trigger", "J30"), ("Error", "'--values'")),
    ((*SCAN, "1", "--trigger", "MU"), ("2 --trigger and 1 --values",)),
    ((*SCAN, "1", "--vary", "above", "--vary", "above"), ("1 --trigger and 2 --vary",)),
    ((*SCAN, "1", *J30, *J30), ("3 triggers",)),
    *(((*SCAN, "1", "--budget", budget), ("'--budget'",)) for budget in ("nan", "inf", "-1", "0", "1e400")),
    ((*SCAN, "1", "--budget", "100kHz"), ("'100kHz'", "Hz", "100000")),
    ((*SCAN, "1", "--figure", "out.gifx"), (".png, .pdf, .svg",)),
    (("rates-vs", "met", "menu.toml"), ("Error", "'--bins'")),
    (("rates-vs", "met", "menu.toml", "--bins", "0,1", "--trigger", "J3"), ("'J3'", "'J30'")),
    (("rates-vs", "met", "menu.toml", "--bins", "0,1", "--figure", "out.gifx"), (".png",)),
    (("efficiency", "menu.toml"), ("--sample", "--observable", "--bins", "--profile")),
    (EFFICIENCY[:-1], ("1 --observable and 0 --bins",)),
    ((*EFFICIENCY, "0:9:3", "--bins", "1:2:1"), ("1 --observable and 2 --bins",)),
    ((*EFFICIENCY, "0:9:3", "--sample", "al"), ("'al'", "'all'")),
    ((*EFFICIENCY, "0:9:3", "--figures", "menu.toml"), ("'menu.toml' is a file",)),
    (("efficiency", "--profile", "menu.toml"), ("menu.toml:2: ", "not a set of efficiency profiles")),
    (("efficiency", "--profile", "profile.toml", "--observable", "met"), ("--profile",)),
    (("events", "menu.toml"), ("Error", "'-o'")),
    (("events", "menu.toml", "-o", "e.csv"), ("e.csv", ".parquet or .root")),
    (("events", "menu.toml", "-o", "all.root"), ("all.root",)),
    (("events", "menu.toml", "-o", "e.root", "--fired", "JJ"), ("'JJ'",)),
    (("events", "menu.toml", "-o", "e.root", "--sample", "some"), ("'some'",)),
    (("scores", "menu.toml"), ("Error", "'-o'")),
    (("scores", "menu.toml", "-o", "s.csv"), ("s.csv", ".parquet")),
    ((*SCORES, "J3=1:2"), ("'J30'",)),
    ((*SCORES, "J30"), ("--vary 'J30'", "NAME=LOW:HIGH")),
    ((*SCORES, "J30=a:b"), ("--vary 'J30=a:b'", "NAME=LOW:HIGH")),
    ((*SCORES, "J30=1:2", "--vary", "J30=1:3"), ("J30 appears twice",)),
    (("check-menu",), ("Error", "MENU")),
    (("check-menu", "units.toml"), ("units.toml:5: ", "'2 kHz'", "Hz")),
    (("samples", "absent.toml"), ("absent.toml: ",)),
    (("schema", "no_such_plugin"), ("no_such_plugin",)),
]


@pytest.fixture
def inputs(place: Any) -> Any:
    menu = (place.folder / "menu.toml").read_text()
    place.write("hard.toml", menu.replace("30.0", "35.0"))
    place.write("broken.toml", "[[trigger]]\nname = \n")
    place.write("two.toml", menu.replace("prescale", "prescael").replace("above", "abvoe"))
    place.write("tau.toml", menu.replace("jet[0]", "tau[0]"))
    place.write("plugins/failing.py", FAILING)
    place.write("failing.toml", '[menu]\nplugins = ["failing"]\n[[trigger]]\nname = "T"\nkind = "failing"\n')
    place.write(
        "units.toml",
        '[[trigger]]\nname = "A"\nkind = "threshold"\nobservable = "met"\nunique_rate_hz = "2 kHz"\n',
    )
    place.write("profile.toml", PROFILE)
    place.write("p.csv", "name,high,low\nJ30,2,1.5\nMU,0,4\n")
    place.write("signals.toml", (place.folder / "catalogue.toml").read_text().replace("background", "signal"))
    events = toy_events(1, 20)
    events[13]["jet"] = [{"pt": float("nan"), "eta": 0.0, "phi": 0.0, "charge": 1}]
    write_root(place.folder / "nan.root", events)
    return place


def test_mistakes(inputs: Any, trigemu: Run) -> None:
    before, wrong = inputs.files(), []
    for command, words in MISTAKES:
        named = {"--json", "--csv"} & {*command} or command[0] not in DOCUMENTS
        samples = (
            () if command[0] in ("check-menu", "samples", "schema") or "--samples" in command else ON_TOYS
        )
        status, text = trigemu(*command, *samples, *(() if named else OUT))
        said = " ".join(text.split())
        plain = said.startswith("Usage: ") or all(line.startswith("trigemu: ") for line in text.splitlines())
        good = status == 2 and plain and all(word in said for word in words) and inputs.files() == before
        wrong += [] if good else [f"{' '.join(command)}: {status}\n{text}"]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("output", ["menu.toml", "catalogue.toml", "all.root", "link", "hard"])
def test_no_output_replaces_an_input(place: Any, trigemu: Run, output: str) -> None:
    (place.folder / "link").symlink_to("menu.toml")
    (place.folder / "hard").hardlink_to(place.folder / "all.root")
    place.write("other.toml", (place.folder / "menu.toml").read_text())
    before = (place.folder / output).read_bytes()
    for command in (("run", "menu.toml"), ("compare", "menu.toml", "other.toml")):
        for option in ("--json", "--csv"):
            status, text = trigemu(*command, *ON_TOYS, option, output)
            assert status == 2
            assert text.startswith(f"trigemu: cannot write {output}: ")
    assert (place.folder / output).read_bytes() == before
