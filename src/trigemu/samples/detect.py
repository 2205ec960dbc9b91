"""Recognise the format of a file from its content."""

from __future__ import annotations

from trigemu.samples.formats import FORMATS
from trigemu.samples.formats.source import Beginning
from trigemu.samples.formats.uproot_file import open_root
from trigemu.samples.locations import is_local_folder, opened
from trigemu.support import SampleError


def format_of(path: str) -> str:
    """Return the name of the format of a file or folder. Raises SampleError if no format recognises it;
    errors on opening the file are passed on."""
    beginning = _beginning(path)
    for name, source in FORMATS.items():
        if source.recognises(beginning):
            return name
    if beginning.start.startswith(b"root"):
        wanted = ", ".join(tree for source in FORMATS.values() for tree in source.trees)
        found = ", ".join(sorted(set(beginning.trees))) or "nothing"
        raise SampleError(f"a ROOT file without any of {wanted} (there is: {found})")
    raise SampleError(
        "unknown format: it is neither ROOT, Parquet, HDF5 nor text; name the format in a catalogue"
    )


def _beginning(path: str) -> Beginning:
    if is_local_folder(path):
        return Beginning(True, b"", ())
    with opened(path, compression="infer") as stream:
        start: bytes = stream.read(512)
    if not start.startswith(b"root"):
        return Beginning(False, start, ())
    with open_root(path) as file:
        return Beginning(False, start, tuple(file.keys(cycle=False, recursive=False)))
