"""Emulations as arguments of calls: an `Emulation`, or menus to emulate."""

from __future__ import annotations

from typing import Any

from trigemu.emulation.engine import Progress
from trigemu.emulation.loop import Emulation, emulate
from trigemu.emulation.unlike import compare_with_training
from trigemu.emulation.unreached import explain_idle
from trigemu.menus import MenusLike, menus_of
from trigemu.samples import SamplesLike, samples_of, without_bad_files
from trigemu.support import TrigemuError, engine_of


def emulation_of(
    emulation: Emulation | MenusLike,
    catalogue: SamplesLike = None,
    executor: Any = None,
    progress: Progress | None = None,
) -> Emulation:
    """Return an emulation unchanged; emulate menus on samples, as in `emulate`, and explain why triggers fire
    in no event.

    Parameters
    ----------
    emulation : Emulation, Menu, path, or list of menus
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
        If there are samples in addition to an emulation, which already has samples.
    """
    if isinstance(emulation, Emulation):
        if catalogue is not None:
            raise TrigemuError("the emulation already has samples: give samples with menus only")
        return emulation
    menus, engine = menus_of(emulation), engine_of(executor)
    samples = samples_of(catalogue, executor=engine)
    return without_bad_files(
        samples,
        lambda good: compare_with_training(
            explain_idle(emulate(menus, good, executor=engine, progress=progress), engine), engine
        ),
    )
