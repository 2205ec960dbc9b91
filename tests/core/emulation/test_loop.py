"""The loop: which events count, and for which half; decisions by name; nothing that should not matter changes
a result."""

from __future__ import annotations

import hashlib
from pathlib import Path

import awkward as ak
import numpy as np
import pytest
from likeness import alike
from project import ROOT
from toys import (
    Memory,
    combination,
    evaluation_half,
    even_events,
    is_evaluation,
    logic,
    memory_catalogue,
    menu_from,
    threshold,
    toy_events,
    write_root,
)

from trigemu import (
    TrigemuError,
    catalogue_of,
    decisions,
    emulate,
    events_from_awkward,
    make_plan,
    rates_of,
    run,
    solve_budgets,
)
from trigemu.api import SampleError
from trigemu.emulation.plan import Plan
from trigemu.emulation.scaling import unseen_half
from trigemu.observables.language import parse_observable
from trigemu.observables.selections import make_scope
from trigemu.samples import sample
from trigemu.samples.split import EVALUATION, TRAINING
from trigemu.triggers.base import TrainedOn

PLAIN, BUDGET = threshold("P", "n_jet", 1), threshold("B", "met", None, "total_rate_hz = 30")
FITTED = threshold("F", "met", 20, 'fitted_on = "{}"\n{}')
LOGIC = logic("L", "P and F")
MENU = (
    '[objects.jet]\nfrom = "jet"\npt = { min = 12.0 }\nremove_overlap = { with = "photon", dr = 0.8 }\n'
    + threshold("J", "jet[0].pt", 20.0, "prescale = 3")
    + threshold("HT", "ht", 40.0)
    + combination(
        "MM", '{ object = "muon" }, { object = "muon" }', "pairs = [{ legs = [0, 1], dr = { min = 0.3 } }]"
    )
    + logic("either", "J or MM", "prescale = 7")
)


def test_a_missing_column_is_reported_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        pytest.fail("read before the check")

    monkeypatch.setattr(Memory, "read", never)
    text = MENU + threshold("X", "jet[0].bdisc", 1) + threshold("Y", "n_tau", 1) + threshold("Z", "mett", 1)
    menu = menu_from(tmp_path, text)
    with pytest.raises(TrigemuError) as caught:
        emulate([menu], memory_catalogue({"a": toy_events(1, 10)}))
    message = str(caught.value)
    lines = text.splitlines()
    for name, what in (("X", "column 'jet.bdisc'"), ("Y", "collection 'tau'"), ("Z", "observable 'mett'")):
        line = lines.index(f'name = "{name}"')
        assert f"menu.toml:{line}: trigger '{name}': sample 'a' has no {what}" in message
    assert "did you mean 'met'?" in message


# ---- which events count
@pytest.mark.parametrize(
    ("text", "half"),
    [
        (PLAIN, None),
        (PLAIN + FITTED.format("toy", ""), 1),
        (PLAIN + FITTED.format("other", ""), None),
        (PLAIN + FITTED.format("toy", "enabled = false"), None),
        (PLAIN + FITTED.format("toy", "enabled = false") + LOGIC, 1),
        (PLAIN + BUDGET, 1),
        (PLAIN + BUDGET + "enabled = false\n", None),
    ],
    ids=["plain", "fitted", "elsewhere", "off", "off but read", "budget", "budget off"],
)
def test_what_was_fitted_on_a_sample_is_evaluated_on_one_half(
    tmp_path: Path, text: str, half: int | None
) -> None:
    catalogue = memory_catalogue({"a": even_events(1, 200)})
    emulation = emulate([menu_from(tmp_path, text)], catalogue)
    assert emulation.half == half
    assert set(emulation.table.half.tolist()) == ({0} if half is None else {0, 1})
    assert (rates_of(emulation).half is None) == (half is None)


def test_a_menu_with_budgets_is_known_as_given_and_as_solved(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, PLAIN + BUDGET)
    emulation = emulate([menu], memory_catalogue({"a": even_events(1, 200)}))
    assert emulation.input_menus == (menu,)
    (solved,) = emulation.menus
    assert solved.trigger("B").solution is not None
    as_given, as_solved = (rates_of(emulation, m).to_dict() for m in (menu, solved))
    assert as_given == as_solved
    assert rates_of(emulation, menu).menu == solved


def test_patterns_differ_by_observables_that_are_asked_for(tmp_path: Path) -> None:
    """Rates do not; the number of events with each value is that of a loop."""
    menu, events = menu_from(tmp_path, MENU), even_events(3, 400)
    n_muon = parse_observable("n_muon", make_scope({}, {}, lambda key, message: None))
    catalogue = memory_catalogue({"a": events})
    plain, apart = emulate(menu, catalogue), emulate(menu, catalogue, numbers=(n_muon,))
    assert alike(rates_of(plain).triggers, rates_of(apart).triggers)
    table, fires = apart.counted(0, apart=True).table, plain.plan.bits[0]["HT"]
    fired = (table.words[:, 0] >> np.uint64(fires)) & np.uint64(1) == 1
    values = table.words[:, 1].copy().view(np.float64)
    decided = zip(events, decisions(menu, catalogue)["HT"], strict=True)
    muons = [len(event["muon"]) for event, fires in decided if fires]
    assert [table.n[fired & (values == n)].sum() for n in range(4)] == [muons.count(n) for n in range(4)]
    assert table.n[fired].sum() == len(muons)


