"""Toy events as plain Python objects, and the same as samples; menus from text."""

from __future__ import annotations

import atexit
import json
import math
import os
import random
import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import uproot

from trigemu import Menu, read_menu
from trigemu.api import ReadEvents, Schema, Source
from trigemu.base.mapping import CHUNK_EVENTS, Engine
from trigemu.base.processes import WorkerPool
from trigemu.emulation.engine import Chunk
from trigemu.emulation.plan import Plan, decide
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Collection, Events, make_events
from trigemu.samples.sample import CatalogueTable, Sample, SampleTable

COLUMNS = ("pt", "eta", "phi", "charge")
COLLECTIONS = ("jet", "photon", "muon")
#: A catalogue of one file, all.root.
CATALOGUE = """
[catalogue]
name = "toy"
convention = "crossing"

[[sample]]
name = "all"
role = "background"
files = ["all.root"]
rate_hz = 40e6
"""


def toy_event(rng: random.Random, weight: float | None = None) -> dict[str, Any]:
    """One event: weight in Hz, met, and a list of objects (dicts) a collection, falling in pT."""
    event: dict[str, Any] = {
        "weight": rng.expovariate(1.0) * 10 ** rng.uniform(-6, 3) if weight is None else weight,
        "met": _single(rng.expovariate(1 / 20)),
        "met_phi": _single(rng.uniform(-3.14, 3.14)),
    }
    for name, mean in zip(COLLECTIONS, (2.5, 0.8, 1.2), strict=True):
        count = min(rng.randrange(7), int(rng.expovariate(1 / mean)))
        objects = [
            {
                "pt": _single(5 + rng.expovariate(1 / 20)),
                "eta": _single(rng.uniform(-2.5, 2.5)),
                "phi": _single(rng.uniform(-3.14, 3.14)),
                "charge": rng.choice((-1, 1)),
            }
            for _ in range(count)
        ]
        event[name] = sorted(objects, key=lambda o: -o["pt"])
    return event


def toy_events(seed: int, n: int) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    return [toy_event(rng) for _ in range(n)]


def _single(value: float) -> float:
    """A float64 that is exactly a float32, so that both sides of a comparison see one number."""
    return float(np.float32(value))


def even_events(seed: int, n: int) -> list[dict[str, Any]]:
    """Events none of which weighs much more than the others."""
    rng = random.Random(seed)
    return [toy_event(rng, rng.uniform(0.5, 2.0)) for _ in range(n)]


