"""Open catalogues, TOML files that list samples, their files and normalisation; and single event files.

Files are opened in parallel, and all problems are reported at once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from importlib import resources
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np

from trigemu.base.errors import (
    SampleError,
    TrigemuError,
    UnreadableError,
    excerpt,
    listed,
    printable,
    quoted,
    wrong_type,
)
from trigemu.base.files import is_folder, is_there
from trigemu.base.mapping import Engine, engine_of
from trigemu.base.plugins import find, providers, search_path
from trigemu.base.toml import load_toml, read_table, refuse_other_kinds
from trigemu.samples.catalogue import (
    STEP,
    Catalogue,
    LeftOut,
    Numbers,
    check_files,
    numbers_of,
    repeated_events,
)
from trigemu.samples.locations import (
    digest_of,
    has_wildcards,
    located,
    matching_files,
    naming,
    opened,
    parts,
    regular,
)
from trigemu.samples.root import open_root
from trigemu.samples.sample import ORBIT_HZ, CatalogueTable, Sample, SampleTable, Weighting, normalised
from trigemu.samples.source import (
    OPEN_FILES,
    Beginning,
    File,
    Source,
    each_format,
    format_named,
    opened_source,
)

_NO_TREES = "files of the format {!r} have no trees, ROOT files do"
#: Bytes from the beginning of a file that identify its format, and characters of them in messages.
_START, _SHOWN = 512, 60
#: Files that a process opens at a time; seconds before a remote file is tried again.
_THREADS, PAUSE_S = 8, 1.0
#: Hashes of events that are kept of all files together, and at least of each.
MOST_HASHES, LEAST_HASHES = 2**23, 2**10


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
        Leave out files that cannot be opened, and normalise samples to the others.
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
        try:
            if not format_named(table.format).trees and table.tree:
                message = f"tree = {table.tree!r}: {_NO_TREES.format(table.format)}"
                document.problem(("sample", i, "tree"), where, message)
        except TrigemuError as error:
            document.problem(("sample", i, "format"), where, str(error))
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
    plugin = providers("weightings", folders).get(name)
    return find(plugin.name, folders).part("weightings", name) if plugin else None


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
    with naming(name, files[0]):
        known_format = format_of(files[0], tree) if format is None else format
        if not format_named(known_format).trees and tree:
            raise SampleError(f"--tree {tree}: {_NO_TREES.format(known_format)}")
    head = CatalogueTable(name=name, convention="crossing")
    kind: dict[str, Any] = {"role": "background", "format": known_format, "rate_hz": head.crossing_rate_hz}
    table = SampleTable(name=name, files=tuple(files), tree=tree, **kind)
    return _opened(head, [table], Path(files[0]), engine_of(executor), weighted=False)


def format_of(path: str, tree: str | None = None) -> str:
    """Return the name of the format of a file or folder; raise SampleError if no format recognises it.
    tree: the name of the tree with the events in a ROOT file."""
    start, trees, folder = b"", (), is_folder(located(path))
    if not folder:
        with opened(path, compression="infer") as stream:
            start = stream.read(_START)
    if is_root := start.startswith(b"root"):
        with open_root(path) as file:
            trees = tuple(file.keys(cycle=False, recursive=False))
        if tree and trees:
            trees = (tree.rpartition("/")[2].partition(";")[0],)
    beginning, tried = Beginning(folder, start, trees), []
    for name, source in each_format():
        if source.recognises(beginning):
            return name
        tried.append(name)
    if is_root:
        return "nanoaod"  # its tree has a name of its own
    kind = "empty" if not start else f"a file that begins with {quoted(start[:_SHOWN])}"
    if folder:
        kind = "a folder without a catalogue.toml"
    known = f"which none of the formats recognises (known: {', '.join(tried)})"
    raise SampleError(f"unknown format: it is {kind}, {known}")


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
    requests: list[_Request] = []
    problems: list[SampleError] = []
    for table in tables:
        sums = weighted and table.name not in weightings
        try:
            requests += _requests(table, path.parent, sums)
        except SampleError as error:
            problems.append(SampleError(f"sample {table.name!r}: {error}"))
    files: dict[str, list[File]] = {table.name: [] for table in tables}
    numbers: dict[str, list[Numbers | None]] = {table.name: [] for table in tables}
    left_out: list[LeftOut] = []
    for (table, file, *_), result in zip(requests, _files(requests, engine), strict=True):
        if isinstance(result, SampleError):
            problems.append(result)
            left_out.append(LeftOut(table.name, file, str(result)))
        else:
            (opened_file, of_events), of_sample = result, files[table.name]
            if of_sample and of_sample[0].schema == opened_file.schema:  # keep one of equal ones
                opened_file = replace(opened_file, schema=of_sample[0].schema)
            of_sample.append(opened_file)
            numbers[table.name].append(of_events)
    unreadable = all(isinstance(problem, UnreadableError) for problem in problems)
    if problems and not (skip and unreadable):
        raise (UnreadableError if unreadable else SampleError)(listed(problems))
    samples, lacking = [], {file.sample for file in left_out}
    for number, table in enumerate(tables):
        kept, where = files[table.name], f"sample {table.name!r}"
        for one in kept:
            first, own = kept[0], one.schema
            # Stored decisions change with the menu.
            differing = (own.scalars ^ first.schema.scalars) - {*one.stored, *first.stored}
            if differing or own.collections != first.schema.collections:
                raise SampleError(f"{where}: {one.path} has different branches from {first.path}")
            if not (own.collections or own.scalars or one.stored):
                raise SampleError(f"{where}: {one.path} has no numbers that menus can use")
            if len(kept) == 1 and not one.entries:
                raise SampleError(f"{where}: {one.path} has no events")
        sample = Sample(number, table, tuple(kept), 1.0, 1.0, weighted)
        if kept and (weighting := weightings.get(table.name)):
            apart = tuple(replace(file, neighbours="none") for file in kept)  # some of them do not count
            with naming(table.name, kept[0].path):
                needs = tuple(weighting.needs(sample.schema, sample.stored))
            sample = replace(sample, sources=apart, weighting=weighting, weighting_needs=needs)
        samples.append(normalised(head, sample, table.name in lacking))
    check_files(samples)
    repeated = tuple(repeated_events(samples, numbers))
    return Catalogue(head, tuple(samples), path, left_out=tuple(left_out), repeated=repeated)


#: A file to open: its sample, its path, the message if it does not exist, its digest in the catalogue, and
#: whether the sum of its weights is needed.
_Request = tuple[SampleTable, str, str, str | None, bool]
#: The file, and the numbers of its events, if it has any.
_Result = tuple[File, Numbers | None] | SampleError


def _requests(table: SampleTable, folder: Path, weighted: bool) -> list[_Request]:
    """Return the files of a sample, in their order."""
    paths: list[tuple[str, str]] = []
    for pattern in table.files:
        try:
            paths += [(path, "") for path in matching_files(pattern, folder)]
        except UnreadableError as error:
            paths.append((str(located(pattern, folder)), str(error)))
    if table.sha256 and len(table.sha256) != len(paths):
        given = f"{len(table.sha256)} sha256 for {len(paths)} files"
        raise SampleError(f"{given}; give one for each, in their order")
    digests = [digest.lower() for digest in table.sha256]
    sent = msgspec.structs.replace(table, files=(), sha256=())
    return [(sent, *path, digest, weighted) for path, digest in zip_longest(paths, digests)]


def _files(requests: Sequence[_Request], engine: Engine) -> Iterator[_Result]:
    """Open files, on the workers of an engine if there are many. An error is a result, so that all are
    reported at once. A worker may be lost, or may not see a file: it is then opened here."""
    hashes = max(LEAST_HASHES, MOST_HASHES // max(len(requests), 1))
    how = hashes, engine.retries
    elsewhere: list[Any] = [None] * len(requests)
    if engine.executor is not None and len(requests) > OPEN_FILES:
        elsewhere = [engine.executor.submit(_file, request, *how) for request in requests]

    def file(request: _Request, future: Any) -> _Result:
        with suppress(Exception):
            if future and isinstance(found := future.result(), tuple):
                return found
        return _file(request, *how)

    with ThreadPoolExecutor(_THREADS) as threads:
        yield from threads.map(file, requests, elsewhere)


#: Members of `Source` that are fields of `File`.
_KNOWN = ("entries", "boundaries", "schema", "neighbours", "has_parents", "stored")


def _file(request: _Request, hashes: int, retries: int) -> _Result:
    """Return a file with its properties, or the reason why it cannot be used. A remote file is opened several
    times: its server may answer later. hashes: as in `numbers_of`."""
    table, path, missing, sha256, weighted = request
    if missing:
        return UnreadableError(f"sample {table.name!r}: {missing}")
    for attempt in range(retries + 1):
        try:
            with naming(table.name, path):
                if sha256 and sha256 != (digest := digest_of(path)):
                    differ = f"has sha256 {digest}, its catalogue says {sha256}"
                    raise UnreadableError(f"{differ}: the file is damaged or a different one")
                identity = sha256 or _tag(path)
                source = opened_source(table.format, path, identity, table.tree or "")
                known: dict[str, Any] = {name: getattr(source, name) for name in _KNOWN}
                name = source.tree.rpartition("/")[2]
                for other, kind in each_format() if source.trees and name not in source.trees else ():
                    if name in kind.trees:
                        differ = f"its tree {name!r} has the format {other!r}, not {table.format!r}"
                        raise SampleError(f'{differ}: give format = "{other}" in its catalogue entry')
                total, no_sum = _sum_of_weights(source, table) if weighted else (None, "")
                how = path, table.format, table.tree or "", sha256, identity, source.tree
                file = File(*how, **known, sum_of_weights=total, no_sum=no_sum)
                return file, numbers_of(source, hashes)
        except SampleError as error:
            problem = error
        settled = not isinstance(problem, UnreadableError) or isinstance(problem.__cause__, FileNotFoundError)
        if settled or attempt == retries or "://" not in path:
            break
        time.sleep(PAUSE_S * 2**attempt)
    return problem


def _sum_of_weights(source: Source, table: SampleTable) -> tuple[float | None, str]:
    """Return the sum of the weights of a file, and the reason if a signal has none. If the catalogue has the
    sum of all generated events and the file does not, it is that of the file's events."""
    try:
        return source.sum_of_weights, ""
    except UnreadableError:
        raise
    except SampleError as error:
        if table.sum_of_weights is None and table.role == "signal":
            return None, str(error)
        if table.sum_of_weights is None:
            raise
    total = 0.0
    for start in range(0, source.entries, STEP):
        weight = np.asarray(source.read(start, min(start + STEP, source.entries), ()).weight, np.float64)
        if (weight < 0).any():  # a part of them may then add up to more than all
            return None, ""
        total += float(weight.sum())
    return total, ""


def _tag(path: str) -> str:
    """Return a text that changes when a file on this machine does; a file elsewhere is known by its URL."""
    if "://" in path:
        return path
    of_parts = [(part.name, part.stat()) for part in map(Path, parts(path))]
    return repr([(name, status.st_size, status.st_mtime_ns) for name, status in of_parts])
