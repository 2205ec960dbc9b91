"""Menus drawn at random for toy events, and the same in plain Python, event by event."""

from __future__ import annotations

import ast
import math
import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from counters_twin import Event, Expression, Toy, ToyMenu, contributions
from hypothesis import strategies as st
from toys import is_evaluation, toy_events

#: TOML of a trigger's own keys, and what it means.
EVENT_KINDS: list[tuple[str, Any]] = [
    ('kind = "threshold"\nobservable = "jet[0].pt"\nabove = 30', lambda e: pt(e, "jet", 0) > 30),
    ('kind = "threshold"\nobservable = "jet[0].pt"\nabove = 50', lambda e: pt(e, "jet", 0) > 50),
    ('kind = "threshold"\nobservable = "jet[1].pt"\nabove = 15', lambda e: pt(e, "jet", 1) > 15),
    ('kind = "threshold"\nobservable = "photon[0].pt"\nabove = 10', lambda e: pt(e, "photon", 0) > 10),
    ('kind = "threshold"\nobservable = "ht"\nabove = 70', lambda e: sum(j["pt"] for j in e["jet"]) > 70),
    ('kind = "threshold"\nobservable = "met"\nabove = 40', lambda e: e["met"] > 40),
    (
        'kind = "threshold"\nobservable = "n_jet"\nabove = -1\nrequires = "n_muon == 1"',
        lambda e: len(e["muon"]) == 1,
    ),
    (
        'kind = "combination"\nlegs = [{object = "muon"}, {object = "muon"}]\n'
        'pairs = [{legs = [0, 1], charge = "opposite"}]',
        lambda e: len({m["charge"] for m in e["muon"]}) == 2,
    ),
    (
        'kind = "combination"\nlegs = [{object = "jet", eta = {abs_max = 1.0}}]',
        lambda e: any(abs(j["eta"]) <= 1.0 for j in e["jet"]),
    ),
]


def pt(event: dict[str, Any], name: str, index: int) -> float:
    return event[name][index]["pt"] if index < len(event[name]) else -math.inf


@st.composite
def menus(draw: st.DrawFn) -> list[dict[str, Any]]:
    triggers: list[dict[str, Any]] = []
    for i in range(draw(st.integers(2, 8))):
        names = [t["name"] for t in triggers]
        bits = ["random", *(["logic"] if names else [])]
        kind = draw(st.sampled_from([*range(len(EVENT_KINDS)), *bits]))
        trigger: dict[str, Any] = {
            "name": f"T{i}",
            "kind": kind,
            "prescale": draw(st.sampled_from([1.0, 1.0, 2.0, 3.5, 100.0])),
            "coherent": draw(st.sampled_from([None, None, "a", "b"])),
            "group": draw(st.sampled_from([None, "x", "y"])),
            "enabled": draw(st.sampled_from([True, True, True, False])),
            "seed": None,
        }
        if kind == "logic":
            trigger["expression"] = draw(expressions(names))
        if names and draw(st.integers(0, 3)) == 0:
            trigger["seed"] = draw(expressions(names))
            apart(trigger, triggers)
        triggers.append(trigger)
    triggers[0]["enabled"] = True
    return draw(st.permutations(triggers))


def apart(trigger: dict[str, Any], triggers: list[dict[str, Any]]) -> None:
    """Take a trigger out of its coherent set if one of its seeds is in it, which no menu may say."""
    if trigger["coherent"] in {t["coherent"] for t in _seeds(trigger, triggers)}:
        trigger["coherent"] = None


