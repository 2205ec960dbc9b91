"""Menus drawn at random for toy events, and the same in plain Python, event by event."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise, product
from typing import Any

from hypothesis import strategies as st

#: TOML of a trigger's own keys, and what it means.
EVENT_KINDS: list[tuple[str, Any]] = [
    ('kind = "threshold"\nobservable = "jet[0].pt"\nabove = 30', lambda e: pt(e, "jet", 0) > 30),
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


Counters = list[tuple[float, frozenset[str]]]


def outcomes(event: dict[str, Any], triggers: list[dict[str, Any]], rate: float) -> Counters:
    """What the prescale counters may come to: the probability, and the enabled triggers that then accept."""
    for t in triggers:
        t["share"] = 1 / (t["prescale"] * (rate / 1000 if t["kind"] == "random" else 1))
    return from_decisions(*decide(event, triggers), triggers)


def from_decisions(own: dict[str, bool], raw: dict[str, bool], triggers: list[dict[str, Any]]) -> Counters:
    """The same from the decisions before prescales.

    A trigger's "share" is 1 over its prescale; "counter": what its counter is called, if not by its coherent
    set or by the trigger.
    """
    of = {t["name"]: t.get("counter") or t["coherent"] or (t["name"],) for t in triggers}
    bounds: dict[Any, set[float]] = {}
    for t in triggers:
        if own[t["name"]]:
            bounds.setdefault(of[t["name"]], {0.0, 1.0}).add(t["share"])
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


def any_of(counters: Counters, triggers: list[dict[str, Any]]) -> float:
    """or(S)"""
    names = {t["name"] for t in triggers}
    return math.fsum(p for p, on in counters if on & names)


def _note(
    out: dict[str, list[tuple[str, float, float]]], sample: str, weight: float, quantity: str, f: float
) -> None:
    out.setdefault(quantity, []).append((sample, weight, f))


def brute_force(
    samples: dict[str, list[dict[str, Any]]], triggers: list[dict[str, Any]], scale: float, rate: float
) -> dict[str, list[tuple[str, float, float]]]:
    """Quantity → (sample, weight, f) of every event."""
    on = [t for t in triggers if t["enabled"]]
    groups = sorted({t["group"] for t in on if t["group"]})
    out: dict[str, list[tuple[str, float, float]]] = {}

    for sample, events in samples.items():
        for event in events:
            note = partial(_note, out, sample, event["weight"] * scale)
            counters = outcomes(event, triggers, rate)
            either = partial(any_of, counters)
            a = {t["name"]: either([t]) for t in on}
            whole, summed = either(on), sum(a.values())
            note("menu", whole)
            for t in on:
                share = whole * a[t["name"]] / summed if summed else 0.0
                note(f"total {t['name']}", either([t]))
                note(f"unique {t['name']}", whole - either([u for u in on if u is not t]))
                note(f"share {t['name']}", share)
                for u in on:
                    both = either([t] if u is t else [t, u])
                    note(f"overlap {t['name']} {u['name']}", either([t]) + either([u]) - both)
            for group in groups:
                inside = [t for t in on if t["group"] == group]
                share = sum(whole * a[t["name"]] / summed if summed else 0.0 for t in inside)
                note(f"total group {group}", either(inside))
                note(f"unique group {group}", whole - either([t for t in on if t not in inside]))
                note(f"share group {group}", share)
    return out
