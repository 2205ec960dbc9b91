from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from trigemu_simulation import interactions
from trigemu_simulation.interactions import Block, Interactions, Objects, Summary

from trigemu import TrigemuError

SUMMARY = Summary(5, 4, 1e9, 1e6, 5.5, 4.5, 4.25)


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
