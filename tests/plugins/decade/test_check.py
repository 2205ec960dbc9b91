"""The events that `trigemu decade check` looks at, and what it prints of them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import onnx_toys
import pytest
from decade_toys import MENU, Models, truth
from printing import text_of
from toys import evaluation_half, memory_catalogue
from trigemu_decade.check import scored_events, summary
from trigemu_decade.diagnostics import diagnose
from trigemu_decade.events import ScoredEvents
from trigemu_decade.figures import label
from trigemu_decade.report import TITLE, sections

from trigemu import Catalogue, Engine, Menu, TrigemuError, emulate, rates_of, solve_budgets
from trigemu.api import Contents

Events = list[dict[str, Any]]
TOLERANCE = 2e-5
AD2 = MENU[MENU.index('[[trigger]]\nname = "AD"') :].replace('"AD"', '"AD2"')


@pytest.fixture
def halves(plain_events: Events) -> Events:
    """The evaluation half of both samples, whose weights stand for all."""
    return evaluation_half(plain_events[:600]) + evaluation_half(plain_events[600:])


def others(event: dict[str, Any]) -> tuple[float, float]:
    hard = max((j["pt"] for j in event["jet"] if j["pt"] >= 30), default=0) > 60
    muon = max((m["pt"] for m in event["muon"]), default=0) > 30
    return float(hard), 0.5 * muon


@pytest.mark.parametrize("missing", [0.0, -2.0])
def test_they_are_those_of_a_loop(
    models: Models, catalogue: Catalogue, halves: Events, missing: float
) -> None:
    models.write_card(("missing = 0.0", f"missing = {missing}"))
    result = scored_events(models.menu(MENU, ("above = 0.0", "above = 0.25")), catalogue)
    expected = truth(models, halves, missing)
    selected = [event for event, a in zip(halves, expected.passed, strict=True) if a]
    assert result.weight == pytest.approx(np.array([e["weight"] for e in selected]), rel=1e-12)
    assert result.y == pytest.approx(expected.y[expected.passed], abs=TOLERANCE)
    assert result.quantile == pytest.approx(expected.quantile[expected.passed], rel=1e-6)
    assert list(result.x) == ["jet[0].pt", "photon[0].pt"]
    for column, x in enumerate(result.x.values()):
        assert x.tolist() == expected.x[expected.passed, column].tolist()  # 0 where it is missing
    assert (result.q, result.threshold) == (0.1, 0.25)
    assert list(result.primary) == ["J60", "MU"]
    for column, accepted in enumerate(result.primary.values()):
        assert accepted.tolist() == [others(event)[column] for event in selected]
    either = [1 - (1 - a) * (1 - b) for a, b in map(others, selected)]
    assert result.any_primary.tolist() == either


def test_the_cut_is_solved(models: Models, catalogue: Catalogue) -> None:
    menu = models.menu(MENU, ("above = 0.0", "unique_rate_hz = 900.0"))
    (solved,) = solve_budgets([menu], catalogue)
    solution = solved.trigger("AD").solution
    done = list[int]()
    result = scored_events(menu, catalogue, executor=Engine(progress=done.append))
    assert sum(done) == 2 * sum(sample.entries for sample in catalogue.background)  # once for the budget
    assert solution is not None
    assert result.threshold == solution.threshold
    assert unique(result, result.corrected, result.threshold) == pytest.approx(900, abs=result.weight.max())


def unique(found: ScoredEvents, score: np.ndarray, cut: float) -> float:
    passed = score > cut
    return float((found.weight * (1 - found.any_primary))[passed].sum())


@pytest.mark.parametrize("cut", [-100.0, -1.0, -0.5, 0.0, 0.3])
def test_the_bare_score_has_the_same_unique_rate(models: Models, catalogue: Catalogue, cut: float) -> None:
    """Up to half of the event at the cut, whose weight is at most this."""
    result = scored_events(models.menu(MENU, ("above = 0.0", f"above = {cut}")), catalogue)
    requested = unique(result, result.corrected, result.threshold)
    near = unique(result, result.y, result.y_threshold)
    assert requested > 0
    assert near == pytest.approx(requested, abs=result.weight.max() / 2 * (1 + 1e-9))


def test_events_without_a_score_are_left_out(models: Models, catalogue: Catalogue, halves: Events) -> None:
    card = onnx_toys.write_card(models.folder, onnx_toys.linear([1.0]), [(["jet[0].pt"], None)])
    card.rename(models.folder / "network.toml")
    models.write_card()
    result = scored_events(models.menu(), catalogue)
    expected = [
        e["jet"][0]["pt"] for e, a in zip(halves, truth_passed(halves), strict=True) if a and e["jet"]
    ]
    assert result.y.tolist() == expected


def truth_passed(events: Events) -> list[bool]:
    return [any(p["pt"] >= 15 for p in event["photon"]) for event in events]


def test_total_and_unique_are_those_of_the_menu(models: Models, catalogue: Catalogue) -> None:
    """Of `run`, which takes the same half for a cut that was fitted on this sample."""
    text = MENU.replace('name = "toy"\n', 'name = "toy"\ncrossing_rate_hz = 30e6\n', 1)
    menu = models.menu(text, ("above = 0.0", "above = -0.3\nfitted_on = 'toy'"))
    trigger = rates_of(emulate([menu], catalogue)).triggers[2]
    result = diagnose(scored_events(menu, catalogue))
    assert result.overlap.total.value == pytest.approx(trigger.total.hz, rel=1e-12)
    assert result.overlap.total.error == pytest.approx(trigger.total.error_hz, rel=1e-12)
    assert result.overlap.unique.value == pytest.approx(trigger.unique.hz, rel=1e-12)
    assert result.overlap.unique.error == pytest.approx(trigger.unique.error_hz, rel=1e-12)


def test_errors_account_for_shared_interactions(models: Models, plain_events: Events) -> None:
    """Those of `run`, where pairs of events are made from one interaction."""
    pairs = [event | {"parent": number // 2} for number, event in enumerate(plain_events)]
    shared = memory_catalogue({"a": pairs})
    menu = models.menu(MENU, ("above = 0.0", "above = -100.0\nfitted_on = 'toy'"))
    expected = rates_of(emulate([menu], shared)).triggers[2]
    values = scored_events(menu, shared)
    result = diagnose(values)
    assert result.overlap.total.error == pytest.approx(expected.total.error_hz, rel=1e-12)
    assert result.overlap.unique.error == pytest.approx(expected.unique.error_hz, rel=1e-12)
    of_events = math.sqrt(np.sum(values.weight[values.corrected > -100.0] ** 2))
    assert result.overlap.total.error > 1.02 * of_events


# ---- which trigger


def test_another_decade_trigger_counts_among_the_others(models: Models, catalogue: Catalogue) -> None:
    menu = models.menu(MENU + AD2.replace("above = 0.0", "above = 0.3"))
    first, second = (scored_events(menu, catalogue, name) for name in ("AD", "AD2"))
    assert (list(first.primary), list(second.primary)) == (["J60", "MU", "AD2"], ["J60", "MU", "AD"])
    assert (first.threshold, second.threshold) == (0.0, 0.3)
    assert first.primary["AD2"].tolist() == (first.corrected > 0.3).tolist()


def test_one_of_several_triggers_must_be_named(models: Models, catalogue: Catalogue) -> None:
    menu = models.menu(MENU + AD2)
    with pytest.raises(TrigemuError, match=r"menu.toml: .*'decade' \(AD, AD2\): choose one with --trigger"):
        scored_events(menu, catalogue)
    with pytest.raises(TrigemuError, match=r"menu.toml: .*\(AD, AD2\): 'J60' is not one of them"):
        scored_events(menu, catalogue, "J60")
    off = models.menu(MENU, ("above = 0.0", "above = 0.0\nenabled = false"))
    with pytest.raises(TrigemuError, match=r"menu.toml: .*'decade' \(\): there is none"):
        scored_events(off, catalogue)


def test_a_trigger_whose_preselection_no_event_passes(models: Models, catalogue: Catalogue) -> None:
    menu = models.menu(MENU, ("n_photon >= 1", "n_photon >= 99"))
    with pytest.raises(
        TrigemuError, match=r"menu.toml: no event of toy.toml passes `requires` of trigger 'AD'"
    ):
        scored_events(menu, catalogue)


# ---- what is told


def printed(result: Any) -> list[list[str]]:
    return [line.split("  ") for line in text_of(summary(result)).splitlines()]


def test_each_number_stands_in_its_column(toy: Any) -> None:
    """Also where there is one for y alone: of y' no bin may have enough events."""
    result = diagnose(toy(3000, 1))
    closure = result.closures[0]
    first, second, *more = closure.acceptances
    none = replace(first, against_q=replace(first.against_q, value=math.nan))
    spoilt = replace(result, closures=(replace(closure, acceptances=(none, second, *more)),))
    at_zero, at_threshold = (
        [cell.strip() for cell in cells if cell.strip()] for cells in printed(spoilt) if "χ²/ndf" in cells[0]
    )
    of = "χ²/ndf of acceptance in jet[0].pt"
    assert at_zero == [f"{of}, y′ > 0", "none", f"{second.against_q.value:.1f} / {second.against_q.ndf}"]
    chi2 = [f"{acceptance.against_q.value:.1f} / {acceptance.against_q.ndf}" for acceptance in more]
    assert at_threshold == [f"{of}, y′ > 0.1000", *chi2]


