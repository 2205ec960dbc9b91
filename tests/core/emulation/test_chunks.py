"""Workers and checkpoints change no bit of a result, whatever passes over the events; chunks and their
order hardly do."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
from likeness import alike
from pileup_toys import crossing_catalogue, crossings
from toys import combination, engine, menu_from, threshold, trigger, write_root

from trigemu import (
    Catalogue,
    Checkpoint,
    Menu,
    Profile,
    Steps,
    binned_rates,
    efficiencies,
    emulate,
    event_table,
    open_catalogue,
    rates_of,
    run,
    scan,
    score_table,
    solve_budgets,
)
from trigemu.base.mapping import Engine
from trigemu.emulation.engine import Chunk, ranges_of
from trigemu.emulation.reweight import at_pileup

JETS = 'legs = [{ object = "jet" }, { object = "jet", eta = { abs_max = 2.0 } }]'
APART = "pairs = [{ legs = [0, 1], dr = { min = 0.3 } }]"
HEAD = (
    '[objects.jet]\nfrom = "jet"\npt = { min = 12.0 }\nremove_overlap = { with = "photon", dr = 0.8 }\n'
    + threshold("J", "jet[0].pt", 20.0, 'prescale = 3\nseed = "MM or HT"')
    + threshold("HT", "ht", 40.0)
    + combination("MM", '{ object = "muon" }, { object = "muon" }', APART)
    + threshold("NEVER", "photon[0].pt", 1e5)
    + trigger("LEG", "leg_threshold", f"{JETS}\nabove = 25.0")
)
FITTED = threshold("F", "met", 20, 'fitted_on = "toy"')
BUDGETS = threshold("B", "met", None, "total_rate_hz = 30") + threshold(
    "C", "ht", None, "unique_rate_hz = 20"
)


@dataclass(frozen=True)
class Given:
    """Menus; and samples of three forms: with parents that events share, in files, and as an array."""

    plain: Menu
    fitted: Menu
    budgets: Menu
    related: Catalogue
    files: Catalogue
    array: ak.Array


@pytest.fixture(scope="module")
def have(tmp_path_factory: pytest.TempPathFactory) -> Given:
    folder = tmp_path_factory.mktemp("chunks")
    events = crossings(11, 330)
    for name, part in (("a1", events[:150]), ("a2", events[150:250]), ("b", events[250:])):
        write_root(folder / f"{name}.root", part, basket=40)
    (folder / "catalogue.toml").write_text(
        '[catalogue]\nname = "toy"\nconvention = "crossing"\n'
        '[[sample]]\nname = "a"\nrole = "background"\nfiles = ["a*.root"]\nrate_hz = 3.9e7\n'
        '[[sample]]\nname = "b"\nrole = "background"\nfiles = ["b.root"]\nrate_hz = 1e6\n'
    )
    related = [event | {"parent": i * i % 90} for i, event in enumerate(events)]
    samples = {"a": related[:100], "b": related[100:130], "c": related[130:]}
    menus = (menu_from(folder, text) for text in (HEAD, HEAD + FITTED, HEAD + BUDGETS))
    made = crossing_catalogue(samples, signals={"s": crossings(2, 60)})
    return Given(*menus, made, open_catalogue(folder / "catalogue.toml"), ak.Array(events))


def scores(have: Given, executor: Engine | None) -> Any:
    found = score_table(have.plain, have.related, signals="s", executor=executor)
    tables = [
        {name: values.tolist() for name, values in table.items()}
        for table in (found.table, found.signals["s"])
    ]
    assert len(found.signals["s"]["id"]) == 60  # all of its events, whatever fires
    return tables, found.threshold_ranges, rates_of(emulate(have.plain, found, executor=executor)).to_dict()


def of_events(have: Given, executor: Engine | None) -> Any:
    found = event_table(have.fitted, have.related, executor=executor).arrays()
    return {name: column.tolist() for name, column in found.items()}


def at_other_pileup(have: Given, executor: Engine | None) -> Any:
    moved = at_pileup(have.related, 1.3, executor=executor)
    return rates_of(emulate([have.fitted], moved, executor=executor)).to_dict()


def of_signal(have: Given, executor: Engine | None) -> Any:
    menus, profile = [have.plain, have.budgets], Profile("met", EDGES)
    found = efficiencies(menus, have.related, "s", profile, executor=executor)
    assert found.turnons[0].curves[1].overall.gain_threshold_error > 0
    return found.to_dict()


STEPS, EDGES = [Steps("HT", (30.0, 60.0)), Steps("LEG", (20.0, 30.0))], (0.0, 20.0, 60.0)


def rates(menu: str, samples: str) -> Callable[[Given, Engine | None], Any]:
    return lambda have, e: run(getattr(have, menu), getattr(have, samples), executor=e).to_dict()


#: Everything that passes over events, and whether the order of chunks is that of what it gives.
WAYS: dict[str, tuple[Callable[[Given, Engine | None], Any], bool]] = {
    "rates, parents": (rates("plain", "related"), False),
    "rates, files": (rates("plain", "files"), False),
    "rates, array": (rates("plain", "array"), False),
    "halves": (rates("fitted", "related"), False),
    "budgets": (lambda have, e: solve_budgets([have.budgets], have.related, executor=e), False),
    "pile-up": (at_other_pileup, False),
    "scores": (scores, True),
    "events": (of_events, True),
    "scan": (lambda have, e: scan(have.fitted, STEPS, have.related, executor=e).to_dict(), False),
    "bins": (
        lambda have, e: binned_rates(have.fitted, "met", EDGES, have.related, executor=e).to_dict(),
        False,
    ),
    "efficiencies": (of_signal, False),
}


@pytest.mark.parametrize("way", WAYS)
def test_workers_and_checkpoints_change_nothing_and_chunks_and_their_order_little(
    have: Given, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    give, in_order = WAYS[way]
    expected = give(have, None)
    alone = give(have, engine(70))
    assert alike(alone, expected)
    assert alike(give(have, engine(1 if way == "rates, files" else 7)), expected)
    assert give(have, engine(70, 2)) == alone
    for _ in range(2):
        kept = engine(70, checkpoint=Checkpoint(tmp_path / "kept"))
        assert give(have, kept) == alone
    assert kept.counts.reused

    def shuffled(sample: Any, events: int, most: int | None = None) -> list[Chunk]:
        chunks = list(ranges_of(sample, 13, most))
        random.Random(5).shuffle(chunks)
        return chunks

    if not in_order:
        monkeypatch.setattr("trigemu.emulation.engine.ranges_of", shuffled)
        assert alike(give(have, None), expected)


def test_what_else_stands_in_the_pass_changes_no_bit(have: Given, tmp_path: Path) -> None:
    """A menu alone, and the same in one pass with others whose objects or budgets differ."""
    other = menu_from(tmp_path, HEAD.replace("12.0", "18.0").replace("above = 40", "above = 55"))
    menus = [have.plain, other, have.budgets, have.fitted]
    together = emulate(menus, have.related)
    alone = [rates_of(emulate([menu], have.related)) for menu in menus]
    for menu, rates in zip(menus, alone, strict=True):
        assert alike(rates_of(together, menu).to_dict(), rates.to_dict())
    assert alone[0].triggers[1].total != alone[1].triggers[1].total
    # In one menu too, what is not fitted counts in all events.
    half = rates_of(together, have.budgets).half
    assert half is not None
    assert (half.number, half.triggers) == (1, ("B", "C"))
    totals = [[t.total for t in rates.triggers[:5]] for rates in alone]
    assert alike(totals[0], totals[2])
    assert alike(totals[0], totals[3])
    assert all(np.isfinite(total.hz) for total in totals[0])
