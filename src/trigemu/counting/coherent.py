"""Sets of triggers that share a prescale counter, and the probability that at least one trigger accepts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from trigemu.menus import Trigger
from trigemu.support import FloatArray, IntArray, inlined, kernel

#: The positions of triggers that share a counter, for each set.
Sets = Sequence[Sequence[int]]


def counter_of(trigger: Trigger) -> Hashable:
    """Return a key that is equal for triggers that share their prescale counter."""
    return ("set", trigger.coherent) if trigger.coherent else ("alone", trigger.name)


def coherent_sets(triggers: Sequence[Trigger]) -> list[list[int]]:
    """Return the positions of the triggers of each set; a trigger that shares no counter is a set."""
    sets: dict[Hashable, list[int]] = {}
    for position, trigger in enumerate(triggers):
        sets.setdefault(counter_of(trigger), []).append(position)
    return list(sets.values())


def or_of(accepted: FloatArray, sets: Sets) -> FloatArray:
    """Return float64[m], the probability that at least one trigger accepts, from float64[m, t].

    The order of operations guarantees, to the last bit, that a single set gives its own value, that an empty
    one has no effect and that a 1 stays 1: a zero must not become an event of weight 1e-17.
    """
    either = np.zeros(len(accepted))
    _or(accepted, *_flat(sets), either)
    return either


def unique_of(accepted: FloatArray, sets: Sets) -> FloatArray:
    """Return float64[m, t], or(M) − or(M without t), computed as a product to avoid cancellation."""
    member, starts = _flat(sets)
    unique, best, after = np.zeros(accepted.shape), np.zeros(len(sets)), np.ones(len(sets) + 1)
    _unique(accepted, member, starts, unique, best, after)
    return unique


def missed_of(accepted: FloatArray, sets: Sets) -> FloatArray:
    """Return float64[m], the probability that no trigger accepts."""
    missed = np.ones(len(accepted))
    _missed(accepted, *_flat(sets), missed)
    return missed


def _flat(sets: Sets) -> tuple[IntArray, IntArray]:
    """Return the members of all sets in one array, and the position at which each set starts."""
    starts = np.cumsum([0, *map(len, sets)])
    return np.array([member for members in sets for member in members], np.int64), starts


@inlined
def _best(accepted: FloatArray, row: int, member: IntArray, first: int, last: int) -> float:
    """Return the probability that a set accepts: its largest acceptance."""
    best = 0.0
    for at in range(first, last):
        best = max(best, accepted[row, member[at]])
    return best


@kernel
def _or(accepted: FloatArray, member: IntArray, starts: IntArray, either: FloatArray) -> None:
    for row in range(accepted.shape[0]):
        for number in range(len(starts) - 1):
            best = _best(accepted, row, member, starts[number], starts[number + 1])
            if best > 0.0:
                either[row] = best + either[row] * (1.0 - best)


@kernel
def _missed(accepted: FloatArray, member: IntArray, starts: IntArray, missed: FloatArray) -> None:
    for row in range(accepted.shape[0]):
        for number in range(len(starts) - 1):
            best = _best(accepted, row, member, starts[number], starts[number + 1])
            missed[row] *= 1.0 - best


@kernel
def _unique(
    accepted: FloatArray,
    member: IntArray,
    starts: IntArray,
    unique: FloatArray,
    best: FloatArray,
    after: FloatArray,
) -> None:
    """best, after: float64[sets] and float64[sets + 1]; the last of `after` is 1."""
    sets = len(starts) - 1
    for row in range(accepted.shape[0]):
        for number in range(sets):
            best[number] = _best(accepted, row, member, starts[number], starts[number + 1])
        for number in range(sets - 1, -1, -1):
            after[number] = after[number + 1] * (1.0 - best[number])
        before = 1.0
        for number in range(sets):
            others = before * after[number + 1]  # the probability that no other set accepts
            before *= 1.0 - best[number]
            if others == 0.0 or best[number] == 0.0:
                continue
            for at in range(starts[number], starts[number + 1]):
                without = 0.0
                for other in range(starts[number], starts[number + 1]):
                    if other != at:
                        without = max(without, accepted[row, member[other]])
                unique[row, member[at]] = others * (best[number] - without)
