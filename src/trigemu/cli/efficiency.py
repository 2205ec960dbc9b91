"""`trigemu efficiency`"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from trigemu.cli import options
from trigemu.cli.session import Session, session
from trigemu.results.efficiency import write_figures
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.sample import Sample
from trigemu.studies.efficiency_profiles import Category, ProfileSet, parse_bins, read_profiles
from trigemu.studies.intervals import Profile


@click.command()
@click.argument("menus", type=click.Path(path_type=Path), nargs=-1, metavar="[MENU]...")
@click.option("--profile", type=click.Path(path_type=Path), help="TOML file with all of the following.")
@click.option("--sample", "samples", multiple=True, help="Sample to take the events from; repeatable.")
@click.option(
    "--observable", "observables", multiple=True, help="Observable, as in menus: photon[0].pt; repeatable."
)
@click.option(
    "--bins", multiple=True, help="Bin edges, 0:100:5 or 0,20,50,100: for each --observable, or once."
)
@click.option("--category", "categories", multiple=True, help='A condition: "n_jet == 0"; repeatable.')
@click.option("--require", help="Condition that selects events [default: from the catalogue].")
@click.option(
    "--trigger", "triggers", multiple=True, help="Trigger to measure in addition to the menus; repeatable."
)
@session
@options.json_file
@options.csv_file
@options.figures
def efficiency(
    menus: tuple[Path, ...],
    profile: Path | None,
    samples: tuple[str, ...],
    observables: tuple[str, ...],
    bins: tuple[str, ...],
    categories: tuple[str, ...],
    require: str | None,
    triggers: tuple[str, ...],
    session: Session,
    figures: Path | None,
) -> None:
    """Measure efficiencies of MENUs on signal samples; gains are over the first menu."""
    requested = (
        _from_file(profile, observables, categories)
        if profile
        else _from_options(observables, bins, categories)
    )
    requested = replace(
        requested,
        menus=menus or requested.menus,
        samples=samples or requested.samples,
        require=requested.require if require is None else require,
        triggers=triggers or requested.triggers,
    )
    if not (requested.menus and requested.samples and requested.observables):
        raise click.UsageError("expected at least a MENU, --sample, --observable and --bins, or a --profile")
    read = session.menus(*requested.menus)

    def read_samples(good: Catalogue) -> list[Sample]:
        background = good.background if any(menu.budgeted for menu in read) else ()
        return [*(good.sample(name) for name in requested.samples), *background]

    result = session.run(read, requested.measure, read_samples)
    session.present(result, lines=write_figures(result, figures) if figures else ())


def _from_file(file: Path, observables: tuple[str, ...], categories: tuple[str, ...]) -> ProfileSet:
    if observables or categories:
        raise click.UsageError("a --profile defines its own observables and categories")
    return read_profiles(file)


def _from_options(
    observables: tuple[str, ...], bins: tuple[str, ...], categories: tuple[str, ...]
) -> ProfileSet:
    """Return the profile set that the options describe."""
    if len(bins) not in (1, len(observables)):
        raise click.UsageError(f"{len(observables)} --observable and {len(bins)} --bins: each needs its bins")
    each = bins if len(bins) > 1 else bins * len(observables)
    pairs = zip(observables, each, strict=True)
    return ProfileSet(
        observables=tuple(Profile(text, parse_bins(edges)) for text, edges in pairs),
        categories=tuple(Category(condition=text) for text in categories),
    )
