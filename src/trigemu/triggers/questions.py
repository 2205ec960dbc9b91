"""What parts of trigemu ask of a trigger beyond its decision, each a function with an answer for every kind.

A kind that knows a better answer registers it, so that decisions become faster or users are told more:

    @preselection.register(CompiledThreshold)
    def _(trigger: CompiledThreshold) -> Condition | None: ...

What a plugin asks is registered by its name, so that neither plugin imports the other (`answers`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import singledispatch, update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar

from trigemu.observables import Condition, ObjectSelection, Use, Workspace, all_uses
from trigemu.support import FloatArray
from trigemu.triggers.base import Compiled, Context, Kind, ScoreKind
from trigemu.triggers.extent import Extent

P = ParamSpec("P")
R = TypeVar("R")

_asked: dict[str, Question[..., Any]] = {}
_waiting: dict[str, list[tuple[type, Callable[..., Any]]]] = {}


class Question(Generic[P, R]):
    """A function of a trigger that classes of triggers may answer otherwise (functools.singledispatch).

    Define one with `@Question` on the function that gives the default answer. A class gives its own answer
    with `@question.register(Class)`.

    Parameters
    ----------
    default : callable
        The answer for every other trigger, which is its first argument.

    Examples
    --------
    >>> from trigemu.api import CompiledThreshold, Question
    >>> @Question
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
        _asked[name] = self

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the answer of the class of the trigger."""
        return self._dispatch(*args, **kwargs)

    def register(self, kind: type) -> Callable[[Callable[..., R]], Callable[..., R]]:
        """Return a decorator of the answer for the class `kind` and those derived from it."""
        return self._dispatch.register(kind)

    def is_answered(self, trigger: object) -> bool:
        """Return whether a `trigger` does not get the default answer."""
        return self._dispatch.dispatch(type(trigger)) is not self._dispatch.dispatch(object)


def answers(name: str, kind: type) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Return a decorator of the answer of a class to a question of a plugin, which need not be installed.

    Parameters
    ----------
    name : str
        The package of the plugin and the question: "trigemu_latency.single".
    kind : type
        The class of compiled triggers, or of kinds.

    Returns
    -------
    callable
        A decorator; the decorated function stays as it is.

    Examples
    --------
    >>> from trigemu.api import Compiled, answers
    >>> class Mine(Compiled): ...
    >>> @answers("trigemu_latency.single", Mine)
    ... def _(trigger): return trigger.condition
    """

    def register(answer: Callable[..., R]) -> Callable[..., R]:
        if name in _asked:
            _asked[name].register(kind)(answer)
        else:
            _waiting.setdefault(name, []).append((kind, answer))
        return answer

    return register


@Question
def score_above(trigger: Compiled, work: Workspace, threshold: float) -> FloatArray:
    """Evaluate a trigger where only scores above a threshold matter.

    By default all events are evaluated in full. Answer it where an upper bound of the score is cheap: rates
    at high thresholds become faster.

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
        The score where it is above the threshold, elsewhere any number that is not, NaN among them.
    """
    score: FloatArray = trigger.evaluate(work)  # type: ignore[assignment]  # of a kind with a threshold
    return score


@Question
def objects_used(trigger: Compiled) -> Iterable[Use]:
    """List the objects that a trigger looks at.

    By default every object of each collection matters. Answer it for a kind that needs a minimum pT, so that
    softer objects are left out before anything is computed.

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

    By default it is the trigger itself. Answer it together with `objects_used`.

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
    """Return the condition of the events that a trigger is evaluated on; the others never fire.

    By default there is none. Answer it for an expensive score, so that others can share the selection of
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
    """Return what users should read beside the rates.

    By default nothing. Answer it for doubts that only the kind can have, such as a model trained on other
    events.

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


@Question
def kind_extent(kind: Kind, context: Context) -> Extent | None:
    """Describe in which events a kind fires, to find triggers that only accept events of another one.

    By default nothing is claimed. Answer it with `extent_of` the conditions of the kind. It is only asked of
    descriptions that compile.

    Parameters
    ----------
    kind : Kind
        The description.
    context : Context
        The meaning of names.

    Returns
    -------
    Extent or None
        None if it cannot be derived.
    """
    return None


@kind_extent.register(ScoreKind)
def _(kind: ScoreKind, context: Context) -> Extent:
    """Describe it by its score and threshold: of two that differ only in the threshold, the lower one fires
    wherever the other does."""
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
