"""Y(x) in fixed point: variants of a menu, and the commands."""

from __future__ import annotations

import numpy as np
import pytest
from decade_toys import MENU, Models, compiled

from trigemu import Catalogue, TrigemuError, compare, emulate, rates_of

COARSE = 'precision = { input = "ap_fixed<8,8>", threshold = "ap_fixed<8,8>", score = "ap_fixed<10,3>" }'
WIDE = 'precision = { input = "ap_fixed<32,14>", threshold = "ap_fixed<32,14>", score = "ap_fixed<32,8>" }'


def rows(n: int = 400) -> np.ndarray:
    x = np.float32(np.random.default_rng(4).exponential(25, (n, 2)))
    x[::4, 0] = 0.0
    return x


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            COARSE.replace("ap_fixed<10,3>", "int"),
            "precision: score = 'int': expected ap_fixed<WIDTH,INTEGER>",
        ),
    ],
)
def test_mistakes_have_their_line(models: Models, text: str, message: str) -> None:
    with pytest.raises(TrigemuError) as error:
        models.menu(MENU, with_precision(text))
    assert message in str(error.value)
    line = (models.folder / "menu.toml").read_text().partition(text)[0].count("\n") + 1
    first = (models.folder / "menu.toml").read_text().partition('name = "AD"')[0].count("\n")
    assert any(f"menu.toml:{number}: trigger 'AD'" in str(error.value) for number in (line, first))
