"""The line of every key of a TOML file."""

from __future__ import annotations

import re
import tomllib

#: A path of keys in a TOML file: ("trigger", 3, "legs", 1, "pt").
Key = tuple[str | int, ...]


def lines_of(text: str) -> dict[Key, int]:
    """Return the line of every key and array element of a text that is known to be valid TOML."""
    return _Lines(text).found


class _Lines:
    """A scanner. TOML libraries do not keep positions; relying on valid TOML keeps it short."""

    _blank = re.compile(r"(?:[ \t\r]|#[^\n]*)*")
    _part = re.compile(r'"(?:\\.|[^"\\])*"|\'[^\']*\'|[A-Za-z0-9_-]+')
    _string = re.compile(
        r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'', re.DOTALL
    )
    _bare = re.compile(r"[^,\]}\n#]+")

    def __init__(self, text: str) -> None:
        self.text, self.at, self.line = text, 0, 1
        self.found: dict[Key, int] = {}
        self._arrays: dict[Key, int] = {}
        table: Key = ()
        while self._skip(newlines=True):
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _skip(self, *, newlines: bool) -> bool:
        """Skip blanks and comments; return False at the end of the text."""
        while True:
            self._take(self._blank)
            if self.at < len(self.text) and self.text[self.at] == "\n" and newlines:
                self.at += 1
                self.line += 1
            else:
                return self.at < len(self.text)

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        text = found[0] if found else ""
        self.at += len(text)
        self.line += text.count("\n")
        return text

    def _key(self) -> Key:
        parts: list[str] = []
        while True:
            self._skip(newlines=False)
            part = self._take(self._part)
            # Parsing a document for each key would take most of the time; only quotes and escapes need it.
            parts.append(next(iter(tomllib.loads(f"{part} = 0"))) if part[0] in "\"'" else part)
            self._skip(newlines=False)
            if self.text[self.at : self.at + 1] != ".":
                return tuple(parts)
            self.at += 1

    def _header(self) -> Key:
        array = self.text.startswith("[[", self.at)
        self.at += 2 if array else 1
        key: Key = ()
        names = self._key()
        for i, name in enumerate(names):
            key = (*key, name)
            self.found.setdefault(key, self.line)
            if array and i == len(names) - 1:
                self._arrays[key] = self._arrays.get(key, -1) + 1
            if key in self._arrays:
                key = (*key, self._arrays[key])
            self.found.setdefault(key, self.line)
        self.at += 2 if array else 1
        return key

    def _pair(self, table: Key) -> None:
        line = self.line
        key = (*table, *self._key())
        for length in range(len(table) + 1, len(key) + 1):
            self.found.setdefault(key[:length], line)
        self.at += 1  # the equals sign
        self._skip(newlines=False)
        self._any(key)

    def _any(self, key: Key) -> None:
        opening = self.text[self.at]
        if opening in "[{":
            self._nested(key, "]" if opening == "[" else "}")
        elif not self._take(self._string):
            self._take(self._bare)

    def _nested(self, key: Key, closing: str) -> None:
        self.at += 1
        index = 0
        while self._skip(newlines=True) and self.text[self.at] != closing:
            if self.text[self.at] == ",":
                self.at += 1
                index += 1
            elif closing == "}":
                self._pair(key)
            else:
                self.found[(*key, index)] = self.line
                self._any((*key, index))
        self.at += 1
