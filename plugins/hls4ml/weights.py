"""The weights of an hls4ml project: arrays in headers, or text files."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from trigemu.api import TrigemuError, nearest, read_bounded
from trigemu_anomaly import ApFixed, integer_file as file

from .source import Array, Source, firmware_of

#: Largest file of weights in text, in bytes.
_MAX_TEXT = 2**25
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


class Weights:
    """The weights of a project in a folder."""

    def __init__(self, source: Source, folder: Path) -> None:
        self.source, self.folder = source, folder

    def words(self, array: Array, size: int) -> tuple[ApFixed, list[int]]:
        """Return the type of an array and its values as words."""
        kind = self.source.type(array.type, array.where)
        values = array.values
        try:
            numbers = np.array(values, np.float64)
        except ValueError:
            wrong = next(value for value in values if not _NUMBER.fullmatch(value))
            raise TrigemuError(f"{array.where}: {wrong[:40]!r} is not a number") from None
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
        root = firmware_of(self.folder)
        found = [path for path in (root / f"{name}.txt", root / "weights" / f"{name}.txt") if path.is_file()]
        if not re.fullmatch(r"\w+", name) or not found:
            hint = nearest(name, self.source.arrays)
            raise TrigemuError(
                f"{where}: no weights {name!r}{hint}: expected an array in a header, or {name}.txt in "
                f"{root / 'weights'}"
            )
        text = read_bounded(found[0], _MAX_TEXT).decode("utf-8", "replace")
        if name not in self.source.declared:
            raise TrigemuError(f"{where}: the type of the weights {name!r} is not declared")
        values = tuple(value for value in re.split(r"[\s,]+", text) if value)
        return Array(self.source.declared[name], "", values, str(found[0]))
