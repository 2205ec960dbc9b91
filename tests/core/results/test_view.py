"""What each kind of result shows of itself."""

from __future__ import annotations

import io
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from result_toys import CATEGORY, HOSTILE, RESULTS
from view_checks import check_hepdata, check_html, check_plot, check_texts

import trigemu
from trigemu.base.shown import view_of


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def test_every_result_has_a_view(results: dict[str, Any]) -> None:
    """As a class of the public interface that shows itself does."""
    public = {name for name in trigemu.__all__ if hasattr(getattr(trigemu, name), "to_pandas")}
    assert public <= set(results) == set(RESULTS)


def test_a_terminal_gives_its_width(results: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Notes fill it; a stream of None, as of a program without a window, is no terminal."""
    terminal = io.StringIO()
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((140, 24)))
    assert 100 < max(map(len, str(results["MenuRates"]).splitlines())) <= 140
    monkeypatch.setattr(sys, "stdout", None)
    assert max(map(len, str(results["MenuRates"]).splitlines())) <= 100


def test_signs_are_those_of_the_output(results: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "ascii"))
    assert re.search(r"\d\?\d+\.?\d* k?Hz", str(results["MenuRates"]))
    assert str(results["Efficiencies"]).isascii()


#: What an axis says.
LABELS = dict.fromkeys(
    ("Catalogue", "ColumnRates", "Comparison", "ExclusiveRates", "MenuRates", "TriggerRates"), r"rate \[Hz\]"
) | {
    "BinnedRates": r"^jet\[0\]\.pt \[GeV\]$",
    "Curve": r"^leading <.*> \[GeV\]$",
    "Efficiencies": r"^leading <.*> \[GeV\]$",
    "Scan": r"^threshold of MET \[GeV\]$",
    "Spectrum": r"^leading jet .* \[GeV\]$",
    "Turnon": r"^leading <.*> \[GeV\]$",
}


def leaves(document: Any) -> Iterator[float]:
    """The numbers of a document."""
    if isinstance(document, dict | list):
        for part in document.values() if isinstance(document, dict) else document:
            yield from leaves(part)
    elif isinstance(document, int | float):
        yield document


@pytest.mark.parametrize("kind", RESULTS)
def test_what_every_result_shows(results: dict[str, Any], kind: str, tmp_path: Path) -> None:
    """Text, page, figure, record and data frame; each column of a file has a meaning."""
    result = results[kind]
    check_texts(result)
    check_html(result)
    check_plot(result, LABELS[kind])
    view, frame = view_of(result), result.to_pandas()
    assert len(frame) == len(view.table(result).rows) > 0
    numbers = {value for value in frame.select_dtypes("number").to_numpy().flat if not math.isnan(value)}
    assert numbers
    # A turn-on has the edges of its curves.
    document = results["Turnon" if kind == "Curve" else kind].to_dict()
    assert numbers <= {*leaves(document)}
    for table in (view.table(result), view.csv_table(result)):
        assert [column.name for column in table.columns if column.in_files and not column.meaning] == []
    check_hepdata(result, tmp_path)


#: A column of a data frame → its numbers.
NUMBERS: dict[tuple[str, str], Callable[[Any], list[float | None]]] = {
    # That of the signal is not known.
    ("Catalogue", "rate_hz"): lambda r: [*(s.rate_hz for s in r.background), None],
    ("MenuRates", "share_hz"): lambda r: [t.share.hz for t in r.triggers],
    ("MenuRates", "unique_error_hz"): lambda r: [t.unique.error_hz for t in r.triggers],
    ("MenuRates", "total_events"): lambda r: [t.total.events for t in r.triggers],
    ("ColumnRates", "total_hz"): lambda r: [
        t.total.hz for name in ("low<", "high") for t in r[name].triggers
    ],
    ("Comparison", "unique_hz"): lambda r: [t.unique.hz for v in r.variants for t in v.triggers],
    ("Scan", "MET threshold"): lambda r: [10.0, 20.0, 1e6],
    ("Scan", "MET unique_hz"): lambda r: [p["MET"].unique.hz for p in r.points],
    ("Scan", "menu rate_error_hz"): lambda r: [p.rate.error_hz for p in r.points],
    ("BinnedRates", "if_all_hz"): lambda r: [
        rate.hz for b in r.bins if b.rates for rate in (b.menu_if_all, *b.if_all)
    ],
    ("BinnedRates", "total_hz"): lambda r: [
        rate.hz for b in r.bins if b.rates for rate in (b.rates.rate, *(t.total for t in b.rates.triggers))
    ],
    ("ExclusiveRates", "error_hz"): lambda r: [c.error_hz for c in r.largest],
    ("Curve", "efficiency"): lambda r: [*r.value, r.overall.value],
    ("Curve", "low"): lambda r: [*r.low, r.overall.low],
    ("Turnon", "gain"): lambda r: [g for c in r.curves for g in (*c.gain, c.overall.gain)],
    ("Spectrum", "variance_hz2"): lambda r: [v for of in r.variance.values() for v in of],
}


@pytest.mark.parametrize(("kind", "column"), NUMBERS)
def test_numbers_are_where_they_belong(results: dict[str, Any], kind: str, column: str) -> None:
    expected = np.array(NUMBERS[kind, column](results[kind]), float)
    found = results[kind].to_pandas().reset_index()[column]
    np.testing.assert_array_equal(found.to_numpy(float, na_value=np.nan), expected)


def test_what_variants_have_in_common_is_a_matrix(results: dict[str, Any]) -> None:
    result = results["Comparison"]
    (matrix,) = result.to_dict()["common"]
    for key in ("hz", "error_hz"):
        found = {
            (a, b): hz
            for a, row in zip(matrix["triggers_a"], matrix[key], strict=True)
            for b, hz in zip(matrix["triggers_b"], row, strict=True)
        }
        assert found == {(c.of_a, c.of_b): getattr(c, key) for c in result.common}


def test_several_figures_have_several_axes(results: dict[str, Any]) -> None:
    (menu, _), catalogue = results["Efficiencies"].menus, results["Catalogue"]
    profiles = [trigemu.Profile("n_jet", (0.0, 1.0, 9.0)), trigemu.Profile("met", (0.0, 20.0, 90.0))]
    axes = trigemu.efficiencies([menu], catalogue, ["s\x1b"], profiles).plot()
    assert [part.get_xlabel() for part in axes] == ["n_jet", "met [GeV]"]


def test_more_than_two_thresholds_have_no_figure(results: dict[str, Any]) -> None:
    steps = [trigemu.Steps(name, (20.0,)) for name in (HOSTILE, "MET", "ALSO")]
    scan = trigemu.scan(results["MenuRates"].menu, steps, results["Catalogue"])
    with pytest.raises(trigemu.TrigemuError, match="3 triggers are scanned: a figure can show 2"):
        scan.plot()


def test_a_scan_of_long_names_fills_its_figure(results: dict[str, Any], tmp_path: Path) -> None:
    trigger = f"HLT_{50 * 'Photon'}_v1"
    menu, table = tmp_path / "menu.toml", f'[menu]\nname = "{60 * "menu"}"\n[[trigger]]\nname = "{trigger}"\n'
    menu.write_text(f'{table}kind = "threshold"\nobservable = "met"\nabove = 20.0\n')
    axes = trigemu.scan(menu, [trigemu.Steps(trigger, (20.0, 40.0))], results["Catalogue"]).plot()
    axes.figure.savefig(io.BytesIO())
    assert axes.get_position().width > 0.7
    assert "…" in axes.get_xlabel()


def test_a_frame_has_a_row_for_each_trigger_with_its_flags(results: dict[str, Any]) -> None:
    frame = results["MenuRates"].to_pandas()
    assert list(frame.index) == [HOSTILE, "MET", "ALSO", "NEVER"]
    assert frame.loc["NEVER", "total_upper_limit_hz"] > 0
    assert math.isnan(frame.loc["MET", "total_upper_limit_hz"])
    assert frame.loc["ALSO", "unique_contained_in"] == HOSTILE
    flags = frame.total_error_too_small
    assert flags.dtype == bool
    assert (flags == (frame.total_unseen != "")).all()
    assert frame.total_hz.dtype == float


def test_differences_are_from_the_first_variant(results: dict[str, Any]) -> None:
    result = results["Comparison"]
    frame = result.to_pandas()
    first, second = (frame.loc[variant.menu.name] for variant in result.variants)
    assert (first.total_less_first_hz.isna()).all()
    expected = {d.what: d.b_minus_a_hz for d in result.differences if d.quantity == "total_hz"}
    assert second.total_less_first_hz.to_dict() == expected
    assert (second.total_hz - first.total_hz).tolist() == pytest.approx(list(expected.values()))


def test_parts_are_chosen_by_name(results: dict[str, Any]) -> None:
    rates = results["MenuRates"]
    assert rates[HOSTILE] is rates.triggers[0]
    assert rates["g\n&"] is rates.groups[0]
    assert rates["MET"].kind == "threshold"  # there is a group MET too
    assert "MET" in rates
    assert 3 not in rates
    assert list(rates) == [t.name for t in rates.triggers] + ["g\n&"]
    assert results["ColumnRates"]["high"][HOSTILE].prescale == 2
    comparison = results["Comparison"]
    assert comparison["other\x1b[1m"] is comparison.variants[1]
    assert [r.total.events for r in results["Scan"]["MET"]] == [
        p.triggers[1].total.events for p in results["Scan"].points
    ]
    inside = results["BinnedRates"]["MET"]
    assert [r and r.total for r in inside] == [
        b.rates and b.rates["MET"].total for b in results["BinnedRates"].bins
    ]
    assert inside[-1] is None
    found = results["Efficiencies"]
    assert found["jet[0].pt"] is found["jet[0].pt", CATEGORY] is found.turnons[0]
    turnon = found.turnons[0]
    assert turnon["m<b>\x1b[1m"] is turnon.curves[0]
    assert results["Catalogue"]["b&"].name == "b&"
    assert results["MenuRates"]._ipython_key_completions_() == list(rates)


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        ("MenuRates", "MTE", "unknown trigger or group 'MTE'; did you mean 'MET'?"),
        ("MenuRates", 0, "unknown trigger or group 0 (known: "),
        ("ColumnRates", "hihg", "unknown column of prescales 'hihg'; did you mean 'high'?"),
        ("Comparison", "othr", "unknown variant 'othr'; did you mean "),
        ("Scan", "MEET", "unknown trigger or group 'MEET'; did you mean 'MET'?"),
        ("BinnedRates", "NEVERR", "did you mean 'NEVER'?"),
        ("Efficiencies", ("jet[0].pt", "n_jet > 2"), "did you mean 'jet[0].pt, n_jet > 1'?"),
        ("Turnon", ["other"], "unknown curve ['other']"),
        ("Catalogue", "b", "unknown sample 'b'"),
    ],
)
def test_an_unknown_name_gets_a_sentence(results: dict[str, Any], kind: str, name: Any, said: str) -> None:
    with pytest.raises(KeyError) as raised:
        results[kind][name]
    assert isinstance(raised.value, trigemu.TrigemuError)
    assert said in str(raised.value)


def test_an_import_loads_no_output() -> None:
    """Nor does a result that is not shown; a text loads neither Matplotlib nor pandas."""
    script = """if True:
        import sys
        import trigemu
        catalogue = trigemu.open_catalogue()
        loaded = {"trigemu.results.table", "rich", "pandas", "matplotlib", "hist"} & set(sys.modules)
        assert not loaded - {"rich"}, loaded
        str(catalogue), repr(catalogue), catalogue.to_dict(), catalogue._repr_html_()
        assert not {"pandas", "matplotlib", "hist"} & set(sys.modules)
    """
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_reprs_of_menus_and_samples_are_short(results: dict[str, Any], tmp_path: Path) -> None:
    rates = results["MenuRates"]
    for value in (rates.menu, rates.catalogue["b&"], trigemu.emulate([rates.menu], rates.catalogue)):
        assert repr(value).isprintable()
        assert len(repr(value)) < 120


def test_a_line_has_the_first_names(results: dict[str, Any]) -> None:
    assert repr(results["ColumnRates"]) == "<ColumnRates of 'low<', 'high'>"
    first, *_ = results["ExclusiveRates"].largest
    shown = repr(results["ExclusiveRates"])
    assert repr(" & ".join(first.triggers))[:9] in shown
    assert repr(replace(results["ExclusiveRates"], largest=())) == "<ExclusiveRates of nothing>"
