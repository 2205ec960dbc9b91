"""A trigger with other numbers against the same menu read from a file that has them."""

from __future__ import annotations

from pathlib import Path

import pytest
from toys import menu_from

from trigemu import Menu, TrigemuError
from trigemu.menus.variation import number_path, with_values

MENU = """
[[trigger]]
name = "D"
kind = "combination"
prescale = 3
legs = [{{ object = "jet", pt = {{ min = {low}, max = {high} }} }}, {{ object = "jet" }}]
[[trigger]]
name = "H"
kind = "threshold"
observable = "ht"
above = 20
seed = "D"
"""


def read(folder: Path, low: float = 20, high: float = 60) -> Menu:
    return menu_from(folder, MENU.format(low=low, high=high))


def test_one_trigger_is_changed(tmp_path: Path) -> None:
    menu = read(tmp_path)
    low, high = (number_path(menu, "D", f"legs[0].pt.{limit}") for limit in ("min", "max"))
    for numbers, expected in (
        ({low: 25.5}, read(tmp_path, low=25.5)),
        ({low: 70.0, high: 80.0}, read(tmp_path, 70, 80)),
    ):
        changed = with_values(menu, "D", numbers)
        assert changed.triggers == expected.triggers
        assert (changed.path, changed.sha256, changed.order) == (menu.path, menu.sha256, menu.order)
    assert with_values(menu, "H", {"above": 40.0}).trigger("H").description.above == 40.0  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"legs[0].pt.min": 61.0}, r"menu\.toml:2: trigger 'D' with legs\[0\]\.pt\.min = 61: .*min = 61"),
        ({"legs[0].crossing": 0.5}, r"with legs\[0\]\.crossing = 0\.5: .*expected an integer, got a number"),
    ],
)
def test_a_number_that_is_not_allowed_is_named(
    tmp_path: Path, numbers: dict[str, float], message: str
) -> None:
    menu = read(tmp_path)
    with pytest.raises(TrigemuError, match=message):
        with_values(menu, "D", numbers)
