"""Menus of `counters_twin` for trigemu: as TOML, with events of chosen decisions; and drawn at random.

Each trigger whose decision the events give is a threshold on a scalar of its own, which is 0 or 1.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from counters_twin import Expression, Toy, ToyMenu, names_in
from hypothesis import strategies as st
from toys import Memory, logic, memory_catalogue, menu_from, threshold, trigger

from trigemu import Menu
from trigemu.api import ReadEvents, Schema
from trigemu.samples.catalogue import Catalogue

PRESCALES = [1, 1, 1, 2, 2, 3, 10, 1.5, 7.25, 33.3, 1e3, 1e6]
RANDOM_HZ = [1e3, 2.5e6, 40e6]
#: The largest number of triggers that are seeds of others, and of those that are not.
MAX_SEEDS = 6
#: Every feature in one menu.
TWO_LEVELS = ToyMenu(
    (
        Toy("J", prescale=10, level="L1", coherent="jets", group="l1"),
        Toy("K", prescale=7.25, level="L1", coherent="jets", group="l1"),
        Toy("G", level="L1", group="l1"),
        Toy("MU", prescale=1e6, level="L1"),
        Toy("JG", prescale=2, level="L1", logic=("and", "J", "G")),
        Toy("MONITOR", level="L1", enabled=False),
        Toy("HJ", level="HLT", seed="J", group="jets"),
        Toy("HK", prescale=3, level="HLT", seed=("or", "J", "K"), group="jets"),
        Toy("HG", level="HLT", seed=("and", "G", ("not", "J"))),
        Toy("HMU", prescale=2, level="HLT", seed=("or", "MU", "JG", "MONITOR"), coherent="hlt"),
        Toy("HJ_MU", prescale=5, level="HLT", seed=("and", "HJ", "MU"), coherent="hlt"),
        Toy("RANDOM", level="HLT", random_hz=1e3),
    ),
    ("L1", "HLT"),
)


@dataclass(frozen=True)
class ToyEvent:
    """A weight in Hz, and the decisions of a menu's `given` triggers by name."""

    weight: float
    decisions: Mapping[str, bool]


# ---- for trigemu


def as_text(expression: Expression) -> str:
    if isinstance(expression, str):
        return expression
    operation, *operands = expression
    texts = [as_text(operand) for operand in operands]
    return f"not ({texts[0]})" if operation == "not" else f" {operation} ".join(f"({t})" for t in texts)


def as_toml(menu: ToyMenu) -> str:
    text = f"[menu]\ncrossing_rate_hz = {menu.crossing_rate_hz}\n"
    text += f"levels = {list(menu.levels)}\n" if menu.levels else ""
    scalars = scalar_names(menu)
    for t in menu.triggers:
        if t.logic is not None:
            text += logic(t.name, as_text(t.logic))
        elif t.random_hz is not None:
            text += trigger(t.name, "random", f"rate_hz = {t.random_hz}")
        else:
            text += threshold(t.name, scalars[t.name], 0.5)
        text += f"prescale = {float(t.prescale)}\nenabled = {str(t.enabled).lower()}\n"
        text += f'seed = "{as_text(t.seed)}"\n' if t.seed is not None else ""
        strings = {"level": t.level, "coherent": t.coherent, "group": t.group}
        text += "".join(f'{key} = "{value}"\n' for key, value in strings.items() if value is not None)
    return text


def scalar_names(menu: ToyMenu) -> dict[str, str]:
    """The scalar on which each trigger with an own decision is a threshold."""
    return {t.name: f"x{i}" for i, t in enumerate(menu.given)}


