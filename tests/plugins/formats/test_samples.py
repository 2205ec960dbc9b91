"""What commands do with samples that are not opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from command_checks import check_other_schemes_are_refused

Command = Callable[..., tuple[int, str]]

COMMANDS = [
    ("samples", "{}"),
    ("run", "menu.toml", "--samples", "{}"),
    ("compare", "menu.toml", "budget.toml", "--samples", "{}"),
    ("scan", "menu.toml", "--trigger", "J30", "--values", "20:40:10", "--samples", "{}"),
    (
        "efficiency",
        "menu.toml",
        "--sample",
        "a",
        "--observable",
        "met",
        "--bins",
        "0:10:5",
        "--samples",
        "{}",
    ),
    ("rates-vs", "n_jet", "menu.toml", "--bins", "0:4:1", "--samples", "{}"),
    ("calibrate", "budget.toml", "-o", "new.toml", "--samples", "{}"),
]


def test_other_schemes_than_a_few_are_status_2(
    place: Any, trigemu: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for command in COMMANDS:
        check_other_schemes_are_refused(place, trigemu, monkeypatch, command)
