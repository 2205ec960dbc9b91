"""Firmware projects."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from fuzzing.edits import as_json, byte_edits, spoilt_words, table_edits
from fuzzing.formats.base import Files, Format


@cache
def project() -> dict[str, bytes]:
    """Return the files of an exported project."""
    import firmware_toys
    from trigemu_firmware import project as projects

    with tempfile.TemporaryDirectory() as folder:
        toy = firmware_toys.toy(trees=2, depth=2)
        projects.write_project(firmware_toys.write_project(toy, Path(folder), (), events=60))
        return {str(f.relative_to(folder)): f.read_bytes() for f in Path(folder).rglob("*") if f.is_file()}


def _projects() -> st.SearchStrategy[Files]:
    plain = project()
    parts = []
    for name, content in plain.items():
        ways = [byte_edits(content), byte_edits(content, most=1)]
        if name.endswith(".json"):
            ways.append(table_edits(json.loads(content), (2**31, [[1.0]])).map(as_json))
            ways.append(spoilt_words(content.decode()))
        parts.append(st.one_of(ways).map(lambda made, name=name: {**plain, name: made}))
    return st.one_of(parts)


def _use_project(folder: Path) -> Any:
    """Open a project and compute its expected scores again; running its sources takes seconds."""
    from trigemu_firmware import open_project

    return open_project(folder)


FORMATS = (Format("firmware projects", _projects, _use_project),)
