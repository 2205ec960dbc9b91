"""Score tables, whose rates are summed from their columns; those of spoilt ones have checksums that fit."""

from __future__ import annotations

import io
import json
import math
import tempfile
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fuzzing.edits import NUMBERS, byte_edits, places, table_edits
from fuzzing.formats.base import Files, Format, close, command
from fuzzing.formats.menus import sample_files
from fuzzing.tables import as_json

MENU = """
[menu]
name = "toy"

[[trigger]]
name = "J"
kind = "threshold"
observable = "jet[0].pt"
above = 30

[[trigger]]
name = "HT"
kind = "threshold"
observable = "ht"
above = 70
group = "x"

[[trigger]]
name = "MU"
kind = "combination"
legs = [{ object = "muon" }]
seed = "J"
"""
BUDGET = MENU.replace("above = 70", "total_rate_hz = 5e6")
_THRESHOLDS = {"J": 30.0, "HT": 70.0}
_KEY = b"trigemu_scores"
_FLOATS = tuple(float(n) for n in NUMBERS if isinstance(n, float) or abs(n) < 2**70)
_PLAIN = ("sample", "id", "parent", "half", "stratum", "weight")


def catalogue_files() -> dict[str, bytes]:
    """Return the background, and a signal of the same events."""
    files = sample_files()
    signal = b'\n[[sample]]\nname = "s"\nrole = "signal"\nfiles = ["all.root"]\n'
    return {**files, "catalogue.toml": files["catalogue.toml"] + signal}


@cache
def score_table() -> bytes:
    """Return a valid table."""
    import trigemu

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder, {**catalogue_files(), "menu.toml": MENU.encode()})
        catalogue = trigemu.open_catalogue(folder / "catalogue.toml")
        vary = {"J": (20.0, 60.0), "HT": (50.0, 100.0)}
        made = trigemu.score_table(folder / "menu.toml", catalogue, vary=vary, signals="s")
        trigemu.write_scores(folder / "scores.parquet", made, "1")
        return (folder / "scores.parquet").read_bytes()


def _write(folder: Path, files: Files) -> None:
    for name, content in files.items():
        (folder / name).write_bytes(content)


def with_columns(change: Callable[[Any], Any]) -> bytes:
    """Return the table after a change of what pyarrow reads."""
    import pyarrow.parquet as pq

    stream = io.BytesIO()
    pq.write_table(change(pq.read_table(io.BytesIO(score_table()))), stream)
    return stream.getvalue()


def with_metadata(about: bytes) -> bytes:
    return with_columns(lambda table: table.replace_schema_metadata({_KEY: about}))


def metadata() -> Any:
    import pyarrow.parquet as pq

    return json.loads(pq.read_schema(io.BytesIO(score_table())).metadata[_KEY])


def with_value(name: str, place: float, value: float, rows: str = "one") -> bytes:
    """Return the table with a number in one or all rows of a column."""
    import pyarrow as pa

    def changed(table: Any) -> Any:
        values = table[name].to_numpy().copy()
        if values.dtype.kind in "iu":
            limits = np.iinfo(values.dtype)
            kept: Any = int(max(limits.min, min(limits.max, value))) if value == value else limits.max
        else:
            kept = value
        values[int(place * len(values)) if rows == "one" else slice(None)] = kept
        return table.set_column(table.column_names.index(name), table.schema.field(name), pa.array(values))

    return with_columns(changed)


def with_offer(trigger: str, low: float, high: float) -> bytes:
    """Return the table with another range of thresholds."""
    about = metadata()
    about["offers"][trigger] = [low, high]
    return with_metadata(as_json(about))


