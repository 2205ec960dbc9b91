"""Y(x) in fixed point: the trees of XGBoost as plain arrays, variants of a menu, and the commands."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
import treelite
import xgboost
from click.testing import CliRunner
from decade_toys import MENU, Models, compiled, read_events, truth
from toys import CATALOGUE, toy_events, write_root
from tree_toys import fixed_walk, floating_walk

from trigemu import Catalogue, TrigemuError, compare, emulate, rates_of
from trigemu.cli.commands import cli
from trigemu.emulation.plan import decide, make_plan
from trigemu.observables.workspace import Workspace
from trigemu_decade.precision import read_ensemble
from trigemu_decade.quantile import load_trees
from trigemu_firmware.model import tree_model
from trigemu_latency.stream.stream import Stream

COARSE = 'precision = { input = "ap_fixed<8,8>", threshold = "ap_fixed<8,8>", score = "ap_fixed<10,3>" }'
WIDE = 'precision = { input = "ap_fixed<32,14>", threshold = "ap_fixed<32,14>", score = "ap_fixed<32,8>" }'


def rows(n: int = 400) -> np.ndarray:
    x = np.float32(np.random.default_rng(4).exponential(25, (n, 2)))
    x[::4, 0] = 0.0
    return x


def with_precision(text: str) -> tuple[str, str]:
    return "above = 0.0", f"above = 0.0\n{text}"


def test_plain_arrays_are_the_trees_of_xgboost(booster: xgboost.Booster) -> None:
    trees = load_trees(bytes(booster.save_raw("json")), 2).ensemble
    assert trees.trees == booster.num_boosted_rounds()
    dumped = "".join(booster.get_dump())
    assert (trees.split_nodes, len(trees.feature)) == (dumped.count("yes="), dumped.count("\n"))
    expected = booster.inplace_predict(rows())
    assert floating_walk(trees, rows()) == pytest.approx(expected, rel=1e-6, abs=1e-6)
    edge = np.float32([[trees.threshold[0]] * 2])  # equal goes right
    assert floating_walk(trees, edge) == pytest.approx(booster.inplace_predict(edge), rel=1e-6)


def test_categories_are_refused() -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 5, (500, 1)).astype(np.float32)
    data = xgboost.DMatrix(x, (x[:, 0] % 2) + 0.0, feature_types=["c"], enable_categorical=True)
    booster = xgboost.train({"max_cat_to_onehot": 1, "nthread": 1}, data, 2)
    model = treelite.frontend.from_xgboost_json(booster.save_raw("json").decode())
    with pytest.raises(TrigemuError, match="splits on categories"):
        read_ensemble(model)


def test_the_score_is_the_network_less_the_words_of_the_trees(
    models: Models, catalogue: Catalogue, plain_events: list
) -> None:
    menu = models.menu(MENU, with_precision(COARSE))
    expected = truth(models, plain_events[:600])
    model = tree_model(menu, "AD")
    assert model.fixed
    words, _ = fixed_walk(model.fixed, np.float32(expected.x))
    y = np.where(expected.asked, expected.y - model.fixed.to_float(np.array(words)), -np.inf)
    events = read_events(menu, catalogue)
    assert compiled(menu).evaluate(Workspace(events)) == pytest.approx(y, abs=1e-6)
    floating = compiled(models.menu()).evaluate(Workspace(events))
    assert np.abs(floating[expected.asked] - y[expected.asked]).max() > 0.01


def test_wide_types_are_the_floating_trigger(models: Models, catalogue: Catalogue) -> None:
    plain, wide = models.menu(), models.menu(MENU, with_precision(WIDE))
    events = read_events(plain, catalogue)
    scores = [compiled(menu).evaluate(Workspace(events)) for menu in (plain, wide)]
    assert scores[1] == pytest.approx(scores[0], abs=2e-6)


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
    (found,) = [
        d
        for d in result.differences
        if (d.a, d.b, d.what, d.quantity) == ("floating", "fixed", "AD", "total_hz")
    ]
    assert found.b_minus_a_hz == pytest.approx(alone[1] - alone[0])
    assert found.b_minus_a_hz != 0
    assert not [d for d in result.differences if (d.a, d.b) == ("fixed", "again") and d.b_minus_a_hz]
    how = {(c.a, c.b): c.how for c in result.changes if c.what == "AD"}
    assert how["floating", "fixed"].startswith("precision: none → { input = ap_fixed<8,8>")


def test_single_events_decide_alike(models: Models, catalogue: Catalogue) -> None:
    menu = models.menu(MENU, with_precision(COARSE))
    plan, events = make_plan([menu]), read_events(menu, catalogue)
    stream, expected = Stream(plan, events), decide(events, plan)
    for event in range(len(events)):
        stream.decide(event)
        assert stream.words.tolist() == expected[event].tolist()


def test_what_overflows_in_the_model_is_told_with_the_rates(models: Models, catalogue: Catalogue) -> None:
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
        (COARSE.replace(" }", ", scales = [1] }"), "1 scales for 2 inputs: one each"),
        (COARSE.replace("score", "scores"), "unknown key 'scores'; did you mean 'score'"),
        ("precision = 12", "precision = 12: expected a table of input, threshold, score, scales"),
    ],
)
def test_mistakes_have_their_line(models: Models, text: str, message: str) -> None:
    with pytest.raises(TrigemuError) as error:
        models.menu(MENU, with_precision(text))
    assert message in str(error.value)
    line = (models.folder / "menu.toml").read_text().partition(text)[0].count("\n") + 1
    first = (models.folder / "menu.toml").read_text().partition('name = "AD"')[0].count("\n")
    assert any(f"menu.toml:{number}: trigger 'AD'" in str(error.value) for number in (line, first))


def test_several_quantiles_are_no_firmware(models: Models) -> None:
    data = xgboost.DMatrix(rows(), rows()[:, 0])
    given = {"objective": "reg:quantileerror", "quantile_alpha": [0.5, 0.9], "nthread": 1}
    models.write_card(bdt=bytes(xgboost.train(given, data, 2).save_raw("json")))
    with pytest.raises(
        TrigemuError, match=r"at the quantiles \[0.5, 0.9\]: expected 'reg:quantileerror' at one"
    ):
        models.menu(MENU, with_precision(COARSE))


@pytest.fixture
def place(models: Models, monkeypatch: pytest.MonkeyPatch) -> Models:
    """The current folder, with a menu, its models and a catalogue."""
    monkeypatch.chdir(models.folder)
    write_root(Path("all.root"), toy_events(19, 900))
    Path("catalogue.toml").write_text(CATALOGUE)
    models.menu(MENU, ("above = 0.0", "above = -0.5"))
    return models


def trigemu(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(
        cli, ("firmware", *arguments, "--samples", "catalogue.toml"), prog_name="trigemu"
    )
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def test_a_precision_is_chosen_pasted_and_told(place: Models) -> None:
    auto = ("precision", "menu.toml", "--trigger", "AD", "--auto")
    status, text = trigemu(*auto, "--score-bits", "14", "--rounding", "AP_RND", "--json", "found.json")
    assert status == 0
    found = json.loads(Path("found.json").read_text())
    line = text.splitlines()[-1]
    table = tomllib.loads(line)["precision"]
    assert table == {key: value for key, value in found["precision"].items() if value is not None}
    assert table["input"].startswith("ap_fixed<12,")
    assert table["score"].startswith("ap_fixed<14,")
    assert table["score"].endswith(",AP_RND>")
    assert [of["overflows"] for of in found["ranges"]["inputs"]] == [0, 0]
    for of in found["ranges"]["inputs"]:
        assert of["name"] in text
        assert f"{of['high']:.6g}" in text
    assert ("(--overflow AP_SAT) need" in text) == (found["spared"] > 0)
    assert "No input is negative: ap_ufixed" in text
    place.menu(MENU, ("above = 0.0", f"above = -0.5\n{line}"))
    status, again = trigemu("precision", "menu.toml", "--trigger", "AD", "--json", "again.json")
    assert status == 0
    assert again.splitlines()[-1] == line
    assert json.loads(Path("again.json").read_text())["ranges"] == found["ranges"]


def test_a_scan_is_printed_written_and_drawn(place: Models) -> None:
    given = (
        "scan",
        "menu.toml",
        "--trigger",
        "AD",
        "--bits",
        "6,10",
        "--score-bits",
        "12",
        "--overflow",
        "AP_SAT",
    )
    status, text = trigemu(*given, "--json", "scan.json", "--figure", "scan.png")
    assert status == 0
    document = json.loads(Path("scan.json").read_text())
    points = document["points"]
    assert [(p["input_bits"], p["score_bits"]) for p in points] == [(6, 12), (10, 12)]
    lines = [line.split() for line in text.splitlines()]
    for point in points:
        found = next(line for line in lines if line and line[0].startswith(f"{point['input_bits']},"))
        assert str(point["differ_events"]) in found
        place.menu(
            MENU, ("above = 0.0", f"above = -0.5\nprecision = {as_toml(point['precision'])}"), name="v.toml"
        )
        status, _ = run("run", "v.toml", "--samples", "catalogue.toml", "--json", "run.json")
        assert status == 0
        fixed = next(t for t in json.loads(Path("run.json").read_text())["triggers"] if t["name"] == "AD")
        own = next(t for t in document["floating"]["triggers"] if t["name"] == "AD")
        assert point["total"]["hz"] == pytest.approx(
            fixed["total_hz"] - own["total_hz"], abs=1e-6 * own["total_hz"]
        )
    assert Path("scan.png").read_bytes().startswith(b"\x89PNG")


def as_toml(precision: dict[str, object]) -> str:
    keys = {key: value for key, value in precision.items() if value is not None}
    return "{ " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in keys.items()) + " }"


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, arguments, prog_name="trigemu")
    return result.exit_code, result.output


def test_tools_that_are_missing_are_named_before_any_work(
    place: Models, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    status, text = trigemu("scan", "no.toml", "--trigger", "AD", "--bits", "8", "--resources")
    assert (status, text) == (
        2,
        "trigemu: ghdl is not installed: it is in the Debian package ghdl (apt-get install ghdl)\n",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("precision", "menu.toml", "--trigger", "AD"), "trigger 'AD' has no precision: --auto chooses one"),
        (("precision", "menu.toml", "--trigger", "AD", "--input-bits", "9"), "need --auto"),
        (("precision", "menu.toml", "--trigger", "J60", "--auto"), "the kind 'threshold' has no trees"),
        (("scan", "menu.toml", "--trigger", "AD", "--bits", "9:8"), "bits '9:8': expected"),
        (
            ("scan", "menu.toml", "--trigger", "AD", "--bits", "8", "--json", "no/where"),
            "there is no folder no",
        ),
    ],
)
def test_mistakes_end_with_a_message(place: Models, arguments: tuple[str, ...], message: str) -> None:
    status, text = trigemu(*arguments)
    assert status == 2
    assert text.startswith("trigemu: ")
    assert message in text
