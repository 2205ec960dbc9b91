"""`trigemu events` as users give it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
import uproot

Run = Callable[..., tuple[int, str]]
ON_TOYS = ("--samples", "catalogue.toml")


def test_a_menu(place: Any, trigemu: Run) -> None:
    status, text = trigemu("events", "menu.toml", *ON_TOYS, "-o", "events.parquet")
    assert status == 0, text
    frame = pd.read_parquet(place.folder / "events.parquet")
    assert text.strip() == f"events.parquet: {len(frame)} events of all, {len(frame.columns)} columns"
    result = (frame.weight * frame.acceptance_MU).sum()
    trigemu("run", "menu.toml", *ON_TOYS, "--csv", "run.csv")
    rates = pd.read_csv(place.folder / "run.csv", comment="#").set_index("name")
    assert result == pytest.approx(rates.loc["MU", "total_hz"], rel=1e-12)
    status, text = trigemu("events", "menu.toml", *ON_TOYS, "--fired", "MU and not J30", "-o", "some.root")
    assert status == 0, text
    tree = uproot.open(place.folder / "some.root")["events"]
    assert tree.num_entries == (frame.fired_MU & ~frame.fired_J30).sum() > 0
    assert f"some.root: {tree.num_entries} events of all that pass MU and not J30, " in text
