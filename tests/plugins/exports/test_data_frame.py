"""Tables as data frames, and histograms that other tools read."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from result_toys import HOSTILE
from trigemu_exports.frames import as_frame
from view_checks import check_histogram_file, conforms, same

import trigemu
from trigemu.api import Column, Rate, Table
from trigemu.base.errors import MissingExtraError

COLUMNS = (
    Column("name", "key"),
    Column("n", "count"),
    Column("limit_hz", "number"),
    Column("group", "label"),
    Column("x", "rate", parts=("hz", "unseen")),
)


def test_columns_keep_their_kinds() -> None:
    rows = [
        {
            "name": "a",
            "n": 2**53 - 1,
            "limit_hz": None,
            "group": None,
            "x": Rate(0.1, 0, 1, 1, None, ("s", "t")),
        },
        {"name": "b", "n": 0, "limit_hz": None, "group": None, "x": None},
    ]
    frame = as_frame(Table.of(COLUMNS, rows))
    assert list(frame.columns) == ["n", "limit_hz", "group", "x_hz", "x_unseen", "x_error_too_small"]
    assert frame.n.tolist() == [2**53 - 1, 0]
    assert (frame.x_hz.dtype, frame.limit_hz.dtype) == (float, float)
    assert frame.group.isna().all()
    assert frame.group.dtype != float
    assert frame.x_unseen.tolist() == ["s;t", ""]
    assert frame.x_error_too_small.tolist() == [True, False]


def test_no_rows_are_an_empty_frame() -> None:
    frame = as_frame(Table(COLUMNS))
    assert (len(frame), frame.index.names) == (0, ["name"])


@pytest.mark.parametrize(
    ("library", "extra", "method"),
    [
        ("pandas", "pandas", "to_pandas"),
        ("hepdata_lib", "hepdata", "to_hepdata"),
        ("correctionlib", "correction", "to_correction"),
    ],
)
def test_without_a_library_it_says_how_to_install_it(
    results: dict[str, Any], monkeypatch: pytest.MonkeyPatch, library: str, extra: str, method: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=rf'^{method}\(\) needs .* pip install "trigemu\[{extra}\]"$'):
        getattr(results["Curve"], method)()


def test_curves(results: dict[str, Any]) -> None:
    turnon = results["Turnon"]
    document = turnon.to_dict()
    whole = turnon.to_hist()
    conforms(whole)
    assert list(whole.axes[0]) == [curve.name for curve in turnon.curves]
    for curve, numbers in zip(turnon.curves, document["curves"], strict=True):
        ends = zip(numbers["low"], numbers["high"], strict=True)
        variances = [None if low is None else ((high - low) / 2) ** 2 for low, high in ends]
        for made in (curve.to_hist(), turnon.to_hist(curve.name), whole[curve.name, :]):
            same(made, document["edges"], numbers["efficiency"], variances)
    assert turnon.curves[0].to_hist().axes[0].label == "leading <pT> [GeV]"


def test_rates_in_bins(results: dict[str, Any]) -> None:
    result = results["BinnedRates"]
    bins = result.to_dict()["bins"]
    edges = [bins[0]["low"], *(b["high"] for b in bins)]
    for rescaled, prefix, missing in ((False, "total", 0.0), (True, "if_all", None)):
        whole = result.to_hist(rescaled=rescaled)
        conforms(whole)
        assert whole.axes[1].label == "jet[0].pt [GeV]"
        names = list(whole.axes[0])
        assert names == ["menu m<b>\x1b[1m", HOSTILE, "MET", "ALSO", "NEVER"]
        for number, name in enumerate(names):
            rows = [[b["menu"], *b["triggers"]][number] for b in bins if b["menu"]]
            values = [row[f"{prefix}_hz"] for row in rows] + [missing]
            variances = [row[f"{prefix}_error_hz"] ** 2 for row in rows] + [missing]
            same(result.to_hist(name, rescaled=rescaled), edges, values, variances)
            same(whole[number, :], edges, values, variances)


def test_spectra(results: dict[str, Any]) -> None:
    for result in trigemu.sample_spectra(results["Catalogue"]):
        document = result.to_dict()
        conforms(result.to_hist())
        for name, of in document["samples"].items():
            same(result.to_hist(name), document["edges"], of["sum_w_hz"], of["variance_hz2"])


@pytest.mark.parametrize("kind", ["BinnedRates", "Curve", "Spectrum", "Turnon"])
def test_files_follow_the_schema(results: dict[str, Any], kind: str) -> None:
    check_histogram_file(results[kind].to_hist())


def test_an_unknown_name_gets_a_sentence(results: dict[str, Any]) -> None:
    with pytest.raises(KeyError, match=r"unknown histogram 'NEVR'; did you mean 'NEVER'\?"):
        results["BinnedRates"].to_hist("NEVR")
