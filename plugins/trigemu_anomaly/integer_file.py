"""The file of an integer network: JSON with its layers in their order, and its weights as whole numbers.

    {"format": "trigemu-integer-network/1", "name": "…", "layers": [
        {"kind": "input", "name": "x", "size": 57, "type": "ap_fixed<18,13>"},
        {"kind": "dense", "name": "layer2", "of": "x", "type": "ap_fixed<27,16>", "accumulator": "…",
         "weight": {"type": "ap_fixed<6,3>", "words": [2, -1, …]}, "bias": {…}},
        …]}

The last layer is the score. A word is a value in steps of the last bit of its type. `trigemu import hls4ml`
writes such files.
"""

from __future__ import annotations

import msgspec

from trigemu.base.errors import TrigemuError

FORMAT = "trigemu-integer-network/1"


class Numbers(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Constants: their type, and their words, row by row."""

    type: str
    words: list[int]


class _Layer(msgspec.Struct, forbid_unknown_fields=True, frozen=True, tag_field="kind", tag=str.lower):
    """A layer, whose kind in the file is the name of its class."""

    name: str
    type: str  # Of the result, such as "ap_fixed<16,6,AP_RND,AP_SAT>"


class _Unary(_Layer, frozen=True):
    of: str  # The layer that it reads


class _Binary(_Layer, frozen=True):
    of: tuple[str, str]  # The layers a and b that it reads


class Scale(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The word of an input: floor(x / step), from `lowest` to `highest`; modulo `period` if it is not 0."""

    step: float
    lowest: int
    highest: int
    period: int = 0


class Input(_Layer, frozen=True, omit_defaults=True):
    """The inputs of the network."""

    size: int
    #: Of each input, if they are words of the hardware and the card has none. Files without them leave them
    #: out: their digests are known.
    scales: list[Scale] = []


class Constant(_Layer, frozen=True):
    """Constants, in this type."""

    words: list[int]


class Linear(_Unary, frozen=True):
    """The same values in another type."""


class ReLU(_Unary, frozen=True):
    """max(x, 0)."""


class Shift(_Unary, frozen=True):
    """The bits of each value, moved to the right by so many places, or to the left by a negative number."""

    by: list[int]


class Table(_Unary, frozen=True):
    """A function as its words, of which the first one is that of the word `first`."""

    first: int
    words: list[int]


class Dense(_Unary, frozen=True):
    """bias + x weight. Each product becomes an `accumulator`, and so does each sum."""

    accumulator: str
    weight: Numbers
    bias: Numbers


class Convolution(_Unary, frozen=True):
    """A convolution in two dimensions; each product and each sum becomes an `accumulator`."""

    shape: tuple[int, int, int]  # Height, width and channels of the input
    window: tuple[int, int]  # Height and width
    stride: tuple[int, int]
    padding: tuple[int, int, int, int]  # Zeros above, below, left and right
    accumulator: str
    weight: Numbers  # [height][width][channel][filter]
    bias: Numbers


class Normalise(_Unary, frozen=True):
    """x scale + bias, with as many scales as values, or as channels, which repeat."""

    scale: Numbers
    bias: Numbers


class Merge(_Binary, frozen=True):
    """Two values, number by number."""


class Add(Merge, frozen=True):
    """a + b."""


class Subtract(Merge, frozen=True):
    """a − b."""


class Multiply(Merge, frozen=True):
    """a b."""


class Maximum(Merge, frozen=True):
    """The larger one."""


class Minimum(Merge, frozen=True):
    """The smaller one."""


class Concatenate(_Binary, frozen=True):
    """a, then b."""


class Dot(_Binary, frozen=True):
    """Σ a b; each product and each sum becomes an `accumulator`."""

    accumulator: str


_Unaries = Linear | ReLU | Shift | Table | Dense | Convolution | Normalise
_Binaries = Add | Subtract | Multiply | Maximum | Minimum | Concatenate | Dot
Layer = Input | Constant | _Unaries | _Binaries


class IntegerFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A network. name: what it is; layers: each after those that it reads."""

    format: str
    name: str
    layers: list[Layer]


def read_integer_file(content: bytes) -> IntegerFile:
    """Read a file; raise TrigemuError if it is no integer network, or of another format."""
    try:
        file = msgspec.json.decode(content, type=IntegerFile)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise TrigemuError(f"is not an integer network: {error}") from None
    if file.format != FORMAT:
        raise TrigemuError(f"has the format {file.format[:60]!r}: this version reads {FORMAT}")
    return file


def written(file: IntegerFile) -> bytes:
    """Return the content of a file."""
    return msgspec.json.encode(file)
