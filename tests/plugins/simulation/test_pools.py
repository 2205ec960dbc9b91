from __future__ import annotations

import math
from pathlib import Path

import generate_toys as toys
import numpy as np
import pytest
from msgspec.structs import replace
from trigemu_simulation import Slice, interactions, overlay, pools
from trigemu_simulation.interactions import Objects
from trigemu_simulation.overlay import Drawn, merge


@pytest.mark.parametrize("mu", [[12.8, 0.16, 1.6e-3, 3.2e-5], [0.5], [60.0, 0.7], [1e-9, 1e-12]])
def test_classes_add_up_to_the_crossing_rate(mu: list[float]) -> None:
    rates = pools.class_rates(np.array(mu), 40e6)
    assert math.fsum(rates) == pytest.approx(40e6, rel=1e-15)
    for c in range(1, len(mu)):
        none_higher = math.exp(-sum(mu[c + 1 :]))
        assert rates[c] == pytest.approx(-40e6 * math.expm1(-mu[c]) * none_higher)
    assert rates[0] == pytest.approx(40e6 * math.exp(-sum(mu[1:])))


@pytest.mark.parametrize("mu", [0.0, 0.5, 60.0])
def test_poisson_numbers(mu: float) -> None:
    u = (np.arange(200_000) + 0.5) / 200_000
    k = pools.poisson(mu, u)
    assert k.mean() == pytest.approx(mu, rel=2e-3, abs=1e-5)
    assert k.var() == pytest.approx(mu, rel=1e-2, abs=1e-5)
    positive = pools.poisson(mu, u, at_least_one=True)
    assert positive.min() >= 1
    expected = mu / -math.expm1(-mu) if mu else 1.0
    assert positive.mean() == pytest.approx(expected, rel=2e-3)


def test_draws_follow_the_weights() -> None:
    weight = np.array([1.0, 0.0, 2.0, 5.0])
    pool = toys.pool("a", 0, toys.interactions([[]] * 4, weight))
    assert pool.weight.mean() == 1.0
    rows = pool.draw((np.arange(8000) + 0.5) / 8000)
    assert np.bincount(rows).tolist() == [1000, 0, 2000, 5000]
    assert pool.draw(np.array([1 - 2**-53])).tolist() == [3]


def test_a_deck_has_each_interaction_once_a_turn() -> None:
    pool = toys.pool("a", 0, toys.interactions([[]] * 500))
    deck = pool.deck(3, seed=1)
    for turn in range(3):
        assert np.array_equal(np.sort(deck[500 * turn : 500 * turn + 500]), np.arange(500))
    assert not np.array_equal(deck[:500], deck[500:1000])
    assert abs(np.corrcoef(deck[:500], np.arange(500))[0, 1]) < 0.2


def test_what_other_slices_have_is_left_out() -> None:
    rows = toys.interactions([[50.0], [3050.0], []], np.array([1.0, 2.0, 1.0]), photon=[[20], [20], [20]])
    pool = toys.pool("a", 0, rows, 8e9, photons=False, jet_excess_max=40.0)
    assert len(pool) == 2
    assert pool.cross_section_pb == pytest.approx(4e9)
    assert pool.rows.objects["photon"].counts.tolist() == [0, 0]
    assert len(pool.rows.objects["photon"].columns["pt"]) == 0
    assert len(toys.pool("a", 0, rows)) == 3


def test_ids_are_unique_over_slices() -> None:
    rows = toys.interactions([[]] * 5)
    ids = [toys.pool("a", k, rows).ids(np.arange(5)) for k in (0, 1, 254)]
    assert len(np.unique(ids)) == 15


def test_rounding_is_below_the_resolution() -> None:
    pt = np.geomspace(8, 500, 300)
    pool = toys.pool("a", 0, toys.interactions([[p] for p in pt]))
    assert np.abs(pool.rows.objects["jet"].columns["pt"] / pt - 1).max() < 0.002


def test_a_class_of_muons_has_none_that_come_without_drawn_decays(tmp_path: Path) -> None:
    """Of interactions with muons from hadrons, those with two in all drawn decays are left out: they are
    those of a J/ψ that was made directly, which is a process of its own."""
    rows = toys.interactions(
        [[]] * 5, np.array([1.0, 0.7, 0.3, 0.01, 1.0]), muon=[[], [], [9.0], [8.0, 5.0], [7.0, 6.0]]
    )
    rows.objects["muon"].columns["origin"][:] = 1
    soft = Slice(name="soft", description="", settings=("x",), blocks=1, decays=100)
    rows.scalars["pt_hat"][:] = [3, 3, 3, 15, 3]
    muons = Slice(name="muons", description="", muons_of="soft")
    softer = Slice(name="softer", description="", muons_of="soft", pt_hat_max=10.0)
    config = replace(toys.config([toys.pool("soft", 0, rows)], 1.0), slices=(soft, muons, softer))
    summary = interactions.Summary(4, 1e9, 4.0)
    (tmp_path / "soft").mkdir()
    (tmp_path / "soft/00000.npz").write_bytes(interactions.packed(interactions.Block(summary, rows), "key"))
    without, with_muons, soft_muons = (pools.load(config, number, tmp_path) for number in range(3))
    assert [*without.rows.objects["muon"].counts] == [0] * len(without)
    assert with_muons.rows.objects["muon"].counts.tolist() == [1, 2]
    assert with_muons.rows.scalars["weight"].tolist() == [0.3, 0.01]
    assert with_muons.cross_section_pb == pytest.approx(1e9 * 0.31 / 4)
    assert without.cross_section_pb == pytest.approx(1e9 * 1.7 / 4)
    assert soft_muons.rows.scalars["weight"].tolist() == [0.3]
    assert soft_muons.cross_section_pb == pytest.approx(1e9 * 0.3 / 4)


