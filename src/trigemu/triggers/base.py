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
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

import msgspec

from trigemu.observables import (
    Condition,
    Number,
    ObjectSelection,
    Requirement,
    Scope,
    Workspace,
    column_needs,
    parse_condition,
    parse_observable,
)
from trigemu.samples import Need, stored_need
from trigemu.support import BoolArray, FloatArray, TomlTable, read_bounded, wrong_type
from trigemu.triggers.extent import Span


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

    It records which columns are needed, which model files were read, what these were trained on, and which
    conditions and thresholds the trigger has.

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
    requirements : list of (str, float or None)
        Conditions, with None; observables, with the threshold above which the trigger fires.
    """

    def __init__(
        self, scope: Scope, folder: Path = Path(), contents: Mapping[str, bytes] | None = None
    ) -> None:
        self.scope, self.folder, self.contents = scope, folder, contents or {}
        self.needs: set[Need] = set()
        self.models: dict[str, str] = {}
        self.trained: list[TrainedOn] = []
        self.requirements: list[Requirement] = []

    def within(self, scope: Scope, folder: Path) -> Context:
        """Return the context of a file with names of its own: those of `scope`, and paths relative to
        `folder`. What it records is also recorded here."""
        inner = Context(scope, folder, self.contents)
        inner.needs, inner.models, inner.trained = self.needs, self.models, self.trained
        inner.requirements = self.requirements
        return inner

    def read(self, path: Path, longest: int | None = None) -> bytes:
        """Return the content of the file `path`, of at most `longest` bytes; see `read_bounded`."""
        given = self.contents.get(str(path))
        return read_bounded(path, longest) if given is None else given

    def observable(self, text: str, above: float | None = None) -> Number:
        """Parse a number per event in the observable language; raise TrigemuError if it is not one.

        Parameters
        ----------
        text : str
            The number.
        above : float, optional
            The threshold above which the trigger fires, if its threshold is on this number itself.
        """
        _check_text("the observable", text)
        number = parse_observable(text, self.scope)
        self.needs.update(number.needs())
        if above is not None:
            self.requirements.append((text, above))
        return number

    def condition(self, text: str) -> Condition:
        """Parse a `text` as a condition in the observable language; raise TrigemuError if it is not one."""
        _check_text("the condition", text)
        condition = parse_condition(text, self.scope)
        self.needs.update(condition.needs())
        self.requirements.append((text, None))
        return condition

    def objects(self, name: str, *columns: str) -> ObjectSelection:
        """Return the working collection of that `name`, and request some of its `columns`; raise TrigemuError
        for an unknown name."""
        selection = self.scope.object(name)
        self.needs.update(selection.needs())
        for column in columns:
            self.needs.update(column_needs(selection.base, selection.column(column)))
        return selection

    def stored(self, name: str) -> str:
        """Request the stored decision `name` of the sample, and return the name of its column, which is 0 or
        1."""
        need = stored_need(name)
        self.needs.add(need)
        return need[1]

    def scalar(self, name: str) -> str:
        """Request the column `name` of the sample, with one value per event, and return the name."""
        self.needs.add(("", name))
        return name


class Compiled(ABC):
    """A trigger, ready to be evaluated on any range of events.

    What else a part of trigemu wants to know of it is asked by functions that have an answer for every kind
    (`triggers/questions.py`).

    Attributes
    ----------
    threshold : float or None
        The threshold on the score, or None where `evaluate` gives decisions. Two frozen dataclasses that
        are equal but for this field are evaluated once.
    """

    threshold: float | None

    @property
    def margin(self) -> int:
        """How many crossings before and after an event the trigger looks at. These are then rows of the same
        events, as far as there are any (`Events.core`); decisions of rows at the ends mean nothing."""
        return 0

    @abstractmethod
    def evaluate(self, work: Workspace) -> FloatArray | BoolArray:
        """Evaluate the trigger on all n events of a workspace, `work`.

        Returns
        -------
        float64[n] or bool[n]
            Scores, −inf where the event was not asked or has no value; or raw decisions, where `threshold` is
            None. An event fires where its score is above the threshold, on which the score does not depend.
        """


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


class ScoreKind(Kind, frozen=True, kw_only=True):
    """Base class of kinds that give a score. They fire on scores above a threshold, which may be solved from
    a rate budget (`emulation/budgets.py`).

    Attributes
    ----------
    above : float or None
        The threshold on the score: the trigger fires above it. None if it is to be solved from a budget.
    """

    above: float | None = None

    @property
    def threshold(self) -> float:
        """The threshold on the score; infinite, so that the trigger never fires, until a budget is solved."""
        return math.inf if self.above is None else self.above

    def span(self, **changes: None) -> Span:
        """Return the span of scores above the threshold; the fields in `changes` do not affect the score."""
        return Span(msgspec.structs.replace(self, **changes), math.nextafter(self.threshold, math.inf))

    def at(self, threshold: float) -> Self:
        """Return the same trigger with another `threshold`."""
        return msgspec.structs.replace(self, above=threshold)


class BitKind(TomlTable, frozen=True):
    """Base class of kinds that act on the raw decisions of other triggers and do not read events.

    The fields of a subclass are the keys of its TOML table. It defines `decide`, and `inputs` if it reads
    other triggers.
    """

    def inputs(self) -> tuple[str, ...]:
        """Return the names of the triggers whose raw decisions it reads; by default none."""
        return ()

    def levels(self) -> int:
        """Return the levels of the expression by which it reads others; 0 if it reads none.

        Override it for expressions that nest: the depth of a menu is bounded by it.
        """
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
        """Return the factor by which the kind itself reduces its rate, given `crossing_rate_hz`, the crossing
        rate in Hz. Override it for a kind that accepts at random."""
        return 1.0
