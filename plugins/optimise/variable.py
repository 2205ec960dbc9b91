"""What varies of a menu, and the menu at other values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from trigemu.api import Menu, ScoreKind


@dataclass(frozen=True)
class Variable:
    """A threshold, a prescale or a switch of one trigger, or of several that are tied.

    Attributes
    ----------
    what : {"above", "prescale", "enabled"}
        The key of the menu that varies.
    triggers : tuple of str
        The triggers.
    values : tuple of float
        The allowed values, from the loosest to the tightest: ascending thresholds or prescales; 1 before 0
        for a switch.
    written : float
        The value in the menu, of the first trigger.
    """

    what: Literal["above", "prescale", "enabled"]
    triggers: tuple[str, ...]
    values: tuple[float, ...]
    written: float

    @property
    def name(self) -> str:
        """The triggers, and what varies unless it is the threshold."""
        return " = ".join(self.triggers) + {"above": "", "prescale": " prescale", "enabled": " on"}[self.what]


def menu_at(menu: Menu, variables: Sequence[Variable], point: Sequence[int]) -> Menu:
    """Return a menu with the values of a `point`: the index of the value of each variable."""
    return with_values(menu, variables, [v.values[int(i)] for v, i in zip(variables, point, strict=True)])


def with_values(menu: Menu, variables: Sequence[Variable], values: Sequence[float]) -> Menu:
    """Return a menu with a value of each variable."""
    changed = {trigger.name: trigger for trigger in menu.triggers}
    for variable, value in zip(variables, values, strict=True):
        for name in variable.triggers:
            trigger = changed[name]
            if variable.what == "above":
                assert isinstance(trigger.description, ScoreKind)
                trigger = replace(trigger, description=trigger.description.at(value))
            elif variable.what == "prescale":
                trigger = replace(trigger, prescale=value)
            else:
                trigger = replace(trigger, enabled=bool(value))
            changed[name] = trigger
    return replace(menu, triggers=tuple(changed.values()))
