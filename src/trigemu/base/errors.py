"""Errors in what the user provides: text of others made safe, names that are near, checks of arguments."""

from __future__ import annotations

import difflib
import errno
import importlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

LONGEST, MAX_EXCERPT = 120, 200  # The characters of a value, and of any other text, that a message quotes
LISTED, NEAREST = 12, 3  # Known names that a message lists; of more, the nearest ones
MAX_PROBLEMS = 50  # The problems of one file that a message lists
#: Usual names of what menus call otherwise.
_MEANT = {"et": "pt", "threshold": "above", "cut": "above"}
#: A rate that is written with its unit.
_RATE = re.compile(r"\s*(\d+\.?\d*(?:[eE][+-]?\d{1,2})?)\s*([kKmMG]?)[hH][zZ]\s*")
_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "m": 1e-3, "M": 1e6, "G": 1e9}
#: Errors of the operating system that are not about one file: too little memory, space, or numbers of files.
_OF_THE_MACHINE = {errno.ENOMEM, errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE}


class TrigemuError(Exception):
    """A mistake in the user's input; base class of all errors of trigemu. The command line prints the message
    and exits with status 2."""

    remote: str = ""  # The traceback, if the error was raised in another process


class RetryableError(TrigemuError):
    """A failure after which another attempt may succeed."""


class PluginError(TrigemuError):
    """A plugin that cannot be found, cannot be loaded, or fails."""


class SampleError(TrigemuError):
    """A catalogue or an event file that cannot be used."""


class UnreadableError(SampleError, RetryableError):
    """An event file that is missing, damaged, or not readable now. Another attempt may succeed."""


class WrongTypeError(TrigemuError, TypeError):
    """An argument of a type that a call does not accept; also a TypeError."""


class MissingExtraError(TrigemuError):
    """A package of an optional extra is not installed; the message names the command to install it."""

    def __init__(self, command: str, extra: str, missing: str) -> None:  # command: what needs the package
        super().__init__(f'{command} needs the package {missing!r}: run  pip install "trigemu[{extra}]"')


def module_of_extra(module: str, command: str, extra: str, package: str) -> Any:
    """Import a module of a package that an extra installs."""
    top = module.partition(".")[0]
    try:
        importlib.import_module(top)
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != top:
            raise
        raise MissingExtraError(command, extra, package) from None


def own_cause(error: BaseException) -> TrigemuError | None:
    """Return the error to raise instead if the machine is the cause: too little memory, or a full disk."""
    if isinstance(error, MemoryError):
        what = f" ({excerpt(str(error))})" if str(error) else ""
        return TrigemuError(f"there is not enough memory{what}: try fewer --workers or smaller samples")
    if isinstance(error, OSError) and error.errno in _OF_THE_MACHINE:
        return TrigemuError(f"the system reports: {error.strerror}")
    return None


def printable(text: str, keep: str = "") -> str:
    """Turn control characters, direction marks and lone surrogates into escapes; keep: but not these."""
    if text.isprintable():
        return text
    plain = {c for c in text if c.isprintable() or c in keep or unicodedata.category(c) == "Zs"}
    return "".join(c if c in plain else c.encode("unicode_escape").decode() for c in text)


def excerpt(text: str, longest: int = MAX_EXCERPT) -> str:
    """Return a text; of a long one its beginning and its end."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]} … {text[-half:]}"


def quoted(value: object) -> str:
    """Return the notation of a value in Python, or its beginning and its end, for a message."""
    if isinstance(value, str):
        return excerpt(repr(value[: 4 * LONGEST]), LONGEST)
    try:
        return excerpt(repr(value), 4 * LONGEST)
    except (ValueError, RecursionError):  # an integer of thousands of digits, or thousands of nested lists
        return f"a value of type {_name(value)}, too long to show"


def _name(value: object) -> str:
    """Return the name of a type as users write it: with its package, unless that is Python or trigemu."""
    kind = type(value)
    package = kind.__module__.partition(".")[0]
    return excerpt(kind.__name__ if package in ("builtins", "trigemu") else f"{package}.{kind.__name__}")


def in_brackets(value: object, text: str) -> str:
    """Return the `repr` of a value on one line: `<Menu 'primary': 2 triggers>`."""
    return printable(f"<{type(value).__name__} {text}>")


def few_of(texts: Sequence[str], most: int) -> str:
    """Return the first texts of a list, and the number of the others: `a, b and 3 more`."""
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return f"{', '.join(texts[:most])}{more}"


def listed(problems: Sequence[object], longest: int = MAX_PROBLEMS) -> str:
    """Return one line for each problem, and the number of those left out."""
    lines = [str(problem) for problem in problems[:longest]]
    if len(problems) > longest:
        lines.append(f"… and {len(problems) - longest} more")
    return "\n".join(lines)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the end of a message on an unknown name: the closest known names.

    Parameters
    ----------
    name, known
        The unknown name, and the valid ones.

    Returns
    -------
    str
        The hint, which begins with a semicolon or a space.

    Examples
    --------
    >>> nearest("phton", ["jet", "photon"])
    "; did you mean 'photon'? (known: jet, photon)"
    """
    names = sorted(set(known))
    folded = {known_name.casefold(): known_name for known_name in reversed(names)}
    unknown = name[:MAX_EXCERPT].casefold()
    if (meant := _MEANT.get(unknown)) in folded:
        unknown = str(meant)
    close = difflib.get_close_matches(unknown, folded, n=1, cutoff=0.6)
    hint = f"; did you mean {excerpt(folded[close[0]])!r}?" if close else ""
    if close and len(names) > LISTED:
        nearest_names = difflib.get_close_matches(unknown, folded, n=NEAREST, cutoff=0.0)
        return f"{hint} (nearest of {len(names)}: {', '.join(excerpt(folded[n]) for n in nearest_names)})"
    more = f" … and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"{hint} (known: {', '.join(map(excerpt, names[:LISTED])) or 'none'}{more})"


def without_unit(value: object) -> str:
    """Return how to write a rate that is written with its unit, such as "100kHz"; else nothing."""
    found = _RATE.fullmatch(value[:MAX_EXCERPT]) if isinstance(value, str) else None
    if not found:
        return ""
    hz = float(found[1]) * _PREFIXES[found[2]]
    return f"; rates are numbers in Hz, without the unit: {f'{hz:g}'.replace('e+0', 'e')}"


def file_stem(text: str) -> str:
    """Return a part of a file name made from a text, such as jet_0_pt from jet[0].pt."""
    for sign, word in ((">=", " ge "), ("<=", " le "), ("==", " eq "), (">", " gt "), ("<", " lt ")):
        text = text.replace(sign, word)
    return bounded_stem(re.sub(r"\W+", "_", text).strip("_"))


def bounded_stem(stem: str) -> str:
    """Return a part of a file name, of at most 100 bytes, and never empty."""
    return stem.encode(errors="replace")[:100].decode(errors="ignore") or "unnamed"


def wrong_type(what: str, value: object, expected: str, advice: str = "") -> WrongTypeError:
    """Return the error for an argument of a type that a call does not accept."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        shown = quoted(value)
    elif isinstance(value, type):
        shown = f"the class {value.__name__}"
    else:
        inner = next(iter(value), None) if isinstance(value, list | tuple | set | frozenset) else None
        kind = _name(value) if inner is None else f"{_name(value)} of {_name(inner)}"
        shown = f"{'an' if kind[:1] in 'aeiouAEIOU' else 'a'} {kind}"
    return WrongTypeError(f"{what}: got {shown}; expected {expected}{advice and f'; {advice}'}")


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
