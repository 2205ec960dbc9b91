"""Fixed-point numbers against Python's own whole numbers and fractions, and against the ap_fixed headers."""

from __future__ import annotations

import math
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from ap_fixed import by_fractions
from hypothesis import example, given, strategies as st
from trigemu_anomaly.fixed_point import OVERFLOWS, ROUNDINGS, ApFixed

from trigemu import TrigemuError

TYPES = st.builds(
    ApFixed,
    st.integers(1, 63),
    st.integers(-30, 40),
    st.booleans(),
    st.sampled_from(ROUNDINGS),
    st.sampled_from(OVERFLOWS),
)
#: Many are half-way between two words of small types, or on one.
VALUES = st.one_of(
    st.floats(-1e12, 1e12, allow_subnormal=False),
    st.builds(lambda a, b: a * 2.0**b, st.integers(-(2**20), 2**20), st.integers(-24, 24)),
)


@given(TYPES, VALUES)
@example(ApFixed(4, 4, True, "AP_RND_CONV"), 2.5)
@example(ApFixed(4, 4, True, "AP_RND_INF"), -2.5)
@example(ApFixed(4, 4, True, "AP_TRN", "AP_SAT_SYM"), -8.0)
@example(ApFixed(1, 1, True, "AP_TRN", "AP_SAT_SYM"), -3.0)
def test_words_are_those_of_exact_arithmetic(kind: ApFixed, value: float) -> None:
    word, outside = by_fractions(kind, value)
    assert kind.quantise(np.array([value])).tolist() == [word]
    assert kind.overflows(np.array([value])).tolist() == [outside]


def test_text() -> None:
    assert ApFixed.parse(" ap_ufixed< 12 , -2 , AP_RND >") == ApFixed(12, -2, False, "AP_RND")
    assert str(ApFixed(12, 8)) == "ap_fixed<12,8>"
    assert str(ApFixed(12, 8, False, overflow="AP_SAT")) == "ap_ufixed<12,8,AP_TRN,AP_SAT>"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ap_fixed<12>", "expected ap_fixed<WIDTH,INTEGER>"),
        ("ap_fixed<12,8,AP_RND,AP_SAT,1,1>", "expected ap_fixed<WIDTH,INTEGER>"),
        ("ap_fixed<12,8,AP_RND,AP_WRAP,1>", "0 bits that saturate, not 1"),
        ("ap_fixed<0,0>", "1 to 32 bits, not 0"),
        ("ap_fixed<33,8>", "1 to 32 bits, not 33"),
        ("ap_fixed<12,65>", "bits before the point"),
        ("ap_fixed<12,8,AP_ROUND>", "'AP_ROUND'; did you mean 'AP_RND'"),
        ("ap_fixed<12,8,AP_RND,AP_STA>", "'AP_STA'; did you mean 'AP_SAT'"),
    ],
    ids=lambda text: text[:40],
)
def test_what_is_no_type(text: str, message: str) -> None:
    with pytest.raises(TrigemuError) as error:
        ApFixed.parse(text)
    assert message in str(error.value)
    assert len(str(error.value)) < 600


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 1e308])
def test_what_has_no_word(value: float) -> None:
    with pytest.raises(TrigemuError, match="finite"):
        ApFixed(32, 0).quantise(np.array([value]))


def test_columns_are_scaled_by_powers_of_two() -> None:
    kind = ApFixed(8, 4)
    x = np.array([[1.03125, 200.0, 0.3]], np.float32)
    words, outside = kind.quantise_columns(x, (0, -6, 3))
    assert words.tolist() == [[16, 50, 38]]
    assert not outside.any()
    assert kind.quantise_columns(x, (3, -6, 5))[1].tolist() == [[True, False, True]]


HALVES = np.arange(-44, 45) / 4
EDGES = [2.0**k + d for k in range(-12, 12) for d in (-(2.0**-14), 0.0, 2.0**-14)]
PROBES = np.concatenate([HALVES, EDGES, np.negative(EDGES), np.random.default_rng(3).normal(0, 20, 400)])


#: Each mode of several types; fractions above check all pairs. Each takes a compiler a tenth of a second.
KINDS = [
    *(ApFixed(6, 3, True, *modes) for modes in zip(ROUNDINGS, OVERFLOWS * 2, strict=False)),
    *(ApFixed(7, 4, False, rounding, "AP_SAT") for rounding in ROUNDINGS),
    *(ApFixed(*of, "AP_TRN", mode) for of in ((7, 4, False), (1, 1, True)) for mode in OVERFLOWS),
]


def test_words_are_those_of_the_headers(tmp_path: Path) -> None:
    """Numbers and sums of numbers, as conifer's C++ makes them, in all modes."""
    package = find_spec("hls4ml")
    if not shutil.which("g++") or package is None or package.origin is None:
        pytest.skip("needs g++ and hls4ml, which has the headers")
    headers = Path(package.origin).parent / "templates" / "vivado" / "ap_types"
    calls = "\n".join(f"words<{kind}>(x);" for kind in KINDS)
    (tmp_path / "words.cpp").write_text(
        f"""#include "ap_fixed.h"
#include <cstdio>
#include <vector>
void say(double number, double sum) {{ std::printf("%.17g %.17g\\n", number, sum); }}
template <class T> void words(const std::vector<double> &x) {{
  T sum = 0;
  for (double value : x) {{
    T t = value;
    sum = sum + t;
    say(t.to_double(), sum.to_double());
  }}
}}
int main() {{
  std::vector<double> x;
  for (double value; std::scanf("%lf", &value) == 1;) x.push_back(value);
  {calls}
}}
"""
    )
    command = ["g++", "-O0", "-w", "-I", str(headers), "words.cpp", "-o", "words"]
    subprocess.run(command, cwd=tmp_path, check=True)
    inputs = "\n".join(map(repr, PROBES.tolist()))
    run = subprocess.run([str(tmp_path / "words")], input=inputs, capture_output=True, text=True, check=True)
    said = np.array(run.stdout.split(), np.float64).reshape(len(KINDS), len(PROBES), 2)
    for kind, (numbers, sums) in zip(KINDS, said.transpose(0, 2, 1).tolist(), strict=True):
        result = kind.to_float(kind.quantise(PROBES)).tolist()
        assert result == numbers, kind
        total = 0.0
        for value, expected in zip(result, sums, strict=True):
            total = float(kind.to_float(kind.quantise(np.array(total + value))))
            assert total == expected, kind
