"""Open ROOT files with uproot, without running code from them, and without effect on files read later.

Two features of uproot generate code from names in a file. Here they accept only plain names:
- uproot compiles unknown classes from source that it generates from their descriptions in the file
  (streamers);
- it evaluates a requested name that is not a branch as an expression in Python.

Classes that uproot compiles for a file stay with it: in a damaged file a version of a class may be wrong, and
the class that is then compiled would replace the known one for all other files.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from copy import copy
from pathlib import Path
from typing import Any

import uproot
import uproot.language

from trigemu.samples.errors import SampleError
from trigemu.samples.locations import located, regular, timeouts

#: A name or type in C++. Without quotes, call brackets, backslashes and line ends, it cannot end a text in
#: generated code.
_PLAIN = re.compile(r"[\w :<>,*&\[\].~-]*", re.ASCII)
_NAMES = ("fName", "fTypeName", "fCountName", "fCountClass", "fClassName")


class _File(uproot.ReadOnlyFile):  # type: ignore[misc]
    """A file whose descriptions of classes are compiled only if all names in them are plain."""

    @property
    def streamers(self) -> Any:
        checked = self._streamers is not None
        streamers = super().streamers
        if not checked:
            for versions in streamers.values():
                for streamer in versions.values():
                    _check(streamer)
        return streamers


class _Classes(dict[str, Any]):
    """The classes of one file: those that uproot knows, with versions that the file may add for itself."""

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self and (known := uproot.classes.get(name)):
            versions = getattr(known, "known_versions", None)
            self[name] = (
                known
                if versions is None
                else type(known)(known.__name__, (known,), {"known_versions": dict(versions)})
            )
        return super().get(name, default)


class Branches(uproot.language.Language):  # type: ignore[misc]
    """A language of branch names only."""

    def free_symbols(
        self, expression: str, keys: Any, aliases: Any, file_path: str, object_path: str
    ) -> list[str]:
        raise SampleError(f"has no branch {expression[:100]!r}")

    def compute_expressions(
        self,
        hasbranches: Any,
        arrays: Mapping[Any, Any],
        expression_context: list[tuple[str, Any]],
        keys: Any,
        aliases: Any,
        file_path: str,
        object_path: str,
    ) -> dict[str, Any]:
        return {name: arrays[context["branches"][0].cache_key] for name, context in expression_context}


def _check(streamer: Any) -> None:
    """Raise SampleError if a description of a class contains a name that is not plain."""
    for part in (streamer, *streamer.elements):
        for key in _NAMES:
            name = part.member(key, none_if_missing=True)
            if isinstance(name, str) and not _PLAIN.fullmatch(name):
                raise SampleError(
                    f"describes a class with the name {name[:100]!r}, which no class or member in C++ has"
                )


def open_root(path: str) -> Any:
    """Return the top directory of a ROOT file."""
    where = located(path)
    if isinstance(where, Path):
        regular(where)
    # Chunks are read once: no cache of arrays.
    file = _File(str(where), array_cache=None, custom_classes=_Classes(), **timeouts(where))
    return file.root_directory


def field_until(field: Any, entries: int) -> Any:
    """Return a field of an RNTuple without the clusters after its first `entries` entries: uproot would also
    decode the cluster that begins at the end of a range."""
    ntuple, result = copy(field.ntuple), copy(field)
    clusters = ntuple.cluster_summaries
    ntuple._cluster_summaries = clusters[: bisect_left(clusters, entries, key=lambda c: c.num_first_entry)]
    result._ntuple = ntuple
    return result
