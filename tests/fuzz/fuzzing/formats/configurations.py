"""Configurations of training and of generators; the smallest of the latter are generated too."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from fuzzing.edits import byte_edits, table_edits, word_edits
from fuzzing.formats.base import Files, Format, command
from fuzzing.formats.menus import PLAIN
from fuzzing.tables import as_toml

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
test_fraction = 0.2

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
    *(
        "Main:numberOfEvents = 10",
        "include = /etc/passwd",
        "Init:reuseMPIinitFile = 1",
        "LHEF:file = x",
        "Beams:frameType = 4",
    ),
    *(
        "Beams:LHEF = /dev/zero",
        "Print:quiet = off",
        "PDF:pSet = LHAPDF6:x",
        "HardQCD:all = on\\nx = 1",
        "PhaseSpace:pTHatMin = nan",
    ),
    *(
        "PhaseSpace:pTHatMin = 1e300",
        "Tune:pp = 99",
        "HeavyIon:mode = 1",
        "Init:plugins = {libx.so::y}",
        "Merging:doMerging = on",
    ),
)


def _cases_of(
    text: str, name: str, further: tuple[Any, ...], more: dict[str, bytes]
) -> st.SearchStrategy[Files]:
    spoilt = st.one_of(
        table_edits(tomllib.loads(text), further).map(as_toml),
        table_edits(tomllib.loads(text), further, most=1).map(as_toml),
        word_edits(text),
    ).map(lambda made: made.encode("utf-8", "surrogatepass"))
    whole = st.one_of(spoilt, spoilt, spoilt, spoilt, byte_edits(text.encode()))
    return whole.map(lambda content: {name: content, **more})


def _training() -> st.SearchStrategy[Files]:
    further = ("../menu.toml", "jet[0].pt", "n_jet", 0.5, [3, 3], "decade.toml")
    return _cases_of(TRAINING, "train.toml", further, {"menu.toml": PLAIN.encode()})


def _use_training(folder: Path) -> Any:
    """Read the configuration; a full training takes minutes."""
    from trigemu_decade.training.config import read_config

    return read_config(folder / "train.toml")


def _generator() -> st.SearchStrategy[Files]:
    return _cases_of(GENERATOR, "toy.toml", (*_PYTHIA, [_PYTHIA[0]], [_PYTHIA[8]], 1.0, 3, 99999, 1e-300), {})


def _use_generator(folder: Path) -> Any:
    """Read the configuration; generate those samples that are as small as the original."""
    from trigemu_simulation import load_config

    config = load_config(folder / "toy.toml")
    text = (folder / "toy.toml").read_bytes()
    if config.interactions <= 60 and hash_of(text) % 20 == 0:
        command("generate", "toy.toml", "-o", "made")
        import trigemu

        return trigemu.open_catalogue(folder / "made" / "catalogue.toml")
    return config


def hash_of(content: bytes) -> int:
    import zlib

    return zlib.crc32(content)


FORMATS = (
    Format("training configurations", 45, _training, _use_training),
    Format("generator configurations", 60, _generator, _use_generator),
)
