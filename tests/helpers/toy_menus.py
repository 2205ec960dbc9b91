"""Menus drawn at random for toy events, and the same in plain Python, event by event."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from typing import Any

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


def outcomes(event: dict[str, Any], triggers: list[dict[str, Any]], rate: float) -> Counters:
    """What the prescale counters may come to: the probability, and the enabled triggers that then accept."""
    for t in triggers:
        own = Fraction(rate) / 1000 if t["kind"] == "random" else 1
        t["share"] = 1 / (Fraction(t["prescale"]) * own)
    return from_decisions(*decide(event, triggers), triggers)


def all_outcomes(
    events: Iterable[dict[str, Any]], triggers: list[dict[str, Any]], rate: float
) -> list[Counters]:
    """Those of each event: few patterns of decisions stand for all."""
    known: dict[Any, Counters] = {}
    found = []
    for event in events:
        own, raw = decide(event, triggers)
        pattern = (*own.values(), *raw.values())
        if pattern not in known:
            known[pattern] = outcomes(event, triggers, rate)
        found.append(known[pattern])
    return found


def from_decisions(own: dict[str, bool], raw: dict[str, bool], triggers: list[dict[str, Any]]) -> Counters:
    """The same from the decisions before prescales.

    A trigger's "share" is 1 over its prescale; "counter": what its counter is called, if not by its coherent
    set or by the trigger.
    """
    of = {t["name"]: t.get("counter") or t["coherent"] or (t["name"],) for t in triggers}
    bounds: dict[Any, set[Fraction]] = {}
    for t in triggers:
        if own[t["name"]]:
            bounds.setdefault(of[t["name"]], {Fraction(0), Fraction(1)}).add(t["share"])
    found = []
    for below in product(*(list(pairwise(sorted(edges))) for edges in bounds.values())):
        counter = dict(zip(bounds, (low for low, _ in below), strict=True))  # anywhere up to the next bound
        accept: dict[str, bool] = {}
        for t in sorted(triggers, key=lambda t: (bool(t["seed"]), t["name"])):
            name = t["name"]
            if not t["enabled"]:
                accept[name] = raw[name]
            else:
                passed = own[name] and counter[of[name]] < t["share"]
                accept[name] = passed and bool(eval(t["seed"] or "True", {}, accept))
        on = frozenset(t["name"] for t in triggers if t["enabled"] and accept[t["name"]])
        found.append((math.prod(high - low for low, high in below), on))
    return found


def any_of(counters: Counters, triggers: list[dict[str, Any]]) -> Fraction:
    """or(S), exact"""
    names = {t["name"] for t in triggers}
    return sum((p for p, on in counters if on & names), Fraction(0))


def _note(
    out: dict[str, list[tuple[str, float, float]]], sample: str, weight: float, quantity: str, f: Fraction
) -> None:
    out.setdefault(quantity, []).append((sample, weight, float(f)))


def brute_force(
    samples: dict[str, list[dict[str, Any]]], triggers: list[dict[str, Any]], scale: float, rate: float
) -> dict[str, list[tuple[str, float, float]]]:
    """Quantity → (sample, weight, f) of every event."""
    out: dict[str, list[tuple[str, float, float]]] = {}
    known: dict[Any, list[tuple[str, Fraction]]] = {}  # few patterns of decisions stand for all events
    for sample, events in samples.items():
        for event in events:
            own, raw = decide(event, triggers)
            pattern = (*own.values(), *raw.values())
            if pattern not in known:
                known[pattern] = list(of_pattern(outcomes(event, triggers, rate), triggers))
            for quantity, f in known[pattern]:
                _note(out, sample, event["weight"] * scale, quantity, f)
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
    return {quantity: float(f) for quantity, f in of_pattern(outcomes({}, alone, rate), alone)}


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


def of_pattern(counters: Counters, triggers: list[dict[str, Any]]) -> Iterator[tuple[str, Fraction]]:
    on = [t for t in triggers if t["enabled"]]
    either = partial(any_of, counters)
    a = {t["name"]: either([t]) for t in on}
    whole, summed = either(on), sum(a.values())
    yield "menu", whole
    for t in on:
        yield f"total {t['name']}", a[t["name"]]
        yield f"unique {t['name']}", whole - either([u for u in on if u is not t])
        yield f"share {t['name']}", whole * a[t["name"]] / summed if summed else Fraction(0)
        for u in on:
            both = either([t] if u is t else [t, u])
            yield f"overlap {t['name']} {u['name']}", a[t["name"]] + a[u["name"]] - both
    for group in sorted({t["group"] for t in on if t["group"]}):
        inside = [t for t in on if t["group"] == group]
        yield f"total group {group}", either(inside)
        yield f"unique group {group}", whole - either([t for t in on if t not in inside])
        shared = sum((a[t["name"]] for t in inside), Fraction(0))
        yield f"share group {group}", whole * shared / summed if summed else Fraction(0)


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
