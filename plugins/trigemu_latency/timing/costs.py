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
from trigemu.base.errors import SampleError, TrigemuError
from trigemu.base.mapping import Engine
from trigemu.base.shown import Named, Shown
from trigemu.emulation.engine import Chunk, Job, over_background
from trigemu.emulation.loop import Emulation
from trigemu.emulation.plan import Plan, make_plan
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

from .clock import (
    Batches,
    Clock,
    Environment,
    TimedCall,
    Timing,
    environment,
    load_average,
    measure,
    together,
)


@dataclass(frozen=True)
class DrawnEvents:
    """Drawn events."""

    events: Events  # In the order of the draw, with repetitions
    distinct: int  # The number of distinct events
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
            among.see(chunk.sample, events, rate if condition is None else rate * condition.evaluate(work))
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
    keys: list[IntArray] = field(default_factory=list)

    def see(self, sample: int, events: Events, rate: FloatArray) -> None:
        """Draw from further events. rate: float64[n] in Hz, 0 for events that are not to be drawn."""
        more = float(rate.sum())
        if not more:
            return
        self.rate += more
        taken = np.flatnonzero(self.random.random(len(self.rows)) < more / self.rate)
        rows = self.random.choice(len(events), len(taken), p=rate / more)
        self.rows[taken] = sum(map(len, self.parts)) + np.arange(len(taken))
        self.parts.append(events.take(rows))
        self.keys.append(np.column_stack([np.full(len(rows), sample), events.id[rows].view(np.int64)]))

    def drawn(self, total: float) -> DrawnEvents | None:
        if not self.rate:
            return None
        distinct = len(np.unique(np.concatenate(self.keys)[self.rows], axis=0))
        return DrawnEvents(join_events(self.parts).take(self.rows), distinct, self.rate / total)


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
class PreselectionTiming:
    """The timing of a trigger on the events that pass its preselection."""

    share: float  #: The fraction of the background rate that passes the preselection
    distinct: int  #: The number of distinct events among the drawn ones
    batch: Timings  #: Batch size → measured times


@dataclass(frozen=True)
class TriggerCost:
    """The cost of one trigger, evaluated alone."""

    trigger: Trigger  #: The trigger
    rates: TriggerRates | None  #: Its rates; None if it is disabled
    #: Batch size → measured times on random background events; empty for a kind that acts on decisions.
    batch: Timings
    #: Its timing on the events that pass its preselection; None without a preselection.
    preselected: PreselectionTiming | None
    #: Batch size → measured times on events that pass the preselection, for each engine that it could name,
    #: and for its bare models: "bare_onnxruntime", "bare_bdt".
    parts: Mapping[str, Timings]
    engine: str = ""  #: What evaluates its models; "" without models


@dataclass(frozen=True)
class RealTime:
    """The resources needed for the crossing rate, if every core performs as measured."""

    cores: float  # From the throughput of one thread alone
    machines: float  # From the throughput of all threads together


@dataclass(frozen=True, repr=False)
class Bench(Shown, Named[TriggerCost]):
    """The cost of a menu; result["J100"] is the cost of a trigger."""

    _view: ClassVar[str] = "trigemu_latency.views:BenchView"

    rates: MenuRates  #: The rates of the menu
    menu: Timings  #: Batch size → measured times of all triggers together, in one thread
    events_per_s: Mapping[int, float]  #: Batch size → throughput of all threads together
    triggers: tuple[TriggerCost, ...]  #: The cost of each trigger
    environment: Environment  #: The machine and its load
    threads: int  #: The number of threads that ran together
    seed: int  #: The seed with which events were drawn
    #: events, distinct: The number of events drawn from the background, and of distinct events among them.
    events: int
    distinct: int
    untimed: tuple[str, ...] = ()  #: The names of the triggers that were not timed, for lack of time

    @property
    def batches(self) -> tuple[int, ...]:
        """The batch sizes."""
        return tuple(self.menu)

    def _named(self) -> tuple[str, Mapping[str, TriggerCost]]:
        return "trigger", {cost.trigger.name: cost for cost in self.triggers}

    def real_time(self, size: int) -> RealTime:
        """Return the resources that the crossing rate requires at a batch size."""
        hz = self.rates.menu.crossing_rate_hz
        scale = self.threads / self.environment.cores
        return RealTime(hz / self.menu[size].events_per_s, scale * hz / self.events_per_s[size])


