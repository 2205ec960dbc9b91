"""Run a network on one row, with memory that is bound once, and test whether the decision is certain.

A single row goes through different code than a row in a batch (`lanes.py`). Its score differs from
`Network.score` in the last bits, and therefore decides only if it is not close to the threshold.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from trigemu.api import Features, FloatArray, IntArray, kernel, pointer

from .fixed_row import score_by

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

    from .network_code import NetworkCode

#: A score this close to the threshold, relative to the score if that is above 1, does not decide. Float32
#: sums in another order differ by a thousandth of that.
NEAR = 1e-3
#: The same, in units of the largest difference found in trial rows.
_TIMES_TRIAL = 1000.0
#: The same, in units of the largest difference that machine code can have on trial rows. For real rows near
#: the threshold the difference is up to 8 times as large; rows with more have scores far below it.
_TIMES_BOUND = 32.0


class Row:
    """Memory for one row of a network, or more. features: float32[1, k], read by `run`. score: float32[1] or
    float64[1], written by `run`. near: the distance to the threshold within which a score does not decide.
    code: the address of the network as machine code, for `call`, or 0. addresses: the arguments of
    `score_of`. engine: what evaluates the network, and why."""

    def __init__(self, session: InferenceSession, features: Features) -> None:
        (source,), (output,) = session.get_inputs(), session.get_outputs()
        kind = np.float64 if output.type == "tensor(double)" else np.float32
        shape = session.run(None, {source.name: features})[0].shape
        binding = session.io_binding()
        self.features, self.score, self.near = features, np.zeros(shape, kind).reshape(-1), NEAR
        binding.bind_input(source.name, "cpu", 0, np.float32, features.shape, features.ctypes.data)
        binding.bind_output(output.name, "cpu", 0, kind, shape, self.score.ctypes.data)
        self._session, self._binding = session, binding
        self.code, self.engine = 0, "ONNX Runtime"
        self.addresses = 0, features.ctypes.data, self.score.ctypes.data, self.score.itemsize

    def run(self) -> None:
        self._session.run_with_iobinding(self._binding)

    def compare(self, rows: Features, scores: FloatArray) -> None:
        """Increase `near` if the scores of single rows differ by more than expected from float32 rounding."""
        for row, score in zip(rows, scores.tolist(), strict=True):
            self.features[:] = row
            self.run()
            apart = abs(self.score.item() - score) / max(1.0, abs(score))
            if apart < math.inf:  # false for NaN, too
                self.near = max(self.near, _TIMES_TRIAL * apart)

    def take(self, code: NetworkCode | str) -> None:
        """Use the network as machine code, or note the reason why there is none."""
        if isinstance(code, str):
            self.engine = (
                f"ONNX Runtime, because {code if code.startswith('there') else f'the network {code}'}"
            )
            return
        self.code, self.engine = code.address, "machine code"
        self.addresses = code.address, *self.addresses[1:]
        self._library = code
        self.near = max(self.near, _TIMES_BOUND * code.apart)

    @property
    def address(self) -> tuple[int, int]:
        """The address and the size in bytes of the score."""
        return self.addresses[2:]

    def evaluate(self) -> float:
        """Run the network on the features, as machine code if there is any, and return the score."""
        if self.code:
            return score_of(*self.addresses)
        self.run()
        return score_at(*self.address)


@intrinsic  # type: ignore[untyped-decorator]
def call(typing: Any, function: Any, first: Any, second: Any) -> Any:
    """Call the function void(void *, void *) at an address with two addresses."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, pointer])
        at, *addresses = arguments
        called = builder.inttoptr(at, kind.as_pointer())
        builder.call(called, [builder.inttoptr(address, pointer) for address in addresses])
        return context.get_dummy_value()

    return types.void(types.uintp, types.uintp, types.uintp), generate


@kernel
def score_at(address: int, size: int) -> float:
    """Return the float of 4 or 8 bytes at an address."""
    if size == 4:
        return np.float64(numba.carray(pointer(address), (1,), np.float32)[0])
    return numba.carray(pointer(address), (1,), np.float64)[0]  # type: ignore[no-any-return]


@kernel
def score_of(code: int, features: int, address: int, size: int) -> float:
    """Run a network as machine code on the features at an address, and return the score that it writes."""
    call(code, features, address)
    return score_at(address, size)


@intrinsic  # type: ignore[untyped-decorator]
def add_leaves(typing: Any, address: Any, row: Any, result: Any) -> Any:
    """Call predict(row, pred_margin = 0, result), the function that tl2cgen generates, at an address: it adds
    the leaves of a row to the result."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, ir.IntType(32), pointer])
        at, row_, result_ = arguments
        function = builder.inttoptr(at, kind.as_pointer())
        margin = ir.Constant(ir.IntType(32), 0)
        builder.call(function, [builder.inttoptr(row_, pointer), margin, builder.inttoptr(result_, pointer)])
        return context.get_dummy_value()

    return types.void(types.uintp, types.uintp, types.uintp), generate


@kernel
def tree_score(predict: int, row: int, result: int) -> float:
    """Evaluate the float32 row at an address, using the float32 at `result` as memory."""
    score = numba.carray(pointer(result), (1,), np.float32)
    score[0] = 0.0  # the trees add to the present value
    add_leaves(predict, row, result)
    return np.float64(score[0])


@kernel
def settled_decision(y: float, score: float, threshold: float, near: float) -> int:
    """Return 1 if the score, derived from y, is above the threshold, 0 if it is not, −1 if it is too close to
    the threshold or NaN."""
    if abs(score - threshold) > near * max(1.0, abs(y)):
        return 1 if score > threshold else 0
    return -1


@kernel
def decided(code: IntArray, threshold: float, near: float) -> int:
    """Decide one event with machine code alone, like `settled_decision`. code: the addresses of a
    `Native`."""
    y = score_of(code[0], code[1], code[2], code[3])
    quantile = 0.0
    if code[4] != 0:
        quantile = tree_score(code[4], code[5], code[6])
    elif code[7] != 0:
        quantile = score_by(code[7], code[8], code[5])
    return settled_decision(y, y - quantile, threshold, near)
