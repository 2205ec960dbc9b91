"""Chunks: the parts of sample files that are processed at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from trigemu.samples import Sample, Source
from trigemu.support import fingerprint

#: Seconds before a file on another machine is read again.
_PAUSE_S = 1.0


@dataclass(frozen=True)
class Chunk:
    """The entries from start to stop − 1 of one file of one sample.

    Attributes
    ----------
    sample : int
        The number of the sample.
    source : int
        The number of the file in the sample.
    start, stop : int
        The entries.
    file : Source
        The file.
    of : str
        Fingerprint of the sample.
    continues : bool
        Whether it begins within a basket, cluster or row group, which a process decodes once for all its
        chunks.
    """

    sample: int
    source: int
    start: int
    stop: int
    file: Source = field(compare=False, repr=False)
    of: str = field(default="", compare=False, repr=False)
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
    of, left = sample.identity, sample.entries if most is None else most
    for number, source in enumerate(sample.sources):
        start, continues = 0, False
        end = min(source.entries, left)
        left -= end
        while start < end:
            stop = source.boundaries[bisect_right(source.boundaries, start + events) - 1]
            within = stop <= start
            stop = min(start + events if within else stop, end)
            yield Chunk(sample.number, number, start, stop, source, of, continues)
            start, continues = stop, within


def entries_of(chunks: Sequence[Chunk]) -> dict[int, int]:
    """Return the number of events of each sample.

    Parameters
    ----------
    chunks : sequence of Chunk
        The chunks.

    Returns
    -------
    dict of int to int
        The number of events in them, by the number of the sample.
    """
    entries: Counter[int] = Counter()
    for chunk in chunks:
        entries[chunk.sample] += chunk.size
    return dict(entries)
