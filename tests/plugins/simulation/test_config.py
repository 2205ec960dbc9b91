from __future__ import annotations

import json
from pathlib import Path

import pytest
from project import ROOT
from trigemu_simulation import config, pythia

from trigemu import open_catalogue, read_menu
from trigemu.base.toml import TableError

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


@pytest.mark.parametrize(
    "name",
    ["first", *(pytest.param(name, marks=pytest.mark.slow) for name in config.shipped() if name != "first")],
)
def test_shipped_configurations_load(name: str) -> None:
    """And Pythia, which takes half a second for each slice, knows their settings."""
    loaded = config.load_config(name)
    assert (loaded.name, loaded.interactions > 0) == (name, True)
    for part in loaded.slices:
        pythia.check(part)
    with pytest.raises(config.ConfigError, match=f"did you mean '{name}'"):
        config.load_config(f"{name}s")


def test_path_and_defaults(tmp_path: Path) -> None:
    loaded = config.load_config(written(tmp_path, GOOD))
    assert loaded.interactions == 2 * loaded.slices[0].block_size
    crossings = config.load_config(written(tmp_path, GOOD + "\n[crossings]\nphoton_weight_hz = 0.5\n"))
    assert crossings.crossings.photon_weight_hz == 0.5


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("blocks = 2", "block = 2", [":13: [[slice]]: unknown key 'block'; did you mean 'blocks'?"]),
        ("seed = 1", "sead = 1", [":3: unknown key 'sead'; did you mean 'seed'?", "'seed' is missing"]),
        ("probability = 1e-3", "p = 1", [":7: unknown key 'p'", "softness"]),
        ("blocks = 2", 'blocks = "2"', [":13: [[slice]]: blocks = '2'", "an integer"]),
        ("blocks = 2", "blocks = 0", [":9", "at least 1 of blocks"]),
        ("probability = 1e-3", "power = 1.0", [":6: the key 'probability' is missing"]),
        ("seed = 1", "seed = 1\nconvention = 'x'", [":4: unknown key 'convention'"]),
        ("[fakes]", "[crossings]\nbusy = 1\n[fakes]", [":7: unknown key 'busy'", "busy_factor"]),
        ("[fakes]", "[crossings]\nbusy_fraction = 1\n[fakes]", ["crossings.busy_fraction = 1", "< 1"]),
        (
            "[fakes]",
            "[[slice]]\nname='m'\ndescription=''\nmuons_of='x'\n[fakes]",
            ["muons_of = 'x'", "a slice above"],
        ),
        ("blocks = 2", "", ["slice 'hard' needs settings of Pythia and at least 1 of blocks"]),
        (
            "[fakes]",
            "[crossings]\nbusy_fraction = 0.5\nbusy_factor = 3\n[fakes]",
            [":8: busy_factor = 3", "must not exceed 1"],
        ),
        ("blocks = 2", "blocks = 2\nrole = 'signal'", ["role 'background'"]),
        ('name = "hard"', 'name = "../hard"', [":10: [[slice]]: name = '../hard'"]),
        ("blocks = 2", f"blocks = 2\n{GOOD[GOOD.index('[[slice]]') :]}", ["'hard' is used twice"]),
        ("seed = 1", "seed = ", ["not valid TOML", "line 3"]),
        ("1e-3", "1e-3\nsoftness = 0", [":8: fakes.softness = 0", "> 0"]),
        # numbers that no run could use
        ("luminosity_cm2s = ", "luminosity_cm2s = 1e38 #", [":4: luminosity_cm2s = 1e+38"]),
        ('name = "', 'name = "a\\n" #', [":2: name = "]),
        (
            "blocks = 2",
            "blocks = 2\nmuons = 'some'",
            [":14: [[slice]]: muons = 'some'", "'drop' or 'keep' or 'only'"],
        ),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, parts: list[str]) -> None:
    path = written(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(TableError) as error:
        config.load_config(path)
    for part in [str(path), *parts]:
        assert part in str(error.value)


def test_a_variant_of_a_shipped_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten times as many interactions at another luminosity; a file with the name of the base is not read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "embedded").write_text("nothing")
    file = tmp_path / "more.toml"
    file.write_text('name = "more"\nbase = "embedded"\nluminosity_cm2s = 2e34\ntimes = 10\n')
    more = config.load_config(file)
    (tmp_path / "embedded").unlink()
    base = config.load_config("embedded")
    assert (more.name, more.luminosity_cm2s, more.seed) == ("more", 2e34, base.seed)
    assert more.interactions == 10 * base.interactions
    assert more.crossings.photon_weight_hz == pytest.approx(base.crossings.photon_weight_hz / 10)
    assert more.crossings.busy_factor == base.crossings.busy_factor
    file.write_text('name = "more"\nbase = "more.toml"\n')
    with pytest.raises(
        TableError, match=r":2: base = 'more.toml': expected a shipped configuration: embedded, first"
    ):
        config.load_config(file)


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
        "Top:qq2tq(x) = on",
        "",
        "HardQCD:all = " + "9" * 1000,
    ],
)
def test_other_settings_than_of_physics_do_not_reach_pythia(tmp_path: Path, line: str) -> None:
    for allowed in ("softqcd:nonDiffractive on", "25:onIfMatch = 22 22", "Top:qq2tq(t:W) = on"):
        assert config.setting_mistake(allowed) is None
    assert config.setting_mistake(line)
    file = tmp_path / "c.toml"
    file.write_text(GOOD.replace('"HardQCD:all = on"', json.dumps(line)))
    with pytest.raises(TableError, match="settings: "):
        config.load_config(file)


def test_a_menu_is_no_configuration() -> None:
    with pytest.raises(TableError, match="this is a menu, not a configuration of simulated samples: "):
        config.load_config(ROOT / "menus" / "primary.toml")


def test_a_configuration_is_neither_menu_nor_catalogue() -> None:
    file = ROOT / "plugins" / "trigemu_simulation" / "configs" / "embedded.toml"
    for read, case in ((read_menu, "a menu"), (open_catalogue, "a catalogue of samples")):
        with pytest.raises(TableError, match=f"this is a configuration of simulated samples, not {case}"):
            read(file)  # type: ignore[operator]


def test_the_embedded_sample_was_made_with_the_configuration_that_is_shipped() -> None:
    slices = {part.name for part in config.load_config("embedded").slices}
    assert slices == {sample.name for sample in open_catalogue().samples}
