"""Files of events with flipped bits and other damage."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from toys import COLLECTIONS, write_root

from fuzzing.edits import byte_edits, spoilt_words
from fuzzing.formats.base import EVENTS, Files, Format

CATALOGUE = """
[catalogue]
name = "toy"
convention = "crossing"

[[sample]]
name = "all"
role = "background"
format = "%s"
files = ["%s"]
rate_hz = 40e6
sum_of_weights = 2000.0
"""


def _tree(compression: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        write_root(path, EVENTS, basket=40, compression=compression)

    return write


def _rntuple(path: Path) -> None:
    from physlite_toys import events, write_rntuple

    write_rntuple(path, events(1, len(EVENTS)))


def _parquet(compression: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        import awkward as ak

        ak.to_parquet(_lists(), path, compression=compression or None)

    return write


def _lists() -> Any:
    import awkward as ak

    lists = {
        f"{n}_{c}": [[o[c] for o in e[n]] for e in EVENTS] for n in COLLECTIONS for c in ("pt", "eta", "phi")
    }
    singles = {"met": [e["met"] for e in EVENTS], "met_phi": [e["met_phi"] for e in EVENTS]}
    return ak.values_astype(ak.Array(lists | singles | {"weight": [e["weight"] for e in EVENTS]}), "f4")


def _hdf5(path: Path) -> None:
    import h5py

    particles = np.zeros((len(EVENTS), 19, 4))
    for number, event in enumerate(EVENTS):
        particles[number, 0, :3] = event["met"], 0, event["met_phi"]
        for name, first, most in (("muon", 5, 4), ("jet", 9, 10)):
            for at, o in enumerate(event[name][:most]):
                particles[number, first + at] = o["pt"], o["eta"], o["phi"], 1
    with h5py.File(path, "w") as file:
        file.create_dataset("Particles", data=particles, chunks=(20, 19, 4), compression="gzip")


def _vectors(path: Path) -> None:
    from l1_toys import calorimeter, jet, muon, vector_line

    lines = [
        vector_line(
            number,
            muons=[muon(int(o["pt"]), int(o["eta"] * 50), 100) for o in event["muon"]][:8],
            jets=[jet(int(o["pt"]), int(o["eta"] * 20), 50) for o in event["jet"]][:12],
            egammas=[calorimeter(int(o["pt"]), 5, 7, 1) for o in event["photon"]][:12],
        )
        for number, event in enumerate(EVENTS)
    ]
    path.write_text("\n".join(lines) + "\n")


#: Name → format in catalogues, file name, writer.
KINDS: dict[str, tuple[str, str, Callable[[Path], None]]] = {
    "TTree, uncompressed": ("nanoaod", "x.root", _tree("none")),
    "TTree, ZLIB": ("nanoaod", "x.root", _tree("zlib")),
    "TTree, LZMA": ("nanoaod", "x.root", _tree("lzma")),
    "TTree, LZ4": ("nanoaod", "x.root", _tree("lz4")),
    "TTree, ZSTD": ("nanoaod", "x.root", _tree("zstd")),
    "RNTuple": ("physlite", "x.root", _rntuple),
    "Parquet, snappy": ("parquet", "x.parquet", _parquet("snappy")),
    "Parquet, uncompressed": ("parquet", "x.parquet", _parquet("")),
    "HDF5": ("challenge", "x.h5", _hdf5),
    "vectors": ("cms-l1-vector", "x.txt", _vectors),
}


@cache
def original(kind: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        _, name, write = KINDS[kind]
        write(Path(folder) / name)
        return (Path(folder) / name).read_bytes()


def _cases(kind: str) -> Callable[[], st.SearchStrategy[Files]]:
    def cases() -> st.SearchStrategy[Files]:
        content = original(kind)
        form, name, _ = KINDS[kind]
        text = CATALOGUE % (form, name)
        if kind == "HDF5":
            text = text.replace("sum_of_weights = 2000.0\n", "")
        whole = byte_edits(content)
        if kind == "vectors":
            lines = "\n".join(content.decode().splitlines()[:6]) + "\n"
            whole |= spoilt_words(lines, ("ffffffffffffffff", "0" * 70, "zz", "\n", "9999999999"))
        files = {"catalogue.toml": text.encode(), "original": content}
        return whole.map(lambda made: {name: made, **files})

    return cases


def _use(folder: Path) -> list[Any]:
    """Read every column of every event; what was read before, of a good file, is then read again."""
    import trigemu

    text = (folder / "catalogue.toml").read_text()
    name = next(part.split('"')[1] for part in text.splitlines() if part.startswith("files"))
    (folder / "good").mkdir()
    (folder / "good" / name).write_bytes((folder / "original").read_bytes())
    (folder / "good" / "catalogue.toml").write_text(text)
    before = _everything(trigemu.open_catalogue(folder / "good"))
    try:
        return _everything(trigemu.open_catalogue(folder / "catalogue.toml"))
    finally:
        assert _everything(trigemu.open_catalogue(folder / "good")) == before, "a good file reads otherwise"


def _everything(catalogue: Any) -> list[Any]:
    found: list[Any] = []
    for sample in catalogue.samples:
        schema = sample.schema
        needs = [(of, column) for of, names in schema.collections.items() for column in names]
        needs += [("", name) for name in schema.scalars]
        for number, source in enumerate(sample.sources):
            events = sample.read(number, 0, source.entries, needs)
            found += [events.weight.tobytes(), events.id.tobytes(), events.parent.tobytes()]
            for name in sorted(events.collections):
                of = events.collections[name]
                found += [name, of.offsets.tobytes(), *(of.columns[c].tobytes() for c in sorted(of.columns))]
            found += [events.scalars[name].tobytes() for name in sorted(events.scalars)]
    return found


FORMATS = tuple(Format(kind, _cases(kind), _use) for kind in KINDS)
