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
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words
from trigemu.base.errors import PluginError, TrigemuError, own_cause
from trigemu.base.kernels import inlined, inner, kernel
from trigemu.base.plugins import place_of_method, reason_of
from trigemu.counting.seeds import Node, Seeded
from trigemu.menus.menu import Menu, Trigger
from trigemu.menus.prescales import no_column
from trigemu.triggers.base import BitKind

Numbers = npt.NDArray[np.int32]
#: A sum of probabilities that differs from 1 by less is 1: nothing must not become an event of weight 1e-17.
_CERTAIN = 1e-12


def counter_of(trigger: Trigger) -> Hashable:
    """Return a key that is equal for triggers that share their prescale counter."""
    return ("set", trigger.coherent) if trigger.coherent else ("alone", trigger.name)


class Rows(NamedTuple):
    """What accepts, in each pattern, in each of its parts, in each outcome of a part: a row for each trigger
    that may accept, ordered by these, by the counter of the trigger and by falling probability.

    The parts of a pattern accept independently: the triggers of a counter, or those that seeds connect. Only
    the latter have several outcomes. Given the outcome, counters are independent; of those that share one,
    the less prescaled accept whenever the others do.
    """

    pattern: Numbers  # int32[k]
    part: Numbers  # part, outcome: int32[k], different for each part and outcome of a pattern
    outcome: Numbers
    trigger: Numbers  # int32[k]
    accept: FloatArray  # float64[k]: the probability that the trigger accepts in this outcome
    probability: FloatArray  # float64[k]: that of the outcome

    def take(self, rows: IntArray | BoolArray | slice) -> Rows:
        return Rows(*(column[rows] for column in self))  # type: ignore[arg-type]

    def starts(self, patterns: int) -> Numbers:
        """Return the first row of each pattern, and the number of rows, int32[patterns + 1]."""
        return np.searchsorted(self.pattern, np.arange(patterns + 1, dtype=np.int32)).astype(np.int32)


class Row(NamedTuple):
    """A row of a pattern."""

    part: int
    outcome: int
    trigger: int
    accept: float
    probability: float
    counter: int
    inside: bool


#: The outcomes of a part of a pattern, each with its probability and the rows of each counter.
Part = list[tuple[float, list[list[Row]]]]


