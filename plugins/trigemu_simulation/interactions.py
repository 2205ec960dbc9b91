"""Generated interactions as columns, before the random choices that tuning may change.

An interaction is one pp collision. Crossings and events are later made from its stored content: true jets,
reconstructed photons, electrons, muons and hadronic taus above thresholds that are lower than the final
ones, and the ingredients of missing transverse momentum. One collision may be stored twice: unchanged, and
with a muon from a pion or kaon that decays in flight, each with its probability as weight.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from trigemu.base.errors import TrigemuError
from trigemu.base.files import read_arrays

Array = NDArray[Any]

SCALARS = (
    "weight",  # float64, the generator's, exactly representable in float32
    "origin",  # uint32, the number of the collision within the block
    "pt_hat",  # float32, GeV, of the hardest scattering
    "invisible_x",  # float32, GeV: neutrinos
    "invisible_y",
    "soft_et",  # float32, GeV: scalar sum in the central calorimeter outside true jets above 20 GeV
)
# Scalars that add up over the interactions of a crossing.
SUMS = ("invisible_x", "invisible_y", "soft_et")
# Columns of each kind of object besides pt (GeV), eta and phi (float32). `flavour` of a jet is 5, 4 or 15
# with a b hadron, c hadron or hadronic tau in it, −1 where it is a true isolated photon or electron, else 0;
# `cone` is the scalar sum of the pT around a particle in GeV; `origin` of a lepton is 0 from a W, Z, tau,
# photon or resonance, 1 from a b or c hadron, 2 from a pion or kaon.
OBJECTS: dict[str, dict[str, type]] = {
    "jet": {"flavour": np.int8},
    "photon": {"cone": np.float32},
    "electron": {"charge": np.int8, "origin": np.int8, "cone": np.float32},
    "muon": {"charge": np.int8, "origin": np.int8, "cone": np.float32},
    "tau": {"charge": np.int8},
}


_COLUMNS = ("pt", "eta", "phi")


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of one kind of n interactions: counts int64[n], columns flat over all of them."""

    counts: Array
    columns: dict[str, Array]

    @property
    def event(self) -> Array:
        """The interaction (or crossing) of each object, int64, flat."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def of(self, rows: Array) -> Objects:
        """Return the objects of the interactions where the bool[n] array rows is true."""
        keep = np.repeat(rows, self.counts)
        return Objects(self.counts[rows], {k: c[keep] for k, c in self.columns.items()})

    def taken(self, rows: Array) -> Objects:
        """Return the objects of some interactions, int64, in that order."""
        first, counts = np.cumsum(self.counts) - self.counts, self.counts[rows]
        index = ranges(first[rows], counts)
        return Objects(counts, {k: c[index] for k, c in self.columns.items()})

    def where(self, keep: Array) -> Objects:
        """Return the objects for which keep, a bool array over the objects, is true."""
        counts = np.bincount(self.event[keep], minlength=len(self.counts))
        return Objects(counts, {k: c[keep] for k, c in self.columns.items()})


def in_order(parts: Sequence[tuple[Array, dict[str, Array]]], n: int) -> Objects:
    """Return objects of n interactions in descending pT, from parts of (interaction of each object,
    columns)."""
    event = np.concatenate([events for events, _ in parts])
    columns = {name: np.concatenate([c[name] for _, c in parts]) for name in parts[0][1]}
    order = np.lexsort((-columns["pt"], event))
    counts = np.bincount(event, minlength=n)
    return Objects(counts, {name: column[order] for name, column in columns.items()})


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of n interactions or events: scalars and objects, by their names."""

    scalars: dict[str, Array]
    objects: dict[str, Objects]

    def of(self, rows: Array) -> Self:
        """Return those where the bool[n] array rows is true."""
        objects = {k: o.of(rows) for k, o in self.objects.items()}
        return type(self)({k: c[rows] for k, c in self.scalars.items()}, objects)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Concatenate parts in this order."""
        scalars = {k: np.concatenate([p.scalars[k] for p in parts]) for k in parts[0].scalars}
        objects = {}
        for kind, first in parts[0].objects.items():
            group = [p.objects[kind] for p in parts]
            columns = {k: np.concatenate([o.columns[k] for o in group]) for k in first.columns}
            objects[kind] = Objects(np.concatenate([o.counts for o in group]), columns)
        return cls(scalars, objects)


class Interactions(Columns):
    """Interactions: scalars with the names in SCALARS, objects with the names in OBJECTS."""

    __slots__ = ()

    def __len__(self) -> int:
        return len(self.scalars["weight"])


@dataclass(frozen=True, slots=True)
class Summary:
    """Numbers that normalise a block of generated interactions."""

    generated: int
    cross_section_pb: float  # of the generated process, before the slice's own cuts
    generated_sumw: float


@dataclass(frozen=True, slots=True)
class Block:
    """One file of interactions."""

    summary: Summary
    interactions: Interactions


def ranges(first: Array, counts: Array) -> Array:
    """Return the concatenated ranges of `counts[i]` numbers that begin at `first[i]`, int64."""
    return np.asarray(np.arange(counts.sum()) + np.repeat(first - np.cumsum(counts) + counts, counts))


def packed(block: Block, key: str) -> bytes:
    """Return the npz file of a block."""
    arrays: dict[str, Array] = dict(block.interactions.scalars)
    for kind, objects in block.interactions.objects.items():
        arrays[f"{kind}_n"] = objects.counts.astype(np.uint8)
        arrays.update({f"{kind}_{c}": column for c, column in objects.columns.items()})
    summary = {f: getattr(block.summary, f) for f in Summary.__slots__}
    arrays["header"] = np.array(json.dumps({"key": key, **summary}))
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()


def key_of(path: Path) -> str | None:
    """Return the key that a block was saved with, or None if there is no readable block."""
    try:
        return _header(path, read_arrays(path, ["header"]))[0]
    except TrigemuError:
        return None


def load(path: Path) -> Block:
    """Read a block. Raises TrigemuError if it cannot be read, or is damaged."""
    names = [f"{kind}_{c}" for kind, extra in OBJECTS.items() for c in ("n", *_COLUMNS, *extra)]
    arrays = read_arrays(path, ["header", *SCALARS, *names])
    _, summary = _header(path, arrays)
    objects = {
        kind: Objects(
            arrays[f"{kind}_n"].astype(np.int64), {c: arrays[f"{kind}_{c}"] for c in (*_COLUMNS, *extra)}
        )
        for kind, extra in OBJECTS.items()
    }
    return Block(summary, Interactions({name: arrays[name] for name in SCALARS}, objects))


def _header(path: Path, arrays: Mapping[str, Array]) -> tuple[str, Summary]:
    try:
        header = json.loads(str(arrays["header"]))
        return msgspec.convert(header.pop("key"), str), msgspec.convert(header, Summary)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        raise TrigemuError(
            f"{path} is damaged: {reason}: remove it, and the same command makes it again"
        ) from None