@dataclass
class Scalars(Memory):
    """A source in memory whose events have scalars and nothing else."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.schema = Schema({}, frozenset(self.events[0]) - {"weight", "parent"})

    def read(self, start: int, stop: int, needs: Iterable[tuple[str, str]]) -> ReadEvents:
        events, numbers = self.events[start:stop], np.arange(start, stop, dtype=np.uint64)
        scalars = {name: np.array([e[name] for e in events], "f4") for name in self.schema.scalars}
        parents = np.array([e.get("parent", start + i) for i, e in enumerate(events)], np.uint64)
        return ReadEvents(np.array([e["weight"] for e in events]), numbers, parents, {}, scalars)


def catalogue_of(
    menu: ToyMenu,
    samples: Mapping[str, Sequence[ToyEvent]],
    further: Mapping[str, Sequence[Mapping[str, float]]] | None = None,
) -> Catalogue:
    """Background samples of events with those decisions and weights in Hz, and with further scalars."""
    scalars = scalar_names(menu)
    rows: dict[str, Sequence[dict[str, Any]]] = {
        sample: [
            {
                "weight": event.weight,
                **{scalars[name]: float(d) for name, d in event.decisions.items()},
                **more,
            }
            for event, more in zip(events, (further or {}).get(sample, [{}] * len(events)), strict=True)
        ]
        for sample, events in samples.items()
    }
    made = memory_catalogue(rows)
    sources = [replace(s, sources=(Scalars(s.sources[0].events),)) for s in made.samples]
    return replace(made, samples=tuple(sources))


def toy_samples(menu: ToyMenu, seed: int, n: int, patterns: int) -> dict[str, list[ToyEvent]]:
    """Two samples, n events together, with weights over many orders of magnitude. They share a number of
    patterns of decisions, among them the one where everything fires and the one where nothing does."""
    rng = random.Random(seed)
    names = [t.name for t in menu.given]
    pool = [dict.fromkeys(names, True), dict.fromkeys(names, False)]
    pool += [{name: rng.random() < 0.6 for name in names} for _ in range(patterns - 2)]
    events = [ToyEvent(rng.expovariate(1.0) * 10 ** rng.uniform(-6, 3), rng.choice(pool)) for _ in range(n)]
    return {"a": events[: n // 3], "b": events[n // 3 :]}


# ---- for patterns of decisions


def menu_with_bits(toy: ToyMenu) -> tuple[Menu, dict[str, int]]:
    """The menu, and the bit of each trigger whose decision the words give; bits of another word too."""
    with tempfile.TemporaryDirectory() as folder:
        menu = menu_from(Path(folder), as_toml(toy))
    return menu, {t.name: 63 + number for number, t in enumerate(toy.given)}


def words_of(given: Sequence[Mapping[str, bool]]) -> np.ndarray:
    """uint64[n, 2], the bits of decisions."""
    words = np.zeros((len(given), 2), np.uint64)
    for row, fired in enumerate(given):
        for number, name in enumerate(fired):
            word, bit = divmod(63 + number, 64)
            words[row, word] |= np.uint64(fired[name]) << np.uint64(bit)
    return words


def toy_patterns(toy: ToyMenu, seed: int, n: int = 3) -> tuple[np.ndarray, list[dict[str, bool]]]:
    """uint64[n, 2], and what fires in each."""
    rng = np.random.default_rng(seed)
    given = [{t.name: bool(rng.random() < 0.7) for t in toy.given} for _ in range(n)]
    return words_of(given), given


# ---- at random


def expressions(names: Sequence[str]) -> st.SearchStrategy[Expression]:
    """And, or and not of some names, each perhaps several times."""
    return st.recursive(
        st.sampled_from(names),
        lambda inner: st.one_of(
            st.tuples(st.just("not"), inner), st.tuples(st.sampled_from(["and", "or"]), inner, inner)
        ),
        max_leaves=4,
    )


@st.composite
def toy_menus(draw: st.DrawFn, *, seeds: bool = True, levels: int = 0) -> ToyMenu:
    """A valid menu of at most 2 MAX_SEEDS triggers, with that number of levels.

    A trigger reads the decisions of triggers of its own level and of earlier ones. No counter serves a
    trigger and one of its direct or indirect seeds. Groups are of one level.
    """
    names_of_levels = ("L1", "HLT") if levels == 2 else tuple(f"LEVEL{i}" for i in range(levels))
    rest = st.lists(st.integers(0, max(levels - 1, 0)), min_size=2, max_size=2 * MAX_SEEDS - max(levels, 1))
    made: list[Toy] = []
    for i, level in enumerate(sorted([*range(max(levels, 1)), *draw(rest)])):
        name = names_of_levels[level] if levels else None
        trigger = _trigger(draw, f"T{i}", name, made, seeds)
        if trigger.level not in {t.level for t in made}:
            trigger = replace(trigger, enabled=True)
        made.append(trigger)
    return ToyMenu(tuple(draw(st.permutations(made))), names_of_levels, draw(st.sampled_from([40e6, 80e6])))


def _trigger(draw: st.DrawFn, name: str, level: str | None, before: Sequence[Toy], seeds: bool) -> Toy:
    """One that may read the decisions of those before it, the first few of them as seeds."""
    known = [t.name for t in before]
    seed = draw(expressions(known[:MAX_SEEDS])) if seeds and known and draw(st.integers(0, 2)) else None
    kind = draw(st.sampled_from(["given"] * 6 + ["random"] + ["logic"] * bool(known)))
    coherent = draw(st.sampled_from([None, None, "a", "b"]))
    group = draw(st.sampled_from([None, "x", "y"]))
    return Toy(
        name,
        prescale=draw(st.sampled_from(PRESCALES)),
        level=level,
        coherent=None if seed and coherent in _counters_of(seed, before) else coherent,
        seed=seed,
        logic=draw(expressions(known)) if kind == "logic" else None,
        random_hz=draw(st.sampled_from(RANDOM_HZ)) if kind == "random" else None,
        enabled=draw(st.integers(0, 5)) > 0,
        group=f"{group} of {level}" if group else None,
    )


def _counters_of(seed: Expression, triggers: Sequence[Toy]) -> set[str | None]:
    """The coherent sets of the direct and indirect seeds."""
    by_name = {t.name: t for t in triggers}
    found: set[str | None] = set()
    for name in names_in(seed):
        trigger = by_name[name]
        found.add(trigger.coherent)
        found |= _counters_of(trigger.seed, triggers) if trigger.seed else set()
    return found


#: With and without seeds and levels.
any_menu = st.one_of(toy_menus(), toy_menus(levels=2), toy_menus(seeds=False))
