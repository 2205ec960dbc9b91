"""The native file format (ROOT, NanoAOD's names) and the catalogue that lists the files."""

from __future__ import annotations

import hashlib
import io
import math
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import uproot

from trigemu.base import toml_text
from trigemu.base.files import without_clock, write_bytes, write_text

from .config import Config, Slice
from .events import PT_BITS
from .interactions import Columns, Objects

COMPRESSION = uproot.LZMA(6)  # a seventh smaller than ZSTD(19), and read as fast as needed
NOTE = (
    "Crossings share interactions. Quoted errors sum those of one parent before they are squared; "
    "docs/explanation/sample.md has how much larger errors are by what else is shared."
)
BASKET = 131_072  # events; large baskets are read fast, and this many events are read at a time
COLLECTIONS = {"jet": "Jet", "photon": "Photon", "electron": "Electron", "muon": "Muon", "tau": "Tau"}


@dataclass(frozen=True, slots=True)
class Normalisation:
    """The normalisation of a slice: cross-section in pb, and sums over its crossings.

    rate_hz: the rate of a class of crossings, which replaces the cross-section; None for a signal.
    mean_interactions: the mean number of interactions of the class in any crossing."""

    cross_section_pb: float
    count: int
    sumw: float
    sumw2: float
    rate_hz: float | None
    mean_interactions: float | None


def root_file(path: Path, events: Columns, norm: Normalisation) -> str:
    """Write the trees Events and Runs, and return the sha256. Equal content gives equal bytes."""
    branches: dict[str, Any] = dict(events.scalars)
    for kind, name in COLLECTIONS.items():
        branches[name] = _jagged(events.objects[kind])
    runs = {
        "genEventCount": np.array([norm.count]),
        "genEventSumw": np.array([norm.sumw]),
        "genEventSumw2": np.array([norm.sumw2]),
    }
    content = _reproducible(path.name, {"Events": branches, "Runs": runs})
    write_bytes(path, content)
    return hashlib.sha256(content).hexdigest()


def catalogue(
    path: Path,
    config: Config,
    generated_by: str,
    samples: list[tuple[Slice, Normalisation, str]],
) -> None:
    """Write the catalogue of samples, (slice, normalisation, sha256 of its file)."""
    means = [norm.mean_interactions for _, norm, _ in samples if norm.mean_interactions is not None]
    head = {
        "name": config.name,
        "convention": "crossing",
        "luminosity_cm2s": config.luminosity_cm2s,
        "crossing_rate_hz": config.crossing_rate_hz,
        "mean_interactions": math.fsum(means) if means else None,
        "generated_by": generated_by,
        "note": NOTE,
    }
    rounding = {name: {"bits": bits, "centred": True} for name, bits in PT_BITS.items()}
    tables = [toml_text.table("[catalogue]", head), toml_text.table("[catalogue.rounding]", rounding)]
    tables += (toml_text.table("[[sample]]", dict(_sample(*sample))) for sample in samples)
    write_text(path, "\n".join(tables))


def file_name(part: Slice) -> str:
    """Return the name of the file of a slice, relative to the catalogue."""
    return f"{part.name}.root"


def _sample(part: Slice, norm: Normalisation, sha256: str) -> Iterator[tuple[str, Any]]:
    yield "name", part.name
    yield "role", part.role
    yield "format", "nanoaod"
    yield "files", [file_name(part)]
    yield "sha256", [sha256]
    if norm.rate_hz is not None:
        yield "rate_hz", norm.rate_hz
    else:
        yield "cross_section_pb", norm.cross_section_pb
        yield "filter_efficiency", 1.0
        yield "k_factor", 1.0
    if part.require is not None:
        yield "require", part.require
    yield "description", part.description


def _jagged(objects: Objects) -> ak.Array:
    return ak.unflatten(ak.zip(objects.columns), objects.counts)


def _reproducible(name: str, trees: dict[str, dict[str, Any]]) -> bytes:
    """Return a ROOT file as bytes, without the time and random identity that uproot would write."""
    identity = uuid.uuid5(uuid.NAMESPACE_URL, f"trigemu/{name}")
    file = io.BytesIO()
    with (
        without_clock(),
        uproot.recreate(file, compression=COMPRESSION, uuid_function=lambda: identity) as root,
    ):
        for tree, branches in trees.items():
            tree_ = root.mktree(tree, {k: b[:BASKET] for k, b in branches.items()})
            for start in range(BASKET, len(next(iter(branches.values()))), BASKET):
                tree_.extend({k: b[start : start + BASKET] for k, b in branches.items()})
        return file.getvalue()  # inside, because uproot closes the stream
