"""`external`: an external signal, a bit of the words that a sample stores with its objects.

    bit = 35
    crossing = -2           # optional: the relative crossing, −2 … 2; here two crossings earlier
    word = "external"       # optional: bit b is bit b % 64 of the column external_0, external_1, …

The bit is 0 in a crossing that is not in the sample.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import msgspec
import numpy as np

from trigemu.observables import Workspace
from trigemu.support import Array, BoolArray, kernel
from trigemu.triggers.base import Compiled, Context, Kind
from trigemu.triggers.extent import Extent
from trigemu.triggers.questions import kind_extent

_BITS = 64


class External(Kind, frozen=True):
    """The trigger kind `external`: it fires if a bit that is stored in the sample is set.

    Attributes
    ----------
    bit : int
        The number of the bit.
    crossing : int
        The crossing of the bit, relative to that of the event: −2 to 2.
    word : str
        The name of the columns that hold the bits, without their number.
    """

    bit: Annotated[int, msgspec.Meta(ge=0)]
    crossing: Annotated[int, msgspec.Meta(ge=-2, le=2)] = 0
    word: str = "external"

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if not self.word:
            yield "word", "word = '': expected the name of columns without their number"

    def compile(self, context: Context) -> CompiledExternal:
        column = context.scalar(f"{self.word}_{self.bit // _BITS}")
        return CompiledExternal(column, self.bit % _BITS, self.crossing)


@dataclass(frozen=True)
class CompiledExternal(Compiled):
    """A compiled trigger that fires if a bit of a word in the sample is set.

    Attributes
    ----------
    column : str
        The column of words, with one value per event.
    bit : int
        The bit in the word.
    crossing : int
        The crossing of the bit, relative to that of the event.
    threshold : None
        It gives decisions.
    """

    column: str
    bit: int
    crossing: int
    threshold: None = None

    @property
    def margin(self) -> int:
        """The number of crossings that it reads before and after its own."""
        return abs(self.crossing)

    def evaluate(self, work: Workspace) -> BoolArray:
        return _bit(work.scalar(self.column), self.bit, self.crossing)


@kind_extent.register(External)
def _(kind: External, context: Context) -> Extent:
    return Extent(conditions=(kind.compile(context),))


@kernel
def _bit(words: Array, bit: int, crossing: int) -> BoolArray:
    fired = np.zeros(len(words), np.bool_)
    for event in range(max(0, -crossing), min(len(words), len(words) - crossing)):
        fired[event] = np.int64(words[event + crossing]) >> bit & 1
    return fired
