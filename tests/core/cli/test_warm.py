"""`trigemu warm` as users give it. The page on containers runs it where nothing is compiled yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from trigemu.cli import warm

Run = Callable[..., tuple[int, str]]


@pytest.fixture(autouse=True)
def for_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels of this process were imported long ago, for its own processor."""
    monkeypatch.setattr(warm, "compile_for_others", lambda: "x86-64-v3")


@pytest.mark.slow
def test_all_menus_find_events_in_the_embedded_sample(trigemu: Run) -> None:
    status, text = trigemu("warm")
    assert status == 0, text
    menus = [line.split(":")[0].rsplit("/", 1)[-1] for line in text.splitlines()]
    assert menus[:2] == ["ordinary.toml", "two-level.toml"]
    assert " kernels for x86-64-v3 written" in text.splitlines()[-1]


def test_mistakes_in_a_menu_of_the_users(trigemu: Run, place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trigemu.cli.warming.menus_at_hand", list)
    place.write("wrong.toml", "[menu]\nnme = 'x'\n")
    status, text = trigemu("warm", "wrong.toml")
    assert status == 2
    assert "wrong.toml:2: [menu]: unknown key 'nme'" in text
