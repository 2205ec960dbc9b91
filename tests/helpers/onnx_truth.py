"""What an ONNX model gives in float64, and by ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator


def in_double(content: bytes, x: np.ndarray) -> np.ndarray:
    """Scores float64[n], from the reference implementation of ONNX (NumPy) on the same weights."""
    model = onnx.load_from_string(content)
    for weight in model.graph.initializer:
        if weight.data_type == TensorProto.FLOAT:
            values = numpy_helper.to_array(weight).astype(np.float64)
            weight.CopyFrom(numpy_helper.from_array(values, weight.name))
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = TensorProto.DOUBLE
    with np.errstate(all="ignore"):
        (scores,) = ReferenceEvaluator(model).run(None, {model.graph.input[0].name: x.astype(np.float64)})
    return np.ravel(scores)


def by_onnx_runtime(content: bytes, x: np.ndarray) -> np.ndarray:
    """Scores float32[n], on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    (scores,) = session.run(None, {session.get_inputs()[0].name: x})
    return np.ravel(scores)
