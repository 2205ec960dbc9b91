"""Progress of long work on stderr: a bar on a terminal; in a log, a line at intervals."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import count
from threading import Event, Thread

from trigemu.base.errors import printable
from trigemu.base.mapping import Engine
from trigemu.cli.console import say
from trigemu.samples.sample import Sample

#: Seconds between two lines in a log.
LINE_S = 30.0


def events_bar(samples: Iterable[Sample], engine: Engine) -> AbstractContextManager[Callable[[int], None]]:
    """Show the progress of passes over samples, each listed once for each pass."""
    return bar("events", sum(sample.entries for sample in samples), engine)


@contextmanager
def bar(
    description: str, total: int, engine: Engine | None = None, limit: float = math.inf
) -> Iterator[Callable[[int], None]]:
    """Show the progress of a number of steps, within a limit in seconds. Nothing to do shows nothing."""
    start = last = time.monotonic()
    done = 0

    def advance(steps: int) -> None:
        nonlocal done, last
        done += steps
        now = time.monotonic()
        if not (update or now - last >= LINE_S):
            return
        last = now
        texts = [f"{done / max(now - start, 1e-3):.3g} {description}/s"]
        if engine:
            texts += [f"{engine.number} workers"] if engine.executor and engine.number else []
            texts += [f"{engine.retried} retried"] if engine.retried else []
            texts += [f"{engine.skipped} files left out"] if engine.skipped else []
        if update:
            update(advance=steps, state=", ".join(texts))
            return
        left = max(total - done, 0) * (now - start) / done if done else 0.0
        texts.insert(0, f"{min(left, max(start + limit - now, 0.0)):.0f} s left")
        say(f"trigemu: {done} of {total} {description}, {', '.join(texts)}", err=True)

    with _on_terminal(description, total, counts_down=limit == math.inf) as update:
        yield advance


@contextmanager
def steps_bar(total: int | None) -> Iterator[Callable[[str], None]]:
    """Show the progress of work in named steps."""
    start, steps, ended, number = time.monotonic(), list[str](), Event(), count()

    def report() -> None:
        while not ended.wait(LINE_S):
            if steps:
                step = f"step {len(steps)}{'' if total is None else f' of {total}'}"
                say(f"trigemu: {time.monotonic() - start:.0f} s, {step}: {steps[-1]}", err=True)

    with _on_terminal("", total) as update:
        if update:
            yield lambda step: update(completed=next(number), description=printable(step))
            update(completed=next(number))
            return
        reporter = Thread(target=report, daemon=True)
        reporter.start()
        try:
            yield steps.append
        finally:
            ended.set()
            reporter.join()


@contextmanager
def _on_terminal(
    description: str, total: int | None, counts_down: bool = False
) -> Iterator[Callable[..., None] | None]:
    """Yield a function that changes a bar on stderr; None if that is no terminal."""
    if total == 0 or not sys.stderr.isatty():
        yield None
        return
    from rich import progress  # which loads slowly
    from rich.console import Console

    clock = progress.TimeRemainingColumn() if counts_down else progress.TimeElapsedColumn()
    name, state = (
        progress.TextColumn("{task.description}"),
        progress.TextColumn("{task.fields[state]}", "dim"),
    )
    bars = name, progress.BarColumn(), progress.MofNCompleteColumn(), clock, state
    with progress.Progress(*bars, console=Console(stderr=True)) as display:
        yield partial(display.update, display.add_task(description, total=total, state=""))
