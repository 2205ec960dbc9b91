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
from dataclasses import replace
from filecmp import cmp
from pathlib import Path

import numpy as np

from trigemu.base.arrays import Array
from trigemu.base.errors import SampleError, listed
from trigemu.base.files import is_there
from trigemu.samples.events import Need
from trigemu.samples.files import File
from trigemu.samples.locations import located, naming, parts
from trigemu.samples.numbers import ALL, STEP, Hashes, Numbers, numbering
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
        for file in sample.sources:
            sizes = _sizes(file.path)
            known_by = sizes or file.sha256 or located(file.path)
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


def repeated_events(samples: Sequence[Sample], files_of: Sequence[Sequence[File]]) -> Iterator[str]:
    """Yield a sentence for samples with events that are in their files twice. Recorded events are compared in
    the whole background, simulated ones within their sample."""
    groups: dict[str, list[tuple[Sample, File, Numbers]]] = {}
    for sample, sources in zip(samples, files_of, strict=True):
        for file in sources:
            if numbers := file.numbers:
                recorded = sample.table.role == "background" and not numbers.simulated
                groups.setdefault("" if recorded else sample.name, []).append((sample, file, numbers))
    for group in groups.values():
        limit = min(numbers.limit for *_, numbers in group)
        hashes, again = _repeated(group, limit)
        if len(again) and any(sample.weighting for sample, *_ in group):
            group = [(sample, file, _that_count(sample, file, numbers)) for sample, file, numbers in group]
            hashes, again = _repeated(group, limit)
        if not len(again):
            continue
        ends = np.cumsum([len(numbers.hashes) for *_, numbers in group])
        for pair in _pairs(hashes, again):
            files = [int(np.searchsorted(ends, row, side="right")) for row in pair]
            (one, file, numbers), (other, other_file, _) = (group[number] for number in files)
            entries = [int(group[n][2].entries[row - ends[n]]) for n, row in zip(files, pair, strict=True)]
            common = _common(file, other_file) if numbers.simulated else []
            event, same = (
                _values(one, file, entries[0], common),
                _values(other, other_file, entries[1], common),
            )
            if all(map(np.array_equal, event, same)):
                total = f"{'about ' * (limit < ALL)}{len(again) * (ALL / limit):.0f}"
                names = " and ".join(dict.fromkeys(repr(sample.name) for sample in (one, other)))
                yield (
                    f"{total} events of {names} are there twice, by run, section and number: the first, "
                    f"{', '.join(str(int(number[0])) for number in event[:3])}, is entry {entries[0]} of "
                    f"{file.path} and entry {entries[1]} of {other_file.path}; errors are too small, up to a "
                    f"factor of √2: leave one of the two out"
                )
                break


def _repeated(group: Sequence[tuple[Sample, File, Numbers]], limit: int) -> tuple[Hashes, Hashes]:
    """Return all hashes of some files, and those up to a limit that are there again."""
    hashes = np.concatenate([numbers.hashes for *_, numbers in group])
    ordered = np.sort(hashes)
    return hashes, ordered[1:][(ordered[1:] == ordered[:-1]) & (ordered[1:] <= np.uint64(limit))]


def _that_count(sample: Sample, file: File, numbers: Numbers) -> Numbers:
    """Return the numbers of those events of a file that count in its sample."""
    if not sample.weighting:
        return numbers
    kept = np.zeros(file.entries, np.bool_)
    for start in range(0, file.entries, STEP):
        events = sample.read_file(file, start, stop := min(start + STEP, file.entries), ())
        kept[start:stop] = sample.weighting.weigh(events.scalars)[0]
    rows = kept[numbers.entries]
    return replace(numbers, hashes=numbers.hashes[rows], entries=numbers.entries[rows])


def _pairs(hashes: Hashes, again: Hashes) -> list[list[int]]:
    """Return the first rows, in pairs, that have the same hash, of those that are there `again`."""
    rows = np.flatnonzero(np.isin(hashes, again))
    rows = rows[np.argsort(hashes[rows], kind="stable")]
    pairs = np.column_stack([rows[:-1], rows[1:]])[hashes[rows[:-1]] == hashes[rows[1:]]]
    first: list[list[int]] = pairs[np.argsort(pairs[:, 0], kind="stable")][:_PAIRS].tolist()
    return first


def _common(one: File, other: File) -> list[Need]:
    """Return some columns that both files have: pT of objects, and numbers."""
    with_pt = [{n for n, columns in f.schema.collections.items() if "pt" in columns} for f in (one, other)]
    numbers = one.schema.numbers & other.schema.numbers
    return [
        *((name, "pt") for name in sorted(with_pt[0] & with_pt[1])[:_COMPARED]),
        *(("", name) for name in sorted(numbers)[:_COMPARED]),
    ]


def _values(sample: Sample, file: File, entry: int, common: Sequence[Need]) -> list[Array]:
    """Return run, section and number of an event, the `common` columns, and its weight."""
    needs = [*numbering(file.schema), *common]
    with naming(sample.name, file.path):
        read = file.columns(entry, entry + 1, needs)
    return [
        *(read.collections[name].columns[column] if name else read.scalars[column] for name, column in needs),
        np.asarray(read.weight),
    ]
