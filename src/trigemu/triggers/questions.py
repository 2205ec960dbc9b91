"""Properties of a trigger beyond its decision, each a function with a default answer for every kind.

A kind registers a better answer to make decisions faster or messages more informative:

    @preselection.register(CompiledThreshold)
    def _(trigger: CompiledThreshold) -> Condition | None: ...

Answers to questions of other plugins are registered by name, so that neither plugin imports the other
(`answers`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import singledispatch, update_wrapper
from typing import Any, Generic, ParamSpec, Protocol, TypeVar

from trigemu.base.arrays import BoolArray, FloatArray
from trigemu.base.errors import excerpt
from trigemu.observables.expressions import Condition
from trigemu.observables.pruning import Use, all_uses
from trigemu.observables.selections import ObjectSelection
from trigemu.observables.workspace import Workspace
from trigemu.triggers.base import Compiled, Context, Kind, ScoreKind
from trigemu.triggers.extent import Extent, extent_of as extent_of

P = ParamSpec("P")
R = TypeVar("R")

_questions: dict[str, Question[..., Any]] = {}
_waiting: dict[str, list[tuple[type, Callable[..., Any]]]] = {}


class Question(Generic[P, R]):
    """A function of a trigger that each class of triggers can override (functools.singledispatch).

    `@Question` decorates the function that gives the default answer. `@question.register(Class)` decorates
    the answer of a class.

    Parameters
    ----------
    default : callable
        The default answer; the trigger is its first argument.

    Examples
    --------
    >>> from trigemu.api import CompiledThreshold, questions
    >>> @questions.Question
    ... def stages(trigger): return 1
    >>> @stages.register(CompiledThreshold)
    ... def _(trigger): return 1 if trigger.requires is None else 2
    """

    def __init__(self, default: Callable[P, R]) -> None:
        self._dispatch = singledispatch(default)
        update_wrapper(self, default)
        name = f"{default.__module__.partition('.')[0]}.{default.__name__}"
        for kind, answer in _waiting.pop(name, ()):
            self._dispatch.register(kind, answer)
        _questions[name] = self

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the answer for a trigger."""
        return self._dispatch(*args, **kwargs)

    def register(self, kind: type) -> Callable[[Callable[..., R]], Callable[..., R]]:
        """Return a decorator of the answer for the class `kind` and its subclasses."""
        return self._dispatch.register(kind)

    def is_answered(self, trigger: object) -> bool:
        """Return whether the class of a `trigger` has its own answer."""
        return self._dispatch.dispatch(type(trigger)) is not self._dispatch.dispatch(object)


