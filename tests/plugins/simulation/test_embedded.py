"""The embedded sample was made with the configuration that is shipped."""

from __future__ import annotations

from trigemu import open_catalogue
from trigemu_simulation.config import load_config


def test_the_slices_are_those_of_the_configuration() -> None:
    result = load_config("embedded")
    assert {part.name for part in result.slices} == {sample.name for sample in open_catalogue().samples}
