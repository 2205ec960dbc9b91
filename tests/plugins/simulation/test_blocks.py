from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest
from trigemu_simulation import INTERACTIONS, Config, blocks, interactions, pythia
from trigemu_simulation.interactions import Block, Interactions, Objects, Summary

from trigemu import TrigemuError


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
        assert block.interactions.scalars["weight"].sum() <= block.summary.generated_sumw * (1 + 1e-12)
    assert max(b.interactions.scalars["pt_hat"].max() for b in soft) < 10
    assert 0 < sum(len(np.unique(b.interactions.scalars["origin"])) for b in soft) < 80
    assert all(b.summary.generated == len(b.interactions) == 25 for b in hard)
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
    assert 0 < len(block.interactions) < block.summary.generated
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
    scale = block.summary.cross_section_pb / 1e6 / weight.sum()
    value = scale * weight[passed].sum()
    error = scale * np.sqrt((weight[passed] ** 2).sum())
    assert error < 0.12 * value
    assert value == pytest.approx(2.0, abs=0.2 + 2.5 * error)


SUMMARY = Summary(5, 1e9, 5.5)


def some(seed: int, n: int) -> Interactions:
    rng = np.random.default_rng(seed)
    scalars = {k: rng.random(n).astype(np.float32) for k in interactions.SCALARS}
    scalars["weight"] = scalars["weight"].astype(np.float64)
    scalars["origin"] = np.arange(n, dtype=np.uint32)
    objects = {}
    for kind, extra in interactions.OBJECTS.items():
        counts = rng.integers(0, 4, n)
        columns = {c: rng.random(counts.sum()).astype(np.float32) for c in ("pt", "eta", "phi")}
        columns.update(
            {c: rng.integers(0, 2, counts.sum()).astype(remaining) for c, remaining in extra.items()}
        )
        objects[kind] = Objects(counts, columns)
    return Interactions(scalars, objects)


def assert_equal(a: Interactions, b: Interactions) -> None:
    for name in interactions.SCALARS:
        assert np.array_equal(a.scalars[name], b.scalars[name])
        assert a.scalars[name].dtype == b.scalars[name].dtype
    for kind, objects in a.objects.items():
        assert np.array_equal(objects.counts, b.objects[kind].counts)
        for name, column in objects.columns.items():
            assert np.array_equal(column, b.objects[kind].columns[name])


def test_block_survives_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "new" / "00000.npz"
    path.parent.mkdir()
    rows = some(1, 4)
    path.write_bytes(interactions.packed(Block(SUMMARY, rows), "key"))
    assert interactions.packed(Block(SUMMARY, some(1, 4)), "key") == path.read_bytes()
    block = interactions.load(path)
    assert block.summary == SUMMARY
    assert_equal(block.interactions, rows)


def test_key_of_what_is_no_block(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    assert interactions.key_of(path) is None
    path.write_bytes(interactions.packed(Block(SUMMARY, some(1, 4)), "key"))
    assert interactions.key_of(path) == "key"
    path.write_bytes(path.read_bytes()[:-100])
    assert interactions.key_of(path) is None
    path.write_text("nothing")
    assert interactions.key_of(path) is None


def test_selection_and_concatenation_are_inverse() -> None:
    rows = some(2, 9)
    cut = np.arange(9) < 4
    assert_equal(Interactions.joined([rows.of(cut), rows.of(~cut)]), rows)


def test_where_drops_single_objects() -> None:
    jets = Objects(np.array([2, 0, 1]), {"pt": np.array([30.0, 10.0, 40.0])})
    hard = jets.where(jets.columns["pt"] > 20)
    assert hard.counts.tolist() == [1, 0, 1]
    assert hard.columns["pt"].tolist() == [30.0, 40.0]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"header": np.array("{")}, "is damaged"),
        ({"header": np.array("[]")}, "is damaged"),
        ({"header": np.array('{"key": 1}')}, "is damaged: Expected `str`"),
    ],
)
def test_a_damaged_block_is_named(
    tmp_path: Path, changed: dict[str, np.ndarray | None], message: str
) -> None:
    path = tmp_path / "x.npz"
    path.write_bytes(interactions.packed(Block(SUMMARY, some(1, 4)), "key"))
    with np.load(path) as file:
        arrays = dict(file) | changed
    np.savez(path, **arrays)
    with pytest.raises(TrigemuError, match=message):
        interactions.load(path)
