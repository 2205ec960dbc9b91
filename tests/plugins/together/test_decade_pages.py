"""The sections of DECADE in a report."""

from __future__ import annotations

from pathlib import Path

from decade_toys import Models

from trigemu import Catalogue
from trigemu_decade.report import TITLE
from trigemu_pages import collect_contents
from trigemu_pages.report.page import write_figures
from trigemu_pages.report.sections import of_plugins


def test_a_report_asks_the_plugins_of_its_menus(models: Models, catalogue: Catalogue, tmp_path: Path) -> None:
    (section,) = of_plugins(collect_contents([models.menu()], catalogue))
    assert section.menu == "toy"
    assert section.title == TITLE
    assert len(write_figures([section], tmp_path / "figures")) == 3 * len(section.pictures)