def _seeds(trigger: dict[str, Any], triggers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that its counter must not depend on: its seeds, theirs, and so on."""
    read = [t for t in triggers if t["name"] in words(trigger["seed"] or "")]
    return [*read, *(deeper for t in read for deeper in _seeds(t, triggers))]


def words(expression: str) -> list[str]:
    return expression.replace("(", " ").replace(")", " ").split()


def expressions(names: list[str]) -> st.SearchStrategy[str]:
    leaf = st.sampled_from(names)
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            inner.map(lambda a: f"not ({a})"),
            st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda t: f"({t[0]}) {t[1]} {t[2]}"),
        ),
        max_leaves=4,
    )


def as_toml(triggers: list[dict[str, Any]], crossing_rate: float, fitted: bool = False) -> str:
    text = f"[menu]\ncrossing_rate_hz = {crossing_rate}\n"
    for t in triggers:
        text += f'[[trigger]]\nname = "{t["name"]}"\nprescale = {t["prescale"]}\n'
        text += f"enabled = {str(t['enabled']).lower()}\n"
        text += "".join(f'{k} = "{t[k]}"\n' for k in ("coherent", "group", "seed") if t[k])
        text += 'fitted_on = "toy"\n' if fitted and t["name"] == "T0" else ""
        own = {
            "random": 'kind = "random"\nrate_hz = 1000.0',
            "logic": f'kind = "logic"\nexpression = "{t.get("expression")}"',
        }
        text += (own[t["kind"]] if t["kind"] in own else EVENT_KINDS[t["kind"]][0]) + "\n"
    return text


def decide(event: dict[str, Any], triggers: list[dict[str, Any]]) -> tuple[dict[str, bool], dict[str, bool]]:
    """Before prescales, of each trigger by itself and with its seed."""
    own: dict[str, bool] = {}
    raw: dict[str, bool] = {}
    for t in sorted(triggers, key=lambda t: t["name"]):  # T0, T1 …: each refers to earlier ones only
        if t["kind"] == "random":
            own[t["name"]] = True
        elif t["kind"] == "logic":
            own[t["name"]] = bool(eval(t["expression"], {}, raw))
        else:
            own[t["name"]] = bool(EVENT_KINDS[t["kind"]][1](event))
        raw[t["name"]] = own[t["name"]] and bool(eval(t["seed"] or "True", {}, raw))
    return own, raw


Counters = list[tuple[Fraction, frozenset[str]]]


def twin(triggers: list[dict[str, Any]], rate: float) -> ToyMenu:
    """The same for `counters_twin`, with decisions that are given."""
    made = []
    for t in triggers:
        seed = as_tree(t["seed"]) if t["seed"] else None
        prescale = Fraction(t["prescale"]) * (Fraction(rate) / 1000 if t["kind"] == "random" else 1)
        toy = Toy(t["name"], prescale, coherent=t["coherent"], seed=seed, group=t["group"])
        made.append(replace(toy, enabled=t["enabled"]))
    return ToyMenu(tuple(made))


def as_tree(text: str) -> Expression:
    def tree(node: ast.expr) -> Expression:
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.UnaryOp):
            return ("not", tree(node.operand))
        assert isinstance(node, ast.BoolOp)
        return ("and" if isinstance(node.op, ast.And) else "or", *map(tree, node.values))

    return tree(ast.parse(text, mode="eval").body)


def outcomes(menu: ToyMenu, own: dict[str, bool]) -> Counters:
    """What the prescale counters may come to: the probability, and the enabled triggers that then accept.
    own: the decisions of each trigger by itself, before prescales."""
    event = Event(menu, own)
    return [(Fraction(width, event.units), accepted) for accepted, width in event.accepted.items()]


def all_outcomes(
    events: Iterable[dict[str, Any]], triggers: list[dict[str, Any]], rate: float
) -> list[Counters]:
    """Those of each event: few patterns of decisions stand for all."""
    known: dict[Any, Counters] = {}
    menu, found = twin(triggers, rate), []
    for event in events:
        own, _ = decide(event, triggers)
        if (pattern := (*own.values(),)) not in known:
            known[pattern] = outcomes(menu, own)
        found.append(known[pattern])
    return found


def any_of(counters: Counters, triggers: list[dict[str, Any]]) -> Fraction:
    """or(S), exact"""
    names = {t["name"] for t in triggers}
    return sum((p for p, on in counters if on & names), Fraction(0))


def brute_force(
    samples: dict[str, list[dict[str, Any]]], triggers: list[dict[str, Any]], scale: float, rate: float
) -> dict[str, list[tuple[str, float, float]]]:
    """Quantity → (sample, weight, f) of every event."""
    out: dict[str, list[tuple[str, float, float]]] = {}
    known: dict[Any, dict[str, Fraction]] = {}  # few patterns of decisions stand for all events
    menu = twin(triggers, rate)
    for sample, events in samples.items():
        for event in events:
            own, _ = decide(event, triggers)
            if (pattern := (*own.values(),)) not in known:
                known[pattern] = quantities(menu, own)
            for quantity, f in known[pattern].items():
                out.setdefault(quantity, []).append((sample, event["weight"] * scale, float(f)))
    return out


def fitted_in(triggers: list[dict[str, Any]]) -> set[str]:
    """T0, which `as_toml` calls fitted, and what reads it, if an enabled trigger needs it."""
    found = {"T0"}
    for t in sorted(triggers, key=lambda t: t["name"]):
        if found & {*words(t.get("expression") or ""), *words(t["seed"] or "")}:
            found.add(t["name"])
    return found


def constant_of(triggers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The triggers that accept all events alike: random ones, and what reads nothing else."""
    names: set[str] = set()
    for t in sorted(triggers, key=lambda t: t["name"]):
        reads = {*words(t.get("expression") or ""), *words(t["seed"] or "")} - {"and", "or", "not"}
        if t["kind"] in ("random", "logic") and reads <= names:
            names.add(t["name"])
    return [t for t in triggers if t["name"] in names]


def constant_parts(triggers: list[dict[str, Any]], rate: float) -> dict[str, float]:
    """Quantity → its f in an event that only these accept."""
    alone = constant_of(triggers)
    own, _ = decide({}, alone)
    return {quantity: float(f) for quantity, f in quantities(twin(alone, rate), own).items()}


def judged(
    samples: dict[str, list[dict[str, Any]]],
    triggers: list[dict[str, Any]],
    scale: float,
    rate: float,
    factors: dict[str, list[float]],
) -> dict[str, list[tuple[str, float, float]]]:
    """The same where T0 was fitted: f₀ + factor (f − f₀), with f₀ of the menu without what is fitted; nothing
    where no event has f. factors: of each event."""
    fitted = fitted_in(triggers)
    everything = brute_force(samples, triggers, scale, rate)
    without = brute_force(samples, [t for t in triggers if t["name"] not in fitted], scale, rate)
    factor = [k for name in samples for k in factors[name]]
    found = {}
    for quantity, entries in everything.items():
        before = [f for _, _, f in without[quantity]] if quantity in without else [0.0] * len(entries)
        some = any(f for _, _, f in entries)
        found[quantity] = [
            (sample, w, f0 + k * (f - f0) if some else 0.0)
            for (sample, w, f), f0, k in zip(entries, before, factor, strict=True)
        ]
    return found


def quantities(menu: ToyMenu, own: dict[str, bool]) -> dict[str, Fraction]:
    """Quantity → its f in one event."""
    found = contributions(menu, own)
    by_name = {
        "total": found.total,
        "unique": found.unique,
        "share": found.share,
        "total group": found.group_total,
        "unique group": found.group_unique,
        "share group": found.group_share,
    }
    each = {f"{what} {name}": f for what, of in by_name.items() for name, f in of.items()}
    return {"menu": found.menu} | each | {f"overlap {s} {t}": f for (s, t), f in found.overlap.items()}


def related_events(seed: int, n: int, parents: int) -> list[dict[str, Any]]:
    """Events that share some parents; half of those of one look and all weigh alike, so that errors grow."""
    rng = random.Random(seed)
    scale = [10 ** rng.uniform(-0.5, 0.5) for _ in range(parents)]
    look = toy_events(seed + 1, parents)
    found = []
    for event in toy_events(seed, n):
        parent = rng.randrange(parents)
        alike = look[parent] if rng.random() < 0.5 else event
        found.append(alike | {"parent": parent, "weight": scale[parent] * rng.uniform(0.5, 1.5)})
    return found


def two_samples(seed: int, shared: int | None) -> dict[str, list[dict[str, Any]]]:
    """60 events, which share a number of parents, or are one each."""
    return {
        name: related_events(at, n, shared) if shared else toy_events(at, n)
        for name, at, n in (("a", seed, 40), ("b", seed + 1, 20))
    }


def has_halves(samples: dict[str, list[dict[str, Any]]]) -> bool:
    """Whether each sample has events in its evaluation half."""
    return all(any(is_evaluation(e.get("parent", i)) for i, e in enumerate(of)) for of in samples.values())


def by_parent(parents: Iterable[int], values: Iterable[float]) -> float:
    """√Σ (Σ x)²"""
    sums: dict[int, float] = defaultdict(float)
    for parent, value in zip(parents, values, strict=True):
        sums[parent] += value
    return math.sqrt(math.fsum(x * x for x in sums.values()))
