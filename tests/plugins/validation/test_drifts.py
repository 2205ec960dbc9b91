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
from result_toys import menus as hostile_menus, samples as hostile_samples
from toy_menus import as_toml, menus
from toys import memory_catalogue, threshold, toy_events
from trigemu_validation import Gate, Tolerance, Tolerances, TriggerTolerance, gate
from view_checks import check_frame, check_hepdata, check_html, check_texts

MENU = threshold("J", "jet[0].pt", 30.0) + threshold("G", "photon[0].pt", 12.0)


def gated(folder: Path, tolerances: Tolerances | None = None, new: str = MENU.replace("30", "31")) -> Gate:
    """A menu, and another one, by default with a threshold at 31 GeV."""
    both = [write(folder, name, text) for name, text in (("old", MENU), ("new", new))]
    return gate(*both, tolerances, catalogue=memory_catalogue({"a": toy_events(1, 2000)}))


@settings(max_examples=20)
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


@settings(max_examples=10)
@given(menus(), st.integers(0, 2**32), st.randoms(use_true_random=False))
def test_the_same_menu_passes(triggers: Triggers, seed: int, shuffle: Any) -> None:
    again = list(triggers)
    shuffle.shuffle(again)
    with tempfile.TemporaryDirectory() as folder:
        read = [write(Path(folder), name, as_toml(of, 40e6)) for name, of in (("A", triggers), ("B", again))]
        result = gate(*read, catalogue=memory_catalogue({"a": toy_events(seed, 60)}))
    assert result.failed == ()
    assert all(drift.difference == 0.0 for drift in result.drifts)


def test_any_limit_accepts(tmp_path: Path) -> None:
    drifts = gated(tmp_path).failed
    assert [(drift.what, drift.quantity) for drift in drifts] == [
        ("menu", "rate_hz"),
        *(("J", "total_hz"), ("J", "unique_hz"), ("G", "unique_hz"), ("J", "decisions_hz")),
        ("J & G", "overlap_hz"),
    ]
    assert drifts[1].percent == pytest.approx(100 * (drifts[1].new / drifts[1].old - 1))
    assert drifts[1].sigma == pytest.approx((drifts[1].new - drifts[1].old) / drifts[1].error)
    percent, sigma = (sorted(abs(getattr(drift, of)) for drift in drifts)[3] for of in ("percent", "sigma"))
    for limits in ({"percent": percent}, {"sigma": sigma}, {"percent": percent / 2, "sigma": sigma}):
        failed = gated(tmp_path, Tolerances(default=TriggerTolerance(**limits))).failed
        expected = [d for d in drifts if all(abs(getattr(d, of)) > most for of, most in limits.items())]
        assert [(d.what, d.quantity) for d in failed] == [(d.what, d.quantity) for d in expected], limits
        assert 0 < len(failed) < len(drifts)


def test_triggers_that_come_and_go(tmp_path: Path) -> None:
    widest = Tolerances(default=TriggerTolerance(percent=100.0))
    more = MENU + '[[trigger]]\nname = "K"\nkind = "threshold"\nobservable = "met"\nabove = 60.0\n'
    less = MENU[: MENU.index('[[trigger]]\nname = "G"')]
    for new, name, quantity in ((less, "G", "removed"), (more, "K", "added")):
        (drift,) = gated(tmp_path, widest, new).failed
        assert (drift.what, drift.quantity) == (name, quantity)
        allowed = Tolerances(default=widest.default, triggers={name: TriggerTolerance(**{quantity: True})})
        assert gated(tmp_path, allowed, new).failed == ()


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


def test_what_it_shows_of_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # it names both files, and shall fit on a line
    result = gate(*hostile_menus(Path()), catalogue=hostile_samples())
    check_texts(result)
    check_html(result)
    check_hepdata(result, tmp_path)
    keys = ("quantity", "old", "new", "accepted")
    rows = [
        {key: drift[key] for key in keys} | {"what": " & ".join(drift["triggers"]) or "menu"}
        for drift in result.to_dict()["drifts"]
    ]
    check_frame(result, rows)