@dataclass(frozen=True)
class Acceptance:
    """The probabilities that t triggers accept m patterns."""

    patterns: int
    counter: Numbers  # int32[t]: the number of the prescale counter of each trigger
    rows: Rows
    seeded: Seeded | None  # The triggers that are connected by seeds
    node: IntArray  # int64[t]: the node of each trigger, −1 if no seed connects it

    @cached_property
    def accepted(self) -> sparse.csr_array:
        """The probability of each trigger by itself, float64[m, t], sparse."""
        rows, shape = self.rows, (self.patterns, len(self.counter))
        values = rows.accept * rows.probability if self.seeded else rows.accept
        matrix = sparse.csr_array((values, rows.trigger, rows.starts(self.patterns)), shape, copy=True)
        if self.seeded:
            matrix.sum_duplicates()
            matrix.eliminate_zeros()
        return matrix

    @cached_property
    def total(self) -> FloatArray:
        """The same as an array, float64[m, t]."""
        total: FloatArray = self.accepted.toarray()
        return total

    def either(self, members: BoolArray, without: int = -1) -> FloatArray:
        """Return or(S), float64[m], for the triggers S in `members`, bool[t]. without: a trigger that never
        accepts, which other triggers read."""
        rows = self.rows
        node = self.node[without] if without >= 0 else -1
        if node >= 0 and self.seeded:
            affected = self.seeded.fires(node)
            kept = rows.take(~affected[rows.pattern] | (self.node[rows.trigger] < 0))
            changed = _seeded_rows(self.seeded, np.flatnonzero(affected), len(self.counter), node)
            rows = _in_order(kept, changed)
        return self._either(rows, np.where(members, 0, -1), 1).ravel()

    def either_of_each(self, group: IntArray) -> sparse.csr_array:
        """Return or(G) of each group, float64[m, groups]. group: int64[t], that of each trigger, or −1."""
        return sparse.csr_array(self._either(self.rows, group, int(group.max(initial=-1)) + 1))

    def _either(self, rows: Rows, group: IntArray, groups: int) -> FloatArray:
        either = np.zeros((self.patterns, groups))
        _add_any(rows, self.counter, group.astype(np.int32), either)
        return either

    def unique(self, members: BoolArray, group: IntArray | None = None) -> sparse.csr_array:
        """Return or(S) − or(S without t), float64[m, t], for S in `members`, bool[t]; 0 for triggers outside
        of S. With `group`, int64[t], of each trigger, or −1: or(S) − or(S without G), float64[m, groups]. It
        is computed as a product to avoid cancellation."""
        group = np.arange(len(self.counter)) if group is None else group
        n = int(group.max(initial=-1)) + 1
        owner = np.where(members, group, _NO_MEMBER).astype(np.int32)
        size = len(self.rows.pattern)
        found = pattern, number, loss = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size)
        k = _losses(self.rows, self.counter, owner, n, (_level(n), np.zeros(n), _level(n)), found)
        return sparse.csr_array((loss[:k], (pattern[:k], number[:k])), (self.patterns, n))

    def outcomes(self, pattern: int, within: BoolArray) -> list[Part]:
        """Return the parts of a pattern, with only the triggers in `within`, bool[t]."""
        rows = self.rows.take(slice(*np.searchsorted(self.rows.pattern, [pattern, pattern + 1])))
        columns = (
            column.tolist() for column in (*rows[1:], self.counter[rows.trigger], within[rows.trigger])
        )
        listed = [Row(*values) for values in zip(*columns, strict=True)]
        return [
            [
                (probability, [[row for row in rows if row.inside] for _, rows in groupby(outcome, _COUNTER)])
                for (_, probability), outcome in groupby(part, _OUTCOME)
            ]
            for _, part in groupby(listed, _PART)
        ]


_PART, _OUTCOME, _COUNTER = attrgetter("part"), attrgetter("outcome", "probability"), attrgetter("counter")


@inlined
def _or(a: float, b: float) -> float:
    """Return the probability of any of two independent ones, without cancellation."""
    return a + (1.0 - a) * b


@kernel
def _add_any(rows: Rows, counter: Numbers, group: Numbers, either: FloatArray) -> None:
    """Fill in or(G) of each group, float64[m, groups]. group: int32[t], that of each trigger, or −1."""
    groups, last = either.shape[1], np.full(either.shape[1], -1)
    of_outcome, of_part = np.zeros((2, groups))
    for row in range(len(rows.pattern) + groups):  # at the end, those that finish the last part of each group
        end = row >= len(rows.pattern)
        g = row - len(rows.pattern) if end else group[rows.trigger[row]]
        if g < 0:
            continue
        before = last[g]
        if before >= 0:
            pattern = rows.pattern[before]
            same_part = not end and pattern == rows.pattern[row] and rows.part[before] == rows.part[row]
            same = same_part and rows.outcome[before] == rows.outcome[row]
            if same and counter[rows.trigger[before]] == counter[rows.trigger[row]]:
                continue  # the first row of a counter has the largest probability
            if not same:
                of_part[g] += rows.probability[before] * of_outcome[g]
                of_outcome[g] = 0.0
            if not same_part:
                either[pattern, g] = _or(
                    either[pattern, g], 1.0 if of_part[g] > 1.0 - _CERTAIN else of_part[g]
                )
                of_part[g] = 0.0
        if not end:
            of_outcome[g] = _or(of_outcome[g], rows.accept[row])
            last[g] = row


