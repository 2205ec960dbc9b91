"""`trigemu scores` as users give it, and the commands that read its files."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pandas as pd

Run = Callable[..., tuple[int, str]]
ON_TOYS = ("--samples", "catalogue.toml")


def test_a_menu(place: Any, trigemu: Run) -> None:
    status, text = trigemu("scores", "menu.toml", *ON_TOYS, "--vary", "J30=20:60", "-o", "s.parquet")
    assert status == 0, text
    frame = pd.read_parquet(place.folder / "s.parquet")
    assert text.splitlines()[-1] == f"s.parquet: {len(frame)} events, 1 score"
    assert ["J30", "GeV", "20", "30", "60"] in [line.split() for line in text.splitlines()]
    assert frame.score_J30[frame.score_J30 > 0].min() > 20


def test_scans_and_budgets_are_those_of_the_events(place: Any, trigemu: Run) -> None:
    place.write(
        "budget.toml", (place.folder / "menu.toml").read_text().replace("above = 30.0", "total_rate_hz = 5e6")
    )
    assert trigemu("scores", "menu.toml", *ON_TOYS, "--vary", "J30=15:60", "-o", "s.parquet")[0] == 0
    files = {}
    for name, more in (("direct", ()), ("stored", ("--scores", "s.parquet"))):
        steps = ("--trigger", "J30", "--values", "15:60:5")
        status, text = trigemu("scan", "menu.toml", *ON_TOYS, *steps, *more, "--json", f"{name}.json")
        assert status == 0, text
        status, message = trigemu("calibrate", "budget.toml", *ON_TOYS, *more, "-o", f"{name}.toml")
        assert status == 0, message
        result = (place.folder / f"{name}.json").read_text(), (place.folder / f"{name}.toml").read_text()
        files[name] = (*result, text, message.replace(name, ""))
    assert files["direct"] == files["stored"]
    assert len(json.loads(files["stored"][0])["points"]) == 10


def test_tables_that_do_not_fit(place: Any, trigemu: Run) -> None:
    trigemu("scores", "menu.toml", *ON_TOYS, "--vary", "J30=30:60", "-o", "s.parquet")
    scan = ("scan", "menu.toml", *ON_TOYS, "--trigger", "J30", "--values")
    status, text = trigemu(*scan, "20,30", "--scores", "s.parquet")
    assert status == 2
    assert "20 is below 30" in " ".join(text.split())
    (place.folder / "half.parquet").write_bytes((place.folder / "s.parquet").read_bytes()[:900])
    for name in ("half.parquet", "none.parquet", "all.root"):
        status, text = trigemu(*scan, "40,50", "--scores", name)
        assert status == 2
        assert f"{name}: cannot be read as a score table" in " ".join(text.split())
