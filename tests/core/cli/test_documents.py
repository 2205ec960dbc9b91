"""What a command prints and writes is what its result in Python shows and gives: to the last character, and
the last bit."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from command_checks import check_documents_and_help

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
