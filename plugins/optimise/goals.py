"""What an optimisation is for, in TOML.

[goals]
rate_hz = 90e3                          # the cap on the rate of the menu
merit = "squared"                       # or "mean", "worst"
keep = ["J40_PS"]                       # never varied

[[channel]]
sample = "h_bb"                         # a signal of the catalogue
require = "n_jet >= 2"                  # which of its events count
weight = 2.0

[[vary]]
triggers = ["J100", "HT220"]
above = "free"                          # or { min = 80.0, max = 160.0, step = 2.0 }

[[vary]]
triggers = ["J80_PS"]
prescale = [1, 2, 5, 10]                # or: switch = true

[[tie]]
triggers = ["2J70", "J100"]             # equal thresholds, or each above the one before it
at_least = 10.0

[[limit]]
group = "jets"                          # or trigger, or level
quantity = "rate"                       # or "unique"
max_hz = 40e3                           # or min_hz

    [live]                                  # a floor on the live fraction
    min = 0.95
    rules = "cms"
    filling = "lhc-2018-2544"
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from trigemu.api import Document, TomlTable, load_toml, nearest, read_table, refuse_other_kinds

from .goal_tables import ChannelTable, GoalsTable, Limit, Live, Tie, Vary

#: The most channels, and tables of any other kind.
MAX_TABLES = 1000
S = TypeVar("S", bound=TomlTable)


@dataclass(frozen=True)
class Goals:
    """The goals of an optimisation.

    Attributes
    ----------
    path : Path
        Their file.
    sha256 : str
        Its SHA-256.
    table : GoalsTable
        The cap and the figure of merit.
    channels, vary, ties, limits : tuple
        The lists of tables.
    live : Live or None
        The floor on the live fraction.
    """

    path: Path
    sha256: str
    table: GoalsTable
    channels: tuple[ChannelTable, ...]
    vary: tuple[Vary, ...]
    ties: tuple[Tie, ...]
    limits: tuple[Limit, ...]
    live: Live | None = None


def read_goals(path: Path | str) -> Goals:
    """Read and check a file of goals.

    Parameters
    ----------
    path : Path or str
        The TOML file.

    Returns
    -------
    Goals

    Raises
    ------
    TableError
        With all mistakes of the file, each with its line.
    """
    document = load_toml(Path(path))
    refuse_other_kinds(document, "goals")
    known = ("goals", "channel", "vary", "tie", "limit", "live")
    for key in document.data:
        if key not in known:
            document.problem((key,), "", f"unknown key {key!r}{nearest(key, known)}")
    if "goals" not in document.data:
        document.problem((), "", "[goals] is missing: expected it with rate_hz, the cap on the menu's rate")
    table, live = _table(document, "goals", GoalsTable), _table(document, "live", Live)
    channels = _tables(document, "channel", ChannelTable)
    vary, ties = _tables(document, "vary", Vary), _tables(document, "tie", Tie)
    limits = _tables(document, "limit", Limit)
    if not document.problems:
        _check_channels(document, channels)
    if not document.problems and not vary:
        document.problem((), "", "there is no [[vary]]: nothing may change")
    document.finish()
    assert table is not None
    lists = (tuple(vary), tuple(ties), tuple(limits))
    return Goals(document.path, document.sha256, table, tuple(channels), *lists, live)


def _check_channels(document: Document, channels: Sequence[ChannelTable]) -> None:
    if not channels:
        document.problem((), "", "there is no [[channel]]: expected at least one, with sample = NAME")
    names: set[str] = set()
    for number, channel in enumerate(channels):
        if channel.label in names:
            message = f"two channels are called {channel.label!r}: give them different names"
            document.problem(("channel", number), "", message)
        names.add(channel.label)


def _table(document: Document, key: str, struct: type[S]) -> S | None:
    """Return the table [key]; None if there is none, or it has a mistake."""
    if key not in document.data:
        return None
    return read_table(document, document.data[key], struct, (key,), f"[{key}]")


def _tables(document: Document, key: str, struct: type[S]) -> list[S]:
    """Return the tables [[key]] that have no mistake."""
    tables = document.data.get(key, [])
    if not isinstance(tables, list) or len(tables) > MAX_TABLES:
        document.problem((key,), "", f"{key}: expected at most {MAX_TABLES} tables [[{key}]]")
        return []
    read = (read_table(document, of, struct, (key, number), f"[[{key}]]") for number, of in enumerate(tables))
    return [of for of in read if of is not None]
