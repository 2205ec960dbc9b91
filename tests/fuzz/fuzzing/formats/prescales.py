"""CSV files of prescale columns, read by another reader."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import trigemu
from fuzzing.edits import spoilt_words
from fuzzing.formats.base import Files, Format
from fuzzing.formats.menus import PLAIN
from trigemu.menus.prescales import chosen_columns, read_prescales

TABLE = 'name,2.0e34,1.5e34,"of, all"\nT0,7.5,5,1\nT1,1,0,-1\nT2,100,2,3\nT3,1,1,1\nT4,4,2,1\n'


def _cases() -> st.SearchStrategy[Files]:
    whole = spoilt_words(TABLE, ('"', ",", "\n", "T0", "2", "0", "1e308"))
    return whole.map(lambda content: {"prescales.csv": content, "menu.toml": PLAIN.encode()})


def _use(folder: Path) -> dict[str, dict[str, float]]:
    menu = read_prescales(trigemu.read_menu(folder / "menu.toml"), folder / "prescales.csv")
    chosen_columns(menu, ("all",))
    return {t.name: dict(zip(menu.columns.names, t.prescales, strict=True)) for t in menu.triggers}


def _twin(folder: Path, made: dict[str, Any]) -> str:
    text = (folder / "prescales.csv").read_bytes().decode("utf-8-sig")
    rows = [row for row in csv.reader(io.StringIO(text)) if any(cell.strip() for cell in row)]
    titles = next((i for i, row in enumerate(rows) if row[0].strip() == "name"), 0)
    head, *rows = rows[titles:]
    names = [cell.strip() for cell in head[1:]]
    expected = {}
    for name, *cells in rows:
        own = 40e6 / 1000.0 if name.strip() == "T4" else 1.0  # its rate is a prescale too
        expected[name.strip()] = {n: float(cell) * own for n, cell in zip(names, cells, strict=True)}
    return "" if made == expected else f"{made}, expected {expected}"


FORMATS = (Format("CSV", _cases, _use, _twin),)
