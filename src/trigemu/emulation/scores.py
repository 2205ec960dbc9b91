"""Score tables: the events that menus may accept at their lowest thresholds, with the score of each trigger.

A pattern table is valid for one set of thresholds; a score table for all thresholds from the lowest ones. It
is a sample of the event loop: `Scores.job` replaces the triggers of menus by thresholds on its columns. So
`emulate`, `solve_budgets` and `scan` take `Scores` in place of samples, for menus of these triggers with the
same or higher thresholds, and with any prescales, seeds, groups and `logic`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import BoolArray, FloatArray
from trigemu.base.checkpoint import fingerprint
from trigemu.base.errors import TrigemuError, in_brackets, quoted
from trigemu.base.mapping import CHUNK_EVENTS, Engine
from trigemu.counting.patterns import PatternTable, merge_tables
from trigemu.emulation.engine import Chunk, Job, Progress, Task, joined, over_background
from trigemu.emulation.plan import Plan, make_plan
from trigemu.emulation.reweight import at_conditions
from trigemu.emulation.scaling import weights_by_half
from trigemu.menus.menu import Menu, Trigger
from trigemu.observables.workspace import Workspace
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events
from trigemu.samples.memory import Memory, SamplesLike
from trigemu.samples.sample import INTERACTIONS
from trigemu.samples.split import half_of
from trigemu.triggers.base import Compiled, Context, Kind, ScoreKind

#: The columns of some events, by name.
Columns = dict[str, npt.NDArray[Any]]
#: The largest number of events of a chunk of which rows are kept.
_ROW_EVENTS = 65_536


@dataclass(frozen=True)
class EventColumn:
    """A column of a table of events."""

    name: str
    dtype: str
    description: str
    unit: str = ""  # Empty for a number without one
    # Of a score table: the triggers with each definition of the score or decision, by its fingerprint
    definitions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    above: float | None = None  # The value above which the scores are known


#: The columns that every table begins with.
EVENT_COLUMNS = (
    EventColumn("sample", "int32", "the sample: its position in the catalogue"),
    EventColumn("id", "uint64", "the number of the event"),
    EventColumn("parent", "uint64", "the generated interaction that the event was made from"),
    EventColumn("half", "int8", "the half of the sample: 0 training, 1 evaluation"),
    EventColumn("weight", "float64", "the rate that the event stands for", "Hz"),
)


def event_columns(chunk: Chunk, events: Events) -> Columns:
    """Return the `EVENT_COLUMNS` of a chunk."""
    core = events.core
    parent, weight = events.parent[core], events.weight[core]
    sample = np.full(len(weight), chunk.sample, np.int32)
    half = half_of(parent).astype(np.int8)
    return {"sample": sample, "id": events.id[core], "parent": parent, "half": half, "weight": weight}


def take_rows(columns: Columns, rows: slice | BoolArray) -> Columns:
    """Return the columns of some events."""
    return {name: values[rows] for name, values in columns.items()}


def for_rows(engine: Engine) -> Engine:
    """Return an engine for passes that keep a row of many columns for each event: several of their results
    are in memory."""
    return replace(engine, chunk_events=min(engine.chunk_events, _ROW_EVENTS))


@dataclass(frozen=True)
class Selection:
    """The columns of selected events among consecutive ones, and what is summed over events."""

    columns: Columns
    sums: PatternTable  # By sample, half and stratum; the patterns are 0


class ThresholdRange(NamedTuple):
    """The lowest and the highest threshold at which a score table can be evaluated."""

    low: float
    high: float


@dataclass(frozen=True, repr=False)
class Scores:
    """The scores of the events that menus may accept, in place of samples."""

    menus: tuple[Menu, ...]  #: The menus that the table was made for, with their budgets solved
    catalogue: Catalogue  #: The samples
    #: The columns: those of the events, then scores, and decisions of triggers without a score
    columns: tuple[EventColumn, ...]
    signal_names: tuple[str, ...]  #: The signals of which all events are in the table
    #: The range of each trigger that has a threshold, by name
    threshold_ranges: Mapping[str, ThresholdRange]
    made_with: frozenset[str]  #: The SHA-256 of the models and plugins of the menus
    #: Gives the events, and the sums of the others, in parts of consecutive events
    _pass: Callable[[], Iterable[Selection]] = field(repr=False)

    def __repr__(self) -> str:
        scores = sum(column.above is not None for column in self.columns)
        menus = ", ".join(quoted(menu.name) for menu in self.menus)
        return in_brackets(self, f"of {menus}: {scores} scores")

    def parts(self) -> Iterable[Selection]:
        """Return the parts of consecutive events; only some are in memory, if none was asked for before."""
        return [self._whole] if "_whole" in vars(self) else self._pass()

    @cached_property
    def _whole(self) -> Selection:
        whole: Selection = joined([*self._pass()])
        return whole

    @cached_property
    def _by_sample(self) -> Mapping[int, Columns]:
        columns = self._whole.columns  # events of one sample follow each other
        bounds = np.flatnonzero(np.diff(columns["sample"], prepend=-1, append=-1)).tolist()
        numbers = columns["sample"][bounds[:-1]].tolist()
        none = {sample.number: take_rows(columns, slice(0)) for sample in self.catalogue.samples}
        rows = (take_rows(columns, slice(start, stop)) for start, stop in pairwise(bounds))
        return none | dict(zip(numbers, rows, strict=True))

    @property
    def table(self) -> Columns:
        """The events of the background, which come first."""
        events = sum(len(self._by_sample[sample.number]["id"]) for sample in self.catalogue.background)
        return take_rows(self._whole.columns, slice(events))

    @property
    def signals(self) -> Mapping[str, Columns]:
        """All events of the signals, by the name of the sample."""
        samples = map(self.catalogue.sample, self.signal_names)
        return {sample.name: self._by_sample[sample.number] for sample in samples}

    def by_half(self) -> PatternTable:
        """Return the pattern table of all events of the background by sample and half only."""
        halves = over_background(Job((), make_plan(()), self._events), Halves())
        return merge_tables([self._whole.sums.onto((), ("half",)), *halves])

    @cached_property
    def stored(self) -> Mapping[str, EventColumn]:
        """The column of the score or decision of a trigger, by the fingerprint of its definition."""
        return {key: column for column in self.columns for key in column.definitions}

    def column_of(self, menu: Menu, trigger: Trigger) -> EventColumn:
        """Return the score or decision of a `trigger` of a `menu`. TrigemuError if the table lacks it, or
        scores just above its threshold."""
        column = self.stored.get(definition(menu, trigger))
        where = f"{trigger.place}: trigger {trigger.name!r}"
        if column is None:
            raise TrigemuError(
                f"{where}: the score table was made without this trigger, or with another definition of it: "
                f"make the table again"
            )
        kind = trigger.description
        if isinstance(kind, ScoreKind) and column.above is not None and kind.threshold < column.above:
            raise TrigemuError(
                f"{where}: its threshold {kind.threshold:g} is below {column.above:g}, the lowest one of the "
                f"score table: make the table with --vary {trigger.name}={kind.threshold:g}:…"
            )
        return column

    def job(self, menus: Sequence[Menu]) -> Job:
        """Return the job of some `menus` of triggers in the table: its plan has their models and training
        events, and reads the columns of the table."""
        plan = make_plan(menus)
        for menu, what, sha256 in made_with(menus, plan):
            if sha256 not in self.made_with:
                raise TrigemuError(
                    f"{menu.path}: the score table was made with another {what}: make the table again"
                )
        stored = []
        for menu, bits in zip(menus, plan.bits, strict=True):
            triggers = (self._as_column(menu, t) if t.name in bits else t for t in menu.triggers)
            stored.append(replace(menu, triggers=tuple(triggers)))
        read = make_plan(stored)
        return Job(
            tuple(stored),
            replace(plan, slots=read.slots, bits=read.bits, needs=read.needs),
            self._events,
            frozenset([INTERACTIONS] if self.catalogue.strata > 1 else []),
            self._whole.sums,
        )

    def _as_column(self, menu: Menu, trigger: Trigger) -> Trigger:
        column, kind = self.column_of(menu, trigger), trigger.description
        threshold = kind.threshold if isinstance(kind, ScoreKind) else None
        return replace(trigger, description=_Stored(column=column.name, threshold=threshold))

    @cached_property
    def _events(self) -> Catalogue:
        """The samples with the events of the table, in which scores and decisions are numbers per event."""
        catalogue, scalars, samples = self.catalogue, {c.name for c in self.columns if c.definitions}, []
        for sample in catalogue.samples:
            rows, sources = self._by_sample[sample.number], []
            for start in range(0, len(rows["id"]), CHUNK_EVENTS):
                part = take_rows(rows, slice(start, start + CHUNK_EVENTS))
                numbers = {name: part[name] for name in scalars} | {INTERACTIONS[1]: part["stratum"]}
                events = Events(sample.name, part["weight"], part["id"], part["parent"], {}, numbers)
                sources.append(Memory(sample.name, events=events, has_parents=sample.has_parents))
            plain: dict[str, Any] = {"per_interactions": (), "weighting": None, "weighting_needs": ()}
            plain |= {"hz_per_weight": 1.0, "weighted": True, "counted": None}
            samples.append(replace(sample, sources=tuple(sources), **plain))
        return replace(catalogue, samples=tuple(samples), stratum_of=tuple(range(catalogue.strata)))


class _Stored(Kind, frozen=True):
    """A trigger that fires above a threshold on a column of a score table, or where a stored decision is
    true."""

    column: str
    threshold: float | None

    def compile(self, context: Context) -> _CompiledStored:
        return _CompiledStored(context.scalar(self.column), self.threshold)


@dataclass(frozen=True)
class _CompiledStored(Compiled):
    column: str
    threshold: float | None

    def evaluate(self, work: Workspace) -> FloatArray | BoolArray:
        values = work.events.scalars[self.column]
        return np.asarray(values != 0 if self.threshold is None else values)


def made_with(menus: Sequence[Menu], plan: Plan) -> Iterator[tuple[Menu, str, str]]:
    """Yield the models and plugins of menus, each with its SHA-256."""
    for menu, models in zip(menus, plan.models, strict=True):
        yield from ((menu, path, sha256) for path, sha256 in sorted(models.items()))
        yield from ((menu, f"version of the plugin {p.name!r}", p.sha256) for p in menu.plugins)


@dataclass(frozen=True)
class Halves(Task[PatternTable]):
    """The task that sums the weights of each half of a chunk."""

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> PatternTable:
        return weights_by_half(chunk.sample, events)


def at_conditions_of(
    menus: Sequence[Menu], samples: SamplesLike | Scores, executor: Any, progress: Progress | None
) -> Catalogue | Scores:
    """Return samples as a catalogue at the pile-up and luminosity of menus; scores as they are."""
    return samples if isinstance(samples, Scores) else at_conditions(menus, samples, executor, progress)


def catalogue_behind(samples: Catalogue | Scores) -> Catalogue:
    """Return the catalogue of samples, or of scores."""
    return samples.catalogue if isinstance(samples, Scores) else samples


def job_of(menus: Sequence[Menu], samples: Catalogue | Scores) -> Job:
    """Return the job of menus on samples, or on scores. SampleError if the background lacks a column."""
    if isinstance(samples, Scores):
        return samples.job(menus)
    plan = make_plan(menus)
    plan.check_background(samples)
    return Job(tuple(menus), plan, samples)


_digest_of_scope = lru_cache(maxsize=64)(fingerprint)


def definition(menu: Menu, trigger: Trigger) -> str:
    """Return a fingerprint of the definition of a trigger of a menu, without its threshold."""
    kind = trigger.description
    return fingerprint(_digest_of_scope(menu.scope), kind.at(0.0) if isinstance(kind, ScoreKind) else kind)
