"""Checkpoints whose digests were renewed: what is spoilt is done again, or gives rates that are possible."""

from __future__ import annotations

import hashlib
import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fuzzing.edits import byte_edits, places, table_edits
from fuzzing.formats.base import Files, Format
from fuzzing.formats.menus import sample_files
from fuzzing.formats.scores import BUDGET, MENU
from fuzzing.tables import as_json

_LENGTH = 8
_NUMBERS = (0, 1, -1, 2, 7, 2**31, 2**32, 2**40, 2**62, -(2**63), 2**63 - 1)


def _rates(folder: Path, menu: str) -> Any:
    import trigemu

    engine = trigemu.api.Engine(checkpoint=trigemu.Checkpoint(folder / "kept"), warn=lambda message: None)
    catalogue = trigemu.open_catalogue(folder / "catalogue.toml")
    if menu == "scores":
        vary = {"J": (20.0, 60.0), "HT": (50.0, 100.0)}
        made = trigemu.score_table(folder / "menu.toml", catalogue, vary=vary, executor=engine)
        return trigemu.rates_of(made.emulation())
    return trigemu.rates_of(trigemu.emulate(folder / f"{menu}.toml", catalogue, executor=engine))


def _plain_files() -> dict[str, bytes]:
    return {**sample_files(), "menu.toml": MENU.encode(), "budget.toml": BUDGET.encode()}


@cache
def _kept(way: str) -> dict[str, bytes]:
    """Return the files of a checkpoint."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in _plain_files().items():
            (folder / file).write_bytes(content)
        _rates(folder, way)
        return {file.name: file.read_bytes() for file in sorted((folder / "kept").iterdir())}


def sealed(content: bytes, body: bytes) -> bytes:
    """Return a file of a checkpoint with another result, and the digest of that."""
    magic, head, _ = content.split(b"\n", 2)
    rest = head + b"\n" + body
    return magic[:-64] + hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest


def _cases() -> st.SearchStrategy[Files]:
    parts = []
    for way in ("menu", "budget", "scores"):
        for name, content in _kept(way).items():
            body = content.split(b"\n", 2)[2]
            size = int.from_bytes(body[:_LENGTH], "little")
            head, arrays = body[_LENGTH : _LENGTH + size], body[_LENGTH + size :]
            heads = table_edits(json.loads(head), ("<i8", "<u8", "<f8", "|b1", [1], [0, 8])).map(as_json)
            words = st.lists(st.tuples(places, st.sampled_from(_NUMBERS)), min_size=1, max_size=3)
            bodies = st.one_of(
                heads.map(lambda made, arrays=arrays: len(made).to_bytes(_LENGTH, "little") + made + arrays),
                words.map(lambda edits, b=body[: _LENGTH + size], a=arrays: b + _with_numbers(a, edits)),
                words.map(lambda edits, b=body[: _LENGTH + size], a=arrays: b + _with_numbers(a, edits)),
                byte_edits(body),
            )
            parts.append(
                bodies.map(
                    lambda made, way=way, name=name, content=content: {
                        **_plain_files(),
                        **{f"kept/{other}": of for other, of in _kept(way).items()},
                        f"kept/{name}": sealed(content, made),
                        "way": way.encode(),
                    }
                )
            )
    return st.one_of(parts)


def _with_numbers(arrays: bytes, edits: list[tuple[float, int]]) -> bytes:
    """Return arrays with other numbers of 64 bits."""
    made = np.frombuffer(arrays[: len(arrays) // 8 * 8], "<i8").copy()
    for place, number in edits:
        made[int(place * len(made))] = number
    return made.tobytes() + arrays[len(made) * 8 :]


def with_number(way: str, place: float, number: int) -> Files:
    """Return the files of a case with a number in the arrays of the first kept result."""
    name, content = next(iter(_kept(way).items()))
    body = content.split(b"\n", 2)[2]
    begin = _LENGTH + int.from_bytes(body[:_LENGTH], "little")
    spoilt = body[:begin] + _with_numbers(body[begin:], [(place, number)])
    return {**_plain_files(), f"kept/{name}": sealed(content, spoilt), "way": way.encode()}


def _use(folder: Path) -> Any:
    return _rates(folder, (folder / "way").read_text())


def _twin(folder: Path, made: Any) -> str | None:
    """No rate is above the 40 MHz of the sample, and none is below zero."""
    for trigger in made.triggers:
        if not 0.0 <= (hz := trigger.rates["total"].hz) <= 40e6 * (1 + 1e-9):
            return f"{trigger.name}: {hz!r} Hz"
    return None


FORMAT = Format("kept results", 60, _cases, _use, _twin)
