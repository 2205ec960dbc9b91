"""Options of several commands: how a CMS emulator computes, besides the menu."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from .networks import ScoreNetwork

mass_limit = click.option(
    "--mass-limit",
    is_flag=True,
    help="CMS: `mass`, the function of 2016, never fires above 1414 GeV, as in the emulator of that year.",
)
any_overlap_vetoes = click.option(
    "--any-overlap-vetoes",
    is_flag=True,
    help="CMS: overlap removal rejects an object that overlaps with any object of the last leg, not only "
    "with the chosen one, as in the emulator until 2021.",
)
networks = click.option(
    "--network",
    "networks",
    multiple=True,
    metavar="NAME=CARD",
    help="CMS: compute a score by a network, such as axo=axol1tl_v5.toml, from `trigemu import hls4ml`; "
    "repeatable, also for several versions of one network, of which menus name theirs.",
)


def networks_of(texts: Iterable[str]) -> tuple[ScoreNetwork, ...]:
    """Return the networks of the option; without any, the plugin that runs them is not needed."""
    if not texts:
        return ()
    from .networks import read_network

    return tuple(map(read_network, texts))
