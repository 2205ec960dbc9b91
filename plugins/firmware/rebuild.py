"""The sources of a project, written again from its trees: only these are compiled and run.

Sources in a project are untrusted: they are compared, and never executed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

from trigemu.api import TrigemuError

from .project import Project
from .sources import write_sources
from .tools import scratch

#: Written by conifer, and replaced on export by the project's own test events.
_REPLACED = "SimulationInput.txt"


@contextmanager
def rebuilt(project: Project, backend: str) -> Iterator[Path]:
    """Provide a temporary folder with the sources of a back end.

    Raises TrigemuError if a file of the project differs from its source, or is not there; MissingExtraError
    without conifer.
    """
    manifest = project.manifest
    with scratch() as folder:
        written = folder / backend
        write_sources(project.fixed, backend, written, manifest.part, manifest.clock_mhz)
        files = (path for path in written.rglob("*") if path.is_file() and path.name != _REPLACED)
        for source in sorted(files):
            exported = project.of(backend) / source.relative_to(written)
            if not _same(source, exported):
                raise TrigemuError(
                    f"{exported}: is not what conifer {metadata.version('conifer')} writes for these trees "
                    f"(project: conifer {manifest.conifer[:20]}): it was not run; export the project again"
                )
        yield written


def _same(source: Path, exported: Path) -> bool:
    if not exported.is_file() or exported.stat().st_size != source.stat().st_size:
        return False
    return exported.read_bytes() == source.read_bytes()
