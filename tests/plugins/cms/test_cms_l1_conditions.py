"""Expressions → tables, each written down by hand from the rules of the experiment's emulator: one of each
form, and those that the twin of test_cms_l1_decisions.py does not try."""

from __future__ import annotations

import math
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from l1_toys import CUTS, write_menu
from trigemu_cms import AsEmulated
from trigemu_cms.l1_conditions import Converted, condition_table
from trigemu_cms.l1_grammar import Junction, parse
from trigemu_cms.l1_objects import digits_of, edge_of, scale_warnings
from trigemu_cms.l1_xml import XMLMenu, read_xml

from trigemu import TrigemuError

AS_THE_MENU_SAYS = AsEmulated()


@cache
def menu() -> XMLMenu:
    """One whose algorithm has all cuts of the toys."""
    with tempfile.TemporaryDirectory() as folder:
        return read_xml(write_menu(Path(folder), [" ".join(CUTS)]))


def make(expression: str, as_emulated: AsEmulated = AS_THE_MENU_SAYS, **cuts: dict[str, Any]) -> Converted:
    """cuts: changes of cuts, by their names with _ for -."""
    (algorithm,) = menu().algorithms
    changed = {
        name: replace(cut, **cuts.get(name.replace("-", "_"), {})) for name, cut in algorithm.cuts.items()
    }
    term = parse(expression)
    assert not isinstance(term, Junction)
    return condition_table(menu(), replace(algorithm, cuts=changed), term, as_emulated)


def above(observable: str, threshold: float) -> dict[str, Any]:
    return {"kind": "threshold", "observable": observable, "above": threshold}


def legs(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "combination", "legs": list(parts)}


@pytest.mark.parametrize(
    ("expression", "table"),
    [
        ("HTT120", legs({"object": "htt", "pt": {"min": 120.0}})),
        ("MBT0HFP1-1", legs({"object": "mbt0hfp", "crossing": -1, "pt": {"min": 1.0}})),
        ("MU0[MU-PHI_TOP,MU-PHI_ALL]", legs({"object": "muon", "pt": {"min": 0.0}})),
        (
            "MU0[MU-UPT_5,MU-IP_1]",
            legs(
                {"object": "muon", "pt": {"min": 0.0}}
                | {"hw_upt": {"min": 5, "max": 254}, "impact": {"any_of": [1, 2, 3]}}
            ),
        ),
        ("JET20[JET-DISP_LLP]", legs({"object": "jet", "pt": {"min": 20.0}, "displaced": {"any_of": [1]}})),
        ("JET20[JET-SLICE_2_5]", legs({"object": "jet", "pt": {"min": 20.0}, "slot": {"min": 2, "max": 5}})),
        ("EXT_BPTX_AND.v0", {"kind": "external", "bit": 32}),
        ("CENT5", {"kind": "external", "word": "centrality", "bit": 5}),
        ("AXO[AXO-MODEL_v5,AXO-SCORE_Tight]", above("axo_v5", 3317.5)),
        ("CICADA[CICADA-CSCORE_50]", above("cicada", 50 - 1 / 512)),
        ("ADT+1", {"kind": "external", "word": "adt", "bit": 0, "crossing": 1}),
        ("MUS2", {"kind": "external", "word": "shower", "bit": 4}),
        ("ZDCP16", legs({"object": "zdcp", "pt": {"min": 16.0}})),
        ("MUSOOT1+1", {"kind": "external", "word": "shower", "bit": 3, "crossing": 1}),
    ],
)
def test_single_conditions(expression: str, table: dict[str, Any]) -> None:
    result = make(expression)
    assert result.table == table
    assert [*digits_of(menu(), table)] == []


J30 = {"object": "jet", "pt": {"min": 30.0}}
M0 = {"object": "muon", "pt": {"min": 0.0}}
E20 = {"object": "egamma", "pt": {"min": 20.0}}
DELTA, MASS = {"delta"}, {"mass", "pt", "trigonometry"}


@pytest.mark.parametrize(
    ("expression", "table", "pairs"),
    [
        (
            "mass_inv{MU0,MU0}[MASS_MAX_12,CHGCOR_OS,TBPT_20]",
            legs(M0, M0)
            | {
                "charge": "opposite",
                "pairs": [{"legs": [0, 1], "mass": {"max": 12.0}, "pair_pt": {"min": 20.0}}],
            },
            {("MU", "MU"): MASS | {"two_body_pt", "two_body_trigonometry"}},
        ),
        (
            "mass_inv_upt{MU0,MU0}[MASSUPT_3_8]",
            legs(M0, M0) | {"pairs": [{"legs": [0, 1], "mass_upt": {"min": 3.0, "max": 8.0}}]},
            {("MU", "MU"): MASS},
        ),
        (
            "mass_inv_orm{JET30,JET30,EG20}[MASS_MIN_40,ORMDR_0p5]",
            legs(J30, J30, E20)
            | {
                "pairs": [
                    {"legs": [0, 1], "mass": {"min": 40.0, "max": 151982.0}},
                    {"legs": [0, 2], "outside_dr": {"max": 0.5}},
                    {"legs": [1, 2], "outside_dr": {"max": 0.5}},
                ]
            },
            {("JET", "JET"): MASS, ("EG", "JET"): DELTA},
        ),
    ],
)
def test_functions(expression: str, table: dict[str, Any], pairs: dict[tuple[str, str], set[str]]) -> None:
    result = make(expression)
    assert result.table == table
    needed: dict[tuple[str, str], set[str]] = {}
    for first, second, key, _ in digits_of(menu(), table):
        needed.setdefault((first, second), set()).add(key)
    assert needed == pairs
    assert not result.note


