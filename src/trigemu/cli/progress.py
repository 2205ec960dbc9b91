"""Progress of long work on stderr: a bar on a terminal; in a log, a line at intervals."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from threading import Event, Thread

from trigemu.base.errors import printable
from trigemu.base.mapping import Engine
from trigemu.cli.console import say

#: Seconds between two lines in a log.
LINE_S = 30.0


@contextmanager
def bar(description: str, total: int | Engine, limit: float = math.inf) -> Iterator[Callable[[int], None]]:
    """Show the progress of a number of steps, or of an engine, whose number of events grows with each pass;
    within a limit in seconds. Nothing to do shows nothing."""
    engine = total if isinstance(total, Engine) else None
    start = last = time.monotonic()
    update: Callable[..., None] | None = None
    done, display, shows = 0, ExitStack(), sys.stderr.isatty()

    def advance(steps: int) -> None:
        nonlocal done, last, update
        done += steps
        now = time.monotonic()
        number = total.counts.planned if isinstance(total, Engine) else total
        if shows and number and not update:
            update = display.enter_context(_on_terminal(description, number, limit == math.inf))
        if not (update or now - last >= LINE_S):
            return
        last = now
        texts = [f"{done / max(now - start, 1e-3):.3g} {description}/s"]
        if engine:
            texts += [f"{engine.number} workers"] if engine.executor and engine.number else []
            texts += [f"{engine.counts.retried} retried"] if engine.counts.retried else []
            texts += [f"{engine.counts.skipped} files left out"] if engine.counts.skipped else []
        if update:
            update(advance=steps, total=number, state=", ".join(texts))
            return
        left = max(number - done, 0) * (now - start) / done if done else 0.0
        texts.insert(0, f"{min(left, max(start + limit - now, 0.0)):.0f} s left")
        say(f"trigemu: {done} of {number} {description}, {', '.join(texts)}", err=True)

    if engine:
        engine.progress = advance
    else:
        advance(0)
    with display:
        yield advance
    shows = False


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
