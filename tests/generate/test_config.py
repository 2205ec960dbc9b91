from __future__ import annotations

import json
from pathlib import Path

import pytest

from trigemu.generate import config, pythia
from trigemu.support.toml import TableError

GOOD = """
name = "small"
seed = 1
luminosity_cm2s = 1e34

[fakes]
probability = 1e-3

[[slice]]
name = "hard"
description = "QCD jets"
settings = ["HardQCD:all = on", "PhaseSpace:pTHatMin = 20."]
blocks = 2
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "small.toml"
    path.write_text(text)
    return path


def test_shipped_configurations_load() -> None:
    assert {"embedded", "first"} <= set(config.shipped())
    for name in config.shipped():
        loaded = config.load_config(name)
        assert loaded.name == name
        for part in loaded.slices:
            pythia.check(part)


def test_path_and_defaults(tmp_path: Path) -> None:
    loaded = config.load_config(written(tmp_path, GOOD))
    assert loaded.convention == "luminosity"
    assert loaded.crossings is None
    assert loaded.interactions == 2 * loaded.slices[0].block_size


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("blocks = 2", "block = 2", [":13: unknown key 'block'; did you mean 'blocks'?"]),
        ("seed = 1", "sead = 1", [":3: unknown key 'sead'; did you mean 'seed'?", "'seed' is missing"]),
        ("probability = 1e-3", "p = 1", [":7: unknown key 'p'", "energy_fraction"]),
        ("blocks = 2", 'blocks = "2"', [":13: blocks = '2'", "an integer"]),
        ("blocks = 2", "blocks = 0", [":13: blocks = 0", ">= 1"]),
        ("probability = 1e-3", "probability = 1.5", [":7: fakes.probability = 1.5", "<= 1"]),
        ("probability = 1e-3", "slope = 1.0", [":6: the key 'probability' is missing"]),
        ("seed = 1", "seed = 1\nconvention = 'x'", [":4: unknown key 'convention'"]),
        ("[fakes]", "[crossings]\nbusy = 1\n[fakes]", [":7: unknown key 'busy'", "busy_factor"]),
        ("[fakes]", "[crossings]\nfake_share_max = 1\n[fakes]", ["crossings.fake_share_max = 1", "< 1"]),
        (
            "[fakes]",
            "[crossings]\nbusy_fraction = 0.5\nbusy_factor = 3\n[fakes]",
            [":8: busy_factor = 3", "must not exceed 1"],
        ),
        ("blocks = 2", "blocks = 2\nrole = 'signal'\n[crossings]", ["role 'background'"]),
        ('name = "hard"', 'name = "../hard"', [":10: name = '../hard'"]),
        ("seed = 1", "seed = ", ["not valid TOML", "line 3"]),
        ("1e-3", "1e-3\nenergy_fraction = [1.0, 0.5]", [":8: energy_fraction = [1.0, 0.5] is empty"]),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, parts: list[str]) -> None:
    path = written(tmp_path, GOOD.replace(old, new))
    with pytest.raises(TableError) as error:
        config.load_config(path)
    for part in [str(path), *parts]:
        assert part in str(error.value)


def test_crossings_change_what_weights_mean(tmp_path: Path) -> None:
    loaded = config.load_config(written(tmp_path, GOOD + "\n[crossings]\nphoton_weight_hz = 0.5\n"))
    assert loaded.crossings is not None
    assert loaded.crossings.photon_weight_hz == 0.5
    assert loaded.convention == "crossing"


def test_slice_names_are_unique(tmp_path: Path) -> None:
    part = GOOD[GOOD.index("[[slice]]") :]
    with pytest.raises(TableError, match="'hard' is used twice"):
        config.load_config(written(tmp_path, GOOD + part))


def test_absent_configuration_names_shipped_ones() -> None:
    with pytest.raises(config.ConfigError, match="did you mean 'first'"):
        config.load_config("firsst")


@pytest.mark.parametrize(
    "line",
    [
        "HardQCD:all = on",
        "PhaseSpace:pTHatMin = 20.",
        "softqcd:nonDiffractive on",
        "Beams:eCM = 13600",
        "25:onMode = off",
        "25:onIfMatch = 22 22",
        "StringZ:aLund=-1.5e-2",
    ],
)
def test_settings_of_physics_are_allowed(line: str) -> None:
    assert config.setting_mistake(line) is None


@pytest.mark.parametrize(
    "line",
    [
        "HardQCD:all = on\nBeams:LHEF = /etc/passwd",
        "HardQCD:all = on\n",
        "Beams:LHEF = /etc/passwd",
        "Beams:frameType = 4",
        "SLHA:file = x",
        "Init:plugins = {libx.so::X}",
        "include = x.cmnd",
        "PDF:pSet = LHAPDF6:x",
        "MultipartonInteractions:reuseInit = 2",
        "MultipartonInteractions:initFile = x",
        "Random:seed = 3",
        "Main:numberOfEvents = 1",
        "HardQCD:all = on; x",
        "",
        "HardQCD:all = " + "9" * 1000,
    ],
)
def test_other_settings_do_not_reach_pythia(tmp_path: Path, line: str) -> None:
    assert config.setting_mistake(line)
    file = tmp_path / "c.toml"
    file.write_text(GOOD.replace('"HardQCD:all = on"', json.dumps(line)))
    with pytest.raises(TableError, match="settings: "):
        config.load_config(file)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("blocks = ", "blocks = 9223372036854775808 #"),
        ("blocks = ", "uses = 1000\nblock_size = 1000000\nblocks = 100000 #"),
        ("luminosity_cm2s = ", "luminosity_cm2s = 1e38 #"),
        ("luminosity_cm2s = ", "crossing_rate_hz = 1e-300\nluminosity_cm2s = "),
        ("luminosity_cm2s = ", "luminosity_cm2s = nan #"),
        ("seed = ", "seed = -1 #"),
        ("probability = ", "slope = 1e308\nprobability = "),
        ('name = "', 'name = "a\\n" #'),
    ],
)
def test_numbers_that_no_run_could_use_are_refused(tmp_path: Path, old: str, new: str) -> None:
    assert old in GOOD
    file = tmp_path / "c.toml"
    file.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(TableError):
        config.load_config(file)


def test_shipped_configurations_are_within_the_bounds() -> None:
    assert all(config.load_config(name).interactions > 0 for name in config.shipped())
