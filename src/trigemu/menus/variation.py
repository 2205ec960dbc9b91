"""Replace numbers in the table of a trigger, as if its file had them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from trigemu.base.errors import TrigemuError
from trigemu.base.toml import Document, read_table
from trigemu.base.toml_text import number_key, shown_path, with_numbers
from trigemu.menus.checks import try_compile
from trigemu.menus.menu import Menu, Trigger
from trigemu.triggers.base import Kind


def number_path(menu: Menu, name: str, path: str) -> str:
    """Return the full path of a number in the table of a trigger: `legs[0].pt.min` for `legs[0].pt`."""
    trigger = menu.trigger(name)
    where = f"{trigger.place}: trigger {name!r}"
    if not isinstance(trigger.description, Kind):
        raise TrigemuError(f"{where}: the kind {trigger.kind!r} has no numbers to vary")
    try:
        return shown_path(number_key(trigger.description, path))
    except TrigemuError as error:
        raise TrigemuError(f"{where}: {error}") from None


def with_values(menu: Menu, name: str, values: Mapping[str, float]) -> Menu:
    """Return a menu with other numbers in the table of one trigger, by their paths."""
    trigger = menu.trigger(name)
    description = trigger.description
    assert isinstance(description, Kind)
    numbers = {number_key(description, path): value for path, value in values.items()}
    table = with_numbers(description, numbers)
    document = Document(menu.path, {}, {}, "")  # of mistakes
    changed = read_table(document, table, type(description), ("trigger", 0), "")
    if changed is not None:
        try_compile(document, changed, menu.scope, table, ("trigger", 0), "")
    if changed is None or document.problems:
        shown = ", ".join(f"{path} = {value:.10g}" for path, value in values.items())
        mistake = document.problems[0].message
        raise TrigemuError(f"{trigger.place}: trigger {name!r} with {shown}: {mistake}")
    return _with(menu, replace(trigger, description=changed))


def _with(menu: Menu, trigger: Trigger) -> Menu:
    triggers = (trigger if other.name == trigger.name else other for other in menu.triggers)
    return replace(menu, triggers=tuple(triggers))
