"""Passes over samples, chunk by chunk, on any `Engine`, with the results of a task in the order of the
chunks."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from trigemu.counting import PatternTable, SharedEvents, merge_tables
from trigemu.emulation.chunks import Chunk, chunks_of
from trigemu.emulation.plan import Plan, make_plan
from trigemu.emulation.stored_results import check_result
from trigemu.menus import Menu
from trigemu.samples import BadFilesError, Catalogue, Events, Need, Sample, UnreadableError
from trigemu.support import (
    FoundPlugin,
    TrigemuError,
    contents_of,
    cores,
    digest_of_code,
    engine_of,
    fingerprint,
    load_from,
    plugins_in,
    sources_of,
)
from trigemu.triggers import Kind

#: The number of chunks that are read ahead of the current one, one thread each. Reading takes several times
#: as
#: long as most menus; two threads halve this time, a third one gains nothing.
READ_AHEAD = 2
#: The smallest mean number of events of chunks that are read ahead: for smaller ones, Python dominates the
#: time,
#: and several threads are slower than one.
AHEAD_EVENTS = 10_000
R = TypeVar("R")
#: A function of the number of events done since it was called last.
Progress = Callable[[int], None]


class Task(Protocol[R]):
    """The processing of a chunk. Frozen and picklable, with fields that have a fingerprint.

    classes: the dataclasses that results consist of, besides arrays, numbers and tuples.
    """

    @property
    def classes(self) -> tuple[type, ...]: ...

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> R:
        """Return the result of a chunk."""

    def merge(self, parts: Sequence[R]) -> R:
        """Return the results of consecutive chunks as one."""


class TableTask:
    """Base class of tasks whose results are pattern tables."""

    classes: ClassVar[tuple[type, ...]] = (PatternTable, SharedEvents)

    def merge(self, parts: Sequence[PatternTable]) -> PatternTable:
        return merge_tables(parts)


@dataclass(frozen=True)
class Job:
    """The menus and samples of a task.

    Attributes
    ----------
    menus : tuple of Menu
        The menus.
    plan : Plan
        Their plan.
    catalogue : Catalogue
        The samples to run over.
    further : frozenset of Need
        Columns that the task reads in addition to those of the plan.
    """

    menus: tuple[Menu, ...]
    plan: Plan
    catalogue: Catalogue
    further: frozenset[Need] = frozenset()


def over_background(
    job: Job, task: Task[R], executor: Any = None, progress: Progress | None = None
) -> Iterator[R]:
    """Run a task over the background, in chunks; see `over_samples`.

    Parameters
    ----------
    job : Job
        The menus and the catalogue.
    task : Task
        Processes a chunk, and merges results.
    executor
        As in `emulate`.
    progress : callable, optional
        Called with the number of events done since the last call.

    Yields
    ------
    object
        The results, in the order of the chunks.
    """
    return over_samples(job.catalogue.background, job, task, executor, progress)


def over_samples(
    samples: Iterable[Sample],
    job: Job,
    task: Task[R],
    executor: Any = None,
    progress: Progress | None = None,
    most: int | None = None,
) -> Iterator[R]:
    """Run a task over some samples of the catalogue, in chunks.

    Parameters
    ----------
    samples : iterable of Sample
        The samples.
    job : Job
        The menus and the catalogue.
    task : Task
        Processes a chunk, and merges results.
    executor
        As in `emulate`.
    progress : callable, optional
        Called with the number of events done since the last call.
    most : int, optional
        The largest number of events of each sample, the first ones; None: all.

    Yields
    ------
    object
        The results, in the order of the chunks, each of one or several chunks.

    Raises
    ------
    BadFilesError
        At the end, if files could not be read and the catalogue allows to leave them out.
    """
    engine = engine_of(executor)
    chunks = [chunk for sample in samples for chunk in chunks_of(sample, engine.chunk_events, most)]
    done = _Pass(job, task)
    yield from engine.over(done, chunks, progress)
    if done.bad:
        raise BadFilesError(done.bad)


class _Pass(Generic[R]):
    """The work of running a task over chunks."""

    def __init__(self, job: Job, task: Task[R], ahead: bool = True) -> None:
        self._job, self._task, self._ahead = job, task, ahead and cores() > 1
        self.bad: dict[tuple[str, str], str] = {}

    @property
    def about(self) -> str:
        menus = ", ".join(menu.name for menu in self._job.menus)
        return f"{type(self._task).__name__.strip('_')} of {menus or 'no menu'}"

    @property
    def classes(self) -> tuple[type, ...]:
        return self._task.classes

    @cached_property
    def key(self) -> str:
        """Fingerprint of the code, the trigger definitions, and the task."""
        job = self._job
        triggers = [
            (m.scope, [t.description for t in m.triggers if isinstance(t.description, Kind)])
            for m in job.menus
        ]
        plugins = sorted({plugin.sha256 for menu in job.menus for plugin in menu.plugins})
        models = [list(models.values()) for models in job.plan.models]
        needs = frozenset(job.plan.needs), job.further, job.plan.margin
        code = digest_of_code()
        return fingerprint(code, triggers, plugins, models, needs, self._task)

    def each(self, chunks: Sequence[Chunk]) -> Iterator[R]:
        ahead = self._ahead and sum(chunk.size for chunk in chunks) >= AHEAD_EVENTS * len(chunks)
        for chunk, events in (self._reading_ahead if ahead else self._in_turn)(chunks):
            yield self._task(self._job.plan, chunk, events)

    def merge(self, parts: Sequence[R]) -> R:
        return self._task.merge(parts)

    def check(self, units: Sequence[Chunk], part: R) -> None:
        check_result(self._task, self._job.plan, units, part)

    def content(self) -> bytes:
        """Return what makes this pass in another process, with the content of every file but the samples'."""
        job = self._job
        samples = tuple(replace(sample, sources=(), sha256=()) for sample in job.catalogue.samples)
        heads = replace(job.catalogue, samples=samples, left_out=())
        pickled = pickle.dumps((job.menus, heads, job.further, self._task))
        plugins = {plugin for menu in job.menus for plugin in menu.plugins} | plugins_in(pickled)
        models = {path: sha256 for of_menu in job.plan.models for path, sha256 in of_menu.items()}
        sources = [(plugin, sources_of(plugin)) for plugin in sorted(plugins, key=lambda p: p.name)]
        return pickle.dumps((_prepared, (sources, contents_of(models), pickled)))

    def give_up(self, chunk: Chunk, error: Exception, host: str, attempts: int) -> None:
        """Raise the error of a chunk, with its file and entries; keep it, where the file may be left out."""
        sample = self._job.catalogue.samples[chunk.sample]
        if isinstance(error, UnreadableError) and self._job.catalogue.skips_bad_files:
            self.bad.setdefault((sample.name, chunk.file.path), str(error))
            return
        if not isinstance(error, TrigemuError):
            raise error
        tried = f" after {attempts} attempts" if attempts > 1 else ""
        where = f" on {host}" if host else ""
        entries = f"entries {chunk.start} to {chunk.stop - 1} of {chunk.file.path}"
        error.args = (f"{error}\nfailed{tried}{where}: {entries}",)
        raise error

    def skips(self, chunk: Chunk) -> bool:
        return (self._job.catalogue.samples[chunk.sample].name, chunk.file.path) in self.bad

    def _in_turn(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Events]]:
        for chunk in chunks:
            yield chunk, self._read(chunk)

    def _reading_ahead(self, chunks: Sequence[Chunk]) -> Iterator[tuple[Chunk, Events]]:
        """Read the next chunks while one is processed: decompression and kernels release the GIL."""
        reading = deque(self._started(chunk) for chunk in chunks[:READ_AHEAD])
        try:
            for chunk, coming in zip_longest(chunks, chunks[READ_AHEAD:]):
                events = reading.popleft().result()
                if coming:
                    reading.append(self._started(coming))
                yield chunk, events
        finally:
            wait(reading)

    def _started(self, chunk: Chunk) -> Future[Events]:
        """Start reading a chunk, in a thread that ends when the chunk is read, whatever happens to the
        caller."""
        thread = ThreadPoolExecutor(1)
        reading = thread.submit(self._read, chunk)
        thread.shutdown(wait=False)
        return reading

    def _read(self, chunk: Chunk) -> Events:
        sample = self._job.catalogue.samples[chunk.sample]
        needs = {*self._job.plan.needs, *self._job.further}
        return sample.read_file(chunk.file, chunk.start, chunk.stop, needs, self._job.plan.margin)


def _prepared(
    sources: Iterable[tuple[FoundPlugin, Mapping[str, bytes]]], contents: Mapping[str, bytes], pickled: bytes
) -> _Pass[Any]:
    """Return a pass in a process that has none of the files but those of samples. Plugins come first: pickles
    refer to their code."""
    for plugin, files in sources:
        load_from(plugin, files)
    menus, catalogue, further, task = pickle.loads(pickled)
    return _Pass(Job(menus, make_plan(menus, contents), catalogue, further), task, ahead=False)
