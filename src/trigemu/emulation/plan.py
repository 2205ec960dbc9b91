"""Events × triggers → packed bits.

A plan is the union of the triggers of some menus. Triggers that compile to equal objects are evaluated once
and share one bit, whichever menus they belong to. `logic`, `random`, seeds and prescales act on bits later.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from itertools import chain, product
from typing import Any

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words
from trigemu.base.errors import (
    PluginError,
    SampleError,
    TrigemuError,
    excerpt,
    few_of,
    listed,
    nearest,
    own_cause,
    wrong_type,
)
from trigemu.base.plugins import place_of, place_of_method, reason_of
from trigemu.menus.checks import lost_prescales, signed_differences
from trigemu.menus.menu import LeftOut, Menu, Trigger
from trigemu.menus.read import MenuLike, MenusLike, menu_of, menus_of
from trigemu.observables.expressions import Number
from trigemu.observables.workspace import Workspace
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events, Need, decision_in
from trigemu.samples.memory import SamplesLike, samples_of
from trigemu.samples.sample import Sample
from trigemu.triggers.base import Compiled, Context, Kind, TrainedOn


class LackingError(SampleError):
    """Samples lack columns, or neighbouring crossings, that triggers need."""


#: What a trigger with a `margin` needs besides columns.
NEIGHBOURS: Need = "", "neighbouring crossings"
#: Further triggers that a message names if a sample lacks a column.
_NAMED = 8


@dataclass(frozen=True)
class PlannedTrigger:
    """A compiled trigger, and the first trigger that compiles to it, which messages name."""

    compiled: Compiled
    trigger: Trigger


@dataclass(frozen=True)
class ThresholdLadder:
    """Slots that differ only in their thresholds and are evaluated together."""

    slot: PlannedTrigger  # The compiled trigger with the lowest threshold, and the first trigger
    bits: IntArray  # int64[c], the bits of the slots
    thresholds: FloatArray  # float64[c], ascending; empty if `evaluate` gives decisions


@dataclass(frozen=True)
class Plan:
    """The compiled triggers of some menus, each distinct one once."""

    slots: tuple[PlannedTrigger, ...]  #: The distinct compiled triggers; slot b gives bit b
    bits: tuple[Mapping[str, int], ...]  #: For each menu, the bit of each used trigger (`Menu.used`), by name
    needs: Mapping[Need, tuple[Trigger, ...]]  #: The columns to read, each with the triggers that need it
    models: tuple[Mapping[str, str], ...] = ()  #: For each menu, the files of its models and their SHA-256
    #: For each menu, the training events of the models of a trigger, by its name
    trained_on: tuple[Mapping[str, tuple[TrainedOn, ...]], ...] = ()
    #: For each menu, the warnings of its compiled triggers, and about parts that are often misunderstood
    warnings: tuple[tuple[str, ...], ...] = ()
    #: The objects of the menus, each with its collection of the sample
    objects: frozenset[tuple[str, str]] = frozenset()
    neighbours: tuple[Trigger, ...] = ()  #: The triggers that read neighbouring crossings

    @property
    def words(self) -> int:
        """The number of uint64 words per pattern."""
        return max(1, -(-len(self.slots) // 64))

    @cached_property
    def margin(self) -> int:
        """The number of crossings before and after an event that its slots read."""
        return max((slot.compiled.margin for slot in self.slots), default=0)

    @cached_property
    def groups(self) -> tuple[ThresholdLadder, ...]:
        """The slots in groups that differ only in their thresholds; each group is evaluated once."""
        groups: dict[Hashable, list[int]] = {}
        for bit, slot in enumerate(self.slots):
            compiled: Any = slot.compiled
            has_score = compiled.threshold is not None and is_dataclass(compiled)
            settable = has_score and any(f.name == "threshold" and f.init for f in fields(compiled))
            alone = not settable or not isinstance(compiled, Hashable)
            groups.setdefault(object() if alone else replace(compiled, threshold=0.0), []).append(bit)
        ladders = []
        for bits in groups.values():
            rising = sorted(bits, key=lambda bit: self.slots[bit].compiled.threshold or 0.0)
            thresholds = [self.slots[bit].compiled.threshold for bit in rising]
            known = np.array([value for value in thresholds if value is not None], np.float64)
            lowest = replace(self.slots[rising[0]], trigger=self.slots[bits[0]].trigger)
            ladders.append(ThresholdLadder(lowest, np.array(rising, np.int64), known))
        return tuple(ladders)

    def check(self, *samples: Sample) -> None:
        """Raise SampleError that lists the columns, and neighbouring crossings, that `samples` lack, and the
        triggers that need them."""
        if problems := [*self.problems(samples)]:
            raise LackingError(listed(problems))

    def problems(self, samples: Iterable[Sample]) -> Iterator[str]:
        """Yield a message for each column that `samples` lack, and for missing neighbouring crossings. It has
        the name of the first sample, and the number of others."""
        lacking: dict[tuple[str, ...], list[Sample]] = {}
        for sample in samples:
            for _, (first, *others), problem in self.lacking(sample):
                named = few_of([f"{trigger.name!r} ({trigger.place})" for trigger in others], _NAMED)
                too = f"; {named} need{'s' * (len(others) == 1)} it too" if others else ""
                text = f"{first.place}: trigger {first.name!r}: {problem}{too}"
                lacking.setdefault(tuple(text.split(_named(sample), 1)), []).append(sample)
        for (before, after), (sample, *further) in lacking.items():
            more = f" (and {len(further)} other{'s' * (len(further) > 1)})" if further else ""
            yield f"{before}{_named(sample)}{more}{after}"

    def lacking(self, sample: Sample) -> Iterator[tuple[str, Sequence[Trigger], str]]:
        """Yield what a `sample` lacks: its name, the triggers that need it, and a message."""
        needed: dict[Need, dict[tuple[str, str], Trigger]] = {}
        for (collection, column), triggers in {NEIGHBOURS: self.neighbours, **self.needs}.items():
            known = not collection or collection in sample.schema.collections
            same = collection, column if known else ""  # a missing collection is reported once
            needed.setdefault(same, {}).update({(t.place, t.name): t for t in triggers})
        for need, needing in needed.items():
            if needing and (problem := lacks(sample, need, self.objects)):
                decision = decision_in(need)
                name = f"stored decision {decision}" if decision is not None else ".".join(filter(None, need))
                yield name, [*needing.values()], problem

    def check_background(self, catalogue: Catalogue) -> None:
        """Raise SampleError if the `catalogue` has no background, or if it lacks columns that the triggers
        need."""
        if not catalogue.background:
            raise SampleError(f"{catalogue.path}: no sample has the role 'background', so there are no rates")
        self.check(*catalogue.background)


def lacks(sample: Sample, need: Need, objects: Iterable[tuple[str, str]] = ()) -> str | None:
    """Return a message if a sample lacks a column, with the closest existing name, or `NEIGHBOURS`."""
    if need == NEIGHBOURS:
        of_events = f"the events of {_named(sample)} (format {sample.table.format!r})"
        reads = f"it reads neighbouring crossings, but {of_events} are not consecutive crossings"
        return None if sample.has_neighbours else reads
    if (decision := decision_in(need)) is not None:
        if decision in sample.stored:
            return None
        hint = nearest(decision, sample.stored) if sample.stored else "; it stores none"
        return f"{_named(sample)} has no stored decision {decision!r}{hint}"
    (collection, column), schema = need, sample.schema
    columns = schema.collections.get(collection, frozenset()) if collection else schema.scalars
    known = {*schema.collections, *(name for name, base in objects if base in schema.collections)}
    names = columns if collection else {*schema.numbers, "ht", "mht", *(f"n_{name}" for name in known)}
    if collection and collection not in schema.collections:
        what = f"collection {collection!r}{nearest(collection, known)}"
    elif not collection and column.startswith("n_") and column[2:] in schema.collections:
        return None
    elif not collection and column in schema.collections and column not in columns:
        what = f"observable {column!r}, but a collection: write {column}[0].pt or n_{column}"
    elif column not in columns and not (collection and column == "pt"):  # vertices have no pT
        name = f"{collection}.{column}" if collection else column
        what = f"{'column' if collection else 'observable'} {name!r}{nearest(column, names)}"
    else:
        return None
    why = "; pairs of objects under [integer] are computed from it" if column.startswith("hw_") else ""
    return f"{_named(sample)} has no {what}{why}"


def check_needs(samples: Iterable[Sample], needs: Iterable[Need], reason: str) -> None:
    """Raise SampleError that lists the columns that samples lack, with the `reason` that they are needed."""
    problems = [lacks(sample, need) for sample, need in product(samples, sorted(needs))]
    if lacking := dict.fromkeys(filter(None, problems)):
        raise SampleError("\n".join(f"{problem}, which {reason}" for problem in lacking))


def numbers_of(menus: Iterable[Menu], samples: Iterable[Sample]) -> tuple[Number, ...]:
    """Return the observables that further tables of menus need of each event; raise SampleError if a sample
    lacks one."""
    numbers = {n: what for menu in menus for table in menu.tables for n, what in table.numbers(menu).items()}
    for number, what in numbers.items():
        check_needs(samples, number.needs(), f"{what} needs")
    return tuple(numbers)


def lacking_objects(objects: Iterable[str]) -> str:
    """Return the end of a message that no event passes and has all `objects` that a score needs."""
    return (
        f"has {excerpt(', '.join(objects))}, without which its model has no score: if missing objects were "
        f"replaced in training, add padding to its card"
    )


def _named(sample: Sample) -> str:
    return f"sample {sample.name!r}"


def make_plan(menus: MenusLike, contents: Mapping[str, bytes] | None = None) -> Plan:
    """Compile the used triggers of some menus, each distinct one once.

    Parameters
    ----------
    menus : path, Menu, or list of these
        The menus.
    contents : mapping of str to bytes, optional
        The content of cards and models by path, for workers without these files.

    Returns
    -------
    Plan

    Examples
    --------
    >>> import trigemu
    >>> trigemu.make_plan("menus/primary.toml").bits
    ({'J100': 0, 'G30': 1},)
    """
    slots: list[PlannedTrigger] = []
    bit_of: dict[Hashable, int] = {}
    needs: dict[Need, list[Trigger]] = {}
    bits, models, trained_on, warnings, neighbours = [], [], [], [], list[Trigger]()
    objects: set[tuple[str, str]] = set()
    for menu in menus_of(menus):
        objects.update((name, selection.base) for name, selection in menu.scope.objects)
        contexts: dict[str, Context] = {}
        bits.append(dict[str, int]())
        texts: list[str] = []
        for trigger in menu.used:
            if not isinstance(trigger.description, Kind):
                continue
            context = contexts[trigger.name] = Context(menu.scope, menu.path.parent, contents or {})
            compiled = trigger.description.compile(context)
            # Plugins may compile to objects without a hash.
            same = compiled if isinstance(compiled, Hashable) else id(compiled)  # type: ignore[redundant-expr]
            bits[-1][trigger.name] = bit = bit_of.setdefault(same, len(slots))
            if bit == len(slots):
                slots.append(PlannedTrigger(compiled, trigger))
            for need in sorted(context.needs):
                needs.setdefault(need, []).append(trigger)
            if compiled.margin:
                neighbours.append(trigger)
            texts += compiled.warnings
        texts += signed_differences({name: context.requirements for name, context in contexts.items()})
        warnings.append(tuple(dict.fromkeys([*texts, *lost_prescales(menu)])))
        models.append({path: sha256 for c in contexts.values() for path, sha256 in c.models.items()})
        trained_on.append({name: tuple(c.trained) for name, c in contexts.items() if c.trained})
    of_menus = tuple(models), tuple(trained_on), tuple(warnings)
    by_need = {need: tuple(triggers) for need, triggers in needs.items()}
    return Plan(tuple(slots), tuple(bits), by_need, *of_menus, frozenset(objects), tuple(neighbours))


def fed_menu(menu: MenuLike, samples: SamplesLike = None) -> Menu:
    """Return a menu without the triggers that need a column that a background sample lacks.

    Triggers that read the decision of such a trigger, in `logic` or as a seed, are left out too. Rates of the
    result, and its total, are those of the remaining triggers.

    Parameters
    ----------
    menu : path or Menu
        The menu.
    samples : Catalogue, path, Events, ak.Array or None
        The samples, as in `emulate`; None: the embedded ones.

    Returns
    -------
    Menu
        The remaining menu; its `left_out` lists the others with what is missing. The menu itself if the
        samples have everything.

    Raises
    ------
    SampleError
        If no enabled trigger remains.

    Examples
    --------
    >>> import awkward as ak
    >>> import trigemu
    >>> particles = [{"pt": 120.0, "eta": 0.0, "phi": 0.0}]
    >>> events = ak.Array({"jet": [particles], "photon": [particles]})
    >>> menu = trigemu.fed_menu("menus/two-level.toml", events)
    >>> menu.left_out[:2]
    (LeftOut(name='L1_MET90', missing='met'), LeftOut(name='L1_E20', missing='electron'))
    """
    menu, catalogue = menu_of(menu), samples_of(samples)
    plan = make_plan(menu)
    missing: dict[str, str] = {}
    for lacked, triggers, _ in chain.from_iterable(map(plan.lacking, catalogue.background)):
        for trigger in triggers:
            missing.setdefault(trigger.name, lacked)
    for name in menu.order:  # each follows those that it reads
        if read := next((other for other in menu.trigger(name).inputs() if other in missing), None):
            missing.setdefault(name, f"reads {read}")
    if not missing:
        return menu
    left_out = (LeftOut(t.name, missing[t.name]) for t in menu.triggers if t.name in missing)
    fed = replace(
        menu,
        triggers=tuple(trigger for trigger in menu.triggers if trigger.name not in missing),
        order=tuple(name for name in menu.order if name not in missing),
        left_out=(*menu.left_out, *left_out),
    )
    if not fed.enabled:
        raise SampleError(f"{menu.path}: the samples can feed none of its triggers: {fed.left_out_text}")
    return fed


def decide(events: Events, plan: Plan, work: Workspace | None = None) -> Words:
    """Decide all triggers of a plan on some events.

    Parameters
    ----------
    events : Events
        The events, with the columns that the plan needs.
    plan : Plan
        The compiled triggers.
    work : Workspace, optional
        A workspace of the events, for reuse by the caller.

    Returns
    -------
    uint64[n, plan.words]
        Bit b % 64 of word b // 64 is the raw decision of slot b.

    Raises
    ------
    PluginError
        If the code of a trigger fails, or returns NaN or an array of the wrong type or shape.
    SampleError
        If the events lack a column.
    """
    if not isinstance(plan, Plan):
        raise wrong_type("the plan", plan, "a Plan (make_plan)", "decisions needs a menu")
    if not isinstance(events, Events):
        raise wrong_type("the events", events, "Events", "events_from_awkward converts an awkward array")
    work = work or Workspace(events)
    # Byte b // 8 of each event has bit b. NumPy multiplies bytes twenty times faster than it shifts them, and
    # transposes eight rows, of odd length so that they share no cache lines, twice as fast as all at once.
    packed = np.zeros((plan.words, 8, len(events) | 1), np.uint8)[:, :, : len(events)]
    for group in plan.groups:
        result = _evaluate(group, work)
        scored = len(group.thresholds) > 0
        fired = (result > threshold for threshold in group.thresholds) if scored else (result,)
        for bit, decision in zip(group.bits.tolist(), fired, strict=True):
            packed[bit // 64, bit % 64 // 8] |= decision.view(np.uint8) * np.uint8(1 << bit % 8)
    words = (np.ascontiguousarray(word.T).view("<u8")[:, 0] for word in packed)
    return np.stack([*words], axis=1).astype(np.uint64, copy=False)


def bit_of_words(words: Words, bit: int) -> BoolArray:
    """Return one decision of patterns."""
    return np.asarray((words[:, bit // 64] >> np.uint64(bit % 64)) & np.uint64(1) != 0)


def _evaluate(group: ThresholdLadder, work: Workspace) -> Any:
    """Return decisions bool[n], or scores float64[n], which are exact only above the lowest threshold.
    PluginError if the code of the trigger fails or breaks its contract."""
    trigger, compiled, events = group.slot.trigger, group.slot.compiled, work.events
    scored = compiled.threshold is not None
    named = f"{trigger.place}: trigger {trigger.name!r}"
    where = f"{named} (kind {trigger.kind!r})"
    result: Any
    try:
        result = compiled.score_above(work, group.thresholds[0]) if scored else compiled.evaluate(work)
    except SampleError as error:  # it names the sample and the column
        error.args = (f"{error}{place_of(error)}",)
        raise
    except TrigemuError as error:
        raise PluginError(f"{where}: {error}") from error
    except Exception as error:
        if cause := own_cause(error):
            raise cause from error
        first = f"on sample {events.sample!r}, from event {events.id[0]}"
        raise PluginError(f"{where} failed {first}: {reason_of(error)}") from error
    kind, n = np.dtype(np.float64 if scored else np.bool_), len(events)
    if not isinstance(result, np.ndarray) or result.dtype != kind or result.shape != (n,):
        got = f"a {type(result).__name__}"
        if isinstance(result, np.ndarray):
            got = f"{result.dtype}[{', '.join(map(str, result.shape))}]"
        code = place_of_method(compiled, "evaluate")  # if it belongs to a plugin
        raise PluginError(f"{where} gave {got}, expected {kind}[{n}]{code}")
    if scored and np.isnan(result).any():
        raise PluginError(
            f"{named}: its score is not a number (NaN) in sample {events.sample!r}, event "
            f"{events.id[np.isnan(result).argmax()]}; a score without a value is -inf"
            f"{place_of_method(compiled, 'evaluate')}"
        )
    return result
