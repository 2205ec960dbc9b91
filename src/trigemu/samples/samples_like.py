"""Samples as calls are given them: a catalogue, its path or folder, event files, events in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from trigemu.samples.awkward_view import events_from_awkward, has_weights, is_awkward
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.errors import SampleError
from trigemu.samples.events import Events
from trigemu.samples.locations import has_wildcards, located
from trigemu.samples.memory import catalogue_in_memory
from trigemu.samples.opening import catalogue_of, open_catalogue
from trigemu.support import excerpt, is_there, wrong_type

#: A catalogue, or what stands for one; also an awkward array, whose type is not loaded for this.
SamplesLike = Catalogue | Events | str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Any | None
EXPECTED = "a Catalogue, its path or folder, the paths of event files, Events, or an awkward array of events"


def samples_of(given: SamplesLike, *, executor: Any = None) -> Catalogue:
    """Return a catalogue of whatever samples a call is given.

    Parameters
    ----------
    given : Catalogue, path, sequence of paths, Events, ak.Array or None
        A catalogue, its path, or the folder of a catalogue.toml. Event files, one or several with the same
        branches: crossings of equal weight that add up to 40 MHz (`catalogue_of`). Events: one background of
        crossings with their weights in Hz. An awkward array: what `events_from_awkward` makes of it; without
        a field `weight`, crossings of equal weight that add up to 40 MHz. None: the embedded samples.
    executor
        As in `open_catalogue`.

    Returns
    -------
    Catalogue
        The samples.

    Raises
    ------
    WrongTypeError
        For anything else.
    SampleError
        If there is no such file, or it cannot be used.
    """
    if isinstance(given, Catalogue):
        return given
    if isinstance(given, Events):
        return catalogue_in_memory(given)
    if given is None:
        return open_catalogue(executor=executor)
    if isinstance(given, str | os.PathLike):
        return _several([given], executor)
    if is_awkward(given):
        return catalogue_in_memory(events_from_awkward(given), equal=not has_weights(given))
    if isinstance(given, list | tuple | Iterator):
        files = list(given)
        if files and all(isinstance(file, str | os.PathLike) for file in files):
            return _several(files, executor)
        given = files
    raise wrong_type("the samples", given, EXPECTED, _advice(given))


def _several(given: Sequence[str | os.PathLike[str]], executor: Any) -> Catalogue:
    files = [file if isinstance(file, str) else Path(file) for file in given]
    for file in files:
        _check_there(file)
        if len(files) > 1 and str(file).endswith(".toml"):
            raise SampleError(
                f"{file}: a catalogue is given alone: list its files and those of others in one"
            )
    if len(files) == 1:
        return open_catalogue(files[0], executor=executor)
    return catalogue_of(files, executor=executor)


def _check_there(path: Path | str) -> None:
    """Raise SampleError for a file that is not on this machine; those with wildcards are looked for later."""
    where = located(path)
    if isinstance(where, str) or is_there(where) or has_wildcards(where):
        return
    absolute = "://" in str(path) or Path(path).is_absolute()
    there = "" if absolute else f" in the current folder, {Path.cwd()}"
    raise SampleError(f"there is no catalogue or event file {excerpt(str(path))}{there}")


def _advice(given: Any) -> str:
    kind = type(given).__name__
    if kind == "Menu":
        return "the menu comes first, then the samples"
    if kind == "Sample":
        return "give the Catalogue that it is in"
    if kind in ("Emulation", "MenuRates"):
        return "its samples are .catalogue"
    if kind == "Record":
        return "this is a single event: take array[i : i + 1]"
    if kind in ("dict", "DataFrame", "ndarray") or (isinstance(given, list) and given):
        return "ak.Array makes one of records or columns, as events_from_awkward describes them"
    return ""
