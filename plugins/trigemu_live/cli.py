"""`trigemu live` and `trigemu fill`"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from trigemu.base.errors import TrigemuError
from trigemu.base.files import check_outputs
from trigemu.base.processes import cores
from trigemu.cli import options
from trigemu.cli.session import Session, collects, session
from trigemu.menus.menu import Menu
from trigemu.menus.prescales import at_crossing_rate
from trigemu.samples.catalogue import Catalogue

from .beam import Start
from .fill import through_fill
from .fill_config import read_fill
from .filling import ORBIT, file_of, read_filling, scheme_names, spread
from .live import MAX_SECONDS, live_rates
from .ordered import OrderedAccepts, accepts_in_order, is_consecutive
from .results import LiveRates
from .rules import NO_RULES, read_rules, rule_names

#: Controllers run this many times at most.
MAX_SEEDS = 1000


@dataclass(frozen=True)
class Readout:
    """The values of the options that `readout` adds to a command."""

    filling: str | None
    colliding: int | None
    rules: str | None

    def read(self, menu: Path, session: Session) -> tuple[Menu, dict[str, Any]]:
        """Return the menu with its prescales; and the filling scheme and the rules, as keywords."""
        check_outputs(session.files, (self.filling and file_of(self.filling), self.rules))
        if self.filling and self.colliding:
            raise TrigemuError("--filling has its own number of colliding bunches: leave --colliding out")
        if session.crossing_rate and (self.filling or self.colliding):
            raise TrigemuError("the bunches give the rate of crossings: leave --crossing-rate out")
        filling = read_filling(self.filling) if self.filling else None
        filling = spread(self.colliding) if self.colliding else filling
        rules = read_rules(self.rules) if self.rules else NO_RULES
        (read,) = session.menus(menu)
        if filling:
            read = at_crossing_rate(read, filling.crossing_rate_hz)
        return read, {"filling": filling, "rules": rules}


#: Add the options of a filling scheme and of rules.
readout = collects(
    Readout,
    "readout",
    click.option(
        "--filling",
        metavar="FILE|NAME|TEXT",
        help="Filling scheme: a CSV, JSON or TOML file, a text such as '39(72b 8e)', or one of "
        f"{', '.join(scheme_names())} [default: every slot filled].",
    ),
    click.option("--colliding", type=click.IntRange(1, ORBIT), help="This many bunches, spread evenly."),
    click.option(
        "--rules",
        metavar="FILE|NAME",
        help=f"Rules: a TOML file, or {', '.join(rule_names())} [default: none].",
    ),
)


@click.command()
@options.menu
@click.option(
    "--seconds",
    type=click.FloatRange(0, MAX_SECONDS, min_open=True),
    default=10.0,
    show_default=True,
    help="Time of beam.",
)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=1, show_default=True, help="Seed.")
@click.option(
    "--counters",
    type=click.Choice(["random", "zero"]),
    default="random",
    show_default=True,
    help="Where prescale counters begin: at random phases, in 32 beams; or at zero, in one beam.",
)
@click.option(
    "--input-rate", type=options.POSITIVE, help="Scale the rates to this one before the rules, in Hz."
)
@click.option("--without", multiple=True, metavar="TRIGGER", help="A trigger that never accepts; repeatable.")
@session
@readout
@options.figures
@options.json_file
@options.csv_file
def live(
    menu: Path,
    seconds: float,
    seed: int,
    counters: Start,
    input_rate: float | None,
    without: tuple[str, ...],
    session: Session,
    readout: Readout,
) -> None:
    """Print what is recorded of a MENU with bunch trains, dead time and rules, and why the rest is lost."""
    read, how = readout.read(menu, session)
    how |= {"seed": seed, "without": without}

    def recorded(menus: list[Menu], good: Catalogue, **engine: Any) -> LiveRates | OrderedAccepts:
        if not is_consecutive(good):
            beam: dict[str, Any] = {"seconds": seconds, "counters": counters, "input_rate_hz": input_rate}
            return live_rates(menus[0], good, **beam, workers=session.workers or cores(), **how, **engine)
        if readout.colliding or input_rate or session.pileup:
            raise TrigemuError(
                f"{good.path}: its crossings are consecutive and taken in their order, so their rate cannot "
                f"be chosen: leave --colliding, --input-rate and --pileup out"
            )
        return accepts_in_order(menus[0], good, **how, **engine)

    session.present(session.run([read], recorded))


@click.command()
@options.menu
@click.argument("config", metavar="FILL", type=click.Path(path_type=Path))
@click.option(
    "--seeds",
    type=click.IntRange(1, MAX_SEEDS),
    default=1,
    show_default=True,
    help="Run controllers with the seeds 1 to N.",
)
@session
@readout
@options.figures
@options.json_file
@options.csv_file
def fill(menu: Path, config: Path, seeds: int, session: Session, readout: Readout) -> None:
    """Run a MENU through a FILL (TOML): falling pile-up, columns of prescales, thresholds under control."""
    if session.pileup:
        raise TrigemuError(f"{config} has its own pile-up: leave --pileup out")
    read, how = readout.read(menu, session)
    about = read_fill(config)
    how |= {"seeds": range(1, seeds + 1)}
    result = session.run(
        [read], lambda menus, good, **engine: through_fill(menus[0], about, good, **how, **engine)
    )
    session.present(result)
