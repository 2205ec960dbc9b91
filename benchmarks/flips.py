"""Flip single bytes of sealed samples, in several formats and compressions, and count the detected flips.

    python benchmarks/flips.py 1000

A flip is noticed while all columns of all events are read, or, in bytes that no reader asks for, by the whole
pass of `trigemu samples --seal`. The last column must stay 0: flips after which the events that are read
differ without an error. The same flips are made in copies without a seal, for comparison.
"""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import awkward as ak
import click
import h5py
import numpy as np
import uproot

from trigemu.samples import Catalogue, open_catalogue, seal_catalogue
from trigemu.support import TrigemuError

EVENTS = 40_000
TREES = {"none": None, "zstd": uproot.ZSTD(3), "lz4": uproot.LZ4(1), "zlib": uproot.ZLIB(1)}
TREES |= {"lzma": uproot.LZMA(1)}


def columns(seed: int) -> dict[str, ak.Array]:
    rng = np.random.default_rng(seed)
    counts = rng.poisson(3, EVENTS)
    total = int(counts.sum())
    jets = {"pt": rng.exponential(30, total) + 5, "eta": rng.uniform(-4, 4, total)}
    jets["phi"] = rng.uniform(-3.1, 3.1, total)
    jets = {name: column.astype(np.float32) for name, column in jets.items()}
    return {"Jet": ak.unflatten(ak.zip(jets), counts), "MET_pt": rng.exponential(20, EVENTS)}


def tree(path: Path, compression: object) -> None:
    with uproot.recreate(path, compression=compression) as file:
        file.mktree("Events", columns(1))


def ntuple(path: Path) -> None:
    """Write the layout of PHYSLITE, the one that is read from an RNTuple."""
    of = columns(1)
    with uproot.recreate(path) as file:
        jets = {f"AnalysisJetsAuxDyn:{name}": of["Jet"][name] for name in ("pt", "eta", "phi")}
        file.mkrntuple("EventData", {**jets, "EventInfoAuxDyn:eventNumber": np.arange(EVENTS)})


def parquet(path: Path, compression: str) -> None:
    of = columns(1)
    ak.to_parquet(
        ak.zip({"jet": of["Jet"], "met": of["MET_pt"]}, depth_limit=1), path, compression=compression
    )


def challenge(path: Path) -> None:
    rng = np.random.default_rng(1)
    with h5py.File(path, "w") as file:
        result = rng.exponential(20, (EVENTS // 4, 19, 4)).astype(np.float32)
        result[:, :, 1:3] = rng.uniform(-3, 3, (EVENTS // 4, 19, 2))
        file.create_dataset("Particles", data=result, chunks=(1000, 19, 4), compression="gzip", shuffle=True)


SAMPLES: dict[str, tuple[str, str, Callable[[Path], None]]] = {
    **{
        f"TTree, {name}": ("nanoaod", "root", lambda path, kind=kind: tree(path, kind))
        for name, kind in TREES.items()
    },
    "RNTuple": ("physlite", "root", ntuple),
    **{
        f"Parquet, {kind}": ("parquet", "parquet", lambda path, kind=kind: parquet(path, kind))
        for kind in ("none", "snappy", "zstd")
    },
    "HDF5, gzip": ("challenge", "h5", challenge),
}


def content(catalogue: Catalogue) -> str:
    """Return a digest of all events, with all columns."""
    digest = hashlib.sha256()
    sample = catalogue.samples[0]
    schema = sample.schema
    needs = sorted((name, c) for name, all_ in schema.collections.items() for c in all_)
    needs += sorted(("", name) for name in schema.scalars)
    events = sample.read(0, 0, sample.entries, needs)
    for name, column in needs:
        collection = events.collections[name] if name else None
        digest.update(collection.offsets if collection else b"")
        digest.update(
            np.ascontiguousarray(collection.columns[column] if collection else events.scalars[column])
        )
    digest.update(events.weight)
    return digest.hexdigest()


def outcome(catalogue: Path, expected: str) -> str:
    """Return the effect of a flip: "noticed", "changed", or "same"."""
    try:
        return "same" if content(open_catalogue(catalogue)) == expected else "changed"
    except TrigemuError:
        return "noticed"


def main(flips: int) -> None:
    click.echo(
        f"{'sample':16} {'flips':>6} {'no seal: changed':>17} {'reading':>8} {'pass':>5} {'changed':>8}"
    )
    total, silent = 0, 0
    for name, (kind, suffix, write) in SAMPLES.items():
        with TemporaryDirectory() as folder:
            rng = random.Random(name)
            file, sealed, plain = (Path(folder) / n for n in (f"a.{suffix}", "sealed.toml", "plain.toml"))
            write(file)
            text = '[catalogue]\nname = "a"\nconvention = "crossing"\n[[sample]]\nname = "a"\n'
            text += f'format = "{kind}"\nrole = "background"\nrate_hz = 4e7\nfiles = ["{file.name}"]\n'
            plain.write_text(text)
            sealed.write_text(text)
            seal_catalogue(sealed)
            expected, good = content(open_catalogue(sealed)), file.read_bytes()
            counts = dict.fromkeys(("plain", "reading", "pass", "changed"), 0)
            n = flips // len(SAMPLES) + (len(SAMPLES) - 1 < flips % len(SAMPLES))
            for _ in range(n):
                bad = bytearray(good)
                bad[rng.randrange(len(bad))] ^= rng.randrange(1, 256)
                file.write_bytes(bad)
                counts["plain"] += outcome(plain, expected) == "changed"
                with_seal = outcome(sealed, expected)
                counts["reading"] += with_seal == "noticed"
                counts["changed"] += with_seal == "changed"
                if with_seal == "same":
                    try:
                        seal_catalogue(sealed)
                    except TrigemuError:
                        counts["pass"] += 1
            total, silent = total + n, silent + n - counts["reading"] - counts["pass"]
            plain_, reading, full, changed = counts.values()
            click.echo(f"{name:16} {n:6} {plain_:17} {reading:8} {full:5} {changed:8}")
    click.echo(f"{total} flips, {silent} not noticed")


if __name__ == "__main__":
    main(int(sys.argv[1]))
