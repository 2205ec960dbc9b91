"""Training as a whole: the set that is written, and what is left where it is interrupted."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from decade_toys import TRAINING, TRAINING_MENU
from toys import CATALOGUE, toy_events, write_root

from trigemu import open_catalogue, read_menu, run
from trigemu.cli.commands import cli

MENU = TRAINING_MENU + '[[trigger]]\nname = "AD"\nkind = "decade"\ncard = "out/decade.toml"\nabove = 0.0\n'


class Stopped(BaseException):
    """As a kill, at a place that the test chooses."""


@pytest.fixture(scope="module")
def root_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("sample") / "all.root"
    write_root(file, toy_events(19, 6000))
    return file


@pytest.fixture
def place(tmp_path: Path, root_file: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copy(root_file, "all.root")
    Path("catalogue.toml").write_text(CATALOGUE)
    Path("train.toml").write_text(TRAINING)
    Path("others.toml").write_text(TRAINING_MENU)
    Path("menu.toml").write_text(MENU)
    return tmp_path


def train(*more: str) -> tuple[int, str]:
    return command("train", "train.toml", "--samples", "catalogue.toml", "-o", "out", *more)


def command(*given: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ("decade", *given), prog_name="trigemu")
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def files() -> dict[str, bytes]:
    return {str(f.relative_to("out")): f.read_bytes() for f in Path("out").rglob("*") if f.is_file()}


def stages() -> list[str]:
    return sorted(file.name.partition("-")[0] for file in Path("cache").rglob("*.npz"))


def failing(*given: Any, **options: Any) -> Any:
    raise Stopped


def test_training_replaces_a_set_at_once_and_continues(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped in each stage in turn; stages that were finished are not done again."""
    training = "trigemu_decade.training"
    Path("out").mkdir()
    Path("out/decade.toml").write_text("the old card")
    Path("out/decade-0123456789abcdef").mkdir()
    Path("out/decade-0123456789abcdef/quantile.json").write_text("an old model")
    Path("out/mine.toml").write_text("mine")
    old = files()
    assert train("--help")[0] == 0  # loads the plugin
    importlib.import_module(f"{training}.write")
    work = [
        f"{training}.scored.gather",
        f"{training}.autoencoder.fit",
        f"{training}.train.out_of_fold",
        f"{training}.train.fit_weight",
    ]
    finished = ["events", "autoencoder", "folds", "quantile"]
    for number, where in enumerate([*work[1:], f"{training}.write.write_text"], start=1):
        with monkeypatch.context() as patched:
            for name in (where, *work[: number - 1]):
                patched.setattr(name, failing)
            with pytest.raises(Stopped):
                train()
        assert stages() == sorted(finished[:number])
        assert files().items() >= old.items()
    with monkeypatch.context() as patched:
        for name in work:
            patched.setattr(name, failing)
        status, text = train()
    assert status == 0, text
    assert stages() == []
    result = files()
    assert result["mine.toml"] == b"mine"
    assert "decade-0123456789abcdef/quantile.json" not in result
    shutil.rmtree("out")
    assert train() == (0, text)
    assert files() == {name: content for name, content in result.items() if name != "mine.toml"}
    menu = read_menu(Path("menu.toml"))
    assert run(menu, open_catalogue("catalogue.toml")).triggers[1].total.hz > 0


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
    Path("menu.toml").write_text(MENU.replace("out/", "again/"))
    assert run(read_menu("menu.toml"), catalogue)["AD"].total.hz > 0


@pytest.mark.parametrize(
    ("signal", "message"),
    [
        ("z", "classifier.signals: catalogue.toml has no sample 'z'"),
        ("all", "classifier.signals: 'all' is a background, not a signal"),
        ("s", "classifier.signals: no event of 's' passes `requires`"),
    ],
)
def test_signals_that_cannot_be_used(place: Path, signal: str, message: str) -> None:
    events = [event | {"jet": []} for event in toy_events(5, 40)]
    write_root(Path("signal.root"), events)
    Path("catalogue.toml").write_text(CATALOGUE + SIGNAL)
    Path("train.toml").write_text(CLASSIFIER.replace('"s"', f'"{signal}"'))
    status, text = train()
    assert status == 2
    assert message in " ".join(text.split())
    assert files() == {}


def test_a_damaged_stage_is_done_again(place: Path) -> None:
    stages = importlib.import_module("trigemu_decade.training.stages").Stages(place / "kept")
    result = {"x": np.arange(3)}
    assert stages.arrays("a", lambda: result)["x"] is result["x"]
    assert stages.arrays("a", failing)["x"].tolist() == [0, 1, 2]
    (file,) = (place / "kept").iterdir()
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(Stopped):
        stages.arrays("a", failing)


@pytest.mark.parametrize("name", ["train.toml", "others.toml", "catalogue.toml"])
def test_the_card_replaces_no_input(place: Path, name: str) -> None:
    Path("out").mkdir()
    Path("out/decade.toml").hardlink_to(name)
    status, text = train()
    assert status == 2
    assert text == f"trigemu: cannot write out/decade.toml: {name}, which is read, is the same file\n"


def test_x_from_the_menu(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A score that depends on the leading jet overlaps with a trigger on it: x is that observable. The card
    has it, with the names of the menu; `suggest` prints it without a training."""
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
    again = command("suggest", "train.toml", "--samples", "catalogue.toml")
    assert again[0] == 0
    assert again[1] in message


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


def test_the_card_has_the_values_of_x_and_status_1_is_a_failure(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trigemu_decade.verdict.SIGNIFICANT", -1.0)
    monkeypatch.setattr("trigemu_decade.verdict.LEAST_REMOVED", 1e9)
    status, text = train()
    assert status == 1
    assert "Out of fold: Fails: " in text
    (seen,) = tomllib.loads(Path("out/decade.toml").read_text())["quantile"]["seen"]
    (file,) = Path("out").glob("decade-*/metrics.json")
    metrics = json.loads(file.read_text())
    assert metrics["seen"] == [seen]
    assert metrics["verdict"]["reasons"]
    assert seen["observable"] == "jet[0].pt"
    leading = [max(j["pt"] for j in e["jet"]) for e in toy_events(19, 6000) if e["jet"]]
    assert 0 <= min(leading) <= seen["min"] < seen["mean"] < seen["max"] <= max(leading) * (1 + 1e-6)


def test_an_observable_that_no_sample_has(place: Path) -> None:
    Path("train.toml").write_text(TRAINING.replace('x = ["jet[0].pt"]', 'x = ["jet[0].mass"]'))
    status, text = train()
    assert status == 2
    assert "has no column 'jet.mass'" in " ".join(text.split())
    assert "train.toml: sample " in text
    assert files() == {}
