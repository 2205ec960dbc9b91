"""What a menu costs: the time that each trigger and the whole of it take an event, alone and in batches.

A single event goes through a `Stream`, larger batches through `decide`: batches of one tell the latency, the
others the throughput.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from trigemu.decisions import Plan, Slot, make_plan
from trigemu.emulation import Emulation
from trigemu.menus import Menu, Trigger
from trigemu.observables import Condition
from trigemu.rates import MenuRates, TriggerRates, rates_of
from trigemu.samples import Catalogue, Events
from trigemu.studies.timing.calls import Batches
from trigemu.studies.timing.clock import TimedCall, Timing, measure, together
from trigemu.studies.timing.draw import DrawnEvents, draw_events
from trigemu.support import Environment, SampleError, TrigemuError, environment, load_average

BATCHES = (1, 16, 256, 4096)
EVENTS = 20_000
#: The same events every time.
SEED = 40_000_000
#: The parts that make up a score without its correction, and those that are the corrected score.
_BARE = ("features", "autoencoder")
_CORRECTED = ("sequential", "parallel")

#: Batch size → how long calls took.
Timings = Mapping[int, Timing]
#: By what they fulfil: None are events as they come, of which there are always some.
_Drawn = Mapping[Condition | None, DrawnEvents | None]


@dataclass(frozen=True)
class Asking:
    """Of events that a trigger asks for alone. share: of the rate of the background."""

    share: float
    distinct: int
    batch: Timings


@dataclass(frozen=True)
class Added:
    """By how much the median of a corrected score is above that of its features and autoencoder."""

    ns: float
    ratio: float


@dataclass(frozen=True)
class TriggerCost:
    """Of one trigger alone. rates: None if it is disabled. batch: over events as they come; empty for
    what acts on decisions. asking: None if it asks for all events. parts: name → batch size, on events that
    it asks for."""

    trigger: Trigger
    rates: TriggerRates | None
    batch: Timings
    asking: Asking | None
    parts: Mapping[str, Timings]

    def added(self, size: int) -> dict[str, Added]:
        """What "sequential" and "parallel" add at a batch size, if the trigger has such parts."""
        p50 = {name: timings[size].p50_ns for name, timings in self.parts.items() if size in timings}
        if not {*_BARE, *_CORRECTED} <= set(p50):
            return {}
        bare = sum(p50[name] for name in _BARE)
        return {name: Added(p50[name] - bare, p50[name] / bare) for name in _CORRECTED}


@dataclass(frozen=True)
class RealTime:
    """How much of a machine the crossing rate takes, if every core does what was measured: cores by one
    thread alone, machines by all threads that were measured together."""

    cores: float
    machines: float


@dataclass(frozen=True)
class Bench:
    """menu: of all triggers together, in one thread. events_per_s: of all threads at once, by batch size.
    events, distinct: how many were drawn as they come, and how many different ones those are."""

    rates: MenuRates
    menu: Timings
    events_per_s: Mapping[int, float]
    triggers: tuple[TriggerCost, ...]
    environment: Environment
    threads: int
    seed: int
    events: int
    distinct: int

    @property
    def batches(self) -> tuple[int, ...]:
        return tuple(self.menu)

    def real_time(self, size: int) -> RealTime:
        hz = self.rates.menu.crossing_rate_hz
        scale = self.threads / self.environment.cores
        return RealTime(hz / self.menu[size].events_per_s, scale * hz / self.events_per_s[size])


def check(batches: Sequence[int], events: int, threads: int) -> None:
    """TrigemuError where there would be nothing to measure."""
    for size in batches:
        if size < 1:
            raise TrigemuError(f"a batch of {size} events: it needs at least one")
        if size * threads > events:
            shared = f" for each of {threads} threads" if threads > 1 else ""
            raise TrigemuError(
                f"a batch of {size} events{shared} cannot be had from {events}: ask for more --events"
            )


def steps(batches: Sequence[int], threads: int) -> int:
    """How often `bench` tells its progress."""
    return len(batches) * (3 if threads > 1 else 2)


def bench(
    emulation: Emulation,
    *,
    batches: Sequence[int] = BATCHES,
    events: int = EVENTS,
    threads: int = 1,
    progress: Callable[[int], None] = lambda steps: None,
) -> Bench:
    """Time the only menu of an emulation on so many events of its background. `threads`: how many run the
    menu at once where their throughput together is measured."""
    check(batches, events, threads)
    before = load_average()
    menu, plan, catalogue = emulation.menus[0], emulation.plan, emulation.catalogue
    found = rates_of(emulation)
    drawn = _drawn(plan, catalogue, events)
    come = drawn[None]
    if come is None:
        raise SampleError(f"{catalogue.path}: the weights of the background are all 0: no event ever comes")
    whole, alone = _over_all(plan, come.events, batches, progress)
    asked = _over_asked(plan, drawn, batches, progress)
    at_once = {size: timing.events_per_s for size, timing in whole.items()}
    if threads > 1:
        at_once = _at_once(menu, come.events, batches, threads, progress)
    by_name = {trigger.name: trigger for trigger in found.triggers}
    triggers = []
    for trigger in menu.triggers:
        bit = plan.bits[0].get(trigger.name)
        costs = ({}, None, {}) if bit is None else (alone[bit], *_of_slot(plan.slots[bit], bit, drawn, asked))
        triggers.append(TriggerCost(trigger, by_name.get(trigger.name), *costs))
    return Bench(
        found, whole, at_once, tuple(triggers), environment(before), threads, SEED, events, come.distinct
    )


def _alone(plan: Plan) -> list[Plan]:
    """Of each slot a plan of its own."""
    return [replace(plan, slots=(slot,)) for slot in plan.slots]


def _drawn(plan: Plan, catalogue: Catalogue, n: int) -> _Drawn:
    conditions = list(dict.fromkeys([None, *(slot.compiled.asks() for slot in plan.slots)]))
    return dict(zip(conditions, draw_events(plan, catalogue, n, conditions, SEED), strict=True))


def _over_all(
    plan: Plan, events: Events, batches: Sequence[int], progress: Callable[[int], None]
) -> tuple[Timings, list[Timings]]:
    """Of all triggers together and of each slot alone, over events as they come."""
    found: list[dict[int, Timing]] = [{} for _ in (plan, *plan.slots)]
    for size in batches:
        cut = Batches(events, size)
        timings = measure([cut.decisions(part) for part in (plan, *_alone(plan))])
        for of, timing in zip(found, timings, strict=True):
            of[size] = timing
        progress(1)
    return found[0], list(found[1:])


def _over_asked(
    plan: Plan, drawn: _Drawn, batches: Sequence[int], progress: Callable[[int], None]
) -> dict[tuple[int, str], dict[int, Timing]]:
    """(slot, part) → batch size, over events that the slot asks for; "" is all of a slot that does not ask
    for every event."""
    found: dict[tuple[int, str], dict[int, Timing]] = {}
    for size in batches:
        contenders: dict[tuple[int, str], TimedCall] = {}
        cuts = {requires: Batches(among.events, size) for requires, among in drawn.items() if among}
        for bit, own in enumerate(_alone(plan)):
            requires = own.slots[0].compiled.asks()
            if requires not in cuts:
                continue
            if requires is not None:
                contenders[bit, ""] = cuts[requires].decisions(own)
            contenders |= {(bit, name): part for name, part in cuts[requires].parts(own).items()}
        for key, timing in zip(contenders, measure(list(contenders.values())), strict=True):
            found.setdefault(key, {})[size] = timing
        progress(1)
    return found


def _of_slot(
    slot: Slot, bit: int, drawn: _Drawn, asked: Mapping[tuple[int, str], Timings]
) -> tuple[Asking | None, dict[str, Timings]]:
    among = drawn[slot.compiled.asks()]
    asking = Asking(among.share, among.distinct, asked[bit, ""]) if among and (bit, "") in asked else None
    return asking, {name: timings for (of, name), timings in asked.items() if of == bit and name}


def _at_once(
    menu: Menu, events: Events, batches: Sequence[int], threads: int, progress: Callable[[int], None]
) -> dict[int, float]:
    """Events per second by batch size, each thread with a plan and a share of the events of its own."""
    share = len(events) // threads
    plans = [make_plan([menu]) for _ in range(threads)]
    found = {}
    for size in batches:
        cuts = [Batches(events[i * share : (i + 1) * share], size) for i in range(threads)]
        found[size] = together([cut.decisions(plan) for cut, plan in zip(cuts, plans, strict=True)])
        progress(1)
    return found
