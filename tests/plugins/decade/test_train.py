"""Training as a whole: the set that is written, and what is left where it is interrupted."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from decade_toys import AD_MENU, TRAINING, TRAINING_MENU, command
from toys import CATALOGUE, toy_events, write_root

from trigemu import open_catalogue, read_menu, run


class Stopped(BaseException):
    """As a kill, at a place that the test chooses."""


@pytest.fixture
def place(tmp_path: Path, trained: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("all.root", "signal.root", "catalogue.toml", "train.toml", "others.toml"):
        shutil.copy(trained / name, name)
    Path("menu.toml").write_text(AD_MENU.format("out"))
    return tmp_path


def train(*more: str) -> tuple[int, str]:
    return command("train", "train.toml", "--samples", "catalogue.toml", "-o", "out", *more)


def files(folder: Path = Path("out")) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


def failing(*given: Any, **options: Any) -> Any:
    raise Stopped


def test_training_replaces_a_set_at_once(place: Path, trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped before the card is written, the old set stays whole. Status 1 is a failure of the trigger: its
    set is written as well."""
    Path("out").mkdir()
    Path("out/decade.toml").write_text("the old card")
    Path("out/decade-0123456789abcdef").mkdir()
    Path("out/decade-0123456789abcdef/quantile.json").write_text("an old model")
    Path("out/mine.toml").write_text("mine")
    old = files()
    assert train("--help")[0] == 0  # loads the plugin
    importlib.import_module("trigemu_decade.training.write")
    for where in ("regression.out_of_fold", "write.write_text"):
        with monkeypatch.context() as patched:
            patched.setattr(f"trigemu_decade.training.{where}", failing)
            with pytest.raises(Stopped):
                train()
        assert files().items() >= old.items()
    with monkeypatch.context() as patched:
        patched.setattr("trigemu_decade.verdict.SIGNIFICANT", -1.0)
        patched.setattr("trigemu_decade.verdict.LEAST_REMOVED", 1e9)
        status, text = train()
    assert (status, "Out of fold: Fails: " in text) == (1, True), text
    (metrics,) = Path("out").glob("decade-*/metrics.json")
    assert json.loads(metrics.read_text())["verdict"]["reasons"]
    status, text = train()
    assert status == 0, text
    result = files()
    assert result.pop("mine.toml") == b"mine"
    assert "decade-0123456789abcdef/quantile.json" not in result
    assert result == files(trained / "own")
    menu = read_menu(Path("menu.toml"))
    assert run(menu, open_catalogue("catalogue.toml")).triggers[1].total.hz > 0


def test_the_card_has_the_values_of_x(trained: Path) -> None:
    (seen,) = tomllib.loads((trained / "own/decade.toml").read_text())["quantile"]["seen"]
    (file,) = (trained / "own").glob("decade-*/metrics.json")
    assert json.loads(file.read_text())["seen"] == [seen]
    assert seen["observable"] == "jet[0].pt"
    leading = [max(j["pt"] for j in e["jet"]) for e in toy_events(19, 6000) if e["jet"]]
    assert 0 <= min(leading) <= seen["min"] < seen["mean"] < seen["max"] <= max(leading) * (1 + 1e-6)


