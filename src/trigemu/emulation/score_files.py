"""Score tables as Parquet files, with the menus, samples and definitions of their columns as metadata.

A file has a row for each event of the table: sample, id, parent, half, stratum, weight (Hz), `score_NAME` for
each score, and the decision `fired_NAME` for each trigger without a score. Triggers that differ only in their
thresholds share a score; it has the name of the first, and its description names them all. The metadata
contain the sums of the other events, and the trigger definitions of the columns.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from trigemu.base.arrays import Array, BoolArray, IntArray
from trigemu.base.errors import TrigemuError, excerpt, module_of_extra
from trigemu.base.files import check_no_pipe, new_file
from trigemu.base.fingerprint import fingerprint
from trigemu.counting.patterns import PatternTable, empty_table, merge_tables
from trigemu.counting.score_table import ScoreTable, merge_score_tables
from trigemu.emulation.score_pass import ScorePass
from trigemu.emulation.scores import Scores, Stored, ThresholdRange, range_mistake
from trigemu.menus.read import MenusLike, menus_of
from trigemu.menus.warnings import unit_of_threshold
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import MAX_WEIGHT_HZ
from trigemu.samples.memory import SamplesLike, samples_of
from trigemu.samples.sample import Sample

#: The key of the metadata, and the version of their format.
KEY, FORMAT = b"trigemu_scores", 3
#: The columns besides those of scores and decisions.
PLAIN_COLUMNS = ("sample", "id", "parent", "half", "stratum", "weight")
#: The smallest number of events of a row group.
_ROWS = 2**18


class _Rest(msgspec.Struct, forbid_unknown_fields=True):
    """The sums of events that are left out, as in a pattern table."""

    sample: int
    half: int
    stratum: int
    n: int
    largest: float
    weight: float
    square: float


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


def columns_of(scores: Scores | ScorePass) -> list[Column]:
    """Return the scores, then the decisions, in the order of the table."""
    by_place: dict[tuple[bool, int], dict[str, Stored]] = {}
    for key, stored in scores.stored.items():
        place = (stored.column < 0, max(stored.column, stored.bit))
        by_place.setdefault(place, {})[key] = stored
    columns: list[Column] = []
    for (is_bit, _), scored in sorted(by_place.items()):
        first = next(iter(scored.values()))
        name = f"{'fired' if is_bit else 'score'}_{first.names[0]}"
        while any(column.name == name for column in columns):  # another definition in another menu
            name += "_"
        names = {key: list(stored.names) for key, stored in scored.items()}
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


def about_scores(
    scores: Scores | ScorePass, columns: list[Column], version: str, rest: PatternTable
) -> About:
    arrays = [getattr(rest, name) for name in _Rest.__struct_fields__]
    return About(
        format=FORMAT,
        version=version,
        menus=[menu.name for menu in scores.menus],
        background={sample.name: _content(sample) for sample in scores.catalogue.background},
        signals={name: _content(scores.catalogue.sample(name)) for name in scores.signals},
        threshold_ranges={
            name: (limits.low, limits.high) for name, limits in scores.threshold_ranges.items()
        },
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
        for name in (name for definitions in column.definitions.values() for name in definitions):
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
    files = [(Path(source.path).name, source.entries, source.identity) for source in sample.sources]
    return fingerprint(sample.identity, files)


def rest_of(path: Path, rest: Sequence[_Rest]) -> PatternTable:
    """Return the table of the events that are left out, from the numbers in a file."""
    try:
        sample, half, stratum, n = (
            np.array([getattr(entry, name) for entry in rest], np.int64)
            for name in ("sample", "half", "stratum", "n")
        )
        weight, square = (
            np.array([getattr(entry, name) for entry in rest], np.float64) for name in ("weight", "square")
        )
    except OverflowError:
        raise TrigemuError(f"{path}: its metadata are damaged: a number is too large") from None
    largest = np.array([entry.largest for entry in rest])
    words = np.zeros((len(rest), 1), np.uint64)
    return PatternTable(sample, half, np.zeros_like(half), stratum, words, n, largest, weight, square)


def write_scores(path: Path, scores: Scores | ScorePass, version: str) -> int:
    """Write a score table as Parquet.

    Parameters
    ----------
    path : Path
        The file.
    scores : Scores or ScorePass
        The table, or the pass that collects it: then no more than some chunks are in memory.
    version : str
        The version of trigemu, written to the file.

    Returns
    -------
    int
        The number of events in the file.

    Raises
    ------
    TrigemuError
        If the file cannot be written; no incomplete file remains.
    """
    pyarrow = pyarrow_for("writing")
    columns = columns_of(scores)
    fields = [
        pyarrow.field(name, kind, nullable=False, metadata={"description": description, "unit": unit})
        for name, kind, unit, description in _described(scores, columns, pyarrow)
    ]
    schema = pyarrow.schema(fields)
    names = [sample.name for sample in scores.catalogue.samples]
    options = {"compression": "zstd", "write_page_checksum": True}
    rest, events = empty_table(1), 0
    with (
        new_file(path) as temporary,
        temporary.open("wb") as file,  # pyarrow cannot open a path that is not UTF-8
        pyarrow.parquet.ParquetWriter(file, schema, **options) as writer,
    ):
        for table in _row_groups(part for _, part in scores.parts()):
            sample, *others = _arrays_of(table, columns)
            arrays = [pyarrow.DictionaryArray.from_arrays(sample.astype(np.int32), names)]
            arrays += [
                pyarrow.array(values, field.type) for values, field in zip(others, fields[1:], strict=True)
            ]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
            rest, events = merge_tables([rest, table.rest]), events + len(table)
        writer.add_key_value_metadata(
            {KEY: msgspec.json.encode(about_scores(scores, columns, version, rest))}
        )
    return events


def _row_groups(parts: Iterable[ScoreTable]) -> Iterator[ScoreTable]:
    """Yield tables of at least _ROWS events, but for the last."""
    waiting: list[ScoreTable] = []
    for part in parts:
        waiting.append(part)
        if sum(map(len, waiting)) >= _ROWS:
            yield merge_score_tables(waiting)
            waiting = []
    if waiting:
        yield merge_score_tables(waiting)


def read_scores(path: Path, menus: MenusLike, catalogue: SamplesLike = None) -> Scores:
    """Read a score table.

    Parameters
    ----------
    path : Path
        The file.
    menus : path, Menu, or list of these
        The menus to emulate: those that the table was made for, or others with the same triggers.
    catalogue : path, Catalogue, Events, ak.Array, list of paths, or None
        The samples of the table, as in `emulate`; their events are not read.

    Returns
    -------
    Scores

    Raises
    ------
    TrigemuError
        If the file is not a score table, is damaged, was made from other samples, or contains impossible
        numbers.
    """
    pyarrow = pyarrow_for("reading")
    menus, catalogue = menus_of(menus), samples_of(catalogue)
    try:
        check_no_pipe(Path(path))
        with (
            Path(path).open("rb") as stream,
            pyarrow.parquet.ParquetFile(stream, page_checksum_verification=True) as file,
        ):
            about = about_of(path, file.metadata.metadata or {})
            signals = signals_of(path, about, catalogue)
            names = _checked_names(path, file, about, catalogue)
            read = file.read(columns=names)
    except (OSError, pyarrow.ArrowException) as error:
        raise TrigemuError(f"{path}: cannot be read as a score table: {error}") from error
    table = _table_of(path, read, about, catalogue)
    of_signals = {s.name: table.take(table.sample == s.number) for s in signals}
    background = np.isin(table.sample, [sample.number for sample in catalogue.background])
    return Scores(
        menus,
        catalogue,
        table.take(background),
        {name: replace(kept, rest=empty_table(1)) for name, kept in of_signals.items()},
        {name: ThresholdRange(*ends) for name, ends in about.threshold_ranges.items()},
        stored_of(about.columns),
        frozenset(about.made_with),
    )


def pyarrow_for(doing: str) -> Any:
    """Return pyarrow with its module for Parquet, or raise MissingExtraError on `doing` with Parquet."""
    module_of_extra("pyarrow.parquet", f"{doing} Parquet", "formats", "pyarrow")
    import pyarrow

    return pyarrow


def _described(
    scores: Scores | ScorePass, columns: Sequence[Column], pyarrow: Any
) -> Iterator[tuple[str, Any, str, str]]:
    """Yield name, type, unit and description of each column."""
    yield "sample", pyarrow.dictionary(pyarrow.int32(), pyarrow.string()), "", "the sample"
    yield "id", pyarrow.uint64(), "", "the number of the event"
    yield "parent", pyarrow.uint64(), "", "the generated interaction that the event was made from"
    yield "half", pyarrow.int8(), "", "the half of the sample: 0 training, 1 evaluation"
    yield (
        "stratum",
        pyarrow.int16(),
        "",
        "the number of interactions, if crossings are reweighted by it; else 0",
    )
    yield "weight", pyarrow.float64(), "Hz", "the rate that the event stands for"
    units = {t.name: unit_of_threshold(menu, t) for menu in scores.menus for t in menu.triggers}
    for column in columns:
        names = [name for definitions in column.definitions.values() for name in definitions]
        if column.above is None:
            description = f"decision of {', '.join(names)}, before prescale and seed"
            yield column.name, pyarrow.bool_(), "", description
        else:
            description = f"score of {', '.join(names)}; −inf where it is not above {column.above:g}"
            yield column.name, pyarrow.float64(), units.get(names[0], ""), description


def _arrays_of(table: ScoreTable, columns: Sequence[Column]) -> Iterator[Array]:
    """Yield the arrays of the columns."""
    yield from (getattr(table, name) for name in PLAIN_COLUMNS)
    scored = sum(column.above is not None for column in columns)
    yield from table.scores.T
    for bit in range(len(columns) - scored):
        yield (table.words[:, bit // 64] >> np.uint64(bit % 64)) & np.uint64(1) != 0


def _checked_names(path: Path, file: Any, about: About, catalogue: Catalogue) -> list[str]:
    """Return the names of the columns. Raises TrigemuError if a column is missing or duplicate, or if the
    file has more events than the samples."""
    names, present = [*PLAIN_COLUMNS, *(column.name for column in about.columns)], file.schema_arrow.names
    for name in names:
        if name not in present:
            raise TrigemuError(f"{path}: the column {name!r} is missing")
        if present.count(name) > 1:
            raise TrigemuError(f"{path}: there are {present.count(name)} columns {name!r}, expected one")
    most = sum(sample.entries for sample in catalogue.samples)
    if file.metadata.num_rows > most:
        raise TrigemuError(
            f"{path}: it has {file.metadata.num_rows} events, but the samples of {catalogue.path} have {most}"
        )
    return names


def _table_of(path: Path, read: Any, about: About, catalogue: Catalogue) -> ScoreTable:
    """Return the table of a file. Raises TrigemuError if a column has an impossible value."""

    def column(name: str, kind: str) -> Any:
        if nulls := read[name].null_count:
            raise TrigemuError(f"{path}: the column {name!r} has {nulls} events without a value")
        values = read[name].to_numpy(zero_copy_only=False)
        if values.dtype != np.dtype(kind):
            raise TrigemuError(f"{path}: the column {name!r} is {values.dtype}, expected {kind}")
        return values

    half, stratum = column("half", "int8").astype(np.int64), column("stratum", "int16").astype(np.int64)
    scores = [column(c.name, "float64") for c in about.columns if c.above is not None]
    fired = [column(c.name, "bool") for c in about.columns if c.above is None]
    words = np.zeros((len(half), max(1, -(-len(fired) // 64))), np.uint64)
    for bit, decisions in enumerate(fired):
        words[:, bit // 64] |= decisions.astype(np.uint64) << np.uint64(bit % 64)
    table = ScoreTable(
        _sample_numbers(path, read["sample"], catalogue),
        half,
        stratum,
        column("id", "uint64"),
        column("parent", "uint64"),
        column("weight", "float64"),
        np.asfortranarray(np.column_stack(scores)) if scores else np.zeros((len(half), 0)),
        words,
        rest_of(path, about.rest),
    )
    _check(path, table, about, catalogue)
    return table


def _sample_numbers(path: Path, column: Any, catalogue: Catalogue) -> IntArray:
    """Return the number of the sample of each event."""
    numbers = {sample.name: sample.number for sample in catalogue.samples}
    named = column.combine_chunks()
    if not hasattr(named, "dictionary") or named.null_count:
        raise TrigemuError(f"{path}: the column 'sample' does not hold names of samples")
    names = named.dictionary.to_pylist()
    if unknown := {*names} - {*numbers}:
        raise TrigemuError(f"{path}: no sample is called {excerpt(min(map(str, unknown)))!r}")
    of_name: IntArray = np.array([numbers[name] for name in names], np.int64)
    indices: IntArray = named.indices.to_numpy(zero_copy_only=False)
    return of_name[indices]


def _check(path: Path, table: ScoreTable, about: About, catalogue: Catalogue) -> None:
    """Raise TrigemuError if a number is impossible for events of these samples."""
    samples = {name: catalogue.sample(name) for name in (*about.background, *about.signals)}
    entries = {sample.number: sample.entries for sample in samples.values()}
    limit, rest, scored = MAX_WEIGHT_HZ, table.rest, (c for c in about.columns if c.above is not None)
    values: list[tuple[str, Array, BoolArray, str]] = [
        ("the column 'weight'", table.weight, np.abs(table.weight) < limit, f"less than {limit:g} Hz"),
        ("the largest weight", rest.largest, (rest.largest >= 0) & (rest.largest < limit), "0 or more"),
        ("the number of events", rest.n, rest.n > 0, "1 or more"),
    ]
    for column, score in zip(scored, table.scores.T, strict=True):
        known = (score == -np.inf) | ((score > column.above) & (score < np.inf))
        expected = f"a finite number above {column.above:g}, or -inf"
        values.append((f"the column {column.name!r}", score, known, expected))
    for part in (table, rest):
        values += [
            ("the sample", part.sample, np.isin(part.sample, [*entries]), f"one of {sorted(entries)}"),
            ("the half", part.half, np.isin(part.half, [0, 1]), "0 or 1"),
            ("the stratum", part.stratum, part.stratum < catalogue.strata, f"below {catalogue.strata}"),
            ("the stratum", part.stratum, part.stratum >= 0, "0 or more"),
        ]
    for name, numbers, good, expected in values:
        if not good.all():
            raise TrigemuError(
                f"{path}: {name} is {numbers[~good][0]:g}, expected {expected}: the file is damaged, make "
                f"the table again"
            )
    for name, sample in samples.items():
        weights = table.weight[table.sample == sample.number]
        if not sample.weighted and len(weights) and weights.min() < 0:
            raise TrigemuError(
                f"{path}: the column 'weight' is {weights.min():g} Hz, but events of sample {name!r} have no "
                f"weights below 0: make the table again"
            )
        events = int(
            (table.sample == sample.number).sum() + table.rest.n[table.rest.sample == sample.number].sum()
        )
        if events != sample.entries:
            raise TrigemuError(
                f"{path}: it includes {events} events of sample {name!r}, which has {sample.entries}: make "
                f"the table again"
            )
