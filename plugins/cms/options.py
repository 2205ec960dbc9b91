"""Options of several commands: differences of a CMS emulator from the hardware."""

from __future__ import annotations

import click

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
