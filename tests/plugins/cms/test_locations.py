"""What is opened for menus in XML and for test vectors, and what their commands share with others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_checks import check_documents_and_help, check_other_schemes_are_refused, completed
from places import (
    Place,
    check_nothing_else_is_opened,
    check_others_get_to_the_libraries,
    libraries as libraries,
    of_format,
)
from servers import check_a_server_that_falls_silent
from trigemu_cms.l1_xml import read_xml

PLACES: dict[str, Place] = {
    "read_xml": lambda folder, value: read_xml(Path(value)),
    **of_format("cms-l1-vector"),
}


@pytest.mark.parametrize("place", PLACES)
def test_nothing_else_is_opened(tmp_path: Path, libraries: list[object], place: str) -> None:
    check_nothing_else_is_opened(tmp_path, libraries, PLACES[place], place.startswith("catalogue, "))


@pytest.mark.parametrize("place", PLACES)
def test_what_is_not_refused_gets_to_the_libraries(
    tmp_path: Path, libraries: list[object], place: str
) -> None:
    check_others_get_to_the_libraries(tmp_path, libraries, PLACES[place], local=place == "read_xml")


@pytest.mark.parametrize(
    "command",
    [("check", "menu.toml", "{}"), ("import", "cms-l1", "{}", "-o", "new.toml")],
    ids=lambda command: command[0],
)
def test_other_schemes_than_a_few_are_status_2(
    place: Any,
    trigemu: Callable[..., tuple[int, str]],
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
) -> None:
    check_other_schemes_are_refused(place, trigemu, monkeypatch, command)


def test_documents_help_and_completion() -> None:
    assert check_documents_and_help({"check-decisions", "import"}) == {"check-decisions"}
    assert [item.type for item in completed("check", "menu.toml", "v")] == ["file"]


def test_a_server_that_falls_silent() -> None:
    check_a_server_that_falls_silent("a.txt", "cms-l1-vector")
