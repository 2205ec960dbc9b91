"""Warnings about valid parts of a menu that authors often misunderstand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from trigemu.menus.menu import Menu, Trigger
from trigemu.observables import Requirement, one_sided
from trigemu.support import excerpt

#: The number of triggers that a warning names.
_NAMED = 4


def signed_differences(requirements: Mapping[str, Iterable[Requirement]]) -> Iterator[str]:
    """Yield a warning if triggers accept only one sign of Δφ or Δη, which loses about half of the events if
    its size is meant.

    Parameters
    ----------
    requirements : mapping of str to iterable of Requirement
        The requirements of each trigger, by its name.
    """
    differences = [
        f"{name!r} ({excerpt(text)})" for name, of in requirements.items() for text in one_sided(of)
    ]
    if differences:
        more = f" and {len(differences) - _NAMED} more" if len(differences) > _NAMED else ""
        yield (
            f"dphi and deta have a sign, φ1 − φ2 in (−π, π] and η1 − η2, and one-sided cuts on them accept "
            f"one sign only: {', '.join(differences[:_NAMED])}{more}; write abs(…) if the distance is meant"
        )


def lost_prescales(menu: Menu) -> Iterator[str]:
    """Yield a warning for triggers with a disabled seed that has a prescaled seed itself: the raw decision of
    the disabled one uses the other before its prescale."""
    lost_seeds = []
    for trigger in menu.enabled:
        seeds = trigger.seed.names() if trigger.seed else ()
        for name in seeds:
            if not menu.trigger(name).enabled:
                lost = [seed for seed in _prescaled_seeds(menu, name) if seed not in seeds]
                lost_seeds += [(trigger.name, name, lost)] if lost else []
    for trigger_name, name, lost in lost_seeds[:_NAMED]:
        yield (
            f"{trigger_name!r} does not get the prescale of {', '.join(map(repr, lost))}: its seed {name!r} "
            f"is disabled, so its raw decision counts, which uses its own seeds before their prescales; if "
            f"these should apply, name them in the seed of {trigger_name!r} too"
        )
    if len(lost_seeds) > _NAMED:
        yield f"the same applies to the seeds of {len(lost_seeds) - _NAMED} more triggers"


def _prescaled_seeds(menu: Menu, name: str) -> Iterator[str]:
    """Yield the enabled, prescaled triggers that the raw decision of a trigger uses as seeds."""
    seeds = [t.seed.names() for t in menu.with_inputs([name]) if t.seed]
    for seed in dict.fromkeys(other for names in seeds for other in names):
        if menu.trigger(seed).enabled and _is_prescaled(menu.trigger(seed)):
            yield seed


def _is_prescaled(trigger: Trigger) -> bool:
    return any(prescale != 1.0 for prescale in (trigger.prescales or (trigger.prescale,)))
