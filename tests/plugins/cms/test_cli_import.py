"""What a user of `trigemu import` sees."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import phase2_toys
import pytest
from l1_toys import write_menu

Command = Callable[..., tuple[int, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_import_with_mistakes_leaves_nothing(folder: Path, trigemu: Command) -> None:
    write_menu(folder, ["frob{MU0,MU0}", "MU0 AND"])
    before = sorted(folder.iterdir())
    status, text = trigemu("import", "cms-l1", "menu.xml", "-o", "new.toml")
    assert status == 2
    first, second = text.splitlines()
    assert first.startswith(
        "trigemu: menu.xml:9: algorithm 'A0' (index 0): column 1: unknown function 'frob'"
    )
    assert "menu.xml:14: algorithm 'A1' (index 1): column 8: expected an object" in second
    assert sorted(folder.iterdir()) == before


def test_what_is_left_out_is_listed(folder: Path, trigemu: Command) -> None:
    write_menu(folder, {"L1_A": "MU0", "L1_AXO": "AXO"}, "9.9")
    status, text = trigemu("import", "cms-l1", "menu.xml", "-o", "new.toml")
    assert status == 0
    assert text.splitlines() == [
        "Warning: menu.xml has the grammar 9.9; the newest known one is 0.13.",
        "Left out: 1, L1_AXO (line 14): AXO has no cut on its score.",
        "new.toml: 1 algorithms, 0 conditions that they combine",
    ]


def test_a_missing_folder_is_reported_before_the_work(folder: Path, trigemu: Command) -> None:
    status, text = trigemu("import", "cms-l1", "none.xml", "-o", "none/new.toml")
    assert (status, text) == (2, "trigemu: cannot write none/new.toml: there is no folder none\n")


def test_a_phase_2_menu(folder: Path, trigemu: Command) -> None:
    phase2_toys.write_files(folder)
    text = (folder / "menu.yml").read_text()
    (folder / "menu.yml").write_text(text + 'A:\n  leg1: {obj: "Ele:Loose"}\n  leg2: {obj: "Ele:Open"}\n')
    status, message = trigemu("import", "cms-phase2", "menu.yml", "--objects", "objects", "-o", "new.toml")
    assert status == 0
    assert message.splitlines() == [
        "Warning: A: leg1 (Ele:Loose) and leg2 (Ele:Open) are different objects here; in the tools one Ele "
        "may be both.",
        "new.toml: 6 seeds, 7 objects",
    ]
    assert (folder / "new.toml").exists()


def test_seeds_of_a_phase_2_menu_that_are_left_out(folder: Path, trigemu: Command) -> None:
    phase2_toys.write_files(folder)
    text = (folder / "menu.yml").read_text()
    (folder / "menu.yml").write_text(text + 'A:\n  leg1: {obj: "Muon:default", cut: 3}\n')
    status, message = trigemu("import", "cms-phase2", "menu.yml", "--objects", "objects", "-o", "new.toml")
    assert status == 0
    assert message.splitlines() == [
        "Left out: A (line 29): leg1: unknown key 'cut'; leg1: obj: unknown object 'Muon' in objects; did "
        "you mean 'Mu'? (known: Ele, Jet, MissingEt, Mu, Sums, Vertex).",
        "new.toml: 5 seeds, 6 objects",
    ]


def test_mistakes_of_a_phase_2_menu(folder: Path, trigemu: Command) -> None:
    phase2_toys.write_files(folder)
    (folder / "menu.yml").write_text('A:\n  cross_masks: [leg1.eta.sum() > 1]\n  leg1: {obj: "Mu:default"}\n')
    status, text = trigemu("import", "cms-phase2", "menu.yml", "--objects", "objects", "-o", "new.toml")
    assert status == 2
    assert text.startswith("trigemu: menu.yml:2: seed 'A': 'leg1.eta.sum() > 1': 'leg1.eta.sum()' is outside")
    assert not (folder / "new.toml").exists()
    status, text = trigemu("import", "cms-phase2", "menu.yml", "--objects", "none", "-o", "new.toml")
    assert (status, text) == (2, "trigemu: none: expected a folder with the YAML files of objects\n")
