"""What is opened for menus in XML and for test vectors, and that nothing else gets as far as a library."""

from __future__ import annotations

from pathlib import Path

import pytest
from places import (
    Place,
    check_nothing_else_is_opened,
    check_others_get_to_the_libraries,
    libraries as libraries,
    of_format,
)
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
