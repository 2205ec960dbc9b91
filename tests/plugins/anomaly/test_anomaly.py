"""Networks in menus, against their scores in plain Python."""

from __future__ import annotations

import hashlib
import math
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx_toys import autoencoder, linear, model, write_card
from toys import columns, even_events, memory_catalogue, menu_from, toy_events

from trigemu import Menu, TrigemuError, emulate, make_events, make_plan, rates_of, read_menu
from trigemu.api import Workspace
from trigemu.base.mapping import Engine
from trigemu.base.toml import TableError

EVENTS = toy_events(21, 150)
LOGARITHM = model([helper.make_node("Log", ["x"], ["y"])], {}, 1, output=("n", 1))
TRIGGER = '[[trigger]]\nname = "{name}"\nkind = "anomaly"\ncard = "{card}"\n{more}\n'


def trigger(name: str = "AD", card: str = "card.toml", more: str = "above = 0.0") -> str:
    return TRIGGER.format(name=name, card=card, more=more)


def scores(menu: Menu, events: Sequence[dict[str, Any]] = EVENTS, name: str = "AD") -> list[float]:
    plan = make_plan([menu])
    c = columns(events)
    work = Workspace(make_events("toy", c.weight, c.collections, c.scalars))
    evaluated = plan.slots[plan.bits[0][name]].compiled.evaluate(work)
    assert evaluated.dtype == np.float64
    return evaluated.tolist()  # type: ignore[no-any-return]


def first(event: dict[str, Any], name: str, column: str) -> float | None:
    return event[name][0][column] if event[name] else None


@pytest.mark.parametrize("flat", [True, False])
def test_the_score_is_what_the_model_gives(tmp_path: Path, flat: bool) -> None:
    """Here it is no autoencoder; missing values are padded."""
    content = linear([1.0, -2.0, 0.25], flat=flat)
    write_card(tmp_path, content, [(["met"], None), (["jet[0].eta", "jet[0].pt"], -1.5)])
    expected = [
        e["met"] + (-2.0 * e["jet"][0]["eta"] + 0.25 * e["jet"][0]["pt"] if e["jet"] else 3.0 - 0.375)
        for e in EVENTS
    ]
    assert scores(menu_from(tmp_path, trigger())) == pytest.approx(expected, rel=1e-5, abs=1e-4)


def test_without_padding_an_event_has_no_score(tmp_path: Path) -> None:
    write_card(tmp_path, linear([1.0, 1.0]), [(["jet[0].pt"], None), (["photon[0].pt"], 0.0)])
    expected = [
        -math.inf if not e["jet"] else e["jet"][0]["pt"] + (first(e, "photon", "pt") or 0.0) for e in EVENTS
    ]
    assert -math.inf in expected
    assert scores(menu_from(tmp_path, trigger())) == pytest.approx(expected, rel=1e-5, abs=1e-4)


def test_events_that_fail_the_preselection_are_not_evaluated(tmp_path: Path) -> None:
    """Their infinite inputs do no harm, nor what a model makes of them."""
    write_card(tmp_path, LOGARITHM, [(["met"], None)])
    bad = iter([math.inf, -1.0] * len(EVENTS))
    events = [e if e["muon"] else e | {"met": next(bad)} for e in EVENTS]
    catalogue = memory_catalogue({"a": events})
    requested = menu_from(tmp_path, trigger(more='above = 0.0\nrequires = "n_muon >= 1"'))
    result = rates_of(emulate([requested], catalogue)).triggers[0].total
    assert result.events == sum(e["met"] > 1 for e in events if e["muon"])
    number = next(i for i, e in enumerate(events) if not e["muon"])
    message = f"sample 'a', event {number}: the input 'met' of a model is infinite as a float32"
    with pytest.raises(TrigemuError, match=message):
        emulate([menu_from(tmp_path, trigger())], catalogue)


def test_a_score_that_is_no_number_is_named(tmp_path: Path) -> None:
    write_card(tmp_path, LOGARITHM, [(["met"], None)])
    events = [e | {"met": -1.0 if i in (70, 90) else e["met"]} for i, e in enumerate(EVENTS)]
    for more in ("above = 0.0", "total_rate_hz = 10.0"):
        menu = menu_from(tmp_path, "\n" + trigger(more=more))
        with pytest.raises(TrigemuError) as error:
            emulate([menu], memory_catalogue({"a": events}), executor=Engine(chunk_events=50))
        where = f"{tmp_path / 'menu.toml'}:2: trigger 'AD'"
        case = "its score is not a number (NaN) in sample 'a', event 70;"
        assert str(error.value).startswith(f"{where}: {case}")


