"""What a trigger kind is.

A kind is a frozen description, made from its TOML table and picklable, with `compile(context)`. What
cannot be pickled (a session of a neural network, a loaded library) lives only in what `compile` returns.

    class AlphaT(ScoreKind, frozen=True):              # the fields are the keys of the TOML table
        object: str = "jet"
        def compile(self, context: Context) -> Compiled: ...

Two compiled triggers that compare equal are evaluated once, whichever menus they come from.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol, Self

import msgspec

from trigemu.observables import (
    Condition,
    Derivation,
    Features,
    Inputs,
    Number,
    Scope,
    Use,
    Workspace,
    all_uses,
    column_needs,
    parse_condition,
    parse_observable,
)
from trigemu.samples import Events, Need
from trigemu.support import BoolArray, FloatArray, TomlTable
from trigemu.triggers.extent import Extent, Span
from trigemu.triggers.models.precision import TreeModel


class TrainedOn(TomlTable, frozen=True):
    """Where a model was fitted: on the training half of the events in these files, known by sha256."""

    catalogue: str
    files: tuple[str, ...] = ()


class Context:
    """What the names of a menu mean to a kind that compiles, and where its files are.

    It notes which columns are needed, which files of models were read (path → sha256), and on what
    they were trained.
    """

    def __init__(self, scope: Scope, folder: Path = Path()) -> None:
        self.scope, self.folder = scope, folder
        self.needs: set[Need] = set()
        self.models: dict[str, str] = {}
        self.trained: list[TrainedOn] = []

    def within(self, scope: Scope, folder: Path) -> Context:
        """The context of a file that has names of its own; what it notes is noted here too."""
        inner = Context(scope, folder)
        inner.needs, inner.models, inner.trained = self.needs, self.models, self.trained
        return inner

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
        for column in columns:
            self.needs.update(column_needs(derivation.base, derivation.column(column)))
        return derivation

    def scalar(self, name: str) -> str:
        """A column of the sample with one value an event, as it is stored."""
        self.needs.add(("", name))
        return name


class Compiled(ABC):
    """A trigger, ready to be evaluated on any range of events.

    A kind gives `cut` and `evaluate`. All else has a default that is right for every kind; what a kind
    overrides makes its decisions faster, or tells users more.

    Attributes
    ----------
    cut : float or None
        The threshold on the score, or None where `evaluate` gives decisions. Two frozen dataclasses that
        are equal but for this field are evaluated once.
    """

    cut: float | None

    #: Whether `score_above` may give NaN for a score that is not above the cut. Else NaN is an error.
    nan_is_below: ClassVar[bool] = False

    @abstractmethod
    def evaluate(self, work: Workspace) -> FloatArray | BoolArray:
        """Evaluate the trigger on all events of a workspace.

        Returns
        -------
        float64[n] or bool[n]
            Scores, −inf where the event was not asked or has no value; or raw decisions, where `cut` is
            None. An event fires where its score is above the cut, on which the score does not depend.
        """

    def score_above(self, work: Workspace, cut: float) -> FloatArray:
        """Evaluate the trigger where only scores above a cut matter.

        Returns
        -------
        float64[n]
            The score where it is above the cut, elsewhere any number that is not.
        """
        score: FloatArray = self.evaluate(work)  # type: ignore[assignment]  # of a kind with a cut
        return score

    def uses(self) -> Iterable[Use]:
        """List the objects that the trigger looks at, each with the pT in GeV below which they make no
        difference at its cut. By default every object of each collection matters."""
        return all_uses(self)

    def without_soft_objects(self, lowest: Mapping[Derivation, float]) -> Compiled:
        """Make the same trigger on collections without the objects below the given pT in GeV, on which no
        decision depends."""
        return self

    def single(self) -> Condition | Compiled | ModelCall | None:
        """Say how one event is decided without a workspace.

        Returns
        -------
        Condition, Compiled, ModelCall or None
            The condition that holds where it fires; a trigger that `decisions.stream` knows as it is; or the
            model that decides. None: a range of one event is evaluated, as any other.
        """
        return None

    def stages(self, events: Events) -> Mapping[str, Callable[[], object]]:
        """Give its pieces for timing, by name.

        Each call does one piece once more on all of these events, which all ask for the trigger, and not what
        comes before it: "features": all that models read; "autoencoder", "bdt": the models, beside
        "bare_onnxruntime" and "bare_bdt"; "sequential", "parallel": all, on 1 or 2 threads.
        """
        return {}

    def asks(self) -> Condition | None:
        """Say which events the trigger asks for; None: all."""
        return None

    @property
    def margin(self) -> int:
        """How many crossings before and after an event the trigger looks at. These are then rows of the same
        events, as far as there are any (`Events.core`); decisions of rows at the ends mean nothing."""
        return 0

    @property
    def warnings(self) -> tuple[str, ...]:
        """What users should read beside the rates."""
        return ()

    @property
    def trees(self) -> TreeModel | None:
        """Boosted trees that a firmware can hold; None: there are none."""
        return None


class Model(Protocol):
    """What decides an event whose inputs stand where it reads them."""

    def __call__(self) -> int:
        """1: it fires; 0: it does not; −1: not to be said from this event alone, ask `evaluate`."""

    def stages(self, features: Callable[[int], object], n: int) -> Mapping[str, Callable[[int], object]]:
        """Its pieces, by name, each for the number of one of n events; `features` puts the inputs of an
        event in place."""


@dataclass(frozen=True)
class ModelCall:
    """A model that decides one event at a time, with memory of its own.

    requires: None: every event asks. reads: what it reads, and float32[k] where it reads it; an event
    that lacks a value without padding is not asked.
    """

    requires: Condition | None
    reads: tuple[tuple[Inputs, Features], ...]
    model: Model


class Kind(TomlTable, frozen=True):
    """A kind that looks at events."""

    def compile(self, context: Context) -> Compiled:
        """TrigemuError says what of the description has no meaning in this context."""
        raise NotImplementedError

    def extent(self, context: Context) -> Extent | None:
        """In which events it fires, None where its description does not show that: from this follows which
        trigger can accept nothing that another does not. A description is only asked if it compiles."""
        return None


class ScoreKind(Kind, frozen=True, kw_only=True):
    """A kind that gives a score; it fires where the score is above a cut, which may be found from a
    rate budget (`calibrate.py`)."""

    above: float | None = None

    @property
    def cut(self) -> float:
        """Infinite, so that it never fires, until a budget is solved."""
        return math.inf if self.above is None else self.above

    def extent(self, context: Context) -> Extent | None:
        """Of scores that differ in nothing but the cut, the one with the lower cut fires wherever the other
        does."""
        return Extent((self._span(above=None),))

    def _span(self, **changes: None) -> Span:
        """Its score above the cut; what is changed has no part in the score."""
        return Span(msgspec.structs.replace(self, **changes), math.nextafter(self.cut, math.inf))

    def at(self, cut: float) -> Self:
        """The same with this cut."""
        return msgspec.structs.replace(self, above=cut)


class BitKind(TomlTable, frozen=True):
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
