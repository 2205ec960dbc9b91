"""Complete menus: the written menu can be read and agrees with the XML."""

from __future__ import annotations

import itertools
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from l1_toys import write_menu
from trigemu_cms import import_cms_l1
from trigemu_cms.imported import Imported

from trigemu import TrigemuError
from trigemu.base import toml_text
from trigemu.triggers.logic import parse_expression


def imported(
    folder: Path, expressions: Any, grammar: str = "0.6"
) -> tuple[Imported, dict[str, dict[str, Any]]]:
    result = import_cms_l1(write_menu(folder, expressions, grammar))
    return result, {trigger["name"]: trigger for trigger in tomllib.loads(result.toml)["trigger"]}


def test_an_algorithm_of_one_condition_is_a_trigger(tmp_path: Path) -> None:
    result, triggers = imported(tmp_path, {"L1_A": "MU3", "L1_B": "EXT_BPTX_OR"})
    assert triggers == {
        "L1_A": {
            **{"name": "L1_A", "stored": "0", "kind": "combination"},
            "legs": [{"object": "muon", "pt": {"min": 3.0}}],
        },
        "L1_B": {"name": "L1_B", "stored": "1", "kind": "external", "bit": 35},
    }
    assert (result.items, result.parts, result.left_out, result.warnings) == (2, 0, (), ())
    assert tomllib.loads(result.toml)["menu"]["format"] == 1
    assert "# 0: MU3\n[[trigger]]\n" in result.toml
    assert result.toml.startswith("# From menu.xml (sha256 ")


def test_conditions_are_shared_and_no_items(tmp_path: Path) -> None:
    expressions = {"L1_A": "MU3 AND JET30", "L1_B": "MU3 AND NOT JET30-1", "L1_C": "MU3"}
    result, triggers = imported(tmp_path, expressions)
    assert triggers["L1_A"]["expression"] == "MU3 and JET30"
    assert triggers["L1_B"]["expression"] == "MU3 and (not JET30_bxm1)"
    assert list(triggers) == ["L1_A", "L1_B", "L1_C", "MU3", "JET30", "JET30_bxm1"]
    assert [name for name, trigger in triggers.items() if trigger.get("enabled", True)] == [
        "L1_A",
        "L1_B",
        "L1_C",
    ]
    assert "stored" not in triggers["MU3"]
    assert result.parts == 3


def test_conditions_have_names_that_can_be_read(tmp_path: Path) -> None:
    names = {
        "comb{JET84[JET-ETA_CEN],JET68[JET-ETA_CEN]}": "JET84_68_ETA_CEN",
        "comb{MU3p5-1[MU-QLTY_SNGL],MU0-1}": "MU3p5_bxm1_QLTY_SNGL_MU0_bxm1",
        "dist{JET30,MU0}[DETA_MAX_1p5]": "dist_JET30_MU0_DETA_MAX_1p5",
        "EXT_BPTX_AND.v0+2": "BPTX_AND_v0_bxp2",
        "EG.eq.10": "EGeq10",
        "CENT3": "CENT3",
    }
    _, triggers = imported(tmp_path, [f"{expression} AND MU7" for expression in names])
    assert [triggers[f"A{i}"]["expression"] for i in range(len(names))] == [
        f"{name} and MU7" for name in names.values()
    ]
    assert {*names.values(), "MU7"} <= set(triggers)


def test_no_two_triggers_have_one_name(tmp_path: Path) -> None:
    """The same name of a cut may mean different things in two algorithms."""
    file = write_menu(
        tmp_path, {"MU3_QLTY_SNGL": "MU3[MU-QLTY_SNGL] AND MU0", "L1_B": "MU3[MU-QLTY_SNGL] AND MU0"}
    )
    file.write_text(file.read_text().replace("12,13,14,15", "8,12", 1))
    triggers = {t["name"]: t for t in tomllib.loads(import_cms_l1(file).toml)["trigger"]}
    assert list(triggers) == ["MU3_QLTY_SNGL", "L1_B", "MU3_QLTY_SNGL_2", "MU0", "MU3_QLTY_SNGL_3"]
    assert triggers["L1_B"]["expression"] == "MU3_QLTY_SNGL_3 and MU0"
    assert triggers["MU3_QLTY_SNGL_2"]["legs"][0]["quality"] == {"any_of": [8, 12]}


def test_logic_has_the_truth_table_of_the_xml(tmp_path: Path) -> None:
    expressions = [
        "MU1 AND MU2 OR MU3 XOR MU4",
        "NOT (MU1 OR MU2) AND (MU3 XOR MU4)",
        "MU1 XOR MU2 XOR MU3 XOR NOT MU4",
        "MU1 XOR MU2 XOR MU2",
        "NOT NOT MU1 AND ((MU2 OR MU3) AND MU4 OR NOT MU1)",
        "(MU1 AND MU2 XOR MU3 OR MU4) XOR (MU1 OR MU4)",
    ]
    _, triggers = imported(tmp_path, expressions)
    columns = np.array(list(itertools.product((False, True), repeat=4))).T
    values = {f"MU{i}": column for i, column in enumerate(columns, 1)}
    for number, expression in enumerate(expressions):
        # Python's | ^ & ~ bind as OR, XOR, AND, NOT do.
        python = expression.replace("XOR", "^").replace("OR", "|").replace("AND", "&").replace("NOT", "~")
        logic = parse_expression(triggers[f"A{number}"]["expression"])
        assert logic.evaluate(values).tolist() == eval(python, {}, dict(values)).tolist(), expression


