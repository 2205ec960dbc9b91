"""Rates of columns that hold what the menu reads, with DuckDB."""

from __future__ import annotations

from pathlib import Path

import duckdb
from patterns import Patterns

QUERY = """
SELECT (jet_lead > 100)::INT + 2 * (photon_lead > 30)::INT AS bits, sum(weight) FROM '{path}' GROUP BY bits
"""


def patterns(path: Path, menu: str, threads: int) -> Patterns:
    with duckdb.connect(config={"threads": threads}) as connection:
        return dict(connection.execute(QUERY.format(path=path)).fetchall())
