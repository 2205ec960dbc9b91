"""Comparisons against a brute-force evaluation in plain Python, event by event."""

from __future__ import annotations

import itertools
import math
import re
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from counters_twin import ToyMenu
from hypothesis import assume, given, settings, strategies as st
from menu_variants import OBJECTS, Triggers, Variant, agree, variants, write
from toy_menus import as_toml, fitted_in, has_halves, menus, outcomes, twin, two_samples
from toys import even_events, factors, memory_catalogue, threshold, toy_events

from trigemu import emulate, read_menu
from trigemu.studies.comparison import Comparison, compare


@settings(max_examples=15)
@given(
    variants(),
    st.integers(0, 2**32),
    st.lists(st.sampled_from([40e6, 20e6, 30e6]), min_size=3, max_size=3),
    st.lists(st.integers(0, len(OBJECTS) - 1), min_size=3, max_size=3),
    st.booleans(),
    st.none() | st.integers(1, 30),
)
def test_all_numbers_equal_a_brute_force(
    texts: list[Triggers],
    seed: int,
    crossing: list[float],
    objects: list[int],
    fitted: bool,
    shared: int | None,
) -> None:
    """shared: the parents of all events; else each event is one."""
    samples = two_samples(seed, shared)
    assume(has_halves(samples) or not fitted)
    with tempfile.TemporaryDirectory() as folder:
        read = [
            write(Path(folder), f"V{i}", as_toml(t, crossing[i], fitted and i == 0) + OBJECTS[objects[i]][0])
            for i, t in enumerate(texts)
        ]
    result = compare(emulate(read, memory_catalogue(samples)))
    assert [variant.half is not None for variant in result.variants] == [fitted, *[False] * (len(texts) - 1)]
    events = [event for part in samples.values() for event in part]
    factor = [k for part in samples.values() for k in (factors(part) if fitted else [1.0] * len(part))]
    cases = [
        {f"V{i}": Variant(t, crossing[i], OBJECTS[objects[i]][1], events) for i, t in enumerate(of)}
        for of in (texts, [without_fitted(texts[0]), *texts[1:]])
    ]
    alone = {name: v.constant(fitted and name == "V0") for name, v in cases[0].items()}
    parents = [event["parent"] for event in events] if shared else []
    check(result, cases, alone, [event["weight"] for event in events], factor, parents)


def without_fitted(triggers: Triggers) -> Triggers:
    fitted = fitted_in(triggers)
    return [t for t in triggers if t["name"] not in fitted]


def together(a: Variant, b: Variant) -> list[dict[tuple[str, str], float]]:
    """Of each event, with which probability a trigger of one variant and one of the other accept."""
    sides = (twin([called(t, name) for t in v.triggers], v.rate) for v, name in ((a, "A"), (b, "B")))
    both = ToyMenu(tuple(t for side in sides for t in side.triggers))
    known: dict[Any, dict[tuple[str, str], float]] = {}
    found = []
    for first, second in zip(a.decisions, b.decisions, strict=True):
        own, raw = (
            {f"A_{n}": v for n, v in x.items()} | {f"B_{n}": v for n, v in y.items()}
            for x, y in zip(first, second, strict=True)
        )
        key = (*own.items(), *raw.items())
        if key not in known:
            counters = outcomes(both, own)
            known[key] = {
                (s["name"], t["name"]): math.fsum(
                    p for p, on in counters if {f"A_{s['name']}", f"B_{t['name']}"} <= on
                )
                for s in a.on
                for t in b.on
            }
        found.append(known[key])
    return found


def called(trigger: dict[str, Any], variant: str) -> dict[str, Any]:
    """A trigger by a name of its own in two variants; its counter is that of its set, or of its old name."""
    seed = re.sub(r"T\d", lambda name: f"{variant}_{name[0]}", trigger["seed"] or "") or None
    counter = trigger["coherent"] or f"that of {trigger['name']}"
    return trigger | {"name": f"{variant}_{trigger['name']}", "seed": seed, "coherent": counter}


#: The variants by name: as they are, and without what was fitted.
Cases = list[dict[str, Variant]]


