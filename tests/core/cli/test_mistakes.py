"""Whatever is wrong ends with status 2, a message that names it, and no file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from toys import toy_events, write_root

Run = Callable[..., tuple[int, str]]
ON_TOYS = ("--samples", "catalogue.toml")
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
    (("run", "menu.toml", "--pileup", "-1"), ("pile-up -1: ",)),
    (("run", "menu.toml", "--luminosity", "1e34"), ("catalogue.toml: ", "crossings")),
    (("run", "menu.toml", "--luminosity", "0"), ("luminosity 0: ",)),
    (("run", "menu.toml", "--json", "-", "--csv", "-"), ("only one document",)),
    (("run", "menu.toml", "--json", "x", "--csv", "./x"), ("cannot write x: ",)),
    (
        ("run", "menu.toml", "--json", "absent/out.json"),
        ("cannot write absent/out.json: ", "no folder absent"),
    ),
    (("run", "menu.toml", "--csv", "plugins"), ("cannot write plugins: ", "folder")),
    (("run", "menu.toml", "--csv", "menu.toml/x"), ("cannot write menu.toml/x: ", "no folder")),
    (("compare", "menu.toml"), ("menu.toml: ", "at least two menus")),
    (("compare", "menu.toml", "absent.toml"), ("absent.toml: ",)),
    (("compare", "menu.toml", "hard.toml", "--prescales", "p.csv"), ("p.csv", "--column")),
    (("scan", "menu.toml", "--trigger", "J3", "--values", "1:2:1"), ("'J3'", "'J30'")),
    (("scan", "menu.toml", "--trigger", "J30"), ("Error", "'--values'")),
    ((*SCAN, "1", "--trigger", "MU"), ("2 --trigger and 1 --values",)),
    ((*SCAN, "1", "--vary", "above", "--vary", "above"), ("1 --trigger and 2 --vary",)),
    ((*SCAN, "1", *J30, *J30), ("3 triggers",)),
    ((*SCAN, "2:1:1"), ("'2:1:1'",)),
    *(((*SCAN, "1", "--budget", budget), ("'--budget'",)) for budget in ("nan", "inf", "-1", "0", "1e400")),
    ((*SCAN, "1", "--budget", "100kHz"), ("'100kHz'", "Hz", "100000")),
    ((*SCAN, "1", "--figure", "out.gifx"), (".png, .pdf, .svg",)),
    ((*SCAN, "1", "--figure", "no/out.png"), ("no folder no",)),
    (("rates-vs", "met", "menu.toml"), ("Error", "'--bins'")),
    (("rates-vs", "n_jets", "menu.toml", "--bins", "0,1"), ("n_jets",)),
    (("rates-vs", "met", "menu.toml", "--bins", "0,1", "--trigger", "J3"), ("'J3'", "'J30'")),
    (("rates-vs", "met", "menu.toml", "--bins", "0,1", "--figure", "out.gifx"), (".png",)),
    (("efficiency", "menu.toml"), ("--sample", "--observable", "--bins", "--profile")),
    (EFFICIENCY[:-1], ("1 --observable and 0 --bins",)),
    ((*EFFICIENCY, "0:9:3", "--bins", "1:2:1"), ("1 --observable and 2 --bins",)),
    ((*EFFICIENCY, "5"), ("bins '5'",)),
    ((*EFFICIENCY, "0:9:3", "--sample", "al"), ("'al'", "'all'")),
    ((*EFFICIENCY, "0:9:3", "--category", "n_jet >"), ("'n_jet >': ",)),
    ((*EFFICIENCY, "0:9:3", "--figures", "menu.toml"), ("'menu.toml' is a file",)),
    ((*EFFICIENCY, "0:9:3", "--figures", "menu.toml/a"), ("cannot write",)),
    (("efficiency", "--profile", "menu.toml"), ("menu.toml:2: ", "not a set of efficiency profiles")),
    (("efficiency", "--profile", "profile.toml", "--observable", "met"), ("--profile",)),
    (("events", "menu.toml"), ("Error", "'-o'")),
    (("events", "menu.toml", "-o", "e.csv"), ("e.csv", ".parquet or .root")),
    (("events", "menu.toml", "-o", "no/e.root"), ("no folder no",)),
    (("events", "menu.toml", "-o", "all.root"), ("all.root",)),
    (("events", "menu.toml", "-o", "e.root", "--fired", "JJ"), ("'JJ'",)),
    (("events", "menu.toml", "-o", "e.root", "--sample", "some"), ("'some'",)),
    (("scores", "menu.toml"), ("Error", "'-o'")),
    (("scores", "menu.toml", "-o", "s.csv"), ("s.csv", ".parquet")),
    (("scores", "menu.toml", "-o", "s.parquet", "--signal", "yy"), ("'yy'",)),
    ((*SCORES, "J3=1:2"), ("'J30'",)),
    ((*SCORES, "MU=1:2"), ("'combination'",)),
    ((*SCORES, "J30"), ("--vary 'J30'", "NAME=LOW:HIGH")),
    ((*SCORES, "J30=a:b"), ("--vary 'J30=a:b'", "NAME=LOW:HIGH")),
    ((*SCORES, "J30=9:3"), ("LOW ≤ HIGH",)),
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


@pytest.mark.parametrize("fraction", [0.0, 0.5, 0.95])
def test_a_truncated_file(place: Any, trigemu: Run, root_file: bytes, fraction: float) -> None:
    (place.folder / "all.root").write_bytes(root_file[: int(len(root_file) * fraction)])
    status, text = trigemu("run", "menu.toml", *ON_TOYS, *OUT)
    assert status == 2
    assert f"sample 'all': {place.folder / 'all.root'}" in text
    assert not (place.folder / "out.json").exists()


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


def test_a_full_disk_leaves_nothing(place: Any, trigemu: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    before = place.files()
    status, text = trigemu("run", "menu.toml", *ON_TOYS, "--json", "out.json")
    assert status == 2
    assert "trigemu: cannot write out.json: No space left on device" in text
    assert place.files() == before
