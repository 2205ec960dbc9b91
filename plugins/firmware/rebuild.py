"""The sources of a project, written again from its trees: only these are compiled and run.

What is found in a project may come from anybody. It is compared, and never executed.
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
    """Provide a temporary folder with the sources of a back end, for as long as it is needed.

    Raises TrigemuError if a file of the project differs from its source, or is not there; MissingExtraError
    without conifer.
    """
    manifest = project.manifest
    with scratch() as folder:
        made = folder / backend
        write_sources(project.fixed, backend, made, manifest.part, manifest.clock_mhz)
        for source in sorted(path for path in made.rglob("*") if path.is_file() and path.name != _REPLACED):
            found = project.of(backend) / source.relative_to(made)
            if not _same(source, found):
                raise TrigemuError(
                    f"{found}: is not what conifer {metadata.version('conifer')} writes for these trees (the "
                    f"project says conifer {manifest.conifer[:20]}): it was not run; export the project again"
                )
        yield made


def _same(source: Path, found: Path) -> bool:
    if not found.is_file() or found.stat().st_size != source.stat().st_size:
        return False
    return found.read_bytes() == source.read_bytes()
