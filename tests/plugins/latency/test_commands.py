"""What `trigemu bench` shares with other commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from command_checks import (
    check_a_url_is_handed_on_as_it_is,
    check_documents_and_help,
    check_other_schemes_are_refused,
    lines_of,
    printed,
)

from trigemu_latency import FirstDecision, cli

Run = Callable[..., tuple[int, str]]
ON_TOYS = ("bench", "menu.toml", "--samples", "catalogue.toml", "--events", "100", "--batch", "1,16,64")
BENCH = ("bench", "menu.toml", "--samples", "{}")


def test_nothing_is_too_long_or_broken(place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # It starts processes that compile everything anew, for half a minute: test_cli.py does.
    monkeypatch.setattr(cli, "first_decision", lambda *_: FirstDecision(12.3, 1.8, 43))
    page = printed(ON_TOYS)
    for width in (80, 100, 120):
        for encoding in ("utf-8", "ascii"):
            lines_of(page, width, encoding)


def test_triggers_that_the_samples_cannot_feed(
    place: Any, trigemu: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []
    monkeypatch.setattr(cli, "first_decision", lambda *all_: given.append(all_))
    tau = '[[trigger]]\nname = "TAU"\nkind = "threshold"\nobservable = "tau[0].pt"\nabove = 9\n'
    place.write("menu.toml", (place.folder / "menu.toml").read_text() + tau)
    status, text = trigemu(*ON_TOYS)
    assert (status, text.splitlines()[-1]) == (2, "trigemu: --skip-missing leaves these triggers out")
    status, text = trigemu(*ON_TOYS, "--skip-missing", "--json", "-")
    assert json.loads(text)["menu"]["left_out"] == [{"name": "TAU", "missing": "tau"}]
    assert given[0][-1] is True


def test_other_schemes_than_a_few_are_status_2(
    place: Any, trigemu: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_other_schemes_are_refused(place, trigemu, monkeypatch, BENCH)


def test_a_url_is_handed_on_as_it_is(place: Any, trigemu: Run) -> None:
    check_a_url_is_handed_on_as_it_is(place, trigemu, BENCH)


def test_its_documents_and_its_help() -> None:
    assert check_documents_and_help({"bench"}) == {"bench"}
