"""Files of events, with the properties that they had when their catalogue was opened.

The properties are stored. Each process opens the files again when it reads their events, and keeps only a few
open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

from trigemu.samples.errors import SampleError, UnreadableError
from trigemu.samples.events import Need
from trigemu.samples.formats import format_named
from trigemu.samples.formats.source import ReadEvents, Schema, Source
from trigemu.samples.numbering import Numbering
from trigemu.support import BoolArray

#: Files that a process keeps open.
OPEN_FILES = 32


@dataclass(frozen=True)
class Facts:
    """The properties of a file; see `Source` for those that are not explained here.

    Attributes
    ----------
    sum_of_weights : float or None
        None if it was not requested, or a signal has none.
    no_sum : str
        Why a signal has no sum of weights; empty if it has one.
    tree : str
        The name of the tree with the events in a ROOT file; empty for other files.
    numbering : Numbering or None
        The numbers of its events, until they are compared with those of other files.
    sha256 : str or None
        Its digest; None for a remote file without a digest in the catalogue.
    identity : str
        A text that changes when the file does.
    opening : str
        Identifies the opening of the catalogue: files may change until the next.
    """

    entries: int
    boundaries: tuple[int, ...]
    schema: Schema
    neighbours: Literal["none", "line", "orbit"]
    has_parents: bool
    stored: tuple[str, ...]
    sum_of_weights: float | None
    sha256: str | None
    identity: str
    opening: str = field(compare=False)
    no_sum: str = ""
    tree: str = ""
    numbering: Numbering | None = field(default=None, compare=False)

    def for_reading(self) -> Facts:
        """Return the few properties that are needed to read events, which are sent with every task."""
        return replace(self, boundaries=(), schema=Schema({}, frozenset()), stored=())


@dataclass
class EventFile(Source):
    """A file of events with known properties. Reading raises UnreadableError if the number of events has
    changed: it is then another file."""

    format: str = field(kw_only=True)
    facts: Facts = field(kw_only=True)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "facts": self.facts.for_reading()}

    @property
    def _opened(self) -> Source:
        source = opened_source(self.format, self.path, self.facts.opening, self.tree)
        if source.entries != self.entries:
            raise UnreadableError(
                f"has {source.entries} events, and had {self.entries} when its catalogue was opened"
            )
        return source

    def read(self, start: int, stop: int, needs: Iterable[Need]) -> ReadEvents:
        return self._opened.read(start, stop, needs)

    @property
    def types(self) -> Mapping[Need, str]:
        return self._opened.types

    @property
    def weight_column(self) -> str:
        return self._opened.weight_column

    def counted(self, needs: Iterable[Need]) -> tuple[Need, ...]:
        return self._opened.counted(needs)

    def read_stored(self, start: int, stop: int, names: Iterable[str]) -> Mapping[str, BoolArray]:
        return self._opened.read_stored(start, stop, names)

    @property
    def tree_name(self) -> str:
        return self.facts.tree

    @property
    def physical(self) -> bool:  # type: ignore[override]  # each format has one for all its files
        return format_named(self.format).physical

    @property
    def entries(self) -> int:
        return self.facts.entries

    @property
    def boundaries(self) -> tuple[int, ...]:
        return self.facts.boundaries

    @property
    def schema(self) -> Schema:
        return self.facts.schema

    @property
    def neighbours(self) -> Literal["none", "line", "orbit"]:
        return self.facts.neighbours

    @property
    def has_parents(self) -> bool:
        return self.facts.has_parents

    @property
    def stored(self) -> tuple[str, ...]:
        return self.facts.stored

    @property
    def sum_of_weights(self) -> float:
        if self.facts.no_sum:
            raise SampleError(f"{self.path}: {self.facts.no_sum}")
        assert self.facts.sum_of_weights is not None, "it was not requested"
        return self.facts.sum_of_weights

    @property
    def identity(self) -> str:
        return self.facts.identity


@lru_cache(maxsize=OPEN_FILES)
def opened_source(format: str, path: str, opening: str, tree: str) -> Source:
    """Return a file, which is opened when it is first used. opening: see `Facts`."""
    return format_named(format)(path, tree=tree)
