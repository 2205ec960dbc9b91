"""`trigemu checkpoint`"""

from __future__ import annotations

import time
from itertools import groupby
from pathlib import Path

import click

from trigemu.base.checkpoint import listed_tasks, prune
from trigemu.cli.console import console, say
from trigemu.results.table import Column, Page, Table

_COLUMNS = (
    Column("work", "label", "work"),
    Column("about", "note", "what"),
    Column("version", "label", "version", leads=False),
    Column("tasks", "count", "tasks"),
    Column("events", "count", "events"),
    Column("size", "number", "size"),
    Column("age", "number", "last"),
)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--prune",
    "days",
    type=click.FloatRange(min=0.0),
    help="Remove tasks that are damaged or older than this many days; 0: all.",
)
def checkpoint(folder: Path, days: float | None) -> None:
    """List the tasks in a checkpoint FOLDER, or remove some of them."""
    if days is not None:
        files, size = prune(folder, days)
        say(f"{folder}: removed {files} files, {_size(size)}")
    stored = [*listed_tasks(folder)]
    table = Table(_COLUMNS)
    finished = [(task.head, task) for task in stored if task.head]
    finished.sort(key=lambda pair: pair[0].work)
    for work, group in groupby(finished, key=lambda pair: pair[0].work):
        heads, tasks = zip(*group, strict=True)
        age = (time.time() - max(task.written for task in tasks)) / 3600
        table.add(
            work[:8],
            heads[0].about,
            heads[0].version,
            len(tasks),
            sum(head.size for head in heads),
            _size(sum(task.bytes for task in tasks)),
            f"{age:.1f} h ago",
        )
    console().print(Page([table]) if finished else f"{folder} holds no finished task.")
    for task in stored:
        if task.head is None:
            say(f"{task.path} is damaged or of another program")


def _size(size: int) -> str:
    return f"{size / 1e6:.3g} MB"
