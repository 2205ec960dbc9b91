"""The rates of a menu with polars: objects of all events as rows, joined by the number of the event."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
from patterns import Patterns

PT = pl.col("pt")
ETA = pl.col("eta")
PHI = pl.col("phi")


def delta_phi(a: pl.Expr, b: pl.Expr) -> pl.Expr:
    apart = (a - b).abs()
    return pl.min_horizontal(apart, 2 * math.pi - apart)


def delta_r() -> pl.Expr:
    """Return the distance of the objects of a pair."""
    return ((ETA - pl.col("eta_b")) ** 2 + delta_phi(PHI, pl.col("phi_b")) ** 2).sqrt()


def objects(events: pl.LazyFrame, name: str) -> pl.LazyFrame:
    """Return a row for each object of a collection, numbered, with the number of its event."""
    rows = events.select("event", name).explode(name).drop_nulls(name).unnest(name)
    return rows.with_columns(pl.col("pt", "eta", "phi").cast(pl.Float64)).with_row_index("number")


def selected(events: pl.LazyFrame, above: float = 20) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Return the photons of the menus, and their jets from a pT on."""
    photons = objects(events, "photon").filter(PT >= 10)
    jets = objects(events, "jet").filter(pl.lit(above) <= PT)
    close = jets.join(photons, on="event", suffix="_b").filter(delta_r() < 0.4)
    return jets.join(close, on="number", how="anti"), photons


def primary(events: pl.LazyFrame) -> list[pl.LazyFrame]:
    jets, photons = selected(events)
    return [jets.filter(PT > 100), photons.filter(PT > 30)]


def by_hand(events: pl.LazyFrame) -> list[pl.LazyFrame]:
    """Decide the primary menu, with overlap removal only of jets above the threshold."""
    jets, photons = selected(events, 100)
    return [jets.filter(PT > 100), photons.filter(PT > 30)]


def in_order(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return a row for each event, with the lists of its objects in descending pT."""
    return rows.group_by("event").agg(pl.col("pt", "eta", "phi").sort_by("number"))


def pt_of(number: int) -> pl.Expr:
    return PT.list.get(number, null_on_oob=True)


def pairs(a: pl.LazyFrame, b: pl.LazyFrame) -> pl.LazyFrame:
    return a.join(b, on="event", suffix="_b")


def mass() -> pl.Expr:
    apart = (ETA - pl.col("eta_b")).cosh() - (PHI - pl.col("phi_b")).cos()
    return (2 * PT * pl.col("pt_b") * apart).clip(0).sqrt()


def full(events: pl.LazyFrame) -> list[pl.LazyFrame]:
    jets, photons = selected(events)
    electrons, muons = objects(events, "electron"), objects(events, "muon")
    central = jets.filter(ETA.abs() <= 2.4)
    jet, photon, electron, muon = map(in_order, (jets, photons, electrons, muons))
    j40, g12 = jets.filter(PT >= 40), photons.filter(PT >= 12)
    mu4, mu5 = muons.filter(PT > 4), muons.filter(PT >= 5)
    both = pl.concat([jets.select("event", "pt"), photons.select("event", "pt")])
    two = photons.filter(pl.len().over("event") >= 2)
    first, second = (two.filter(pl.col("number").rank("ordinal").over("event") == rank) for rank in (1, 2))
    mht = jets.group_by("event").agg(x=(PT * PHI.cos()).sum(), y=(PT * PHI.sin()).sum())
    with_met = jet.join(events.select("event", "met", "met_phi"), on="event")
    from_met = delta_phi(PHI.list.first(), pl.col("met_phi").cast(pl.Float64))
    j100, mu14 = jet.filter(pt_of(0) > 100), muon.filter(pt_of(0) > 14)
    ht220 = both.group_by("event").agg(PT.sum()).filter(PT > 220)
    mu6_j40 = pairs(muons.filter(PT >= 6), central.filter(PT >= 40)).filter(delta_r() <= 0.5)
    seeds = pl.concat([mu14.select("event"), mu6_j40.select("event")])
    two_central = central.group_by("event").len().filter(pl.col("len") > 1)
    return [
        *(jet.filter(pt_of(0) > threshold) for threshold in (40, 60, 80)),
        j100,
        *(jet.filter(pt_of(n) > threshold) for n, threshold in ((1, 70), (2, 50), (3, 35))),
        jets.filter((ETA.abs() >= 3) & (PT > 70)),
        pairs(j40, j40).filter(((ETA - pl.col("eta_b")).abs() >= 3) & (mass() >= 600)),
        photon.filter(pt_of(0) > 15),
        photon.filter(pt_of(0) > 30),
        photon.filter(pt_of(1) > 10),
        pairs(first, second).filter((pl.col("pt_b") > 15) & (mass() > 30)),
        pairs(photons.filter(PT >= 20), central.filter(PT >= 30)).filter(delta_r() >= 1),
        electron.filter(pt_of(0) > 22),
        electron.filter(pt_of(1) > 10),
        pairs(electrons.filter(PT >= 12), g12).filter(delta_r() >= 0.4),
        muon.filter(pt_of(0) > 4),
        mu14,
        muon.filter(pt_of(1) > 4),
        pairs(mu4, mu4).filter((pl.col("charge") * pl.col("charge_b") < 0) & mass().is_between(7, 18)),
        mu6_j40,
        pairs(mu5, g12),
        pairs(mu5, electrons.filter(PT >= 10)),
        ht220,
        mht.filter((pl.col("x") ** 2 + pl.col("y") ** 2).sqrt() > 80),
        events.filter(pl.col("met") > 100),
        with_met.filter((pl.col("met") > 60) & (pt_of(0) > 50) & (from_met > 1)),
        j100.join(ht220, on="event", how="anti"),
        two_central.join(seeds, on="event", how="semi"),
    ]


DECISIONS = {"primary": primary, "by_hand": by_hand, "full": full}


def patterns(path: Path, menu: str, threads: int) -> Patterns:
    """Count the patterns in a Parquet file. polars has a thread for each core of the process."""
    events = pl.scan_parquet(path).with_row_index("event")
    bits = [
        rows.select("event", bit=pl.lit(1 << number, pl.Int64)).unique()
        for number, rows in enumerate(DECISIONS[menu](events))
    ]
    fired = pl.concat(bits).group_by("event").agg(pl.col("bit").sum())
    counted = (
        events.select("event", "weight")
        .join(fired, on="event", how="left")
        .group_by(pl.col("bit").fill_null(0))
        .agg(pl.col("weight").sum())
        .collect(engine="streaming")
    )
    return dict(counted.rows())
