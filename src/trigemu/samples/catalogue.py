"""Catalogues: TOML files that list the samples, their files, and how their weights are normalised."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args

from trigemu.samples.detect import format_of
from trigemu.samples.formats import FORMATS
from trigemu.samples.formats.source import Source
from trigemu.samples.locations import found, located, opened, parts, regular
from trigemu.samples.normalise import CatalogueTable, Pileup, SampleTable, hz_per_unit_weight
from trigemu.samples.open_data import completed
from trigemu.samples.sample import Sample, naming
from trigemu.support import Document, Key, SampleError, TrigemuError, is_there, load_toml, nearest, read_table

#: Rates beyond which the exact sums of weights and of their squares would lose digits.
SMALLEST_RATE_HZ, LARGEST_RATE_HZ = 1e-12, 2.0**80
#: Samples in a catalogue, each of which has rows of its own in tables.
MOST_SAMPLES = 10_000
#: The units that the errors of rates treat as independent.
Errors = Literal["interactions", "events"]


@dataclass(frozen=True)
class Catalogue:
    """Samples whose rates add up.

    Attributes
    ----------
    table : CatalogueTable
        The [catalogue] table.
    samples : tuple of Sample
        The samples, in the order of the catalogue.
    path : Path
        The catalogue, or the event file that stands for one.
    sha256 : str
        Digest of that file; empty if it is remote.
    pileup : Pileup or None
        Pileup reweighting that was applied to the background.
    errors : {"interactions", "events"}
        Units that fluctuate independently: a generated interaction with all events made from it (`parent`),
        or each event.
    """

    table: CatalogueTable
    samples: tuple[Sample, ...]
    path: Path
    sha256: str
    pileup: Pileup | None = None
    errors: Errors = "interactions"

    def with_errors(self, errors: Errors) -> Catalogue:
        """Return a copy with another choice of independent units; raise TrigemuError for an unknown one."""
        if errors not in get_args(Errors):
            raise TrigemuError(f"errors = {errors!r}: expected one of {', '.join(get_args(Errors))}")
        return replace(self, errors=errors)

    @property
    def with_parents(self) -> frozenset[int]:
        """The numbers of the samples whose errors depend on which events share an interaction."""
        chosen = self.samples if self.errors == "interactions" else ()
        return frozenset(sample.number for sample in chosen if sample.has_parents)

    @property
    def strata(self) -> int:
        """How many numbers of interactions have a total background weight fixed by pileup reweighting; 1
        without such a constraint."""
        if not self.pileup or self.pileup.known:
            return 1
        return max(len(sample.per_interactions) for sample in self.background)

    @property
    def background(self) -> tuple[Sample, ...]:
        """The samples with the role "background"."""
        return tuple(sample for sample in self.samples if sample.table.role == "background")

    @property
    def crossing_rate_hz(self) -> float:
        """R0 in Hz, the rate that a background in the convention `crossing` sums to."""
        return self.table.crossing_rate_hz

    def sample(self, name: str) -> Sample:
        """Return the sample of that name; raise SampleError, with the closest known name, if there is
        none."""
        for sample in self.samples:
            if sample.name == name:
                return sample
        raise SampleError(f"unknown sample {name!r}{nearest(name, (s.name for s in self.samples))}")


def embedded_catalogue() -> Path:
    """Return the path of the catalogue that is shipped with the package."""
    return Path(str(resources.files("trigemu.samples").joinpath("embedded", "catalogue.toml")))


def open_catalogue(path: Path | str | None = None) -> Catalogue:
    """Open the files of a catalogue.

    Parameters
    ----------
    path : Path, str or None
        A catalogue (.toml), or an event file, which is opened by `catalogue_of`. None: the catalogue shipped
        with the package.

    Returns
    -------
    Catalogue
        The opened samples. Files with a sha256 in the catalogue are verified; those that are sealed, while
        they are read.

    Raises
    ------
    TableError
        If the catalogue has mistakes.
    SampleError
        If a file cannot be used, or its location is not allowed (see `samples/locations.py`).
    """
    where = located(embedded_catalogue() if path is None else path)
    if isinstance(where, str) and where.endswith(".toml"):
        raise SampleError(f"{where}: catalogues are read from this machine only: fetch it")
    if isinstance(where, str) or (where.suffix != ".toml" and is_there(where)):
        return catalogue_of(where)
    file = where if path is None else Path(path)
    regular(file)
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
    if len(entries) > MOST_SAMPLES:
        document.problem(("sample",), "", f"{len(entries)} samples, at most {MOST_SAMPLES} are opened")
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
    """Return an entry completed from its dataset; if that fails, record the mistake and return it without."""
    try:
        return completed(entry)
    except TrigemuError as error:
        document.problem((*key, "dataset"), where, str(error))
        return {"files": [], **entry}


def catalogue_of(path: Path | str, format: str | None = None) -> Catalogue:
    """Open one event file as a background of crossings of equal weight, R0 / n each for n events.

    Parameters
    ----------
    path : Path or str
        A local file or a URL. Its generator weights are ignored.
    format : str or None
        Name of its format; None: recognised from its content.

    Returns
    -------
    Catalogue
        A catalogue with this one sample, in the convention `crossing`, with R0 = 40 MHz.

    Raises
    ------
    SampleError
        If the file cannot be read, or its location is not allowed (see `samples/locations.py`).
    """
    name = Path(path).name.split(".")[0]
    if format is not None and format not in FORMATS:
        raise SampleError(f"{path}: unknown format {format!r}{nearest(format, FORMATS)}")
    file = str(located(path))
    with naming(name, file):
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
    if table.seal and len(table.seal) != len(paths):
        raise SampleError(
            f"sample {table.name!r}: {len(table.seal)} seals for {len(paths)} files; remove `seal`, and run "
            f"trigemu samples --seal"
        )
    known = table.sha256 or (None,) * len(paths)
    if table.seal:  # compared while it is read
        digests = list(known)
    else:
        digests = [_verify(table.name, path, digest) for path, digest in zip(paths, known, strict=True)]
    sources = tuple(map(FORMATS[table.format], paths, table.seal or ("",) * len(paths)))
    total = 0.0
    for source in sources:
        with naming(table.name, source.path):
            if not table.sum_of_weights:
                total += source.sum_of_weights if weighted else source.entries
            entries, _, _ = source.entries, source.schema, source.boundaries
        if not _alike(source, sources[0]):
            raise SampleError(
                f"sample {table.name!r}: {source.path} has different branches from {sources[0].path}"
            )
        if not entries and len(sources) == 1:
            raise SampleError(f"sample {table.name!r}: {source.path} has no events")
    total = table.sum_of_weights or total
    hz = hz_per_unit_weight(head, table, total)
    if not SMALLEST_RATE_HZ <= hz * total <= LARGEST_RATE_HZ:
        raise SampleError(
            f"sample {table.name!r}: its events add up to {hz * total:g} Hz (a weight of 1 is {hz:g} Hz, "
            f"their sum is {total:g}), expected {SMALLEST_RATE_HZ:g} to {LARGEST_RATE_HZ:g} Hz: check its "
            f"normalisation"
        )
    return Sample(number, table, sources, hz, hz * total, tuple(digests), weighted)


def _alike(one: Source, other: Source) -> bool:
    """Whether they have the same columns apart from stored decisions, which change with the menu."""
    differing = one.schema.scalars ^ other.schema.scalars
    alike = one.schema.collections == other.schema.collections
    return alike and (not differing or differing <= {*one.stored, *other.stored})


def _verify(sample: str, path: str, expected: str | None) -> str | None:
    if isinstance(located(path), str) and expected is None:
        return None
    with naming(sample, path):
        digest = _digest(path)
    if expected is not None and digest != expected.lower():
        raise SampleError(
            f"sample {sample!r}: {path} has sha256 {digest}, its catalogue says {expected}: the file is "
            f"damaged or a different one"
        )
    return digest


def _digest(path: str) -> str:
    """Return the sha256 of a file; for a folder, of its files *.parquet concatenated in order of their
    names."""
    digest = hashlib.sha256()
    for file in parts(path):
        with opened(file) as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()
