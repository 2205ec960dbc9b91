"""One tiny sample, generated once: two slices whose blocks take a fraction of a second each."""

from __future__ import annotations

from pathlib import Path

import pytest
from trigemu_simulation import config, generate

TINY = """
name = "tiny"
seed = 7
luminosity_cm2s = 1e33

[fakes]
probability = 2.0

[crossings]
photon_weight_hz = 1e4
jet_weight_hz = 1e3
quiet_weight_hz = 1e6

[[slice]]
name = "soft"
description = "Non-diffractive"
settings = ["SoftQCD:nonDiffractive = on"]
pt_hat_max = 10.0
uses = 3
blocks = 2
block_size = 40

[[slice]]
name = "hard"
description = "QCD jets"
role = "signal"
require = "n_jet >= 1"
k_factor = 2.0
settings = [
    "HardQCD:all = on",
    "PhaseSpace:pTHatMin = 50.",
    "PhaseSpace:bias2Selection = on",
    "PhaseSpace:bias2SelectionPow = 3.",
    "PhaseSpace:bias2SelectionRef = 50.",
]
blocks = 3
block_size = 25
"""


@pytest.fixture(scope="session")
def tiny_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("config") / "tiny.toml"
    path.write_text(TINY)
    return path


@pytest.fixture(scope="session")
def tiny(tiny_path: Path) -> config.Config:
    return config.load_config(tiny_path)


@pytest.fixture(scope="session")
def sample(tiny: config.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the tiny sample, made by one worker; not to be changed by a test."""
    folder = tmp_path_factory.mktemp("sample")
    generate(tiny, folder)
    return folder
