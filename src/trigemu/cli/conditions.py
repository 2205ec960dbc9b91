"""What `run` and `compare` have in common: menus that samples can feed, samples at a pile-up or luminosity,
figures of rates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from trigemu.emulation import (
    Emulation,
    LackingError,
    Progress,
    at_luminosity,
    at_pileup,
    compare_with_training,
    emulate,
    explain_idle,
    fed_menu,
)
from trigemu.menus import Menu
from trigemu.rates import MenuRates
from trigemu.samples import Catalogue, SampleError, without_bad_files
from trigemu.support import Engine


@contextmanager
def fed(menus: Sequence[Menu], samples: Catalogue, skip_missing: bool) -> Iterator[list[Menu]]:
    """Emulate menus within a block, with --skip-missing those that samples can feed.

    Parameters
    ----------
    menus : sequence of Menu
        The menus.
    samples : Catalogue
        The samples.
    skip_missing : bool
        Whether to leave out triggers that need columns that the samples lack.

    Returns
    -------
    context manager of list of Menu
        The menus to emulate. An error within the block about missing columns mentions the option.
    """
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
        return compare_with_training(explain_idle(emulation, engine), engine)

    return without_bad_files(samples, on)


def written_figures(variants: Sequence[MenuRates], folder: Path | None) -> list[Path]:
    """Draw the rates of menus into a folder, if one is given; return the files."""
    if folder is None:
        return []
    from trigemu.results.rate_pictures import write_figures  # Matplotlib takes long to import

    return write_figures(variants, folder)
