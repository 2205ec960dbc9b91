"""Options of several commands: what an emulator of CMS did otherwise than its hardware."""

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
    help="CMS: overlap removal needs objects that no object of the last leg overlaps, not only the chosen "
    "one, as in the emulator until 2021.",
)
