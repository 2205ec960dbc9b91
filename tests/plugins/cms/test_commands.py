"""What `trigemu check` and `trigemu import` share with other commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from command_checks import check_documents_and_help, check_other_schemes_are_refused, completed

Run = Callable[..., tuple[int, str]]


@pytest.mark.parametrize(
    "command",
    [("check", "menu.toml", "{}"), ("import", "cms-l1", "{}", "-o", "new.toml")],
    ids=lambda command: command[0],
)
def test_other_schemes_than_a_few_are_status_2(
    place: Any, trigemu: Run, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    check_other_schemes_are_refused(place, trigemu, monkeypatch, command)


def test_documents_help_and_completion() -> None:
    assert check_documents_and_help({"check-decisions", "import"}) == {"check-decisions"}
    assert [item.type for item in completed("check", "menu.toml", "v")] == ["file"]
