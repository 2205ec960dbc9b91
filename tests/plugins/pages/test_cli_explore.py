"""`trigemu explore` as users give it; what its page does is tested in a browser (explorer/test_page.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., tuple[int, str]]
ON_TOYS = ("--samples", "catalogue.toml")

SIGNAL = """
[[sample]]
name = "signal"
role = "signal"
files = ["all.root"]
"""


def test_a_page_and_the_same_from_a_score_table(place: Any, trigemu: Run) -> None:
    catalogue = (place.folder / "catalogue.toml").read_text()
    place.write("catalogue.toml", catalogue + SIGNAL)
    offered = ("menu.toml", *ON_TOYS, "--vary", "J30=20:60", "--signal", "signal")
    status, text = trigemu("explore", *offered, "-o", "menu.html")
    assert status == 0, text
    page = (place.folder / "menu.html").read_text()
    assert text.startswith("menu.html: ")
    assert f"{len(page.encode()) / 1e6:.1f} MB" in text
    assert page.startswith("<!doctype html>")
    assert trigemu("scores", *offered, "-o", "scores.parquet")[0] == 0
    from_scores = ("explore", "menu.toml", *ON_TOYS, "--scores", "scores.parquet", "-o", "other.html")
    status, text = trigemu(*from_scores)
    assert status == 0, text
    assert (place.folder / "other.html").read_text() == page
    status, text = trigemu(*from_scores, "--vary", "J30=30:40")
    assert status == 2
    assert "scores.parquet has its own ranges of thresholds and signals" in " ".join(text.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "no/menu.html"), "there is no folder no"),
        (("-o", "menu.toml"), "menu.toml"),
        (("-o", "menu.html", "--vary", "J3=1:2"), "no menu has such a trigger enabled; did you mean 'J30'"),
        (("-o", "menu.html", "--vary", "MU=1:2"), "the kind 'combination' has no threshold"),
        (("-o", "menu.html", "--signal", "yy"), "'yy'"),
        ((), "Missing option '-o'"),
    ],
)
def test_mistakes_end_with_a_message_and_no_file(
    place: Any, trigemu: Run, arguments: tuple[str, ...], message: str
) -> None:
    before = place.files()
    status, text = trigemu("explore", "menu.toml", *ON_TOYS, *arguments)
    assert status == 2, text
    assert message in " ".join(text.split())
    assert place.files() == before
