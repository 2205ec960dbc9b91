"""Progress of long work on stderr: a bar on a terminal; in a log, a line at intervals."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Event, Thread

from trigemu.base.errors import printable
from trigemu.base.mapping import Engine
from trigemu.cli.console import say
from trigemu.menus.menu import Menu
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.sample import Sample

#: Seconds between two lines in a log.
LINE_S = 30.0


def events_bar(
    samples: Iterable[Sample], engine: Engine, passes: int = 1
) -> AbstractContextManager[Callable[[int], None]]:
    """Show the progress of passes over samples."""
    return bar("events", passes * sum(sample.entries for sample in samples), engine)


def menus_bar(
    menus: Iterable[Menu], catalogue: Catalogue, engine: Engine, further: int = 0
) -> AbstractContextManager[Callable[[int], None]]:
    """Show the progress of menus over the background: one pass for the rates, one more if budgets are
    solved."""
    return events_bar(catalogue.background, engine, 1 + any(menu.budgeted for menu in menus) + further)


@contextmanager
def bar(
    description: str, total: int, engine: Engine | None = None, limit: float = math.inf
) -> Iterator[Callable[[int], None]]:
    """Show progress on stderr: a bar on a terminal; in a log, a line at intervals. Nothing to do has none."""
    if not total or not sys.stderr.isatty():
        yield _Log(description, total, engine, limit).advance
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    clock = TimeRemainingColumn() if limit == math.inf else TimeElapsedColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), clock)
    state = TextColumn("{task.fields[state]}", style="dim")
    with Progress(*columns, state, console=Console(stderr=True)) as progress:
        task = progress.add_task(description, total=total, state="")
        start, done = time.monotonic(), 0

        def advance(steps: int) -> None:
            nonlocal done
            done += steps
            speed = done / max(time.monotonic() - start, 1e-3)
            progress.update(task, advance=steps, state=_state(description, speed, engine))

        yield advance


@contextmanager
def steps_bar(total: int | None) -> Iterator[Callable[[str], None]]:
    """Show the progress of work in named steps: a bar on a terminal; in a log, a line at intervals."""
    if not sys.stderr.isatty():
        with _logged_steps(total) as begin:
            yield begin
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=total)
        done = -1

        def begin(step: str) -> None:
            nonlocal done
            done += 1
            progress.update(task, completed=done, description=printable(step))

        yield begin
        progress.update(task, completed=done + 1)


@contextmanager
def _logged_steps(total: int | None) -> Iterator[Callable[[str], None]]:
    start, steps, ended = time.monotonic(), list[str](), Event()

    def report() -> None:
        while not ended.wait(LINE_S):
            if steps:
                seconds = time.monotonic() - start
                total_text = "" if total is None else f" of {total}"
                say(f"trigemu: {seconds:.0f} s, step {len(steps)}{total_text}: {steps[-1]}", err=True)

    reporter = Thread(target=report, daemon=True)
    reporter.start()
    try:
        yield steps.append
    finally:
        ended.set()
        reporter.join()


class _Log:
    """Lines in a log; none if the work ends before the first is due."""

    def __init__(self, description: str, total: int, engine: Engine | None, limit: float) -> None:
        self._description, self._total, self._engine = description, total, engine
        self._limit = limit
        self._done = 0
        self._start = self._last = time.monotonic()

    def advance(self, steps: int) -> None:
        self._done += steps
        now = time.monotonic()
        if now - self._last < LINE_S:
            return
        self._last = now
        speed = self._done / (now - self._start)
        left = max(self._total - self._done, 0) / speed if speed else 0.0
        left = min(left, max(self._start + self._limit - now, 0.0))
        say(
            f"trigemu: {self._done} of {self._total} {self._description}, {left:.0f} s left, "
            f"{_state(self._description, speed, self._engine)}",
            err=True,
        )


def _state(description: str, speed: float, engine: Engine | None) -> str:
    """Return the state: the speed, the workers, and the failures."""
    texts = [f"{speed:.3g} {description}/s"]
    if engine:
        texts += [f"{engine.number} workers"] if engine.executor and engine.number else []
        texts += [f"{engine.retried} retried"] if engine.retried else []
        texts += [f"{engine.skipped} files left out"] if engine.skipped else []
    return ", ".join(texts)
