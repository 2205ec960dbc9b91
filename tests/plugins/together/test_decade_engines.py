"""Both engines of DECADE on the embedded sample: the decisions of the shipped menus."""

from __future__ import annotations

import numpy as np
import pytest
from project import ROOT
from trigemu_anomaly.single_row import engines_of

import trigemu
from trigemu.api import Context, Workspace
from trigemu.emulation.budgets import solve_budgets
from trigemu.emulation.plan import make_plan

MENUS = sorted(path.stem for path in (ROOT / "menus").glob("*.toml") if 'kind = "decade"' in path.read_text())
#: The errors of both scores in single precision: a good reconstruction is a small difference.
SCORE = 5e-4
#: Decisions differ this near to the threshold only. Of 1 043 687 events, one does, 2.6e-5 from the threshold.
DECISION = 5e-5


@pytest.mark.parametrize(
    ("name", "most"),
    [("decade", 20_000), *(pytest.param(name, 10**9, marks=pytest.mark.slow) for name in MENUS)],
)
def test_engines_decide_alike(name: str, most: int) -> None:
    """On the first events of each file at a threshold of 0; or on all, at that of the budget."""
    catalogue = trigemu.open_catalogue()
    menu = trigemu.read_menu(ROOT / "menus" / f"{name}.toml")
    (menu,) = solve_budgets([menu], catalogue) if most > 20_000 else (menu,)
    (trigger,) = (trigger for trigger in menu.enabled if trigger.kind == "decade")
    description = trigger.description if trigger.solution else trigger.description.at(0.0)
    needs, scored = make_plan([menu]).needs, 0
    first, second = (
        kind.compile(Context(menu.scope, menu.path.parent)) for kind in engines_of(description).values()
    )
    for sample in catalogue.samples:
        for number, source in enumerate(sample.sources):
            for start in range(0, min(source.entries, most), 200_000):
                stop = min(start + 200_000, source.entries, most)
                work = Workspace(sample.read(number, start, stop, needs))
                one, other = first.evaluate(work), second.evaluate(work)
                rows = one > -np.inf
                assert (rows == (other > -np.inf)).all()
                scored += int(rows.sum())
                assert np.abs(one[rows] - other[rows]).max(initial=0.0) < SCORE
                differ = (one > first.threshold) != (other > first.threshold)
                assert np.abs(one[differ] - first.threshold).max(initial=0.0) < DECISION
    assert scored > 0.1 * min(most, 3_000_000)
