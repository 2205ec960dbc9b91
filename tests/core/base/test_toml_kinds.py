from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from trigemu import open_catalogue, read_menu
from trigemu.base.toml import KINDS, TableError, kind_of, load_toml
from trigemu.studies.efficiency_profiles import read_profiles

READERS: dict[str, Callable[[Path], object]] = {
    "trigger": read_menu,
    "catalogue": open_catalogue,
    "profile": read_profiles,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_another_kind_is_told_what_it_is(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "file.toml"
    file.write_text(f"# a file\nname = 'x'\n\n[{kind}]\nname = 'y'\n")
    assert kind_of(load_toml(file).data) == kind
    for own, read in READERS.items():
        if own != kind:
            with pytest.raises(TableError) as error:
                read(file)
            (problem,) = error.value.problems
            assert problem.message.startswith(f"this is {KINDS[kind][0]}, not {KINDS[own][0]}: ")
            assert problem.line == 4
