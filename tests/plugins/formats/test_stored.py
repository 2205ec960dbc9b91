"""Stored decisions as triggers: those that the formats read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from toys import menu_from

from trigemu import Catalogue, catalogue_of, decisions

COLUMNS = {"HLT_A": [1, 0, 2], "L1_B": [False, True, True], "fired": [True, True, False]}


def fired(folder: Path, catalogue: Catalogue, names: tuple[str, ...]) -> list[list[bool]]:
    """The decisions of triggers, which are those that the format reads."""
    triggers = (f"[[trigger]]\nname = '{n}'\nkind = 'stored'\ndecision = '{n}'\n" for n in names)
    result = decisions(menu_from(folder, "".join(triggers)), catalogue)
    (sample,) = catalogue.samples
    read = sample.sources[0].read_stored(0, sample.entries, names)
    assert {name: column.tolist() for name, column in result.items()} == {n: read[n].tolist() for n in names}
    return [column.tolist() for column in result.values()]


def test_parquet(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    pq.write_table(pa.table({**COLUMNS, "met": [1.0, 2.0, 3.0]}), tmp_path / "p" / "a.parquet")
    result = fired(tmp_path, catalogue_of(tmp_path / "p"), tuple(COLUMNS))
    assert result == [[bool(value) for value in column] for column in COLUMNS.values()]
