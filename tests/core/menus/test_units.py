from __future__ import annotations

from pathlib import Path

import pytest
from toys import menu_from

from trigemu import TrigemuError
from trigemu.menus.checks import unit_of_observable, unit_of_threshold
from trigemu.results.numbers import threshold_label

MENU = """
[[trigger]]
name = "J"
kind = "threshold"
observable = "jet[0].pt"
above = 30.0
[[trigger]]
name = "D"
kind = "threshold"
observable = "muon[0].dxy"
above = 0.1
unit = "cm"
[[trigger]]
name = "PLAIN"
kind = "threshold"
observable = "met"
above = 0.1
unit = ""
"""


@pytest.mark.parametrize(
    ("observable", "unit"),
    [
        ("jet[0].pt", "GeV"),
        ("ht", "GeV"),
        ("mht", "GeV"),
        ("m(jet[0], jet[1])", "GeV"),
        ("2 * jet[0].pt - abs(jet[1].pt)", "GeV"),
        ("jet[0].pt / 2", "GeV"),
        ("jet[0].pt / jet[1].pt", ""),
        ("jet[0].pt * jet[1].pt", ""),
        ("jet[0].pt + jet[0].eta", ""),
        ("n_jet", ""),
        ("dr(jet[0], jet[1])", ""),
        ("muon[0].dxy", "cm"),
        ("muon[1].dxy", ""),
        ("met", ""),
        ("no(such)", ""),
    ],
)
def test_the_unit_of_an_observable(tmp_path: Path, observable: str, unit: str) -> None:
    """That which the menu gives, else that which follows."""
    assert unit_of_observable(menu_from(tmp_path, MENU), observable) == unit


def test_the_unit_of_a_threshold(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, MENU)
    assert [unit_of_threshold(menu, trigger) for trigger in menu.triggers] == ["GeV", "cm", ""]
    assert threshold_label(menu, "D", "D…") == "threshold of D… [cm]"
    assert threshold_label(menu, "PLAIN", "PLAIN") == "threshold of PLAIN"


def test_only_a_score_has_a_unit(tmp_path: Path) -> None:
    random = '[[trigger]]\nname = "R"\nkind = "random"\nrate_hz = 1.0\nunit = "Hz"\n'
    with pytest.raises(
        TrigemuError, match=r"menu.toml:5: trigger 'R': unit: the kind 'random' has no threshold"
    ):
        menu_from(tmp_path, random)
    with pytest.raises(TrigemuError, match="unit = "):
        menu_from(tmp_path, MENU.replace('"cm"', f'"{21 * "m"}"'))


OF_LEG = 'kind = "leg_threshold"\nlegs = [{ object = "muon" }, { object = "jet" }]\nleg = 1'


@pytest.mark.parametrize(
    ("keys", "unit", "refused"),
    [
        ("jet[0].pt", "GeV", False),
        ("jet[0].pt", "", False),
        ("jet[0].pt", "TeV", True),
        ("jet[0].pt", "MeV", True),
        ("ht - mht", "TeV", True),
        ("m(jet[0], jet[1])", "MeV", True),
        ("jet[0].pt / 1000", "TeV", False),
        ("2 * (jet[0].pt + ht)", "half a GeV", False),
        ("max(ht / 1000, mht)", "TeV", False),
        ("jet[0].pt / jet[1].pt", "TeV", False),
        ("jet[0].pt * jet[1].pt", "GeV²", False),
        ("muon[0].dxy", "cm", False),
        ("dr(jet[0], jet[1])", "rad", False),
        (OF_LEG, "TeV", True),
        (f'{OF_LEG}\ncolumn = "charge"', "e", False),
    ],
)
def test_a_unit_that_contradicts_the_observable_is_refused(
    tmp_path: Path, keys: str, unit: str, refused: bool
) -> None:
    """Unless a factor in the menu may convert it."""
    own = keys if "=" in keys else f'kind = "threshold"\nobservable = "{keys}"'
    text = f'[[trigger]]\nname = "T"\n{own}\nabove = 0.1\nunit = "{unit}"\n'
    if not refused:
        assert menu_from(tmp_path, text).triggers[0].unit == unit
        return
    what = "jet[0].pt" if "=" in keys else keys
    line = text.splitlines().index(f'unit = "{unit}"') + 1
    with pytest.raises(TrigemuError) as caught:
        menu_from(tmp_path, text)
    place = f"{tmp_path / 'menu.toml'}:{line}: trigger 'T'"
    assert str(caught.value) == (
        f"{place}: unit = '{unit}': {what} is in GeV, and a unit converts nothing: write "
        'the threshold in GeV, and unit = "GeV" or none'
    )


def test_a_mistake_in_the_observable_hides_nothing_else(tmp_path: Path) -> None:
    text = '[[trigger]]\nname = "T"\nkind = "threshold"\nobservable = "no("\nabove = 1.0\nunit = "TeV"\n'
    with pytest.raises(TrigemuError, match=r"menu.toml:4: trigger 'T': observable"):
        menu_from(tmp_path, text)
