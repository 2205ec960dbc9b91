"""What `trigemu report` and `trigemu explore` share with other commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from command_checks import (
    check_a_url_is_handed_on_as_it_is,
    check_documents_and_help,
    check_other_schemes_are_refused,
)

Run = Callable[..., tuple[int, str]]
REPORT = ("report", "menu.toml", "-o", "page.html", "--samples", "{}")


def test_a_page_of_menus_of_one_name(place: Any, trigemu: Run) -> None:
    text = '[menu]\nname = "mine"\n' + (place.folder / "menu.toml").read_text()
    for name in ("menu.toml", "tighter.toml"):
        place.write(name, text)
    status, message = trigemu(
        "report", "menu.toml", "tighter.toml", "--samples", "all.root", "-o", "page.html"
    )
    assert status == 0, message
    page = (place.folder / "page.html").read_text()
    title = page.partition("<title>")[2].partition("</title>")[0]
    assert ("menu" in title, "tighter" in title, "mine" in title) == (True, True, False)
    # a file in place of a catalogue
    assert "Each of the 400 events of all.root counts as 100 kHz" in " ".join(page.split())


def test_other_schemes_than_a_few_are_status_2(
    place: Any, trigemu: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_other_schemes_are_refused(place, trigemu, monkeypatch, REPORT)


def test_a_url_is_handed_on_as_it_is(place: Any, trigemu: Run) -> None:
    check_a_url_is_handed_on_as_it_is(place, trigemu, REPORT)


def test_help() -> None:
    check_documents_and_help({"report", "explore"})
