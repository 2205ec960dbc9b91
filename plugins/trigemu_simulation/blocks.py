"""Stage one: blocks of interactions. Each depends only on the seed, its slice and its number."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from trigemu.base.files import write_bytes
from trigemu.base.mapping import Engine, Work, map_chunks
from trigemu.base.processes import worker_pool

from . import interactions, pythia
from .config import Config, ConfigError, Slice
from .interactions import Block, Interactions, Summary
from .pythia import radiates
from .reconstruct import fastjet_module, reconstruct, with_flights

# Increase it whenever the content of a block changes: blocks of another revision are made again.
REVISION = 4

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Task:
    """A block to make, with everything that its content depends on; picklable."""

    part: Slice
    number: int
    seed: int
    path: Path
    key: str


def tasks(config: Config, folder: Path) -> list[Task]:
    """Return a task for every block of a configuration, whether or not its file exists."""
    version = pythia.version()
    return [
        Task(part, number, config.seed, _path(folder, part, number), _key(part, config.seed, number, version))
        for part in config.slices
        for number in range(part.blocks)
    ]


def make_all(config: Config, folder: Path, workers: int, progress: Progress | None) -> None:
    """Make the blocks that are missing in a folder; progress(step, total) counts interactions."""
    fastjet_module()
    for part in config.slices:
        pythia.check(config.source(part))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot write to {folder}: {error.strerror}") from None
    missing = [t for t in tasks(config, folder) if interactions.key_of(t.path) != t.key]
    missing.sort(key=lambda t: t.number / t.part.blocks)  # all slices grow together
    step = progress or (lambda step, total: None)
    step(config.interactions - sum(t.part.block_size for t in missing), config.interactions)
    number = min(workers, len(missing))
    with worker_pool(number) if number > 1 else nullcontext() as pool:
        contents = map_chunks(_Blocks(), missing, Engine(pool, workers=1))
        for task, content in zip(missing, contents, strict=True):
            task.path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(task.path, content)
            step(task.part.block_size, config.interactions)


def read_all(config: Config, part: Slice, folder: Path) -> Iterator[Block]:
    """Yield the blocks of a slice, in order."""
    for number in range(part.blocks):
        yield interactions.load(_path(folder, part, number))


def make(task: Task) -> Block:
    """Generate one block; the same task gives the same block everywhere."""
    text = f"{task.seed}/{task.part.name}/{task.number}".encode()
    entropy = int.from_bytes(hashlib.sha256(text).digest()[:16], "big")
    generator = pythia.Generator(task.part, 1 + entropy % pythia.SEED_MAX)
    rng = np.random.default_rng(entropy)
    batches: list[Interactions] = []
    generated, generated_sumw = 0, 0.0
    for particles in generator.batches(task.part.block_size):
        rows_of_batch = reconstruct(particles, rng)
        collisions = int(particles.origin[-1]) + 1
        generated_sumw += float(np.sum(rows_of_batch.scalars["weight"]))
        accepted = _accepted(task.part, particles)
        rows_of_batch = rows_of_batch.of(accepted)
        if task.part.role == "background":
            rows_of_batch = with_flights(rows_of_batch, particles, accepted, rng)
        if task.part.muons != "keep":
            rows_of_batch = rows_of_batch.of(secondary_muons(rows_of_batch) == (task.part.muons == "only"))
        rows_of_batch.scalars["origin"] += np.uint32(generated)
        generated += collisions
        batches.append(rows_of_batch)
    rows = Interactions.joined(batches)
    summary = Summary(generated, generator.cross_section(), generated_sumw)
    return Block(summary, rows)


def _accepted(part: Slice, particles: pythia.Particles) -> np.ndarray[tuple[int], np.dtype[np.bool]]:
    keep = np.ones(len(particles.weight), bool)
    if part.pt_hat_max is not None:
        keep &= particles.pt_hat < part.pt_hat_max
    if part.prompt_photon_pt_hat_max is not None:
        keep &= ~(particles.photon & (particles.pt_hat >= part.prompt_photon_pt_hat_max))
    if part.radiated != "keep":
        keep &= radiates(particles) == (part.radiated == "only")
    return keep


def secondary_muons(rows: Interactions) -> np.ndarray[tuple[int], np.dtype[np.bool]]:
    """Return whether an interaction has a muon from a hadron, bool[n]."""
    muons = rows.objects["muon"]
    return np.bincount(muons.event[muons.columns["origin"] > 0], minlength=len(rows)) > 0


class _Blocks(Work[Task, bytes]):
    """The work of making blocks: workers only make them, so no file is half written if one is killed."""

    def __call__(self, task: Task) -> bytes:
        return interactions.packed(make(task), task.key)


def _path(folder: Path, part: Slice, number: int) -> Path:
    return folder / part.name / f"{number:05d}.npz"


def _key(part: Slice, seed: int, number: int, version: str) -> str:
    """Return a hash of all that the content of a block depends on; the number of blocks is not included."""
    fields = msgspec.to_builtins(part)
    relevant = (
        *("name", "role", "settings", "block_size", "pt_hat_max", "prompt_photon_pt_hat_max"),
        *("muons", "decays", "radiated", "radiation_factor"),
    )
    content = [REVISION, version, seed, number, {k: fields[k] for k in relevant}]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()
