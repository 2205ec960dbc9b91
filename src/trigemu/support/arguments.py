"""What a call was given, in the words of an error message."""

from __future__ import annotations

from numbers import Real
from typing import Any

from trigemu.support.errors import WrongTypeError, excerpt
from trigemu.support.text import LONGEST, quoted

#: Elements of a list whose types a message names.
_NAMED = 3


def wrong_type(what: str, given: object, expected: str, advice: str = "") -> WrongTypeError:
    """Return the error for an argument of a type that a call does not accept.

    Parameters
    ----------
    what : str
        What the argument is, such as "the menu".
    given : object
        Its value.
    expected : str
        What the call accepts.
    advice : str
        What to do, if the given value shows it.

    Returns
    -------
    WrongTypeError
        The error, to be raised.
    """
    return WrongTypeError(f"{what}: got {described(given)}; expected {expected}{advice and f'; {advice}'}")


def number_of(what: str, given: object) -> float:
    """Return a number; raise WrongTypeError for anything else."""
    if isinstance(given, bool) or not isinstance(given, Real):
        raise wrong_type(what, given, "a number")
    return float(given)


def numbers_of(what: str, given: object) -> tuple[float, ...]:
    """Return a list or one-dimensional array of numbers; raise WrongTypeError for anything else."""
    import numpy as np  # messages need none: `trigemu --help` does not load it

    try:
        values = np.asarray(given)
    except ValueError:  # lists of different lengths
        values = np.array(None)
    if values.ndim != 1 or (len(values) and values.dtype.kind not in "iuf"):
        raise wrong_type(what, given, "a list of numbers")
    return tuple(values.tolist())


def names_of(what: str, given: object) -> tuple[str, ...]:
    """Return names, given as one or as a list; raise WrongTypeError for anything else."""
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, list | tuple) or not all(isinstance(name, str) for name in given):
        raise wrong_type(what, given, "a name, or a list of names")
    return tuple(given)


def described(value: object) -> str:
    """Return what a value is: a short one itself, else its type."""
    if value is None:
        return "None"
    if isinstance(value, bool | int | float | complex | str | bytes):
        return quoted(value)
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, list | tuple | set | frozenset):
        kinds = list(dict.fromkeys(_name(type(item)) for item in value))
        more = " …" if len(kinds) > _NAMED else ""
        of = f"of {', '.join(kinds[:_NAMED])}{more}" if kinds else "without any element"
        return f"{_with_article(_name(type(value)))} {of}"
    if callable(value) and hasattr(value, "__name__"):
        return excerpt(f"the function {value.__name__}", LONGEST)
    return _with_article(_name(type(value)))


def _name(kind: type[Any]) -> str:
    """Return the name of a type as users write it: with its package, unless that is Python or trigemu."""
    package = kind.__module__.partition(".")[0]
    own = kind.__name__ if package in ("builtins", "trigemu") else f"{package}.{kind.__name__}"
    return excerpt(own, LONGEST)


def _with_article(name: str) -> str:
    return f"{'an' if name[:1] in 'aeiouAEIOU' else 'a'} {name}"
