"""`trigemu import`, and what is opened for menus in XML and for test vectors by any command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import phase2_toys
import pytest
from command_checks import check_documents_and_help, completed
from l1_toys import write_menu
from places import (
    Place,
    check_nothing_else_is_opened,
    libraries as libraries,
    of_format,
)
from trigemu_cms.l1_xml import read_xml

Command = Callable[..., tuple[int, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_import_with_mistakes_leaves_nothing(folder: Path, trigemu: Command) -> None:
    write_menu(folder, ["frob{MU0,MU0}", "MU0", "MU0 AND", "MU3p25", "EXT_nothing"])
    before = sorted(folder.iterdir())
    status, text = trigemu("import", "cms-l1", "menu.xml", "-o", "new.toml")
    assert status == 2
    for line, (place, what) in zip(
        text.splitlines(),
        (
            ("menu.xml:9: algorithm 'A0' (index 0)", "column 1: unknown function 'frob'"),
            ("menu.xml:19: algorithm 'A2' (index 2)", "expected conditions with AND"),
            ("menu.xml:24: algorithm 'A3' (index 3)", "MU3p25"),
            ("menu.xml:29: algorithm 'A4' (index 4)", "nothing"),
        ),
        strict=True,
    ):
        assert place in line
        assert what in line
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(("grammar", "warns"), [("0.13", False), ("0.14", True)])
def test_what_is_left_out_is_listed(folder: Path, trigemu: Command, grammar: str, warns: bool) -> None:
    write_menu(folder, {"L1_A": "MU0", "L1_AXO": "AXO"}, grammar)
    status, text = trigemu("import", "cms-l1", "menu.xml", "-o", "new.toml")
    assert status == 0
    *warning, left_out, counts = text.splitlines()
    assert [f"grammar {grammar}" in line for line in warning] == [True] * warns
    assert "1, L1_AXO (line 14)" in left_out
    assert "new.toml: 1 algorithms, 0 conditions" in counts


def test_a_missing_folder_is_reported_before_the_work(folder: Path, trigemu: Command) -> None:
    status, text = trigemu("import", "cms-l1", "none.xml", "-o", "none/new.toml")
    assert (status, "there is no folder none" in text) == (2, True)


def test_a_phase_2_menu(folder: Path, trigemu: Command) -> None:
    """With a warning, and a seed that is left out."""
    phase2_toys.write_files(folder)
    text = (folder / "menu.yml").read_text()
    text += 'A:\n  leg1: {obj: "Ele:Loose"}\n  leg2: {obj: "Ele:Open"}\n'
    (folder / "menu.yml").write_text(
        f'{text}B:\n  leg1: {{obj: "Muon:default"}}\nC:\n  leg1: {{obj: "Mu", cut: 3}}\n'
    )
    status, message = trigemu("import", "cms-phase2", "menu.yml", "--objects", "objects", "-o", "new.toml")
    assert status == 0
    assert "Warning: A: leg1 (Ele:Loose) and leg2 (Ele:Open)" in message
    assert all(
        part in message
        for part in ("Left out: B (line 32)", "'Muon'", "C (line 34)", "'cut'", "did you mean 'Mu'")
    )
    assert "new.toml: 6 seeds, 7 objects" in message
    assert (folder / "new.toml").exists()


def test_mistakes_of_a_phase_2_menu(folder: Path, trigemu: Command) -> None:
    phase2_toys.write_files(folder, 'A:\n  cross_masks: [leg1.eta.sum() > 1]\n  leg1: {obj: "Mu:default"}\n')
    for objects, message in (("objects", "menu.yml:2: seed 'A': 'leg1.eta.sum() > 1'"), ("none", "none: ")):
        status, text = trigemu("import", "cms-phase2", "menu.yml", "--objects", objects, "-o", "new.toml")
        assert (status, message in text) == (2, True)
    assert not (folder / "new.toml").exists()


PLACES: dict[str, Place] = {
    "read_xml": lambda folder, value: read_xml(Path(value)),
    **of_format("cms-l1-vector"),
}


@pytest.mark.parametrize("place", PLACES)
def test_nothing_else_is_opened(tmp_path: Path, libraries: list[object], place: str) -> None:
    check_nothing_else_is_opened(tmp_path, libraries, PLACES[place], place.startswith("catalogue, "))


def test_documents_help_and_completion() -> None:
    assert check_documents_and_help({"check-decisions", "import"}) == {"check-decisions"}
    assert [item.type for item in completed("check", "menu.toml", "v")] == ["file"]
