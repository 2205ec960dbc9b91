"""Results of tasks that come from a checkpoint: whether these tasks can have given them.

Whoever can write to a checkpoint can also renew the digests in it. What is not as it should be is done again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from trigemu.counting import (
    PatternTable,
    check_array,
    check_samples,
    check_scores,
    check_table,
    check_weights,
    check_within,
)
from trigemu.decisions import Plan
from trigemu.emulation.budgets import BudgetEvents
from trigemu.emulation.budgets import _Collect as _CollectBudgets
from trigemu.emulation.engine import Chunk
from trigemu.emulation.fired import _Decide
from trigemu.emulation.loop import _CountPatterns
from trigemu.emulation.loosest import _BITS as BITS
from trigemu.emulation.loosest import BinnedScores, _Bin
from trigemu.emulation.per_event import _Halves, _Record
from trigemu.emulation.score_pass import _Collect as _CollectScores
from trigemu.support import TrigemuError

_INTEGERS, _NUMBERS, _FLOATS, _TRUTHS = map(np.dtype, ("i8", "u8", "f8", "?"))


def entries_of(chunks: Sequence[Chunk]) -> dict[int, int]:
    """Return the number of events of each sample."""
    found: Counter[int] = Counter()
    for chunk in chunks:
        found[chunk.sample] += chunk.size
    return dict(found)


@singledispatch
def check_kept(task: Any, plan: Plan, chunks: Sequence[Chunk], part: Any) -> None:
    """Raise TrigemuError if a part cannot be the result of a task for some chunks.

    For a task that no function is registered for, only the pattern tables in its results are compared with
    the chunks.
    """
    if isinstance(part, PatternTable):
        width = part.words.shape[1] if getattr(part.words, "ndim", 0) == 2 else 1
        check_table(part, words=width, samples=entries_of(chunks))
    elif isinstance(part, tuple | list):
        for item in part:
            check_kept(task, plan, chunks, item)
    elif isinstance(part, Mapping):
        check_kept(task, plan, chunks, [*part.values()])
    elif is_dataclass(part):
        check_kept(task, plan, chunks, [getattr(part, field.name) for field in fields(part)])


@check_kept.register
def _(task: _CountPatterns, plan: Plan, chunks: Sequence[Chunk], part: Any) -> None:
    bins = task.axis.bins if task.axis else 1
    ends = {"half": 1 + task.by_half, "bin": bins, "stratum": task.strata}
    check_table(part, words=plan.words, samples=entries_of(chunks), ends=ends)


@check_kept.register
def _(task: _Halves, plan: Plan, chunks: Sequence[Chunk], part: Any) -> None:
    check_table(part, words=1, samples=entries_of(chunks), ends={"half": 2})


@check_kept.register
def _(task: _CollectScores, plan: Plan, chunks: Sequence[Chunk], part: Any) -> None:
    above = tuple(cut for _, cut in task.cuts)
    samples = entries_of(chunks)
    check_scores(part, samples=samples, strata=task.strata, above=above, bits=len(task.bits))


@check_kept.register
def _(task: _CollectBudgets, plan: Plan, chunks: Sequence[Chunk], part: Any) -> None:
    table, asked = pair_of(part)
    check_table(table, words=1, samples=entries_of(chunks), ends={"half": 2})
    if not isinstance(asked, BudgetEvents):
        raise TrigemuError("it has no events with a budget")
    n = check_events(asked, chunks, plan.words)
    check_array("shared", asked.shared, _TRUTHS, n)
    check_array("scores", asked.scores, _FLOATS, n, len(task.slots))
    if n and not (asked.weight.min() >= 0 and not np.isnan(asked.scores).any()):
        raise TrigemuError("a weight is below 0, or a score is NaN")


def pair_of(part: Any) -> tuple[Any, Any]:
    if not (isinstance(part, tuple) and len(part) == 2):
        raise TrigemuError("it is not a pair")
    return part


def check_events(part: Any, chunks: Sequence[Chunk], words: int) -> int:
    """Check the sample, weight, parent and words of events; return their number."""
    samples = entries_of(chunks)
    check_array("sample", part.sample, _INTEGERS, None)
    n = len(part.sample)
    check_array("weight", part.weight, _FLOATS, n)
    check_array("parent", part.parent, _NUMBERS, n)
    check_array("words", part.words, _NUMBERS, n, words)
    check_samples(part.sample, samples)
    check_weights("a weight", part.weight)
    if n > sum(samples.values()):
        raise TrigemuError("it has more events than there are")
    return n


@check_kept.register
def _(task: _Bin, plan: Plan, chunks: Sequence[Chunk], part: Any) -> None:
    if not isinstance(part, BinnedScores):
        raise TrigemuError("it has no weights in bins of scores")
    check_array("slot", part.slot, _INTEGERS, None)
    for field in fields(part):
        check_array(field.name, getattr(part, field.name), _INTEGERS, len(part.slot))
    check_within("the slot", part.slot, max(task.slots, default=-1) + 1)
    check_within("the bin, from the lowest one on,", part.bin + 2**BITS, 2 ** (BITS + 1))


@check_kept.register
def _(task: _Decide, plan: Plan, chunks: Sequence[Chunk], part: Any) -> None:
    check_array("words", part, _NUMBERS, sum(chunk.size for chunk in chunks), plan.words)


@check_kept.register
def _(task: _Record, plan: Plan, chunks: Sequence[Chunk], part: Any) -> None:
    if not isinstance(part, dict) or tuple(part) != task.names:
        raise TrigemuError("it has other columns")
    lengths = {len(column) for column in part.values() if isinstance(column, np.ndarray) and column.ndim == 1}
    if len(lengths) != 1 or max(lengths) > sum(chunk.size for chunk in chunks):
        raise TrigemuError("its columns have other lengths")
    for name, column in part.items():
        wanted = _COLUMNS.get(name.partition("_")[0] + "_" * ("_" in name), _FLOATS)
        check_array(name, column, wanted, None)


_COLUMNS = {
    **{
        "sample": np.dtype("i4"),
        "id": _NUMBERS,
        "parent": _NUMBERS,
        "half": np.dtype("i1"),
        "fired_": _TRUTHS,
    },
    **{"weight": _FLOATS, "acceptance": _FLOATS},
}
