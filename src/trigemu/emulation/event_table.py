"""Tables of events: the decisions, scores and acceptances of triggers.

A pattern table is valid for one set of thresholds; a table with scores for all thresholds from the lowest
ones. It is a sample of the event loop: `EventTable.job` replaces the triggers of menus by thresholds on its
columns. So `emulate`, `solve_budgets` and `scan` take it in place of samples, for menus of these triggers
with the same or higher thresholds, and with any prescales, seeds, groups and `logic`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import msgspec
import numpy as np

from trigemu.base.checkpoint import fingerprint
from trigemu.base.errors import TrigemuError, in_brackets, quoted
from trigemu.counting.patterns import PatternTable, empty_table, merge_tables
from trigemu.emulation.engine import Job, joined
from trigemu.emulation.per_event import Columns, Selection, take_rows
from trigemu.emulation.plan import make_plan
from trigemu.emulation.reweight import at_conditions
from trigemu.emulation.scaling import weights_by_half
from trigemu.menus.menu import Menu, Trigger
from trigemu.observables.expressions import Scalar
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events
from trigemu.samples.memory import SamplesLike, sample_in_memory
from trigemu.samples.sample import INTERACTIONS, Sample
from trigemu.triggers.base import Context, Kind, ScoreKind
from trigemu.triggers.logic import Expression
from trigemu.triggers.threshold import CompiledThreshold


class EventColumn(msgspec.Struct, frozen=True):
    """A column of a table of events."""

    name: str
    dtype: str
    description: str
    unit: str = ""  # Empty for a number without one
    definitions: tuple[str, ...] = ()  # Fingerprints of the triggers whose score or decision it is
    above: float | None = None  # The value above which the scores are known; None: all of them


#: The columns that every table of events begins with, as `per_event` gives them.
EVENT_COLUMNS = (
    EventColumn("sample", "int32", "the sample: its position in the catalogue"),
    EventColumn("id", "uint64", "the number of the event"),
    EventColumn("parent", "uint64", "the generated interaction that the event was made from"),
    EventColumn("half", "int8", "the half of the sample: 0 training, 1 evaluation"),
    EventColumn("weight", "float64", "the rate that the event stands for", "Hz"),
)


class ThresholdRange(NamedTuple):
    """The lowest and the highest threshold at which a table can be evaluated."""

    low: float
    high: float


@dataclass(frozen=True, repr=False)
class EventTable:
    """The events of some samples with scores, decisions or acceptances of menus, read on first use."""

    menus: tuple[Menu, ...]  #: The menus that the table was made for, with their budgets solved
    catalogue: Catalogue  #: The samples
    samples: tuple[Sample, ...]  #: The samples of the events
    columns: tuple[EventColumn, ...]  #: The columns, in their order
    #: Gives the events, and the sums of those left out, in parts of consecutive events
    _pass: Callable[[], Iterable[Selection]] = field(repr=False)
    #: The selection of events by raw decisions; None: all that a menu may accept
    fired: Expression | None = None
    #: The range of each trigger that has a threshold, by name; empty for a table at the thresholds of a menu
    threshold_ranges: Mapping[str, ThresholdRange] = field(default_factory=dict)
    made_with: frozenset[str] = frozenset()  #: The SHA-256 of the models and plugins of the menus
    scale: float = 1.0  #: The factor on the weights of the background, to the crossing rate of the menu

    def __repr__(self) -> str:
        scores = sum(column.name.startswith("score_") for column in self.columns)
        menus = ", ".join(quoted(menu.name) for menu in self.menus)
        return in_brackets(self, f"of {menus}: {scores} scores")

    @property
    def menu(self) -> Menu:
        """The first menu."""
        return self.menus[0]

    def selections(self) -> Iterable[Selection]:
        """Return the columns of consecutive events, and the sums of those left out, as in `parts`."""
        return [self._whole] if "_whole" in vars(self) else self._pass()

    def parts(self) -> Iterator[Columns]:
        """Yield the columns of consecutive events; memory does not grow with their number."""
        return (part.columns for part in self.selections())

    def arrays(self) -> Columns:
        """Return complete columns by name; all events stay in memory."""
        return dict(self._whole.columns)

    def to_awkward(self) -> Any:
        """Return an awkward array with a record for each event."""
        import awkward as ak

        return ak.zip(self.arrays(), depth_limit=1)

    @cached_property
    def _whole(self) -> Selection:
        none: Columns = {column.name: np.empty(0, column.dtype) for column in self.columns}
        whole: Selection = joined([Selection(none, empty_table(1)), *self._pass()])
        return whole

    def rows_of(self, *samples: Sample) -> Columns:
        """Return the events of some `samples`; where they follow each other, they are not copied."""
        numbers = [sample.number for sample in samples]
        rows = np.flatnonzero(np.isin(self._whole.columns["sample"], numbers))
        together = len(rows) and rows[-1] - rows[0] == len(rows) - 1
        return take_rows(self._whole.columns, slice(rows[0], rows[-1] + 1) if together else rows)

    @property
    def table(self) -> Columns:
        """The events of the background."""
        return self.rows_of(*self.catalogue.background)

    @property
    def signals(self) -> Mapping[str, Columns]:
        """The events of the signals, by the name of the sample."""
        background = self.catalogue.background
        return {sample.name: self.rows_of(sample) for sample in self.samples if sample not in background}

    def by_half(self) -> PatternTable:
        """Return the pattern table of all events of the background by sample and half only."""
        table = self.table
        kept = weights_by_half(table["sample"], table["half"], table["weight"] / self.scale)
        return merge_tables([self._whole.sums.onto((), ("half",)), kept])

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
            why = "the score table was made without this trigger, or with another definition of it: make the"
            if trigger.seed and f"fired_{trigger.name}" in (column.name for column in self.columns):
                why = "the table has only decisions that include its seed: use trigemu scores to make the"
            raise TrigemuError(f"{where}: {why} table again")
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
        if missing := [s.name for s in self.catalogue.background if s not in self.samples]:
            raise TrigemuError(f"the table has no events of {missing[0]!r}: make it again, of all background")
        if self.fired:
            raise TrigemuError(
                f"the table has only events that pass {self.fired.text}: make it without --fired"
            )
        if (strata := self.catalogue.strata > 1) and "stratum" not in (c.name for c in self.columns):
            raise TrigemuError(
                "the table has no numbers of interactions to reweight: make it with trigemu scores"
            )
        plan, stored = make_plan(menus), []
        for menu, bits, models in zip(menus, plan.bits, plan.models, strict=True):
            if other := [what for what, sha256 in made_with(menu, models) if sha256 not in self.made_with]:
                raise TrigemuError(
                    f"{menu.path}: the score table was made with another {other[0]}: make the table again"
                )
            stored.append(menu.with_triggers(self._as_column(menu, menu.trigger(name)) for name in bits))
        read = make_plan(stored)
        plan = replace(plan, slots=read.slots, bits=read.bits, needs=read.needs, neighbours=())
        further = frozenset([INTERACTIONS] if strata else [])
        return Job(tuple(stored), plan, self._events, further, self._whole.sums)

    def _as_column(self, menu: Menu, trigger: Trigger) -> Trigger:
        """Return a trigger on the column of its score, or of its decision, which is 0 or 1."""
        column, threshold = self.column_of(menu, trigger), getattr(trigger.description, "threshold", 0.5)
        return replace(trigger, description=_Stored(column=column.name, threshold=threshold))

    @cached_property
    def _events(self) -> Catalogue:
        """The samples, whose background is the events of the table."""
        samples = list(self.catalogue.samples)
        plain: dict[str, Any] = {"per_interactions": (), "weighting": None, "weighting_needs": ()}
        plain |= {"hz_per_weight": 1.0, "weighted": True, "counted": None}
        for sample in self.catalogue.background:
            sources = sample_in_memory(self._events_of(sample)).sources
            samples[sample.number] = replace(sample, sources=sources, **plain)
        strata = tuple(range(self.catalogue.strata))
        return replace(self.catalogue, samples=tuple(samples), stratum_of=strata)

    def _events_of(self, sample: Sample) -> Events:
        """Return the events of a sample of the background, with scores and decisions as numbers per event."""
        rows = self.rows_of(sample)
        numbers = {column.name: rows[column.name] for column in self.columns if column.definitions}
        if "stratum" in rows:
            numbers[INTERACTIONS[1]] = rows["stratum"]
        return Events(sample.name, rows["weight"] / self.scale, rows["id"], rows["parent"], {}, numbers)


class _Stored(Kind, frozen=True):
    """A trigger that fires above a threshold on a column of a table."""

    column: str
    threshold: float

    def compile(self, context: Context) -> CompiledThreshold:
        return CompiledThreshold(Scalar(context.scalar(self.column)), None, self.threshold)


_digest_of_scope = lru_cache(maxsize=64)(fingerprint)


def definition(menu: Menu, trigger: Trigger) -> str:
    """Return a fingerprint of the definition of a trigger of a menu, without its threshold."""
    kind = trigger.description
    return fingerprint(_digest_of_scope(menu.scope), kind.at(0.0) if isinstance(kind, ScoreKind) else kind)


def made_with(menu: Menu, models: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the models and plugins of a menu, each with its SHA-256."""
    yield from sorted(models.items())
    yield from ((f"version of the plugin {plugin.name!r}", plugin.sha256) for plugin in menu.plugins)


def at_conditions_of(
    menus: Sequence[Menu], samples: SamplesLike | EventTable, executor: Any
) -> Catalogue | EventTable:
    """Return samples as a catalogue at the pile-up and luminosity of menus; a table as it is."""
    return samples if isinstance(samples, EventTable) else at_conditions(menus, samples, executor)


def job_of(menus: Sequence[Menu], samples: Catalogue | EventTable) -> tuple[Job, Catalogue]:
    """Return the job of menus on samples, or on a table, and the samples. SampleError if the background lacks
    a column."""
    if isinstance(samples, EventTable):
        return samples.job(menus), samples.catalogue
    plan = make_plan(menus)
    plan.check_background(samples)
    return Job(tuple(menus), plan, samples), samples
