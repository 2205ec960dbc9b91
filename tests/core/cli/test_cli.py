"""Commands as users give them. Whatever is wrong ends with a message, status 2 and nothing half-written."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot
from project import ROOT
from toys import toy_events, write_root

import trigemu as package
from trigemu.triggers import Kinds

Run = Callable[..., tuple[int, str]]
ON_TOYS = ("--samples", "catalogue.toml")


# ---- what works


def test_run_prints_and_writes_the_same_numbers(place: Any, trigemu: Run) -> None:
    status, text = trigemu("run", "menu.toml", *ON_TOYS, "--overlap", "--json", "a.json", "--csv", "a.csv")
    assert status == 0
    document = json.loads((place.folder / "a.json").read_text())
    result = package.run(
        package.read_menu("menu.toml"), package.open_catalogue(place.folder / "catalogue.toml")
    )
    assert [row["total_hz"] for row in document["triggers"]] == [t.total.hz for t in result.triggers]
    assert document["menu"]["rate_hz"] == result.rate.hz
    assert document["provenance"]["version"] == package.__version__
    with (place.folder / "a.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["total_hz"]) for row in rows[:2]] == [t.total.hz for t in result.triggers]
    for word in ("J30", "MU", "group jets", "menu menu", "both accept"):
        assert word in text
    output = {"a.csv", "a.json", "all.root", "catalogue.toml", "menu.toml"}
    assert set(place.files()) == output


def test_files_are_replaced(place: Any, trigemu: Run) -> None:
    place.write("a.json", "old")
    assert trigemu("run", "menu.toml", *ON_TOYS, "--json", "a.json")[0] == 0
    assert json.loads((place.folder / "a.json").read_text())["menu"]["name"] == "menu"


def test_check_menu(place: Any, trigemu: Run) -> None:
    status, text = trigemu("check-menu", "menu.toml", *ON_TOYS)
    assert status == 0
    assert text == "menu.toml: 2 triggers, 2 enabled, no mistakes\n"


def test_samples(place: Any, trigemu: Run) -> None:
    status, text = trigemu("samples", "catalogue.toml")
    assert status == 0
    assert ["all", "background", "nanoaod", "1", "400", "40", "MHz"] in [
        line.split() for line in text.splitlines()
    ]


def test_samples_prints_the_note_of_a_catalogue(place: Any, trigemu: Run) -> None:
    catalogue = (place.folder / "catalogue.toml").read_text()
    place.write("catalogue.toml", catalogue.replace("[catalogue]", '[catalogue]\nnote = "Mind [this]."'))
    status, text = trigemu("samples", "catalogue.toml")
    assert (status, text.splitlines()[-1]) == (0, "Mind [this].")


def test_descriptions_and_names_are_printed_as_they_are(place: Any, trigemu: Run) -> None:
    catalogue = (place.folder / "catalogue.toml").read_text()
    place.write("catalogue.toml", catalogue.replace('"all"', '"all [b]"') + 'description = "[/x] :smile:"\n')
    menu = (place.folder / "menu.toml").read_text()
    place.write("menu.toml", menu.replace('"MU"', '"[/MU]"'))
    status, text = trigemu("samples", "catalogue.toml")
    assert (status, "all [b]" in text, "[/x] :smile:" in text) == (0, True, True)
    status, text = trigemu("run", "menu.toml", *ON_TOYS)
    assert (status, "[/MU]" in text) == (0, True)


@pytest.mark.parametrize("named", [(), ("mine",)])
def test_the_schema_contains_the_plugins_that_are_named(
    place: Any, trigemu: Run, named: tuple[str, ...]
) -> None:
    place.write("plugins/mine.py", plugin())
    place.write("plugins/other.py", "raise SystemExit('it is loaded')")
    status, text = trigemu("schema", *named)
    assert status == 0
    document, _, messages = text.partition("\ntrigemu: ")
    kinds = [variant["title"] for variant in json.loads(document)["properties"]["trigger"]["items"]["oneOf"]]
    assert sorted(kinds) == sorted([*Kinds(), *named])
    others = set(messages.partition("plugins: ")[2].strip().split(", "))  # and those that are installed
    assert others & {"mine", "other"} == {"mine", "other"} - set(named)


def test_help_names_all_commands(trigemu: Run) -> None:
    status, text = trigemu("--help")
    assert status == 0
    for command in ("run", "samples", "check-menu", "schema", "import"):
        assert f"  {command} " in text


def test_the_embedded_sample_is_the_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, trigemu: Run
) -> None:
    monkeypatch.chdir(ROOT)
    status, text = trigemu("run", "menus/primary.toml", "--json", str(tmp_path / "rates.json"))
    assert status == 0, text
    assert json.loads((tmp_path / "rates.json").read_text())["menu"]["rate_hz"] > 0


# ---- what does not


@pytest.fixture
def refused(place: Any, trigemu: Run) -> Callable[..., str]:
    """Run the menu, which must end with a message, status 2 and no new file; give the message."""

    def run(*arguments: str) -> str:
        before = place.files()
        arguments = arguments or ("menu.toml", *ON_TOYS)
        status, text = trigemu("run", *arguments, "--json", "out.json", "--csv", "out.csv")
        assert status == 2, text
        assert place.files() == before
        assert text
        assert all(line.startswith("trigemu: ") for line in text.splitlines()), text
        assert "Traceback" not in text
        return text

    return run


Refused = Callable[..., str]


def test_files_that_are_not_there(place: Any, refused: Refused) -> None:
    assert "no.toml: cannot read: No such file" in refused("no.toml", *ON_TOYS)
    assert f"{place.folder}: cannot read: Is a directory" in refused(str(place.folder), *ON_TOYS)
    assert "no.toml: cannot read: No such file" in refused("menu.toml", "--samples", "no.toml")
    (place.folder / "all.root").unlink()
    assert "sample 'all': no file all.root" in refused()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[[trigger]]\nname = \n", "menu.toml:2: not valid TOML"),
        (b"\xff\xfe\x00", "menu.toml:1: not a text file (UTF-8)"),
        (b"", "menu.toml:1: a menu needs at least one [[trigger]]"),
    ],
)
def test_a_menu_that_is_none(place: Any, refused: Refused, content: bytes, message: str) -> None:
    (place.folder / "menu.toml").write_bytes(content)
    assert message in refused()


@pytest.mark.parametrize(
    ("old", "new", "messages"),
    [
        (
            'kind = "threshold"',
            'kind = "treshold"',
            ["menu.toml:4: trigger 'J30': unknown kind 'treshold'; did"],
        ),
        ("group =", "groop =", ["menu.toml:7: trigger 'J30': unknown key 'groop'; did you mean 'group'?"]),
        (
            "jet[0]",
            "jte[0]",
            ["menu.toml:2: trigger 'J30': sample 'all' has no collection 'jte'; did you mean 'jet'?"],
        ),
        (
            'object = "muon"',
            'object = "mu"',
            ["menu.toml:9: trigger 'MU': sample 'all' has no collection 'mu'; did you mean 'muon'?"],
        ),
        (
            "prescale = 2",
            "prescale = 0.99",
            ["menu.toml:13: trigger 'MU': prescale = 0.99: expected a number >= 1.0"],
        ),
        (
            "above = 30.0",
            "above = nan",
            ["menu.toml:6: trigger 'J30': above = nan: expected a finite number"],
        ),
        (
            "above = 30.0",
            "above = -inf",
            ["menu.toml:6: trigger 'J30': above = -inf: expected a finite number"],
        ),
        (
            "jet[0].pt",
            "jet[0].ptt",
            ["menu.toml:2: trigger 'J30': sample 'all' has no column 'jet.ptt'; did you"],
        ),
        ("jet[0].pt", "tau[0].pt", ["menu.toml:2: trigger 'J30': sample 'all' has no collection 'tau'"]),
        ("jet[0].pt", "njets", ["menu.toml:2: trigger 'J30': sample 'all' has no observable 'njets'"]),
        (
            "pt = { min = 10.0 }",
            "isolation = { max = 0.1 }",
            [
                "menu.toml:9: trigger 'MU': sample 'all' has no column 'muon.isolation' "
                "(known: charge, eta, phi, pt)"
            ],
        ),
    ],
)
def test_mistakes_of_a_menu(place: Any, refused: Refused, old: str, new: str, messages: list[str]) -> None:
    menu = (place.folder / "menu.toml").read_text()
    assert old in menu
    place.write("menu.toml", menu.replace(old, new))
    text = refused()
    for message in messages:
        assert message in text


def test_all_mistakes_are_reported_a_line_each(place: Any, refused: Refused) -> None:
    menu = (place.folder / "menu.toml").read_text()
    place.write("menu.toml", menu.replace("prescale", "prescael").replace("above", "abvoe"))
    lines = refused().splitlines()
    assert [line.split(":")[2] for line in lines] == ["6", "13"]


@pytest.mark.parametrize("fraction", [0.0, 0.001, 0.1, 0.5, 0.8, 0.95])
def test_a_truncated_root_file(place: Any, refused: Refused, root_file: bytes, fraction: float) -> None:
    (place.folder / "all.root").write_bytes(root_file[: int(len(root_file) * fraction)])
    text = refused()
    assert f"sample 'all': {place.folder / 'all.root'}" in text
    assert "is it complete and in this format?" in text or "it was cut short" in text


def test_a_file_that_is_no_root_file(place: Any, refused: Refused) -> None:
    place.write("all.root", "once upon a time, " * 100)
    assert "all.root cannot be read" in refused()


def test_a_root_file_of_something_else(place: Any, refused: Refused) -> None:
    with uproot.recreate(place.folder / "all.root") as file:
        file.mktree("Delphes", {"x": "f4"})
    assert (
        "all.root: no tree 'Events', nor another one with events and numbers (it has: Delphes)" in refused()
    )


def test_a_sample_without_the_sum_of_its_weights(place: Any, refused: Refused) -> None:
    with uproot.recreate(place.folder / "all.root") as file:
        file.mktree("Events", {"genWeight": "f8"})
        file["Events"].extend({"genWeight": np.ones(3)})
    assert "all.root: Runs/genEventSumw, the sum of all generated weights, is missing" in refused()


@pytest.mark.parametrize("weight", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers(place: Any, refused: Refused, weight: float) -> None:
    events = toy_events(1, 20)
    events[13]["weight"] = weight
    write_root(place.folder / "all.root", events, sum_of_weights=20.0)
    problem = "is not a number (NaN)" if weight != weight else "is infinite"
    assert f"sample 'all', event 13: weight {problem}" in refused()


def test_a_column_that_is_no_number(place: Any, refused: Refused) -> None:
    events = toy_events(1, 20)
    events[4]["jet"] = [{"pt": float("nan"), "eta": 0.0, "phi": 0.0, "charge": 1}]
    write_root(place.folder / "all.root", events)
    assert "sample 'all', event 4: jet.pt is not a number (NaN)" in refused()


@pytest.mark.parametrize("total", [0.0, -3.0, float("nan")])
def test_a_sum_of_weights_that_cannot_be(place: Any, refused: Refused, total: float) -> None:
    write_root(place.folder / "all.root", toy_events(1, 20), sum_of_weights=total)
    assert "sample 'all': the sum of its generator weights is" in refused()


def test_an_empty_sample(place: Any, refused: Refused) -> None:
    empty = ak.Array([[0.0]])[:0]
    with uproot.recreate(place.folder / "all.root") as file:
        types = {"genWeight": "f8", "Jet": ak.zip({"pt": empty}).type.content}
        file.mktree("Events", types, counter_name=lambda n: f"n{n}", field_name=lambda a, b: f"{a}_{b}")
        file.mktree("Runs", {"genEventSumw": "f8"})
        file["Runs"].extend({"genEventSumw": np.array([10.0])})
    assert "sample 'all':" in (text := refused())
    assert "has no events" in text


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('role = "background"', 'role = "signal"', "catalogue.toml: no sample has the role 'background'"),
        (
            'role = "background"',
            'role = "backgroud"',
            "catalogue.toml:8: sample 'all': role = 'backgroud': expected",
        ),
        ("rate_hz = 40e6", "", "sample 'all' needs rate_hz in its catalogue entry"),
        (
            "rate_hz = 40e6",
            "rate_hz = nan",
            "catalogue.toml:10: sample 'all': rate_hz = nan: expected a finite number",
        ),
        ("rate_hz = 40e6", f'rate_hz = 40e6\nsha256 = ["{"0" * 64}"]', "all.root has sha256"),
        ('files = ["all.root"]', 'files = ["al*.rot"]', "sample 'all': no file al*.rot"),
        ("[[sample]]", "[[sampel]]", "unknown key 'sampel'; did you mean 'sample'?"),
    ],
)
def test_mistakes_of_a_catalogue(place: Any, refused: Refused, old: str, new: str, message: str) -> None:
    catalogue = (place.folder / "catalogue.toml").read_text()
    assert old in catalogue
    place.write("catalogue.toml", catalogue.replace(old, new))
    assert message in refused()


PLUGIN = """
from dataclasses import dataclass
import numpy as np
from trigemu.triggers import base
from trigemu.triggers.base import Kind

