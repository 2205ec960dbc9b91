"""Fixed-point types, and numbers in them, against fractions."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from fuzzing.edits import TEXTS, word_edits
from fuzzing.formats.base import Files, Format, differs
from fuzzing.tables import as_json
from trigemu_anomaly import ApFixed

_MODES = ("AP_TRN", "AP_TRN_ZERO", "AP_RND", "AP_RND_ZERO", "AP_RND_INF", "AP_RND_MIN_INF", "AP_RND_CONV")
_ENDS = ("AP_WRAP", "AP_SAT", "AP_SAT_ZERO", "AP_SAT_SYM")


def _cases() -> st.SearchStrategy[Files]:
    plain = st.builds(
        "ap_{}fixed<{},{}{}>".format,
        st.sampled_from(("", "u")),
        st.one_of(st.integers(1, 32), st.sampled_from((0, -1, 33, 10**6, 10**30))),
        st.one_of(st.integers(-40, 40), st.sampled_from((65, -65, 10**9))),
        st.one_of(
            st.just(""),
            st.builds(",{}".format, st.sampled_from(_MODES)),
            st.builds(",{},{}".format, st.sampled_from(_MODES), st.sampled_from(_ENDS)),
        ),
    )
    texts = st.one_of(plain, plain, plain.flatmap(word_edits), st.sampled_from(TEXTS))
    numbers = st.lists(
        st.floats(-1e6, 1e6, width=32) | st.integers(-64, 64).map(lambda n: n / 8), min_size=1, max_size=6
    )
    return st.builds(lambda text, values: {"case": as_json([text, values])}, texts, numbers)


def _use(folder: Path) -> list[float]:
    text, values = json.loads((folder / "case").read_bytes())
    made = ApFixed.parse(text)
    words: list[float] = made.to_float(made.quantise(np.array(values))).tolist()
    return words


def _twin(folder: Path, made: list[float]) -> str:
    text, values = json.loads((folder / "case").read_bytes())
    kind, rest = "".join(text.split()).removesuffix(">").split("<")
    parts = [*rest.split(","), *("", "")][:4]
    width, integer = int(parts[0]), int(parts[1])
    step = Fraction(2) ** (integer - width)
    signed = kind == "ap_fixed"
    exact = [
        _in_type(Fraction(v) / step, parts[2] or "AP_TRN", parts[3] or "AP_WRAP", width, signed)
        for v in values
    ]
    return differs(text, made, [float(word * step) for word in exact])


def _in_type(value: Fraction, mode: str, end: str, width: int, signed: bool) -> int:
    word = _rounded(value, mode)
    low, high = (-(2 ** (width - 1)), 2 ** (width - 1) - 1) if signed else (0, 2**width - 1)
    if end == "AP_SAT_SYM" and signed:
        low = -high
    if low <= word <= high:
        return word
    if end == "AP_SAT_ZERO":
        return 0
    if end != "AP_WRAP":
        return low if word < low else high
    wrapped = word % 2**width
    return wrapped - 2**width if wrapped > high else wrapped


def _rounded(value: Fraction, mode: str) -> int:
    down = value.numerator // value.denominator
    rest = value - down
    if rest == 0 or mode == "AP_TRN":
        return down
    if mode == "AP_TRN_ZERO":
        return down + (value < 0)
    if rest != Fraction(1, 2):
        return down + (rest > Fraction(1, 2))
    up = {"AP_RND": True, "AP_RND_ZERO": value < 0, "AP_RND_INF": value > 0, "AP_RND_MIN_INF": False}
    return down + (up[mode] if mode in up else down % 2 == 1)


FORMAT = Format("fixed-point precisions", 95, _cases, _use, _twin)
