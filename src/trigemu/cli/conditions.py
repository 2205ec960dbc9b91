"""What `run` and `compare` have in common: samples at a pile-up or luminosity, and figures of rates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trigemu.emulation import Emulation, Progress, at_luminosity, at_pileup, emulate
from trigemu.menus import Menu
from trigemu.rates import MenuRates
from trigemu.samples import Catalogue, without_bad_files
from trigemu.support import Engine


def scaled(samples: Catalogue, luminosity: float | None) -> Catalogue:
    """Return samples of interactions at a luminosity in cm⁻² s⁻¹, if one is given."""
    return samples if luminosity is None else at_luminosity(samples, luminosity)


def emulated(
    menus: Sequence[Menu], samples: Catalogue, engine: Engine, pileup: float | None, advance: Progress
) -> Emulation:
    """Emulate menus, on crossings reweighted to a mean number of interactions if one is given."""

    def on(good: Catalogue) -> Emulation:
        if pileup is not None:
            good = at_pileup(good, pileup, executor=engine, progress=advance)
        return emulate(menus, good, executor=engine, progress=advance)

    return without_bad_files(samples, on)


def written_figures(variants: Sequence[MenuRates], folder: Path | None) -> list[Path]:
    """Draw the rates of menus into a folder, if one is given; return the files."""
    if folder is None:
        return []
    from trigemu.results.rate_pictures import write_figures  # Matplotlib takes long to import

    return write_figures(variants, folder)
