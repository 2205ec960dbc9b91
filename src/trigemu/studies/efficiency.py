"""Efficiencies of menus and triggers on signal samples as functions of observables, in categories.
`intervals.py` defines the efficiency of weighted events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar, Protocol

import numpy as np

from trigemu.base.arrays import FloatArray, IntArray, Words
from trigemu.base.errors import SampleError, TrigemuError, names_of, nearest, wrong_type
from trigemu.base.mapping import engine_of
from trigemu.base.shown import Named, WithCorrection, WithHistograms, exported
from trigemu.counting.patterns import Keys, PatternTable, complete_table, count_patterns
from trigemu.emulation.budgets import solve_budgets
from trigemu.emulation.engine import Chunk, Job, Task, over_samples
from trigemu.emulation.plan import Plan, bit_of_words, check_needs, decide, make_plan
from trigemu.emulation.reweight import at_conditions
from trigemu.emulation.scaling import unseen_half
from trigemu.menus.checks import signed_differences, unit_of_observable
from trigemu.menus.menu import Menu, named_apart
from trigemu.menus.prescales import at_own_column
from trigemu.menus.read import MenusLike, menus_of
from trigemu.observables.expressions import Condition, Number
from trigemu.observables.selections import Scope
from trigemu.observables.workspace import Workspace
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events, Need
from trigemu.samples.memory import SamplesLike
from trigemu.samples.sample import Sample
from trigemu.samples.split import half_of
from trigemu.studies.intervals import Curve, Profile, Sums, accepted, edges_of, shifts_of_gains, with_moved
from trigemu.triggers.base import Context

#: Each category is a bit in an additional word of the patterns; another bit marks negative weights.
MAX_CATEGORIES = 16
#: The most samples that a figure names.
_NAMED_SAMPLES = 3


class _WithScaleFactors(WithCorrection):
    """Efficiencies that can be divided by those of one of their menus or triggers."""

    def to_correction(self, *, over: str | tuple[str, str] | None = None, flow: str = "error") -> Any:
        """Return the efficiencies, or their ratios to those `over` which they are taken, a menu or a menu and
        a trigger, as a correctionlib.schemav2.Correction; of several turn-ons, a CorrectionSet.

        Inputs of a correction are the observable, `menu`, `trigger` ("" for the whole menu) and `variation`:
        "nominal", or "up" and "down", the ends of the interval at 68 %. Bins without events give NaN; a value
        outside of the bins is an "error", or has the efficiency of the nearest bin (`flow`, "clamp"). Its
        name is the observable, followed by the category and the sample if there are any, separated by commas:
        "jet[0].pt, n_jet == 1"; that of scale factors ends with " / " and the reference. Raises
        MissingExtraError if correctionlib is not installed.

        Errors of scale factors are upper bounds, because the curves use the same events and the result has no
        covariances. Relative to the first menu, or its trigger of the same name, the bound is σ(g)/ε₀ + |g|
        σ(ε₀)/ε₀² with the gain g and its error, which includes the correlation; otherwise the relative errors
        of both efficiencies are added.
        """
        return exported(self, "correction", over=over, flow=flow)


@dataclass(frozen=True, repr=False)
class Turnon(WithHistograms, _WithScaleFactors, Named[Curve]):
    """The efficiency curves as functions of one observable in one category; result["primary"] is the curve of
    a menu, result["primary", "J100"] that of one of its triggers."""

    _view: ClassVar[str] = "trigemu.results.efficiency:TurnonView"

    profile: Profile  #: The observable and its bins
    category: str  #: The condition of the category, or "all"
    selected: int  #: The number of events in the category, including those outside of the bins
    events: IntArray  #: int64[bins], the number of events
    effective_events: FloatArray  #: float64[bins], the effective number of events
    curves: tuple[Curve, ...]  #: The curves of the menus and triggers
    title: str = ""  #: The name of the category in tables and figures; by default its condition
    sample: str | None = None  #: The sample; None: all samples together
    samples: tuple[str, ...] = ()  #: The samples that the events are from

    @property
    def name(self) -> str:
        return self.title or self.category

    @property
    def full_name(self) -> str:
        """The name of the category, behind that of the sample if samples are measured apart."""
        return f"{self.sample}, {self.name}" if self.sample else self.name

    @property
    def heading(self) -> str:
        """The samples and the category, for a figure: `yy, no jet`."""
        many = len(self.samples) > _NAMED_SAMPLES
        samples_text = f"{len(self.samples)} samples" if many else " + ".join(self.samples)
        return ", ".join(filter(None, (samples_text, "" if self.name == "all" else self.name)))

    def _named(self) -> tuple[str, Mapping[Any, Curve]]:
        return "curve", {(c.menu, c.trigger) if c.trigger else c.menu: c for c in self.curves}


@dataclass(frozen=True, repr=False)
class Efficiencies(_WithScaleFactors, Named[Turnon]):
    """Efficiencies of menus and triggers on samples; result["jet[0].pt", "n_jet == 1"] is the curves as
    functions of an observable in a category. If there is only one category, it can be left out. If samples
    were measured separately, the name of the sample follows.
    """

    _view: ClassVar[str] = "trigemu.results.efficiency:EfficienciesView"

    menus: tuple[Menu, ...]  #: The menus as evaluated, with their budgets solved on the background
    catalogue: Catalogue  #: The samples, and the background
    samples: tuple[str, ...]  #: The names of the samples
    #: The condition that an event must fulfil to be counted; None: all events are counted
    require: str | None
    #: The samples of which only one half is used, because something was fitted to the other half
    halved: tuple[str, ...]
    turnons: tuple[Turnon, ...]  #: The curves, for each observable and category
    warnings: tuple[str, ...] = ()  #: Warnings about the numbers

    def _named(self) -> tuple[str, Mapping[Any, Turnon]]:
        categories = {turnon.category for turnon in self.turnons}
        turnons: dict[Any, Turnon] = {}
        for turnon in self.turnons:
            sample_names = () if turnon.sample is None else (turnon.sample,)
            observable = turnon.profile.observable
            if len(categories) == 1:
                turnons[(observable, *sample_names) if sample_names else observable] = turnon
            turnons[observable, turnon.category, *sample_names] = turnon
        return "curves", turnons


class Entries(Protocol):
    """Entries that are counted in place of events, such as objects; frozen and picklable."""

    @property
    def name(self) -> str:
        """The collection that observables and conditions read an entry from, as name[0]."""

    @property
    def base(self) -> str:
        """The collection of the sample whose columns that one has."""

    def needs(self) -> Iterable[Need]:
        """Return the columns of the sample that are read."""

    def __call__(self, work: Workspace, words: Words) -> tuple[Events, Words]:
        """Return the entries of the events of `work` that count (`Events.core`), each as an event, and their
        decisions. `words` are those of the events."""


def efficiencies(
    menus: MenusLike,
    catalogue: SamplesLike,
    samples: str | Sequence[str],
    profiles: Profile | Sequence[Profile],
    categories: str | Sequence[str] = (),
    require: str | None = None,
    triggers: str | Sequence[str] = (),
    *,
    scope: Scope | None = None,
    apart: bool = False,
    entries: Entries | None = None,
    executor: Any = None,
) -> Efficiencies:
    """Measure efficiencies of menus, and of some of their triggers, on samples of a catalogue.

    Parameters
    ----------
    menus : path, Menu, or list of these
        The menus; the first is the reference of gains. Menus with equal names get the names of their files.
    catalogue : path, Catalogue, Events, ak.Array, list of paths, or None
        The samples, as in `emulate`. Their background is used to solve budgets.
    samples : str or sequence of str
        The names of the samples to measure on.
    profiles : Profile or sequence of Profile
        The observables and their bins.
    categories : str or sequence of str
        The conditions of the categories; if empty, all events are one category.
    require : str, optional
        The condition that an event must fulfil to be counted; by default that of the first sample's catalogue
        entry.
    triggers : str or sequence of str
        The names of triggers to measure, in the menus that contain them.
    scope : Scope, optional
        The objects and sums that names in conditions and observables refer to; by default those of the first
        menu.
    apart : bool
        Whether each sample is measured separately, in the categories in which it has events.
    entries : Entries, optional
        What is counted in place of events.
    executor
        As in `emulate`.

    Returns
    -------
    Efficiencies

    Raises
    ------
    TrigemuError
        If no event is selected, or a name is unknown.

    Examples
    --------
    >>> import trigemu
    >>> profile = trigemu.Profile("photon[0].pt", (20.0, 40.0, 60.0))
    >>> result = trigemu.efficiencies("menus/primary.toml", None, "yy", profile)
    >>> result.turnons[0].curves[0].menu
    'primary'
    """
    menus = named_apart([*map(at_own_column, menus_of(menus))])
    profiles = [profiles] if isinstance(profiles, Profile) else profiles
    if not isinstance(profiles, list | tuple) or not all(isinstance(p, Profile) for p in profiles):
        raise wrong_type("the profiles", profiles, "Profile(observable, edges), or a list of these")
    profiles = [replace(p, edges=edges_of(repr(p.observable), p.edges)) for p in profiles]
    samples, triggers = names_of("the samples", samples), names_of("the triggers", triggers)
    categories = names_of("the categories", categories)
    engine = engine_of(executor)
    catalogue = at_conditions(menus, catalogue, engine)
    measured = [catalogue.sample(name) for name in dict.fromkeys(samples)]
    if not (menus and measured and profiles):
        raise TrigemuError("an efficiency needs at least one menu, one sample and one observable")
    for sample in measured:
        if len(measured) > 1 and sample.unnormalised:
            raise SampleError(
                f"samples are added by their rates, but the rate of {sample.name!r} is unknown: "
                f"{sample.unnormalised}"
            )
    if len(categories) > MAX_CATEGORIES:
        raise TrigemuError(f"{len(categories)} categories: at most {MAX_CATEGORIES} are possible")
    enabled = [trigger.name for menu in menus for trigger in menu.enabled]
    for trigger in triggers:
        if trigger not in enabled:
            raise TrigemuError(f"no menu has an enabled trigger {trigger!r}{nearest(trigger, enabled)}")
    require = measured[0].table.require if require is None else require
    context = Context(scope or menus[0].scope)
    task = CountProfiles(
        tuple(Bins(context.observable(profile.observable), profile.edges) for profile in profiles),
        catalogue.with_parents,
        tuple(context.condition(category) for category in categories),
        context.condition(require) if require else None,
        entries=entries,
    )
    plan, needs = make_plan(menus), frozenset(context.needs)
    if entries:
        own = ((entries.base if base == entries.name else base, column) for base, column in needs)
        needs = frozenset(own).union(entries.needs())
    for sample in measured:
        plan.check(sample)
        check_needs([sample], needs, "an observable, a category or the condition of `require` needs")
    solved = solve_budgets(menus, catalogue, executor=engine)
    with_shifted = with_moved(solved)
    plan = plan if with_shifted == menus else make_plan(with_shifted)
    unseen = unseen_half(solved, plan, catalogue)
    halved = [s for s in measured if s.table.role == "background" and unseen is not None]
    task = replace(task, unseen=unseen, halved=frozenset(sample.number for sample in halved))
    job = Job(with_shifted, plan, catalogue, needs)
    parts_of_samples = over_samples(measured, job, task, engine)
    tables = [complete_table(parts) for parts in zip(*parts_of_samples, strict=True)]
    if not len(tables[0]):
        condition = f" is selected by {require!r}" if require else ""
        raise SampleError(f"no {entries.name if entries else 'event'} of {', '.join(samples)}{condition}")
    names = tuple(sample.name for sample in measured)
    warnings = [catalogue.left_out_text] if catalogue.left_out else []
    warnings += catalogue.repeated
    weight, negative = np.abs(tables[0].weight), bit_of_words(tables[0].words[:, -1:], len(categories))
    for number in np.unique(tables[0].sample):
        rows = tables[0].sample == number
        share = weight[rows & negative].sum() / max(weight[rows].sum(), 1e-300)
        if share > 0:
            warnings.append(
                f"{100 * share:.2g} % of the weight of {catalogue.samples[number].name!r} is negative: an "
                f"efficiency may lie outside of 0 to 100 %, and its interval is ± one standard deviation"
            )
    warnings += signed_differences({text: [(text, condition)] for text, condition in context.requirements})
    with_units = (replace(p, unit=p.unit or unit_of_observable(menus[0], p.observable)) for p in profiles)
    parts = [(signal, (signal.name,)) for signal in measured] if apart else [(None, names)]
    turnons = tuple(
        turnon
        for profile, table in zip(with_units, tables, strict=True)
        for turnon in _turnons(profile, table, parts, solved, plan, categories, triggers)
    )
    of_halves = tuple(sample.name for sample in halved)
    return Efficiencies(solved, catalogue, names, require, of_halves, turnons, tuple(warnings))


@dataclass(frozen=True)
class Bins:
    """The axis of an observable; its last bin is for values outside of the edges."""

    number: Number
    edges: tuple[float, ...]
    count_rejected = True

    @property
    def bins(self) -> int:
        return len(self.edges)

    def needs(self) -> Iterable[Need]:
        return self.number.needs()

    def __call__(self, work: Workspace) -> IntArray:
        """Return the bin of each event, int64[n]: low ≤ v < high."""
        return (np.searchsorted(self.edges, self.number.evaluate(work), "right") - 1) % len(self.edges)


@dataclass(frozen=True)
class CountProfiles(Task[tuple[PatternTable, ...]]):
    """The task that makes a pattern table for each axis. The last word of the patterns has a bit for each
    category, and another bit for negative weights. halved: the samples of which only the unseen half is
    counted, because something was fitted to them."""

    axes: tuple[Bins, ...]
    with_parents: frozenset[int]
    categories: tuple[Condition, ...] = ()
    require: Condition | None = None
    unseen: int | None = None
    halved: frozenset[int] = frozenset()
    entries: Entries | None = None

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> tuple[PatternTable, ...]:
        work = Workspace(events)
        words = decide(events, plan, work)
        if self.entries:
            events, words = self.entries(work, words)
            work = Workspace(events)
        enters = np.zeros(len(events), np.bool_)
        enters[events.core] = True
        if chunk.sample in self.halved:
            enters &= half_of(events.parent) == self.unseen
        if self.require:
            enters &= self.require.evaluate(work)
        inside = [*(category.evaluate(work) for category in self.categories), events.weight < 0]
        mask = sum(flags.astype(np.uint64) << np.uint64(bit) for bit, flags in enumerate(inside))
        words = np.column_stack([words, mask])
        has_parents = chunk.sample in self.with_parents
        made_from = (events.parent[enters], events.id[enters]) if has_parents else None
        counted = chunk.sample, words[enters], events.weight[enters]
        bins = (axis(work)[enters] for axis in self.axes)
        return tuple(count_patterns(*counted, Keys(bin=inside), made_from=made_from) for inside in bins)


def _turnons(
    profile: Profile,
    table: PatternTable,
    parts: Sequence[tuple[Sample | None, tuple[str, ...]]],
    menus: tuple[Menu, ...],
    plan: Plan,
    categories: Sequence[str],
    triggers: Sequence[str],
) -> Iterator[Turnon]:
    """Yield the turn-ons of each of the `parts`: one sample, or all samples together, with their names."""
    fractions = {
        (menu.name, trigger): fraction
        for menu, bits in zip(menus, plan.bits, strict=False)  # moved thresholds follow the menus
        for trigger, fraction in accepted(menu, bits, table.words, triggers).items()
    }
    shifts = shifts_of_gains(menus, plan, table.words, triggers)
    nothing, first = np.zeros(len(table)), menus[0].name
    references = {trigger: fraction for (menu, trigger), fraction in fractions.items() if menu == first}
    n = len(profile.edges)
    every = [(text, bit_of_words(table.words[:, -1:], bit)) for bit, text in enumerate(categories)]
    every = every or [("all", np.ones(len(table), np.bool_))]
    for category, inside in every:
        if not inside.any():
            raise SampleError(f"no event is in the category {category!r}: check the condition")
    if (table.bin[np.logical_or.reduce([inside for _, inside in every])] == n - 1).all():
        low, high = profile.edges[0], profile.edges[-1]
        raise SampleError(
            f"{profile.observable!r} has no value from {low:g} to {high:g} in any selected event"
        )
    for (sample, names), (category, inside) in product(parts, every):
        inside = inside if sample is None else inside & (table.sample == sample.number)
        if not inside.any():
            continue
        sums = Sums(table, profile, inside)
        yield Turnon(
            profile,
            category,
            selected=int(sums.events[-1]),
            events=sums.events[:-2],
            effective_events=sums.effective[:-2],
            curves=tuple(
                sums.curve(*key, fraction, references.get(key[1], nothing), shifts.get(key, ()))
                for key, fraction in fractions.items()
            ),
            sample=None if sample is None else sample.name,
            samples=names,
        )
