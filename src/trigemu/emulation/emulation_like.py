"""Emulations as arguments of calls: an `Emulation`, or menus to emulate."""

from __future__ import annotations

from typing import Any

from trigemu.base.errors import TrigemuError
from trigemu.base.mapping import engine_of
from trigemu.emulation.engine import Progress
from trigemu.emulation.loop import Emulation, emulate
from trigemu.emulation.sample_warnings import with_warnings
from trigemu.menus.read import MenusLike, menus_of
from trigemu.samples.catalogue import without_bad_files
from trigemu.samples.memory import SamplesLike, samples_of


def emulation_of(
    emulation: Emulation | MenusLike,
    catalogue: SamplesLike = None,
    executor: Any = None,
    progress: Progress | None = None,
) -> Emulation:
    """Return an emulation unchanged; emulate menus on samples, as in `emulate`, and explain why triggers fire
    in no event."""
    if isinstance(emulation, Emulation):
        if catalogue is not None:
            raise TrigemuError("the emulation already has samples: give samples with menus only")
        return emulation
    menus, engine = menus_of(emulation), engine_of(executor)
    samples = samples_of(catalogue, executor=engine)
    return without_bad_files(
        samples,
        lambda good: with_warnings(emulate(menus, good, executor=engine, progress=progress), engine),
    )
