"""Integer networks as Verilog: alkaid turns the products of a layer with constants into few shared sums
(distributed arithmetic), and cuts the whole into stages of about equal depth."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from trigemu_anomaly import integer_file as file
from trigemu_anomaly.fixed_point import MAX_WORD, ApFixed

from trigemu.base.errors import TrigemuError

from .circuit import Circuit
from .tools import package, scratch

#: Modes that alkaid has, by their names in `ap_fixed`.
_ROUNDINGS = {"AP_TRN": "TRN", "AP_RND": "RND", "AP_RND_CONV": "RND_CONV"}
_OVERFLOWS = {"AP_WRAP": "WRAP", "AP_SAT": "SAT", "AP_SAT_SYM": "SAT_SYM"}
#: Instructions for newer versions of Verilator than Debian's.
_LINT = re.compile(r"/\* *verilator lint_\w+ \w+ *\*/|// *verilator lint_\w+ \w+")
#: Levels of sums that a layer may have beyond the least number; fewer levels cost logic.
_MORE_LEVELS = 0
#: Most bits of a number whose square is a table.
_TABLE = 11
_MODULE = """
module {name}(
    input  wire clk,
    input  wire [{inputs}:0] x,
    output wire [{outputs}:0] y
);
    wire [{bits}:0] score;
    {name}_logic of_layers(.clk(clk), .model_inp(x), .model_out(score));
    assign y = {{{{{more}{{{fill}}}}}, score{zeros}}};