SIGNAL = '[[sample]]\nname = "s"\nrole = "signal"\nfiles = ["signal.root"]\nrate_hz = 1.0\n'
CLASSIFIER = TRAINING.replace(
    "epochs = 2\nhidden = [3]", 'signals = ["s"]\ntrees = 40\nfraction = 0.2'
).replace("autoencoder", "classifier")
WAYS = {
    "classifier": (CLASSIFIER, {"classifier.json", "classifier.toml", "quantile.json", "metrics.json"}),
    "variational": (
        TRAINING.replace("epochs", "variational = true\nepochs"),
        {"autoencoder.onnx", "autoencoder.toml", "quantile.json", "metrics.json", "training.png"},
    ),
    "network": (
        TRAINING.replace("[quantile]", '[quantile]\nmodel = "network"'),
        {"autoencoder.onnx", "autoencoder.toml", "quantile.onnx", "metrics.json", "training.png"},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_other_scores_and_another_quantile(place: Path, way: str) -> None:
    """Each set is written whole, and a menu can use it; so can a training of Y(x) to its score alone."""
    text, names = WAYS[way]
    write_root(Path("signal.root"), toy_events(5, 400))
    Path("catalogue.toml").write_text(CATALOGUE + SIGNAL)
    Path("train.toml").write_text(text)
    status, message = train()
    assert status == 0, message
    assert {name.rpartition("/")[2] for name in files()} == names | {"decade.toml"}
    unit = "network of 1217 weights" if way == "network" else " split nodes"
    assert unit in message
    catalogue = open_catalogue("catalogue.toml")
    assert run(read_menu("menu.toml"), catalogue)["AD"].total.hz > 0
    card = tomllib.loads(Path("out/decade.toml").read_text())["score"]["card"]
    start, stop = text.index("[classifier]" if way == "classifier" else "[auto"), text.index("[quantile]")
    Path("train.toml").write_text(text.replace(text[start:stop], f'[score]\ncard = "out/{card}"\n'))
    status, message = command("train", "train.toml", "--samples", "catalogue.toml", "-o", "again")
    assert status == 0, message
    assert tomllib.loads(Path("again/decade.toml").read_text())["score"]["card"] == f"../out/{card}"
    Path("menu.toml").write_text(AD_MENU.format("again"))
    assert run(read_menu("menu.toml"), catalogue)["AD"].total.hz > 0


def test_signals_that_cannot_be_used(place: Path) -> None:
    write_root(Path("signal.root"), [event | {"jet": []} for event in toy_events(5, 40)])
    Path("catalogue.toml").write_text(CATALOGUE + SIGNAL)
    for signal, message in (
        ("z", "catalogue.toml has no sample 'z'"),
        ("all", "'all' is a background, not a signal"),
        ("s", "no event of 's' passes `requires`"),
    ):
        Path("train.toml").write_text(CLASSIFIER.replace('"s"', f'"{signal}"'))
        status, text = train()
        assert (status, f"classifier.signals: {message}" in " ".join(text.split())) == (2, True), text
    assert files() == {}


@pytest.mark.parametrize("name", ["train.toml", "others.toml", "catalogue.toml"])
def test_the_card_replaces_no_input(place: Path, name: str) -> None:
    Path("out").mkdir()
    Path("out/decade.toml").hardlink_to(name)
    status, text = train()
    assert status == 2
    assert text == f"trigemu: cannot write out/decade.toml: {name}, which is read, is the same file\n"


def test_x_from_the_menu(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A score that depends on the leading jet overlaps with a trigger on it: x is that observable. The card
    has it, with the names of the menu."""
    monkeypatch.setattr("trigemu_decade.training.train.LEAST_ABOVE", 10.0)
    write_root(Path("all.root"), toy_events(19, 10_000))
    text = TRAINING.replace('x = ["jet[0].pt"]', 'x = "menu"').replace('"n_jet", "met"', '"jet[0].pt"')
    text = text.replace("8.0e6", "2.0e6")
    text = text.replace("epochs = 2", "epochs = 5")
    Path("train.toml").write_text(text)
    Path("others.toml").write_text(
        '[objects.hard]\nfrom = "jet"\npt = { min = 25.0 }\n' + TRAINING_MENU.replace("jet[0]", "hard[0]")
    )
    status, message = train()
    assert status == 0, message
    assert "x from the menu" in message
    card = tomllib.loads(Path("out/decade.toml").read_text())
    assert card["quantile"]["x"] == ["hard[0].pt"]
    assert card["objects"]["hard"]["pt"] == {"min": 25.0}
    assert [step["observable"] for step in card["quantile"]["chosen"]] == ["", "hard[0].pt"]
    assert card["quantile"]["chosen"][1]["trigger"] == "J"
    assert run(read_menu("menu.toml"), open_catalogue("catalogue.toml"))["AD"].total.hz > 0


def test_a_menu_that_the_score_does_not_overlap_with(place: Path) -> None:
    Path("train.toml").write_text(TRAINING.replace('x = ["jet[0].pt"]', 'x = "menu"'))
    Path("others.toml").write_text(TRAINING_MENU.replace("60.0", "1e6"))
    status, text = train()
    assert status == 2
    assert "no observable that others.toml cuts on reduces the overlap with other triggers" in text


def test_too_few_events_above_the_quantile(place: Path) -> None:
    """Before anything is written: a rate of which Y(x) cannot be known."""
    Path("train.toml").write_text(TRAINING.replace("8.0e6", "1.0e6"))
    status, text = train()
    assert status == 2
    text = " ".join(text.split())
    numbers = re.search(
        r"is q = (\S+) of the (\S+) Hz .*: of (\S+) effective events .*, (\S+) would be", text
    )
    assert numbers, text
    q, failing, effective, above = map(float, numbers.groups())
    assert (q, above) == (pytest.approx(1e6 / failing, rel=0.05), pytest.approx(q * effective, rel=0.05))
    assert "it takes 20" in text
    assert files() == {}


def test_an_observable_that_no_sample_has(place: Path) -> None:
    Path("train.toml").write_text(TRAINING.replace('x = ["jet[0].pt"]', 'x = ["jet[0].mass"]'))
    status, text = train()
    assert status == 2
    assert "has no column 'jet.mass'" in " ".join(text.split())
    assert "train.toml: sample " in text
    assert files() == {}