def test_a_card_does_not_depend_on_the_menu(tmp_path: Path) -> None:
    """Its objects and sums are its own, those of the menu are not seen."""
    head = '[objects.jet]\nfrom = "jet"\npt = { min = 30.0 }\n[sums.ht]\nof = ["jet", "photon"]\n'
    write_card(tmp_path, linear([1.0, 100.0]), [(["ht", "n_jet"], None)], head)
    menu = '[objects.jet]\nfrom = "jet"\npt = { min = 10.0 }\n[sums.ht]\nof = ["jet"]\n'
    expected = [
        sum(j["pt"] for j in e["jet"] if j["pt"] >= 30)
        + sum(p["pt"] for p in e["photon"])
        + 100 * sum(j["pt"] >= 30 for j in e["jet"])
        for e in EVENTS
    ]
    requires = 'above = 0.0\nrequires = "n_jet >= 2"'
    requested = [sum(j["pt"] >= 10 for j in e["jet"]) >= 2 for e in EVENTS]
    assert scores(menu_from(tmp_path, menu + trigger())) == pytest.approx(expected, rel=1e-5, abs=1e-4)
    both = [s if a else -math.inf for s, a in zip(expected, requested, strict=True)]
    assert scores(menu_from(tmp_path, menu + trigger(more=requires))) == pytest.approx(
        both, rel=1e-5, abs=1e-4
    )


NETWORK = autoencoder(5, (16, 3, 16), "Tanh")
INPUTS = [(["met"], None), (["jet[0].pt", "jet[0].eta"], 0.0), (["muon[0].pt", "muon[0].eta"], 0.0)]


@pytest.fixture
def two_menus(tmp_path: Path) -> tuple[Menu, Menu]:
    """Triggers share a model by two equal cards, at two thresholds; one has a preselection."""
    for name in ("a", "b"):
        write_card(tmp_path / name, NETWORK, INPUTS)
    result = []
    for name, more in (("a", "above = 400.0"), ("b", "unique_rate_hz = 12.0")):
        file = tmp_path / name / "menu.toml"
        file.write_text(
            trigger("AD", more=more) + trigger("SOME", more='above = 300.0\nrequires = "n_jet > 1"')
        )
        result.append(read_menu(file))
    return result[0], result[1]


def test_equal_cards_are_one_trigger(two_menus: tuple[Menu, Menu], tmp_path: Path) -> None:
    plan = make_plan(two_menus)
    assert [dict(bits) for bits in plan.bits] == [{"AD": 0, "SOME": 1}, {"AD": 2, "SOME": 1}]
    assert sorted(Path(file).parent.name for file in plan.models[1]) == ["b", "b"]
    card = tmp_path / "b" / "card.toml"
    card.write_text(card.read_text().replace("padding = 0.0", "padding = -1.0", 1))
    assert make_plan([two_menus[0], read_menu(tmp_path / "b" / "menu.toml")]).bits[1]["SOME"] == 3


def test_engines_agree(tmp_path: Path) -> None:
    """Each trigger has its own, also where they share a card."""
    write_card(tmp_path, NETWORK, INPUTS)
    engines = ("", 'engine = "onnxruntime"', 'engine = "kernels"')
    lines = [trigger(f"AD{i}", more=f"above = 0.0\n{engine}") for i, engine in enumerate(engines)]
    menu = menu_from(tmp_path, "".join(lines))
    plan = make_plan([menu])
    names = [plan.slots[plan.bits[0][f"AD{i}"]].compiled.scorer.model.engine for i in range(3)]  # type: ignore[attr-defined]
    assert names == ["ONNX Runtime", "ONNX Runtime", "trigemu's kernels"]
    default, chosen, kernels = (scores(menu, name=f"AD{i}") for i in range(3))
    assert default == chosen
    assert default == pytest.approx(kernels, rel=1e-5)
    with pytest.raises(TrigemuError, match="'tensorrt'"):
        menu_from(tmp_path, trigger(more='above = 0.0\nengine = "tensorrt"'))


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize(
    ("trained", "half"),
    [
        ("", False),
        ('[trained_on]\ncatalogue = "toy"', True),
        ('[trained_on]\ncatalogue = "other"\nfiles = ["AB", "CD"]', True),
        ('[trained_on]\ncatalogue = "other"\nfiles = ["ef"]', False),
    ],
)
def test_what_a_model_was_trained_on_decides_about_halves(
    tmp_path: Path, trained: str, half: bool, enabled: bool
) -> None:
    write_card(tmp_path, linear([1.0]), [(["met"], None)], trained)
    plain = '[[trigger]]\nname = "J"\nkind = "threshold"\nobservable = "n_jet"\nabove = 1\n'
    menu = menu_from(tmp_path, trigger(more=f"above = 10.0\nenabled = {str(enabled).lower()}") + plain)
    result = rates_of(emulate([menu], memory_catalogue({"a": even_events(1, 60)}, sha256="ab")))
    assert (result.half is not None) == (half and enabled)
    digest = hashlib.sha256(linear([1.0])).hexdigest()
    assert result.models.get(str(tmp_path / "model.onnx")) == (digest if enabled else None)


