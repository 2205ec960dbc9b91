"""The efficiency profiles of the paper, and its menus, which need the plugins anomaly and decade."""

from __future__ import annotations

from project import ROOT

from trigemu import read_menu
from trigemu.studies.efficiency_profiles import read_profiles


def test_that_of_the_paper_is_of_its_menus() -> None:
    result = read_profiles(ROOT / "menus" / "paper.toml")
    menus = [read_menu(menu, [ROOT / "plugins"]) for menu in result.menus]
    assert [menu.name for menu in menus] == ["primary", "baseline", "decade"]
    assert len(result.observables) == 6
    assert len(result.categories) == 3
    of_menus = {menu.name: [r for r in result.references if r.menu == menu.name] for menu in menus}
    assert sum(map(len, of_menus.values())) == len(result.references)
    (ceiling,) = (part for part in result.references if part.quantity == "unique_ceiling")
    assert all(part.source == "arXiv:2508.10224" for part in result.references if part is not ceiling)
    stated = {part.quantity: part.value for part in of_menus["decade"]}
    assert ceiling.source.startswith("derived from arXiv:2508.10224")
    assert ceiling.value == round(stated["unique_hz"] / stated["total_hz"], 3)
    for menu in menus:
        for reference in of_menus[menu.name]:
            assert reference.trigger is not None
            assert menu.trigger(reference.trigger).enabled
    assert result.scope is not None
    assert result.scope.object("jet") == menus[0].scope.object("jet")
    assert result.scope.ht == tuple(menus[0].scope.object(name) for name in ("jet", "photon"))
    assert result.scope.mht == result.scope.ht
