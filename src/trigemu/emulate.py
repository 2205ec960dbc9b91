"""The event loop: chunks of samples → decisions → one pattern table.

catalogue = open_catalogue()                    # samples/    which events, and what they weigh
plan = make_plan(menus)                         # decisions   the union of the menus' triggers
for chunk in chunks(…):                         #             in any order, on any worker
    events = sample.read(…)                     # samples/    columns and weights in Hz
    words = decide(events, plan)                # decisions   one bit a trigger
    table += count(…, words, events.weight)     # patterns    exact sums
rates(table, …)                                 # rates       everything else follows
"""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from trigemu.decisions import Plan, decide, make_plan
from trigemu.errors import SampleError, TrigemuError
from trigemu.menu import Menu
from trigemu.patterns import PatternTable, count, empty, merge
from trigemu.samples import Catalogue, Sample

#: Large enough that the work on a chunk hides the cost of starting it, small enough for the caches and
#: for a memory that does not grow with the sample.
CHUNK_EVENTS = 131_072

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Emulation:
    """What the loop gives: the pattern table of the union of the menus' triggers, whose bits the plan
    names."""

    menus: tuple[Menu, ...]
    catalogue: Catalogue
    plan: Plan
    table: PatternTable


@dataclass(frozen=True)
class Chunk:
    """Entries start to stop of one file of one sample."""

    sample: int
    source: int
    start: int
    stop: int


def emulate(
    menus: Sequence[Menu],
    catalogue: Catalogue,
    *,
    workers: int = 1,
    chunk_events: int = CHUNK_EVENTS,
    progress: Progress | None = None,
) -> Emulation:
    """Run some menus over the background of a catalogue, in one pass.

    `workers` processes share the chunks; the result is the same to the last bit for any number of them
    and any `chunk_events`. `progress` is called with the number of events done.
    """
    plan = make_plan(menus)
    if not catalogue.background:
        raise SampleError(f"{catalogue.path}: no sample has the role 'background', so there are no rates")
    for sample in catalogue.background:
        plan.check(sample)
    chunks = [c for sample in catalogue.background for c in chunks_of(sample, chunk_events)]
    table = empty(plan.words)
    parts: list[PatternTable] = []
    for chunk, part in _tables(menus, catalogue, plan, chunks, workers):
        parts.append(part)
        if sum(map(len, parts)) > len(table) + 4096:  # sums of tables cost most while they grow
            table, parts = merge([table, *parts]), []
        if progress:
            progress(chunk.stop - chunk.start)
    return Emulation(tuple(menus), catalogue, plan, merge([table, *parts]))


def chunks_of(sample: Sample, events: int) -> Iterator[Chunk]:
    """Cut the files of a sample into chunks of at most so many events, where reading can begin at no
    extra cost if that is possible."""
    for number, source in enumerate(sample.sources):
        start = 0
        cheap = [b for b in source.boundaries if b > 0]
        while start < source.entries:
            within = [b for b in cheap if start < b <= start + events]
            stop = max(within, default=min(start + events, source.entries))
            yield Chunk(sample.number, number, start, stop)
            start = stop


def _tables(
    menus: Sequence[Menu], catalogue: Catalogue, plan: Plan, chunks: Sequence[Chunk], workers: int
) -> Iterable[tuple[Chunk, PatternTable]]:
    workers = min(workers, len(chunks))
    if workers <= 1:
        return ((chunk, _evaluate(catalogue, plan, chunk)) for chunk in chunks)
    return _in_workers(menus, catalogue, chunks, workers)


def _in_workers(
    menus: Sequence[Menu], catalogue: Catalogue, chunks: Sequence[Chunk], workers: int
) -> Iterator[tuple[Chunk, PatternTable]]:
    """Started by spawn: sessions and libraries do not survive a fork, and do not pickle."""
    plugins = tuple({plugin for menu in menus for plugin in menu.plugins})
    job = (plugins, pickle.dumps((tuple(menus), catalogue)))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _start_worker, job) as pool:
        try:
            yield from zip(chunks, pool.map(_evaluate_in_worker, chunks), strict=True)
        except BrokenProcessPool:
            raise TrigemuError(
                "a worker was ended from outside, perhaps for want of memory: try fewer --workers"
            ) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


_job: tuple[tuple[object, ...], bytes] | None = None
_ready: tuple[Catalogue, Plan] | None = None


def _start_worker(plugins: tuple[object, ...], job: bytes) -> None:
    global _job
    _job = (plugins, job)


def _evaluate_in_worker(chunk: Chunk) -> PatternTable:
    global _ready
    if _ready is None:
        assert _job is not None
        for plugin in _job[0]:
            plugin.load()  # type: ignore[attr-defined]
        menus, catalogue = pickle.loads(_job[1])
        _ready = (catalogue, make_plan(menus))
    return _evaluate(*_ready, chunk)


def _evaluate(catalogue: Catalogue, plan: Plan, chunk: Chunk) -> PatternTable:
    sample = catalogue.samples[chunk.sample]
    events = sample.read(chunk.source, chunk.start, chunk.stop, plan.needs)
    words = decide(events, plan)
    return count(chunk.sample, words[events.core], events.weight[events.core])
