"""Decisions one event at a time, identical to those of `decide`. Memory is allocated once; for an event, only
ONNX Runtime allocates memory.

    stream = Stream(plan, events)
    stream.decide(17)
    stream.words                    # the decisions of event 17
    stream.decide_many(0, 16)       # the decisions of a small batch

The form of each compiled trigger for single events (`single` in `program.py`) becomes part of one program,
which one kernel interprets (`machine.py`); then the models run that the event needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from threading import Thread

import numpy as np
from numba import types
from trigemu_anomaly.single_row import Decision, ModelCall

from trigemu.base.arrays import Words
from trigemu.base.errors import wrong_type
from trigemu.emulation.plan import Plan, decide
from trigemu.observables.expressions import Condition
from trigemu.samples.events import Events
from trigemu.triggers.base import Compiled

from .machine import run, run_many
from .opcodes import REFUSED
from .program import NoFormError, Program, single

#: The machine returns the requested models as the bits of an int64, whose sign is not available.
_MAX_MODELS = 63
#: The smallest number of consecutive events that `decide` evaluates together, instead of the program one by
#: one. `decide` takes as long for one event as for hundreds: 0.1 ms for two triggers, 2 ms for
#: `menus/full.toml`, 9 ms for 42 seeds of CMS Phase-2, 20 ms for 466 algorithms of CMS Level-1. The program
#: decides 700, 1150, 700 and 220 events in that time. With this compromise, no batch takes more than about
#: 2.4 times as long as with the faster method. `decide` itself does not use a stream, since assembling one
#: takes as long as deciding its events.
ARRAYS_FROM = 512
#: The smallest number of events that request models which are no machine code, such as ONNX Runtime, for all
#: events of a batch to go through them together: a call takes 10 to 40 µs for one event, and 0.1 ms for many.
MODELS_FROM = 8


class Stream:
    """Decides the triggers of a plan on single events of a range.

    A stream cannot be pickled, and can be used by one thread at a time.

    Parameters
    ----------
    plan : Plan
        The compiled triggers.
    events : Events
        The events.

    Attributes
    ----------
    words : uint64[plan.words]
        The decisions of the event that was last decided alone, as in the function `decide`. `decide_many`
        overwrites it.

    Raises
    ------
    TrigemuError
        If the events lack a column.
    """

    def __init__(self, plan: Plan, events: Events) -> None:
        if not isinstance(plan, Plan):
            raise wrong_type("the plan", plan, "a Plan (make_plan)", "decisions needs a menu")
        if not isinstance(events, Events):
            raise wrong_type("the events", events, "Events", "events_from_awkward makes them of an array")
        # Compilation takes seconds the first time; other programs compile the models meanwhile.
        machine = Thread(target=run.compile, args=((types.intp, types.intp),))  # type: ignore[attr-defined]
        machine.start()
        forms = [single(slot.compiled) for slot in plan.slots]
        self._plan, self._events = plan, events
        self.words: Words = np.zeros(plan.words, np.uint64)
        self._program = Program(events)
        self._calls: list[tuple[int, ModelCall]] = []
        self._models: list[tuple[int, int, Decision]] = []
        self._plans: dict[tuple[int, ...], Plan] = {}  # of some slots, by their bits
        self._unsupported = [bit for bit, form in enumerate(forms) if not self._add(bit, form)]
        for bit, call in self._calls:
            self._add_model(bit, call)
        self._table = self._program.finish(self.words)
        machine.join()

    def _add(self, bit: int, form: Condition | Compiled | ModelCall | None) -> bool:
        """Add the form of a slot for single events; return whether it has one."""
        if isinstance(form, ModelCall):
            self._calls.append((bit, form))
            return True
        try:
            if form is not None:
                self._program.fire(bit, form)
        except NoFormError:
            return False
        return form is not None

    def _add_model(self, bit: int, call: ModelCall) -> None:
        """Add a model, after all conditions: its inputs may share their results."""
        try:
            if len(self._models) == _MAX_MODELS:
                raise NoFormError
            self._program.request(len(self._models), bit, call)
            self._models.append((1 << len(self._models), bit, call.decision))
        except NoFormError:
            self._unsupported.append(bit)

    def decide(self, event: int) -> None:
        """Decide one event and write its decisions to `words`.

        Parameters
        ----------
        event : int
            The position of the event, 0 ≤ event < len(events).

        Raises
        ------
        IndexError
            If there is no such event.
        PluginError, SampleError
            As raised by `decide`.
        """
        requested = run(self._table, event)
        if requested:
            self._decide_further(requested, event)
        if self._unsupported:
            self.words |= self._decide_arrays(event, event + 1, self._unsupported)[0]

    def decide_many(self, start: int, stop: int) -> Words:
        """Decide consecutive events with the faster method: up to a few hundred events one after the other,
        more as arrays."""
        if not 0 <= start <= stop <= len(self._events):
            raise IndexError(f"events {start} to {stop} of {len(self._events)}")
        if stop - start >= ARRAYS_FROM:
            return self._decide_arrays(start, stop)
        words: Words = np.zeros((stop - start, len(self.words)), np.uint64)
        requested = np.zeros(stop - start, np.int64)
        run_many(self._table, start, stop, words, requested)
        requesting, bits = np.flatnonzero(requested), list(self._unsupported)
        if len(requesting) >= MODELS_FROM and (requested >= 0).all():
            bits += (bit for _, bit, _ in self._models)
        else:
            for row in requesting.tolist():
                self._decide_further(run(self._table, start + row), start + row)
                words[row] = self.words
        if bits and start < stop:
            words |= self._decide_arrays(start, stop, bits)
        return words

    def _decide_further(self, requested: int, event: int) -> None:
        """Run the models that the program requested."""
        if requested == REFUSED:
            return self._decide_again(event)
        for mask, bit, model in self._models:
            if requested & mask:
                decision = model()
                if decision > 0:
                    self.words[bit // 64] |= np.uint64(1 << bit % 64)
                elif decision < 0:
                    return self._decide_again(event)
        return None

    def _decide_again(self, event: int) -> None:
        """Decide an event by `decide`, where the program could not, or to raise an error."""
        if not 0 <= event < len(self._events):
            raise IndexError(f"event {event} of {len(self._events)}")
        self.words[:] = self._decide_arrays(event, event + 1)[0]

    def _decide_arrays(self, start: int, stop: int, bits: Sequence[int] | None = None) -> Words:
        """Return the decisions of some slots, or of all, uint64[stop - start, plan.words], as arrays; events
        are evaluated with their neighbouring crossings."""
        plan = self._plan
        if bits is not None:
            plan = self._plans.setdefault(
                tuple(bits), replace(plan, slots=tuple(plan.slots[b] for b in bits))
            )
        events = self._events.around(start, stop, plan.margin)
        decisions: Words = decide(events, plan)[events.core]
        if bits is None:
            return decisions
        words: Words = np.zeros((stop - start, len(self.words)), np.uint64)
        for number, bit in enumerate(bits):
            passed = decisions[:, number // 64] >> np.uint64(number % 64) & np.uint64(1)
            words[:, bit // 64] |= passed << np.uint64(bit % 64)
        return words
