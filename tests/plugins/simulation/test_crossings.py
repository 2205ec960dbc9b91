from __future__ import annotations

import math

import generate_toys as toys
import numpy as np
import pytest
from trigemu_simulation import Config, crossings
from trigemu_simulation.config import Fakes
from trigemu_simulation.crossings import recipe
from trigemu_simulation.interactions import Columns
from trigemu_simulation.pools import Pool
from trigemu_simulation.write import Normalisation

FAKES = Fakes(probability=0.3, power=-0.5)


def made(config: Config, pools: list[Pool], pool: Pool) -> tuple[Columns, np.ndarray, Normalisation]:
    """The crossings of a class, their weights in Hz as trigemu reads them, and the normalisation."""
    events, norm = crossings.make(recipe(config, pools, pool))
    weight = events.scalars["genWeight"].astype(float)
    return events, weight * (norm.rate_hz or 1.0) / norm.sumw, norm


def leading(events: Columns, kind: str = "jet") -> np.ndarray:
    """float64[n]: pT of the hardest object, 0 without any."""
    objects, pt = events.objects[kind], np.zeros(len(events.objects[kind].counts))
    np.maximum.at(pt, np.repeat(np.arange(len(pt)), objects.counts), objects.columns["pt"])
    return pt


def rate(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[float, float]:
    """Hz and its error, from weights and decisions of each class."""
    chosen = np.concatenate([w[d] for w, d in parts])
    return float(chosen.sum()), float(np.sqrt((chosen**2).sum()))


def soft_and_hard(n: int, hard_pb: float = 7e8) -> list[Pool]:
    """In the proportion of nature, if not with another cross-section of the hard ones."""
    soft = toys.pool("soft", 0, toys.soft_rows(n), 5.6e10, uses=3)
    return [soft, toys.pool("hard", 1, toys.hard_rows(6000, muons=True), hard_pb, uses=2)]


@pytest.fixture(scope="module")
def pair() -> list[Pool]:
    return soft_and_hard(20_000)


@pytest.fixture(scope="module")
def dense() -> list[Pool]:
    """One hard interaction in eight."""
    return soft_and_hard(20_000, 7e9)


@pytest.fixture(scope="module")
def many() -> list[Pool]:
    return soft_and_hard(60_000)


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.5, 13.0, 60.0])
def test_rate_of_one_hard_interaction_is_sigma_times_luminosity(many: list[Pool], mu: float) -> None:
    """A muon above 100 GeV, that only hard interactions have, at any pile-up; and µ is the mean number."""
    config = toys.config(many, mu, FAKES, photon_weight_hz=5.0, quiet_weight_hz=1e3)
    hard = many[1]
    passing = hard.rows.objects["muon"].columns["pt"] > 100
    sigma = hard.cross_section_pb * np.average(passing, weights=hard.weight)
    per_second = sigma * 1e-36 * config.luminosity_cm2s
    everything = [made(config, many, pool) for pool in many]
    hz, error = rate([(w, leading(e, "muon") > 100) for e, w, _ in everything])
    assert error < 0.1 * hz
    # two such interactions in one crossing fire once: a difference below the error but at the highest µ
    expected = -40e6 * math.expm1(-per_second / 40e6)
    assert expected == pytest.approx(per_second, rel=0.003)
    assert hz == pytest.approx(expected, abs=3 * error)
    number = np.concatenate([e.scalars["nInteraction"] for e, _, _ in everything])
    weight = np.concatenate([w for _, w, _ in everything])
    total = mu * (1 + hard.cross_section_pb / many[0].cross_section_pb)
    spread = np.sqrt((weight**2 * (number - total) ** 2).sum()) / weight.sum()
    assert np.average(number, weights=weight) == pytest.approx(total, abs=4 * spread)
    assert math.fsum(weight) == pytest.approx(40e6, rel=1e-9)