endmodule
"""


def network_circuit(network: file.IntegerFile, name: str, clocks: int) -> Circuit:
    """Return the circuit of an integer network: from the words of its inputs to the word of its score.
    TrigemuError if a layer has no circuit."""
    package("alkaid")
    from alkaid.codegen import RTLModel
    from alkaid.trace import to_pipeline, trace
    from alkaid.trace.passes import add_surrogate, dead_code_elimin

    first, *layers = network.layers
    if not isinstance(first, file.Input):
        raise TrigemuError('expected one layer of the kind "input", the first')
    x, types = _inputs(first)
    # The steps of types, which may be finer than those of their numbers.
    values, steps = {first.name: x}, {first.name: 1.0 if first.scales else types[0].step}
    for layer in layers:
        try:
            values[layer.name] = score = _follow(layer, values, steps)
            steps[layer.name] = _type(layer.type).step
        except TrigemuError as error:
            raise TrigemuError(f"layer {layer.name[:50]!r} has no circuit: {error}") from None
    output = _type(network.layers[-1].type)
    logic = add_surrogate(dead_code_elimin(trace(x, score, keep_dead_inputs=True)))
    parts = to_pipeline(logic, n_stages=clocks, reg_inp=False, verbose=False)
    with scratch() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        RTLModel(parts, folder / "alkaid", f"{name}_logic", print_latency=False, ternary_fuse=False).write()
        sources = sorted((folder / "alkaid" / "src").rglob("*.v"))
        verilog = "\n".join(path.read_text() for path in sources if not path.stem.endswith("_wrapper"))
    # Bits that are always 0, or the sign, are not among those of alkaid.
    k, i, f = (int(n) for n in score.kif[:, 0])
    bits, low = k + i + f, output.fraction - f
    top = _MODULE.format(
        name=name,
        inputs=sum(kind.width for kind in types) - 1,
        outputs=output.width - 1,
        bits=bits - 1,
        more=output.width - bits - low + 1,
        fill=f"score[{bits - 1}]" if k else "1'b0",
        zeros=f", {low}'b0" if low else "",
    )
    return Circuit(name, _LINT.sub("", verilog) + top, types, output, clocks)


def _inputs(layer: file.Input) -> tuple[Any, tuple[ApFixed, ...]]:
    """Return the inputs, and their types: for words of the hardware, the smallest ones."""
    from alkaid.trace import FVArray

    types = (ApFixed.parse(layer.type, MAX_WORD),) * layer.size
    if layer.scales:
        ends = [(0, s.period - 1) if s.period else (s.lowest, s.highest) for s in layer.scales]
        bits = [max(max(-low - 1, 0).bit_length(), high.bit_length()) + (low < 0) for low, high in ends]
        types = tuple(ApFixed(n, n, low < 0) for n, (low, _) in zip(bits, ends, strict=True))
    # The whole range of each type: so each word has all of its bits on the port.
    ranges = np.array([(kind.lowest, kind.highest, kind.step) for kind in types]).T
    return FVArray.from_lhs(*ranges, solver_options={"hard_dc": _MORE_LEVELS}), types


def _type(text: str) -> ApFixed:
    kind = ApFixed.parse(text, MAX_WORD)
    if kind.rounding not in _ROUNDINGS or kind.overflow not in _OVERFLOWS:
        raise TrigemuError(
            f"{kind}: expected one of {', '.join(_ROUNDINGS)}, and one of {', '.join(_OVERFLOWS)}"
        )
    return kind


def _converted(value: Any, text: str) -> Any:
    kind = _type(text)
    modes = _OVERFLOWS[kind.overflow], _ROUNDINGS[kind.rounding]
    return value.quantize(int(kind.signed), kind.integer - kind.signed, kind.fraction, *modes)


_MERGES = {file.Add: np.add, file.Subtract: np.subtract, file.Maximum: np.maximum, file.Minimum: np.minimum}


def _follow(layer: Any, values: Mapping[str, Any], steps: Mapping[str, float]) -> Any:
    """Return the values of a layer; TrigemuError if logic has none of its kind."""
    from alkaid.trace import FVArray

    match layer:
        case file.Linear():
            return _converted(values[layer.of], layer.type)
        case file.ReLU():
            return _converted(values[layer.of].relu(), layer.type)
        case file.Table():
            kind, step, words = _type(layer.type), steps[layer.of], np.array(layer.words)
            value = values[layer.of].apply(
                lambda number: words[np.round(number / step).astype(int) - layer.first] * kind.step
            )
            return value.quantize(int(kind.signed), kind.integer - kind.signed, kind.fraction)
        case file.Dense():
            step = _type(layer.weight.type).step
            if _type(layer.accumulator).step > steps[layer.of] * step:
                raise TrigemuError(f"its accumulator {layer.accumulator} rounds each product")
            bias = np.array(layer.bias.words) * _type(layer.bias.type).step
            weight = np.array(layer.weight.words).reshape(-1, len(bias)) * step
            return _converted(_converted(values[layer.of] @ weight + bias, layer.accumulator), layer.type)
        case file.Concatenate():
            parts = [_converted(values[name], layer.type) for name in layer.of]
            return FVArray(np.concatenate([np.asarray(part) for part in parts]), parts[0].solver_options)
        case file.Merge():
            a, b = (values[name] for name in layer.of)
            return _converted(_MERGES.get(type(layer), _products)(a, b), layer.type)
    raise TrigemuError(f"its kind is {type(layer).__name__.lower()!r}")


def _products(a: Any, b: Any) -> Any:
    """Return the products of values: a table of squares, or sums of one of them, shifted, for each bit of the
    other, since the multipliers of an FPGA take a clock of their own."""
    from alkaid.trace import FVArray

    def product(x: Any, y: Any) -> Any:
        if y.low == y.high:
            return x * float(y.low)
        if x is y and sum(x.kif) <= _TABLE:
            return FVArray(np.array([abs(x)]), a.solver_options).apply(np.square).quantize()[0]
        k, i, f = y.kif
        weights = [-(2.0**i)] * bool(k) + [2.0 ** (i - 1 - n) for n in range(i + f)]
        terms = [y.bits[n : n + 1].msb_mux(x * w, 0.0) for n, w in enumerate(weights)]
        return np.sum(FVArray(np.array(terms), a.solver_options))

    return FVArray(np.array([product(x, y) for x, y in zip(a, b, strict=True)]), a.solver_options)
