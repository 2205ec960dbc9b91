"""What `run` and `compare` have in common: menus that samples can feed, samples at a pile-up, figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from trigemu.base.errors import SampleError
from trigemu.base.mapping import Engine
from trigemu.emulation.engine import Progress
from trigemu.emulation.loop import Emulation, emulate
from trigemu.emulation.plan import LackingError
from trigemu.emulation.reweight import at_luminosity, at_pileup
from trigemu.emulation.runnable import fed_menu
from trigemu.emulation.sample_warnings import with_warnings
from trigemu.menus.menu import Menu
from trigemu.rates.results import MenuRates
from trigemu.samples.catalogue import Catalogue, without_bad_files


@contextmanager
def fed(menus: Sequence[Menu], samples: Catalogue, skip_missing: bool) -> Iterator[list[Menu]]:
    """Emulate menus within a block, with --skip-missing those that samples can feed."""
    try:
        yield [fed_menu(menu, samples) for menu in menus] if skip_missing else [*menus]
    except LackingError as error:
        raise SampleError(f"{error}\n--skip-missing leaves these triggers out") from error


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
        emulation = emulate(menus, good, executor=engine, progress=advance)
        return with_warnings(emulation, engine)

    return without_bad_files(samples, on)


def written_figures(variants: Sequence[MenuRates], folder: Path | None) -> list[Path]:
    """Draw the rates of menus into a folder, if one is given; return the files."""
    if folder is None:
        return []
    from trigemu.results.rate_pictures import write_figures

    return write_figures(variants, folder)
