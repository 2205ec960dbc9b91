"""The menus that come with trigemu and need plugins: reader, schema, warnings, and profiles of the paper."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from project import CORE_MENUS, MENUS, ROOT

from trigemu import make_plan, menu_schema, read_menu
from trigemu.studies.efficiency_profiles import read_profiles

FILES = [file for file in MENUS if file not in CORE_MENUS]
PATH = [ROOT / "plugins"]


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    result: dict[str, Any] = json.loads(json.dumps(menu_schema(["alpha_t", "decade"], PATH)))
    jsonschema.Draft202012Validator.check_schema(result)
    return result


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_they_are_valid_and_nothing_is_misread(schema: dict[str, Any], file: Path) -> None:
    menu = read_menu(file, PATH)
    assert menu.enabled
    assert make_plan([menu]).warnings == ((),)
    jsonschema.Draft202012Validator(schema).validate(tomllib.loads(file.read_text()))


def test_every_key_of_every_kind_is_described(schema: dict[str, Any]) -> None:
    for table in (*schema["$defs"].values(), *schema["properties"]["trigger"]["items"]["oneOf"]):
        assert table["description"][0].isupper() or table["description"][0] in "[`"
        keys = table["properties"] | {"*": table["additionalProperties"] or {"description": "none"}}
        assert not [key for key, value in keys.items() if not value.get("description")], table["title"]


def test_the_keys_of_an_anomaly_trigger(schema: dict[str, Any]) -> None:
    validator = jsonschema.Draft202012Validator(schema)
    trigger = {"name": "A", "kind": "anomaly", "card": "card.toml", "unique_rate_hz": 5, "requires": "ht > 3"}
    validator.validate({"trigger": [trigger | {"sha256": "ab"}]})
    assert not validator.is_valid({"trigger": [trigger | {"model": "x.onnx"}]})
    assert not validator.is_valid({"trigger": [{k: v for k, v in trigger.items() if k != "card"}]})


def test_the_efficiency_profiles_of_the_paper_are_of_its_menus() -> None:
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
