"""`trigemu decade` as users call it."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from decade_toys import MENU, Models
from matplotlib.layout_engine import ConstrainedLayoutEngine
from project import ROOT
from toys import CATALOGUE, toy_events, write_root

from trigemu import open_catalogue
from trigemu_decade.check import scored_events
from trigemu_decade.diagnostics import diagnose

AD2 = MENU[MENU.index('[[trigger]]\nname = "AD"') :].replace('"AD"', '"AD2"')
CHECK = ("decade", "check", "menu.toml", "--samples", "catalogue.toml")
#: The status of a check of these few events, in which no acceptance can be compared with q.
FEW = 1
CONFIG = """
[training]
menu = "menu.toml"
requires = "n_photon >= 1"
unique_rate_hz = 100.0

[autoencoder]
epochs = 1

[[autoencoder.inputs]]
observables = ["n_jet"]

[quantile]
x = ["jet[0].pt"]
"""

Run = Callable[..., tuple[int, str]]


@pytest.fixture(scope="session")
def root_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("sample") / "all.root"
    write_root(file, toy_events(19, 900))
    return file


@pytest.fixture
def place(models: Models, root_file: Path, monkeypatch: pytest.MonkeyPatch) -> Models:
    """The current folder, with a menu, its models and a catalogue."""
    monkeypatch.chdir(models.folder)
    shutil.copy(root_file, "all.root")
    Path("catalogue.toml").write_text(CATALOGUE)
    Path("train.toml").write_text(CONFIG)
    models.menu(MENU, ("above = 0.0", "above = -0.5"))
    return models


@pytest.fixture
def without_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are drawn where their axes happen to be: to lay them out takes most of the time."""
    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", lambda self, figure: None)


def files() -> set[str]:
    return {str(file) for file in Path().rglob("*") if file.is_file()}


def test_help(trigemu: Run) -> None:
    status, text = trigemu("--help")
    assert status == 0
    assert "  decade " in text
    status, text = trigemu("decade", "--help")
    assert status == 0
    assert "  train " in text
    assert "  check " in text
    for command, options in (("train", ("--samples", "--output")), ("check", ("--trigger", "--json"))):
        status, text = trigemu("decade", command, "--help")
        assert status == 0
        assert all(option in text for option in options)


