"""The cost of a menu: the time per event of each trigger and of the menu, for single events and in batches.

Batches of one event, decided by a `Stream`, measure the latency; larger ones measure the throughput. A batch
has consecutive events in memory and is decided like in `Stream.decide_many`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from trigemu_anomaly.single_row import engines_of

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.errors import SampleError
from trigemu.base.mapping import Engine
from trigemu.base.shown import Named, Shown
from trigemu.emulation.engine import Chunk, Job, over_background
from trigemu.emulation.loop import Emulation
from trigemu.emulation.plan import Plan
from trigemu.menus.menu import Menu, Trigger
from trigemu.menus.read import MenuLike
from trigemu.observables.expressions import Condition
from trigemu.observables.workspace import Workspace
from trigemu.rates.menu_rates import emulation_of, rates_of
from trigemu.rates.results import MenuRates, TriggerRates
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events
from trigemu.samples.memory import SamplesLike
from trigemu.samples.sample import join_events
from trigemu.triggers.base import Context

from .clock import Batches, Clock, TimedCall, Timing, environment, measure


@dataclass(frozen=True)
class DrawnEvents:
    """Drawn events."""

    events: Events  # In the order of the draw, with repetitions
    share: float  # The fraction of the background rate that they were drawn from


def draw_events(
    plan: Plan, catalogue: Catalogue, n: int, conditions: Sequence[Condition | None], seed: int
) -> list[DrawnEvents | None]:
    """Draw n independent events for each condition (None: all events) in one pass, by the absolute value of
    their weight; None if no event fulfils the condition."""
    plan.check_background(catalogue)
    generators = (np.random.default_rng([seed, number]) for number in range(len(conditions)))
    draws = [_Draws(np.zeros(n, np.int64), generator) for generator in generators]
    total = sum(over_background(Job((), plan, catalogue), _See(conditions, draws), Engine(workers=1)))
    return [among.drawn(total) for among in draws]


@dataclass(frozen=True)
class _See:
    """The task that draws from a chunk, in this process; its result is the rate of all its events in Hz."""

    conditions: Sequence[Condition | None]
    draws: Sequence[_Draws]

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> float:
        events = events[events.core]
        work, rate = Workspace(events), np.abs(events.weight)
        for condition, among in zip(self.conditions, self.draws, strict=True):
            among.see(events, rate if condition is None else rate * condition.evaluate(work))
        return float(rate.sum())

    def merge(self, parts: Sequence[float]) -> float:
        return sum(parts)


@dataclass
class _Draws:
    """Draws over a stream of events. Each draw replaces its event by one of the next events with a
    probability equal to the share of the next events in the rate so far."""

    rows: IntArray  # Of the drawn events among those of all parts
    random: np.random.Generator
    rate: float = 0.0
    parts: list[Events] = field(default_factory=list)

    def see(self, events: Events, rate: FloatArray) -> None:
        """Draw from further events. rate: float64[n] in Hz, 0 for events that are not to be drawn."""
        more = float(rate.sum())
        if not more:
            return
        self.rate += more
        taken = np.flatnonzero(self.random.random(len(self.rows)) < more / self.rate)
        rows = self.random.choice(len(events), len(taken), p=rate / more)
        self.rows[taken] = sum(map(len, self.parts)) + np.arange(len(taken))
        self.parts.append(events.take(rows))

    def drawn(self, total: float) -> DrawnEvents | None:
        if not self.rate:
            return None
        return DrawnEvents(join_events(self.parts).take(self.rows), self.rate / total)


#: Sizes of batches. The first one, a single event, is what a trigger decides.
BATCHES = (1, 16, 256, 4096)
EVENTS = 20_000
#: The time limit of the measurement. This many triggers are timed in turn, then the next ones if there is
#: time.
SECONDS = 60.0
TOGETHER = 8
#: The seed of the draw: every run times the same events.
SEED = 40_000_000

#: Batch size → measured times.
Timings = Mapping[int, Timing]
#: The events that were drawn, by the condition that they fulfil; None: all events.
_Drawn = Mapping[Condition | None, DrawnEvents | None]
#: Timings by bit and name: "" on random events; "preselected" on those that pass the preselection, on which
#: engines and bare models are timed too. The bit of the whole menu is None.
_Measured = dict[tuple[int | None, str], dict[int, Timing]]
_PRESELECTED = "preselected"


@dataclass(frozen=True)
class TriggerCost:
    """The cost of one trigger, evaluated alone."""

    trigger: Trigger  #: The trigger
    rates: TriggerRates | None  #: Its rates; None if it is disabled
    #: Batch size → measured times on random background events; empty for a kind that acts on decisions.
    batch: Timings = field(default_factory=dict)
    preselected: Timings = field(
        default_factory=dict
    )  #: The same on events that pass its preselection, if any
    share: float | None = None  #: The fraction of the background rate that passes the preselection
    #: The same times for each engine that it could name, and for its bare models: "bare_onnxruntime",
    #: "bare_bdt".
    parts: Mapping[str, Timings] = field(default_factory=dict)
    engine: str = ""  #: What evaluates its models; "" without models


@dataclass(frozen=True, repr=False)
class Bench(Shown, Named[TriggerCost]):
    """The cost of a menu; result["J100"] is the cost of a trigger."""

    _view: ClassVar[str] = "trigemu_latency.views:BenchView"

    rates: MenuRates  #: The rates of the menu
    menu: Timings  #: Batch size → measured times of all triggers together, in one thread
    triggers: tuple[TriggerCost, ...]  #: The cost of each trigger
    environment: Mapping[str, Any]  #: The machine, its software and its load
    events: int  #: The number of events that were drawn from the background
    untimed: tuple[str, ...] = ()  #: The names of the triggers that were not timed, for lack of time

    def _named(self) -> tuple[str, Mapping[str, TriggerCost]]:
        return "trigger", {cost.trigger.name: cost for cost in self.triggers}

    def cores(self, size: int) -> float:
        """Return the number of cores that the crossing rate needs at a batch size, each one as measured."""
        return self.rates.menu.crossing_rate_hz / self.menu[size].events_per_s


def batches_of(events: int) -> tuple[int, ...]:
    """Return the sizes of batches for which there are enough events."""
    return tuple(size for size in BATCHES if size <= events)


def steps(plan: Plan, events: int) -> int:
    """Return the number of steps of progress that `bench` reports."""
    return len(batches_of(events)) * len(_turns(plan))


def bench(
    emulation: Emulation | MenuLike,
    catalogue: SamplesLike = None,
    *,
    events: int = EVENTS,
    seconds: float = SECONDS,
    executor: Any = None,
    progress: Callable[[int], None] = lambda steps: None,
    clock: Clock = time.perf_counter_ns,
) -> Bench:
    """Measure the cost of a menu on random events of its background.

    Events are drawn in proportion to their weight. Batches have 1, 16, 256 and 4096 of them, as far as there
    are enough.

    Parameters
    ----------
    emulation : path, Menu or Emulation
        A menu, or an emulation of it alone.
    catalogue
        The samples for a menu, as in `emulate`.
    events : int
        The number of events to draw, at least 1.
    seconds : float
        After this time no further triggers are timed (`Bench.untimed`). The menu and its first triggers
        are always timed.
    executor
        Evaluates the rates of a menu, as in `emulate`; this is not timed.
    progress : callable
        Called repeatedly with the number of finished steps.
    clock : callable
        Returns the time in ns, which never decreases.

    Returns
    -------
    Bench

    Raises
    ------
    SampleError
        If all weights of the background are 0.
    PluginError
        If the decisions of a trigger depend on the size of the batch.
    """
    machine = environment()
    emulation = emulation_of(emulation, catalogue, executor)
    menu, plan, samples = emulation.menus[0], emulation.plan, emulation.catalogue
    rates = rates_of(emulation)
    conditions = list(dict.fromkeys([None, *(slot.compiled.preselection for slot in plan.slots)]))
    drawn = dict(zip(conditions, draw_events(plan, samples, events, conditions, SEED), strict=True))
    if drawn[None] is None:
        raise SampleError(f"{samples.path}: all weights of the background are 0: no event can be drawn")
    measured = _measured(menu, plan, drawn, batches_of(events), seconds, progress, clock)
    by_name = {trigger.name: trigger for trigger in rates.triggers}
    costs, untimed = [], []
    for trigger in menu.used:
        cost, bit = TriggerCost(trigger, by_name.get(trigger.name)), plan.bits[0].get(trigger.name)
        if bit is not None:
            compiled = plan.slots[bit].compiled
            parts = {name: timings for (number, name), timings in measured.items() if number == bit}
            batch, preselected = parts.pop("", {}), parts.pop(_PRESELECTED, {})
            among = drawn[compiled.preselection] if preselected else None
            cost = replace(
                cost,
                batch=batch,
                preselected=preselected,
                share=among.share if among else None,
                parts=parts,
                engine=compiled.engine,
            )
            untimed += [] if batch else [trigger.name]
        costs.append(cost)
    return Bench(rates, measured[None, ""], tuple(costs), machine, events, tuple(untimed))


def _turns(plan: Plan) -> list[range]:
    """Return the bits of the slots that are timed together; at least one turn, for the menu."""
    slots = len(plan.slots)
    return [range(start, min(start + TOGETHER, slots)) for start in range(0, max(slots, 1), TOGETHER)]


def _measured(
    menu: Menu,
    plan: Plan,
    drawn: _Drawn,
    batches: Sequence[int],
    seconds: float,
    progress: Callable[[int], None],
    clock: Clock,
) -> _Measured:
    """Time all triggers together, and each slot alone while there is time."""
    measured: _Measured = {}
    end, turns = clock() + seconds * 1e9, _turns(plan)
    for number, bits in enumerate(turns):
        if number and clock() > end:
            progress(len(batches) * (len(turns) - number))
            break
        alone = {bit: replace(plan, slots=(plan.slots[bit],)) for bit in bits}
        engines = {bit: _engines(menu, plan, bit) for bit in bits}
        for size in batches:
            split = {requires: Batches(among.events, size) for requires, among in drawn.items() if among}
            contenders: dict[tuple[int | None, str], TimedCall] = {}
            if not number:
                contenders[None, ""] = split[None].decisions(plan)
            for bit in bits:
                contenders[bit, ""] = split[None].decisions(alone[bit])
                requires = plan.slots[bit].compiled.preselection
                if requires not in split:
                    continue
                if requires is not None:
                    contenders[bit, _PRESELECTED] = split[requires].decisions(alone[bit])
                for engine, plan_of in engines[bit].items():
                    contenders[bit, engine] = split[requires].decisions(plan_of)
                contenders |= {(bit, name): call for name, call in split[requires].bare(alone[bit]).items()}
            for key, timing in zip(contenders, measure(list(contenders.values()), clock), strict=True):
                measured.setdefault(key, {})[size] = timing
            progress(1)
    return measured


def _engines(menu: Menu, plan: Plan, bit: int) -> dict[str, Plan]:
    """Return a plan of a slot alone for each engine that its trigger could name."""
    slot, plans = plan.slots[bit], {}
    for engine, kind in engines_of(slot.trigger.description).items():
        compiled: Any = kind.compile(Context(menu.scope, menu.path.parent))
        compiled = replace(compiled, threshold=slot.compiled.threshold)
        plans[engine] = replace(plan, slots=(replace(slot, compiled=compiled),))
    return plans
