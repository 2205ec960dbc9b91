from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest
from trigemu_simulation import INTERACTIONS, Config, blocks, pythia


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*.npz")}


@pytest.mark.slow
def test_two_workers_after_an_interruption(tiny: Config, sample: Path, tmp_path: Path) -> None:
    """Blocks deleted, foreign or half-written are made again, others kept: same bytes in the end."""
    original = sample / INTERACTIONS
    folder = tmp_path / "blocks"
    shutil.copytree(original, folder)
    (folder / "soft" / "00001.npz").unlink()
    (folder / "hard" / "00000.npz").write_bytes(b"half-writ")
    (folder / "hard" / "00002.npz").unlink()
    (folder / "hard" / ".00002.npz.1.tmp").write_bytes(b"half-writ")
    remaining = folder / "hard" / "00001.npz"
    before = remaining.stat().st_mtime_ns
    steps: list[int] = []
    blocks.make_all(tiny, folder, 2, lambda step, total: steps.append(step))
    assert contents(folder) == contents(original)
    assert remaining.stat().st_mtime_ns == before
    assert steps[0] == 40 + 25
    assert sum(steps) == tiny.interactions


def test_what_changes_the_key(tiny: Config, tmp_path: Path) -> None:
    def keys(config: Config) -> list[str]:
        return [t.key for t in blocks.tasks(config, tmp_path)]

    def changed(**fields: object) -> Config:
        part = msgspec.structs.replace(tiny.slices[0], **fields)
        return msgspec.structs.replace(tiny, slices=[part, *tiny.slices[1:]])

    original = keys(tiny)
    assert len(set(original)) == 5
    assert keys(changed(blocks=3))[:2] == original[:2]
    assert keys(changed(k_factor=3.0, description="other")) == original
    assert keys(changed(pt_hat_max=11.0))[0] != original[0]
    assert keys(changed(block_size=41))[0] != original[0]
    assert keys(msgspec.structs.replace(tiny, seed=8))[0] != original[0]


def test_cuts_and_sums(tiny: Config, sample: Path) -> None:
    soft, hard = (list(blocks.read_all(tiny, part, sample / INTERACTIONS)) for part in tiny.slices)
    assert len(soft) == 2
    assert len(hard) == 3
    for block in soft + hard:
        weight = block.interactions.scalars["weight"]
        assert len(weight) == block.summary.accepted
        assert weight.sum() == pytest.approx(block.summary.sumw)
        assert (weight**2).sum() == pytest.approx(block.summary.sumw2)
    assert max(b.interactions.scalars["pt_hat"].max() for b in soft) < 10
    assert 0 < sum(len(np.unique(b.interactions.scalars["origin"])) for b in soft) < 80
    assert all(b.summary.generated == b.summary.accepted == 25 for b in hard)
    assert all(b.summary.cross_section_error_pb > 0 for b in hard)
    assert not np.array_equal(hard[0].interactions.scalars["weight"], hard[1].interactions.scalars["weight"])


def test_prompt_photon_cut(tiny: Config, tmp_path: Path) -> None:
    part = msgspec.structs.replace(
        tiny.slices[0],
        settings=["PromptPhoton:all = on", "PhaseSpace:pTHatMin = 15."],
        pt_hat_max=None,
        prompt_photon_pt_hat_max=20.0,
    )
    (task, *_) = blocks.tasks(msgspec.structs.replace(tiny, slices=[part]), tmp_path)
    block = blocks.make(task)
    assert 0 < block.summary.accepted < block.summary.generated
    assert block.interactions.scalars["pt_hat"].max() < 20


def test_an_error_of_a_worker_arrives(tiny: Config, tmp_path: Path) -> None:
    """And a wrong setting is found before any work."""
    for setting, message, workers in (
        ("HardQCD:al = on", "'HardQCD:al = on'", 1),
        ("PhaseSpace:pTHatMin = 20.", "switch a process on", 2),
    ):
        part = msgspec.structs.replace(tiny.slices[1], settings=[setting])
        wrong = msgspec.structs.replace(tiny, slices=[part])
        with pytest.raises(pythia.GeneratorError, match=rf"slice 'hard'.*{message}"):
            blocks.make_all(wrong, tmp_path, workers, None)
    assert not list(tmp_path.rglob("*.npz"))


@pytest.mark.slow
def test_jet_cross_section_above_100_gev(tiny: Config, tmp_path: Path) -> None:
    """Leading jet pT > 100 GeV: about 2.0 µb in another setup of Pythia and FastJet, known to some 10 %."""
    settings = [s.replace("50.", "40.") for s in tiny.slices[1].settings]
    part = msgspec.structs.replace(tiny.slices[1], settings=settings, block_size=700)
    block = blocks.make(blocks.tasks(msgspec.structs.replace(tiny, slices=[part]), tmp_path)[0])
    jets = block.interactions.objects["jet"]
    event = np.repeat(np.arange(len(block.interactions)), jets.counts)
    passed = np.bincount(event[jets.columns["pt"] > 100], minlength=len(jets.counts)) > 0
    weight = block.interactions.scalars["weight"]
    scale = block.summary.cross_section_pb / 1e6 / block.summary.sumw
    value = scale * weight[passed].sum()
    error = scale * np.sqrt((weight[passed] ** 2).sum())
    assert error < 0.12 * value
    assert value == pytest.approx(2.0, abs=0.2 + 2.5 * error)
