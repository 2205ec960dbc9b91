"""Score tables: the scores and weights of the events that menus may accept at their lowest thresholds.

A pattern table is valid for one set of thresholds; a score table for all thresholds from the lowest ones. It
has a row for each event in which a trigger fires at the lowest thresholds; all others are summed in `rest`.
Menus of these triggers with the same or higher thresholds, and with any prescales, seeds, groups and `logic`,
are then emulated without reading events, with the same result.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import pairwise, starmap
from typing import Any

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words
from trigemu.base.errors import SampleError, TrigemuError, in_brackets, names_of
from trigemu.base.fingerprint import fingerprint
from trigemu.base.mapping import engine_of
from trigemu.counting.acceptance import raw_decisions
from trigemu.counting.patterns import (
    Keys,
    PatternTable,
    complete_table,
    count_patterns,
    empty_table,
    merge_tables,
)
from trigemu.emulation.budgets import BudgetEvents, solve_budgets, solved_by
from trigemu.emulation.engine import Chunk, Job, Progress, over_samples
from trigemu.emulation.event_table import (
    EVENT_COLUMNS,
    FIRED,
    SCORE,
    Columns,
    EventColumn,
    event_columns,
    for_rows,
)
from trigemu.emulation.loop import Emulation, counts_rejected
from trigemu.emulation.plan import Plan, ThresholdLadder, bit_of_words, decide, make_plan, pack
from trigemu.emulation.reweight import at_conditions
from trigemu.emulation.scaling import fitted_in, half_scales, unseen_half
from trigemu.emulation.threshold_ranges import (
    ThresholdRange,
    loosest_menu,
    ranges_of,
    requested_ranges,
)
from trigemu.menus.menu import Menu, Trigger
from trigemu.menus.prescales import at_own_column
from trigemu.menus.read import MenuLike, MenusLike, menu_of, menus_of
from trigemu.menus.warnings import unit_of_threshold
from trigemu.observables.workspace import Workspace
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events
from trigemu.samples.memory import SamplesLike, samples_of
from trigemu.samples.sample import INTERACTIONS
from trigemu.samples.split import EVALUATION
from trigemu.triggers.base import ScoreKind

#: The columns of a score table besides those of scores and decisions.
PLAIN_COLUMNS = (
    *EVENT_COLUMNS,
    EventColumn("stratum", "int16", "the number of interactions, if crossings are reweighted by it; else 0"),
)


@dataclass(frozen=True)
class ScoreTable:
    """The events in which a trigger fires at the lowest thresholds."""

    columns: Columns  # By name, those of `Scores.columns`
    rest: PatternTable  # The other events, in which no trigger fires: their patterns are 0

    def __len__(self) -> int:
        return len(self["id"])

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self.columns[name]

    def take(self, rows: IntArray | BoolArray) -> ScoreTable:
        """Return the table with only the events in `rows`, int64[k] or bool[n]."""
        return ScoreTable({name: values[rows] for name, values in self.columns.items()}, self.rest)

    def by_half(self) -> PatternTable:
        """Return the pattern table of all events by sample and half only."""
        nothing = np.zeros((len(self), 1), np.uint64)
        return self.count(nothing, Keys(self["half"]), self.rest.onto((), ("half",)), (), count_rejected=True)

    def count(
        self, words: Words, keys: Keys, rest: PatternTable, shared: Container[int], count_rejected: bool
    ) -> PatternTable:
        """Return the pattern table of all events. words: uint64[n, v]; keys: The further keys, int64[n]
        each."""
        tables = [rest]
        bounds = np.flatnonzero(np.diff(self["sample"], prepend=-1, append=-1)).tolist()
        for rows in starmap(slice, pairwise(bounds)):  # events of one sample follow each other
            sample = int(self["sample"][rows.start])
            made_from = (self["parent"][rows], self["id"][rows]) if sample in shared else None
            counted = (words[rows], self["weight"][rows], keys.take(rows))
            tables.append(
                count_patterns(sample, *counted, made_from=made_from, count_rejected=count_rejected)
            )
        return complete_table(tables)


def merge_score_tables(tables: Iterable[ScoreTable]) -> ScoreTable:
    """Return the sum of one or more tables, with their events concatenated. Tables from an iterator are in
    memory only once."""
    columns: defaultdict[str, list[npt.NDArray[Any]]] = defaultdict(list)
    rests = []
    for table in tables:
        rests.append(table.rest)
        for name, values in table.columns.items():
            columns[name].append(values)
    joined = {}
    for name in [*columns]:
        first, *others = columns.pop(name)
        joined[name] = np.concatenate([first, *others]) if others else first
    return ScoreTable(joined, merge_tables(rests))


@dataclass(frozen=True, repr=False)
class Scores:
    """The scores of the events that menus may accept, for emulation at other thresholds."""

    menus: tuple[Menu, ...]  #: The menus that the table was made for, with their budgets solved
    catalogue: Catalogue  #: The samples
    #: The columns: those of the events, then scores, then decisions of triggers without a score
    columns: tuple[EventColumn, ...]
    signal_names: tuple[str, ...]  #: The signals of which all events are in the table
    #: The range of each trigger that has a threshold, by name
    threshold_ranges: Mapping[str, ThresholdRange]
    made_with: frozenset[str]  #: The SHA-256 of the models and plugins of the menus
    _pass: Callable[[], Iterable[ScoreTable]] = field(repr=False)

    def __repr__(self) -> str:
        scores = sum(column.above is not None for column in self.columns)
        return in_brackets(self, f"{len(self.table)} events, {scores} scores")

    def parts(self) -> Iterator[ScoreTable]:
        """Yield the tables of consecutive events; only some are in memory, if none was asked for before."""
        yield from self._tables.values() if "_tables" in vars(self) else self._pass()

    @cached_property
    def _tables(self) -> dict[str, ScoreTable]:
        table = merge_score_tables(self._pass())
        if not self.signal_names:
            return {"": table}
        numbers = {name: self.catalogue.sample(name).number for name in self.signal_names}
        none = replace(table, rest=empty_table(1))
        signals = {name: none.take(table["sample"] == number) for name, number in numbers.items()}
        return {"": table.take(~np.isin(table["sample"], [*numbers.values()])), **signals}

    @property
    def table(self) -> ScoreTable:
        """The events of the background."""
        return self._tables[""]

    @property
    def signals(self) -> Mapping[str, ScoreTable]:
        """All events of the signals, by the name of the sample."""
        return {name: self._tables[name] for name in self.signal_names}

    @cached_property
    def stored(self) -> Mapping[str, EventColumn]:
        """The column of the score or decision of a trigger, by the fingerprint of its definition."""
        return {key: column for column in self.columns for key in column.definitions}

    def emulation(self, menus: MenusLike | None = None, *, bin: IntArray | None = None) -> Emulation:
        """Emulate menus without reading events.

        Parameters
        ----------
        menus : path, Menu, or list of these, optional
            Menus of triggers in the table; by default those that it was made for. Budgets are solved.
        bin : int64[n], optional
            The bin of each event of the background, in which patterns are counted separately; events that
            the table leaves out are in bin 0.

        Returns
        -------
        Emulation
            The same as that of `emulate`.

        Raises
        ------
        TrigemuError
            If the table lacks a trigger or scores just above its threshold, or a budget cannot be met.
        """
        input_menus = self.menus if menus is None else menus_of(menus)
        solved = self.solve_budgets(input_menus)
        plan = make_plan(solved)
        half = unseen_half(solved, plan, self.catalogue)
        bits, words = self._decided(solved, plan)
        rest = self.table.rest.onto((), ("stratum",) if half is None else ("half", "stratum"))
        counted = self.table.count(
            words,
            Keys(self.table["half"] if half is not None else None, bin, self.table["stratum"]),
            replace(rest, words=np.zeros((len(rest), words.shape[1]), np.uint64)),
            self.catalogue.with_parents,
            counts_rejected(solved, plan, self.catalogue),
        )
        plan = replace(plan, bits=bits)
        fitted = fitted_in(solved, plan, self.catalogue)
        return Emulation(input_menus, solved, self.catalogue, plan, counted, half, fitted)

    def solve_budgets(self, menus: MenusLike) -> tuple[Menu, ...]:
        """Return `menus` of triggers in the table with their rate budgets solved, as the function
        `solve_budgets` does. TrigemuError if a budget cannot be met with the scores in the table."""
        menus = tuple(map(at_own_column, menus_of(menus)))
        if not any(menu.budgeted for menu in menus):
            return menus
        table = self.table
        if (table["weight"] < 0).any():
            raise SampleError("the table has events of negative weight: no threshold can be fitted to them")
        plan = make_plan(menus)
        unseen = unseen_half(menus, plan, self.catalogue)
        half = EVALUATION if unseen is None else unseen
        bits, words = self._decided(menus, plan)
        columns = {
            bit_of[trigger.name]: self.column_of(menu, trigger)
            for menu, bit_of in zip(menus, bits, strict=True)
            for trigger in menu.budgeted
        }
        slots = sorted(columns)
        scores = np.column_stack([table[columns[slot].name] for slot in slots])
        keep = (table["half"] == half) & (scores > -np.inf).any(axis=1)
        shared = np.isin(table["sample"], sorted(self.catalogue.with_parents))
        events = (table["sample"], table["weight"], table["parent"], shared, words, scores)
        return solved_by(
            menus,
            bits,
            slots,
            BudgetEvents(*(column[keep] for column in events)),
            half_scales(table.by_half(), half, self.catalogue),
            self.catalogue,
            {slot: column.above for slot, column in columns.items() if column.above is not None},
        )

    def score(self, trigger: str, menu: MenuLike | None = None) -> FloatArray:
        """Return the score of a `trigger` for each event of the background, float64[n]; −∞ if it is not
        above the lowest threshold. Its `menu` is by default the first one that the table was made for."""
        scored_menu = self.menus[0] if menu is None else menu_of(menu)
        column = self.column_of(scored_menu, scored_menu.trigger(trigger))
        if column.above is None:
            raise TrigemuError(f"{scored_menu.trigger(trigger).place}: trigger {trigger!r} has no score")
        return np.asarray(self.table[column.name])

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

    def _decided(self, menus: Sequence[Menu], plan: Plan) -> tuple[tuple[dict[str, int], ...], Words]:
        """Return the bit of each trigger of each menu, and the patterns of the events."""
        self._check_models(menus, plan)
        number: dict[tuple[str, float | None], int] = {}
        bits: list[dict[str, int]] = []
        for menu, names in zip(menus, plan.bits, strict=True):
            bits.append({})
            for name in names:
                column, kind = self.column_of(menu, menu.trigger(name)), menu.trigger(name).description
                threshold = kind.threshold if isinstance(kind, ScoreKind) else None
                bits[-1][name] = number.setdefault((column.name, threshold), len(number))
        fired = (
            self.table[name] if threshold is None else self.table[name] > threshold
            for name, threshold in number
        )
        return tuple(bits), pack(len(self.table), len(number), enumerate(fired))

    def _check_models(self, menus: Sequence[Menu], plan: Plan) -> None:
        for menu, models in zip(menus, plan.models, strict=True):
            if changed := sorted(path for path, sha256 in models.items() if sha256 not in self.made_with):
                raise TrigemuError(
                    f"{menu.path}: the score table was made with another {changed[0]}: make the table again"
                )
            for plugin in menu.plugins:
                if plugin.sha256 not in self.made_with:
                    raise TrigemuError(
                        f"{menu.path}: the score table was made with another version of the plugin "
                        f"{plugin.name!r}: make the table again"
                    )


_digest_of_scope = lru_cache(maxsize=64)(fingerprint)


def definition(menu: Menu, trigger: Trigger) -> str:
    """Return a fingerprint of the definition of a trigger of a menu, without its threshold."""
    kind = trigger.description
    return fingerprint(_digest_of_scope(menu.scope), kind.at(0.0) if isinstance(kind, ScoreKind) else kind)


def score_table(
    menus: MenusLike,
    catalogue: SamplesLike = None,
    *,
    vary: Mapping[str, tuple[float, float]] | None = None,
    signals: str | Sequence[str] = (),
    executor: Any = None,
    progress: Progress | None = None,
) -> Scores:
    """Collect the scores of all events that menus may accept at their lowest thresholds.

    Parameters
    ----------
    menus : path, Menu, or list of these
        The menus. Rate budgets are solved first.
    catalogue : path, Catalogue, Events, ak.Array, list of paths, or None
        The samples, as in `emulate`.
    vary : mapping of str to tuple of float, optional
        The lowest and the highest threshold of triggers, by name. By default, the thresholds at which a
        trigger's own rate is ten times the present one and a tenth of it, which needs one more pass.
    signals : str or sequence of str
        Names of samples of which all events are stored, in addition to the background.
    executor, progress
        As in `emulate`.

    Returns
    -------
    Scores

    Raises
    ------
    TrigemuError
        If a trigger to vary is unknown or has no threshold, or a budget cannot be met.
    SampleError
        If a sample lacks a column that a trigger needs.

    Examples
    --------
    >>> import trigemu
    >>> scores = trigemu.score_table("menus/primary.toml", vary={"J100": (60, 160), "G30": (20, 50)})
    >>> emulation = scores.emulation("menus/primary.toml")
    >>> f"{trigemu.rates_of(emulation).rate.hz / 1e3:.2f} kHz"
    '21.41 kHz'
    """
    scores = score_pass(menus, catalogue, vary, signals, executor, progress)
    _ = scores.table  # the pass over the events
    return scores


def score_pass(
    menus: MenusLike,
    catalogue: SamplesLike,
    vary: Mapping[str, tuple[float, float]] | None,
    signals: str | Sequence[str],
    executor: Any,
    progress: Progress | None,
) -> Scores:
    """Find the ranges of thresholds, and prepare a table whose events are read when they are asked for; the
    arguments are those of `score_table`."""
    engine = engine_of(executor)
    input_menus = menus_of(menus)
    catalogue = at_conditions(input_menus, samples_of(catalogue, executor=engine), engine, progress)
    signal_samples = [catalogue.sample(name) for name in names_of("the signals", signals)]
    if in_background := [sample.name for sample in signal_samples if sample in catalogue.background]:
        raise TrigemuError(f"{in_background[0]!r} is a background sample, which the table always includes")
    requested = requested_ranges(input_menus, vary or {})
    solved = input_menus
    if any(menu.budgeted for menu in input_menus):  # scores alone need no prescales
        solved = solve_budgets(input_menus, catalogue, executor=engine, progress=progress)
    plan = make_plan(solved)
    plan.check_background(catalogue)
    for sample in signal_samples:
        plan.check(sample)
    threshold_ranges = ranges_of(Job(solved, plan, catalogue), requested, engine, progress)
    loosest = tuple(loosest_menu(menu, threshold_ranges) for menu in solved)
    plan = make_plan(loosest)
    columns = _columns(loosest, plan)
    names = tuple(column.name for column in columns)
    firing, everything = _selection(loosest, plan, catalogue)
    numbers = frozenset(sample.number for sample in signal_samples)
    task = _Collect(names[len(PLAIN_COLUMNS) :], firing, everything, numbers, catalogue.stratum_of)
    job = Job(loosest, plan, catalogue)
    made_with = {sha256 for models in plan.models for sha256 in models.values()}
    made_with |= {plugin.sha256 for menu in solved for plugin in menu.plugins}
    return Scores(
        solved,
        catalogue,
        columns,
        tuple(sample.name for sample in signal_samples),
        threshold_ranges,
        frozenset(made_with),
        lambda: over_samples([*catalogue.background, *signal_samples], job, task, for_rows(engine), progress),
    )


def passes_to_score(menus: Sequence[Menu], vary: Mapping[str, tuple[float, float]]) -> int:
    """Return the number of passes of `score_table` over the background, for a progress bar."""
    budgets = any(menu.budgeted for menu in menus)
    open_ = any(isinstance(t.description, ScoreKind) and t.name not in vary for m in menus for t in m.used)
    return 1 + budgets + open_


def _stored_groups(plan: Plan) -> list[ThresholdLadder]:
    """Return the groups of a plan in the order of their columns: scores, then decisions."""
    return sorted(plan.groups, key=lambda group: not len(group.thresholds))


def _columns(menus: Sequence[Menu], plan: Plan) -> tuple[EventColumn, ...]:
    """Return the columns of the table of menus at their lowest thresholds."""
    groups = _stored_groups(plan)
    group_of = {bit: number for number, group in enumerate(groups) for bit in group.bits.tolist()}
    definitions: list[dict[str, tuple[str, ...]]] = [{} for _ in groups]
    units = [""] * len(groups)
    for menu, bits in zip(menus, plan.bits, strict=True):
        for name, bit in bits.items():
            trigger, number = menu.trigger(name), group_of[bit]
            key, names = definition(menu, trigger), definitions[number]
            names[key] = tuple(dict.fromkeys((*names.get(key, ()), name)))
            units[number] = units[number] or unit_of_threshold(menu, trigger)
    columns = [*PLAIN_COLUMNS]
    taken = {column.name for column in columns}
    for group, defined, unit in zip(groups, definitions, units, strict=True):
        triggers = [name for names in defined.values() for name in names]
        name = f"{SCORE if len(group.thresholds) else FIRED}{triggers[0]}"
        while name in taken:  # another definition in another menu
            name += "_"
        taken.add(name)
        if len(group.thresholds):
            above = float(group.thresholds[0])
            what = f"score of {', '.join(triggers)}; −inf where it is not above {above:g}"
            columns.append(EventColumn(name, "float64", what, unit, defined, above))
        else:
            what = f"decision of {', '.join(triggers)}, before prescale and seed"
            columns.append(EventColumn(name, "bool", what, "", defined))
    return tuple(columns)


def _selection(menus: Sequence[Menu], plan: Plan, catalogue: Catalogue) -> tuple[tuple[int, ...], bool]:
    """Return the bits of which one fires in each event of the table, and whether all events are in it."""
    firing = np.zeros(plan.words, np.uint64)
    # A trigger with a seed that excludes others may fire where none without a seed does.
    negated = any(t.seed.negates for menu in menus for t in menu.used if t.seed)
    for menu, bits in zip(menus, plan.bits, strict=True):
        for name, bit in bits.items():
            if not menu.trigger(name).seed or negated:
                firing[bit // 64] |= np.uint64(1) << np.uint64(bit % 64)
    patterns = np.stack([np.zeros_like(firing), ~firing])
    fires_on_nothing = any(  # `random`, `not`
        raw[trigger.name].any()
        for menu, bits in zip(menus, plan.bits, strict=True)
        for raw in [raw_decisions(patterns, menu, bits)]
        for trigger in menu.enabled
    )
    return tuple(firing.tolist()), catalogue.pileup is not None or fires_on_nothing


@dataclass(frozen=True)
class _Collect:
    """The task that collects the scores of a chunk."""

    names: tuple[str, ...]  # Those of the columns of scores and decisions
    firing: tuple[int, ...]  # firing, everything: The events to keep, as in `_selection`
    everything: bool
    signals: frozenset[int]  # The samples of which all events are kept
    stratum_of: tuple[int, ...]

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> ScoreTable:
        work, core = Workspace(events), events.core
        words = decide(events, plan, work)[core]
        columns = event_columns(chunk, events)
        columns["stratum"] = np.zeros(len(words), np.int16)
        if any(self.stratum_of):
            last = len(self.stratum_of) - 1  # a signal may have more interactions than the background
            stratum = np.array(self.stratum_of)[np.minimum(events.scalars[INTERACTIONS[1]][core], last)]
            columns["stratum"] = stratum.astype(np.int16)
        keep = (words & np.array(self.firing, np.uint64)).any(axis=1)
        keep |= self.everything or chunk.sample in self.signals
        kept = {name: values[keep] for name, values in columns.items()}
        for name, group in zip(self.names, _stored_groups(plan), strict=True):
            if not len(group.thresholds):
                kept[name] = bit_of_words(words, int(group.bits[0]))[keep]
                continue
            threshold = float(group.thresholds[0])
            score = np.asarray(group.slot.compiled.score_above(work, threshold), np.float64)[core][keep]
            if np.inf in score:
                raise SampleError(
                    f"sample {events.sample!r}, event {kept['id'][score.argmax()]}: the score of a trigger "
                    f"with the threshold {threshold:g} is infinite, which cannot be compared with a threshold"
                )
            kept[name] = np.where(score > threshold, score, -np.inf)
        left = ~keep
        keys = Keys(columns["half"][left], stratum=columns["stratum"][left])
        nothing = np.zeros((np.count_nonzero(left), 1), np.uint64)
        return ScoreTable(kept, count_patterns(chunk.sample, nothing, columns["weight"][left], keys))

    def merge(self, parts: Sequence[ScoreTable]) -> ScoreTable:
        return merge_score_tables(parts)
