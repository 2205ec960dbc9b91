"""Errors in what the user provides, with messages that the user can act on."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TrigemuError(Exception):
    """A mistake in the user's input; base class of all errors of trigemu.

    The command line prints the message and exits with status 2.
    """


class SampleError(TrigemuError):
    """A catalogue or an event file that cannot be used."""


class PluginError(TrigemuError):
    """A plugin that cannot be found, cannot be loaded, or fails."""


class MissingExtraError(TrigemuError):
    """A command needs a package of an optional extra that is not installed."""

    def __init__(self, command: str, extra: str, missing: str) -> None:
        super().__init__(f'{command} needs the package {missing!r}: run  pip install "trigemu[{extra}]"')


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint for an unknown name, to end a message with: the closest known name and all known ones."""
    names = sorted(set(known))
    folded = {known_name.casefold(): known_name for known_name in reversed(names)}
    close = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    hint = f"; did you mean {folded[close[0]]!r}?" if close else ""
    return f"{hint} (known: {', '.join(names) or 'none'})"
