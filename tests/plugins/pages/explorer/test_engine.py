"""The arithmetic of the page, in node, against trigemu for the menus that the page downloads."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explorer_truth import random_slot, same, truth, unpacked
from hypothesis import Phase, example, given, settings, strategies as st
from toy_menus import as_toml, menus
from toys import memory_catalogue, menu_from, toy_events
from trigemu_pages.explorer.columns import turnon_profiles
from trigemu_pages.explorer.make import PageData, all_enabled, page_data

import trigemu
from trigemu import Catalogue, Menu, Profile
from trigemu.emulation.event_table import EventTable

NODE = shutil.which("node")
HERE = Path(__file__).parent / "page"
Made = tuple[PageData, EventTable, dict[str, tuple[Profile, ...]]]
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed (Debian: nodejs)")


def made(menus: list[Menu], catalogue: Catalogue) -> Made:
    """The data of a page with all signals, its scores, and the turn-ons of each signal."""
    signals = [sample.name for sample in catalogue.samples if sample not in catalogue.background]
    solved = trigemu.solve_budgets(menus, catalogue)
    scores = trigemu.score_table(all_enabled(solved), catalogue, signals=signals)
    profiles = turnon_profiles(scores, solved)
    return page_data(solved, scores, "1"), scores, dict.fromkeys(signals, profiles)


def shown(block: bytes, addresses: list[str]) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "block").write_bytes(block)
        command = [str(NODE), str(HERE / "numbers.mjs"), f"{folder}/block"]
        result = subprocess.run(
            command, input="\n".join(addresses), capture_output=True, text=True, check=False
        )
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def check(made: Made, addresses: list[str]) -> list[Any]:
    """Compare the numbers of a page in some states with those of trigemu, and its scans with its rates."""
    data, scores, profiles = made
    pages = shown(data.block, addresses)
    for address, page in zip(addresses, pages, strict=True):
        slots = []
        for toml in page["toml"]:
            file = data.menus[0].path.with_name("downloaded.toml")
            file.write_text(toml)
            slots.append(trigemu.read_menu(file))
        numbers = dict(page["numbers"])
        for name, expected in truth(scores, slots, profiles):
            assert same(name, numbers.pop(name), expected), (address, name)
        assert not numbers, address
        largest = max((max(scan["rates"]) for scan in page["scans"]), default=0.0)
        for scan in page["scans"]:  # from step to step a scan adds and subtracts
            for found, expected in ((scan["scanned"], scan["rates"]), scan["solved"]):
                np.testing.assert_allclose(found, expected, 1e-9, 1e-7 * largest, err_msg=address)
    return pages


NESTED = """
[menu]
name = "nested"

[[trigger]]
name = "J30"
kind = "threshold"
observable = "jet[0].pt"
above = 30
group = "jets"

[[trigger]]
name = "J50"
kind = "threshold"
observable = "jet[0].pt"
above = 50
group = "hard"

[[trigger]]
name = "MU"
kind = "combination"
legs = [{ object = "muon" }]

[[trigger]]
name = "MU_TOO"
kind = "combination"
legs = [{ object = "muon" }]
seed = "J30"
"""


#: State → the triggers and groups whose unique rate is 0 by construction.
NESTED_IN = {
    "": {"J50", "MU_TOO", "hard"},
    "J50:t60": {"J50", "MU_TOO", "hard"},
    "J50:t25": {"J30", "MU_TOO", "jets"},  # J30 is inside J50 now
    "J30:p2": {"MU_TOO"},
    "J30:off;MU:p2": set(),
}


def test_a_rate_that_is_0_by_construction_has_no_limit(tmp_path: Path) -> None:
    """Of events of which many are alike, and kept together."""
    catalogue = memory_catalogue({"a": toy_events(1, 600)})
    page = made([menu_from(tmp_path, NESTED)], catalogue)
    assert unpacked(page[0].block)["background"]["cells"]
    pages = check(page, [f"A=nested;{state}&B=nested&two" for state in NESTED_IN])
    for (state, nested), found in zip(NESTED_IN.items(), pages, strict=True):
        file = tmp_path / "downloaded.toml"
        file.write_text(found["toml"][0])
        rates = trigemu.run(file, catalogue)
        rows = [*(("trigger", row) for row in rates.triggers), *(("group", row) for row in rates.groups)]
        assert {row.name for _, row in rows if row.unique.contained_in} == nested, state
        for kind, row in rows:
            rate, *_, limit = found["numbers"][f"A {kind} {row.name} unique"]
            assert (rate == limit == 0) == (row.name in nested), (state, row.name)


def trigger(name: str, kind: int | str, prescale: float = 1.0, **further: Any) -> dict[str, Any]:
    plain = {"coherent": None, "group": None, "enabled": True, "seed": None}
    return {"name": name, "kind": kind, "prescale": prescale, **plain, **further}


#: With a negated seed in one coherent set, and logic over it in another.
SEEDED = [
    trigger("T2", "random", 100.0, seed="T1"),
    trigger("T7", 7, coherent="a"),
    trigger("T1", 5, coherent="a", group="y"),
    trigger("T6", 5, group="x"),
    trigger("T4", "logic", coherent="a", expression="(not (T2)) and (T2) or T3"),
    trigger("T5", 5, enabled=False),
    trigger("T3", 6, coherent="b", seed="not (not (not (T2)))"),
    trigger("T0", 7, 3.5, coherent="b"),
]


#: With a fitted trigger that leaves no unique events of another one.
FITTED = [
    trigger("T6", 2, 100.0, coherent="a", enabled=False),
    trigger("T5", "logic", enabled=False, expression="not (T3)"),
    trigger("T0", 5, 2.0, coherent="a", group="x"),
    trigger("T7", 4, group="y", enabled=False, seed="((T6) or T2) or not (T0)"),
    trigger("T4", "logic", coherent="b", group="y", expression="(T0) or T1"),
    trigger("T3", 5, coherent="a", group="x"),
    trigger("T2", 6, 3.5, coherent="b", group="y"),
    trigger("T1", 5, coherent="b", group="y"),
]


@given(menus(), st.integers(0, 2**32 - 1))
@example(SEEDED, 1210996)
@example(FITTED, 27770)
@settings(max_examples=6, phases=[Phase.explicit, Phase.reuse, Phase.generate])  # shrinking takes minutes
def test_any_menu(triggers: list[dict[str, Any]], seed: int) -> None:
    """With seeds, logic, random, prescales, coherent sets, switches, fitted or not, shared parents."""
    events = toy_events(seed, 60)
    shared = [event | {"parent": i // 4} for i, event in enumerate(toy_events(seed + 1, 60))]
    signal = toy_events(seed + 2, 30)
    catalogue = memory_catalogue({"a": events, "b": shared}, signals={"s": signal})
    with tempfile.TemporaryDirectory() as folder:
        menu = menu_from(Path(folder), as_toml(triggers, 40e6, fitted=seed % 2 == 0))
        page = made([menu], catalogue)
        header, rng = unpacked(page[0].block), random.Random(seed)
        check(page, [f"A={random_slot(rng, header)}&B={random_slot(rng, header)}&two" for _ in range(3)])
