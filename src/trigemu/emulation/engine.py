"""Passes over samples, chunk by chunk, on any `Engine`, with results in the order of the chunks."""

from __future__ import annotations

import pickle
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from threading import Lock, local
from typing import Any, Generic, NoReturn, Protocol, TypeVar

import numpy as np

from trigemu.base.checkpoint import digest_of_code, fingerprint
from trigemu.base.errors import TrigemuError
from trigemu.base.files import contents_of
from trigemu.base.mapping import Work, engine_of, map_chunks
from trigemu.base.plugins import FoundPlugin, load_from, plugins_in, sources_of
from trigemu.counting.patterns import PatternTable, empty_table, merge_tables
from trigemu.emulation.plan import Plan, make_plan
from trigemu.menus.menu import Menu
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events, Need
from trigemu.samples.sample import Sample
from trigemu.samples.source import File, Source
from trigemu.triggers.base import Kind

#: Seconds before a file on another machine is read again.
_PAUSE_S = 1.0
#: The smallest mean number of events of chunks that threads process: for smaller ones, Python dominates the
#: time, and several threads are slower than one.
THREAD_EVENTS = 10_000
#: The largest number of full chunks of a task if they are in the same basket, which is decoded once for them.
_LONGEST = 16
#: Tasks of a pass of small samples, about: several cores share them.
_FEWEST_TASKS = 16
#: Tasks of a pass, at most, about: each costs this process some milliseconds, and a file of a checkpoint.
_MOST_TASKS = 8192
R = TypeVar("R")


@dataclass(frozen=True)
class Chunk:
    """The entries from start to stop − 1 of one file of one sample."""

    sample: int  # The number of the sample
    source: int  # The number of the file in the sample
    start: int
    stop: int
    file: File | Source = field(compare=False, repr=False)  # The file

    @property
    def size(self) -> int:
        """The number of events."""
        return self.stop - self.start


#: Consecutive ranges of entries to read, which are one task; their division does not depend on who does them.
Portion = tuple[Chunk, ...]


