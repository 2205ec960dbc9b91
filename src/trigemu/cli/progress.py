"""Progress of long work on stderr: a bar on a terminal; in a log, a line at intervals."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from threading import Event, Thread
from typing import TYPE_CHECKING

from trigemu.base.errors import printable
from trigemu.base.mapping import Engine
from trigemu.cli.console import say
from trigemu.samples.sample import Sample

if TYPE_CHECKING:  # rich loads slowly
    from rich.progress import Progress, ProgressColumn

#: Seconds between two lines in a log.
LINE_S = 30.0


def events_bar(samples: Iterable[Sample], engine: Engine) -> AbstractContextManager[Callable[[int], None]]:
    """Show the progress of passes over samples, each listed once for each pass."""
    return bar("events", sum(sample.entries for sample in samples), engine)


@contextmanager
def bar(
    description: str, total: int, engine: Engine | None = None, limit: float = math.inf
) -> Iterator[Callable[[int], None]]:
    """Show progress on stderr: a bar on a terminal; in a log, a line at intervals. Nothing to do has none."""
    start = last = time.monotonic()
    done = 0

    def state(now: float) -> str:
        texts = [f"{done / max(now - start, 1e-3):.3g} {description}/s"]
        if engine:
            texts += [f"{engine.number} workers"] if engine.executor and engine.number else []
            texts += [f"{engine.retried} retried"] if engine.retried else []
            texts += [f"{engine.skipped} files left out"] if engine.skipped else []
        return ", ".join(texts)

    def log(steps: int) -> None:
        nonlocal done, last
        done += steps
        now = time.monotonic()
        if now - last >= LINE_S:
            last = now
            left = max(total - done, 0) * (now - start) / done if done else 0.0
            left = min(left, max(start + limit - now, 0.0))
            say(f"trigemu: {done} of {total} {description}, {left:.0f} s left, {state(now)}", err=True)

    if not total or not sys.stderr.isatty():
        yield log
        return
    from rich.progress import TextColumn, TimeElapsedColumn, TimeRemainingColumn

    clock = TimeRemainingColumn() if limit == math.inf else TimeElapsedColumn()
    with _progress(clock, TextColumn("{task.fields[state]}", style="dim")) as progress:
        task = progress.add_task(description, total=total, state="")

        def advance(steps: int) -> None:
            nonlocal done
            done += steps
            progress.update(task, advance=steps, state=state(time.monotonic()))

        yield advance


def _progress(*columns: ProgressColumn) -> Progress:
    """Return a display of progress on stderr, with these columns behind the bar."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    bars = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    return Progress(*bars, *columns, console=Console(stderr=True))


@contextmanager
def steps_bar(total: int | None) -> Iterator[Callable[[str], None]]:
    """Show the progress of work in named steps: a bar on a terminal; in a log, a line at intervals."""
    if sys.stderr.isatty():
        from rich.progress import TimeElapsedColumn

        with _progress(TimeElapsedColumn()) as progress:
            task = progress.add_task("", total=total)
            number = count()
            yield lambda step: progress.update(task, completed=next(number), description=printable(step))
            progress.update(task, completed=next(number))
        return
    start, steps, ended = time.monotonic(), list[str](), Event()

    def report() -> None:
        while not ended.wait(LINE_S):
            if steps:
                number = f"step {len(steps)}{'' if total is None else f' of {total}'}"
                say(f"trigemu: {time.monotonic() - start:.0f} s, {number}: {steps[-1]}", err=True)

    reporter = Thread(target=report, daemon=True)
    reporter.start()
    try:
        yield steps.append
    finally:
        ended.set()
        reporter.join()
