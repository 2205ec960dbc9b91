"""Files of rules and their mistakes; what rules veto against brute force, crossing by crossing."""

from __future__ import annotations

from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from live_toys import causes_by_hand
from trigemu_live import Filling, every_slot, read_filling, read_rules, rule_names
from trigemu_live.filling import ORBIT
from trigemu_live.rules import Rule, Rules, apply_rules, veto_of

from trigemu import TrigemuError

ALL = """
[rules]
name = "all"
[[rule]]
simple = 4
name = "dead"
[[rule]]
at_most = 2
in = 25
[[rule]]
size = 7
rate = 415
[[rule]]
gap = [3490, 3564]
every = 100
"""


def test_every_rule(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(ALL)
    rules = read_rules(tmp_path / "r.toml")
    assert rules.text == "dead, 2 in 25, bucket 7 / 415, gap 3490–3564"


def test_named_sets_have_a_source() -> None:
    assert rule_names() == ["atlas", "cms"]
    assert all(read_rules(name).source for name in rule_names())
    assert read_rules("cms").text == "1 in 3, 2 in 25, 3 in 100, 4 in 240"
    assert read_rules("atlas").text == "simple 5, bucket 7 / 415"


@pytest.mark.parametrize(("text", "message"), [
    ("[[rule]]\nsize = 7\nrate = 0", "rate = 0: expected an integer >= 1"),
    ("[[rule]]\nsize = 7\nrate = 10000000000", "rate = 10000000000: expected an integer <= 1000000000"),
    ("[[rule]]\nsize = 7\nrate = inf", "rate"),
    ("[[rule]]\nsize = 7", "the key 'rate' is missing"),
    ("[[rule]]\nat_most = 0\nin = 3", "at_most"),
    ("[[rule]]\nat_most = 3\nin = 3", "never vetoes"),
    ("[[rule]]\ngap = [10, 3565]", "from 1 to 3564"),
    ("[[rule]]\ngap = []", "from 1 to 3564"),
    ("[[rule]]\nsimpel = 4", "r.toml:2: .*unknown key 'simpel'; did you mean 'simple'"),
    ("[[rule]]\nname = 'x'", "expected one of the keys simple, at_most"),
    ("[[rule]]\nsimple = 4\ngap = [1, 2]", "'simple' and 'gap' are rules of their own"),
    ("rule = [1]", "1: expected a table of name, simple"),
    ("[[rule]]\nsimple = 4\nrate = 4", "rate is a key of rules with 'size', not of those with 'simple'"),
    ("[[rule]]\nsimple = 4\n[[rule]]\nsimple = 4", "'simple 4' appears twice"),
    ("rule = 3", r"expected two brackets, \[\[rule\]\]"),
    ("[rule]\nsimple = 4", r"expected two brackets, \[\[rule\]\]"),
    ("[[rules]]\nsimple = 4", r"r.toml:1: \[\[rules\]\]: expected \[\[rule\]\] for each rule"),
    ("simple = 4", r"unknown key 'simple': expected \[\[rule\]\] above the keys of a rule"),
    ("[rulse]\n", "unknown key 'rulse'; did you mean 'rule"),
])  # fmt: skip
def test_mistakes(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "r.toml").write_text(text)
    with pytest.raises(TrigemuError, match=message):
        read_rules(tmp_path / "r.toml")


def test_unknown_names() -> None:
    with pytest.raises(TrigemuError, match=r"expected a file .* or one of atlas, cms; did you mean 'cms'"):
        read_rules("cmss")


FULL = every_slot(40e6)


def causes_of(rules: Rules, crossings: np.ndarray, filling: Filling = FULL) -> np.ndarray:
    return apply_rules(veto_of(rules, filling), crossings)


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


SOME_RULES = st.one_of(
    st.builds(lambda n: Rule(simple=n), st.integers(1, 12)),
    st.builds(lambda n, m: Rule(at_most=n, crossings=n + m), st.integers(1, 5), st.integers(1, 40)),
    st.builds(lambda n, m: Rule(size=n, rate=m), st.integers(1, 5), st.integers(1, 30)),
    st.builds(
        lambda n, m, e: Rule(gap=[n, n + m], every=e),
        st.integers(1, 60),
        st.integers(0, 9),
        st.integers(1, 3),
    ),
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(SOME_RULES, min_size=1, max_size=4),
    st.lists(st.integers(1, 12), min_size=1, max_size=120),
    st.sampled_from([0, ORBIT - 20]),
)
def test_every_rule_as_documented(rules: list, steps: list[int], first: int) -> None:
    crossings = (first + np.cumsum(steps)).astype(np.int64)
    filling = read_filling("5b 2e 30(4b 3e) 1b")
    of = Rules("", tuple(rules))
    assert causes_of(of, crossings, filling).tolist() == causes_by_hand(of, crossings.tolist(), filling)
