"""The probabilities that triggers accept a pattern of decisions: prescales, coherent sets, seeds.

Trigger t with decision d_t and prescale p_t accepts an event with probability a_t = d_t / p_t; with a seed,
with the probability given in `seeds.py`. Everything follows from one quantity, for any set S of triggers and
one event:

    or(S) = 1 − Π over coherent sets C of (1 − max of a_t, t in S ∩ C)

This applies to triggers that neither have seeds nor are seeds. Triggers that are connected by seeds count as
one such set, with the probability that any of its triggers in S accepts: the sum of or(S) over the outcomes
of the counters of their seeds.
"""

from __future__ import annotations

import math
from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words
from trigemu.base.errors import PluginError, TrigemuError, own_cause
from trigemu.base.plugins import place_of_method, reason_of
from trigemu.counting.seeds import Node, Seeded
from trigemu.menus.menu import Menu, Trigger
from trigemu.menus.prescales import no_column
from trigemu.triggers.base import BitKind

#: A sum of probabilities that differs from 1 by less is 1: nothing must not become an event of weight 1e-17.
_CERTAIN = 1e-12


def counter_of(trigger: Trigger) -> Hashable:
    """Return a key that is equal for triggers that share their prescale counter."""
    return ("set", trigger.coherent) if trigger.coherent else ("alone", trigger.name)


class Rows(NamedTuple):
    """What accepts, in each pattern, in each of its parts, in each outcome of a part: a row for each trigger
    that may accept, ordered by these and by the counter of the trigger.

    The parts of a pattern accept independently: the triggers of a counter, or those that seeds connect. Only
    the latter have several outcomes. Given the outcome, counters are independent; of those that share one,
    the less prescaled accept whenever the others do.
    """

    pattern: IntArray  # int64[k]
    part: IntArray  # part, outcome: int64[k] ≥ 0, different for each part and outcome of each pattern
    outcome: IntArray
    trigger: IntArray  # int64[k]
    accept: FloatArray  # float64[k]: the probability that the trigger accepts in this outcome
    probability: FloatArray  # float64[k]: that of the outcome

    def take(self, rows: IntArray | BoolArray | slice) -> Rows:
        return Rows(*(column[rows] for column in self))  # type: ignore[arg-type]


class _Levels(NamedTuple):
    """Rows in four levels."""

    counters: IntArray  # the first row of each counter
    outcomes: IntArray  # the first counter of each outcome
    parts: IntArray  # the first outcome of each part
    patterns: IntArray  # the first part of each pattern
    best: FloatArray  # the probability that any trigger of a counter accepts
    either: FloatArray  # the same of an outcome
    hit: FloatArray  # the same of a part
    # The probability that none of a part accepts, which does not cancel where `hit` is near 1.
    missed: FloatArray

    @property
    def first(self) -> IntArray:
        """The first row of each pattern."""
        first: IntArray = self.counters[self.outcomes[self.parts[self.patterns]]]
        return first


