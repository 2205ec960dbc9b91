"""Passes over samples, chunk by chunk, on any `Engine`, with results in the order of the chunks."""

from __future__ import annotations

import pickle
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from trigemu.base.checkpoint import digest_of_code, fingerprint
from trigemu.base.errors import TrigemuError, UnreadableError
from trigemu.base.files import contents_of
from trigemu.base.mapping import Work, engine_of, map_chunks
from trigemu.base.plugins import FoundPlugin, load_from, plugins_in, sources_of
from trigemu.counting.patterns import PatternTable, empty_table, merge_tables
from trigemu.emulation.plan import Plan, make_plan
from trigemu.menus.menu import Menu
from trigemu.samples.catalogue import BadFilesError, Catalogue
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
#: A function of the number of events done since it was called last.
Progress = Callable[[int], None]


@dataclass(frozen=True)
class Chunk:
    """The entries from start to stop − 1 of one file of one sample."""

    sample: int  # The number of the sample
    source: int  # The number of the file in the sample
    start: int
    stop: int
    file: File | Source = field(compare=False, repr=False)  # The file
    identity: str = field(default="", compare=False, repr=False)  # Fingerprint of the sample
    # Whether it begins within a basket, cluster or row group.
    continues: bool = field(default=False, compare=False, repr=False)

    @property
    def size(self) -> int:
        """The number of events."""
        return self.stop - self.start

    def goes_on(self, other: Chunk) -> bool:
        """Return whether another chunk ends where this one begins, in the same basket."""
        same_file = (self.sample, self.source) == (other.sample, other.source)
        return self.continues and same_file and self.start == other.stop


def chunks_of(sample: Sample, events: int, most: int | None = None) -> Iterator[Chunk]:
    """Divide the files of a sample, or its first `most` events, into chunks of at most `events` events, if
    possible at boundaries where reading can begin at no extra cost."""
    identity, left = sample.identity, sample.entries if most is None else most
    for number, source in enumerate(sample.sources):
        file = source.sent if isinstance(source, File) else source
        start, continues = 0, False
        end = min(source.entries, left)
        left -= end
        while start < end:
            stop = source.boundaries[bisect_right(source.boundaries, start + events) - 1]
            within = stop <= start
            stop = min(start + events if within else stop, end)
            yield Chunk(sample.number, number, start, stop, file, identity, continues)
            start, continues = stop, within


@dataclass(frozen=True)
class Portion:
    """Consecutive chunks, which are one task; their division does not depend on who does them."""

    chunks: tuple[Chunk, ...]

    @property
    def size(self) -> int:
        """The number of events."""
        return sum(chunk.size for chunk in self.chunks)

    @property
    def key(self) -> str:
        """Fingerprint of the events."""
        return fingerprint([(c.identity, c.file.identity, c.source, c.start, c.stop) for c in self.chunks])

    @property
    def pause(self) -> float:
        """Seconds before it is read again."""
        return _PAUSE_S if any("://" in chunk.file.path for chunk in self.chunks) else 0.0

    def __str__(self) -> str:
        first, last = self.chunks[0], self.chunks[-1]
        if first.file.path == last.file.path:
            return f"entries {first.start} to {last.stop - 1} of {first.file.path}"
        return f"events of {first.file.path} to {last.file.path}"


def _portions(chunks: Iterable[Chunk], most: int, in_basket: int) -> list[Portion]:
    """Join small chunks, up to `most` events, and those in the same basket, up to `in_basket` events."""
    portions: list[list[Chunk]] = []
    size = 0
    for chunk in chunks:
        size += chunk.size
        if not portions or size > (in_basket if chunk.continues else most):
            portions.append([])
            size = chunk.size
        portions[-1].append(chunk)
    return [Portion(tuple(portion)) for portion in portions]


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


def over_background(
    job: Job, task: Task[R], executor: Any = None, progress: Progress | None = None
) -> Iterator[R]:
    """Run a task over the background, in chunks; see `over_samples`."""
    return over_samples(job.catalogue.background, job, task, executor, progress)


