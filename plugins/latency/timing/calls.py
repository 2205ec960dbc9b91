"""The timed calls of a plan: all its slots on consecutive batches of events, and the parts of a slot.

Every call runs once when it is created, as a warm-up. Its decisions (by a `Stream` of the events, or by
`decide` where a stream would call it) are then compared with the decisions on all events at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from trigemu.api import Events, Plan, PluginError, TrigemuError, Words, decide, own_cause, reason_of

from ..questions import stages
from ..stream.stream import ARRAYS_FROM, Stream
from .clock import TimedCall


class Batches:
    """Events cut into batches of equal size; the remainder is dropped."""

    def __init__(self, events: Events, size: int) -> None:
        self._size, self._number = size, len(events) // size
        self._events = events[: self._number * size]

    def decisions(self, plan: Plan) -> TimedCall:
        """Return the call that decides a batch. PluginError if its decisions differ from the decisions on all
        events at once."""
        expected = decide(self._events, plan)
        words = np.empty_like(expected)
        if self._size == 1:
            stream = Stream(plan, self._events)
            call: Callable[[int], object] = stream.decide
            for event in range(len(words)):
                stream.decide(event)
                words[event] = stream.words
        else:
            call = several = self._several(plan)
            for i in range(self._number):
                words[i * self._size : (i + 1) * self._size] = several(i)
        self._check_equal(plan, words ^ expected)
        return TimedCall(self._number, self._size, call)

    def _several(self, plan: Plan) -> Callable[[int], Words]:
        """Return a function that decides a batch of several events, with a stream if that can be faster. A
        stream takes seconds to compile the first time."""
        if (size := self._size) < ARRAYS_FROM:
            stream = Stream(plan, self._events)
            return lambda i: stream.decide_many(i * size, (i + 1) * size)
        views = self._views(plan.margin)
        return lambda i: decide(views[i], plan)[views[i].core]

    def _views(self, margin: int = 0) -> list[Events]:
        starts = range(0, len(self._events), self._size)
        return [self._events.around(start, start + self._size, margin) for start in starts]

    def _check_equal(self, plan: Plan, different: Words) -> None:
        if not different.any():
            return
        event, word = (int(at[0]) for at in np.nonzero(different))
        bit = 64 * word + int(different[event, word]).bit_length() - 1
        raise PluginError(
            f"{_where(plan, bit)} decides differently in batches of {self._size} than of {len(different)}, "
            f"on event {self._events.id[event]} of {self._events.sample!r}: a decision must not depend on "
            f"the other events of a call"
        )

    def parts(self, plan: Plan) -> dict[str, TimedCall]:
        """Return the calls of the parts of a slot, the only one of a plan. PluginError if a part fails."""
        try:
            calls = self._calls(plan)
            for call in calls.values():
                for i in range(self._number):
                    call(i)
        except TrigemuError:
            raise
        except Exception as error:
            if own := own_cause(error):
                raise own from error
            where = _where(plan, 0)
            raise PluginError(f"{where}: its parts cannot be timed: {reason_of(error)}") from error
        return {name: TimedCall(self._number, self._size, call) for name, call in calls.items()}

    def _calls(self, plan: Plan) -> Mapping[str, Callable[[int], object]]:
        if self._size == 1:
            return Stream(plan, self._events).stages(0)
        compiled = plan.slots[0].compiled
        if not stages(compiled, self._events[: self._size]):  # views take time
            return {}
        each = [stages(compiled, view) for view in self._views()]
        return {name: partial(_do, each, name) for name in each[0]}


def _where(plan: Plan, bit: int) -> str:
    trigger = plan.slots[bit].trigger
    return f"{trigger.place}: trigger {trigger.name!r} (kind {trigger.kind!r})"


def _do(each: Sequence[Mapping[str, Callable[[], object]]], name: str, i: int) -> object:
    return each[i][name]()
