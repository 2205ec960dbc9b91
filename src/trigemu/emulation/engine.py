"""Processing of samples in chunks, in one process or several; results come in the order of the chunks."""

from __future__ import annotations

import pickle
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, TypeVar

from trigemu.decisions import Plan, make_plan
from trigemu.menus import Menu
from trigemu.samples import Catalogue, Events, Need, Sample
from trigemu.support import cores, worker_pool
from trigemu.triggers import Plugin

#: Large enough that the work on a chunk hides the cost of starting it, small enough for the caches and
#: for a memory that does not grow with the sample.
CHUNK_EVENTS = 131_072
#: How many chunks are read ahead of the current one, one thread each. Reading takes several times as long as
#: most menus do; two threads halve that time, a third one gained nothing.
READ_AHEAD = 2

R = TypeVar("R")
#: A function that processes a chunk: (plan, number of the sample, events) → a result that can be pickled.
Task = Callable[[Plan, int, Events], R]


@dataclass(frozen=True)
class Chunk:
    """The entries from start to stop of one file of one sample."""

    sample: int
    source: int
    start: int
    stop: int


@dataclass(frozen=True)
class Job:
    """Menus, their plan, and the samples to run over. further: additional columns that a task reads."""

    menus: tuple[Menu, ...]
    plan: Plan
    catalogue: Catalogue
    further: frozenset[Need] = frozenset()


def chunks_of(sample: Sample, events: int) -> Iterator[Chunk]:
    """Cut the files of a sample into chunks of at most the given number of events, if possible at boundaries
    where reading can begin at no extra cost."""
    for number, source in enumerate(sample.sources):
        start = 0
        while start < source.entries:
            stop = source.boundaries[bisect_right(source.boundaries, start + events) - 1]
            if stop <= start:
                stop = min(start + events, source.entries)
            yield Chunk(sample.number, number, start, stop)
            start = stop


def over_background(
    job: Job, task: Task[R], *, workers: int = 1, chunk_events: int = CHUNK_EVENTS
) -> Iterable[tuple[Chunk, R]]:
    """Yield the result of a task for each chunk of the background, in the order of the chunks."""
    return over_samples(job.catalogue.background, job, task, workers=workers, chunk_events=chunk_events)


def over_samples(
    samples: Iterable[Sample],
    job: Job,
    task: Task[R],
    *,
    workers: int = 1,
    chunk_events: int = CHUNK_EVENTS,
) -> Iterable[tuple[Chunk, R]]:
    """Yield the result of a task for each chunk of some samples of the catalogue, in the order of the
    chunks."""
    chunks = [c for sample in samples for c in chunks_of(sample, chunk_events)]
    workers = min(workers, len(chunks))
    if workers > 1:
        return _in_workers(job, task, chunks, workers)
    return _reading_ahead(job, task, chunks) if cores() > 1 else _in_turn(job, task, chunks)


def _in_turn(job: Job, task: Task[R], chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, R]]:
    for chunk in chunks:
        yield chunk, task(job.plan, chunk.sample, _read(job, chunk))


def _reading_ahead(job: Job, task: Task[R], chunks: Sequence[Chunk]) -> Iterator[tuple[Chunk, R]]:
    """Read the next chunks while one is processed: decompression and kernels release the GIL."""
    reading = deque(_started(job, chunk) for chunk in chunks[:READ_AHEAD])
    try:
        for chunk, coming in zip_longest(chunks, chunks[READ_AHEAD:]):
            events = reading.popleft().result()
            if coming:
                reading.append(_started(job, coming))
            yield chunk, task(job.plan, chunk.sample, events)
    finally:
        wait(reading)


def _started(job: Job, chunk: Chunk) -> Future[Events]:
    """Start reading a chunk, in a thread that ends when the chunk is read, whatever happens to the caller."""
    thread = ThreadPoolExecutor(1)
    reading = thread.submit(_read, job, chunk)
    thread.shutdown(wait=False)
    return reading


def _read(job: Job, chunk: Chunk) -> Events:
    sample = job.catalogue.samples[chunk.sample]
    needs = {*job.plan.needs, *job.further}
    return sample.read(chunk.source, chunk.start, chunk.stop, needs, job.plan.margin)


def _in_workers(job: Job, task: Task[R], chunks: Sequence[Chunk], workers: int) -> Iterator[tuple[Chunk, R]]:
    """Process chunks in worker processes."""
    plugins = tuple({plugin for menu in job.menus for plugin in menu.plugins})
    pickled = pickle.dumps((job.menus, job.catalogue, job.further, task))
    with worker_pool(workers, _prepare, plugins, pickled) as pool:
        yield from zip(chunks, pool.map(chunks), strict=True)


def _prepare(plugins: tuple[Plugin, ...], pickled: bytes) -> Callable[[Chunk], Any]:
    """Return the function that a worker performs on each chunk; pickles refer to the code of plugins."""
    for plugin in plugins:
        plugin.load()
    menus, catalogue, further, task = pickle.loads(pickled)
    job = Job(menus, make_plan(menus), catalogue, further)
    return lambda chunk: task(job.plan, chunk.sample, _read(job, chunk))
