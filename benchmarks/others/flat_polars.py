"""Rates of columns that hold what the menu reads, with polars."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from patterns import Patterns

BITS = (pl.col("jet_lead") > 100).cast(pl.Int64) + 2 * (pl.col("photon_lead") > 30).cast(pl.Int64)


def patterns(path: Path, menu: str, threads: int) -> Patterns:
    sums = pl.scan_parquet(path).group_by(BITS.alias("bits")).agg(pl.col("weight").sum())
    return dict(sums.collect(engine="streaming").rows())
