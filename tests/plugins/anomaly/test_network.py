"""ONNX models against numpy, and models that are none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_toys import autoencoder, linear, model
from trigemu_anomaly.network import Engine, Network

from trigemu import TrigemuError


def rows(n: int, features: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, features)).astype(np.float32)


@pytest.mark.parametrize("flat", [True, False], ids=["[n]", "[n, 1]"])
def test_one_score_an_event(flat: bool) -> None:
    network = Network(linear([1.0, -2.0, 0.5], flat=flat), 3)
    for n in (0, 1, 300):
        x = rows(n, 3)
        scores = network.score(x)
        assert (scores.dtype, scores.shape) == (np.float64, (n,))
        np.testing.assert_allclose(scores, x.astype(float) @ [1.0, -2.0, 0.5], atol=1e-5)


def test_a_double_stays_one() -> None:
    cast = helper.make_node("Cast", ["x"], ["d"], to=TensorProto.DOUBLE)
    third = helper.make_node("Mul", ["d", "third"], ["y"])
    content = model(
        [cast, third], {"third": np.array([1 / 3])}, 1, output=("n", 1), output_type=TensorProto.DOUBLE
    )
    assert Network(content, 1).score(np.ones((1, 1), np.float32)).tolist() == [1 / 3]


@pytest.mark.parametrize("engine", ["onnxruntime", "kernels"])
def test_a_score_does_not_depend_on_the_company_of_its_event(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within the last digits: sums of ONNX Runtime depend on where a row is in a call."""
    network, x = Network(autoencoder(57, (32, 3, 32), "Relu"), 57, engine), rows(4500, 57)
    full, row = network.score(x), network.row()
    for n in (1, 2, 16, 33, 1025):
        chosen = np.random.default_rng(n).permutation(len(x))[:n]
        assert network.score(x[chosen]) == pytest.approx(full[chosen], rel=1e-6)
    assert network.score(np.asfortranarray(x)) == pytest.approx(full, rel=1e-6)
    assert network.score(np.repeat(x, 2, axis=0)[::2]) == pytest.approx(full, rel=1e-6)
    for i in range(100):
        row.features[:] = x[i]
        assert row.evaluate() == pytest.approx(full[i], rel=1e-6)
    monkeypatch.setattr("trigemu_anomaly.network._NUMBERS", 57 * 1000)  # several calls
    assert network.score(x) == pytest.approx(full, rel=1e-6)


OTHERS = {
    "mixes": helper.make_node("ReduceMean", ["x"], ["r"], axes=[0]),
    "draws": helper.make_node("RandomNormalLike", ["x"], ["r"]),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_rows_that_depend_on_others_are_refused(other: onnx.NodeProto) -> None:
    nodes = [
        other,
        helper.make_node("Sub", ["x", "r"], ["z"]),
        helper.make_node("ReduceMean", ["z"], ["y"], axes=[1], keepdims=0),
    ]
    with pytest.raises(TrigemuError, match="another score when the other rows change"):
        Network(model(nodes, {}, 3), 3)


IDENTITY = helper.make_node("Identity", ["x"], ["y"])


def three(output: tuple[int | str, ...] = ("n", 3), **how: object) -> bytes:
    return model([IDENTITY], {}, 3, output=output, **how)  # type: ignore[arg-type]


def no_float(kind: str) -> bytes:
    to = TensorProto.INT64 if kind == "int64" else TensorProto.BOOL
    nodes = [helper.make_node("Cast", ["x"], ["y"], to=to)]
    return model(nodes, {}, 3, output=("n", 3), output_type=to)


def two_inputs() -> bytes:
    result = onnx.load_from_string(linear([1.0, 1.0, 1.0]))
    result.graph.input.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, ["n", 3]))
    return result.SerializeToString()  # type: ignore[no-any-return]


def deep() -> bytes:
    total = helper.make_node("ReduceMax", ["x"], ["y"], axes=[1, 2], keepdims=0)
    result = onnx.load_from_string(model([total], {}, 3))
    result.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 1]))
    return result.SerializeToString()  # type: ignore[no-any-return]


def for_doubles() -> bytes:
    graph = helper.make_graph(
        [IDENTITY],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.DOUBLE, ["n", 3])],
        [helper.make_tensor_value_info("y", TensorProto.DOUBLE, ["n", 3])],
    )
    return helper.make_model(  # type: ignore[no-any-return]
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    ).SerializeToString()


def open_ended(coefficients: int) -> bytes:
    """It does not say how many features it reads."""
    weights = {"c": np.ones((coefficients, 1), np.float32)}
    return model([helper.make_node("MatMul", ["x", "c"], ["y"])], weights, "k", output=("n", 1))


