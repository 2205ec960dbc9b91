"""What parts of trigemu ask of a trigger beyond its decision, each a function with an answer for every kind.

A kind that knows a better answer registers it, so that decisions become faster or users are told more:

    @margin.register(CompiledExternal)
    def _(trigger: CompiledExternal) -> int: ...

What a plugin asks is registered by its name, so that neither plugin imports the other (`answers`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import singledispatch, update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar

from trigemu.observables import Condition, Derivation, Use, Workspace, all_uses
from trigemu.support import FloatArray
from trigemu.triggers.base import Compiled, Context, Kind, ScoreKind
from trigemu.triggers.extent import Extent

P = ParamSpec("P")
R = TypeVar("R")

_asked: dict[str, Question[..., Any]] = {}
_waiting: dict[str, list[tuple[type, Callable[..., Any]]]] = {}


class Question(Generic[P, R]):
    """A function of a trigger that classes of triggers may answer otherwise (functools.singledispatch).

    Parameters
    ----------
    default : callable
        The answer for every other trigger, which is its first argument.
    """

    def __init__(self, default: Callable[P, R]) -> None:
        self._dispatch = singledispatch(default)
        update_wrapper(self, default)
        name = f"{default.__module__.partition('.')[0]}.{default.__name__}"
        for kind, answer in _waiting.pop(name, ()):
            self._dispatch.register(kind, answer)
        _asked[name] = self

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._dispatch(*args, **kwargs)

    def register(self, kind: type) -> Callable[[Callable[..., R]], Callable[..., R]]:
        """Return a decorator of the answer for a class and those derived from it."""
        return self._dispatch.register(kind)

    def is_answered(self, trigger: object) -> bool:
        """Return whether a trigger does not get the default answer."""
        return self._dispatch.dispatch(type(trigger)) is not self._dispatch.dispatch(object)


def answers(name: str, kind: type) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Return a decorator of the answer of a class to a question of a plugin, which need not be installed.

    Parameters
    ----------
    name : str
        The package of the plugin and the question: "trigemu_latency.single".
    kind : type
        The class of compiled triggers, or of kinds.

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
def score_above(trigger: Compiled, work: Workspace, cut: float) -> FloatArray:
    """Evaluate a trigger where only scores above a cut matter.

    Returns
    -------
    float64[n]
        The score where it is above the cut, elsewhere any number that is not, NaN among them.
    """
    score: FloatArray = trigger.evaluate(work)  # type: ignore[assignment]  # of a kind with a cut
    return score


@Question
def objects_used(trigger: Compiled) -> Iterable[Use]:
    """List the objects that a trigger looks at, each with the pT in GeV below which they make no difference
    at its cut. By default every object of each collection matters."""
    return all_uses(trigger)


@Question
def without_soft_objects(trigger: Compiled, lowest: Mapping[Derivation, float]) -> Compiled:
    """Make the same trigger on collections without the objects below the given pT in GeV, on which no
    decision depends."""
    return trigger


@Question
def preselection(trigger: Compiled) -> Condition | None:
    """Return the condition of the events that a trigger is evaluated on, the others never fire; None: all."""
    return None


@Question
def warnings_of(trigger: Compiled) -> tuple[str, ...]:
    """Return what users should read beside the rates."""
    return ()


@Question
def kind_extent(kind: Kind, context: Context) -> Extent | None:
    """Describe in which events a kind fires, to find triggers that only accept events of another one; None if
    this cannot be derived. Only asked of descriptions that compile."""
    return None


@kind_extent.register(ScoreKind)
def _(kind: ScoreKind, context: Context) -> Extent:
    """Describe it by its score and cut: of two that differ only in the cut, the one with the lower cut fires
    wherever the other does."""
    return Extent((kind.span(above=None),))


@Question
def cuts_on(kind: Kind) -> Iterable[tuple[str, float | None]]:
    """List the numbers that a kind cuts on, in the observable language, each with its lower limit if it has
    one. A decorrelated trigger beside it should depend on these."""
    return ()
