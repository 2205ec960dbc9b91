"""The probabilities that triggers accept a pattern of decisions: prescales, coherent sets, seeds.

Trigger t with decision d_t and prescale p_t accepts an event with probability a_t = d_t / p_t; with a seed,
with that of `decisions.py`. Everything follows from one quantity, for any set S of triggers and one event:

    or(S) = 1 − Π over coherent sets C of (1 − max of a_t, t in S ∩ C)

This applies to triggers that neither have seeds nor are seeds. Triggers that are connected by seeds count as
one such set, with the probability that any of its triggers in S accepts: the sum of or(S) over the outcomes
of the counters of their seeds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words
from trigemu.base.errors import TrigemuError
from trigemu.counting.decisions import Decisions, Seeded, counter_of
from trigemu.counting.patterns import starts_of
from trigemu.menus.menu import Menu
from trigemu.menus.prescales import no_column

Numbers = npt.NDArray[np.int32]
#: A sum of probabilities that differs from 1 by less is 1: nothing must not become an event of weight 1e-17.
_CERTAIN = 1e-12
#: Patterns whose bits are unpacked at a time.
_BLOCK = 2**14


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
    counter: Numbers  # int32[k]: that of the trigger
    trigger: Numbers  # int32[k]
    accept: FloatArray  # float64[k]: the probability that the trigger accepts in this outcome
    probability: FloatArray  # float64[k]: that of the outcome
    certain: BoolArray  # bool[k]: whether both are 1

    def take(self, rows: IntArray | BoolArray | slice) -> Rows:
        return Rows(*(column[rows] for column in self))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Acceptance:
    """The probabilities that t triggers accept m patterns."""

    patterns: int
    counter: Numbers  # int32[t]: the number of the prescale counter of each trigger
    rows: Rows
    seeded: Seeded  # The triggers that are connected by seeds

    @cached_property
    def accepted(self) -> sparse.csr_array:
        """The probability of each trigger by itself, float64[m, t], sparse."""
        rows, shape = self.rows, (self.patterns, len(self.counter))
        start = np.searchsorted(rows.pattern, np.arange(self.patterns + 1, dtype=np.int32)).astype(np.int32)
        values = rows.accept * rows.probability
        matrix = sparse.csr_array((values, rows.trigger.copy(), start), shape)
        if self.seeded.nodes:
            matrix.sum_duplicates()
            matrix.eliminate_zeros()
        return matrix

    @cached_property
    def total(self) -> FloatArray:
        """The same as an array, float64[m, t]."""
        total: FloatArray = self.accepted.toarray()
        return total

    def either(self, members: BoolArray) -> FloatArray:
        """Return or(S), float64[m], for the triggers S in `members`, bool[t]."""
        return self._any_of(self.rows, np.where(members, 0, -1), 1)

    def either_of_each(self, group: IntArray) -> sparse.csr_array:
        """Return or(G) of each group, float64[m, groups]. group: int64[t], that of each trigger, or −1."""
        if not (n := int(group.max(initial=-1)) + 1):
            return sparse.csr_array((self.patterns, 0))
        return sparse.csr_array(self._any_of(self.rows, group, n).reshape(self.patterns, n))

    def _any_of(self, rows: Rows, group: IntArray, n: int) -> FloatArray:
        """Return the probability that any of some rows accepts, of each pattern and group, float64[m · n]."""
        either, place = np.zeros(self.patterns * n), rows.pattern
        if (group != 0).any():
            group_of = group.astype(np.int32)[rows.trigger]
            place = np.where(group_of >= 0, place * np.int32(n) + group_of, -1)
        inside = place >= 0
        either[place[rows.certain & inside]] = 1.0
        rest = np.flatnonzero(inside & (either[place] == 0.0))
        if not len(rest):
            return either
        if n > 1:
            rest = rest[np.argsort(place[rest], kind="stable")]
        rows = rows.take(rest)._replace(pattern=place[rest])
        first = starts_of(rows.pattern, rows.part, rows.outcome, rows.counter)
        rows = rows.take(first)  # of a counter, the least prescaled
        accept = rows.accept
        if self.seeded.nodes:
            first = starts_of(rows.pattern, rows.part, rows.outcome)
            accept, rows = _or(accept, first), rows.take(first)
            first = starts_of(rows.pattern, rows.part)
            accept, rows = _certain(np.add.reduceat(accept * rows.probability, first)), rows.take(first)
        first = starts_of(rows.pattern)
        either[rows.pattern[first]] = _or(accept, first)
        return either

    def lost_without(self, members: BoolArray, trigger: int) -> tuple[IntArray, FloatArray]:
        """Return the patterns in which a trigger fires that others read, int64[k], and in each of them or(S)
        for S in `members` minus the same if this trigger never accepts, float64[k]."""
        if (node := int(self.seeded.of_trigger[trigger])) < 0:
            return np.zeros(0, np.int64), np.zeros(0)
        affected = self.seeded.fired[:, node]
        patterns, rows = np.flatnonzero(affected), self.rows
        alone = affected[rows.pattern] & (self.seeded.of_trigger[rows.trigger] < 0)
        changed = _seeded_rows(self.seeded, patterns, self.counter, node)
        either, without = (
            self._any_of(some, np.where(members, 0, -1), 1)[patterns]
            for some in (
                rows.take(np.flatnonzero(affected[rows.pattern])),
                _joined(rows.take(np.flatnonzero(alone)), changed),
            )
        )
        return patterns, either - without

    def unique(self, members: BoolArray, group: IntArray | None = None) -> sparse.csr_array:
        """Return or(S) − or(S without t), float64[m, t], for S in `members`, bool[t]; 0 for triggers outside
        of S. With `group`, int64[t], of each trigger, or −1: or(S) − or(S without G), float64[m, groups]. It
        is computed as a product to avoid cancellation."""
        group = np.arange(len(self.counter)) if group is None else group
        shape, rows = (self.patterns, int(group.max(initial=-1)) + 1), self.rows
        # Nothing is lost where two owners accept for certain, or one that is in no group.
        inside = members[rows.trigger]
        group = group.astype(np.int32)
        certain = np.flatnonzero(inside & rows.certain)
        pattern, owner = rows.pattern[certain], group[rows.trigger[certain]]
        if len(first := starts_of(pattern)):
            lowest, highest = (extreme.reduceat(owner, first) for extreme in (np.minimum, np.maximum))
            settled = np.zeros(self.patterns, np.bool_)
            settled[pattern[first]] = (lowest != highest) | (lowest < 0)
            inside &= ~settled[rows.pattern]
        rows = rows.take(np.flatnonzero(inside))
        if not len(rows.pattern):
            return sparse.csr_array(shape)
        # Only the removal of the owner that accepts most changes what a counter accepts.
        owner, first = group[rows.trigger], starts_of(rows.pattern, rows.part, rows.outcome, rows.counter)
        best, best_owner = rows.accept[first], owner[first]
        others = owner != np.repeat(best_owner, np.diff(first, append=len(owner)))
        loss = best - np.maximum.reduceat(np.where(others, rows.accept, 0.0), first)
        element = np.flatnonzero((loss > 0.0) & (best_owner >= 0))
        losses = element, best_owner[element], loss[element]
        if self.seeded.nodes:
            of_outcome = starts_of(rows.pattern[first], rows.part[first], rows.outcome[first])
            losses = _in_runs(best, of_outcome, losses)
            best = _or(best, of_outcome)
            first, probability = first[of_outcome], rows.probability[first[of_outcome]]
            outcome, owner, loss = losses
            of_part = starts_of(rows.pattern[first], rows.part[first])
            best = _certain(np.add.reduceat(best * probability, of_part))
            element = np.searchsorted(of_part, outcome, "right") - 1
            order = np.lexsort((owner, element))
            at, loss = starts_of(element[order], owner[order]), (loss * probability[outcome])[order]
            loss = np.add.reduceat(loss, at) if len(at) else loss
            losses, first = (element[order][at], owner[order][at], loss), first[of_part]
        of_pattern = starts_of(rows.pattern[first])
        run, owner, loss = _in_runs(best, of_pattern, losses)
        return sparse.csr_array((loss, (rows.pattern[first][of_pattern][run], owner)), shape)


def _certain(probability: FloatArray) -> FloatArray:
    """Return sums of probabilities, at most 1."""
    return np.where(probability > 1.0 - _CERTAIN, 1.0, probability)


def _or(probability: FloatArray, first: IntArray) -> FloatArray:
    """Return the probability of any of the independent ones in each run, without cancellation."""
    with np.errstate(divide="ignore"):
        any_of = 0.0 - np.expm1(np.add.reduceat(np.log1p(-probability), first))
    alone = np.diff(first, append=len(probability)) == 1
    return np.where(alone, probability[first], any_of)


#: The losses without an owner: the elements, int64[k], the owners, int64[k], and the losses, float64[k].
_Losses = tuple[IntArray, IntArray, FloatArray]


def _in_runs(accept: FloatArray, first: IntArray, losses: _Losses) -> _Losses:
    """Return what the probability of any of the independent elements in each run loses without each owner,
    from the probability of each element and the same losses of it."""
    element, owner, loss = losses
    if not len(element):
        return losses
    run_of = np.repeat(np.arange(len(first)), np.diff(first, append=len(accept)))
    missed, zero = np.where(accept == 1.0, 1.0, 1.0 - accept), (accept == 1.0).astype(np.int64)
    product, zeros = np.multiply.reduceat(missed, first), np.add.reduceat(zero, first)
    # stable: in order already, but for coherent sets and groups
    order = np.argsort(run_of[element] * (owner.max() + np.int64(1)) + owner, kind="stable")
    element, owner, loss = element[order], owner[order], loss[order]
    at = starts_of(run_of[element], owner)
    run, own = run_of[element[at]], np.multiply.reduceat(missed[element], at)
    growth, several = loss[at], np.diff(at, append=len(loss)) > 1
    if several.any():  # the product of those of an owner grows to that of `grown`, by the part of this sum
        grown = np.where(zero[element], 0.0, missed[element]) + loss
        with np.errstate(divide="ignore"):
            part = -np.expm1(np.add.reduceat(np.log1p(-loss / grown), at))
        growth = np.where(several, np.multiply.reduceat(grown, at) * part, growth)
    others = np.divide(product[run], own, out=np.zeros(len(at)), where=own > 0.0)
    growth *= np.where(zeros[run] == np.add.reduceat(zero[element], at), others, 0.0)
    kept = growth > 0.0
    return run[kept], owner[at][kept], growth[kept]


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
    decisions = [Decisions(words, menu, of_menu) for menu, of_menu in zip(menus, bits, strict=True)]
    triggers = [(t, of_menu) for menu, of_menu in zip(menus, decisions, strict=True) for t in menu.enabled]
    number_of = {key: n for n, key in enumerate(dict.fromkeys(counter_of(t) for t, _ in triggers))}
    counter = np.array([number_of[counter_of(t)] for t, _ in triggers], np.int32)
    prescale = np.array([t.prescale for t, _ in triggers])
    seeded = Seeded(menus, decisions)
    order = np.lexsort((prescale, counter)).astype(np.int32)
    order = order[(seeded.of_trigger[order] < 0) & (prescale[order] < math.inf)]
    bit = np.array([of_menu.bits.get(t.name, -1) for t, of_menu in triggers], np.int64)[order]
    others = {column: triggers[order[column]] for column in np.flatnonzero(bit < 0).tolist()}
    decided = {column: of_menu.own(trigger.name) for column, (trigger, of_menu) in others.items()}
    found: list[tuple[Numbers, Numbers]] = [(np.zeros(0, np.int32), order[:0])]
    for start in range(0, len(words), _BLOCK):
        some = np.ascontiguousarray(words[start : start + _BLOCK])
        each = np.unpackbits(some.view(np.uint8), axis=1, bitorder="little")
        fired = np.take(each, bit, axis=1).view(np.bool_)  # bool[m, triggers in order]
        for column, decision in decided.items():
            fired[:, column] = decision[start : start + _BLOCK]
        row = np.repeat(np.arange(len(some), dtype=np.int32), np.count_nonzero(fired, axis=1))
        found.append((row + np.int32(start), order[np.flatnonzero(fired) - row * len(order)]))
    pattern, number = map(np.concatenate, zip(*found, strict=True))
    part = counter[number]
    accept = 1.0 / prescale[number]
    rows = Rows(pattern, part, part, part, number, accept, np.ones(len(number)), accept == 1.0)
    if seeded.nodes:
        rows = _joined(rows, _seeded_rows(seeded, np.arange(len(words)), counter))
    return Acceptance(len(words), counter, rows, seeded)


def _seeded_rows(seeded: Seeded, patterns: IntArray, counter: Numbers, removed: int = -1) -> Rows:
    """Return the rows of triggers that seeds connect, for some patterns. removed: a node that is off."""
    rows, (accept, probability) = seeded.rows(patterns, removed)
    pattern, part, outcome, trigger = rows.astype(np.int32)
    first = np.int32(len(counter))  # above the parts of other triggers
    certain = (accept == 1.0) & (probability == 1.0)
    numbers = pattern, part + first, outcome + first, counter[trigger], trigger
    return Rows(*numbers, accept, probability, certain)


def _joined(*parts: Rows) -> Rows:
    """Join rows and order them by pattern."""
    rows = Rows(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    return rows.take(np.argsort(rows.pattern, kind="stable"))