#: The owner of triggers that are not in S; that of members in no group is −1.
_NO_MEMBER = -2


class _Level(NamedTuple):
    """How much the product of the probabilities `missed` of some elements grows without each of n owners."""

    grown: FloatArray  # float64[n]: by how much that of the elements of each owner grows
    missed: FloatArray  # float64[n]: this product; −1: no elements
    # float64[n + 1], int64[n + 1]: the logarithm of that of those above 0, and the number of those that are
    # 0; the last ones are of all elements
    logarithm: FloatArray
    zeros: IntArray
    owners: IntArray  # int64[n]: the owners so far
    n_owners: IntArray  # int64[1]: their number


def _level(n: int) -> _Level:
    zeros, owners, count = np.zeros(n + 1, np.int64), np.zeros(n, np.int64), np.zeros(1, np.int64)
    return _Level(np.zeros(n), np.full(n, -1.0), np.zeros(n + 1), zeros, owners, count)


@inner
def _multiply(level: _Level, owner: int, missed: float) -> None:
    if missed == 0.0:
        level.zeros[owner] += 1
    else:
        level.logarithm[owner] += math.log(missed)


@inner
def _add_loss(level: _Level, owner: int, missed: float, loss: float) -> None:
    """Add an element that grows from `missed` by `loss` without its owner."""
    if level.missed[owner] < 0.0:
        level.owners[level.n_owners[0]] = owner
        level.n_owners[0] += 1
        level.grown[owner], level.missed[owner] = 0.0, 1.0
        level.logarithm[owner], level.zeros[owner] = 0.0, 0
    level.grown[owner] = level.grown[owner] * (missed + loss) + level.missed[owner] * loss
    level.missed[owner] *= missed
    _multiply(level, owner, missed)


@inner
def _pop(level: _Level) -> tuple[int, float]:
    """Remove an owner; return it and by how much the product of all elements grows without it."""
    level.n_owners[0] -= 1
    owner = level.owners[level.n_owners[0]]
    level.missed[owner] = -1.0
    others = math.exp(level.logarithm[-1] - level.logarithm[owner])
    return owner, level.grown[owner] * others if level.zeros[-1] == level.zeros[owner] else 0.0


@inner
def _finish(level: _Level) -> float:
    """Return the product of all elements, and remove them."""
    missed = math.exp(level.logarithm[-1]) if level.zeros[-1] == 0 else 0.0
    level.logarithm[-1], level.zeros[-1] = 0.0, 0
    return missed


@kernel
def _losses(rows: Rows, counter: Numbers, owner: Numbers, n: int, scratch: Any, result: Any) -> int:
    """Fill in or(S) − or(S without an owner) where it is not 0: the pattern, the owner and the loss; return
    how many there are. owner: int32[t] < n, that of each trigger, −1 for none, `_NO_MEMBER` outside of S.
    scratch: a level, 0 of each owner, a level. result: arrays of as many elements as there are rows."""
    size, end, found = len(rows.pattern), 0, 0
    (of_outcome, of_part, of_pattern), (patterns, owners, losses) = scratch, result
    while end < size:
        # Nothing is lost where two owners accept for certain.
        row, settled, certain = end, False, -1
        while end < size and rows.pattern[end] == rows.pattern[row]:
            g = owner[rows.trigger[end]]
            if rows.accept[end] == 1.0 and rows.probability[end] == 1.0 and g != _NO_MEMBER:
                settled |= g < 0 or (certain >= 0 and certain != g)
                certain = g
            end += 1
        if settled:
            continue
        pattern = rows.pattern[row]
        while row < end:
            part, missed, hit, lost = rows.part[row], 0.0, False, found
            while row < end and rows.part[row] == part:
                outcome, probability = rows.outcome[row], rows.probability[row]
                while row < end and rows.outcome[row] == outcome:
                    # Only the removal of the owner that accepts most changes what its counter accepts.
                    best, second, best_owner, c = 0.0, 0.0, _NO_MEMBER, counter[rows.trigger[row]]
                    while row < end and rows.outcome[row] == outcome and counter[rows.trigger[row]] == c:
                        g = owner[rows.trigger[row]]
                        if g != _NO_MEMBER and best_owner == _NO_MEMBER:
                            best, best_owner = rows.accept[row], g
                        elif g != _NO_MEMBER and g != best_owner:
                            second = max(second, rows.accept[row])
                        row += 1
                    hit |= best > 0.0
                    _multiply(of_outcome, n, 1.0 - best)
                    if best_owner >= 0 and best > second:
                        _add_loss(of_outcome, best_owner, 1.0 - best, best - second)
                while of_outcome.n_owners[0] > 0:
                    g, loss = _pop(of_outcome)
                    if of_part[g] == 0.0 and loss > 0.0:
                        owners[lost] = g
                        lost += 1
                    of_part[g] += probability * loss
                missed += probability * _finish(of_outcome)
            missed = missed if hit else 1.0
            _multiply(of_pattern, n, missed)
            for i in range(found, lost):
                _add_loss(of_pattern, owners[i], missed, of_part[owners[i]])
                of_part[owners[i]] = 0.0
        while of_pattern.n_owners[0] > 0:
            patterns[found] = pattern
            owners[found], losses[found] = _pop(of_pattern)
            found += 1
        _finish(of_pattern)
    return found