def mistakes(folder: Path, text: str) -> list[tuple[int, str]]:
    with pytest.raises(TableError) as error:
        menu_from(folder, text)
    assert all(problem.file == str(folder / "menu.toml") for problem in error.value.problems)
    return [(p.line, f"{p.where}: {p.message}") for p in error.value.problems]


Break = Callable[[Path], object]


@pytest.mark.parametrize(
    ("breaking", "card_line", "message"),
    [
        (lambda d: (d / "card.toml").unlink(), 0, "No such file"),
        (lambda d: write_card(d, linear([1.0, 2.0]), [(["met"], None)]), 3, "model.onnx reads 2 features"),
        (lambda d: write_card(d, b"junk", [(["met"], None)]), 3, "model.onnx is not an ONNX model"),
    ],
)
def test_a_card_with_a_mistake_is_one_of_the_menu(
    tmp_path: Path, breaking: Break, card_line: int, message: str
) -> None:
    """The mistake is reported at the line of the trigger, with file and line of the card."""
    write_card(tmp_path, linear([1.0]), [(["met"], None)])
    breaking(tmp_path)
    ((line, result),) = mistakes(tmp_path, "\n" + trigger(more='above = 0.0\nrequires = "met > 1"'))
    assert result.startswith("trigger 'AD': ")
    assert f"{tmp_path / 'card.toml'}:{card_line}: ".replace(":0:", ":") in result
    assert message in result
    assert line in (2, 5)  # the trigger, or its card


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("requires = 'met'", "requires: 'met': 'met' is not a condition"),
        ("require = 'met > 1'", "did you mean 'requires'?"),
    ],
)
def test_mistakes_of_a_trigger(tmp_path: Path, more: str, message: str) -> None:
    write_card(tmp_path, linear([1.0]), [(["met"], None)])
    ((_, result),) = mistakes(tmp_path, trigger(more=f"above = 0.0\n{more}"))
    assert message in result


def test_a_card_in_another_folder(tmp_path: Path) -> None:
    """Relative to the menu, and the model to the card; or wherever an absolute path leads."""
    card = write_card(tmp_path / "x", linear([1.0]), [(["met"], None)])
    (tmp_path / "menus").mkdir()
    relative = menu_from(tmp_path / "menus", trigger(card="../x/card.toml"))
    absolute = menu_from(tmp_path, trigger(card=str(card)))
    assert scores(relative) == scores(absolute)
    shutil.move(tmp_path / "x", tmp_path / "y")
    assert "x/card.toml: cannot read" in mistakes(tmp_path, trigger(card="x/card.toml"))[0][1]


def test_a_card_that_cannot_be_read_hides_no_other_mistake(tmp_path: Path) -> None:
    result = mistakes(tmp_path, trigger(card="no.toml", more='above = 1\nrequires = "jett[0] > 1"'))
    assert [part in message for (_, message), part in zip(result, ("no.toml: cannot", "jett"), strict=True)]


def test_a_missing_column_is_reported_with_the_trigger(tmp_path: Path) -> None:
    write_card(tmp_path, linear([1.0, 1.0]), [(["met", "n_tau"], None)])
    with pytest.raises(TrigemuError, match="trigger 'AD': sample 'a' has no collection 'tau'"):
        emulate([menu_from(tmp_path, trigger())], memory_catalogue({"a": EVENTS}))
