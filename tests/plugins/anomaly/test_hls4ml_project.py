"""Projects of hls4ml: against their own C++, against the scores of AXOL1TL and CICADA, and damaged."""

from __future__ import annotations

import re
import shutil
import subprocess
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from ap_fixed import score_of
from hls4ml_toys import ADDERS, FILES, PARAMETERS, SUMS, TOP, write_project, write_sums
from real_data import real_file
from trigemu_anomaly import integer_file
from trigemu_anomaly.hls4ml.project import read_project
from trigemu_anomaly.models import open_model

from trigemu import TrigemuError

RANDOM = np.random.default_rng(39)
EVENTS = np.concatenate([RANDOM.normal(0, 9, (600, 3)), RANDOM.normal(0, 0.5, (400, 3))]).astype(np.float32)
#: Types as they may be written.
CONVERSIONS = [
    *("ap_int<4>", "ap_uint<3>", "ap_int<9>", "ap_fixed<3,0>", "ap_ufixed<3,0>", "ap_fixed<4,-1,AP_RND>"),
    *("ap_fixed<4,7,AP_RND_CONV>", "ap_fixed<6,3,AP_RND,AP_SAT,AP_SAT>"),
    *("ap_ufixed<5,2,AP_RND,AP_SAT,AP_SAT>", "ap_fixed<6,3,AP_TRN_ZERO,AP_SAT_SYM,3>"),
    "ap_fixed<6,3,AP_RND_INF,AP_WRAP,0>",
]
#: Prints all 512 words of a type in each of these, and then the score of each event.
MAIN = """\
#include "toy.cpp"
#include <cstdio>
template <class T> void words() {
    for (int i = -256; i < 256; i++) {
        ap_fixed<9,5> x = i / 16.0;
        T y = x;
        std::printf("%.17g\\n", y.to_double());
    }
}
int main() {
    WORDS
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


def compiled_scores(folder: Path, main: str, events: np.ndarray) -> np.ndarray:
    """What a project prints as C++ with the headers of hls4ml."""
    package = find_spec("hls4ml")
    if package is None or package.origin is None or not shutil.which("g++"):
        pytest.skip("needs g++ and the headers of hls4ml")
    headers = Path(package.origin).parent / "templates" / "vivado"
    (folder / "main.cpp").write_text(main)
    folders = (".", headers, headers / "ap_types", headers / "nnet_utils", "weights")
    command = ["g++", "-O0", "-w", "-std=c++17", *(f"-I{path}" for path in folders)]
    subprocess.run([*command, "main.cpp", "-o", "program"], cwd=folder, check=True, timeout=120)
    (folder / "main.cpp").unlink()
    text = "\n".join(" ".join(map(str, event)) for event in events.tolist())
    said = subprocess.run(["./program"], cwd=folder, input=text, capture_output=True, text=True, check=True)
    return np.array(said.stdout.split(), np.float64)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    words = "\n".join(f"words<{kind}>();" for kind in CONVERSIONS)
    folder = write_project(tmp_path_factory.mktemp("compiled") / "project")
    return compiled_scores(folder, MAIN.replace("WORDS", words), EVENTS)


def test_scores_are_those_of_its_cpp(tmp_path: Path, compiled: np.ndarray) -> None:
    expected = compiled[512 * len(CONVERSIONS) :]
    assert len(set(expected.tolist())) > 100
    np.testing.assert_array_equal(scores(write_project(tmp_path), EVENTS), expected)


SCALE = """\
input_t in[3];
        for (int i = 0; i < 3; i++) {
            double moved = unscaled_t(x[i]) - bias[i];
            in[i] = static_cast<input_t>(moved / norm[i]);
        }
