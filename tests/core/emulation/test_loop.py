"""The loop: nothing that should not matter changes a bit of the result."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from likeness import alike
from toys import Memory, even_events, memory_catalogue, menu_from, toy_events

from trigemu import TrigemuError, decisions, emulate, make_plan, rates_of
from trigemu.base.mapping import Engine
from trigemu.observables.language import parse_observable
from trigemu.observables.selections import make_scope

MENU = """
[objects.jet]
from = "jet"
pt = { min = 12.0 }
remove_overlap = { with = "photon", dr = 0.8 }

[[trigger]]
name = "J"
kind = "threshold"
observable = "jet[0].pt"
above = 20.0
prescale = 3

[[trigger]]
name = "HT"
kind = "threshold"
observable = "ht"
above = 40.0

[[trigger]]
name = "MM"
kind = "combination"
legs = [{ object = "muon" }, { object = "muon" }]
pairs = [{ legs = [0, 1], dr = { min = 0.3 } }]

[[trigger]]
name = "either"
kind = "logic"
expression = "J or MM"
prescale = 7
"""


def test_equal_triggers_are_evaluated_once(tmp_path: Path) -> None:
    first = menu_from(tmp_path, MENU)
    second = menu_from(tmp_path, MENU.replace('name = "HT"', 'name = "HT40"').replace("= 7", "= 9"))
    assert len(make_plan([first, second]).slots) == 3


def test_a_missing_column_is_reported_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        pytest.fail("read before the check")

    monkeypatch.setattr(Memory, "read", never)
    text = MENU + (
        '[[trigger]]\nname = "X"\nkind = "threshold"\nobservable = "jet[0].bdisc"\nabove = 1\n'
        '[[trigger]]\nname = "Y"\nkind = "threshold"\nobservable = "n_tau"\nabove = 1\n'
        '[[trigger]]\nname = "Z"\nkind = "threshold"\nobservable = "mett"\nabove = 1\n'
    )
    menu = menu_from(tmp_path, text)
    with pytest.raises(TrigemuError) as caught:
        emulate([menu], memory_catalogue({"a": toy_events(1, 10)}))
    message = str(caught.value)
    lines = text.splitlines()
    for name, what in (("X", "column 'jet.bdisc'"), ("Y", "collection 'tau'"), ("Z", "observable 'mett'")):
        line = lines.index(f'name = "{name}"')
        assert f"menu.toml:{line}: trigger '{name}': sample 'a' has no {what}" in message
    assert "did you mean 'met'?" in message


def test_a_catalogue_without_background_has_no_rates(tmp_path: Path) -> None:
    catalogue = memory_catalogue({})
    with pytest.raises(TrigemuError, match="no sample has the role 'background'"):
        emulate([menu_from(tmp_path, MENU)], catalogue)


# ---- which events count

PLAIN = '[[trigger]]\nname = "P"\nkind = "threshold"\nobservable = "n_jet"\nabove = 1\n'
FITTED = '[[trigger]]\nname = "F"\nkind = "threshold"\nobservable = "met"\nabove = 20\nfitted_on = "{}"\n{}\n'
BUDGET = '[[trigger]]\nname = "B"\nkind = "threshold"\nobservable = "met"\ntotal_rate_hz = 30\n'
LOGIC = '[[trigger]]\nname = "L"\nkind = "logic"\nexpression = "P and F"\n'


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


def test_progress_counts_both_passes(tmp_path: Path) -> None:
    done: list[int] = []
    events = even_events(1, 330)
    engine = Engine(progress=done.append)
    emulate([menu_from(tmp_path, PLAIN + BUDGET)], memory_catalogue({"a": events}), executor=engine)
    assert sum(done) == 2 * 330


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
