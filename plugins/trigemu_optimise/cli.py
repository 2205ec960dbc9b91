"""`trigemu optimise`"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from trigemu.base.errors import TrigemuError
from trigemu.base.files import check_outputs
from trigemu.cli import options
from trigemu.cli.console import steps_bar
from trigemu.cli.session import Session, collects, session
from trigemu.emulation.table_files import read_scores

from .goals import Effort, read_goals
from .write_menu import numbers_file, write_menu


def _number(name: str, least: int, most: int, text: str) -> Callable[[Any], Any]:
    """Return the option for a number of `Effort`."""
    default = getattr(Effort(), name)
    return click.option(
        f"--{name}", type=click.IntRange(least, most), default=default, show_default=True, help=text
    )


@click.command()
@options.menu
@click.argument("goals", type=click.Path(path_type=Path))
@options.output("The best menu (TOML).")
@options.scores_file
@session
@collects(
    Effort,
    "effort",
    _number("seed", 0, 2**32, "Seed."),
    _number("starts", 1, 10_000, "Random starts of the search."),
    _number("hops", 0, 10_000, "Hops from each start."),
    _number("replicas", 0, 10_000, "Replicas of the events that say how firm each value is; 0: none."),
    _number("caps", 0, 100, "Caps, from half to twice that of GOALS, for the front; 0: none."),
)
@options.json_file
@options.csv_file
@options.figures
def optimise(
    menu: Path, goals: Path, output: Path, scores: Path | None, session: Session, effort: Effort
) -> None:
    """Find the thresholds, prescales and switches of MENU that serve the channels of GOALS (TOML) best.

    The rate stays below a cap. Half of the events are searched, the other half judges. The best menu goes to
    the output, with the comments of MENU; its numbers go beside it (.optimise.json), for `trigemu report`.
    """
    if output.suffix != ".toml":
        raise TrigemuError(f"{output} should end in .toml")
    check_outputs([numbers_file(output)], (menu, goals, session.catalogue))
    wanted, read = read_goals(goals), session.menus(menu)

    from .optimise import optimised
    from .setup import make_setup

    setup = session.run(
        read,
        lambda menus, good, **how: make_setup(
            menus[0], wanted, read_scores(scores, read[0], good) if scores else good, **how
        ),
    )
    with session.started() as engine, steps_bar(effort.steps(len(wanted.channels))) as begin:
        result = optimised(setup, effort, engine, begin)
    write_menu(result.written, result.menu, result.summary, output)

    session.present(result, lines=[output])
