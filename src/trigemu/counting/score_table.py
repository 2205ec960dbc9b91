"""The score table: the scores and weights of the events that a menu may accept at its lowest thresholds.

A pattern table is valid for one set of thresholds; a score table for all thresholds from the lowest ones. It
has a row for each event in which a trigger fires at the lowest thresholds; all others are summed in `rest`.
Like a pattern table it is mergeable, and counts from it do not depend on chunks or workers.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words
from trigemu.counting.patterns import (
    Keys,
    Parents,
    PatternTable,
    complete_table,
    count_patterns,
    merge_tables,
)

#: The arrays of a score table that have a row for each event.
COLUMNS = ("sample", "half", "stratum", "id", "parent", "weight", "scores", "words")


@dataclass(frozen=True)
class ScoreTable:
    """The events in which a trigger fires at the lowest thresholds. Tables are added with `+`."""

    sample: IntArray  # int64[n], the number of the sample
    half: IntArray  # half, stratum: int64[n], the half of the sample, and the stratum of reweighting
    stratum: IntArray
    id: Parents  # id, parent: uint64[n], the number of the event, and of its interaction
    parent: Parents
    weight: FloatArray  # float64[n], in Hz
    scores: FloatArray  # float64[n, s], the scores; −∞ if a score is not above its lowest threshold
    words: Words  # uint64[n, w], the decisions of triggers without a score
    rest: PatternTable  # The other events, in which no trigger fires: their patterns are 0

    def __len__(self) -> int:
        return len(self.id)

    def __add__(self, other: ScoreTable) -> ScoreTable:
        """Return the table of the events of both."""
        return merge_score_tables([self, other])

    def take(self, rows: IntArray | BoolArray) -> ScoreTable:
        """Return the table with only the events in `rows`, int64[k] or bool[n]."""
        return ScoreTable(**{name: getattr(self, name)[rows] for name in COLUMNS}, rest=self.rest)

    def by_half(self) -> PatternTable:
        """Return the pattern table of all events by sample and half only."""
        nothing = np.zeros((len(self), 1), np.uint64)
        return self.count(nothing, Keys(self.half), self.rest.onto((), ("half",)), (), count_rejected=True)

    def count(
        self, words: Words, keys: Keys, rest: PatternTable, shared: Container[int], count_rejected: bool
    ) -> PatternTable:
        """Return the pattern table of all events. words: uint64[n, v]; keys: The further keys, int64[n]
        each."""
        tables = [rest]
        for sample in np.unique(self.sample).tolist():
            rows = np.flatnonzero(self.sample == sample)
            made_from = (self.parent[rows], self.id[rows]) if sample in shared else None
            counted = (words[rows], self.weight[rows], keys.take(rows))
            tables.append(
                count_patterns(sample, *counted, made_from=made_from, count_rejected=count_rejected)
            )
        return complete_table(tables)


def merge_score_tables(tables: Sequence[ScoreTable]) -> ScoreTable:
    """Return the sum of one or more tables, with their events concatenated."""
    columns = {name: np.concatenate([getattr(table, name) for table in tables]) for name in COLUMNS}
    return ScoreTable(**columns, rest=merge_tables([table.rest for table in tables]))
