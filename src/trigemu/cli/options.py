"""Options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from trigemu.base.errors import TrigemuError, quoted, without_unit
from trigemu.base.plugins import plugin_path_of
from trigemu.menus.prescales import ALL_COLUMNS
from trigemu.samples.catalogue import Errors

F = TypeVar("F", bound=Callable[..., Any])
#: Formats of figures, chosen by the ending of the file name.
FIGURES = (".png", ".pdf", ".svg")

#: Numbers of processes; more processes than cores would only use up memory.
WORKERS: click.IntRange = click.IntRange(1, 1024)


class Positive(click.FloatRange):
    """A range of numbers above 0; click's own ranges contain NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if hint := without_unit(value):
            self.fail(f"{quoted(value)} is not a number{hint}", param, ctx)
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail("nan is not a number above 0", param, ctx)
        return number


#: A number above 0, such as a rate in Hz.
POSITIVE = Positive(0, 1e15, min_open=True)
#: A path or a URL, as a text: a Path would lose one of the slashes after a scheme.
LOCATION = click.Path(readable=False)
#: A document, as a text: the name of a file to write, or - for the standard output.
DOCUMENT = click.Path()

menu = click.argument("menu", type=click.Path(path_type=Path))
#: The arguments MENU…
menus = click.argument("menus", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="MENU...")
#: --samples, given as `catalogue`.
samples = click.option(
    "--samples",
    "catalogue",
    type=LOCATION,
    help="Catalogue (TOML) of the samples to use, its folder, or a file of events; "
    "the embedded ones by default.",
)
tree = click.option(
    "--tree",
    metavar="NAME",
    help="Tree (TTree or RNTuple) with the events of a ROOT file, such as ntuple/events "
    "[default: Events, or the only one with numbers].",
)


def _search_also(context: click.Context, _: click.Parameter, folders: tuple[Path, ...]) -> tuple[Path, ...]:
    """Make the folders the plugin path of this command and of its processes: a sample, too, may need the
    format of a plugin."""
    if folders:
        context.with_resource(plugin_path_of(folders))
    return folders


plugin_path = click.option(
    "--plugin-path",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    multiple=True,
    callback=_search_also,
    help="Folder of plugins, repeatable [default: TRIGEMU_PLUGIN_PATH, else plugins/].",
)


def output(what: str) -> Callable[[F], F]:
    """Return the option -o for the file that a command writes."""
    return click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help=what)


overlap = click.option(
    "--overlap",
    is_flag=False,
    flag_value="largest",
    type=click.Choice(["largest", "all"]),
    help="Also print the largest overlaps of two triggers; 'all': every one.",
)
json_file = click.option(
    "--json", "json_file", type=DOCUMENT, help="Write all numbers as JSON; -: instead of the tables."
)
csv_file = click.option(
    "--csv", "csv_file", type=DOCUMENT, help="Write the rates as CSV; -: instead of the tables."
)


def _ranges(
    context: click.Context, option: click.Parameter, values: tuple[str, ...]
) -> dict[str, tuple[float, float]]:
    """Read NAME=LOW:HIGH, each name once."""
    ranges: dict[str, tuple[float, float]] = {}
    for text in values:
        name, _, ends = text.rpartition("=")
        low, _, high = ends.partition(":")
        if name in ranges:
            raise TrigemuError(f"--vary {quoted(text)}: {name} appears twice")
        try:
            ranges[name] = float(low), float(high)
        except ValueError:
            name = ""
        if not name:
            raise TrigemuError(f"--vary {quoted(text)}: expected NAME=LOW:HIGH, such as J100=60:160")
    return ranges


#: --vary, given as a range for each name.
vary = click.option(
    "--vary",
    multiple=True,
    callback=_ranges,
    metavar="NAME=LOW:HIGH",
    help="Range of a trigger's thresholds; repeatable [default: from ten times its own rate to a tenth].",
)
signals = click.option(
    "--signal", "signals", multiple=True, help="Sample whose events are all added; repeatable."
)
scores_file = click.option(
    "--scores",
    type=click.Path(path_type=Path),
    help="Scores of the samples (trigemu scores), used instead of their events.",
)


def _drawable(context: click.Context, option: click.Parameter, file: Path | None) -> Path | None:
    if file and file.suffix not in FIGURES:
        raise TrigemuError(f"cannot draw {file}: its name should end in {', '.join(FIGURES)}")
    return file


figure = click.option(
    "--figure",
    type=click.Path(path_type=Path),
    callback=_drawable,
    help=f"Draw into this file ({', '.join(FIGURES)}).",
)
figures = click.option(
    "--figures", type=click.Path(path_type=Path, file_okay=False), help="Draw figures into this folder."
)


def _number_or_file(text: str) -> float | Path:
    try:
        return float(text)
    except ValueError:
        return Path(text)


#: Where and how samples are read.
ENGINE = (
    tree,
    click.option(
        "--engine",
        metavar="ENGINE",
        default="local",
        show_default=True,
        help="Engine: this machine (local), or a cluster of dask (dask:tcp://HOST:PORT, dask:FILE of its "
        "scheduler). The result does not depend on it.",
    ),
    click.option(
        "--workers",
        type=WORKERS,
        help="Number of threads, and of processes on this machine, which are started if the work takes long "
        "enough; 1: one core [default: all cores].",
    ),
    click.option(
        "--retries",
        type=click.IntRange(0, 100),
        default=3,
        show_default=True,
        help="How often to repeat a task whose file cannot be read, or whose worker was lost.",
    ),
    click.option(
        "--checkpoint",
        type=click.Path(path_type=Path, file_okay=False),
        help="Store finished tasks in this folder; the same command then runs only the missing ones.",
    ),
    click.option(
        "--skip-bad-files",
        is_flag=True,
        help="Skip files that cannot be opened, and list them with the rates.",
    ),
)
#: The working point: prescales of menus, and conditions of samples.
POINT = (
    click.option(
        "--prescales",
        type=click.Path(path_type=Path),
        help="Prescale columns in place of the menu's: CSV (name, then one per column; also tables of CMS), "
        "or XML of the CMS global trigger.",
    ),
    click.option(
        "--column",
        "columns",
        multiple=True,
        metavar="NAME",
        help=f"Column of prescales of every menu with columns; for run repeatable, or {ALL_COLUMNS!r}.",
    ),
    click.option(
        "--pileup",
        metavar="NUMBER|FILE",
        type=_number_or_file,
        help="Reweight crossings to this mean number of interactions, or a histogram of it (.root, .json, "
        ".csv); 0: as they are [default: that of the column].",
    ),
    click.option(
        "--luminosity",
        type=float,
        help="Scale samples of interactions to this luminosity, in cm^-2 s^-1 [default: that of the column].",
    ),
    click.option(
        "--crossing-rate",
        type=POSITIVE,
        help="Rate of bunch crossings in Hz in place of the menu's.",
    ),
    click.option(
        "--errors",
        type=click.Choice(get_args(Errors)),
        default="interactions",
        show_default=True,
        help="What fluctuates independently: each interaction, with all its events, or each event.",
    ),
    click.option(
        "--skip-missing",
        is_flag=True,
        help="Leave out triggers that need columns that the samples lack, and list them; skip rows of "
        "--prescales for which the menu has no trigger.",
    ),
)
