"""Passes over samples, chunk by chunk, on any `Engine`, with the results of a task in the order of the
chunks, also from a checkpoint."""

from __future__ import annotations

import pickle
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property, singledispatch
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from trigemu.base.engine import engine_of
from trigemu.base.errors import TrigemuError, UnreadableError
from trigemu.base.files import contents_of
from trigemu.base.fingerprint import digest_of_code, fingerprint
from trigemu.base.plugin_search import load_from, plugins_in, sources_of
from trigemu.base.plugins import FoundPlugin
from trigemu.base.processes import cores
from trigemu.counting.patterns import PatternTable, merge_tables
from trigemu.counting.shared import SharedEvents
from trigemu.counting.table_checks import check_array, check_samples, check_table, check_weights
from trigemu.emulation.plan import Plan, make_plan
from trigemu.menus.menu import Menu
from trigemu.samples.catalogue import BadFilesError, Catalogue
from trigemu.samples.events import Events, Need
from trigemu.samples.files import File
from trigemu.samples.formats.source import Source
from trigemu.samples.sample import Sample
from trigemu.triggers.base import Kind

if TYPE_CHECKING:
    from functools import _SingleDispatchCallable


#: Seconds before a file on another machine is read again.
_PAUSE_S = 1.0


@dataclass(frozen=True)
class Chunk:
    """The entries from start to stop − 1 of one file of one sample."""

    sample: int  # The number of the sample
    source: int  # The number of the file in the sample
    start: int  # start, stop: The entries
    stop: int
    file: File | Source = field(compare=False, repr=False)  # The file
    of: str = field(default="", compare=False, repr=False)  # Fingerprint of the sample
    # Whether it begins within a basket, cluster or row group, which a process decodes once for all its
    # chunks.
    continues: bool = field(default=False, compare=False, repr=False)

    @property
    def size(self) -> int:
        """The number of events."""
        return self.stop - self.start

    @property
    def key(self) -> str:
        """Fingerprint of its events."""
        return fingerprint(self.of, self.file.identity, self.source, self.start, self.stop)

    @property
    def pause(self) -> float:
        """Seconds before it is read again."""
        return _PAUSE_S if "://" in self.file.path else 0.0


def chunks_of(sample: Sample, events: int, most: int | None = None) -> Iterator[Chunk]:
    """Divide the files of a sample, or its first `most` events, into chunks of at most `events` events, if
    possible at boundaries where reading can begin at no extra cost."""
    identity, left = sample.identity, sample.entries if most is None else most
    for number, source in enumerate(sample.sources):
        start, continues = 0, False
        end = min(source.entries, left)
        left -= end
        while start < end:
            stop = source.boundaries[bisect_right(source.boundaries, start + events) - 1]
            within = stop <= start
            stop = min(start + events if within else stop, end)
            yield Chunk(sample.number, number, start, stop, source, identity, continues)
            start, continues = stop, within


def entries_of(chunks: Sequence[Chunk]) -> dict[int, int]:
    """Return the number of events of each sample."""
    entries: Counter[int] = Counter()
    for chunk in chunks:
        entries[chunk.sample] += chunk.size
    return dict(entries)


def _check(task: Any, plan: Plan, chunks: Sequence[Chunk], part: Any) -> None:
    """Check that a stored result can belong to a task and its chunks.

    By default only pattern tables are compared with the chunks. A task with other arrays in its results,
    which loops index, registers a function for its class: `@check_result.register(MyTask)`.
    """
    if isinstance(part, PatternTable):
        width = part.words.shape[1] if getattr(part.words, "ndim", 0) == 2 else 1
        check_table(part, words=width, samples=entries_of(chunks))
    elif isinstance(part, tuple | list):
        for item in part:
            check_result(task, plan, chunks, item)
    elif isinstance(part, Mapping):
        check_result(task, plan, chunks, [*part.values()])
    elif is_dataclass(part):
        check_result(task, plan, chunks, [getattr(part, field.name) for field in fields(part)])


# Not a decorator: mypy would infer its type only after this module, and it checks subpackages in any order.
check_result: _SingleDispatchCallable[None] = singledispatch(_check)


def check_events(part: Any, chunks: Sequence[Chunk], words: int) -> int:
    """Check the sample, weight, parent and words of events in a stored result."""
    samples = entries_of(chunks)
    check_array("sample", part.sample, np.dtype("i8"), None)
    n = len(part.sample)
    check_array("weight", part.weight, np.dtype("f8"), n)
    check_array("parent", part.parent, np.dtype("u8"), n)
    check_array("words", part.words, np.dtype("u8"), n, words)
    check_samples(part.sample, samples)
    check_weights("a weight", part.weight)
    if n > sum(samples.values()):
        raise TrigemuError("it has more events than there are")
    return n


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
    """The menus and samples of a task."""

    menus: tuple[Menu, ...]  # The menus
    plan: Plan  # Their plan
    catalogue: Catalogue  # The samples to run over
    further: frozenset[Need] = frozenset()  # Columns that the task reads in addition to those of the plan


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
    """Run a task over some samples of the catalogue, in chunks."""
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
