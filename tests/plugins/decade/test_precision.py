"""Y(x) in fixed point: variants of a menu, and the commands."""

from __future__ import annotations

import pytest
from decade_toys import MENU, Models, compiled

from trigemu import Catalogue, TrigemuError, compare, emulate, rates_of

COARSE = 'precision = { input = "ap_fixed<8,8>", threshold = "ap_fixed<8,8>", score = "ap_fixed<10,3>" }'
WIDE = 'precision = { input = "ap_fixed<32,14>", threshold = "ap_fixed<32,14>", score = "ap_fixed<32,8>" }'


def with_precision(text: str) -> tuple[str, str]:
    return "above = 0.0", f"above = 0.0\n{text}"


def test_floating_and_fixed_variants_are_compared(models: Models, catalogue: Catalogue) -> None:
    menus = [
        models.menu(MENU, ('name = "toy"', 'name = "floating"'), name="floating.toml"),
        models.menu(MENU, ('name = "toy"', 'name = "fixed"'), with_precision(COARSE), name="fixed.toml"),
        models.menu(MENU, ('name = "toy"', 'name = "again"'), with_precision(COARSE), name="again.toml"),
    ]
    assert compiled(menus[0]) != compiled(menus[1]) == compiled(menus[2])
    emulation = emulate(menus, catalogue)
    result = compare(emulation)
    alone = [rates_of(emulate([menu], catalogue)).triggers[2].total.hz for menu in menus[:2]]
    (values,) = [
        d
        for d in result.differences
        if (d.a, d.b, d.what, d.quantity) == ("floating", "fixed", "AD", "total_hz")
    ]
    assert values.b_minus_a_hz == pytest.approx(alone[1] - alone[0])
    assert values.b_minus_a_hz != 0
    assert not [d for d in result.differences if (d.a, d.b) == ("fixed", "again") and d.b_minus_a_hz]
    how = {(c.a, c.b): c.how for c in result.changes if c.what == "AD"}
    assert how["floating", "fixed"].startswith("precision: none → { input = ap_fixed<8,8>")


def test_overflows_in_the_model_are_reported_with_the_rates(models: Models, catalogue: Catalogue) -> None:
    narrow = COARSE.replace("<10,3>", "<10,0>").replace(
        'threshold = "ap_fixed<8,8>', 'threshold = "ap_fixed<8,4>'
    )
    result = rates_of(emulate([models.menu(MENU, with_precision(narrow))], catalogue))
    thresholds, leaves = (warning for warning in result.warnings if " overflow " in warning)
    assert "thresholds overflow ap_fixed<8,4>" in thresholds
    assert "leaf values (or the base) overflow ap_fixed<10,0>" in leaves
    wide = rates_of(emulate([models.menu(MENU, with_precision(WIDE))], catalogue))
    assert not [warning for warning in wide.warnings if "overflow" in warning]


def test_a_mistake_is_named(models: Models) -> None:
    message = "menu.toml:.*: trigger 'AD': precision: score = 'int': expected ap_fixed<WIDTH,INTEGER>"
    with pytest.raises(TrigemuError, match=message):
        models.menu(MENU, with_precision(COARSE.replace("ap_fixed<10,3>", "int")))