def test_help_needs_no_extra(trigemu: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    forget_training(monkeypatch)
    for name in ("jax", "optax", "xgboost", "onnx"):
        monkeypatch.setitem(sys.modules, name, None)
    assert trigemu("decade", "train", "--help")[0] == 0


def forget_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the test ends. All parts are imported before, so that none is left which the test imported."""
    for part in ("train", "write"):
        importlib.import_module(f"trigemu_decade.training.{part}")
    for name in [name for name in sys.modules if name.startswith("trigemu_decade.training")]:
        monkeypatch.delitem(sys.modules, name)
    package = sys.modules["trigemu_decade"]
    monkeypatch.delattr(package, "training", raising=False)


@pytest.mark.parametrize("missing", ["jax", "optax", "xgboost", "onnx"])
def test_training_names_the_extra(
    place: Models, trigemu: Run, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    forget_training(monkeypatch)
    monkeypatch.setitem(sys.modules, missing, None)
    before = files()
    status, text = trigemu("decade", "train", "train.toml", "--samples", "catalogue.toml", "-o", "out")
    assert status == 2
    assert text.startswith("trigemu: ")
    assert f"needs the package '{missing}'" in text
    assert 'pip install "trigemu[train]"' in text
    assert files() == before


def test_a_configuration_with_mistakes(place: Models, trigemu: Run) -> None:
    Path("train.toml").write_text(CONFIG.replace("epochs", "epoch").replace("jet[0].pt", "jt[0.pt"))
    status, text = trigemu("decade", "train", "train.toml", "--samples", "catalogue.toml")
    assert status == 2
    first, second = text.splitlines()
    assert first.startswith("trigemu: train.toml:8: unknown key 'epoch'; did you mean 'epochs'?")
    assert second.startswith("trigemu: train.toml:14: 'jt[0.pt': cannot be read")


@pytest.mark.parametrize("output", ["file", "file/below"])
def test_an_output_that_cannot_be(place: Models, trigemu: Run, output: str) -> None:
    """Before anything is fitted."""
    Path("file").touch()
    status, text = trigemu("decade", "train", "train.toml", "--samples", "catalogue.toml", "-o", output)
    assert status == 2
    assert "file" in text


# ---- check


def test_check_prints_and_writes_the_same_numbers(place: Models, trigemu: Run) -> None:
    status, text = trigemu(*CHECK, "--json", "check.json", "--figures", "figures")
    assert status == FEW, text
    menu = place.menu(Path("menu.toml").read_text())
    expected = diagnose(scored_events(menu, open_catalogue("catalogue.toml")))

    def refuse(value: str) -> None:
        raise AssertionError(value)

    document = json.loads(Path("check.json").read_text(), parse_constant=refuse)
    assert document["overlap"]["total"]["value"] == expected.overlap.total.value
    assert document["events"] == expected.events
    assert document["q"] == 0.1
    assert f"{expected.overlap.total.value:.1f} ± {expected.overlap.total.error:.1f}" in text
    assert f"{expected.overlap_uncorrected.unique.value:.1f} ± " in text
    assert max(map(len, text.splitlines())) <= 100
    figures = sorted(str(file) for file in Path("figures").iterdir())
    assert figures == sorted(line for line in text.splitlines() if line.startswith("figures"))
    assert {"figures/acceptance_jet_0_pt.png", "figures/rank_correlation.png"} <= set(figures)
    assert all(Path(file).stat().st_size > 5000 for file in figures)


@pytest.mark.usefixtures("without_layout")
@pytest.mark.parametrize("above", [1e9, -1e9])
def test_check_of_a_trigger_that_accepts_nothing_or_all(place: Models, trigemu: Run, above: float) -> None:
    place.menu(MENU, ("above = 0.0", f"above = {above}"))
    status, text = trigemu(*CHECK, "--json", "check.json", "--figures", "figures")
    assert status == FEW, text
    assert json.loads(Path("check.json").read_text(), parse_constant=lambda value: 1 / 0)["events"] > 50
    assert len(list(Path("figures").iterdir())) > 3
    assert max(map(len, text.splitlines())) <= 100


def test_check_where_others_take_all(place: Models, trigemu: Run) -> None:
    place.menu(MENU, ("above = 0.0", "above = -0.5"), ('"jet[0].pt"\nabove = 60.0', '"n_jet"\nabove = -1.0'))
    status, text = trigemu(*CHECK, "--json", "check.json")
    assert status == FEW, text
    assert json.loads(Path("check.json").read_text())["overlap"]["unique"]["value"] == 0


@pytest.mark.usefixtures("without_layout")
def test_check_where_there_is_no_other_trigger(place: Models, trigemu: Run) -> None:
    place.menu(MENU[: MENU.index("[[trigger]]")] + AD2)
    status, text = trigemu(*CHECK, "--json", "check.json", "--figures", "figures")
    assert status == FEW, text
    overlap = json.loads(Path("check.json").read_text())["overlap"]
    assert overlap["share"]["value"] == overlap["ceiling"]["value"] == 1


def test_check_of_one_of_several(place: Models, trigemu: Run) -> None:
    place.menu(MENU + AD2)
    status, text = trigemu(*CHECK)
    assert status == 2
    assert text.startswith("trigemu: menu.toml: ")
    assert "(AD, AD2): choose one with --trigger" in text
    assert trigemu(*CHECK, "--trigger", "AD2")[0] == FEW


#: A plugin with a kind of its own.
EXTRA = """
from trigemu.api import ScoreKind
class Extra(ScoreKind, frozen=True): ...
KINDS = {"extra": Extra}
"""


def test_check_finds_plugins_on_the_plugin_path(place: Models, trigemu: Run) -> None:
    """The same plugin in another folder is the same plugin."""
    shutil.copytree(ROOT / "plugins" / "decade", "more/decade", ignore=shutil.ignore_patterns("models"))
    (Path("more") / "extra.py").write_text(EXTRA)
    place_menu = Path("menu.toml").read_text().replace('["decade"]', '["decade", "extra"]')
    Path("menu.toml").write_text(place_menu)
    status, text = trigemu(*CHECK, "--plugin-path", "more")
    assert status == FEW, text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--json", "none/check.json", "--figures", "figures"),
            "cannot write none/check.json: there is no folder none",
        ),
        (("--json", "."), "cannot write .: it is a folder"),
        (("--figures", "train.toml"), "train.toml"),
        (("--figures", "train.toml/below"), "train.toml"),
        (("--trigger", "no"), "(AD): 'no' is not one of them"),
        (("--samples", "none.toml"), "none.toml: cannot read: No such file"),
    ],
)
def test_check_reports_mistakes(
    place: Models, trigemu: Run, arguments: tuple[str, ...], message: str
) -> None:
    before = files()
    status, text = trigemu(*CHECK, *arguments)
    assert status == 2
    assert message in text
    assert "Traceback" not in text
    assert files() == before


# ---- run


def test_treelite_needs_a_compiler(place: Models, trigemu: Run, no_compiler: None) -> None:
    """Only where a card chooses it; the message says what else to choose."""
    assert trigemu("run", "menu.toml", "--samples", "catalogue.toml")[0] == 0
    place.write_card(("missing = 0.0", 'missing = 0.0\nengine = "treelite"'))
    status, text = trigemu("run", "menu.toml", "--samples", "catalogue.toml")
    assert status == 2
    message = " ".join(text.split())
    assert "quantile.json cannot be compiled: no C compiler (gcc, clang or the variable CC)" in message
    assert "leave out engine" in message


@pytest.mark.parametrize("file", ["decade.toml", "network.toml", "model.onnx", "quantile.json"])
@pytest.mark.parametrize("command", [("run", "menu.toml", "--samples", "catalogue.toml"), CHECK])
def test_a_file_that_was_changed(place: Models, trigemu: Run, file: str, command: tuple[str, ...]) -> None:
    text = Path("decade.toml").read_text()
    Path("decade.toml").write_text(text + "\n")
    Path(file).write_bytes(Path(file).read_bytes()[:-1] + b"?")
    status, text = trigemu(*command)
    assert status == 2
    expected = r"trigemu: menu\.toml:(27|30): trigger 'AD': "  # the trigger, or its card
    assert all(re.match(expected, line) for line in text.splitlines())
    assert file in text


def test_a_compiler_that_fails(
    place: Models, trigemu: Run, fresh_cache: Path, compiler: Callable[..., Any]
) -> None:
    compiler("echo sorry >&2; exit 1")
    place.write_card(("missing = 0.0", 'missing = 0.0\nengine = "treelite"'))
    status, text = trigemu("run", "menu.toml", "--samples", "catalogue.toml")
    assert status == 2
    assert "cannot compile the trees: " in text
    assert "sorry" in text
