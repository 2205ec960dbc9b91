"""Event tables: decisions, scores and acceptances of the triggers of a menu event by event, as arrays,
Parquet files or TTrees."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from trigemu.base.arrays import Array, BoolArray, Words
from trigemu.base.errors import SampleError, TrigemuError, nearest
from trigemu.base.files import new_file, without_clock
from trigemu.base.mapping import CHUNK_EVENTS, engine_of
from trigemu.counting.acceptance import acceptances, raw_decisions
from trigemu.counting.patterns import PatternTable, distinct_entries, merge_tables
from trigemu.emulation.budgets import solve_budgets
from trigemu.emulation.engine import (
    Chunk,
    Job,
    Progress,
    TableTask,
    over_background,
    over_samples,
)
from trigemu.emulation.plan import Plan, decide, make_plan
from trigemu.emulation.scaling import (
    crossing_scale,
    fitted_in,
    half_scales,
    switched_off,
    unseen_half,
    weights_by_half,
)
from trigemu.emulation.score_files import pyarrow_for
from trigemu.menus.menu import Menu
from trigemu.menus.prescales import at_own_column
from trigemu.menus.read import MenuLike, menu_of
from trigemu.observables.workspace import Workspace
from trigemu.samples.awkward import events_from_awkward, is_awkward
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events
from trigemu.samples.memory import SamplesLike, sample_in_memory, samples_of
from trigemu.samples.sample import Sample
from trigemu.samples.split import HALF_NAMES, half_of
from trigemu.triggers.logic import Expression, parse_expression


def decisions(menu: MenuLike, events: SamplesLike, sample: str | None = None) -> dict[str, BoolArray]:
    """Return the decisions of the triggers of a menu, event by event.

    Decisions are before prescales: whether the trigger would accept the event if no trigger of the menu had a
    prescale. They include the seed, and through it earlier levels. A `random` trigger fires in every event,
    because its rate is a prescale.

    Parameters
    ----------
    menu : path or Menu
        The menu. Thresholds from rate budgets must be known, as in `run(menu).menu` and `solve_budgets`.
    events : Events, ak.Array, path, list of paths, or Catalogue
        The events, as samples in `emulate`; their weights do not matter.
    sample : str, optional
        The name of a sample, if there are several.

    Returns
    -------
    dict of str to ndarray
        bool[n] for each enabled trigger, in the order of the menu, over the n events in their order.

    Raises
    ------
    TrigemuError
        If a threshold is unknown, or if there are several samples and none is named.
    SampleError
        If the events lack a column that a trigger needs.

    Examples
    --------
    >>> import awkward as ak
    >>> import trigemu
    >>> jets = [[{"pt": pt, "eta": 0.0, "phi": 0.0}] for pt in (120.0, 80.0)]
    >>> events = ak.Array({"jet": jets, "photon": ak.Array([[{"pt": 40.0, "eta": 1.0, "phi": 2.0}], []])})
    >>> trigemu.decisions("menus/primary.toml", events)
    {'J100': array([ True, False]), 'G30': array([ True, False])}
    """
    read = menu_of(menu)
    names = [trigger.name for trigger in read.enabled]
    part = read.part(names)
    _check_solved(part)
    if is_awkward(events):
        events = events_from_awkward(events)
    if isinstance(events, Events):
        plan = make_plan(part)
        words = _of_events(plan, events)
        return _named(part, plan, words, names)
    catalogue = samples_of(events)
    return _of_sample(part, catalogue, _chosen(catalogue, sample), names)


def fired_in(menu: Menu, catalogue: Catalogue, trigger: str, sample: str | None) -> BoolArray:
    """Return the decisions of one trigger of a solved menu on a sample of a catalogue; see `decisions`."""
    part = menu.part([trigger])
    on = (replace(other, enabled=other.enabled or other.name == trigger) for other in part.triggers)
    part = replace(part, triggers=tuple(on))  # a disabled trigger would not be compiled
    return _of_sample(part, catalogue, _chosen(catalogue, sample), [trigger])[trigger]


def _check_solved(menu: Menu) -> None:
    for trigger in menu.triggers:
        if trigger.budget and not trigger.solution:
            raise TrigemuError(
                f"{trigger.place}: trigger {trigger.name!r}: its threshold follows from "
                f"{trigger.budget.key} = {trigger.budget.hz:g}, which needs the full background: give the "
                f"menu of a run, run(menu, samples).menu, or that of solve_budgets(menu, samples)"
            )


def _chosen(catalogue: Catalogue, name: str | None) -> Sample:
    if name is None and len(catalogue.samples) == 1:
        return catalogue.samples[0]
    if name is None:
        names = ", ".join(repr(sample.name) for sample in catalogue.samples)
        raise SampleError(f"{catalogue.path} has several samples: name one as sample=… ({names})")
    return catalogue.sample(name)


def _of_events(plan: Plan, events: Events) -> Words:
    if events.core != slice(None):  # they include their neighbouring crossings
        words: Words = decide(events, plan)[events.core]
        return words
    if len(events):
        plan.check(sample_in_memory(events))
    starts = range(0, max(len(events), 1), CHUNK_EVENTS)
    return np.concatenate([decide(events[start : start + CHUNK_EVENTS], plan) for start in starts])


def _of_sample(
    menu: Menu, catalogue: Catalogue, sample: Sample, names: Sequence[str]
) -> dict[str, BoolArray]:
    plan = make_plan(menu)
    plan.check(sample)
    parts = [*over_samples([sample], Job((menu,), plan, catalogue), _Decide())]
    return _named(menu, plan, np.concatenate(parts), names)


def _named(menu: Menu, plan: Plan, words: Words, names: Sequence[str]) -> dict[str, BoolArray]:
    raw = raw_decisions(words, menu, plan.bits[0])
    return {name: raw[name] for name in names}


@dataclass(frozen=True)
class _Decide:
    """The task that returns the decisions of a chunk."""

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> Words:
        words: Words = decide(events, plan)[events.core]
        return words

    def merge(self, parts: Sequence[Any]) -> Words:
        return np.concatenate(parts)


#: Prefixes of the names of columns of a trigger.
FIRED, SCORE, ACCEPTANCE = "fired_", "score_", "acceptance_"
#: The types of columns that are not float64, by name or prefix.
_KINDS = {"sample": "i4", "id": "u8", "parent": "u8", "half": "i1", FIRED: "?"}


@dataclass(frozen=True)
class Column:
    """A column of an event table. unit: "" for a number without one."""

    name: str
    dtype: str
    unit: str
    description: str


@dataclass(frozen=True)
class EventTable:
    """The events of some samples with the results of a menu, in parts of consecutive events.

    Attributes
    ----------
    menu : Menu
        The menu, with its budgets solved.
    catalogue : Catalogue
        The samples.
    samples : tuple of Sample
        The samples of the events.
    fired : Expression or None
        The selection of events by raw decisions; None: all.
    half : int or None
        The half of the background that fitted triggers are judged on; None: none was fitted to these samples.
    fitted : frozenset of str
        The triggers that were fitted, or read such a trigger.
    """

    menu: Menu
    catalogue: Catalogue
    samples: tuple[Sample, ...]
    fired: Expression | None
    half: int | None
    fitted: frozenset[str]
    _plan: Plan
    _scales: tuple[float, ...]
    _crossing: tuple[float, ...]
    _executor: Any

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns, in their order."""
        bits = self._plan.bits[0]
        columns = [
            Column("sample", "int32", "", "the sample: its position in the catalogue"),
            Column("id", "uint64", "", "the number of the event"),
            Column("parent", "uint64", "", "the generated interaction that the event was made from"),
            Column("half", "int8", "", "the half of the sample: 0 training, 1 evaluation"),
            Column("weight", "float64", "Hz", "the rate that the event stands for"),
            Column("acceptance", "float64", "", "the probability that the menu accepts the event"),
        ]
        if self.half is not None:
            what = f"the same for fitted triggers: 0 outside of the {HALF_NAMES[self.half]} half, and scaled"
            columns.append(Column("weight_unseen", "float64", "Hz", what))
            what = "the probability that the menu accepts the event without its fitted triggers"
            columns.append(Column("unfitted_acceptance", "float64", "", what))
        for trigger in self.menu.enabled:
            name = trigger.name
            columns.append(Column(f"{FIRED}{name}", "bool", "", f"decision of {name} before its prescale"))
            if name in bits and self._plan.slots[bits[name]].compiled.threshold is not None:
                what = f"score of {name}, which fires above its threshold; −inf where it is not evaluated"
                columns.append(Column(f"{SCORE}{name}", "float64", trigger.unit or "", what))
            what = f"the probability that {name} accepts the event, with its prescale and seed"
            columns.append(Column(f"{ACCEPTANCE}{name}", "float64", "", what))
        return tuple(columns)

    def parts(self, progress: Progress | None = None) -> Iterator[dict[str, Array]]:
        """Yield the columns of consecutive events; memory does not grow with the number of events.

        `progress` is called with the number of events done since the last call.
        """
        names = tuple(column.name for column in self.columns)
        task = _Record(self.menu, names, self.fired, self.half, self.fitted, self._scales, self._crossing)
        job = Job((self.menu,), self._plan, self.catalogue)
        yield from over_samples(self.samples, job, task, self._executor, progress)

    def arrays(self) -> dict[str, Array]:
        """Return complete columns by name; all events stay in memory."""
        parts = [*self.parts()]
        none = {column.name: np.empty(0, column.dtype) for column in self.columns}
        return _joined(parts) if parts else none

    def to_awkward(self) -> Any:
        """Return an awkward array with a record for each event."""
        import awkward as ak

        return ak.zip(self.arrays(), depth_limit=1)