@dataclass(frozen=True)
class Compiled(base.Compiled):
    threshold: object = None
    def evaluate(self, work):
        EVALUATE

class Mine(Kind, frozen=True):
    def compile(self, context):
        COMPILE

KINDS = {"mine": Mine}
IMPORT
"""
OF_PLUGIN = '[menu]\nplugins = ["mine"]\n\n[[trigger]]\nname = "T"\nkind = "mine"\n'


def plugin(**parts: str) -> str:
    defaults = {
        "EVALUATE": "return np.ones(len(work.events), bool)",
        "COMPILE": "return Compiled()",
        "IMPORT": "",
    }
    text = PLUGIN
    for name, code in (defaults | parts).items():
        text = text.replace(name, code)
    return text


@pytest.fixture
def of_plugin(place: Any) -> Any:
    place.write("menu.toml", OF_PLUGIN)
    return place


def test_a_plugin_that_works(of_plugin: Any, trigemu: Run) -> None:
    of_plugin.write("plugins/mine.py", plugin())
    assert trigemu("run", "menu.toml", *ON_TOYS)[0] == 0


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"IMPORT": "1 / 0"},
            "menu.toml:2: [menu]: plugin 'mine' ({plugin}) cannot be loaded: ZeroDivisionError",
        ),
        (
            {"IMPORT": "def f(:"},
            "menu.toml:2: [menu]: plugin 'mine' ({plugin}) cannot be loaded: SyntaxError",
        ),
        (
            {"COMPILE": "raise OSError('no model')"},
            "menu.toml:4: trigger 'T': its kind failed to compile it: OSError: no",
        ),
        (
            {"EVALUATE": "raise ValueError('odd\\nshape')"},
            "menu.toml:4: trigger 'T' (kind 'mine') failed on sample 'all', from event 0: ValueError: odd",
        ),
        ({"EVALUATE": "return None"}, "trigger 'T' (kind 'mine') gave a NoneType, expected bool[400]"),
        ({"EVALUATE": "return np.ones(3)"}, "gave float64[3], expected bool[400]"),
        (
            {"EVALUATE": "return work.scalar('mett')"},
            "has no 'mett' (known: none); only columns that a kind requests from its context are read",
        ),
        (
            {"EVALUATE": "return np.full(len(work.events), np.nan)", "COMPILE": "return Compiled(0.0)"},
            "menu.toml:4: trigger 'T': its score is not a number (NaN) in sample 'all', event 0",
        ),
    ],
)
def test_a_plugin_that_raises(of_plugin: Any, refused: Refused, parts: dict[str, str], message: str) -> None:
    file = of_plugin.write("plugins/mine.py", plugin(**parts))
    assert message.replace("{plugin}", str(file)) in refused()


@pytest.mark.parametrize(
    ("parts", "line", "cause", "workers"),
    [
        ({"IMPORT": "1 / 0"}, "1 / 0", "ZeroDivisionError: division by zero", 1),
        ({"IMPORT": "def f(:"}, "def f(:", "SyntaxError", 1),
        ({"COMPILE": "raise OSError('no model')"}, "raise OSError", "OSError: no model", 1),
        ({"EVALUATE": "return np.sqrt([1, 2]).whole"}, "return np.sqrt", "AttributeError", 1),
        ({"EVALUATE": "return np.sqrt([1, 2]).whole"}, "return np.sqrt", "AttributeError", 2),
        ({"EVALUATE": "return work.scalar('mett')"}, "return work.scalar", "SampleError", 1),
        ({"EVALUATE": "return None"}, "def evaluate", "", 1),
        ({"EVALUATE": "return np.ones(3)"}, "def evaluate", "", 1),
    ],
)
def test_the_line_and_the_traceback_of_a_plugins_error(
    of_plugin: Any, trigemu: Run, parts: dict[str, str], line: str, cause: str, workers: int
) -> None:
    file = of_plugin.write("plugins/mine.py", f"{plugin(**parts)}# {of_plugin.folder}, {workers}\n")
    number = next(n for n, text in enumerate(file.read_text().splitlines(), 1) if line in text)
    command = ("run", "menu.toml", *ON_TOYS, "--workers", str(workers))
    status, text = trigemu(*command)
    assert (status, "Traceback" in text) == (2, False)
    assert f"(at {file}:{number})" in text
    status, text = trigemu("--traceback", *command)
    assert status == 2
    assert "Traceback (most recent call last)" in text
    if cause:
        assert cause in text
        assert f'"{file}", line {number}' in text


def test_a_plugin_that_is_not_there(of_plugin: Any, refused: Refused) -> None:
    of_plugin.write("plugins/mien.py", plugin())
    text = refused()
    assert "menu.toml:2: [menu]: no plugin 'mine' is installed or in plugins; did you mean 'mien'?" in text
    assert "menu.toml:6: trigger 'T': unknown kind 'mine'" in text


def test_a_menu_cannot_name_a_path(of_plugin: Any, refused: Refused) -> None:
    of_plugin.write("elsewhere/mine.py", plugin())
    of_plugin.write("menu.toml", OF_PLUGIN.replace('"mine"]', '"elsewhere/mine", "../elsewhere/mine.py"]'))
    assert refused().count("no plugin") == 2


def test_two_plugins_of_one_name(of_plugin: Any, refused: Refused, trigemu: Run) -> None:
    of_plugin.write("a/mine.py", plugin())
    of_plugin.write("b/mine.py", plugin())
    both = ("--plugin-path", "a", "--plugin-path", "b")
    status, text = trigemu("run", "menu.toml", *ON_TOYS, *both)
    assert status == 0, text
    of_plugin.write("b/mine.py", plugin() + "# another\n")
    text = refused("menu.toml", *ON_TOYS, *both)
    assert "two different plugins are called 'mine'" in text
    assert str(of_plugin.folder / "a" / "mine.py") in text
    assert str(of_plugin.folder / "b" / "mine.py") in text


@pytest.mark.parametrize("option", ["--json", "--csv"])
@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("absent/out.txt", "there is no folder absent"),
        ("plugins", "it is a folder"),
        ("menu.toml/x", "no folder"),
    ],
)
def test_a_target_that_cannot_be_written(
    place: Any, trigemu: Run, option: str, target: str, message: str
) -> None:
    """Told before any work is done."""
    (place.folder / "plugins").mkdir()
    before = place.files()
    status, text = trigemu("run", "menu.toml", *ON_TOYS, option, target)
    assert status == 2
    assert text.startswith(f"trigemu: cannot write {target}: ")
    assert message in text
    assert len(text.splitlines()) == 1
    assert place.files() == before


def test_a_full_disk_leaves_nothing(place: Any, trigemu: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    before = place.files()
    status, text = trigemu("run", "menu.toml", *ON_TOYS, "--json", "out.json")
    assert status == 2
    assert "trigemu: cannot write out.json: No space left on device" in text
    assert place.files() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("rnu", "menu.toml"),
        ("run",),
        ("run", "menu.toml", "--workers", "0"),
        ("run", "menu.toml", "--wrkers", "2"),
        ("run", "menu.toml", "--plugin-path", "absent"),
        ("check-menu",),
    ],
)
def test_commands_that_are_none(place: Any, trigemu: Run, arguments: tuple[str, ...]) -> None:
    status, text = trigemu(*arguments)
    assert status == 2
    assert "Error: " in text


@pytest.mark.parametrize("command", ["check-menu", "samples", "schema"])
def test_the_other_commands_refuse_as_well(of_plugin: Any, trigemu: Run, command: str) -> None:
    of_plugin.write("plugins/mine.py", plugin(IMPORT="1 / 0"))
    arguments = {
        "check-menu": ("menu.toml", *ON_TOYS),
        "samples": ("absent.toml",),
        "schema": ("mine",),
    }[command]
    status, text = trigemu(command, *arguments)
    assert status == 2
    assert text.startswith("trigemu: ")


# ---- in a process of its own


def script(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = Path(sys.executable).with_name("trigemu")
    return subprocess.run([command, *arguments], capture_output=True, text=True, timeout=120, check=False)


def test_the_command_keeps_its_streams_apart(place: Any) -> None:
    done = script("run", "menu.toml", *ON_TOYS)
    assert (done.returncode, done.stderr) == (0, "")
    assert "J30" in done.stdout
    failed = script("run", "absent.toml", *ON_TOYS)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr == "trigemu: absent.toml: cannot read: No such file or directory\n"


def test_a_plugin_in_two_workers(of_plugin: Any, trigemu: Run) -> None:
    """It gives the same rates as in one, and its failure the same message."""
    split = (
        (of_plugin.folder / "catalogue.toml").read_text().replace('["all.root"]', '["all.root", "more.root"]')
    )
    of_plugin.write("catalogue.toml", split)
    content = (of_plugin.folder / "all.root").read_bytes()
    (of_plugin.folder / "more.root").write_bytes(content + b"x")  # not a copy, which is refused
    asks, reads = "context.observable('met'); return Compiled()", "return work.scalar('met') > 20"
    of_plugin.write("plugins/mine.py", plugin(COMPILE=asks, EVALUATE=reads))
    assert trigemu("run", "menu.toml", *ON_TOYS, "--json", "one.json")[0] == 0
    done = script("run", "menu.toml", *ON_TOYS, "--workers", "2", "--json", "two.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert (of_plugin.folder / "one.json").read_text() == (of_plugin.folder / "two.json").read_text()
    of_plugin.write("plugins/mine.py", plugin(EVALUATE="raise ValueError('odd')"))
    before = of_plugin.files()
    failed = script("run", "menu.toml", *ON_TOYS, "--workers", "2", "--csv", "out.csv")
    assert failed.returncode == 2
    assert "trigger 'T' (kind 'mine') failed on sample 'all', from event 0: ValueError: odd" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert of_plugin.files() == before
