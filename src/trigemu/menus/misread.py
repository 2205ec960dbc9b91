"""Warnings about parts of a menu that are valid, but often mean something else than their author thinks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from trigemu.menus.menu import Menu, Trigger
from trigemu.observables import Requirement, one_sided
from trigemu.support import excerpt

#: The number of triggers that a warning names.
_NAMED = 4


def signed_differences(requirements: Mapping[str, Iterable[Requirement]]) -> Iterator[str]:
    """Yield a warning if triggers accept one sign of Δφ or Δη only, which loses about half of the events
    where its size is meant.

    Parameters
    ----------
    requirements : mapping of str to iterable of Requirement
        The requirements of each trigger, by its name.
    """
    found = [f"{name!r} ({excerpt(text)})" for name, of in requirements.items() for text in one_sided(of)]
    if found:
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        yield (
            f"dphi and deta have a sign, φ1 − φ2 in (−π, π] and η1 − η2, and one-sided cuts on them accept "
            f"one sign only: {', '.join(found[:_NAMED])}{more}; write abs(…) if the distance is meant"
        )


def lost_prescales(menu: Menu) -> Iterator[str]:
    """Yield a warning for triggers of which a seed is disabled and has a prescaled seed itself: the raw
    decision of the former reads the latter before its prescale."""
    found = []
    for trigger in menu.enabled:
        seeds = trigger.seed.names() if trigger.seed else ()
        for name in seeds:
            if not menu.trigger(name).enabled:
                lost = [seed for seed in _prescaled_seeds(menu, name) if seed not in seeds]
                found += [(trigger.name, name, lost)] if lost else []
    for trigger_name, name, lost in found[:_NAMED]:
        yield (
            f"{trigger_name!r} does not get the prescale of {', '.join(map(repr, lost))}: its seed {name!r} "
            f"is disabled, so its raw decision counts, in which its own seeds are read before their "
            f"prescales; if they should apply, name them in the seed of {trigger_name!r} too"
        )
    if len(found) > _NAMED:
        yield f"the same holds for the seeds of {len(found) - _NAMED} more triggers"


def _prescaled_seeds(menu: Menu, name: str) -> Iterator[str]:
    """Yield the enabled triggers with a prescale that the raw decision of a trigger reads as seeds."""
    seeds = [t.seed.names() for t in menu.with_inputs([name]) if t.seed]
    for seed in dict.fromkeys(other for names in seeds for other in names):
        if menu.trigger(seed).enabled and _is_prescaled(menu.trigger(seed)):
            yield seed


def _is_prescaled(trigger: Trigger) -> bool:
    return any(prescale != 1.0 for prescale in (trigger.prescales or (trigger.prescale,)))
