"""DECADE in a report, and in the explorer."""

from __future__ import annotations

from pathlib import Path

import pytest
from decade_toys import Models
from project import ROOT
from trigemu_decade.report import TITLE
from trigemu_pages import collect_contents
from trigemu_pages.explorer.menu_data import pieces_of
from trigemu_pages.report.sections import of_plugins

from trigemu import Catalogue, read_menu
from trigemu.results.figures.draw import write_pictures


def test_a_report_has_sections_of_the_plugins_of_its_menus(
    models: Models, catalogue: Catalogue, tmp_path: Path
) -> None:
    (section,) = of_plugins(collect_contents([models.menu()], catalogue))
    assert section.menu == "toy"
    assert section.title == TITLE
    assert len(write_pictures(section.pictures, tmp_path / "figures")) == len(section.pictures)


@pytest.mark.parametrize("name", ["decade", "full-decade"])
def test_its_threshold_can_be_changed_in_the_explorer(name: str) -> None:
    file = ROOT / "menus" / f"{name}.toml"
    pieces = pieces_of(file.read_text(encoding="utf-8"), read_menu(file), "embedded")
    keys = [piece["key"] for piece in pieces if not isinstance(piece, str) and piece["trigger"] == "AD"]
    assert sorted(keys) == ["budget", "enabled", "prescale"]
