"""The section of a report on what is recorded."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_checks import Run
from commands import Place
from trigemu_live import report


def test_the_section(place: Place, trigemu: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "SECONDS", 0.01)
    menu = (place.folder / "menu.toml").read_text()
    place.write("named.toml", f'[menu]\nplugins = ["live"]\n{menu}')
    status, text = trigemu("report", "named.toml", "--samples", "catalogue.toml", "-o", "named.html")
    assert status == 0, text
    page = Path("named.html").read_text()
    assert "What is recorded" in page
    for name in ("ATLAS", "CMS", "2544 colliding bunches in 53 trains", "2544 spread evenly", "1 in 3"):
        assert name in page
