"""Warnings about signed differences and lost prescales; that shipped menus have none is in test_schema.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from toys import memory_catalogue, menu_from, threshold, toy_events

from trigemu import Menu, TrigemuError, make_plan, run
from trigemu.menus.checks import unit_of_observable, unit_of_threshold
from trigemu.results.numbers import threshold_label


def trigger(name: str, more: str, above: float = 20.0, observable: str = "jet[0].pt") -> str:
    return threshold(name, observable, above, more)


def warnings(menu: Menu) -> tuple[str, ...]:
    (found,) = make_plan([menu]).warnings
    return found


D = "dphi(jet[0], jet[1])"
SIGNED = (
    *(
        f"n_jet > 2 and {D} > 1",
        f"{D} <= 1",
        f"1 < {D}",
        f"-(-{D}) > 1",
        f"not {D} > 1",
        f"{D} > 1 and 2 > 1",
    ),
    *(f"3.14 / 2 < {D}", f"{D} > jet[0].pt / 100", "dphi(jet[0], met) > 1"),
)
UNSIGNED = (
    *(f"-1 < {D} < 1 and abs(deta(jet[0], jet[1])) > 2", f"-3.14 / 2 < {D} < 3.14 / 2"),
    *(f"{D} > 1 or {D} < -1", f"{D} == 1", f"{D} * {D} > 1", "dr(jet[0], jet[1]) > 1"),
    f"{D} > 0",  # the sign itself
)
PAIR = '[[trigger]]\nname = "P"\nkind = "combination"\nlegs = [{ object = "jet" }, { object = "jet" }]\n'


@pytest.mark.parametrize(
    ("observable", "requires", "told"),
    [
        *((D, "", D), ("-deta(jet[0], jet[1])", "", "-deta(jet[0], jet[1])")),
        *(("met", condition, condition) for condition in SIGNED),
        *((f"abs({D})", "", ""), (f"1 - {D}", "", "")),
        (f"-{D}", f"-1 < {D}", ""),  # both sides, together
        *(("met", condition, "") for condition in UNSIGNED),
    ],
)
def test_one_sided_cuts_on_signed_differences(
    tmp_path: Path, observable: str, requires: str, told: str
) -> None:
    more = f'requires = "{requires}"' if requires else ""
    found = warnings(menu_from(tmp_path, trigger("D", more, 1.0, observable)))
    assert len(found) == bool(told)
    assert all("have a sign" in text and f"'D' ({told})" in text for text in found)


def test_pairs_of_combinations_cut_on_sizes(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, f"{PAIR}pairs = [{{ legs = [0, 1], deta = {{ min = 1.0 }} }}]\n")
    assert warnings(menu) == ()


def test_many_triggers_make_one_warning(tmp_path: Path) -> None:
    text = "".join(trigger(f"D{i}", "", 1.0 + i, "dphi(jet[0], jet[1])") for i in range(7))
    (warning,) = warnings(menu_from(tmp_path, text))
    assert "'D3'" in warning
    assert "'D4'" not in warning
    assert "and 3 more; write abs" in warning


SEEDS = trigger("T0", "prescale = 2") + trigger("T1", 'seed = "T0"\nenabled = false')


def test_a_disabled_seed_loses_the_prescale_of_its_seed(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, SEEDS + trigger("T2", 'seed = "T1"'))
    (warning,) = warnings(menu)
    assert warning.startswith("'T2' does not get the prescale of 'T0': its seed 'T1' is disabled")
    found = run(menu, memory_catalogue({"toy": toy_events(3, 300)}))
    assert found["T2"].total.hz == pytest.approx(2 * found["T0"].total.hz)
    assert warning in found.warnings
    assert warning in json.loads(json.dumps(found.to_dict()))["warnings"]


def test_naming_it_in_the_seed_applies_the_prescale(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, SEEDS + trigger("T2", 'seed = "T1 and T0"'))
    found = run(menu, memory_catalogue({"toy": toy_events(3, 300)}))
    assert found["T2"].total.hz == pytest.approx(found["T0"].total.hz)
    assert warnings(menu) == ()


@pytest.mark.parametrize(
    "menu",
    [
        SEEDS.replace("prescale = 2", "") + trigger("T2", 'seed = "T1"'),
        SEEDS.replace("enabled = false", "") + trigger("T2", 'seed = "T1"'),
        SEEDS + trigger("T2", 'seed = "T0"'),
        SEEDS.replace("prescale = 2", "prescale = 2\nenabled = false") + trigger("T2", 'seed = "T1"'),
        trigger("T1", "prescale = 2\nenabled = false") + trigger("T2", 'seed = "T1"'),
    ],
    ids=["no prescale", "enabled", "seeded directly", "all disabled", "its own prescale"],
)
def test_seeds_that_lose_no_prescale(tmp_path: Path, menu: str) -> None:
    assert warnings(menu_from(tmp_path, menu)) == ()


def test_prescales_are_lost_through_logic_and_in_columns(tmp_path: Path) -> None:
    head = '[menu]\nprescale_columns = ["a", "b"]\n'
    deep = (
        trigger("T0", "prescales = [1, 0]")
        + trigger("T1", 'seed = "T0"\nenabled = false')
        + '[[trigger]]\nname = "L"\nkind = "logic"\nexpression = "T1"\nenabled = false\n'
        + trigger("T2", 'seed = "L"')
    )
    (warning,) = warnings(menu_from(tmp_path, head + deep))
    assert "'T2' does not get the prescale of 'T0': its seed 'L'" in warning


MENU = (
    threshold("J", "jet[0].pt", 30.0)
    + threshold("D", "muon[0].dxy", 0.1, 'unit = "cm"')
    + threshold("PLAIN", "met", 0.1, 'unit = ""')
)


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