def test_masses_of_2016_end_where_its_emulator_did() -> None:
    """M²/2 up to 10⁶ GeV² in steps of 0.1 GeV², rounded up in doubles as that emulator does."""
    result = make("mass{JET30,JET30}[MASS_MIN_40]", AsEmulated(mass_limit=True))
    maximum = result.table["pairs"][0]["mass"]["max"]
    assert math.ceil(maximum * maximum * 0.5 * 10.0) == 10**7
    assert math.ceil(math.nextafter(maximum, 2000) ** 2 * 0.5 * 10.0) > 10**7
    assert "151982.0 GeV" in result.note
    for expression in ("mass{JET30,JET30}[MASS_MAX_12]", "mass_inv{JET30,JET30}[MASS_MIN_40]"):
        assert make(expression, AsEmulated(mass_limit=True)).note == ""
    assert make("mass{JET30,JET30}[MASS_MIN_40]").table["pairs"][0]["mass"]["max"] == 151982.0


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("MU3p25", "threshold of MU3p25 is 3.25, .* -0.5 … 50 in steps of 0.5"),
        ("EG2000", "threshold of EG2000 is 2000"),
        ("TOWERCOUNT5", "scale TOWERCOUNT ET is missing"),
        ("EXT_BPTX_ANT.v0", "'EXT_BPTX_ANT.v0'; did you mean 'BPTX_AND.v0'"),
        ("MU0[MU-QLTY_DBLE]", "cut 'MU-QLTY_DBLE' of MU0 is not among the cuts"),
        ("MU0[MASS_MIN_40]", r"cut 'MASS_MIN_40' of MU0 \(line \d+\) has the type 'MASS'"),
        ("comb{MU0,MU0}[DR_MAX_0p8]", r"cut 'DR_MAX_0p8' of comb \(line \d+\) has the type 'DR'"),
        ("comb{MU0,EG20}", "comb of different types or crossings"),
        ("comb{MU0,MU0-1}", "comb of different types or crossings"),
        ("comb{MU0}", "comb of 1 objects: expected 2 to 12"),
        ("dist{MU0,MU0,MU0}[DR_MAX_0p8]", "dist of 3 objects: expected 2"),
    ],
)
def test_what_is_refused(expression: str, message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        make(expression)


@pytest.mark.parametrize(
    ("expression", "change", "message"),
    [
        ("MU0[MU-ETA_1p2]", {"maximum": 1.2}, r"cut 'MU-ETA_1p2' \(line \d+\) is 1.2"),
        ("MU0[MU-QLTY_SNGL]", {"data": "12;13"}, r"cut 'MU-QLTY_SNGL' \(line \d+\): '12;13'"),
        ("MU0[MU-CHG_NEG]", {"data": "minus"}, r"cut 'MU-CHG_NEG' \(line \d+\): 'minus'"),
        ("dist{MU0,MU0}[DPHI_MIN_1]", {"maximum": 0.5}, "minimum 1.0 is above maximum 0.5"),
        ("MU0[MU-INDEX_NEG]", {"maximum": 1.0}, "minimum 18 is above maximum 1"),
        ("MU0[MU-UPT_5]", {"maximum": 1.0}, r"minimum \d+ is above maximum \d+"),
    ],
)
def test_cuts_that_mean_nothing(expression: str, change: dict[str, Any], message: str) -> None:
    name = expression.partition("[")[2].rstrip("]").replace("-", "_")
    with pytest.raises(TrigemuError, match=message):
        make(expression, **{name: change})


def test_thresholds_at_the_end_of_their_scale_are_never_reached() -> None:
    for expression in ("HTM50", "HTM.eq.50", "MBT0HFP15"):
        assert make(expression).table["legs"][0]["pt"]["min"] == 1e9
    assert make("HTM49p5").table["legs"][0]["pt"] == {"min": 49.5}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> XMLMenu:
    return read_xml(write_menu(tmp_path_factory.mktemp("menu"), ["MU0"]))


def test_edges_are_the_doubles_of_the_xml(small: XMLMenu) -> None:
    for (object_, kind), scale in small.scales.items():
        if kind != "UPT":
            for i, (lower, upper, _) in enumerate(scale.edges):
                assert (edge_of(small, object_, kind, i, 0), edge_of(small, object_, kind, i, 1)) == (
                    lower,
                    upper,
                )
    assert list(scale_warnings(small, ["MU", "EG", "JET", "ETM"])) == []


@pytest.mark.parametrize(
    ("key", "shift", "of_bin_3"),
    [
        (("MU", "ET"), 0.5, -0.5 + 3 * 0.5),  # as in 2015
        (("MU", "ETA"), 0.0054375, 2.5 * 0.010875),
        (("JET", "ETA"), -0.0435, 3 * 0.0435),
        (("ETM", "PHI"), 0.1, 3 * math.tau / 144),
        (("MBT0HFP", "COUNT"), 1.0, 3.0),
    ],
)
def test_a_scale_that_begins_elsewhere_is_reported_and_its_integers_remain(
    small: XMLMenu, key: tuple[str, str], shift: float, of_bin_3: float
) -> None:
    scale = small.scales[key]
    edges = tuple((lower + shift, upper + shift, number) for lower, upper, number in scale.edges)
    moved = replace(small, scales={**small.scales, key: replace(scale, edges=edges)})
    place = next(i for i, (_, _, number) in enumerate(edges) if number == 3)
    assert edge_of(moved, *key, place, 0) == pytest.approx(of_bin_3)
    (message,) = scale_warnings(moved, [key[0]])
    assert message.startswith(f"the scale {key[0]} {key[1]} (line {scale.line}) has its bin 0 at ")
    assert list(scale_warnings(moved, ["EG"])) == []
