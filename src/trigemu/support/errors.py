"""What went wrong with something the user gave, in words the user can act on."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TrigemuError(Exception):
    """A mistake in what the user gave; the command line prints it and exits with status 2."""


class SampleError(TrigemuError):
    """A catalogue or a file of events that cannot be used."""


class PluginError(TrigemuError):
    """A plugin that cannot be found or loaded, or that failed."""


class MissingExtraError(TrigemuError):
    """A command needs packages of an extra that are not installed."""

    def __init__(self, command: str, extra: str, missing: str) -> None:
        super().__init__(f'{command} needs the package {missing!r}: run  pip install "trigemu[{extra}]"')


def nearest(name: str, known: Iterable[str]) -> str:
    """A closing remark for an unknown name: the nearest known one and all that are allowed."""
    names = sorted(set(known))
    folded = {known_name.casefold(): known_name for known_name in reversed(names)}
    close = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    hint = f"; did you mean {folded[close[0]]!r}?" if close else ""
    return f"{hint} (known: {', '.join(names) or 'none'})"