def check(batches: Sequence[int], events: int, threads: int) -> None:
    """Raise TrigemuError if a batch is empty or larger than the events of a thread."""
    for size in batches:
        if size < 1:
            raise TrigemuError(f"a batch of {size} events: expected at least one")
        if size * threads > events:
            shared = f" for each of {threads} threads" if threads > 1 else ""
            raise TrigemuError(
                f"a batch of {size} events{shared} cannot be made from {events}: request more --events"
            )


def batches_of(events: int, threads: int) -> tuple[int, ...]:
    """Return the usual batch sizes for which each thread has enough events."""
    return tuple(size for size in BATCHES if size * threads <= events) or (1,)


def steps(plan: Plan, batches: Sequence[int], threads: int) -> int:
    """Return the number of steps of progress that `bench` reports."""
    return len(batches) * (len(_turns(plan)) + (threads > 1))


def bench(
    emulation: Emulation | MenuLike,
    catalogue: SamplesLike = None,
    *,
    batches: Sequence[int] | None = None,
    events: int = EVENTS,
    threads: int = 1,
    seconds: float = SECONDS,
    executor: Any = None,
    progress: Callable[[int], None] = lambda steps: None,
    clock: Clock = time.perf_counter_ns,
) -> Bench:
    """Measure the cost of a menu on random events of its background.

    Events are drawn in proportion to their weight.

    Parameters
    ----------
    emulation : path, Menu or Emulation
        A menu, or an emulation of it alone.
    catalogue
        The samples for a menu, as in `emulate`.
    batches : sequence of int or None
        The batch sizes, in events; None: those of 1, 16, 256 and 4096 for which there are enough events.
    events : int
        The number of events to draw.
    threads : int
        The number of threads that run the menu at the same time, for the throughput.
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
    TrigemuError
        If a batch is empty or larger than the events of a thread.
    SampleError
        If all weights of the background are 0.
    PluginError
        If the decisions of a trigger depend on the size of the batch.
    """
    batches = batches_of(events, threads) if batches is None else batches
    check(batches, events, threads)
    before = load_average()
    emulation = emulation_of(emulation, catalogue, executor)
    menu, plan, samples = emulation.menus[0], emulation.plan, emulation.catalogue
    rates = rates_of(emulation)
    conditions = list(dict.fromkeys([None, *(slot.compiled.preselection for slot in plan.slots)]))
    drawn = dict(zip(conditions, draw_events(plan, samples, events, conditions, SEED), strict=True))
    background = drawn[None]
    if background is None:
        raise SampleError(f"{samples.path}: all weights of the background are 0: no event can be drawn")
    measured = _measured(menu, plan, drawn, batches, seconds, progress, clock)
    of_menu = measured[None, ""]
    at_once = {size: timing.events_per_s for size, timing in of_menu.items()}
    if threads > 1:
        share = events // threads
        plans = [make_plan([menu]) for _ in range(threads)]  # of each thread, like its events
        for size in batches:
            split = [Batches(background.events[i * share : (i + 1) * share], size) for i in range(threads)]
            calls = [batch.decisions(plan) for batch, plan in zip(split, plans, strict=True)]
            at_once[size] = together(calls, clock)
            progress(1)
    by_name = {trigger.name: trigger for trigger in rates.triggers}
    bits = [(trigger, plan.bits[0].get(trigger.name)) for trigger in menu.used]
    costs = []
    for trigger, bit in bits:
        known = by_name.get(trigger.name)
        if bit is None:
            costs.append(TriggerCost(trigger, known, {}, None, {}))
            continue
        compiled = plan.slots[bit].compiled
        parts = {name: timings for (number, name), timings in measured.items() if number == bit}
        batch, preselected = parts.pop("", {}), parts.pop(_PRESELECTED, None)
        timing, among = None, drawn[compiled.preselection]
        if among and preselected:
            timing = PreselectionTiming(among.share, among.distinct, preselected)
        costs.append(TriggerCost(trigger, known, batch, timing, parts, compiled.engine))
    return Bench(
        rates=rates,
        menu=of_menu,
        events_per_s=at_once,
        triggers=tuple(costs),
        environment=environment(before),
        threads=threads,
        seed=SEED,
        events=events,
        distinct=background.distinct,
        untimed=tuple(trigger.name for trigger, bit in bits if bit is not None and (bit, "") not in measured),
    )


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
