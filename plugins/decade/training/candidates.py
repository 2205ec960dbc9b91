"""The observables that the triggers of a menu cut on, and that the correction may depend on."""

from __future__ import annotations

from dataclasses import dataclass

from trigemu.api import Kind, Menu, TrigemuError, threshold_observables


@dataclass(frozen=True)
class Candidate:
    """An observable that triggers of a menu cut on. triggers: their names."""

    observable: str
    triggers: tuple[str, ...]


def candidates(menu: Menu) -> tuple[Candidate, ...]:
    """Return the observables that the enabled triggers of a menu cut on, in order; TrigemuError if none."""
    names_of: dict[str, list[str]] = {}
    for trigger in menu.enabled:
        if isinstance(trigger.description, Kind):
            for observable, _ in threshold_observables(trigger.description):
                names_of.setdefault(observable, []).append(trigger.name)
    if not names_of:
        raise TrigemuError(
            f'{menu.path}: x = "menu": no enabled trigger cuts on an observable; list them in x'
        )
    return tuple(Candidate(observable, tuple(names)) for observable, names in names_of.items())
