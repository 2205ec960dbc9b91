"""The contents of a report: rates, differences, exclusive rates, scans and efficiencies of some menus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from trigemu.base.errors import TrigemuError, nearest
from trigemu.emulation.loop import Emulation, emulate
from trigemu.emulation.plan import make_plan
from trigemu.emulation.sample_warnings import with_warnings
from trigemu.menus.menu import Menu, named_apart
from trigemu.rates.menu_rates import rates_of
from trigemu.results.section import Contents, Profiles
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.sample import Sample
from trigemu.studies.comparison import compare
from trigemu.studies.efficiency import efficiencies
from trigemu.studies.efficiency_profiles import ProfileSet, parse_bins
from trigemu.studies.exclusive import exclusive_rates
from trigemu.studies.intervals import Profile
from trigemu.studies.scan import Steps, parse_values, scan

#: A threshold from a rate budget is scanned over plus and minus this many of its errors, in this many steps
#: on each side.
ERRORS_SCANNED, STEPS_SCANNED = 20.0, 10
#: The turn-ons of a report without profiles, for objects of the menus and the signal: bins in GeV.
OBJECTS = {"jet": "0:200:10", "photon": "0:100:5", "electron": "0:100:5", "muon": "0:100:5", "tau": "0:100:5"}


def collect_contents(
    menus: Sequence[Menu],
    catalogue: Catalogue,
    profiles: Sequence[ProfileSet] = (),
    scans: Sequence[Steps] = (),
    signals: Sequence[str] = (),
    *,
    command: str = "",
    executor: Any = None,
) -> Contents:
    """Compute the contents of a report on menus. Without `scans`, thresholds from rate budgets are scanned.
    Turn-ons of leading objects are measured on `signals`; without these and `profiles`, on the first signal
    sample that has such objects, if the menus can be run on it. TrigemuError if a request cannot be met."""
    menus = named_apart(menus)
    names = {trigger.name for menu in menus for trigger in menu.enabled}
    for step in scans:
        if step.trigger not in names:
            raise TrigemuError(f"scan: unknown trigger {step.trigger!r}{nearest(step.trigger, names)}")
    for signal in signals:
        catalogue.sample(signal)  # before the passes over the events
    emulation = emulate(menus, catalogue, executor=executor)
    emulation = with_warnings(emulation, executor)
    comparison = compare(emulation) if len(menus) > 1 else None
    return Contents(
        variants=comparison.variants if comparison else (rates_of(emulation),),
        comparison=comparison,
        combinations=tuple(exclusive_rates(emulation, menu) for menu in emulation.menus),
        scans=tuple(
            (menu, scan(_on_its_half(menu, catalogue), [step], catalogue, executor=executor))
            for menu in emulation.menus
            for step in scans or _around_solutions(menu)
            if step.trigger in {trigger.name for trigger in menu.enabled}
        ),
        profiles=tuple(profiles),
        turnons=tuple(_turnons(emulation, profiles, signals, executor)),
        command=command,
    )


def parse_scan(text: str) -> Steps:
    """Read a scan such as `J100=60:160:5`. TrigemuError if the text is not one."""
    trigger, equals, values = text.rpartition("=")
    if not equals or not trigger:
        raise TrigemuError(f"scan {text!r}: expected TRIGGER=FIRST:LAST:STEP, or TRIGGER=VALUE,VALUE,…")
    return Steps(trigger, parse_values(values))


def _on_its_half(menu: Menu, catalogue: Catalogue) -> Menu:
    """Return the menu marked as fitted on the catalogue. A scan drops the solution of a threshold; with the
    mark it uses the same half of the events as the rates in the report."""
    name = catalogue.table.name
    triggers = (replace(t, fitted_on=name) if t.solution else t for t in menu.triggers)
    return replace(menu, triggers=tuple(triggers))


def _around_solutions(menu: Menu) -> Iterator[Steps]:
    """Yield the steps around each threshold from a rate budget, which is one of the steps."""
    for trigger in menu.enabled:
        if trigger.solution and trigger.solution.error > 0:
            width = ERRORS_SCANNED * trigger.solution.error / STEPS_SCANNED
            offsets = range(-STEPS_SCANNED, STEPS_SCANNED + 1)
            yield Steps(trigger.name, tuple(trigger.solution.threshold + width * i for i in offsets))


def _turnons(
    emulation: Emulation, requested: Sequence[ProfileSet], signals: Sequence[str], executor: Any
) -> Iterator[Profiles]:
    menus, catalogue = emulation.menus, emulation.catalogue
    for profiles in requested:
        result = profiles.measure(menus, catalogue, executor=executor)
        yield Profiles(profiles.observables, result, profiles)
    for signal in signals:
        yield _leading_objects(emulation, catalogue.sample(signal), executor)
    if not (requested or signals):
        with suppress(TrigemuError):  # nobody requested these turn-ons, so a failure is not an error
            known = (sample for sample in catalogue.samples if sample.table.role == "signal")
            if sample := next((sample for sample in known if _observables(emulation, sample)), None):
                yield _leading_objects(emulation, sample, executor)


def _leading_objects(emulation: Emulation, signal: Sample, executor: Any) -> Profiles:
    """Measure the turn-ons of leading objects on a signal. TrigemuError if it has none that menus read."""
    if not (observables := _observables(emulation, signal)):
        known = ", ".join(OBJECTS)
        raise TrigemuError(f"sample {signal.name!r} has no collection that the menus read, of {known}")
    result = efficiencies(emulation.menus, emulation.catalogue, [signal.name], observables, executor=executor)
    return Profiles(observables, result, None)


def _observables(emulation: Emulation, signal: Sample) -> tuple[Profile, ...]:
    """Return the leading pT of each object that is read by the menus and present in the signal."""
    read = {collection for collection, _ in make_plan(emulation.menus).needs}
    return tuple(
        Profile(f"{name}[0].pt", parse_bins(bins), f"leading {name} pT", "GeV")
        for name, bins in OBJECTS.items()
        if name in read and name in signal.schema.collections
    )