def event_table(
    menu: MenuLike,
    catalogue: SamplesLike = None,
    *,
    samples: Sequence[str] = (),
    fired: str | None = None,
    executor: Any = None,
    progress: Progress | None = None,
) -> EventTable:
    """Prepare a table of events with decisions, scores and acceptances of a menu.

    The sum of weight · acceptance_NAME over the background is the total rate of a trigger in `rates_of`,
    that of weight · acceptance the rate of the menu. If a trigger was fitted to these samples, its rate is
    the sum of weight_unseen · acceptance_NAME, and the rate of the menu that of weight · unfitted_acceptance
    + weight_unseen · (acceptance − unfitted_acceptance).

    Parameters
    ----------
    menu : path or Menu
        The menu. Rate budgets are solved first.
    catalogue : path, Catalogue, Events, ak.Array, list of paths, or None
        The samples, as in `emulate`.
    samples : sequence of str
        Names of the samples; by default the background.
    fired : str, optional
        Names of triggers joined by and, or, not: only events for which this is true, before prescales.
    executor, progress
        As in `emulate`.

    Returns
    -------
    EventTable
        Columns are computed on request: in parts, as arrays by name, or as an awkward array.

    Raises
    ------
    TrigemuError
        If a sample or a trigger is unknown, or a budget cannot be met.
    SampleError
        If a sample lacks a column that a trigger needs.

    Examples
    --------
    >>> import trigemu
    >>> table = trigemu.event_table("menus/primary.toml", samples=["yy"], fired="J100 and G30")
    >>> arrays = table.arrays()
    >>> bool(arrays["score_G30"].min() > 30.0)
    True
    """
    engine = engine_of(executor)
    input_menu = at_own_column(menu_of(menu))
    expression = None if fired is None else _expression(input_menu, fired)
    catalogue = samples_of(catalogue, executor=engine)
    chosen = tuple(catalogue.sample(name) for name in samples) or catalogue.background
    (solved,) = solve_budgets(input_menu, catalogue, executor=engine, progress=progress)
    plan = make_plan([solved])
    for sample in chosen:
        plan.check(sample)
    half, (fitted,) = unseen_half([solved], plan, catalogue), fitted_in([solved], plan, catalogue)
    crossing = np.ones(len(catalogue.samples))
    crossing[[sample.number for sample in catalogue.background]] = crossing_scale(solved, catalogue)
    scales = np.ones(len(crossing))
    if half is not None and catalogue.background:
        halves = over_background(Job((solved,), plan, catalogue), _Halves(), engine, progress)
        scales = half_scales(merge_tables([*halves]), half, catalogue)
    factors = tuple(scales.tolist()), tuple(crossing.tolist())
    return EventTable(solved, catalogue, chosen, expression, half, fitted, plan, *factors, engine)


