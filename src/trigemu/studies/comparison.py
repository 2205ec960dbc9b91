"""Comparison of menu variants on the same events, and the differences between their definitions in words.

A variant accepts a fraction f of each event: or(M) for the menu, total and unique as in `quantities.py` for a
trigger. A difference is Σ w (f_B − f_A), and its uncertainty is computed as for any rate, with f_A − f_B
event by event: events that both accept cancel, unlike in a sum in quadrature.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, permutations, product
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from trigemu.base.arrays import Words
from trigemu.base.errors import TrigemuError
from trigemu.base.mapping import engine_of
from trigemu.base.shown import Named, Shown
from trigemu.counting.acceptance import acceptances
from trigemu.counting.quantities import COMPARED, MENU, Label, fractions
from trigemu.counting.sums import pairs_of
from trigemu.emulation.loop import Emulation
from trigemu.emulation.scaling import crossing_scale
from trigemu.menus.checks import texts_of
from trigemu.menus.menu import Menu, Trigger, named_apart
from trigemu.menus.read import MenuLike, menus_of
from trigemu.menus.write import table_of
from trigemu.rates.menu_rates import emulation_of, rates_of
from trigemu.rates.results import MenuRates
from trigemu.samples.memory import SamplesLike

_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Difference:
    """The difference of a rate between two variants, b − a."""

    a: str  # a, b: The names of the variants
    b: str
    # "menu", "level" followed by its name, or the name of a trigger, whose rate is 0 in a variant without it.
    what: str
    quantity: str  # The rate that is compared: "rate_hz", or "total_hz" or "unique_hz" of a trigger
    b_minus_a_hz: float  # The rate of b minus that of a, in Hz; positive if b accepts more
    error_hz: float  # Its statistical uncertainty in Hz, including the correlation


@dataclass(frozen=True)
class Gain:
    """The rate that variant b accepts and variant a does not: the sum of the increase of the accepted
    fraction over all events for which it increases.

    With prescales, this is the lower bound for all arrangements of prescale counters, and 0 for events that
    both accept with equal probability.
    """

    a: str  # a, b: The names of the variants
    b: str
    hz: float  # The rate in Hz
    error_hz: float  # Its statistical uncertainty in Hz


class Common(NamedTuple):
    """The rate that a trigger of variant a and a trigger of variant b accept together.

    Triggers of the same coherent set share their prescale counter, as do triggers of the same name outside of
    coherent sets.
    """

    a: str  # a, b: The names of the variants
    b: str
    of_a: str  # of_a, of_b: The names of the triggers
    of_b: str
    hz: float  # The rate in Hz, at the lower of the crossing rates of the two variants
    error_hz: float  # Its statistical uncertainty in Hz
    # a_hz, b_hz: The rates of the two triggers by themselves from the same events, at the same crossing rate:
    # of the unseen half, scaled, if one of them is fitted. The common part of a trigger is `hz` over its own.
    a_hz: float
    b_hz: float

    @property
    def shares(self) -> tuple[float | None, float | None]:
        """The parts of the triggers of a and of b that are common; None without a rate."""
        of_a, of_b = (self.hz / alone if alone > 0 else None for alone in (self.a_hz, self.b_hz))
        return of_a, of_b


@dataclass(frozen=True)
class Change:
    """A difference in the definitions of two variants."""

    a: str  # a, b: The names of the variants
    b: str
    what: str  # The name of the trigger, or "menu"
    how: str  # The difference, in words


@dataclass(frozen=True, repr=False)
class Comparison(Shown, Named[MenuRates]):
    """The comparison of two or more variants of a menu, identified by the names of their menus;
    result["primary"] is the rates of one."""

    _view: ClassVar[str] = "trigemu.results.comparison:ComparisonView"

    variants: tuple[MenuRates, ...]  #: The rates of each variant
    differences: tuple[Difference, ...]  #: The differences of rates, for each pair of variants
    gained: tuple[Gain, ...]  #: The gains, for each ordered pair of variants
    common: tuple[Common, ...]  #: The common rates of their triggers, for each pair of variants
    changes: tuple[Change, ...]  #: The differences of their definitions, for each pair of variants

    def _named(self) -> tuple[str, Mapping[str, MenuRates]]:
        return "variant", {variant.menu.name: variant for variant in self.variants}


def compare(
    menus: Emulation | Iterable[MenuLike],
    catalogue: SamplesLike = None,
    *,
    executor: Any = None,
) -> Comparison:
    """Compare menus on the same events, in pairs.

    Parameters
    ----------
    menus : list of paths or Menus, or Emulation
        At least two menus, or an emulation of them. Menus with equal names get the names of their files.
    catalogue, executor
        The samples and the executor, as in `emulate`.

    Returns
    -------
    Comparison

    Raises
    ------
    TrigemuError
        If there is only one menu.

    Examples
    --------
    >>> import trigemu
    >>> result = trigemu.compare(["menus/primary.toml", "menus/baseline.toml"])
    >>> [(gain.b, round(gain.hz)) for gain in result.gained if gain.a == "primary"]
    [('baseline', 1351)]
    """
    given = menus if isinstance(menus, Emulation) else menus_of(menus)
    listed = given.menus if isinstance(given, Emulation) else given
    if len(listed) < 2:
        only = f"{listed[0].path}: " if listed else ""
        raise TrigemuError(f"{only}a comparison needs at least two menus")
    emulation = emulation_of(given, catalogue, engine_of(executor))
    emulation = replace(emulation, menus=named_apart(emulation.menus))
    names = [menu.name for menu in emulation.menus]
    numbers = [*combinations(range(len(names)), 2)]
    pairs = [compare_pair(emulation, i, j) for i, j in numbers]
    gained = {(gain.a, gain.b): gain for pair in pairs for gain in pair.gained}
    return Comparison(
        variants=tuple(rates_of(emulation, menu) for menu in emulation.menus),
        differences=tuple(difference for pair in pairs for difference in pair.differences),
        gained=tuple(gained[pair] for pair in permutations(names, 2)),
        common=tuple(common for pair in pairs for common in pair.common),
        changes=tuple(change for i, j in numbers for change in _changes(emulation, i, j)),
    )


class Pair(NamedTuple):
    """The comparison of two menus of an emulation."""

    differences: tuple[Difference, ...]
    gained: tuple[Gain, Gain]  # Of the second menu over the first, and of the first over the second
    common: tuple[Common, ...]


def compare_pair(emulation: Emulation, i: int, j: int) -> Pair:
    """Compare menus i and j of an emulation."""
    counted = emulation.counted(i, j)
    menus, bits = counted.menus, counted.bits
    crossing = [crossing_scale(menu, emulation.catalogue) for menu in menus]
    labels = [MENU]
    for menu in menus:
        labels += [Label("level", level, "rate") for level in menu.levels]
        labels += [Label("trigger", t.name, quantity) for t in menu.enabled for quantity in COMPARED]
    labels = [*dict.fromkeys(labels)]

    def differences(words: Words, menus: tuple[Menu, ...]) -> sparse.csr_array:
        """Return the difference of each compared rate, and the gains over each other, float64[m, columns].

        Triggers are sorted by name, so that two menus that contain the same triggers in different orders have
        a difference of exactly 0.
        """
        parts = []
        for menu, bit_of, scale in zip(menus, bits, crossing, strict=True):
            by_name = replace(menu, triggers=tuple(sorted(menu.triggers, key=attrgetter("name"))))
            of_menu = fractions(by_name, acceptances(words, by_name, bit_of), COMPARED)
            parts.append(of_menu.of(labels) * (scale / max(crossing)))
        difference = parts[1] - parts[0]
        menu = difference[:, [labels.index(MENU)]].toarray()
        gains = sparse.csr_array(np.hstack([np.maximum(menu, 0.0), np.maximum(-menu, 0.0)]))
        return sparse.hstack([difference, gains], "csr")

    hz, variance = counted.sums(differences, len(labels) + 2)
    *rates, gain, loss = zip(hz.tolist(), np.sqrt(variance).tolist(), strict=True)
    pairs = pairs_of(replace(counted, everything=min(crossing)))
    of_pairs = pairs._replace(variance=np.sqrt(pairs.variance))
    columns = (column.ravel().tolist() for column in of_pairs)
    a, b = (menu.name for menu in menus)
    triggers = product(*([trigger.name for trigger in menu.enabled] for menu in menus))
    what = {"menu": "menu", "level": "level {}", "trigger": "{}"}
    return Pair(
        tuple(
            Difference(a, b, what[label.what].format(label.name), f"{label.quantity}_hz", *rate)
            for label, rate in zip(labels, rates, strict=True)
        ),
        (Gain(a, b, *gain), Gain(b, a, *loss)),
        tuple(Common(a, b, *names, *of) for names, *of in zip(triggers, *columns, strict=True)),
    )


def _changes(emulation: Emulation, i: int, j: int) -> Iterator[Change]:
    """Yield what differs between the definitions of menus i and j of an emulation. Triggers are matched by
    name, including disabled ones that others read."""
    plan, a, b = emulation.plan, emulation.menus[i], emulation.menus[j]
    if a.crossing_rate_hz != b.crossing_rate_hz:
        rates = f"{_text(a.crossing_rate_hz)} → {_text(b.crossing_rate_hz)}"
        yield Change(a.name, b.name, "menu", f"crossing_rate_hz: {rates}")
    first, second = ({trigger.name: trigger for trigger in menu.used} for menu in (a, b))
    objects = [dict(menu.scope.objects) | {"ht": menu.scope.ht, "mht": menu.scope.mht} for menu in (a, b)]
    for name in dict.fromkeys((*first, *second)):
        how = []
        if name not in first or name not in second:
            how = [f"only in {b.name if name in second else a.name}"]
        else:
            tables = [_table(trigger) for trigger in (first[name], second[name])]
            how = [*_differences("", *tables)]
            texts = (text for table in tables for _, text in texts_of(table))
            words = {word.removeprefix("n_") for text in texts for word in _WORD.findall(text)}
            for word in sorted(words):
                before, after = (of_menu.get(word) for of_menu in objects)
                how += [f"{word} is defined differently"] if before != after else []
            if not how and plan.bits[i].get(name) != plan.bits[j].get(name):  # it decides differently
                how += ["its model"] if plan.models[i] != plan.models[j] else []
                how = how or ["its objects or sums"] * (a.scope != b.scope)
        if how:
            yield Change(a.name, b.name, name, "; ".join(how))


def _table(trigger: Trigger) -> dict[str, Any]:
    """Return the keys of a trigger in the menu; a threshold found from a budget is added to the budget."""
    keys = ("kind", "enabled", "group", "prescale", "coherent")
    table = {key: getattr(trigger, key) for key in keys} | {"seed": trigger.seed and trigger.seed.text}
    if trigger.budget:
        table[trigger.budget.key] = trigger.budget.hz
    table |= table_of(trigger.description)
    return table


def _differences(key: str, before: Any, after: Any) -> Iterator[str]:
    """Yield the differences of two values, down to the entries of lists and the keys of tables."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in dict.fromkeys((*before, *after)):
            yield from _differences(f"{key}.{name}" if key else name, before.get(name), after.get(name))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, pair in enumerate(zip(before, after, strict=True)):
            yield from _differences(f"{key}[{number}]", *pair)
    elif before != after:
        yield f"{key}: {_text(before)} → {_text(after)}"


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_text(part)}" for name, part in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and _SHA256.fullmatch(value):
        return f"{value[:12]}…"
    return "none" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
