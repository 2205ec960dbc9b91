"""The metadata of a file of scores: the menus, samples and trigger definitions of its columns, and the sums
of the events that it leaves out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np

from trigemu.counting import LIMBS, PatternTable
from trigemu.emulation.scores import Scores, Stored, range_mistake
from trigemu.samples import Catalogue, Sample
from trigemu.support import TrigemuError, excerpt, fingerprint

#: The key of the metadata, and the version of their format.
KEY, FORMAT = b"trigemu_scores", 2
#: The columns besides those of scores and decisions.
PLAIN_COLUMNS = ("sample", "id", "parent", "half", "stratum", "weight")
_Limbs = Annotated[list[int], msgspec.Meta(min_length=LIMBS, max_length=LIMBS)]


class _Rest(msgspec.Struct, forbid_unknown_fields=True):
    """Exact sums of events that are left out, as in a pattern table."""

    sample: int
    half: int
    stratum: int
    n: int
    largest: float
    weight: _Limbs
    square: _Limbs


class Column(msgspec.Struct, forbid_unknown_fields=True):
    """A score or a decision. definitions: the names of the triggers with each definition, by its fingerprint.
    above: scores above it are known; None for a decision."""

    name: str
    definitions: dict[str, list[str]]
    above: float | None = None


class About(msgspec.Struct, forbid_unknown_fields=True):
    """The metadata. background, signals: fingerprints of the samples by name. threshold_ranges: the lowest
    and the highest threshold by trigger. columns: scores, then decisions."""

    format: int
    version: str
    menus: list[str]
    background: dict[str, str]
    signals: dict[str, str]
    threshold_ranges: dict[str, tuple[float, float]] = msgspec.field(name="offers")
    columns: list[Column]
    made_with: list[str]
    rest: list[_Rest]


def columns_of(scores: Scores) -> list[Column]:
    """Return the scores, then the decisions, in the order of the table."""
    by_place: dict[tuple[bool, int], dict[str, Stored]] = {}
    for key, stored in scores.stored.items():
        place = (stored.column < 0, max(stored.column, stored.bit))
        by_place.setdefault(place, {})[key] = stored
    columns: list[Column] = []
    for (is_bit, _), of in sorted(by_place.items()):
        first = next(iter(of.values()))
        name = f"{'fired' if is_bit else 'score'}_{first.names[0]}"
        while any(column.name == name for column in columns):  # another definition in another menu
            name += "_"
        names = {key: list(stored.names) for key, stored in of.items()}
        columns.append(Column(name, names, None if is_bit else first.above))
    return columns


def stored_of(columns: Sequence[Column]) -> dict[str, Stored]:
    stored: dict[str, Stored] = {}
    scored = sum(column.above is not None for column in columns)
    for number, column in enumerate(columns):
        place = (number, -1) if number < scored else (-1, number - scored)
        above = -math.inf if column.above is None else column.above
        stored |= {key: Stored(tuple(names), *place, above) for key, names in column.definitions.items()}
    return stored


def about_scores(scores: Scores, columns: list[Column], version: str) -> About:
    rest = scores.table.rest
    arrays = [getattr(rest, name) for name in _Rest.__struct_fields__]
    return About(
        format=FORMAT,
        version=version,
        menus=[menu.name for menu in scores.menus],
        background={sample.name: _content(sample) for sample in scores.catalogue.background},
        signals={name: _content(scores.catalogue.sample(name)) for name in scores.signals},
        threshold_ranges={name: (of.low, of.high) for name, of in scores.threshold_ranges.items()},
        columns=columns,
        made_with=sorted(scores.made_with),
        rest=[_Rest(*entry) for entry in zip(*(array.tolist() for array in arrays), strict=True)],
    )


def about_of(path: Path, metadata: dict[bytes, bytes]) -> About:
    if KEY not in metadata:
        raise TrigemuError(f"{path}: it is not a score table; trigemu scores makes one")
    try:
        about = msgspec.json.decode(metadata[KEY], type=About)
    except (msgspec.DecodeError, RecursionError) as error:
        raise TrigemuError(f"{path}: its metadata are damaged: {error}") from error
    if about.format != FORMAT:
        raise TrigemuError(f"{path}: format = {about.format}, expected {FORMAT}: make the table again")
    scored = [column.above is not None for column in about.columns]
    if scored != sorted(scored, reverse=True):
        raise TrigemuError(f"{path}: its metadata are damaged: scores come before decisions")
    for mistake in _mistakes(about):
        raise TrigemuError(f"{path}: its metadata are damaged: {mistake}")
    return about


def _mistakes(about: About) -> Iterator[str]:
    """Yield mistakes in the columns and thresholds of a table."""
    names = [*PLAIN_COLUMNS, *(column.name for column in about.columns)]
    if twice := sorted(name for name, times in Counter(names).items() if times > 1):
        yield f"two columns are called {excerpt(twice[0])!r}"
    keys = [key for column in about.columns for key in column.definitions]
    if len(set(keys)) < len(keys) or not all(
        c.definitions and all(c.definitions.values()) for c in about.columns
    ):
        yield "a definition does not belong to one column and its triggers"
    for name, ends in about.threshold_ranges.items():
        if mistake := range_mistake(*ends):
            yield f"the thresholds of {excerpt(name)!r}: {mistake}"
    for column in about.columns:
        for name in (name for of in column.definitions.values() for name in of):
            low, _ = about.threshold_ranges.get(name, (-math.inf, math.inf))
            if column.above is not None and not -math.inf < column.above <= low:
                yield (
                    f"{excerpt(name)!r} has thresholds from {low:g}, but scores only above {column.above:g}"
                )


def signals_of(path: Path, about: About, catalogue: Catalogue) -> list[Sample]:
    """Return the signals. Raises TrigemuError if the table was made from other samples than the
    catalogue's."""
    samples = {sample.name: sample for sample in catalogue.samples}
    background = {sample.name for sample in catalogue.background}
    for name, content in (about.background | about.signals).items():
        if name not in samples or _content(samples[name]) != content:
            raise TrigemuError(
                f"{path}: it was made from a sample {name!r} that differs from that of {catalogue.path}"
            )
    if missing := background - about.background.keys():
        raise TrigemuError(f"{path}: it was made without the sample {sorted(missing)[0]!r}")
    return [samples[name] for name in about.signals]


def _content(sample: Sample) -> str:
    """Return a fingerprint of a sample, independent of the folder of its files."""
    files = [(Path(source.path).name, source.entries) for source in sample.sources]
    return fingerprint(sample.identity, files, sample.sha256)


def rest_of(path: Path, rest: Sequence[_Rest]) -> PatternTable:
    """Return the table of the events that are left out, from the numbers in a file."""
    try:
        sample, half, stratum, n = (
            np.array([getattr(entry, name) for entry in rest], np.int64)
            for name in ("sample", "half", "stratum", "n")
        )
        weight, square = (
            np.array([getattr(entry, name) for entry in rest], np.int64).reshape(-1, LIMBS)
            for name in ("weight", "square")
        )
    except OverflowError:
        raise TrigemuError(f"{path}: its metadata are damaged: a number is too large") from None
    largest = np.array([entry.largest for entry in rest])
    words = np.zeros((len(rest), 1), np.uint64)
    return PatternTable(sample, half, np.zeros_like(half), stratum, words, n, largest, weight, square)
