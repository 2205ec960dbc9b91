"""Configurations of training and of generators; the smallest of the latter are generated too."""

from __future__ import annotations

import tomllib
import zlib
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from fuzzing.edits import spoilt
from fuzzing.formats.base import Files, Format, close, command
from fuzzing.formats.menus import PLAIN

TRAINING = """
[training]
menu = "menu.toml"
requires = "n_photon >= 1"
unique_rate_hz = 1350.0
seed = 1

[autoencoder]
hidden = [8, 3, 8]
epochs = 2
learning_rate = 1e-3
batch_size = 64
fraction = 0.2

[[autoencoder.inputs]]
observables = ["n_jet", "ht", "met"]

[[autoencoder.inputs]]
observables = ["jet[0].pt", "jet[0].eta"]
padding = 0.0

[quantile]
x = ["jet[0].pt", "photon[0].pt"]
learning_rate = 0.3
max_depth = 3
max_trees = 10

[objects.jet]
from = "jet"
pt = { min = 20.0 }

[sums.ht]
of = ["jet", "photon"]
"""
#: Of a score that exists, so that Y(x) alone is fitted, in a second.
OF_SCORE = """
[training]
menu = "menu.toml"
requires = "n_jet >= 0"
unique_rate_hz = {unique}
seed = 1

[score]
card = "network.toml"

[quantile]
x = ["jet[0].pt", "photon[0].pt"]
max_depth = 3
max_trees = 10
"""
#: Largest numbers in a configuration that is trained: others take longer than a case may.
_TREES, _DEPTH = 1000, 8
GENERATOR = """
name = "toy"
seed = 5
luminosity_cm2s = 1e34

[fakes]
probability = 0.5
power = -0.3

[crossings]
busy_fraction = 0.05
busy_factor = 8.0
fakes_max = 0.5
photon_weight_hz = 1.0
jet_weight_hz = 1.0
quiet_weight_hz = 1000.0
multiple_boost = 1.5

[[slice]]
name = "soft"
description = "x"
settings = ["SoftQCD:nonDiffractive = on"]
pt_hat_max = 20.0
blocks = 1
block_size = 20

[[slice]]
name = "hard"
description = "y"
settings = ["HardQCD:all = on", "PhaseSpace:pTHatMin = 20."]
role = "signal"
k_factor = 0.95
uses = 2
photons = false
jet_excess_max = 40.0
blocks = 1
block_size = 20
"""
_PYTHIA = (
    *("Main:numberOfEvents = 10", "include = /etc/passwd", "Init:reuseMPIinitFile = 1", "LHEF:file = x"),
    *("Beams:frameType = 4", "Beams:LHEF = /dev/zero", "Print:quiet = off", "PDF:pSet = LHAPDF6:x"),
    *("HardQCD:all = on\nx = 1", "PhaseSpace:pTHatMin = nan", "PhaseSpace:pTHatMin = 1e300"),
    *("Tune:pp = 99", "HeavyIon:mode = 1", "Init:plugins = {libx.so::y}", "Merging:doMerging = on"),
)


def _training() -> st.SearchStrategy[Files]:
    from fuzzing.formats.models import models

    further = ("../menu.toml", "jet[0].pt", "n_jet", 0.5, [3, 3], "decade.toml", "network.toml", "menu")
    more = {"menu.toml": PLAIN.encode(), **{n: models()[n] for n in ("network.toml", "model.onnx")}}
    enough = sum(sample.rate_hz for sample in _events().background) / 2
    texts = TRAINING, OF_SCORE.format(unique=enough)
    return st.one_of(*(spoilt(text, further) for text in texts)).map(
        lambda made: {"train.toml": made, **more}
    )


@cache
def _events() -> Any:
    from toys import memory_catalogue, toy_events

    return memory_catalogue({"a": toy_events(3, 3000)})


def _use_training(folder: Path) -> Any:
    """Read the configuration; fit Y(x) to a score that exists. To train a score takes minutes."""
    from trigemu_decade.training.config import read_config

    config = read_config(folder / "train.toml")
    quantile = config.table.quantile
    small = quantile.max_trees <= _TREES and quantile.max_depth <= _DEPTH
    if config.card is None or quantile.model == "network" or not small:
        return None
    from trigemu_decade.training.train import train

    return train(config, _events())


def _twin_training(folder: Path, made: Any) -> str | None:
    """q is the budget over the rate that fails the other triggers; x has the values of the events."""
    if made is None:
        return None
    budget = tomllib.loads((folder / "train.toml").read_text())["training"]["unique_rate_hz"]
    failing, effective = made.metrics["failing_hz"], made.metrics["effective_events"]
    if not close(made.q, budget / failing) or made.q * effective < 20:
        return f"q = {made.q!r}, failing {failing!r}, effective {effective!r}"
    of_x = tuple(of.observable for of in made.seen)
    inside = all(of.min <= of.mean <= of.max and of.spread >= 0 for of in made.seen)
    return "" if of_x == made.x and inside else f"{made.seen!r} of x = {made.x!r}"


def _generator() -> st.SearchStrategy[Files]:
    further = (*_PYTHIA, [_PYTHIA[0]], [_PYTHIA[8]], 1.0, 3, 99999, 1e-300)
    return spoilt(GENERATOR, further).map(lambda made: {"toy.toml": made})


def _use_generator(folder: Path) -> Any:
    """Read the configuration; generate those samples that are as small as the original."""
    from trigemu_simulation import load_config

    config = load_config(folder / "toy.toml")
    text = (folder / "toy.toml").read_bytes()
    if config.interactions <= 60 and zlib.crc32(text) % 20 == 0:
        command("generate", "toy.toml", "-o", "made")
        import trigemu

        return trigemu.open_catalogue(folder / "made" / "catalogue.toml")
    return config


FORMATS = (
    Format("training configurations", _training, _use_training, _twin_training),
    Format("generator configurations", _generator, _use_generator),
)