def ranges_of(sample: Sample, events: int, most: int | None = None) -> Iterator[Chunk]:
    """Divide the files of a sample, or its first `most` events, into ranges that are read at once: chunks of
    at most `events` events, if possible from boundary to boundary, where reading can begin at no extra cost;
    between distant boundaries, several chunks and what follows up to the last boundary within reach."""
    left = sample.entries if most is None else most
    for number, source in enumerate(sample.sources):
        file = source.sent if isinstance(source, File) else source
        start, bounds = 0, (*source.boundaries, source.entries)
        end = min(source.entries, left)
        left -= end
        while start < end:
            further = bounds[bisect_right(bounds, start)]  # the next boundary
            chunks = min((further - start - 1) // events, _LONGEST - 1)  # that end before it
            reach = start + (chunks + 1) * events
            stop = min(reach if further > reach else bounds[bisect_right(bounds, reach) - 1], end)
            yield Chunk(sample.number, number, start, stop, file)
            start = stop


def joined(parts: Sequence[Any]) -> Any:
    """Return the results of consecutive chunks as one: tables are added, arrays concatenated, and mappings,
    tuples and dataclasses joined item by item. It empties mappings, so that each array is in memory only
    once."""
    first, kind = parts[0], type(parts[0])
    if len(parts) == 1:
        return first
    if isinstance(first, PatternTable):
        return merge_tables(parts)
    if isinstance(first, dict):
        return {name: joined([part.pop(name) for part in parts]) for name in [*first]}
    if isinstance(first, tuple):
        items = map(joined, zip(*parts, strict=True))
        return tuple(items) if kind is tuple else kind(*items)
    if is_dataclass(first):
        values = (joined([getattr(part, item.name) for part in parts]) for item in fields(first))
        return kind(*values)
    return np.concatenate(parts)


class Task(Protocol[R]):
    """The processing of a chunk. Frozen and picklable, with fields that have a fingerprint."""

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> R:
        """Return the result of a chunk."""

    def merge(self, parts: Sequence[R]) -> R:
        """Return the results of consecutive chunks as one."""
        result: R = joined(parts)
        return result


@dataclass(frozen=True)
class Job:
    """The menus and samples of a task."""

    menus: tuple[Menu, ...]  # The menus
    plan: Plan  # Their plan
    catalogue: Catalogue  # The samples to run over
    further: frozenset[Need] = frozenset()  # Columns that the task reads in addition to those of the plan
    # The events that the samples leave out because no trigger accepts them, by sample, half and stratum
    rest: PatternTable = field(default_factory=lambda: empty_table(1))


def over_background(job: Job, task: Task[R], executor: Any = None) -> Iterator[R]:
    """Run a task over the background, in chunks; see `over_samples`."""
    return over_samples(job.catalogue.background, job, task, executor)


def over_samples(
    samples: Iterable[Sample], job: Job, task: Task[R], executor: Any = None, most: int | None = None
) -> Iterator[R]:
    """Run a task over some samples of the catalogue, or over the first `most` events of each, in chunks."""
    engine = engine_of(executor)
    ranges = [part for sample in samples for part in ranges_of(sample, engine.chunk_events, most)]
    events = sum(part.size for part in ranges)
    longest = max(min(engine.chunk_events, events // _FEWEST_TASKS), events // _MOST_TASKS)
    portions, size = list[list[Chunk]](), 0
    for part in ranges:
        size += part.size
        if not portions or size > longest:
            portions.append([])
            size = part.size
        portions[-1].append(part)
    work = _Pass(job, task, engine.chunk_events)
    # Decompression and kernels release the GIL, unless chunks are small.
    work.in_threads = events >= THREAD_EVENTS * len(ranges) and engine.chunk_events >= THREAD_EVENTS
    return map_chunks(work, map(tuple, portions), engine)


class _Pass(Work[Portion, R], Generic[R]):
    """The work of running a task over chunks."""

    def __init__(self, job: Job, task: Task[R], chunk_events: int) -> None:
        self._job, self._task, self._chunk_events = job, task, chunk_events
        self._loading, self._plans = Lock(), [job.plan]
        self._of_thread = local()  # Its plan: compiled triggers have scratch memory

    def __call__(self, portion: Portion) -> R:
        parts: list[R] = []
        for whole in portion:
            chunk = whole
            try:
                for chunk, events in self._read(whole):
                    if plan := getattr(self._of_thread, "plan", None):
                        parts.append(self._task(plan, chunk, events))
                        continue
                    # One thread at a time compiles or loads kernels, and libraries of models, which redirect
                    # streams of the process meanwhile; others read.
                    with self._loading:
                        plan = self._plans.pop() if self._plans else make_plan(self._job.menus)
                        self._of_thread.plan = plan
                        parts.append(self._task(plan, chunk, events))
            except Exception as error:
                vars(error)["failed"] = chunk
                raise
        return self._task.merge(parts) if len(parts) > 1 else parts[0]

    def _read(self, whole: Chunk) -> Iterator[tuple[Chunk, Events]]:
        """Read a range of entries; yield its chunks and their events."""
        job, size = self._job, self._chunk_events
        sample, needs = job.catalogue.samples[whole.sample], {*job.plan.needs, *job.further}
        events = sample.read_file(whole.file, whole.start, whole.stop, needs, job.plan.margin)
        if whole.size <= size:
            yield whole, sample.weigh(events)
            return
        margin = 0 if whole.file.neighbours == "none" else job.plan.margin
        shift = (events.core.start or 0) - whole.start
        for start in range(whole.start, whole.stop, size):
            chunk = replace(whole, start=start, stop=min(start + size, whole.stop))
            rows = events.around(shift + chunk.start, shift + chunk.stop, margin)
            yield chunk, sample.weigh(rows.trimmed())

    def size(self, portion: Portion) -> int:
        return sum(chunk.size for chunk in portion)

    @cached_property
    def _definition(self) -> str:
        """Fingerprint of the code, the trigger definitions, the samples, and the task."""
        job, triggers = self._job, []
        for menu in job.menus:
            kinds = [t.description for t in menu.triggers if isinstance(t.description, Kind)]
            triggers.append((menu.scope, kinds))
        plugins = sorted({plugin.sha256 for menu in job.menus for plugin in menu.plugins})
        models = [list(models.values()) for models in job.plan.models]
        needs = frozenset(job.plan.needs), job.further, job.plan.margin
        return fingerprint(digest_of_code(), triggers, plugins, models, needs, self._task)

    @cached_property
    def _identities(self) -> list[str]:
        return [sample.identity for sample in self._job.catalogue.samples]

    def key(self, portion: Portion) -> str:
        events = [(self._identities[c.sample], c.file.identity, c.source, c.start, c.stop) for c in portion]
        return fingerprint(self._definition, events)

    def pause(self, portion: Portion) -> float:
        return _PAUSE_S if any("://" in chunk.file.path for chunk in portion) else 0.0

    def give_up(self, portion: Portion, error: Exception, host: str, attempts: int) -> NoReturn:
        """Raise the error of chunks, with their file and entries."""
        if not isinstance(error, TrigemuError):
            raise error
        first, last = (vars(error).get("failed", portion[end]) for end in (0, -1))
        events = f"events of {first.file.path} to {last.file.path}"
        if first.file.path == last.file.path:
            events = f"entries {first.start} to {last.stop - 1} of {first.file.path}"
        tried = f" after {attempts} attempts" if attempts > 1 else ""
        where = f"{tried} on {host}" if host else tried
        error.args = (f"{error}\nfailed{where}: {events}",)
        raise error

    def __reduce__(self) -> tuple[Callable[..., _Pass[R]], tuple[object, ...]]:
        """Return what makes this pass in another process, with the content of every file but the samples' and
        those of trigemu."""
        job = self._job
        samples = (replace(sample, sources=()) for sample in job.catalogue.samples)
        heads = replace(job.catalogue, samples=tuple(samples), left_out=())
        pickled = pickle.dumps((job.menus, heads, job.further, self._task, self._chunk_events))
        plugins = {plugin for menu in job.menus for plugin in menu.plugins} | plugins_in(pickled)
        further = sorted((p for p in plugins if not p.comes_with_trigemu), key=lambda p: p.name)
        models = {path: sha256 for of_menu in job.plan.models for path, sha256 in of_menu.items()}
        return _prepared, ([(p, sources_of(p)) for p in further], contents_of(models), pickled)


def _prepared(
    sources: Iterable[tuple[FoundPlugin, Mapping[str, bytes]]], contents: Mapping[str, bytes], pickled: bytes
) -> _Pass[Any]:
    """Return a pass in a process that has none of the files but those of samples. Plugins come first: pickles
    refer to their code."""
    for plugin, files in sources:
        load_from(plugin, files)
    menus, catalogue, further, task, chunk_events = pickle.loads(pickled)
    return _Pass(Job(menus, make_plan(menus, contents), catalogue, further), task, chunk_events)
