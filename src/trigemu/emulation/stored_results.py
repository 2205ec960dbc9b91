"""Check that results from a checkpoint can belong to their tasks.

Anyone who can write to a checkpoint can also renew its digests. Results that fail a check are computed again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from trigemu.counting import PatternTable, check_array, check_samples, check_table, check_weights
from trigemu.emulation.chunks import Chunk, entries_of
from trigemu.emulation.plan import Plan
from trigemu.support import TrigemuError

if TYPE_CHECKING:
    from functools import _SingleDispatchCallable


def _check(task: Any, plan: Plan, chunks: Sequence[Chunk], part: Any) -> None:
    """Check that a stored result can belong to a task and its chunks.

    By default only pattern tables are compared with the chunks. A task with other arrays in its results,
    which loops index, registers a function for its class: `@check_result.register(MyTask)`.

    Parameters
    ----------
    task : Task
        The task.
    plan : Plan
        The plan of the task.
    chunks : sequence of Chunk
        The chunks.
    part : object
        The stored result.

    Raises
    ------
    TrigemuError
        If it cannot; the result is then computed again.
    """
    if isinstance(part, PatternTable):
        width = part.words.shape[1] if getattr(part.words, "ndim", 0) == 2 else 1
        check_table(part, words=width, samples=entries_of(chunks))
    elif isinstance(part, tuple | list):
        for item in part:
            check_result(task, plan, chunks, item)
    elif isinstance(part, Mapping):
        check_result(task, plan, chunks, [*part.values()])
    elif is_dataclass(part):
        check_result(task, plan, chunks, [getattr(part, field.name) for field in fields(part)])


# Not a decorator: mypy would infer its type only after this module, and it checks subpackages in any order.
check_result: _SingleDispatchCallable[None] = singledispatch(_check)


def check_events(part: Any, chunks: Sequence[Chunk], words: int) -> int:
    """Check the sample, weight, parent and words of events in a stored result.

    Parameters
    ----------
    part : object
        The result, with arrays of these names.
    chunks : sequence of Chunk
        The chunks that it should belong to.
    words : int
        The number of words of a pattern.

    Returns
    -------
    int
        The number of its events.

    Raises
    ------
    TrigemuError
        If the chunks cannot have such events.
    """
    samples = entries_of(chunks)
    check_array("sample", part.sample, np.dtype("i8"), None)
    n = len(part.sample)
    check_array("weight", part.weight, np.dtype("f8"), n)
    check_array("parent", part.parent, np.dtype("u8"), n)
    check_array("words", part.words, np.dtype("u8"), n, words)
    check_samples(part.sample, samples)
    check_weights("a weight", part.weight)
    if n > sum(samples.values()):
        raise TrigemuError("it has more events than there are")
    return n
