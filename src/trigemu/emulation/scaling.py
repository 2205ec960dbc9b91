"""Scale rates: to the crossing rate of a menu, and from one half of a sample to the full sample; the patterns
that rates are computed from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np
from scipy import sparse

from trigemu.base.arrays import BoolArray, FloatArray, Words
from trigemu.base.errors import SampleError, TrigemuError
from trigemu.counting.decisions import own_decisions
from trigemu.counting.patterns import Keys, PatternTable, count_patterns
from trigemu.counting.sums import RateSums, Scales, pattern_blocks
from trigemu.emulation.plan import Plan
from trigemu.menus.menu import Menu, Trigger
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events
from trigemu.samples.split import EVALUATION, HALF_NAMES, half_of, other_half
from trigemu.triggers.base import BitKind, TrainedOn
from trigemu.triggers.logic import Random


def crossing_scale(menu: Menu, catalogue: Catalogue) -> float:
    """Return the factor on all rates from the crossing rate of samples to that of a menu."""
    crossing = catalogue.table.convention == "crossing"
    return menu.crossing_rate_hz / catalogue.crossing_rate_hz if crossing else 1.0


def unseen_half(menus: Sequence[Menu], plan: Plan, catalogue: Catalogue) -> int | None:
    """Return the half of samples that no model was trained on, for rates and for solving budgets."""
    trained = (on for triggers in plan.trained_on for trained_on in triggers.values() for on in trained_on)
    seen = {HALF_NAMES.index(on.half) for on in _on_these(trained, catalogue)}
    if len(seen) > 1:
        raise TrigemuError(
            f"{', '.join(str(menu.path) for menu in menus)}: models of these triggers were trained on both "
            f"halves of {catalogue.table.name}, so no event is unseen: use models that were trained on the "
            f"same half"
        )
    if seen:
        return other_half(seen.pop())
    fitted = (_has_fitted_threshold(trigger, catalogue) for menu in menus for trigger in menu.used)
    return EVALUATION if any(fitted) else None


def fitted_in(menus: Sequence[Menu], plan: Plan, catalogue: Catalogue) -> tuple[frozenset[str], ...]:
    """Return for each menu the triggers that were fitted to samples, and those that read their decisions."""
    all_fitted = []
    for menu, trained_on in zip(menus, plan.trained_on, strict=True):
        fitted: set[str] = set()
        used = {trigger.name for trigger in menu.used}
        for name in menu.order:  # each after those that it reads
            trigger = menu.trigger(name)
            is_fitted = _has_fitted_threshold(trigger, catalogue)
            is_fitted = is_fitted or bool(_on_these(trained_on.get(name, ()), catalogue))
            if name in used and (is_fitted or not fitted.isdisjoint(trigger.inputs())):
                fitted.add(name)
        all_fitted.append(frozenset(fitted))
    return tuple(all_fitted)


def _has_fitted_threshold(trigger: Trigger, catalogue: Catalogue) -> bool:
    return trigger.solution is not None or trigger.fitted_on == catalogue.table.name


def _on_these(trained_on: Iterable[TrainedOn], catalogue: Catalogue) -> list[TrainedOn]:
    """Select the training events that belong to a catalogue, by its name or the digest of a file."""

    def belongs(on: TrainedOn) -> bool:
        digests = {digest.lower() for digest in on.files}  # only these need the digests of the samples
        return on.catalogue == catalogue.table.name or any(
            not digests.isdisjoint(sample.digests) for sample in catalogue.samples if digests
        )

    return [*filter(belongs, trained_on)]


def half_scales(table: PatternTable, half: int, catalogue: Catalogue) -> FloatArray:
    """Return Σw(all) / Σw(half) of each sample. Returns float64[samples]."""
    scales = table.share_scales(half, len(catalogue.samples))
    for sample in catalogue.background:
        if not 0.0 < scales[sample.number] < np.inf:
            raise SampleError(
                f"sample {sample.name!r}: there is no weight in its {HALF_NAMES[half]} half, so a model or "
                f"threshold fitted on the other half cannot be evaluated: the sample needs more events"
            )
    return scales


def weights_by_half(sample: int, events: Events) -> PatternTable:
    """Sum the weights of a chunk by half; `half_scales` follow from the merged tables of all chunks."""
    half, weight = half_of(events.parent[events.core]), events.weight[events.core]
    return count_patterns(sample, np.zeros((len(half), 1), np.uint64), weight, Keys(half))


def refuse_negative(events: Events) -> None:
    """Refuse events with negative weights: neither thresholds nor models can be fitted to them."""
    if len(events) and events.weight.min() < 0:
        event = events.id[int(events.weight.argmin())]
        raise SampleError(
            f"sample {events.sample!r}, event {event}: its weight is negative: neither a threshold nor a "
            f"model can be fitted if accepting an event lowers the rate"
        )


#: Computes the fractions of some quantities, float64[m, columns], from patterns uint64[m, w] and menus.
FractionsOf = Callable[[Words, tuple[Menu, ...]], FloatArray | sparse.csr_array]


@dataclass(frozen=True)
class Counted:
    """The patterns of some menus of an emulation."""

    table: PatternTable  # The patterns of their triggers, in the selected bin
    scales: Scales  # Their factors in the rates
    menus: tuple[Menu, ...]  # The menus
    bits: tuple[Mapping[str, int], ...]  # For each menu, the bits of its triggers
    fitted: tuple[frozenset[str], ...]  # For each menu, the triggers that are judged on the unseen half
    # For each menu, the triggers that accept all events alike, as a random trigger. Their rates, and what
    # they add to others, are known without events; empty if the weight of all events is not known, as in
    # one bin
    constant: tuple[frozenset[str], ...]

    def blocks(self) -> Iterator[slice]:
        """Yield the entries of the table in blocks."""
        return pattern_blocks(self.table, *self.menus)

    @cached_property
    def without_fitted(self) -> tuple[Menu, ...]:
        """The menus with their fitted triggers switched off."""
        return tuple(map(switched_off, self.menus, self.fitted))

    @cached_property
    def is_fitted(self) -> tuple[BoolArray, ...]:
        """For each menu, whether each of its t enabled triggers is fitted, bool[t]."""
        return self._enabled(self.fitted)

    @cached_property
    def is_constant(self) -> tuple[BoolArray, ...]:
        """The same for `constant`."""
        return self._enabled(self.constant)

    def _enabled(self, names: tuple[frozenset[str], ...]) -> tuple[BoolArray, ...]:
        menus = zip(self.menus, names, strict=True)
        return tuple(np.array([t.name in of_menu for t in m.enabled], np.bool_) for m, of_menu in menus)

    def sums(self, fractions_of: FractionsOf, columns: int) -> tuple[FloatArray, FloatArray]:
        """Return Σ w f of some quantities in Hz and its variance in Hz², float64[columns] each."""
        sums = RateSums(self.table, self.scales, columns, self.constant_part(fractions_of))
        for rows in self.blocks():
            sums.add(rows, self.fractions(rows, fractions_of))
        return sums.result()

    def constant_part(self, fractions_of: FractionsOf) -> FloatArray | None:
        """Return the fractions of an event that only `constant` triggers accept, float64[columns]; None
        without such a trigger."""
        if not any(self.constant):
            return None
        nothing = np.zeros((1, self.table.words.shape[1]), np.uint64)
        menus = zip(self.menus, self.constant, strict=True)
        alone = (switched_off(m, frozenset(t.name for t in m.triggers) - names) for m, names in menus)
        return np.asarray(sparse.csr_array(fractions_of(nothing, tuple(alone))).toarray()[0])

    def fractions(self, rows: slice, fractions_of: FractionsOf) -> sparse.csr_array:
        """Return the fractions of the entries of a block in some quantities, float64[m, columns]."""
        return self.with_unseen_half(rows, fractions_of(self.table.words[rows], self.menus), fractions_of)

    def with_unseen_half(
        self, rows: slice, fractions: FloatArray | sparse.csr_array, fractions_of: FractionsOf
    ) -> sparse.csr_array:
        """Return the same from known fractions in the menus."""
        fractions, is_touched = sparse.csr_array(fractions), self.touched[rows]
        touched = np.flatnonzero(is_touched)
        if not len(touched):
            return fractions
        entries, n = touched + rows.start, len(touched)
        without = sparse.csr_array(fractions_of(self.table.words[entries], self.without_fitted))
        with_half = self.scales.with_unseen_half(entries, fractions[touched], without)
        place = sparse.csr_array((np.ones(n), (touched, np.arange(n))), (len(is_touched), n))
        return sparse.diags_array((~is_touched).astype(np.float64)) @ fractions + place @ with_half

    @cached_property
    def touched(self) -> BoolArray:
        """bool[m]: whether a fitted trigger may accept an entry; otherwise it has no effect."""
        touched = np.zeros(len(self.table), np.bool_)
        for menu, bits, names in zip(self.menus, self.bits, self.fitted, strict=True):
            if names:  # in a column of prescales, some may not be used
                decided = own_decisions(self.table.words, menu.part(names), bits)
                for name in names & decided.keys():
                    touched |= decided[name]
        return touched


def constant_in(menu: Menu) -> frozenset[str]:
    """Return the triggers that accept all events alike: random ones, and what reads nothing else."""
    constant: set[str] = set()
    for name in menu.order:  # each after those that it reads
        trigger = menu.trigger(name)
        reads, kind = trigger.inputs(), trigger.description
        if constant.issuperset(reads) and (
            isinstance(kind, Random) or (isinstance(kind, BitKind) and kind.inputs())
        ):
            constant.add(name)
    return frozenset(constant)


def switched_off(menu: Menu, names: frozenset[str]) -> Menu:
    """Return a menu with some of its triggers switched off as by a column of prescales, which also affects
    triggers that read them."""
    triggers = (replace(t, prescale=inf) if t.name in names else t for t in menu.triggers)
    return replace(menu, triggers=tuple(triggers))
