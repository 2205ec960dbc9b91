"""Which format a file is in, by what stands in it."""

from __future__ import annotations

from typing import Any

import uproot

from trigemu.samples.locations import is_folder, located, opened
from trigemu.support.errors import SampleError

#: What a file begins with → its format; text is that of test vectors.
_SIGNATURES = {b"PAR1": "parquet", b"\x89HDF\r\n\x1a\n": "challenge"}
#: The tree or RNTuple that a ROOT file has → its format.
_TREES = {"Events": "nanoaod", "CollectionTree": "physlite", "EventData": "physlite", "Delphes": "delphes"}


def format_of(path: str) -> str:
    """A folder is one of Parquet files. SampleError where it cannot be told; any error of what opens it."""
    if is_folder(path):
        return "parquet"
    with opened(path, compression="infer") as stream:
        start: bytes = stream.read(512)
    if start.startswith(b"root"):
        return _of_root(path)
    for signature, name in _SIGNATURES.items():
        if start.startswith(signature):
            return name
    if b"\0" in start:
        raise SampleError(
            "its format cannot be told: it is neither ROOT, Parquet, HDF5 nor text; name it in a catalogue"
        )
    return "cms-l1-vector"


def _of_root(path: str) -> str:
    with uproot.open({str(located(path)): None}) as file:
        there: list[Any] = file.keys(cycle=False, recursive=False)
    for tree, name in _TREES.items():
        if tree in there:
            return name
    found = ", ".join(sorted(set(there))) or "nothing"
    raise SampleError(f"a ROOT file without any of {', '.join(_TREES)} (there is: {found})")