def answers(name: str, kind: type) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Return a decorator of the answer of a class to the question of a plugin, which need not be installed.

    Parameters
    ----------
    name : str
        The package of the plugin and the question: "trigemu_latency.single".
    kind : type
        The class of compiled triggers, or of kinds.

    Returns
    -------
    callable
        A decorator, which returns the function unchanged.

    Examples
    --------
    >>> from trigemu.api import Compiled, questions
    >>> class Mine(Compiled): ...
    >>> @questions.answers("trigemu_latency.single", Mine)
    ... def _(trigger): return trigger.condition
    """

    def register(answer: Callable[..., R]) -> Callable[..., R]:
        if name in _questions:
            _questions[name].register(kind)(answer)
        else:
            _waiting.setdefault(name, []).append((kind, answer))
        return answer

    return register


@Question
def score_above(trigger: Compiled, work: Workspace, threshold: float) -> FloatArray:
    """Evaluate a trigger if only scores above a threshold matter.

    By default all events are evaluated completely. Override it if an upper bound of the score is cheap, to
    make rates at high thresholds faster.

    Parameters
    ----------
    trigger : Compiled
        A trigger with a threshold.
    work : Workspace
        The n events.
    threshold : float
        The threshold.

    Returns
    -------
    float64[n]
        The score if it is above the threshold, otherwise any number that is not above it, or NaN.
    """
    score: FloatArray = trigger.evaluate(work)  # type: ignore[assignment]  # of a kind with a threshold
    return score


@Question
def objects_used(trigger: Compiled) -> Iterable[Use]:
    """List the objects that a trigger reads.

    By default all objects of each collection matter. Override it for a kind that requires a minimum pT, so
    that softer objects are dropped before anything is computed.

    Parameters
    ----------
    trigger : Compiled
        The trigger.

    Returns
    -------
    iterable of (ObjectSelection, float)
        Each collection, with the pT in GeV below which its objects do not change the decision.
    """
    return all_uses(trigger)


@Question
def without_soft_objects(trigger: Compiled, lowest: Mapping[ObjectSelection, float]) -> Compiled:
    """Make the same trigger on collections without soft objects.

    By default this is the trigger itself. Override it together with `objects_used`.

    Parameters
    ----------
    trigger : Compiled
        The trigger.
    lowest : mapping of ObjectSelection to float
        For each collection, the pT in GeV below which no decision depends on its objects.

    Returns
    -------
    Compiled
        The same trigger, reading `harder_than` collections.
    """
    return trigger


@Question
def preselection(trigger: Compiled) -> Condition | None:
    """Return the preselection of a trigger: it is evaluated only on events that pass, and never fires on
    others.

    By default there is none. Override it for an expensive score, so that triggers can share the selected
    events.

    Parameters
    ----------
    trigger : Compiled
        The trigger.

    Returns
    -------
    Condition or None
        None: all events.
    """
    return None


@Question
def warnings_of(trigger: Compiled) -> tuple[str, ...]:
    """Return warnings to show with the rates.

    By default there are none. Override it for problems that only the kind can recognise, such as a model
    trained on other events.

    Parameters
    ----------
    trigger : Compiled
        The trigger.

    Returns
    -------
    tuple of str
        Sentences.
    """
    return ()


class SampleCheck(Protocol):
    """The comparison of samples with the events that a model was fitted to (`sample_check`)."""

    @property
    def width(self) -> int:
        """The number of values of an event; 0: no events are read."""

    def values(self, work: Workspace) -> tuple[BoolArray, FloatArray]:
        """Return the events of `work` that are compared, bool[n], and their values, float64[m, width]."""

    def warnings(
        self, mean: FloatArray, effective: float, threshold: tuple[float, float] | None
    ) -> Iterable[str]:
        """Return what is unlike the training, in sentences.

        Parameters
        ----------
        mean : float64[width]
            The weighted mean of each value over the background; NaN without events.
        effective : float
            The effective number of events.
        threshold : (float, float) or None
            The threshold that a rate budget gave, and its error.
        """


@Question
def sample_check(trigger: Compiled) -> SampleCheck | None:
    """Return what compares samples with the events that a model was fitted to, to warn with the rates.

    By default nothing is compared. Override it for a model whose card describes its training events.

    Parameters
    ----------
    trigger : Compiled
        The trigger.

    Returns
    -------
    SampleCheck or None
        None: nothing.
    """
    return None


@Question
def objects_needed(trigger: Compiled) -> tuple[str, ...]:
    """List the objects without which an event has no score, to explain why a trigger never fires.

    By default there are none.

    Parameters
    ----------
    trigger : Compiled
        The trigger.

    Returns
    -------
    tuple of str
        The objects, such as "muon[1]".
    """
    return ()


def lacking(objects: Iterable[str]) -> str:
    """Say that no event has all `objects` that a score needs, and what to do."""
    return (
        f"none passes its preselection and has {excerpt(', '.join(objects))}, without which its model has no "
        f"score: if missing objects were replaced in training, add padding to its card"
    )


@Question
def kind_extent(kind: Kind, context: Context) -> Extent | None:
    """Describe the events in which a kind fires, to find triggers that accept only events of another one.

    By default there is no description. Override it with `extent_of` the conditions of the kind. It is called
    only for descriptions that compile.

    Parameters
    ----------
    kind : Kind
        The description.
    context : Context
        The meaning of names.

    Returns
    -------
    Extent or None
        None if it is unknown.
    """
    return None


@kind_extent.register(ScoreKind)
def _(kind: ScoreKind, context: Context) -> Extent:
    """Describe a kind by its score and threshold: of two that differ only in the threshold, the one with the
    lower threshold fires whenever the other does."""
    return Extent((kind.span(above=None),))


@Question
def threshold_observables(kind: Kind) -> Iterable[tuple[str, float | None]]:
    """List the observables that a kind has thresholds on, on which a decorrelated trigger should depend.

    By default there are none.

    Parameters
    ----------
    kind : Kind
        The description.

    Returns
    -------
    iterable of (str, float or None)
        Observables, each with its lower limit if it has one.
    """
    return ()
