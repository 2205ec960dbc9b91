"""The steps of a scan: the values of a threshold, or of another number in the table of a trigger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

import numpy as np

from trigemu.menus import Menu, Trigger, number_path
from trigemu.support import TrigemuError, numbers_of, quoted, wrong_type
from trigemu.triggers import Kind, ScoreKind

#: The largest number of points of a scan; each needs a sum over all patterns.
MAX_POINTS = 10_000
#: The key of a threshold.
_THRESHOLD = "above"


@dataclass(frozen=True)
class Steps:
    """The values of one threshold, or of another number of a trigger, in a scan.

    Attributes
    ----------
    trigger : str
        The name of the trigger.
    values : tuple of float
        The values, ascending.
    vary : str or None
        The path of a number in the table of the trigger, such as "legs[0].pt.min" or "pairs[0].mass.max". The
        path of a range means its only limit, or `min` if the trigger has no such range yet. None: the
        threshold of the trigger.
    """

    trigger: str
    values: tuple[float, ...]
    vary: str | None = None

    @property
    def name(self) -> str:
        """The name of the trigger, and the path of the number that is varied."""
        return f"{self.trigger} {self.vary}" if self.vary else self.trigger


def steps_of(menu: Menu, steps: Steps | Sequence[Steps]) -> tuple[Steps, ...]:
    """Return one or several steps as a tuple, with values that are tuples of numbers and with full paths.

    Raises
    ------
    TrigemuError
        If a trigger cannot be scanned, or there are too many combinations of values.
    """
    listed = [steps] if isinstance(steps, Steps) else steps
    if not isinstance(listed, list | tuple) or not all(isinstance(step, Steps) for step in listed):
        raise wrong_type("the steps", steps, "Steps(trigger, values), or a list of these")
    checked = tuple(_in_full(menu, step) for step in listed)
    for step in checked:
        _check(menu, step, [other for other in checked if other.trigger == step.trigger])
    points = int(np.prod([len(step.values) for step in checked]))
    if points > MAX_POINTS:
        raise TrigemuError(f"{points} combinations of values: at most {MAX_POINTS} can be scanned")
    return checked


def _in_full(menu: Menu, step: Steps) -> Steps:
    values = numbers_of(f"the values of {step.trigger!r}", step.values)
    vary = number_path(menu, step.trigger, step.vary) if step.vary is not None else None
    of_score = isinstance(menu.trigger(step.trigger).description, ScoreKind)
    return Steps(step.trigger, values, None if of_score and vary == _THRESHOLD else vary)


def _check(menu: Menu, step: Steps, of_trigger: Sequence[Steps]) -> None:
    """Raise TrigemuError if a trigger cannot be scanned. of_trigger: all steps of the same trigger."""
    trigger = menu.trigger(step.trigger)
    where = f"{trigger.place}: trigger {trigger.name!r}"
    if step.vary is None and not isinstance(trigger.description, ScoreKind):
        raise TrigemuError(f"{where}: the kind {trigger.kind!r} has no threshold to scan{_instead(trigger)}")
    if not trigger.enabled:
        raise TrigemuError(f"{where} is disabled: it has no rates to scan")
    varied = Counter(other.vary for other in of_trigger)
    if varied[step.vary] > 1:
        raise TrigemuError(f"{where} is scanned twice: give {step.vary or 'each trigger'} its values once")
    if None in varied and len(varied) > 1:
        raise TrigemuError(f"{where}: its threshold and {step.vary} cannot be scanned together")
    if not step.values or any(high <= low for low, high in pairwise(step.values)):
        raise TrigemuError(f"{where}: expected at least one value to scan, in ascending order")


def _instead(trigger: Trigger) -> str:
    if not isinstance(trigger.description, Kind):
        return ""
    return "; vary a number of its table, such as legs[0].pt of a combination"


def parse_values(text: str) -> tuple[float, ...]:
    """Return the values that a text describes.

    Parameters
    ----------
    text : str
        `60:160:5` (first, last, step), or values separated by commas.

    Returns
    -------
    tuple of float
        The values.

    Raises
    ------
    TrigemuError
        If the text has neither form, or describes too many values.

    Examples
    --------
    >>> parse_values("60:75:5")
    (60.0, 65.0, 70.0, 75.0)
    """
    try:
        if ":" not in text:
            parts = text.split(",")
            if len(parts) > MAX_POINTS:
                raise TrigemuError(f"values {quoted(text)}: more than {MAX_POINTS}")
            values = [float(part) for part in parts]
        else:
            first, last, step = (Decimal(part) for part in text.split(":"))  # 0:1:0.1 contains 0.3
            if not step > 0 or last < first:
                raise ValueError
            if (last - first) / step >= MAX_POINTS:  # before int(): it may have millions of digits
                raise TrigemuError(f"values {quoted(text)}: more than {MAX_POINTS}")
            steps = int((last - first) / step)
            values = [float(first + step * i) for i in range(steps + 1)]
    except (ValueError, ArithmeticError):
        raise TrigemuError(
            f"values {quoted(text)}: expected FIRST:LAST:STEP with FIRST ≤ LAST and STEP > 0, "
            f"or VALUE,VALUE,…"
        ) from None
    if not np.isfinite(values).all():
        raise TrigemuError(f"values {quoted(text)}: expected finite numbers")
    return tuple(sorted(set(values)))
