"""Samples of events: a catalogue in TOML says which files there are and what their weights mean."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from trigemu.samples.detect import format_of
from trigemu.samples.events import Events, Need, make_events
from trigemu.samples.formats import FORMATS
from trigemu.samples.formats.source import Schema, Source
from trigemu.samples.locations import found, located, opened, parts
from trigemu.samples.margins import around, join_events
from trigemu.samples.normalise import CatalogueTable, Pileup, SampleTable, hz_per_unit_weight
from trigemu.samples.open_data import completed
from trigemu.support import Document, Key, SampleError, TrigemuError, load_toml, nearest, read_table

#: What the errors of rates take as independent.
Errors = Literal["interactions", "events"]

#: How many interactions a crossing has.
INTERACTIONS: Need = ("", "n_interaction")


@dataclass(frozen=True)
class Sample:
    """Files of one process. number: its place in the catalogue, the key of the pattern table.
    hz_per_weight: what a generator weight of 1 is worth. rate_hz: all its events, kept or not.
    sha256: of each file, None for those that are not on this machine and have none in the catalogue.
    weighted: whether generator weights count; else every event is 1.
    per_interactions: what the weight of a crossing is multiplied by, for each number of interactions that
    there is; if it is empty, 1.
    """

    number: int
    table: SampleTable
    sources: tuple[Source, ...]
    hz_per_weight: float
    rate_hz: float
    sha256: tuple[str | None, ...]
    weighted: bool = True
    per_interactions: tuple[float, ...] = ()

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def entries(self) -> int:
        return sum(source.entries for source in self.sources)

    @property
    def schema(self) -> Schema:
        """Of all its files, which may differ in the decisions they have stored."""
        scalars = (source.schema.scalars for source in self.sources)
        return Schema(self.sources[0].schema.collections, frozenset.intersection(*scalars))

    @property
    def has_neighbours(self) -> bool:
        """Whether its events are consecutive crossings."""
        return all(source.neighbours != "none" for source in self.sources)

    @property
    def has_parents(self) -> bool:
        """Whether several of its events may have been made from one interaction."""
        return any(source.has_parents for source in self.sources)

    def read(self, source: int, start: int, stop: int, needs: Iterable[Need], margin: int = 0) -> Events:
        """Events `start` to `stop` of a file, with the needed columns and their weights in Hz; and up to
        `margin` neighbouring crossings on either side, which do not count."""
        reweighted = {INTERACTIONS} if self.per_interactions else set()
        file, wanted = self.sources[source], tuple({*needs, *reweighted})
        ranges, core = around(file.neighbours, file.entries, start, stop, margin)
        return join_events([self._read(file, *rows, wanted) for rows in ranges], core)

    def _read(self, file: Source, start: int, stop: int, needs: tuple[Need, ...]) -> Events:
        with _naming(self.name, file.path):
            columns = file.read(start, stop, needs)
        own = columns.weight if self.weighted else np.ones(stop - start)
        weight = np.multiply(own, self.hz_per_weight, dtype=np.float64)
        if self.per_interactions:
            weight *= np.array(self.per_interactions)[columns.scalars[INTERACTIONS[1]]]
        return make_events(
            self.name,
            weight,
            columns.collections,
            columns.scalars,
            id=columns.id,
            parent=columns.parent,
            first=start,
        )


@dataclass(frozen=True)
class Catalogue:
    """Samples whose weights add up. crossing_rate_hz: R0, the rate that a `crossing` background sums to.
    pileup: what its background was reweighted to, if it was. errors: what fluctuates alone, an interaction
    with all events that were made from it (`parent`), or each event."""

    table: CatalogueTable
    samples: tuple[Sample, ...]
    path: Path
    sha256: str
    pileup: Pileup | None = None
    errors: Errors = "interactions"

    def with_errors(self, errors: Errors) -> Catalogue:
        """The same with errors of the other kind. TrigemuError for one that there is not."""
        if errors not in get_args(Errors):
            raise TrigemuError(f"errors = {errors!r}: expected one of {', '.join(get_args(Errors))}")
        return replace(self, errors=errors)

    @property
    def with_parents(self) -> frozenset[int]:
        """The numbers of the samples whose errors ask which events share an interaction."""
        chosen = self.samples if self.errors == "interactions" else ()
        return frozenset(sample.number for sample in chosen if sample.has_parents)

    @property
    def strata(self) -> int:
        """Numbers of interactions whose total weight in the background was made to be what it is; 1 for
        none."""
        if not self.pileup or self.pileup.known:
            return 1
        return max(len(sample.per_interactions) for sample in self.background)

    @property
    def background(self) -> tuple[Sample, ...]:
        return tuple(sample for sample in self.samples if sample.table.role == "background")

    @property
    def crossing_rate_hz(self) -> float:
        return self.table.crossing_rate_hz

    def sample(self, name: str) -> Sample:
        """SampleError names the nearest known sample."""
        for sample in self.samples:
            if sample.name == name:
                return sample
        raise SampleError(f"unknown sample {name!r}{nearest(name, (s.name for s in self.samples))}")


def embedded_catalogue() -> Path:
    """The catalogue of the sample that comes with the package."""
    return Path(str(resources.files("trigemu.samples").joinpath("embedded", "catalogue.toml")))


def open_catalogue(path: Path | str | None = None) -> Catalogue:
    """Open the files of a catalogue, the embedded one by default; TableError or SampleError names what
    is wrong. Files whose sha256 stands in the catalogue are verified. What does not end in .toml is a file of
    events itself (`catalogue_of`). `locations` says what is opened."""
    where = located(embedded_catalogue() if path is None else path)
    if isinstance(where, str) and where.endswith(".toml"):
        raise SampleError(f"{where}: catalogues are read from this machine only: fetch it")
    if isinstance(where, str) or (where.suffix != ".toml" and where.exists()):
        return catalogue_of(where)
    file = where if path is None else Path(path)
    document = load_toml(file)
    for key in document.data:
        if key not in ("catalogue", "sample"):
            document.problem((key,), "", f"unknown key {key!r}{nearest(key, ('catalogue', 'sample'))}")
    head = read_table(
        document, document.data.get("catalogue", {}), CatalogueTable, ("catalogue",), "[catalogue]"
    )
    tables: list[SampleTable] = []
    entries = document.data.get("sample", [])
    if not isinstance(entries, list) or not entries:
        document.problem(("sample",), "", "a catalogue needs at least one [[sample]]")
        entries = []
    for i, entry in enumerate(entries):
        name = entry.get("name", f"number {i + 1}") if isinstance(entry, dict) else i
        where = f"sample {name!r}"
        if isinstance(entry, dict):
            entry = _completed(document, entry, ("sample", i), where)
        table = read_table(document, entry, SampleTable, ("sample", i), where)
        if table and table.format not in FORMATS:
            message = f"unknown format {table.format!r}{nearest(table.format, FORMATS)}"
            document.problem(("sample", i, "format"), where, message)
        if table and table.name in {other.name for other in tables}:
            document.problem(("sample", i, "name"), where, "another sample has this name")
        if table:
            tables.append(table)
    document.finish()
    assert head is not None
    samples = tuple(_open(head, table, number, file.parent) for number, table in enumerate(tables))
    return Catalogue(head, samples, file, document.sha256)


def _completed(document: Document, entry: dict[str, Any], key: Key, where: str) -> dict[str, Any]:
    """With what is known of its dataset; as it is, and the mistake noted, where that cannot be had."""
    try:
        return completed(entry)
    except TrigemuError as error:
        document.problem((*key, "dataset"), where, str(error))
        return {"files": [], **entry}


def catalogue_of(path: Path | str, format: str | None = None) -> Catalogue:
    """One file, local or remote, as a background of crossings that all count the same, whatever their
    generator weights: n events of R0 / n each. SampleError where it cannot be read, or is not opened
    (`locations`).

    format: one of FORMATS; told from what stands in the file where it is None.
    """
    name = Path(path).name.split(".")[0]
    if format is not None and format not in FORMATS:
        raise SampleError(f"{path}: unknown format {format!r}{nearest(format, FORMATS)}")
    file = str(located(path))
    with _naming(name, file):
        known = format or format_of(file)
    head = CatalogueTable(name=name, convention="crossing")
    table = SampleTable(
        name=name, role="background", files=(file,), format=known, rate_hz=head.crossing_rate_hz
    )
    sample = _open(head, table, 0, Path(), weighted=False)
    return Catalogue(head, (sample,), Path(path), sample.sha256[0] or "")


def _open(
    head: CatalogueTable, table: SampleTable, number: int, folder: Path, weighted: bool = True
) -> Sample:
    try:
        paths = [path for pattern in table.files for path in found(pattern, folder)]
    except SampleError as error:
        raise SampleError(f"sample {table.name!r}: {error}") from None
    if table.sha256 and len(table.sha256) != len(paths):
        raise SampleError(
            f"sample {table.name!r}: {len(table.sha256)} sha256 for {len(paths)} files; give one for each, "
            f"in their order"
        )
    digests = [
        _verify(table.name, path, table.sha256[i] if table.sha256 else None) for i, path in enumerate(paths)
    ]
    sources = tuple(FORMATS[table.format](path) for path in paths)
    total = 0.0
    for source in sources:
        with _naming(table.name, source.path):
            if not table.sum_of_weights:
                total += source.sum_of_weights if weighted else source.entries
            entries, _, _ = source.entries, source.schema, source.boundaries
        if not _alike(source, sources[0]):
            raise SampleError(
                f"sample {table.name!r}: {source.path} has other branches than {sources[0].path}"
            )
        if not entries and len(sources) == 1:
            raise SampleError(f"sample {table.name!r}: {source.path} has no events")
    total = table.sum_of_weights or total
    hz = hz_per_unit_weight(head, table, total)
    return Sample(number, table, sources, hz, hz * total, tuple(digests), weighted)


def _alike(one: Source, other: Source) -> bool:
    """Whether they have the same columns, decisions aside: menus change from run to run."""
    differing = one.schema.scalars ^ other.schema.scalars
    alike = one.schema.collections == other.schema.collections
    return alike and (not differing or differing <= {*one.stored, *other.stored})


def _verify(sample: str, path: str, expected: str | None) -> str | None:
    if isinstance(located(path), str) and expected is None:
        return None
    with _naming(sample, path):
        digest = _digest(path)
    if expected is not None and digest != expected.lower():
        raise SampleError(
            f"sample {sample!r}: {path} has sha256 {digest}, its catalogue says {expected}: the file is "
            f"damaged or another one"
        )
    return digest


def _digest(path: str) -> str:
    """sha256 of a file; of a folder, that of its files *.parquet one after another, ordered by name."""
    digest = hashlib.sha256()
    for file in parts(path):
        with opened(file) as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


@contextmanager
def _naming(sample: str, path: str) -> Iterator[None]:
    """Whatever goes wrong with a file, of whichever library, names the sample and the file."""
    try:
        yield
    except TrigemuError as error:
        raise SampleError(f"sample {sample!r}: {path}: {error}") from error
    except ImportError as error:
        raise SampleError(f"sample {sample!r}: {path} needs a package that is not there: {error}") from error
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise SampleError(
            f"sample {sample!r}: {path} cannot be read ({type(error).__name__}: {reason}); is it complete, "
            f"and of this format?"
        ) from error
