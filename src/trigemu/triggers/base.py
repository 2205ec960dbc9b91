"""The contract of trigger kinds.

A kind is a frozen description, made from its TOML table and picklable, with `compile(context)`. Anything that
cannot be pickled (a neural-network session, a loaded library) exists only in the result of `compile`.

    class AlphaT(ScoreKind, frozen=True):              # the fields are the keys of the TOML table
        object: str = "jet"
        def compile(self, context: Context) -> Compiled: ...

Compiled triggers that compare equal are evaluated only once, even if they come from different menus.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, Protocol, Self

import msgspec

from trigemu.observables import (
    Condition,
    Cut,
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
from trigemu.samples import Events, Need, stored_need
from trigemu.support import BoolArray, FloatArray, TomlTable, read_bounded, wrong_type
from trigemu.triggers.extent import Extent, Span
from trigemu_anomaly.precision import TreeModel


class TrainedOn(TomlTable, frozen=True):
    """The events that a model was trained on: one half of the events in some files.

    Attributes
    ----------
    catalogue : str
        Name of the catalogue.
    files : tuple of str
        sha256 of each file.
    half : str
        The half: "training", or "evaluation" where the halves were exchanged.
    """

    catalogue: str
    files: tuple[str, ...] = ()
    half: Literal["training", "evaluation"] = "training"


def _check_text(what: str, text: object) -> None:
    if not isinstance(text, str):
        raise wrong_type(what, text, "a text, such as 'jet[0].pt'")


class Context:
    """The context in which a kind is compiled: the meaning of names in the menu, and the folder of its files.

    It records which columns are needed, which model files were read, what these were trained on, and what is
    cut on.

    Parameters
    ----------
    scope : Scope
        Working collections and sums, by name.
    folder : Path
        Base of the relative paths in the menu or card.
    contents : mapping of str to bytes
        Files that are not read, because their content is given, by path.

    Attributes
    ----------
    needs : set of Need
        Columns of the sample that have been requested.
    models : dict of str to str
        sha256 of each model file that was read, by path.
    trained : list of TrainedOn
        Training events of these models.
    cuts : list of (str, float or None)
        Conditions, with None; observables that a trigger cuts on, with the cut above which it fires.
    """

    def __init__(
        self, scope: Scope, folder: Path = Path(), contents: Mapping[str, bytes] | None = None
    ) -> None:
        self.scope, self.folder, self.contents = scope, folder, contents or {}
        self.needs: set[Need] = set()
        self.models: dict[str, str] = {}
        self.trained: list[TrainedOn] = []
        self.cuts: list[Cut] = []

    def within(self, scope: Scope, folder: Path) -> Context:
        """Return the context of a file with its own names; what it records is also recorded here."""
        inner = Context(scope, folder, self.contents)
        inner.needs, inner.models, inner.trained = self.needs, self.models, self.trained
        inner.cuts = self.cuts
        return inner

    def read(self, path: Path, longest: int | None = None) -> bytes:
        """Return the content of a file, which is at most so many bytes; see `read_bounded`."""
        given = self.contents.get(str(path))
        return read_bounded(path, longest) if given is None else given

    def observable(self, text: str, above: float | None = None) -> Number:
        """Parse a number per event in the observable language; raise TrigemuError if it is not one.

        Parameters
        ----------
        text : str
            The number.
        above : float, optional
            The cut above which the trigger fires, if it cuts on this number itself.
        """
        _check_text("the observable", text)
        number = parse_observable(text, self.scope)
        self.needs.update(number.needs())
        if above is not None:
            self.cuts.append((text, above))
        return number

    def condition(self, text: str) -> Condition:
        """Parse a condition in the observable language; raise TrigemuError if it is not one."""
        _check_text("the condition", text)
        condition = parse_condition(text, self.scope)
        self.needs.update(condition.needs())
        self.cuts.append((text, None))
        return condition

    def objects(self, name: str, *columns: str) -> Derivation:
        """Return the working collection of that name, and request some of its columns; raise TrigemuError for
        an unknown name."""
        derivation = self.scope.object(name)
        self.needs.update(derivation.needs())
        for column in columns:
            self.needs.update(column_needs(derivation.base, derivation.column(column)))
        return derivation

    def stored(self, name: str) -> str:
        """Request a stored decision of the sample, and return the name of its column, which is 0 or 1."""
        need = stored_need(name)
        self.needs.add(need)
        return need[1]

    def scalar(self, name: str) -> str:
        """Request a column of the sample with one value per event, and return its name."""
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
    """A model that decides one event at a time, on inputs that were written to its memory."""

    def __call__(self) -> int:
        """Return 1 if it fires, 0 if it does not, −1 if undecided: fall back to `evaluate`."""

    def stages(self, features: Callable[[int], object], n: int) -> Mapping[str, Callable[[int], object]]:
        """Give its pieces for timing, by name. Each takes the number of one of n events; `features` writes
        the inputs of that event."""


@dataclass(frozen=True)
class Native:
    """A model of which everything is machine code: a network, and trees whose score is subtracted. All
    numbers but the last two are addresses, or 0.

    Attributes
    ----------
    network, features, score, size : int
        The compiled network, its input, its output, and the size of that in bytes.
    tree_code, x, quantile : int
        The compiled trees, their input and memory for their score; tree_code = 0: none.
    tables, arguments : int
        The function of trees as look-up tables (`CellRow`, `FixedRow`), and its arguments; tables = 0: none.
    cut, near : float
        The cut, and the distance to it within which the score does not decide.
    """

    network: int
    features: int
    score: int
    size: int
    tree_code: int
    x: int
    quantile: int
    tables: int
    arguments: int
    cut: float
    near: float


@dataclass(frozen=True)
class ModelCall:
    """A model that decides one event at a time, and the memory that it reads.

    Attributes
    ----------
    requires : Condition or None
        The events that the model is evaluated on; None: all.
    reads : tuple of (Inputs, float32[k])
        Inputs, and the memory to write them to. The model is not evaluated on an event that lacks an input
        without padding.
    model : Model
        The model.
    native : Native or None
        The same as machine code, which decides without a call of `model` unless the score is near the cut.
    """

    requires: Condition | None
    reads: tuple[tuple[Inputs, Features], ...]
    model: Model
    native: Native | None = None


class Kind(TomlTable, frozen=True):
    """Base class of kinds that evaluate events. The fields of a subclass are the keys of its TOML table."""

    def compile(self, context: Context) -> Compiled:
        """Compile the description.

        Parameters
        ----------
        context : Context
            The meaning of names, and the folder of files.

        Returns
        -------
        Compiled
            The trigger, ready to be evaluated.

        Raises
        ------
        TrigemuError
            If a part of the description has no meaning in this context.
        """
        raise NotImplementedError

    def extent(self, context: Context) -> Extent | None:
        """Describe in which events it fires, to find triggers that only accept events of another one; None if
        this cannot be derived. Only called for descriptions that compile."""
        return None

    def cuts_on(self) -> Iterable[tuple[str, float | None]]:
        """List the numbers that it cuts on, in the observable language, each with its lower limit if it has
        one. A decorrelated trigger beside it should depend on these."""
        return ()


class ScoreKind(Kind, frozen=True, kw_only=True):
    """Base class of kinds that give a score. They fire on scores above a cut, which may be solved from a rate
    budget (`emulation/budgets.py`).

    Attributes
    ----------
    above : float or None
        The cut on the score: the trigger fires above it. None if it is to be solved from a budget.
    """

    above: float | None = None

    @property
    def cut(self) -> float:
        """The cut on the score; infinite, so that the trigger never fires, until a budget is solved."""
        return math.inf if self.above is None else self.above

    def extent(self, context: Context) -> Extent | None:
        """Describe the trigger by its score and cut: of two that differ only in the cut, the one with the
        lower cut fires wherever the other does."""
        return Extent((self._span(above=None),))

    def _span(self, **changes: None) -> Span:
        """Return the span of scores above the cut; the changed fields do not affect the score."""
        return Span(msgspec.structs.replace(self, **changes), math.nextafter(self.cut, math.inf))

    def at(self, cut: float) -> Self:
        """Return the same trigger with another cut."""
        return msgspec.structs.replace(self, above=cut)


class BitKind(TomlTable, frozen=True):
    """Base class of kinds that act on the raw decisions of other triggers and do not read events."""

    def inputs(self) -> tuple[str, ...]:
        """Return the names of the triggers whose raw decisions it reads."""
        return ()

    def levels(self) -> int:
        """Return the levels of the expression by which it reads others; 0 if it reads none."""
        return 1 if self.inputs() else 0

    def decide(self, raw: Mapping[str, BoolArray], n: int) -> BoolArray:
        """Return the decisions bool[n] for n events.

        Parameters
        ----------
        raw : mapping of str to bool[n]
            Raw decisions of the triggers in `inputs`, by name.
        n : int
            Number of events.
        """
        raise NotImplementedError

    def own_prescale(self, crossing_rate_hz: float) -> float:
        """Return the factor by which the kind itself reduces its rate, given the crossing rate in Hz."""
        return 1.0
