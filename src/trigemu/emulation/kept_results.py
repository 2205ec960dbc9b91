"""Results of tasks that come from a checkpoint: whether these tasks can have given them.

Whoever can write to a checkpoint can also renew the digests in it. What is not as it should be is done again.
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
    """Check that a kept result can be that of a task for some chunks.

    By default only the pattern tables in it are compared with the chunks. A task whose results hold other
    arrays that loops index registers a function for its class: `@check_kept.register(MyTask)`.

    Parameters
    ----------
    task : Task
        The task.
    plan : Plan
        The plan that it was done with.
    chunks : sequence of Chunk
        The chunks.
    part : object
        The result that was kept.

    Raises
    ------
    TrigemuError
        If it cannot be; it is then computed again.
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


# Not as a decorator: mypy would know its type only after this module, and rooms are checked in any order.
check_kept: _SingleDispatchCallable[None] = singledispatch(_check)


def check_events(part: Any, chunks: Sequence[Chunk], words: int) -> int:
    """Check the sample, weight, parent and words of events in a result that was kept.

    Parameters
    ----------
    part : object
        The result, with arrays of these names.
    chunks : sequence of Chunk
        The chunks that it should be of.
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
