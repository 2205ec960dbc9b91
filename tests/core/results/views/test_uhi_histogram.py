"""Histograms that other tools read."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import hist
import jsonschema
import mplhep
import numpy as np
import pytest
from matplotlib.figure import Figure
from result_toys import HOSTILE
from uhi.typing.plottable import PlottableHistogram

import trigemu


def conforms(made: Any) -> None:
    """To the protocol of plots, and to what mplhep draws."""
    assert isinstance(made, PlottableHistogram)
    if len(made.axes) == 1:
        axes = Figure().add_subplot()
        mplhep.histplot(made, ax=axes)
        assert made.axes[0].label


def same(made: Any, edges: Any, values: Any, variances: Any) -> None:
    """To the last bit; None is NaN."""
    conforms(made)
    assert made.axes[-1].edges.tolist() == list(edges)
    for found, expected in ((made.values(), values), (made.variances(), variances)):
        np.testing.assert_array_equal(found, np.array(expected, np.float64))


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


def test_call_times(results: dict[str, Any]) -> None:
    result = results["Histogram"]
    document = result.to_dict()
    same(result.to_hist(), document["edges_ns"], document["calls"], document["calls"])
    assert result.to_hist().sum().value == result.calls.sum()


@pytest.mark.parametrize("kind", ["BinnedRates", "Curve", "Histogram", "Spectrum", "Turnon"])
def test_files_follow_the_schema(results: dict[str, Any], kind: str) -> None:
    io = pytest.importorskip("uhi.io.json")
    made = results[kind].to_hist()
    if not hasattr(made, "_to_uhi_"):
        pytest.skip("this version of boost-histogram writes no files")
    text = json.dumps(made, default=io.default)
    schema = resources.files("uhi").joinpath("resources/histogram.schema.json").read_text()
    jsonschema.validate(json.loads(text), json.loads(schema))
    back = hist.Hist(json.loads(text, object_hook=io.object_hook))
    assert back.axes == made.axes
    np.testing.assert_array_equal(back.values(), made.values())
    np.testing.assert_array_equal(back.variances(), made.variances())


def test_an_unknown_name_gets_a_sentence(results: dict[str, Any]) -> None:
    with pytest.raises(KeyError, match=r"unknown histogram 'NEVR'; did you mean 'NEVER'\?"):
        results["BinnedRates"].to_hist("NEVR")