def check(
    result: Comparison,
    cases: Cases,
    alone: dict[str, Variant],
    weights: list[float],
    factor: list[float],
    parents: list[int],
) -> None:
    """alone: the variants with only what accepts all events alike."""
    total, names = math.fsum(weights), [*cases[0]]

    def judged(of: Callable[[dict[str, Variant]], Iterable[float]]) -> list[float]:
        """What each event adds to a quantity: f₀ + factor (f − f₀)."""
        columns = zip(weights, factor, *(of(case) for case in cases), strict=True)
        return [w * (f0 + k * (f - f0)) for w, k, f, f0 in columns]

    def difference(a: Variant, b: Variant, what: str, quantity: str) -> list[float]:
        pairs = zip(a.fractions(what, quantity), b.fractions(what, quantity), strict=True)
        return [f * a.scale - g * b.scale for f, g in pairs]

    labels = set()
    for d in result.differences:
        added = judged(lambda case, d=d: difference(case[d.b], case[d.a], d.what, d.quantity))
        (constant,) = difference(alone[d.b], alone[d.a], d.what, d.quantity)
        agree((d.b_minus_a_hz, d.error_hz), added, total, weights, constant, parents)
        labels.add((d.a, d.b, d.what, d.quantity))
    for a, b in itertools.combinations(names, 2):
        on = {t["name"] for t in (*cases[0][a].on, *cases[0][b].on)}
        expected = {(n, q) for n in on for q in ("total_hz", "unique_hz")} | {("menu", "rate_hz")}
        assert {label[2:] for label in labels if label[:2] == (a, b)} == expected
    assert len(result.gained) == len(names) * (len(names) - 1)
    for gain in result.gained:
        of = (gain.b, gain.a)
        added = judged(
            lambda case, of=of: [max(d, 0.0) for d in difference(*map(case.get, of), "menu", "rate_hz")]
        )
        (constant,) = difference(*map(alone.get, of), "menu", "rate_hz")
        agree((gain.hz, gain.error_hz), added, total, weights, max(constant, 0.0), parents)
    assert len(result.common) == sum(
        len(cases[0][a].on) * len(cases[0][b].on) for a, b in itertools.combinations(names, 2)
    )
    joint = {
        (a, b): [together(case[a], case[b]) for case in cases] for a, b in itertools.combinations(names, 2)
    }
    for c in result.common:
        scale = min(cases[0][c.a].scale, cases[0][c.b].scale)
        with_fitted, without = joint[c.a, c.b]
        both = zip(weights, factor, with_fitted, without, strict=True)
        pair = (c.of_a, c.of_b)
        added = [w * scale * (g.get(pair, 0.0) + k * (f[pair] - g.get(pair, 0.0))) for w, k, f, g in both]
        (constant,) = together(alone[c.a], alone[c.b])
        agree((c.hz, c.error_hz), added, total, weights, scale * constant.get(pair, 0.0), parents)
        sides = (c.a, c.of_a, c.a_hz), (c.b, c.of_b, c.b_hz)
        unfitted = [{t["name"] for t in cases[1][of].on} for of, _, _ in sides]
        from_half = any(name not in names for (_, name, _), names in zip(sides, unfitted, strict=True))
        for of, name, hz in sides:
            accepted = cases[0][of].fractions(name, "total_hz")
            scales = [scale * (k if from_half else 1.0) for k in factor]
            added = [w * s * f for w, s, f in zip(weights, scales, accepted, strict=True)]
            assert hz == pytest.approx(math.fsum(added), rel=1e-12)


@settings(max_examples=10)
@given(menus(), st.integers(0, 2**32), st.booleans(), st.randoms(use_true_random=False))
def test_identical_menus_differ_by_nothing(triggers: Triggers, seed: int, fitted: bool, shuffle: Any) -> None:
    """Whatever their names and the order of their triggers; and share what each overlaps with itself."""
    again = list(triggers)
    shuffle.shuffle(again)
    with tempfile.TemporaryDirectory() as folder:
        read = [
            write(Path(folder), name, as_toml(of, 40e6, fitted))
            for name, of in (("A", triggers), ("B", triggers), ("C", again))
        ]
    result = compare(emulate(read, memory_catalogue({"a": toy_events(seed, 40), "b": toy_events(1, 10)})))
    for d in result.differences:
        assert (d.b_minus_a_hz, d.error_hz) == (0.0, 0.0)
    for gain in result.gained:
        assert (gain.hz, gain.error_hz) == (0.0, 0.0)
    assert not result.changes
    first = result.variants[0]
    overlap = [c for c in result.common if (c.a, c.b) == ("A", "B")]
    # Products over the same counters, multiplied in another order.
    assert [c.hz for c in overlap] == pytest.approx(first.overlap.flatten().tolist(), rel=1e-14)
    errors = [c.error_hz for c in overlap]
    assert errors == pytest.approx(first.overlap_error.flatten().tolist(), rel=1e-14)


def test_more_triggers_than_a_word_and_many_patterns(tmp_path: Path) -> None:
    """130 triggers in two variants, over blocks of patterns: the events that only one of them takes."""
    texts = {
        name: "".join(threshold(f"T{i}", "met" if i % 2 else "ht", first + i) for i in range(65))
        for name, first in (("a", 10), ("b", 12))
    }
    events = even_events(4, 6000)
    read = [write(tmp_path, name, text) for name, text in texts.items()]
    result = compare(emulate(read, memory_catalogue({"a": events})))
    ht = [math.fsum(jet["pt"] for jet in event["jet"]) for event in events]
    only = [e["weight"] for e, h in zip(events, ht, strict=True) if h > 10 or e["met"] > 11]
    first = [e["weight"] for e, h in zip(events, ht, strict=True) if h > 12 or e["met"] > 13]
    lost = {(gain.a, gain.b): gain for gain in result.gained}
    assert lost["b", "a"].hz == pytest.approx(math.fsum(only) - math.fsum(first))
    assert (lost["a", "b"].hz, lost["a", "b"].error_hz) == (0.0, 0.0)


