"""`trigemu decade` as users call it."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from decade_toys import MENU, Models
from toys import CATALOGUE, toy_events, write_root
from trigemu_decade.check import scored_events
from trigemu_decade.diagnostics import diagnose

from trigemu import open_catalogue

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


def files() -> set[str]:
    return {str(file) for file in Path().rglob("*") if file.is_file()}


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


def test_training_names_the_extra(place: Models, trigemu: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files()
    for missing in ("jax", "optax", "xgboost", "onnx"):
        with monkeypatch.context() as patch:
            forget_training(patch)
            patch.setitem(sys.modules, missing, None)
            status, text = trigemu("decade", "train", "train.toml", "--samples", "catalogue.toml")
        assert (status, f"package '{missing}'" in text, "trigemu[train]" in text) == (2, True, True), text
    assert files() == before


def test_mistakes_before_anything_is_fitted(place: Models, trigemu: Run) -> None:
    Path("file").touch()
    for output in ("file", "file/below"):
        status, text = trigemu("decade", "train", "train.toml", "--samples", "catalogue.toml", "-o", output)
        assert (status, "file" in text) == (2, True), text
    for old, new, message in (
        ("epochs", "epoch", "8: unknown key 'epoch'; did you mean 'epochs'?"),
        ("jet[0].pt", "jt[0.pt", "14: 'jt[0.pt'"),
    ):
        Path("train.toml").write_text(CONFIG.replace(old, new))
        status, text = trigemu("decade", "train", "train.toml", "--samples", "catalogue.toml")
        assert (status, text.startswith(f"trigemu: train.toml:{message}")) == (2, True), text


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
    assert {"figures/acceptance_jet_0_pt.png", "figures/density_jet_0_pt.png"} <= set(figures)
    assert all(Path(file).stat().st_size > 5000 for file in figures)


#: What is odd of a menu → the menu, and a share of the check.
ODD = {
    "AD accepts nothing": (MENU.replace("above = 0.0", "above = 1e9"), ("share", None)),
    "AD accepts all": (MENU.replace("above = 0.0", "above = -1e9"), ("total", None)),
    "others take all": (MENU.replace('"jet[0].pt"\nabove = 60.0', '"n_jet"\nabove = -1.0'), ("unique", 0)),
    "no other trigger": (MENU[: MENU.index("[[trigger]]")] + AD2, ("share", 1)),
}


@pytest.mark.parametrize("odd", ODD)
def test_check_of_odd_menus(place: Models, trigemu: Run, odd: str) -> None:
    text, (name, value) = ODD[odd]
    place.menu(text)
    status, text = trigemu(*CHECK, "--json", "check.json")
    assert status == FEW, text
    document = json.loads(Path("check.json").read_text(), parse_constant=pytest.fail)
    assert document["events"] > 50
    assert value is None or document["overlap"][name]["value"] == value
    assert max(map(len, text.splitlines())) <= 100


#: A plugin with a kind of its own.
EXTRA = """
from trigemu.api import ScoreKind
class Extra(ScoreKind, frozen=True): ...
KINDS = {"extra": Extra}
"""


def test_check_finds_triggers_and_plugins(place: Models, trigemu: Run) -> None:
    Path("more").mkdir()
    Path("more/extra.py").write_text(EXTRA)
    place.menu(MENU + AD2)
    Path("menu.toml").write_text(Path("menu.toml").read_text().replace('["decade"]', '["decade", "extra"]'))
    for more, expected in ((("--trigger", "AD2"), FEW), ((), 2)):
        status, text = trigemu(*CHECK, "--plugin-path", "more", *more)
        assert status == expected, text
    assert "(AD, AD2): choose one with --trigger" in text


def test_check_reports_mistakes(place: Models, trigemu: Run) -> None:
    before = files()
    for arguments, message in (
        (("--json", "none/check.json", "--figures", "figures"), "cannot write none/check.json"),
        (("--json", "."), "cannot write .: it is a folder"),
        (("--figures", "train.toml"), "train.toml"),
        (("--figures", "train.toml/below"), "train.toml"),
        (("--trigger", "no"), "(AD): 'no' is not one of them"),
        (("--samples", "none.toml"), "none.toml: cannot read: No such file"),
    ):
        status, text = trigemu(*CHECK, *arguments)
        assert (status, message in text) == (2, True), text
    assert files() == before


# ---- run


def test_the_engine_is_said(place: Models, trigemu: Run) -> None:
    """In the text and in JSON; the rates are the same."""
    text, documents = Path("menu.toml").read_text(), []
    for engine, said in (("parallel", "compiled by treelite, on two threads"), ("kernels", "as a table")):
        Path("menu.toml").write_text(text.replace('"decade"\ncard', f'"decade"\nengine = "{engine}"\ncard'))
        status, shown = trigemu("run", "menu.toml", "--samples", "catalogue.toml", "--json", "run.json")
        assert (status, f"{said}." in " ".join(shown.split())) == (0, True), shown
        documents.append(json.loads(Path("run.json").read_text()))
        assert said in documents[-1]["engines"]["AD"]
    assert documents[0]["triggers"] == documents[1]["triggers"]


def test_without_a_compiler_an_interpreter_runs(place: Models, trigemu: Run, no_compiler: None) -> None:
    status, text = trigemu("run", "menu.toml", "--samples", "catalogue.toml")
    message = " ".join(text.split())
    assert status == 0
    assert "Y(x) by treelite's interpreter, on two threads." in message
    assert message.count("there is no C compiler") == 1