"""


def test_sums_of_shifted_numbers_a_sigmoid_and_scales_are_those_of_cpp(tmp_path: Path) -> None:
    """In place of weights, as the strategy of distributed arithmetic writes layers."""
    project = write_sums(tmp_path)
    x = np.concatenate([RANDOM.integers(-60, 60, (700, 3)), RANDOM.integers(-999, 999, (300, 3))])
    main = (
        MAIN.replace("toy.cpp", "sums.cpp")
        .replace("WORDS", "")
        .replace("int main", '#include "scaling.h"\nint main')
    )
    main = main.replace("input_t in[3] = {x[0], x[1], x[2]};", SCALE)
    expected = compiled_scores(project, main, x)
    assert len(set(expected.tolist())) > 100
    np.testing.assert_array_equal(scores(project, x.astype(np.float32)), expected)
    network = read_project(project)
    exact = [float(score_of(network, [Fraction(int(one)) for one in event])) for event in x[:60]]
    assert exact == expected[:60].tolist()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "ap_fixed<13, 6> v0",
            "ap_fixed<12, 5> v0",
            r"sums.cpp:4: dense_da_2: 'ap_fixed<12, 5> v0 = .* loses bits",
        ),
        ("ap_fixed<13, 6> v0", "ap_fixed<12, 6> v0", "loses bits"),
        ("-v0 +", "-v9 +", "is no sum of shifted numbers"),
        ("-v0 +", "v0 *", "is no sum of shifted numbers"),
        ("out[1] = -inp[2];", "", "does not compute each of its 2 outputs"),
        ("(0.125)", "(1e999999)", "is no sum of shifted numbers"),
        ("out[1] = -inp[2]", "out[1] = bit_shift<90>(inp[2])", "sums.cpp:4: ap_fixed<.*expected a width"),
        ("dense_da_2", "dense_da_3", "no dense_da_2 in nnet_code_gen.h"),
    ],
)
def test_sums_that_are_no_layer(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        read_project(write_sums(tmp_path, nnet_code_gen=first(ADDERS, old, new)))


def test_norms_that_are_no_powers_of_two(tmp_path: Path) -> None:
    text = SUMS["scaling.h"].replace("4, 1", "3, 1")
    with pytest.raises(TrigemuError, match=r"scaling.h:1: expected powers of two"):
        read_project(write_sums(tmp_path, scaling=text))


LINEAR = """\
#include "parameters.h"
void convert(input_t x[1], result_t y[1]) { nnet::linear<input_t, result_t, linear_config2>(x, y); }
"""
ACTIVATION = "struct linear_config2 : nnet::activ_config { static const unsigned n_in = 1; };\n"


def test_types_are_those_of_the_headers(tmp_path: Path, compiled: np.ndarray) -> None:
    """As the result of a network that only converts its input."""
    x = np.arange(-256, 256, dtype=np.float32).reshape(-1, 1) / 16
    for number, kind in enumerate(CONVERSIONS):
        folder = tmp_path / str(number)
        folder.mkdir()
        types = f"typedef ap_fixed<9,5> input_t;\ntypedef {kind} result_t;\n"
        (folder / "parameters.h").write_text(types + ACTIVATION)
        (folder / "convert.cpp").write_text(LINEAR)
        assert scores(folder, x).tolist() == compiled[512 * number : 512 * (number + 1)].tolist(), kind


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


def test_axol1tl() -> None:
    """On all 20 000 inputs; ET and pT are halved as integers."""
    folder = real_file("axol1tl")
    x = np.loadtxt(folder / "inputs.txt.xz", np.float32)
    x[:, ::3] = np.floor(x[:, ::3] / 2)
    for version in ("v3", "v4", "v5"):
        expected = np.loadtxt(folder / f"scores_{version}.txt.xz")
        np.testing.assert_array_equal(scores(folder / version, x) * 16, expected, version)


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


W2 = FILES["weights/w2.h"]
OTHER = W2.replace("0.25", "3.75")
RELU = "    nnet::relu<layer2_t, layer3_t, relu_config3>(layer2_out, layer3_out);\n"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"toy": None}, "has no .cpp files"),
        (top("nnet::relu<", "nnet::softmax<"), r"toy.cpp:\d+: the layer nnet::softmax is not known"),
        (
            top("(layer2_out, layer3_out)", "(layer9_out, layer3_out)"),
            "reads 'layer9_out', which",
        ),
        (top("relu_config3>", "relu_config4>"), "no struct relu_config4"),
        (top("layer4_t, config4", "layer99_t, config4"), "the type 'layer99_t'"),
        (STREAM, r"toy.cpp:4: .*is no array"),
        ({"w2": None}, r"parameters.h:\d+: there is no 'weights/w2.h'"),
        ({"w2": "weight2_t w2[12];"}, r"toy.cpp:\d+: no weights 'w2'"),
        ({"w2": "weight2_t w2[12] = {1, 2};"}, r"w2.h:1: has 2 values, declared 12"),
        ({"w2": f"weight2_t w2[12] = {{1, nan{ONES}}};"}, "'nan' is not a number"),
        ({"w2": f"weight2_t w2[12] = {{1, 010{ONES}}};"}, "'010' is not a number"),
        ({"w2": f"weight2_t w2[12] = {{1, 1e999{ONES}}};"}, "only finite numbers"),
        ({"w2": f"weight2_t w2[12] = {{{{1}}, 1{ONES}}};"}, "w2.h:1: .* is no statement"),
        (parameters("product::mult<", "product::weight_binary<"), "is no statement"),
        (parameters("nnet::DenseLatency<", "nnet::DenseResource_rf_leq_nin<"), "another kernel, DenseRes"),
        (parameters("nnet::latency", "nnet::unrolled"), "the strategy 'unrolled'"),
        (parameters("n_in = N_INPUT_1_1;", "n_in = N_9;"), "cannot read the number 'N_9'"),
        (parameters("typedef sums4_t accum_t;", ""), "lacks the type accum_t"),
        # What only a preprocessor could decide.
        ({"w2": f"{W2}#if 0\n{OTHER}#endif\n"}, r"w2.h:3: the directive '#if 0'"),
        (top(RELU, f"    layer2_out[0] = 1;\n{RELU}"), r"toy.cpp:20: 'layer2_out \[ 0 \] = 1 ;'"),
        (top(RELU, f"    if (false) {{\n{RELU}}}\n"), r"toy.cpp:\d+: .* is no statement"),
        (top(RELU, f"    {{ {RELU} }}\n"), r"toy.cpp:\d+: .* is no statement"),
        (top(RELU, RELU + RELU), "'layer3_out': a layer before it has the same name"),
        (top('"parameters.h"', '"../parameters.h"'), "toy.cpp:2: includes '../parameters.h'"),
        (top('"parameters.h"', '"/etc/parameters.h"'), "toy.cpp:2: includes '/etc/parameters.h'"),
    ],
)
def test_what_does_not_fit(tmp_path: Path, changed: dict[str, str], message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        scores(write_project(tmp_path, **changed), EVENTS[:1])


@pytest.mark.parametrize("condition", ["#ifndef __SYNTHESIS__", "#ifdef OLD", "#ifdef W2_H\n#else"])
def test_what_is_not_synthesised_is_not_read(tmp_path: Path, condition: str) -> None:
    before = scores(write_project(tmp_path / "a"), EVENTS)
    text = f"#ifndef W2_H\n#define W2_H\n{W2}{condition}\n{OTHER}#endif\n#endif\n"
    project = write_project(tmp_path / "b", w2=text)
    np.testing.assert_array_equal(scores(project, EVENTS), before)


def test_files_that_nothing_includes_are_not_read(tmp_path: Path) -> None:
    before = scores(write_project(tmp_path / "a"), EVENTS)
    project = write_project(tmp_path / "b")
    (project / "weights" / "old.h").write_text(OTHER)
    write_project(project / "backup", w2=OTHER)
    np.testing.assert_array_equal(scores(project, EVENTS), before)
    (project / "old.cpp").write_text(TOP)
    with pytest.raises(TrigemuError, match=r"parameters.h, the network, not .*old.cpp and .*toy.cpp"):
        read_project(project)


def test_scales_belong_to_a_wrapper(tmp_path: Path) -> None:
    project = write_project(tmp_path)
    unscaled = scores(project, EVENTS)
    (project / "scales.h").write_text(
        "typedef ap_fixed<18,13> unscaled_t;\ntypedef ap_fixed<5,5> ad_shift_t;\n"
        "const ad_shift_t ad_shift[3] = {1, 0, -1};\nconst ad_shift_t ad_offsets[3] = {2, 0, -3};\n"
    )
    with pytest.raises(TrigemuError, match=r"scales.h: no .cpp file includes it"):
        read_project(project)
    (project / "emulator.cpp").write_text('#include "toy.h"\n#include "scales.h"\nclass Any { int x; };\n')
    x = np.floor(EVENTS * 32) / 32  # in steps of unscaled_t
    expected = np.floor((x - [2, 0, -3]) * [0.5, 1, 2] * 32) / 32
    changed = scores(project, x.astype(np.float32))
    assert not np.array_equal(changed, unscaled)
    (project / "emulator.cpp").unlink()
    (project / "scales.h").unlink()
    np.testing.assert_array_equal(changed, scores(project, expected.astype(np.float32)))


@pytest.mark.parametrize("name", ["weights/w2.h", "toy.cpp", "w2.txt"])
def test_links_out_of_the_folder(tmp_path: Path, name: str) -> None:
    project = write_project(tmp_path / "project", **({"w2": "weight2_t w2[12];"} if name == "w2.txt" else {}))
    outside = tmp_path / "outside"
    outside.write_text(FILES.get(name, ", ".join(["1"] * 12)))
    (project / name).unlink(missing_ok=True)
    (project / name).symlink_to(outside)
    with pytest.raises(TrigemuError, match=rf"{name}: is a link out of .*project"):
        read_project(project)
