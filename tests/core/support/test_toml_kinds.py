from __future__ import annotations

import pytest
from project import ROOT

from trigemu import open_catalogue, read_menu
from trigemu.studies import read_profiles
from trigemu.support import TableError, load_toml
from trigemu.support.toml_kinds import KINDS, kind_of
from trigemu_simulation.config import load_config

FILES = {
    "trigger": "menus/decade.toml",
    "catalogue": "src/trigemu/samples/embedded/catalogue.toml",
    "profile": "menus/paper.toml",
    "slice": "src/trigemu/generate/configs/embedded.toml",
    "training": "plugins/decade/models/primary/train.toml",
    "network": "plugins/decade/models/primary/autoencoder.toml",
    "score": "plugins/decade/models/primary/decade.toml",
}
READERS = {
    "trigger": read_menu,
    "catalogue": open_catalogue,
    "profile": read_profiles,
    "slice": load_config,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_another_kind_is_told_what_it_is(kind: str) -> None:
    file = ROOT / FILES[kind]
    assert kind_of(load_toml(file).data) == kind
    for own, read in READERS.items():
        if own != kind:
            with pytest.raises(TableError) as error:
                read(file)  # type: ignore[operator]
            (problem,) = error.value.problems
            assert problem.message.startswith(f"this is {KINDS[kind][0]}, not {KINDS[own][0]}: ")
            assert f"[{kind}" in file.read_text().splitlines()[problem.line - 1]
