"""Sealed samples in Parquet and HDF5."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sealing_checks import check_any_change_is_noticed, sealable, small_chunks as small_chunks

from trigemu_formats.challenge import PARTICLES

pytestmark = pytest.mark.usefixtures("small_chunks")


def test_a_folder_of_parquet_files(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for name in ("met", "met_phi"):
        pq.write_table(pa.table({name: np.linspace(0, 3, 1000)}), tmp_path / "a" / f"{name}.parquet")
    check_any_change_is_noticed(sealable(tmp_path / "a", "parquet"))


def test_a_file_of_the_challenge(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file[PARTICLES] = np.ones((20, 19, 4), np.float32)
    check_any_change_is_noticed(sealable(tmp_path / "a.h5", "challenge"))