def test_weights_of_a_class_add_up_to_its_rate(pair: list[Pool]) -> None:
    config = toys.config(pair, 13.0, FAKES, photon_weight_hz=5.0, quiet_weight_hz=1e4)
    total = 0.0
    for pool in pair:
        events, weight, norm = made(config, pair, pool)
        assert norm.rate_hz is not None
        assert math.fsum(weight) == pytest.approx(norm.rate_hz, rel=1e-12)
        assert weight.min() > 0
        # rows are in random order: the first ones are like all, with fakes and without
        photons = events.objects["photon"].counts > 0
        assert photons[: len(photons) // 4].mean() == pytest.approx(photons.mean(), rel=0.3)
        assert events.scalars["event"].tolist() == list(range(len(weight)))
        total += norm.rate_hz
    assert total == pytest.approx(40e6, rel=1e-14)


@pytest.mark.slow
def test_bias_and_thinning_do_not_move_rates(many: list[Pool]) -> None:
    """Boosted fakes and crossings kept by chance give the rates of plain simulation, with fewer crossings."""
    model = {"busy_fraction": 0.05, "busy_factor": 8.0, "fakes_max": 0.1}
    tiny = 1e-12
    plain = dict.fromkeys((*toys.WEIGHTS, "quiet_weight_hz"), tiny)
    biased = dict.fromkeys(toys.WEIGHTS, 50.0) | {"quiet_weight_hz": 1e4, "multiple_boost": 3.0}
    result, stored = [], []
    for settings in (plain, biased):
        config = toys.config(many, 13.0, Fakes(probability=2.0, electrons=0.5), **(model | settings))
        everything = [made(config, many, pool) for pool in many]
        selections = [
            [(w, e.objects["photon"].counts >= 1) for e, w, _ in everything],
            [(w, e.objects["photon"].counts >= 2) for e, w, _ in everything],
            [(w, e.objects["electron"].counts >= 1) for e, w, _ in everything],
            [(w, leading(e, "photon") > 20) for e, w, _ in everything],
            [(w, leading(e) > 60) for e, w, _ in everything],
            [(w, e.scalars["nInteraction"] > 16) for e, w, _ in everything],
        ]
        result.append([rate(s) for s in selections])
        stored.append(sum(len(w) for _, w, _ in everything))
    for (a, da), (b, db) in zip(*result, strict=True):
        assert a == pytest.approx(b, abs=3.5 * math.hypot(da, db))
    assert stored[1] < stored[0] / 1.15


def test_crossings_do_not_depend_on_chunks(pair: list[Pool], monkeypatch: pytest.MonkeyPatch) -> None:
    config = toys.config(pair, 13.0, FAKES, photon_weight_hz=5.0, quiet_weight_hz=1e3)
    first = [made(config, pair, pool) for pool in pair]
    monkeypatch.setattr(crossings, "CHUNK", 777)
    for (events, _, norm), pool in zip(first, pair, strict=True):
        again, _, norm2 = made(config, pair, pool)
        assert norm2.sumw == pytest.approx(norm.sumw, rel=1e-15)
        for name, column in events.scalars.items():
            assert np.array_equal(column, again.scalars[name]), name
        for kind, objects in events.objects.items():
            assert np.array_equal(objects.counts, again.objects[kind].counts)
            for name, column in objects.columns.items():
                assert np.array_equal(column, again.objects[kind].columns[name]), name


def test_parent_is_the_interaction_that_matters() -> None:
    soft = toys.pool("soft", 0, toys.interactions([[9.0], [25.0], []]), uses=3)
    hard = toys.pool("hard", 1, toys.interactions([[40.0]]), 1e7)
    config = toys.config([soft, hard], 1.0, Fakes(probability=5.0))
    case = recipe(config, [soft, hard], hard)
    events, _ = crossings.make(case)
    assert (events.scalars["parent"] == 1 << 56).all()
    rows = toys.interactions([[9.0], [25.0], []] * 4000)
    soft = toys.pool("soft", 0, rows, uses=3)
    config = toys.config([soft], 1.0, Fakes(probability=0.5, softness=0.01))
    events, _ = crossings.make(recipe(config, [soft], soft))
    kind = (events.scalars["parent"] % np.uint64(3)).astype(int)
    from_pool = events.scalars["parent"] < 1 << 56
    empty = events.scalars["nInteraction"] == 0
    assert (from_pool == ~empty).all()
    _, copies = np.unique(events.scalars["parent"][empty], return_counts=True)
    assert len(copies) > 100
    assert copies.max() <= len(crossings.COPIES)
    jet, photon = leading(events), leading(events, "photon")
    one = events.scalars["nInteraction"] == 1
    assert (kind[one & (jet > 0)] == 1).all()
    assert (kind[from_pool & (jet == 0) & (photon > 0)] != 2).all()
    assert (kind[one & (photon > 20)] == 1).all()
    assert (kind[one & (photon == 0) & (jet > 20)] == 1).all()
    assert (one & (kind == 2)).sum() > 50


def test_parent_is_the_interaction_with_the_leading_muon() -> None:
    """Whatever its class; so crossings of a higher class that share a muon are not taken for independent."""
    soft = toys.pool("soft", 0, toys.interactions([[]] * 50), uses=3)
    muons = toys.pool("muons", 1, toys.interactions([[]] * 3, muon=[[12.0], [9.0], [6.0, 5.0]]), 4e9)
    hard = toys.pool("hard", 2, toys.interactions([[90.0]] * 4000), 1e7)
    pools = [soft, muons, hard]
    config = toys.config(pools, 10.0)
    events, _ = crossings.make(recipe(config, pools, hard))
    lead = leading(events, "muon")
    source = events.scalars["parent"] >> np.uint64(56)
    own = events.scalars["parent"] & np.uint64(2**56 - 1)
    assert (source[lead == 0] == 2).all()
    for number, pt in enumerate((12, 9, 6)):
        mine = np.round(lead) == pt
        assert mine.sum() > 100
        assert (source[mine] == 1).all()
        assert (own[mine] == number).all()


def test_signal_crossings(pair: list[Pool]) -> None:
    """One signal interaction each, pile-up beneath; what has too few photons is counted, not stored."""
    rng = np.random.default_rng(1)
    photons = [[30.0, 20.0] if x < 0.3 else [30.0] for x in rng.random(2000)]
    weight = rng.uniform(0.5, 2.0, 2000)
    rows = toys.interactions([[]] * 2000, weight, photon=photons)
    signal = toys.pool("yy", 2, rows, 1600.0, role="signal", photons_min=2)
    config = toys.config(pair, 13.0)
    events, norm = crossings.make(recipe(config, pair, signal))
    assert norm.rate_hz is None
    assert norm.cross_section_pb == 1600.0
    assert norm.sumw == pytest.approx(2000, rel=1e-9)
    two = np.array([len(p) == 2 for p in photons])
    stored = events.scalars["parent"] & np.uint64(2**56 - 1)
    assert sorted(stored.tolist()) == np.flatnonzero(two).tolist()
    assert events.scalars["event"].tolist() == list(range(two.sum()))
    remaining = events.scalars["genWeight"].astype(float).sum() / norm.sumw
    assert remaining == pytest.approx(weight[two].sum() / weight.sum(), rel=1e-3)
    assert events.scalars["nInteraction"].mean() == pytest.approx(14.2, abs=0.6)


def test_true_photons_are_not_weighted_up(pair: list[Pool]) -> None:
    rows = toys.interactions([[30.0]] * 500, photon=[[25.0]] * 500)
    photon = toys.pool("photon", 2, rows, 7e6, uses=1)
    config = toys.config([*pair, photon], 13.0, FAKES, photon_weight_hz=0.01)
    events, weight, _ = made(config, [*pair, photon], photon)
    assert (events.objects["photon"].columns["fake"] == 0).sum() >= len(weight)
    alone = weight[(events.objects["photon"].counts == 1) & (events.scalars["MET_pt"] < 1)]
    common = alone[alone > 10]  # not the copies in which missing momentum fluctuates much
    assert common.max() < 1.3 * common.mean()


def test_how_often_an_interaction_is_used(dense: list[Pool]) -> None:
    config = toys.config(dense, 13.0)
    for pool in dense:
        case = recipe(config, dense, pool)
        drawn, _ = crossings.contents(case, 0, case.n)
        uses = np.bincount(drawn[0].rows, minlength=len(pool))
        assert uses.max() == pool.part.uses
        if pool is dense[1]:
            assert uses.min() == pool.part.uses
        else:
            assert uses.sum() > 0.98 * pool.part.uses * len(pool)


def test_composition_of_each_class(dense: list[Pool]) -> None:
    """Own interactions: Poisson given one; lower ones: Poisson; and the means are right once weighted."""
    mu = 13.0
    config = toys.config(dense, mu)
    case = recipe(config, dense, dense[1])
    drawn, weight = crossings.contents(case, 0, case.n)
    own = sum(np.bincount(d.crossing, minlength=case.n) for d in drawn if d.own)
    lower = sum(np.bincount(d.crossing, minlength=case.n) for d in drawn if not d.own)
    hard = mu / 8
    assert own.min() == 1
    error = 5 / np.sqrt(case.n)
    assert own.mean() == pytest.approx(hard / -math.expm1(-hard), rel=error)
    assert lower.mean() == pytest.approx(mu, rel=error)
    assert weight.mean() == pytest.approx(1.0, abs=5 * weight.std() / np.sqrt(case.n))


def test_weights_of_several_biased_interactions(dense: list[Pool]) -> None:
    """The weighted number of interactions above any p̂T is that of independent ones, and no weight exceeds
    what the number of interactions explains."""
    hard = dense[1]
    mu = 13.0
    case = recipe(toys.config(dense, mu), dense, hard)
    drawn, weight = crossings.contents(case, 0, case.n)
    lead = hard.rows.objects["jet"].columns["pt"][hard.offsets["jet"][:-1]]
    for threshold in (40, 80, 150):
        each = sum(np.bincount(d.crossing, lead[d.rows] > threshold, case.n) for d in drawn if d.own)
        expected = np.average(lead > threshold, weights=hard.weight) * mu / 8 / -math.expm1(-mu / 8)
        error = np.std(weight * each) / np.sqrt(case.n)
        assert np.mean(weight * each) == pytest.approx(expected, abs=4 * error)
        assert error < 0.05 * expected
