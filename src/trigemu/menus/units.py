"""Units of thresholds and observables: given by the menu, or derived from the observable. They are labels of
figures and tables; nothing is converted."""

from __future__ import annotations

from trigemu.menus.menu import Menu, Trigger
from trigemu.observables import Arithmetic, Constant, Number, Scope, parse_observable, unit_of
from trigemu.support import TrigemuError, excerpt
from trigemu.triggers import BitKind, Kind, LegThreshold


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


def unit_mistake(description: Kind | BitKind, unit: str, scope: Scope) -> str:
    """Return the mistake in the unit of a trigger: that its score has another one, which does not depend on
    factors in the menu.

    Parameters
    ----------
    description : Kind or BitKind
        The trigger.
    unit : str
        The unit that the menu gives.
    scope : Scope
        The meaning of names.

    Returns
    -------
    str
        Empty if there is none, or the unit of the score is not known.
    """
    text = getattr(description, "observable", None)
    if isinstance(description, LegThreshold) and description.leg < len(description.legs):
        text = f"{description.legs[description.leg].object}[0].{description.column}"
    if not isinstance(text, str):
        return ""
    try:
        number = parse_observable(text, scope)
    except TrigemuError:  # a mistake of its own
        return ""
    known = unit_of(number)
    if not known or unit == known or _is_scaled(number):
        return ""
    return (
        f"unit = {excerpt(unit)!r}: {excerpt(text)} is in {known}, and a unit converts nothing: write the "
        f'threshold in {known}, and unit = "{known}" or none'
    )


def _is_scaled(number: Number) -> bool:
    """Whether a constant factor may change the unit, as in jet[0].pt / 1000."""
    if not isinstance(number, Arithmetic):
        return False
    factor = number.operation in "*/" and any(isinstance(part, Constant) for part in number.operands)
    return factor or any(_is_scaled(part) for part in number.operands)


def _observable(trigger: Trigger) -> str | None:
    """Return the observable that a trigger has a threshold on, if its kind has such a key."""
    text = getattr(trigger.description, "observable", None)
    return text if isinstance(text, str) else None
