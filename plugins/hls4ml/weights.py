"""The weights of an hls4ml project: arrays in headers, or text files."""

from __future__ import annotations

import re

import numpy as np

from trigemu.api import TrigemuError, excerpt, nearest
from trigemu_anomaly import ApFixed, integer_file as file

from .source import Array, Source

#: A number of C++ that is no octal one.
_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|0|[1-9]\d*)", re.ASCII)


class Weights:
    """The weights of a project."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def words(self, array: Array, size: int) -> tuple[ApFixed, list[int]]:
        """Return the type of an array and its values as words."""
        kind = self.source.type(array.type, array.where)
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

    def numbers(self, name: str, size: int, where: str) -> file.Numbers:
        """Return weights, from a header or from the text file beside it."""
        array = self.source.arrays.get(name)
        if array is None:
            array = self._from_text(name, where)
        kind, words = self.words(array, size)
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
