"""Find events that a catalogue has twice: the same file under two names, and the same event in two files.

A file is known by its place on the disk, by its sha256 where the catalogue has it, and by its content where
another one has the same size; an event by its run, section (luminosity block) and number, where files have
them. Of each event a hash of the three is kept, in a large catalogue only of a part of them: the smallest
hashes, so that it is the same part in every file.

Simulated events may have the numbers of others: whoever generates files one by one may begin each with the
first event of run 1. They are the same only if their objects are the same, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from filecmp import cmp
from itertools import islice
from pathlib import Path

import numpy as np

from trigemu.base.arrays import Array
from trigemu.base.errors import SampleError, listed
from trigemu.base.files import is_there
from trigemu.samples.events import Collection, Need
from trigemu.samples.files import ALL, File, Hashes, Numbering, hashed, numbers_of
from trigemu.samples.formats.source import ReadEvents, Source
from trigemu.samples.locations import located, naming, parts
from trigemu.samples.sample import Sample

#: Columns of two events that are compared, of each kind, and pairs of events.
_COMPARED, _PAIRS = 30, 8
#: Files that a message names.
_NAMED = 10


def check_files(samples: Sequence[Sample]) -> None:
    """Raise SampleError if a sample, or two samples of the background, have the same file twice."""
    first: dict[object, tuple[Sample, str]] = {}
    equal_sizes: dict[object, list[tuple[Sample, str]]] = {}
    problems = []
    for sample in samples:
        among = () if sample.table.role == "background" else (sample.name,)
        for file, sha256 in zip(sample.sources, sample.sha256, strict=True):
            here = sample, file.path
            places = [*_places(file.path), *([sha256] if sha256 and file.entries else [])]
            keys = [(among, file.tree_name, place) for place in places]
            before = next((first[key] for key in keys if key in first), None)
            if before is None and file.entries and (sizes := _sizes(file.path)):
                others = equal_sizes.setdefault((among, file.tree_name, file.entries, *sizes), [])
                before = next((other for other in others if _same_content(file.path, other[1])), None)
                others.append(here)
            if before:
                problems.append(_twice(*here, *before))
            for key in keys:
                first.setdefault(key, here)
    if problems:
        raise SampleError(listed(problems, _NAMED))


def _places(path: str) -> Iterator[object]:
    """Yield what identifies a file, or the files of a folder, on this machine; otherwise its URL."""
    for part in parts(path):
        where = located(part)
        if isinstance(where, str) or not is_there(where):
            yield part
        else:
            status = where.stat()
            yield status.st_dev, status.st_ino


def _sizes(path: str) -> list[int]:
    """Return the size of a file, or of the files of a folder; nothing if it is elsewhere."""
    files = [where for part in parts(path) if isinstance(where := located(part), Path) and is_there(where)]
    return [file.stat().st_size for file in files]


def _same_content(one: str, other: str) -> bool:
    return all(cmp(*pair, shallow=False) for pair in zip(parts(one), parts(other), strict=True))


def _twice(sample: Sample, path: str, other: Sample, before: str) -> str:
    what = "is listed twice" if path == before else f"has the same content as {before}"
    if sample is not other:
        what = f"{what if path != before else 'is also'} in the sample {other.name!r} of the background"
    return f"sample {sample.name!r}: {path} {what}: its events would count twice, name it once"


def repeated_events(
    samples: Sequence[Sample], numberings: Sequence[Sequence[Numbering | None]]
) -> Iterator[str]:
    """Yield a sentence for samples with events that are in their files twice.

    numberings: of the files of each sample. Recorded events are compared in the whole background, simulated
    ones within their sample.
    """
    groups: dict[str, list[_File]] = {}
    for sample, of_files in zip(samples, numberings, strict=True):
        for file, numbers in zip(sample.sources, of_files, strict=True):
            if numbers is not None:
                recorded = sample.table.role == "background" and not numbers.simulated
                groups.setdefault("" if recorded else sample.name, []).append(_File(sample, file, numbers))
    for group in groups.values():
        yield from _repeated(group)


@dataclass(frozen=True)
class _File:
    sample: Sample
    source: File | Source
    numbers: Numbering

    def upto(self, limit: int) -> Hashes:
        return self.numbers.hashes[self.numbers.hashes <= np.uint64(limit)]

    def positions(self, hashes: Hashes) -> Iterator[tuple[int, int, tuple[int, int, int]]]:
        """Yield the hash, the entry, and run, section and number of the events with these hashes."""
        with naming(self.sample.name, self.source.path):
            for start, numbers, rows in hashed(self.source, numbers_of(self.source)):
                for row in np.flatnonzero(np.isin(rows, hashes)).tolist():
                    run, block, number = (int(column[row]) for column in numbers)
                    yield int(rows[row]), start + row, (run, block, number)


def _repeated(files: Sequence[_File]) -> Iterator[str]:
    limit = min(file.numbers.limit for file in files)
    hashes = np.sort(np.concatenate([file.upto(limit) for file in files]))
    again = hashes[1:][hashes[1:] == hashes[:-1]]
    if not len(again):
        return
    for (one, entry), (other, other_entry), numbers in _pairs(files, again, limit):
        if one.numbers.simulated and not _same(one, entry, other, other_entry):
            continue
        names = " and ".join(dict.fromkeys(repr(file.sample.name) for file in (one, other)))
        total = f"{'about ' * (limit < ALL)}{len(again) * (ALL / limit):.0f}"
        yield (
            f"{total} events of {names} are there twice, by run, section and number: the first, "
            f"{', '.join(map(str, numbers))}, is entry {entry} of {one.source.path} and entry {other_entry} "
            f"of {other.source.path}; errors are too small, up to a factor of √2: leave one of the two out"
        )
        return


def _pairs(
    files: Sequence[_File], again: Hashes, limit: int
) -> Iterator[tuple[tuple[_File, int], tuple[_File, int], tuple[int, int, int]]]:
    """Yield a few pairs of events with the same numbers, and these: events of the first file that has some,
    in the order of its entries, with those of the first file that has them again, which may be the same."""
    owns = ((file, np.sort(file.upto(limit))) for file in files)
    one, hashes = next((file, hashes) for file, hashes in owns if np.isin(hashes, again).any())
    shared, two = hashes[1:][hashes[1:] == hashes[:-1]], one
    if not len(shared):
        shared, two = next((both, match) for match, o in owns if len(both := np.intersect1d(o, hashes)))
    first: dict[int, tuple[int, tuple[int, int, int]]] = {}
    for key, entry, numbers in islice(one.positions(shared), _PAIRS):
        first.setdefault(key, (entry, numbers))
    second = {
        key: position
        for key, position, numbers in two.positions(np.array(list(first), np.uint64))
        if numbers == first[key][1]
    }  # the last of each, so that it is another one within a file
    for key, (entry, numbers) in first.items():
        if key in second:
            yield (one, entry), (two, second[key]), numbers


def _same(one: _File, entry: int, other: _File, other_entry: int) -> bool:
    """Whether two events have the same objects and numbers, of those that both files have."""
    of_both = [file.source.schema for file in (one, other)]
    collections = sorted(of_both[0].collections.keys() & of_both[1].collections.keys())
    scalars = sorted(of_both[0].numbers & of_both[1].numbers)
    needs = [
        (name, "pt") for name in collections if all("pt" in these.collections[name] for these in of_both)
    ]
    needs = needs[:_COMPARED] + [("", name) for name in scalars[:_COMPARED]]
    with naming(one.sample.name, one.source.path):
        first = one.source.read(entry, entry + 1, needs)
    with naming(other.sample.name, other.source.path):
        second = other.source.read(other_entry, other_entry + 1, needs)
    return all(
        np.array_equal(a, b) for a, b in zip(_values(first, needs), _values(second, needs), strict=True)
    )


def _values(events: ReadEvents, needs: Sequence[Need]) -> Iterator[Array]:
    for name, column in needs:
        collection: Collection | None = events.collections[name] if name else None
        yield collection.columns[column] if collection else events.scalars[column]
    yield np.asarray(events.weight)
