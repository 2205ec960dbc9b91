"""Describe errors in code of plugins: the kind, the message, and the file and line."""

from __future__ import annotations

import inspect
import traceback

from trigemu.support.plugins.own import OWN


def reason_of(error: BaseException) -> str:
    """Describe an error in code of a plugin: its kind, its message, its file and line.

    Parameters
    ----------
    error : BaseException
        The error that the plugin raised.

    Returns
    -------
    str
        Such as "ValueError: no such column (at plugins/mine.py:12)"; without file and line if no line of a
        plugin was running.
    """
    message = error.msg if isinstance(error, SyntaxError) else error
    return f"{type(error).__name__}: {message}{place_of(error)}"


def place_of(error: BaseException) -> str:
    """Return the file and line of a plugin at which an error was raised; empty if no plugin was involved."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f" (at {error.filename}:{error.lineno})"
    frames = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if str(frame.f_globals.get("__name__", "")).startswith(OWN)
    ]
    return " (at {}:{})".format(*frames[-1]) if frames else ""


def place_of_method(owner: object, *names: str) -> str:
    """Return the file and line of the first of some methods that belongs to a plugin."""
    for method in (getattr(owner, name, None) for name in names):
        code = getattr(inspect.unwrap(method), "__code__", None) if callable(method) else None
        if code and str(getattr(method, "__module__", "")).startswith(OWN):
            return f" (at {code.co_filename}:{code.co_firstlineno})"
    return ""
