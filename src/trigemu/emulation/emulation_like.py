"""Emulations as calls are given them: an `Emulation`, or menus that are emulated for it."""

from __future__ import annotations

from typing import Any

from trigemu.emulation.engine import Progress
from trigemu.emulation.loop import Emulation, emulate
from trigemu.menus import MenusLike, menus_of
from trigemu.samples import SamplesLike, samples_of, without_bad_files
from trigemu.support import TrigemuError, engine_of


def emulation_of(
    given: Emulation | MenusLike,
    catalogue: SamplesLike = None,
    executor: Any = None,
    progress: Progress | None = None,
) -> Emulation:
    """Return an emulation as it is, or that of menus on samples, as `emulate` takes them.

    Parameters
    ----------
    given : Emulation, Menu, path, or list of menus
        The emulation, or the menus.
    catalogue : Catalogue, path, Events, ak.Array or None
        The samples of the menus; None: the embedded ones.
    executor
        As in `emulate`.
    progress : callable, optional
        Called with the number of events done since the last call.

    Returns
    -------
    Emulation
        The emulation.

    Raises
    ------
    TrigemuError
        If samples are given beside an emulation, which has its own.
    """
    if isinstance(given, Emulation):
        if catalogue is not None:
            raise TrigemuError(
                "the emulation has its samples already: give them with menus, or leave them out"
            )
        return given
    menus, engine = menus_of(given), engine_of(executor)
    samples = samples_of(catalogue, executor=engine)
    return without_bad_files(samples, lambda good: emulate(menus, good, executor=engine, progress=progress))
