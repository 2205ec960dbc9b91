"""Units of thresholds and observables for figures: given by the menu, or derived from the observable."""

from __future__ import annotations

from trigemu.menus.menu import Menu, Trigger
from trigemu.observables import parse_observable, unit_of
from trigemu.support import TrigemuError


def unit_of_threshold(menu: Menu, trigger: Trigger) -> str:
    """Return the unit of the threshold of a trigger.

    Parameters
    ----------
    menu : Menu
        Its menu.
    trigger : Trigger
        The trigger.

    Returns
    -------
    str
        Such as "GeV"; empty if it has none or an unknown one.
    """
    observable = _observable(trigger)
    return unit_of_observable(menu, observable) if trigger.unit is None and observable else trigger.unit or ""


def unit_of_observable(menu: Menu, text: str) -> str:
    """Return the unit of an observable.

    Parameters
    ----------
    menu : Menu
        The menu that defines the names.
    text : str
        The observable.

    Returns
    -------
    str
        The unit of a trigger of the menu with a threshold on it, else the one that follows from the
        observable; empty if it has none.
    """
    for trigger in menu.triggers:
        if trigger.unit is not None and _observable(trigger) == text:
            return trigger.unit
    try:
        return unit_of(parse_observable(text, menu.scope))
    except TrigemuError:  # in names of a file of profiles
        return ""


def _observable(trigger: Trigger) -> str | None:
    """Return the observable that a trigger has a threshold on, if its kind has such a key."""
    text = getattr(trigger.description, "observable", None)
    return text if isinstance(text, str) else None
