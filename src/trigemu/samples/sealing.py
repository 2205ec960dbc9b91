"""Seal a catalogue: write the digests of its files into it."""

from __future__ import annotations

import hashlib
from itertools import zip_longest
from pathlib import Path
from typing import Any

import tomlkit

from trigemu.samples.errors import SampleError
from trigemu.samples.locations import located, opened, parts
from trigemu.samples.opening import open_catalogue
from trigemu.samples.sample import Sample, naming
from trigemu.samples.sealed import CHUNK, changed, digests_of, read_chunks, seal_of
from trigemu.support import insert_after, write_text


def seal_catalogue(path: Path | str) -> tuple[str, ...]:
    """Write sha256 and seal of every file into a catalogue, and preserve its comments and formatting.

    All files are read once. Existing digests and seals are compared, and stay.

    Parameters
    ----------
    path : Path or str
        A catalogue (.toml).

    Returns
    -------
    tuple of str
        The names of the samples that were not sealed before; if there are none, nothing is written.

    Raises
    ------
    SampleError
        If a file differs from its digest or seal, or cannot be used.
    """
    file = located(path)
    if not isinstance(file, Path) or file.suffix != ".toml":
        raise SampleError(f"{path}: only a catalogue (.toml) on this machine can be sealed")
    catalogue = open_catalogue(path)
    document = tomlkit.parse(file.read_bytes().decode())
    new = []
    for entry, sample in zip(document["sample"], catalogue.samples, strict=True):
        pairs = [_sealed(sample, number) for number in range(len(sample.sources))]
        for key, values in zip(("sha256", "seal"), zip(*pairs, strict=True), strict=True):
            if not getattr(sample.table, key):
                _insert(entry, key, list(values))
        if not sample.table.seal:
            new.append(sample.name)
    if new or any(not sample.table.sha256 for sample in catalogue.samples):
        write_text(file, tomlkit.dumps(document))
    return tuple(new)


def _insert(entry: Any, key: str, values: list[str]) -> None:
    array = tomlkit.array()
    array.extend(values)
    array.multiline(len(values) > 1)
    after = next((name for name in ("sha256", "files", "dataset") if name in entry), None)
    if after is None:
        entry[key] = array
    else:
        insert_after(entry, after, key, array)


def _sealed(sample: Sample, number: int) -> tuple[str, str]:
    """Return sha256 and seal of a file or folder, after comparing them with those in the catalogue."""
    path = sample.sources[number].path
    with naming(sample.name, path):
        digest_of_file, seals = hashlib.sha256(), []
        existing = sample.table.seal[number].split(",") if sample.table.seal else []
        for part, before in zip_longest(parts(path), existing):
            if existing and (part is None or before is None):
                raise SampleError(
                    f"has a different number of files from the {len(existing)} that were sealed"
                )
            digests = []
            with opened(part) as stream:
                for chunk in read_chunks(stream):
                    digest_of_file.update(chunk)
                    digests.append(hashlib.sha256(chunk).digest())
            seals.append(seal_of(digests))
            if existing and seals[-1] != before:
                raise _difference(digests, digests_of(before))
        digest = digest_of_file.hexdigest()
        if sample.table.sha256 and digest != sample.table.sha256[number].lower():
            raise SampleError(
                f"has sha256 {digest}, its catalogue says {sample.table.sha256[number]}: the file is "
                f"damaged or not the same one"
            )
        return digest, ",".join(seals)


def _difference(digests: list[bytes], sealed: list[bytes]) -> SampleError:
    """Return the error for the first chunk that differs."""
    pairs = enumerate(zip_longest(digests, sealed))
    at = next(number for number, (one, other) in pairs if one != other)
    return changed(at, len(sealed), at * CHUNK, (at + 1) * CHUNK)