def with_shape(what: str, name: str, other: str) -> bytes:
    """Return the table with a spoilt column, or with other rows."""
    import pyarrow as pa

    def changed(table: Any) -> Any:
        at = table.column_names.index(name)
        if what == "remove":
            return table.drop_columns(name)
        if what == "twice":
            return table.append_column(name, table[name])
        if what == "rename":
            return table.rename_columns([other if n == name else n for n in table.column_names])
        if what == "null":
            values = table[name].to_pylist()
            values[len(values) // 2] = None
            return table.set_column(at, name, pa.array(values, table.schema.field(name).type))
        if what == "text":
            return table.set_column(at, name, pa.array([str(v) for v in table[name].to_pylist()]))
        if what == "float":
            return table.set_column(at, name, pa.array(np.linspace(-1, 1, len(table))))
        if what == "list":
            return table.set_column(at, name, pa.array([[1.0]] * len(table)))
        if what == "half":
            return table.slice(0, len(table) // 2)
        if what == "none":
            return table.slice(0, 0)
        return pa.concat_tables([table, table])

    return with_columns(changed)


_SHAPES = ("remove", "twice", "rename", "null", "text", "float", "list", "half", "none", "double")


def _cases() -> st.SearchStrategy[Files]:
    about = metadata()
    names = (*_PLAIN[1:], "score_J", "score_HT")
    further = (*_FLOATS, "J", "HT", "MU", "weight", "score_J", [1e308, -1e308], [-1e308, 1e308], [30.0, 20.0])
    values = st.builds(
        with_value, st.sampled_from(names), places, st.sampled_from(_FLOATS), st.sampled_from(("one", "all"))
    )
    tables = st.one_of(
        *[values] * 3,
        st.builds(with_offer, st.sampled_from(("J", "HT", "MU")), *[st.sampled_from(_FLOATS)] * 2),
        st.builds(
            with_shape,
            st.sampled_from(_SHAPES),
            st.sampled_from((*_PLAIN, "score_J", "fired_MU")),
            st.sampled_from((*_PLAIN, "score_HT", "x")),
        ),
        table_edits(about, further).map(lambda made: with_metadata(as_json(made))),
        table_edits(about, further, most=1).map(lambda made: with_metadata(as_json(made))),
        byte_edits(score_table()),
    )
    ways = st.sampled_from(
        (*["emulate", "explore", "budget"] * 8, "run scan", "run explore", "run calibrate")
    )
    return st.builds(_files, tables, ways)


def _files(table: bytes, way: str) -> Files:
    return {**catalogue_files(), "menu.toml": MENU.encode(), "budget.toml": BUDGET.encode()} | {
        "scores.parquet": table,
        "way": way.encode(),
    }


def case(table: Callable[[], bytes], way: str) -> Files:
    return _files(table(), way)


def _use(folder: Path) -> Any:
    import trigemu
    from trigemu_pages import make_explorer

    way = (folder / "way").read_text()
    given = ("--samples", "catalogue.toml", "--scores", "scores.parquet")
    if way == "run scan":
        return command("scan", "menu.toml", "--trigger", "J", "--values", "20:60:10", *given)
    if way == "run explore":
        return command("explore", "menu.toml", *given, "-o", "page.html")
    if way == "run calibrate":
        return command("calibrate", "budget.toml", *given, "-o", "new.toml")
    menu = trigemu.read_menu(folder / ("budget.toml" if way == "budget" else "menu.toml"))
    scores = trigemu.read_scores(folder / "scores.parquet", menu, folder / "catalogue.toml")
    if way == "explore":
        return make_explorer([menu], scores, "1").html
    return trigemu.rates_of(scores.emulation(menu))


def _twin(folder: Path, made: Any) -> str | None:
    """Sum the weights of the rows above the thresholds, that of each row as a fraction."""
    import pyarrow.parquet as pq

    if (folder / "way").read_text() != "emulate":
        return None
    rows = [r for r in pq.read_table(folder / "scores.parquet").to_pylist() if r["sample"] == "all"]
    for name, threshold in _THRESHOLDS.items():
        expected = float(
            sum((Fraction(r["weight"]) for r in rows if r[f"score_{name}"] > threshold), Fraction())
        )
        found = {t.name: t for t in made.triggers}[name].rates["total"].hz
        if not (math.isfinite(found) and close(found, expected, 1e-9)):
            return f"{name}: {found!r} Hz, expected {expected!r} Hz"
    return ""


FORMAT = Format("score tables", 60, _cases, _use, _twin)
