"""Find events that a catalogue has twice: the same file under two names, and the same event in two files.

An event is known by its run, section (luminosity block) and number, where files have them. Of the three a
hash is kept, in a large catalogue only the smallest hashes, so that it is the same part in every file.
Simulated events are the same only if their objects are, too: files that are generated one by one may each
begin with the first event of run 1.
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
from trigemu.samples.files import ALL, STEP, File, Numbers, numbering
from trigemu.samples.locations import located, naming, parts
from trigemu.samples.sample import Sample

#: Columns of two events that are compared; pairs of events; files that a message names.
_COMPARED, _PAIRS, _NAMED = 60, 8, 10


def check_files(samples: Sequence[Sample]) -> None:
    """Raise SampleError if a sample, or two samples of the background, have the same file twice."""
    alike: dict[object, list[tuple[Sample, str]]] = {}
    problems = []
    for sample in samples:
        among = "" if sample.table.role == "background" else sample.name
        for file in sample.sources:
            path, places = file.path, map(located, parts(file.path))
            sizes = tuple(w.stat().st_size for w in places if isinstance(w, Path) and is_there(w))
            known_by = sizes or file.sha256 or located(path)
            others = alike.setdefault((among, file.tree_name, file.entries, known_by), [])
            for other, before in others if file.entries else ():
                pairs = zip(parts(path), parts(before), strict=True)
                if sizes and not all(cmp(*pair, shallow=False) for pair in pairs):
                    continue
                what = "is listed twice" if path == before else f"has the same content as {before}"
                if sample is not other:
                    what = "is also" if path == before else what
                    what += f" in the sample {other.name!r} of the background"
                where = f"sample {sample.name!r}: {path}"
                problems.append(f"{where} {what}: its events would count twice, name it once")
                break
            else:
                others.append((sample, path))
    if problems:
        raise SampleError(listed(problems, _NAMED))


#: A file of a sample, and the numbers of its events.
_Numbered = tuple[Sample, File, Numbers]


def repeated_events(samples: Sequence[Sample], files_of: Sequence[Sequence[File]]) -> Iterator[str]:
    """Yield a sentence for samples with events that are in their files twice. Recorded events are compared in
    the whole background, simulated ones within their sample."""
    groups: dict[str, list[_Numbered]] = {}
    for sample, files in zip(samples, files_of, strict=True):
        for file in files:
            if numbers := file.numbers:
                recorded = sample.table.role == "background" and not numbers.simulated
                groups.setdefault("" if recorded else sample.name, []).append((sample, file, numbers))
    for group in groups.values():
        limit = min(numbers.limit for *_, numbers in group)
        again, pairs = _repeated(group, limit)
        if again and any(sample.weighting for sample, *_ in group):
            again, pairs = _repeated([*map(_that_count, group)], limit)
        for (n, entry), (m, other_entry) in pairs:
            (one, file, numbers), (other, other_file, _) = group[n], group[m]
            common = sorted(_compared(file) & _compared(other_file), reverse=True)[:_COMPARED]
            common = common if numbers.simulated else []
            event = _values(one, file, entry, common)
            if all(map(np.array_equal, event, _values(other, other_file, other_entry, common))):
                total = f"{'about ' * (limit < ALL)}{again * (ALL / limit):.0f}"
                names = " and ".join(dict.fromkeys(repr(sample.name) for sample in (one, other)))
                yield (
                    f"{total} events of {names} are there twice, by run, section and number: the first, "
                    f"{', '.join(str(int(number[0])) for number in event[:3])}, is entry {entry} of "
                    f"{file.path} and entry {other_entry} of {other_file.path}; errors are too small, up to "
                    f"a factor of √2: leave one of the two out"
                )
                break


def _repeated(group: Sequence[_Numbered], limit: int) -> tuple[int, list[list[list[int]]]]:
    """Return how many events of some files are there again, of those with hashes up to a limit, and the first
    ones in pairs of a file's place and an entry."""
    hashes = np.concatenate([numbers.hashes for *_, numbers in group])
    ordered = np.sort(hashes)
    again = ordered[1:][(ordered[1:] == ordered[:-1]) & (ordered[1:] <= np.uint64(limit))]
    if not len(again):
        return 0, []
    of_files = [numbers.entries for *_, numbers in group]
    file, entry = np.repeat(np.arange(len(group)), [*map(len, of_files)]), np.concatenate(of_files)
    rows = np.flatnonzero(np.isin(hashes, again))
    rows = rows[np.argsort(hashes[rows], kind="stable")]
    pairs = np.column_stack([rows[:-1], rows[1:]])[hashes[rows[:-1]] == hashes[rows[1:]]]
    first = pairs[np.argsort(pairs[:, 0], kind="stable")][:_PAIRS]
    return len(again), np.stack([file[first], entry[first]], axis=2).tolist()


def _that_count(numbered: _Numbered) -> _Numbered:
    """Return a file with the numbers of those events that count in its sample."""
    sample, file, numbers = numbered
    if not sample.weighting:
        return numbered
    ranges = ((start, min(start + STEP, file.entries)) for start in range(0, file.entries, STEP))
    columns = (sample.read_file(file, *rows, ()).scalars for rows in ranges)
    kept = np.concatenate([sample.weighting.weigh(scalars)[0] for scalars in columns])[numbers.entries]
    return sample, file, replace(numbers, hashes=numbers.hashes[kept], entries=numbers.entries[kept])


def _compared(file: File) -> set[Need]:
    """Return the columns by which simulated events are compared: pT of objects, and numbers."""
    with_pt = {(name, "pt") for name, columns in file.schema.collections.items() if "pt" in columns}
    return with_pt | {("", name) for name in file.schema.numbers}


def _values(sample: Sample, file: File, entry: int, common: Sequence[Need]) -> list[Array]:
    """Return run, section and number of an event, the `common` columns, and its weight."""
    needs = [*numbering(file.schema), *common]
    with naming(sample.name, file.path):
        read = file.columns(entry, entry + 1, needs)
    return [
        *(read.collections[name].columns[column] if name else read.scalars[column] for name, column in needs),
        np.asarray(read.weight),
    ]
