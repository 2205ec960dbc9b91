"""What a trigger kind is.

A kind is a frozen description, made from its TOML table and picklable, with `compile(context)`. What
cannot be pickled (a session of a neural network, a loaded library) lives only in what `compile` returns.

    class AlphaT(Kind, frozen=True):                   # the fields are the keys of the TOML table
        above: float
        def compile(self, context: Context) -> Compiled: ...

Two compiled triggers that compare equal are evaluated once, whichever menus they come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from trigemu.events import BoolArray, FloatArray
from trigemu.language import parse_condition, parse_observable
from trigemu.objects import Derivation, Scope
from trigemu.observables import Condition, Need, Number
from trigemu.tables import Table
from trigemu.workspace import Workspace


class Context:
    """What the names of a menu mean to a kind that compiles; it notes which columns are needed."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.needs: set[Need] = set()

    def observable(self, text: str) -> Number:
        """A number an event, in the observable language; TrigemuError where it cannot be read."""
        number = parse_observable(text, self.scope)
        self.needs.update(number.needs())
        return number

    def condition(self, text: str) -> Condition:
        """A condition, in the observable language; TrigemuError where it cannot be read."""
        condition = parse_condition(text, self.scope)
        self.needs.update(condition.needs())
        return condition

    def objects(self, name: str, *columns: str) -> Derivation:
        """The working collection of that name, of which some columns will be read."""
        derivation = self.scope.object(name)
        self.needs.update(derivation.needs())
        self.needs.update((derivation.base, column) for column in columns)
        return derivation


class Compiled(Protocol):
    """A trigger, ready to be evaluated on any range of events."""

    @property
    def cut(self) -> float | None:
        """The threshold on the score, or None where `evaluate` gives decisions."""

    def evaluate(self, work: Workspace) -> FloatArray | BoolArray:
        """Raw decisions bool[n], or a score float64[n]: −inf where the event was not asked or has no
        value. The decision of a score is score > cut."""


class Kind(Table, frozen=True):
    """A kind that looks at events."""

    def compile(self, context: Context) -> Compiled:
        """TrigemuError says what of the description has no meaning in this context."""
        raise NotImplementedError


class BitKind(Table, frozen=True):
    """A kind that acts on the raw decisions of other triggers, and costs no event loop."""

    def inputs(self) -> tuple[str, ...]:
        """The triggers whose raw decisions it reads."""
        return ()

    def decide(self, raw: Mapping[str, BoolArray], n: int) -> BoolArray:
        """bool[n] from the raw decisions of `inputs`, bool[n] each."""
        raise NotImplementedError

    def own_prescale(self, crossing_rate_hz: float) -> float:
        """By how much the kind itself reduces its rate."""
        return 1.0
