"""Firmware projects."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fuzzing.edits import as_json, byte_edits, spoilt_words, table_edits
from fuzzing.formats.base import Files, Format, sha256


@cache
def project() -> dict[str, bytes]:
    """Return the files of an exported project."""
    import firmware_toys
    import msgspec
    from trigemu_firmware import project as projects

    with tempfile.TemporaryDirectory() as folder:
        made = firmware_toys.write_project(firmware_toys.toy(trees=2, depth=2), Path(folder), (), events=60)
        projects.write_trees(made.fixed.ensemble, made.folder / projects.TREES)
        projects.write_vectors(made.vectors, made.folder / projects.VECTORS)
        names = (projects.TREES, projects.VECTORS)
        digests = {name: projects.sha256(made.folder / name) for name in names}
        manifest = msgspec.structs.replace(made.manifest, sha256=digests)
        (made.folder / projects.MANIFEST).write_bytes(msgspec.json.encode(manifest))
        return {str(f.relative_to(folder)): f.read_bytes() for f in Path(folder).rglob("*") if f.is_file()}


def sealed(plain: Files, name: str, content: bytes) -> Files:
    """Return a project with another file, and its digest, as a stranger would write it."""
    made = {**plain, name: content}
    if name != "project.json":
        made["project.json"] = made["project.json"].replace(
            sha256(plain[name]).encode(), sha256(content).encode()
        )
    return made


def _projects() -> st.SearchStrategy[Files]:
    plain = project()
    parts = []
    for name, content in plain.items():
        ways = [byte_edits(content), byte_edits(content, most=1)]
        if name.endswith(".json"):
            ways.append(table_edits(json.loads(content), (2**31, [[1.0]])).map(as_json))
            ways.append(spoilt_words(content.decode()))
        if name.endswith(".npz"):
            ways.append(_arrays(content))
        parts.append(st.one_of(ways).map(lambda made, name=name: sealed(plain, name, made)))
    return st.one_of(parts)


def _arrays(content: bytes) -> st.SearchStrategy[bytes]:
    """Draw arrays of other shapes and types, with pickled objects among them."""
    with np.load(io.BytesIO(content)) as file:
        arrays = dict(file)

    def changed(name: str, how: str) -> bytes:
        made = {**arrays}
        old = made[name]
        made[name] = {
            "shorter": lambda: np.atleast_1d(old)[:-1],
            "flat": lambda: old.ravel(),
            "deep": lambda: old[np.newaxis],
            "none": lambda: np.atleast_1d(old)[:0],
            "single": lambda: np.array(3),
            "objects": lambda: np.array([{}, []], object),
            "texts": lambda: np.array(["a", "b"]),
            "complex": lambda: np.zeros(old.shape, complex),
            "NaN": lambda: np.full(old.shape, np.nan, np.float32),
            "large": lambda: np.full(old.shape, 2**62),
        }[how]()
        stream = io.BytesIO()
        np.savez(stream, **made)
        return stream.getvalue()

    hows = ("shorter", "flat", "deep", "none", "single", "objects", "texts", "complex", "NaN", "large")
    lies = st.builds(_lying, st.sampled_from(sorted(arrays)), st.sampled_from((10**12, 2**62, -1)))
    return st.one_of(st.builds(changed, st.sampled_from(sorted(arrays)), st.sampled_from(hows)), lies)


def _lying(name: str, size: int) -> bytes:
    """An array that says it is larger than the file."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({size},), }}".ljust(117) + "\n"
        file.writestr(
            f"{name}.npy",
            b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + b"\0" * 64,
        )
    return stream.getvalue()


def _use_project(folder: Path) -> Any:
    """Open a project and compute its expected scores again; running its sources takes seconds."""
    from trigemu_firmware import open_project

    opened = open_project(folder)
    return opened, opened.vectors.spread(10)


FORMATS = (Format("firmware projects", _projects, _use_project),)
