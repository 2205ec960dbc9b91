"""Recognise the format of a file from its content."""

from __future__ import annotations

from dataclasses import replace

from trigemu.samples.errors import SampleError
from trigemu.samples.formats import each_format, format_names
from trigemu.samples.formats.source import Beginning
from trigemu.samples.formats.uproot_file import open_root
from trigemu.samples.locations import is_local_folder, opened
from trigemu.support import excerpt, quoted

#: Bytes from the beginning of a file that identify its format, and characters of them in messages.
_START, _SHOWN = 512, 60


#: The format of ROOT files whose tree has a name of its own.
_PLAIN = "nanoaod"


def format_of(path: str, tree: str | None = None) -> str:
    """Return the name of the format of a file or folder. Raises SampleError if no format recognises it;
    errors on opening the file are passed on. tree: the name of the tree with the events in a ROOT file."""
    beginning = _beginning(path)
    if tree and beginning.trees:
        beginning = replace(beginning, trees=(tree.rpartition("/")[2].partition(";")[0],))
    for name, source in each_format():
        if source.recognises(beginning):
            return name
    if beginning.start.startswith(b"root"):
        return _PLAIN
    raise SampleError(
        f"unknown format: it is {_described(beginning)}, which none of the formats recognises "
        f"(known: {', '.join(format_names())})"
    )


def _described(beginning: Beginning) -> str:
    """Describe a file in a message, from its beginning."""
    start = beginning.start
    if beginning.folder:
        return "a folder without a catalogue.toml"
    if not start.strip():
        return "blank" if start else "empty"
    try:
        text = start.decode("utf-8", "ignore" if len(start) == _START else "strict")
    except UnicodeDecodeError:
        text = "\0"
    line = text.strip().splitlines()[0] if "\0" not in text else ""
    return f"text that begins with {quoted(excerpt(line, _SHOWN))}" if line else "binary data of another kind"


def _beginning(path: str) -> Beginning:
    if is_local_folder(path):
        return Beginning(True, b"", ())
    with opened(path, compression="infer") as stream:
        start: bytes = stream.read(_START)
    if not start.startswith(b"root"):
        return Beginning(False, start, ())
    with open_root(path) as file:
        return Beginning(False, start, tuple(file.keys(cycle=False, recursive=False)))
