"""Events with all the columns that legs can ask for, as plain Python objects and as `Events`."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from trigemu.emulation.plan import Plan, PlannedTrigger, decide
from trigemu.menus.menu import Trigger
from trigemu.observables.selections import ObjectTable, OverlapRemoval, Scope, Window, make_scope
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import Collection, Events, make_events
from trigemu.triggers.base import Context, Kind

Event = dict[str, Any]
INTEGERS = ("charge", "quality")
COLUMNS = ("pt", "eta", "phi", "z0", "isolation", "upt", *INTEGERS)


def _object(rng: random.Random) -> dict[str, float]:
    single = {
        "pt": 3 + rng.expovariate(1 / 12),
        "eta": rng.uniform(-2.5, 2.5),
        "phi": rng.uniform(-3.14, 3.14),
        "z0": rng.gauss(0, 2),
        "isolation": rng.random(),
        "upt": 1 + rng.expovariate(1 / 12),
    }
    made = {name: float(np.float32(value)) for name, value in single.items()}
    return made | {"charge": rng.choice((-1, -1, 0, 1, 1)), "quality": rng.randrange(16)}


class _Events(list[Event]):
    """A short name for reports of hypothesis."""

    def __repr__(self) -> str:
        return f"{len(self)} events"


@pytest.fixture(scope="session")
def plain_events() -> list[Event]:
    rng = random.Random(99)

    def some() -> list[dict[str, float]]:
        objects = [_object(rng) for _ in range(rng.choice((0, 0, 1, 2, 2, 3, 4)))]
        return sorted(objects, key=lambda o: -o["pt"])

    return _Events({name: some() for name in ("jet", "muon", "photon")} for _ in range(150))


def _as_events(events: list[Event]) -> Events:
    collections = {}
    for name in ("jet", "muon", "photon"):
        flat = [o for event in events for o in event[name]]
        collections[name] = Collection(
            np.cumsum([0, *(len(event[name]) for event in events)]),
            {c: np.array([o[c] for o in flat], "i4" if c in INTEGERS else "f4") for c in COLUMNS},
        )
    met = np.array([sum(o["pt"] for o in event["jet"]) / 2 for event in events], "f4")
    return make_events("toy", np.ones(len(events)), collections, {"met": met})


@pytest.fixture(scope="session")
def scope() -> Scope:
    """`hard` and `clean` are two selections of the muons."""
    tables = {
        "hard": ObjectTable(from_="muon", windows={"pt": Window(min=8.0)}),
        "clean": ObjectTable(from_="muon", remove_overlap=OverlapRemoval(with_="jet", dr=0.8)),
    }
    return make_scope(tables, {}, lambda key, message: pytest.fail(message))


@pytest.fixture(scope="session")
def fires(plain_events: list[Event], scope: Scope) -> Callable[..., list[bool]]:
    """The decisions of a kind on the events, or on some of them."""
    whole = _as_events(plain_events)

    def decisions(kind: Kind, rows: slice = slice(None), events: list[Event] | None = None) -> list[bool]:
        trigger = Trigger("T", "kind", kind, None, 1.0, None, True, None, "here")
        plan = Plan((PlannedTrigger(kind.compile(Context(scope)), trigger),), ({},), {})
        words = decide(whole[rows] if events is None else _as_events(events), plan)
        return [bool(word & np.uint64(1)) for word in words[:, 0]]

    return decisions


@pytest.fixture(scope="session")
def workspace_of(plain_events: list[Event]) -> Callable[[slice], Workspace]:
    """A workspace of some of the events."""
    whole = _as_events(plain_events)
    return lambda rows: Workspace(whole[rows])
