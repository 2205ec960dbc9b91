"""Whole menus of the Phase-2 tools: what is written decides as every choice of objects tried."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import numpy as np
import phase2_toys as toys
import pytest
import yaml
from real_data import real_file
from trigemu_cms import import_cms_phase2
from trigemu_validation import check_decisions

from trigemu import TrigemuError, catalogue_of, decide, make_plan, read_menu
from trigemu.base.toml import TableError
from trigemu.counting.decisions import raw_decisions


@pytest.mark.parametrize("text", [toys.MENU, toys.FORMS])
def test_decisions_are_those_of_every_choice(tmp_path: Path, text: str) -> None:
    menu_file, objects = toys.write_files(tmp_path, text)
    imported = import_cms_phase2(menu_file, objects)
    assert imported.left_out == ()
    (tmp_path / "menu.toml").write_text(imported.toml)
    menu = read_menu(tmp_path / "menu.toml")
    output = toys.events(500, 1)
    (sample,) = catalogue_of(toys.write_events(tmp_path / "events", output)).samples
    plan = make_plan([menu])
    plan.check(sample)
    events = sample.read(0, 0, sample.entries, plan.needs)
    result = raw_decisions(decide(events, plan), menu, plan.bits[0])
    seeds = yaml.safe_load(text)
    tables = {k: v for text in toys.OBJECTS.values() for k, v in yaml.safe_load(text).items()}
    truth = [toys.truth(seeds, tables, output, event) for event in range(500)]
    for name in seeds:
        expected = [event[name] for event in truth]
        assert 2 < sum(expected) < 498, name
        assert np.flatnonzero(result[name] != expected).tolist() == [], name


def test_what_is_written(tmp_path: Path) -> None:
    imported = import_cms_phase2(*toys.write_files(tmp_path))
    result = tomllib.loads(imported.toml)
    assert (imported.items, imported.parts, imported.warnings) == (5, 6, ())
    assert result["menu"] == {"name": "menu", "format": 1}
    triggers = {trigger["name"]: trigger for trigger in result["trigger"]}
    assert triggers["Either"] == {"name": "Either", "kind": "logic", "expression": "Either_1 or Either_2"}
    assert triggers["Either_2"]["enabled"] is False
    assert "# (leg1+leg2).mass > 4.4\n" in imported.toml
    assert "# barrel: {eleId} == 1\n" in imported.toml


@pytest.mark.parametrize(("masks", "reason"), [
    (["open('x')"], "open('x')"),
    (["abs(leg1.z0-leg2.z0) < 1", "abs(leg1.chg-leg2.z0) < 1"],
     "leg1 has two columns as its z0, 'z0' and 'chg'"),
    (["leg1.pt + leg2.pt > 9", "leg1.chg + leg2.chg > 0"], "a seed may have one sum over legs"),
    (["leg1.charge*leg2.charge < 0", "leg1.charge*leg2.chg < 0"], "leg2 has two columns as its charge"),
])  # fmt: skip
def test_a_seed_that_cannot_be_imported_is_left_out(tmp_path: Path, masks: list[str], reason: str) -> None:
    """With the line and the reason, also in the menu; the others are imported."""
    legs = '\n  leg1: {obj: "Mu:default"}\n  leg2: {obj: "Mu:default"}\n'
    menu, objects = toys.write_files(tmp_path)
    listed = "".join(f"\n  - {mask}" for mask in masks)
    menu.write_text(f"Good:{legs}Bad:\n  cross_masks:{listed}{legs}Late: 5\n")
    imported = import_cms_phase2(menu, objects)
    assert [trigger.name for trigger in imported.menu.triggers] == ["Good"]
    bad, late = imported.left_out
    assert (bad.name, bad.line in (4, 6), reason in bad.reason) == ("Bad", True, True)
    assert late.reason.startswith("Late = 5: expected a table of cross_masks, leg0")
    assert f"# Left out: Bad (line {bad.line} of the YAML): " in imported.toml


def test_constants_of_offline_pt_from_files(tmp_path: Path) -> None:
    menu, objects = toys.write_files(tmp_path)
    menu.write_text('A:\n  leg1: {threshold_cut: offline_pt > 5, obj: "Mu:default"}\n')
    scalings = tmp_path / "scalings"
    scalings.mkdir()
    (scalings / "Mu:default:barrel.yaml").write_text("slope: 1.05\noffset: 1\n")
    with pytest.raises(TrigemuError, match=r"Mu:default:endcap\.yaml: cannot read"):
        import_cms_phase2(menu, objects, scalings)
    (scalings / "Mu:default:endcap.yaml").write_text("slope: 1.2\noffset: -0.5\n")
    result = tomllib.loads(import_cms_phase2(menu, objects, scalings).toml)
    assert result["objects"]["Mu"]["scaled"]["offline_pt"] == [
        {"eta": {"abs_below": 0.82999995}, "slope": 1.05, "offset": 1.0},
        {"eta": {"abs_min": 0.82999995, "abs_below": 2.4}, "slope": 1.2, "offset": -0.5},
    ]
    (scalings / "Mu:default:endcap.yaml").write_text("slope: 0\noffset: 1\n")
    with pytest.raises(TrigemuError, match=r"endcap\.yaml:1: .* slope = 0: expected a number > 0"):
        import_cms_phase2(menu, objects, scalings)


@pytest.mark.parametrize(("text", "message"), [
    ('A:\n  leg1: {threshold_cut: "pt > 3", obj: "Mu:defalt"}\n', "menu.yml:2: seed 'A': leg1: "),
    ('A:\n  leg1: {threshold_cut: "pt > 3", obj: "Muon:default"}\n', "unknown object 'Muon'"),
    ('A:\n  leg1: {threshold_cut: "pt > 3", obj: "Mu"}\n', "NAME:ID or NAME:ID:RANGE"),
    ('A:\n  leg1:\n    obj: "Mu:default"\n    threshold_cut: 5\n',
     "menu.yml:4: seed 'A': A.leg1.threshold_cut = 5: "),
    ('A:\n  leg1: {obj: "Mu:default", cut: 5}\n', "unknown key 'cut'"),
    ("A:\n  cross_masks: []\n", "menu.yml:1: seed 'A': 0 legs"),
    ('A:\n  x_seeds: [B]\n  leg1: {obj: "Mu:default"}\n', "menu.yml:2: seed 'A': unknown key"),
    ('A:\n  cross_masks:\n    - open("x")\n  leg1: {obj: "Mu:default"}\n', "menu.yml:3: seed 'A': 'open"),
    ('A:\n  cross_masks: leg1.pt > 3\n  leg1: {obj: "Mu:default"}\n', "menu.yml:2: seed 'A': A.cross_masks"),
    ('A:\n  cross_masks: [leg1.pt > 3, leg1.pt < 2]\n  leg1: {obj: "Mu:default"}\n', "never fires"),
    ("A: !!python/object/apply:os.system ['true']\n", "menu.yml:1: not valid YAML"),
    ("'': {leg1: {obj: 'Mu:default'}}\n", "menu.yml:1: seed '': expected a name"),
    ("A: &a {leg1: *a}\n", "unknown key 'leg1'"),
    ("A: {cross_masks: &a [*a], leg1: {obj: 'Mu:default'}}\n", "expected a string, got a list"),
    ("", "no seeds"),
])  # fmt: skip
def test_mistakes_have_their_lines(tmp_path: Path, text: str, message: str) -> None:
    menu, objects = toys.write_files(tmp_path)
    menu.write_text(text)
    with pytest.raises(TrigemuError) as caught:
        import_cms_phase2(menu, objects)
    assert message in str(caught.value)


IDS = "Mu:\n  ids:\n    default:\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Mu: {}\n", "others.yml:1: object 'Mu'"),
        ("Mu: {ids: {default: 5}}\n", "Mu.ids.default = 5: expected a table of cuts, eta_ranges"),
        (f"{IDS}      cuts:\n        inclusive:\n        - '{{pt}} = 3'\n", "others.yml:6: "),
        (f"{IDS}      cuts:\n        barrel: ['{{pt}} > 3']\n", "others.yml:5: object 'Mu'"),
        (f"{IDS}      cuts:\n        inclusive: '{{pt}} > 3'\n", "expected a list, got a string"),
        ("Mu:\n  eta_ranges:\n    barrel: [2, 1]\n  ids: {default: {}}\n", "others.yml:3: object 'Mu'"),
        (f"{IDS}      cuts: {{inclusive: ['{{pt}} > 3', '{{pt}} < 2']}}\n", "contradict each other"),
    ],
)
def test_mistakes_in_objects_have_their_lines(tmp_path: Path, text: str, message: str) -> None:
    menu, objects = toys.write_files(tmp_path)
    menu.write_text('A:\n  leg1: {obj: "Mu:default", threshold_cut: null}\n')
    (objects / "others.yml").write_text(text)
    with pytest.raises(TableError) as caught:
        import_cms_phase2(menu, objects)
    assert message in str(caught.value)


def test_names_of_objects_are_not_those_of_collections(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "mu:\n  ids: {default: {cuts: {inclusive: ['{pt} > 3']}}, Iso-1: {}}\n"
        "Mu_a:\n  ids: {b: {}}\nMu_a_b:\n  ids: {default: {}}\n"
    )
    menu = tmp_path / "menu.yml"
    menu.write_text('A:\n  leg1: {obj: "mu:default"}\n  leg2: {obj: "mu:Iso-1"}\n')
    result = tomllib.loads(import_cms_phase2(menu, tmp_path).toml)["objects"]
    assert result == {"mu_default": {"from": "mu", "pt": {"above": 3.0}}, "mu_Iso_1": {"from": "mu"}}
    menu.write_text('A:\n  leg1: {obj: "Mu_a:b"}\n  leg2: {obj: "Mu_a_b:default"}\n')
    with pytest.raises(TrigemuError, match="two objects would be called 'Mu_a_b'"):
        import_cms_phase2(menu, tmp_path)


def test_the_step_1_menu_decides_as_the_tools_do(tmp_path: Path) -> None:
    folder = real_file("cms_phase2")
    imported = import_cms_phase2(folder / "step1_menu_cfg.yml", folder / "objects")
    (tmp_path / "menu.toml").write_text(imported.toml)
    events = tmp_path / "events"
    shutil.copytree(folder / "inputs", events)
    shutil.copy(folder / "peer_decisions.parquet", events)
    checked = check_decisions(read_menu(tmp_path / "menu.toml"), catalogue_of(events))
    assert (imported.items, checked.crossings) == (42, 10_000)
    assert [(t.name, t.skipped, t.differ) for t in checked.triggers if t.skipped or t.differ] == []
    assert len(checked.triggers) == 42
