"""The processing of events by a command: options that many commands share, and the engine."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import click

import trigemu
from trigemu.base.checkpoint import Checkpoint
from trigemu.base.dask import dask_client
from trigemu.base.errors import TrigemuError
from trigemu.base.mapping import Engine
from trigemu.base.processes import cores, own_pool
from trigemu.cli import options
from trigemu.cli.console import say
from trigemu.samples.catalogue import Catalogue

LOCAL, DASK = "local", "dask"


class _EngineName(click.ParamType):  # type: ignore[type-arg]  # generic only in new versions
    """`local`, `dask`, or `dask:` with an address or a file."""

    name = "engine"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        kind, colon, where = str(value).partition(":")
        if value == LOCAL or (kind == DASK and bool(colon) == bool(where)):
            return str(value)
        self.fail(f"{value!r}: expected local, dask, dask:tcp://HOST:PORT or dask:FILE", param, ctx)


@dataclass(frozen=True)
class Processing:
    """The values of the options that `processing` adds to a command."""

    engine: str  # "local", or "dask" with an address or a file
    workers: int | None  # The number of processes on this machine; None: all cores
    retries: int  # The number of times that a failed task is repeated
    checkpoint: Path | None  # The folder of finished tasks
    skip_bad_files: bool  # Whether to skip files that cannot be read
    tree: str | None  # The tree with the events of a ROOT file

    @contextmanager
    def opened(self, catalogue: Path | str | None) -> Iterator[tuple[Engine, Catalogue]]:
        """Start the engine, and open a `catalogue` with it; the engine stops at the end of the block."""
        checkpoint = Checkpoint(self.checkpoint) if self.checkpoint else None
        where = self.engine.partition(":")[2] or None
        local = nullcontext() if self.engine == LOCAL else dask_client(where, self.workers or cores())
        with local as client:
            engine = Engine(
                client, workers=self.workers, retries=self.retries, checkpoint=checkpoint, warn=_report
            )
            if engine.number == 0:
                _report("the cluster has no workers yet: waiting for the first")
            try:
                samples = trigemu.open_catalogue(
                    catalogue, executor=engine, skip_bad_files=self.skip_bad_files, tree=self.tree
                )
                yield engine, samples
            finally:
                if not client:
                    own_pool(self.workers or cores()).restart()


def _report(message: str) -> None:
    say(f"trigemu: {message}", err=True)


_OPTIONS = (
    options.tree,
    click.option(
        "--engine",
        type=_EngineName(),
        default=LOCAL,
        show_default=True,
        help="Engine: this machine (local), or dask: processes on this machine (dask), or a cluster "
        "(dask:tcp://HOST:PORT, dask:FILE of its scheduler). The result does not depend on it.",
    ),
    click.option(
        "--workers",
        type=options.WORKERS,
        help="Number of processes on this machine, started if the work takes long enough; 1: none beside "
        "this one [default: all cores].",
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
        help="Skip files that cannot be read, and list them with the rates.",
    ),
)


def processing(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `Processing` to a command."""

    @functools.wraps(command)
    def collected(*arguments: Any, **keywords: Any) -> Any:
        settings = {field.name: keywords.pop(field.name) for field in fields(Processing)}
        if (settings["workers"] or 1) > 1 and settings["engine"].startswith(f"{DASK}:"):
            raise TrigemuError("--workers is for processes on this machine: a cluster has its own workers")
        return command(*arguments, processing=Processing(**settings), **keywords)

    for option in reversed(_OPTIONS):
        option(collected)
    return collected
