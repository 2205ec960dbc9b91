"""What rules leave of consecutive crossings: immutable results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from trigemu.api import Catalogue, Menu, Named, Shown

from .filling import Filling
from .rules import Rules


@dataclass(frozen=True)
class OrderedItem:
    """The accepts of a trigger, a group or a level.

    Attributes
    ----------
    name : str
        Its name; empty for the level of a menu without levels.
    kind : str
        trigger, group or level.
    before, after : int
        Its accepts without and with the rules.
    lost : mapping of str to int
        The accepts that are lost, by rule.
    because : mapping of str to float
        The part of them that accepts of each trigger blocked.
    """

    name: str
    kind: str
    before: int
    after: int
    lost: Mapping[str, int]
    because: Mapping[str, float]


@dataclass(frozen=True)
class Vetoed:
    """An accept of the first level that a rule vetoes.

    Attributes
    ----------
    path : str
        The file.
    crossing : int
        The number of the crossing in the file's own numbering.
    rule : str
        The rule.
    triggers : tuple of str
        The triggers that accept it.
    """

    path: str
    crossing: int
    rule: str
    triggers: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class OrderedAccepts(Shown, Named[OrderedItem]):
    """What rules leave of consecutive crossings; result["L1_SingleMu22"] are the accepts of a trigger or
    group.

    Attributes
    ----------
    menu : Menu
        The menu.
    catalogue : Catalogue
        The samples.
    filling : Filling
        The filling scheme.
    rules : Rules
        The rules.
    crossings : int
        The number of crossings.
    triggers, groups, levels : tuple of OrderedItem
        The accepts.
    vetoed : tuple of Vetoed
        The accepts that rules veto, in order.
    models : mapping of str to str
        The SHA-256 of each model file by its path.
    """

    _view: ClassVar[str] = "trigemu_live.ordered_view"

    menu: Menu
    catalogue: Catalogue
    filling: Filling
    rules: Rules
    crossings: int
    triggers: tuple[OrderedItem, ...]
    groups: tuple[OrderedItem, ...]
    levels: tuple[OrderedItem, ...]
    vetoed: tuple[Vetoed, ...]
    models: Mapping[str, str]

    def _named(self) -> tuple[str, Mapping[str, OrderedItem]]:
        return "trigger or group", {item.name: item for item in (*self.groups, *self.triggers)}
