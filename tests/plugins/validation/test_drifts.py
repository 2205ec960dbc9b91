"""Differences of menus against a brute-force evaluation in plain Python, event by event."""

from __future__ import annotations

import math
import tempfile
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot
from hypothesis import given, settings, strategies as st
from menu_variants import Triggers, Variant, agree, variants, write
from project import ROOT
from toy_menus import as_toml, menus
from toys import memory_catalogue, toy_events

from trigemu_validation import Tolerance, Tolerances, TriggerTolerance, gate

MENUS = ROOT / "menus"


def moved(folder: Path) -> Path:
    """The primary menu with J100 at 101 GeV."""
    text = (MENUS / "primary.toml").read_text()
    assert text.count("100.0") == 1
    file = folder / "moved.toml"
    file.write_text(text.replace("100.0", "101.0"))
    return file


@settings(max_examples=30)
@given(variants(), st.integers(0, 2**32), st.lists(st.sampled_from([40e6, 20e6]), min_size=2, max_size=2))
def test_all_differences_equal_a_brute_force(texts: list[Triggers], seed: int, crossing: list[float]) -> None:
    samples = {"a": toy_events(seed, 40), "b": toy_events(seed + 1, 20)}
    with tempfile.TemporaryDirectory() as folder:
        read = [write(Path(folder), f"V{i}", as_toml(texts[i], crossing[i])) for i in (0, 1)]
        result = gate(*read, catalogue=memory_catalogue(samples))
    events = [event for part in samples.values() for event in part]
    old, new = (Variant(texts[i], crossing[i], lambda jet: True, events) for i in (0, 1))
    weights = [event["weight"] for event in events]
    both = [t["name"] for t in old.on if t["name"] in {other["name"] for other in new.on}]
    drifts = {(drift.triggers, drift.quantity): drift for drift in result.drifts}
    total = math.fsum(weights)

    alone = old.constant(), new.constant()

    def compared(triggers: tuple[str, ...], quantity: str, f: Any, g: Any, *constant: float) -> None:
        drift = drifts.pop((triggers, quantity), None)
        added = [w * (y * new.scale - x * old.scale) for w, x, y in zip(weights, f, g, strict=True)]
        if drift is None:  # an overlap that did not change
            assert abs(math.fsum(added)) <= 1e-9 * total
        else:
            known = constant[1] * new.scale - constant[0] * old.scale
            agree((drift.difference, drift.error), added, total, weights, known)

    def of_all(what: str, quantity: str) -> list[Any]:
        of = [variant.fractions(what, quantity) for variant in (old, new, *alone)]
        return [*of[:2], of[2][0], of[3][0]]

    compared((), "rate_hz", *of_all("menu", "rate_hz"))
    for name in both:
        for quantity in ("total_hz", "unique_hz"):
            compared((name,), quantity, *of_all(name, quantity))
        drift = drifts.pop(((name,), "decisions_hz"))
        differ = [a[1][name] != b[1][name] for a, b in zip(old.decisions, new.decisions, strict=True)]
        scale = max(old.scale, new.scale)
        agree(
            (drift.difference, drift.error),
            [w * scale * d for w, d in zip(weights, differ, strict=True)],
            total,
        )
    for pair in combinations(both, 2):
        accepted = [
            [float(sum(p for p, on in counters if {*pair} <= on)) for counters in variant.counters]
            for variant in (old, new, *alone)
        ]
        compared(pair, "overlap_hz", *accepted[:2], *(of[0] for of in accepted[2:]))
    only = {(t["name"], "removed") for t in old.on} | {(t["name"], "added") for t in new.on}
    only -= {(name, which) for name in both for which in ("added", "removed")}
    assert {(*names, quantity) for names, quantity in drifts} == only


@settings(max_examples=25)
@given(menus(), st.integers(0, 2**32), st.randoms(use_true_random=False))
def test_the_same_menu_passes(triggers: Triggers, seed: int, shuffle: Any) -> None:
    again = list(triggers)
    shuffle.shuffle(again)
    with tempfile.TemporaryDirectory() as folder:
        read = [write(Path(folder), name, as_toml(of, 40e6)) for name, of in (("A", triggers), ("B", again))]
        result = gate(*read, catalogue=memory_catalogue({"a": toy_events(seed, 60)}))
    assert result.failed == ()
    assert all(drift.difference == 0.0 for drift in result.drifts)


def test_a_threshold_that_moved_is_named(tmp_path: Path) -> None:
    result = gate(MENUS / "primary.toml", moved(tmp_path))
    assert [(drift.what, drift.quantity) for drift in result.failed] == [
        ("menu", "rate_hz"),
        ("J100", "total_hz"),
        ("J100", "unique_hz"),
        ("G30", "unique_hz"),
        ("J100", "decisions_hz"),
        ("J100 & G30", "overlap_hz"),
    ]
    total = next(drift for drift in result.failed if drift.quantity == "total_hz")
    assert total.percent == pytest.approx(100 * (total.new / total.old - 1))
    assert total.sigma == pytest.approx((total.new - total.old) / total.error)


def test_any_limit_accepts(tmp_path: Path) -> None:
    def failed(**limits: float) -> set[str]:
        tolerances = Tolerances(default=TriggerTolerance(**limits))
        result = gate(MENUS / "primary.toml", moved(tmp_path), tolerances)
        return {f"{drift.what} {drift.quantity}" for drift in result.failed}

    assert failed(percent=4.0) == {"J100 total_hz", "J100 unique_hz", "J100 decisions_hz"}
    assert failed(percent=5.0) == set()
    assert failed(sigma=15.0) == {"menu rate_hz", "J100 total_hz", "J100 unique_hz", "J100 decisions_hz"}
    assert failed(percent=4.0, sigma=25.0) == set()


def test_triggers_that_come_and_go(tmp_path: Path) -> None:
    text = (MENUS / "primary.toml").read_text()
    less = tmp_path / "less.toml"
    less.write_text(text[: text.rindex("[[trigger]]")])
    widest = Tolerances(default=TriggerTolerance(percent=100.0))
    for old, new, quantity in (
        (MENUS / "primary.toml", less, "removed"),
        (less, MENUS / "primary.toml", "added"),
    ):
        (drift,) = gate(old, new, widest).failed
        assert (drift.what, drift.quantity) == ("G30", quantity)
        allowed = Tolerances(widest.default, {}, {"G30": TriggerTolerance(**{quantity: True})})
        assert gate(old, new, allowed).failed == ()


def test_decisions_are_compared_with_stored_ones(tmp_path: Path) -> None:
    """A threshold that moved disagrees with what was recorded."""
    met = np.arange(10.0, 40.0)
    with uproot.recreate(tmp_path / "r.root") as root:
        root["Events"] = {"MET_pt": met, "L1_M": met > 22}
    head = '[[trigger]]\nname = "M"\nkind = "threshold"\nobservable = "met"\nstored = "L1_M"\nabove = '
    old, new = tmp_path / "old.toml", tmp_path / "new.toml"
    old.write_text(f"{head}22.0")
    new.write_text(f"{head}23.0")
    rates = ("rate_hz", "total_hz", "unique_hz", "overlap_hz", "decisions_hz")
    wide = Tolerances(quantities=dict.fromkeys(rates, Tolerance(percent=1e6)))
    (drift,) = gate(old, new, wide, tmp_path / "r.root").failed
    assert (drift.what, drift.quantity, drift.old, drift.new) == ("M", "differ_from_stored", 0, 1)
