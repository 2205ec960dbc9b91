"""The decisions of the triggers of a menu in patterns, before prescales."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import replace
from math import inf

import numpy as np

from trigemu.base.arrays import BoolArray, Words
from trigemu.base.errors import PluginError, own_cause
from trigemu.base.plugins import place_of_method, reason_of
from trigemu.menus.menu import Menu, Trigger
from trigemu.triggers.base import BitKind


def counter_of(trigger: Trigger) -> Hashable:
    """Return a key that is equal for triggers that share their prescale counter."""
    return ("set", trigger.coherent) if trigger.coherent else ("alone", trigger.name)


def own_decisions(words: Words, menu: Menu, bits: Mapping[str, int]) -> dict[str, BoolArray]:
    """Return the decisions of the triggers of a menu without their seeds. words: uint64[m, w], the patterns;
    bits: the bit of each trigger in them; returns dict of str to bool[m]."""
    decisions = Decisions(words, menu, bits)
    return {trigger.name: decisions.own(trigger.name) for trigger in menu.used}


def raw_decisions(words: Words, menu: Menu, bits: Mapping[str, int]) -> dict[str, BoolArray]:
    """Return the same with their seeds."""
    decisions = Decisions(words, menu, bits)
    return {trigger.name: decisions[trigger.name] for trigger in menu.used}


class Decisions(dict[str, BoolArray]):
    """The decisions of triggers, bool[m], by name, each made when it is first asked for."""

    def __init__(self, words: Words, menu: Menu, bits: Mapping[str, int]) -> None:
        self.words, self.bits, self._menu = words, bits, menu

    def __missing__(self, name: str) -> BoolArray:
        seed = self._menu.trigger(name).seed
        own = self.own(name)
        self[name] = own & seed.evaluate(self) if seed else own
        return self[name]

    def own(self, name: str) -> BoolArray:
        """Return the decisions of a trigger without its seed."""
        if name in self.bits:
            word, bit = divmod(self.bits[name], 64)
            return np.asarray((self.words[:, word] >> np.uint64(bit)) & np.uint64(1) != 0)
        trigger, n = self._menu.trigger(name), len(self.words)
        kind = trigger.description
        assert isinstance(kind, BitKind)
        where = f"{trigger.place}: trigger {trigger.name!r} (kind {trigger.kind!r})"
        try:
            # a plugin may return any type
            fired: object = kind.decide({other: self[other] for other in kind.inputs()}, n)
        except Exception as error:
            if cause := own_cause(error):
                raise cause from error
            raise PluginError(f"{where} failed: {reason_of(error)}") from error
        if not isinstance(fired, np.ndarray) or fired.dtype != np.bool_ or fired.shape != (n,):
            location = place_of_method(kind, "decide")
            raise PluginError(f"{where} gave {type(fired).__name__}, expected an array bool[{n}]{location}")
        return fired


def switched_off(menu: Menu, names: Collection[str]) -> Menu:
    """Return a menu with some of its triggers switched off as by a column of prescales, which also affects
    triggers that read them."""
    triggers = (replace(t, prescale=inf) if t.name in names else t for t in menu.triggers)
    return replace(menu, triggers=tuple(triggers))
