"""Projects of hls4ml: against their own C++, against the scores of AXOL1TL and CICADA, and damaged."""

from __future__ import annotations

import re
import shutil
import subprocess
from contextlib import suppress
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from ap_fixed import score_of
from hls4ml_toys import FILES, PARAMETERS, TOP, write_project
from hypothesis import given, settings, strategies as st
from real_data import real_file

from trigemu import TrigemuError
from trigemu_anomaly import integer_file, open_model
from trigemu_hls4ml import read_project

RANDOM = np.random.default_rng(39)
EVENTS = np.concatenate([RANDOM.normal(0, 9, (600, 3)), RANDOM.normal(0, 0.5, (400, 3))]).astype(np.float32)
MAIN = """\
#include "toy.cpp"
#include <cstdio>
int main() {
    double x[3];
    while (std::scanf("%lf %lf %lf", x, x + 1, x + 2) == 3) {
        input_t in[3] = {x[0], x[1], x[2]};
        result_t out[1];
        toy(in, out);
        std::printf("%.17g\\n", out[0].to_double());
    }
}
"""


def scores(folder: Path, events: np.ndarray) -> np.ndarray:
    return open_model(integer_file.written(read_project(folder)), events.shape[1]).score(events)


def test_scores_are_those_of_its_cpp(tmp_path: Path) -> None:
    package = find_spec("hls4ml")
    if package is None or package.origin is None or not shutil.which("g++"):
        pytest.skip("needs g++ and the headers of hls4ml")
    headers = Path(package.origin).parent / "templates" / "vivado"
    project = write_project(tmp_path / "project")
    (project / "main.cpp").write_text(MAIN)
    command = ["g++", "-O1", "-w", "-std=c++17", f"-I{headers}", f"-I{headers / 'ap_types'}", "-Iweights"]
    subprocess.run([*command, "main.cpp", "-o", "toy"], cwd=project, check=True, timeout=120)
    (project / "main.cpp").unlink()
    text = "\n".join(" ".join(map(str, event)) for event in EVENTS.tolist())
    said = subprocess.run(["./toy"], cwd=project, input=text, capture_output=True, text=True, check=True)
    expected = np.array(said.stdout.split(), np.float64)
    assert len(set(expected.tolist())) > 100
    np.testing.assert_array_equal(scores(project, EVENTS), expected)


def test_scores_are_those_of_exact_arithmetic(tmp_path: Path) -> None:
    project = write_project(tmp_path)
    network = read_project(project)
    expected = [float(score_of(network, [Fraction(float(x)) for x in event])) for event in EVENTS[:60]]
    assert scores(project, EVENTS[:60]).tolist() == expected


def test_weights_as_text(tmp_path: Path) -> None:
    before = scores(write_project(tmp_path / "a"), EVENTS)
    project = write_project(tmp_path / "b", w2="weight2_t w2[12];\n")
    values = re.search(r"\{(.*)\}", FILES["weights/w2.h"])
    assert values
    (project / "weights" / "w2.txt").write_text(values[1])
    np.testing.assert_array_equal(scores(project, EVENTS), before)


@pytest.mark.parametrize("version", ["v3", "v4", "v5"])
def test_axol1tl(version: str) -> None:
    """On all 20 000 inputs; ET and pT are halved as integers."""
    folder = real_file("axol1tl")
    x = np.loadtxt(folder / "inputs.txt.xz", np.float32)
    x[:, ::3] = np.floor(x[:, ::3] / 2)
    expected = np.loadtxt(folder / f"scores_{version}.txt.xz")
    np.testing.assert_array_equal(scores(folder / version, x) * 16, expected)


def test_cicada() -> None:
    folder = real_file("cicada")
    x = np.loadtxt(folder / "inputs.txt.xz", np.float32)
    expected = np.loadtxt(folder / "scores_v2p2p0_x256.txt.xz")
    np.testing.assert_array_equal(scores(folder / "v2p2p0", x) * 256, expected)


def first(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


def top(old: str, new: str) -> dict[str, str]:
    return {"toy": first(TOP, old, new)}


def parameters(old: str, new: str) -> dict[str, str]:
    return {"parameters": first(PARAMETERS, old, new)}


STREAM = top("input_t input_1[N_INPUT_1_1],", "hls::stream<input_t> &input_1,")
ONES = ", 1" * 10


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"toy": None}, "no function with layers"),
        (top("nnet::relu<", "nnet::softmax<"), r"toy.cpp:\d+: the layer nnet::softmax is not known: add, "),
        (top("(layer2_out, layer3_out)", "(layer9_out, layer3_out)"), "'layer9_out' is not computed before"),
        (top("relu_config3>", "relu_config4>"), "no struct relu_config4 : nnet::activ_config"),
        (top("layer3_out[N_LAYER_2]", "layer3_out[3]"), "'layer3_out' has 3 numbers, its layer computes 4"),
        (top("layer4_t, config4", "layer99_t, config4"), "the type 'layer99_t'"),
        (STREAM, "0 inputs and 1 outputs"),
        ({"w2": None}, r"toy.cpp:\d+: no weights 'w2' .known: b2"),
        ({"w2": "weight2_t w2[12] = {1, 2};"}, r"w2.h:1: has 2 values, declared 12: expected 12"),
        ({"w2": f"weight2_t w2[12] = {{1, x{ONES}}};"}, "'x' is not a number"),
        ({"w2": f"weight2_t w2[12] = {{1, nan{ONES}}};"}, "values that are not finite"),
        (parameters("nnet::latency", "nnet::unrolled"), "the strategy 'unrolled' is not known"),
        (parameters("n_in = 4;", "n_in = 5;"), "relu_config3 reads 5 numbers, 'layer2_out' has 4"),
        (parameters("n_in = N_INPUT_1_1;", "n_in = N_9;"), "cannot read the number 'N_9'"),
        (parameters("typedef sums4_t accum_t;", ""), "the configuration lacks the type accum_t"),
    ],
)
def test_what_does_not_fit(tmp_path: Path, changed: dict[str, str], message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        read_project(write_project(tmp_path, **changed))


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(TrigemuError, match="has 0 files of C"):
        read_project(tmp_path)


DAMAGE = st.tuples(
    st.sampled_from([*FILES]),
    st.integers(0, 5000),
    st.integers(0, 40),
    st.sampled_from([*"{};<>[0-é\0", "", "/*", "*/", "9" * 30, "struct x : nnet::y {"]),
)


@settings(max_examples=150, deadline=10_000)
@given(st.lists(DAMAGE, min_size=1, max_size=3))
def test_damaged_files_give_a_network_or_a_message(
    tmp_path_factory: pytest.TempPathFactory, damage: list[tuple[str, int, int, str]]
) -> None:
    texts = dict(FILES)
    for name, at, length, put in damage:
        text = texts[name]
        at %= len(text)
        texts[name] = text[:at] + put + text[at + length :]
    folder = tmp_path_factory.mktemp("damaged")
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    with suppress(TrigemuError):
        scores(folder, EVENTS[:5])


@pytest.mark.parametrize(
    "text",
    [
        "/*" * 400_000,
        "static const int a = " * 50_000,
        "typedef " * 100_000,
        "a b[1] = {" * 50_000,
        "void f(" * 100_000,
        "#define N_INPUT_1_1 n0\n" + "".join(f"#define n{i} n{i + 1}*n{i + 1}\n" for i in range(400)),
    ],
)
def test_long_nonsense_is_read_in_time(tmp_path: Path, text: str) -> None:
    write_project(tmp_path, defines=text)
    with pytest.raises(TrigemuError):
        read_project(tmp_path)