def test_labels() -> None:
    assert label("jet[0].pt") == "leading jet $p_{\\mathrm{T}}$ [GeV]"
    assert label("clean_jet[0].pt") == "leading clean jet $p_{\\mathrm{T}}$ [GeV]"
    assert label("met") == "missing $E_{\\mathrm{T}}$ [GeV]"
    assert label("jet[1].pt") == "second jet $p_{\\mathrm{T}}$ [GeV]"
    assert label("jet[7].pt") == "jet[7].pt"
    assert label("n_jet") == "number of jets"


# ---- the sections of a report


def contents(menu: Menu, catalogue: Catalogue) -> Contents:
    """Of a report on this menu alone."""
    rates = rates_of(emulate([menu], catalogue))
    return Contents((rates,), comparison=None, combinations=(), scans=(), profiles=(), turnons=())


def test_a_menu_has_a_section_with_the_figures_and_their_numbers(
    models: Models, catalogue: Catalogue
) -> None:
    menu = models.menu()
    (section,) = sections(contents(menu, catalogue))
    events = scored_events(menu, catalogue)
    result = diagnose(events)
    assert section.title == TITLE
    assert section.measured == {
        ("AD", "unique_ceiling"): (result.overlap.ceiling.value, result.overlap.ceiling.error)
    }
    pictures = {picture.name: picture for picture in section.pictures}
    density = pictures["decade_toy_AD_density_photon_0_pt"]
    assert density.dense
    rates = np.array(density.numbers["rate_hz"], np.float64)
    corrected = np.array(density.numbers["score"]) == "y'"
    for rows in (corrected, ~corrected):
        assert rates[rows].sum() == pytest.approx(events.weight.sum())
    plane = pictures["decade_toy_AD_acceptance_jet_0_pt_photon_0_pt"].numbers
    assert sum(plane["events"]) == len(events.weight)  # type: ignore[arg-type]


def test_each_trigger_has_its_own(models: Models, catalogue: Catalogue) -> None:
    result = list(sections(contents(models.menu(MENU + "\n" + AD2), catalogue)))
    assert [section.title for section in result] == [f"{TITLE}: AD", f"{TITLE}: AD2"]
    names = [picture.name for section in result for picture in section.pictures]
    assert len(set(names)) == len(names)
