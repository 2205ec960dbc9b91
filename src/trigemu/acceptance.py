"""With which probability a pattern of decisions is accepted: prescales, coherent sets, seeds.

An event in which trigger t fires is accepted by t with probability a_t = d_t / p_t, times that of its seeds'
OR. One primitive, for any set S of triggers and one event:

    or(S) = 1 − Π over coherent sets C of (1 − max of a_t, t in S ∩ C)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from trigemu.errors import PluginError
from trigemu.events import BoolArray, FloatArray, IntArray
from trigemu.kernels import kernel
from trigemu.menu import Menu, Trigger
from trigemu.patterns import Words
from trigemu.triggers.base import BitKind


def acceptances(words: Words, menu: Menu, bits: Mapping[str, int]) -> FloatArray:
    """float64[m, t]: the acceptance probability of each enabled trigger for each of m patterns."""
    accepted: dict[str, FloatArray] = {}
    for name, fired in raw_decisions(words, menu, bits).items():
        trigger = menu.trigger(name)
        accepted[name] = fired / trigger.prescale if trigger.enabled else np.zeros(len(words))
        if trigger.seed:
            seeds = [menu.trigger(seed) for seed in trigger.seed.names()]
            columns = np.column_stack([accepted[seed.name] for seed in seeds])
            accepted[name] = accepted[name] * or_of(columns, coherent_sets(seeds))
    return np.column_stack([accepted[trigger.name] for trigger in menu.enabled])


def raw_decisions(words: Words, menu: Menu, bits: Mapping[str, int]) -> dict[str, BoolArray]:
    """bool[m] of each trigger, in the menu's `order`: its decision before prescales in each of m patterns."""
    raw: dict[str, BoolArray] = {}
    for name in menu.order:
        trigger = menu.trigger(name)
        if name in bits:
            word, bit = divmod(bits[name], 64)
            fired = (words[:, word] >> np.uint64(bit)) & np.uint64(1) != 0
        else:
            fired = _of_bits(trigger, raw, len(words))
        raw[name] = fired & trigger.seed.evaluate(raw) if trigger.seed else fired
    return raw


def _of_bits(trigger: Trigger, raw: Mapping[str, BoolArray], n: int) -> BoolArray:
    assert isinstance(trigger.description, BitKind)
    where = f"{trigger.place}: trigger {trigger.name!r} (kind {trigger.kind!r})"
    try:
        fired = trigger.description.decide(raw, n)
    except Exception as error:
        raise PluginError(f"{where} failed: {type(error).__name__}: {error}") from error
    if not isinstance(fired, np.ndarray) or fired.dtype != np.bool_ or fired.shape != (n,):
        raise PluginError(f"{where} gave {type(fired).__name__}, expected an array bool[{n}]")
    return fired


def coherent_sets(triggers: Sequence[Trigger]) -> list[list[int]]:
    """The positions of the triggers that share a prescale counter; a trigger alone is a set."""
    sets: dict[tuple[str, object], list[int]] = {}
    for position, trigger in enumerate(triggers):
        key = ("set", trigger.coherent) if trigger.coherent else ("alone", position)
        sets.setdefault(key, []).append(position)
    return list(sets.values())


def or_of(accepted: FloatArray, sets: list[list[int]]) -> FloatArray:
    """float64[m]: the probability that any trigger accepts, from float64[m, t].

    Added up so that one set gives its own value, an empty one changes nothing and a 1 stays 1, to the
    last bit: what is zero must not become an event of weight 1e-17.
    """
    return _or(accepted, *_flat(sets))


def unique_of(accepted: FloatArray, sets: list[list[int]]) -> FloatArray:
    """float64[m, t]: or(M) − or(M without t), as a product, so that nothing cancels."""
    return _unique(accepted, *_flat(sets))


def _flat(sets: list[list[int]]) -> tuple[IntArray, IntArray]:
    """The members one after the other, and where those of each set start."""
    starts = np.cumsum([0, *map(len, sets)])
    return np.array([member for members in sets for member in members], np.int64), starts


@kernel
def _or(accepted: FloatArray, member: IntArray, starts: IntArray) -> FloatArray:
    either = np.zeros(accepted.shape[0])
    for row in range(accepted.shape[0]):
        for number in range(len(starts) - 1):
            best = 0.0
            for at in range(starts[number], starts[number + 1]):
                best = max(best, accepted[row, member[at]])
            if best > 0.0:
                either[row] = best + either[row] * (1.0 - best)
    return either


@kernel
def _unique(accepted: FloatArray, member: IntArray, starts: IntArray) -> FloatArray:
    sets = len(starts) - 1
    unique = np.zeros_like(accepted)
    best, after = np.zeros(sets), np.ones(sets + 1)
    for row in range(accepted.shape[0]):
        for number in range(sets):
            best[number] = 0.0
            for at in range(starts[number], starts[number + 1]):
                best[number] = max(best[number], accepted[row, member[at]])
        for number in range(sets - 1, -1, -1):
            after[number] = after[number + 1] * (1.0 - best[number])
        before = 1.0
        for number in range(sets):
            others = before * after[number + 1]  # the probability that all other sets miss
            before *= 1.0 - best[number]
            if others == 0.0 or best[number] == 0.0:
                continue
            for at in range(starts[number], starts[number + 1]):
                without = 0.0
                for other in range(starts[number], starts[number + 1]):
                    if other != at:
                        without = max(without, accepted[row, member[other]])
                unique[row, member[at]] = others * (best[number] - without)
    return unique