def test_files_are_hashed_where_a_card_names_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And only there: a card that names the catalogue, or no files, needs no digest."""
    write_root(tmp_path / "a.root", toy_events(1, 50))
    digest = hashlib.sha256((tmp_path / "a.root").read_bytes()).hexdigest()
    catalogue = catalogue_of(tmp_path / "a.root")

    def half(*trained: TrainedOn) -> int | None:
        plan = make_plan([])
        return unseen_half([], Plan(**{**vars(plan), "trained_on": ({"AD": trained},)}), catalogue)

    with monkeypatch.context() as patch:
        patch.setattr(sample, "digest_of", lambda path: pytest.fail("it was read"))
        assert half() is None
        assert half(TrainedOn("other")) is None
        assert half(TrainedOn("a", (digest,))) == EVALUATION
    assert half(TrainedOn("other", ("0" * 64,))) is None
    assert half(TrainedOn("other", ("0" * 64, digest.upper()))) == EVALUATION
    assert half(TrainedOn("other", (digest,), "evaluation")) == TRAINING


FOLDER = ROOT / "menus"
SOLVED = (
    threshold("J", "jet[0].pt", None, 'total_rate_hz = 300.0\ngroup = "jets"')
    + threshold("M", "met", 20.0, 'prescale = 10\nseed = "T"')
    + threshold("T", "n_jet", 1.5, "prescale = 3")
)


def test_budgets_are_those_of_the_run(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, SOLVED)
    events = toy_events(1, 300)
    result = run(menu, memory_catalogue({"a": events}))
    threshold = result.menu.trigger("J").description.threshold  # type: ignore[union-attr]
    truth = [bool(e["jet"]) and e["jet"][0]["pt"] > threshold for e in events]
    assert result.fired("J").tolist() == truth
    met = [e["met"] > 20 and len(e["jet"]) > 1 for e in events]
    assert result.fired("M").tolist() == met
    half = [fires for i, fires in enumerate(truth) if is_evaluation(i)]
    assert result.half is not None
    assert sum(half) == result.triggers[0].total.events
    assert len(half) == len(evaluation_half(events))
    again = decisions(result.menu, ak.Array(events))
    assert [again[name].tolist() for name in ("J", "M")] == [truth, met]
    (solved,) = solve_budgets(menu, memory_catalogue({"a": events}))
    assert decisions(solved, ak.Array(events))["J"].tolist() == truth
    words = r"menu\.toml:1: trigger 'J': its threshold follows from total_rate_hz = 300"
    with pytest.raises(TrigemuError, match=words):
        decisions(menu, ak.Array(events))


def test_events_arrays_and_files_give_the_same(tmp_path: Path) -> None:
    events = toy_events(8, 60)
    for n in range(2):
        write_root(tmp_path / f"{n}.root", events[30 * n : 30 * n + 30])
    menu = menu_from(tmp_path, SOLVED.replace("total_rate_hz = 300.0", "above = 30.0"))
    array = ak.Array(events)
    expected = {name: fired.tolist() for name, fired in decisions(menu, array).items()}
    assert any(expected["M"])
    files = [tmp_path / "0.root", tmp_path / "1.root"]
    in_memory = events_from_awkward(array), memory_catalogue({"a": events})
    for samples in (*in_memory, files, str(tmp_path / "*.root")):
        found = decisions(tmp_path / "menu.toml", samples)
        assert {name: fired.tolist() for name, fired in found.items()} == expected
    assert decisions(menu, tmp_path / "1.root")["J"].tolist() == expected["J"][30:]
    result = run(menu, files)
    assert result.fired("M").tolist() == result.fired("M", sample="0").tolist() == expected["M"]


def test_arrays_without_weights_too() -> None:
    array, primary = ak.Array(toy_events(8, 60)), FOLDER / "primary.toml"
    expected = decisions(primary, array)
    for made in (ak.with_field(array, np.zeros(60), "weight"), array[["jet", "photon", "met"]]):
        for name, fired in decisions(primary, made).items():
            np.testing.assert_array_equal(fired, expected[name])
    nothing = decisions(primary, array[:0])
    assert {name: fired.shape for name, fired in nothing.items()} == {"J100": (0,), "G30": (0,)}


def test_what_has_to_be_said_and_is_not_there() -> None:
    result = run(FOLDER / "primary.toml", memory_catalogue({"a": toy_events(1, 5), "b": toy_events(2, 9)}))
    assert len(result.fired("J100", sample="b")) == 9
    assert len(decisions(FOLDER / "primary.toml", result.catalogue, sample="a")["G30"]) == 5
    for given, message in (
        (("J100",), r"several samples: name one as sample=… \('a', 'b'\)"),
        (("J100", "c"), "unknown sample 'c'"),
        (("J10", "a"), "unknown trigger 'J10'; did you mean 'J100'"),
        (("jets", "a"), "'jets' is a group: name one of its triggers, J100"),
    ):
        with pytest.raises(TrigemuError, match=message):
            result.fired(*given)
    with pytest.raises(SampleError, match=r"full\.toml:\d+: trigger '.*': sample 'events' has no"):
        decisions(FOLDER / "full.toml", ak.Array(toy_events(1, 50)))


def test_neighbouring_crossings(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, combination("before", '{ object = "jet" }, { object = "jet", crossing = -1 }'))
    events = toy_events(5, 40)
    made = events_from_awkward(ak.Array(events))
    (compiled,) = make_plan(menu).slots
    assert compiled.compiled.margin == 1
    found = decisions(menu, made.around(10, 30, 1))["before"]
    assert found.tolist() == [bool(events[i]["jet"] and events[i - 1]["jet"]) for i in range(10, 30)]
    with pytest.raises(SampleError, match="it reads neighbouring crossings"):
        decisions(menu, made)
