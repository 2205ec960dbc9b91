"""Decisions one event at a time, identical to those of `decide`. Memory is allocated once; an event allocates
nothing but what ONNX Runtime needs for a run.

    stream = Stream(plan, events)
    stream.decide(17)
    stream.words                    # the decisions of event 17
    stream.decide_many(0, 1000)     # those of a thousand

The form of each compiled trigger for single events (`Compiled.single` in `triggers/base.py`) becomes part of
one program (`program.py`, `assembly.py`), which one kernel interprets (`machine.py`); then the models run
that the event needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from threading import Thread

import numpy as np

from trigemu.decisions.plan import Plan, decide
from trigemu.decisions.stream.assembly import NoFormError
from trigemu.decisions.stream.machine import compile_machine, run, run_while
from trigemu.decisions.stream.opcodes import REFUSED
from trigemu.decisions.stream.program import Program
from trigemu.observables import Condition
from trigemu.samples import Events
from trigemu.support import Words, wrong_type
from trigemu.triggers import Compiled, Model, ModelCall

#: The machine returns the requested models as the bits of an int64, whose sign is not available.
_MAX_MODELS = 63


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
        The decisions of the last decided event, as in `decide`.

    Raises
    ------
    TrigemuError
        If the events lack a column.
    """

    def __init__(self, plan: Plan, events: Events) -> None:
        self._open(plan, events, native=True)

    def _open(self, plan: Plan, events: Events, native: bool) -> None:
        """Assemble the program. native: whether models that are machine code run in it, or are called."""
        if not isinstance(plan, Plan):
            raise wrong_type("the plan", plan, "a Plan (make_plan)", "decisions takes a menu")
        if not isinstance(events, Events):
            raise wrong_type("the events", events, "Events", "events_from_awkward makes them of an array")
        # It takes seconds the first time, as do models, which other programs compile meanwhile.
        machine = Thread(target=compile_machine)
        machine.start()
        forms = [slot.compiled.single() for slot in plan.slots]
        self._plan, self._events = plan, events
        self.words: Words = np.zeros(plan.words, np.uint64)
        self._program = Program(events)
        self._asked: list[tuple[int, ModelCall]] = []
        self._models: list[tuple[int, int, Model]] = []
        self._others = [bit for bit, form in enumerate(forms) if not self._add(bit, form)]
        for bit, asked in self._asked:
            self._add_model(bit, asked if native else replace(asked, native=None))
        slots = tuple(plan.slots[bit] for bit in self._others)
        self._plan_of_others = replace(plan, slots=slots)
        self._table = self._program.finish(self.words)
        machine.join()

    def _add(self, bit: int, form: Condition | Compiled | ModelCall | None) -> bool:
        """Add the form of a slot for single events; return whether it has one."""
        if isinstance(form, ModelCall):
            self._asked.append((bit, form))
            return True
        try:
            if form is not None:
                self._program.fire(bit, form)
        except NoFormError:
            return False
        return form is not None

    def _add_model(self, bit: int, asked: ModelCall) -> None:
        """Add a model, after all conditions, whose results its inputs may share."""
        try:
            if len(self._models) == _MAX_MODELS:
                raise NoFormError
            self._program.ask(len(self._models), bit, asked)
            self._models.append((1 << len(self._models), bit, asked.model))
        except NoFormError:
            self._others.append(bit)

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
        asked = run(self._table, event)
        if asked or self._others:
            self._decide_further(asked, event)

    def decide_many(self, start: int, stop: int) -> Words:
        """Decide consecutive events, each by itself.

        Parameters
        ----------
        start, stop : int
            The events: start ≤ event < stop.

        Returns
        -------
        uint64[stop - start, plan.words]
            Their decisions, as in `decide`.

        Raises
        ------
        IndexError
            If there is no such event.
        PluginError, SampleError
            As raised by `decide`.
        """
        if not 0 <= start <= stop <= len(self._events):
            raise IndexError(f"events {start} to {stop} of {len(self._events)}")
        words: Words = np.zeros((stop - start, len(self.words)), np.uint64)
        event = start
        while event < stop:
            if not self._others:
                event = run_while(self._table, event, stop, words[event - start :])
            if event < stop:
                self.decide(event)
                words[event - start] = self.words
                event += 1
        return words

    def _decide_further(self, asked: int, event: int) -> None:
        """Run the requested models, and the slots without a form for single events."""
        if asked == REFUSED:
            return self._decide_in_batch(event)
        for mask, bit, model in self._models:
            if asked & mask:
                fires = model()
                if fires > 0:
                    self._set(bit)
                elif fires < 0:
                    return self._decide_in_batch(event)
        if self._others:
            words = self._decide_alone(event, self._plan_of_others).tolist()
            for number, bit in enumerate(self._others):
                if words[number // 64] >> number % 64 & 1:
                    self._set(bit)
        return None

    def _set(self, bit: int) -> None:
        self.words[bit // 64] |= np.uint64(1 << bit % 64)

    def _decide_in_batch(self, event: int) -> None:
        """Decide an event with `decide`, if the program or a model could not, or if there is an error to
        raise."""
        if not 0 <= event < len(self._events):
            raise IndexError(f"event {event} of {len(self._events)}")
        self.words[:] = self._decide_alone(event, self._plan)

    def _decide_alone(self, event: int, plan: Plan) -> Words:
        """Return uint64[plan.words] of one event, evaluated with its neighbouring crossings."""
        events = self._events.around(event, event + 1, plan.margin)
        words: Words = decide(events, plan)[events.core][0]
        return words

    @property
    def engines(self) -> Mapping[int, str]:
        """What runs the network of each slot that has one, by its bit: machine code, or ONNX Runtime and
        why."""
        models = ((bit, getattr(model, "engine", None)) for _, bit, model in self._models)
        return {bit: engine for bit, engine in models if engine}

    def stages(self, bit: int) -> Mapping[str, Callable[[int], object]]:
        """Return the parts of a slot for timing, by name, each a function of the position of an event.

        Only a slot whose compiled trigger has a model has parts. They have memory of their own, and are
        meaningful only for events that the trigger asks for.
        """
        alone = Stream.__new__(Stream)
        alone._open(replace(self._plan, slots=(self._plan.slots[bit],)), self._events, native=False)
        if not alone._models:
            return {}
        _, _, model = alone._models[0]
        return model.stages(alone._fill, len(self._events))

    def _fill(self, event: int) -> None:
        """Run the program on an event, without the models."""
        run(self._table, event)