def passes(menu: Menu, catalogue: Catalogue) -> int:
    """Return the number of passes over the background before the pass over the events."""
    fitted = bool(menu.budgeted) or unseen_half([menu], make_plan([menu]), catalogue) is not None
    return 2 if menu.budgeted else int(fitted)


def _expression(menu: Menu, text: str) -> Expression:
    expression = parse_expression(text)
    names = [trigger.name for trigger in menu.enabled]
    for name in expression.names():
        if name not in names:
            hint = nearest(name, names)
            raise TrigemuError(f"fired = {text!r}: {menu.path} has no enabled trigger {name!r}{hint}")
    return expression


@dataclass(frozen=True)
class _Halves(TableTask):
    """The task that sums the weights of each half of a chunk."""

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> PatternTable:
        return weights_by_half(chunk.sample, events)


@dataclass(frozen=True)
class _Record:
    """The task that computes the columns of a chunk. scales, crossing: for each sample, the factors from the
    half to the full sample, and to the crossing rate of the menu."""

    menu: Menu
    names: tuple[str, ...]
    fired: Expression | None
    half: int | None
    fitted: frozenset[str]
    scales: tuple[float, ...]
    crossing: tuple[float, ...]

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> dict[str, Array]:
        work, core, bits = Workspace(events), events.core, plan.bits[0]
        words = decide(events, plan, work)[core]
        raw = raw_decisions(words, self.menu, bits)
        keep: BoolArray = np.ones(len(words), np.bool_) if self.fired is None else self.fired.evaluate(raw)
        entry, first = distinct_entries(words)
        accepted = acceptances(words[first], self.menu, bits)
        half = half_of(events.parent[core])
        weight = events.weight[core] * self.crossing[chunk.sample]
        everything = np.ones(len(self.menu.enabled), np.bool_)
        columns: dict[str, Array] = {
            "sample": np.full(len(words), chunk.sample, np.int32),
            "id": events.id[core],
            "parent": events.parent[core],
            "half": half.astype(np.int8),
            "weight": weight,
            "acceptance": accepted.either(everything)[entry],
        }
        if self.half is not None:
            without = acceptances(words[first], switched_off(self.menu, self.fitted), bits)
            columns["weight_unseen"] = np.where(half == self.half, weight * self.scales[chunk.sample], 0.0)
            columns["unfitted_acceptance"] = without.either(everything)[entry]
        for column, trigger in enumerate(self.menu.enabled):
            name = trigger.name
            columns[f"{FIRED}{name}"] = raw[name]
            if (score := f"{SCORE}{name}") in self.names:
                columns[score] = np.asarray(plan.slots[bits[name]].compiled.evaluate(work), np.float64)[core]
            columns[f"{ACCEPTANCE}{name}"] = accepted.total[entry, column]
        return {name: columns[name][keep] for name in self.names}

    def merge(self, parts: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
        return _joined(parts)


def _joined(parts: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


#: The names of the tree in a ROOT file, and of its description.
TREE, ABOUT = "events", "about"
Extend = Callable[[Mapping[str, Array]], object]


def check_event_file(path: Path) -> None:
    """Raise TrigemuError if the suffix of a file name belongs to no format, or to one that cannot be
    written."""
    if path.suffix not in _WRITERS:
        raise TrigemuError(f"{path} should end in {' or '.join(_WRITERS)}")
    if path.suffix == ".parquet":
        pyarrow_for("writing")


def write_events(path: Path, table: EventTable, version: str, progress: Progress) -> int:
    """Write a table into a file, whose suffix determines the format; return the number of its events."""
    check_event_file(path)
    about = {
        "version": version,
        "menu": table.menu.name,
        "fired": table.fired.text if table.fired else None,
        "samples": {str(sample.number): sample.name for sample in table.samples},
        "columns": {c.name: {"unit": c.unit, "description": c.description} for c in table.columns},
    }
    written = 0
    with new_file(path) as temporary, _WRITERS[path.suffix](temporary, table, about) as extend:
        for part in table.parts(progress):
            if n := len(part["id"]):
                extend(part)
                written += n
    return written


@contextmanager
def _parquet(path: Path, table: EventTable, about: Mapping[str, Any]) -> Iterator[Extend]:
    """Write Parquet; samples are written by name."""
    pyarrow = pyarrow_for("writing")
    names = [sample.name for sample in table.catalogue.samples]
    kinds = {"bool": "bool_"}
    fields = []
    for column in table.columns:
        kind = getattr(pyarrow, kinds.get(column.dtype, column.dtype))()
        if column.name == "sample":
            kind = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
        described = {"description": column.description, **({"unit": column.unit} if column.unit else {})}
        fields.append(pyarrow.field(column.name, kind, nullable=False, metadata=described))
    schema = pyarrow.schema(fields, metadata={"trigemu": json.dumps(about)})

    def extend(part: Mapping[str, Array]) -> None:
        samples = pyarrow.DictionaryArray.from_arrays(part["sample"], names)
        arrays = [samples if name == "sample" else pyarrow.array(values) for name, values in part.items()]
        writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))

    # pyarrow cannot open a path that is not UTF-8.
    with path.open("wb") as file, pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        yield extend


@contextmanager
def _root(path: Path, table: EventTable, about: Mapping[str, Any]) -> Iterator[Extend]:
    """Write the tree `events`, and the names of samples and the meaning of columns as JSON."""
    import uproot

    identity = uuid.uuid5(uuid.NAMESPACE_URL, f"trigemu/{table.menu.name}")
    with without_clock(), uproot.recreate(path, uuid_function=lambda: identity) as file:
        file[ABOUT] = json.dumps(about)
        tree = file.mktree(TREE, {column.name: np.dtype(column.dtype) for column in table.columns})
        yield tree.extend


_WRITERS = {".parquet": _parquet, ".root": _root}
