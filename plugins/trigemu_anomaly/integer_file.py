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


class _Layer(msgspec.Struct, forbid_unknown_fields=True, frozen=True, tag_field="kind"):
    """type: that of the result, such as "ap_fixed<16,6,AP_RND,AP_SAT>"."""

    name: str
    type: str


class Scale(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The word of an input: floor(x / step), from `lowest` to `highest`; modulo `period` if it is not 0."""

    step: float
    lowest: int
    highest: int
    period: int = 0


class Input(_Layer, frozen=True, tag="input", omit_defaults=True):
    """The inputs of the network. scales: of each, if they are words of the hardware and the card has none.
    Files without them leave them out: their digests are known."""

    size: int
    scales: list[Scale] = []


class Constant(_Layer, frozen=True, tag="constant"):
    """Constants, in this type."""

    words: list[int]


class Linear(_Layer, frozen=True, tag="linear"):
    """The same values in another type."""

    of: str


class ReLU(_Layer, frozen=True, tag="relu"):
    """max(x, 0)."""

    of: str


class Shift(_Layer, frozen=True, tag="shift"):
    """The bits of each value, moved to the right by so many places, or to the left by a negative number."""

    of: str
    by: list[int]


class Table(_Layer, frozen=True, tag="table"):
    """A function as its words, of which the first one is that of the word `first`."""

    of: str
    first: int
    words: list[int]


class Dense(_Layer, frozen=True, tag="dense"):
    """bias + x weight. Each product becomes an `accumulator`, and so does each sum."""

    of: str
    accumulator: str
    weight: Numbers
    bias: Numbers


class Convolution(_Layer, frozen=True, tag="convolution"):
    """A convolution in two dimensions. shape: height, width and channels of the input; window, stride: height
    and width; padding: zeros above, below, left and right. weight: [height][width][channel][filter]."""

    of: str
    shape: tuple[int, int, int]
    window: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int, int, int]
    accumulator: str
    weight: Numbers
    bias: Numbers


class Normalise(_Layer, frozen=True, tag="normalise"):
    """x scale + bias, with as many scales as values, or as channels, which repeat."""

    of: str
    scale: Numbers
    bias: Numbers


class Merge(_Layer, frozen=True):
    """Two values, number by number."""

    of: tuple[str, str]


class Add(Merge, frozen=True, tag="add"):
    """a + b."""


class Subtract(Merge, frozen=True, tag="subtract"):
    """a − b."""


class Multiply(Merge, frozen=True, tag="multiply"):
    """a b."""


class Maximum(Merge, frozen=True, tag="maximum"):
    """The larger one."""


class Minimum(Merge, frozen=True, tag="minimum"):
    """The smaller one."""


class Concatenate(_Layer, frozen=True, tag="concatenate"):
    """a, then b."""

    of: tuple[str, str]


class Dot(_Layer, frozen=True, tag="dot"):
    """Σ a b; each product and each sum becomes an `accumulator`."""

    of: tuple[str, str]
    accumulator: str


Layer = (
    Input
    | Constant
    | Linear
    | ReLU
    | Shift
    | Table
    | Dense
    | Convolution
    | Normalise
    | Add
    | Subtract
    | Multiply
    | Maximum
    | Minimum
    | Concatenate
    | Dot
)


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
