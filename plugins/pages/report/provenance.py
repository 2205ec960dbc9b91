"""Provenance of the numbers of a report: versions, files and the command."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from trigemu.api import Column, Contents, Section, Table

#: Libraries that numbers or figures depend on.
LIBRARIES = (
    "numpy", "numba", "awkward", "uproot", "onnxruntime", "treelite", "tl2cgen", "matplotlib", "mplhep",
)  # fmt: skip

_FILES = (
    Column("what", "label", "what"),
    Column("file", "label", "file"),
    Column("sha256", "digest", "sha256"),
)
_VERSIONS = Column("library", "label", "program or library"), Column("version", "label", "version")


def provenance(contents: Contents) -> Iterator[Section]:
    """Yield the section. Paths are as given; for samples only the names of the files are listed."""
    versions = [("trigemu", _version("trigemu")), ("Python", platform.python_version())]
    versions += [(library, _version(library)) for library in LIBRARIES]
    files = dict.fromkeys(_files(contents))
    yield Section(
        "Provenance",
        (f"Command: {contents.command}",) if contents.command else (),
        (
            _table(_FILES, files, "Files that the numbers depend on."),
            _table(_VERSIONS, versions, "Versions."),
        ),
    )


def _table(columns: Sequence[Column], rows: Iterable[tuple[str, ...]], title: str) -> Table:
    table = Table(columns, title=title)
    for row in rows:
        table.add(*row)
    return table


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"


def _files(contents: Contents) -> Iterator[tuple[str, str, str]]:
    for variant in contents.variants:
        yield f"menu {variant.menu.name}", str(variant.menu.path), variant.menu.sha256
    for profiles in contents.profiles:
        yield f"profile {profiles.name}", str(profiles.path), profiles.sha256
    for variant in contents.variants:
        for plugin in variant.menu.plugins:
            yield f"plugin {plugin.name}", plugin.file.parent.name, plugin.sha256
        for path, digest in variant.models.items():
            yield "model", Path(os.path.normpath(path)).as_posix(), digest
    catalogue = contents.catalogue
    yield f"catalogue {catalogue.table.name}", catalogue.path.name, catalogue.sha256
    for sample in catalogue.samples:
        for source, known in zip(sample.sources, sample.sha256, strict=True):
            yield f"sample {sample.name}", Path(source.path).name, known or "not known"