def is_evaluation(parent: int) -> bool:
    """The half of an event, by SplitMix64 in whole numbers."""
    z = (parent + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return (z ^ z >> 31) >= 2**63


def factors(events: Sequence[dict[str, Any]]) -> list[float]:
    """With which factor each event counts what fitted triggers change: Σw(all) / Σw(half) in the evaluation
    half, 0 in the other one."""
    inside = [is_evaluation(e.get("parent", i)) for i, e in enumerate(events)]
    half = math.fsum(e["weight"] for e, of_half in zip(events, inside, strict=True) if of_half)
    scale = math.fsum(e["weight"] for e in events) / half
    return [scale * of_half for of_half in inside]


def evaluation_half(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events of that half, with weights that add up to those of all."""
    half = [e for i, e in enumerate(events) if is_evaluation(e.get("parent", i))]
    scale = math.fsum(e["weight"] for e in events) / math.fsum(e["weight"] for e in half)
    return [e | {"weight": e["weight"] * scale} for e in half]


def either(accepted: dict[str, float], triggers: Sequence[dict[str, Any]]) -> float:
    """or(S), as DESIGN defines it."""
    sets: dict[Any, float] = {}
    for t in triggers:
        key = t["coherent"] or (t["name"],)
        sets[key] = max(sets.get(key, 0.0), accepted[t["name"]])
    return 1 - math.prod(1 - a for a in sets.values())


def columns(events: Sequence[dict[str, Any]], first: int = 0) -> ReadEvents:
    """As a source reads them; `parent` is the number of an event unless it says otherwise."""
    collections = {}
    for name in COLLECTIONS:
        offsets = np.cumsum([0, *(len(event[name]) for event in events)])
        flat = [o for event in events for o in event[name]]
        collections[name] = Collection(
            offsets,
            {
                column: np.array([o[column] for o in flat], "i4" if column == "charge" else "f4")
                for column in COLUMNS
            },
        )
    numbers = np.arange(first, first + len(events), dtype=np.uint64)
    parent = np.array([e.get("parent", first + i) for i, e in enumerate(events)], np.uint64)
    scalars = {name: np.array([e[name] for e in events], "f4") for name in ("met", "met_phi")}
    weight = np.array([event["weight"] for event in events], float)
    return ReadEvents(weight, numbers, parent, collections, scalars)


def events_of(events: Sequence[dict[str, Any]], **more: Any) -> Events:
    """Toy events as triggers see them."""
    read = columns(events)
    return make_events("toy", read.weight, read.collections, read.scalars, **more)


@dataclass
class Memory:
    """A source whose events are in memory; `boundaries` as a file with baskets of 50 would have them."""

    events: Sequence[dict[str, Any]]
    path: str = "memory"
    boundaries: tuple[int, ...] = field(init=False)
    entries: int = field(init=False)
    sum_of_weights: float = 1.0
    neighbours: str = "none"
    physical: bool = False  # tests of what comes later use odd values
    has_parents: bool = field(init=False)
    stored: tuple[str, ...] = ()
    schema: Schema = field(
        default_factory=lambda: Schema(
            dict.fromkeys(COLLECTIONS, frozenset(COLUMNS)), frozenset(("met", "met_phi"))
        )
    )
    sha256: str | None = None

    def __post_init__(self) -> None:
        self.entries = len(self.events)
        self.has_parents = any("parent" in event for event in self.events)
        self.boundaries = (*range(0, self.entries, 50), self.entries)

    @property
    def identity(self) -> str:
        return repr(self.events)

    read_stored = Source.read_stored

    def read(self, start: int, stop: int, needs: Iterable[tuple[str, str]]) -> ReadEvents:
        return columns(self.events[start:stop], start)


@cache
def pool_of_two() -> WorkerPool:
    """Two processes for all tests that only need others: to start them takes seconds."""
    pool = WorkerPool(2)
    atexit.register(pool.close)
    return pool


def engine(size: int = CHUNK_EVENTS, workers: int = 1, **how: Any) -> Engine:
    """An engine with chunks of a size, in this process or in two others."""
    assert workers in (1, 2)
    return Engine(pool_of_two() if workers == 2 else None, chunk_events=size, **how)


@dataclass(frozen=True)
class Seen:
    """A task that any worker can do: which events there are, and what their MET adds up to."""

    factor: float

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> list[tuple[int, list[int], float]]:
        return [(chunk.sample, events.id.tolist(), self.factor * math.fsum(events.scalars["met"]))]

    def merge(
        self, parts: Sequence[list[tuple[int, list[int], float]]]
    ) -> list[tuple[int, list[int], float]]:
        return [one for part in parts for one in part]


@dataclass(frozen=True)
class Killed:
    """A task that is ended by signal 9, as where memory runs out."""

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def merge(self, parts: Sequence[None]) -> None:
        pass


@dataclass(frozen=True)
class Decided:
    """A task that any worker can do: the decisions of the events that count, bit by bit."""

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> list[list[bool]]:
        words = decide(events, plan)[events.core]
        return [
            [bool(word[b // 64] >> np.uint64(b % 64) & np.uint64(1)) for b in range(len(plan.slots))]
            for word in words
        ]

    def merge(self, parts: Sequence[list[list[bool]]]) -> list[list[bool]]:
        return [row for part in parts for row in part]


def memory_catalogue(
    samples: dict[str, Sequence[dict[str, Any]]],
    convention: str = "crossing",
    rate: float = 40e6,
    name: str = "toy",
    sha256: str | None = None,
    signals: dict[str, Sequence[dict[str, Any]]] | None = None,
    require: str | None = None,
) -> Catalogue:
    """Weights of the events are taken as Hz, as they are; `require` is what the signals ask for."""
    head = CatalogueTable(name=name, convention=convention, crossing_rate_hz=rate)
    tables = [SampleTable(name=n, role="background", files=("memory",), rate_hz=1.0) for n in samples]
    tables += [SampleTable(name=n, role="signal", files=("memory",), require=require) for n in signals or {}]
    made = tuple(
        Sample(number, table, (Memory(events, sha256=sha256),), 1.0, sum(event["weight"] for event in events))
        for number, (table, events) in enumerate(
            zip(tables, [*samples.values(), *(signals or {}).values()], strict=True)
        )
    )
    return Catalogue(head, made, Path("toy.toml"), "")


def write_root(
    path: Path,
    events: Sequence[dict[str, Any]],
    basket: int = 10_000,
    sum_of_weights: float | None = None,
    compression: str = "zlib",
    runs: bool = True,
) -> None:
    """The events as a NanoAOD-like file. compression: zlib, lzma, lz4, zstd or none. runs: with the sum of
    weights."""
    arrays: dict[str, Any] = {}
    for name in COLLECTIONS:
        fields = {
            c: ak.values_astype(
                ak.Array([[o[c] for o in event[name]] for event in events] + [[0.0]])[:-1],
                np.int32 if c == "charge" else np.float32,
            )
            for c in COLUMNS
        }
        arrays[name.title()] = ak.zip(fields)
    arrays["genWeight"] = np.array([event["weight"] for event in events], float)
    arrays["event"] = np.arange(len(events), dtype=np.uint64)
    for name, branch in (("met", "MET_pt"), ("met_phi", "MET_phi")):
        arrays[branch] = np.array([event[name] for event in events], "f4")
    if events and "n_interaction" in events[0]:
        arrays["n_interaction"] = np.array([event["n_interaction"] for event in events], np.int32)
    total = sum(e["weight"] for e in events) if sum_of_weights is None else sum_of_weights
    codec = None if compression == "none" else getattr(uproot, compression.upper())(1)
    write_tree(path, arrays, basket=basket, runs=[total] if runs else None, compression=codec)


def trigger(name: str, kind: str, more: str = "") -> str:
    """A trigger in TOML, with the keys of its kind."""
    return f'[[trigger]]\nname = {json.dumps(name)}\nkind = "{kind}"\n{more}\n'


def write_tree(
    path: Path,
    columns: dict[str, Any],
    tree: str = "Events",
    basket: int = 10**6,
    runs: Sequence[float] | None = None,
    compression: Any = uproot.ZLIB(1),  # noqa: B008
    **naming: Any,
) -> Path:
    """Columns of arrays as a tree of a new ROOT file, in baskets. runs: sums of generator weights; naming: of
    uproot's counters and fields."""
    types = {
        name: c.type.content if isinstance(c, ak.Array) else np.dtype((c.dtype, c.shape[1:]))
        for name, c in columns.items()
    }
    with uproot.recreate(path, compression=compression) as file:
        made = file.mktree(tree, types, **naming)
        for start in range(0, len(next(iter(columns.values()))), basket):
            made.extend({name: column[start : start + basket] for name, column in columns.items()})
        if runs is not None:
            file.mktree("Runs", {"genEventSumw": "f8"}).extend({"genEventSumw": np.array(runs)})
    return path


def threshold(name: str, observable: str, above: float | None, more: str = "") -> str:
    """None: a budget is among the further keys."""
    cut = "" if above is None else f"above = {above}\n"
    return trigger(name, "threshold", f'observable = "{observable}"\n{cut}{more}')


def combination(name: str, legs: str, more: str = "") -> str:
    return trigger(name, "combination", f"legs = [{legs}]\n{more}")


def logic(name: str, expression: str, more: str = "") -> str:
    return trigger(name, "logic", f'expression = "{expression}"\n{more}')


def menu_from(folder: Path, text: str) -> Menu:
    file = folder / "menu.toml"
    file.write_text(text)
    return read_menu(file)
