"""Commands in a folder of their own: fixtures that a conftest.py imports."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from toys import CATALOGUE, combination, threshold, toy_events, write_root

from trigemu.cli.commands import cli

MENU = (
    "\n"
    + threshold("J30", "jet[0].pt", 30.0, 'group = "jets"')
    + "\n"
    + combination("MU", '{ object = "muon", pt = { min = 10.0 } }', "prescale = 2")
)


@dataclass(frozen=True)
class Place:
    """A current folder with menu.toml, catalogue.toml, all.root and an empty plugins/."""

    folder: Path

    def write(self, name: str, text: str) -> Path:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def files(self) -> list[str]:
        """All but what Python makes of plugins that it loads."""
        made = [file.relative_to(self.folder) for file in self.folder.rglob("*") if file.is_file()]
        return sorted(str(file) for file in made if "__pycache__" not in file.parts)


@pytest.fixture(scope="session")
def root_file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A sample of 400 events."""
    file = tmp_path_factory.mktemp("sample") / "all.root"
    write_root(file, toy_events(17, 400), basket=150)
    return file.read_bytes()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root_file: bytes) -> Place:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRIGEMU_PLUGIN_PATH", raising=False)
    made = Place(tmp_path)
    made.write("menu.toml", MENU)
    made.write("catalogue.toml", CATALOGUE)
    (tmp_path / "all.root").write_bytes(root_file)
    return made


@pytest.fixture
def trigemu() -> Callable[..., tuple[int, str]]:
    """Run a command in this process: its exit status and all it says."""

    def run(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(cli, arguments, prog_name="trigemu")
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception  # a traceback, for the user
        return result.exit_code, result.output

    return run


@pytest.fixture
def document(place: Place, trigemu: Callable[..., tuple[int, str]]) -> Callable[..., Any]:
    """Run a command that succeeds, and return its document, with what it prints as `text`."""

    def run(*arguments: str) -> Any:
        status, text = trigemu(*arguments, "--json", "out.json")
        assert status == 0, text
        return json.loads((place.folder / "out.json").read_text()) | {"text": text}

    return run
