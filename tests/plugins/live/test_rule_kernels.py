"""Rules against brute force, crossing by crossing."""

from __future__ import annotations

from collections import deque
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from trigemu_live import Filling, every_slot, read_filling, read_rules
from trigemu_live.filling import ORBIT
from trigemu_live.rules import Rule, Rules, apply_rules, new_state, rule_table

FULL = every_slot(40e6)


def causes_of(rules: Rules, crossings: np.ndarray, filling: Filling = FULL) -> np.ndarray:
    table, n = rule_table(rules, filling), len(crossings)
    causes, blocker, live = (np.zeros(size, np.int64) for size in (n, n, 2 * n))
    apply_rules(table, new_state(table), crossings, np.zeros(n, np.bool_), causes, blocker, live)
    return causes


@numba.njit
def brute_windows(fires, at_most, length):  # type: ignore[no-untyped-def]
    """The first window that vetoes, of every crossing: all accepts in it are counted again. Crossings that do
    not fire are looked at as well."""
    accepted = np.zeros(len(fires), np.bool_)
    causes = np.full(len(fires), -2)
    for x in range(len(fires)):
        if not fires[x]:
            continue
        causes[x] = -1
        for w in range(len(at_most)):
            inside = 0
            for y in range(max(0, x - length[w] + 1), x):
                inside += accepted[y]
            if inside >= at_most[w]:
                causes[x] = w
                break
        accepted[x] = causes[x] == -1
    return causes


@pytest.mark.parametrize("share", [0.0025, 0.02])
def test_windows_of_cms_over_ten_million_crossings(share: float) -> None:
    fires = np.random.default_rng(5).random(10_000_000) < share
    expected = brute_windows(fires, np.array([1, 2, 3, 4]), np.array([3, 25, 100, 240]))
    found = causes_of(read_rules("cms"), np.flatnonzero(fires))
    assert np.array_equal(found, expected[fires])
    assert (np.bincount(found + 1, minlength=5) > 0).all()


def brute(rules: Any, crossings: list[int], filling: Filling) -> list[int]:
    """The rules as their documentation has them, in Python: accepts in a list, buckets as queues."""
    accepts: list[int] = []
    queues: dict[int, deque[int]] = {n: deque() for n in range(len(rules.rules))}
    causes = []
    for x in crossings:
        cause = -1
        for n, rule in enumerate(rules.rules):
            slot, orbit = x % ORBIT, x // ORBIT
            while queues[n] and queues[n][0] <= x:
                queues[n].popleft()
            match rule.kind:
                case "simple":
                    veto = any(x - rule.simple <= a for a in accepts)
                case "at_most":
                    veto = sum(a > x - rule.crossings for a in accepts) >= rule.at_most
                case "places":
                    veto = sum(x < a + rule.latency for a in accepts) >= rule.places
                case "size":
                    veto = len(queues[n]) >= rule.size
                case "gap":
                    veto = rule.gap[0] <= slot + 1 <= rule.gap[1] and orbit % (rule.every or 1) == 0
                case "first_bunches":
                    before = range(1, rule.first_bunches + 1)
                    veto = filling.filled[slot] and any(
                        not filling.filled[(slot - k) % ORBIT] for k in before
                    )
                case _:
                    veto = not filling.filled[slot]
            if veto:
                cause = n
                break
        causes.append(cause)
        if cause < 0:
            accepts.append(x)
            for n, rule in enumerate(rules.rules):
                if rule.size:
                    start = max(x, queues[n][-1]) if queues[n] else x
                    queues[n].append(start + rule.rate)
    return causes


RULES = st.one_of(
    st.builds(lambda n: Rule(simple=n), st.integers(1, 12)),
    st.builds(lambda n, m: Rule(at_most=n, crossings=n + m), st.integers(1, 5), st.integers(1, 40)),
    st.builds(lambda n, m: Rule(places=n, latency=n + m), st.integers(1, 5), st.integers(1, 40)),
    st.builds(lambda n, m: Rule(size=n, rate=m), st.integers(1, 5), st.integers(1, 30)),
    st.builds(
        lambda n, m, e: Rule(gap=[n, n + m], every=e),
        st.integers(1, 60),
        st.integers(0, 9),
        st.integers(1, 3),
    ),
    st.builds(lambda n: Rule(first_bunches=n), st.integers(1, 3)),
    st.just(Rule(unfilled=True)),
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(RULES, min_size=1, max_size=4),
    st.lists(st.integers(1, 12), min_size=1, max_size=120),
    st.sampled_from([0, ORBIT - 20]),
)
def test_every_rule_as_documented(rules: list, steps: list[int], first: int) -> None:
    crossings = (first + np.cumsum(steps)).astype(np.int64)
    filling = read_filling("5b 2e 30(4b 3e) 1b")
    of = Rules("", tuple(rules))
    assert causes_of(of, crossings, filling).tolist() == brute(of, crossings.tolist(), filling)
