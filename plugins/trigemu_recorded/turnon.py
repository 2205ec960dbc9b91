"""Turn-ons of triggers against other objects than their own, such as offline or generated ones.

A probe is an object of another collection. It passes if the trigger fires, and an object that satisfies its
leg is closer than ΔR. With a tag, only those probes count in whose event another object, the tag, is matched
to an object of a reference trigger that fires. The event would have been kept without the probe, whose
efficiency is therefore not biased.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from trigemu.base.arrays import BoolArray, IntArray, Words
from trigemu.base.errors import TrigemuError, few_of, names_of
from trigemu.base.mapping import engine_of
from trigemu.emulation.budgets import solve_budgets
from trigemu.emulation.plan import bit_of_words, check_needs, make_plan
from trigemu.menus.menu import Menu
from trigemu.menus.read import MenuLike
from trigemu.observables.selections import ObjectSelection
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import Collection, Events, Need
from trigemu.samples.memory import SamplesLike, samples_of
from trigemu.studies.efficiency import Efficiencies, efficiencies
from trigemu.studies.intervals import Profile, edges_of

from .turnon_fit import Fit, fit_turnon

#: Parts of each bin in which the fit takes the efficiency as constant.
STEPS = 20


@dataclass(frozen=True)
class Probes:
    """What a turn-on is measured against."""

    against: str  #: The collection of the probes: an object of the menu, or a collection of the sample
    dr: float = 0.2  #: The ΔR of matched objects
    leg: int | None = None  #: The number of the leg, from 0, of triggers whose legs differ
    tag: str | None = None  #: The reference trigger, whose first leg tags match; None: all objects are probes
    mass: tuple[float, float] | None = None  #: The mass window of tag and probe in GeV
    samples: tuple[str, ...] = ()  #: The samples; by default all of the background
    require: str | None = None  #: The condition on a probe, probe[0], and its event; by default the sample's

    def __post_init__(self) -> None:
        if not self.dr > 0:
            raise TrigemuError(f"ΔR {self.dr:g}: expected a number above 0")
        if self.mass and not (self.tag and self.mass[0] < self.mass[1]):
            raise TrigemuError(f"mass {self.mass}: expected two ascending ones, of a tag (--tag) and a probe")


@dataclass(frozen=True, repr=False, kw_only=True)
class MatchedTurnons(Efficiencies):
    """Efficiencies of triggers against the pT of probes, with fits; the `events` of a turn-on are probes."""

    _view: ClassVar[str] = "trigemu_recorded.turnon_view:MatchedTurnonsView"

    probes: Probes  #: What they are measured against
    #: The fit of each curve to the probes within the bins; None if it has no rise there that they resolve
    fits: tuple[Fit | None, ...]


def matched_turnons(
    menu: MenuLike,
    triggers: str | Sequence[str],
    probes: Probes,
    edges: Sequence[float],
    catalogue: SamplesLike = None,
    *,
    executor: Any = None,
) -> MatchedTurnons:
    """Measure and fit the turn-ons of triggers against the pT of probes.

    Parameters
    ----------
    menu : path or Menu
        The menu.
    triggers : str or sequence of str
        The names of triggers with thresholds on objects; prescales do not count.
    probes : Probes
        What they are measured against.
    edges : sequence of float
        The edges of bins in pT, in GeV.
    catalogue, executor
        As in `emulate`.

    Raises
    ------
    TrigemuError
        If a trigger does not fire on objects, a name is unknown, or there is no probe.
    """
    edges, names = edges_of("pT", edges), names_of("the triggers", triggers)
    engine = engine_of(executor)
    catalogue = samples_of(catalogue, executor=engine)
    samples = probes.samples or tuple(sample.name for sample in catalogue.background)
    (menu,) = solve_budgets(menu, catalogue, executor=engine)
    part = menu.part(filter(None, (*names, probes.tag)))
    part = replace(part, triggers=tuple(replace(t, prescale=1.0, enabled=True) for t in part.triggers))
    legs = tuple(_leg(part, menu, name, probes.leg) for name in names)
    tag = _leg(part, menu, probes.tag, 0) if probes.tag else None
    entries = ProbeEntries(menu.scope.object(probes.against), probes, legs, tag)
    needs = (*entries.objects.needs(), (entries.base, "eta"), (entries.base, "phi"))
    check_needs(map(catalogue.sample, samples), needs, f"turn-ons against {probes.against} need")
    profile = Profile("probe[0].pt", edges, f"{probes.against} pT", "GeV")
    steps = np.linspace(edges[:-1], edges[1:], STEPS, False, axis=1).ravel().tolist()
    fine = Profile(profile.observable, (*steps, edges[-1]))
    what = samples, (profile, fine), (), probes.require, names
    result = efficiencies(part, catalogue, *what, entries=entries, executor=engine)
    turnon, narrow = (replace(t, curves=tuple(c for c in t.curves if c.trigger)) for t in result.turnons)
    centres = np.convolve(fine.edges, (0.5, 0.5), "valid")
    fits = (fit_turnon(centres, np.nan_to_num(c.value), narrow.effective_events) for c in narrow.curves)
    return MatchedTurnons(**vars(result) | {"turnons": (turnon,)}, probes=probes, fits=tuple(fits))


#: The bit of a trigger in the plan, and the objects that satisfy its leg.
_Leg = tuple[int, ObjectSelection]


def _leg(part: Menu, menu: Menu, name: str, number: int | None) -> _Leg:
    """Return the leg of a trigger in part of a menu; `number` is needed if its legs differ."""
    where, legs = f"{menu.path}: trigger {name!r}", _legs(part).get(name, ())
    if not legs:
        others = few_of([other for other, found in _legs(menu).items() if found], 9)
        raise TrigemuError(
            f"{where} has no objects that probes could be matched to: expected a threshold on an object, "
            f"such as jet[0].pt, a combination or a leg_threshold, here {others or 'none'}"
        )
    if (number is None and len({*legs}) > 1) or (number or 0) >= len(legs):
        raise TrigemuError(f"{where}: expected one of its legs (--leg), 0 to {len(legs) - 1}")
    return legs[number or 0]


def _legs(menu: Menu) -> dict[str, list[_Leg]]:
    plan = make_plan(menu)
    return {
        name: [(bit, leg) for leg in plan.slots[bit].compiled.leg_objects]
        for name, bit in plan.bits[0].items()
    }


@dataclass(frozen=True)
class ProbeEntries:
    """Probes, which are counted in place of events."""

    objects: ObjectSelection
    probes: Probes
    legs: tuple[_Leg, ...]  # Of the triggers
    tag: _Leg | None  # Of the reference trigger
    name: str = "probe"

    @property
    def base(self) -> str:
        return self.objects.base

    def needs(self) -> Iterator[Need]:
        for _, leg in filter(None, (*self.legs, self.tag)):
            yield from self._clear(leg).needs()

    def __call__(self, work: Workspace, words: Words) -> tuple[Events, Words]:
        events = work.events
        event = np.repeat(np.arange(len(events)), np.diff(work.objects(self.objects).offsets))
        words, enters = words[event], np.isin(event, np.arange(len(events))[events.core])
        if self.tag:
            enters &= self._beside(self._passing(work, words, self.tag), event, work)
        for bit, leg in self.legs:
            words[~self._passing(work, words, (bit, leg)), bit // 64] &= ~(
                np.uint64(1) << np.uint64(bit % 64)
            )
        rows, columns = work.rows(self.objects)[enters], events.collections[self.base].columns
        own = {name: work.column(ObjectSelection(self.base), name)[rows] for name in columns}
        entries = events[event[enters]]
        probe = {self.name: Collection(np.arange(len(rows) + 1), own)}
        both = ChainMap(probe, entries.collections)  # type: ignore[arg-type]  # read only
        return replace(entries, collections=both), words[enters]

    def _passing(self, work: Workspace, words: Words, leg: _Leg) -> BoolArray:
        """Return which objects are in events that a trigger accepts, and matched to its leg, bool[m]."""
        clear = work.rows(self._clear(leg[1]))
        matched = ~np.isin(work.rows(self.objects), clear, assume_unique=True)
        return matched & bit_of_words(words, leg[0])

    def _clear(self, leg: ObjectSelection) -> ObjectSelection:
        """Return the objects that are not matched to one of a leg."""
        return ObjectSelection(self.base, self.objects, overlap=(leg, self.probes.dr))

    def _beside(self, is_tag: BoolArray, event: IntArray, work: Workspace) -> BoolArray:
        """Return which objects have a tag in their event, bool[m]: in the mass window, and 2 ΔR away, so that
        no object of a trigger is near both."""
        pt, eta, phi = (work.column(self.objects, name).astype(np.float64) for name in ("pt", "eta", "phi"))
        least, most = self.probes.mass or (0.0, np.inf)
        beside = np.zeros(len(event), np.bool_)
        for distance in range(1, int(np.bincount(event).max(initial=0))):
            first = np.flatnonzero(event[distance:] == event[:-distance])
            second = first + distance
            d_eta, d_phi = eta[first] - eta[second], np.angle(np.exp(1j * (phi[first] - phi[second])))
            mass = np.sqrt(2 * pt[first] * pt[second] * (np.cosh(d_eta) - np.cos(d_phi)))
            fits = (np.hypot(d_eta, d_phi) >= 2 * self.probes.dr) & (mass >= least) & (mass <= most)
            for probe, tag in ((first, second), (second, first)):
                beside[probe[fits & is_tag[tag]]] = True
        return beside
