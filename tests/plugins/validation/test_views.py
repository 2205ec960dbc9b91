"""What checks of decisions and changes of menus show of themselves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import pytest
from result_toys import HOSTILE, menus, samples
from trigemu_validation import Checked, DecisionCheck, gate
from view_checks import check_frame, check_hepdata, check_html, check_plot, check_texts


@pytest.fixture(autouse=True)
def _without_window() -> Iterator[None]:
    with mpl.rc_context({"backend": "agg"}):
        yield


def test_a_check_of_decisions(tmp_path: Path) -> None:
    """Made by hand."""
    checked = Checked(HOSTILE, 7, 2, 1), Checked("MET", skipped="it is <random>")
    result = DecisionCheck(menus(tmp_path)[0], samples(), 10, checked)
    check_texts(result)
    check_html(result)
    check_hepdata(result, tmp_path)
    check_plot(result, "^number of crossings$")
    check_frame(result, result.to_dict()["triggers"])
    assert result["MET"].skipped
    with pytest.raises(KeyError, match=r"unknown trigger 'MEET'; did you mean 'MET'\?"):
        result["MEET"]


def test_a_gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # it names both files, and shall fit on a line
    result = gate(*menus(Path()), catalogue=samples())
    check_texts(result)
    check_html(result)
    check_hepdata(result, tmp_path)
    check_plot(result, r"rate \[Hz\]")
    keys = ("quantity", "old", "new", "accepted")
    rows = [
        {key: drift[key] for key in keys} | {"what": " & ".join(drift["triggers"]) or "menu"}
        for drift in result.to_dict()["drifts"]
    ]
    check_frame(result, rows)
