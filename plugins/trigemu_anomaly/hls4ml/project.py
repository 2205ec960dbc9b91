"""The network of an hls4ml project, as the file of an integer network.

The arithmetic is that of hls4ml's own C++ (`nnet_utils`): every product of a layer is first converted to the
type of the sums, and so is each sum.
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
from .source import Array, Call, Source, Struct, read_source

#: A number of C++ that is no octal one.
_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|0|[1-9]\d*)", re.ASCII)


def read_project(folder: Path) -> file.IntegerFile:
    """Read a project."""
    return network_of(read_source(folder))


def network_of(source: Source) -> file.IntegerFile:
    """Return the network of a project that was read, as `read_project` does."""
    if not source.calls:
        raise TrigemuError(
            f"{source.files.root}: no function with layers (nnet::dense<…>(…), …) in its .cpp files"
        )
    return _Project(source).network()


class _Project:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.layers: list[file.Layer] = []
        self.sizes: dict[str, int] = {}

    def network(self) -> file.IntegerFile:
        source = self.source
        first, last = self._ends()
        size = self._declared(first)
        self._inputs(first, size)
        for call in source.calls:
            layer = _Project.adders if call.function.startswith("dense_da_") else _LAYERS.get(call.function)
            if layer is None:
                known = ", ".join(sorted(_LAYERS))
                raise TrigemuError(f"{call.where}: the layer nnet::{call.function} is not known: {known}")
            layer(self, call)
        self._score(last)
        return file.IntegerFile(file.FORMAT, source.name, self.layers)

    def _ends(self) -> tuple[str, str]:
        """Return the names of the input and the output."""
        source, where = self.source, self.source.calls[0].where
        results = ((call, 2 if call.function in _MERGES else 1) for call in source.calls)
        written = {call.arguments[at] for call, at in results if len(call.arguments) > at}
        outputs = [name for name in source.parameters if name in written]
        inputs = [name for name in source.parameters if name not in written and name not in source.arrays]
        if len(inputs) != 1 or len(outputs) != 1:
            raise TrigemuError(
                f"{where}: {source.name} has {len(inputs)} inputs and {len(outputs)} outputs: expected one "
                f"array each (io_parallel)"
            )
        return inputs[0], outputs[0]

    def _declared(self, name: str) -> int:
        source = self.source
        found = source.locals.get(name) or source.parameters.get(name)
        if not found:
            raise TrigemuError(
                f"{source.calls[0].where}: the array {name!r} is not declared in {source.name}"
            )
        return source.number(found[1], source.calls[0].where)

    def _add(self, layer: file.Layer, size: int, where: str) -> None:
        declared = self._declared(layer.name)
        if declared != size:
            raise TrigemuError(f"{where}: {layer.name!r} has {declared} numbers, its layer computes {size}")
        if layer.name in self.sizes:
            raise TrigemuError(f"{where}: {layer.name!r} is computed twice")
        self.layers.append(layer)
        self.sizes[layer.name] = size

    def _inputs(self, name: str, size: int) -> None:
        """Add the input, with the scales of a wrapper if there are any. AXOL1TL: (x − offset) >> shift; TOPO:
        (x − bias) / norm."""
        source, where = self.source, self.source.calls[0].where
        kind = str(source.type(source.parameters[name][0], where))
        if (norm := source.arrays.get("norm")) and (bias := source.arrays.get("bias")):
            self._normalised(name, kind, size, norm, bias)
            return
        shifts, offsets = source.arrays.get("ad_shift"), source.arrays.get("ad_offsets")
        if shifts is None or offsets is None:
            self._add(file.Input(name, kind, size), size, where)
            return
        raw = str(source.type("unscaled_t", shifts.where))
        of_shift, by = self._words(shifts, size)
        if of_shift.fraction > 0 and any(word % 2**of_shift.fraction for word in by):
            raise TrigemuError(f"{shifts.where}: shifts by fractions of a bit")
        of_offset, words = self._words(offsets, size)
        by = [int(word * of_shift.step) for word in by]
        unscaled, offset, shifted = f"{name}_unscaled", f"{name}_offsets", f"{name}_shifted"
        self.layers += [
            file.Input(unscaled, raw, size),
            file.Constant(offset, str(of_offset), words),
            file.Subtract(f"{name}_moved", raw, (unscaled, offset)),
            file.Shift(shifted, raw, f"{name}_moved", by),
        ]
        self._add(file.Linear(name, kind, shifted), size, where)

    def _normalised(self, name: str, kind: str, size: int, norm: Array, bias: Array) -> None:
        """Add the input (x − bias) / norm, in which the norms are powers of two."""
        raw, whole = str(self.source.type("unscaled_t", norm.where)), ApFixed(32, 32)
        norms, offsets = (self._words(array, size, whole)[1] for array in (norm, bias))
        if any(number < 1 or number & (number - 1) for number in norms):
            raise TrigemuError(
                f"{norm.where}: expected powers of two, by which firmware divides without loss"
            )
        fraction, unscaled = max(norms).bit_length() - 1, f"{name}_unscaled"
        steps = [2**fraction // number for number in norms]
        scale = file.Numbers(str(ApFixed(fraction + 1, 1, signed=False)), steps)
        moved = [-offset * step for offset, step in zip(offsets, steps, strict=True)]
        bits = max(map(abs, moved)).bit_length() + 1
        offset = file.Numbers(str(ApFixed(bits, bits - fraction)), moved)
        self.layers.append(file.Input(unscaled, raw, size))
        self._add(file.Normalise(name, kind, unscaled, scale, offset), size, norm.where)

    def _score(self, last: str) -> None:
        """Add the score of several outputs: their squares, in the type resultsq_t."""
        source, where = self.source, self.source.calls[-1].where
        if "resultsq_t" in source.types:
            kind = str(source.type("resultsq_t", where))
            if self.sizes[last] == 1:
                self.layers.append(file.Linear("score", kind, last))
            else:
                self.layers.append(file.Dot("score", kind, (last, last), kind))
        elif self.layers[-1].name != last:
            raise TrigemuError(f"{where}: the last layer computes {self.layers[-1].name!r}, not {last!r}")
        elif self.sizes[last] != 1:
            raise TrigemuError(
                f"{where}: the network has {self.sizes[last]} outputs, and the project does not say how they "
                f"become a score: define a type resultsq_t for the sum of their squares"
            )

    def _words(self, array: Array, size: int, kind: ApFixed | None = None) -> tuple[ApFixed, list[int]]:
        """Return the type of an array and its values as words."""
        kind = kind or self.source.type(array.type, array.where)
        wrong = next((value for value in array.values if not _NUMBER.fullmatch(value)), None)
        if wrong is not None:
            raise TrigemuError(f"{array.where}: {excerpt(wrong)!r} is not a number")
        numbers = np.array(array.values, np.float64)
        declared = self.source.number(array.size, array.where) if array.size.strip() else size
        if len(numbers) != size or declared != size:
            raise TrigemuError(
                f"{array.where}: has {len(numbers)} values, declared {declared}: expected {size}"
            )
        if not np.isfinite(numbers).all():
            raise TrigemuError(f"{array.where}: has values that are not finite")
        return kind, kind.quantise(numbers).tolist()

    def _numbers(self, name: str, size: int, where: str) -> file.Numbers:
        """Return weights, from a header or from the text file beside it."""
        array = self.source.arrays.get(name) or self._from_text(name, where)
        kind, words = self._words(array, size)
        return file.Numbers(str(kind), words)

    def _from_text(self, name: str, where: str) -> Array:
        root = self.source.files.root
        found = [path for path in (root / f"{name}.txt", root / "weights" / f"{name}.txt") if path.is_file()]
        if not found:
            hint = nearest(name, self.source.arrays)
            raise TrigemuError(
                f"{where}: no weights {name!r}{hint}: expected an array in a header, or {name}.txt in "
                f"{root / 'weights'}"
            )
        if len(found) > 1:
            raise TrigemuError(f"{where}: the weights {name!r} are in {found[0]} and in {found[1]}")
        text = self.source.files.text(found[0])
        if name not in self.source.declared:
            raise TrigemuError(f"{where}: the type of the weights {name!r} is not declared")
        values = tuple(value for value in re.split(r"[\s,]+", text) if value)
        return Array(self.source.declared[name], "", values, str(found[0]))

    def _operand(self, name: str, where: str) -> str:
        name = self.source.aliases.get(name, name)
        if name not in self.sizes:
            raise TrigemuError(f"{where}: {name!r} is not computed before{nearest(name, self.sizes)}")
        return name

    def _size(self, config: Struct, key: str) -> int:
        if key not in config.numbers:
            raise TrigemuError(f"{config.where}: the configuration lacks {key}")
        value = config.numbers[key]
        if not isinstance(value, int):
            raise TrigemuError(f"{config.where}: cannot read the number {excerpt(value)!r}")
        return value

    def _type_in(self, config: Struct, key: str) -> str:
        if key not in config.types:
            raise TrigemuError(f"{config.where}: the configuration lacks the type {key}")
        return str(self.source.type(config.types[key], config.where))

    # ----------------------------------------------------------------------------------- layers

    def _read(
        self, call: Call, kind: str, arguments: int, size: str = "n_in", operands: int = 1
    ) -> tuple[Struct, tuple[str, ...]]:
        """Return the configuration of a layer, and its operands, result and constants. size: the key of the
        numbers of each operand."""
        _check_arguments(call, arguments)
        config = self.source.structs.get(call.types[-1])
        if config is None or config.kind != kind:
            hint = nearest(call.types[-1], self.source.structs)
            raise TrigemuError(
                f"{call.where}: no struct {call.types[-1]} : nnet::{kind} in the project{hint}"
            )
        names = tuple(self._operand(name, call.where) for name in call.arguments[:operands])
        for name in names if size else ():
            self._check(call, name, self._size(config, size))
        return config, (*names, *call.arguments[operands:])

    def dense(self, call: Call) -> None:
        config, (x, y, w, b) = self._read(call, "dense_config", 4)
        n_in, n_out = self._size(config, "n_in"), self._size(config, "n_out")
        weight = self._transposed(self._numbers(w, n_in * n_out, call.where), config, n_in, n_out)
        bias = self._numbers(b, n_out, call.where)
        kind, sums = self._result_type(call), self._type_in(config, "accum_t")
        self._add(file.Dense(y, kind, x, sums, weight, bias), n_out, call.where)

    def adders(self, call: Call) -> None:
        """Add a dense layer by distributed arithmetic."""
        _check_arguments(call, 2)
        x, y = self._operand(call.arguments[0], call.where), call.arguments[1]
        kind = str(self.source.type(call.types[-1], call.where))
        given = next(ApFixed.parse(layer.type, MAX_WORD) for layer in self.layers if layer.name == x)
        text = self.source.files.generated()
        try:
            layer = dense_layer(y, kind, x, given, text, call.function)
        except TrigemuError as error:
            raise TrigemuError(f"{call.where}: {error}") from None
        n_out = len(layer.bias.words)
        if self.sizes[x] * n_out != len(layer.weight.words):
            raise TrigemuError(f"{call.where}: {call.function} does not read {self.sizes[x]} numbers")
        self._add(layer, n_out, call.where)

    def convolution(self, call: Call) -> None:
        config, (x, y, w, b) = self._read(call, "conv2d_config", 4, "")

        def pair(key: str) -> tuple[int, int]:
            return self._size(config, f"{key}_height"), self._size(config, f"{key}_width")

        (height, width), window, stride = pair("in"), pair("filt"), pair("stride")
        channels = self._size(config, "n_chan")
        above, below, left, right = (
            self._size(config, f"pad_{side}") for side in ("top", "bottom", "left", "right")
        )
        multiplication = self.source.structs.get(config.types.get("mult_config", ""))
        if (
            multiplication is None
            or multiplication.types.get("accum_t") != config.types.get("accum_t")
            or multiplication.numbers.get("strategy") != config.numbers.get("strategy")
        ):
            raise TrigemuError(f"{config.where}: expected a mult_config with the same accum_t and strategy")
        filters = self._size(config, "n_filt")
        pixels = self._size(config, "out_height") * self._size(config, "out_width")
        self._check(call, x, height * width * channels)
        n_in = window[0] * window[1] * channels
        weight = self._transposed(self._numbers(w, n_in * filters, call.where), config, n_in, filters)
        layer = file.Convolution(
            y,
            self._result_type(call),
            x,
            (height, width, channels),
            window,
            stride,
            (above, below, left, right),
            self._type_in(config, "accum_t"),
            weight,
            self._numbers(b, filters, call.where),
        )
        self._add(layer, pixels * filters, call.where)

    def _transposed(self, weight: file.Numbers, config: Struct, n_in: int, n_out: int) -> file.Numbers:
        """Return weights as [n_in][n_out]; the strategy `resource` has them transposed."""
        strategy = str(config.numbers.get("strategy", "latency")).rsplit("::", 1)[-1].strip()
        if strategy not in ("latency", "resource"):
            raise TrigemuError(f"{config.where}: the strategy {strategy!r} is not known: latency, resource")
        kernel = str(config.numbers.get("kernel", f"Dense{strategy.capitalize()}"))
        if not kernel.startswith(f"Dense{strategy.capitalize()}"):
            raise TrigemuError(f"{config.where}: the strategy {strategy!r} has another kernel, {kernel}")
        if strategy == "latency":
            return weight
        words = np.array(weight.words, object).reshape(n_out, n_in).T.ravel().tolist()
        return file.Numbers(weight.type, words)

    def unary(self, call: Call, layer: type[file.ReLU | file.Linear]) -> None:
        _, (x, y) = self._read(call, "activ_config", 2)
        self._add(layer(y, self._result_type(call), x), self.sizes[x], call.where)

    def sigmoid(self, call: Call) -> None:
        """Add a sigmoid, a table of the values from −8 to 8, in float32 as the C++ computes them."""
        config, (x, y) = self._read(call, "activ_config", 2)
        n = self._size(config, "table_size")
        if not 2**5 <= n <= 2**20 or n & (n - 1):
            raise TrigemuError(f"{config.where}: table_size = {n}: expected a power of two, 32 to {2**20}")
        index, place = f"{y}_index", ApFixed(n.bit_length() - 1, 4, True, "AP_TRN_ZERO", "AP_SAT")
        self.layers.append(file.Linear(index, str(place), x))
        exponential = np.exp(-np.arange(-8, 8, 16 / n)).astype(np.float32)
        values = (1.0 / (np.float32(1) + exponential).astype(np.float64)).astype(np.float32)
        table = self.source.type(self._type_in(config, "table_t"), config.where)
        kind = self._result_type(call)
        result = ApFixed.parse(kind, MAX_WORD)
        words = result.quantise(table.to_float(table.quantise(values.astype(np.float64)))).tolist()
        self._add(file.Table(y, kind, index, -n // 2, words), self.sizes[x], call.where)

    def normalise(self, call: Call) -> None:
        config, (x, y, *constants) = self._read(call, "batchnorm_config", 4)
        filters = self._size(config, "n_filt")
        n = self.sizes[x] if filters == -1 else filters
        scale, bias = (self._numbers(name, n, call.where) for name in constants)
        self._add(file.Normalise(y, self._result_type(call), x, scale, bias), self.sizes[x], call.where)

    def merge(self, call: Call, layer: Callable[..., file.Layer]) -> None:
        _, (a, b, y) = self._read(call, "merge_config", 3, "n_elem", operands=2)
        self._add(layer(y, self._result_type(call), (a, b)), self.sizes[a], call.where)

    def concatenate(self, call: Call) -> None:
        _, (a, b, y) = self._read(call, "concat_config", 3, "", operands=2)
        layer = file.Concatenate(y, self._result_type(call), (a, b))
        self._add(layer, self.sizes[a] + self.sizes[b], call.where)

    def dot(self, call: Call) -> None:
        config, (a, b, y) = self._read(call, "dot_config", 3, operands=2)
        sums = self._type_in(config, "accum_t")
        self._add(file.Dot(y, self._result_type(call), (a, b), sums), 1, call.where)

    def _check(self, call: Call, name: str, size: int) -> None:
        if self.sizes[name] != size:
            raise TrigemuError(
                f"{call.where}: {call.types[-1]} reads {size} numbers, {name!r} has {self.sizes[name]}"
            )

    def _result_type(self, call: Call) -> str:
        if len(call.types) < 3:
            raise TrigemuError(
                f"{call.where}: nnet::{call.function} needs the types of input and result, and a struct"
            )
        return str(self.source.type(call.types[-2], call.where))


#: By the function of hls4ml.
_LAYERS: dict[str, Callable[[_Project, Call], None]] = {
    "dense": _Project.dense,
    "conv_2d_cl": _Project.convolution,
    "relu": lambda project, call: project.unary(call, file.ReLU),
    "linear": lambda project, call: project.unary(call, file.Linear),
    "sigmoid": _Project.sigmoid,
    "normalize": _Project.normalise,
    "concatenate1d": _Project.concatenate,
    "dot1d": _Project.dot,
    "add": lambda project, call: project.merge(call, file.Add),
    "subtract": lambda project, call: project.merge(call, file.Subtract),
    "multiply": lambda project, call: project.merge(call, file.Multiply),
    "maximum": lambda project, call: project.merge(call, file.Maximum),
    "minimum": lambda project, call: project.merge(call, file.Minimum),
}
_MERGES = {"add", "subtract", "multiply", "maximum", "minimum", "concatenate1d", "dot1d"}


def _check_arguments(call: Call, number: int) -> None:
    if len(call.arguments) != number:
        raise TrigemuError(
            f"{call.where}: nnet::{call.function} has {len(call.arguments)} arguments, not {number}"
        )