TWO_OUTPUTS = model(
    [IDENTITY, helper.make_node("Neg", ["x"], ["minus"])], {}, 3, output=("n", 3), more_outputs=["minus"]
)
NEWER = onnx.load_from_string(linear([1.0, 1.0, 1.0]))
NEWER.opset_import[0].version = 99


NONE: dict[str, tuple[bytes, str]] = {
    "features": (linear([1.0, 2.0]), "reads 2 features an event, but the card names 3 inputs"),
    "open": (open_ended(2), "cannot be run on 3 features"),
    "deep": (deep(), r"reads the shape \['n', 3, 1\]"),
    "three numbers": (three(), "gives 3 numbers an event"),
    "two outputs": (TWO_OUTPUTS, r"the outputs \['y', 'minus'\]"),
    "two inputs": (two_inputs(), r"has the inputs \['x', 'z'\]"),
    "doubles": (for_doubles(), "the input 'x' of the type float64"),
    "one event": (three(rows=1, output=(1, 3)), "takes 1 events per call"),
    "int64": (no_float("int64"), "the output 'y' of the type int64"),
    "bool": (no_float("bool"), "the output 'y' of the type bool"),
    "empty": (b"", "is not an ONNX model"),
    "truncated": (linear([1.0, 1.0, 1.0])[:-9], "is not an ONNX model"),
    "newer": (NEWER.SerializeToString(), "is not an ONNX model"),
}


@pytest.mark.parametrize(("content", "message"), NONE.values(), ids=NONE)
def test_models_that_are_none(content: bytes, message: str) -> None:
    with pytest.raises(TrigemuError, match=message) as error:
        Network(content, 3)
    assert "\n" not in str(error.value)


def test_an_open_ended_model_is_taken_by_what_it_does() -> None:
    assert Network(open_ended(3), 3).score(np.ones((2, 3), np.float32)).tolist() == [3.0, 3.0]


def external(folder: Path) -> bytes:
    """A model whose weights stand in folder/weights.bin."""
    result = onnx.load_from_string(linear([1.0, 2.0, 3.0]))
    weights = next(i for i in result.graph.initializer if i.name == "c")
    (folder / "weights.bin").write_bytes(numpy_helper.to_array(weights).tobytes())
    weights.ClearField("raw_data")
    weights.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "weights.bin"), ("offset", "0"), ("length", "12")):
        weights.external_data.add(key=key, value=value)
    return result.SerializeToString()  # type: ignore[no-any-return]


@pytest.mark.parametrize("absolute", [True, False])
def test_weights_in_another_file_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, absolute: bool
) -> None:
    """Their content would not be known by the sha256 of the model; also where they lie at hand."""
    result = onnx.load_from_string(external(tmp_path))
    if absolute:
        weights = next(i for i in result.graph.initializer if i.name == "c")
        weights.external_data[0].value = str(tmp_path / "weights.bin")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TrigemuError, match="keeps its weights in another file"):
        Network(result.SerializeToString(), 3)


RUN = """
import os, sys
from pathlib import Path
import trigemu
if sys.argv[2] == "on":
    del os.environ["ORT_DISABLE_TELEMETRY"]
from trigemu_anomaly.network import Network
assert "onnxruntime" not in sys.modules
network = Network(Path(sys.argv[1]).read_bytes(), 3, "onnxruntime")
network.row().evaluate()
links = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if int(fd) > 2
         and os.path.lexists(f"/proc/self/fd/{fd}")]
print([link for link in links if link.startswith("socket:")])
"""


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc")
@pytest.mark.parametrize("telemetry", ["off", "on"])
def test_onnx_runtime_keeps_and_sends_nothing(tmp_path: Path, telemetry: str) -> None:
    """Sees files in the home folder, and sockets that are open at the end; where it is left on, there are
    files, so that this test notices when the variable has another name. Little of the environment is passed:
    ONNX Runtime sends nothing where CI, GITHUB_ACTIONS and the like are set, and no file would be seen."""
    (tmp_path / "model.onnx").write_bytes(linear([1.0, 2.0, 3.0]))
    home = tmp_path / "home"
    home.mkdir()
    environment = {
        key: value for key, value in os.environ.items() if key == "PATH" or key.startswith("PYTHON")
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path / "model.onnx"), telemetry],
        env=environment | {"HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    files = [path for path in home.rglob("*") if path.is_file() and "trigemu" not in path.parts]
    if telemetry == "on":
        assert "onnxruntime.db" in {path.name for path in files}
    else:
        assert done.stdout == "[]\n"
        assert files == []
