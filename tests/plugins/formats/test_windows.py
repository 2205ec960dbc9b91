"""Parquet files with row groups too large to keep are read in windows."""

from __future__ import annotations

from pathlib import Path

import awkward as ak
import numpy as np
import pytest

from trigemu.samples.formats.decoded import cached_bytes
from trigemu_formats import parquet
from trigemu_formats.parquet import Parquet

N = 1000


def test_parts_too_large_to_keep_are_read_in_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "CHUNK_EVENTS", 70)
    monkeypatch.setattr(parquet, "WINDOW_BYTES", 1)
    random = np.random.default_rng(1)
    counts, met = random.integers(0, 4, N), random.random(N)
    pt, eta = (ak.unflatten(random.random(counts.sum()).astype("f4"), counts) for _ in range(2))
    pt = -np.sort(-pt)
    jets = ak.zip({"pt": pt, "eta": eta})
    ak.to_parquet(ak.zip({"jet": jets, "met": met}, depth_limit=1), tmp_path / "a")
    source = Parquet(str(tmp_path / "a"))
    for start in (0, 50, 300, 350, 940):
        part = source.read(start, start + 50, [("jet", "pt"), ("jet", "eta"), ("", "met")])
        np.testing.assert_array_equal(part.scalars["met"], met[start : start + 50])
        for name, column in (("pt", pt), ("eta", eta)):
            requested = ak.to_numpy(ak.flatten(column[start : start + 50]))
            np.testing.assert_array_equal(part.collections["jet"].columns[name], requested)
        assert 0 < cached_bytes() < 15_000