@dataclass(frozen=True)
class Acceptance:
    """The probabilities that t triggers accept m patterns."""

    patterns: int
    counter: IntArray  # int64[t]: the number of the prescale counter of each trigger
    rows: Rows
    seeded: Seeded | None  # The triggers that are connected by seeds
    node: IntArray  # int64[t]: the node of each trigger, −1 if no seed connects it

    @cached_property
    def accepted(self) -> sparse.csr_array:
        """The probability of each trigger by itself, float64[m, t], sparse."""
        return self._sparse(self.rows, self.rows.accept * self.rows.probability)

    @cached_property
    def total(self) -> FloatArray:
        """The same as an array, float64[m, t]."""
        total: FloatArray = self.accepted.toarray()
        return total

    def either(self, members: BoolArray, without: int = -1) -> FloatArray:
        """Return or(S), float64[m], for the triggers S in `members`, bool[t]. without: a trigger that never
        accepts, which other triggers read."""
        either = np.zeros(self.patterns)
        rows = self._members(members)
        node = self.node[without] if without >= 0 else -1
        if node >= 0 and self.seeded:
            affected = self.seeded.fires(node)
            kept = rows.take(~affected[rows.pattern] | (self.node[rows.trigger] < 0))
            changed = _seeded_rows(
                self.seeded, np.flatnonzero(affected), self.patterns * len(self.counter), node
            )
            rows = _in_order(kept, self._members(members, changed))
        certain = self._certain(rows)
        either[rows.pattern[certain]] = 1.0
        pattern, probability = self._either(rows.take(either[rows.pattern] == 0.0))
        either[pattern] = probability
        return either

    def either_of_each(self, group: IntArray) -> sparse.csr_array:
        """Return or(G) of each group, float64[m, groups]. group: int64[t], that of each trigger, or −1."""
        either = np.zeros((self.patterns, int(group.max(initial=-1)) + 1))
        rows = self.rows.take(group[self.rows.trigger] >= 0)
        number = group[rows.trigger]
        certain = self._certain(rows)
        either[rows.pattern[certain], number[certain]] = 1.0
        left = either[rows.pattern, number] == 0.0
        rows, number, n = rows.take(left), number[left], either.shape[1]
        rows = rows._replace(
            pattern=rows.pattern * n + number, part=rows.part * n + number, outcome=rows.outcome * n + number
        )
        pattern, probability = self._either(rows.take(np.lexsort((rows.outcome, rows.pattern))))
        either.reshape(-1)[pattern] = probability
        return sparse.csr_array(either)

    def _either(self, rows: Rows) -> tuple[IntArray, FloatArray]:
        """Return the patterns that have rows, and or(S) of these."""
        if not len(rows.pattern):
            return rows.pattern, np.zeros(0)
        levels = self._levels(rows)
        return rows.pattern[levels.first], _any(levels.hit, levels.patterns)

    def _certain(self, rows: Rows) -> BoolArray:
        """Return whether the trigger of each row accepts its pattern whatever the counters say."""
        certain: BoolArray = rows.accept == 1.0
        return certain & (self.node[rows.trigger] < 0) if self.seeded else certain

    def unique(self, members: BoolArray, group: IntArray | None = None) -> sparse.csr_array:
        """Return or(S) − or(S without t), float64[m, t], for S in `members`, bool[t]; 0 for triggers outside
        of S. With `group`, int64[t], of each trigger, or −1: or(S) − or(S without G), float64[m, groups]. It
        is computed as a product to avoid cancellation."""
        n = len(self.counter) if group is None else int(group.max(initial=-1)) + 1
        rows = self._members(members)
        number = rows.trigger if group is None else group[rows.trigger]
        # Nothing is lost where two triggers, or groups, accept for certain.
        certain = np.flatnonzero(self._certain(rows))
        if len(certain):
            first = _starts(rows.pattern[certain])
            least, most = (part.reduceat(number[certain], first) for part in (np.minimum, np.maximum))
            settled = np.zeros(self.patterns, np.bool_)
            settled[rows.pattern[certain[first[least != most]]]] = True
            left = ~settled[rows.pattern]
            rows, number = rows.take(left), number[left]
        if not len(rows.pattern):
            return sparse.csr_array((self.patterns, n))
        levels = self._levels(rows)
        # Only the removal of the trigger or group that accepts most changes what its counter accepts.
        counter = _segments(levels.counters, len(number))
        is_best = rows.accept == levels.best[counter]
        owner = np.maximum.reduceat(np.where(is_best, number, -1), levels.counters)
        second = np.maximum.reduceat(np.where(number == owner[counter], 0.0, rows.accept), levels.counters)
        loss = levels.best - second
        counter = np.flatnonzero((loss > 0.0) & (owner >= 0))
        outcome = _segments(levels.outcomes, len(loss))[counter]
        item = outcome * n + owner[counter]
        outcome, owner, loss = _losses(1.0 - levels.best, levels.outcomes, counter, item, loss[counter], n)
        loss *= rows.probability[levels.counters[levels.outcomes]][outcome]
        part = _segments(levels.parts, len(levels.outcomes))[outcome]
        item, same = np.unique(part * n + owner, return_inverse=True)
        part, owner = np.divmod(item, n)
        loss = np.bincount(same.ravel(), loss, len(item)).astype(np.float64)
        pattern = _segments(levels.patterns, len(levels.parts))[part]
        pattern, owner, loss = _losses(levels.missed, levels.patterns, part, pattern * n + owner, loss, n)
        pattern = rows.pattern[levels.first][pattern]
        matrix = sparse.csr_array((loss, (pattern, owner)), (self.patterns, n))
        matrix.eliminate_zeros()
        return matrix

    def exactly(self, members: BoolArray, within: BoolArray) -> FloatArray:
        """Return the probability, float64[m], that all triggers in `members` accept and no other trigger in
        `within` accepts; both are bool[t]."""
        inside = members & within
        needed = np.bincount(self.counter[inside], minlength=self.counter.max(initial=0) + 1)
        fired = (self.accepted > 0) @ inside.astype(np.int64)
        probability = np.where(fired == inside.sum(), 1.0, 0.0)
        rows = self._members(within)
        rows = rows.take(probability[rows.pattern] > 0)
        if not len(rows.pattern):
            return probability
        levels = self._levels(rows)
        asked = inside[rows.trigger]
        least = np.minimum.reduceat(np.where(asked, rows.accept, 1.0), levels.counters)
        most = np.maximum.reduceat(np.where(asked, 0.0, rows.accept), levels.counters)
        n_asked = np.add.reduceat(asked.astype(np.int64), levels.counters)
        first = rows.take(levels.counters)
        least = np.where(n_asked < needed[self.counter[first.trigger]], 0.0, least)
        of_outcome = np.multiply.reduceat(np.maximum(least - most, 0.0), levels.outcomes)
        n_asked = np.add.reduceat(n_asked, levels.outcomes)
        first = first.take(levels.outcomes)
        part = np.cumsum(np.diff(rows.part, prepend=-1) != 0) - 1
        keys = np.unique(np.column_stack([part[asked], rows.trigger[asked]]), axis=0)
        in_part = np.bincount(keys[:, 0], minlength=len(levels.parts))
        lengths = _lengths(levels.parts, len(of_outcome))
        of_outcome[n_asked < np.repeat(in_part, lengths)] = 0.0  # a member that does not accept has no row
        of_part = np.add.reduceat(first.probability * of_outcome, levels.parts)
        of_part[(in_part == 0) & (levels.hit == 0.0)] = 1.0
        pattern = first.pattern[levels.parts][levels.patterns]
        probability[pattern] *= np.multiply.reduceat(of_part, levels.patterns)
        return probability

    def joint(self, first: IntArray, second: IntArray) -> sparse.csr_array:
        """Return the probability that both triggers of each pair accept, float64[m, pairs], sparse. first,
        second: int64[pairs], different pairs."""
        rows, accepted = self.rows, self.accepted
        independent = np.flatnonzero(~self.dependent(first, second))
        product = (accepted[:, first[independent]] * accepted[:, second[independent]]).tocoo()
        parts = [(product.row, independent[product.col], product.data)]
        number = np.full((len(self.counter),) * 2, -1, np.int32)
        number[first, second] = np.arange(len(first))
        a, b = _pairs_within(self._levels(rows).counters, len(rows.pattern))
        least = np.minimum(rows.accept[a], rows.accept[b]) * rows.probability[a]
        listed = [(rows.pattern[a], rows.trigger[a], rows.trigger[b], least)]
        for pattern, a, b, values in (*listed, *self._connected_pairs()):
            pair = number[a, b]
            parts.append((pattern[pair >= 0], pair[pair >= 0], values[pair >= 0]))
        pattern, pair, values = (np.concatenate(column) for column in zip(*parts, strict=True))
        return sparse.csr_array((values, (pattern, pair)), (self.patterns, len(first)))

    def _connected_pairs(self) -> Iterator[tuple[IntArray, IntArray, IntArray, FloatArray]]:
        """Yield pattern, both triggers and the probability that both accept, of pairs that seeds connect and
        that share no counter: in the same part of a pattern, then in different ones."""
        rows = self.rows.take(self.node[self.rows.trigger] >= 0)
        if not len(rows.pattern):
            return
        key = rows.part * len(self.counter) + rows.trigger
        _, first, column = np.unique(key, return_index=True, return_inverse=True)
        pattern, trigger, part = rows.pattern[first], rows.trigger[first], rows.part[first]
        place = np.cumsum(np.diff(rows.outcome, prepend=-1) != 0) - 1, column
        accepts = sparse.csr_array((rows.accept, place))
        both = (accepts.T @ sparse.csr_array((rows.accept * rows.probability, place))).tocoo()
        other = self.counter[trigger[both.row]] != self.counter[trigger[both.col]]
        a, b = both.row[other], both.col[other]
        yield pattern[a], trigger[a], trigger[b], both.data[other]
        order = np.argsort(pattern, kind="stable")
        a, b = (order[number] for number in _pairs_within(_starts(pattern[order]), len(order)))
        other = part[a] != part[b]
        a, b = a[other], b[other]
        total = np.bincount(column, rows.accept * rows.probability)
        yield pattern[a], trigger[a], trigger[b], total[a] * total[b]

    def dependent(self, first: IntArray, second: IntArray) -> BoolArray:
        """Return whether the triggers of each pair share a counter or are connected by seeds, bool[pairs]:
        the probability that both accept is then not a product."""
        same: BoolArray = self.counter[first] == self.counter[second]
        return same | ((self.node[first] >= 0) & (self.node[second] >= 0))

    def outcomes(self, pattern: int, within: BoolArray) -> list[list[tuple[float, list[Rows]]]]:
        """Return the parts of a pattern with triggers in `within`, bool[t]: their outcomes, each with its
        probability and the rows of each counter."""
        rows = self.rows.take(slice(*np.searchsorted(self.rows.pattern, [pattern, pattern + 1])))
        rows = self._members(within, rows)
        parts: dict[int, dict[int, dict[int, list[int]]]] = {}
        keys = zip(
            rows.part.tolist(), rows.outcome.tolist(), self.counter[rows.trigger].tolist(), strict=True
        )
        for row, (part, outcome, counter) in enumerate(keys):
            parts.setdefault(part, {}).setdefault(outcome, {}).setdefault(counter, []).append(row)
        listed = []
        for outcomes in parts.values():
            part_outcomes = []
            for counters in outcomes.values():
                of_counters = [rows.take(np.array(numbers)) for numbers in counters.values()]
                part_outcomes.append((float(of_counters[0].probability[0]), of_counters))
            listed.append(part_outcomes)
        return listed

    def _members(self, members: BoolArray, rows: Rows | None = None) -> Rows:
        """Return the rows of some triggers; the outcomes of parts with seeds remain."""
        rows = rows or self.rows
        inside = members[rows.trigger]
        if inside.all():
            return rows
        rows = rows._replace(accept=np.where(inside, rows.accept, 0.0))
        return rows.take(inside | (self.node[rows.trigger] >= 0))

    def _levels(self, rows: Rows) -> _Levels:
        counters = _starts(rows.pattern, rows.outcome, self.counter[rows.trigger])
        best = np.maximum.reduceat(rows.accept, counters)
        first = rows.take(counters)
        outcomes = _starts(first.pattern, first.outcome)
        either = _any(best, outcomes)
        first = first.take(outcomes)
        parts = _starts(first.pattern, first.part)
        hit = np.add.reduceat(first.probability * either, parts)
        hit[hit > 1.0 - _CERTAIN] = 1.0
        missed = np.add.reduceat(first.probability * np.multiply.reduceat(1.0 - best, outcomes), parts)
        missed[hit == 0.0] = 1.0
        return _Levels(counters, outcomes, parts, _starts(first.pattern[parts]), best, either, hit, missed)

    def _sparse(self, rows: Rows, values: FloatArray) -> sparse.csr_array:
        matrix = sparse.csr_array((values, (rows.pattern, rows.trigger)), (self.patterns, len(self.counter)))
        matrix.eliminate_zeros()
        return matrix


