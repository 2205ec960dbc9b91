"""Check that tables from files are possible.

Compiled loops do not check indices, and impossible sums lead to wrong rates. Therefore every table from
outside this process is checked first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.errors import TrigemuError
from trigemu.counting.patterns import KEYS, WEIGHT_LIMIT, Keys, PatternTable, SharedEvents
from trigemu.counting.score_table import ScoreTable

_INTEGERS, _NUMBERS, _FLOATS = np.dtype("i8"), np.dtype("u8"), np.dtype("f8")
#: Upper bounds of the keys of any table: one integer can hold all of them and the sample.
_ANY = {"half": 2, "bin": 2**31, "stratum": 2**15}


def check_array(name: str, array: Any, dtype: np.dtype[Any], *shape: int | None) -> None:
    """Check the type and the shape of an array."""
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != len(shape):
        raise TrigemuError(f"{name} is not an array of {dtype} with {len(shape)} dimensions")
    if any(expected not in (None, length) for expected, length in zip(shape, array.shape, strict=True)):
        wanted_shape = tuple("any" if length is None else length for length in shape)
        raise TrigemuError(f"{name} has the shape {array.shape}, expected {wanted_shape}")


def check_within(name: str, array: IntArray, end: int) -> None:
    """Check that numbers are in 0 … end − 1. array: int64[n]."""
    if len(array) and not (array.min() >= 0 and array.max() < end):
        raise TrigemuError(f"{name} is {array.min()} to {array.max()}, expected 0 to {end - 1}")


def check_samples(array: IntArray, samples: Mapping[int, int]) -> None:
    """Check that numbers belong to samples. array: int64[n]."""
    if unknown := {*np.unique(array).tolist()} - samples.keys():
        raise TrigemuError(f"it has events of a sample {min(unknown)}, expected {sorted(samples)}")


def check_weights(name: str, weight: FloatArray, limit: float = WEIGHT_LIMIT) -> None:
    """Check that weights are numbers below a limit. weight: float64[n]."""
    bad = ~(np.abs(weight) < limit)
    if bad.any():
        raise TrigemuError(f"{name} is {weight[bad][0]:g} Hz, expected less than {limit:g} Hz")


def check_table(
    table: Any, *, words: int, samples: Mapping[int, int], ends: Mapping[str, int] = _ANY
) -> None:
    """Check that a pattern table is possible."""
    if not isinstance(table, PatternTable):
        raise TrigemuError("it is not a pattern table")
    check_array("n", table.n, _INTEGERS, None)
    m = len(table.n)
    for name in KEYS:
        check_array(name, getattr(table, name), _INTEGERS, m)
    check_array("words", table.words, _NUMBERS, m, words)
    check_array("largest", table.largest, _FLOATS, m)
    for name in ("weight", "square"):
        check_array(name, getattr(table, name), _FLOATS, m)
    check_samples(table.sample, samples)
    for name in Keys._fields:
        check_within(f"the {name}", getattr(table, name), ends.get(name, 1))
    _check_sums(table, samples)
    _check_shared(table.shared, table)


def _check_sums(table: PatternTable, samples: Mapping[int, int]) -> None:
    """Compare numbers of events, largest weights and sums with each other."""
    check_weights("the largest weight", table.largest)
    n = table.n
    if len(n) and not (n.min() > 0 and table.largest.min() >= 0.0):
        raise TrigemuError("an entry has no events, or a largest weight below 0")
    for sample, most in samples.items():
        counts = n[table.sample == sample]
        if len(counts) and (counts.max() > most or counts.sum() > most):
            raise TrigemuError(f"it has more events of sample {sample} than the {most} that exist")


def _check_shared(shared: Any, table: PatternTable) -> None:
    if not isinstance(shared, SharedEvents):
        raise TrigemuError("its events with parents have another type")
    check_array("entry", shared.entry, _INTEGERS, None)
    k = len(shared.entry)
    for name, dtype in (("parent", _NUMBERS), ("id", _NUMBERS), ("weight", _FLOATS)):
        check_array(name, getattr(shared, name), dtype, k)
    check_within("an entry of an event with a parent", shared.entry, len(table))
    if (np.bincount(shared.entry, minlength=len(table)) > table.n).any():
        raise TrigemuError("an entry has more events with parents than events")
    if not (np.abs(shared.weight) <= table.largest[shared.entry]).all():
        raise TrigemuError("an event with a parent is heavier than the largest weight of its entry")


def check_scores(
    table: Any, *, samples: Mapping[int, int], strata: int, above: tuple[float, ...], bits: int
) -> None:
    """Raise TrigemuError if a value is not a score table, or no events can produce it.

    samples: as in `check_table`. strata: their number. above: the value above which the scores of each column
    are known. bits: the number of decisions.
    """
    if not isinstance(table, ScoreTable):
        raise TrigemuError("it is not a score table")
    check_array("id", table.id, _NUMBERS, None)
    n = len(table.id)
    for name, dtype in (
        ("sample", _INTEGERS),
        ("half", _INTEGERS),
        ("stratum", _INTEGERS),
        ("parent", _NUMBERS),
        ("weight", _FLOATS),
    ):
        check_array(name, getattr(table, name), dtype, n)
    check_array("scores", table.scores, _FLOATS, n, len(above))
    check_array("words", table.words, _NUMBERS, n, max(1, -(-bits // 64)))
    check_samples(table.sample, samples)
    ends = {"half": 2, "stratum": strata}
    for name, end in ends.items():
        check_within(f"the {name}", getattr(table, name), end)
    check_weights("a weight", table.weight)
    for column, floor in enumerate(above):
        check_known(f"score {column}", table.scores[:, column], floor)
    counts = np.bincount(table.sample, minlength=max(samples, default=0) + 1)
    left = {number: most - int(counts[number]) for number, most in samples.items()}
    if min(left.values(), default=0) < 0:
        raise TrigemuError("it has more events of a sample than there are")
    check_table(table.rest, words=1, samples=left, ends=ends)


def check_known(name: str, score: FloatArray, above: float) -> None:
    """Raise TrigemuError if a score is NaN, +∞, or neither above a value nor −∞."""
    bad = ~((score > above) & (score < np.inf)) & (score != -np.inf)
    if bad.any():
        raise TrigemuError(f"{name} is {score[bad][0]:g}, expected a finite number above {above:g}, or −inf")
