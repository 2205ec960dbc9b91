"""The rates of a menu with DuckDB: one query on lists of structs in Parquet."""

from __future__ import annotations

from pathlib import Path

import duckdb
from patterns import Patterns

SELECTED = """
CREATE MACRO delta_phi(a, b) AS least(abs(a - b), 2 * pi() - abs(a - b));
CREATE MACRO delta_r(a, b) AS
    sqrt(pow(a.eta::DOUBLE - b.eta::DOUBLE, 2) + pow(delta_phi(a.phi::DOUBLE, b.phi::DOUBLE), 2));
CREATE MACRO pt_of(objects, number) AS coalesce(objects[number].pt, 0);
CREATE MACRO has(objects) AS coalesce(len(objects), 0) > 0;
CREATE VIEW photons AS
SELECT * REPLACE (list_filter(photon, lambda p: p.pt >= 10) AS photon) FROM '{path}';
CREATE VIEW selected AS
SELECT * REPLACE (list_filter(jet, lambda j: j.pt >= 20
    AND len(list_filter(photon, lambda p: delta_r(j, p) < 0.4)) = 0) AS jet) FROM photons;
"""

PRIMARY = """
SELECT bits, sum(weight) FROM (
    SELECT weight, (pt_of(jet, 1) > 100)::INT + 2 * (pt_of(photon, 1) > 30)::INT AS bits FROM selected
) GROUP BY bits
"""

BY_HAND = """
SELECT bits, sum(weight) FROM (
    SELECT weight, has(list_filter(list_filter(jet, lambda j: j.pt > 100),
        lambda j: len(list_filter(photon, lambda p: delta_r(j, p) < 0.4)) = 0))::INT
        + 2 * (pt_of(photon, 1) > 30)::INT AS bits FROM photons
) GROUP BY bits
"""

FULL = """
CREATE MACRO mass(a, b) AS sqrt(greatest(0, 2 * a.pt::DOUBLE * b.pt::DOUBLE
    * (cosh(a.eta::DOUBLE - b.eta::DOUBLE) - cos(a.phi::DOUBLE - b.phi::DOUBLE))));
CREATE VIEW decided AS
SELECT weight,
    pt_of(jet, 1) > 40 AS J40_PS,
    pt_of(jet, 1) > 60 AS J60_PS,
    pt_of(jet, 1) > 80 AS J80_PS,
    pt_of(jet, 1) > 100 AS J100,
    pt_of(jet, 2) > 70 AS "2J70",
    pt_of(jet, 3) > 50 AS "3J50",
    pt_of(jet, 4) > 35 AS "4J35",
    pt_of(list_filter(jet, lambda j: abs(j.eta) >= 3), 1) > 70 AS FJ70,
    has(list_filter(jet, lambda a: a.pt >= 40 AND has(list_filter(jet, lambda b: b.pt >= 40
        AND abs(a.eta::DOUBLE - b.eta::DOUBLE) >= 3 AND mass(a, b) >= 600)))) AS JJ40_M600_DETA3,
    pt_of(photon, 1) > 15 AS G15_PS,
    pt_of(photon, 1) > 30 AS G30,
    pt_of(photon, 2) > 10 AS "2G10",
    pt_of(photon, 2) > 15 AND mass(photon[1], photon[2]) > 30 AS GG15_M30,
    has(list_filter(photon, lambda a: a.pt >= 20 AND has(list_filter(jet, lambda b: b.pt >= 30
        AND abs(b.eta) <= 2.4::FLOAT AND delta_r(a, b) >= 1)))) AS G20_J30_DR1,
    pt_of(electron, 1) > 22 AS E22,
    pt_of(electron, 2) > 10 AS "2E10",
    has(list_filter(electron, lambda a: a.pt >= 12 AND has(list_filter(photon, lambda b: b.pt >= 12
        AND delta_r(a, b) >= 0.4)))) AS E12_G12_DR0p4,
    pt_of(muon, 1) > 4 AS MU4_PS,
    pt_of(muon, 1) > 14 AS MU14,
    pt_of(muon, 2) > 4 AS "2MU4",
    has(list_filter(muon, lambda a: a.pt > 4 AND has(list_filter(muon, lambda b: b.pt > 4
        AND a.charge * b.charge < 0 AND mass(a, b) BETWEEN 7 AND 18)))) AS "2MU4_OS_M7to18",
    has(list_filter(muon, lambda a: a.pt >= 6 AND has(list_filter(jet, lambda b: b.pt >= 40
        AND abs(b.eta) <= 2.4::FLOAT AND delta_r(a, b) <= 0.5)))) AS MU6_J40_DR0p5,
    pt_of(muon, 1) >= 5 AND pt_of(photon, 1) >= 12 AS MU5_G12,
    pt_of(muon, 1) >= 5 AND pt_of(electron, 1) >= 10 AS MU5_E10,
    coalesce(list_sum(list_transform(jet, lambda j: j.pt::DOUBLE)), 0)
        + coalesce(list_sum(list_transform(photon, lambda p: p.pt::DOUBLE)), 0) > 220 AS HT220,
    sqrt(
        pow(coalesce(list_sum(list_transform(jet, lambda j: j.pt * cos(j.phi::DOUBLE))), 0), 2)
        + pow(coalesce(list_sum(list_transform(jet, lambda j: j.pt * sin(j.phi::DOUBLE))), 0), 2)
    ) > 80 AS MHT80,
    met > 100 AS MET100,
    met > 60 AND pt_of(jet, 1) > 50 AND delta_phi(jet[1].phi::DOUBLE, met_phi::DOUBLE) > 1 AS J50_MET60_DPHI1,
    J100 AND NOT HT220 AS J100_NOT_HT220,
    len(list_filter(jet, lambda j: abs(j.eta) <= 2.4::FLOAT)) > 1
        AND (MU14 OR MU6_J40_DR0p5) AS MU14_AFTER_JET
FROM selected
"""


def patterns(path: Path, menu: str, threads: int) -> Patterns:
    """Sum the weights in a Parquet file by pattern."""
    with duckdb.connect(config={"threads": threads}) as connection:
        connection.execute(SELECTED.format(path=path))
        query = {"primary": PRIMARY, "by_hand": BY_HAND}.get(menu) or _full(connection)
        return dict(connection.execute(query).fetchall())


def _full(connection: duckdb.DuckDBPyConnection) -> str:
    connection.execute(FULL)
    names = [column[0] for column in connection.execute("DESCRIBE decided").fetchall()][1:]
    bits = " + ".join(f'{1 << number} * "{name}"::INT' for number, name in enumerate(names))
    return f"SELECT {bits} AS bits, sum(weight) FROM decided GROUP BY bits"