@kernel
def _fired(words: Words, bits: IntArray, triggers: Numbers, pattern: Numbers, trigger: Numbers) -> int:
    """Fill in the pattern and the trigger of each bit that is set, ordered by pattern, then as in `triggers`,
    int32[t], with their `bits`, int64[t]; return how many there are. Both arrays have room for one more."""
    n = 0
    for row in range(len(words)):
        for i in range(len(bits)):  # without a branch, which would be mispredicted
            pattern[n], trigger[n] = row, triggers[i]
            n += (words[row, bits[i] >> 6] >> np.uint64(bits[i] & 63)) & 1
    return n


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
    counter = np.array([number_of[counter_of(trigger)] for trigger in triggers], np.int32)
    prescale = np.array([trigger.prescale for trigger in triggers])
    connected = {key for menu in menus for key in _connected_counters(menu)}
    bit, shift = np.full(len(triggers), -1), 0
    decided: list[BoolArray] = []  # from other bits
    nodes: list[Node] = []
    for which, (menu, bits_of_menu) in enumerate(zip(menus, bits, strict=True)):
        decisions = Decisions(words, menu, bits_of_menu)
        for column, trigger in enumerate(menu.enabled, shift):
            if counter_of(trigger) not in connected and trigger.prescale < math.inf:
                bit[column] = bits_of_menu.get(trigger.name, 64 * words.shape[1] + len(decided))
                if trigger.name not in bits_of_menu:
                    decided.append(decisions.own(trigger.name))
        nodes += _nodes(which, shift, menu, decisions, connected) if connected else ()
        shift += len(menu.enabled)
    if decided:
        packed = np.packbits(np.column_stack(decided), axis=1, bitorder="little")
        padded = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8)))
        words = np.hstack([words, padded.view("<u8")])
    by_counter = np.lexsort((prescale, counter))
    order: Numbers = by_counter[bit[by_counter] >= 0].astype(np.int32)
    words = np.ascontiguousarray(words)
    most = np.count_nonzero(np.unpackbits(words.view(np.uint8))) * np.bincount(bit[order]).max(initial=0) + 1
    pattern, number = np.empty((2, most), np.int32)
    k = _fired(words, bit[order], order, pattern, number)
    pattern, number, part = pattern[:k], number[:k], counter[number[:k]]
    rows = Rows(pattern, part, part, number, 1.0 / prescale[number], np.ones(len(number)))
    node_of = np.full(len(triggers), -1, np.int64)
    if not nodes:
        return Acceptance(len(words), counter, rows, None, node_of)
    seeded = Seeded(nodes)
    placed = np.flatnonzero(seeded.column >= 0)
    node_of[seeded.column[placed]] = placed
    rows = _in_order(rows, _seeded_rows(seeded, np.arange(len(words)), len(number_of)))
    return Acceptance(len(words), counter, rows, seeded, node_of)


