"""The networks of a training in plain NumPy, for comparison with their ONNX graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from trigemu_decade.training.autoencoder import TINY, Network, Standard


def dense(network: Network, x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the output of the last layer, float32[n_event, n_out]."""
    for weight, bias in zip(network.weights[:-1], network.biases[:-1], strict=True):
        x = np.maximum(x @ weight + bias, np.float32(0))
    return x @ network.weights[-1] + network.biases[-1]


def log_mse(
    network: Network, standard: Standard, features: npt.NDArray[Any], present: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    """Return the score of features[n_event, n_feature]: log of each event's MSE, in float32 arithmetic.

    The ONNX graph has the same loss of precision in float32, about 1e-5 and at most a few 1e-4 of a score,
    because a good reconstruction is a small difference.
    """
    x = standard.apply(features, present)
    output = dense(network, x)
    square = np.where(present, (output - x) ** 2, np.float32(0))
    count = np.maximum(present.sum(axis=1), 1).astype(np.float32)
    score: npt.NDArray[np.float32] = np.log(square.sum(axis=1) / count + np.float32(TINY))
    return score.astype(np.float64)
