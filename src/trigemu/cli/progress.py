"""A progress bar on stderr for long work; nothing where stderr is not a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from trigemu.menus import Menu
from trigemu.samples import Catalogue, Sample


def events_bar(samples: Iterable[Sample], passes: int = 1) -> AbstractContextManager[Callable[[int], None]]:
    """Return a bar over the events of some samples, which are read in a number of passes."""
    return bar("events", passes * sum(sample.entries for sample in samples))


def menus_bar(
    menus: Iterable[Menu], catalogue: Catalogue, further: int = 0
) -> AbstractContextManager[Callable[[int], None]]:
    """Return a bar over the background events that some menus are run on: one pass for the rates, one more
    where budgets are solved, and `further` ones."""
    return events_bar(catalogue.background, 1 + any(menu.budgeted for menu in menus) + further)


@contextmanager
def bar(description: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that advances the bar by a number of steps."""
    if not sys.stderr.isatty():
        yield lambda steps: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as progress:
        task = progress.add_task(description, total=total)
        yield lambda steps: progress.advance(task, steps)
