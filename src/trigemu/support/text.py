"""Make text of others safe for messages, tables and file names: bounded in length, without characters that
control a terminal.

Names come from menus, catalogues, file names and command lines. Control characters could move the cursor of a
terminal, direction marks reorder what it shows, and lone surrogates cannot be written in UTF-8.
"""

from __future__ import annotations

import re
import reprlib
import unicodedata

from trigemu.support.errors import excerpt

#: Longest text in a value that a message quotes.
LONGEST = 120
#: Values in a list or table that a message quotes, and levels of nesting.
_ENTRIES, _LEVELS = 8, 3
#: Integers of more bits are described by their size: Python refuses to write out huge ones.
_WRITTEN_BITS = 400
#: Longest part of a file name that is made from a name, in bytes; file systems allow 255 in all.
_STEM = 100


def printable(text: str, keep: str = "") -> str:
    r"""Make a text safe to print: control characters, direction marks and lone surrogates become escapes,
    such as \x1b.

    Parameters
    ----------
    text : str
        Any text.
    keep : str
        Characters that stay as they are.

    Returns
    -------
    str
        The text.
    """
    if text.isprintable():
        return text
    return "".join(c if c in keep or _is_plain(c) else c.encode("unicode_escape").decode() for c in text)


def _is_plain(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"


class _Short(reprlib.Repr):
    """Python's notation of a value, bounded in length, depth and entries."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = _LEVELS
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = _ENTRIES
        self.maxstring = self.maxother = LONGEST

    def repr_str(self, x: str, level: int) -> str:
        return excerpt(repr(x[: 4 * LONGEST]) if len(x) > 4 * LONGEST else repr(x), LONGEST)

    def repr_int(self, x: int, level: int) -> str:
        if x.bit_length() > _WRITTEN_BITS:
            return f"an integer of about {int(x.bit_length() * 0.30103) + 1} digits"
        return repr(x)


_SHORT = _Short()


def quoted(value: object) -> str:
    """Return the notation of a value in Python for a message, bounded in length.

    Parameters
    ----------
    value : object
        Any value.

    Returns
    -------
    str
        Its notation, with " … " or "..." for what is left out.
    """
    return excerpt(_SHORT.repr(value), 4 * LONGEST)


def in_brackets(value: object, text: str) -> str:
    """Return the `repr` of a value on one line: `<Menu 'primary': 2 triggers>`."""
    return printable(f"<{type(value).__name__} {text}>")


def file_stem(text: str) -> str:
    """Return a safe part of a file name made from a text.

    Parameters
    ----------
    text : str
        Any text, such as an observable.

    Returns
    -------
    str
        Letters, digits and underscores; not empty, and bounded in length.

    Examples
    --------
    >>> file_stem("jet[0].pt")
    'jet_0_pt'
    """
    for sign, word in ((">=", " ge "), ("<=", " le "), ("==", " eq "), (">", " gt "), ("<", " lt ")):
        text = text.replace(sign, word)
    return bounded_stem(re.sub(r"\W+", "_", text).strip("_"))


def bounded_stem(stem: str) -> str:
    """Return a part of a file name, truncated if it is too long, and never empty."""
    while len(stem.encode(errors="replace")) > _STEM:
        stem = stem[:-1]
    return stem or "unnamed"