def _starts(*keys: IntArray) -> IntArray:
    """Return the first row of each run of equal keys, int64[n] each."""
    new = np.ones(len(keys[0]), np.bool_)
    new[1:] = np.any([np.diff(key) != 0 for key in keys], axis=0)
    return np.flatnonzero(new)


def _lengths(starts: IntArray, n: int) -> IntArray:
    return np.diff(starts, append=n)


def _segments(starts: IntArray, n: int) -> IntArray:
    """Return the number of the segment of each of n elements."""
    return np.repeat(np.arange(len(starts)), _lengths(starts, n))


def _any(probability: FloatArray, starts: IntArray) -> FloatArray:
    """Return 1 − Π (1 − probability) of each segment; a single one gives itself, to the last bit."""
    with np.errstate(divide="ignore"):
        missed = np.add.reduceat(np.log1p(-probability), starts)
    either: FloatArray = np.where(
        _lengths(starts, len(probability)) == 1, probability[starts], -np.expm1(missed)
    )
    return either


def _losses(
    missed: FloatArray, starts: IntArray, element: IntArray, item: IntArray, loss: FloatArray, n: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return how much Π missed of a segment of elements grows without each owner.

    missed: float64 of all elements, in segments that begin at `starts`. loss: float64[k], by how much that of
    an `element`, int64[k], grows without an owner; item: int64[k], segment · n + owner. Returns the segment,
    the owner and the loss of each different item.
    """
    never = (missed == 0.0).astype(np.int64)
    logarithm = np.log(np.where(never, 1.0, missed))
    order = np.argsort(item, kind="stable")
    item, element, loss = item[order], element[order], loss[order]
    first = _starts(item)
    item, lengths = item[first], _lengths(first, len(item))
    segment, owner = np.divmod(item, n)
    if not len(first):
        return segment, owner, loss
    own_logarithm, own_never = (np.add.reduceat(part[element], first) for part in (logarithm, never))
    others = np.exp(np.add.reduceat(logarithm, starts)[segment] - own_logarithm)
    others[_lengths(starts, len(missed))[segment] == lengths] = 1.0
    others[np.add.reduceat(never, starts)[segment] > own_never] = 0.0
    if len(first) < len(element):
        part = missed[element]
        with np.errstate(divide="ignore", invalid="ignore"):
            growth = np.exp(own_logarithm) * np.expm1(np.add.reduceat(np.log1p(loss / part), first))
        together = np.where(own_never > 0, np.multiply.reduceat(part + loss, first), growth)
        loss = np.where(lengths == 1, loss[first], together)
    return segment, owner, others * loss


def _pairs_within(starts: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """Return all pairs of rows in the same segment, in both orders."""
    lengths = _lengths(starts, n)
    first = np.repeat(np.arange(n), np.repeat(lengths, lengths))
    begin = np.repeat(starts, lengths**2)
    offset = np.arange(len(first)) - np.repeat(np.cumsum(lengths**2) - lengths**2, lengths**2)
    return first, begin + offset % np.repeat(lengths, lengths**2)


def acceptances(words: Words, menu: Menu, bits: Mapping[str, int]) -> Acceptance:
    """Return the probabilities that the enabled triggers of a menu accept patterns.

    Parameters
    ----------
    words : uint64[m, w]
        The patterns.
    menu : Menu
        The menu, with t enabled triggers.
    bits : mapping of str to int
        The bit of the patterns with the decision of each trigger (`Plan`).

    Returns
    -------
    Acceptance
        The probabilities for m patterns and t triggers.

    Raises
    ------
    TrigemuError
        If too many prescaled seeds fire together, or if no column of prescales is chosen (`solve_budgets`).
    """
    return acceptances_of(words, [menu], [bits])


def acceptances_of(words: Words, menus: Sequence[Menu], bits: Sequence[Mapping[str, int]]) -> Acceptance:
    """Return the same for the triggers of several menus, one menu after the other. Triggers of the same
    coherent set share a counter, as do triggers with the same name outside of coherent sets."""
    for menu in menus:
        if menu.columns.names and not menu.columns.chosen:
            raise TrigemuError(no_column(menu))
    triggers = [trigger for menu in menus for trigger in menu.enabled]
    number_of = {key: n for n, key in enumerate(dict.fromkeys(map(counter_of, triggers)))}
    counter = np.array([number_of[counter_of(trigger)] for trigger in triggers], np.int64)
    connected = {key for menu in menus for key in _connected_counters(menu)}
    free = np.array([counter_of(trigger) not in connected for trigger in triggers], np.bool_)
    order = np.flatnonzero(free)[np.argsort(counter[free], kind="stable")]
    fired, shift = np.zeros((len(words), len(triggers)), np.bool_), 0
    nodes: list[Node] = []
    for which, (menu, bits_of_menu) in enumerate(zip(menus, bits, strict=True)):
        own_decided, raw = _decisions(words, menu, bits_of_menu)
        for column, one in enumerate(menu.enabled, shift):
            fired[:, column] = own_decided[one.name]
        if connected:
            nodes += _nodes(which, shift, menu, own_decided, raw, connected)
        shift += len(menu.enabled)
    pattern, place = np.nonzero(fired[:, order])
    trigger, part = order[place], pattern * len(number_of) + counter[order[place]]
    prescale = np.array([trigger.prescale for trigger in triggers])
    accept = 1.0 / prescale[trigger]
    some = accept > 0.0
    rows = Rows(pattern, part, part, trigger, accept, np.ones(len(accept)))
    rows = rows if some.all() else rows.take(some)
    node_of = np.full(len(triggers), -1, np.int64)
    if not nodes:
        return Acceptance(len(words), counter, rows, None, node_of)
    seeded = Seeded(nodes)
    placed = np.flatnonzero(seeded.column >= 0)
    node_of[seeded.column[placed]] = placed
    rows = _in_order(rows, _seeded_rows(seeded, np.arange(len(words)), len(words) * len(number_of)))
    return Acceptance(len(words), counter, rows, seeded, node_of)


def _seeded_rows(seeded: Seeded, patterns: IntArray, first_part: int, removed: int = -1) -> Rows:
    """Return the rows of triggers that seeds connect, in some patterns; parts are numbered from `first_part`.
    removed: a node that never accepts."""
    outcomes = seeded.rows(patterns, removed)
    combination = seeded.combination[patterns]
    first = np.searchsorted(outcomes.combination, combination)
    lengths = np.searchsorted(outcomes.combination, combination, "right") - first
    row = np.repeat(first - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    step = int(outcomes.outcome.max(initial=0)) + 1
    number = first_part + np.repeat(np.arange(len(patterns)), lengths) * step
    return Rows(
        np.repeat(patterns, lengths),
        number + outcomes.component[row],
        number + outcomes.outcome[row],
        seeded.column[outcomes.node[row]],
        outcomes.accept[row],
        outcomes.probability[row],
    )


def _in_order(*parts: Rows) -> Rows:
    """Join rows and order them by pattern."""
    rows = Rows(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    return rows.take(np.argsort(rows.pattern, kind="stable"))


def _connected_counters(menu: Menu) -> set[Hashable]:
    """Return the counters of triggers that have seeds or are seeds."""
    seeded = [trigger for trigger in menu.enabled if trigger.seed]
    read = [menu.trigger(name) for trigger in seeded if trigger.seed for name in trigger.seed.names()]
    return {counter_of(trigger) for trigger in (*seeded, *read)}


def _nodes(
    which: int,
    shift: int,
    menu: Menu,
    own_decided: Mapping[str, BoolArray],
    raw: Mapping[str, BoolArray],
    counters: Container[Hashable],
) -> Iterator[Node]:
    """Yield the nodes of the triggers with some `counters`, which include all triggers connected by seeds. A
    disabled trigger counts with its raw decision; one that a column of prescales switches off never
    accepts. which, shift: the number of the menu, and of the column of its first trigger."""
    enabled = {trigger.name: column for column, trigger in enumerate(menu.enabled, shift)}
    read = {name for t in menu.enabled if t.seed for name in t.seed.names()}
    for name in menu.order:
        trigger = menu.trigger(name)
        if name in enabled and counter_of(trigger) in counters:
            seed = trigger.seed
            reads = {other: (which, other) for other in seed.names()} if seed else {}
            column, counter, fired = enabled[name], counter_of(trigger), own_decided[name]
            yield Node((which, name), name, column, counter, trigger.prescale, seed, reads, fired)
        elif name not in enabled and name in read:
            fired = raw[name] & (trigger.prescale < math.inf)
            yield Node((which, name), name, -1, ("disabled", name), 1.0, None, {}, fired)


def own_decisions(words: Words, menu: Menu, bits: Mapping[str, int]) -> dict[str, BoolArray]:
    """Return the decisions of the triggers of a menu before prescales and without their seeds. words:
    uint64[m, w]; returns dict of str to bool[m]."""
    return _decisions(words, menu, bits)[0]


def raw_decisions(words: Words, menu: Menu, bits: Mapping[str, int]) -> dict[str, BoolArray]:
    """Return the decisions of the triggers of a menu before prescales. words: uint64[m, w]; returns dict of
    str to bool[m]."""
    return _decisions(words, menu, bits)[1]


def _decisions(
    words: Words, menu: Menu, bits: Mapping[str, int]
) -> tuple[dict[str, BoolArray], dict[str, BoolArray]]:
    """Return the decisions bool[m] of each trigger before prescales: without its seed, and with it (raw)."""
    own_decided: dict[str, BoolArray] = {}
    raw: dict[str, BoolArray] = {}
    used = {trigger.name for trigger in menu.used}
    for name in menu.order:
        if name not in used:
            continue
        trigger = menu.trigger(name)
        if name in bits:
            word, bit = divmod(bits[name], 64)
            own_decided[name] = (words[:, word] >> np.uint64(bit)) & np.uint64(1) != 0
        else:
            own_decided[name] = _of_bits(trigger, raw, len(words))
        raw[name] = own_decided[name] & trigger.seed.evaluate(raw) if trigger.seed else own_decided[name]
    return own_decided, raw


def _of_bits(trigger: Trigger, raw: Mapping[str, BoolArray], n: int) -> BoolArray:
    assert isinstance(trigger.description, BitKind)
    where = f"{trigger.place}: trigger {trigger.name!r} (kind {trigger.kind!r})"
    try:
        fired: object = trigger.description.decide(raw, n)  # a plugin may return any type
    except Exception as error:
        if cause := own_cause(error):
            raise cause from error
        raise PluginError(f"{where} failed: {reason_of(error)}") from error
    if not isinstance(fired, np.ndarray) or fired.dtype != np.bool_ or fired.shape != (n,):
        location = place_of_method(trigger.description, "decide")
        raise PluginError(f"{where} gave {type(fired).__name__}, expected an array bool[{n}]{location}")
    return fired
