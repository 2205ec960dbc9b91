"""Emulate menus at other thresholds from the scores of one pass over the events.

A score table (`counting/score_table.py`) has the scores above the lowest threshold of each trigger. Menus of
these triggers with the same or higher thresholds, and with any prescales, seeds, groups and `logic`, are then
emulated without reading events, with the same result to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from trigemu.base.arrays import FloatArray, IntArray, Words
from trigemu.base.errors import SampleError, TrigemuError, in_brackets
from trigemu.base.fingerprint import fingerprint
from trigemu.counting.patterns import Keys, PatternTable
from trigemu.counting.score_table import ScoreTable
from trigemu.emulation.budgets import BudgetEvents, solved_by
from trigemu.emulation.loop import Emulation, counts_rejected
from trigemu.emulation.plan import Plan, make_plan
from trigemu.emulation.scaling import fitted_in, half_scales, unseen_half
from trigemu.menus.menu import Menu, Trigger
from trigemu.menus.prescales import at_own_column
from trigemu.menus.read import MenuLike, MenusLike, menu_of, menus_of
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.split import EVALUATION
from trigemu.triggers.base import ScoreKind


class ThresholdRange(NamedTuple):
    """The lowest and the highest threshold at which a score table can be evaluated."""

    low: float  # low, high: The two thresholds
    high: float


@dataclass(frozen=True)
class Stored:
    """The position in a table of the score or decision of some triggers."""

    names: tuple[str, ...]  # The triggers
    column: int  # The column of their score, or −1
    bit: int  # The bit of their decision, or −1 if they have a score
    above: float  # The value above which scores are known


@dataclass(frozen=True, repr=False)
class Scores:
    """The scores of the events that menus may accept, for emulation at other thresholds.

    Attributes
    ----------
    menus : tuple of Menu
        The menus that the table was made for, with their budgets solved.
    catalogue : Catalogue
        The samples.
    table : ScoreTable
        The events of the background.
    signals : mapping of str to ScoreTable
        All events of the signals, by the name of the sample.
    threshold_ranges : mapping of str to ThresholdRange
        The range of each trigger that has a threshold, by name.
    stored : mapping of str to Stored
        The position of the score or decision of a trigger, by the fingerprint of its definition.
    made_with : frozenset of str
        The SHA-256 of the models and plugins of the menus.
    """

    menus: tuple[Menu, ...]
    catalogue: Catalogue
    table: ScoreTable
    signals: Mapping[str, ScoreTable]
    threshold_ranges: Mapping[str, ThresholdRange]
    stored: Mapping[str, Stored] = field(repr=False)
    made_with: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return in_brackets(self, f"{len(self.table)} events, {self.table.scores.shape[1]} scores")

    def parts(self) -> Iterator[tuple[str, ScoreTable]]:
        """Yield the table of the background, with the name '', and those of the signals."""
        yield "", self.table
        yield from self.signals.items()

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
            The same as that of `emulate`, to the last bit.

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
        counted = self.table.count(
            words,
            Keys(self.table.half if half is not None else None, bin, self.table.stratum),
            self._rest(words.shape[1], ("stratum",) if half is None else ("half", "stratum")),
            self.catalogue.with_parents,
            counts_rejected(solved, plan, self.catalogue),
        )
        plan = replace(plan, bits=bits)
        fitted = fitted_in(solved, plan, self.catalogue)
        return Emulation(input_menus, solved, self.catalogue, plan, counted, half, fitted)

    def solve_budgets(self, menus: MenusLike) -> tuple[Menu, ...]:
        """Return menus with their rate budgets solved, as the function `solve_budgets` does.

        Parameters
        ----------
        menus : path, Menu, or list of these
            Menus of triggers in the table.

        Returns
        -------
        tuple of Menu

        Raises
        ------
        TrigemuError
            If a budget cannot be met, or not with the scores in the table.
        """
        menus = tuple(map(at_own_column, menus_of(menus)))
        if not any(menu.budgeted for menu in menus):
            return menus
        if (self.table.weight < 0).any():
            raise SampleError("the table has events of negative weight: no threshold can be fitted to them")
        plan = make_plan(menus)
        unseen = unseen_half(menus, plan, self.catalogue)
        half = EVALUATION if unseen is None else unseen
        bits, words = self._decided(menus, plan)
        stored_of = {
            bit_of[trigger.name]: self._stored(scope, trigger)
            for menu, bit_of in zip(menus, bits, strict=True)
            for scope in [fingerprint(menu.scope)]
            for trigger in menu.budgeted
        }
        slots = sorted(stored_of)
        scores = self.table.scores[:, [stored_of[slot].column for slot in slots]]
        keep = (self.table.half == half) & (scores > -np.inf).any(axis=1)
        shared = np.isin(self.table.sample, sorted(self.catalogue.with_parents))
        columns = (self.table.sample, self.table.weight, self.table.parent, shared, words, scores)
        return solved_by(
            menus,
            bits,
            slots,
            BudgetEvents(*(column[keep] for column in columns)),
            half_scales(self.table.by_half(), half, self.catalogue),
            self.catalogue,
            {slot: stored.above for slot, stored in stored_of.items()},
        )

    def score(self, trigger: str, menu: MenuLike | None = None) -> FloatArray:
        """Return the score of a trigger for each event of the background.

        Parameters
        ----------
        trigger : str
            The name of a trigger with a threshold.
        menu : path or Menu, optional
            Its menu; by default the first one that the table was made for.

        Returns
        -------
        float64[n]
            The scores; −∞ if they are not above the lowest threshold.

        Raises
        ------
        TrigemuError
            If the table has no such score.
        """
        scored_menu = self.menus[0] if menu is None else menu_of(menu)
        stored = self._stored(fingerprint(scored_menu.scope), scored_menu.trigger(trigger))
        if stored.column < 0:
            raise TrigemuError(f"{scored_menu.trigger(trigger).place}: trigger {trigger!r} has no score")
        return self.table.scores[:, stored.column]

    def _rest(self, words: int, keys: tuple[str, ...]) -> PatternTable:
        """Return the events that are left out, with patterns of `words` words, by some of their `keys`."""
        rest = self.table.rest.onto((), keys)
        return replace(rest, words=np.zeros((len(rest), words), np.uint64))

    def _stored(self, scope: str, trigger: Trigger) -> Stored:
        """Return the position of a trigger in the table. Raises TrigemuError if it is missing, or its scores
        are unknown. scope: fingerprint of the scope of its menu."""
        stored = self.stored.get(definition(scope, trigger))
        where = f"{trigger.place}: trigger {trigger.name!r}"
        if stored is None:
            raise TrigemuError(
                f"{where}: the score table was made without this trigger, or with another definition of it: "
                f"make the table again"
            )
        kind = trigger.description
        if isinstance(kind, ScoreKind) and kind.threshold < stored.above:
            raise TrigemuError(
                f"{where}: its threshold {kind.threshold:g} is below {stored.above:g}, the lowest one of the "
                f"score table: make the table with --vary {trigger.name}={kind.threshold:g}:…"
            )
        return stored

    def _decided(self, menus: Sequence[Menu], plan: Plan) -> tuple[tuple[dict[str, int], ...], Words]:
        """Return the bit of each trigger of each menu, and the patterns of the events."""
        self._check_models(menus, plan)
        table = self.table
        number: dict[tuple[int, float], int] = {}
        bits: list[dict[str, int]] = []
        for menu, names in zip(menus, plan.bits, strict=True):
            bits.append({})
            scope = fingerprint(menu.scope)
            for name in names:
                trigger = menu.trigger(name)
                stored, kind = self._stored(scope, trigger), trigger.description
                decision = (
                    (stored.column, kind.threshold) if isinstance(kind, ScoreKind) else (-1, stored.bit)
                )
                bits[-1][name] = number.setdefault(decision, len(number))
        words = np.zeros((len(table), max(1, -(-len(number) // 64))), np.uint64)
        for (column, value), bit in number.items():
            if column >= 0:
                fired = table.scores[:, column] > value
            else:
                word, place = divmod(int(value), 64)
                fired = (table.words[:, word] >> np.uint64(place)) & np.uint64(1) != 0
            words[:, bit // 64] |= fired.astype(np.uint64) << np.uint64(bit % 64)
        return tuple(bits), words

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


def range_mistake(low: float, high: float) -> str:
    """Return the mistake in a range of thresholds, or an empty text."""
    if not -math.inf < low <= high < math.inf:
        return f"expected LOW ≤ HIGH, both finite, not {low:g} and {high:g}"
    return "" if high - low < math.inf else f"the range from {low:g} to {high:g} is too wide for a float"


def definition(scope: str, trigger: Trigger) -> str:
    """Return a fingerprint of the definition of a trigger, without its threshold."""
    kind = trigger.description
    return fingerprint(scope, kind.at(0.0) if isinstance(kind, ScoreKind) else kind)