def over_samples(
    samples: Iterable[Sample],
    job: Job,
    task: Task[R],
    executor: Any = None,
    progress: Progress | None = None,
    most: int | None = None,
) -> Iterator[R]:
    """Run a task over some samples of the catalogue, or over the first `most` events of each, in chunks."""
    engine = engine_of(executor)
    chunks = [chunk for sample in samples for chunk in chunks_of(sample, engine.chunk_events, most)]
    events = sum(chunk.size for chunk in chunks)
    most = max(min(engine.chunk_events, events // _FEWEST_TASKS), events // _MOST_TASKS)
    portions = _portions(chunks, most, _LONGEST * max(engine.chunk_events, most))
    done = _Pass(job, task)
    yield from map_chunks(done, portions, engine, progress)
    if done.bad:
        raise BadFilesError(done.bad)


class _Pass(Work[Portion, R], Generic[R]):
    """The work of running a task over chunks."""

    def __init__(self, job: Job, task: Task[R], original: _Pass[R] | None = None) -> None:
        self._job, self._task, self._is_copy, self._loaded = job, task, original is not None, False
        self._loading: Lock = original._loading if original else Lock()
        self.bad: dict[tuple[str, str], str] = {}

    @cached_property
    def key(self) -> str:  # type: ignore[override]
        """Fingerprint of the code, the trigger definitions, and the task."""
        job, triggers = self._job, []
        for menu in job.menus:
            kinds = [t.description for t in menu.triggers if isinstance(t.description, Kind)]
            triggers.append((menu.scope, kinds))
        plugins = sorted({plugin.sha256 for menu in job.menus for plugin in menu.plugins})
        models = [list(models.values()) for models in job.plan.models]
        needs = frozenset(job.plan.needs), job.further, job.plan.margin
        return fingerprint(digest_of_code(), triggers, plugins, models, needs, self._task)

    def __call__(self, portion: Portion) -> R:
        parts: list[R] = []
        try:
            for chunk, events in zip(portion.chunks, self._read(portion.chunks), strict=True):
                parts.append(self._result(chunk, events))
        except Exception as error:
            vars(error)["failed"] = Portion(portion.chunks[len(parts) :][:1])
            raise
        return self._task.merge(parts) if len(parts) > 1 else parts[0]

    def _result(self, chunk: Chunk, events: Events) -> R:
        """Return the result of a chunk. One thread at a time compiles or loads kernels, and libraries of
        models, which redirect streams of the process meanwhile; others read."""
        if self._loaded:
            return self._task(self._job.plan, chunk, events)
        with self._loading:
            if self._is_copy:  # compiled triggers have scratch memory
                self._job = replace(self._job, plan=make_plan(self._job.menus))
            self._loaded = True
            return self._task(self._job.plan, chunk, events)

    def threads(self, portions: Sequence[Portion], most: int) -> int:
        """Decompression and kernels release the GIL, unless chunks are small."""
        chunks = sum(len(portion.chunks) for portion in portions)
        return most if sum(portion.size for portion in portions) >= THREAD_EVENTS * chunks else 1

    def copy(self) -> _Pass[R]:
        return _Pass(self._job, self._task, self)

    def __reduce__(self) -> tuple[Callable[..., _Pass[R]], tuple[object, ...]]:
        """Return what makes this pass in another process, with the content of every file but the samples'."""
        job = self._job
        samples = (replace(sample, sources=()) for sample in job.catalogue.samples)
        heads = replace(job.catalogue, samples=tuple(samples), left_out=())
        pickled = pickle.dumps((job.menus, heads, job.further, self._task))
        plugins = {plugin for menu in job.menus for plugin in menu.plugins} | plugins_in(pickled)
        models = {path: sha256 for of_menu in job.plan.models for path, sha256 in of_menu.items()}
        sources = [(plugin, sources_of(plugin)) for plugin in sorted(plugins, key=lambda p: p.name)]
        return _prepared, (sources, contents_of(models), pickled)

    def give_up(self, portion: Portion, error: Exception, host: str, attempts: int) -> None:
        """Raise the error of chunks, with their file and entries; keep it, where the file may be left out."""
        if isinstance(error, BadFilesError):
            self.bad.update(error.reasons)
            return
        if not isinstance(error, TrigemuError):
            raise error
        tried = f" after {attempts} attempts" if attempts > 1 else ""
        where = f"{tried} on {host}" if host else tried
        error.args = (f"{error}\nfailed{where}: {vars(error).get('failed', portion)}",)
        raise error

    def remaining(self, portion: Portion) -> Portion | None:
        chunks = tuple(chunk for chunk in portion.chunks if self._file(chunk) not in self.bad)
        return Portion(chunks) if chunks else None

    def _file(self, chunk: Chunk) -> tuple[str, str]:
        return self._job.catalogue.samples[chunk.sample].name, chunk.file.path

    def _read(self, chunks: Iterable[Chunk]) -> Iterator[Events]:
        """Yield the events of chunks. Those in the same basket, which is decoded as a whole, are read
        together."""
        job, together = self._job, list[list[Chunk]]()
        for chunk in chunks:
            if not (together and chunk.goes_on(together[-1][-1])):
                together.append([])
            together[-1].append(chunk)
        needs = {*job.plan.needs, *job.further}
        for first, *more in together:
            sample, stop = job.catalogue.samples[first.sample], [first, *more][-1].stop
            try:
                events = sample.read_file(first.file, first.start, stop, needs, job.plan.margin)
            except UnreadableError as error:
                if job.catalogue.skips_bad_files:
                    raise BadFilesError({self._file(first): str(error)}) from error
                raise
            if not more:
                yield sample.weigh(events)
                continue
            margin = 0 if first.file.neighbours == "none" else job.plan.margin
            for chunk in (first, *more):
                start = (events.core.start or 0) + chunk.start - first.start
                yield sample.weigh(events.around(start, start + chunk.size, margin).trimmed())


def _prepared(
    sources: Iterable[tuple[FoundPlugin, Mapping[str, bytes]]], contents: Mapping[str, bytes], pickled: bytes
) -> _Pass[Any]:
    """Return a pass in a process that has none of the files but those of samples. Plugins come first: pickles
    refer to their code."""
    for plugin, files in sources:
        load_from(plugin, files)
    menus, catalogue, further, task = pickle.loads(pickled)
    return _Pass(Job(menus, make_plan(menus, contents), catalogue, further), task)
