"""Errors in what the user provides, with messages that the user can act on."""

from __future__ import annotations

import difflib
import errno
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from typing import Any

#: Limits of messages, which are to be read: the known names that one lists, the characters of a text that it
#: quotes, and the problems of one file.
MAX_NAMES = 50
MAX_EXCERPT = 200
MAX_PROBLEMS = 50
#: The number of names that an unknown one is compared with; each takes about 10 µs.
MAX_COMPARED = 1000


class TrigemuError(Exception):
    """A mistake in the user's input; base class of all errors of trigemu.

    The command line prints the message and exits with status 2.

    Attributes
    ----------
    place : Entries or None
        The events at which it happened, where that is known (`Catalogue.limited_to`).
    remote : str
        The traceback in the process where it happened, if that is another one.
    """

    place: Any = None
    remote: str = ""


class RetryableError(TrigemuError):
    """A failure after which another attempt may succeed."""


class PluginError(TrigemuError):
    """A plugin that cannot be found, cannot be loaded, or fails."""


class WrongTypeError(TrigemuError, TypeError):
    """An argument of a type that a call does not take."""


class MissingExtraError(TrigemuError):
    """A command needs a package of an optional extra that is not installed."""

    def __init__(self, command: str, extra: str, missing: str) -> None:
        super().__init__(f'{command} needs the package {missing!r}: run  pip install "trigemu[{extra}]"')


#: Errors of the operating system that are not about one file: too little memory, space, or numbers of files.
_OF_THE_MACHINE = {errno.ENOMEM, errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE}


def own_cause(error: BaseException) -> TrigemuError | None:
    """Return what to say of an error that no trigger, plugin or file is to blame for; None if one may be."""
    if isinstance(error, MemoryError):
        what = f" ({excerpt(str(error))})" if str(error) else ""
        return TrigemuError(f"there is not enough memory{what}: try fewer --workers or smaller samples")
    if isinstance(error, OSError) and error.errno in _OF_THE_MACHINE:
        return TrigemuError(f"the system reports: {error.strerror}")
    return None


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint for an unknown name, to end a message with: the closest known name and the known ones, up
    to `MAX_NAMES`. Of very many names, only those near it in the alphabet may be the closest."""
    names = sorted(set(known))
    folded = {known_name.casefold(): known_name for known_name in reversed(names)}
    near: Collection[str] = folded
    if len(folded) > MAX_COMPARED:
        at = bisect_left(names, name)
        near = [n.casefold() for n in names[max(0, at - MAX_COMPARED // 2) : at + MAX_COMPARED // 2]]
    close = difflib.get_close_matches(name[:MAX_EXCERPT].casefold(), near, n=1, cutoff=0.6)
    hint = f"; did you mean {excerpt(folded[close[0]])!r}?" if close else ""
    more = f" … and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return f"{hint} (known: {', '.join(map(excerpt, names[:MAX_NAMES])) or 'none'}{more})"


def excerpt(text: str, longest: int = MAX_EXCERPT) -> str:
    """Return a text as a message quotes it: without its middle if it is long."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]} … {text[-half:]}"


def chain(names: Sequence[str]) -> str:
    """Return a chain of names as a message shows it, such as those that depend on each other in a circle."""
    shown = names
    if len(names) > MAX_NAMES:
        half = MAX_NAMES // 2
        shown = [*names[:half], f"({len(names) - 2 * half} more)", *names[-half:]]
    return " → ".join(map(excerpt, shown))


def listed(problems: Sequence[object], longest: int = MAX_PROBLEMS) -> str:
    """Return one line for each problem, and the number of those that are left out where there are many."""
    lines = [str(problem) for problem in problems[:longest]]
    if len(problems) > longest:
        lines.append(f"… and {len(problems) - longest} more")
    return "\n".join(lines)
