"""Samples as arguments of calls: a catalogue, its path or folder, event files, events in memory."""

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

#: A catalogue, or anything that `samples_of` converts to one. An awkward array is Any: awkward is not
#: imported.
SamplesLike = Catalogue | Events | str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Any | None
EXPECTED = "a Catalogue, its path or folder, the paths of event files, Events, or an awkward array of events"


def samples_of(samples: SamplesLike, *, executor: Any = None) -> Catalogue:
    """Convert samples to a catalogue.

    Parameters
    ----------
    samples : Catalogue, path, sequence of paths, Events, ak.Array or None
        A catalogue, its path, or the folder of a catalogue.toml. Event files, one or several with the same
        branches: crossings of equal weight that add up to 40 MHz (`catalogue_of`). Events: one background of
        crossings with their weights in Hz. An awkward array: converted by `events_from_awkward`; without a
        field `weight`, crossings of equal weight that add up to 40 MHz. None: the embedded samples.
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
        If a file does not exist or cannot be used.
    """
    if isinstance(samples, Catalogue):
        return samples
    if isinstance(samples, Events):
        return catalogue_in_memory(samples)
    if samples is None:
        return open_catalogue(executor=executor)
    if isinstance(samples, str | os.PathLike):
        return _several([samples], executor)
    if is_awkward(samples):
        return catalogue_in_memory(events_from_awkward(samples), equal=not has_weights(samples))
    if isinstance(samples, list | tuple | Iterator):
        files = list(samples)
        if files and all(isinstance(file, str | os.PathLike) for file in files):
            return _several(files, executor)
        samples = files
    raise wrong_type("the samples", samples, EXPECTED, _advice(samples))


def _several(paths: Sequence[str | os.PathLike[str]], executor: Any) -> Catalogue:
    files = [file if isinstance(file, str) else Path(file) for file in paths]
    for file in files:
        _check_there(file)
        if len(files) > 1 and str(file).endswith(".toml"):
            raise SampleError(f"{file}: expected a single catalogue: list the files of several in one")
    if len(files) == 1:
        return open_catalogue(files[0], executor=executor)
    return catalogue_of(files, executor=executor)


def _check_there(path: Path | str) -> None:
    """Raise SampleError for a file that does not exist on this machine; wildcards are expanded later."""
    where = located(path)
    if isinstance(where, str) or is_there(where) or has_wildcards(where):
        return
    absolute = "://" in str(path) or Path(path).is_absolute()
    searched = "" if absolute else f" in the current folder, {Path.cwd()}"
    raise SampleError(f"there is no catalogue or event file {excerpt(str(path))}{searched}")


def _advice(samples: Any) -> str:
    kind = type(samples).__name__
    if kind == "Menu":
        return "the menu comes first, then the samples"
    if kind == "Sample":
        return "give the Catalogue that it is in"
    if kind in ("Emulation", "MenuRates"):
        return "its samples are .catalogue"
    if kind == "Record":
        return "this is a single event: take array[i : i + 1]"
    if kind in ("dict", "DataFrame", "ndarray") or (isinstance(samples, list) and samples):
        return "convert records or columns with ak.Array, as events_from_awkward describes"
    return ""
