"""The protocols of engines, workers and works."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable


class Unit(Protocol):
    """A part of a work, such as a chunk of a file; picklable.

    size: its number of events. key: fingerprint of what its result depends on besides the work. pause:
    seconds before another attempt after a failure. continues: whether it is faster directly after the
    previous unit in the same process.
    """

    @property
    def size(self) -> int: ...

    @property
    def key(self) -> str: ...

    @property
    def pause(self) -> float: ...

    @property
    def continues(self) -> bool: ...


U = TypeVar("U", bound=Unit)
R = TypeVar("R")
_U = TypeVar("_U", bound=Unit, contravariant=True)


class Prepared(Protocol[_U, R]):
    """Work that is ready in a process."""

    def each(self, units: Sequence[_U]) -> Iterator[R]:
        """Yield the result of each unit, in their order."""

    def merge(self, parts: Sequence[R]) -> R:
        """Return the results of consecutive units as one."""


class Work(Prepared[_U, R], Protocol[_U, R]):
    """Work on units: ready in this process, and as content for others.

    about: a description for the user. classes: the classes that results consist of, besides arrays, numbers
    and tuples.
    """

    @property
    def about(self) -> str: ...

    @property
    def classes(self) -> tuple[type, ...]: ...

    @property
    def key(self) -> str:
        """Fingerprint of everything that results depend on besides the units."""

    def check(self, units: Sequence[_U], part: R) -> None:
        """Raise TrigemuError if a stored result cannot belong to these units."""

    def content(self) -> bytes:
        """Pickle a function and its arguments; calling it in another process returns this work."""

    def give_up(self, unit: _U, error: Exception, host: str, attempts: int) -> None:
        """Raise the error of a unit that failed every time; or return if the unit is left out."""

    def skips(self, unit: _U) -> bool:
        """Return whether a unit is left out because it, or another unit of its file, failed every time."""


class SubmittingEngine(Protocol):
    """The members of an `Engine` that `Submitted` uses: its executor, its counts, and how it handles results
    and failures."""

    executor: Any
    task_seconds: float
    tasks: int
    retried: int
    reused: int

    @property
    def workers(self) -> int | None: ...

    def gives_up(self, work: Work[U, R], unit: U, error: Exception, host: str, failures: int) -> bool: ...

    def merged(self, work: Work[U, R], units: Sequence[U], results: Sequence[R]) -> R: ...


@runtime_checkable
class Executor(Protocol):
    """An object that runs tasks, such as the executors of `concurrent.futures`."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
        """Start a call of a function; return an object whose method `result` waits for its result."""
