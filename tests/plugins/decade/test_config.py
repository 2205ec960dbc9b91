"""The content of configurations for training, and the reports of their mistakes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from project import ROOT
from trigemu_decade.training.config import Config, read_config, replica

from trigemu.base.toml import TableError
from trigemu.samples.split import EVALUATION, TRAINING

CONFIG = """
[training]
menu = "menus/some.toml"
requires = "n_photon >= 1"
unique_rate_hz = 1350.0

[autoencoder]
epochs = 3

[[autoencoder.inputs]]
observables = ["n_jet", "ht"]

[[autoencoder.inputs]]
observables = ["jet[0].pt", "jet[0].eta"]
padding = 0.0

[quantile]
x = ["jet[0].pt", "met"]

[objects.jet]
from = "jet"
pt = { min = 20.0 }

[sums.ht]
of = ["jet"]
"""


@pytest.fixture
def configured(tmp_path: Path) -> Callable[..., Config]:
    def read(*replaced: tuple[str, str]) -> Config:
        text = CONFIG
        for old, new in replaced:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        (tmp_path / "train.toml").write_text(text)
        return read_config(tmp_path / "train.toml")

    return read


Configured = Callable[..., Config]


def test_content(configured: Configured, tmp_path: Path) -> None:
    config = configured()
    assert config.menu == tmp_path / "menus" / "some.toml"
    assert config.inputs is not None
    assert config.inputs.texts == ("n_jet", "ht", "jet[0].pt", "jet[0].eta")
    assert config.inputs.padding == (None, None, 0.0, 0.0)
    assert config.x.texts == ("jet[0].pt", "met")
    assert config.x.padding == (0.0, 0.0)
    needs = {("jet", "pt"), ("jet", "eta"), ("photon", "pt"), ("", "met")}
    assert needs - {("photon", "pt")} <= config.context.needs <= needs
    table = config.table
    assert (table.training.unique_rate_hz, table.training.seed) == (1350.0, 1)
    assert table.autoencoder.epochs == 3
    assert table.autoencoder.hidden == (32, 16, 8, 3, 8, 16, 32)
    assert (table.quantile.max_trees, table.quantile.max_depth, table.quantile.learning_rate) == (100, 4, 0.3)


def test_names_have_the_meaning_of_the_configuration(configured: Configured) -> None:
    one, two = configured(), configured(("min = 20.0", "min = 30.0"))
    assert one.x.numbers[0] != two.x.numbers[0]
    assert one.x.numbers[1] == two.x.numbers[1]


@pytest.mark.parametrize("name", ["primary", "full", "variational", "classifier"])
def test_the_configurations_that_come_with_it(name: str) -> None:
    config = read_config(ROOT / "plugins" / "trigemu_decade" / "models" / name / "train.toml")
    assert config.menu.exists()
    assert config.inputs is not None
    assert len(config.inputs) == 34
    if config.table.autoencoder:
        assert len(config.table.autoencoder.log) == 12
        assert config.table.autoencoder.variational == (name == "variational")
    assert bool(config.table.classifier) == (name == "classifier")
    assert bool(config.candidates) == (name == "full")


def test_replicas_differ_in_seed_and_half(configured: Configured) -> None:
    config = configured()
    result = [replica(config, number) for number in range(1, 5)]
    assert [m.table.training.seed for m in result] == [1, 2, 3, 4]
    assert [m.half for m in result] == [TRAINING, EVALUATION, TRAINING, EVALUATION]
    assert {(m.table.autoencoder, m.table.quantile) for m in result} == {
        (config.table.autoencoder, config.table.quantile)
    }


def test_all_mistakes_are_reported_with_their_lines(configured: Configured) -> None:
    """Those of the tables, and once these can be read, those in names."""
    tables = [
        ("epochs = 3", "epoch = 3\nbatch_size = 0"),
        ("min = 20.0", "mn = 20.0"),
        ('of = ["jet"]', "of = []"),
    ]
    names = [
        ('requires = "n_photon >= 1"', 'requires = "n_photon >="'),
        ('x = ["jet[0].pt", "met"]', 'x = ["jet[0]", "met", "ht +"]'),
    ]
    _reported(
        configured,
        [*tables, *names],
        "8: unknown key 'epoch'; did you mean 'epochs'?",
        "9: autoencoder.batch_size = 0: expected an integer >= 1",
        "23: ",
        "26: [sums.ht]: sums.ht.of = []: expected a list of length >= 1",
    )
    numbers = "18: 'jet[0]': 'jet[0]' is not a number per event", "18: 'ht +'"
    _reported(configured, names, "4: 'n_photon >='", *numbers)


def _reported(configured: Configured, changes: list[tuple[str, str]], *starts: str) -> None:
    with pytest.raises(TableError) as error:
        configured(*changes)
    messages = [str(problem).partition(":")[2] for problem in error.value.problems]
    assert len(messages) == len(starts), messages
    for line, start in zip(messages, starts, strict=True):
        assert line.startswith(start), line


WRONG: dict[str, tuple[tuple[str, str], str]] = {
    "two scores": (
        ("[quantile]", '[score]\ncard = "a.toml"\n\n[quantile]'),
        "has [autoencoder] and [score]: expected one of [autoencoder], [classifier] and [score]",
    ),
    "no score": (
        (CONFIG[CONFIG.index("[autoencoder]") : CONFIG.index("[quantile]")], ""),
        "has neither: expected one of [autoencoder], [classifier] and [score]",
    ),
    "no latent layer": (
        ("epochs = 3", "variational = true\nhidden = [4, 2]"),
        "hidden = [4, 2]: expected an odd number, with the latent layer in the middle",
    ),
    "padding": (("padding = 0.0", "padding = -1.0"), ":15: padding = -1.0: expected 0.0, the value that"),
    "x twice": (
        ('"met"]', '"met", "met"]'),
        "x = ['jet[0].pt', 'met', 'met']: met is there twice; once is enough",
    ),
    "input": (('"n_jet", "ht"', '"n_jet", "jet[1]"'), ":11: 'jet[1]': 'jet[1]' is not a number"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_mistake_is_reported_with_its_line(configured: Configured, kind: str) -> None:
    replaced, message = WRONG[kind]
    with pytest.raises(TableError) as error:
        configured(replaced)
    assert message in str(error.value)
    lines: list[Any] = str(error.value).splitlines()
    assert all("train.toml:" in line for line in lines)
