"""Open catalogues, TOML files that list samples, their files and normalisation; and single event files."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from trigemu.base.errors import (
    SampleError,
    TrigemuError,
    UnreadableError,
    excerpt,
    listed,
    nearest,
    printable,
    wrong_type,
)
from trigemu.base.files import is_there
from trigemu.base.mapping import Engine, engine_of
from trigemu.base.plugins import find, providers, search_path
from trigemu.base.toml import load_toml, read_table, refuse_other_kinds
from trigemu.samples.catalogue import Catalogue, LeftOut, check_files, normalised, repeated_events
from trigemu.samples.files import File, ToOpen, format_of, open_files
from trigemu.samples.formats import format_named, format_names, is_format
from trigemu.samples.locations import has_wildcards, located, matching_files, naming, regular
from trigemu.samples.normalisation import ORBIT_HZ, CatalogueTable, SampleTable
from trigemu.samples.sample import Sample, Weighting

_NO_TREES = "files of the format {!r} have no trees, ROOT files do"


def embedded_catalogue() -> Path:
    """Return the path of the catalogue that is shipped with the package."""
    return Path(str(resources.files("trigemu.samples").joinpath("embedded", "catalogue.toml")))


def open_catalogue(
    path: Path | str | None = None,
    *,
    executor: Any = None,
    skip_bad_files: bool = False,
    tree: str | None = None,
) -> Catalogue:
    """Open the files of a catalogue.

    Parameters
    ----------
    path : Path, str or None
        A catalogue (.toml), a folder with a file catalogue.toml, or an event file, which `catalogue_of`
        opens. None: the catalogue shipped with the package.
    executor : Executor, distributed.Client, Engine or None
        Opens the files (see `Engine`); None: this machine.
    skip_bad_files : bool
        Leave out files that cannot be read, now or later (`without_bad_files`), and normalise samples to the
        others.
    tree : str or None
        As in `catalogue_of`, for an event file; a catalogue has its own.

    Returns
    -------
    Catalogue
        The opened samples. Files with a sha256 in the catalogue are verified now.

    Examples
    --------
    >>> import trigemu
    >>> [sample.name for sample in trigemu.open_catalogue().background][:3]
    ['soft', 'soft_muons', 'medium_muons']
    """
    if not (path is None or isinstance(path, str | os.PathLike)):
        raise wrong_type("the catalogue", path, "the path of a catalogue (TOML) or event file, or a URL")
    if path and "://" not in os.fspath(path) and is_there(inside := Path(path) / "catalogue.toml"):
        path = inside
    where = located(embedded_catalogue() if path is None else path)
    if isinstance(where, str) and where.endswith(".toml"):
        raise SampleError(f"{where}: catalogues are read from this machine only: download it")
    engine = engine_of(executor)
    if isinstance(where, str) or (where.suffix != ".toml" and (is_there(where) or has_wildcards(where))):
        return catalogue_of(where, tree=tree, executor=engine)
    if tree:
        advice = 'in a catalogue, write tree = "NAME" under [[sample]]' if path else "give it as --samples"
        raise SampleError(f"{where}: --tree {excerpt(tree)} is for a file of events: {advice}")
    file = where if path is None else Path(path)
    regular(file)
    document = load_toml(file)
    refuse_other_kinds(document, "catalogue")
    document.refuse_unknown("catalogue", "sample")
    table = document.data.get("catalogue", {})
    head = read_table(document, table, CatalogueTable, ("catalogue",), "[catalogue]")
    if head and head.colliding_bunches:
        head = msgspec.structs.replace(head, crossing_rate_hz=head.colliding_bunches * ORBIT_HZ)
    tables: list[SampleTable] = []
    weightings: dict[str, Weighting] = {}
    entries = document.data.get("sample", [])
    if not isinstance(entries, list) or not entries:
        document.problem(("sample",), "", "a catalogue needs at least one [[sample]]")
        entries = []
    for i, entry in enumerate(entries):
        if not isinstance(entry, dict):
            read_table(document, entry, SampleTable, ("sample", i), f"sample {i}")
            continue
        name = entry.get("name", f"number {i + 1}")
        where = f"sample {name!r}"
        try:
            if "dataset" in entry:
                entry = format_named("physlite").completed(entry)
        except TrigemuError as error:
            document.problem(("sample", i, "dataset"), where, str(error))
            entry = {"files": [], **entry}
        for key in {*entry} - {*SampleTable.__struct_fields__}:
            if read := _weighting_from(key, search_path()):
                if weighting := read(document, entry[key], ("sample", i, key), where):
                    weightings[str(name)] = weighting
                entry = {other: value for other, value in entry.items() if other != key}
        if not (table := read_table(document, entry, SampleTable, ("sample", i), where)):
            continue
        if not is_format(table.format):
            message = f"unknown format {table.format!r}{nearest(table.format, format_names())}"
            document.problem(("sample", i, "format"), where, message)
        elif table.tree and not format_named(table.format).trees:
            message = f"tree = {table.tree!r}: {_NO_TREES.format(table.format)}"
            document.problem(("sample", i, "tree"), where, message)
        if table.name in {other.name for other in tables}:
            document.problem(("sample", i, "name"), where, "another sample has this name")
        tables.append(table)
    document.finish()
    assert head is not None
    catalogue = _opened(head, tables, file, engine, skip_bad_files, weightings=weightings)
    return replace(catalogue, sha256=document.sha256)


@lru_cache
def _weighting_from(name: str, folders: tuple[Path, ...]) -> Any:
    """Return the function of a plugin that reads a table under [[sample]]; None if there is none."""
    if not (plugin := providers("weightings", folders).get(name)):
        return None
    return find(plugin.name, folders).part("weightings", name)


def catalogue_of(
    path: Path | str | Sequence[Path | str],
    format: str | None = None,
    *,
    tree: str | None = None,
    executor: Any = None,
) -> Catalogue:
    """Open event files as one background of crossings of equal weight, R0 / n each for n events.

    Parameters
    ----------
    path : Path, str, or sequence of these
        Local files, which may have wildcards, or URLs, with the same branches. Generator weights are ignored.
    format : str or None
        Name of its format; None: recognised from the content of the first file.
    tree : str or None
        Name of the tree in a ROOT file, such as "ntuple/events"; None: that of the format, or else the only
        one with numbers.
    executor
        As in `open_catalogue`.

    Returns
    -------
    Catalogue
        A catalogue with this one sample, in the convention `crossing`, with R0 = 40 MHz.
    """
    paths = [path] if isinstance(path, str | os.PathLike) else path
    if not isinstance(paths, list | tuple) or not all(isinstance(one, str | os.PathLike) for one in paths):
        raise wrong_type("the event files", path, "the path of one, or a list", "run accepts events too")
    if not paths:
        raise SampleError("there is no event file: name at least one")
    files: list[str] = []
    for where in map(located, paths):
        files += matching_files(str(where), Path()) if has_wildcards(where) else [str(where)]
    name = printable(Path(files[0]).name.split(".")[0])
    if format is not None and not is_format(format):
        raise SampleError(f"{paths[0]}: unknown format {format!r}{nearest(format, format_names())}")
    with naming(name, files[0]):
        known_format = format or format_of(files[0], tree)
        if tree and not format_named(known_format).trees:
            raise SampleError(f"--tree {tree}: {_NO_TREES.format(known_format)}")
    head = CatalogueTable(name=name, convention="crossing")
    kind: dict[str, Any] = {"role": "background", "format": known_format, "rate_hz": head.crossing_rate_hz}
    table = SampleTable(name=name, files=tuple(files), tree=tree, **kind)
    return _opened(head, [table], Path(files[0]), engine_of(executor), weighted=False)


def _opened(
    head: CatalogueTable,
    tables: Sequence[SampleTable],
    path: Path,
    engine: Engine,
    skip: bool = False,
    weighted: bool = True,
    weightings: Mapping[str, Weighting] = MappingProxyType({}),
) -> Catalogue:
    """Open the files of all samples, and report all problems at once. weightings: by names of samples."""
    requests: list[ToOpen] = []
    problems: list[SampleError] = []
    opening, identified = secrets.token_hex(8), engine.checkpoint is not None
    for table in tables:
        sent = msgspec.structs.replace(table, files=(), sha256=())
        how = weighted and table.name not in weightings, identified, opening
        try:
            requests += (ToOpen(sent, *file, *how) for file in _files(table, path.parent))
        except SampleError as error:
            problems.append(SampleError(f"sample {table.name!r}: {error}"))
    files: dict[str, list[File]] = {table.name: [] for table in tables}
    left_out: list[LeftOut] = []
    for request, result in zip(requests, open_files(requests, engine), strict=True):
        if isinstance(result, SampleError):
            problems.append(result)
            left_out.append(LeftOut(request.table.name, request.path, str(result), None))
        else:
            files[request.table.name].append(result)
    unreadable = all(isinstance(problem, UnreadableError) for problem in problems)
    if problems and not (skip and unreadable):
        raise (UnreadableError if unreadable else SampleError)(listed(problems))
    samples = []
    lacking = {file.sample for file in left_out}
    for number, table in enumerate(tables):
        kept = tuple(replace(file, numbers=None) for file in files[table.name])
        sample = Sample(number, table, kept, 1.0, 1.0, weighted)
        if kept:
            _check_files(table, kept)
        if kept and (weighting := weightings.get(table.name)):
            apart = tuple(replace(file, neighbours="none") for file in kept)  # some of them do not count
            with naming(table.name, kept[0].path):
                needs = tuple(weighting.needs(sample.schema, sample.stored))
            sample = replace(sample, sources=apart, weighting=weighting, weighting_needs=needs)
        samples.append(normalised(head, sample, table.name in lacking))
    check_files(samples)
    repeated = tuple(repeated_events(samples, [*files.values()]))
    catalogue = Catalogue(head, tuple(samples), path, skips_bad_files=skip)
    return replace(catalogue, left_out=tuple(left_out), repeated=repeated)


def _files(table: SampleTable, folder: Path) -> Iterator[tuple[str, str | None, str]]:
    """Yield the files of a sample, in their order, each with its digest and the reason if there is none."""
    paths: list[tuple[str, str]] = []
    for pattern in table.files:
        try:
            paths += [(path, "") for path in matching_files(pattern, folder)]
        except UnreadableError as error:
            paths.append((str(located(pattern, folder)), str(error)))
    if table.sha256 and len(table.sha256) != len(paths):
        given = f"{len(table.sha256)} sha256 for {len(paths)} files"
        raise SampleError(f"{given}; give one for each, in their order")
    for number, (path, missing) in enumerate(paths):
        yield path, table.sha256[number].lower() if table.sha256 else None, missing


def _check_files(table: SampleTable, files: Sequence[File]) -> None:
    """Raise SampleError if files cannot be one sample."""
    where, first = f"sample {table.name!r}", files[0]
    for file in files:
        # Stored decisions change with the menu.
        differing = (file.schema.scalars ^ first.schema.scalars) - {*file.stored, *first.stored}
        if differing or file.schema.collections != first.schema.collections:
            raise SampleError(f"{where}: {file.path} has different branches from {first.path}")
    if not (first.schema.collections or first.schema.scalars or first.stored):
        raise SampleError(f"{where}: {first.path} has no numbers that menus can use")
    if len(files) == 1 and not first.entries:
        raise SampleError(f"{where}: {first.path} has no events")
