"""Find events that a catalogue has twice: the same file under two names, and the same event in two files.

A file is known by its content where another one has the same size, on a server by its sha256 in the
catalogue, or else its URL; an event by its run, section (luminosity block) and number, where files have
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

from trigemu.base.errors import SampleError, listed
from trigemu.base.files import is_there
from trigemu.samples.files import ALL, File, Hashes, Numbering, hashed, numbers_of
from trigemu.samples.formats.source import Source
from trigemu.samples.locations import located, naming, parts
from trigemu.samples.sample import Sample

#: Columns of two events that are compared, of each kind, and pairs of events.
_COMPARED, _PAIRS = 30, 8
#: Files that a message names.
_NAMED = 10


def check_files(samples: Sequence[Sample]) -> None:
    """Raise SampleError if a sample, or two samples of the background, have the same file twice."""
    alike: dict[object, list[tuple[Sample, str]]] = {}
    problems = []
    for sample in samples:
        among = "" if sample.table.role == "background" else sample.name
        for file, sha256 in zip(sample.sources, sample.sha256, strict=True):
            sizes = _sizes(file.path)
            known_by = sizes or sha256 or located(file.path)
            others = alike.setdefault((among, file.tree_name, file.entries, known_by), [])
            before = next(
                (other for other in others if not sizes or _same_content(file.path, other[1])), None
            )
            if before is None or not file.entries:
                others.append((sample, file.path))
            else:
                problems.append(_twice(sample, file.path, *before))
    if problems:
        raise SampleError(listed(problems, _NAMED))


def _sizes(path: str) -> tuple[int, ...]:
    """Return the size of a file, or of the files of a folder; nothing if it is elsewhere."""
    files = [where for part in parts(path) if isinstance(where := located(part), Path) and is_there(where)]
    return tuple(file.stat().st_size for file in files)


def _same_content(one: str, other: str) -> bool:
    return all(cmp(*pair, shallow=False) for pair in zip(parts(one), parts(other), strict=True))


def _twice(sample: Sample, path: str, other: Sample, before: str) -> str:
    what = "is listed twice" if path == before else f"has the same content as {before}"
    if sample is not other:
        what = f"{what if path != before else 'is also'} in the sample {other.name!r} of the background"
    return f"sample {sample.name!r}: {path} {what}: its events would count twice, name it once"


@dataclass(frozen=True)
class _Numbered:
    """A file with the numbers of its events."""

    sample: Sample
    source: File | Source
    numbers: Numbering

    def positions(self, hashes: Hashes) -> Iterator[tuple[int, int, list[int]]]:
        """Yield the hash, the entry, and run, section and number of the events with these hashes."""
        with naming(self.sample.name, self.source.path):
            for start, numbers, rows in hashed(self.source, numbers_of(self.source)):
                for row in np.flatnonzero(np.isin(rows, hashes)).tolist():
                    yield int(rows[row]), start + row, [int(column[row]) for column in numbers]


def repeated_events(
    samples: Sequence[Sample], numberings: Sequence[Sequence[Numbering | None]]
) -> Iterator[str]:
    """Yield a sentence for samples with events that are in their files twice.

    numberings: of the files of each sample. Recorded events are compared in the whole background, simulated
    ones within their sample.
    """
    groups: dict[str, list[_Numbered]] = {}
    for sample, of_files in zip(samples, numberings, strict=True):
        for file, numbers in zip(sample.sources, of_files, strict=True):
            if numbers is not None:
                recorded = sample.table.role == "background" and not numbers.simulated
                groups.setdefault("" if recorded else sample.name, []).append(
                    _Numbered(sample, file, numbers)
                )
    for group in groups.values():
        yield from _repeated(group)


def _repeated(files: Sequence[_Numbered]) -> Iterator[str]:
    """Yield a sentence with the first event that some files have twice, if there is one. A few pairs are
    compared: events of the first file that has some, and those of the first that has them again, which may be
    the same file."""
    limit = min(file.numbers.limit for file in files)
    hashes = np.sort(np.concatenate([file.numbers.hashes for file in files]))
    again = hashes[1:][(hashes[1:] == hashes[:-1]) & (hashes[1:] <= np.uint64(limit))]
    if not len(again):
        return
    one = next(file for file in files if np.isin(file.numbers.hashes, again).any())
    first: dict[int, tuple[int, list[int]]] = {}
    for key, entry, numbers in islice(one.positions(again), _PAIRS):
        first.setdefault(key, (entry, numbers))
    keys = np.array(list(first), np.uint64)
    others = (file for file in files if file is not one and np.isin(keys, file.numbers.hashes).any())
    other = next(others, one)
    for key, other_entry, numbers in other.positions(keys):
        entry, same_numbers = first[key]
        if numbers != same_numbers or (other is one and entry == other_entry):
            continue
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


def _same(one: _Numbered, entry: int, other: _Numbered, other_entry: int) -> bool:
    """Whether two events have the same objects and numbers, of those that both files have."""
    schemas = [file.source.schema for file in (one, other)]
    with_pt = [{name for name, columns in s.collections.items() if "pt" in columns} for s in schemas]
    needs = [(name, "pt") for name in sorted(with_pt[0] & with_pt[1])[:_COMPARED]]
    needs += [("", name) for name in sorted(schemas[0].numbers & schemas[1].numbers)[:_COMPARED]]
    values = []
    for file, row in ((one, entry), (other, other_entry)):
        with naming(file.sample.name, file.source.path):
            read = file.source.columns(row, row + 1, needs)
        columns = [read.collections[n].columns[c] if n else read.scalars[c] for n, c in needs]
        values.append([*columns, np.asarray(read.weight)])
    return all(map(np.array_equal, *values))
