"""Check the arguments of calls, and describe them in error messages."""

from __future__ import annotations

from numbers import Real
from typing import Any

from trigemu.support.errors import WrongTypeError, excerpt, without_unit
from trigemu.support.text import LONGEST, quoted

#: Elements of a list whose types a message names.
_NAMED = 3


def wrong_type(what: str, value: object, expected: str, advice: str = "") -> WrongTypeError:
    """Return the error for an argument of a type that a call does not accept.

    Parameters
    ----------
    what : str
        The name of the argument, such as "the menu".
    value : object
        Its value.
    expected : str
        What the call accepts.
    advice : str
        What to do, if the value shows it.

    Returns
    -------
    WrongTypeError
        The error, to be raised.
    """
    return WrongTypeError(f"{what}: got {described(value)}; expected {expected}{advice and f'; {advice}'}")


def number_of(what: str, value: object) -> float:
    """Return a number; raise WrongTypeError for anything else."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise wrong_type(what, value, "a number", without_unit(value).removeprefix("; "))
    return float(value)


def numbers_of(what: str, value: object) -> tuple[float, ...]:
    """Return a list or one-dimensional array of numbers; raise WrongTypeError for anything else."""
    import numpy as np  # messages need none: `trigemu --help` does not load it

    try:
        values = np.asarray(value)
    except ValueError:  # lists of different lengths
        values = np.array(None)
    if values.ndim != 1 or (len(values) and values.dtype.kind not in "iuf"):
        raise wrong_type(what, value, "a list of numbers")
    return tuple(values.tolist())


def names_of(what: str, value: object) -> tuple[str, ...]:
    """Return one name or a list of names as a tuple; raise WrongTypeError for anything else."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise wrong_type(what, value, "a name, or a list of names")
    return tuple(value)


def described(value: object) -> str:
    """Describe a value: a short one by its notation, any other by its type."""
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
