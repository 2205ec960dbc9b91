"""What the plugin adds to a report: the numbers of the check, and figures that hold them."""

from __future__ import annotations

import numpy as np
import pytest
from decade_toys import MENU, Models
from trigemu_decade.check import scored_events
from trigemu_decade.diagnostics import diagnose
from trigemu_decade.report import TITLE, sections

from trigemu import Catalogue, Menu, emulate, rates_of
from trigemu.api import Contents

AD2 = MENU[MENU.index('[[trigger]]\nname = "AD"') :].replace('"AD"', '"AD2"')


def contents(menu: Menu, catalogue: Catalogue) -> Contents:
    """Of a report on this menu alone."""
    rates = rates_of(emulate([menu], catalogue))
    return Contents((rates,), comparison=None, combinations=(), scans=(), profiles=(), turnons=())


def test_a_menu_has_a_section_with_the_figures_and_their_numbers(
    models: Models, catalogue: Catalogue
) -> None:
    menu = models.menu()
    (section,) = sections(contents(menu, catalogue))
    events = scored_events(menu, catalogue)
    result = diagnose(events)
    assert section.title == TITLE
    assert section.measured == {
        ("AD", "unique_ceiling"): (result.overlap.ceiling.value, result.overlap.ceiling.error)
    }
    pictures = {picture.name: picture for picture in section.pictures}
    density = pictures["decade_toy_AD_density_photon_0_pt"]
    assert density.dense
    rates = np.array(density.numbers["rate_hz"], np.float64)
    corrected = np.array(density.numbers["score"]) == "y'"
    for rows in (corrected, ~corrected):
        assert rates[rows].sum() == pytest.approx(events.weight.sum())
    plane = pictures["decade_toy_AD_acceptance_jet_0_pt_photon_0_pt"].numbers
    assert sum(plane["events"]) == len(events.weight)  # type: ignore[arg-type]


def test_each_trigger_has_its_own(models: Models, catalogue: Catalogue) -> None:
    result = list(sections(contents(models.menu(MENU + "\n" + AD2), catalogue)))
    assert [section.title for section in result] == [f"{TITLE}: AD", f"{TITLE}: AD2"]
    names = [picture.name for section in result for picture in section.pictures]
    assert len(set(names)) == len(names)
