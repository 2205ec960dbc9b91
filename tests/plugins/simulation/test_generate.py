from __future__ import annotations

import hashlib
import math
import shutil
import tomllib
from pathlib import Path

import awkward as ak
import msgspec
import numpy as np
import pytest
import uproot
from click.testing import CliRunner
from trigemu_simulation import Config, ConfigError, generate, pools
from trigemu_simulation.cli import generate as command

from trigemu import open_catalogue
from trigemu.api import MissingExtraError

FILES = ["catalogue.toml", "hard.root", "soft.root"]


def digests(folder: Path) -> dict[str, str]:
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in FILES}


def test_catalogue_and_files_agree(sample: Path) -> None:
    catalogue = tomllib.loads((sample / "catalogue.toml").read_text(encoding="utf-8"))
    for entry in catalogue["sample"]:
        path = sample / entry["files"][0]
        assert entry["sha256"] == [hashlib.sha256(path.read_bytes()).hexdigest()]
        with uproot.open(path) as file:
            events, runs = file["Events"].arrays(), file["Runs"].arrays()
        assert ak.sum(runs.genEventSumw) == pytest.approx(ak.sum(events.genWeight), rel=0.01)  # rounded
        assert ak.sum(runs.genEventSumw2) == pytest.approx(ak.sum(events.genWeight**2))
    soft, hard = catalogue["sample"]
    assert (soft["rate_hz"], ak.sum(runs.genEventCount)) == (40e6, len(events))
    # 56.4 mb, of which most interactions have a smaller p̂T than the largest of the slice
    assert 0.5 * 1.41 < catalogue["catalogue"]["mean_interactions"] < 1.01 * 1.41
    assert (hard["filter_efficiency"], hard["k_factor"]) == (1.0, 1.0)


def test_events_are_ordered_and_identified(sample: Path) -> None:
    parents = []
    for name in ("soft", "hard"):
        events = uproot.open(sample / f"{name}.root")["Events"].arrays()
        assert len(np.unique(events.event)) == len(events)
        parents.append(ak.to_numpy(events.parent))
        for kind in ("Jet", "Photon", "Electron", "Muon", "Tau"):
            assert ak.all(events[f"n{kind}"] == ak.num(events[f"{kind}_pt"]))
            assert ak.all(events[f"{kind}_pt"][:, 1:] <= events[f"{kind}_pt"][:, :-1])
            assert ak.all(np.abs(ak.values_astype(events[f"{kind}_phi"], float)) < np.pi)
        assert ak.all(np.abs(events.MET_phi) < np.pi)
        assert ak.all(events.Jet_pt > 20)
        assert ak.all(events.Photon_pt > 10)
        if name == "hard":
            assert ak.sum(events.Photon_fake) > 5
    # one collision may be there twice, with and without a muon from a pion; not those of different slices
    assert not np.intersect1d(*parents).size


def test_interactions_that_are_there_are_used_again(
    tiny: Config, tiny_path: Path, sample: Path, tmp_path: Path
) -> None:
    """For the same configuration, by the command, and for another detector."""
    shutil.copytree(sample, tmp_path / "copy")
    steps: list[int] = []
    tuned = msgspec.structs.replace(
        tiny, fakes=msgspec.structs.replace(tiny.fakes, probability=0.0), luminosity_cm2s=2e33
    )
    generate(tuned, tmp_path / "copy", progress=lambda step, total: steps.append(step))
    assert steps == [tiny.interactions]
    with uproot.open(tmp_path / "copy" / "hard.root") as file:
        assert ak.sum(file["Events/Photon_fake"].array()) == 0
    result = CliRunner().invoke(command, [str(tiny_path), "-o", str(tmp_path / "copy")])
    assert (result.exit_code, result.stdout.strip()) == (0, str(tmp_path / "copy" / "catalogue.toml"))
    assert digests(tmp_path / "copy") == digests(sample)


def crossings_of(tiny: Config) -> Config:
    """The tiny configuration with both slices as background, which share its blocks of interactions."""
    soft, hard = tiny.slices
    hard = msgspec.structs.replace(hard, role="background", require=None, uses=2)
    return msgspec.structs.replace(tiny, slices=[soft, hard])


@pytest.mark.slow
def test_crossings_from_blocks_or_from_scratch(tiny: Config, sample: Path, tmp_path: Path) -> None:
    """The same bytes from blocks of an earlier run and from none, by any number of workers."""
    shutil.copytree(sample / "interactions", tmp_path / "a" / "interactions")
    config = crossings_of(tiny)
    for folder, workers in ((tmp_path / "a", 1), (tmp_path / "b", 2)):
        generate(config, folder, workers=workers)
    assert digests(tmp_path / "a") == digests(tmp_path / "b")
    generate(config, tmp_path / "b")
    assert digests(tmp_path / "a") == digests(tmp_path / "b")


def test_trigemu_reads_crossings_that_add_up(tiny: Config, sample: Path, tmp_path: Path) -> None:
    shutil.copytree(sample / "interactions", tmp_path / "interactions")
    config = crossings_of(tiny)
    catalogue = open_catalogue(generate(config, tmp_path))
    total = []
    for entry in catalogue.background:
        events = entry.read(0, 0, entry.entries, [("photon", "fake"), ("", "n_interaction")])
        total.append(math.fsum(events.weight))
        assert total[-1] == pytest.approx(entry.rate_hz, rel=1e-12)
        assert events.scalars["n_interaction"].dtype == np.int32
    assert math.fsum(total) == pytest.approx(40e6, rel=1e-12)
    classes = [pools.load(config, number, tmp_path / "interactions") for number in range(2)]
    assert catalogue.table.mean_interactions == math.fsum(pools.means(classes, config))


def test_mistakes_leave_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="neither a file nor a shipped configuration"):
        generate("nothing", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot write to"):
        generate("first", tmp_path / "file" / "out")


@pytest.mark.parametrize("package", ["pythia8mc", "fastjet"])
def test_missing_extra(tiny: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    from trigemu_simulation import reconstruct

    reconstruct.fastjet_module.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"'{package}'.*trigemu\[generate\]"):
        generate(tiny, tmp_path / "out", workers=2)
    assert not (tmp_path / "out").exists()