def test_objects_and_sums_of_each_crossing() -> None:
    """Random interactions in random crossings, against loops over lists."""
    rng = np.random.default_rng(1)
    a = toys.pool("a", 0, toys.soft_rows(50, rate=2.0))
    b = toys.pool("b", 1, toys.hard_rows(30))
    for pool in (a, b):
        for name in ("invisible_x", "soft_et"):
            pool.rows.scalars[name][:] = rng.uniform(1, 9, len(pool))
    n, drawn = 20, []
    for pool, own in ((a, False), (b, True)):
        counts = rng.integers(0, 5, n)
        rows = rng.integers(0, len(pool), counts.sum())
        drawn.append(Drawn(pool, np.repeat(np.arange(n), counts), rows, own))
    output = overlay.overlay(drawn, n)
    jets = output.objects["jet"]
    ends = np.cumsum(jets.counts)
    for i in range(n):
        expected, invisible, number = [], 0.0, 0
        for d in drawn:
            for row in d.rows[d.crossing == i]:
                number += 1
                invisible += d.pool.rows.scalars["invisible_x"][row]
                first, stop = d.pool.offsets["jet"][row : row + 2]
                for pt in d.pool.rows.objects["jet"].columns["pt"][first:stop]:
                    expected.append((pt, int(d.pool.ids(np.array([row]))[0]), d.own))
        mine = slice(ends[i] - jets.counts[i], ends[i])
        result = list(zip(*(jets.columns[c][mine].tolist() for c in ("pt", "source", "own")), strict=True))
        assert sorted(result) == sorted(expected)
        assert (np.diff(jets.columns["pt"][mine]) <= 0).all()
        assert output.interactions[i] == number
        assert output.sums["invisible_x"][i] == pytest.approx(invisible)
    assert set(output.objects["muon"].columns) >= {"charge", "source"}


Jet = tuple[float, float, float, int]


def jets_of(events: list[list[Jet]]) -> Objects:
    flat = np.array([jet for event in events for jet in event])
    columns = dict(zip(("pt", "eta", "phi"), flat.T[:3].astype(np.float32), strict=True))
    return Objects(np.array([len(e) for e in events]), columns | {"source": flat[:, 3].astype(np.uint64)})


def slowly(jets: list[Jet]) -> list[float]:
    """The pT of merged jets, by the definition."""
    left, done = [list(jet) for jet in jets], []
    while left:
        first, *left = left
        remaining = []
        for other in left:
            dphi = math.remainder(other[2] - first[2], 2 * math.pi)
            if other[3] != first[3] and math.hypot(other[1] - first[1], dphi) < 0.4:
                share = other[0] / (first[0] + other[0])
                first[1] += share * (other[1] - first[1])
                first[2] += share * dphi
                first[0] += other[0]
            else:
                remaining.append(other)
        left = remaining
        done.append(first[0])
    return sorted(done, reverse=True)


def test_merged_jets_agree_with_the_definition() -> None:
    rng = np.random.default_rng(1)
    events = []
    for _ in range(300):
        pt = np.sort(rng.exponential(20, 6) + 8)[::-1]
        angles = rng.uniform(-0.6, 0.6, (2, 6))
        angles[1] = np.where(rng.random(6) < 0.5, angles[1], np.pi - np.abs(angles[1]))
        events.append(list(zip(pt, *angles, rng.integers(0, 3, 6), strict=True)))
    merged = merge(jets_of(events))
    assert merged.counts.sum() < 1700
    ends = np.cumsum(merged.counts)
    for event, end, count in zip(events, ends, merged.counts, strict=True):
        assert merged.columns["pt"][end - count : end] == pytest.approx(slowly(event), rel=1e-5)


def test_jets_of_one_interaction_stay_apart() -> None:
    merged = merge(
        jets_of([[(30.0, 0.0, 0.0, 1), (20.0, 0.3, 0.0, 1)], [(30.0, 0.0, 3.1, 1), (20.0, 0.0, -3.1, 2)]])
    )
    assert merged.counts.tolist() == [2, 1]
    assert merged.columns["pt"][2] == pytest.approx(50.0)
    assert abs(merged.columns["phi"][2]) > 3.1
