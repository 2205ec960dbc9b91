"""The rates that an experiment records of a menu, and what rules leave of consecutive crossings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.errors import SampleError, TrigemuError, nearest
from trigemu.base.mapping import engine_of
from trigemu.emulation.budgets import solve_budgets
from trigemu.emulation.engine import Job
from trigemu.emulation.loop import Emulation, emulate
from trigemu.emulation.per_event import per_event
from trigemu.emulation.plan import make_plan
from trigemu.emulation.reweight import at_conditions, at_pileup
from trigemu.menus.menu import Menu
from trigemu.menus.prescales import at_crossing_rate
from trigemu.menus.read import MenuLike, menu_of
from trigemu.rates.menu_rates import rates_of
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.memory import SamplesLike, samples_of

from .beam import AFTER, BEFORE, PARTS, Beam, Counts, Start, State
from .filling import ORBIT, ORBIT_HZ, Filling, every_slot
from .patterns import menu_arrays, patterns_of
from .results import LiveRates, OrderedAccepts, OrderedItem, Vetoed, by_kind
from .rules import NO_RULES, Rules, rule_table
from .summary import blockers, losses, summarise

#: The longest time of beam at the LHC in seconds, its orbits, and the least number of orbits, one a part.
MAX_SECONDS = 100_000.0
MAX_ORBITS, MIN_ORBITS = round(MAX_SECONDS * ORBIT_HZ), PARTS
#: Bunches of different luminosity are drawn from this many tables at most.
MAX_CLASSES = 8


def live_rates(
    menu: MenuLike,
    catalogue: SamplesLike = None,
    *,
    filling: Filling | None = None,
    rules: Rules = NO_RULES,
    seconds: float = 10.0,
    seed: int = 1,
    counters: Start = "random",
    input_rate_hz: float | None = None,
    pileup: float | None = None,
    without: Sequence[str] = (),
    workers: int = 1,
    executor: Any = None,
) -> LiveRates:
    """Run crossings in order through the triggers and prescale counters of a menu, and through rules.

    The crossing rate of the menu becomes that of the filling scheme; without one, every slot is filled.
    catalogue, executor: as in `emulate`; events must be crossings. seconds: of all beams together.
    seed: the result does not depend on the number of workers, which are threads. counters: prescale counters
    begin at random in each of 32 beams; at zero in one beam; or at zero in a beam for each section of
    luminosity of 2¹⁸ orbits. input_rate_hz: all rates are scaled such that the first level accepts this rate
    before the rules. pileup: the mean number of interactions to reweight to; that of the mean bunch, if the
    scheme has luminosities. without: triggers that never accept; all others see the same crossings.

    Raises SampleError if the events are single interactions, or a scheme with luminosities needs the pile-up
    of samples that do not have it; TrigemuError if a budget cannot be met, or the rules veto everything.

    >>> from trigemu_live import live_rates, read_filling, read_rules
    >>> scheme, rules = read_filling("lhc-2018-2544"), read_rules("cms")
    >>> result = live_rates("menus/primary.toml", filling=scheme, rules=rules, seconds=2)
    >>> 0.995 < result.live < 1
    True
    """
    menu = menu_of(menu)
    filling = filling or every_slot(menu.crossing_rate_hz)
    if not MIN_ORBITS <= seconds * filling.orbit_hz <= MAX_ORBITS:  # not, if it is NaN
        raise TrigemuError(
            f"{seconds:g} s of beam: expected at least {MIN_ORBITS} orbits, "
            f"{MIN_ORBITS / filling.orbit_hz:.2g} s, and at most {MAX_ORBITS:.2g} orbits, which are "
            f"{MAX_ORBITS / filling.orbit_hz:.3g} s at a crossing rate of {filling.crossing_rate_hz:.3g} Hz"
        )
    orbits = round(seconds * filling.orbit_hz)
    table = rule_table(rules, filling)
    engine = engine_of(executor)
    samples = samples_of(catalogue, executor=engine)
    menu = at_crossing_rate(menu, filling.crossing_rate_hz)
    if pileup is None and not samples.pileup and (own := at_conditions([menu], samples, engine).pileup):
        pileup = own.mean
    check_choices(menu, without, rules, counters)
    nominal, emulations, class_of = _emulations(menu, samples, filling, pileup, engine)
    factor = 1.0
    if input_rate_hz is not None:
        rates = rates_of(nominal)
        now = rates.levels[0].rate.hz if rates.levels else rates.rate.hz
        if not now > 0:
            raise TrigemuError(f"{rates.menu.path}: no trigger accepts an event: its rate cannot be scaled")
        factor = input_rate_hz / now
    arrays = menu_arrays(nominal.menus[0])
    patterns = patterns_of(arrays, emulations, factor)
    beam = Beam(
        menu=arrays,
        patterns=patterns,
        filling=filling,
        class_of=class_of,
        rules=rules,
        table=table,
        without=frozenset(without),
        factor=factor,
        start=counters,
        seed=seed,
        orbits=orbits,
    )
    return summarise(beam, beam.run(workers), nominal)


def check_choices(menu: Menu, without: Sequence[str], rules: Rules, start: str) -> None:
    """Raise TrigemuError if a trigger to leave out, or one that fires early, is not in the menu, or for an
    unknown start of counters."""
    if start not in get_args(Start):
        raise TrigemuError(f"counters {start!r}: expected one of {', '.join(get_args(Start))}")
    known = [trigger.name for trigger in menu.enabled]
    early = rules.prefire.triggers if rules.prefire else None
    for name in (*without, *(early or ())):
        if name not in known:
            raise TrigemuError(f"{menu.path}: unknown trigger {name!r}{nearest(name, known)}")


def _emulations(
    menu: Menu, samples: Catalogue, filling: Filling, pileup: float | None, executor: Any
) -> tuple[Emulation, list[Emulation], IntArray]:
    """Return the emulation at the mean luminosity, those of classes of bunches, and their classes."""
    if samples.table.convention == "luminosity":
        raise SampleError(
            f"{samples.path}: the events are single interactions (convention 'luminosity'), not crossings: "
            f"how often two accepts follow each other cannot be drawn from them"
        )
    mean = samples if pileup is None else at_pileup(samples, pileup, executor=executor)
    nominal = emulate(menu, mean, executor=executor)
    luminosity = filling.luminosity
    if luminosity is None or np.ptp(luminosity) < 1e-9:
        return nominal, [nominal], np.zeros(len(filling.slots), np.int64)
    interactions = pileup or samples.table.mean_interactions
    if interactions is None:
        raise SampleError(
            f"{samples.path}: bunches of {filling.name!r} have different luminosities, so crossings are "
            f"reweighted: give the mean number of interactions (--pileup, or mean_interactions in the "
            f"catalogue)"
        )
    class_of = classes_of(luminosity)
    emulations = []
    for number in range(class_of.max() + 1):
        of_class = interactions * float(luminosity[class_of == number].mean())
        reweighted = at_pileup(samples, of_class, executor=executor)
        emulations.append(emulate(nominal.menus[0], reweighted, executor=executor))
    return nominal, emulations, class_of


def classes_of(luminosity: FloatArray) -> IntArray:
    """Return the class of each bunch, int64[f]: bunches of equal luminosity; if there are more than
    MAX_CLASSES values, neighbours are joined, each time those that add least to the spread within classes."""
    mean, class_of, bunches = np.unique(luminosity, return_inverse=True, return_counts=True)
    class_of = class_of.reshape(-1).astype(np.int64)
    while len(mean) > MAX_CLASSES:
        both = bunches[:-1] + bunches[1:]
        k = int(np.argmin(bunches[:-1] * bunches[1:] / both * np.diff(mean) ** 2))
        mean[k] = (bunches[k : k + 2] @ mean[k : k + 2]) / both[k]
        bunches[k] = both[k]
        mean, bunches = np.delete(mean, k + 1), np.delete(bunches, k + 1)
        class_of[class_of > k] -= 1
    return class_of


def is_consecutive(catalogue: Catalogue) -> bool:
    """Return whether all events of the background are consecutive crossings."""
    return bool(catalogue.background) and all(sample.has_neighbours for sample in catalogue.background)


def accepts_in_order(
    menu: MenuLike,
    catalogue: SamplesLike,
    *,
    rules: Rules,
    filling: Filling | None = None,
    counters: Start = "zero",
    seed: int = 1,
    without: Sequence[str] = (),
    executor: Any = None,
) -> OrderedAccepts:
    """Run consecutive crossings through the prescale counters of a menu and through rules, as they come.

    Nothing is drawn, so accepts are as correlated as they were. Each file begins without accepts before it;
    in a file of whole orbits the first crossing follows nothing either. Prescale counters run on from file to
    file.

    catalogue: samples whose events are consecutive crossings; else SampleError is raised. filling: for rules
    about slots; crossing k of a file is in slot k mod 3564. counters: begin at zero or, from the seed, at
    random. seed: also of `random` triggers and of prefiring. without: triggers that never accept. The rest is
    as in `live_rates`.
    """
    engine = engine_of(executor)
    samples = samples_of(catalogue, executor=engine)
    if not is_consecutive(samples):
        raise SampleError(f"{samples.path}: its events are not consecutive crossings, so they have no order")
    (solved,) = solve_budgets((menu_of(menu),), samples, executor=engine)
    check_choices(solved, without, rules, counters)
    plan = make_plan([solved])
    columns = per_event(Job((solved,), plan, samples), ["words", "id"], executor=engine)
    words, numbers = columns["words"], columns["id"]
    filling, arrays = filling or every_slot(solved.crossing_rate_hz), menu_arrays(solved)
    fires, pattern = np.unique(arrays.fires(words, plan.bits[0]), axis=0, return_inverse=True)
    fires, pattern = np.ascontiguousarray(fires.T), pattern.ravel()
    rng = np.random.default_rng(seed)
    random = rng.random((len(words), len(arrays.random))) < [*arrays.random.values()]
    random[:, [name in without for name in arrays.random]] = False
    phase = rng.integers(0, arrays.steps[:, 1]) if counters == "random" else np.zeros(len(arrays.steps), int)
    counts, table = Counts(arrays, len(rules.rules)), rule_table(rules, filling)
    vetoed: list[Vetoed] = []
    start, names = 0, np.array([trigger.name for trigger in solved.enabled])
    for source in (source for sample in samples.background for source in sample.sources):
        rows = slice(start, start + source.entries)
        state = State(arrays, fires, rules, table, frozenset(without), np.uint64(rng.integers(2**63)))
        state.phase = phase
        kept, accepted = state.decide(pattern[rows], dict(zip(arrays.random, random[rows].T, strict=True)))
        first = int(numbers[start]) % ORBIT if source.entries else 0
        causes = state.count(counts, 0, first + kept, accepted)
        for k in np.flatnonzero((causes >= 0) & (causes < len(rules.rules))).tolist():
            crossing, by = int(numbers[start + kept[k]]), rules.labels[causes[k]]
            vetoed.append(Vetoed(source.path, crossing, by, tuple(names[accepted[:, k]].tolist())))
        phase, start = state.phase, rows.stop
    items = [
        OrderedItem(
            row.name,
            row.kind,
            int(counts.total[BEFORE, number]),
            int(counts.total[AFTER, number]),
            losses(counts, number, rules),
            blockers(counts, number, solved),
        )
        for number, row in enumerate(arrays.rows)
    ]
    return OrderedAccepts(
        menu=solved,
        catalogue=samples,
        filling=filling,
        rules=rules,
        crossings=len(words),
        **by_kind(items),
        vetoed=tuple(vetoed),
        models=plan.models[0],
    )
