"""Files in baskets, clusters and row groups of any size: a pass decodes each once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot
from toys import menu_from

import trigemu
from trigemu.base.mapping import Engine
from trigemu.samples.source import Source

N = 1000
MENU = """
[[trigger]]
name = "J"
kind = "threshold"
observable = "jet[0].pt"
above = 0.5

[[trigger]]
name = "E"
kind = "threshold"
observable = "jet[1].eta"
above = 0.5

[[trigger]]
name = "M"
kind = "threshold"
observable = "met"
above = 0.5
"""


def columns() -> dict[str, Any]:
    random = np.random.default_rng(1)
    counts = random.integers(0, 4, N)
    jet = {name: ak.unflatten(random.random(counts.sum()).astype("f4"), counts) for name in ("pt", "eta")}
    return {"Jet": ak.zip({"pt": -np.sort(-jet["pt"]), "eta": jet["eta"]}), "MET_pt": random.random(N)}


def _tree(path: Path, step: int) -> Path:
    written = columns()
    with uproot.recreate(path, compression=uproot.ZSTD(1)) as file:
        names = {"counter_name": lambda n: f"n{n}", "field_name": lambda a, b: f"{a}_{b}"}
        file.mktree("Events", {"Jet": written["Jet"].type.content, "MET_pt": "f8"}, **names)
        for start in range(0, N, step):
            file["Events"].extend({name: c[start : start + step] for name, c in written.items()})
    return path


def _rntuple(path: Path, step: int) -> Path:
    written = columns()
    jet = written["Jet"]
    flat = {"nJet": ak.to_numpy(ak.num(jet)).astype("i4"), "Jet_pt": jet.pt, "Jet_eta": jet.eta}
    flat["MET_pt"] = written["MET_pt"]
    with uproot.recreate(path, compression=uproot.ZSTD(1)) as file:
        ntuple = file.mkrntuple("Events", {name: c[:step] for name, c in flat.items()})
        for start in range(step, N, step):
            ntuple.extend({name: c[start : start + step] for name, c in flat.items()})
    return path


@pytest.mark.parametrize("write", [_tree, _rntuple])
@pytest.mark.parametrize("step", [N, 300, 100])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_pass_decompresses_each_block_once(
    write: Any, step: int, workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And gives the rates of what was written. uproot calls a hook before each block that it decompresses."""
    path, menu = write(tmp_path / "a.root", step), menu_from(tmp_path, MENU)
    whole = trigemu.run(menu, trigemu.events_from_awkward(ak.zip(columns(), depth_limit=1)))
    samples = trigemu.open_catalogue(path)
    assert samples.samples[0].schema.scalars  # the header and the descriptions of columns are decompressed
    blocks: Counter[int] = Counter()

    def counted(*, cursor: Any, **_: Any) -> None:
        blocks[cursor.index] += 1

    monkeypatch.setattr(uproot.compression.decompress, "hook_before_block", counted)
    result = trigemu.run(menu, samples, executor=Engine(chunk_events=100, workers=workers))
    for name in ("J", "E", "M"):
        assert result[name].total.events == whole[name].total.events > 0
    assert blocks
    assert set(blocks.values()) == {1}


def test_tasks_of_a_basket_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A basket with more events than a task has is decoded again for the next task."""
    samples = trigemu.open_catalogue(_tree(tmp_path / "a.root", N))
    ranges = list[tuple[int, int]]()
    read = Source.columns

    def counted(self: Any, start: int, stop: int, needs: Any) -> Any:
        ranges.append((start, stop))
        return read(self, start, stop, needs)

    monkeypatch.setattr(Source, "columns", counted)
    trigemu.run(menu_from(tmp_path, MENU), samples, executor=Engine(chunk_events=30, workers=1))
    assert ranges == [(0, 480), (480, 960), (960, 1000)]
