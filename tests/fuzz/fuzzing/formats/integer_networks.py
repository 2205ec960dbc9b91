"""Integer networks, and the C++ projects that they are read from; the twin computes in exact fractions."""

from __future__ import annotations

import json
import tempfile
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fuzzing.edits import byte_edits, table_edits, word_edits
from fuzzing.formats.base import Files, Format
from fuzzing.tables import as_json

INPUTS = np.random.default_rng(8).normal(0, 5, (12, 3)).astype(np.float32)


@cache
def network() -> dict[str, Any]:
    """Return the toy project as an integer network."""
    from hls4ml_toys import write_project

    from trigemu_anomaly import integer_file
    from trigemu_hls4ml import read_project

    with tempfile.TemporaryDirectory() as folder:
        read = read_project(write_project(Path(folder)))
    table: dict[str, Any] = json.loads(integer_file.written(read))
    return table


def _networks() -> st.SearchStrategy[Files]:
    numbers = ("ap_fixed<64,2>", "ap_ufixed<3,9,AP_RND>", "input_1", "", 2**63, -1, 7, 0, 1e300)
    few, many = (table_edits(network(), numbers, most=most).map(as_json) for most in (1, 3))
    plain = as_json(network())
    return st.one_of(few, few, many, byte_edits(plain, most=1)).map(lambda content: {"network.json": content})


def _projects() -> st.SearchStrategy[Files]:
    from hls4ml_toys import FILES

    words = (
        "ap_fixed<40,3>",
        "ap_uint<2>",
        "N_LAYER_2",
        "nnet::relu",
        "layer5_out",
        "static",
        "{",
        "};",
        "/*",
    )

    def spoilt(name: str) -> st.SearchStrategy[Files]:
        text = FILES[name]
        spelt = word_edits(text, words).map(lambda of: of.encode("utf-8", "replace"))
        edited = st.one_of(byte_edits(text.encode(), most=2), spelt)
        plain = {other: of.encode() for other, of in FILES.items()}
        return edited.map(lambda content: {**plain, name: content})

    return st.sampled_from([*FILES]).flatmap(spoilt)


def _use_network(folder: Path) -> list[float]:
    from trigemu_anomaly import open_model

    scores: list[float] = open_model((folder / "network.json").read_bytes(), 3).score(INPUTS).tolist()
    return scores


def _use_project(folder: Path) -> list[float]:
    from trigemu_anomaly import integer_file
    from trigemu_hls4ml import read_project

    (folder / "network.json").write_bytes(integer_file.written(read_project(folder)))
    return _use_network(folder)


def _twin(folder: Path, made: list[float]) -> str | None:
    from ap_fixed import score_of

    from trigemu_anomaly.integer_file import read_integer_file

    read = read_integer_file((folder / "network.json").read_bytes())
    for event, found in zip(INPUTS.tolist(), made, strict=True):
        expected = float(score_of(read, [Fraction(x) for x in event]))
        if found != expected:
            return f"{event}: {found!r}, expected {expected!r}"
    return ""


FORMATS = (
    Format("integer networks", 30, _networks, _use_network, _twin),
    Format("hls4ml projects", 30, _projects, _use_project, _twin),
)