def _seeded_rows(seeded: Seeded, patterns: IntArray, first_part: int, removed: int = -1) -> Rows:
    """Return the rows of triggers that seeds connect, in some patterns; parts are numbered from `first_part`.
    removed: a node that never accepts."""
    outcomes = seeded.rows(patterns, removed)
    combination = seeded.combination[patterns]
    first = np.searchsorted(outcomes.combination, combination)
    lengths = np.searchsorted(outcomes.combination, combination, "right") - first
    row = np.repeat(first - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    return Rows(
        np.repeat(patterns, lengths).astype(np.int32),
        (first_part + outcomes.component[row]).astype(np.int32),
        (first_part + outcomes.outcome[row]).astype(np.int32),
        seeded.column[outcomes.node[row]].astype(np.int32),
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
    decisions: Decisions,
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
            column, counter, fired = enabled[name], counter_of(trigger), decisions.own(name)
            yield Node((which, name), name, column, counter, trigger.prescale, seed, reads, fired)
        elif name not in enabled and name in read:
            fired = decisions[name] & (trigger.prescale < math.inf)
            yield Node((which, name), name, -1, ("disabled", name), 1.0, None, {}, fired)


def own_decisions(words: Words, menu: Menu, bits: Mapping[str, int]) -> dict[str, BoolArray]:
    """Return the decisions of the triggers of a menu before prescales and without their seeds. words:
    uint64[m, w]; returns dict of str to bool[m]."""
    decisions = Decisions(words, menu, bits)
    return {trigger.name: decisions.own(trigger.name) for trigger in menu.used}


def raw_decisions(words: Words, menu: Menu, bits: Mapping[str, int]) -> dict[str, BoolArray]:
    """Return the decisions of the triggers of a menu before prescales. words: uint64[m, w]; returns dict of
    str to bool[m]."""
    decisions = Decisions(words, menu, bits)
    return {trigger.name: decisions[trigger.name] for trigger in menu.used}


class Decisions(dict[str, BoolArray]):
    """The decisions of triggers before prescales, bool[m], by name, each made when it is first asked for."""

    def __init__(self, words: Words, menu: Menu, bits: Mapping[str, int]) -> None:
        self._words, self._menu, self._bits = words, menu, bits

    def __missing__(self, name: str) -> BoolArray:
        seed = self._menu.trigger(name).seed
        own = self.own(name)
        self[name] = own & seed.evaluate(self) if seed else own
        return self[name]

    def own(self, name: str) -> BoolArray:
        """Return the decisions of a trigger without its seed."""
        if name in self._bits:
            word, bit = divmod(self._bits[name], 64)
            return np.asarray((self._words[:, word] >> np.uint64(bit)) & np.uint64(1) != 0)
        trigger, n = self._menu.trigger(name), len(self._words)
        kind = trigger.description
        assert isinstance(kind, BitKind)
        where = f"{trigger.place}: trigger {trigger.name!r} (kind {trigger.kind!r})"
        try:
            # a plugin may return any type
            fired: object = kind.decide({other: self[other] for other in kind.inputs()}, n)
        except Exception as error:
            if cause := own_cause(error):
                raise cause from error
            raise PluginError(f"{where} failed: {reason_of(error)}") from error
        if not isinstance(fired, np.ndarray) or fired.dtype != np.bool_ or fired.shape != (n,):
            location = place_of_method(kind, "decide")
            raise PluginError(f"{where} gave {type(fired).__name__}, expected an array bool[{n}]{location}")
        return fired
