"""`trigemu turnon`: what it prints, writes and draws."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import awkward as ak
import numpy as np
import pytest
from matplotlib.figure import Figure
from toys import threshold, write_tree
from trigemu_recorded import Probes, matched_turnons
from view_checks import check_hepdata, check_html, check_plot, check_texts

from trigemu import read_menu
from trigemu.base.shown import view_of

MENU = threshold("MU_15", "trigmuon[0].pt", 15.0, "prescale = 7") + (
    '[[trigger]]\nname = "MU$_30"\nkind = "combination"\n'
    'legs = [{ object = "trigmuon", pt = { min = 30.0 } }]\n'
)
EDGES = (0.0, 10.0, 20.0, 30.0, 40.0, 60.0, 200.0)
COMMAND = ("turnon", "menu.toml", "MU_15", "MU$_30", "--against", "muon", "--bins", "0,10,20,30,40,60,200",
           "--samples", "muons.root", "--tag", "MU_15", "--mass", "0", "300")  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A NanoAOD file of pairs of muons, which a trigger sees with another pT, or not at all."""
    monkeypatch.chdir(tmp_path)
    rng, n = np.random.default_rng(2), 3000
    pt = np.sort(3 + rng.exponential(20.0, (n, 2)), axis=1)[:, ::-1]
    eta, phi = rng.uniform(-2.0, 2.0, (n, 2)), np.add(rng.uniform(-3.0, 0.0, (n, 1)), [0.0, np.pi])
    seen = np.maximum(pt + rng.normal(0.0, 3.0, pt.shape), 0.1)
    arrays = {
        name: ak.from_regular(ak.zip({"pt": values, "eta": eta, "phi": phi}))
        for name, values in (("Muon", pt), ("TrigMuon", seen))
    }
    naming = {"counter_name": lambda n: f"n{n}", "field_name": lambda a, b: f"{a}_{b}"}
    write_tree(Path("muons.root"), arrays, **naming)
    Path("menu.toml").write_text(MENU)
    return tmp_path


def test_documents_are_those_of_the_result(folder: Path, trigemu: Callable[..., tuple[int, str]]) -> None:
    probes = Probes("muon", tag="MU_15", mass=(0.0, 300.0))
    result = matched_turnons("menu.toml", ("MU_15", "MU$_30"), probes, EDGES, "muons.root")
    status, text = trigemu(*COMMAND, "--json", "a.json", "--csv", "a.csv", "--figure", "a.png")
    assert status == 0, text
    assert text == f"{result}\n"
    document = json.loads(Path("a.json").read_text())
    assert document["fits"] == {
        name: fit and asdict(fit) for name, fit in zip(("MU_15", "MU$_30"), result.fits, strict=True)
    }
    assert document["probes"] == json.loads(json.dumps(asdict(probes)))
    assert document["provenance"]["menus"][0]["sha256"] == read_menu("menu.toml").sha256
    rows = list(csv.DictReader(Path("a.csv").read_text().splitlines()))
    assert len(rows) == 2 * len(EDGES)  # with a line of all bins
    for curve in result.turnons[0].curves:
        found = [float(row["efficiency"]) for row in rows if row["trigger"] == curve.trigger]
        assert found == [*curve.value.tolist(), curve.overall.value]
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")


def test_numbers_that_are_printed_and_drawn(folder: Path) -> None:
    result = matched_turnons("menu.toml", ("MU_15", "MU$_30"), Probes("muon"), EDGES, "muons.root")
    for fit, true in zip(result.fits, (15.0, 30.0), strict=True):
        assert fit
        assert abs(fit.x50 - true) < 5 * fit.x50_error
        assert abs(fit.width - 3.0) < 5 * fit.width_error
        assert f" {fit.x95:.1f}" in str(result)
    (figure,) = view_of(result).figures(result)
    assert isinstance(figure, Figure)
    points = [line for line in figure.axes[0].lines if line.get_marker() == "D"]
    for line, fit, text in zip(points, result.fits, figure.axes[0].get_legend().get_texts(), strict=True):
        assert fit
        assert line.get_xdata() == pytest.approx([fit.x50, fit.x95])
        assert line.get_ydata() == pytest.approx([0.5 * fit.plateau, 0.95 * fit.plateau])
        assert text.get_text() in ("MU_15", r"MU\$_30")
    check_texts(result)
    check_html(result)
    check_plot(result, "efficiency")
    check_hepdata(result, folder)


def test_a_curve_without_a_rise_is_shown_without_a_fit(folder: Path) -> None:
    result = matched_turnons("menu.toml", "MU_15", Probes("muon"), (60.0, 80.0, 100.0), "muons.root")
    assert result.fits == (None,)
    assert re.search(r"MU_15( +–){4}\n", str(result))
    assert "No fit of MU_15: " in str(result)
    assert len([*view_of(result).figures(result)]) == 1


@pytest.mark.parametrize(("arguments", "message"), [
    (("--against", "muons"), "trigemu: sample 'muons' has no collection 'muons'; did you mean 'muon'?"),
    (("--bins", "10:0:1"), "10:0:1"),
    (("--tag", "NONE"), "trigemu: unknown trigger 'NONE' (known: MU$_30, MU_15)"),
    (("--mass", "80", "70"), "mass (80.0, 70.0): expected two ascending ones"),
    (("--sample", "zz"), "unknown sample 'zz'"),
])  # fmt: skip
def test_mistakes_are_one_message(
    folder: Path, trigemu: Callable[..., tuple[int, str]], arguments: tuple[str, ...], message: str
) -> None:
    status, text = trigemu(*COMMAND, *arguments)
    assert status == 2
    assert message in text