# ---- what changed


def changes(folder: Path, *texts: str) -> dict[str, str]:
    read = [write(folder, "ab"[i], text) for i, text in enumerate(texts)]
    result = compare(emulate(read, memory_catalogue({"a": toy_events(1, 30)})))
    return {change.what: change.how for change in result.changes}


J, K = threshold("J", "jet[0].pt", 30), threshold("K", "met", 30)
PAIR = (
    '[[trigger]]\nname = "P"\nkind = "combination"\nlegs = [{ object = "jet" }, '
    '{ object = "jet", pt = { min = 12.0 } }]\npairs = [{ legs = [0, 1], mass = { min = 20.0 } }]\n'
)
SOFT = '[objects.jet]\nfrom = "jet"\npt = { min = 15.0 }\n'


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (J, J.replace("30", "35"), {"J": "above: 30 → 35"}),
        (J, J + "prescale = 2\n", {"J": "prescale: 1 → 2"}),
        (J, J + 'requires = "met > 1"\n', {"J": "requires: none → met > 1"}),
        (J + K, J, {"K": "only in a"}),
        (J, J + K, {"K": "only in b"}),
        (J, J.replace("jet[0].pt", "jet[1].pt"), {"J": "observable: jet[0].pt → jet[1].pt"}),
        (PAIR, PAIR.replace("12.0", "14.5"), {"P": "legs[1].pt.min: 12 → 14.5"}),
        (PAIR, PAIR.replace("mass", "deta"), {"P": "pairs[0].mass: { min = 20 } → none; "
                                              "pairs[0].deta: none → { min = 20 }"}),
        (J, J + SOFT, {"J": "jet is defined differently"}),
        (PAIR + K, PAIR + K + SOFT, {"P": "jet is defined differently"}),
        (J, J.replace("30", "35") + SOFT, {"J": "above: 30 → 35; jet is defined differently"}),
        (J + K.replace("met", "ht"), J + K.replace("met", "ht") + '[sums.ht]\nof = ["photon"]\n',
         {"K": "ht is defined differently"}),
        (J + K, J + K + "[menu]\ncrossing_rate_hz = 3e7\n", {"menu": "crossing_rate_hz: 4e+07 → 3e+07"}),
        (J + K + 'seed = "J"\n', J + K + 'seed = "not (J and J)"\n', {"K": "seed: J → not (J and J)"}),
        (J + "enabled = false\n" + K + 'seed = "J"\n',
         J.replace("30", "9") + "enabled = false\n" + K + 'seed = "J"\n', {"J": "above: 30 → 9"}),
        (J + "enabled = false\n" + K, J.replace("30", "9") + "enabled = false\n" + K, {}),
        (J + K, J + K + "enabled = false\n", {"K": "only in a"}),
    ],
)  # fmt: skip
def test_changes_are_told(tmp_path: Path, first: str, second: str, expected: dict[str, str]) -> None:
    assert changes(tmp_path, first, second) == expected


def test_equal_triggers_of_a_kind_without_equality_have_not_changed(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text(
        "import numpy as np\n"
        "from trigemu.triggers import base\nfrom trigemu.triggers.base import Kind\n"
        "class Compiled(base.Compiled):\n    threshold = None\n    def evaluate(self, work):\n"
        "        return work.scalar('met') > 20\n"
        "class Plain(Kind, frozen=True):\n    def compile(self, context):\n"
        "        context.observable('met')\n        return Compiled()\n"
        'KINDS = {"plain": Plain}\n'
    )
    read = []
    for name in "ab":
        file = tmp_path / f"{name}.toml"
        file.write_text('[menu]\nplugins = ["plain"]\n[[trigger]]\nname = "P"\nkind = "plain"\n')
        read.append(read_menu(file, [tmp_path]))
    result = compare(emulate(read, memory_catalogue({"a": toy_events(1, 30)})))
    assert not result.changes
    assert {(d.b_minus_a_hz, d.error_hz) for d in result.differences} == {(0.0, 0.0)}


# ---- what cannot be compared


def test_menus_of_one_name_go_by_their_files_then_by_number(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    head = '[menu]\nname = "x"\n'
    tighter = J.replace("above = ", "above = 1")
    assert tighter != J
    read = [write(tmp_path, "a", head + J), write(tmp_path / "more", "a", head + tighter)]
    read += [write(tmp_path, "b", head + J), write(tmp_path, "a (1)", J)]
    found = compare(emulate(read, memory_catalogue({"a": toy_events(1, 60)})))
    assert [variant.menu.name for variant in found.variants] == ["a (2)", "a (3)", "b", "a (1)"]
    menu = {(d.a, d.b): d.b_minus_a_hz for d in found.differences if d.what == "menu"}
    assert menu["a (2)", "b"] == menu["a (2)", "a (1)"] == 0
    assert menu["a (2)", "a (3)"] == -menu["a (3)", "b"] < 0