def test_long_logic_has_a_line_for_each_operand(tmp_path: Path) -> None:
    result, triggers = imported(tmp_path, ["MU1 OR (MU2 AND MU3) OR MU4"])
    assert 'expression = """\nMU1 or\n(MU2 and MU3) or\nMU4"""' in result.toml
    assert parse_expression(triggers["A0"]["expression"]).names() == ("MU1", "MU2", "MU3", "MU4")


def test_the_arithmetic_of_pairs_is_written_once(tmp_path: Path) -> None:
    result, _ = imported(
        tmp_path, ["dist{MU0,JET30}[DR_MAX_0p8]", "mass_inv{EG20,EG20}[MASS_MAX_12] AND MU1"]
    )
    integer = tomllib.loads(result.toml)["integer"]
    assert set(integer) == {"muon", "jet", "egamma", "digits"}
    assert integer["muon"] == {
        "pt": {"first": -0.5, "step": 0.5, "bins": 101},
        "eta": {"step": 0.010875, "centred": True},
        "phi": {"bins": 576},
        "upt": {"first": 0.0, "step": 1.0, "bins": 255},
    }
    assert integer["digits"] == {
        "muon-jet": {"delta": 3},
        "egamma-egamma": {"mass": 1, "pt": 1, "trigonometry": 3},
    }
    assert tomllib.loads(result.toml)["objects"] == {"egamma": {"from": "egamma"}}


def test_what_cannot_be_had_is_left_out_by_name(tmp_path: Path) -> None:
    result, triggers = imported(
        tmp_path, {"L1_A": "MU3", "L1_AXO": "AXO AND MU0", "L1_C": "CICADA-1[CICADA-CSCORE_50]", "D": "TOPO"}
    )
    assert list(triggers) == ["L1_A"]
    assert [(out.name, out.index) for out in result.left_out] == [("L1_AXO", 1), ("L1_C", 2), ("D", 3)]
    lines = (tmp_path / "menu.xml").read_text().splitlines()
    assert all("<expression>" in lines[out.line - 1] for out in result.left_out)
    assert "# Left out: 1, L1_AXO (line " in result.toml


def test_what_never_fires_and_what_vectors_do_not_hold_is_a_warning(tmp_path: Path) -> None:
    axo = "AXO[AXO-MODEL_v5,AXO-SCORE_Tight]"
    expressions = {"L1_A": axo, "L1_B": f"{axo} AND MU0", "L1_C": "HTM50 OR MU3", "L1_D": "ZDCP16"}
    result, triggers = imported(tmp_path, expressions)
    names = ("algorithm 'L1_C' (line", "AXO (L1_A and 1 more)", "ZDCP (L1_D)")
    assert len(result.warnings) == 3
    assert all(map(str.startswith, result.warnings, names)), result.warnings
    assert triggers["L1_A"]["observable"] == "axo_v5"


def test_what_is_written_is_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = imported(tmp_path, {"L1_A": "MU3", "L1_B": "MU3 AND JET30"})
    assert [trigger.name for trigger in result.menu.enabled] == ["L1_A", "L1_B"]
    monkeypatch.setattr(toml_text, "table", lambda head, table: f"{head}\nname = 3\n")
    with pytest.raises(TrigemuError, match=r"menu.xml: its conversion .*name = 3"):
        import_cms_l1(tmp_path / "menu.xml")


def test_thresholds_of_2015_have_the_same_integers(tmp_path: Path) -> None:
    """When the muons' bin 0 began at 0 GeV, MU12 meant bin 24, which begins at 11.5 GeV in samples."""
    file = write_menu(tmp_path, {"L1_SingleMu12": "MU12"})
    head, scale, tail = re.split(
        r"(<scale><object>MU</object><type>ET</type>.*?</scale>)", file.read_text(), flags=re.S
    )
    bins = "".join(
        f"<bin><number>{i}</number><minimum>{i / 2}</minimum><maximum>{i / 2 + 0.5}</maximum></bin>"
        for i in range(99)
    )
    scale = re.sub(r"<bin>.*</bin>", bins, scale, flags=re.S).replace("-5.0000000000000000E-01", "0")
    file.write_text(head + scale + tail)
    result = import_cms_l1(file)
    assert "the scale MU ET" in result.warnings[0]
    assert tomllib.loads(result.toml)["trigger"][0]["legs"] == [{"object": "muon", "pt": {"min": 11.5}}]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("dist{MU0,JET30}[DR_MAX_0p8]", r"algorithm 'A0' .*PRECISION MU-JET-Delta is missing"),
        ("AXO", "none of its 1 algorithms can be emulated"),
        (" XOR ".join(f"MU{i}" for i in range(50)), "more than 10000 characters"),
    ],
)
def test_what_is_refused(tmp_path: Path, expression: str, message: str) -> None:
    file = write_menu(tmp_path, [expression])
    file.write_text(file.read_text().replace("MU-JET-Delta", "MU-JET-Alpha"))
    with pytest.raises(TrigemuError, match=message):
        import_cms_l1(file)
