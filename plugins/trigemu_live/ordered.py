"""What rules leave of consecutive crossings, such as test vectors: in their own order, with the correlations
that they have. Nothing is drawn but the accepts of `random` triggers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from trigemu.base.errors import SampleError, TrigemuError
from trigemu.base.mapping import engine_of
from trigemu.emulation.budgets import solve_budgets
from trigemu.emulation.engine import Job
from trigemu.emulation.per_event import per_event
from trigemu.emulation.plan import make_plan
from trigemu.menus.read import MenuLike, menu_of
from trigemu.results import numbers
from trigemu.results.table import Column, Page, Table, columns_of, records
from trigemu.results.view import Pictures, View, name
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.memory import SamplesLike, samples_of

from .beam import AFTER, BEFORE, Counts, State
from .filling import ORBIT, Filling, every_slot
from .live import check_triggers
from .patterns import menu_arrays
from .results import BECAUSE, CAUSE, Item, Recorded, by_kind, document_of, losses, notes_of_inputs
from .rules import Rules, veto_of

#: Vetoed accepts that a terminal lists.
_LISTED = 20


@dataclass(frozen=True)
class OrderedItem(Item):
    """The accepts of a trigger, a group or a level."""

    before: Annotated[int, Column("", "count", "accepts", "Its accepts without the rules.")]
    after: Annotated[int, Column("", "count", "recorded", "Its accepts with the rules.")]
    #: The accepts that are lost, by rule, and the part of them that accepts of each trigger blocked.
    lost: Annotated[Mapping[str, int], CAUSE]
    because: Annotated[Mapping[str, float], replace(BECAUSE, gives_way=1)]


_COLUMNS = columns_of(OrderedItem)


@dataclass(frozen=True)
class Vetoed:
    """An accept of the first level that a rule vetoes."""

    path: Annotated[str, Column("", "key", None, "The file.")]
    #: In the file's own numbering
    crossing: Annotated[int, Column("", "count", "crossing", "The number of the crossing.")]
    rule: Annotated[str, Column("", "key", "vetoed by", "The rule.")]
    triggers: Annotated[tuple[str, ...], Column("", "key", "triggers", "The triggers that accept it.")]


@dataclass(frozen=True, repr=False, kw_only=True)
class OrderedAccepts(Recorded[OrderedItem]):
    """What rules leave of consecutive crossings; result["L1_SingleMu22"] are the accepts of a trigger or
    group."""

    _view: ClassVar[str] = "trigemu_live.ordered:OrderedAcceptsView"

    crossings: int  #: The number of crossings
    vetoed: tuple[Vetoed, ...]  #: The accepts that rules veto, in order

    @property
    def summary(self) -> str:
        """The numbers of crossings and accepts."""
        crossings, accepts = numbers.count(self.crossings, "crossing"), self.levels[0].before
        return f"{crossings} in order: {accepts} accepts, of which the rules veto {len(self.vetoed)}."


def is_consecutive(catalogue: Catalogue) -> bool:
    """Return whether all events of the background are consecutive crossings."""
    return bool(catalogue.background) and all(sample.has_neighbours for sample in catalogue.background)


def accepts_in_order(
    menu: MenuLike,
    catalogue: SamplesLike,
    *,
    rules: Rules,
    filling: Filling | None = None,
    seed: int = 1,
    without: Sequence[str] = (),
    executor: Any = None,
) -> OrderedAccepts:
    """Run consecutive crossings through the prescale counters of a menu and through rules, as they come.

    Accepts are as correlated as they were. Each file begins without accepts before it; in a file of whole
    orbits the first crossing follows nothing either. Prescale counters begin at zero, and run on from file to
    file.

    catalogue: samples whose events are consecutive crossings; else SampleError is raised. filling: for rules
    about slots; crossing k of a file is in slot k mod 3564. seed: of `random` triggers. The rest is as in
    `live_rates`.
    """
    engine = engine_of(executor)
    samples = samples_of(catalogue, executor=engine)
    if not is_consecutive(samples):
        raise SampleError(f"{samples.path}: its events are not consecutive crossings, so they have no order")
    (solved,) = solve_budgets((menu_of(menu),), samples, executor=engine)
    check_triggers(solved, without)
    plan = make_plan([solved])
    columns = per_event(Job((solved,), plan, samples), ["words", "id"], executor=engine)
    words, crossing_numbers = columns["words"], columns["id"]
    filling, arrays = filling or every_slot(solved.crossing_rate_hz), menu_arrays(solved)
    fires, pattern = np.unique(arrays.fires(words, plan.bits[0]), axis=0, return_inverse=True)
    fires, pattern = np.ascontiguousarray(fires.T), pattern.ravel()
    random = np.random.default_rng(seed).random((len(words), len(arrays.random))) < [*arrays.random.values()]
    random[:, [trigger in without for trigger in arrays.random]] = False
    counts, phase = Counts(arrays, len(rules.rules)), np.zeros(len(arrays.steps), np.int64)
    start, names, vetoed = 0, np.array([trigger.name for trigger in solved.enabled]), []
    for source in (source for sample in samples.background for source in sample.sources):
        rows = slice(start, start + source.entries)
        state = State(arrays, fires, veto_of(rules, filling), without)
        state.phase = phase
        kept, accepted = state.decide(pattern[rows], dict(zip(arrays.random, random[rows].T, strict=True)))
        first = int(crossing_numbers[start]) % ORBIT if source.entries else 0
        causes = state.count(counts, 0, first + kept, accepted)
        for k in np.flatnonzero((causes >= 0) & (causes < len(rules.rules))).tolist():
            crossing, rule = int(crossing_numbers[start + kept[k]]), rules.labels[causes[k]]
            vetoed.append(Vetoed(source.path, crossing, rule, tuple(names[accepted[:, k]].tolist())))
        phase, start = state.phase, rows.stop
    items = []
    for number, row in enumerate(arrays.rows):
        before, after = counts.parts[0, [BEFORE, AFTER], number].tolist()
        causes_of_row = counts.causes(number, rules.labels, solved)
        items.append(OrderedItem(row.name, row.kind, before, after, **causes_of_row))
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


class OrderedAcceptsView(View[OrderedAccepts]):
    def line(self, result: OrderedAccepts) -> str:
        return f"of {name(result.menu.name)}: {result.summary}"

    def pictures(self, result: OrderedAccepts) -> Pictures:
        raise TrigemuError("crossings in their own order have no figures")

    def page(self, result: OrderedAccepts) -> Page:
        table = Table.of(_COLUMNS, (item for item in result.triggers if item.before > item.after))
        for item in result.levels:
            table.add_record(replace(item, name=item.name or f"menu {result.menu.name}"), "summary")
        listed = Table(columns_of(Vetoed))
        for veto in result.vetoed[:_LISTED]:
            more = " …" if len(veto.triggers) > 3 else ""
            listed.add(veto.path, veto.crossing, veto.rule, ", ".join(veto.triggers[:3]) + more)
        below = []
        if (left := len(result.vetoed) - _LISTED) > 0:
            below.append(f"And {left} more accepts that are vetoed: --json.")
        if whole := [item for item in result.triggers if item.before and item.before == item.after]:
            below.append(f"Not shown: {numbers.count(len(whole), 'trigger')} that lost nothing.")
        below += notes_of_inputs(result.menu, result.catalogue)
        below.append(f"{result.summary} Rules {result.rules.name}: {result.rules.text}.")
        return Page([table, listed] if result.vetoed else [table], below)

    def table(self, result: OrderedAccepts) -> Table:
        return Table.of(_COLUMNS, result.items)

    def document(self, result: OrderedAccepts) -> dict[str, Any]:
        return {
            **document_of(result, result.menu),
            "crossings": result.crossings,
            "rows": records(self.table(result)),
            "losses": losses(result.items),
            "vetoed": records(Table.of(columns_of(Vetoed), result.vetoed)),
        }
