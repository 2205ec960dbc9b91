"""The network of an hls4ml project, as the file of an integer network.

The arithmetic is that of hls4ml's own C++ (`nnet_utils`): every product of a layer is first converted to the
type of the sums, and so is each sum. Whether layers fit each other is checked when the network is opened.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from trigemu.base.errors import TrigemuError, excerpt, nearest

from .. import integer_file as file
from ..fixed_point import MAX_WORD, ApFixed
from .adders import dense_layer
from .source import Array, Call, Scope, Source

#: A number of C++ that is no octal one.
_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|0|[1-9]\d*)", re.ASCII)
_MERGES: dict[str, Callable[..., file.Layer]] = {
    "add": file.Add,
    "subtract": file.Subtract,
    "multiply": file.Multiply,
    "maximum": file.Maximum,
    "minimum": file.Minimum,
    "concatenate1d": file.Concatenate,
}
_LAYERS = (*_MERGES, "conv_2d_cl", "dense", "dot1d", "linear", "normalize", "relu", "sigmoid")


def read_project(folder: Path) -> file.IntegerFile:
    """Read a project."""
    return network_of(Source(folder))


def network_of(source: Source) -> file.IntegerFile:
    """Return the network of a project that was read, as `read_project` does."""
    if not source.calls:
        raise TrigemuError(
            f"{source.files.root}: no function with layers (nnet::dense<…>(…), …) in its .cpp files"
        )
    project, first = _Project(source), source.calls[0].where
    layers = [layer for call in source.calls for layer in project.layers(call)]
    computed = {layer.name for layer in layers}
    inputs = [name for name in source.parameters if name not in computed and not source.values(name)]
    outputs = [name for name in source.parameters if name in computed]
    if len(inputs) != 1 or len(outputs) != 1:
        raise TrigemuError(
            f"{first}: {source.name} has {len(inputs)} inputs and {len(outputs)} outputs: expected one array "
            f"each (io_parallel)"
        )
    layers = [*project.inputs(inputs[0], first), *layers, *project.score(outputs[0], source.calls[-1].where)]
    return file.IntegerFile(file.FORMAT, source.name, layers)


class _Project:
    def __init__(self, source: Source) -> None:
        self.source = source

    def _size(self, name: str, where: str) -> int:
        """Return the declared size of an array of the function."""
        if name not in self.source.arrays:
            raise TrigemuError(f"{where}: the array {name!r} is not declared in {self.source.name}")
        return self.source.number(self.source.arrays[name][1], where)

    def _type(self, name: object, where: str) -> str:
        return str(self.source.type(str(name), where))

    def inputs(self, name: str, where: str) -> list[file.Layer]:
        """Return the input, with the scales of a wrapper if there are any. AXOL1TL: (x − offset) >> shift;
        TOPO: (x − bias) / norm, in which the norms are powers of two."""
        size, kind = self._size(name, where), self._type(self.source.arrays[name][0], where)
        norm, bias, shift, offset = map(self.source.values, ("norm", "bias", "ad_shift", "ad_offsets"))
        if not (norm and bias) and not (shift and offset):
            return [file.Input(name, kind, size)]
        unscaled, raw = f"{name}_unscaled", self._type("unscaled_t", where)
        layers: list[file.Layer] = [file.Input(unscaled, raw, size)]
        if norm and bias:
            norms, offsets = (self._words(array, size, ApFixed(32, 32))[1] for array in (norm, bias))
            if any(number < 1 or number & (number - 1) for number in norms):
                raise TrigemuError(
                    f"{norm.where}: expected powers of two, by which firmware divides without loss"
                )
            fraction = max(norms).bit_length() - 1
            steps = [2**fraction // number for number in norms]
            moved = [-offset * step for offset, step in zip(offsets, steps, strict=True)]
            bits = max(map(abs, moved)).bit_length() + 1
            scales = file.Numbers(str(ApFixed(fraction + 1, 1, signed=False)), steps)
            added = file.Numbers(str(ApFixed(bits, bits - fraction)), moved)
            return [*layers, file.Normalise(name, kind, unscaled, scales, added)]
        assert shift
        assert offset
        (of_shift, by), (of_offset, words) = (self._words(array, size) for array in (shift, offset))
        if of_shift.fraction > 0 and any(word % 2**of_shift.fraction for word in by):
            raise TrigemuError(f"{shift.where}: shifts by fractions of a bit")
        return [
            *layers,
            file.Constant(f"{name}_offsets", str(of_offset), words),
            file.Subtract(f"{name}_moved", raw, (unscaled, f"{name}_offsets")),
            file.Shift(f"{name}_shifted", raw, f"{name}_moved", [int(word * of_shift.step) for word in by]),
            file.Linear(name, kind, f"{name}_shifted"),
        ]

    def score(self, last: str, where: str) -> list[file.Layer]:
        """Return the score of the output: the sum of its squares, if there is a type resultsq_t for it."""
        size = self._size(last, where)
        if "resultsq_t" in self.source.names.names:
            kind = self._type("resultsq_t", where)
            return [
                file.Linear("score", kind, last) if size == 1 else file.Dot("score", kind, (last, last), kind)
            ]
        if size != 1:
            raise TrigemuError(
                f"{where}: the network has {size} outputs, and the project does not say how they become a "
                f"score: define a type resultsq_t for the sum of their squares"
            )
        return []

    def layers(self, call: Call) -> list[file.Layer]:
        """Return the layer of a call, after those that it needs."""
        where, names = call.where, [self.source.aliases.get(name, name) for name in call.arguments]
        if call.function.startswith("dense_da_") and len(names) == 2:
            given = ApFixed.parse(self._type(call.types[0], where), MAX_WORD)
            try:
                text = self.source.files.generated()
                kind = self._type(call.types[-1], where)
                return [dense_layer(names[1], kind, names[0], given, text, call.function)]
            except TrigemuError as error:
                raise TrigemuError(f"{where}: {error}") from None
        if call.function not in _LAYERS:
            raise TrigemuError(f"{where}: the layer nnet::{call.function} is not known: {', '.join(_LAYERS)}")
        config = self.source.names.names.get(call.types[-1])
        if not isinstance(config, Scope) or len(call.types) < 3:
            hint = nearest(call.types[-1], self.source.names.names)
            raise TrigemuError(
                f"{where}: no struct {call.types[-1]} in the project{hint}, which nnet::{call.function} "
                f"needs behind the types of input and result"
            )
        kind = self._type(call.types[-2], where)
        match call.function, names:
            case "dense", [x, y, w, b]:
                n_in, n_out = self._number(config, "n_in"), self._number(config, "n_out")
                weight, bias = self._weights(w, config, n_in, n_out, where), self._numbers(b, n_out, where)
                return [file.Dense(y, kind, x, self._type_in(config, "accum_t"), weight, bias)]
            case "conv_2d_cl", [x, y, w, b]:
                return [self._convolution(config, kind, x, y, w, b, where)]
            case "relu", [x, y]:
                return [file.ReLU(y, kind, x)]
            case "linear", [x, y]:
                return [file.Linear(y, kind, x)]
            case "sigmoid", [x, y]:
                return self._sigmoid(config, kind, x, y)
            case "normalize", [x, y, s, b]:
                filters = self._number(config, "n_filt")
                n = self._number(config, "n_in") if filters == -1 else filters
                return [file.Normalise(y, kind, x, self._numbers(s, n, where), self._numbers(b, n, where))]
            case "dot1d", [a, b, y]:
                return [file.Dot(y, kind, (a, b), self._type_in(config, "accum_t"))]
            case function, [a, b, y] if function in _MERGES:
                return [_MERGES[function](y, kind, (a, b))]
        raise TrigemuError(f"{where}: nnet::{call.function} has {len(names)} arguments, which is not known")

    def _convolution(
        self, config: Scope, kind: str, x: str, y: str, w: str, b: str, where: str
    ) -> file.Convolution:
        def pair(key: str) -> tuple[int, int]:
            return self._number(config, f"{key}_height"), self._number(config, f"{key}_width")

        product = self.source.names.names.get(config.names.get("mult_config", ""))
        if not isinstance(product, Scope) or any(
            product.names.get(key) != config.names.get(key) for key in ("accum_t", "strategy")
        ):
            raise TrigemuError(f"{config.where}: expected a mult_config with the same accum_t and strategy")
        channels, filters, window = (
            self._number(config, "n_chan"),
            self._number(config, "n_filt"),
            pair("filt"),
        )
        above, below, left, right = (
            self._number(config, f"pad_{side}") for side in ("top", "bottom", "left", "right")
        )
        return file.Convolution(
            y,
            kind,
            x,
            (*pair("in"), channels),
            window,
            pair("stride"),
            (above, below, left, right),
            self._type_in(config, "accum_t"),
            self._weights(w, config, window[0] * window[1] * channels, filters, where),
            self._numbers(b, filters, where),
        )

    def _sigmoid(self, config: Scope, kind: str, x: str, y: str) -> list[file.Layer]:
        """Return a sigmoid: a table of the values from −8 to 8, in float32 as the C++ computes them."""
        n = self._number(config, "table_size")
        if not 2**5 <= n <= 2**20 or n & (n - 1):
            raise TrigemuError(f"{config.where}: table_size = {n}: expected a power of two, 32 to {2**20}")
        index, place = f"{y}_index", ApFixed(n.bit_length() - 1, 4, True, "AP_TRN_ZERO", "AP_SAT")
        exponential = np.exp(-np.arange(-8, 8, 16 / n)).astype(np.float32)
        values = (1.0 / (np.float32(1) + exponential).astype(np.float64)).astype(np.float32)
        table, result = (ApFixed.parse(t, MAX_WORD) for t in (self._type_in(config, "table_t"), kind))
        words = result.quantise(table.to_float(table.quantise(values.astype(np.float64)))).tolist()
        return [file.Linear(index, str(place), x), file.Table(y, kind, index, -n // 2, words)]

    def _number(self, config: Scope, key: str) -> int:
        """Return a number of a configuration."""
        value = config.names.get(key)
        if not isinstance(value, int):
            what = f"cannot read the number {excerpt(value)!r}" if value else f"the configuration lacks {key}"
            raise TrigemuError(f"{config.where}: {what}")
        return value

    def _type_in(self, config: Scope, key: str) -> str:
        if key not in config.names:
            raise TrigemuError(f"{config.where}: the configuration lacks the type {key}")
        return self._type(config.names[key], config.where)

    def _weights(self, name: str, config: Scope, n_in: int, n_out: int, where: str) -> file.Numbers:
        """Return weights as [n_in][n_out]; the strategy `resource` has them transposed."""
        weight = self._numbers(name, n_in * n_out, where)
        strategy = str(config.names.get("strategy", "latency")).rsplit("::", 1)[-1].strip()
        if strategy not in ("latency", "resource"):
            raise TrigemuError(f"{config.where}: the strategy {strategy!r} is not known: latency, resource")
        kernel = str(config.names.get("kernel", f"Dense{strategy.capitalize()}"))
        if not kernel.startswith(f"Dense{strategy.capitalize()}"):
            raise TrigemuError(f"{config.where}: the strategy {strategy!r} has another kernel, {kernel}")
        if strategy == "latency":
            return weight
        words = np.array(weight.words, object).reshape(n_out, n_in).T.ravel().tolist()
        return file.Numbers(weight.type, words)

    def _numbers(self, name: str, size: int, where: str) -> file.Numbers:
        """Return constants, from a header or from the text file beside it."""
        array, root = self.source.values(name), self.source.files.root
        if array is None:
            found = [p for p in (root / f"{name}.txt", root / "weights" / f"{name}.txt") if p.is_file()]
            if len(found) != 1 or name not in self.source.declared:
                raise TrigemuError(
                    f"{where}: no weights {name!r}{nearest(name, self.source.names.names)}: expected an "
                    f"array in a header, or one {name}.txt in {root / 'weights'} and its type in a header"
                )
            values = tuple(filter(None, re.split(r"[\s,]+", self.source.files.text(found[0]))))
            array = Array(self.source.declared[name], "", values, str(found[0]))
        kind, words = self._words(array, size)
        return file.Numbers(str(kind), words)

    def _words(self, array: Array, size: int, kind: ApFixed | None = None) -> tuple[ApFixed, list[int]]:
        """Return the type of an array and its values as words."""
        kind = kind or self.source.type(array.type, array.where)
        wrong = next((value for value in array.values if not _NUMBER.fullmatch(value)), None)
        if wrong is not None:
            raise TrigemuError(f"{array.where}: {excerpt(wrong)!r} is not a number")
        declared = self.source.number(array.size, array.where) if array.size.strip() else size
        if len(array.values) != size or declared != size:
            raise TrigemuError(
                f"{array.where}: has {len(array.values)} values, declared {declared}: expected {size}"
            )
        try:
            return kind, kind.quantise(np.array(array.values, np.float64)).tolist()
        except TrigemuError as error:
            raise TrigemuError(f"{array.where}: {error}") from None
