"""What `run` and `compare` have in common: the conditions of the samples, overlaps, figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from trigemu.base.errors import SampleError
from trigemu.base.mapping import Engine
from trigemu.cli import options
from trigemu.cli.session import Session, collects
from trigemu.emulation.engine import Progress
from trigemu.emulation.loop import Emulation, emulate
from trigemu.emulation.plan import LackingError
from trigemu.emulation.reweight import at_luminosity, at_pileup
from trigemu.emulation.runnable import fed_menu
from trigemu.emulation.sample_warnings import with_warnings
from trigemu.menus.menu import Menu
from trigemu.rates.results import MenuRates
from trigemu.results.overlap import overlap_page
from trigemu.results.table import Page
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.sample import Sample


@dataclass(frozen=True)
class Conditions:
    """The values of the options that `conditions` adds to a command."""

    pileup: float | None
    luminosity: float | None
    skip_missing: bool
    overlap: str | None  # "largest" or "all"
    figures: Path | None

    def emulate(self, session: Session, menus: Sequence[Menu]) -> Emulation:
        """Emulate menus on samples at a pile-up or a luminosity, if one is given."""

        def task(good: Catalogue, *, executor: Engine, progress: Progress) -> Emulation:
            if self.luminosity is not None:
                good = at_luminosity(good, self.luminosity)
            with fed(menus, good, self.skip_missing) as remaining:
                if self.pileup is not None:
                    good = at_pileup(good, self.pileup, executor=executor, progress=progress)
                return with_warnings(emulate(remaining, good, executor=executor, progress=progress), executor)

        def read(samples: Catalogue) -> tuple[Sample, ...]:
            budgets = any(menu.budgeted for menu in menus)
            return samples.background * (1 + budgets + (self.pileup is not None))

        return session.run(menus, task, read)

    def overlaps(self, rates: Iterable[tuple[str, MenuRates]]) -> Iterator[Page | str]:
        """Yield the largest overlaps of each menu below a name, or all, if they are asked for."""
        for name, menu_rates in rates if self.overlap else ():
            yield ""
            if name:
                yield name
            yield overlap_page(menu_rates, self.overlap == "all")

    def drawn(self, variants: Sequence[MenuRates]) -> list[Path]:
        """Draw the rates of menus into a folder, if one is given; return the files."""
        if self.figures is None:
            return []
        from trigemu.results.figures.rates import write_figures

        return write_figures(variants, self.figures)


#: Add the options of `Conditions` to a command.
conditions = collects(
    Conditions,
    "conditions",
    options.pileup,
    options.luminosity,
    options.skip_missing,
    options.overlap,
    options.figures,
)


@contextmanager
def fed(menus: Sequence[Menu], samples: Catalogue, skip_missing: bool) -> Iterator[list[Menu]]:
    """Emulate menus within a block, with --skip-missing those that samples can feed."""
    try:
        yield [fed_menu(menu, samples) for menu in menus] if skip_missing else [*menus]
    except LackingError as error:
        raise SampleError(f"{error}\n--skip-missing leaves these triggers out") from error
