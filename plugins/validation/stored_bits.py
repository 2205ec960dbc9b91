"""What stored decisions with numbers for names say of themselves: files that number their bits otherwise, and
files that lack bits or inputs.

A trigger is compared with another bit if the two are equal on every event, and the trigger differs from its
own. One such pair may be a coincidence, and decisions that are rare or never change are equal to many, so a
distance between the bits counts if at least `SHIFTED` triggers have it, each of which accepts and rejects at
least `CLEAR` events and equals no other bit. Triggers that accept fewer events, or equal several bits, then
count at such a distance; those that accept all or none, only between two triggers with the distance.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from trigemu.api import BoolArray, IntArray

#: Accepted and rejected events of a trigger that establishes a distance, and the number of such triggers.
CLEAR, SHIFTED = 3, 3
#: Bits that are never set are missing if they are as many, and this share of the triggers that accept events
#: (but not all of them, which would be a file without decisions).
EMPTY, EMPTY_SHARE = 10, 0.1


def bits_in(stored: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """Return the names of the stored decisions that all samples have and that are numbers, ascending."""
    common = set.intersection(*map(set, stored))
    return tuple(sorted(filter(_is_number, common), key=int))


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdecimal() and len(name) < 10 and name == str(int(name))


def equal_columns(emulated: BoolArray, stored: BoolArray, left_out: BoolArray) -> BoolArray:
    """Return which columns are the same.

    Parameters
    ----------
    emulated : bool[n, t]
        The decisions of triggers.
    stored : bool[n, b]
        The bits.
    left_out : bool[n, t]
        The decisions that are not compared.

    Returns
    -------
    bool[t, b]
    """
    equal = np.zeros((emulated.shape[1], stored.shape[1]), np.bool_)
    patterns, pattern_of = np.unique(left_out, axis=1, return_inverse=True)
    for number, pattern in enumerate(patterns.T):
        known: dict[bytes, int] = {}
        of = np.flatnonzero(pattern_of.reshape(-1) == number)
        first, second = (_coded(part[~pattern], known) for part in (emulated[:, of], stored))
        equal[of] = first[:, None] == second
    return equal


def _coded(columns: BoolArray, known: dict[bytes, int]) -> IntArray:
    """Return a number for the content of each column."""
    packed = np.packbits(columns, axis=0).T
    return np.array([known.setdefault(column.tobytes(), len(known)) for column in packed], np.int64)


def renumbered(
    own: Sequence[str], bits: Sequence[str], equal: BoolArray, accepted: IntArray, compared: IntArray
) -> dict[int, str]:
    """Return the bits that triggers seem to have in a file that numbers its bits otherwise.

    Parameters
    ----------
    own : sequence of str, t
        The names of the stored decisions of the triggers.
    bits : sequence of str, b
        The names of the bits.
    equal : bool[t, b]
        Which of them equal the triggers on all compared events.
    accepted, compared : int64[t]
        The number of events that are accepted and compared.

    Returns
    -------
    dict of int to str
        By the number of the trigger; triggers that equal their own bit are not in it.
    """
    column = {bit: number for number, bit in enumerate(bits)}
    numbers = [*map(int, bits)]
    shifts: dict[int, dict[int, str]] = {}
    for trigger, name in enumerate(own):
        if name in column and not equal[trigger, column[name]]:
            others = np.flatnonzero(equal[trigger]).tolist()
            shifts[trigger] = {numbers[other] - int(name): bits[other] for other in others}
    both = np.minimum(accepted, compared - accepted)
    votes = Counter(next(iter(of)) for t, of in shifts.items() if len(of) == 1 and both[t] >= CLEAR)
    established = [shift for shift, count in votes.most_common() if count >= SHIFTED]
    found: dict[int, int] = {}
    for trigger, of in shifts.items():
        if both[trigger] and (shift := next(filter(of.__contains__, established), None)) is not None:
            found[trigger] = shift
    around = sorted((int(own[trigger]), shift) for trigger, shift in found.items())
    for trigger, of in shifts.items():
        at = bisect(around, (int(own[trigger]), 0))
        beside = [shift for _, shift in around[max(at - 1, 0) : at + 1]]
        if not both[trigger] and len(beside) == 2 and beside[0] == beside[1] and beside[0] in of:
            found[trigger] = beside[0]
    return {trigger: shifts[trigger][shift] for trigger, shift in sorted(found.items())}


def lacking(
    only_emulated: IntArray,
    only_stored: IntArray,
    accepted: IntArray,
    words: Sequence[Iterable[str]],
    filled: Mapping[str, bool],
    elsewhere: Collection[int],
) -> dict[int, str]:
    """Return why differing triggers cannot be compared: their bits, or a word that they read, are never set.

    Parameters
    ----------
    only_emulated, only_stored, accepted : int64[t]
        The numbers of events.
    words : sequence of iterable of str, t
        The columns of events that each trigger reads.
    filled : mapping of str to bool
        Whether such a column is different from 0 in any event.
    elsewhere : collection of int
        The triggers whose decisions are those of another bit.

    Returns
    -------
    dict of int to str
        The reason, by the number of the trigger.
    """
    reasons = {}
    for trigger in np.flatnonzero((accepted == 0) & (only_stored > 0)).tolist():
        if word := next((word for word in words[trigger] if not filled[word]), None):
            reasons[trigger] = (
                f"its {word} is 0 in every event, but its stored decision is not: the samples seem to lack it"
            )
    never_set = (only_emulated == accepted) & (accepted > 0) & (only_stored == 0)
    empty = [trigger for trigger in np.flatnonzero(never_set).tolist() if trigger not in elsewhere]
    accepting = int((accepted > 0).sum())
    if max(EMPTY, EMPTY_SHARE * accepting) <= len(empty) < accepting:
        reason = (
            f"its stored decision is never positive, like those of {len(empty)} of the {accepting} triggers "
            f"that accept events: the samples seem to lack them, as a vector made for one module does"
        )
        reasons |= dict.fromkeys(empty, reason)
    return reasons
